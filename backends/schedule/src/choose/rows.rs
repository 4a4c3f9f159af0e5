//! Which levels run as rows where they are short, in what gangs, and for how many points at once.

use std::collections::BTreeSet;

use fusebox_ir::{
    Action, Association, DimBoundary, Kernel, Statement,
    analysis::kernels::{AcrossLanes, Lanes, trip_count},
    association::BLOCK,
};

use super::{
    Choice,
    builder::{Builder, Room, Trip},
    tile::Tile,
};
use crate::{
    abreast::may_be_abreast,
    gangs::{has_border, inside, is_counted_before},
    loops::has_loops,
    nest::Gang,
    registers::registers_of_accumulators,
    rows::{blocks_may_be_rows, may_be_row},
    schedule::{Axis, By, Effects, Loop, Node, Remainder},
    target::Cpu,
};

/// Lanes of the only gang of a row that is very short.
const FEW: u32 = 8;

/// A level of fewer steps than so many gangs has single steps, where it cannot be a row.
const FEW_GANGS: u32 = 4;

/// Steps of the outermost level, at most, that are a row though boundaries apply along it: each gang of a row asks where they do.
const WITH_BORDER: u32 = 256;

/// Kernels of more statements have one nest for any number of steps, as two would be too much code.
pub(super) const MOST_STATEMENTS: usize = 96;

/// Points of which short rows are done at once: a sum takes as long as three or four instructions that wait for each other, and each point has its own code.
const ABREAST: u32 = 4;

/// A way to run a level that has few steps: so many gangs in an iteration, of so many lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// It has fewer steps.
    pub(super) fewer_than: u32,
    /// Lanes of a gang; 1: single steps.
    pub(super) lanes: u32,
    /// Gangs of an iteration.
    pub(super) unroll: u32,
    why: Why,
}

/// Why a level that has few steps is a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// What gangs need before they begin costs more than few steps: single steps.
    Few,
    /// Accumulators are in registers, if there are any.
    Combines,
    /// What does not fill a gang is much of the level: its points are put behind each other where a condition holds.
    Appends,
    /// What does not fill a gang takes as long as many gangs: each step goes through a loop of scalars.
    Loops,
}

impl Row {
    /// Why there is this way.
    pub(super) fn choice(self, level: usize) -> Choice {
        let Self { fewer_than, lanes, unroll, why } = self;
        let gangs = |how: &str| match unroll {
            1 => format!("{how}gangs of {lanes}"),
            _ => format!("{unroll} {how}gangs of {lanes} in an iteration"),
        };
        let masked_rest = format!("{}, of which the last are masked", gangs(""));
        let (chosen, because, instead_of) = match why {
            Why::Few => (
                "single steps".to_owned(),
                "what gangs need before they begin costs more than few steps",
                "gangs: most steps would be their remainder",
            ),
            Why::Combines => (
                format!("{}, with all accumulators in registers", gangs("masked ")),
                if level == 0 {
                    "so few steps are one block, and nothing is combined through memory"
                } else {
                    "how many steps it has is known at each point alone, and they may be few"
                },
                "accumulators in scratch memory: to clear and to fold them costs more than few steps",
            ),
            Why::Appends => (
                masked_rest,
                "what does not fill a gang is much of a short level",
                "the rest in single steps: each takes as long as a gang",
            ),
            Why::Loops => (
                masked_rest,
                "each step goes through a loop of scalars",
                "the rest in single steps: each takes as many turns as a gang",
            ),
        };
        Choice {
            about: format!("level {level} of fewer than {fewer_than} steps"),
            chosen,
            because: because.to_owned(),
            instead_of: vec![instead_of.to_owned()],
        }
    }

    /// The loop over a row, along an axis that has at least so many steps.
    pub(super) fn along(self, axis: Axis, least: i64) -> Loop {
        let mut each = Loop::new(axis, By::Lanes(self.lanes), vec![Node::Do(Effects::Rest)]);
        each.unroll = self.unroll;
        each.remainder = Remainder::Masked;
        each.first_whole = least >= i64::from(self.lanes * self.unroll);
        each
    }
}

