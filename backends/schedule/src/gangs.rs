//! When steps of a level may be lanes of a gang.

use std::fmt;

use fusebox_ir::{
    Action, Association, DimBoundary, Kernel, ScalarOperand, ScatterOrder, Statement,
    analysis::kernels::{AcrossLanes, Lanes, depths},
};

/// Most lanes of a gang: an error slot has room for operands of so many.
pub const MOST_LANES: u32 = 64;

/// Why the steps of a level cannot be lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoGang {
    /// A reduce inside of the level goes over the level and over levels inside of it (a statement).
    ReduceOverSeveral(usize),
    /// An append, or a scatter in an order, is inside of an inner level (a statement).
    OrderInside(usize),
    /// The elements of a reduce or a scan come in an order that lanes do not keep (a statement).
    InOrder(usize),
    /// A scan in tiles along another level, or of other lanes (a statement).
    Tiles(usize),
    /// A level inside has other bounds in each lane (a level).
    Uneven(usize),
    /// A boundary applies at an index that is not the level's own plus something that is known before the level (a statement).
    Boundary(usize),
}

impl fmt::Display for NoGang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReduceOverSeveral(_) => "a reduce goes over this level and a level inside of it",
            Self::OrderInside(_) => "an append or an ordered scatter is in a level inside of this one",
            Self::InOrder(_) => "elements of a reduce or a scan have an order that lanes do not keep",
            Self::Tiles(_) => "a scan has gangs of its own",
            Self::Uneven(_) => "a level inside has other bounds in each lane",
            Self::Boundary(_) => {
                "a boundary applies at an index that is not the level's own plus a constant of the level"
            }
        })
    }
}

/// The statements inside of a level, at any depth.
pub(crate) fn inside(kernel: &Kernel, level: usize) -> impl Iterator<Item = (usize, &Statement)> {
    kernel.statements.iter().enumerate().filter(move |(_, statement)| statement.depth as usize > level)
}

/// The gang that scans in tiles ask for: their level and lanes, if all have the same, and no more than a gang may have.
pub fn gang_of_tiles(kernel: &Kernel) -> Option<(usize, u32)> {
    let mut tiles = kernel.statements.iter().filter_map(|statement| match &statement.action {
        Action::Scan { association: Association::Tiles { lanes, .. }, .. } => {
            Some((statement.depth as usize - 1, *lanes))
        }
        _ => None,
    });
    let first = tiles.next()?;
    ((2..=MOST_LANES).contains(&first.1) && tiles.all(|other| other == first)).then_some(first)
}

/// Whether the steps of a level may be lanes of gangs of `lanes`; else why not.
///
/// # Errors
/// The first reason why not.
pub fn may_be_lanes(kernel: &Kernel, level: usize, lanes: u32) -> Result<(), NoGang> {
    let own_tiles = gang_of_tiles(kernel) == Some((level, lanes));
    for (position, statement) in inside(kernel, level) {
        let depth = statement.depth as usize;
        let direct = depth == level + 1;
        match &statement.action {
            Action::Reduce { to, association, .. } => {
                let (to, inner) = (*to as usize, *to as usize > level);
                if !direct && !inner {
                    return Err(NoGang::ReduceOverSeveral(position));
                }
                let ragged_over_several = matches!(association, Association::Ragged { .. }) && depth > to + 1;
                let keeps = match association {
                    Association::Interleaved { lanes } => inner || *lanes >= 2,
                    Association::Runs { .. } => true,
                    Association::InOrder | Association::Ragged { .. } => inner && !ragged_over_several,
                    Association::Tiles { .. } => inner,
                };
                // In a gang that a scan asks for, lanes are gone through one by one.
                if !keeps && !own_tiles {
                    return Err(NoGang::InOrder(position));
                }
            }
            Action::Scan { association: Association::Tiles { .. }, .. } if !own_tiles => {
                return Err(NoGang::Tiles(position));
            }
            Action::Scan { .. } if direct && !own_tiles => return Err(NoGang::InOrder(position)),
            Action::Append { .. } if !direct => return Err(NoGang::OrderInside(position)),
            Action::Scatter { order, .. } if !direct && !matches!(order, ScatterOrder::Any | ScatterOrder::Unique) => {
                return Err(NoGang::OrderInside(position));
            }
            _ => {}
        }
    }
    let known = depths(kernel);
    let before = |operand: ScalarOperand| match operand {
        ScalarOperand::Local(id) => known.get(&id).is_some_and(|&depth| depth <= level),
        ScalarOperand::Constant(_) | ScalarOperand::Outer(_) => true,
    };
    let uneven = (level + 1..kernel.levels.len()).find(|&at| {
        let inner = &kernel.levels[at];
        !before(inner.from) || !before(inner.to)
    });
    if let Some(uneven) = uneven {
        return Err(NoGang::Uneven(uneven));
    }
    if own_tiles { Ok(()) } else { boundaries(kernel, level) }
}

