//! Collective operations: operands, functions, and the types of results.

use std::collections::HashMap;

use super::{
    ProgramFault,
    context::{Step, Validator},
    types::Want,
};
use crate::{
    ArrayId, ArrayOp, Binary, Binding, Boundary, ElementType, Lambda, MAX_RANK, Operand, ScanForm, Tap, TapBoundary,
    Type,
    analysis::{Answer, Size, Sizes, makes_elements},
};

const INDEX: Option<ElementType> = Some(ElementType::I64);

/// What results must be; where an operation gives several lists (one for each branch), they must be all of them.
pub(super) type Wants = Vec<Vec<Option<Want>>>;

/// Extents of arrays that are read together; as far as they are known.
type Extents = Vec<Option<Size>>;

impl<'p> Validator<'p> {
    /// Checks what a binding holds, and says what its results must be.
    pub fn operation(&mut self, binding: &'p Binding) -> Wants {
        if self.in_cluster && !makes_elements(&binding.op) {
            self.report(ProgramFault::InCluster { op: binding.op.name() });
        }
        match &binding.op {
            ArrayOp::Constant { extents, values } => self.constant(binding, extents, values),
            ArrayOp::Unit { f } => {
                let results = self.function("f", f, &[]);
                self.at_least("results of the function", results.len(), 1);
                vec![results.into_iter().map(|ty| ty.map(Want::scalar)).collect()]
            }
            ArrayOp::Compute { sources } => {
                let types = self.sources("sources", sources, 0, true);
                self.equal_extents("source", sources);
                vec![types.into_iter().map(|ty| ty.map(|ty| self.want(ty))).collect()]
            }
            ArrayOp::Generate { extents, f } => {
                let extents = self.extents(extents);
                let results = self.function("f", f, &vec![INDEX; extents.len()]);
                self.at_least("results of the function", results.len(), 1);
                vec![arrays(&extents, &results)]
            }
            ArrayOp::Map { f, sources } => self.map(binding, f, sources),
            ArrayOp::Backpermute { extents, f, sources } => {
                let extents = self.extents(extents);
                let types = self.sources("sources", sources, 0, false);
                self.index_function("f", f, extents.len(), sources);
                vec![arrays(&extents, &elements(&types))]
            }
            ArrayOp::Transform { extents, index, f, sources } => {
                let extents = self.extents(extents);
                let types = self.sources("sources", sources, 0, false);
                self.index_function("index", index, extents.len(), sources);
                let results = self.function("f", f, &elements(&types));
                self.at_least("results of the function", results.len(), 1);
                vec![arrays(&extents, &results)]
            }
            ArrayOp::Replicate { dims, sources } => self.replicate(dims, sources),
            ArrayOp::Slice { dims, sources } => self.slice(dims, sources),
            ArrayOp::Reshape { extents, sources } => self.reshape(extents, sources),
            ArrayOp::Concat { sources, dim } => self.concat(sources, *dim),
            ArrayOp::Fold { combine, seeds, sources, offsets, commutes: _ } => {
                let (types, inner) = self.rows(combine, seeds, sources);
                if !seeds.is_empty() {
                    self.count("seeds", seeds.len(), sources.len());
                }
                let mut extents = inner.unwrap_or_default();
                let known = extents.pop().is_some();
                if let Some(segments) = self.segments(*offsets) {
                    extents.push(segments);
                }
                vec![if known { arrays(&extents, &elements(&types)) } else { unknown(&types) }]
            }
            ArrayOp::Scan { direction: _, form, combine, seeds, sources, offsets, commutes: _ } => {
                self.scan(*form, combine, seeds, sources, *offsets)
            }
            ArrayOp::Permute { combine, defaults, values, targets, keep, order: _ } => {
                self.permute(combine, defaults, values, targets, *keep)
            }
            ArrayOp::Expand { size, get, sources } => {
                let types = self.vectors(sources);
                let mut params = elements(&types);
                self.function_to("size", size, &params, &[INDEX]);
                params.push(INDEX);
                let results = self.function("get", get, &params);
                self.at_least("results of the function", results.len(), 1);
                vec![counted(binding, &results)]
            }
            ArrayOp::PermutedExpand { size, get, combine, defaults, sources, order: _ } => {
                self.permuted_expand(size, get, combine, defaults, sources)
            }
            ArrayOp::Filter { keep, sources } => {
                let types = self.vectors(sources);
                let params = elements(&types);
                self.function_to("keep", keep, &params, &[Some(ElementType::Bool)]);
                vec![counted(binding, &params)]
            }
            ArrayOp::Sort { keys, carry } => {
                let mut types = self.sources("keys", keys, 1, false);
                types.extend(carry.iter().enumerate().map(|(position, &id)| {
                    self.within(Step::Item("carry", position), |v| v.array(id, &|| format!("carried array {position}")))
                }));
                let all: Vec<ArrayId> = keys.iter().chain(carry).copied().collect();
                self.equal_extents("sorted array", &all);
                vec![types.into_iter().map(|ty| ty.map(|ty| self.want(ty))).collect()]
            }
            ArrayOp::Stencil { f, taps, boundaries } => self.stencil(binding, f, taps, boundaries),
            ArrayOp::Nest { extents, body } => self.nest(extents, body),
            ArrayOp::Element { source, index } => self.element(binding, *source, index),
            ArrayOp::Cond { condition, then, otherwise } => self.cond(condition, then, otherwise),
            ArrayOp::While { condition, step, starts } => self.repeat(condition, step, starts),
            ArrayOp::Foreign { name: _, fallback, arguments } => self.foreign(fallback, arguments),
            ArrayOp::Consume { limit, body, sinks, streams, chunks } => {
                self.consume(binding, limit.as_ref(), body, sinks, streams, *chunks)
            }
            ArrayOp::Cluster { body, marks, order } => self.cluster(body, marks, *order),
        }
    }

