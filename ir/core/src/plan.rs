//! Plans: what runs. Values, kernels, control around them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{Constant, Extent, Kernel, Operand, Output, Place, Type, ValueId};

/// The most that an extent of a value and a size of a launch may be; those beyond do not fit in memory, be it that the array has no elements.
///
/// Whoever proves that an index is inside of an array counts on it: sums of some of them, and small multiples, are an `i64`.
pub const MAX_EXTENT: i64 = 1 << 50;

/// An extent in a plan, whose values name it; never [`Extent::Unknown`] but in the declared types of results.
pub type PlanExtent = Extent<ValueId>;
/// A type in a plan: of an array of scalars, as what nests has been flattened.
pub type PlanType = Type<ValueId>;
/// An operand of a step.
pub type PlanOperand = Operand<ValueId>;

/// What runs: values, kernels, and the steps that make results out of inputs.
///
/// Scalars are arrays of rank 0; all scalar code is in kernels (one without levels runs once). Steps are strict: what only a branch
/// uses is among the branch's steps.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Plan {
    /// The program's name.
    pub name: String,
    /// Every value, keyed by [`ValueId`].
    pub values: Vec<PlanValue>,
    /// Sizes bound by the types of inputs (scalars).
    pub sizes: Vec<ValueId>,
    /// The inputs.
    pub inputs: Vec<ValueId>,
    /// Kernels, named by position in launches.
    pub kernels: Vec<Kernel>,
    /// In order.
    pub steps: Vec<Step>,
    /// What is given back, one for each output.
    pub results: Vec<ValueId>,
    /// Names and declared types of the results.
    pub outputs: Vec<Output<ValueId>>,
}

/// A value of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct PlanValue {
    /// The name in the source; inputs are called so.
    pub name: String,
    /// Its type; extents are constants or scalars of this plan that are known when the value is made.
    #[serde(rename = "type")]
    pub ty: PlanType,
}

