//! What a reduce, or the total of a scan's tile, keeps while its elements come.

use crate::{
    Action, Association, Constant, ElementType, Kernel, LevelOrder,
    analysis::algebra::{built_ins, identities},
};

/// The interleaved accumulators of a reduce ([`Association::Interleaved`], or [`Association::Ragged`] from its least length on), or of the
/// total of a scan's tile.
#[derive(Clone, Debug, PartialEq)]
pub struct Accumulators {
    /// How many there are, L.
    pub lanes: u32,
    /// The type of each component.
    pub types: Vec<ElementType>,
    /// What empty ones may hold; none where the combining function has no known identity.
    pub identity: Option<Vec<Constant>>,
    /// How many levels are reduced.
    pub levels: usize,
    /// Whether the operands of every combination change places.
    pub down: bool,
}

/// The interleaved accumulators of a statement: of a reduce, or of the total of a scan in tiles; none of other statements.
pub fn accumulators(kernel: &Kernel, position: usize) -> Option<Accumulators> {
    let statement = &kernel.statements[position];
    let depth = statement.depth as usize;
    let (lanes, to, combine, values) = match &statement.action {
        Action::Reduce { to, association, combine, values, .. } => match *association {
            Association::Interleaved { lanes } | Association::Ragged { lanes, .. } => {
                (lanes, *to as usize, combine, values)
            }
            Association::InOrder | Association::Runs { .. } | Association::Tiles { .. } => return None,
        },
        Action::Scan { association: Association::Tiles { total_lanes, .. }, combine, values, .. } => {
            (*total_lanes, depth.checked_sub(1)?, combine, values)
        }
        _ => return None,
    };
    if lanes == 0 {
        return None;
    }
    let types = combine.params.iter().take(values.len()).map(|param| param.ty).collect();
    let down = kernel.levels[to].order == LevelOrder::Down;
    Some(Accumulators { lanes, types, identity: identities(combine), levels: depth - to, down })
}

/// A reduce whose blocks have the results that the total of this scan's tile is made of: it takes the same elements, at the same points, with
/// the same function and as many accumulators.
pub fn shared_reduction(kernel: &Kernel, scan: usize) -> Option<usize> {
    let own = accumulators(kernel, scan)?;
    let statement = &kernel.statements[scan];
    let Action::Scan { values: elements, combine, .. } = &statement.action else { return None };
    own.identity.as_ref()?;
    (0..kernel.statements.len()).find(|&position| {
        let other = &kernel.statements[position];
        let Action::Reduce { association: Association::Interleaved { .. }, combine: others, values, .. } =
            &other.action
        else {
            return false;
        };
        (other.depth, other.when, values) == (statement.depth, statement.when, elements)
            && built_ins(others) == built_ins(combine)
            && accumulators(kernel, position).as_ref() == Some(&own)
    })
}
