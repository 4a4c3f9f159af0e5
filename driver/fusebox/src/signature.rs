//! What a program takes and gives; whether given values fit.

use std::{collections::HashMap, fmt};

use smallvec::SmallVec;

use fusebox_backend::{DeviceArray, Input as _};
use fusebox_ir::{Array, ArrayId, ElementType, Extent, Nested, Plan, PlanType, Program, Type, Value, ValueId};

use crate::{DeviceValue, Error, device::Place};

/// The inputs and results of a program, with types as text spells them.
#[derive(Clone, Debug, PartialEq)]
pub struct Signature {
    /// What the program is called.
    pub name: String,
    /// Inputs, in order.
    pub inputs: Vec<Slot>,
    /// Results, in order.
    pub results: Vec<Slot>,
    names: HashMap<ArrayId, String>,
    ids: Vec<ArrayId>,
}

/// An input or a result.
#[derive(Clone, Debug, PartialEq)]
pub struct Slot {
    /// Its name.
    pub name: String,
    /// Its type.
    pub ty: Type,
    /// The type as text spells it: `[n, 3]f32`.
    pub spelled: String,
}

/// Values that are no inputs of a program.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum InputError {
    /// More or fewer values than inputs.
    #[error("{given} inputs are given, and the program has {expected}: {inputs}")]
    Count {
        /// How many are wanted.
        expected: usize,
        /// How many are given.
        given: usize,
        /// Their names and types.
        inputs: String,
    },
    /// Another rank or element type, or another kind of value.
    #[error("input `{input}` should be {expected}, not {found}")]
    Type {
        /// The input's name.
        input: String,
        /// Its type.
        expected: String,
        /// What is given.
        found: String,
    },
    /// Extents that do not agree.
    #[error("extent {dimension} of input `{input}` is {found}, and should be {expected}")]
    Extent {
        /// The input's name.
        input: String,
        /// The dimension, from the outermost, 0.
        dimension: usize,
        /// The extent given.
        found: i64,
        /// The extent wanted, and where it is from.
        expected: String,
    },
    /// Extents and values of an array of arrays that do not fit each other.
    #[error("input `{input}`, {expected}: {why}")]
    Nested {
        /// The input's name.
        input: String,
        /// Its type.
        expected: String,
        /// What does not fit.
        why: String,
    },
}

fusebox_ir::debug_is_message!(enum InputError {
    Count { expected, given, inputs },
    Type { input, expected, found },
    Extent { input, dimension, found, expected },
    Nested { input, expected, why },
});

impl Signature {
    /// The signature of a valid program.
    pub fn of(program: &Program) -> Self {
        let body = &program.body;
        let names: HashMap<_, _> =
            body.sizes.iter().chain(&body.params).map(|var| (var.id, var.name.0.clone())).collect();
        let slot = |name: &str, ty: &Type| Slot { name: name.into(), ty: ty.clone(), spelled: spell(ty, &names) };
        let inputs = body.params.iter().map(|var| slot(&var.name.0, &var.ty)).collect();
        let results = program.outputs.iter().map(|output| slot(&output.name, &output.ty)).collect();
        let ids = body.params.iter().map(|var| var.id).collect();
        Self { name: program.name.clone(), inputs, results, names, ids }
    }

    /// The signature of a valid plan.
    pub fn of_plan(plan: &Plan) -> Self {
        let names: HashMap<_, _> = (plan.values.iter().enumerate())
            .map(|(position, value)| (in_signature(ValueId::at(position)), value.name.clone()))
            .collect();
        let slot = |name: &str, ty: &PlanType| {
            let ty = ty.with_extents(&mut |extent| match extent {
                Extent::Value(id) => Extent::Value(in_signature(id)),
                Extent::Constant(extent) => Extent::Constant(extent),
                Extent::Unknown => Extent::Unknown,
            });
            Slot { name: name.into(), spelled: spell(&ty, &names), ty }
        };
        let input = |id: &ValueId| plan.values.get(id.index()).map(|value| slot(&value.name, &value.ty));
        let inputs = plan.inputs.iter().filter_map(input).collect();
        let results = plan.outputs.iter().map(|output| slot(&output.name, &output.ty)).collect();
        Self {
            name: plan.name.clone(),
            inputs,
            results,
            names,
            ids: plan.inputs.iter().map(|&id| in_signature(id)).collect(),
        }
    }

