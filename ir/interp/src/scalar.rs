//! Scalar code: evaluation by need, an instruction at a time.

use std::cell::RefCell;

use fusebox_ir::{
    ArrayId, Binary, Constant, Fault, Instruction, Lambda, LocalId, Place, ScalarOp, ScalarOperand, ScalarPart,
    primitive,
};

use crate::functions;

/// Why there is no result.
#[derive(Debug)]
pub(crate) enum Stop {
    /// A local that has no value yet is needed first.
    Missing(LocalId),
    /// An instruction at this place fails.
    Fault(Fault, Place),
    /// Something that the instruction used failed; nothing is to be added.
    Failed(Box<fusebox_ir::RunError>),
}

impl From<fusebox_ir::RunError> for Stop {
    fn from(error: fusebox_ir::RunError) -> Self {
        Self::Failed(Box::new(error))
    }
}

impl From<Fault> for Stop {
    fn from(fault: Fault) -> Self {
        Self::Fault(fault, Place::default())
    }
}

/// What scalar code sees of the values outside.
pub(crate) trait Outside {
    /// A scalar bound outside.
    fn scalar(&self, id: ArrayId) -> Result<Constant, Stop>;
    /// An element of an array bound outside.
    fn read(&self, id: ArrayId, index: &[i64]) -> Result<Constant, Stop>;
    /// An element by row-major position.
    fn read_flat(&self, id: ArrayId, position: i64) -> Result<Constant, Stop>;
}

/// A function, and where its locals are defined.
pub(crate) struct Function<'p> {
    lambda: &'p Lambda,
    /// By local id: the instruction and which result of it; none for parameters.
    definitions: Vec<Option<&'p Instruction>>,
    /// By local id: which parameter of the function; none for others.
    params: Vec<Option<usize>>,
    /// Values of locals of the call that runs.
    frame: RefCell<Vec<Option<Constant>>>,
}

impl<'p> Function<'p> {
    pub(crate) fn new(lambda: &'p Lambda) -> Self {
        let mut definitions = Vec::new();
        let mut bodies = vec![lambda];
        let mut define = |id: LocalId, instruction| {
            if definitions.len() <= id.index() {
                definitions.resize(id.index() + 1, None);
            }
            definitions[id.index()] = instruction;
        };
        while let Some(body) = bodies.pop() {
            for param in &body.params {
                define(param.id, None);
            }
            for instruction in &body.instructions {
                for local in &instruction.results {
                    define(local.id, Some(instruction));
                }
                for part in instruction.op.parts() {
                    if let ScalarPart::Body(inner) = part {
                        bodies.push(inner);
                    }
                }
            }
        }
        let mut params = vec![None; definitions.len()];
        for (position, param) in lambda.params.iter().enumerate() {
            params[param.id.index()] = Some(position);
        }
        let frame = RefCell::new(vec![None; definitions.len()]);
        Self { lambda, definitions, params, frame }
    }

    /// How many results it has.
    pub(crate) fn results(&self) -> usize {
        self.lambda.results.len()
    }

    /// Which parameters these results may need, whatever branches are taken.
    pub(crate) fn needs(&self, results: &[usize]) -> Vec<usize> {
        let mut seen = vec![false; self.definitions.len()];
        let mut stack: Vec<LocalId> = results.iter().filter_map(|&r| local(self.lambda.results[r])).collect();
        let mut needs = Vec::new();
        while let Some(id) = stack.pop() {
            if std::mem::replace(&mut seen[id.index()], true) {
                continue;
            }
            needs.extend(self.params[id.index()]);
            let Some(instruction) = self.definitions[id.index()] else { continue };
            for part in instruction.op.parts() {
                match part {
                    ScalarPart::Operand(operand) => stack.extend(local(*operand)),
                    ScalarPart::Array(_) => {}
                    ScalarPart::Body(body) => stack.extend(body.results.iter().filter_map(|&r| local(r))),
                }
            }
        }
        needs.sort_unstable();
        needs
    }

