//! Plans and kernels: run to the bit as they are written, counting; the oracle of every lowering.

mod associate;
mod kernel;
mod machine;

use std::collections::BTreeSet;

use fusebox_ir::{ArrayId, Constant, ElementType, Extent, Fault, Operand, Place, Plan, RunError, Step, Value};

use crate::{
    Error, interface,
    operation::compare,
    val::{self, Val},
};

/// What running kernels took, in elements.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Launches of kernels.
    pub launches: u64,
    /// Launches of kernels with at least one level: loop nests over memory.
    pub loops: u64,
    /// Elements read from arrays of rank 1 and above.
    pub reads: u64,
    /// Elements written to arrays of rank 1 and above.
    pub writes: u64,
}

/// Runs a valid plan: its results in order, and what it took.
///
/// # Errors
/// [`Error`]: inputs that do not fit, and run-time errors.
pub fn run_plan(plan: &Plan, inputs: &[Value]) -> Result<(Vec<Value>, Counts), Error> {
    let mut run = Run { plan, values: vec![None; plan.values.len()], counts: Counts::default() };
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
    Ok((results, run.counts))
}

struct Run<'p> {
    plan: &'p Plan,
    values: Vec<Option<Val>>,
    counts: Counts,
}

impl Run<'_> {
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
        Ok(())
    }

    fn value(&self, id: ArrayId) -> &Val {
        self.values[id.index()]
            .as_ref()
            .unwrap_or_else(|| panic!("{id} is used before it is made, or after it is freed"))
    }

    fn operand(&self, operand: Operand) -> Val {
        match operand {
            Operand::Value(id) => self.value(id).clone(),
            Operand::Constant(constant) => Val::scalar(constant),
        }
    }

    fn extent(&self, extent: Extent) -> i64 {
        match extent {
            Extent::Constant(n) => n,
            Extent::Value(id) => self.value(id).to_i64(),
            Extent::Unknown => unreachable!("values of plans have known extents"),
        }
    }

    fn extent_name(&self, extent: Extent) -> String {
        match extent {
            Extent::Constant(n) => n.to_string(),
            Extent::Value(id) => self.plan.values[id.index()].name.clone(),
            Extent::Unknown => "?".into(),
        }
    }

    /// The extents and the element type of a value that is to be made.
    fn shape(&self, id: ArrayId) -> (Vec<i64>, ElementType) {
        let ty = &self.plan.values[id.index()].ty;
        (ty.extents.iter().map(|&extent| self.extent(extent)).collect(), ty.element)
    }

    fn steps(&mut self, steps: &[Step]) -> Result<(), RunError> {
        steps.iter().try_for_each(|step| self.step(step))
    }

    fn step(&mut self, step: &Step) -> Result<(), RunError> {
        let error = |operation: &str, place: &Place, fault| RunError {
            operation: operation.to_owned(),
            place: place.clone(),
            fault,
        };
        match step {
            Step::Allocate { value, over: _, operation, place } => {
                let (extents, element) = self.shape(*value);
                let name = &self.plan.values[value.index()].name;
                let extents = val::checked(name, extents).map_err(|fault| error(operation, place, fault))?;
                // What is read before it is written shows: no backend clears memory.
                let garbage = Constant::from_bits(element, 0xa5a5_a5a5_a5a5_a5a5);
                self.set(*value, Val::new(element, extents.clone(), vec![garbage; val::count(&extents)]));
            }
            Step::Constant { value, data } => {
                let (extents, element) = self.shape(*value);
                self.set(*value, Val::new(element, extents, data.clone()));
            }
            Step::Launch { kernel, sizes, arrays } => {
                let sizes: Vec<i64> = sizes.iter().map(|&extent| self.extent(extent)).collect();
                let kernel = &self.plan.kernels[*kernel];
                let given: Vec<Val> = arrays.iter().map(|&id| self.value(id).clone()).collect();
                let written = kernel::run(kernel, &sizes, &given, &mut self.counts)?;
                for (id, value) in arrays.iter().zip(written) {
                    if let Some(value) = value {
                        self.set(*id, value);
                    }
                }
            }
            Step::Alias { value, source, operation, place } => {
                let source = self.operand(*source);
                let (extents, _) = self.shape(*value);
                let name = self.plan.values[value.index()].name.clone();
                let extents = val::checked(&name, extents).map_err(|fault| error(operation, place, fault))?;
                let (left_extent, right_extent) = (val::count(&extents) as i64, source.len() as i64);
                if left_extent != right_extent {
                    let fault = Fault::Sizes { left: name, left_extent, right: self.source_name(step), right_extent };
                    return Err(error(operation, place, fault));
                }
                self.set(*value, source.reshaped(extents));
            }
            Step::Shorten { value, source } => {
                let (extents, element) = self.shape(*value);
                let scalars = self.value(*source).scalars()[..extents[0] as usize].to_vec();
                self.set(*value, Val::new(element, extents, scalars));
            }
            Step::Copy { value, source } => {
                let (extents, _) = self.shape(*value);
                let copy = self.value(*source).reshaped(extents);
                self.set(*value, copy);
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
            Step::Sort { keys, carry, results } => {
                let keys: Vec<Val> = keys.iter().map(|&id| self.value(id).clone()).collect();
                let sources: Vec<Val> =
                    keys.iter().cloned().chain(carry.iter().map(|&id| self.value(id).clone())).collect();
                for (&result, sorted) in results.iter().zip(sorted(&keys, &sources)) {
                    self.set(result, sorted);
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
                let new: Vec<Val> = next.iter().map(|&operand| self.operand(operand)).collect();
                for (&id, value) in state.iter().zip(new) {
                    self.set(id, value);
                }
            },
            Step::Free { value } => self.values[value.index()] = None,
        }
        Ok(())
    }

    fn set(&mut self, id: ArrayId, value: Val) {
        self.values[id.index()] = Some(value);
    }

    fn source_name(&self, step: &Step) -> String {
        match step {
            Step::Alias { source: Operand::Value(id), .. } => self.plan.values[id.index()].name.clone(),
            _ => "a constant".into(),
        }
    }
}

/// Rows sorted by keys, stably.
fn sorted(keys: &[Val], sources: &[Val]) -> Vec<Val> {
    let n = keys[0].extents.last().copied().unwrap_or(1) as usize;
    let mut order: Vec<usize> = (0..keys[0].len()).collect();
    for row in order.chunks_mut(n.max(1)) {
        row.sort_by(|&a, &b| {
            let of = |key: &Val| compare(key.at(a), key.at(b));
            keys.iter().map(of).find(|order| order.is_ne()).unwrap_or(std::cmp::Ordering::Equal)
        });
    }
    let sort = |source: &Val| {
        let scalars = order.iter().map(|&at| source.at(at)).collect();
        Val::new(source.element, source.extents.clone(), scalars)
    };
    sources.iter().map(sort).collect()
}

/// Every kernel that a plan launches, once; for reports.
pub fn launched(plan: &Plan) -> BTreeSet<usize> {
    let mut kernels = BTreeSet::new();
    let mut lists = vec![&plan.steps];
    while let Some(steps) = lists.pop() {
        for step in steps {
            match step {
                Step::Launch { kernel, .. } => {
                    kernels.insert(*kernel);
                }
                Step::If { then, otherwise, .. } => lists.extend([then, otherwise]),
                Step::While { condition_steps, body, .. } => lists.extend([condition_steps, body]),
                _ => {}
            }
        }
    }
    kernels
}
