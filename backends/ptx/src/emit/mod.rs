//! The code of an entry: statements of a kernel at their depths, inside of whatever threads share.

mod instruction;
mod levels;
mod memory;

use std::{collections::BTreeMap, ops::Range};

use fusebox_backend::BackendError;
use fusebox_ir::{
    Action, Constant, Failure, FailureKind, Kernel, KernelArrayId, KernelExtent, Lambda, LocalId, Place, ScalarOperand,
    Statement,
};

pub(crate) use self::{
    levels::Axis,
    memory::{place, stored},
};
use crate::{
    failure::Site,
    module::{Argument, Entry, Quantity},
    scalar::Unexpanded,
    state::{Chunk, Reduction, Running, Together},
    text::{Class, Code, Label, Reg, Space, parameter},
    value::Val,
};

pub(crate) type Result<T = ()> = std::result::Result<T, BackendError>;

/// Bytes of local memory that a thread may have.
const LOCAL_BYTES: u64 = 512 << 10;
/// Bytes of shared memory that a block may declare.
const SHARED_BYTES: u64 = 48 << 10;

/// Which statements are emitted just now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum What {
    /// All of them.
    All,
    /// What computes and checks; nothing that stores, appends or scatters.
    Pure,
    /// What stores, appends or scatters alone.
    Effects,
    /// As [`Self::Pure`], and appends only count.
    Counts,
}

/// What code is made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct For {
    /// Compute capability of the machine.
    pub(crate) compute: (u32, u32),
    /// Whether positions in arrays have 32 bits: no array has 2^31 elements then.
    pub(crate) narrow: bool,
}

/// Emits one entry.
pub(crate) struct Emitter<'k> {
    pub(crate) kernel: &'k Kernel,
    pub(crate) c: Code,
    pub(crate) locals: BTreeMap<LocalId, Val>,
    /// Addresses of the kernel's arrays.
    pub(crate) arrays: Vec<Reg>,
    arguments: Vec<(Argument, Reg)>,
    sites: &'k mut Vec<Site>,
    /// Where a thread goes on when a check has failed.
    pub(crate) exit: Label,
    /// What is set before, where the threads of a block have to know.
    pub(crate) failed: Option<Reg>,
    /// Whether only the threads of a warp have to: they meet without the others.
    pub(crate) by_warps: bool,
    /// What errors call the operation of the statement that is emitted.
    pub(crate) operation: &'k str,
    pub(crate) what: What,
    /// Statements left out: threads have done them, or do them later.
    pub(crate) left_out: Vec<bool>,
    /// Reduces that one thread feeds, under way.
    pub(crate) reduces: BTreeMap<usize, Reduction>,
    /// Scans that one thread feeds, under way.
    pub(crate) scans: BTreeMap<usize, Running>,
    /// Reduces and scans whose elements or results threads pass through memory.
    pub(crate) together: BTreeMap<usize, Together>,
    /// How many elements the one thread that appends has put, where one does.
    pub(crate) appended: Option<Reg>,
    /// Where scatters in chunks put their elements; others put them into the arrays.
    pub(crate) chunks: Vec<Chunk>,
    /// Where scatters leave target and values for the thread that the target belongs to.
    pub(crate) staged: BTreeMap<usize, Reg>,
    /// Loads whose elements at the point under way are in shared memory: so many bytes behind an address.
    pub(crate) in_box: BTreeMap<usize, (Reg, u64)>,
    /// For scatters with copies of their targets in shared memory, where the copy of each component is.
    pub(crate) private: BTreeMap<usize, Vec<Reg>>,
    /// For scatters of packed pairs, where the words are.
    pub(crate) packed: BTreeMap<usize, Reg>,
    /// Whether another thread may scatter at the same time.
    pub(crate) contended: bool,
    /// Where rows are known to be short: they have fewer steps than so many.
    pub(crate) short_rows: Option<u32>,
    /// Whether positions in arrays have 32 bits.
    pub(crate) narrow: bool,
    /// Locks for scatters of several components.
    pub(crate) locks: Option<Reg>,
}

