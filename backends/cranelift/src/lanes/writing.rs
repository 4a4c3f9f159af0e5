//! Writes the script of a step of lanes, or of a plan.

use std::collections::HashMap;

use fusebox_ir::{
    Access, Action, Constant, ElementType, Extent, Kernel, KernelArrayId, KernelExtent, MAX_EXTENT, Operand, Plan,
    PlanExtent, PlanOperand, PlanValue, ScalarOperand, ScatterOrder, Step, ValueId,
    analysis::IndependentLaunches,
    association::{BLOCK, TILE},
};

use super::frame::Layout;
use super::script::{ArrayType, Call, Do, Given, Move, Number, Script, Slot, Source, Steps, Wanted, Work, Working};
use crate::{
    emit::{HiddenArgument, Part},
    loaded_kernel::LoadedKernel,
};

impl Script {
    /// The script of a step of lanes; none where a lane does something that has no place in one.
    pub(crate) fn of(plan: &Plan, step: &Step, kernels: &[LoadedKernel]) -> Option<(ValueId, Self)> {
        let Step::Lanes { lane, body, given, .. } = step else { return None };
        let mut writer = Writer::new(plan, kernels);
        let Slot::Scalar(number, ElementType::I64) = writer.slot(*lane)? else { return None };
        writer.script.lane = Some(number);
        writer.script.steps = writer.steps(body)?;
        given.iter().try_for_each(|given| writer.give(given))?;
        Some((*lane, writer.script))
    }

    /// The script of all steps of a plan, which gives its results; none where it does something that has no place in one.
    pub(crate) fn of_plan(plan: &Plan, kernels: &[LoadedKernel], groups: Option<&IndependentLaunches>) -> Option<Self> {
        let mut writer = Writer::new(plan, kernels);
        for group in groups.map(|groups| groups.groups(plan)).unwrap_or_default() {
            let launches = || group.iter().filter(|step| matches!(step, Step::Launch { .. }));
            writer.others.extend(launches().map(|step| (std::ptr::from_ref(step), launches().count() as u64 - 1)));
        }
        for &id in plan.sizes.iter().chain(&plan.inputs) {
            writer.slot(id)?;
        }
        writer.script.steps = writer.steps(&plan.steps)?;
        for (&id, output) in plan.results.iter().zip(&plan.outputs) {
            writer.give(&Operand::Value(id))?;
            // Extents that are declared are those that there are.
            if let Slot::Array(array) = writer.slot(id)? {
                for (dim, extent) in output.ty.extents.iter().enumerate() {
                    if *extent != Extent::Unknown {
                        let declared = writer.number(extent)?;
                        writer.script.steps.push(Do::Extent { array, dim, declared });
                    }
                }
            }
        }
        Some(writer.script)
    }
}

struct Writer<'p> {
    plan: &'p Plan,
    kernels: &'p [LoadedKernel],
    /// For launches that may run at once with others, with how many.
    others: HashMap<*const Step, u64>,
    script: Script,
}

impl<'p> Writer<'p> {
    fn new(plan: &'p Plan, kernels: &'p [LoadedKernel]) -> Self {
        let script = Script {
            lane: None,
            steps: Vec::new(),
            calls: Vec::new(),
            given: Vec::new(),
            scalar_bytes: 0,
            arrays: Vec::new(),
            slots: HashMap::new(),
            data: Vec::new(),
            layout: Layout::default(),
            scratch: 0,
        };
        Self { plan, kernels, others: HashMap::new(), script }
    }

    /// One more value that the script gives.
    fn give(&mut self, given: &PlanOperand) -> Option<()> {
        let width = match given {
            Operand::Constant(constant) => constant.ty().bytes(),
            Operand::Value(id) => self.plan.values.get(id.index())?.ty.element.bytes(),
        };
        let source = self.source(given)?;
        self.script.given.push((source, width));
        Some(())
    }

