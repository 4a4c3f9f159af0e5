//! Loops of scalar instructions that count: one of their states goes up by one from turn to turn, as long as it is below a bound that stays. How many turns
//! they make is known before, and so is in which of them the count is an index inside of an array.

use fusebox_ir::{
    Binary, Constant, ElementType, Instruction, KernelArrayId, Lambda, LocalId, ScalarOp, ScalarOperand, ScalarPart,
};

use super::{Emitter, Result, Val};
use crate::vector::Value;

/// A loop that counts.
pub(super) struct Counted {
    /// Which state is the count.
    pub(super) state: usize,
    /// The count is below it in each turn.
    pub(super) bound: ScalarOperand,
}

impl Counted {
    /// How a loop counts, if it does: `while |i, …| i < bound`, with `i + 1` for the next turn.
    pub(super) fn of(condition: &Lambda, step: &Lambda) -> Option<Self> {
        let ([Instruction { results, op: ScalarOp::Binary { function: Binary::Lt, a, b }, .. }], [result]) =
            (condition.instructions.as_slice(), condition.results.as_slice())
        else {
            return None;
        };
        let parameter = |lambda: &Lambda, operand: ScalarOperand| {
            lambda.params.iter().position(|param| ScalarOperand::Local(param.id) == operand)
        };
        if parameter(condition, *b).is_some() || *result != ScalarOperand::Local(results.first()?.id) {
            return None;
        }
        let state = parameter(condition, *a)?;
        let count = step.params.get(state).filter(|param| param.ty == ElementType::I64)?;
        let next = step.instructions.iter().find(|instruction| {
            let made = instruction.results.first().map(|result| ScalarOperand::Local(result.id));
            made.is_some() && made.as_ref() == step.results.get(state)
        })?;
        let (own, one) = (ScalarOperand::Local(count.id), ScalarOperand::Constant(Constant::from(1i64)));
        let goes_up = matches!(next.op, ScalarOp::Binary { function: Binary::Add, a, b } if [a, b] == [own, one] || [a, b] == [one, own]);
        goes_up.then_some(Self { state, bound: *b })
    }
}

/// The dimensions of arrays of which the count is the index somewhere in a loop; none where it has a loop inside, whose code would stand twice.
fn dims_read(step: &Lambda, count: LocalId) -> Vec<(KernelArrayId, usize)> {
    let mut found = Vec::new();
    let mut bodies = vec![step];
    while let Some(body) = bodies.pop() {
        for Instruction { op, .. } in &body.instructions {
            match op {
                ScalarOp::While { .. } => return Vec::new(),
                ScalarOp::Read { array, index } => {
                    let own = (0..index.len()).filter(|&dim| index[dim] == ScalarOperand::Local(count));
                    found.extend(own.map(|dim| (KernelArrayId::of_code(*array), dim)));
                }
                _ => {}
            }
            let parts = op.parts().into_iter();
            bodies.extend(parts.filter_map(|part| if let ScalarPart::Body(body) = part { Some(body) } else { None }));
        }
    }
    found.sort_unstable();
    found.dedup();
    found
}

impl Emitter<'_> {
    /// A loop that counts, of which all lanes make the same turns; the states at these places are the same in all of them.
    ///
    /// The turns in which the count is inside of all arrays that it is an index of come first, and do not ask. What is left, as a rule nothing, does.
    pub(super) fn repeat_counted(
        &mut self,
        counted: &Counted,
        step: &Lambda,
        starts: &[Val],
        uniform: &[bool],
    ) -> Result<Vec<Val>> {
        let mut states = self.as_states(starts, uniform);
        let bound = self.operand(counted.bound)?;
        let mut to = self.plain(bound);
        let from = states.remove(counted.state);
        let outer = self.mask;
        if let Some(point) = self.masked_point() {
            // A masked point makes no turn; in a turn nothing asks whether it takes part.
            to = self.b.select(point, to, from);
            self.mask = None;
        }
        let inside = dims_read(step, step.params[counted.state].id);
        let mut low = from;
        if !inside.is_empty() {
            let mut safe = to;
            for &(array, dim) in &inside {
                let extent = self.extent(self.kernel.arrays[array.index()].extents[dim])?;
                safe = self.b.binary(Binary::Min, safe, extent);
            }
            let zero = self.b.int(0);
            let negative = self.b.less(from, zero);
            safe = self.b.select(negative, from, safe);
            states = self.turns((counted, step), (from, safe), states, uniform, &inside)?;
            low = self.b.binary(Binary::Max, from, safe);
        }
        states = self.turns((counted, step), (low, to), states, uniform, &[])?;
        self.mask = outer;
        let end = self.b.binary(Binary::Max, from, to);
        states.insert(counted.state, end);
        Ok(states.into_iter().map(|value| self.val(value)).collect())
    }

    /// The turns in which the count goes from `low` to `high`; it is inside of these dimensions of arrays.
    fn turns(
        &mut self,
        (counted, step): (&Counted, &Lambda),
        (low, high): (Value, Value),
        states: Vec<Value>,
        uniform: &[bool],
        inside: &[(KernelArrayId, usize)],
    ) -> Result<Vec<Value>> {
        let open = self.b.begin_loop(low, high, 1, &states);
        let mut arguments: Vec<Val> = open.carried.iter().map(|&value| self.val(value)).collect();
        arguments.insert(counted.state, Val::Uniform(open.index));
        let known = self.known_inside.len();
        self.known_inside.extend(inside.iter().map(|&(array, dim)| (open.index, array, dim)));
        let next = self.lambda(step, &arguments)?;
        self.known_inside.truncate(known);
        let mut next = self.as_states(&next, uniform);
        next.remove(counted.state);
        Ok(self.b.end_loop(open, next))
    }
}
