//! Arrays of arrays: nest, element.

use std::collections::HashSet;

use crate::{
    ArrayId, ArrayOp, ElementType, Extent, Operand, Type,
    generate::scope::{Known, Scope, operand, operands},
};

impl Scope<'_> {
    pub(super) fn nest(&mut self) -> Option<()> {
        if self.random.chance(1, 3)
            && let Some(source) = self.pick(|scope, known| scope.is_nested(known))
        {
            return self.element(&source);
        }
        let rank = self.random.pick(&[1, 1, 1, 2]);
        let extents = self.extents(rank);
        let lanes: i64 = extents.iter().map(|&extent| self.bounds_of(extent).1.max(1)).product();
        if lanes > 40 {
            return None;
        }
        let mark = self.open();
        self.lanes *= lanes;
        for &extent in &extents {
            let id = self.fresh();
            let ty = Type::scalar(ElementType::I64);
            let var = self.var(id, ty.clone());
            self.block().params.push(var);
            let most = self.bounds_of(extent).1;
            self.bounds.insert(id, (0, (most - 1).max(0)));
            self.indices.insert(id, extent);
            self.know(id, ty);
        }
        let steps = self.random.range(1, 4) as usize;
        self.steps(steps);
        let mut results = Vec::new();
        for _ in 0..self.several() {
            let deep = !self.config.promises;
            let fits =
                |known: &Known| !known.ty.stream && (known.ty.inner.is_empty() || deep && known.ty.inner.len() < 3);
            // Of what the body made, where it made something.
            let made = self.values[mark..].iter().any(fits) && self.random.chance(7, 8);
            let inside: HashSet<ArrayId> = self.values[mark..].iter().map(|known| known.id).collect();
            results.push(match self.pick(|_, known| fits(known) && (!made || inside.contains(&known.id))) {
                Some(known) => known,
                None => self.produce(None, &[]),
            });
        }
        let body = self.close(mark, results.iter().map(|known| known.id).collect());
        self.lanes /= lanes;
        let visible: HashSet<ArrayId> = self.values.iter().map(|known| known.id).collect();
        let mut types = Vec::new();
        let mut most = Vec::new();
        for known in &results {
            let mut inner: Vec<Vec<Extent>> =
                [known.ty.extents.clone()].into_iter().chain(known.ty.inner.clone()).collect();
            inner.retain(|level| !level.is_empty());
            most.push(inner.first().into_iter().flatten().map(|&extent| self.bounds_of(extent).1).max().unwrap_or(0));
            for extent in inner.iter_mut().flatten() {
                if matches!(extent, Extent::Value(id) if !visible.contains(id)) || self.random.chance(1, 8) {
                    *extent = Extent::Unknown;
                }
            }
            types.push(Type { inner, ..Type::array(extents.clone(), known.element()) });
        }
        let op = ArrayOp::Nest { extents: operands(&extents), body };
        let values = self.bind(op, types);
        for (known, most) in values.iter().zip(most) {
            self.nested_most.insert(known.id, most);
        }
        Some(())
    }

    fn is_nested(&self, known: &Known) -> bool {
        !known.ty.stream
            && !known.ty.inner.is_empty()
            && known.ty.extents.iter().all(|&extent| self.positive(extent) || self.index_value(extent).is_some())
    }

    /// A value in scope that is an index of that extent.
    fn index_value(&self, extent: Extent) -> Option<ArrayId> {
        self.values.iter().map(|known| known.id).find(|id| self.indices.get(id) == Some(&extent))
    }

    fn element(&mut self, source: &Known) -> Option<()> {
        let mut index = Vec::new();
        for &extent in &source.ty.extents {
            index.push(match self.index_value(extent) {
                Some(id) => Operand::Value(id),
                None if self.unsafely() => operand(extent),
                None if self.random.chance(1, 2) => Operand::Constant(0i64.into()),
                None => self.index_operand(extent),
            });
        }
        let (mut ids, mut types) = (Vec::new(), Vec::new());
        let mut inner = source.ty.inner.clone();
        let mut extents = inner.remove(0);
        let most = self.nested_most.get(&source.id).copied().unwrap_or(self.config.max_extent);
        for extent in &mut extents {
            if *extent == Extent::Unknown {
                let size = self.fresh();
                self.bounds.insert(size, (0, most));
                ids.push(size);
                types.push(Type::scalar(ElementType::I64));
                *extent = Extent::Value(size);
            }
        }
        ids.push(self.fresh());
        types.push(Type { inner, ..Type::array(extents, source.element()) });
        let values = self.bind_ids(&ids, ArrayOp::Element { source: source.id, index }, types);
        if let Some(last) = values.last() {
            self.nested_most.insert(last.id, most);
        }
        Some(())
    }
}
