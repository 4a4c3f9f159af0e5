//! Plans and kernels: run to the bit as they are written, counting; the oracle of every lowering.

mod associate;
mod counts;
mod kernel;
mod lanes;
mod machine;
mod memory;
mod sort;
mod watch;

use std::{collections::HashSet, rc::Rc};

use fusebox_ir::{
    Action, Constant, ElementType, Extent, Fault, Kernel, KernelExtent, MAX_EXTENT, Operand, Place, Plan, PlanExtent,
    PlanOperand, RunError, Step, Value, ValueId,
};

pub use self::counts::Counts;
use self::{
    counts::bytes,
    lanes::Lanes,
    memory::{Memory, Meter},
    sort::sorted,
};
use crate::{
    Error, interface,
    val::{self, Val},
};

/// Runs a valid plan: its results in order, and what it took.
///
/// Values that take over the memory of others have their own here; what an order of points could read of the other value is looked for.
///
/// # Errors
/// [`Error`]: inputs that do not fit, run-time errors, and rules that the plan breaks while it runs ([`Error::BadPlan`]).
///
/// # Panics
/// If some order of a kernel's points would read an element that has been written over, and if the plan is not valid.
pub fn run_plan(plan: &Plan, inputs: &[Value]) -> Result<(Vec<Value>, Counts), Error> {
    run_plan_with_unwritten(plan, inputs, 0xa5a5_a5a5_a5a5_a5a5)
}

/// As [`run_plan`], where elements that nobody has written have these bits: what differs for others reads such elements, which no backend
/// specifies.
///
/// # Errors
/// As [`run_plan`].
///
/// # Panics
/// As [`run_plan`].
pub fn run_plan_with_unwritten(plan: &Plan, inputs: &[Value], unwritten: u64) -> Result<(Vec<Value>, Counts), Error> {
    let (values, memory) = (vec![None; plan.values.len()], vec![None; plan.values.len()]);
    let mut run = PlanRun { plan, values, memory, unwritten, meter: Rc::default(), counts: Counts::default() };
    run.bind(inputs)?;
    run.steps(&plan.steps)?;
    let mut results = Vec::new();
    for (&id, output) in plan.results.iter().zip(&plan.outputs) {
        let value = run.value(id);
        let place = Place::default();
        let operation = || format!("program `{}`", plan.name);
        for (declared, &found) in output.ty.extents.iter().zip(&value.extents) {
            if *declared != Extent::Unknown && run.extent(*declared) != found {
                let (left, right) = (output.name.clone(), run.extent_name(*declared));
                let fault = Fault::Sizes { left, left_extent: found, right, right_extent: run.extent(*declared) };
                return Err(RunError { operation: operation(), place, fault }.into());
            }
        }
        let value =
            val::to_value(value, false, 0).map_err(|fault| RunError { operation: operation(), place, fault })?;
        results.push(value);
    }
    run.counts.peak_bytes = run.meter.peak();
    Ok((results, run.counts))
}

struct PlanRun<'p> {
    plan: &'p Plan,
    values: Vec<Option<Val>>,
    /// Where each value would be; of inputs none.
    memory: Vec<Option<Rc<Memory>>>,
    /// The bits of elements that nobody has written.
    unwritten: u64,
    meter: Rc<Meter>,
    counts: Counts,
}

