//! Kernels of scalars that the host knows: computed here, so that no launch and no question to a device stands between a number and the loop
//! or the extent that it decides.
//!
//! What each instruction gives is said by [`primitive`], as everywhere. What is not plain scalar code over scalars is left to the device, and
//! so is what takes more instructions than the machine says.

use fusebox_ir::{
    Access, Action, Constant, Fault, Instruction, Kernel, KernelArrayId, Lambda, LocalId, Place, RunError, ScalarOp,
    ScalarOperand, primitive,
};

use smallvec::SmallVec;

use crate::Few;

/// Why a kernel is not computed here.
pub(super) enum Stop {
    /// The device does it.
    NotHere,
    /// The kernel fails.
    Failed(Box<RunError>),
}

/// The scalars that a kernel writes, by array.
pub(super) type Written = Few<(KernelArrayId, Constant)>;

/// Whether the host may compute a kernel, once it knows all scalars that the kernel reads, in `most` instructions.
pub(super) fn may_compute(kernel: &Kernel, most: usize) -> bool {
    let instructions = || kernel.statements.iter().filter(|one| matches!(one.action, Action::Scalar(_))).count();
    most > 0
        && kernel.levels.is_empty()
        && instructions() <= most
        && kernel.arrays.iter().all(|array| array.extents.is_empty() && array.access != Access::Update)
        && kernel.statements.iter().all(|statement| {
            matches!(
                statement.action,
                Action::Load { .. } | Action::Scalar(_) | Action::Check { .. } | Action::Store { .. }
            )
        })
}

/// Computes a kernel of which [`may_compute`] holds; `read` knows the scalars that it reads.
pub(super) fn computed(
    kernel: &Kernel,
    sizes: &[i64],
    read: impl Fn(KernelArrayId) -> Option<Constant>,
    most: usize,
) -> Result<Written, Stop> {
    let mut host = Host { operation: "", locals: SmallVec::new(), left: most };
    for (size, &value) in kernel.sizes.iter().zip(sizes) {
        host.set(size.id, value.into());
    }
    let mut written = Written::new();
    for statement in &kernel.statements {
        host.operation = kernel.operation(statement);
        if let Some(when) = statement.when
            && !host.holds(when)?
        {
            continue;
        }
        match &statement.action {
            Action::Load { result, array, map, .. } if map.dims.is_empty() => {
                host.set(result.id, read(*array).ok_or(Stop::NotHere)?);
            }
            Action::Scalar(instruction) => host.instruction(instruction)?,
            Action::Check { condition, failure } => {
                if !host.holds(*condition)? {
                    let error = failure.error(|&operand| host.integer(operand).unwrap_or_default());
                    return Err(Stop::Failed(Box::new(error)));
                }
            }
            Action::Store { array, map, value } if map.dims.is_empty() => {
                let value = host.get(*value)?;
                let fits = kernel.arrays.get(array.index()).is_some_and(|array| array.element == value.ty());
                if !fits || written.iter().any(|(before, _)| before == array) {
                    return Err(Stop::NotHere);
                }
                written.push((*array, value));
            }
            _ => return Err(Stop::NotHere),
        }
    }
    Ok(written)
}

/// The locals of a kernel that runs.
struct Host<'k> {
    /// Of the statement that runs, for errors.
    operation: &'k str,
    /// A few take no memory of their own: a call of a small program takes a microsecond.
    locals: SmallVec<[Option<Constant>; 16]>,
    /// Instructions that may still be computed.
    left: usize,
}

impl Host<'_> {
    fn set(&mut self, id: LocalId, value: Constant) {
        if self.locals.len() <= id.index() {
            self.locals.resize(id.index() + 1, None);
        }
        self.locals[id.index()] = Some(value);
    }

    fn get(&self, operand: ScalarOperand) -> Result<Constant, Stop> {
        match operand {
            ScalarOperand::Constant(constant) => Ok(constant),
            ScalarOperand::Local(id) => self.locals.get(id.index()).copied().flatten().ok_or(Stop::NotHere),
            ScalarOperand::Outer(_) => Err(Stop::NotHere),
        }
    }

    fn holds(&self, operand: ScalarOperand) -> Result<bool, Stop> {
        self.get(operand)?.as_bool().ok_or(Stop::NotHere)
    }

    fn integer(&self, operand: ScalarOperand) -> Result<i64, Stop> {
        self.get(operand)?.as_i64().ok_or(Stop::NotHere)
    }

    /// Every instruction of a function, in order, and its results.
    fn call(&mut self, function: &Lambda, arguments: &[Constant]) -> Result<Few<Constant>, Stop> {
        for (param, &argument) in function.params.iter().zip(arguments) {
            self.set(param.id, argument);
        }
        function.instructions.iter().try_for_each(|instruction| self.instruction(instruction))?;
        function.results.iter().map(|&result| self.get(result)).collect()
    }

    fn instruction(&mut self, instruction: &Instruction) -> Result<(), Stop> {
        self.left = self.left.checked_sub(1).ok_or(Stop::NotHere)?;
        let values = match &instruction.op {
            ScalarOp::If { condition, then, otherwise } => {
                let branch = if self.holds(*condition)? { then } else { otherwise };
                self.call(branch, &[])?
            }
            ScalarOp::While { condition, step, starts } => {
                let mut state: Few<Constant> = starts.iter().map(|&start| self.get(start)).collect::<Result<_, _>>()?;
                loop {
                    // Also where neither has an instruction.
                    self.left = self.left.checked_sub(1).ok_or(Stop::NotHere)?;
                    match self.call(condition, &state)?.first().and_then(|holds| holds.as_bool()) {
                        Some(true) => state = self.call(step, &state)?,
                        Some(false) => break state,
                        None => return Err(Stop::NotHere),
                    }
                }
            }
            simple => Few::from_elem(self.value(simple, &instruction.place)?, 1),
        };
        for (local, value) in instruction.results.iter().zip(values) {
            self.set(local.id, value);
        }
        Ok(())
    }

    /// The result of an instruction without bodies.
    fn value(&self, op: &ScalarOp, place: &Place) -> Result<Constant, Stop> {
        let failed = |fault| {
            let (operation, place) = (self.operation.to_owned(), place.clone());
            Stop::Failed(Box::new(RunError { operation, place, fault }))
        };
        let value = match op {
            ScalarOp::Unary { function, a } => primitive::unary(*function, self.get(*a)?),
            ScalarOp::Binary { function, a, b } => {
                let value = primitive::binary(*function, self.get(*a)?, self.get(*b)?);
                value.map_err(|_| failed(Fault::DivisionByZero))?
            }
            ScalarOp::Fma { a, b, c } => primitive::fma(self.get(*a)?, self.get(*b)?, self.get(*c)?),
            ScalarOp::Convert { to, a } => primitive::convert(*to, self.get(*a)?),
            ScalarOp::Bits { to, a } => primitive::reinterpret(*to, self.get(*a)?),
            ScalarOp::Assert { condition, message, shown, value } => {
                if !self.holds(*condition)? {
                    let shown = shown.iter().map(|&number| self.integer(number)).collect::<Result<Vec<_>, _>>()?;
                    return Err(failed(Fault::assertion(message, &shown)));
                }
                Some(self.get(*value)?)
            }
            ScalarOp::Read { .. } | ScalarOp::ReadFlat { .. } | ScalarOp::If { .. } | ScalarOp::While { .. } => None,
        };
        value.ok_or(Stop::NotHere)
    }
}
