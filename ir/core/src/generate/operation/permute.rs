//! Operations that move elements to computed places, and operations whose size is known only when they run.

use super::elementwise::ids;
use crate::{
    ArrayId, ArrayOp, Binary, ElementType, Extent, Lambda, PermuteOrder, Type,
    generate::{
        code::{Atom, Code, Param},
        scope::{Known, Scope},
    },
};

impl Scope<'_> {
    /// Targets of a permute. They have the element types of the values that are combined into them.
    fn defaults(&mut self) -> Option<Vec<Known>> {
        let mut defaults = self.sources(0)?;
        for place in &mut defaults {
            let known = place.clone();
            if known.element().is_float()
                && known.element() != ElementType::F16
                && !self.free()
                && self.random.chance(1, 2)
            {
                *place = self.small(&known);
            }
        }
        Some(defaults)
    }

    /// The function that combines, for an order.
    fn put(&mut self, components: &[(ElementType, bool)], order: PermuteOrder) -> Lambda {
        let types: Vec<ElementType> = components.iter().map(|component| component.0).collect();
        match order {
            // One element after the other, or one alone: any function will do.
            PermuteOrder::Ordered | PermuteOrder::Unique if self.random.chance(1, 2) => self.arbitrary(&types).0,
            _ => self.combining(components).0,
        }
    }

    fn order(&mut self) -> PermuteOrder {
        self.random.pick(&[PermuteOrder::Source, PermuteOrder::Source, PermuteOrder::Ordered])
    }

    pub(super) fn permute(&mut self) -> Option<()> {
        let defaults = self.defaults()?;
        let into = defaults[0].ty.extents.clone();
        if self.random.chance(1, 4)
            && let [extent] = into[..]
        {
            return self.unique_permute(&defaults, extent);
        }
        let rank = self.random.pick(&[1, 1, 1, 2, 0, 3]);
        let from = self.extents(rank);
        let mut values = Vec::new();
        for known in &defaults {
            let value = self.produce(Some(known.element()), &from);
            values.push(if exact(known) { self.small(&value) } else { value });
        }
        let (targets, keep) = self.targets(&from, &into);
        let components: Vec<_> = defaults.iter().map(|known| (known.element(), exact(known))).collect();
        let order = self.order();
        let combine = self.put(&components, order);
        let types = defaults.iter().map(|known| known.ty.clone()).collect();
        let op = ArrayOp::Permute { combine, defaults: ids(&defaults), values: ids(&values), targets, keep, order };
        self.bind(op, types);
        Some(())
    }

    /// Targets, an array for each dimension, and what says which elements are dropped.
    fn targets(&mut self, from: &[Extent], into: &[Extent]) -> (Vec<ArrayId>, Option<ArrayId>) {
        let safe = into.iter().all(|&extent| self.positive(extent)) || from == into;
        let safe = safe || self.unsafely();
        let mut targets = Vec::new();
        let mut inside = Vec::new();
        for &extent in into {
            let known = self.generated_by(ElementType::I64, from, |code, _| match code.index(extent) {
                Some(index) if safe => index,
                _ => code.value(ElementType::I64),
            });
            targets.push(known.id);
            inside.push((known.id, extent));
        }
        if safe && self.random.chance(2, 3) {
            return (targets, None);
        }
        if safe {
            let keep = self.produce(Some(ElementType::Bool), from);
            return (targets, Some(keep.id));
        }
        // What would be outside is dropped.
        let keep = self.generated_by(ElementType::Bool, from, |code, index| {
            let mut keep = code.value(ElementType::Bool);
            for &(target, extent) in &inside {
                let (zero, n) = (code.number(ElementType::I64, 0), code.size(extent));
                let at = code.read_at(target, index, ElementType::I64);
                let low = code.binary(Binary::Ge, at, zero);
                let high = code.binary(Binary::Lt, at, n);
                let both = code.binary(Binary::And, low, high);
                keep = code.binary(Binary::And, keep, both);
            }
            keep
        });
        (targets, Some(keep.id))
    }

    /// Distinct targets in a vector: in order, reversed, or moved round.
    fn unique_permute(&mut self, defaults: &[Known], extent: Extent) -> Option<()> {
        let from = [extent];
        let values: Vec<Known> = defaults.iter().map(|known| self.produce(Some(known.element()), &from)).collect();
        let by = self.random.range(-3, 3);
        let reverse = self.random.chance(1, 2);
        let targets = self.generated_by(ElementType::I64, &from, |code, i| {
            let (n, one, by) = (code.size(extent), code.number(ElementType::I64, 1), code.number(ElementType::I64, by));
            if reverse {
                let last = code.binary(Binary::Sub, n, one);
                return code.binary(Binary::Sub, last, i[0]);
            }
            let moved = code.binary(Binary::Add, i[0], by);
            code.binary(Binary::ModFloor, moved, n)
        });
        let keep = if self.random.chance(1, 3) { Some(self.produce(Some(ElementType::Bool), &from).id) } else { None };
        let components: Vec<_> = defaults.iter().map(|known| (known.element(), false)).collect();
        let combine = self.put(&components, PermuteOrder::Unique);
        let types = defaults.iter().map(|known| known.ty.clone()).collect();
        let op = ArrayOp::Permute {
            combine,
            defaults: ids(defaults),
            values: ids(&values),
            targets: vec![targets.id],
            keep,
            order: PermuteOrder::Unique,
        };
        self.bind(op, types);
        Some(())
    }

    /// Vectors of equal extents, so short that a few times as many elements are not too many.
    fn vectors(&mut self, times: i64) -> Option<Vec<Known>> {
        let most = self.max_elements();
        let first = self.pick(|scope, known| {
            known.is_array() && known.ty.rank() == 1 && scope.bounds_of(known.ty.extents[0]).1 <= most / times
        })?;
        let extents = first.ty.extents.clone();
        let mut sources = vec![first];
        for _ in 1..self.several() {
            sources.push(self.produce(None, &extents));
        }
        Some(sources)
    }

    /// How many elements each becomes: at most `most`, sometimes negative.
    fn size_lambda(&mut self, params: &[Param], most: i64) -> Lambda {
        let fuel = self.random.pick(&[0, 1, 3]);
        self.lambda_of(params, fuel, |code, _| {
            let size = code.value(ElementType::I64);
            let (most, low) = (code.number(ElementType::I64, most), code.number(ElementType::I64, -1));
            let remainder = code.binary(Binary::Rem, size, most);
            if code.scope.random.chance(1, 2) {
                return vec![code.binary(Binary::Max, remainder, low)];
            }
            let one = code.number(ElementType::I64, 1);
            vec![code.binary(Binary::Add, remainder, one)]
        })
    }

    pub(super) fn expand(&mut self) -> Option<()> {
        let most = self.random.range(1, 4);
        let sources = self.vectors(most)?;
        let mut params: Vec<Param> = sources.iter().map(|known| (known.element(), None)).collect();
        let size = self.size_lambda(&params, most);
        params.push((ElementType::I64, None));
        let count = self.several();
        let types = self.elements(count);
        let get = self.lambda(&params, &types);
        let bounds = self.bounds_of(sources[0].ty.extents[0]);
        self.counted(ArrayOp::Expand { size, get, sources: ids(&sources) }, &types, bounds.1 * most);
        Some(())
    }

    /// Binds an operation that gives a number and vectors of that extent.
    pub(super) fn counted(&mut self, op: ArrayOp, types: &[ElementType], most: i64) -> Vec<Known> {
        let mut results: Vec<ArrayId> = vec![self.fresh()];
        let extent = Extent::Value(results[0]);
        self.bounds.insert(results[0], (0, most));
        results.extend(types.iter().map(|_| self.fresh()));
        let mut of_results = vec![Type::scalar(ElementType::I64)];
        of_results.extend(types.iter().map(|&ty| Type::array(vec![extent], ty)));
        self.bind_ids(&results, op, of_results)
    }

    pub(super) fn filter(&mut self) -> Option<()> {
        let most = self.max_elements();
        let first = self.pick(|scope, known| {
            known.is_array() && known.ty.rank() > 0 && scope.most_elements(&known.ty.extents) <= most
        })?;
        let extents = first.ty.extents.clone();
        let mut sources = vec![first];
        for _ in 1..self.several() {
            sources.push(self.produce(None, &extents));
        }
        let params: Vec<Param> = sources.iter().map(|known| (known.element(), None)).collect();
        let keep = self.lambda(&params, &[ElementType::Bool]);
        let types: Vec<ElementType> = sources.iter().map(Known::element).collect();
        let most = self.most_elements(&extents);
        self.counted(ArrayOp::Filter { keep, sources: ids(&sources) }, &types, most);
        Some(())
    }

    pub(super) fn permuted_expand(&mut self) -> Option<()> {
        let defaults = self.defaults()?;
        let into = defaults[0].ty.extents.clone();
        let most = self.random.range(1, 4);
        let sources = self.vectors(most)?;
        let mut params: Vec<Param> = sources.iter().map(|known| (known.element(), None)).collect();
        let size = self.size_lambda(&params, most);
        params.push((ElementType::I64, None));
        let components: Vec<(ElementType, bool)> =
            defaults.iter().map(|known| (known.element(), exact(known))).collect();
        let safe = into.iter().all(|&extent| self.positive(extent)) || self.unsafely();
        let keeps = !safe || self.random.chance(1, 3);
        let fuel = self.random.pick(&[0, 2, 5]);
        let get = self.lambda_of(&params, fuel, |code, _| {
            let targets: Vec<Atom> =
                into.iter().map(|&extent| code.index(extent).unwrap_or(code.number(ElementType::I64, 0))).collect();
            let mut results = targets.clone();
            for &(ty, small) in &components {
                results.push(value_to_put(code, ty, small));
            }
            if keeps {
                let mut keep = code.value(ElementType::Bool);
                for (&at, &extent) in targets.iter().zip(&into) {
                    let (zero, n) = (code.number(ElementType::I64, 0), code.size(extent));
                    let low = code.binary(Binary::Ge, at, zero);
                    let high = code.binary(Binary::Lt, at, n);
                    keep = code.binary(Binary::And, keep, low);
                    keep = code.binary(Binary::And, keep, high);
                }
                results.push(keep);
            }
            results
        });
        let order = self.order();
        let combine = self.put(&components, order);
        let types = defaults.iter().map(|known| known.ty.clone()).collect();
        let op =
            ArrayOp::PermutedExpand { size, get, combine, defaults: ids(&defaults), sources: ids(&sources), order };
        self.bind(op, types);
        Some(())
    }
}

/// Whether sums of elements like these are exact.
fn exact(known: &Known) -> bool {
    known.small && known.element() != ElementType::F16
}

/// A value of a type, a small whole number if sums of it shall be exact.
fn value_to_put(code: &mut Code<'_, '_>, ty: ElementType, small: bool) -> Atom {
    if !small || !ty.is_float() {
        return code.value(ty);
    }
    let number = code.value(ElementType::U8);
    let few = code.number(ElementType::U8, 15);
    let masked = code.binary(Binary::And, number, few);
    code.convert(ty, masked)
}