/// Whether all that is loaded along a level is loaded again for other points of the levels around: it comes from the caches, and the code around
/// each of its runs counts.
pub(super) fn is_read_again(kernel: &Kernel, level: usize) -> bool {
    // What is the same at all steps of the level is not loaded along it.
    let levels: Vec<Lanes> = (0..=level).map(|level| Lanes::of(kernel, level)).collect();
    inside(kernel, level).all(|(_, statement)| match &statement.action {
        Action::Load { map, .. } => levels.iter().any(|lanes| lanes.position(map) == AcrossLanes::Uniform),
        _ => true,
    })
}

/// The ways to run the level across lanes as a row, from the shortest. Where its length is known before all levels there are none, unless it is
/// `wanted`, or elements are read again and again.
pub(super) fn rows(kernel: &Kernel, cpu: &Cpu, gang: Gang, wanted: Option<bool>) -> Vec<Row> {
    let Gang { level, masked, .. } = gang;
    if level == 0 {
        return outermost(kernel, cpu, gang, wanted).into_iter().collect();
    }
    let again = level > 1 && trip_count(&kernel.levels[level]).is_none() && is_read_again(kernel, level);
    let known = trip_count(&kernel.levels[level]).is_some() || is_counted_before(kernel, level);
    let appends = inside(kernel, level).any(|(_, statement)| matches!(statement.action, Action::Append { .. }));
    if masked || wanted == Some(false) || known && wanted.is_none() && !again && !appends {
        return Vec::new();
    }
    if appends {
        return as_gangs((kernel, cpu), gang, BLOCK, Why::Appends).into_iter().collect();
    }
    let mut rows = Vec::new();
    let mut add = |fewer_than: i64, lanes: u32, unroll: u32| {
        if fits(kernel, cpu, level, (lanes, unroll))
            && may_be_row(kernel, level, (lanes, unroll), Some(fewer_than - 1)).is_ok()
        {
            rows.push(Row { fewer_than: fewer_than as u32, lanes, unroll, why: Why::Combines });
        }
    };
    add(i64::from(FEW) + 1, FEW, 1);
    if let Some((fewer_than, lanes, unroll)) = widest(kernel, cpu, gang) {
        if known && i64::from(lanes * unroll) < fewer_than - 1 {
            // Just as many steps as an iteration has are likely.
            add(i64::from(lanes * unroll) + 1, lanes, unroll);
        }
        add(fewer_than, lanes, unroll);
    }
    let combines = inside(kernel, level)
        .any(|(_, statement)| matches!(statement.action, Action::Reduce { .. } | Action::Scan { .. }));
    if !combines && has_loops(kernel, level) {
        // Longer ones fill a gang, and the last overlaps another.
        let half = Gang { lanes: gang.lanes / 2, ..gang };
        rows.extend(as_gangs((kernel, cpu), half, gang.lanes.into(), Why::Loops).filter(|row| row.lanes > FEW));
    }
    if rows.is_empty() && !combines {
        rows.push(Row { fewer_than: FEW_GANGS * gang.lanes, lanes: 1, unroll: 1, why: Why::Few });
    }
    rows
}

/// The row of most steps: below how many, in gangs of how many lanes, and how many of them. It has as many accumulators as there are, if registers hold
/// them; else as many as they hold, for levels of no more steps.
fn widest(kernel: &Kernel, cpu: &Cpu, gang: Gang) -> Option<(i64, u32, u32)> {
    let widths = widths(kernel, gang.level);
    let most = widths.iter().max().filter(|_| widths.len() == 1).map(|&width| (width, BLOCK + 1));
    let fewer = widths.iter().min().copied().unwrap_or(0);
    let fewer = std::iter::successors(Some(fewer), |width| Some(width / 2)).take_while(|&width| width > FEW);
    most.into_iter().chain(fewer.map(|width| (width, i64::from(width) + 1))).find_map(|(width, fewer_than)| {
        let lanes = (1..=gang.lanes.min(width).ilog2()).rev().map(|bits| 1 << bits);
        let mut lanes = lanes.filter(|&lanes| fits(kernel, cpu, gang.level, (lanes, width / lanes)));
        let may = |&lanes: &u32| may_be_row(kernel, gang.level, (lanes, width / lanes), Some(fewer_than - 1)).is_ok();
        lanes.find(may).map(|lanes| (fewer_than, lanes, width / lanes))
    })
}

