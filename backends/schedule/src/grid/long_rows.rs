//! Rows that may be short or long: what the threads of a warp do together with a long one.

use fusebox_ir::{
    Action, Association, Kernel,
    analysis::kernels::has_totals_along,
    association::{BLOCK, TILE},
};

use super::{
    Lanes, Ragged, WARP, cannot_fail,
    facts::{combined_levels, is_free, lanes_of_reduces, ragged},
    is_exact,
};

/// Lanes of the total of a tile that the threads of a warp have, at most.
const MOST_TOTAL_LANES: u32 = 4 * WARP;

/// What the threads of a warp do together with the steps of a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LongRows {
    /// They combine them, and so does the whole grid those of very long rows; with what takes short and long rows apart, if anything does.
    Reduced(Option<Ragged>),
    /// They scan them, gang by gang through registers, whose results the next gangs take. Totals of tiles have so many lanes; none: there are no tiles, or
    /// their totals are those of the gangs.
    Scanned {
        /// Lanes of totals.
        total_lanes: Option<u32>,
        /// Whether there are tiles: not where every order is right.
        tiles: bool,
    },
    /// Each does its steps: none depends on another.
    Apart,
}

impl LongRows {
    /// Whether the whole grid may share the steps of very long rows.
    pub fn may_be_cut(self) -> bool {
        matches!(self, Self::Reduced(_) | Self::Apart)
    }

    /// In pieces of how many steps the warp goes through a row, one after the other.
    pub fn pieces(self) -> Option<u32> {
        match self {
            Self::Reduced(_) => Some(BLOCK as u32),
            Self::Scanned { tiles: true, .. } => Some(TILE as u32),
            Self::Scanned { .. } | Self::Apart => None,
        }
    }
}

/// What the threads of a warp may do together with the steps of a level.
///
/// # Errors
/// Why one thread has to go through them.
pub fn long_rows(kernel: &Kernel, level: usize) -> Result<LongRows, &'static str> {
    if level >= kernel.levels.len() {
        return Err("no level is inside of the points");
    }
    if is_free(kernel, level) {
        return Ok(LongRows::Apart);
    }
    let inside = |depth: u32| depth as usize > level;
    let scans = |depth: u32, action: &Action| depth as usize == level + 1 && matches!(action, Action::Scan { .. });
    if !kernel.statements.iter().any(|statement| scans(statement.depth, &statement.action)) {
        return match combined_levels(kernel, level)? {
            1 => match (ragged(kernel, level), lanes_of_reduces(kernel, level)) {
                (Ok(own), _) => Ok(LongRows::Reduced(Some(own))),
                (_, Ok(None | Some(Lanes::Interleaved(WARP..=MOST_TOTAL_LANES)))) => Ok(LongRows::Reduced(None)),
                (_, Err(why)) => Err(why),
                _ => Err("a reduce has lanes that a warp does not have"),
            },
            _ => Err("steps of several levels are combined together"),
        };
    }
    let (mut total_lanes, mut tiles) = (None, false);
    for statement in kernel.statements.iter().filter(|statement| inside(statement.depth)) {
        match &statement.action {
            Action::Scan { combine, association, .. } if statement.depth as usize == level + 1 => {
                if !cannot_fail(combine) {
                    return Err("combining may fail");
                }
                match *association {
                    _ if is_exact(combine) => {}
                    Association::Tiles { lanes, total_lanes: own } if lanes <= WARP && own <= MOST_TOTAL_LANES => {
                        tiles = true;
                        if own > 0 && *total_lanes.get_or_insert(own) != own {
                            return Err("scans have totals of different lanes");
                        }
                    }
                    _ => return Err("a scan has gangs or totals that a warp does not have"),
                }
            }
            Action::Reduce { to, .. } if *to as usize <= level => return Err("a reduce is beside the scan"),
            Action::Append { .. } => return Err("an append puts elements in order"),
            _ => {}
        }
    }
    if tiles && !has_totals_along(kernel, level) {
        return Err("totals of tiles need results of the scan");
    }
    Ok(LongRows::Scanned { total_lanes, tiles })
}
