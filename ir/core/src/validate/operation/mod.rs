//! Collective operations: operands, functions, and the types of results.

mod combine;
mod dimensions;
mod stencil;

use crate::{
    ArrayId, ArrayOp, Binding, ElementType, Lambda, MAX_RANK, Operand, ScanForm, Type,
    analysis::makes_elements,
    validate::{
        ProgramFault,
        context::{PathStep, Validator},
        shapes::Extents,
        types::Want,
    },
};

const INDEX: Option<ElementType> = Some(ElementType::I64);

/// What results must be; where an operation gives several lists (one for each branch), they must be all of them.
pub(in crate::validate) type Wants = Vec<Vec<Option<Want>>>;

impl<'p> Validator<'p> {
    /// Checks what a binding holds, and says what its results must be.
    pub fn operation(&mut self, binding: &'p Binding) -> Wants {
        if self.in_cluster && !makes_elements(&binding.op) {
            self.report(ProgramFault::InCluster { op: binding.op.name() });
        }
        let elements = match &binding.op {
            ArrayOp::Constant { extents, values } => self.constant(binding, extents, values),
            ArrayOp::Unit { f } => self.results_of("f", f, &[]),
            ArrayOp::Compute { sources } => {
                // Arrays of arrays too: what is in them is handed on.
                let types = self.sources("sources", sources, 0, true);
                let given = types.iter().map(|ty| ty.map(|ty| self.want(ty))).collect();
                return vec![self.shaped(binding, given)];
            }
            ArrayOp::Generate { extents, f } => {
                self.extents(extents);
                self.results_of("f", f, &vec![INDEX; extents.len()])
            }
            ArrayOp::Map { f, sources } => {
                let types = self.sources("sources", sources, 0, false);
                self.results_of("f", f, &elements(&types))
            }
            ArrayOp::Backpermute { extents, f, sources } => {
                self.extents(extents);
                let types = self.sources("sources", sources, 0, false);
                self.index_function("f", f, extents.len(), sources);
                elements(&types)
            }
            ArrayOp::Transform { extents, index, f, sources } => {
                self.extents(extents);
                let types = self.sources("sources", sources, 0, false);
                self.index_function("index", index, extents.len(), sources);
                self.results_of("f", f, &elements(&types))
            }
            ArrayOp::Replicate { dims, sources } => self.replicate(dims, sources),
            ArrayOp::ReplicateSegments { extent, sources, offsets } => {
                self.extents(std::slice::from_ref(extent));
                let types = self.vectors(sources);
                self.offsets(*offsets);
                elements(&types)
            }
            ArrayOp::Slice { dims, sources } => self.slice(dims, sources),
            ArrayOp::Reshape { extents, sources } => self.reshape(extents, sources),
            ArrayOp::Concat { sources, dim } => self.concat(sources, *dim),
            ArrayOp::Fold { combine, seeds, sources, offsets, commutes: _ } => {
                let elements = self.rows(combine, seeds, sources, *offsets);
                if !seeds.is_empty() {
                    self.count("seeds", seeds.len(), sources.len());
                }
                elements
            }
            ArrayOp::Scan { direction: _, form, combine, seeds, sources, offsets, commutes: _ } => {
                let mut elements = self.rows(combine, seeds, sources, *offsets);
                if *form != ScanForm::Inclusive {
                    self.count("seeds", seeds.len(), sources.len());
                } else if !seeds.is_empty() {
                    self.report(ProgramFault::Seeds { found: seeds.len(), form: "this form of a scan" });
                }
                if *form == ScanForm::Body {
                    elements.extend_from_within(..);
                }
                elements
            }
            ArrayOp::Permute { combine, defaults, values, targets, keep, order: _ } => {
                self.permute(combine, defaults, values, targets, *keep)
            }
            ArrayOp::Expand { size, get, sources } => {
                let mut params = elements(&self.vectors(sources));
                self.function_to("size", size, &params, &[INDEX]);
                params.push(INDEX);
                counted(self.results_of("get", get, &params))
            }
            ArrayOp::PermutedExpand { size, get, combine, defaults, sources, order: _ } => {
                self.permuted_expand(size, get, combine, defaults, sources)
            }
            ArrayOp::Filter { keep, sources } => {
                let params = elements(&self.sources("sources", sources, 1, false));
                self.function_to("keep", keep, &params, &[Some(ElementType::Bool)]);
                counted(params)
            }
            ArrayOp::Sort { keys, carry } => {
                let mut types = self.sources("keys", keys, 1, false);
                types.extend(carry.iter().enumerate().map(|(position, &id)| {
                    self.within(PathStep::Item("carry", position), |v| {
                        v.array(id, &|| format!("carried array {position}"))
                    })
                }));
                elements(&types)
            }
            ArrayOp::Stencil { f, taps, boundaries } => self.stencil(binding, f, taps, boundaries),
            ArrayOp::Nest { extents, body } => return self.nest(extents, body),
            ArrayOp::Element { source, index } => return self.element(binding, *source, index),
            ArrayOp::Cond { condition, then, otherwise } => return self.cond(condition, then, otherwise),
            ArrayOp::While { condition, step, starts } => return self.repeat(condition, step, starts),
            ArrayOp::Foreign { name: _, fallback, arguments } => return self.foreign(fallback, arguments),
            ArrayOp::Consume { limit, body, sinks, streams, chunks } => {
                return self.consume(binding, limit.as_ref(), body, sinks, streams, *chunks);
            }
            ArrayOp::Cluster { body, marks, order } => return self.cluster(body, marks, *order),
        };
        let given = elements.into_iter().map(|element| element.map(Want::scalar)).collect();
        vec![self.shaped(binding, given)]
    }