    /// Whether these are inputs: types, and sizes that should agree.
    ///
    /// # Errors
    /// [`InputError`]: the first that does not fit.
    pub fn check(&self, values: &[Value]) -> Result<(), InputError> {
        self.check_count(values.len())?;
        let mut sizes = Sizes { signature: self, known: SmallVec::new() };
        for ((slot, &id), value) in self.inputs.iter().zip(&self.ids).zip(values) {
            if !slot.ty.stream {
                sizes.input(slot, value)?;
            }
            if let (true, ElementType::I64, Value::Array(scalar)) = (slot.ty.is_scalar(), slot.ty.element, value) {
                let value = scalar.get(0).as_i64().unwrap_or_default();
                sizes.know(id, value, Known::Value(slot));
            }
        }
        // Elements of streams may have extents that later inputs bind.
        self.inputs
            .iter()
            .zip(values)
            .filter(|(slot, _)| slot.ty.stream)
            .try_for_each(|(slot, value)| sizes.input(slot, value))
    }
}

impl Signature {
    /// As [`Self::check`], of values that stay where a program runs. Plain arrays are not copied for it; what is inside of others is looked
    /// at on the host.
    pub(crate) fn check_on_device(&self, values: &[DeviceValue]) -> Result<(), Error> {
        let mut arrays: SmallVec<[&DeviceArray; 8]> = SmallVec::new();
        for value in values {
            match value.place() {
                Place::Array(array) => arrays.push(array),
                Place::Host(_) | Place::Nested { .. } => {
                    let values = values.iter().map(DeviceValue::to_host).collect::<Result<Vec<Value>, _>>()?;
                    return Ok(self.check(&values)?);
                }
            }
        }
        self.check_count(values.len())?;
        let mut sizes = Sizes { signature: self, known: SmallVec::new() };
        for (((slot, &id), array), value) in self.inputs.iter().zip(&self.ids).zip(arrays).zip(values) {
            if slot.ty.stream || !slot.ty.inner.is_empty() {
                let (expected, found) = (slot.spelled.clone(), described(array.element(), array.extents()));
                return Err(InputError::Type { input: slot.name.clone(), expected, found }.into());
            }
            sizes.array(slot, array.element(), array.extents())?;
            if slot.ty.is_scalar() && slot.ty.element == ElementType::I64 && self.is_extent(id) {
                let number = array.number().map_err(|error| value.failed(error))?;
                sizes.know(id, number.unwrap_or_default(), Known::Value(slot));
            }
        }
        Ok(())
    }

    /// Whether an extent of an input is this scalar.
    fn is_extent(&self, id: ArrayId) -> bool {
        self.inputs.iter().any(|slot| slot.ty.extents.contains(&Extent::Value(id)))
    }

    fn check_count(&self, given: usize) -> Result<(), InputError> {
        if given == self.inputs.len() {
            return Ok(());
        }
        Err(InputError::Count { expected: self.inputs.len(), given, inputs: list(&self.inputs) })
    }
}

/// What a value of a plan is called in its signature, whose types are those of programs. Values of a plan have one id each, as those of a
/// program have, so that ids of the signature are as distinct.
fn in_signature(id: ValueId) -> ArrayId {
    ArrayId(id.0)
}

/// `fn name(x: [n]f32) -> y: f32`
impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "fn {}({}) -> {}", self.name, list(&self.inputs), list(&self.results))
    }
}

pub(crate) fn list(slots: &[Slot]) -> String {
    slots.iter().map(|slot| format!("{}: {}", slot.name, slot.spelled)).collect::<Vec<_>>().join(", ")
}

fn spell(ty: &Type, names: &HashMap<ArrayId, String>) -> String {
    let level = |extents: &[Extent]| {
        let extents: Vec<String> = extents
            .iter()
            .map(|extent| match extent {
                Extent::Constant(extent) => extent.to_string(),
                Extent::Value(id) => match names.get(id) {
                    Some(name) if !name.is_empty() => name.clone(),
                    _ => id.to_string(),
                },
                Extent::Unknown => "?".into(),
            })
            .collect();
        format!("[{}]", extents.join(", "))
    };
    let mut text = if ty.stream { "stream ".to_owned() } else { String::new() };
    if ty.rank() > 0 || !ty.inner.is_empty() {
        text += &level(&ty.extents);
    }
    text + &ty.inner.iter().map(|extents| level(extents)).collect::<String>() + ty.element.name()
}

