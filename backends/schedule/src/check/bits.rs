//! Whether what stands in one place of a nest has the bits that the kernel fixes, and can be carried out on the target.

use std::collections::BTreeSet;

use fusebox_ir::{
    Action, Association, Kernel, ScatterOrder, Statement,
    analysis::kernels::{accumulators, in_ranges_apart_from, long_level},
    association::{BLOCK, TILE},
};

use super::cover::Leaf;
use crate::{
    accumulate::may_unroll,
    gangs::{MOST_LANES, gang_of_tiles, has_border, may_be_lanes, may_run_twice},
    rows::may_be_by_elements,
    schedule::{Axis, By, Loop, Nest, OutOfCache, Remainder, SplitBy},
    slice::free_slice,
    streams::Streams,
    target::Cpu,
};

/// What is wrong with one place, on a processor.
pub(super) fn faults(kernel: &Kernel, nest: &Nest, leaf: &Leaf<'_>, cpu: &Cpu) -> Vec<String> {
    let long = long(kernel, leaf);
    let mut check =
        Check { kernel: long.as_ref().unwrap_or(kernel), of_any_length: kernel, nest, leaf, faults: Vec::new() };
    check.order_of_levels(true);
    check.order_of_pieces();
    check.threads();
    check.lanes();
    check.cuts(0);
    check.divisions();
    check.choices(0);
    check.registers(cpu);
    check.faults
}

/// What is wrong with one place on a GPU, inside of the first levels, which several threads share; whether these are tiles, of
/// which a thread takes several points at once.
pub(super) fn faults_of_threads(
    kernel: &Kernel,
    nest: &Nest,
    leaf: &Leaf<'_>,
    (shared, tiled): (usize, bool),
) -> Vec<String> {
    let mut check = Check { kernel, of_any_length: kernel, nest, leaf, faults: Vec::new() };
    if !tiled {
        check.order_of_levels(false);
    }
    check.order_of_pieces();
    for each in &leaf.loops {
        let plain = each.remainder == Remainder::Scalar
            && each.points == 1
            && !each.first_whole
            && !each.border
            && each.up_to.is_none()
            && each.out_of_cache.is_none()
            && each.pack.is_empty();
        let may_unroll = matches!(each.by, By::GridThreads(_)) || tiled && matches!(each.by, By::BlockThreads(_));
        if !plain || each.unroll != 1 && !may_unroll {
            check.fault("gangs, their remainders, streams, panels and unrolled loops are those of a processor");
        }
    }
    check.cuts(shared);
    check.choices(shared);
    check.faults
}

/// What the kernel is by what the choices around say of levels that are long, where they say something of its reduces.
fn long(kernel: &Kernel, leaf: &Leaf<'_>) -> Option<Kernel> {
    let long_sides = leaf.choices.iter().filter(|(.., short, _)| !short);
    long_sides.fold(None, |long, &(level, least, ..)| {
        long_level(long.as_ref().unwrap_or(kernel), level as usize, least).or(long)
    })
}

pub(super) struct Check<'c> {
    /// As it is by the choices around.
    pub(super) kernel: &'c Kernel,
    pub(super) of_any_length: &'c Kernel,
    pub(super) nest: &'c Nest,
    pub(super) leaf: &'c Leaf<'c>,
    faults: Vec<String>,
}

impl<'c> Check<'c> {
    pub(super) fn fault(&mut self, message: impl Into<String>) {
        self.faults.push(message.into());
    }

    pub(super) fn level_of(&self, axis: Axis) -> usize {
        self.nest.level_of(self.kernel.levels.len(), axis).unwrap_or(usize::MAX)
    }

    pub(super) fn made_by(&self, axis: Axis) -> Option<(SplitBy, Axis, bool)> {
        let (split, pieces) = self.nest.made_by(self.kernel.levels.len(), axis)?;
        Some((split.by, split.axis, pieces))
    }

