//! The scheduler: one schedule for a kernel on a target, and why it is that one. It is a pure function, reads no clock, and knows nothing of the
//! machine at hand.

mod accumulate;
mod appends;
mod at_once;
mod builder;
mod chains;
mod columns;
mod copies;
mod details;
mod few;
mod gain;
mod gang;
mod grid;
mod interchange;
mod jam;
mod levels;
mod live;
mod panels;
mod partitions;
mod rows;
mod runs;
mod short;
mod steps;
mod tile;
mod together;
mod version;

use fusebox_ir::{
    Kernel,
    analysis::kernels::{LongLevels, scans_outermost, totals_only},
};

use crate::{
    check::check,
    form::Form,
    gangs::{MOST_LANES, may_be_lanes},
    schedule::{Nest, OutOfCache, Schedule, Version},
    target::{Machine, Target},
    unroll::trips,
};
use builder::Builder;

pub use self::version::with_version;

/// A decision of the scheduler, for people.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Choice {
    /// What was decided, such as `lanes of j`.
    pub about: String,
    /// What was chosen.
    pub chosen: String,
    /// Why.
    pub because: String,
    /// What it was chosen over, each with the reason.
    pub instead_of: Vec<String>,
}

/// A schedule, and how it was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Scheduled {
    /// The schedule.
    pub schedule: Schedule,
    /// In the order in which they were made.
    pub choices: Vec<Choice>,
}

/// What a schedule is to be like; what is not said, the scheduler chooses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Preferences {
    /// Which level is across lanes, in gangs of how many; `Some(None)`: none.
    pub gang: Option<Option<(usize, u32)>>,
    /// Where accumulators of that level are. What cannot be stays in scratch memory.
    pub accumulators: Option<Accumulators>,
    /// Whether launches out of cache prefetch and store past the caches.
    pub streams: Option<bool>,
    /// How many bytes ahead they prefetch.
    pub ahead: Option<u32>,
    /// Whether the last gang may overlap another, where that changes nothing.
    pub overlap: Option<bool>,
    /// Whether levels that may be short run as rows too, where they may.
    pub rows: Option<bool>,
    /// Whether rows of several points are folded together, where they may be.
    pub together: Option<bool>,
    /// How many points of the level around have their short rows done at once, where they may; 1: one after the other.
    pub abreast: Option<u32>,
    /// How many steps of the level around the one across lanes run at once, where they may; 1: one after the other.
    pub jam: Option<u32>,
    /// Whether pieces of the level inside run outside of a level, where they may.
    pub interchanged: Option<bool>,
    /// Whether innermost levels have their few steps in a row, where they may.
    pub few: Option<bool>,
    /// Whether what gangs load again and again is copied to panels, where it may be.
    pub pack: Option<bool>,
    /// Whether threads take as many elements each where rows have different lengths, and not as many rows.
    pub by_elements: Option<bool>,
    /// Whether threads or blocks share the outermost level, where they may.
    pub shared: Option<bool>,
    /// Whether elements of scatters are put aside, by parts of the targets, where they may be.
    pub partitioned: Option<bool>,
    /// How many targets copies of a scatter's targets have for each element at most; 0: there are none.
    pub copied: Option<u32>,
    /// Whether elements that a gang puts at places one behind the other are stored together.
    pub runs: Option<bool>,
    /// Whether appends store whole vectors, where they may.
    pub whole: Option<bool>,
    /// Whether reduces have one accumulator, where they may.
    pub chains: Option<bool>,
    /// Whether loops of scalar instructions that turn a known number of times stand that often in a row.
    pub unrolled: Option<bool>,
}

/// Where accumulators of a level across lanes are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Accumulators {
    /// In scratch memory.
    Scratch,
    /// All in registers, in unrolled gangs.
    Registers,
    /// In registers a batch at a time, for strips of the level.
    Strips,
}

impl Preferences {
    /// Scalar code: no level across lanes.
    pub fn scalar() -> Self {
        Self { gang: Some(None), ..Self::default() }
    }
}

/// The schedule of a kernel on a target.
pub fn schedule(kernel: &Kernel, target: &Target, preferences: Preferences) -> Scheduled {
    let usual = chosen(kernel, target, preferences);
    let legal = |made: &Scheduled| check(kernel, &made.schedule, target).is_ok();
    if target.cpu().is_none() || legal(&usual) {
        return usual;
    }
    // Steps at once and steps in a row are chosen each as if there were not the other: together they may take more registers than there are.
    let (few, jam) = (Some(false), Some(1));
    let others = [
        Preferences { few, ..preferences },
        Preferences { jam, ..preferences },
        Preferences { few, jam, ..preferences },
    ];
    others.into_iter().map(|other| chosen(kernel, target, other)).find(legal).unwrap_or(usual)
}

/// The schedule of a kernel on a target, if what was chosen fits together.
fn chosen(kernel: &Kernel, target: &Target, preferences: Preferences) -> Scheduled {
    let mut choices = Vec::new();
    let mut nest = nest(kernel, target, preferences, &mut choices);
    unroll(kernel, preferences, &mut nest, &mut choices);
    let totals = (target.cpu().is_some() && nest.is_shared() && scans_outermost(kernel)).then(|| {
        let sliced = totals_only(kernel);
        let mut unsaid = Vec::new();
        // What does not fit the smaller kernel is chosen for it.
        let fits = |(level, lanes)| may_be_lanes(&sliced, level, lanes).is_ok();
        let gang = preferences.gang.filter(|gang| gang.is_none_or(fits));
        let mut nest = self::nest(&sliced, target, Preferences { gang, ..preferences }, &mut unsaid);
        unroll(&sliced, preferences, &mut nest, &mut unsaid);
        nest
    });
    let version = Version { when: Vec::new(), narrow: grid::is_narrow(kernel, target, &mut choices), nest, totals };
    Scheduled { schedule: Schedule { target: target.name.clone(), versions: vec![version] }, choices }
}

