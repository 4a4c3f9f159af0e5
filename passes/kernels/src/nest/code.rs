//! Scalar code of functions in a nest, before it is strict.

use fusebox_ir::{
    Access, ArrayId, ElementType, Emit, Instruction, Lambda, LambdaBuilder, Local, Place, ScalarOp, ScalarOperand,
    ValueId, bug, inline, unnamed,
};

use super::{KernelBuilder, ProgramPoint};
use crate::{expand::Expand, locals::scalar_code, strict::Strict};

/// Code that is written for a nest: what functions name is found in the nest, and what is known of each scalar is noted.
struct NestCode<'a, 'v> {
    nest: &'a mut KernelBuilder<'v>,
    code: &'a mut LambdaBuilder,
    /// How many bodies are open; in them nothing is noted but types and points.
    bodies: usize,
}

impl NestCode<'_, '_> {
    /// Writes with the nest's ids, and notes what of `like` is new in it.
    fn written<'l>(
        &mut self,
        like: &'l [Local],
        write: impl FnOnce(&mut LambdaBuilder, &'l [Local]) -> Vec<ScalarOperand>,
    ) -> (Vec<ScalarOperand>, bool) {
        let first = self.nest.ids.next;
        self.code.count_from(first);
        let operands = write(self.code, like);
        self.nest.ids.next = self.code.next_local();
        let at = ProgramPoint::before(self.nest.depth());
        for (operand, local) in operands.iter().zip(like) {
            if let ScalarOperand::Local(id) = *operand
                && id >= first
            {
                self.nest.define(&Local { id, ..local.clone() }, at);
            }
        }
        (operands, self.nest.ids.next > first)
    }
}

impl Emit for NestCode<'_, '_> {
    fn emit(&mut self, op: ScalarOp, results: &[Local], place: &Place) -> Vec<ScalarOperand> {
        let (operands, new) = self.written(results, |code, results| code.emit(op, results, place));
        if new
            && self.bodies == 0
            && let Some(instruction) = self.code.instructions().last()
        {
            let depth = self.nest.depth();
            self.nest.known.note(instruction, depth);
        }
        operands
    }

    fn open(&mut self, params: &[Local]) -> Vec<ScalarOperand> {
        self.bodies += 1;
        self.written(params, |code, params| code.open(params)).0
    }

    fn close(&mut self, results: Vec<ScalarOperand>) -> Lambda {
        self.bodies -= 1;
        self.code.close(results)
    }

    /// A scalar of the program: a value of the nest, or one of the plan.
    fn outer(&mut self, id: ArrayId) -> ScalarOperand {
        match self.nest.own.get(&id) {
            Some(&own) => own,
            None => self.nest.operand(self.nest.scope.find(id)),
        }
    }

    fn array(&mut self, id: ArrayId) -> ArrayId {
        let Some(value) = self.nest.scope.array(id) else {
            bug!(self.nest.program(), "{id} is read by a function, and is no array of the plan")
        };
        self.nest.array(value, Access::Read).in_code()
    }
}

impl<'v> KernelBuilder<'v> {
    fn writing<'a>(&'a mut self, code: &'a mut LambdaBuilder) -> NestCode<'a, 'v> {
        NestCode { nest: self, code, bodies: 0 }
    }

    /// Appends an instruction to `code`.
    pub(crate) fn push(
        &mut self,
        code: &mut LambdaBuilder,
        op: ScalarOp,
        ty: ElementType,
        place: &Place,
    ) -> ScalarOperand {
        self.writing(code).emit(op, &unnamed(&[ty]), place)[0]
    }

    /// Appends an instruction of several results to `code`.
    pub(crate) fn push_all(
        &mut self,
        code: &mut LambdaBuilder,
        op: ScalarOp,
        types: &[ElementType],
    ) -> Vec<ScalarOperand> {
        self.writing(code).emit(op, &unnamed(types), &Place::default())
    }

    /// Appends a read of an array of the plan.
    pub(crate) fn read(
        &mut self,
        code: &mut LambdaBuilder,
        value: ValueId,
        index: Vec<ScalarOperand>,
        place: &Place,
    ) -> ScalarOperand {
        let element = self.known.values.ty(value).element;
        let array = self.array(value, Access::Read).in_code();
        self.push(code, ScalarOp::Read { array, index }, element, place)
    }

    /// Appends what a function of the program computes of `arguments`.
    pub(crate) fn call(
        &mut self,
        lambda: &Lambda,
        arguments: &[ScalarOperand],
        code: &mut LambdaBuilder,
    ) -> Vec<ScalarOperand> {
        inline(&mut self.writing(code), lambda, arguments)
    }

    /// A body that executes an instruction alone.
    pub(super) fn body_of(&mut self, instruction: &Instruction) -> Lambda {
        let mut code = LambdaBuilder::new();
        let mut writing = self.writing(&mut code);
        writing.open(&[]);
        let results = writing.emit(instruction.op.clone(), &instruction.results, &instruction.place);
        writing.close(results)
    }

    /// A function of the program as a strict, expanded function of the kernel.
    pub(crate) fn function(&mut self, lambda: &Lambda) -> Lambda {
        let mut code = scalar_code();
        let mut writing = self.writing(&mut code);
        let params = writing.open(&lambda.params);
        let results = inline(&mut writing, lambda, &params);
        let body = writing.close(results);
        self.strict_function(&body)
    }

    /// A function of the kernel made strict, and expanded.
    pub(crate) fn strict_function(&mut self, body: &Lambda) -> Lambda {
        let mut expand = Expand::new(&self.ids, &self.known.types);
        let function = Strict::new(&mut expand, &|_| false).function(body);
        expand.finish(&mut self.ids);
        function
    }
}
