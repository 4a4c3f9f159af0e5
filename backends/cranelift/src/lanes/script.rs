//! The steps of a lane with everything known that does not depend on the lane: where values are, which code a launch calls, and with what.
//!
//! A lane may be a few elements and a thousand launches, so a launch has to cost no more than the call of its code. Steps that are seldom met
//! there have no script, and lanes with such run as plans do.

use std::collections::HashMap;

use fusebox_ir::{
    Access, Action, Constant, ElementType, Extent, Kernel, KernelArrayId, KernelExtent, Operand, Plan, PlanExtent,
    PlanOperand, PlanValue, ScalarOperand, ScatterOrder, Step, ValueId,
};

use crate::{
    code_memory::Code,
    emit::{HiddenArgument, Part},
    loaded_kernel::LoadedKernel,
};

/// Where a value is: scalars and arrays are numbered apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Slot {
    Scalar(usize, ElementType),
    Array(usize),
}

/// A number that is known when it is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Number {
    Constant(i64),
    Scalar(usize),
}

/// What a scalar is set to.
#[derive(Clone, Copy, Debug)]
pub(super) enum Source {
    Bits(u64),
    Slot(Slot),
}

/// An array that steps make or name: its element's bytes, and its extents.
#[derive(Clone, Debug)]
pub(super) struct ArrayType {
    pub width: usize,
    pub extents: Vec<Number>,
    /// Where the extents that it has are, in a table of those of all arrays.
    pub first: usize,
}

/// A step.
#[derive(Debug)]
pub(super) enum Do {
    Allocate { array: usize, in_place_of: Option<usize> },
    Data { array: usize, bytes: Vec<u8> },
    SetScalar { to: usize, from: Source },
    NameArray { to: usize, from: usize },
    Truncate { to: usize, from: usize },
    CopyArray { to: usize, from: usize, take: bool },
    Launch(usize),
    Equal(Number, Number),
    AtMost(Number, Number),
    If { condition: Source, then: Vec<Do>, otherwise: Vec<Do> },
    While { test: Vec<Do>, condition: Source, body: Vec<Do>, moves: Vec<Move> },
    Free(usize),
}

/// What becomes state of a loop at the end of a turn.
#[derive(Debug)]
pub(super) enum Move {
    Scalar {
        to: usize,
        from: Source,
    },
    /// Whether the turn made what moves, and keeps no name of it.
    Array {
        to: usize,
        from: usize,
        made: bool,
    },
}

/// An array of a launch.
#[derive(Debug)]
pub(super) struct Given {
    pub slot: Slot,
    /// Whether it is written.
    pub written: bool,
    /// Which array of the launch it may be written over.
    pub over: Option<usize>,
    /// The extents that the kernel counts on.
    pub extents: Vec<Wanted>,
}

/// An extent of a kernel's array.
#[derive(Clone, Copy, Debug)]
pub(super) enum Wanted {
    Constant(i64),
    /// A size of the kernel, by position.
    Size(usize),
}

/// How many steps the outermost level of a kernel has.
#[derive(Debug)]
pub(super) enum Steps {
    None,
    Between(Wanted, Wanted),
    Code(Code),
}

/// Working memory of a launch, of so many bytes for each so many steps.
#[derive(Clone, Copy, Debug)]
pub(super) struct Working {
    pub word: usize,
    pub steps: i64,
}

/// A launch of a kernel by one thread, in one range.
#[derive(Debug)]
pub(super) struct Call {
    pub kernel: usize,
    pub sizes: Vec<Number>,
    pub arrays: Vec<Given>,
    /// The argument table, without what is known only then.
    pub words: Vec<u64>,
    pub steps: Steps,
    pub code: Code,
    /// Whether `code` does everything, or the steps of the outermost level alone.
    pub whole: bool,
    pub finish: Option<Code>,
    pub steps_word: Option<usize>,
    pub working: Vec<Working>,
    /// The array that takes the number of appended elements.
    pub count: Option<usize>,
    /// Arrays that are targets of one scatter, and have to be of the same extents.
    pub alike: Vec<(usize, usize)>,
}