/// The outermost level as a row of no more steps than a block: where what its steps make is combined, no accumulator is in scratch memory then; and
/// nothing is left for single steps.
fn outermost(kernel: &Kernel, cpu: &Cpu, gang: Gang, wanted: Option<bool>) -> Option<Row> {
    let combines = |(_, statement): (usize, &Statement)| matches!(statement.action, Action::Reduce { to: 0, .. });
    let border = has_border(kernel, 0);
    let small = kernel.statements.len() <= MOST_STATEMENTS && (!border || boundaries_are_cheap(kernel, cpu));
    if gang.masked || wanted == Some(false) || wanted.is_none() && !small {
        return None;
    }
    let most = if border { i64::from(WITH_BORDER) } else { BLOCK };
    if inside(kernel, 0).any(combines) {
        let (fewer_than, lanes, unroll) = widest(kernel, cpu, gang)?;
        return Some(Row { fewer_than: fewer_than.min(most + 1) as u32, lanes, unroll, why: Why::Combines });
    }
    has_loops(kernel, 0).then(|| as_gangs((kernel, cpu), gang, most, Why::Loops)).flatten()
}

/// Whether lanes beyond a boundary cost little in a gang: they are left out of its load, and get one element, or what a function makes.
fn boundaries_are_cheap(kernel: &Kernel, cpu: &Cpu) -> bool {
    inside(kernel, 0).all(|(_, statement)| match &statement.action {
        Action::Load { array, map, .. } => {
            let bytes = kernel.arrays[array.index()].element.bytes();
            cpu.masked_loads_from().is_some_and(|from| bytes >= from)
                && map.dims.iter().all(|dim| matches!(dim.boundary, DimBoundary::None | DimBoundary::Clamp))
        }
        _ => true,
    })
}

/// A row of at most so many steps without accumulators, with as many steps in an iteration as a gang has. Gangs that go through loops come one by one:
/// nothing is gained by several in an iteration.
fn as_gangs((kernel, cpu): (&Kernel, &Cpu), gang: Gang, most: i64, why: Why) -> Option<Row> {
    let fewer_than = most as u32 + 1;
    let mut lanes = (1..=gang.lanes.ilog2()).rev().map(|bits| 1 << bits);
    // All accumulators of a reduce beside.
    let width = widths(kernel, gang.level).last().map_or(gang.lanes, |&width| width.max(gang.lanes));
    let unroll = |lanes: u32| if why == Why::Loops { 1 } else { width / lanes };
    let may = |&lanes: &u32| {
        fits(kernel, cpu, gang.level, (lanes, unroll(lanes)))
            && may_be_row(kernel, gang.level, (lanes, unroll(lanes)), Some(most)).is_ok()
    };
    lanes.find(may).map(|lanes| Row { fewer_than, lanes, unroll: unroll(lanes), why })
}

/// How many accumulators the reduces of a level have.
fn widths(kernel: &Kernel, level: usize) -> BTreeSet<u32> {
    let interleaved = inside(kernel, level).filter_map(|(_, statement)| match statement.action {
        Action::Reduce { association: Association::Interleaved { lanes }, .. } => Some(lanes),
        _ => None,
    });
    interleaved.collect()
}

/// Whether all accumulators of an iteration fit the registers that there are for them.
fn fits(kernel: &Kernel, cpu: &Cpu, level: usize, (lanes, unroll): (u32, u32)) -> bool {
    registers_of_accumulators(kernel, cpu, (level, lanes), |_| true).saturating_mul(unroll)
        <= cpu.accumulator_registers()
}

/// Whether a step of a level waits for what the one before has combined: what takes one cycle is done before the next step asks.
fn waits(kernel: &Kernel, level: usize) -> bool {
    kernel.statements.iter().any(|statement| match &statement.action {
        Action::Reduce { to, combine, .. } => {
            let float = combine.params.iter().any(|param| param.ty.is_float());
            *to as usize == level && (float || combine.instructions.len() > 1)
        }
        _ => false,
    })
}