/// One step of a plan.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "step", rename_all = "snake_case", deny_unknown_fields)]
pub enum Step {
    /// Makes room for a value of the extents its type says, of any contents. Negative extents and too large ones fail.
    Allocate {
        /// The value.
        value: ValueId,
        /// A value whose memory this one takes over if nothing else has that memory and it is of as many bytes; else the value gets its
        /// own. The launch that writes `value` is the last step to use it, and the kernel allows it ([`crate::KernelArray::in_place_of`]). No input, no
        /// result; made in this list of steps, or state of the loop whose body this list is.
        #[serde(rename = "over", default, skip_serializing_if = "Option::is_none")]
        in_place_of: Option<ValueId>,
        /// The operation and its result, for errors.
        operation: String,
        /// In the source.
        #[serde(default, skip_serializing_if = "Place::is_unknown")]
        place: Place,
    },
    /// Makes a value of constant extents out of elements written out.
    Constant {
        /// The value.
        value: ValueId,
        /// Its elements, row-major.
        data: Vec<Constant>,
    },
    /// Runs a kernel. Its arrays are made: allocated, and of their extents.
    Launch {
        /// Position in [`Plan::kernels`].
        kernel: usize,
        /// One for each of the kernel's sizes.
        sizes: Vec<PlanExtent>,
        /// One for each of the kernel's arrays.
        arrays: Vec<ValueId>,
    },
    /// `value` is `source` (same buffer) in the extents of `value`'s type: reshape, renaming, state of loops. Extents whose product is
    /// another than the source's fail.
    Alias {
        /// The new name.
        value: ValueId,
        /// The old one.
        source: PlanOperand,
        /// The operation and its result, for errors.
        operation: String,
        /// In the source.
        #[serde(default, skip_serializing_if = "Place::is_unknown")]
        place: Place,
    },
    /// The vector `value` is the first elements of `source` in row-major order, as many as its extent says (after an append). Files may say
    /// `shorten`.
    #[serde(alias = "shorten")]
    Truncate {
        /// The new name.
        value: ValueId,
        /// An array of at least as many elements.
        source: ValueId,
    },
    /// `value` starts as a copy of `source`, of the same size; if that has no other use, it is taken over (defaults of a permute).
    Copy {
        /// The new value.
        value: ValueId,
        /// The old one.
        source: ValueId,
    },
    /// Extents that should be equal: fails where they are not.
    CheckEqual {
        /// An extent.
        left: PlanExtent,
        /// Whose it is.
        left_name: String,
        /// Another.
        right: PlanExtent,
        /// Whose it is.
        right_name: String,
        /// The operation and its result.
        operation: String,
        /// In the source.
        #[serde(default, skip_serializing_if = "Place::is_unknown")]
        place: Place,
    },
    /// An extent that should not be above another (`map` over less than its arrays): fails where it is.
    CheckAtMost {
        /// The extent of what is made.
        extent: PlanExtent,
        /// Its name.
        name: String,
        /// The extent of what is read.
        available: PlanExtent,
        /// Its name.
        array: String,
        /// The operation and its result.
        operation: String,
        /// In the source.
        #[serde(default, skip_serializing_if = "Place::is_unknown")]
        place: Place,
    },
    /// An extent of an array that is made in a kernel and stored nowhere: fails where it is negative, as making room for the array would.
    CheckNotNegative {
        /// The extent.
        extent: PlanExtent,
        /// The name of the array.
        array: String,
        /// The operation and its result.
        operation: String,
        /// In the source.
        #[serde(default, skip_serializing_if = "Place::is_unknown")]
        place: Place,
    },
    /// Sorts rows by keys, stably; carries along. Results are allocated before.
    Sort {
        /// Keys; the first decides first.
        keys: Vec<ValueId>,
        /// Carried along.
        carry: Vec<ValueId>,
        /// Keys, then what is carried.
        results: Vec<ValueId>,
    },
    /// Runs one of two lists of steps; both make every value of `results` by an [`Step::Alias`] at their end.
    If {
        /// A scalar `bool`.
        condition: PlanOperand,
        /// Where it holds.
        then: Vec<Step>,
        /// Where it does not.
        otherwise: Vec<Step>,
        /// What is made.
        results: Vec<ValueId>,
    },
    /// Runs `condition_steps`; while the scalar `condition` then holds, `body`, then moves `next` to `state`, all at once. The loop drops
    /// `condition` when it has been tested: no step frees it, nor what is moved. The body may free state that does not move, which its end
    /// makes again.
    While {
        /// The state's values: made before by aliases.
        state: Vec<ValueId>,
        /// Make `condition` out of the state.
        condition_steps: Vec<Step>,
        /// A scalar `bool`.
        condition: PlanOperand,
        /// Make `next` out of the state.
        body: Vec<Step>,
        /// As many as the state.
        next: Vec<PlanOperand>,
    },
    /// Runs `body` once for each lane, from 0 on: no lane sees what another makes, so lanes may run in any order, and at once. Each makes all
    /// of `given`, whose elements stand behind those of the lanes before in `results`: for each of `given` the number of all elements, and a
    /// vector of them. What fails is what fails in the first lane that does.
    Lanes {
        /// The number of the lane, in its body.
        lane: ValueId,
        /// How many there are; none if negative.
        count: PlanExtent,
        /// Makes `given` out of `lane` and of what is made outside.
        body: Vec<Step>,
        /// Which elements of the body are kept. The step drops them when a lane is over.
        given: Vec<PlanOperand>,
        /// For each of `given` an `i64` and a vector of so many elements.
        results: Vec<ValueId>,
        /// The operation, for errors.
        operation: String,
        /// In the source.
        #[serde(default, skip_serializing_if = "Place::is_unknown")]
        place: Place,
    },
    /// The value is not used any more. In a loop: one that its steps make, or its state.
    Free {
        /// Which.
        value: ValueId,
    },
}

impl Plan {
    /// All lists of steps: its own, and those of branches, loops and lanes.
    pub fn lists(&self) -> Vec<&[Step]> {
        let inner = self.steps.iter().flat_map(Step::within).flat_map(Step::inner);
        std::iter::once(&self.steps[..]).chain(inner).filter(|steps| !steps.is_empty()).collect()
    }
}

impl Step {
    /// Values that the step makes in its own list.
    pub fn makes(&self) -> &[ValueId] {
        match self {
            Self::Allocate { value, .. }
            | Self::Constant { value, .. }
            | Self::Alias { value, .. }
            | Self::Truncate { value, .. }
            | Self::Copy { value, .. } => std::slice::from_ref(value),
            Self::If { results, .. } | Self::Lanes { results, .. } => results,
            // The state is made before; the loop itself drops its condition when it has been tested.
            Self::While { .. } => &[],
            Self::Launch { .. }
            | Self::CheckEqual { .. }
            | Self::CheckAtMost { .. }
            | Self::CheckNotNegative { .. }
            | Self::Sort { .. }
            | Self::Free { .. } => &[],
        }
    }

