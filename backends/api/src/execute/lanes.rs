//! Lanes that run one at a time: by this executor, or by others of which the machine has one for each of its threads.

use fusebox_ir::{Constant, ElementType, Fault, Operand, Place, Plan, PlanExtent, RunError, ValueId};
use smallvec::SmallVec;

use super::{
    made::{Made, makes},
    state::{Executor, Result, Statistics, Value, Values, failed},
};
use crate::{
    BackendError,
    asked::{Joined, LaneStep, Lanes, Stored},
    machine::Machine,
};

/// Runs lanes one after the other, on a machine of its own.
pub struct LaneRun<'a, M: Machine> {
    executor: Executor<'a, M>,
    step: LaneStep<'a>,
    made: Made,
}

impl<'a, M: Machine> LaneRun<'a, M> {
    /// A run in which `outside` is known. The tables of values are any that no run uses.
    pub fn new(
        machine: &'a M,
        plan: &'a Plan,
        step: LaneStep<'a>,
        tables: &'a mut Values<M::Buffer>,
        outside: impl Iterator<Item = (ValueId, Stored<M::Buffer>)>,
    ) -> Self {
        let Values { values, buffers, .. } = tables;
        values.clear();
        values.resize_with(plan.values.len(), || None);
        let mut executor =
            Executor { machine, plan, values, buffers, live_bytes: 0, statistics: Statistics::default() };
        for (id, stored) in outside {
            executor.bind(id, stored);
        }
        Self { executor, step, made: made_by(step) }
    }

    /// Runs a lane, and calls `take` with each array that it gives, in order: its memory, the type of its elements, and how many there are.
    ///
    /// # Errors
    /// What fails in the lane, which says so; those of `take`.
    pub fn lane(
        &mut self,
        number: usize,
        mut take: impl FnMut(usize, &M::Buffer, ElementType, usize) -> Result<(), BackendError>,
    ) -> Result<(), BackendError> {
        let ran = self.executor.lane(self.step, number as i64, &self.made, &mut take);
        if ran.is_err() {
            // What it made stays behind where it failed.
            self.made.iter().for_each(|&id| self.executor.free(id));
        }
        ran
    }

    /// The most bytes that a lane had at one time.
    pub fn peak_bytes(&self) -> usize {
        self.executor.statistics.peak_bytes
    }

    /// Gives back all memory.
    pub fn end(self) {
        self.executor.values.iter_mut().for_each(|value| *value = None);
        let machine = self.executor.machine;
        self.executor.buffers.drain().for_each(|buffer| machine.release(buffer));
    }
}

/// A failure in a lane, which it says.
fn in_lane(error: BackendError, lane: i64) -> BackendError {
    match error {
        BackendError::Run(RunError { operation, place, fault }) => {
            RunError { operation, place, fault: fault.in_lane(vec![lane]) }.into()
        }
        other => other,
    }
}

fn made_by(step: LaneStep<'_>) -> Made {
    let mut made = Made::new();
    makes(step.body, &mut made);
    made.push(step.lane);
    made
}

/// What lanes give, while they run here.
struct Parts<B> {
    parts: Vec<(B, usize)>,
    elements: usize,
}

