//! Scalar functions: typing of every instruction.

use super::{
    MAX_NESTING, ProgramFault,
    context::{PathStep, Validator},
};
use crate::{ElementType, Instruction, Lambda, ScalarOp, ScalarOperand, primitive};

impl<'p> Validator<'p> {
    /// The types that a function gives, if its parameters are of types `params` (`None` where that is not known).
    pub fn function(
        &mut self,
        field: &'static str,
        f: &'p Lambda,
        params: &[Option<ElementType>],
    ) -> Vec<Option<ElementType>> {
        self.start_function();
        self.within(PathStep::Field(field), |v| v.body(f, Some(params)))
    }

    /// A function that gives what is expected.
    pub fn function_to(
        &mut self,
        field: &'static str,
        f: &'p Lambda,
        params: &[Option<ElementType>],
        expected: &[Option<ElementType>],
    ) {
        let results = self.function(field, f, params);
        self.within(PathStep::Field(field), |v| v.results_are(&results, expected, "results of the function", "result"));
    }

    pub fn results_are(
        &mut self,
        results: &[Option<ElementType>],
        expected: &[Option<ElementType>],
        several: &str,
        one: &str,
    ) {
        if self.count(several, results.len(), expected.len()) {
            for (position, (found, expected)) in results.iter().zip(expected).enumerate() {
                if let (&Some(found), &Some(expected)) = (found, expected)
                    && found != expected
                {
                    let what = format!("{one} {position} of the function");
                    self.report(ProgramFault::WrongElement { what, found, expected });
                }
            }
        }
    }

    pub fn body(&mut self, f: &'p Lambda, params: Option<&[Option<ElementType>]>) -> Vec<Option<ElementType>> {
        if self.depth >= MAX_NESTING {
            self.report(ProgramFault::TooDeep { limit: MAX_NESTING });
            self.stop();
            return f.results.iter().map(|_| None).collect();
        }
        self.depth += 1;
        self.open_body();
        f.params.iter().for_each(|param| self.define_local(param));
        if let Some(params) = params {
            let given: Vec<_> = f.params.iter().map(|param| Some(param.ty)).collect();
            self.results_are(&given, params, "parameters of the function", "parameter");
        }
        for (position, instruction) in f.instructions.iter().enumerate() {
            if self.stopped() {
                break;
            }
            self.path_item("instructions", position, |v| v.at(&instruction.place, |v| v.instruction(instruction)));
        }
        let results = f
            .results
            .iter()
            .enumerate()
            .map(|(position, result)| {
                self.path_item("results", position, |v| v.scalar_operand(result, &|| format!("result {position}")))
            })
            .collect();
        self.close_body();
        self.depth -= 1;
        results
    }

    fn path_item<R>(&mut self, field: &'static str, position: usize, check: impl FnOnce(&mut Self) -> R) -> R {
        self.within(PathStep::Item(field, position), check)
    }

    pub fn scalar_operand(&mut self, operand: &ScalarOperand, what: &dyn Fn() -> String) -> Option<ElementType> {
        match *operand {
            ScalarOperand::Constant(constant) => Some(constant.ty()),
            ScalarOperand::Local(id) => self.local(id, what),
            ScalarOperand::Outer(id) if self.in_kernel => {
                self.report(ProgramFault::OuterInKernel { what: what(), value: id.to_string() });
                None
            }
            ScalarOperand::Outer(id) => self.scalar(&crate::Operand::Value(id), what),
        }
    }

    pub fn scalar_operand_of(&mut self, operand: &ScalarOperand, expected: ElementType, what: &dyn Fn() -> String) {
        if let Some(found) = self.scalar_operand(operand, what)
            && found != expected
        {
            self.report(ProgramFault::WrongElement { what: what(), found, expected });
        }
    }

    pub fn instruction(&mut self, instruction: &'p Instruction) {
        let types = self.instruction_types(&instruction.op);
        instruction.results.iter().for_each(|local| self.define_local(local));
        if self.count("results of an instruction", instruction.results.len(), types.len()) {
            for (position, (local, ty)) in instruction.results.iter().zip(types).enumerate() {
                if let Some(expected) = ty
                    && local.ty != expected
                {
                    let what = format!("result {position} of the instruction");
                    self.report(ProgramFault::WrongElement { what, found: local.ty, expected });
                }
            }
        }
    }

    /// Functions that kernels do not have.
    fn check_expanded(&mut self, op: &ScalarOp) {
        let function = match op {
            ScalarOp::Unary { function, .. } if !primitive::is_exact(*function) => function.text(),
            ScalarOp::Binary { function, .. } if !primitive::is_exact_binary(*function) => function.text(),
            _ => return,
        };
        self.report(ProgramFault::NotExpanded { function });
    }

