//! Scans along the outermost level, its tiles shared among threads.
//!
//! A tile whose carry is there when it begins takes one pass. Else its totals are computed first and put behind the carry as soon as that
//! is there; then comes the second pass, over what is still in the cache. Carries grow strictly from the left either way.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use fusebox_backend::Few;
use fusebox_ir::{Action, Array, RunError, association::TILE};

use super::{KernelLaunch, Ranges, table::Table};
use crate::{
    code_memory::Code,
    emit::{HiddenArgument, Part},
};

/// How often a thread looks for a carry before others may have the core.
const LOOKS: usize = 64;
/// How often before it computes totals.
const FEW_LOOKS: usize = 4;

/// Tiles on their way.
pub(super) struct Tiles<'a> {
    totals: &'a Code,
    carry: &'a Code,
    /// Whether the carry behind the last tile is wanted.
    last: bool,
    count: usize,
    /// How many tiles have their carry behind them.
    carried: AtomicUsize,
}

impl Tiles<'_> {
    /// Runs the body of a tile with the carry before it; sees to the carry behind it.
    pub(super) fn run(
        &self,
        body: &Code,
        table: &Table<'_>,
        tile: usize,
        (from, to): (i64, i64),
        stop: &AtomicBool,
    ) -> Result<u64, RunError> {
        let wanted = self.last || tile + 1 < self.count;
        let mut table = table.clone();
        let is_there = |looks: usize| {
            (0..looks).any(|_| {
                std::hint::spin_loop();
                self.carried.load(Ordering::Acquire) >= tile
            })
        };
        if is_there(FEW_LOOKS) || !wanted {
            while !is_there(LOOKS) {
                if stop.load(Ordering::Acquire) {
                    return Ok(0);
                }
                std::thread::yield_now();
            }
            self.set_onward(&mut table, wanted);
            let result = table.call(body, (from, to))?;
            self.carried.store(tile + 1, Ordering::Release);
            return Ok(result);
        }
        table.call(self.totals, (from, to))?;
        while !is_there(LOOKS) {
            if stop.load(Ordering::Acquire) {
                return Ok(0);
            }
            std::thread::yield_now();
        }
        table.call(self.carry, (tile as i64, tile as i64 + 1))?;
        self.carried.store(tile + 1, Ordering::Release);
        self.set_onward(&mut table, false);
        table.call(body, (from, to))
    }

    fn set_onward(&self, table: &mut Table<'_>, onward: bool) {
        table.set(HiddenArgument::Onward, onward.into());
    }
}

impl<'a> KernelLaunch<'a> {
    /// Ranges of the outermost level that are a tile each, where sharing them is worth it.
    pub(super) fn tiles(&self, steps: i64) -> Ranges {
        if !self.way.shared {
            return Ranges::one(steps);
        }
        Ranges::new(steps, TILE)
    }

    /// Makes room for carries and totals of tiles, and for which of them are there; with the hidden argument that each is for.
    ///
    /// # Errors
    /// [`fusebox_ir::Fault::TooLarge`].
    pub(super) fn carries(&self, steps: i64, scratch: &mut Few<(HiddenArgument, Array)>) -> Result<(), RunError> {
        let tiles = (steps as u64).div_ceil(TILE as u64) as usize;
        for &argument in &self.loaded.hidden {
            if let HiddenArgument::Carry(statement, _)
            | HiddenArgument::CarryFlags(statement)
            | HiddenArgument::Total(statement, _)
            | HiddenArgument::TotalFlags(statement) = argument
            {
                scratch.push((argument, self.scratch(statement, || "carries of tiles".to_owned(), tiles, 8)?));
            }
        }
        Ok(())
    }

    /// For `count` ranges of one tile each; `None` for one range of all steps, and where nothing is scanned.
    pub(super) fn shared_tiles(&self, table: &mut Table<'_>, count: usize) -> Option<Tiles<'a>> {
        let loaded = self.loaded;
        let (totals, carry) = (loaded.part(Part::Totals)?, loaded.part(Part::Carry)?);
        let last = self.kernel.statements.iter().any(|statement| {
            statement.depth == 1 && matches!(&statement.action, Action::Scan { totals, .. } if !totals.is_empty())
        });
        if count <= 1 {
            table.set(HiddenArgument::Onward, last.into());
            return None;
        }
        Some(Tiles { totals, carry, last, count, carried: AtomicUsize::new(0) })
    }
}