/// What a lane does.
#[derive(Debug)]
pub(crate) struct Script {
    pub(super) lane: usize,
    pub(super) steps: Vec<Do>,
    pub(super) calls: Vec<Call>,
    /// What it gives, and the bytes of an element.
    pub(super) given: Vec<(Source, usize)>,
    pub(super) arrays: Vec<ArrayType>,
    pub(super) slots: HashMap<ValueId, Slot>,
    pub(super) scalars: usize,
    pub(super) extents: usize,
    /// Bytes of scratch memory that some code asks for.
    pub(super) scratch: usize,
}

impl Script {
    /// The script of a step of lanes; none where a lane does something that has no place in one.
    pub(crate) fn of(plan: &Plan, step: &Step, kernels: &[LoadedKernel]) -> Option<(ValueId, Self)> {
        let Step::Lanes { lane, body, given, .. } = step else { return None };
        let mut writer = Writer {
            plan,
            kernels,
            script: Self {
                lane: 0,
                steps: Vec::new(),
                calls: Vec::new(),
                given: Vec::new(),
                arrays: Vec::new(),
                slots: HashMap::new(),
                scalars: 0,
                extents: 0,
                scratch: 0,
            },
        };
        let Slot::Scalar(number, ElementType::I64) = writer.slot(*lane)? else { return None };
        writer.script.lane = number;
        writer.script.steps = writer.steps(body)?;
        for given in given {
            let width = match given {
                Operand::Constant(constant) => constant.ty().bytes(),
                Operand::Value(id) => plan.values.get(id.index())?.ty.element.bytes(),
            };
            let source = writer.source(given)?;
            writer.script.given.push((source, width));
        }
        Some((*lane, writer.script))
    }
}

struct Writer<'p> {
    plan: &'p Plan,
    kernels: &'p [LoadedKernel],
    script: Script,
}

