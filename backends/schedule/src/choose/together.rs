//! Which rows are folded together for several points of the level around.

use fusebox_ir::{Action, Association, Kernel, analysis::kernels::trip_count};

use super::{Choice, Preferences};
use crate::{
    gangs::{MOST_LANES, gang_of_tiles, inside, is_counted_before},
    jam::{may_jam, shared_loads},
    nest::Gang,
    registers::registers_of_accumulators,
    rows::{may_be_row, may_be_together},
    schedule::{Axis, By, Effects, Loop, Node, Remainder},
    target::Cpu,
};

/// Rows of fewer steps have them in a row, with points in lanes.
const LEAST: i64 = 9;
/// Rows of more steps take so long that it is nothing to fold each alone; threads have fewer points each then.
const MOST: i64 = 512;
/// The same where longer ones are in tiles of rows and columns: those fold as many points at once, and load less.
const MOST_BESIDE_TILES: i64 = 255;
/// Points of which gangs stand in an iteration, at most.
const POINTS: u32 = 8;
/// Steps of the level around the points that run at once, where what they load is the same: with as many points, they are a tile.
const AT_ONCE: u32 = 2;
/// Statements of an iteration, at most.
pub(super) const STATEMENTS: u32 = 256;

/// Points of which gangs stand in an iteration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Points {
    /// Of rows of several iterations: all of their accumulators are in registers.
    long: u32,
    /// Of rows of one iteration: only one point has all of its own there.
    iteration: u32,
    /// Of rows of one gang.
    gang: u32,
}

/// How rows are folded together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Together {
    /// The level whose rows they are.
    pub(super) level: usize,
    /// Lanes of gangs: points of the level around, and steps of rows.
    pub(super) lanes: u32,
    /// Gangs of an iteration of a long row: so many hold all accumulators.
    unroll: u32,
    /// Points of which gangs stand in an iteration.
    points: Points,
    /// Steps of the level around the points that run at once.
    at_once: u32,
    /// How many steps a row has, where that is a number.
    steps: Option<i64>,
    /// How many it has at most, where it is none.
    most: i64,
}

impl Together {
    /// How the rows of the level across lanes are folded together, if they are: where all have as many steps, and are not long.
    pub(super) fn of(kernel: &Kernel, cpu: &Cpu, gang: Gang, preferences: Preferences) -> Option<Self> {
        let (level, steps) = (gang.level, trip_count(&kernel.levels[gang.level]));
        let wanted = preferences.together == Some(true);
        let counted = steps.map_or(is_counted_before(kernel, level), |steps| (LEAST..=MOST).contains(&steps));
        let chosen = preferences.together.is_none() && preferences.gang.is_none() && preferences.rows != Some(false);
        if level == 0 || gang.masked || gang_of_tiles(kernel).is_some() || !counted || !(wanted || chosen) {
            return None;
        }
        let mut widths = inside(kernel, level).filter_map(|(_, statement)| match statement.action {
            Action::Reduce { association: Association::Interleaved { lanes }, .. } => Some(lanes),
            _ => None,
        });
        let width = widths.next().filter(|&first| widths.all(|other| other == first))?;
        let lanes = (3..=MOST_LANES.ilog2()).map(|bits| 1 << bits).filter(|&lanes| !wanted || lanes >= gang.lanes);
        let statements = inside(kernel, level).count() as u32;
        lanes.filter(|&lanes| lanes <= width).find_map(|lanes| {
            let unroll = width / lanes;
            may_be_together(kernel, level, lanes).ok()?;
            may_be_row(kernel, level, (lanes, unroll), Some(MOST)).ok()?;
            let one = registers_of_accumulators(kernel, cpu, (level, lanes), |_| true);
            // Half of the registers are for what is loaded and computed.
            let fits = |gangs: u32| one * gangs <= cpu.registers / 2 && statements * gangs <= STATEMENTS;
            let at_once = match (
                level.checked_sub(2).filter(|&around| may_jam(kernel, around, false).is_ok()),
                preferences.jam,
            ) {
                (Some(_), Some(wanted)) if fits(unroll * wanted) => wanted,
                (Some(around), None) if shared_loads(kernel, around) > 0 && fits(unroll * AT_ONCE * AT_ONCE) => AT_ONCE,
                _ => 1,
            };
            let most = |fits: &dyn Fn(u32) -> bool| (0..=POINTS.ilog2()).rev().map(|bits| 1 << bits).find(|&p| fits(p));
            let long = most(&|points| fits(unroll * at_once * points))?;
            let iteration = most(&|points| {
                one * (unroll - 1 + at_once * points) <= cpu.registers / 2
                    && statements * unroll * at_once * points <= STATEMENTS
            });
            let points =
                Points { long, iteration: iteration.unwrap_or(long), gang: most(&|points| fits(at_once * points))? };
            Some(Self { level, lanes, unroll, points, at_once, steps, most: MOST })
        })
    }