    fn slot(&mut self, id: ValueId) -> Option<Slot> {
        if let Some(&slot) = self.script.slots.get(&id) {
            return Some(slot);
        }
        let PlanValue { ty, .. } = self.plan.values.get(id.index())?;
        let slot = if ty.is_scalar() {
            self.script.layout.scalars += 1;
            self.script.scalar_bytes += ty.element.bytes();
            Slot::Scalar(self.script.layout.scalars - 1, ty.element)
        } else {
            let extents = ty.extents.iter().map(|extent| self.number(extent)).collect::<Option<_>>()?;
            let first = self.script.layout.extents;
            self.script.layout.extents += ty.rank();
            self.script.layout.arrays += 1;
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
                Slot::Array(array) => {
                    self.script.data.push(data.iter().flat_map(bytes_of).collect());
                    Do::Data { array, bytes: self.script.data.len() - 1 }
                }
            },
            Step::Launch { kernel, sizes, arrays } => {
                let mut call = self.call(*kernel, sizes, arrays)?;
                // All of them together take as long as others do that are not small.
                let others = self.others.get(&std::ptr::from_ref(step)).map_or(1, |&others| others.max(1));
                call.work.of_depth.iter_mut().for_each(|parts| *parts = parts.saturating_mul(others));
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
        if sizes.iter().any(|size| matches!(size, Number::Constant(size) if *size > MAX_EXTENT)) {
            return None;
        }
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
        let mut of_blocks = first + loaded.hidden.len();
        for (position, &argument) in loaded.hidden.iter().enumerate() {
            let word = first + position;
            words.push(0);
            match argument {
                HiddenArgument::Number(number) => words[word] = crate::alike::bits(number),
                HiddenArgument::Steps => steps_word = Some(word),
                HiddenArgument::Partial(..) | HiddenArgument::PartialFlags(_) => {
                    // What one block leaves is read only where there is one.
                    working.push(Working { word, steps: BLOCK, own: Some(of_blocks) });
                    of_blocks += 1;
                }
                HiddenArgument::Carry(..)
                | HiddenArgument::CarryFlags(_)
                | HiddenArgument::Total(..)
                | HiddenArgument::TotalFlags(_) => {
                    working.push(Working { word, steps: TILE, own: None });
                }
                HiddenArgument::Onward => words[word] = wants_last_carry(kernel).into(),
                HiddenArgument::Appended | HiddenArgument::OutOfCache | HiddenArgument::FirstElement(..) => {}
                // Only ranges but the first have copies, and a lane is one range.
                HiddenArgument::Copies(..) | HiddenArgument::Records(_) => {}
                // Chunks have copies, and flags.
                HiddenArgument::ChunkSteps(_) | HiddenArgument::CopyFlags(_) => return None,
            }
        }
        words.resize(of_blocks, 0);
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
        let first_word = self.script.layout.words;
        self.script.layout.words += words.len();
        Some(Call {
            kernel: position,
            sizes,
            arrays: given,
            words,
            first_word,
            steps,
            code,
            whole,
            finish,
            steps_word,
            working,
            work: work(kernel, loaded),
            count,
            alike,
        })
    }
}

/// What a launch is estimated to take, as far as levels have bounds that are known before it.
fn work(kernel: &Kernel, loaded: &LoadedKernel) -> Work {
    let inner = kernel.levels.iter().skip(1);
    let inner = inner.map(|level| Some((bound(kernel, level.from)?, bound(kernel, level.to)?))).collect();
    let mut of_depth = vec![0u64; kernel.levels.len() + 1];
    for &(depth, parts) in &loaded.work {
        of_depth[depth as usize] = of_depth[depth as usize].saturating_add(parts);
    }
    Work { inner, of_depth }
}

fn is_scalar(source: &Source) -> bool {
    matches!(source, Source::Bits(_) | Source::Slot(Slot::Scalar(..)))
}

fn bytes_of(constant: &Constant) -> Vec<u8> {
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
