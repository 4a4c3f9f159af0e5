//! What a program takes and gives; whether given values fit.

mod sizes;

use std::{collections::HashMap, fmt};

use fusebox_ir::{Array, ArrayId, ElementType, Extent, Plan, PlanType, Program, Type, Value, ValueId};

use self::sizes::{Known, Sizes};
use crate::{DeviceValue, Error};

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
        let mut sizes = Sizes::new(self);
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
    /// As [`Self::check`], of values that stay where a program runs. Nothing is copied for it but scalars that are extents, and extents of
    /// arrays inside where something has to be compared with them.
    pub(crate) fn check_on_device(&self, values: &[DeviceValue]) -> Result<(), Error> {
        self.check_count(values.len())?;
        let mut sizes = Sizes::new(self);
        for ((slot, &id), value) in self.inputs.iter().zip(&self.ids).zip(values) {
            if !slot.ty.stream {
                sizes.input_on_device(slot, value)?;
            }
            if slot.ty.is_scalar() && slot.ty.element == ElementType::I64 && self.is_extent(id) {
                sizes.know(id, value.number()?.unwrap_or_default(), Known::Value(slot));
            }
        }
        // Elements of streams may have extents that later inputs bind.
        let streams = self.inputs.iter().zip(values).filter(|(slot, _)| slot.ty.stream);
        streams.into_iter().try_for_each(|(slot, value)| sizes.input_on_device(slot, value))
    }

    /// Whether an extent of an input is this scalar.
    fn is_extent(&self, id: ArrayId) -> bool {
        let extents =
            |slot: &Slot| slot.ty.inner.iter().chain([&slot.ty.extents]).flatten().any(|&own| own == Extent::Value(id));
        self.inputs.iter().any(extents)
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