impl Writer<'_> {
    fn slot(&mut self, id: ValueId) -> Option<Slot> {
        if let Some(&slot) = self.script.slots.get(&id) {
            return Some(slot);
        }
        let PlanValue { ty, .. } = self.plan.values.get(id.index())?;
        let slot = if ty.is_scalar() {
            self.script.scalars += 1;
            Slot::Scalar(self.script.scalars - 1, ty.element)
        } else {
            let extents = ty.extents.iter().map(|extent| self.number(extent)).collect::<Option<_>>()?;
            let first = self.script.extents;
            self.script.extents += ty.rank();
            self.script.arrays.push(ArrayType { width: ty.element.bytes(), extents, first });
            Slot::Array(self.script.arrays.len() - 1)
        };
        self.script.slots.insert(id, slot);
        Some(slot)
    }

    fn number(&mut self, extent: &PlanExtent) -> Option<Number> {
        match extent {
            Extent::Constant(number) => Some(Number::Constant(*number)),
            Extent::Value(id) => match self.slot(*id)? {
                Slot::Scalar(number, ElementType::I64) => Some(Number::Scalar(number)),
                _ => None,
            },
            Extent::Unknown => None,
        }
    }

    fn source(&mut self, operand: &PlanOperand) -> Option<Source> {
        Some(match operand {
            Operand::Constant(constant) => Source::Bits(constant.bits()),
            Operand::Value(id) => Source::Slot(self.slot(*id)?),
        })
    }

    fn steps(&mut self, steps: &[Step]) -> Option<Vec<Do>> {
        let mut out = Vec::new();
        for (position, step) in steps.iter().enumerate() {
            out.extend(self.step(step, &steps[position + 1..])?);
        }
        Some(out)
    }

    /// One step; nothing for what needs none. Of no step is `None`.
    fn step(&mut self, step: &Step, rest: &[Step]) -> Option<Option<Do>> {
        Some(Some(match step {
            Step::Allocate { value, in_place_of, .. } => match self.slot(*value)? {
                // Scalars have their place.
                Slot::Scalar(..) => return Some(None),
                Slot::Array(array) => {
                    let in_place_of = match in_place_of.map(|source| self.slot(source)) {
                        Some(Some(Slot::Array(source))) => Some(source),
                        Some(_) => return None,
                        None => None,
                    };
                    Do::Allocate { array, in_place_of }
                }
            },
            Step::Constant { value, data } => match self.slot(*value)? {
                Slot::Scalar(to, _) => Do::SetScalar { to, from: Source::Bits(data.first()?.bits()) },
                Slot::Array(array) => Do::Data { array, bytes: data.iter().flat_map(bytes_of).collect() },
            },
            Step::Launch { kernel, sizes, arrays } => {
                let call = self.call(*kernel, sizes, arrays)?;
                self.script.calls.push(call);
                Do::Launch(self.script.calls.len() - 1)
            }
            Step::Alias { value, source, .. } => match (self.slot(*value)?, self.source(source)?) {
                (Slot::Scalar(to, _), from) if is_scalar(&from) => Do::SetScalar { to, from },
                (Slot::Array(to), Source::Slot(Slot::Array(from))) => Do::NameArray { to, from },
                _ => return None,
            },
            Step::Truncate { value, source } => match (self.slot(*value)?, self.slot(*source)?) {
                (Slot::Array(to), Slot::Array(from)) => Do::Truncate { to, from },
                _ => return None,
            },
            Step::Copy { value, source } => match (self.slot(*value)?, self.slot(*source)?) {
                (Slot::Scalar(to, _), from @ Slot::Scalar(..)) => Do::SetScalar { to, from: Source::Slot(from) },
                (Slot::Array(to), Slot::Array(from)) => {
                    Do::CopyArray { to, from, take: Step::free_unused(*source, rest, &self.plan.values) }
                }
                _ => return None,
            },
            Step::CheckEqual { left, right, .. } => Do::Equal(self.number(left)?, self.number(right)?),
            Step::CheckAtMost { extent, available, .. } => Do::AtMost(self.number(extent)?, self.number(available)?),
            Step::CheckNotNegative { extent, .. } => Do::AtMost(Number::Constant(0), self.number(extent)?),
            Step::If { condition, then, otherwise, .. } => {
                let condition = self.source(condition)?;
                Do::If { condition, then: self.steps(then)?, otherwise: self.steps(otherwise)? }
            }
            Step::While { state, condition_steps, condition, body, next } => {
                let test = self.steps(condition_steps)?;
                let condition = self.source(condition)?;
                let steps = self.steps(body)?;
                let made = |id: &ValueId| body.iter().flat_map(Step::within).any(|step| step.makes().contains(id));
                let mut moves = Vec::new();
                for (state, next) in state.iter().zip(next) {
                    moves.push(match (self.slot(*state)?, self.source(next)?) {
                        (Slot::Scalar(to, _), from) if is_scalar(&from) => Move::Scalar { to, from },
                        (Slot::Array(to), Source::Slot(Slot::Array(from)))
                            if self.script.arrays[to].extents.len() == self.script.arrays[from].extents.len() =>
                        {
                            let made = matches!(next, Operand::Value(id) if made(id));
                            Move::Array { to, from, made }
                        }
                        _ => return None,
                    });
                }
                Do::While { test, condition, body: steps, moves }
            }
            Step::Free { value } => match self.slot(*value)? {
                Slot::Scalar(..) => return Some(None),
                Slot::Array(array) => Do::Free(array),
            },
            Step::Sort { .. } | Step::Lanes { .. } => return None,
        }))
    }

    fn call(&mut self, position: usize, sizes: &[PlanExtent], arrays: &[ValueId]) -> Option<Call> {
        let (kernel, loaded) = (self.plan.kernels.get(position)?, self.kernels.get(position)?);
        if sizes.len() != kernel.sizes.len() || arrays.len() != kernel.arrays.len() {
            return None;
        }
        let sizes: Vec<Number> = sizes.iter().map(|size| self.number(size)).collect::<Option<_>>()?;
        let mut given = Vec::new();
        for (id, array) in arrays.iter().zip(&kernel.arrays) {
            let extents = array.extents.iter().map(|extent| wanted(kernel, extent)).collect::<Option<Vec<_>>>()?;
            let slot = self.slot(*id)?;
            let fits = match slot {
                Slot::Scalar(_, element) => element == array.element && extents.is_empty(),
                Slot::Array(own) => {
                    let own = &self.script.arrays[own];
                    own.width == array.element.bytes() && own.extents.len() == extents.len()
                }
            };
            if !fits || self.plan.values.get(id.index())?.ty.element != array.element {
                return None;
            }
            let written = array.access != Access::Read;
            let over = array.in_place_of.filter(|_| written).map(KernelArrayId::index);
            given.push(Given { slot, written, over, extents });
        }
        let first = sizes.len() + arrays.len();
        let mut words = vec![0; first];
        let (mut steps_word, mut working) = (None, Vec::new());
        for (position, &argument) in loaded.hidden.iter().enumerate() {
            let word = first + position;
            words.push(0);
            match argument {
                HiddenArgument::Number(number) => words[word] = crate::alike::bits(number),
                HiddenArgument::Steps => steps_word = Some(word),
                HiddenArgument::Partial(..) | HiddenArgument::PartialFlags(_) => {
                    working.push(Working { word, steps: fusebox_ir::association::BLOCK });
                }
                HiddenArgument::Carry(..)
                | HiddenArgument::CarryFlags(_)
                | HiddenArgument::Total(..)
                | HiddenArgument::TotalFlags(_) => {
                    working.push(Working { word, steps: fusebox_ir::association::TILE });
                }
                HiddenArgument::Onward => words[word] = wants_last_carry(kernel).into(),
                HiddenArgument::Appended | HiddenArgument::OutOfCache => {}
                // Chunks have copies.
                HiddenArgument::ChunkSteps(_) | HiddenArgument::Copies(..) | HiddenArgument::CopyFlags(_) => {
                    return None;
                }
            }
        }
        let mut alike = Vec::new();
        let mut count = None;
        for statement in &kernel.statements {
            match &statement.action {
                Action::Scatter { order: ScatterOrder::Chunks, .. } => return None,
                Action::Scatter { arrays, .. } => {
                    alike.extend(arrays.windows(2).map(|pair| (pair[0].index(), pair[1].index())));
                }
                Action::Append { count: array, .. } => count = Some(array.index()),
                _ => {}
            }
        }
        let steps = match loaded.part(Part::Steps) {
            Some(code) => Steps::Code(code.clone()),
            None => match kernel.levels.first() {
                None => Steps::None,
                Some(level) => Steps::Between(bound(kernel, level.from)?, bound(kernel, level.to)?),
            },
        };
        let (code, whole) = match loaded.part(Part::Body) {
            Some(code) => (code.clone(), false),
            None => (loaded.part(Part::Whole)?.clone(), true),
        };
        let finish = if whole { None } else { loaded.part(Part::Finish).cloned() };
        let codes = [Some(&code), finish.as_ref(), if let Steps::Code(code) = &steps { Some(code) } else { None }];
        for code in codes.into_iter().flatten() {
            self.script.scratch = self.script.scratch.max(code.scratch);
        }
        Some(Call {
            kernel: position,
            sizes,
            arrays: given,
            words,
            steps,
            code,
            whole,
            finish,
            steps_word,
            working,
            count,
            alike,
        })
    }
}