    /// Some results for these arguments, each asked for at most once.
    pub(crate) fn call(
        &self,
        outside: &dyn Outside,
        argument: &dyn Fn(usize) -> Result<Constant, Stop>,
        results: impl IntoIterator<Item = usize>,
    ) -> Result<Vec<Constant>, Stop> {
        // A call inside a call of the same function cannot be: functions hold no operations.
        let mut frame = self.frame.take();
        frame.fill(None);
        let call = Call { function: self, outside, argument };
        let values = results.into_iter().map(|r| call.force(&mut frame, self.lambda.results[r])).collect();
        self.frame.replace(frame);
        values
    }
}

fn local(operand: ScalarOperand) -> Option<LocalId> {
    if let ScalarOperand::Local(id) = operand { Some(id) } else { None }
}

type Frame = Vec<Option<Constant>>;

struct Call<'a, 'p> {
    function: &'a Function<'p>,
    outside: &'a dyn Outside,
    argument: &'a dyn Fn(usize) -> Result<Constant, Stop>,
}

impl Call<'_, '_> {
    /// The value of an operand, computing first whatever it needs: by a stack of its own, as code may be long.
    fn force(&self, frame: &mut Frame, operand: ScalarOperand) -> Result<Constant, Stop> {
        let id = match operand {
            ScalarOperand::Constant(constant) => return Ok(constant),
            ScalarOperand::Outer(id) => return self.outside.scalar(id),
            ScalarOperand::Local(id) => id,
        };
        let mut stack = vec![id];
        while let Some(&top) = stack.last() {
            if frame[top.index()].is_some() {
                stack.pop();
                continue;
            }
            if let Some(param) = self.function.params[top.index()] {
                frame[top.index()] = Some((self.argument)(param)?);
                continue;
            }
            let Some(instruction) = self.function.definitions[top.index()] else {
                unreachable!("the parameters of loops have values while they run");
            };
            match self.step(frame, instruction) {
                Ok(values) => {
                    for (local, value) in instruction.results.iter().zip(values) {
                        frame[local.id.index()] = Some(value);
                    }
                }
                Err(Stop::Missing(first)) => stack.push(first),
                Err(Stop::Fault(fault, place)) if place.is_unknown() => {
                    return Err(Stop::Fault(fault, instruction.place.clone()));
                }
                Err(stop) => return Err(stop),
            }
        }
        Ok(frame[id.index()].unwrap_or_else(|| unreachable!("it was just computed")))
    }

    /// Runs one instruction, or says which operand it needs first.
    fn step(&self, frame: &mut Frame, instruction: &Instruction) -> Result<Vec<Constant>, Stop> {
        let get = |frame: &Frame, operand: ScalarOperand| match operand {
            ScalarOperand::Constant(constant) => Ok(constant),
            ScalarOperand::Outer(id) => self.outside.scalar(id),
            ScalarOperand::Local(id) => frame[id.index()].ok_or(Stop::Missing(id)),
        };
        let holds = |frame: &Frame, operand| get(frame, operand).map(|c| c.bits() != 0);
        let value = match &instruction.op {
            ScalarOp::Binary { function: Binary::LogicalAnd, a, b } => {
                if holds(frame, *a)? {
                    get(frame, *b)?
                } else {
                    Constant::from(false)
                }
            }
            ScalarOp::Binary { function: Binary::LogicalOr, a, b } => {
                if holds(frame, *a)? {
                    Constant::from(true)
                } else {
                    get(frame, *b)?
                }
            }
            ScalarOp::If { condition, then, otherwise } => {
                let branch = if holds(frame, *condition)? { then } else { otherwise };
                return branch.results.iter().map(|&result| get(frame, result)).collect();
            }
            ScalarOp::While { condition, step, starts } => {
                let state = starts.iter().map(|&start| get(frame, start)).collect::<Result<Vec<_>, _>>()?;
                return self.run_loop(frame, condition, step, state);
            }
            ScalarOp::Assert { condition, message, shown, value } => {
                if !holds(frame, *condition)? {
                    let number = |&number: &ScalarOperand| Ok(get(frame, number)?.as_i64().unwrap_or_default());
                    let shown = shown.iter().map(number).collect::<Result<Vec<i64>, Stop>>()?;
                    return Err(Fault::assertion(message, &shown).into());
                }
                get(frame, *value)?
            }
            simple => apply(simple, &|operand| get(frame, operand), self.outside)?,
        };
        Ok(vec![value])
    }

