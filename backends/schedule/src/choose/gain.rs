//! What gangs along a level would gain and lose against scalar code, in instructions for a step of the innermost level.

use std::collections::HashSet;

use fusebox_ir::{
    Action, Association, Binary, ElementType, Instruction, Kernel, Lambda, LocalId, ScalarOp, ScalarOperand,
    ScalarPart, Unary,
    analysis::kernels::{AcrossLanes, Lanes, trip_count},
};

use crate::{gangs::inside, target::Cpu};

/// A level of so many gangs is long: whatever becomes of its remainder is little of it.
const SHORT_GANGS: u32 = 4;

/// Turns that a loop of scalars is taken to make.
const TURNS: i64 = 8;

/// Steps that a level is taken to have whose length no program says, and at most.
const STEPS: i64 = 8;

/// Parts of an instruction in which gains and losses are counted.
const PARTS: i64 = 1024;

/// A gain or a loss as a number of instructions, for people.
pub(super) fn instructions(parts: i64) -> String {
    let tenths = (parts * 10 + PARTS / 2).div_euclid(PARTS);
    if tenths % 10 == 0 { format!("{}", tenths / 10) } else { format!("{}.{}", tenths / 10, tenths % 10) }
}

/// How much an instruction at a depth counts: it is carried out once for all steps of the levels inside of that.
fn weight(kernel: &Kernel, depth: u32) -> i64 {
    let inside = kernel.levels.iter().skip(depth as usize);
    let steps = inside.map(|level| trip_count(level).unwrap_or(STEPS).clamp(1, STEPS));
    (PARTS / steps.product::<i64>()).max(1)
}

/// What the code inside of a level costs and gains across lanes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tally {
    gain: i64,
    loss: i64,
    /// Bytes of the widest type in gangs.
    bytes: usize,
    /// Instructions on gangs.
    pub(super) instructions: usize,
    /// Whether vectors convert `f16`.
    converts_halves: bool,
    /// From how many bytes on some lanes of a vector are loaded by one instruction.
    masked_from: Option<usize>,
}

impl Tally {
    /// Of gangs along a level of a kernel.
    pub(super) fn of(kernel: &Kernel, cpu: &Cpu, level: usize) -> Self {
        Self::weighted(kernel, cpu, level, |depth| weight(kernel, depth))
    }

    /// The same where the levels inside have few steps: what is done once for all of them counts as much.
    pub(super) fn of_few_inside(kernel: &Kernel, cpu: &Cpu, level: usize) -> Self {
        Self::weighted(kernel, cpu, level, |_| PARTS)
    }

    fn weighted(kernel: &Kernel, cpu: &Cpu, level: usize, weight: impl Fn(u32) -> i64) -> Self {
        let lanes = Lanes::of(kernel, level);
        let mut conditions = HashSet::new();
        let (converts_halves, masked_from) = (cpu.converts_halves(), cpu.masked_loads_from());
        let mut tally = Self { converts_halves, masked_from, ..Self::default() };
        for (_, statement) in inside(kernel, level) {
            let (gain, loss) = (tally.gain, tally.loss);
            match &statement.action {
                Action::Load { array, map, .. } | Action::Store { array, map, .. } => {
                    tally.access(lanes.position(map), kernel.arrays[array.index()].element);
                }
                Action::Scalar(instruction) => {
                    tally.scalar(instruction, &|operand| lanes.operand(operand), &mut conditions, Around::default());
                }
                Action::Check { .. } => tally.gain += 1,
                Action::Reduce { combine, association, .. } => {
                    tally.function(combine);
                    if matches!(association, Association::Runs { .. }) {
                        tally.loss += 2;
                    }
                }
                Action::Scan { combine, .. } => tally.function(combine),
                // What is kept of a vector is brought together by one instruction, or lane by lane.
                Action::Append { .. } => tally.loss += if cpu.compresses() { 0 } else { 2 },
                // Into targets that lie side by side all elements of a gang are combined at once.
                Action::Scatter { combine, map, arrays, .. }
                    if level > 0 && lanes.position(map) == AcrossLanes::Linear(Some(1)) =>
                {
                    arrays.iter().for_each(|array| {
                        tally.access(AcrossLanes::Linear(Some(1)), kernel.arrays[array.index()].element);
                    });
                    tally.function(combine);
                }
                Action::Scatter { .. } => tally.loss += 4,
            }
            let weight = weight(statement.depth);
            tally.gain = gain + (tally.gain - gain) * weight;
            tally.loss = loss + (tally.loss - loss) * weight;
        }
        tally
    }

    /// Gain less loss, in [`PARTS`] of an instruction.
    pub(super) fn score(&self) -> i64 {
        self.gain - self.loss
    }

    /// What an element costs in the mean of `most` full gangs and part of another, in 1,024ths of an instruction: what gains is one instruction for
    /// all lanes, what loses is one for each. With `whole` the part is a gang as well, and without it scalar code.
    fn partly(&self, lanes: u32, most: u32, whole: bool) -> i64 {
        let (gangs, lanes) = (i64::from(most), i64::from(lanes));
        let instructions = if whole { gangs + 1 } else { gangs + lanes / 2 };
        // Half a gang over.
        self.gain * 1024 * instructions / (lanes * (2 * gangs + 1)) + self.loss * 256
    }