    /// Where longer rows are in tiles of rows and columns: fewer of them are folded so.
    pub(super) fn beside_tiles(self) -> Option<Self> {
        let long = self.steps.is_some_and(|steps| steps > MOST_BESIDE_TILES);
        (!long).then_some(Self { most: MOST_BESIDE_TILES, ..self })
    }

    /// Rows of fewer steps than this are folded together, where how many they have is not known.
    pub(super) fn fewer_than(&self) -> Option<u32> {
        self.steps.is_none().then_some(self.most as u32 + 1)
    }

    /// Rows of fewer steps than this are not.
    pub(super) fn least() -> u32 {
        LEAST as u32
    }

    /// How many steps of a level run at once: of that around the points.
    pub(super) fn at_once(&self, level: usize) -> Option<u32> {
        (self.at_once > 1 && level + 2 == self.level).then_some(self.at_once)
    }

    /// The level across lanes: that of the points.
    pub(super) fn gang(&self) -> Gang {
        Gang { level: self.level - 1, lanes: self.lanes, masked: false }
    }

    /// The rows of the points of a gang; they have so many steps at least.
    pub(super) fn rows(&self, least: u32) -> Vec<Node> {
        let row = |(unroll, points): (u32, u32), least: i64| {
            let axis = Axis(self.level as u32);
            let mut each = Loop::new(axis, By::Lanes(self.lanes), vec![Node::Do(Effects::Rest)]);
            (each.unroll, each.points, each.remainder) = (unroll, points, Remainder::Masked);
            each.first_whole = least >= i64::from(self.lanes * unroll);
            vec![Node::Loop(each)]
        };
        let (long, gang) = ((self.unroll, self.points.long), (1, self.points.gang));
        let one = (self.unroll, self.points.iteration);
        let iteration = self.lanes * self.unroll;
        match self.steps {
            None if self.unroll == 1 => row(gang, least.into()),
            Some(steps) if self.unroll == 1 || steps <= i64::from(self.lanes) => row(gang, steps),
            Some(steps) if steps <= i64::from(iteration) => row(one, steps),
            Some(steps) => row(long, steps),
            None => {
                // Rows of an iteration, or less, need no loop, and others begin with one that is whole.
                let choose = |steps: u32, then, otherwise| {
                    vec![Node::Choose { level: self.level as u32, fewer_than: steps, then, otherwise }]
                };
                let (whole, longer) = (row(one, iteration.into()), row(long, iteration.into()));
                let others = if whole == longer { longer } else { choose(iteration + 1, whole, longer) };
                choose(self.lanes + 1, row(gang, 0), choose(iteration, row(one, 0), others))
            }
        }
    }

    /// Why they are.
    pub(super) fn choice(&self) -> Choice {
        let Self { level, lanes, most, .. } = self;
        Choice {
            about: format!("level {level} of {LEAST} to {most} steps"),
            chosen: format!("{lanes} points of the level around at once, whose accumulators are folded together"),
            because: "each instruction then combines accumulators of several points, and what is done with the results is done in lanes; rows of \
                no more steps than an iteration have nests of their own, as they need no loop, and others begin with steps that all count"
                .to_owned(),
            instead_of: vec!["one point after the other: most of a fold is instructions of few lanes that wait for each other".to_owned()],
        }
    }
}
