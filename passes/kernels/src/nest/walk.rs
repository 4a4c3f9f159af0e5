//! Every local and every array that statements name, in one place.

use fusebox_ir::{
    ArrayId, Instruction, KernelArrayId, Lambda, Local, LocalId, ScalarOperand, ScalarPartMut, Statement,
    StatementPartMut,
};

/// What is done with the names in statements.
pub(super) trait Visit {
    /// A local where it is defined; visited after what its statement uses.
    fn define(&mut self, local: &mut Local);
    /// A local where it is used.
    fn local(&mut self, id: &mut LocalId);
    /// A position in the kernel's arrays.
    fn array(&mut self, id: &mut KernelArrayId);

    /// The same of an array that scalar code reads.
    fn read(&mut self, id: &mut ArrayId) {
        let mut array = KernelArrayId::of_code(*id);
        self.array(&mut array);
        *id = array.in_code();
    }

    fn operand(&mut self, operand: &mut ScalarOperand) {
        if let ScalarOperand::Local(id) = operand {
            self.local(id);
        }
    }

    fn instruction(&mut self, instruction: &mut Instruction) {
        for part in instruction.op.parts_mut() {
            match part {
                ScalarPartMut::Operand(operand) => self.operand(operand),
                ScalarPartMut::Array(array) => self.read(array),
                ScalarPartMut::Body(body) => self.lambda(body),
            }
        }
        instruction.results.iter_mut().for_each(|result| self.define(result));
    }

    fn lambda(&mut self, lambda: &mut Lambda) {
        lambda.params.iter_mut().for_each(|param| self.define(param));
        lambda.instructions.iter_mut().for_each(|instruction| self.instruction(instruction));
        lambda.results.iter_mut().for_each(|result| self.operand(result));
    }

    fn statement(&mut self, statement: &mut Statement) {
        for part in statement.parts_mut() {
            match part {
                StatementPartMut::Operand(operand) => self.operand(operand),
                StatementPartMut::Index(id) => self.local(id),
                StatementPartMut::Array(id, _) => self.array(id),
                StatementPartMut::Read(id) => self.read(id),
                StatementPartMut::Body(body) => self.lambda(body),
                StatementPartMut::Result(local) => self.define(local),
            }
        }
    }
}
