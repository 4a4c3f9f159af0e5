//! Operations whose results have as many elements as only running tells: `expand` and `filter`.

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Binding, ElementType, ElementType::I64, Extent, Lambda, LambdaBuilder, Name, Operand,
    ScalarOperand, Type, Var,
};

use super::{
    Lifter, Value,
    context::{ContextId, Made},
};

/// The sources of all lanes one after the other.
struct Vectors {
    arrays: Vec<ArrayId>,
    elements: ContextId,
}

impl<'p> Lifter<'p> {
    fn vectors(&mut self, home: ContextId, sources: &[ArrayId]) -> Vectors {
        let first = self.array_value(sources[0]);
        let elements = self.lifted(&first, home).elements;
        let arrays = self.all_conformed(sources, home, elements);
        let arrays = arrays.into_iter().map(|array| self.as_vector(array)).collect();
        Vectors { arrays, elements }
    }

    /// The sum of one number for each element, for each lane: as many as the lane gets.
    pub fn counts(&mut self, elements: ContextId, numbers: ArrayId, name: &Name) -> Value {
        let home = self.context(elements).parent;
        let offsets = match &self.context(elements).made {
            Made::Ragged { offsets, .. } => Some(*offsets),
            Made::Root | Made::Uniform { .. } | Made::Subset { .. } => None,
        };
        let dims = self.dims(elements);
        let numbers = if self.flat.ty(numbers).rank() == dims.len() { numbers } else { self.reshaped(numbers, dims) };
        let op = ArrayOp::Fold {
            combine: Lambda::componentwise(&[(Binary::Add, I64)]),
            seeds: vec![Operand::Constant(0i64.into())],
            sources: vec![numbers],
            offsets,
            commutes: false,
        };
        let dims = self.dims(home);
        let flat = if offsets.is_some() { vec![self.product(&dims)] } else { dims };
        let array = self.flat.bind(op, vec![(name.clone(), Type::array(flat, I64))])[0];
        let array = self.shaped(array, home);
        self.not_negative.insert(array);
        Value { array, home, elements: home, ty: I64 }
    }

    /// Defines the results of an operation that gave a flat total and flat vectors of it.
    fn counted(&mut self, binding: &'p Binding, home: ContextId, count: Value, total: ArrayId, vectors: &[ArrayId]) {
        let elements = self.ragged(home, &count, Some(total));
        let mut vars = binding.results.iter();
        if let Some(var) = vars.next() {
            self.define(var, count);
        }
        for (var, &array) in vars.zip(vectors) {
            self.define(var, Value { array, home, elements, ty: var.ty.element });
        }
    }

    /// Ids and types of a total and of vectors of that extent; the first results of `vars` are in the lanes.
    fn totalled(&mut self, vars: &[Var], more: &[(Name, ElementType)]) -> Vec<(ArrayId, Name, Type)> {
        let total = self.flat.id();
        self.not_negative.insert(total);
        let mut results = vec![(total, Name::from("total"), Type::scalar(I64))];
        let extents = vec![Extent::Value(total)];
        let wanted = vars.iter().map(|var| (var.name.clone(), var.ty.element)).chain(more.iter().cloned());
        for (name, ty) in wanted {
            results.push((self.flat.id(), name, Type::array(extents.clone(), ty)));
        }
        results
    }

    pub fn filter(&mut self, binding: &'p Binding, home: ContextId, keep: &'p Lambda, sources: &[ArrayId]) {
        let first = self.array_value(sources[0]);
        let elements = self.lifted(&first, home).elements;
        let mut all = self.all_conformed(sources, home, elements);
        let ([f], extras) = self.functions_of_lanes(elements, [(keep, sources.len())]);
        all.extend(&extras);
        // Plain arrays stay as they are: in a vector, dividing would find the lane and the index of each element.
        let rank = self.dims(elements).len();
        if all.iter().any(|&array| self.flat.ty(array).rank() != rank) {
            all = all.into_iter().map(|array| self.as_vector(array)).collect();
        }
        // Of each element whether it stays, as a number.
        let numbers = self.as_number(&f, &all);
        let name = binding.results[0].name.clone();
        let mut count = self.counts(elements, numbers, &name);
        // Of arrays of several dimensions one after the other is summed.
        while count.home != home {
            count = self.counts(count.home, count.array, &name);
        }
        let more: Vec<_> = extras.iter().map(|&id| (Name::default(), self.flat.ty(id).element)).collect();
        let results = self.totalled(&binding.results[1..], &more);
        let ids: Vec<ArrayId> = results.iter().map(|(id, _, _)| *id).collect();
        let level = self.flat.here();
        self.flat.bind_ids(level, ArrayOp::Filter { keep: f, sources: all }, results);
        self.counted(binding, home, count, ids[0], &ids[1..]);
    }

