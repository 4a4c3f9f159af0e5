//! Which level goes across lanes, in gangs of how many.

use fusebox_ir::{
    Action, Association, Kernel,
    analysis::kernels::{LongLevels, trip_count},
};

use super::{
    Choice,
    at_once::AtOnce,
    gain::{Tally, instructions},
    live::live_registers,
};
use crate::{
    gangs::{MOST_LANES, gang_of_tiles, may_be_lanes},
    loops::bytes_in_loops,
    nest::Gang,
    target::Cpu,
};

/// Most instructions of a loop on gangs of two registers whose live values may not fit the registers: with more, values are moved to the stack and
/// back.
const MOST_INSTRUCTIONS: usize = 48;

/// Bytes of the shortest vectors.
pub(super) const SHORTEST: u32 = 16;

/// Lanes of a gang along a level: as many elements of the widest type as fit one register or two, and no more than there are accumulators, or
/// steps for two. Where steps go
/// through loops, it is the widest type in those: what lanes do not differ in is then read once for all registers.
pub(super) fn lanes_of(kernel: &Kernel, cpu: &Cpu, level: usize, tally: &Tally) -> u32 {
    let bytes = bytes_in_loops(kernel, level).map_or(tally.bytes(), |bytes| bytes.min(tally.bytes()));
    let fitting =
        |registers: usize| (cpu.vector_bytes as usize * registers / bytes).clamp(1, MOST_LANES as usize) as u32;
    // Where steps of the level around run at once, the loop holds the instructions of all.
    let at_once = AtOnce::of(kernel, Gang { level, lanes: fitting(2), masked: false });
    let instructions = tally.instructions.saturating_mul(at_once.map_or(1, |at_once| at_once.steps as usize));
    // A quarter of the registers is for what is loaded and computed meanwhile.
    let most_live = cpu.registers / 4 * 3;
    let fits = || at_once.is_none() && live_registers(kernel, cpu, (level, fitting(2))) <= most_live;
    let long = trip_count(&kernel.levels[level]).is_none_or(|steps| steps >= i64::from(fitting(2)));
    let mut lanes = fitting(if long && (instructions <= MOST_INSTRUCTIONS || fits()) { 2 } else { 1 });
    for statement in &kernel.statements {
        if let Action::Reduce { to, association: Association::Interleaved { lanes: width }, .. } = statement.action
            && to as usize == level
        {
            lanes = lanes.min(width);
        }
    }
    // Of fewer steps, as many as fill vectors of the shortest kind.
    let steps = trip_count(&kernel.levels[level]).map(|steps| steps.clamp(1, MOST_LANES.into()));
    let narrow = steps.map_or(lanes, |steps| lanes.min(1 << steps.ilog2()));
    if narrow >= 4 && narrow as usize * bytes >= SHORTEST as usize { narrow } else { lanes }
}

/// Gangs along a level, if they gain by a tally of it.
pub(super) fn gang_along(kernel: &Kernel, cpu: &Cpu, level: usize, tally: &Tally) -> Option<Gang> {
    let lanes = lanes_of(kernel, cpu, level, tally);
    let gains = lanes >= 2 && tally.score() > 0 && may_be_lanes(kernel, level, lanes).is_ok();
    gains.then_some(Gang { level, lanes, masked: false })
}

/// The kernel where a level has at least so many steps, what is long beside, and gangs along the level there, if they gain.
pub(super) fn gang_where_long<'l>(
    (kernel, long_levels, cpu): (&Kernel, &'l LongLevels, &Cpu),
    level: usize,
    least: u32,
) -> Option<(&'l Kernel, &'l LongLevels, Gang)> {
    let (kernel, beside) = long_levels.at_least(kernel, level, least)?;
    Some((kernel, beside, gang_along(kernel, cpu, level, &Tally::of(kernel, cpu, level))?))
}

/// Why there are gangs along levels where these are long.
pub(super) fn long_choices((kernel, long_levels): (&Kernel, &LongLevels), cpu: &Cpu) -> Vec<Choice> {
    let choice = |(level, least): (usize, u32)| {
        let (_, _, gang) = gang_where_long((kernel, long_levels, cpu), level, least)?;
        Some(Choice {
            about: format!("level {level} of {least} steps or more"),
            chosen: format!("gangs of {}", gang.lanes),
            because: "its reduces have as many accumulators there, which stay in registers".to_owned(),
            instead_of: vec!["single steps: each goes through an accumulator in scratch memory".to_owned()],
        })
    };
    long_levels.thresholds().filter_map(choice).collect()
}

/// The level across lanes: that of scans in tiles, or the one that gains most, or none where scalar code is better.
pub(super) fn gang(kernel: &Kernel, cpu: &Cpu, choices: &mut Vec<Choice>) -> Option<Gang> {
    if let Some((level, lanes)) = gang_of_tiles(kernel)
        && may_be_lanes(kernel, level, lanes).is_ok()
    {
        choices.push(Choice {
            about: "lanes".to_owned(),
            chosen: format!("level {level} in gangs of {lanes}"),
            because: "a scan along it has these gangs".to_owned(),
            instead_of: Vec::new(),
        });
        return Some(Gang { level, lanes, masked: true });
    }
    let mut best: Option<(i64, Gang)> = None;
    let mut instead_of = Vec::new();
    for level in (0..kernel.levels.len()).rev() {
        let tally = Tally::of(kernel, cpu, level);
        let lanes = lanes_of(kernel, cpu, level, &tally);
        if let Err(why) = may_be_lanes(kernel, level, lanes) {
            instead_of.push(format!("level {level}: {why}"));
            continue;
        }
        let short = trip_count(&kernel.levels[level]).is_some_and(|steps| steps < i64::from(lanes));
        if lanes < 2 || (lanes as usize) * tally.bytes() < 8 || short {
            instead_of.push(format!("level {level}: it has fewer steps than a gang has lanes"));
            continue;
        }
        let score = tally.score();
        if score <= 0 {
            instead_of.push(format!(
                "level {level}: gangs lose {} instructions a step against scalar code",
                instructions(-score)
            ));
        } else if best.is_none_or(|(other, _)| score > other) {
            if let Some((other, gang)) = best {
                instead_of.push(format!("level {}: gangs gain {}", gang.level, instructions(other)));
            }
            best = Some((score, Gang { level, lanes, masked: false }));
        } else {
            instead_of.push(format!("level {level}: gangs gain {}", instructions(score)));
        }
    }
    let (chosen, because) = match best {
        Some((score, gang)) => (
            format!("level {} in gangs of {}", gang.level, gang.lanes),
            format!("gangs gain {} instructions a step against scalar code", instructions(score)),
        ),
        None => ("no level".to_owned(), "no level gains by gangs".to_owned()),
    };
    if !kernel.levels.is_empty() {
        choices.push(Choice { about: "lanes".to_owned(), chosen, because, instead_of });
    }
    best.map(|(_, gang)| gang)
}
