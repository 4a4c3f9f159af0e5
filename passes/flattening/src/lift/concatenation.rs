//! The arrays of an array of arrays one after the other. Flat arrays hold them in this order already, so that only lanes' sizes are computed.

use fusebox_ir::{ArrayId, ArrayOp, Binary, Binding, ElementType::I64, Extent, Type};

use super::{
    Lifter, Value,
    code::Code,
    context::{ContextId, LaneExtent, Made, ROOT},
    flat::operands,
};

impl<'p> Lifter<'p> {
    /// Results: the size, then a vector of each source.
    pub fn concatenated(&mut self, binding: &'p Binding, home: ContextId, sources: &[ArrayId]) {
        let Some((size, vectors)) = binding.results.split_first() else { return };
        let Some(&first) = sources.first() else { return };
        let wanted = vec![Some(self.source_name(first)); self.source_type(first).all_extents().count()];
        let first = self.array_value(first);
        let first = self.lifted(&first, home);
        let (elements, count) = self.end_to_end(&first, home);
        self.define(size, count);
        for (var, &source) in vectors.iter().zip(sources) {
            let value = self.array_value(source);
            let value = self.lifted(&value, home);
            let name = self.source_name(source);
            let value = self.brought(&value, home, first.elements, &name, &wanted);
            let array = self.reshaped(value.array, self.dims(elements));
            self.define(var, Value { array, home, elements, ty: var.ty.element });
        }
    }

    /// The context of the elements of a value in the lanes of `home` as one dimension, and how many there are in each lane.
    fn end_to_end(&mut self, value: &Value, home: ContextId) -> (ContextId, Value) {
        let outer = self.dims(home).len();
        if home == ROOT || self.is_uniform(home, value.elements) {
            let dims = self.dims(value.elements);
            let extent = self.product(&dims[outer..]);
            let elements = self.extend(home, home, &LaneExtent::Uniform(extent));
            return (elements, self.scalar_of_extent(extent));
        }
        let total = match self.count(value.elements) {
            Extent::Value(id) => Some(id),
            Extent::Constant(_) | Extent::Unknown => None,
        };
        let count = self.sizes_end_to_end(value, home);
        (self.ragged(home, &count, total), count)
    }

    /// How many elements each lane of `home` has.
    fn sizes_end_to_end(&mut self, value: &Value, home: ContextId) -> Value {
        let steps = self.steps(home, value.elements);
        let lanes = steps[0];
        // Extents of the arrays that depend on no array are those of all.
        let alike = steps[1..].iter().all(|&step| match &self.context(step).made {
            Made::Ragged { sizes, .. } => self.is_above(sizes.home, home),
            Made::Root | Made::Uniform { .. } | Made::Subset { .. } => true,
        });
        let over = if alike { home } else { lanes };
        let mut code = Code::over(self, over);
        let lane = code.lane(home);
        let mut index = code.own_indices(if alike { &[] } else { &steps[..1] });
        index.resize(steps.len(), Code::constant(0));
        let begin = usize::from(!alike);
        let mut size = code.extent_at(value, &lane, begin, &index);
        for dim in begin + 1..steps.len() {
            let extent = code.extent_at(value, &lane, dim, &index);
            size = code.binary(Binary::Mul, size, extent, I64);
        }
        let f = code.b.finish_needed(&[size]);
        let dims = self.dims(over);
        let op = ArrayOp::Generate { extents: operands(&dims), f };
        let array = self.flat.bind_out(op, &"size".into(), Type::array(dims, I64));
        self.not_negative.insert(array);
        if alike {
            return Value { array, home, elements: home, ty: I64 };
        }
        self.counts(lanes, array, &"size".into())
    }
}