    /// Lists of steps inside.
    pub fn inner(&self) -> [&[Step]; 2] {
        match self {
            Self::If { then, otherwise, .. } => [then, otherwise],
            Self::While { condition_steps, body, .. } => [condition_steps, body],
            Self::Lanes { body, .. } => [body, &[]],
            Self::Allocate { .. }
            | Self::Constant { .. }
            | Self::Launch { .. }
            | Self::Alias { .. }
            | Self::Truncate { .. }
            | Self::Copy { .. }
            | Self::CheckEqual { .. }
            | Self::CheckAtMost { .. }
            | Self::CheckNotNegative { .. }
            | Self::Sort { .. }
            | Self::Free { .. } => [&[], &[]],
        }
    }

    /// The lists of steps inside of the step, in the order in which they run, to change.
    pub fn inner_mut(&mut self) -> Vec<&mut Vec<Self>> {
        match self {
            Self::If { then, otherwise, .. } => vec![then, otherwise],
            Self::While { condition_steps, body, .. } => vec![condition_steps, body],
            Self::Lanes { body, .. } => vec![body],
            _ => Vec::new(),
        }
    }

    /// The step itself, then every step inside of it, in order.
    pub fn within(&self) -> impl Iterator<Item = &Self> {
        // Steps without others inside need no list: executors ask in each turn of a loop.
        let (mut first, mut rest) = (Some(self), Vec::new());
        std::iter::from_fn(move || {
            let step = first.take().or_else(|| rest.pop())?;
            let [first, second] = step.inner();
            rest.extend(second.iter().rev().chain(first.iter().rev()));
            Some(step)
        })
    }

    /// Every value that the step names, in the steps inside of it too; not those in types.
    pub fn for_each_value(&self, with: &mut dyn FnMut(ValueId)) {
        self.within().for_each(|step| step.for_each_own_value(with));
    }

    /// Every value that the step names itself, and not the steps inside of it.
    pub fn for_each_own_value(&self, with: &mut dyn FnMut(ValueId)) {
        let mut operand = |operand: &PlanOperand| {
            if let Operand::Value(id) = operand {
                with(*id);
            }
        };
        match self {
            Self::Alias { value, source, .. } => {
                operand(source);
                with(*value);
            }
            Self::If { condition, results, .. } => {
                operand(condition);
                results.iter().for_each(|&id| with(id));
            }
            Self::While { state, condition, next, .. } => {
                next.iter().chain([condition]).for_each(operand);
                state.iter().for_each(|&id| with(id));
            }
            Self::Lanes { lane, count, body: _, given, results, .. } => {
                extent(count, with);
                with(*lane);
                given.iter().for_each(|given| {
                    if let Operand::Value(id) = given {
                        with(*id);
                    }
                });
                results.iter().for_each(|&id| with(id));
            }
            Self::Allocate { value, in_place_of, .. } => in_place_of.iter().chain([value]).for_each(|&id| with(id)),
            Self::Constant { value, .. } | Self::Free { value } => with(*value),
            Self::Launch { kernel: _, sizes, arrays } => {
                sizes.iter().for_each(|size| extent(size, with));
                arrays.iter().for_each(|&id| with(id));
            }
            Self::Truncate { value, source } | Self::Copy { value, source } => {
                with(*source);
                with(*value);
            }
            Self::CheckEqual { left, right, .. } | Self::CheckAtMost { extent: left, available: right, .. } => {
                extent(left, with);
                extent(right, with);
            }
            Self::CheckNotNegative { extent: of, .. } => extent(of, with),
            Self::Sort { keys, carry, results } => {
                keys.iter().chain(carry).chain(results).for_each(|&id| with(id));
            }
        }
    }

    /// Whether a value is freed before any of the steps uses it, be it as an extent of what the step makes; `values` are those of the plan.
    pub fn free_unused(id: ValueId, steps: &[Step], values: &[PlanValue]) -> bool {
        let types = |step: &Step, used: &mut bool| {
            let state = if let Step::While { state, .. } = step { &state[..] } else { &[] };
            for made in step.makes().iter().chain(state).filter_map(|made| values.get(made.index())) {
                made.ty.for_each_use(&mut |value| *used |= value == id);
            }
        };
        for step in steps {
            if let Step::Free { value } = step
                && *value == id
            {
                return true;
            }
            let mut used = false;
            step.for_each_value(&mut |value| used |= value == id);
            step.within().for_each(|step| types(step, &mut used));
            if used {
                return false;
            }
        }
        false
    }
}

fn extent(of: &PlanExtent, with: &mut dyn FnMut(ValueId)) {
    if let Extent::Value(id) = of {
        with(*id);
    }
}