impl<'k> Emitter<'k> {
    /// An entry with the kernel's sizes and arrays, the error slot, and more.
    pub(crate) fn new(kernel: &'k Kernel, compiled: For, sites: &'k mut Vec<Site>, more: &[Argument]) -> Self {
        let mut c = Code::new(compiled.compute);
        let sizes = (0..kernel.sizes.len()).map(Argument::Size);
        let arrays = (0..kernel.arrays.len()).map(|at| Argument::Array(KernelArrayId::at(at)));
        let all = std::iter::once(Argument::Error).chain(sizes).chain(arrays).chain(more.iter().copied());
        let mut arguments = Vec::new();
        for (position, argument) in all.enumerate() {
            let reg = c.reg(Class::Double);
            c.op(format_args!("ld.param.u64 {reg}, [{}]", parameter(position)));
            if matches!(argument, Argument::Size(_)) {
                arguments.push((argument, reg));
                continue;
            }
            c.op(format_args!("cvta.to.global.u64 {reg}, {reg}"));
            arguments.push((argument, reg));
        }
        let exit = c.label();
        let mut emitter = Self {
            kernel,
            c,
            locals: BTreeMap::new(),
            arrays: Vec::new(),
            arguments,
            sites,
            exit,
            failed: None,
            by_warps: false,
            operation: &kernel.name.0,
            what: What::All,
            left_out: vec![false; kernel.statements.len()],
            reduces: BTreeMap::new(),
            scans: BTreeMap::new(),
            together: BTreeMap::new(),
            appended: None,
            chunks: Vec::new(),
            staged: BTreeMap::new(),
            in_box: BTreeMap::new(),
            private: BTreeMap::new(),
            packed: BTreeMap::new(),
            contended: true,
            short_rows: None,
            narrow: compiled.narrow,
            locks: None,
        };
        for (position, size) in kernel.sizes.iter().enumerate() {
            let reg = emitter.argument(Argument::Size(position));
            emitter.locals.insert(size.id, Val::new(size.ty, reg));
        }
        emitter.arrays =
            (0..kernel.arrays.len()).map(|at| emitter.argument(Argument::Array(KernelArrayId::at(at)))).collect();
        emitter
    }

    /// The register of a parameter.
    pub(crate) fn argument(&self, wanted: Argument) -> Reg {
        let found = self.arguments.iter().find(|(argument, _)| *argument == wanted);
        found.unwrap_or_else(|| fusebox_ir::bug!(self.kernel, "an entry has no parameter {wanted:?}")).1
    }

    /// The entry and its text.
    pub(crate) fn finish(mut self, part: &str, blocks: Quantity, threads: u32) -> Result<(Entry, String)> {
        for (space, most, of) in [(Space::Local, LOCAL_BYTES, "a thread"), (Space::Shared, SHARED_BYTES, "a block")] {
            let bytes = self.c.bytes(space);
            if bytes > most {
                let name = space.name();
                return Err(self.unsupported(&format!("{bytes} bytes of {name} memory: {of} has {most}")));
            }
        }
        self.c.place(self.exit);
        self.c.op("ret");
        let name = entry_name(&self.kernel.name.0, part);
        let entry = Entry {
            name: name.clone(),
            arguments: self.arguments.iter().map(|(argument, _)| *argument).collect(),
            any_blocks: blocks != Quantity::Number(1),
            blocks,
            one_more: false,
            threads,
            shared_bytes: self.c.bytes(Space::Shared),
        };
        let text = self.c.finish(&name, self.arguments.len(), threads);
        Ok((entry, text))
    }

    /// The statements of `range` that have depth `depth` or more, with the loop around the deeper ones.
    pub(crate) fn depth(&mut self, depth: usize, range: Range<usize>) -> Result {
        let (before, inner, behind) = parts(self.kernel, depth, range);
        self.statements(before)?;
        if !inner.is_empty() {
            self.level(depth, inner)?;
        }
        self.statements(behind)
    }