/// An array in words: `[3, 4]f32`.
pub(crate) fn describe(array: &Array) -> String {
    described(array.element(), array.extents())
}

fn described(element: ElementType, extents: &[usize]) -> String {
    match extents {
        [] => element.to_string(),
        extents => format!("{extents:?}{element}"),
    }
}

/// Sizes that inputs bind, and what bound them.
struct Sizes<'s> {
    signature: &'s Signature,
    /// There are few, and a call on small arrays takes a microsecond.
    known: SmallVec<[(ArrayId, i64, Known<'s>); 8]>,
}

/// Where a size is known from.
#[derive(Clone, Copy)]
enum Known<'s> {
    /// It is this input.
    Value(&'s Slot),
    /// It is this one of the signature, and this input has it as an extent.
    Extent(ArrayId, &'s Slot),
    /// It is an inner extent of this input, which has no rows.
    NoRows(&'s Slot),
}

impl<'s> Sizes<'s> {
    fn known(&self, id: ArrayId) -> Option<(i64, Known<'s>)> {
        self.known.iter().find(|(known, ..)| *known == id).map(|&(_, size, from)| (size, from))
    }

    fn know(&mut self, id: ArrayId, size: i64, from: Known<'s>) {
        self.known.retain(|(known, ..)| *known != id);
        self.known.push((id, size, from));
    }

    /// Where a size is known from, in words.
    fn origin(&self, from: Known<'_>) -> String {
        match from {
            Known::Value(slot) => format!("the value of `{}`", slot.name),
            Known::Extent(id, slot) => {
                let name = self.signature.names.get(&id).map_or("", String::as_str);
                format!("`{name}`, from input `{}`", slot.name)
            }
            Known::NoRows(slot) => format!("the inner extent of `{}`, which has no rows", slot.name),
        }
    }

    /// A plain array, or an element of a stream.
    fn array(&mut self, slot: &'s Slot, element: ElementType, extents: &[usize]) -> Result<(), InputError> {
        if element != slot.ty.element || extents.len() != slot.ty.rank() {
            let (expected, found) = (slot.spelled.clone(), described(element, extents));
            return Err(InputError::Type { input: slot.name.clone(), expected, found });
        }
        self.extents(slot, 0, &slot.ty.extents, extents.iter().map(|&extent| extent as i64))
    }

    fn input(&mut self, slot: &'s Slot, value: &Value) -> Result<(), InputError> {
        let wrong =
            |found: String| Err(InputError::Type { input: slot.name.clone(), expected: slot.spelled.clone(), found });
        let ty = &slot.ty;
        match value {
            Value::Array(array) if !ty.stream && ty.inner.is_empty() => {
                self.array(slot, array.element(), array.extents())
            }
            Value::Stream(elements) if ty.stream => elements.iter().enumerate().try_for_each(|(position, array)| {
                // A name that nothing else binds is that of each element alone.
                let bound = self.known.clone();
                let checked = self.array(slot, array.element(), array.extents());
                self.known = bound;
                match checked {
                    Err(InputError::Type { found, .. }) => wrong(format!("{found} (element {position})")),
                    checked => checked,
                }
            }),
            Value::Nested(nested) if ty.inner.len() == 1 => self.nested(slot, nested),
            Value::Array(array) => wrong(describe(array)),
            Value::Stream(elements) => wrong(format!("a stream of {} elements", elements.len())),
            Value::Nested(_) => wrong("an array of arrays".into()),
        }
    }

    /// Declared extents and those of the value: bound where first met, equal where met again.
    fn extents(
        &mut self,
        slot: &'s Slot,
        first: usize,
        declared: &[Extent],
        found: impl Iterator<Item = i64>,
    ) -> Result<(), InputError> {
        for ((at, extent), found) in declared.iter().enumerate().zip(found) {
            let dimension = first + at;
            let expected = match extent {
                Extent::Unknown => continue,
                Extent::Constant(wanted) if *wanted == found => continue,
                Extent::Constant(wanted) => wanted.to_string(),
                Extent::Value(id) => match self.known(*id) {
                    Some((wanted, _)) if wanted == found => continue,
                    Some((wanted, from)) => format!("{wanted}, {}", self.origin(from)),
                    None => {
                        self.know(*id, found, Known::Extent(*id, slot));
                        continue;
                    }
                },
            };
            return Err(InputError::Extent { input: slot.name.clone(), dimension, found, expected });
        }
        Ok(())
    }

    fn nested(&mut self, slot: &'s Slot, value: &Nested) -> Result<(), InputError> {
        let wrong =
            |why: String| Err(InputError::Nested { input: slot.name.clone(), expected: slot.spelled.clone(), why });
        let ty = &slot.ty;
        let inner = &ty.inner[0];
        let Some(all) = value.extents.as_slice::<i64>() else {
            return wrong(format!("the extents are of {}, and should be of i64", value.extents.element()));
        };
        let outer = match (inner.len(), value.extents.extents()) {
            (1, outer) => outer,
            (rank, [outer @ .., last]) if *last == rank => outer,
            (rank, found) => {
                return wrong(format!("the extents of extents {found:?} should end in {rank}, the inner rank"));
            }
        };
        if outer.len() != ty.rank() {
            return wrong(format!("extents of rank {} are given for outer rank {}", outer.len(), ty.rank()));
        }
        if value.values.element() != ty.element || value.values.extents().len() != 1 {
            return wrong(format!(
                "the values are {}, and should be a vector of {}",
                describe(&value.values),
                ty.element
            ));
        }
        self.extents(slot, 0, &ty.extents, outer.iter().map(|&extent| extent as i64))?;
        // Most are vectors of any lengths, and a small program should not take as long to look at them as to run.
        let lengths = (inner[..] == [Extent::Unknown]).then(|| sum_of_lengths(all)).flatten();
        let mut total = lengths.unwrap_or(0);
        let each = if lengths.is_some() { &[] } else { all };
        for (position, extents) in each.chunks(inner.len()).enumerate() {
            self.extents(slot, outer.len(), inner, extents.iter().copied())?;
            let size = extents.iter().try_fold(1i64, |size, &extent| size.checked_mul(extent).filter(|_| extent >= 0));
            match size.and_then(|size| total.checked_add(size)) {
                Some(sum) => total = sum,
                None => {
                    return wrong(match extents.iter().find(|&&extent| extent < 0) {
                        Some(extent) => format!("extent {extent} of array {position} is negative"),
                        None => format!("array {position} has too many elements: its extents are {extents:?}"),
                    });
                }
            }
        }
        if all.is_empty() {
            for extent in inner {
                if let Extent::Value(id) = extent
                    && self.known(*id).is_none()
                {
                    self.know(*id, 0, Known::NoRows(slot));
                }
            }
        }
        if total != value.values.len() as i64 {
            return wrong(format!("there are {} values, and the extents need {total}", value.values.len()));
        }
        Ok(())
    }
}

/// The sum of lengths, if none is negative and their largest times how many there are fits into an `i64`: then it is exact. Its loop has no branch.
fn sum_of_lengths(lengths: &[i64]) -> Option<i64> {
    let (bits, sum) = lengths.iter().fold((0, 0i64), |(bits, sum), &length| (bits | length, sum.wrapping_add(length)));
    // No length is greater than all of their bits together, and these are negative if one length is.
    let count = i64::try_from(lengths.len()).ok()?;
    (bits >= 0 && bits.checked_mul(count).is_some()).then_some(sum)
}

#[cfg(test)]
mod tests {
    use super::sum_of_lengths;

    #[test]
    fn lengths_are_summed_where_the_sum_is_exact() {
        assert_eq!(sum_of_lengths(&[]), Some(0));
        assert_eq!(sum_of_lengths(&[3, 0, 5, 1]), Some(9));
        assert_eq!(sum_of_lengths(&[i64::MAX]), Some(i64::MAX));
        assert_eq!(sum_of_lengths(&[3, -1, 5]), None);
        assert_eq!(sum_of_lengths(&[i64::MIN]), None);
        assert_eq!(sum_of_lengths(&[i64::MAX, i64::MAX, 2]), None);
    }
}
