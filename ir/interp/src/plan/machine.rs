//! The locals of a kernel that runs, and strict scalar code over them.

use fusebox_ir::{
    ArrayId, Constant, Fault, Kernel, KernelArray, KernelArrayId, Lambda, LocalId, Place, RunError, ScalarOp,
    ScalarOperand,
};

use super::watch::Watch;
use crate::{
    scalar::{Outside, Stop, apply},
    val::{self, Val},
};

/// An array of a kernel, as it is while the kernel runs.
pub(super) struct Bound {
    pub(super) extents: Vec<i64>,
    pub(super) elements: Vec<Constant>,
}

pub(super) struct KernelMachine<'k> {
    pub(super) kernel: &'k Kernel,
    /// Of the statement that runs, for errors.
    pub(super) operation: &'k str,
    pub(super) locals: Vec<Constant>,
    pub(super) arrays: Vec<Bound>,
    /// Elements read by scalar code.
    pub(super) reads: std::cell::Cell<u64>,
    pub(super) bytes_read: std::cell::Cell<u64>,
    pub(super) watch: Watch,
}

impl<'k> KernelMachine<'k> {
    /// # Errors
    /// [`Fault::TooLarge`] if there is no memory for the arrays.
    pub(super) fn new(kernel: &'k Kernel, sizes: &[i64], given: &[Val]) -> Result<Self, RunError> {
        let operation = &kernel.name.0;
        let bound = |(value, array): (&Val, &KernelArray)| {
            let elements = val::copied(&array.name, &value.extents, value.scalars()).map_err(|fault| RunError {
                operation: operation.clone(),
                place: Place::default(),
                fault,
            })?;
            Ok(Bound { extents: value.extents.clone(), elements })
        };
        let arrays: Vec<Bound> = given.iter().zip(&kernel.arrays).map(bound).collect::<Result<_, RunError>>()?;
        let mut machine = Self {
            kernel,
            operation,
            locals: Vec::new(),
            arrays,
            reads: 0.into(),
            bytes_read: 0.into(),
            watch: Watch::new(kernel),
        };
        for (size, &value) in kernel.sizes.iter().zip(sizes) {
            machine.set(size.id, value.into());
        }
        Ok(machine)
    }

    pub(super) fn set(&mut self, id: LocalId, value: Constant) {
        if self.locals.len() <= id.index() {
            self.locals.resize(id.index() + 1, Constant::from(false));
        }
        self.locals[id.index()] = value;
    }

    pub(super) fn get(&self, operand: ScalarOperand) -> Constant {
        match operand {
            ScalarOperand::Local(id) => self.locals[id.index()],
            ScalarOperand::Constant(constant) => constant,
            ScalarOperand::Outer(id) => unreachable!("kernels load {id} like any array"),
        }
    }

    pub(super) fn integer(&self, operand: ScalarOperand) -> i64 {
        self.get(operand).as_i64().unwrap_or_default()
    }

    /// Runs every instruction of a function, in order.
    pub(super) fn call(&mut self, f: &Lambda, arguments: &[Constant]) -> Result<Vec<Constant>, RunError> {
        for (param, &argument) in f.params.iter().zip(arguments) {
            self.set(param.id, argument);
        }
        for instruction in &f.instructions {
            self.instruction(instruction)?;
        }
        Ok(f.results.iter().map(|&result| self.get(result)).collect())
    }

    pub(super) fn instruction(&mut self, instruction: &fusebox_ir::Instruction) -> Result<(), RunError> {
        let values = match &instruction.op {
            ScalarOp::If { condition, then, otherwise } => {
                let branch = if self.get(*condition).bits() != 0 { then } else { otherwise };
                self.call(branch, &[])?
            }
            ScalarOp::While { condition, step, starts } => {
                let mut state: Vec<Constant> = starts.iter().map(|&start| self.get(start)).collect();
                while self.call(condition, &state)?[0].bits() != 0 {
                    state = self.call(step, &state)?;
                }
                state
            }
            simple => {
                let value = apply(simple, &|operand| Ok(self.get(operand)), self);
                vec![value.map_err(|stop| self.located(stop, &instruction.place))?]
            }
        };
        for (local, value) in instruction.results.iter().zip(values) {
            self.set(local.id, value);
        }
        Ok(())
    }

    fn located(&self, stop: Stop, place: &Place) -> RunError {
        match stop {
            Stop::Fault(fault, _) => self.error(fault, place),
            Stop::Failed(error) => *error,
            Stop::Missing(_) => unreachable!("kernels are strict"),
        }
    }

    /// A fault of this kernel's operation.
    pub(super) fn error(&self, fault: Fault, place: &Place) -> RunError {
        RunError { operation: self.operation.to_owned(), place: place.clone(), fault }
    }

    pub(super) fn index_fault(&self, array: KernelArrayId, index: &[i64]) -> Fault {
        let name = self.kernel.arrays[array.index()].name.clone();
        Fault::Index { array: name, index: index.to_vec(), extents: self.arrays[array.index()].extents.clone() }
    }

    /// Whether reads and writes of an array are counted.
    pub(super) fn counts(&self, array: KernelArrayId) -> bool {
        !self.kernel.levels.is_empty() || !self.arrays[array.index()].extents.is_empty()
    }

    /// Counts a read of the element at a position, if that is inside.
    pub(super) fn count_read(&self, array: KernelArrayId, position: Option<usize>) {
        if let Some(position) = position {
            self.watch.read(self.kernel, array, position);
        }
        if self.counts(array) {
            let bytes = self.kernel.arrays[array.index()].element.bytes() as u64;
            self.reads.set(self.reads.get() + 1);
            self.bytes_read.set(self.bytes_read.get() + bytes);
        }
    }
}

impl Outside for KernelMachine<'_> {
    fn scalar(&self, id: ArrayId) -> Result<Constant, Stop> {
        unreachable!("kernels load {id} like any array")
    }

    fn read(&self, id: ArrayId, index: &[i64]) -> Result<Constant, Stop> {
        let id = KernelArrayId::of_code(id);
        let array = &self.arrays[id.index()];
        let position = val::position(&array.extents, index);
        self.count_read(id, position);
        match position {
            Some(position) => Ok(array.elements[position]),
            None => Err(self.index_fault(id, index).into()),
        }
    }

    fn read_flat(&self, id: ArrayId, position: i64) -> Result<Constant, Stop> {
        let id = KernelArrayId::of_code(id);
        let array = &self.arrays[id.index()];
        let at = usize::try_from(position).ok().filter(|&at| at < array.elements.len());
        self.count_read(id, at);
        match at.and_then(|at| array.elements.get(at)) {
            Some(&element) => Ok(element),
            None => Err(self.index_fault(id, &[position]).into()),
        }
    }
}