    /// Extents of a result, given as operands.
    pub fn extents(&mut self, extents: &[Operand]) -> Extents {
        if extents.len() > MAX_RANK {
            let what = "the result".to_owned();
            self.report(ProgramFault::Rank { what, rank: extents.len(), limit: MAX_RANK });
        }
        for (dim, extent) in extents.iter().enumerate() {
            self.within(Step::Item("extents", dim), |v| v.extent_operand(dim, extent));
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
                self.within(Step::Item(field, position), |v| {
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

    /// The extents that arrays have in common: ranks are equal, and no extent is refuted to be.
    pub fn equal_extents(&mut self, what: &str, sources: &[ArrayId]) -> Option<Extents> {
        let mut common: Option<Extents> = None;
        for (position, &id) in sources.iter().enumerate() {
            let Some(ty) = self.type_of(id).filter(|ty| !ty.stream) else { continue };
            let extents = self.all_sizes(&ty.extents);
            match &common {
                Some(first) if first.len() != extents.len() => {
                    let what = format!("{what} {position}");
                    self.report(ProgramFault::WrongRank { what, found: extents.len(), expected: first.len() });
                }
                Some(first) => {
                    for dim in 0..first.len() {
                        self.equal(&extents[dim], &first[dim], dim, &|| format!("{what} {position}"));
                    }
                }
                None => common = Some(extents),
            }
        }
        common
    }

    pub fn equal(&mut self, found: &Option<Size>, expected: &Option<Size>, dim: usize, what: &dyn Fn() -> String) {
        if let (Some(found), Some(expected)) = (found, expected)
            && self.sizes.equal_sizes(found, expected) == Answer::Refuted
        {
            let (found, expected) = (self.show_size(found), self.show_size(expected));
            self.report(ProgramFault::Extents { what: what(), dim, found, expected });
        }
    }

    fn constant(&mut self, binding: &'p Binding, extents: &[i64], values: &[crate::Constant]) -> Wants {
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
        let extents = extents.iter().map(|&extent| Some(Size::constant(extent))).collect();
        vec![vec![element.map(|element| Want::array(extents, element))]]
    }

    fn map(&mut self, binding: &'p Binding, f: &'p Lambda, sources: &[ArrayId]) -> Wants {
        let types = self.sources("sources", sources, 0, false);
        let results = self.function("f", f, &elements(&types));
        self.at_least("results of the function", results.len(), 1);
        let Some(first) = types.iter().flatten().next() else { return vec![unknown(&results)] };
        for (position, ty) in types.iter().enumerate() {
            if let Some(ty) = ty
                && ty.rank() != first.rank()
            {
                let what = format!("source {position}");
                self.report(ProgramFault::WrongRank { what, found: ty.rank(), expected: first.rank() });
                return vec![unknown(&results)];
            }
        }
        // The results have one shape, at most each source's.
        let Some(result) = binding.results.first() else { return vec![unknown(&results)] };
        let extents = self.all_sizes(&result.ty.extents);
        if extents.len() == first.rank() {
            for (position, ty) in types.iter().enumerate() {
                let available = ty.map_or(&[][..], |ty| &ty.extents);
                for (dim, (found, &available)) in extents.iter().zip(available).enumerate() {
                    if let (Some(found), Some(available)) = (found, &self.size(available))
                        && self.sizes.at_most_sizes(found, available) == Answer::Refuted
                    {
                        let (found, available) = (self.show_size(found), self.show_size(available));
                        let source = self.name(sources[position]);
                        self.report(ProgramFault::TooFew { dim, found, source_name: source, available });
                    }
                }
            }
            vec![arrays(&extents, &results)]
        } else {
            vec![arrays(&self.all_sizes(&first.extents), &results)]
        }
    }

    /// A function from an index of `rank` dimensions to one of the sources, whose extents are equal.
    fn index_function(&mut self, field: &'static str, f: &'p Lambda, rank: usize, sources: &[ArrayId]) {
        let extents = self.equal_extents("source", sources);
        let params = vec![INDEX; rank.min(MAX_RANK)];
        match extents {
            Some(extents) => self.function_to(field, f, &params, &vec![INDEX; extents.len()]),
            None => _ = self.function(field, f, &params),
        }
    }

    fn replicate(&mut self, dims: &[Option<Operand>], sources: &[ArrayId]) -> Wants {
        let types = self.sources("sources", sources, 0, false);
        let common = self.equal_extents("source", sources);
        for (dim, extent) in dims.iter().enumerate() {
            if let Some(extent) = extent {
                self.within(Step::Item("dims", dim), |v| v.extent_operand(dim, extent));
            }
        }
        let Some(common) = common else { return vec![unknown(&types)] };
        let kept = dims.iter().filter(|dim| dim.is_none()).count();
        if dims.len() > MAX_RANK {
            let what = "the result".to_owned();
            self.report(ProgramFault::Rank { what, rank: dims.len(), limit: MAX_RANK });
        }
        if !self.count("dimensions to keep", kept, common.len()) {
            return vec![unknown(&types)];
        }
        let mut common = common.into_iter();
        let extents: Extents = dims
            .iter()
            .map(|dim| match dim {
                None => common.next().flatten(),
                Some(extent) => self.sizes.operand(extent),
            })
            .collect();
        vec![arrays(&extents, &elements(&types))]
    }

    fn slice(&mut self, dims: &[Option<Operand>], sources: &[ArrayId]) -> Wants {
        let types = self.sources("sources", sources, 0, false);
        let common = self.equal_extents("source", sources);
        for (dim, index) in dims.iter().enumerate() {
            if let Some(index) = index {
                self.within(Step::Item("dims", dim), |v| {
                    v.scalar_of(index, ElementType::I64, &|| format!("index {dim}"));
                });
            }
        }
        let Some(common) = common else { return vec![unknown(&types)] };
        if !self.count("dimensions", dims.len(), common.len()) {
            return vec![unknown(&types)];
        }
        let extents: Extents =
            dims.iter().zip(common).filter(|(dim, _)| dim.is_none()).map(|(_, extent)| extent).collect();
        vec![arrays(&extents, &elements(&types))]
    }

    fn reshape(&mut self, extents: &[Operand], sources: &[ArrayId]) -> Wants {
        let extents = self.extents(extents);
        let types = self.sources("sources", sources, 0, false);
        let common = self.equal_extents("source", sources);
        if let (Some(from), Some(to)) = (self.total(common.as_deref()), self.total(Some(&extents)))
            && self.sizes.equal_sizes(&from, &to) == Answer::Refuted
        {
            let (found, expected) = (self.show_size(&from), self.show_size(&to));
            self.report(ProgramFault::Reshape { found, expected });
        }
        vec![arrays(&extents, &elements(&types))]
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

    fn concat(&mut self, sources: &[ArrayId], dim: usize) -> Wants {
        let types = self.sources("sources", sources, 1, false);
        self.at_least("sources", sources.len(), 2);
        let known: Vec<&Type> = types.iter().flatten().copied().collect();
        let Some(first) = known.first() else { return vec![vec![None]] };
        if dim >= first.rank() {
            self.report(ProgramFault::Dimension { dim, rank: first.rank() });
            return vec![vec![None]];
        }
        let mut extents = self.all_sizes(&first.extents);
        for (position, ty) in types.iter().enumerate().skip(1) {
            let Some(ty) = ty else { continue };
            let what = || format!("source {position}");
            if ty.rank() != first.rank() {
                self.report(ProgramFault::WrongRank { what: what(), found: ty.rank(), expected: first.rank() });
                return vec![vec![None]];
            }
            if ty.element != first.element {
                let (found, expected) = (ty.element, first.element);
                self.report(ProgramFault::WrongElement { what: what(), found, expected });
            }
            for (d, other) in self.all_sizes(&ty.extents).into_iter().enumerate() {
                if d != dim {
                    self.equal(&other, &extents[d], d, &what);
                } else {
                    extents[d] = match (&extents[d], &other) {
                        (Some(a), Some(b)) => Some(self.sizes.binary(Binary::Add, a, b)),
                        _ => None,
                    };
                }
            }
        }
        if known.len() < types.len() {
            extents[dim] = None;
        }
        vec![vec![Some(Want::array(extents, first.element))]]
    }

    /// Sources of a fold or scan, with its function and seeds; and their common extents.
    fn rows(
        &mut self,
        combine: &'p Lambda,
        seeds: &[Operand],
        sources: &[ArrayId],
    ) -> (Vec<Option<&'p Type>>, Option<Extents>) {
        let types = self.sources("sources", sources, 1, false);
        let common = self.equal_extents("source", sources).filter(|extents| !extents.is_empty());
        let elements = elements(&types);
        self.combining("combine", combine, &elements);
        for (position, seed) in seeds.iter().enumerate() {
            self.within(Step::Item("seeds", position), |v| {
                let what = || format!("seed {position}");
                match elements.get(position).copied().flatten() {
                    Some(element) => v.scalar_of(seed, element, &what),
                    None => _ = v.scalar(seed, &what),
                }
            });
        }
        (types, common)
    }

    /// A function of 2k parameters to k results.
    fn combining(&mut self, field: &'static str, f: &'p Lambda, elements: &[Option<ElementType>]) {
        let params: Vec<_> = elements.iter().chain(elements).copied().collect();
        self.function_to(field, f, &params, elements);
    }

    /// The number of segments, if there are offsets.
    fn segments(&mut self, offsets: Option<ArrayId>) -> Option<Option<Size>> {
        let offsets = offsets?;
        let what = || "the array of offsets".to_owned();
        let ty = self.within(Step::Field("offsets"), |v| {
            let ty = v.array(offsets, &what)?;
            if ty.rank() != 1 {
                v.report(ProgramFault::WrongRank { what: what(), found: ty.rank(), expected: 1 });
                return None;
            }
            if !ty.element.is_integer() {
                v.report(ProgramFault::NoInteger { what: what(), found: ty.element });
            }
            Some(ty)
        });
        Some(ty.and_then(|ty| self.size(ty.extents[0])).map(|size| size.offset(-1)))
    }

    fn scan(
        &mut self,
        form: ScanForm,
        combine: &'p Lambda,
        seeds: &[Operand],
        sources: &[ArrayId],
        offsets: Option<ArrayId>,
    ) -> Wants {
        let (types, common) = self.rows(combine, seeds, sources);
        if form != ScanForm::Inclusive {
            self.count("seeds", seeds.len(), sources.len());
        } else if !seeds.is_empty() {
            self.report(ProgramFault::Seeds { found: seeds.len(), form: "this form of a scan" });
        }
        let segments = self.segments(offsets);
        let elements = elements(&types);
        let Some(extents) = common else {
            let both = types.iter().chain(if form == ScanForm::Body { &types[..] } else { &[] });
            return vec![both.map(|_| None).collect()];
        };
        let mut rows = extents.clone();
        let innermost = rows.pop().flatten();
        let mut results = match form {
            ScanForm::Inclusive | ScanForm::Body => arrays(&extents, &elements),
            ScanForm::Exclusive => {
                let more = segments.clone().unwrap_or(Some(Size::constant(1)));
                let longer = match (&innermost, &more) {
                    (Some(n), Some(more)) => Some(n.plus(more, 1)),
                    _ => None,
                };
                arrays(&rows.iter().cloned().chain([longer]).collect::<Vec<_>>(), &elements)
            }
        };
        if form == ScanForm::Body {
            let totals: Extents = rows.into_iter().chain(segments).collect();
            results.extend(arrays(&totals, &elements));
        }
        vec![results]
    }

    /// Defaults of a permute: their types, and their common extents.
    fn defaults(&mut self, defaults: &[ArrayId]) -> (Vec<Option<&'p Type>>, Option<Extents>) {
        let types = self.sources("defaults", defaults, 0, false);
        let common = self.equal_extents("default", defaults);
        (types, common)
    }

    fn permute(
        &mut self,
        combine: &'p Lambda,
        defaults: &[ArrayId],
        values: &[ArrayId],
        targets: &[ArrayId],
        keep: Option<ArrayId>,
    ) -> Wants {
        let (types, common) = self.defaults(defaults);
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
        if let Some(common) = &common {
            self.count("targets", targets.len(), common.len());
        }
        let mut together = values.to_vec();
        for (dim, &target) in targets.iter().enumerate() {
            self.within(Step::Item("targets", dim), |v| {
                v.typed_array(target, ElementType::I64, &|| format!("target {dim}"));
            });
            together.push(target);
        }
        if let Some(keep) = keep {
            self.within(Step::Field("keep"), |v| v.typed_array(keep, ElementType::Bool, &|| "`keep`".to_owned()));
            together.push(keep);
        }
        self.equal_extents("value, target or `keep`", &together);
        vec![types.into_iter().map(|ty| ty.map(|ty| self.want(ty))).collect()]
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
        self.equal_extents("source", sources);
        types
    }

    fn permuted_expand(
        &mut self,
        size: &'p Lambda,
        get: &'p Lambda,
        combine: &'p Lambda,
        defaults: &[ArrayId],
        sources: &[ArrayId],
    ) -> Wants {
        let (types, common) = self.defaults(defaults);
        let element_types = elements(&types);
        let mut params = elements(&self.vectors(sources));
        self.function_to("size", size, &params, &[INDEX]);
        params.push(INDEX);
        if let Some(common) = common {
            let mut expected = vec![INDEX; common.len()];
            expected.extend(&element_types);
            if get.results.len() == expected.len() + 1 {
                expected.push(Some(ElementType::Bool));
            }
            self.function_to("get", get, &params, &expected);
        } else {
            self.function("get", get, &params);
        }
        self.combining("combine", combine, &element_types);
        vec![types.into_iter().map(|ty| ty.map(|ty| self.want(ty))).collect()]
    }

    fn stencil(
        &mut self,
        binding: &'p Binding,
        f: &'p Lambda,
        taps: &'p [Tap],
        boundaries: &'p [TapBoundary],
    ) -> Wants {
        self.at_least("taps", taps.len(), 1);
        let rank = binding.results.first().map_or(0, |var| var.ty.rank());
        let mut found: HashMap<ArrayId, usize> = HashMap::new();
        let mut types = Vec::with_capacity(taps.len());
        for (position, tap) in taps.iter().enumerate() {
            let ty = self.within(Step::Item("taps", position), |v| {
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
            self.within(Step::Item("boundaries", position), |v| match &boundary.boundary {
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
        let results = self.function("f", f, &elements(&types));
        self.at_least("results of the function", results.len(), 1);
        // The results' own types say over which extents it runs: all over the same.
        let extents = binding.results.first().map_or(Vec::new(), |var| self.all_sizes(&var.ty.extents));
        vec![arrays(&extents, &results)]
    }
}

/// The element types of arrays.
pub(super) fn elements(types: &[Option<&Type>]) -> Vec<Option<ElementType>> {
    types.iter().map(|ty| ty.map(|ty| ty.element)).collect()
}

/// Arrays of these extents.
pub(super) fn arrays(extents: &[Option<Size>], elements: &[Option<ElementType>]) -> Vec<Option<Want>> {
    elements.iter().map(|element| element.map(|element| Want::array(extents.to_vec(), element))).collect()
}

/// As many results of which nothing is known.
fn unknown<T>(results: &[T]) -> Vec<Option<Want>> {
    results.iter().map(|_| None).collect()
}

/// A number, and as many vectors of that extent.
fn counted(binding: &Binding, elements: &[Option<ElementType>]) -> Vec<Option<Want>> {
    let total = binding.results.first().map(|var| Sizes::unknown(var.id));
    [Some(Want::scalar(ElementType::I64))].into_iter().chain(arrays(&[total], elements)).collect()
}
