//! Collective operations: operands, functions, and the types of results.

use std::collections::HashMap;

use super::{
    ProgramFault,
    context::{PathStep, Validator},
    shapes::Extents,
    types::Want,
};
use crate::{
    ArrayId, ArrayOp, Binding, Boundary, ElementType, Lambda, MAX_RANK, Operand, ScanForm, Tap, TapBoundary, Type,
    analysis::{Answer, Size, makes_elements},
};

const INDEX: Option<ElementType> = Some(ElementType::I64);

/// What results must be; where an operation gives several lists (one for each branch), they must be all of them.
pub(super) type Wants = Vec<Vec<Option<Want>>>;

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
                let params = elements(&self.vectors(sources));
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

    fn replicate(&mut self, dims: &[Option<Operand>], sources: &[ArrayId]) -> Vec<Option<ElementType>> {
        let types = self.sources("sources", sources, 0, false);
        for (dim, extent) in dims.iter().enumerate() {
            if let Some(extent) = extent {
                self.within(PathStep::Item("dims", dim), |v| v.extent_operand(dim, extent));
            }
        }
        if dims.len() > MAX_RANK {
            let what = "the result".to_owned();
            self.report(ProgramFault::Rank { what, rank: dims.len(), limit: MAX_RANK });
        }
        if let Some(rank) = self.rank_of(sources) {
            let kept = dims.iter().filter(|dim| dim.is_none()).count();
            self.count("dimensions to keep", kept, rank);
        }
        elements(&types)
    }

    fn slice(&mut self, dims: &[Option<Operand>], sources: &[ArrayId]) -> Vec<Option<ElementType>> {
        let types = self.sources("sources", sources, 0, false);
        for (dim, index) in dims.iter().enumerate() {
            if let Some(index) = index {
                self.within(PathStep::Item("dims", dim), |v| {
                    v.scalar_of(index, ElementType::I64, &|| format!("index {dim}"));
                });
            }
        }
        if let Some(rank) = self.rank_of(sources) {
            self.count("dimensions", dims.len(), rank);
        }
        elements(&types)
    }

    fn reshape(&mut self, extents: &[Operand], sources: &[ArrayId]) -> Vec<Option<ElementType>> {
        let extents = self.extents(extents);
        let types = self.sources("sources", sources, 0, false);
        let from = types.first().copied().flatten().map(|ty| self.all_sizes(&ty.extents));
        if let (Some(from), Some(to)) = (self.total(from.as_deref()), self.total(Some(&extents)))
            && self.sizes.equal_sizes(&from, &to) == Answer::Refuted
        {
            let (found, expected) = (self.show_size(&from), self.show_size(&to));
            self.report(ProgramFault::Reshape { found, expected });
        }
        elements(&types)
    }

    fn total(&mut self, extents: Option<&[Option<Size>]>) -> Option<Size> {
        let mut total = Size::constant(1);
        for extent in extents?.iter().take(MAX_RANK) {
            let extent = extent.as_ref()?;
            if let (Some(a), Some(b)) = (total.as_constant(), extent.as_constant()) {
                // A product that overflows fails when run, whatever it is equal to.
                a.checked_mul(b)?;
            }
            total = self.sizes.product(&total, extent);
        }
        Some(total)
    }

    fn concat(&mut self, sources: &[ArrayId], dim: usize) -> Vec<Option<ElementType>> {
        let types = self.sources("sources", sources, 1, false);
        self.at_least("sources", sources.len(), 2);
        let Some(first) = types.iter().flatten().next() else { return vec![None] };
        if dim >= first.rank() {
            self.report(ProgramFault::Dimension { dim, rank: first.rank() });
        }
        for (position, ty) in types.iter().enumerate() {
            if let Some(ty) = ty
                && ty.element != first.element
            {
                let what = format!("source {position}");
                self.report(ProgramFault::WrongElement { what, found: ty.element, expected: first.element });
            }
        }
        vec![Some(first.element)]
    }

    /// Sources of a fold or scan, with its function, seeds and offsets.
    fn rows(
        &mut self,
        combine: &'p Lambda,
        seeds: &[Operand],
        sources: &[ArrayId],
        offsets: Option<ArrayId>,
    ) -> Vec<Option<ElementType>> {
        let elements = elements(&self.sources("sources", sources, 1, false));
        self.combining("combine", combine, &elements);
        for (position, seed) in seeds.iter().enumerate() {
            self.within(PathStep::Item("seeds", position), |v| {
                let what = || format!("seed {position}");
                match elements.get(position).copied().flatten() {
                    Some(element) => v.scalar_of(seed, element, &what),
                    None => _ = v.scalar(seed, &what),
                }
            });
        }
        if let Some(offsets) = offsets {
            self.offsets(offsets);
        }
        elements
    }

    /// A function of 2k parameters to k results.
    fn combining(&mut self, field: &'static str, f: &'p Lambda, elements: &[Option<ElementType>]) {
        let params: Vec<_> = elements.iter().chain(elements).copied().collect();
        self.function_to(field, f, &params, elements);
    }

    /// Offsets of segments: a vector of integers.
    fn offsets(&mut self, offsets: ArrayId) {
        let what = || "the array of offsets".to_owned();
        self.within(PathStep::Field("offsets"), |v| {
            let Some(ty) = v.array(offsets, &what) else { return };
            if ty.rank() != 1 {
                v.report(ProgramFault::WrongRank { what: what(), found: ty.rank(), expected: 1 });
            } else if !ty.element.is_integer() {
                v.report(ProgramFault::NoInteger { what: what(), found: ty.element });
            }
        });
    }

    fn permute(
        &mut self,
        combine: &'p Lambda,
        defaults: &[ArrayId],
        values: &[ArrayId],
        targets: &[ArrayId],
        keep: Option<ArrayId>,
    ) -> Vec<Option<ElementType>> {
        let types = self.sources("defaults", defaults, 0, false);
        let element_types = elements(&types);
        self.combining("combine", combine, &element_types);
        let new = self.sources("values", values, 0, false);
        if self.count("values", values.len(), defaults.len()) {
            for (position, (new, old)) in new.iter().zip(&types).enumerate() {
                if let (Some(new), Some(old)) = (new, old)
                    && new.element != old.element
                {
                    let what = format!("value {position}");
                    self.report(ProgramFault::WrongElement { what, found: new.element, expected: old.element });
                }
            }
        }
        if let Some(rank) = self.rank_of(defaults) {
            self.count("targets", targets.len(), rank);
        }
        for (dim, &target) in targets.iter().enumerate() {
            self.within(PathStep::Item("targets", dim), |v| {
                v.typed_array(target, ElementType::I64, &|| format!("target {dim}"));
            });
        }
        if let Some(keep) = keep {
            self.within(PathStep::Field("keep"), |v| v.typed_array(keep, ElementType::Bool, &|| "`keep`".to_owned()));
        }
        element_types
    }

    fn typed_array(&mut self, id: ArrayId, expected: ElementType, what: &dyn Fn() -> String) {
        if let Some(ty) = self.array(id, what)
            && ty.element != expected
        {
            self.report(ProgramFault::WrongElement { what: what(), found: ty.element, expected });
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

    fn permuted_expand(
        &mut self,
        size: &'p Lambda,
        get: &'p Lambda,
        combine: &'p Lambda,
        defaults: &[ArrayId],
        sources: &[ArrayId],
    ) -> Vec<Option<ElementType>> {
        let element_types = elements(&self.sources("defaults", defaults, 0, false));
        let mut params = elements(&self.vectors(sources));
        self.function_to("size", size, &params, &[INDEX]);
        params.push(INDEX);
        if let Some(rank) = self.rank_of(defaults) {
            let mut expected = vec![INDEX; rank];
            expected.extend(&element_types);
            if get.results.len() == expected.len() + 1 {
                expected.push(Some(ElementType::Bool));
            }
            self.function_to("get", get, &params, &expected);
        } else {
            self.function("get", get, &params);
        }
        self.combining("combine", combine, &element_types);
        element_types
    }

    fn stencil(
        &mut self,
        binding: &'p Binding,
        f: &'p Lambda,
        taps: &'p [Tap],
        boundaries: &'p [TapBoundary],
    ) -> Vec<Option<ElementType>> {
        self.at_least("taps", taps.len(), 1);
        let rank = binding.results.first().map_or(0, |var| var.ty.rank());
        let mut found: HashMap<ArrayId, usize> = HashMap::new();
        let mut types = Vec::with_capacity(taps.len());
        for (position, tap) in taps.iter().enumerate() {
            let ty = self.within(PathStep::Item("taps", position), |v| {
                let what = || format!("tap {position}");
                let ty = v.array(tap.array, &what)?;
                if ty.rank() != rank {
                    v.report(ProgramFault::WrongRank { what: what(), found: ty.rank(), expected: rank });
                } else {
                    v.count(&format!("offsets of tap {position}"), tap.offsets.len(), rank);
                }
                Some(ty)
            });
            types.push(ty);
            found.insert(tap.array, 0);
        }
        for (position, boundary) in boundaries.iter().enumerate() {
            if let Some(found) = found.get_mut(&boundary.array) {
                *found += 1;
            } else {
                let array = self.name(boundary.array);
                self.report(ProgramFault::BoundaryOfNone { array });
            }
            let Some(ty) = self.type_of(boundary.array) else { continue };
            self.within(PathStep::Item("boundaries", position), |v| match &boundary.boundary {
                Boundary::Clamp | Boundary::Mirror | Boundary::Wrap => {}
                Boundary::Constant(value) => v.scalar_of(value, ty.element, &|| "the boundary".to_owned()),
                Boundary::Function(f) => {
                    let params = vec![INDEX; ty.rank().min(MAX_RANK)];
                    v.function_to("boundary", f, &params, &[Some(ty.element)]);
                }
            });
        }
        for tap in taps {
            if let Some(count) = found.remove(&tap.array)
                && count != 1
            {
                let array = self.name(tap.array);
                self.report(ProgramFault::Boundaries { array, found: count });
            }
        }
        self.results_of("f", f, &elements(&types))
    }
}

/// The element types of arrays.
pub(super) fn elements(types: &[Option<&Type>]) -> Vec<Option<ElementType>> {
    types.iter().map(|ty| ty.map(|ty| ty.element)).collect()
}

/// A number, and vectors of these elements.
fn counted(elements: Vec<Option<ElementType>>) -> Vec<Option<ElementType>> {
    [INDEX].into_iter().chain(elements).collect()
}
