//! Sequence computations.

use crate::{
    ArrayId, ArrayOp, Block, ElementType, Extent, Operand, Sink, Type,
    generate::scope::{Known, Scope, operand},
};

impl Scope<'_> {
    pub(super) fn consume(&mut self) -> Option<()> {
        let mut streams: Vec<Known> = Vec::new();
        for _ in 0..self.random.pick(&[0, 1, 1, 2]) {
            let top = self.depth == 0;
            // Arrays along their outermost dimension; arrays of arrays of one level.
            let fits = |known: &Known| match &known.ty.inner[..] {
                [] => {
                    if known.ty.stream {
                        top
                    } else {
                        known.ty.rank() > 0
                    }
                }
                [_] => known.ty.rank() == 1,
                _ => false,
            };
            let nested = self.random.chance(1, 4);
            let of_arrays = self.pick(|_, known| nested && !known.ty.inner.is_empty() && fits(known));
            let known = of_arrays.or_else(|| self.pick(|_, known| fits(known)))?;
            if known.ty.stream {
                // Read once.
                self.hide(std::slice::from_ref(&known));
            }
            streams.push(known);
        }
        let limit = if streams.is_empty() || self.random.chance(1, 3) {
            let extent = self.extent();
            Some(if self.bounds_of(extent).1 <= self.config.max_extent + 1 {
                operand(extent)
            } else {
                Operand::Constant(3i64.into())
            })
        } else {
            None
        };
        let steps = self.config.max_extent + 1;
        let mark = self.open();
        self.lanes *= steps;
        let index = self.fresh();
        let var = self.var(index, Type::scalar(ElementType::I64));
        self.block().params.push(var);
        self.bounds.insert(index, (0, steps));
        self.know(index, Type::scalar(ElementType::I64));
        for stream in &streams {
            let most = self.nested_most.get(&stream.id).copied().unwrap_or(self.config.max_extent);
            let of_element = match &stream.ty.inner[..] {
                [level] => &level[..],
                _ if stream.ty.stream => &stream.ty.extents[..],
                _ => &stream.ty.extents[1..],
            };
            let mut extents = Vec::new();
            for &extent in of_element {
                extents.push(if extent == Extent::Unknown || self.random.chance(1, 6) {
                    self.block_size(extent, most)
                } else {
                    extent
                });
            }
            let (id, ty) = (self.fresh(), Type::array(extents, stream.element()));
            let var = self.var(id, ty.clone());
            self.block().params.push(var);
            self.know(id, ty);
        }
        let count = self.random.range(0, 3) as usize;
        self.steps(count);

        let (mut sinks, mut given) = (Vec::new(), Vec::new());
        let (mut ids, mut types) = (Vec::new(), Vec::new());
        for _ in 0..self.random.pick(&[1, 1, 2, 3]) {
            self.sink(mark, &mut sinks, &mut given, &mut ids, &mut types);
        }
        self.lanes /= steps;
        // What is a size of the body alone is no extent outside.
        let body = self.close(mark, given);
        let streams = streams.iter().map(|known| known.id).collect();
        let values = self.bind_ids(&ids, ArrayOp::Consume { limit, body, sinks, streams, chunks: false }, types);
        for known in values.into_iter().filter(|known| known.ty.stream) {
            self.hide(std::slice::from_ref(&known));
            if self.depth == 0 {
                self.marked.push((format!("s{}", self.marked.len()), known));
            }
        }
        Some(())
    }

    /// A size that the type of a parameter binds; of an extent that is not known, up to `most`.
    fn block_size(&mut self, extent: Extent, most: i64) -> Extent {
        let bounds = if extent == Extent::Unknown { (0, most) } else { self.bounds_of(extent) };
        let size = self.fresh();
        self.bounds.insert(size, bounds);
        let var = self.var(size, Type::scalar(ElementType::I64));
        self.block().sizes.push(var);
        self.know(size, Type::scalar(ElementType::I64));
        Extent::Value(size)
    }

    /// One more sink, what the body gives it, and the results.
    fn sink(
        &mut self,
        mark: usize,
        sinks: &mut Vec<Sink>,
        given: &mut Vec<ArrayId>,
        ids: &mut Vec<ArrayId>,
        types: &mut Vec<Type>,
    ) {
        let fits = |known: &Known| known.is_array() && known.ty.rank() < 4;
        let value = match self.pick(|_, known| fits(known)) {
            Some(known) => known,
            None => self.produce(None, &[]),
        };
        let steps = self.config.max_extent + 1;
        let most: i64 = value.ty.extents.iter().map(|&extent| self.bounds_of(extent).1.max(1)).product::<i64>() * steps;
        match self.random.below(4) {
            0 => {
                let mut all = vec![value.clone()];
                if self.random.chance(1, 3) {
                    all.push(self.produce(None, &value.ty.extents));
                }
                let size = self.fresh();
                self.bounds.insert(size, (0, most));
                ids.push(size);
                types.push(Type::scalar(ElementType::I64));
                for known in &all {
                    ids.push(self.fresh());
                    types.push(Type::array(vec![Extent::Value(size)], known.element()));
                    given.push(known.id);
                }
                sinks.push(Sink::Elements { count: all.len() });
            }
            1 => {
                let mut extents = Vec::new();
                let bounds: Vec<_> = [(0, steps)]
                    .into_iter()
                    .chain(value.ty.extents.iter().map(|&e| (0, self.bounds_of(e).1)))
                    .collect();
                for bounds in bounds {
                    let size = self.fresh();
                    self.bounds.insert(size, bounds);
                    ids.push(size);
                    types.push(Type::scalar(ElementType::I64));
                    extents.push(Extent::Value(size));
                }
                ids.push(self.fresh());
                types.push(Type::array(extents, value.element()));
                given.push(value.id);
                sinks.push(Sink::Tabulate);
            }
            2 => {
                ids.push(self.fresh());
                let extents = vec![Extent::Unknown; value.ty.rank()];
                types.push(Type { stream: true, ..Type::array(extents, value.element()) });
                given.push(value.id);
                sinks.push(Sink::StreamOut);
            }
            _ => {
                let element = value.element();
                // Bound outside of the body, where there is only what was before.
                let seeds = vec![Operand::Constant(self.random.constant(element))];
                // Nor does the function see what the body has.
                let inside = self.values.split_off(mark);
                let f = self.accumulator(&value);
                self.values.extend(inside);
                ids.push(self.fresh());
                types.push(Type::scalar(element));
                given.push(value.id);
                sinks.push(Sink::Accumulate { count: 1, f, seeds });
            }
        }
    }

    /// Folds all values of a chunk into the state, so that it does not matter how chunks are cut.
    fn accumulator(&mut self, value: &Known) -> Block {
        let element = value.element();
        let (combine, _) = self.combining(&[(element, false)]);
        let mark = self.open();
        let state = self.fresh();
        let var = self.var(state, Type::scalar(element));
        self.block().params.push(var);
        if value.ty.rank() > 0 {
            let mut extents = vec![self.block_size(Extent::Unknown, self.config.max_extent)];
            if value.ty.rank() > 1 {
                extents.push(Extent::Constant(value.ty.rank() as i64));
            }
            let id = self.fresh();
            let var = self.var(id, Type::array(extents, ElementType::I64));
            self.block().params.push(var);
        }
        let size = self.block_size(Extent::Unknown, self.config.max_extent);
        let values = self.fresh();
        let var = self.var(values, Type::array(vec![size], element));
        self.block().params.push(var);
        let op = ArrayOp::Fold {
            combine,
            seeds: vec![Operand::Value(state)],
            sources: vec![values],
            offsets: None,
            commutes: false,
        };
        let folded = self.bind(op, vec![Type::scalar(element)]);
        self.close(mark, vec![folded[0].id])
    }
}
