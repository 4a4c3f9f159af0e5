//! Every program gives what its hand-written counterpart gives.

use fusebox::Fusion;
use fusebox_bench::{
    compare::compare,
    compiled::{Compiled, Setting, Way},
    program::Program,
    programs,
};

/// Hand-written and compiled, with every way of fusion and without checks, on inputs of `size`; the hand-written one twice, since its outputs are used again.
fn agree(program: &Program, size: usize) -> Result<(), String> {
    let name = program.name;
    let said = |error: anyhow::Error| format!("{name} {size}: {error:#}");
    let data = (program.generate)(size);
    let mut hand = (program.hand)(&data).map_err(said)?;
    hand.run();
    let first = hand.results();
    hand.run();
    compare(&first, &hand.results(), fusebox_bench::compare::Tolerance::EXACT).map_err(said)?;
    let unchecked = Way { fusion: Fusion::Optimal, unchecked: true };
    for way in Fusion::ALL.map(Way::from).into_iter().chain([unchecked]) {
        let said = |error: anyhow::Error| format!("{name} {size}, {}: {error:#}", way.name());
        let compiled = Compiled::new(program, &data, Setting { way, threads: None }).map_err(said)?;
        let found = compiled.results().map_err(said)?;
        compare(&first, &found, program.tolerance).map_err(said)?;
    }
    let work = (program.work)(&data).map_err(said)?;
    if work.bytes <= 0.0 {
        return Err(format!("{name}: no least traffic"));
    }
    Ok(())
}

#[test]
fn fusebox_and_rust_agree() {
    let failed: Vec<String> = programs::all().iter().filter_map(|program| agree(program, program.tiny).err()).collect();
    assert!(failed.is_empty(), "{}", failed.join("\n"));
}

#[test]
fn names_are_unique() {
    let mut names: Vec<_> = programs::all().iter().map(|program| program.name).collect();
    let count = names.len();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), count);
}