    /// The statements that stand here, of one level's direct inside.
    pub(super) fn direct(&self, level: usize) -> impl Iterator<Item = (usize, &'c Statement)> + use<'c> {
        let (kernel, leaf) = (self.kernel, self.leaf);
        kernel.statements.iter().enumerate().filter(move |(position, statement)| {
            statement.depth as usize == level + 1 && leaf.statements.contains(position)
        })
    }

    /// Pieces come outside of their steps; but groups of accumulators may come outside of the steps that feed them.
    fn order_of_pieces(&mut self) {
        let place = |axis: Axis| self.leaf.loops.iter().position(|each| each.axis == axis);
        let first = self.kernel.levels.len() as u32;
        let mut found = Vec::new();
        for number in 0..self.nest.splits.len() as u32 {
            let (pieces, steps) = (Axis(first + 2 * number), Axis(first + 2 * number + 1));
            // Of the steps what they are split into, if they are.
            let outer = place(pieces);
            let inner =
                (self.leaf.loops.iter()).position(|each| each.axis == steps || self.is_part_of(each.axis, steps));
            if let (Some(outer), Some(inner)) = (outer, inner)
                && inner < outer
                && !self.is_batch(pieces, steps)
            {
                found.push("steps of a piece run outside of the loop over pieces");
            }
        }
        found.into_iter().for_each(|message| self.fault(message));
    }

    fn is_part_of(&self, axis: Axis, whole: Axis) -> bool {
        let mut axis = axis;
        while let Some((_, from, _)) = self.made_by(axis) {
            if from == whole {
                return true;
            }
            axis = from;
        }
        false
    }

    /// Whether this is `loop groups { loop turns { loop group lanes(n) unroll g { do reduces } } }`, where a turn gives each of L accumulators
    /// one element and a group is g gangs of them: each accumulator gets its elements in their order.
    fn is_batch(&self, turns: Axis, turn: Axis) -> bool {
        let [.., groups_loop, turns_loop, group_loop] = self.leaf.loops.as_slice() else { return false };
        let (Some((SplitBy::Steps(width), ..)), By::Lanes(lanes)) = (self.made_by(turns), group_loop.by) else {
            return false;
        };
        let split_of_turn = |axis: Axis| match self.made_by(axis) {
            Some((SplitBy::Steps(group), from, pieces)) if from == turn => Some((group, pieces)),
            _ => None,
        };
        let group = lanes.saturating_mul(group_loop.unroll);
        let level = self.level_of(turns);
        !self.leaf.rest
            && turns_loop.axis == turns
            && split_of_turn(groups_loop.axis) == Some((group, true))
            && split_of_turn(group_loop.axis) == Some((group, false))
            && width.is_multiple_of(group)
            && [groups_loop, turns_loop].iter().all(|each| each.by == By::Serial && each.unroll == 1)
            && self.leaf.statements.iter().all(|&position| {
                accumulators(self.kernel, position)
                    .is_some_and(|own| own.lanes == width && own.identity.is_some() && own.levels == 1)
                    && free_slice(self.kernel, level, position).is_some()
            })
    }

    /// Who takes the steps of a loop.
    fn threads(&mut self) {
        for (depth, each) in self.leaf.loops.iter().enumerate() {
            let made = self.made_by(each.axis);
            let launched =
                matches!(made, Some((SplitBy::Shares(_) | SplitBy::Elements | SplitBy::Chunks, Axis(0), true)));
            match each.by {
                By::Blocks | By::BlockThreads(_) | By::GridThreads(_) | By::Warps(_) | By::WarpThreads => {
                    self.fault("blocks, warps and their threads are those of a GPU");
                }
                By::Threads if !launched || depth > 0 => {
                    self.fault("threads take the shares or the chunks of the outermost level, in the outermost loop");
                }
                By::Abreast(points) => self.abreast(each, points, depth),
                _ => {}
            }
            if each.by == By::Threads {
                self.shared_level();
            } else if launched {
                self.fault("shares and chunks are for threads");
            }
            if each.unroll > 1 && !matches!(each.by, By::Lanes(_)) {
                let level = self.level_of(each.axis);
                if each.by == By::Serial && level + 1 == self.kernel.levels.len() {
                    self.few(each);
                } else {
                    self.jam(each, depth);
                }
            }
            if !each.pack.is_empty() {
                self.pack(each, depth);
            }
        }
    }

    fn shared_level(&mut self) {
        // What may not be put aside is a fault of its own.
        let put_aside = self.nest.partitioned().map(|(statement, ..)| statement);
        if let Err(why) = in_ranges_apart_from(self.kernel, put_aside) {
            self.fault(format!("the outermost level cannot be shared: {why}"));
        }
    }

    fn lanes(&mut self) {
        let in_lanes = self.leaf.loops.iter().filter(|each| matches!(each.by, By::Lanes(_)));
        let in_lanes: Vec<&Loop> = in_lanes.copied().collect();
        if let [around, row, more @ ..] = in_lanes.as_slice() {
            self.together(around, row);
            if !more.is_empty() {
                self.fault("three loops around a statement are across lanes");
            }
        }
        for each in &self.leaf.loops {
            let lanes = matches!(each.by, By::Lanes(_));
            if !lanes && (each.out_of_cache.is_some() || each.remainder != Remainder::Scalar) {
                self.fault("a remainder and streams are those of gangs");
            }
            let level = self.level_of(each.axis);
            let at_once = each.unroll > 1 && level + 1 < self.kernel.levels.len() && !lanes;
            if each.border && !lanes && !at_once {
                self.fault("a border is that of gangs, and of steps at once");
            }
            if each.border && !has_border(self.kernel, level) {
                self.fault(format!("no boundary applies along level {level}: it has no border"));
            }
            if each.up_to.is_some() && !at_once {
                self.fault("steps at once, and no others, may ask how many steps are inside");
            }
            if each.first_whole && !self.nest.is_row(self.kernel, each) {
                self.fault("a first iteration that is whole is that of a row");
            }
            if each.points != 1 && in_lanes.get(1).is_none_or(|row| row.axis != each.axis) {
                self.fault("points at once are those of a row inside of lanes");
            }
        }
        for each in in_lanes {
            if let By::Lanes(lanes) = each.by {
                self.gang(each, lanes);
            }
        }
    }

    fn gang(&mut self, each: &Loop, lanes: u32) {
        let level = self.level_of(each.axis);
        if !(2..=MOST_LANES).contains(&lanes) || !lanes.is_power_of_two() {
            self.fault(format!("{lanes} lanes are no power of two from 2 to {MOST_LANES}"));
            return;
        }
        if let Err(why) = may_be_lanes(self.kernel, level, lanes) {
            self.fault(format!("level {level} cannot be across {lanes} lanes: {why}"));
        }
        let masked = gang_of_tiles(self.kernel) == Some((level, lanes));
        let row = self.nest.is_row(self.kernel, each);
        if masked && each.remainder != Remainder::Masked {
            self.fault("the remainder is masked in the gangs of a scan");
        }
        if row {
            self.row(each, (level, lanes));
        }
        if each.remainder == Remainder::Overlapped && !may_run_twice(self.kernel, level) {
            self.fault(format!("steps of level {level} cannot run twice, so that no gang may overlap another"));
        }
        let inside = self.leaf.loops.iter().skip_while(|inner| inner.axis != each.axis).skip(1).copied();
        let inside: Vec<&Loop> = inside.collect();
        if each.unroll > 1 && !inside.is_empty() {
            self.gangs_at_once(each, &inside);
        } else if each.unroll > 1 && self.leaf.rest && !row {
            // Named reduces are batches, and checked as such.
            if let Err(why) = may_unroll(self.kernel, level, lanes, each.unroll) {
                self.fault(why);
            }
        }
        if let Some(out) = &each.out_of_cache {
            let streams = Streams::of(self.kernel, level, lanes, |_| true);
            if out.prefetch.iter().any(|array| !streams.loads.contains_key(array)) {
                self.fault("an array is prefetched that is not read from step to step");
            }
            if !out.ahead.is_multiple_of(OutOfCache::LINE) || out.ahead > OutOfCache::MOST_AHEAD {
                let (ahead, line, most) = (out.ahead, OutOfCache::LINE, OutOfCache::MOST_AHEAD);
                self.fault(format!(
                    "prefetches are a multiple of {line} bytes ahead, {most} at most, and these are {ahead}"
                ));
            }
            if out.past_caches.iter().any(|array| !streams.stores.contains_key(array)) {
                self.fault("an array is stored past the caches that is not written from step to step, whole and once");
            }
        }
        // Gangs begin at whole numbers of gangs of each piece.
        let mut axis = each.axis;
        while let Some((by, from, pieces)) = self.made_by(axis) {
            if let SplitBy::Steps(steps) = by
                && !pieces
                && !steps.is_multiple_of(lanes)
            {
                self.fault(format!("pieces of {steps} steps are no whole number of gangs of {lanes}"));
            }
            axis = from;
        }
    }

    /// Blocks of reduces and tiles of scans are cut where the kernel says, and nowhere else, along the levels from `first` on.
    fn cuts(&mut self, first: usize) {
        for level in first..self.kernel.levels.len() {
            let most = self.most(level);
            let longer = |than: i64| most.is_none_or(|steps| steps > than);
            let mut asked = BTreeSet::new();
            let mut ends = false;
            for (position, statement) in self.direct(level) {
                match &statement.action {
                    Action::Reduce { to, association, .. } if *to as usize == level => {
                        if *association != Association::InOrder {
                            asked.insert(BLOCK);
                        }
                        ends = true;
                    }
                    Action::Scan { association, .. } => {
                        if matches!(association, Association::Tiles { .. }) {
                            asked.insert(TILE);
                        }
                        if accumulators(self.kernel, position).is_some() {
                            asked.insert(BLOCK);
                        }
                        ends = true;
                    }
                    _ => {}
                }
            }
            let sizes = self.pieces_of(level);
            for &cut in &asked {
                let there = sizes.contains(&SplitBy::Steps(cut as u32));
                if longer(cut) && !there {
                    self.fault(format!(
                        "level {level} is not split by {cut}, where results of that many elements are combined"
                    ));
                }
            }
            // What is cut more coarsely has to be cut at the same places.
            let unit = asked.iter().max().copied().unwrap_or(1);
            // A cut that is missing has been said.
            let at_unit = |by: &SplitBy| matches!(by, SplitBy::Steps(steps) if i64::from(*steps) == unit);
            let mut outer = sizes.iter().any(at_unit);
            for by in sizes {
                match by {
                    SplitBy::Steps(steps) if i64::from(steps) == unit => outer = false,
                    SplitBy::Steps(steps) | SplitBy::Shares(steps)
                        if outer && ends && longer(unit) && i64::from(steps) % unit != 0 =>
                    {
                        let combined = format!("{unit} elements that are combined");
                        self.fault(format!("pieces of {steps} steps of level {level} end inside of {combined}"));
                    }
                    SplitBy::Chunks if ends => {
                        self.fault("chunks of a scatter end inside of blocks of a reduce or tiles of a scan")
                    }
                    _ => {}
                }
            }
        }
    }

    /// The outermost level is divided among threads as its kernel allows.
    fn divisions(&mut self) {
        let chunked = self
            .kernel
            .statements
            .iter()
            .any(|statement| matches!(statement.action, Action::Scatter { order: ScatterOrder::Chunks, .. }));
        let shared = self.pieces_of(0).into_iter().find(|by| !matches!(by, SplitBy::Steps(_)));
        match shared {
            Some(SplitBy::Elements)
                if !may_be_by_elements(self.kernel)
                    || self
                        .leaf
                        .loops
                        .iter()
                        .any(|each| self.level_of(each.axis) == 0 && matches!(each.by, By::Lanes(_))) =>
            {
                self.fault("the outermost level cannot be divided by the elements of rows")
            }
            Some(SplitBy::Shares(_)) if chunked => {
                self.fault("a scatter is in chunks: threads take its chunks, and no other shares")
            }
            Some(SplitBy::Chunks) if !chunked => self.fault("no scatter is in chunks"),
            _ => {}
        }
    }

    /// How the axes of a level on this way were split, from the whole level on.
    fn pieces_of(&self, level: usize) -> Vec<SplitBy> {
        let innermost = self.leaf.loops.iter().rev().find(|each| self.level_of(each.axis) == level);
        let mut sizes = Vec::new();
        let mut axis = innermost.map_or(Axis(level as u32), |each| each.axis);
        while let Some((by, from, _)) = self.made_by(axis) {
            sizes.push(by);
            axis = from;
        }
        sizes.reverse();
        sizes
    }
}