fn is_scalar(source: &Source) -> bool {
    matches!(source, Source::Bits(_) | Source::Slot(Slot::Scalar(..)))
}

pub(super) fn bytes_of(constant: &Constant) -> Vec<u8> {
    constant.bits().to_le_bytes()[..constant.ty().bytes()].to_vec()
}

fn wanted(kernel: &Kernel, extent: &KernelExtent) -> Option<Wanted> {
    match extent {
        KernelExtent::Constant(extent) => Some(Wanted::Constant(*extent)),
        KernelExtent::Size(id) => kernel.sizes.iter().position(|size| size.id == *id).map(Wanted::Size),
    }
}

fn bound(kernel: &Kernel, operand: ScalarOperand) -> Option<Wanted> {
    match operand {
        ScalarOperand::Constant(constant) => constant.as_i64().map(Wanted::Constant),
        ScalarOperand::Local(id) => kernel.sizes.iter().position(|size| size.id == id).map(Wanted::Size),
        ScalarOperand::Outer(_) => None,
    }
}

/// Whether the carry behind the last tile of a scan is a result.
fn wants_last_carry(kernel: &Kernel) -> bool {
    kernel.statements.iter().any(|statement| {
        statement.depth == 1 && matches!(&statement.action, Action::Scan { totals, .. } if !totals.is_empty())
    })
}