impl<M: Machine> Executor<'_, M> {
    pub(super) fn bind(&mut self, id: ValueId, stored: Stored<M::Buffer>) {
        let Stored { buffer, element, extents, scalar } = stored;
        let buffer = self.buffers.add(buffer, 0);
        let value = Value::array(buffer, element, extents);
        value.learn(scalar);
        self.set(id, value);
    }

    /// Runs a step of lanes.
    pub(super) fn lanes(
        &mut self,
        step: LaneStep<'_>,
        count: PlanExtent,
        results: &[ValueId],
        at: (&str, &Place),
    ) -> Result<()> {
        let count = usize::try_from(self.extent(count)?).unwrap_or(0);
        let made = made_by(step);
        let outside = self.outside(step, &made)?;
        let stored = |&id: &ValueId| {
            let value = self.value(id)?;
            let buffer = value.buffer.map(|buffer| self.buffer(buffer)).transpose()?;
            let Some(buffer) = buffer else { return Ok(None) };
            let (element, extents, scalar) = (value.element, value.extents.clone(), value.known());
            Ok(Some((id, Stored { buffer, element, extents, scalar })))
        };
        let given = outside.iter().filter_map(|id| stored(id).transpose()).collect::<Result<Vec<_>>>()?;
        let at_once = self.machine.lanes(self.plan, Lanes { step, count, outside: given })?;
        let joined = match at_once {
            Some((joined, bytes)) => {
                self.statistics.peak_bytes = self.statistics.peak_bytes.max(self.live_bytes + bytes);
                joined
            }
            None => self.lanes_in_order(step, count, &made, at)?,
        };
        for (joined, pair) in joined.into_iter().zip(results.chunks_exact(2)) {
            let total = self.number(Constant::from(joined.elements as i64));
            self.set(pair[0], total);
            let (extents, element) = (self.extents_of(pair[1], Some(at))?, self.element(pair[1]));
            let buffer = self.made(joined.buffer);
            self.set(pair[1], Value::array(buffer, element, extents));
        }
        Ok(())
    }

    /// The values from outside that lanes read, as extents too; in memory.
    fn outside(&mut self, step: LaneStep<'_>, made: &Made) -> Result<Vec<ValueId>> {
        let mut outside: Vec<ValueId> = Vec::new();
        step.body.iter().for_each(|step| step.for_each_value(&mut |id| outside.push(id)));
        outside.extend(step.given.iter().filter_map(|given| match given {
            Operand::Value(id) => Some(*id),
            Operand::Constant(_) => None,
        }));
        for value in made.iter().filter_map(|id| self.plan.values.get(id.index())) {
            value.ty.for_each_use(&mut |id| outside.push(id));
        }
        outside.sort_unstable();
        outside.dedup();
        outside.retain(|id| !made.contains(id));
        for &id in &outside {
            self.bring(id)?;
        }
        Ok(outside)
    }

    fn lanes_in_order(
        &mut self,
        step: LaneStep<'_>,
        count: usize,
        made: &Made,
        (operation, place): (&str, &Place),
    ) -> Result<Vec<Joined<M::Buffer>>> {
        let machine = self.machine;
        let mut all: Vec<Parts<M::Buffer>> =
            step.given.iter().map(|_| Parts { parts: Vec::new(), elements: 0 }).collect();
        let elements: Vec<ElementType> = step.elements(self.plan).collect();
        let too_large = |element: usize| {
            let fault = Fault::TooLarge { array: String::new(), extents: vec![element as i64] };
            failed(operation, place, fault)
        };
        let allocate = |element: ElementType, count: usize| {
            machine.allocate("", element, &[count])?.ok_or_else(|| too_large(count))
        };
        let mut keep = |position: usize, buffer: &M::Buffer, element: ElementType, count: usize| {
            let mut own = allocate(element, count)?;
            machine.copy((buffer, &mut own), element, count, 0)?;
            all[position].parts.push((own, count));
            all[position].elements += count;
            Ok(())
        };
        let mut ran = Ok(());
        for number in 0..count {
            ran = self.lane(step, number as i64, made, &mut keep);
            if ran.is_err() {
                break;
            }
        }
        let mut joined = Vec::new();
        for (Parts { parts, elements: count }, &element) in all.into_iter().zip(&elements) {
            let mut to = allocate(element, count)?;
            let mut at = 0;
            for (from, count) in parts {
                machine.copy((&from, &mut to), element, count, at)?;
                at += count;
                machine.release(from);
            }
            joined.push(Joined { buffer: to, elements: count });
        }
        ran.map(|()| joined)
    }

    /// Runs one lane; then nothing is left of it.
    fn lane(
        &mut self,
        step: LaneStep<'_>,
        number: i64,
        made: &Made,
        take: &mut dyn FnMut(usize, &M::Buffer, ElementType, usize) -> Result<()>,
    ) -> Result<()> {
        let lane = self.number(number.into());
        self.set(step.lane, lane);
        self.steps(step.body).map_err(|error| in_lane(error, number))?;
        for (position, &given) in step.given.iter().enumerate() {
            match given {
                Operand::Value(id) => {
                    let buffer = self.bring(id)?;
                    let value = self.value(id)?;
                    let count = value.extents.iter().product::<i64>() as usize;
                    take(position, self.buffer(buffer)?, value.element, count)?;
                }
                Operand::Constant(constant) => {
                    let buffer = self.machine.constant(constant)?;
                    let taken = take(position, &buffer, constant.ty(), 1);
                    self.machine.release(buffer);
                    taken?;
                }
            }
        }
        let given: SmallVec<[ValueId; 8]> = step
            .given
            .iter()
            .filter_map(|given| if let Operand::Value(id) = given { Some(*id) } else { None })
            .filter(|id| made.contains(id))
            .collect();
        given.into_iter().for_each(|id| self.free(id));
        self.free(step.lane);
        Ok(())
    }
}