impl PlanRun<'_> {
    /// Gives inputs their values; sizes are bound where first met, and checked where met again.
    fn bind(&mut self, inputs: &[Value]) -> Result<(), Error> {
        let plan = self.plan;
        if inputs.len() != plan.inputs.len() {
            return Err(Error::Count { expected: plan.inputs.len(), given: inputs.len() });
        }
        for (&id, value) in plan.inputs.iter().zip(inputs) {
            let declared = &plan.values[id.index()];
            let value = interface::input_of(&declared.name, &declared.ty, value)?;
            for (extent, &found) in declared.ty.extents.iter().zip(&value.extents) {
                match extent {
                    Extent::Value(size) if self.values[size.index()].is_none() => {
                        self.values[size.index()] = Some(Val::scalar(found.into()));
                    }
                    extent if self.extent(*extent) != found => {
                        let (left, right) = (declared.name.clone(), self.extent_name(*extent));
                        return Err(Error::Extents(Fault::Sizes {
                            left,
                            left_extent: found,
                            right,
                            right_extent: self.extent(*extent),
                        }));
                    }
                    _ => {}
                }
            }
            self.values[id.index()] = Some(value);
        }
        if let Some(size) = plan.sizes.iter().find(|size| self.values[size.index()].is_none()) {
            let name = &plan.values[size.index()].name;
            return Err(bad_plan(format!("no input has the size `{name}` as an extent")));
        }
        Ok(())
    }

    fn value(&self, id: ValueId) -> &Val {
        self.values[id.index()]
            .as_ref()
            .unwrap_or_else(|| panic!("{id} is used before it is made, or after it is freed"))
    }

    fn operand(&self, operand: PlanOperand) -> Val {
        match operand {
            Operand::Value(id) => self.value(id).clone(),
            Operand::Constant(constant) => Val::scalar(constant),
        }
    }

    fn extent(&self, extent: PlanExtent) -> i64 {
        match extent {
            Extent::Constant(n) => n,
            Extent::Value(id) => self.value(id).to_i64(),
            Extent::Unknown => unreachable!("values of plans have known extents"),
        }
    }

    fn extent_name(&self, extent: PlanExtent) -> String {
        match extent {
            Extent::Constant(n) => n.to_string(),
            Extent::Value(id) => self.plan.values[id.index()].name.clone(),
            Extent::Unknown => "?".into(),
        }
    }

    /// The extents and the element type of a value that is to be made.
    fn shape(&self, id: ValueId) -> (Vec<i64>, ElementType) {
        let ty = &self.plan.values[id.index()].ty;
        (ty.extents.iter().map(|&extent| self.extent(extent)).collect(), ty.element)
    }

    fn name(&self, id: ValueId) -> &str {
        &self.plan.values[id.index()].name
    }

    /// The same, of a step that names no operation: extents that no array has are a mistake of the plan.
    fn specified(&self, id: ValueId) -> Result<(Vec<i64>, ElementType), Error> {
        let (extents, element) = self.shape(id);
        let extents = val::checked(self.name(id), extents).map_err(|fault| bad_plan(fault.to_string()))?;
        Ok((extents, element))
    }

    fn steps(&mut self, steps: &[Step]) -> Result<(), Error> {
        (steps.iter().enumerate()).try_for_each(|(position, step)| self.step(step, &steps[position + 1..]))
    }

    fn step(&mut self, step: &Step, rest: &[Step]) -> Result<(), Error> {
        let error = |operation: &str, place: &Place, fault| {
            Error::from(RunError { operation: operation.to_owned(), place: place.clone(), fault })
        };
        match step {
            Step::Allocate { value, in_place_of, operation, place } => {
                let (extents, element) = self.shape(*value);
                let name = &self.plan.values[value.index()].name;
                let extents = val::checked(name, extents).map_err(|fault| error(operation, place, fault))?;
                // What is read before it is written shows: no backend clears memory.
                let garbage = Constant::from_bits(element, self.unwritten);
                let elements = val::filled(name, &extents, garbage).map_err(|fault| error(operation, place, fault))?;
                let new = Val::new(element, extents, elements);
                let taken = in_place_of.and_then(|source| {
                    let memory = self.memory[source.index()].as_ref().filter(|memory| Rc::strong_count(memory) == 1)?;
                    (bytes(self.value(source)) == bytes(&new)).then(|| Rc::clone(memory))
                });
                let memory = taken.unwrap_or_else(|| self.meter.memory(bytes(&new)));
                self.make(*value, new, Some(memory));
            }
            Step::Constant { value, data } => {
                let (extents, element) = self.specified(*value)?;
                if val::count(&extents) != data.len() {
                    return Err(bad_plan(format!("`{}` is not of as many elements", self.name(*value))));
                }
                let new = Val::new(element, extents, data.clone());
                let memory = self.meter.memory(bytes(&new));
                self.make(*value, new, Some(memory));
            }
            Step::Launch { kernel, sizes, arrays } => {
                let sizes: Vec<i64> = sizes.iter().map(|&extent| self.extent(extent)).collect();
                let kernel = &self.plan.kernels[*kernel];
                if let Some(&size) = sizes.iter().find(|&&size| size > MAX_EXTENT) {
                    let written = kernel.arrays.iter().find(|array| array.access != fusebox_ir::Access::Read);
                    let array = written.map_or("?", |array| &array.name).to_owned();
                    let fault = Fault::TooLarge { array, extents: vec![size] };
                    return Err(error(&kernel.name.0, &Place::default(), fault));
                }
                let given: Vec<Val> = arrays.iter().map(|&id| self.value(id).clone()).collect();
                check_extents(kernel, &sizes, &given)?;
                let written = kernel::run(kernel, &sizes, &given, &mut self.counts)?;
                for ((&id, array), value) in arrays.iter().zip(&kernel.arrays).zip(written) {
                    let Some(value) = value else { continue };
                    self.values[id.index()] = Some(value);
                    // What was in the same memory is gone.
                    let Some(source) = array.in_place_of.map(|source| arrays[source.index()]) else { continue };
                    if let (Some(own), Some(other)) = (&self.memory[id.index()], &self.memory[source.index()])
                        && Rc::ptr_eq(own, other)
                    {
                        self.forget(source);
                    }
                }
            }
            Step::Alias { value, source, operation, place } => {
                let (source, memory) = self.named(*source);
                let (extents, _) = self.shape(*value);
                let name = self.plan.values[value.index()].name.clone();
                let extents = val::checked(&name, extents).map_err(|fault| error(operation, place, fault))?;
                let (left_extent, right_extent) = (val::count(&extents) as i64, source.len() as i64);
                if left_extent != right_extent {
                    let fault = Fault::Sizes { left: name, left_extent, right: self.source_name(step), right_extent };
                    return Err(error(operation, place, fault));
                }
                self.make(*value, source.reshaped(extents), memory);
            }
            Step::Truncate { value, source } => {
                let (extents, element) = self.specified(*value)?;
                let name = self.name(*value);
                let source_scalars = self.value(*source).scalars();
                let Some(scalars) = usize::try_from(extents[0]).ok().and_then(|count| source_scalars.get(..count))
                else {
                    return Err(bad_plan(format!("`{name}` is longer than what it is cut from")));
                };
                let scalars = val::copied(name, &extents, scalars).map_err(|fault| bad_plan(fault.to_string()))?;
                let memory = self.memory[source.index()].clone();
                self.make(*value, Val::new(element, extents, scalars), memory);
            }
            Step::Copy { value, source } => {
                let (extents, _) = self.specified(*value)?;
                let name = self.name(*value);
                if extents != self.value(*source).extents {
                    return Err(bad_plan(format!("`{name}` is not of the extents of what it copies")));
                }
                let copy = self.value(*source).reshaped(extents);
                let alone = self.memory[source.index()].as_ref().is_some_and(|memory| Rc::strong_count(memory) == 1);
                let memory = if alone && Step::free_unused(*source, rest, &self.plan.values) {
                    self.memory[source.index()].take()
                } else {
                    self.counts.moved(std::slice::from_ref(&copy));
                    Some(self.meter.memory(bytes(&copy)))
                };
                self.make(*value, copy, memory);
            }
            Step::CheckEqual { left, left_name, right, right_name, operation, place } => {
                let (left_extent, right_extent) = (self.extent(*left), self.extent(*right));
                if left_extent != right_extent {
                    let fault =
                        Fault::Sizes { left: left_name.clone(), left_extent, right: right_name.clone(), right_extent };
                    return Err(error(operation, place, fault));
                }
            }
            Step::CheckAtMost { extent, name, available, array, operation, place } => {
                let (extent, available) = (self.extent(*extent), self.extent(*available));
                if extent > available {
                    let fault = Fault::TooFew { result: name.clone(), extent, array: array.clone(), available };
                    return Err(error(operation, place, fault));
                }
            }
            Step::CheckNotNegative { extent, array, operation, place } => {
                let extent = self.extent(*extent);
                if extent < 0 {
                    return Err(error(operation, place, Fault::NegativeExtent { array: array.clone(), extent }));
                }
            }
            Step::Sort { keys, carry, results } => {
                let keys: Vec<Val> = keys.iter().map(|&id| self.value(id).clone()).collect();
                let sources: Vec<Val> =
                    keys.iter().cloned().chain(carry.iter().map(|&id| self.value(id).clone())).collect();
                for (source, result) in sources.iter().zip(results) {
                    let result = self.value(*result);
                    if source.extents != keys[0].extents || result.extents != keys[0].extents {
                        return Err(bad_plan("arrays of a sort are of different extents".to_owned()));
                    }
                }
                self.counts.moved(&sources);
                for (&result, sorted) in results.iter().zip(sorted(&keys, &sources)) {
                    self.values[result.index()] = Some(sorted);
                }
            }
            Step::If { condition, then, otherwise, results: _ } => {
                let taken = if self.operand(*condition).at(0).bits() != 0 { then } else { otherwise };
                self.steps(taken)?;
            }
            Step::While { state, condition_steps, condition, body, next } => loop {
                self.steps(condition_steps)?;
                if self.operand(*condition).at(0).bits() == 0 {
                    break;
                }
                self.steps(body)?;
                let new: Vec<_> = next.iter().map(|&operand| self.named(operand)).collect();
                // What the body made moves; what is handed on from outside stays there too.
                let made: HashSet<ValueId> = body.iter().flat_map(Step::makes).copied().collect();
                for operand in next {
                    if let Operand::Value(id) = operand
                        && made.contains(id)
                    {
                        self.forget(*id);
                    }
                }
                for (&id, (value, memory)) in state.iter().zip(new) {
                    self.make(id, value, memory);
                }
            },
            Step::Lanes { lane, count, body, given, results, operation, place } => {
                let joined = Lanes { lane: *lane, body, given, results };
                self.lanes(self.extent(*count), &joined, (operation, place))?;
            }
            Step::Free { value } => self.forget(*value),
        }
        Ok(())
    }

    fn make(&mut self, id: ValueId, value: Val, memory: Option<Rc<Memory>>) {
        self.values[id.index()] = Some(value);
        self.memory[id.index()] = memory;
    }

    fn forget(&mut self, id: ValueId) {
        self.values[id.index()] = None;
        self.memory[id.index()] = None;
    }

    /// A value under another name: in the same memory, or, if it is written out, in its own.
    fn named(&self, operand: PlanOperand) -> (Val, Option<Rc<Memory>>) {
        let value = self.operand(operand);
        let memory = match operand {
            Operand::Value(id) => self.memory[id.index()].clone(),
            Operand::Constant(_) => Some(self.meter.memory(bytes(&value))),
        };
        (value, memory)
    }

    fn source_name(&self, step: &Step) -> String {
        match step {
            Step::Alias { source: Operand::Value(id), .. } => self.plan.values[id.index()].name.clone(),
            _ => "a constant".into(),
        }
    }
}

