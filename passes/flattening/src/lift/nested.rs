//! Arrays out of arrays of arrays.

use std::collections::HashSet;

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Binding, ElementType::I64, Extent, Operand, Part, Program, ScalarOp, ScalarOperand, Type,
    Var,
};

use super::{
    LaneOperand, Lifter, Value,
    code::{Code, Outside},
    context::{ContextId, Made, ROOT},
    flat::operands,
};
use crate::Error;

/// An array of an array of arrays, as code reads it: where it lies. It is not moved to an array of its own for that.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    /// The lanes that have one.
    home: ContextId,
    /// Over these, where its elements begin.
    begin: ArrayId,
    /// The values of all arrays.
    values: ArrayId,
    /// How many elements it has: a value of the nested program.
    size: ArrayId,
}

/// The arrays of arrays of arrays that scalar code reads, at what index it likes, and that nothing else uses.
pub(super) fn read_where_they_lie(program: &Program) -> HashSet<ArrayId> {
    let (mut found, mut used) = (HashSet::new(), HashSet::new());
    for block in program.body.blocks() {
        used.extend(&block.results);
        for binding in &block.bindings {
            if let (ArrayOp::Element { .. }, [.., array]) = (&binding.op, &binding.results[..]) {
                found.insert(array.id);
            }
            for part in binding.op.parts() {
                match part {
                    Part::Array(id) => _ = used.insert(*id),
                    Part::Function(f) => used.extend(f.instructions_within().filter_map(|instruction| {
                        if let ScalarOp::ReadFlat { array, .. } = &instruction.op { Some(*array) } else { None }
                    })),
                    _ => {}
                }
            }
        }
    }
    found.retain(|id| !used.contains(id));
    found
}

impl Code<'_, '_> {
    /// An element of an array where it lies.
    pub fn element_of_row(&mut self, row: Row, index: ScalarOperand, name: &str) -> ScalarOperand {
        let lane = self.lane(row.home);
        let begin = self.read_of_lane(row.begin, lane.clone());
        let size = self.scalar(row.size);
        let index = self.inside(index, size, name, &lane);
        let position = self.binary(Binary::Add, begin, index, I64);
        self.read(row.values, vec![position])
    }
}

impl<'p> Lifter<'p> {
    pub fn element(
        &mut self,
        binding: &'p Binding,
        home: ContextId,
        source: ArrayId,
        index: &[Operand],
    ) -> Result<(), Error> {
        let value = self.array_value(source);
        let ty = self.source_type(source);
        let (rank, level) = (ty.rank(), ty.inner.first().cloned().unwrap_or_default());
        let steps = self.steps(value.home, value.elements);
        let Some((array, sizes)) = binding.results.split_last() else {
            fusebox_ir::bug!(self.program, "an element is an array");
        };
        let fixed: Vec<Option<Operand>> = index.iter().map(|&operand| Some(operand)).collect();
        let unknown: Vec<usize> =
            level.iter().enumerate().filter(|(_, extent)| **extent == Extent::Unknown).map(|(dim, _)| dim).collect();
        if let Some(row) = self.row_of(&value, &fixed) {
            for (var, &dim) in sizes.iter().zip(&unknown) {
                let size = self.extent_value(steps[rank + dim]);
                self.define(var, size);
            }
            self.define(array, row);
            return Ok(());
        }
        let at: Vec<LaneOperand> = index.iter().map(|&operand| self.lane_operand(operand)).collect();
        let name = self.source_name(source);
        // The index, which is inside.
        let place = |code: &mut Code<'_, 'p>| {
            let lane = code.lane(value.home);
            let zeros = vec![Code::constant(0); steps.len()];
            let mut index = Vec::new();
            for (dim, operand) in at.iter().enumerate() {
                let size = code.extent_at(&value, &lane, dim, &zeros);
                let operand = Self::code_operand(code, operand);
                index.push(code.inside(operand, size, &name, &lane));
            }
            index
        };
        for (var, &dim) in sizes.iter().zip(&unknown) {
            let step = steps[rank + dim];
            if let Made::Uniform { .. } = self.context(step).made {
                let size = self.extent_value(step);
                self.define(var, size);
                continue;
            }
            let mut code = Code::over(self, home);
            let lane = code.lane(value.home);
            let mut index = place(&mut code);
            index.resize(steps.len(), Code::constant(0));
            let size = code.extent_at(&value, &lane, rank + dim, &index);
            let f = code.b.finish_needed(&[size]);
            let dims = self.dims(home);
            let op = if home == ROOT { ArrayOp::Unit { f } } else { ArrayOp::Generate { extents: operands(&dims), f } };
            let id = self.flat.bind(op, vec![(var.name.clone(), Type::array(dims, I64))])[0];
            self.not_negative.insert(id);
            self.define(var, Value { array: id, home, elements: home, ty: I64 });
        }
        let elements = self.grown(home, &array.ty, |code, dim, _, own| {
            let lane = code.lane(value.home);
            let index = [&place(code)[..], own].concat();
            code.extent_at(&value, &lane, rank + dim, &index)
        });
        // An array of its own extents is read nowhere else: the index of the array was looked at.
        let own = array.ty.extents.iter().zip(sizes).all(|(extent, size)| *extent == Extent::Value(size.id));
        let all = own && array.ty.extents.len() == sizes.len() && array.ty.inner.is_empty();
        let outside = if all { Outside::Never } else { Outside::Error(name.clone()) };
        let made = self.moved_array(&array.name, &value, &outside, (home, elements), |code, own| {
            let at = match all {
                true => place(code),
                false => at.iter().map(|operand| Self::code_operand(code, operand)).collect(),
            };
            at.into_iter().chain(own.iter().copied()).collect()
        });
        self.define(array, Value { array: made, home, elements, ty: array.ty.element });
        let ragged = steps.last().is_some_and(|&step| matches!(self.context(step).made, Made::Ragged { .. }));
        if let ([size], true) = (sizes, all && ragged && home != ROOT && self.read_where_they_lie.contains(&array.id)) {
            let begin = self.begin_of_row(array, &value, home, place);
            self.rows.insert(array.id, Row { home, begin, values: value.array, size: size.id });
        }
        Ok(())
    }

    /// Where the elements of an array begin in the values of all arrays, for each lane; `place` gives which array that is.
    fn begin_of_row(
        &mut self,
        array: &Var,
        all: &Value,
        home: ContextId,
        place: impl FnOnce(&mut Code<'_, 'p>) -> Vec<ScalarOperand>,
    ) -> ArrayId {
        let steps = self.steps(all.home, all.elements);
        let mut code = Code::over(self, home);
        let lane = code.lane(all.home);
        let index = [&place(&mut code)[..], &[Code::constant(0)]].concat();
        let begin = code.down(&lane, &steps, &index, &Outside::Never);
        let f = code.b.finish_needed(&begin);
        let dims = self.dims(home);
        let op = ArrayOp::Generate { extents: operands(&dims), f };
        // Errors of an index outside say its name: that of the array.
        self.flat.bind(op, vec![(array.name.clone(), Type::array(dims, I64))])[0]
    }
}
