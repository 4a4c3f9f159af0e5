//! How the values of a kernel differ between neighbouring steps of one level: what a gang of lanes along that level would hold.

use crate::{
    ArrayId, Binary, Constant, ElementType, IndexMap, Instruction, Kernel, LocalId, ScalarOp, ScalarOperand, Statement,
    analysis::{Domain, Walk},
};

use super::depths::depths;

/// How a value depends on the lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AcrossLanes {
    /// It is the same in all lanes.
    Uniform,
    /// It grows by the same from lane to lane: by this, if that is a number. Such values are `i64`.
    Linear(Option<i64>),
    /// Nothing is known.
    Varying,
}

/// What is known of a kernel's values across the lanes of one of its levels.
#[derive(Clone, Debug)]
pub struct Lanes {
    walk: Walk<Between>,
}

impl Lanes {
    /// Walks the statements inside of a level. Loops inside of the level are taken to have the same bounds in all lanes.
    pub fn of(kernel: &Kernel, level: usize) -> Self {
        let mut walk = Walk::new(Between);
        for (id, depth) in depths(kernel) {
            walk.set(id, if depth <= level { AcrossLanes::Uniform } else { AcrossLanes::Varying });
        }
        for inner in &kernel.levels[level + 1..] {
            walk.set(inner.index.id, AcrossLanes::Uniform);
        }
        walk.set(kernel.levels[level].index.id, AcrossLanes::Linear(Some(1)));
        let mut lanes = Self { walk };
        kernel.statements.iter().filter(|statement| statement.depth as usize > level).for_each(|statement| {
            lanes.statement(statement);
        });
        lanes
    }

    fn statement(&mut self, statement: &Statement) {
        match &statement.action {
            crate::Action::Load { result, map, .. } => {
                let uniform = self.position(map) == AcrossLanes::Uniform;
                let class = if uniform { AcrossLanes::Uniform } else { AcrossLanes::Varying };
                self.walk.set(result.id, class);
            }
            crate::Action::Scalar(instruction) => self.walk.instruction(instruction),
            _ => {}
        }
    }

    /// Of an operand.
    pub fn operand(&self, operand: ScalarOperand) -> AcrossLanes {
        match operand {
            ScalarOperand::Local(id) => self.local(id),
            ScalarOperand::Constant(_) | ScalarOperand::Outer(_) => AcrossLanes::Uniform,
        }
    }

    /// Of a local, in bodies of `if` and `while` too.
    pub fn local(&self, id: LocalId) -> AcrossLanes {
        self.walk.get(id).copied().unwrap_or(AcrossLanes::Varying)
    }

    /// Of the row-major position that a map gives.
    pub fn position(&self, map: &IndexMap) -> AcrossLanes {
        let mut class = AcrossLanes::Uniform;
        for (dim, index) in map.dims.iter().enumerate() {
            for &(factor, local) in &index.terms {
                let last = dim + 1 == map.dims.len();
                class = match (class, self.local(local)) {
                    (AcrossLanes::Varying, _) | (_, AcrossLanes::Varying) => AcrossLanes::Varying,
                    (before, AcrossLanes::Uniform) => before,
                    (AcrossLanes::Uniform, AcrossLanes::Linear(Some(step))) if last => {
                        AcrossLanes::Linear(step.checked_mul(factor))
                    }
                    _ => AcrossLanes::Linear(None),
                };
            }
        }
        class
    }
}

/// The domain.
#[derive(Clone, Copy, Debug)]
struct Between;

impl Domain for Between {
    type Value = AcrossLanes;

    fn constant(&mut self, _: Constant) -> AcrossLanes {
        AcrossLanes::Uniform
    }

    fn outer(&mut self, _: ArrayId) -> AcrossLanes {
        AcrossLanes::Uniform
    }

    fn free(&mut self, _: LocalId) -> AcrossLanes {
        AcrossLanes::Varying
    }

    fn instruction(&mut self, instruction: &Instruction, operands: &[AcrossLanes]) -> AcrossLanes {
        use AcrossLanes::{Linear, Uniform, Varying};
        if operands.iter().all(|&operand| operand == Uniform) {
            return Uniform;
        }
        let integer = instruction.results.iter().all(|result| result.ty == ElementType::I64);
        match (&instruction.op, operands) {
            (ScalarOp::Binary { function, .. }, &[a, b]) if integer => match (a, b, function) {
                (Varying, _, _) | (_, Varying, _) => Varying,
                (Linear(step), Uniform, Binary::Add | Binary::Sub) | (Uniform, Linear(step), Binary::Add) => {
                    Linear(step)
                }
                (Linear(_), Linear(_), Binary::Add | Binary::Sub)
                | (Uniform, Linear(_), Binary::Sub | Binary::Mul)
                | (Linear(_), Uniform, Binary::Mul) => Linear(None),
                _ => Varying,
            },
            _ => Varying,
        }
    }

    fn either(
        &mut self,
        condition: &AcrossLanes,
        then: &AcrossLanes,
        otherwise: &AcrossLanes,
        _: ElementType,
    ) -> AcrossLanes {
        let uniform = [condition, then, otherwise].into_iter().all(|&class| class == AcrossLanes::Uniform);
        if uniform { AcrossLanes::Uniform } else { AcrossLanes::Varying }
    }

    fn widened(&mut self, before: &AcrossLanes, after: &AcrossLanes, _: ElementType) -> Option<AcrossLanes> {
        (before != after && *before != AcrossLanes::Varying).then_some(AcrossLanes::Varying)
    }

    fn ended(&mut self, condition: &AcrossLanes, state: AcrossLanes, _: ElementType) -> AcrossLanes {
        // Lanes that make different numbers of turns end with different states.
        if *condition == AcrossLanes::Uniform { state } else { AcrossLanes::Varying }
    }
}
