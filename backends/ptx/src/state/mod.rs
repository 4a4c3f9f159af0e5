//! What is under way while statements are emitted: registers and memory of reduces, scans and scatters.

mod reduction;
mod scan;
mod table;

use fusebox_ir::ElementType;

pub(crate) use self::{
    reduction::Reduction,
    scan::{Gangs, Had, Running},
    table::{Lanes, Level, Run, Table},
};
use crate::{text::Reg, value::Val};

/// Values of all components, perhaps absent.
#[derive(Clone, Debug)]
pub(crate) struct Maybe {
    pub(crate) values: Vec<Val>,
    /// Whether they are there; none: they are.
    pub(crate) present: Option<Reg>,
}

/// Registers that elements are combined into.
#[derive(Clone, Debug)]
pub(crate) struct Accumulator {
    pub(crate) values: Vec<Reg>,
    /// Whether they hold anything; none: they do.
    pub(crate) present: Option<Reg>,
}

impl Accumulator {
    /// Its values, of these types.
    pub(crate) fn maybe(&self, types: impl Iterator<Item = ElementType>) -> Maybe {
        let values = self.values.iter().zip(types).map(|(&reg, ty)| Val::new(ty, reg)).collect();
        Maybe { values, present: self.present }
    }
}

/// A reduce or scan whose elements several threads make.
#[derive(Clone, Debug)]
pub(crate) enum Together {
    /// A thread combines its elements in registers, and says whether it has any.
    Own {
        /// One for each component.
        accumulators: Vec<Reg>,
        /// Whether they hold anything.
        present: Option<Reg>,
    },
    /// Elements go to memory, each to its place.
    Put(Staged),
    /// Results are known: one for each component.
    Take(Vec<Val>),
}

/// Elements of a chunk in memory.
#[derive(Clone, Debug)]
pub(crate) struct Staged {
    pub(crate) place: Reg,
    /// Whether each step has one, so that nothing says so.
    pub(crate) always: bool,
}

/// Where a scatter in chunks puts its elements.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Chunk {
    /// Which scatter.
    pub(crate) statement: usize,
    /// Whether the chunk under way has a copy of the targets: all but the first have.
    pub(crate) is_copy: Reg,
    /// The start of that copy: an accumulator for each target.
    pub(crate) copy: Reg,
    /// Where steps of the outermost level tell chunks apart: how many make one, where copies start, how many targets there are.
    pub(crate) steps: Option<(Val, Reg, Val)>,
}
