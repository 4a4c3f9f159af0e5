//! Every local and every array that statements name, in one place.

use fusebox_ir::{
    Action, ArrayId, FailureKind, IndexMap, Instruction, Lambda, Local, LocalId, ScalarOperand, ScalarPartMut,
    Statement,
};

/// What is done with the names in statements.
pub(super) trait Visit {
    /// A local where it is defined; visited after what its statement uses.
    fn define(&mut self, local: &mut Local);
    /// A local where it is used.
    fn local(&mut self, id: &mut LocalId);
    /// A position in the kernel's arrays.
    fn array(&mut self, id: &mut ArrayId);

    fn operand(&mut self, operand: &mut ScalarOperand) {
        if let ScalarOperand::Local(id) = operand {
            self.local(id);
        }
    }

    fn operands(&mut self, operands: &mut [ScalarOperand]) {
        operands.iter_mut().for_each(|operand| self.operand(operand));
    }

    fn map(&mut self, map: &mut IndexMap) {
        for (_, id) in map.dims.iter_mut().flat_map(|dim| &mut dim.terms) {
            self.local(id);
        }
    }

    fn instruction(&mut self, instruction: &mut Instruction) {
        for part in instruction.op.parts_mut() {
            match part {
                ScalarPartMut::Operand(operand) => self.operand(operand),
                ScalarPartMut::Array(array) => self.array(array),
                ScalarPartMut::Body(body) => self.lambda(body),
            }
        }
        instruction.results.iter_mut().for_each(|result| self.define(result));
    }

    fn lambda(&mut self, lambda: &mut Lambda) {
        lambda.params.iter_mut().for_each(|param| self.define(param));
        lambda.instructions.iter_mut().for_each(|instruction| self.instruction(instruction));
        self.operands(&mut lambda.results);
    }

    fn statement(&mut self, statement: &mut Statement) {
        if let Some(when) = &mut statement.when {
            self.operand(when);
        }
        match &mut statement.action {
            Action::Load { result, array, map, outside, place: _ } => {
                self.array(array);
                self.map(map);
                if let Some(outside) = outside {
                    self.lambda(outside);
                }
                self.define(result);
            }
            Action::Scalar(instruction) => self.instruction(instruction),
            Action::Check { condition, failure } => {
                self.operand(condition);
                match &mut failure.fault {
                    FailureKind::Index { array: _, index, extents } => {
                        self.operands(index);
                        self.operands(extents);
                    }
                    FailureKind::NegativeExtent { array: _, extent } => self.operand(extent),
                    FailureKind::EmptyFold { array: _, row } => self.operand(row),
                    FailureKind::Offsets { offsets: _, position, value, extent } => {
                        self.operand(position);
                        self.operand(value);
                        self.operand(extent);
                    }
                    FailureKind::TooLarge { array: _, extents } => self.operands(extents),
                    FailureKind::DivisionByZero | FailureKind::NoOffsets { .. } | FailureKind::Assertion { .. } => {}
                }
            }
            Action::Reduce { results, to: _, association: _, combine, seeds, values } => {
                self.operands(values);
                self.operands(seeds);
                self.lambda(combine);
                results.iter_mut().for_each(|result| self.define(result));
            }
            Action::Scan { results, exclusive: _, totals, association: _, combine, seeds, values } => {
                self.operands(values);
                self.operands(seeds);
                self.lambda(combine);
                results.iter_mut().chain(totals).for_each(|result| self.define(result));
            }
            Action::Store { array, map, value } => {
                self.array(array);
                self.map(map);
                self.operand(value);
            }
            Action::Append { arrays, count, values } => {
                arrays.iter_mut().for_each(|array| self.array(array));
                self.array(count);
                self.operands(values);
            }
            Action::Scatter { arrays, map, combine, values, order: _, place: _ } => {
                arrays.iter_mut().for_each(|array| self.array(array));
                self.map(map);
                self.operands(values);
                self.lambda(combine);
            }
        }
    }
}