impl Builder<'_> {
    /// The row that the outermost level is where threads share it, and has few steps.
    pub(super) fn row_of_outermost(&self) -> Option<Row> {
        let Room::Cores(cpu, Some(gang)) = self.machine else { return None };
        outermost(self.kernel, cpu, gang, self.preferences.rows).filter(|_| gang.level == 0)
    }

    /// All loops and statements where the level across lanes is not too short for gangs.
    pub(super) fn long_nest(&mut self) -> Vec<Node> {
        let Room::Cores(_, Some(gang)) = self.machine else { return self.packed() };
        let Some(together) = self.together else { return self.in_rows() };
        self.machine.set_gang(Some(together.gang()));
        self.rows_together = true;
        let then = self.whole();
        self.rows_together = false;
        self.machine.set_gang(Some(gang));
        let Some(fewer_than) = together.fewer_than() else { return then };
        self.longer_than = Some((together.level, fewer_than));
        let otherwise = self.in_rows();
        self.longer_than = None;
        vec![Node::Choose { level: together.level as u32, fewer_than, then, otherwise }]
    }

    /// All loops and statements where rows are not folded together. Where they are a window there is a nest for those without pieces, some of which
    /// run at once.
    fn in_rows(&mut self) -> Vec<Node> {
        let Room::Cores(cpu, Some(gang)) = self.machine else { return self.packed() };
        let least = self.no_row_to(gang.level, None);
        let row = self.windows_are_rows(gang).then(|| self.first_row(cpu, gang, least)).flatten();
        let Some(row) = row.filter(|row| row.lanes > 1) else { return self.packed() };
        (self.shorter_than, self.tile) =
            (Some((gang.level, row.fewer_than)), Tile::of(self.kernel, cpu, (gang, row), self.preferences));
        let then = self.packed();
        self.shorter_than = None;
        let longer = self.longer_than.replace((gang.level, row.fewer_than));
        self.tile = self.tile.filter(|_| blocks_may_be_rows(self.kernel, gang.level).is_ok());
        let otherwise = self.packed();
        (self.longer_than, self.tile) = (longer, None);
        vec![Node::Choose { level: gang.level as u32, fewer_than: row.fewer_than, then, otherwise }]
    }

    /// Up to how many steps a level is no row where its loops stand: shorter ones were chosen before.
    fn no_row_to(&self, level: usize, chosen: Option<u32>) -> Option<u32> {
        chosen.max(self.longer_than.filter(|(own, _)| *own == level).map(|(_, than)| than))
    }

    /// The first row of more steps.
    fn first_row(&self, cpu: &Cpu, gang: Gang, least: Option<u32>) -> Option<Row> {
        let mut rows = rows(self.kernel, cpu, gang, self.preferences.rows).into_iter();
        rows.find(|row| least.is_none_or(|than| row.fewer_than > than))
    }

    /// The rows of a level whose points are lanes.
    pub(super) fn rows_of_points(&self, level: usize) -> Option<Vec<Node>> {
        let own = self.together.filter(|own| self.rows_together && own.level == level);
        own.map(|own| own.rows(self.least))
    }

    /// The level as a row where it is short, and otherwise where it is not.
    pub(super) fn row(&mut self, level: usize, axis: Axis, trip: &Trip) -> Option<Vec<Node>> {
        let Room::Cores(cpu, Some(gang)) = self.machine else { return None };
        if gang.level != level || axis != Axis(level as u32) || self.short.is_some() {
            return None;
        }
        let least = self.no_row_to(level, trip.no_row);
        let row = self.first_row(cpu, gang, least)?;
        let then = if row.lanes == 1 {
            let body = self.body(level);
            vec![Node::Loop(Loop::new(axis, By::Serial, body))]
        } else {
            let known = trip_count(&self.kernel.levels[level]).unwrap_or(0).max(self.least.max(trip.least).into());
            vec![Node::Loop(row.along(axis, known.max(least.unwrap_or(0).into())))]
        };
        if self.shorter_than.is_some_and(|(own, than)| own == level && than <= row.fewer_than) {
            return Some(then);
        }
        let long = Trip { no_row: Some(row.fewer_than), ..trip.clone() };
        let otherwise = self.level(level, axis, &long);
        let otherwise = self.with_rest(otherwise);
        Some(vec![Node::Choose { level: level as u32, fewer_than: row.fewer_than, then, otherwise }])
    }

    /// How many points of the level around go through this one at once: where each step of it waits for the one before.
    pub(super) fn abreast(&self, level: usize, axis: Axis, trip: &Trip) -> Option<u32> {
        let Room::Cores(_, None) = self.machine else { return None };
        let short = |least: u32| trip.decided.iter().eq([&least]) && trip.below == Some(least.into());
        let whole = axis == Axis(level as u32) && may_be_abreast(self.kernel, level, short).is_ok();
        let unknown = level > 0 && !is_counted_before(self.kernel, level);
        let points = self.preferences.abreast.unwrap_or(if unknown && waits(self.kernel, level) { ABREAST } else { 1 });
        (whole && points > 1).then_some(points)
    }
}
