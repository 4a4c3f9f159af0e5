//! How many steps of a level run at once: register tiles.

use fusebox_ir::{Action, DimIndex, Kernel, KernelArrayId};

use super::{
    Choice,
    builder::{Builder, Room},
    interchange::WINDOW,
};
use crate::{
    gangs::{has_border, inside},
    jam::{MOST_JAMMED, combines, loads_together, may_jam, shared_loads},
    nest::Gang,
    registers::registers_innermost,
    schedule::{Axis, By, Loop, Nest, Node, Remainder, Split, SplitBy},
    target::Cpu,
};

/// Vector registers that a tile needs beside its accumulators and what its steps share: what one of them has, their product, and two without which
/// accumulators are moved to the stack and back.
pub(super) const BESIDE: u32 = 4;

/// Steps of a tile: more share a load among more, but are left over more often.
const ENOUGH: u32 = 8;

/// Steps of a stencil at once: each row that is loaded serves three, and more steps would have more rows than registers.
const NEIGHBOURS: u32 = 3;

/// Steps of a stencil run at once where that saves at least one in so many statements.
const SAVED: usize = 10;

/// They do, too, where a step has so few statements that its borders are a large part of it.
const SMALL: usize = 32;

/// Steps of a level that run at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Jam {
    steps: u32,
    /// Whether the border of the level is apart.
    border: bool,
    /// Only where the level inside has no more steps.
    up_to: Option<u32>,
}

impl Jam {
    const fn of(steps: u32) -> Self {
        Self { steps, border: false, up_to: None }
    }

    /// The loop runs so many at once.
    pub(super) fn apply(self, each: &mut Loop) {
        (each.unroll, each.border, each.up_to) = (self.steps, self.border, self.up_to);
    }
}

impl Builder<'_> {
    /// Whether each level inside has one loop over all of it, or over the steps of a window, without forms of its own but streams; of `all` that may run
    /// at once, it may have pieces, and be a row.
    fn is_plain(&self, body: &[Node], all: bool) -> bool {
        let levels = self.kernel.levels.len();
        body.iter().all(|node| match node {
            Node::Loop(each) => {
                let Loop { axis, unroll, remainder, pack, body, .. } = each;
                let window = self.interchanged.is_some_and(|(_, steps)| steps == *axis);
                let pieces = matches!(self.nest.made_by(levels, *axis), Some((Split { by: SplitBy::Steps(_), .. }, _)));
                let whole = (axis.0 as usize) < levels || window || all && pieces;
                let row = all && self.nest.is_row(self.kernel, each);
                let plain = *unroll == 1 && *remainder != Remainder::Masked || row;
                whole && plain && pack.is_empty() && self.is_plain(body, all)
            }
            Node::Do(_) => true,
            Node::Choose { then, otherwise, .. } => all && self.is_plain(then, all) && self.is_plain(otherwise, all),
        })
    }

    /// How many steps of a level run at once: of that around the level across lanes, where they have elements in common.
    pub(super) fn jammed(&self, level: usize, axis: Axis, body: &[Node]) -> Option<Jam> {
        let Room::Cores(cpu, Some(Gang { level: own, lanes, masked: false })) = self.machine else { return None };
        let window = self.is_in_window(level);
        let steps = axis.0 as usize == level || self.is_share(axis) || window;
        // A nest for short levels has few steps inside.
        if own != level + 1 || !steps || self.short.is_some() || self.preferences.jam == Some(1) {
            return None;
        }
        if self.rows_together {
            return self.together?.at_once(level).map(Jam::of);
        }
        // What a row combines stands in blocks: they are no obstacle where accumulators of a level inside stay in registers.
        let tile = own + 1 < self.kernel.levels.len();
        if !self.is_plain(body, self.preferences.jam.is_some() || window || tile) {
            return None;
        }
        if let Some(tile) = self.tile.filter(|tile| window && tile.level + 1 == level) {
            return Some(Jam::of(tile.columns));
        }
        let combines = combines(self.kernel, level);
        if combines && Node::stream(body) {
            return None;
        }
        let border = !combines && has_border(self.kernel, level);
        may_jam(self.kernel, level, border).ok()?;
        if let Some(wanted) = self.preferences.jam {
            return Some(Jam { steps: wanted.clamp(2, MOST_JAMMED), border, up_to: None });
        }
        if !combines {
            return self.neighbours(cpu, (level, lanes), border);
        }
        let (lanes, gangs) = match body {
            // A row has all accumulators.
            [Node::Loop(Loop { by: By::Lanes(lanes), unroll, .. })] if window => (*lanes, *unroll),
            _ => (lanes, 1),
        };
        let accumulators = registers_innermost(self.kernel, cpu, (level, lanes), |_| true) * gangs;
        if accumulators == 0 || shared_loads(self.kernel, level) == 0 {
            return None;
        }
        // What is loaded in gangs takes as many registers as an accumulator.
        let room = cpu.registers.checked_sub(BESIDE + accumulators)?;
        let most = (room / accumulators).min(ENOUGH);
        // Of a window none is left over.
        let most =
            if window { (1..=most).rev().find(|steps| WINDOW.is_multiple_of(*steps)).unwrap_or(1) } else { most };
        (most >= 2).then_some(Jam::of(most))
    }

    /// How many steps of a stencil run at once: neighbours load the same, and rows have borders, which wait for each other less.
    fn neighbours(&self, cpu: &Cpu, (level, lanes): (usize, u32), border: bool) -> Option<Jam> {
        let kernel = self.kernel;
        let bytes = |array: KernelArrayId| kernel.arrays[array.index()].element.bytes();
        let alone = loads_together(kernel, level, 1).len();
        let statements = inside(kernel, level).count();
        let gains = |steps: u32| {
            let together = loads_together(kernel, level, steps);
            let saved = alone * steps as usize - together.len();
            (saved * SAVED >= statements * steps as usize, together)
        };
        let (many, loads) = gains(NEIGHBOURS);
        let registers: u32 = loads.iter().map(|&(array, _)| cpu.registers_of(lanes, bytes(array))).sum();
        let (steps, loads) = if many && registers <= cpu.registers {
            (NEIGHBOURS, loads)
        } else {
            let (some, loads) = gains(2);
            (some || border && statements <= SMALL).then_some((2, loads))?
        };
        // A row of each array that a tile touches.
        let own = kernel.levels[level + 1].index.id;
        let mut rows: Vec<(KernelArrayId, Vec<DimIndex>)> = Vec::new();
        for (array, mut dims) in loads {
            dims.iter_mut().filter(|dim| dim.terms.iter().any(|&(_, id)| id == own)).for_each(|dim| dim.offset = 0);
            if !rows.contains(&(array, dims.clone())) {
                rows.push((array, dims));
            }
        }
        let stored = inside(kernel, level).filter_map(|(_, statement)| match &statement.action {
            Action::Store { array, .. } => Some(bytes(*array) * steps as usize),
            _ => None,
        });
        let touched = stored.sum::<usize>() + rows.iter().map(|&(array, _)| bytes(array)).sum::<usize>();
        let most = cpu.innermost_cache as usize / touched.max(1);
        Some(Jam { steps, border, up_to: Some(most as u32) })
    }
}