    fn as_number(&mut self, keep: &Lambda, sources: &[ArrayId]) -> ArrayId {
        let extents = self.flat.ty(sources[0]).extents.clone();
        let mut b = LambdaBuilder::new();
        let params: Vec<ScalarOperand> = keep.params.iter().map(|param| b.param("", param.ty).operand).collect();
        let kept = b.call(keep, &params)[0];
        let number = b.convert(I64, fusebox_ir::ScalarValue { operand: kept, ty: fusebox_ir::ElementType::Bool });
        let f = b.finish(&[number]);
        let op = ArrayOp::Map { f, sources: sources.to_vec() };
        self.flat.bind(op, vec![("kept".into(), Type::array(extents, I64))])[0]
    }

    pub fn expand(
        &mut self,
        binding: &'p Binding,
        home: ContextId,
        size: &'p Lambda,
        get: &'p Lambda,
        sources: &[ArrayId],
    ) {
        let results: Vec<_> = binding.results[1..].iter().map(|var| (var.name.clone(), var.ty.element)).collect();
        let name = binding.results[0].name.clone();
        let (count, total, arrays) = self.expanded_flat(home, (size, get), sources, &name, &results);
        self.counted(binding, home, count, total, &arrays);
    }

    /// The lanes of the elements of an expand, and what it gives.
    pub fn expanded(
        &mut self,
        home: ContextId,
        functions: (&'p Lambda, &'p Lambda),
        sources: &[ArrayId],
        types: &[ElementType],
    ) -> (ContextId, Vec<ArrayId>) {
        let results: Vec<_> = types.iter().map(|&ty| (Name::default(), ty)).collect();
        let (count, total, arrays) = self.expanded_flat(home, functions, sources, &Name::default(), &results);
        (self.ragged(home, &count, Some(total)), arrays)
    }

    fn expanded_flat(
        &mut self,
        home: ContextId,
        (size, get): (&'p Lambda, &'p Lambda),
        sources: &[ArrayId],
        name: &Name,
        results: &[(Name, ElementType)],
    ) -> (Value, ArrayId, Vec<ArrayId>) {
        let vectors = self.vectors(home, sources);
        let ([size, get], extras) =
            self.functions_of_lanes(vectors.elements, [(size, sources.len()), (get, sources.len())]);
        let mut all = vectors.arrays.clone();
        for &extra in &extras {
            all.push(self.as_vector(extra));
        }
        let numbers = self.sizes_of(&size, &all);
        let count = self.counts(vectors.elements, numbers, name);
        let results = self.totalled(&[], results);
        let ids: Vec<ArrayId> = results.iter().map(|(id, _, _)| *id).collect();
        let level = self.flat.here();
        self.flat.bind_ids(level, ArrayOp::Expand { size, get, sources: all }, results);
        (count, ids[0], ids[1..].to_vec())
    }

    /// How many each element becomes; a negative number counts as zero.
    fn sizes_of(&mut self, size: &Lambda, sources: &[ArrayId]) -> ArrayId {
        let extents = self.flat.ty(sources[0]).extents.clone();
        let mut b = LambdaBuilder::new();
        let params: Vec<ScalarOperand> = size.params.iter().map(|param| b.param("", param.ty).operand).collect();
        let size = b.call(size, &params)[0];
        let size = b.binary(Binary::Max, fusebox_ir::ScalarValue::int(size), 0i64);
        let f = b.finish(&[size]);
        let op = ArrayOp::Map { f, sources: sources.to_vec() };
        self.flat.bind(op, vec![("sizes".into(), Type::array(extents, I64))])[0]
    }
}
