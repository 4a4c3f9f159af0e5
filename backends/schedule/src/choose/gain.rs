//! What gangs along a level would gain and lose against scalar code, in units of about one instruction for an element.

use fusebox_ir::{
    Action, Association, Binary, ElementType, Instruction, Kernel, Lambda, ScalarOp, ScalarPart, Unary,
    analysis::kernels::{AcrossLanes, Lanes},
};

use crate::{gangs::inside, target::Cpu};

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
}

impl Tally {
    /// Of gangs along a level of a kernel.
    pub(super) fn of(kernel: &Kernel, cpu: &Cpu, level: usize) -> Self {
        let lanes = Lanes::of(kernel, level);
        let mut tally = Self { converts_halves: cpu.converts_halves(), ..Self::default() };
        for (_, statement) in inside(kernel, level) {
            match &statement.action {
                Action::Load { array, map, .. } | Action::Store { array, map, .. } => {
                    tally.access(lanes.position(map), kernel.arrays[array.index()].element);
                }
                Action::Scalar(instruction) => tally.scalar(instruction, &|operand| lanes.operand(operand)),
                Action::Check { .. } => tally.gain += 1,
                Action::Reduce { combine, association, .. } => {
                    tally.function(combine);
                    if matches!(association, Association::Runs { .. }) {
                        tally.loss += 2;
                    }
                }
                Action::Scan { combine, .. } => tally.function(combine),
                Action::Append { .. } => tally.loss += 2,
                Action::Scatter { .. } => tally.loss += 4,
            }
        }
        tally
    }

    /// Gain less loss.
    pub(super) fn score(&self) -> i64 {
        self.gain - self.loss
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
        for instruction in &lambda.instructions {
            self.scalar(instruction, &|operand| match operand {
                fusebox_ir::ScalarOperand::Local(_) => AcrossLanes::Varying,
                _ => AcrossLanes::Uniform,
            });
        }
        for param in &lambda.params {
            self.bytes = self.bytes.max(if param.ty == ElementType::I64 { 1 } else { param.ty.bytes() });
        }
    }

    fn scalar(&mut self, instruction: &Instruction, class: &dyn Fn(fusebox_ir::ScalarOperand) -> AcrossLanes) {
        let parts = instruction.op.parts();
        let bodies = parts.iter().filter_map(|part| if let ScalarPart::Body(body) = part { Some(*body) } else { None });
        let bodies: Vec<&Lambda> = bodies.collect();
        let results = &instruction.results;
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
            return;
        }
        self.instructions += 1;
        let awkward = match &instruction.op {
            ScalarOp::Unary { function, .. } => matches!(function, Unary::Popcount | Unary::Clz | Unary::Ctz),
            ScalarOp::Binary { function, a: _, b } => {
                let float = results.iter().any(|result| result.ty.is_float());
                let division = matches!(function, Binary::Div | Binary::Rem | Binary::DivFloor | Binary::ModFloor);
                let by_lane = function.is_shift() && class(*b) != AcrossLanes::Uniform;
                (division && !(float && *function == Binary::Div)) || by_lane
            }
            ScalarOp::Read { .. } | ScalarOp::ReadFlat { .. } => true,
            ScalarOp::Convert { to, .. } => matches!(to, ElementType::I64 | ElementType::U64),
            _ => false,
        };
        let halves = !self.converts_halves && results.iter().any(|result| result.ty == ElementType::F16);
        if awkward || halves {
            self.loss += 4;
        } else {
            self.gain += if bodies.is_empty() { 2 } else { 0 };
        }
        for instruction in bodies.iter().flat_map(|body| &body.instructions) {
            self.scalar(instruction, class);
        }
    }
}
