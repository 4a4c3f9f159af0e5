//! What is known of a reduce while its elements come.

use fusebox_ir::{Constant, ElementType, Lambda, association::BLOCK};

use super::Peeled;
use crate::{emit::identities, vector::Value};

/// A reduce under way.
#[derive(Clone, Debug)]
pub struct Reduce {
    pub(super) combine: Lambda,
    pub(super) kind: ReduceKind,
    pub(super) presence: Presence,
    /// Whether operands change places.
    pub(super) swap: bool,
    /// Lanes of an accumulator.
    pub(super) lanes: u32,
    pub(super) types: Vec<ElementType>,
    /// The number of interleaved accumulators or runs.
    pub(super) width: u32,
    /// The first of the states that are the accumulators of the gang that comes; else they are in memory.
    pub(super) in_registers: Option<usize>,
    /// The accumulators of the block that ends, a gang behind the other, with its lanes, where they have been in registers all the time.
    pub(super) held: Option<(Vec<Maybe>, u32)>,
    /// Whether those hold nothing, whatever gang comes.
    pub untouched: bool,
    /// The element's number in its block, where the loop knows it; else it is counted in memory.
    pub element: Option<Value>,
    pub(super) counted: bool,
    /// How many elements there are.
    pub steps: Option<Value>,
    /// How many blocks there are at most, where that is known and no more than a block of them.
    pub most_blocks: Option<i64>,
    /// Where results of blocks go instead: of this statement.
    pub(super) partial: Option<usize>,
    /// The peeled first elements, stored until there are enough for lanes.
    pub(super) peeled: Option<Peeled>,
    pub(super) layout: ScratchLayout,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ReduceKind {
    /// Accumulators are states from this position on; then, without seeds, whether there is anything yet.
    InOrder(usize),
    Interleaved,
    Runs,
}

/// How it is known which accumulators hold something.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Presence {
    /// All do: they start as identities.
    Identity(Vec<Constant>),
    /// The first ones, by the number of elements.
    Counted,
    /// A byte beside each says so.
    Flags,
}

/// The layout of a reduce in scratch memory: offsets.
#[derive(Clone, Debug, Default)]
pub(super) struct ScratchLayout {
    /// Of each component, the accumulators of each tree level (of runs: the elements).
    pub(super) slots: Vec<i64>,
    pub(super) flags: i64,
    /// Results of runs.
    pub(super) runs: Vec<i64>,
    pub(super) run_flags: i64,
    /// How many elements each tree level has got.
    pub(super) counts: i64,
    /// The result of the only block.
    pub(super) out: Vec<i64>,
    pub(super) out_flag: i64,
}

/// Values and whether they are there at all; `None`: they are.
pub type Maybe = (Vec<Value>, Option<Value>);

impl Reduce {
    /// Whether loops run in blocks for it.
    pub fn is_blocked(&self) -> bool {
        !matches!(self.kind, ReduceKind::InOrder(_)) && !self.counted
    }

    /// Where the state is that says whether there is anything yet, of a reduce in order, or of a chain, without seeds.
    pub fn flag_in_order(&self) -> Option<usize> {
        match self.kind {
            ReduceKind::InOrder(first) => Some(first + self.types.len()),
            _ => None,
        }
    }

    /// Whether the accumulators of the gang that comes are states.
    pub fn is_in_registers(&self) -> bool {
        self.in_registers.is_some()
    }

    /// A reduce of a row, with all accumulators in registers; where they have no identity, a flag for each lane says whether it holds something.
    pub fn in_registers(combine: &Lambda, types: Vec<ElementType>, width: u32) -> Self {
        let presence = identities(combine).map_or(Presence::Flags, Presence::Identity);
        Self {
            combine: combine.clone(),
            kind: ReduceKind::Interleaved,
            presence,
            swap: false,
            lanes: 1,
            types,
            width,
            in_registers: None,
            held: None,
            untouched: true,
            element: None,
            counted: false,
            steps: None,
            most_blocks: None,
            partial: None,
            peeled: None,
            layout: ScratchLayout::default(),
        }
    }

    /// The same, with so many lanes in each accumulator.
    pub fn in_lanes(self, lanes: u32) -> Self {
        Self { lanes, ..self }
    }

    /// The function that combines.
    pub fn combine(&self) -> &Lambda {
        &self.combine
    }

    /// What accumulators in registers hold where there is nothing yet: the components, then the flag if there is one.
    pub fn nothing(&self) -> Vec<Constant> {
        match &self.presence {
            Presence::Identity(identities) => identities.clone(),
            _ => self.types.iter().map(|&ty| Constant::zero(ty)).chain([Constant::from(false)]).collect(),
        }
    }

    /// How many states the accumulators of a gang are.
    pub fn states(&self) -> usize {
        self.types.len() + usize::from(!matches!(self.presence, Presence::Identity(_)))
    }

    /// The accumulators of a gang.
    pub fn of_states(&self, states: &[Value]) -> Maybe {
        (states[..self.types.len()].to_vec(), states.get(self.types.len()).copied())
    }

    /// Values of an element.
    pub fn components(&self) -> usize {
        self.types.len()
    }

    /// Slots of one tree level.
    pub(super) fn slots(&self) -> i64 {
        if self.kind == ReduceKind::Runs { BLOCK } else { i64::from(self.width) }
    }
}