/// Schedules of a kernel on a target that differ from each other: that of [`schedule`] first, then what it could have chosen instead. All are
/// legal.
pub fn alternatives(kernel: &Kernel, target: &Target) -> Vec<Schedule> {
    if let Machine::Gpu(gpu) = &target.machine {
        return grid::alternatives(kernel, gpu)
            .into_iter()
            .flat_map(|nest| [(true, nest.clone()), (false, nest)])
            .filter(|(narrow, _)| !narrow || !kernel.levels.is_empty())
            .map(|(narrow, nest)| Version { when: Vec::new(), narrow, nest, totals: None })
            .map(|version| Schedule { target: target.name.clone(), versions: vec![version] })
            .filter(|schedule| check(kernel, schedule, target).is_ok())
            .collect();
    }
    let mut gangs = vec![None, Some(None)];
    for level in 0..kernel.levels.len() {
        let lanes = (1..=MOST_LANES.ilog2()).map(|bits| 1 << bits);
        let legal = lanes.filter(|&lanes| may_be_lanes(kernel, level, lanes).is_ok());
        gangs.extend(legal.map(|lanes| Some(Some((level, lanes)))));
    }
    let kept = [None, Some(Accumulators::Scratch), Some(Accumulators::Registers), Some(Accumulators::Strips)];
    let mut found: Vec<Schedule> = Vec::new();
    for gang in gangs {
        for accumulators in kept {
            for (streams, overlap) in [(None, None), (Some(false), None), (None, Some(false))] {
                let usual = Preferences { gang, accumulators, streams, overlap, ..Preferences::default() };
                for wanted in [
                    usual,
                    Preferences { shared: Some(false), ..usual },
                    Preferences { ahead: Some(OutOfCache::AHEAD / 4), ..usual },
                    Preferences { ahead: Some(OutOfCache::AHEAD * 4), ..usual },
                    Preferences { partitioned: Some(false), ..usual },
                    Preferences { partitioned: Some(true), ..usual },
                    Preferences { copied: Some(0), ..usual },
                    Preferences { copied: Some(64), ..usual },
                    Preferences { runs: Some(false), ..usual },
                    Preferences { whole: Some(false), ..usual },
                    Preferences { whole: Some(true), ..usual },
                    Preferences { chains: Some(false), ..usual },
                    Preferences { by_elements: Some(false), ..usual },
                    Preferences { unrolled: Some(false), ..usual },
                    Preferences { unrolled: Some(true), ..usual },
                    Preferences { rows: Some(false), ..usual },
                    Preferences { rows: Some(true), ..usual },
                    Preferences { together: Some(false), ..usual },
                    Preferences { together: Some(true), ..usual },
                    Preferences { abreast: Some(1), ..usual },
                    Preferences { abreast: Some(2), ..usual },
                    Preferences { abreast: Some(3), ..usual },
                    Preferences { abreast: Some(4), ..usual },
                    Preferences { interchanged: Some(false), ..usual },
                    Preferences { interchanged: Some(true), ..usual },
                    Preferences { few: Some(false), ..usual },
                    Preferences { few: Some(true), ..usual },
                    Preferences { pack: Some(false), ..usual },
                    Preferences { few: Some(false), pack: Some(true), ..usual },
                    Preferences { jam: Some(1), ..usual },
                    Preferences { jam: Some(2), ..usual },
                    Preferences { jam: Some(3), ..usual },
                    Preferences { jam: Some(6), ..usual },
                ] {
                    let schedule = schedule(kernel, target, wanted).schedule;
                    if !found.contains(&schedule) && check(kernel, &schedule, target).is_ok() {
                        found.push(schedule);
                    }
                }
            }
        }
    }
    found
}

/// Unrolls loops of scalar instructions where the turn decides something.
fn unroll(kernel: &Kernel, preferences: Preferences, nest: &mut Nest, choices: &mut Vec<Choice>) {
    for position in 0..kernel.statements.len() {
        let Some(trips) = trips(kernel, position) else { continue };
        if preferences.unrolled.unwrap_or(trips.decides) {
            nest.forms.push(Form::Unrolled { statement: position as u32, turns: trips.turns });
            choices.push(Choice {
                about: format!("the loop of statement {position}"),
                chosen: format!("its {} turns stand in a row", trips.turns),
                because: "the turn decides branches, indices or amounts of shifts, which are constants then".to_owned(),
                instead_of: vec!["a loop: the turn is a value".to_owned()],
            });
        }
    }
}

fn nest(kernel: &Kernel, target: &Target, preferences: Preferences, choices: &mut Vec<Choice>) -> Nest {
    match &target.machine {
        Machine::Cpu(cpu) => {
            let long_levels = LongLevels::of(kernel);
            let nest = Builder::on_cpu((kernel, &long_levels), cpu, preferences, choices).build();
            choices.extend(jam::choices(&nest, kernel));
            choices.extend(interchange::choice(&nest, kernel));
            choices.extend(few::choice(&nest, kernel));
            choices.extend(panels::choice(&nest, kernel));
            choices.extend(partitions::choice(&nest));
            choices.extend(copies::choices(&nest));
            choices.extend(runs::choices(&nest));
            choices.extend(appends::choices(&nest));
            choices.extend(chains::choices(&nest));
            choices.extend(details::choices(&nest, kernel));
            nest
        }
        Machine::Gpu(gpu) => grid::nest(kernel, gpu, preferences, choices),
    }
}