    /// The results of a function: at least one.
    fn results_of(
        &mut self,
        field: &'static str,
        f: &'p Lambda,
        params: &[Option<ElementType>],
    ) -> Vec<Option<ElementType>> {
        let results = self.function(field, f, params);
        self.at_least("results of the function", results.len(), 1);
        results
    }

    /// Extents of a result, given as operands.
    pub fn extents(&mut self, extents: &[Operand]) -> Extents {
        if extents.len() > MAX_RANK {
            let what = "the result".to_owned();
            self.report(ProgramFault::Rank { what, rank: extents.len(), limit: MAX_RANK });
        }
        for (dim, extent) in extents.iter().enumerate() {
            self.within(PathStep::Item("extents", dim), |v| v.extent_operand(dim, extent));
        }
        extents.iter().map(|extent| self.sizes.operand(extent)).collect()
    }

    fn extent_operand(&mut self, dim: usize, extent: &Operand) {
        self.scalar_of(extent, ElementType::I64, &|| format!("extent {dim}"));
        if let Some(extent) = self.sizes.operand(extent).and_then(|size| size.as_constant())
            && extent < 0
        {
            self.report(ProgramFault::NegativeExtent { what: "the result".to_owned(), dim, extent });
        }
    }

    /// Arrays that are read: at least one, each of at least that rank.
    pub fn sources(
        &mut self,
        field: &'static str,
        sources: &[ArrayId],
        rank: usize,
        nested: bool,
    ) -> Vec<Option<&'p Type>> {
        self.at_least(field, sources.len(), 1);
        let one = field.trim_end_matches('s');
        sources
            .iter()
            .enumerate()
            .map(|(position, &id)| {
                self.within(PathStep::Item(field, position), |v| {
                    let what = || format!("{one} {position}");
                    let ty = if nested { v.use_value(id, false, &what) } else { v.array(id, &what) }?;
                    if ty.rank() < rank {
                        v.report(ProgramFault::RankZero { what: what() });
                        return None;
                    }
                    Some(ty)
                })
            })
            .collect()
    }

    fn constant(
        &mut self,
        binding: &'p Binding,
        extents: &[i64],
        values: &[crate::Constant],
    ) -> Vec<Option<ElementType>> {
        if extents.len() > MAX_RANK {
            let what = "the result".to_owned();
            self.report(ProgramFault::Rank { what, rank: extents.len(), limit: MAX_RANK });
        }
        if let Some((dim, &extent)) = extents.iter().enumerate().find(|(_, extent)| **extent < 0) {
            self.report(ProgramFault::NegativeExtent { what: "the result".to_owned(), dim, extent });
        } else if extents.iter().try_fold(1i64, |size, &extent| size.checked_mul(extent))
            != i64::try_from(values.len()).ok()
        {
            let extents = extents.iter().take(MAX_RANK).copied().collect();
            self.report(ProgramFault::Elements { found: values.len(), extents });
        }
        let element = values.first().map(|value| value.ty()).or(binding.results.first().map(|var| var.ty.element));
        if let Some((position, value)) =
            values.iter().enumerate().find(|(_, value)| element.is_some_and(|element| element != value.ty()))
        {
            let what = format!("element {position}");
            let (found, expected) = (value.ty(), element.unwrap_or(value.ty()));
            self.report(ProgramFault::WrongElement { what, found, expected });
        }
        vec![element]
    }

    /// A function from an index of `rank` dimensions to one of the sources, whose extents are equal.
    fn index_function(&mut self, field: &'static str, f: &'p Lambda, rank: usize, sources: &[ArrayId]) {
        let params = vec![INDEX; rank.min(MAX_RANK)];
        match self.rank_of(sources) {
            Some(rank) => self.function_to(field, f, &params, &vec![INDEX; rank]),
            None => _ = self.function(field, f, &params),
        }
    }

    fn typed_array(&mut self, id: ArrayId, expected: ElementType, what: &dyn Fn() -> String) {
        if let Some(ty) = self.array(id, what)
            && ty.element != expected
        {
            self.report(ProgramFault::WrongArray { what: what(), found: ty.element, expected });
        }
    }

    fn vectors(&mut self, sources: &[ArrayId]) -> Vec<Option<&'p Type>> {
        let types = self.sources("sources", sources, 0, false);
        for (position, ty) in types.iter().enumerate() {
            if let Some(ty) = ty
                && ty.rank() != 1
            {
                let what = format!("source {position}");
                self.report(ProgramFault::WrongRank { what, found: ty.rank(), expected: 1 });
                return types;
            }
        }
        types
    }
}

/// The element types of arrays.
pub(in crate::validate) fn elements(types: &[Option<&Type>]) -> Vec<Option<ElementType>> {
    types.iter().map(|ty| ty.map(|ty| ty.element)).collect()
}

/// A number, and vectors of these elements.
fn counted(elements: Vec<Option<ElementType>>) -> Vec<Option<ElementType>> {
    [INDEX].into_iter().chain(elements).collect()
}