    fn run_loop(
        &self,
        frame: &mut Frame,
        condition: &Lambda,
        step: &Lambda,
        mut state: Vec<Constant>,
    ) -> Result<Vec<Constant>, Stop> {
        let locals = [condition, step].map(all_locals);
        let mut run = |body: &Lambda, locals: &[LocalId], state: &[Constant]| {
            for id in locals {
                frame[id.index()] = None;
            }
            for (param, &value) in body.params.iter().zip(state) {
                frame[param.id.index()] = Some(value);
            }
            body.results.iter().map(|&result| self.force(frame, result)).collect::<Result<Vec<_>, _>>()
        };
        while run(condition, &locals[0], &state)?[0].bits() != 0 {
            state = run(step, &locals[1], &state)?;
        }
        Ok(state)
    }
}

/// Every local of a body, of bodies inside too.
fn all_locals(body: &Lambda) -> Vec<LocalId> {
    let mut locals = Vec::new();
    let mut bodies = vec![body];
    while let Some(body) = bodies.pop() {
        locals.extend(body.params.iter().map(|param| param.id));
        for instruction in &body.instructions {
            locals.extend(instruction.results.iter().map(|local| local.id));
            bodies.extend(instruction.op.parts().into_iter().filter_map(|part| match part {
                ScalarPart::Body(inner) => Some(inner),
                _ => None,
            }));
        }
    }
    locals
}

/// Applies an instruction that needs all its operands and has no bodies.
pub(crate) fn apply(
    op: &ScalarOp,
    get: &dyn Fn(ScalarOperand) -> Result<Constant, Stop>,
    outside: &dyn Outside,
) -> Result<Constant, Stop> {
    let integer = |operand| get(operand).map(|c| c.as_i64().unwrap_or_default());
    Ok(match op {
        ScalarOp::Unary { function, a } => {
            let a = get(*a)?;
            known(primitive::unary(*function, a).or_else(|| functions::unary(*function, a)))
        }
        ScalarOp::Binary { function, a, b } => {
            let (a, b) = (get(*a)?, get(*b)?);
            let exact = primitive::binary(*function, a, b).map_err(|_| Fault::DivisionByZero)?;
            known(exact.or_else(|| functions::binary(*function, a, b)))
        }
        ScalarOp::Fma { a, b, c } => known(primitive::fma(get(*a)?, get(*b)?, get(*c)?)),
        ScalarOp::Convert { to, a } => known(primitive::convert(*to, get(*a)?)),
        ScalarOp::Bits { to, a } => known(primitive::reinterpret(*to, get(*a)?)),
        ScalarOp::Read { array, index } => {
            let index: Vec<i64> = index.iter().map(|&i| integer(i)).collect::<Result<_, _>>()?;
            outside.read(*array, &index)?
        }
        ScalarOp::ReadFlat { array, position } => outside.read_flat(*array, integer(*position)?)?,
        ScalarOp::Assert { condition, message, shown, value } => {
            if get(*condition)?.bits() == 0 {
                let shown: Vec<i64> = shown.iter().map(|&number| integer(number)).collect::<Result<_, _>>()?;
                return Err(Fault::assertion(message, &shown).into());
            }
            get(*value)?
        }
        ScalarOp::If { .. } | ScalarOp::While { .. } => {
            unreachable!("instructions with bodies are run by who keeps the locals")
        }
    })
}

fn known(value: Option<Constant>) -> Constant {
    value.unwrap_or_else(|| unreachable!("validated programs apply functions to types that have them"))
}
