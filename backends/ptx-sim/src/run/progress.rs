//! Whether anybody makes progress.
//!
//! A group that comes back to a step with the same registers, while memory is as it was, will do so forever unless somebody else changes memory.
//! When that is true of all that run, nobody will.

use super::block::{Launched, Resident};
use super::seen::Seen;
use super::warp::{State, Warp, lanes};
use std::hash::Hasher;

/// So many steps without a change that others can see, before it is looked for who turns without end.
const QUIET: u64 = 20_000;
/// The same for groups that poll nothing, which mostly compute for long.
const LONG: u64 = 2_000_000;
/// Every so many turns somebody looks: what turns without end is found as well, and who only changes nothing for long is not held up.
const EVERY: u32 = 8;

impl Launched<'_> {
    /// A group goes back to an earlier step.
    pub(super) fn turn(&mut self, warp: &mut Warp, group: usize) {
        let Warp { rows, groups, .. } = warp;
        let group = &mut groups[group];
        let quiet = if group.polls { QUIET } else { LONG };
        if self.quiet < quiet || group.spins == Some(self.version) {
            return;
        }
        group.turns = group.turns.wrapping_add(1);
        if !group.turns.is_multiple_of(EVERY) {
            return;
        }
        let mut hasher = std::hash::DefaultHasher::new();
        hasher.write_u32(group.pc);
        for row in rows.iter() {
            for lane in lanes(group.lanes) {
                hasher.write_u64(row[lane]);
            }
        }
        let (hash, version) = (hasher.finish(), self.version);
        match &mut group.seen {
            Some(seen) if seen.version == version && seen.hash == hash => group.spins = Some(version),
            Some(seen) if seen.version == version && seen.turns < seen.limit => seen.turns += 1,
            seen => {
                let limit = seen.filter(|seen| seen.version == version).map_or(1, |seen| 2 * seen.limit);
                *seen = Some(Seen { hash, version, turns: 1, limit });
            }
        }
    }

    /// Whether everybody who is not waiting turns without end.
    pub(super) fn is_stuck(&self, resident: &[Resident]) -> bool {
        if self.quiet < QUIET {
            return false;
        }
        let mut groups = resident.iter().flat_map(|resident| &resident.warps).flat_map(|warp| &warp.groups);
        groups.all(|group| group.state != State::Ready || group.spins == Some(self.version))
    }
}