    /// Below how many steps an outer level is the better one: there the gangs of this level, of which the last is `whole` or scalar code, cost
    /// more than those of the other, of which there may be as few. From [`SHORT_GANGS`] gangs on they do not.
    pub(super) fn short_below(&self, lanes: u32, whole: bool, (outer, outer_lanes): (&Self, u32)) -> u32 {
        let other = outer.partly(outer_lanes, 1, true);
        let gangs = (1..SHORT_GANGS).find(|&gangs| self.partly(lanes, gangs, whole) <= other);
        gangs.unwrap_or(SHORT_GANGS) * lanes
    }

    /// Bytes of the widest type in gangs; where nothing but indices are in gangs, theirs.
    pub(super) fn bytes(&self) -> usize {
        if self.bytes == 0 { 8 } else { self.bytes }
    }

    fn access(&mut self, class: AcrossLanes, element: ElementType) {
        self.instructions += 1;
        if class != AcrossLanes::Uniform {
            self.bytes = self.bytes.max(element.bytes());
        }
        match class {
            AcrossLanes::Uniform => {}
            AcrossLanes::Linear(Some(1)) => self.gain += 2,
            AcrossLanes::Linear(_) => self.loss += 3,
            AcrossLanes::Varying => self.loss += 4,
        }
    }

    /// A combining function: all that it computes is in gangs.
    fn function(&mut self, lambda: &Lambda) {
        let class = |operand: ScalarOperand| match operand {
            ScalarOperand::Local(_) => AcrossLanes::Varying,
            _ => AcrossLanes::Uniform,
        };
        let mut conditions = HashSet::new();
        for instruction in &lambda.instructions {
            self.scalar(instruction, &class, &mut conditions, Around::default());
        }
        for param in &lambda.params {
            self.bytes = self.bytes.max(if param.ty == ElementType::I64 { 1 } else { param.ty.bytes() });
        }
    }

    /// `conditions` are the locals so far that are `bool`: masks of gangs.
    fn scalar(
        &mut self,
        instruction: &Instruction,
        class: &dyn Fn(ScalarOperand) -> AcrossLanes,
        conditions: &mut HashSet<LocalId>,
        around: Around,
    ) {
        let parts = instruction.op.parts();
        let bodies = parts.iter().filter_map(|part| if let ScalarPart::Body(body) = part { Some(*body) } else { None });
        let bodies: Vec<&Lambda> = bodies.collect();
        let results = &instruction.results;
        conditions.extend(results.iter().filter(|local| local.ty == ElementType::Bool).map(|local| local.id));
        let varies = match results.first() {
            Some(result) => class(result.id.into()) == AcrossLanes::Varying,
            None => true,
        };
        for local in results.iter().filter(|local| class(local.id.into()) == AcrossLanes::Varying) {
            if !matches!(local.ty, ElementType::I64 | ElementType::Bool) {
                self.bytes = self.bytes.max(local.ty.bytes());
            }
        }
        if !varies && bodies.is_empty() {
            // In a loop, scalar code has it for each element.
            self.gain += if around.in_loop { 2 * around.times() } else { 0 };
            return;
        }
        self.instructions += 1;
        let width = results.first().map_or(0, |result| result.ty.bytes());
        let apart = around.masked && self.masked_from.is_none_or(|from| width < from);
        let awkward = match &instruction.op {
            ScalarOp::Unary { function, .. } => matches!(function, Unary::Popcount | Unary::Clz | Unary::Ctz),
            ScalarOp::Binary { function, a: _, b } => {
                let float = results.iter().any(|result| result.ty.is_float());
                let division = matches!(function, Binary::Div | Binary::Rem | Binary::DivFloor | Binary::ModFloor);
                let division = division && !matches!(b, ScalarOperand::Constant(by) if by.power_of_two().is_some());
                let by_lane = function.is_shift() && class(*b) != AcrossLanes::Uniform;
                (division && !(float && *function == Binary::Div)) || by_lane
            }
            ScalarOp::Read { index, .. } => apart || !side_by_side(index.iter().map(|&index| class(index))),
            ScalarOp::ReadFlat { position, .. } => apart || !side_by_side([class(*position)]),
            // A mask becomes ones by one instruction.
            ScalarOp::Convert { a: ScalarOperand::Local(id), .. } if conditions.contains(id) => false,
            ScalarOp::Convert { to, .. } => matches!(to, ElementType::I64 | ElementType::U64),
            _ => false,
        };
        let halves = !self.converts_halves && results.iter().any(|result| result.ty == ElementType::F16);
        if awkward || halves {
            self.loss += 4 * around.times();
        } else {
            self.gain += if bodies.is_empty() { 2 * around.times() } else { 0 };
        }
        let together =
            matches!(&instruction.op, ScalarOp::If { condition, .. } if class(*condition) == AcrossLanes::Uniform);
        let around = Around {
            masked: around.masked || !together,
            in_loop: around.in_loop || matches!(instruction.op, ScalarOp::While { .. }),
        };
        for instruction in bodies.iter().flat_map(|body| &body.instructions) {
            self.scalar(instruction, class, conditions, around);
        }
    }
}

/// Where an instruction is.
#[derive(Clone, Copy, Debug, Default)]
struct Around {
    /// Some lanes alone take part.
    masked: bool,
    in_loop: bool,
}

impl Around {
    /// How often an instruction is taken to be carried out.
    fn times(self) -> i64 {
        if self.in_loop { TURNS } else { 1 }
    }
}

/// Whether elements with these indices lie side by side, in the order of the lanes.
fn side_by_side(index: impl IntoIterator<Item = AcrossLanes>) -> bool {
    let mut index: Vec<AcrossLanes> = index.into_iter().collect();
    let last = index.pop();
    last == Some(AcrossLanes::Linear(Some(1))) && index.iter().all(|&outer| outer == AcrossLanes::Uniform)
}
