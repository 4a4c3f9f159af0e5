//! Scalar code of functions in a nest, before it is strict.

use std::collections::HashMap;

use fusebox_ir::{
    Access, ArrayId, ElementType, Instruction, Lambda, Local, LocalId, Place, ScalarOp, ScalarOperand, ValueId, bug,
};

use super::{KernelBuilder, ProgramPoint};
use crate::{
    expand::Expand,
    strict::{ScalarCode, Strict},
};

impl KernelBuilder<'_> {
    /// A scalar of the program: a value of the nest, or one of the plan.
    fn scalar_of_program(&mut self, id: ArrayId) -> ScalarOperand {
        match self.own.get(&id) {
            Some(&own) => own,
            None => self.operand(self.scope.find(id)),
        }
    }

    /// Appends an instruction to `code`.
    pub(crate) fn push(
        &mut self,
        code: &mut ScalarCode,
        op: ScalarOp,
        ty: ElementType,
        place: &Place,
    ) -> ScalarOperand {
        let operand = code.push(&mut self.ids, op, ty, place);
        if let Some(instruction) = code.instructions.last() {
            let instruction = instruction.clone();
            for result in &instruction.results {
                self.define(result, ProgramPoint::before(self.depth()));
            }
            let depth = self.depth();
            self.known.note(&instruction, depth);
        }
        operand
    }

    /// Appends a read of an array of the plan.
    pub(crate) fn read(
        &mut self,
        code: &mut ScalarCode,
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
        code: &mut ScalarCode,
    ) -> Vec<ScalarOperand> {
        let mut names: HashMap<LocalId, ScalarOperand> =
            lambda.params.iter().map(|param| param.id).zip(arguments.iter().copied()).collect();
        for instruction in &lambda.instructions {
            let imported = self.import(instruction, &mut names);
            for result in &imported.results {
                self.define(result, ProgramPoint::before(self.depth()));
            }
            let depth = self.depth();
            self.known.note(&imported, depth);
            code.instructions.push(imported);
        }
        lambda.results.iter().map(|&result| self.imported(result, &names)).collect()
    }

    fn imported(&mut self, operand: ScalarOperand, names: &HashMap<LocalId, ScalarOperand>) -> ScalarOperand {
        match operand {
            ScalarOperand::Local(id) => match names.get(&id) {
                Some(&named) => named,
                None => bug!(self.program(), "{id} is used before it is defined"),
            },
            ScalarOperand::Outer(id) => self.scalar_of_program(id),
            ScalarOperand::Constant(_) => operand,
        }
    }

    fn import(&mut self, instruction: &Instruction, names: &mut HashMap<LocalId, ScalarOperand>) -> Instruction {
        use fusebox_ir::ScalarPartMut::{Array, Body, Operand as Value};
        let mut op = instruction.op.clone();
        for part in op.parts_mut() {
            match part {
                Value(operand) => *operand = self.imported(*operand, names),
                Array(array) => {
                    let value = self.scope.array(*array);
                    let Some(value) = value else {
                        bug!(self.program(), "{array} is read by a function, and is no array of the plan")
                    };
                    *array = self.array(value, Access::Read).in_code();
                }
                Body(body) => *body = self.import_body(body, names),
            }
        }
        let results = instruction.results.iter().map(|result| self.renamed(result, names)).collect();
        Instruction { results, op, place: instruction.place.clone() }
    }

    fn renamed(&mut self, local: &Local, names: &mut HashMap<LocalId, ScalarOperand>) -> Local {
        let new = Local { id: self.ids.fresh(), ty: local.ty, name: local.name.clone() };
        self.define(&new, ProgramPoint::before(self.depth()));
        names.insert(local.id, new.id.into());
        new
    }

    fn import_body(&mut self, body: &Lambda, names: &mut HashMap<LocalId, ScalarOperand>) -> Lambda {
        let params = body.params.iter().map(|param| self.renamed(param, names)).collect();
        let instructions = body.instructions.iter().map(|inner| self.import(inner, names)).collect();
        let results = body.results.iter().map(|&result| self.imported(result, names)).collect();
        Lambda { params, instructions, results }
    }

    /// A function of the program as a strict, expanded function of the kernel.
    pub(crate) fn function(&mut self, lambda: &Lambda) -> Lambda {
        let body = self.import_body(lambda, &mut HashMap::new());
        self.strict_function(&body)
    }

    /// A function of the kernel made strict, and expanded.
    pub(crate) fn strict_function(&mut self, body: &Lambda) -> Lambda {
        let strict = Strict::new(&mut self.ids, &|_| false).function(body);
        Expand::new(&mut self.ids, &mut self.known.types).function(strict)
    }

    /// Appends an instruction of several results to `code`.
    pub(crate) fn push_all(
        &mut self,
        code: &mut ScalarCode,
        op: ScalarOp,
        types: &[ElementType],
    ) -> Vec<ScalarOperand> {
        let at = ProgramPoint::before(self.depth());
        let results: Vec<Local> = types.iter().map(|&ty| self.local(ty, at)).collect();
        let operands = results.iter().map(|result| result.id.into()).collect();
        code.instructions.push(Instruction { results, op, place: Place::default() });
        operands
    }
}