fn bad_plan(message: String) -> Error {
    Error::BadPlan { message }
}

/// The extents that a kernel counts on are those of the arrays.
fn check_extents(kernel: &Kernel, sizes: &[i64], given: &[Val]) -> Result<(), Error> {
    for (array, value) in kernel.arrays.iter().zip(given) {
        let expected = array.extents.iter().map(|extent| match extent {
            KernelExtent::Constant(extent) => Some(*extent),
            KernelExtent::Size(id) => sizes.get(id.index()).copied(),
        });
        if !expected.clone().eq(value.extents.iter().copied().map(Some)) {
            let expected: Vec<i64> = expected.map(Option::unwrap_or_default).collect();
            let (kernel, name, found) = (&kernel.name.0, &array.name, &value.extents);
            return Err(bad_plan(format!(
                "kernel `{kernel}` counts on extents {expected:?} of `{name}`, not {found:?}"
            )));
        }
    }
    // One index is for all targets of a scatter: sizes that are equal may have several names.
    for statement in &kernel.statements {
        let Action::Scatter { arrays, .. } = &statement.action else { continue };
        let mut targets = arrays.iter().filter_map(|array| given.get(array.index()));
        let first = targets.next();
        if targets.any(|other| first.is_some_and(|first| first.extents != other.extents)) {
            let kernel = &kernel.name.0;
            return Err(bad_plan(format!("arrays of one scatter of kernel `{kernel}` are of different extents")));
        }
    }
    Ok(())
}