/// The steps that run at once in a nest, and why.
pub(super) fn choices(nest: &Nest, kernel: &Kernel) -> Vec<Choice> {
    let levels = kernel.levels.len();
    let mut found = Vec::new();
    let mut nodes: Vec<&Node> = nest.nodes.iter().rev().collect();
    while let Some(node) = nodes.pop() {
        match node {
            Node::Loop(each) => {
                let level = nest.level_of(levels, each.axis).unwrap_or(0);
                // Steps of an innermost level stand in a row.
                if each.by == By::Serial && each.unroll > 1 && level + 1 < levels {
                    let choice = choice(level, each, combines(kernel, level));
                    // Short levels and others may have it alike.
                    if !found.contains(&choice) {
                        found.push(choice);
                    }
                }
                nodes.extend(each.body.iter().rev());
            }
            Node::Do(_) => {}
            Node::Choose { then, otherwise, .. } => nodes.extend(otherwise.iter().rev().chain(then.iter().rev())),
        }
    }
    found
}

fn choice(level: usize, each: &Loop, combines: bool) -> Choice {
    let (about, steps) = (format!("steps of level {level}"), each.unroll);
    if !combines && (each.border || Node::stream(&each.body)) {
        return Choice {
            about,
            chosen: format!(
                "{steps} at once, in launches that are in the caches, and where what so many rows touch is in the innermost one"
            ),
            because: "neighbours load the same elements, and what is done at borders waits less".to_owned(),
            instead_of: vec!["one after the other: each loads everything".to_owned()],
        };
    }
    if !combines {
        return Choice {
            about,
            chosen: format!("all {steps} at once"),
            because:
                "what they have in common is loaded once, and what decides by the step is decided in the code of each"
                    .to_owned(),
            instead_of: vec!["one after the other: each loads everything".to_owned()],
        };
    }
    Choice {
        about,
        chosen: format!("{steps} at once, each with accumulators of its own"),
        because: "what they have in common is loaded once, and no addition waits for the one before it".to_owned(),
        instead_of: vec![
            "one after the other: each loads everything, and adds to what it has just added to".to_owned(),
        ],
    }
}