    /// Statements one after the other.
    pub(crate) fn statements(&mut self, range: Range<usize>) -> Result {
        range.into_iter().try_for_each(|position| self.statement(position))
    }

    pub(crate) fn statement(&mut self, position: usize) -> Result {
        let kernel = self.kernel;
        let Statement { when, action, .. } = &kernel.statements[position];
        let effect = matches!(action, Action::Store { .. } | Action::Append { .. } | Action::Scatter { .. });
        let wanted = match self.what {
            What::All => true,
            What::Pure => !effect,
            What::Counts => !effect || matches!(action, Action::Append { .. }),
            What::Effects => effect,
        };
        if self.left_out[position] || !wanted {
            return Ok(());
        }
        self.operation = kernel.operation(&kernel.statements[position]);
        let when = when.map(|when| self.condition(when)).transpose()?;
        match action {
            Action::Load { result, array, map, outside, place } => {
                let value = match self.in_box.get(&position) {
                    Some(&at) => self.load_from_box(*array, map, outside.as_ref(), at)?,
                    None => self.load(*array, map, outside.as_ref(), place)?,
                };
                self.locals.insert(result.id, value);
                Ok(())
            }
            Action::Scalar(instruction) => self.instruction(instruction),
            Action::Check { condition, failure } => self.check(*condition, when, failure),
            Action::Reduce { .. } => self.reduce(position, when),
            Action::Scan { .. } => self.scan(position, when),
            Action::Store { array, map, value } => self.store(*array, map, *value, when),
            Action::Append { .. } => self.append(position, when),
            Action::Scatter { .. } => self.scatter(position, when),
        }
    }

    fn check(&mut self, condition: ScalarOperand, when: Option<Reg>, failure: &Failure) -> Result {
        let condition = self.operand(condition)?;
        if condition.constant().and_then(Constant::as_bool) == Some(true) {
            return Ok(());
        }
        let condition = self.c.in_reg(condition);
        let mut failed = self.c.not(condition);
        if let Some(when) = when {
            failed = self.c.both(failed, when);
        }
        let operands = failure.fault.operands().into_iter().map(|&operand| self.operand(operand));
        let operands = operands.collect::<Result<Vec<_>>>()?;
        self.fail(failed, failure.clone(), &operands);
        Ok(())
    }

    /// Where `failed` holds the thread leaves what failed in the error slot, if it is the first, and goes to the exit.
    pub(crate) fn fail(&mut self, failed: Reg, failure: Failure, operands: &[Val]) {
        let number = self.sites.iter().position(|site| site.failure == failure).unwrap_or_else(|| {
            self.sites.push(Site { failure, operands: operands.len() });
            self.sites.len() - 1
        });
        let (goes_on, slot, exit) = (self.c.label(), self.argument(Argument::Error), self.exit);
        self.c.op(format_args!("@!{failed} bra {goes_on}"));
        let before = self.c.reg(Class::Double);
        self.c.op(format_args!("atom.global.cas.b64 {before}, [{slot}], 0, {}", number + 1));
        if let Some(failed) = self.failed {
            self.c.op(format_args!("mov.pred {failed}, -1"));
        }
        let late = self.c.test("setp.ne.u64", &[&before.to_string(), "0"]);
        self.c.op(format_args!("@{late} bra {exit}"));
        for (position, &operand) in operands.iter().enumerate() {
            let text = self.c.text(operand);
            self.c.op(format_args!("st.global.u64 [{slot}+{}], {text}", 8 * (position + 1)));
        }
        self.c.op(format_args!("bra {exit}"));
        self.c.place(goes_on);
    }

    /// A failure of an instruction of its own: all it knows of the operation is the statement's.
    pub(crate) fn failure(&self, place: &Place, fault: FailureKind) -> Failure {
        Failure { operation: self.operation.to_owned(), place: place.clone(), fault }
    }