    fn instruction_types(&mut self, op: &'p ScalarOp) -> Vec<Option<ElementType>> {
        if self.in_kernel {
            self.check_expanded(op);
        }
        match op {
            ScalarOp::Unary { function, a } => {
                let text = function.text();
                let Some(a) = self.scalar_operand(a, &|| format!("`{text}`")) else { return vec![None] };
                let ty = function.result_type(a);
                if ty.is_none() {
                    self.report(ProgramFault::NoUnary { function: text, a });
                }
                vec![ty]
            }
            ScalarOp::Binary { function, a, b } => {
                let text = function.text();
                let a = self.scalar_operand(a, &|| format!("the left operand of `{text}`"));
                let b = self.scalar_operand(b, &|| format!("the right operand of `{text}`"));
                let (Some(a), Some(b)) = (a, b) else { return vec![None] };
                let ty = function.result_type(a, b);
                if ty.is_none() {
                    self.report(ProgramFault::NoBinary { function: text, a, b });
                }
                vec![ty]
            }
            ScalarOp::Fma { a, b, c } => {
                let ty = self.scalar_operand(a, &|| "the first factor of `fma`".to_owned());
                if let Some(ty) = ty
                    && !ty.is_float()
                {
                    self.report(ProgramFault::NoUnary { function: "fma", a: ty });
                }
                for (operand, what) in [(b, "the second factor of `fma`"), (c, "the summand of `fma`")] {
                    match ty {
                        Some(ty) => self.scalar_operand_of(operand, ty, &|| what.to_owned()),
                        None => _ = self.scalar_operand(operand, &|| what.to_owned()),
                    }
                }
                vec![ty]
            }
            ScalarOp::Convert { to, a } => {
                let from = self.scalar_operand(a, &|| format!("the conversion to {to}"));
                if let Some(from) = from
                    && !from.converts_to(*to)
                {
                    self.report(ProgramFault::NoConversion { from, to: *to });
                }
                vec![Some(*to)]
            }
            ScalarOp::Bits { to, a } => {
                let from = self.scalar_operand(a, &|| format!("`bits_{to}`"));
                if let Some(from) = from
                    && !from.has_bits_of(*to)
                {
                    self.report(ProgramFault::NoBits { from, to: *to });
                }
                vec![Some(*to)]
            }
            ScalarOp::Read { array, index } => {
                let ty = self.array(*array, &|| "an array that is read".to_owned());
                for (dim, operand) in index.iter().enumerate() {
                    self.scalar_operand_of(operand, ElementType::I64, &|| format!("index {dim} of a read"));
                }
                if let Some(ty) = ty
                    && index.len() != ty.rank()
                {
                    let what = format!("indices of `{}`", self.name(*array));
                    self.count(&what, index.len(), ty.rank());
                }
                vec![ty.map(|ty| ty.element)]
            }
            ScalarOp::ReadFlat { array, position } => {
                let ty = self.array(*array, &|| "an array that is read".to_owned());
                self.scalar_operand_of(position, ElementType::I64, &|| "the position of a read".to_owned());
                vec![ty.map(|ty| ty.element)]
            }
            ScalarOp::If { condition, then, otherwise } => {
                self.scalar_operand_of(condition, ElementType::Bool, &|| "the condition of `if`".to_owned());
                let types = self.within(PathStep::Field("then"), |v| v.body(then, Some(&[])));
                let others = self.within(PathStep::Field("otherwise"), |v| v.body(otherwise, Some(&[])));
                self.results_are(&others, &types, "results of the second branch", "result");
                types
            }
            ScalarOp::While { condition, step, starts } => {
                let state: Vec<_> = starts
                    .iter()
                    .enumerate()
                    .map(|(position, start)| self.scalar_operand(start, &|| format!("start {position}")))
                    .collect();
                self.at_least("starts", state.len(), 1);
                let holds = self.within(PathStep::Field("condition"), |v| v.body(condition, Some(&state)));
                self.results_are(&holds, &[Some(ElementType::Bool)], "results of the condition", "result");
                let next = self.within(PathStep::Field("step"), |v| v.body(step, Some(&state)));
                self.results_are(&next, &state, "results of the step", "result");
                state
            }
            ScalarOp::Assert { condition, message: _, shown, value } => {
                for number in shown {
                    self.scalar_operand_of(number, ElementType::I64, &|| "a number that `assert` says".to_owned());
                }
                self.scalar_operand_of(condition, ElementType::Bool, &|| "the condition of `assert`".to_owned());
                vec![self.scalar_operand(value, &|| "the value of `assert`".to_owned())]
            }
        }
    }
}