/// Whether boundaries apply at indices whose border along the level is known before the level.
fn boundaries(kernel: &Kernel, level: usize) -> Result<(), NoGang> {
    let (known, own) = (depths(kernel), kernel.levels[level].index.id);
    let lanes = Lanes::of(kernel, level);
    for (position, statement) in inside(kernel, level) {
        let Action::Load { map, outside, .. } = &statement.action else { continue };
        for dim in map.dims.iter().filter(|dim| dim.boundary != DimBoundary::None || outside.is_some()) {
            let varies = dim.terms.iter().any(|&(_, id)| lanes.local(id) != AcrossLanes::Uniform);
            let plain = dim.terms.iter().all(|&(factor, id)| {
                if id == own { factor == 1 } else { known.get(&id).is_some_and(|&depth| depth <= level) }
            });
            if varies && !plain {
                return Err(NoGang::Boundary(position));
            }
        }
    }
    Ok(())
}

/// Whether a boundary of a load applies at some steps of a level and not at others.
pub fn has_border(kernel: &Kernel, level: usize) -> bool {
    let own = kernel.levels[level].index.id;
    inside(kernel, level).any(|(_, statement)| match &statement.action {
        Action::Load { map, outside, .. } => map.dims.iter().any(|dim| {
            (outside.is_some() || dim.boundary != DimBoundary::None) && dim.terms.iter().any(|&(_, id)| id == own)
        }),
        _ => false,
    })
}

/// Whether a step of the level may be executed again: it only stores, and nothing that it loads.
pub fn may_run_twice(kernel: &Kernel, level: usize) -> bool {
    inside(kernel, level).all(|(_, statement)| match &statement.action {
        Action::Load { .. } | Action::Scalar(_) | Action::Check { .. } => true,
        Action::Reduce { to, .. } => *to as usize > level,
        Action::Scan { .. } => statement.depth as usize > level + 1,
        Action::Store { array, .. } => {
            let array = &kernel.arrays[array.index()];
            array.access == fusebox_ir::Access::Write && array.in_place_of.is_none()
        }
        Action::Append { .. } | Action::Scatter { .. } => false,
    })
}

/// Whether the number of steps of a level is known before all levels.
pub fn is_counted_before(kernel: &Kernel, level: usize) -> bool {
    let known = depths(kernel);
    let before = |operand: ScalarOperand| match operand {
        ScalarOperand::Local(id) => known.get(&id) == Some(&0),
        ScalarOperand::Constant(_) | ScalarOperand::Outer(_) => true,
    };
    let Some(level) = kernel.levels.get(level) else { return false };
    // What a reduce makes is known behind the levels.
    let made = kernel.statements.iter().filter(|statement| statement.depth > 0).flat_map(Statement::results);
    let late: Vec<_> = made.map(|result| result.id).collect();
    let early = |operand: ScalarOperand| !matches!(operand, ScalarOperand::Local(id) if late.contains(&id));
    [level.from, level.to].into_iter().all(|operand| before(operand) && early(operand))
}