    pub(crate) fn operand(&self, operand: ScalarOperand) -> Result<Val> {
        match operand {
            ScalarOperand::Local(id) => self.local(id),
            ScalarOperand::Constant(constant) => Ok(constant.into()),
            ScalarOperand::Outer(id) => {
                Err(self.broken(&format!("{id} is a scalar from outside, and in kernels scalars are loaded")))
            }
        }
    }

    pub(crate) fn operands(&self, operands: &[ScalarOperand]) -> Result<Vec<Val>> {
        operands.iter().map(|&operand| self.operand(operand)).collect()
    }

    pub(crate) fn local(&self, id: LocalId) -> Result<Val> {
        self.locals.get(&id).copied().ok_or_else(|| self.broken(&format!("local {id} is used before it is made")))
    }

    /// A `bool` as a predicate.
    pub(crate) fn condition(&mut self, operand: ScalarOperand) -> Result<Reg> {
        let value = self.operand(operand)?;
        Ok(self.c.in_reg(value))
    }

    pub(crate) fn broken(&self, message: &str) -> BackendError {
        BackendError::Compile { kernel: self.kernel.name.0.clone(), message: message.to_owned() }
    }

    /// Something that is not generated yet.
    pub(crate) fn unsupported(&self, what: &str) -> BackendError {
        unsupported(self.kernel, what)
    }

    pub(crate) fn expanded<T>(&self, result: std::result::Result<T, Unexpanded>) -> Result<T> {
        result.map_err(|Unexpanded(function)| self.unsupported(&format!("`{function}` that is not expanded")))
    }

    pub(crate) fn extent(&self, extent: KernelExtent) -> Result<Val> {
        match extent {
            KernelExtent::Constant(extent) => Ok(extent.into()),
            KernelExtent::Size(id) => self.local(id),
        }
    }

    /// A combining function; operands change places where a level runs down.
    pub(crate) fn combine(&mut self, combine: &Lambda, left: &[Val], right: &[Val], swap: bool) -> Result<Vec<Val>> {
        let (left, right) = if swap { (right, left) } else { (left, right) };
        let arguments: Vec<Val> = left.iter().chain(right).copied().collect();
        self.lambda(combine, &arguments)
    }

    /// Code that runs where a predicate holds.
    pub(crate) fn only_if(&mut self, condition: Reg, inside: impl FnOnce(&mut Self) -> Result) -> Result {
        let behind = self.c.label();
        self.c.op(format_args!("@!{condition} bra {behind}"));
        inside(self)?;
        self.c.place(behind);
        Ok(())
    }

    /// A special register, such as `tid.x`, as an `i64`.
    pub(crate) fn special(&mut self, name: &str) -> Val {
        let word = self.c.make(fusebox_ir::ElementType::U32, "mov.u32", &[&format!("%{name}")]);
        self.c.convert(fusebox_ir::ElementType::I64, word)
    }
}

/// Statements of depth `depth` or more: those before the deeper ones, the deeper ones, and those behind.
pub(crate) fn parts(kernel: &Kernel, depth: usize, range: Range<usize>) -> (Range<usize>, Range<usize>, Range<usize>) {
    let deeper = |statement: &Statement| statement.depth as usize > depth;
    let statements = &kernel.statements[range.clone()];
    let (first, last) = match (statements.iter().position(deeper), statements.iter().rposition(deeper)) {
        (Some(first), Some(last)) => (range.start + first, range.start + last + 1),
        _ => (range.end, range.end),
    };
    (range.start..first, first..last, last..range.end)
}

pub(crate) fn unsupported(kernel: &Kernel, what: &str) -> BackendError {
    BackendError::Unsupported { backend: "ptx", what: format!("kernel `{}`: {what}", kernel.name.0) }
}

/// The name of an entry, of letters, digits and `_` alone.
fn entry_name(kernel: &str, part: &str) -> String {
    let letters: String = kernel.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    format!("k_{letters}__{part}")
}
