//! Scalar code of functions in a nest, before it is strict.

use std::collections::HashMap;

use fusebox_ir::{Access, ArrayId, ElementType, Instruction, Lambda, Local, LocalId, Place, ScalarOp, ScalarOperand};

use super::{Nest, Source, Spot};
use crate::{
    expand::Expand,
    strict::{Code, Strict},
};

/// Scalar code of the program that was put off and is in the code now, by its value.
#[derive(Debug, Default)]
pub(crate) struct Deferred(pub(super) HashMap<ArrayId, ScalarOperand>);

impl Nest<'_, '_> {
    /// A scalar of the program, whose code goes into `code` where it is not in the plan.
    pub(crate) fn scalar_of_program(&mut self, id: ArrayId, code: &mut Deferred, into: &mut Code) -> ScalarOperand {
        if let Some(&own) = self.own.get(&id) {
            return own;
        }
        if let Source::Plan(operand) = self.scope.find(id) {
            return self.operand(operand);
        }
        // In order of definition, so that each finds those it uses.
        let mut wanted = std::collections::BTreeSet::from([id]);
        let mut stack = vec![id];
        while let Some(next) = stack.pop() {
            if let Source::Deferred(lambda, _) = self.scope.find(next) {
                lambda.outer_uses(&mut |used| {
                    if matches!(self.scope.find(used), Source::Deferred(..)) && wanted.insert(used) {
                        stack.push(used);
                    }
                });
            }
        }
        for next in wanted {
            if code.0.contains_key(&next) {
                continue;
            }
            if let Source::Deferred(lambda, result) = self.scope.find(next) {
                let results = self.call(lambda, &[], code, into);
                code.0.insert(next, results[result]);
            }
        }
        code.0[&id]
    }

    /// Appends an instruction to `code`.
    pub(crate) fn push(&mut self, code: &mut Code, op: ScalarOp, ty: ElementType, place: &Place) -> ScalarOperand {
        let operand = code.push(&mut self.ids, op, ty, place);
        if let Some(instruction) = code.instructions.last() {
            let instruction = instruction.clone();
            for result in &instruction.results {
                self.define(result, Spot::before(self.depth()));
            }
            let depth = self.depth();
            self.known.note(&instruction, depth);
        }
        operand
    }

    /// Appends a read of an array of the plan.
    pub(crate) fn read(
        &mut self,
        code: &mut Code,
        value: ArrayId,
        index: Vec<ScalarOperand>,
        place: &Place,
    ) -> ScalarOperand {
        let element = self.known.values.ty(value).element;
        let array = self.array(value, Access::Read);
        self.push(code, ScalarOp::Read { array, index }, element, place)
    }

    /// Appends what a function of the program computes of `arguments`.
    pub(crate) fn call(
        &mut self,
        lambda: &Lambda,
        arguments: &[ScalarOperand],
        deferred: &mut Deferred,
        code: &mut Code,
    ) -> Vec<ScalarOperand> {
        let mut names: HashMap<LocalId, ScalarOperand> =
            lambda.params.iter().map(|param| param.id).zip(arguments.iter().copied()).collect();
        for instruction in &lambda.instructions {
            let imported = self.import(instruction, &mut names, deferred, code);
            for result in &imported.results {
                self.define(result, Spot::before(self.depth()));
            }
            let depth = self.depth();
            self.known.note(&imported, depth);
            code.instructions.push(imported);
        }
        lambda.results.iter().map(|&result| self.imported(result, &names, deferred, code)).collect()
    }

    fn imported(
        &mut self,
        operand: ScalarOperand,
        names: &HashMap<LocalId, ScalarOperand>,
        deferred: &mut Deferred,
        code: &mut Code,
    ) -> ScalarOperand {
        match operand {
            ScalarOperand::Local(id) => names.get(&id).copied().unwrap_or(operand),
            ScalarOperand::Outer(id) => self.scalar_of_program(id, deferred, code),
            ScalarOperand::Constant(_) => operand,
        }
    }

    fn import(
        &mut self,
        instruction: &Instruction,
        names: &mut HashMap<LocalId, ScalarOperand>,
        deferred: &mut Deferred,
        code: &mut Code,
    ) -> Instruction {
        use fusebox_ir::ScalarPartMut::{Array, Body, Operand as Value};
        let mut op = instruction.op.clone();
        for part in op.parts_mut() {
            match part {
                Value(operand) => *operand = self.imported(*operand, names, deferred, code),
                Array(array) => {
                    if let Some(value) = self.scope.array(*array) {
                        *array = self.array(value, Access::Read);
                    }
                }
                Body(body) => *body = self.import_body(body, names, deferred, code),
            }
        }
        let results = instruction.results.iter().map(|result| self.renamed(result, names)).collect();
        Instruction { results, op, place: instruction.place.clone() }
    }

    fn renamed(&mut self, local: &Local, names: &mut HashMap<LocalId, ScalarOperand>) -> Local {
        let new = Local { id: self.ids.fresh(), ty: local.ty, name: local.name.clone() };
        self.define(&new, Spot::before(self.depth()));
        names.insert(local.id, new.id.into());
        new
    }

    fn import_body(
        &mut self,
        body: &Lambda,
        names: &mut HashMap<LocalId, ScalarOperand>,
        deferred: &mut Deferred,
        code: &mut Code,
    ) -> Lambda {
        let params = body.params.iter().map(|param| self.renamed(param, names)).collect();
        let instructions = body.instructions.iter().map(|inner| self.import(inner, names, deferred, code)).collect();
        let results = body.results.iter().map(|&result| self.imported(result, names, deferred, code)).collect();
        Lambda { params, instructions, results }
    }

    /// A function of the program as a strict, expanded function of the kernel.
    pub(crate) fn function(&mut self, lambda: &Lambda) -> Lambda {
        let mut code = Code::default();
        let mut names = HashMap::new();
        let mut body = self.import_body(lambda, &mut names, &mut Deferred::default(), &mut code);
        // Code that was put off runs where it is needed inside.
        code.instructions.append(&mut body.instructions);
        body.instructions = code.instructions;
        self.strict_function(&body)
    }

    /// A function of the kernel made strict, and expanded.
    pub(crate) fn strict_function(&mut self, body: &Lambda) -> Lambda {
        let strict = Strict::new(&mut self.ids, &|_| false).function(body);
        Expand::new(&mut self.ids, &mut self.known.types).function(strict)
    }

    /// Appends an instruction of several results to `code`.
    pub(crate) fn push_all(&mut self, code: &mut Code, op: ScalarOp, types: &[ElementType]) -> Vec<ScalarOperand> {
        let at = Spot::before(self.depth());
        let results: Vec<Local> = types.iter().map(|&ty| self.local(ty, at)).collect();
        let operands = results.iter().map(|result| result.id.into()).collect();
        code.instructions.push(Instruction { results, op, place: Place::default() });
        operands
    }
}
