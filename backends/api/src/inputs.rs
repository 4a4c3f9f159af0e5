//! Inputs against the types that a plan declares: sizes are bound where first met, and checked where met again.

use fusebox_ir::{Array, ElementType, Extent, MAX_EXTENT, Plan, PlanType, ValueId};

use crate::{BackendError, Few};

/// What an input is compared by: an array of the host, or of a device.
pub trait Input {
    /// The element type.
    fn element(&self) -> ElementType;

    /// The extents, from the outermost dimension.
    fn extents(&self) -> &[usize];

    /// The only element, if it is an `i64`: inputs may give extents.
    ///
    /// # Errors
    /// What a device says that is asked for it.
    fn number(&self) -> Result<Option<i64>, BackendError>;
}

impl Input for Array {
    fn element(&self) -> ElementType {
        Array::element(self)
    }

    fn extents(&self) -> &[usize] {
        Array::extents(self)
    }

    fn number(&self) -> Result<Option<i64>, BackendError> {
        Ok(if self.len() == 1 { self.get(0).as_i64() } else { None })
    }
}

/// Checks inputs against the plan's types; gives the sizes that they bind.
///
/// # Errors
/// [`BackendError::BadInput`], [`BackendError::InputCount`]; [`BackendError::Unsupported`] for streams and arrays of arrays.
pub fn check_inputs<I: Input>(plan: &Plan, inputs: &[I]) -> Result<Few<(ValueId, i64)>, BackendError> {
    if inputs.len() != plan.inputs.len() {
        return Err(BackendError::InputCount { expected: plan.inputs.len(), given: inputs.len() });
    }
    let mut sizes: Few<(ValueId, i64)> = Few::new();
    for (&id, array) in plan.inputs.iter().zip(inputs) {
        let value = plan
            .values
            .get(id.index())
            .ok_or_else(|| BackendError::BadPlan { message: format!("input {id} is no value") })?;
        let ty = &value.ty;
        if ty.stream || !ty.inner.is_empty() {
            return Err(BackendError::Unsupported {
                backend: "plan",
                what: format!("input `{}`: a stream or an array of arrays", value.name),
            });
        }
        let bad = |sizes: &[(ValueId, i64)]| BackendError::BadInput {
            input: value.name.clone(),
            expected: describe(plan, ty, sizes),
            given: format!("{}{}", bracketed(array.extents().iter().map(usize::to_string)), array.element()),
        };
        if ty.element != array.element() || ty.rank() != array.extents().len() {
            return Err(bad(&sizes));
        }
        for (extent, &given) in ty.extents.iter().zip(array.extents()) {
            // Beyond the most there are no elements anyway.
            let given = i64::try_from(given).ok().filter(|&given| given <= MAX_EXTENT).ok_or_else(|| bad(&sizes))?;
            let fits = match extent {
                Extent::Constant(expected) => *expected == given,
                // A size is bound by the first input that has it; an extent may also be a scalar input before.
                Extent::Value(size) if plan.sizes.contains(size) => match bound(&sizes, *size) {
                    Some(bound) => bound == given,
                    None => {
                        sizes.push((*size, given));
                        true
                    }
                },
                Extent::Value(scalar) => match plan.inputs.iter().position(|input| input == scalar) {
                    Some(position) => inputs[position].number()? == Some(given),
                    None => false,
                },
                Extent::Unknown => true,
            };
            if !fits {
                return Err(bad(&sizes));
            }
        }
    }
    Ok(sizes)
}

/// What a size is, if an input has it. There are few.
fn bound(sizes: &[(ValueId, i64)], size: ValueId) -> Option<i64> {
    sizes.iter().find(|(id, _)| *id == size).map(|&(_, bound)| bound)
}

fn bracketed(extents: impl Iterator<Item = String>) -> String {
    let extents: Vec<String> = extents.collect();
    if extents.is_empty() { String::new() } else { format!("[{}]", extents.join(", ")) }
}

/// A type in words of the source, with the sizes that are known: `[n = 3, 4]f32`.
fn describe(plan: &Plan, ty: &PlanType, sizes: &[(ValueId, i64)]) -> String {
    let extents = ty.extents.iter().map(|extent| match extent {
        Extent::Constant(extent) => extent.to_string(),
        Extent::Value(id) => {
            let name = plan.values.get(id.index()).map_or("?", |value| value.name.as_str());
            bound(sizes, *id).map_or(name.to_owned(), |size| format!("{name} = {size}"))
        }
        Extent::Unknown => "?".to_owned(),
    });
    format!("{}{}", bracketed(extents), ty.element)
}
