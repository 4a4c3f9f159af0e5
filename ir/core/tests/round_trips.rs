//! Random programs: valid, and the same after a turn through text and through JSON.

use std::collections::{BTreeMap, BTreeSet};

use fusebox_ir::{
    Binary, Block, Lambda, Part, Program, Property, ScalarOp, ScalarPart, Unary,
    generate::{Config, minimize, program},
    json::{from_json, to_json},
    text, validate,
};

/// What is wrong with the forms of a program.
fn fault(program: &Program) -> Option<String> {
    if let Err(errors) = validate(program, &[]) {
        let first = errors.errors.first().map_or(String::new(), |error| format!("{:?}", error.fault));
        let which: String = first.chars().take_while(|c| c.is_alphanumeric()).collect();
        return Some(format!("not valid ({which}): {errors}"));
    }
    let printed = program.to_string();
    let parsed = match text::parse(&printed) {
        Ok(parsed) => parsed,
        Err(error) => return Some(format!("what is printed does not parse: {error}")),
    };
    if parsed != *program {
        return Some(format!("parsed again it is another program:\n{:#?}", difference(program, &parsed)));
    }
    let again = parsed.to_string();
    if again != printed {
        return Some(format!("it prints otherwise the second time:\n{again}"));
    }
    match from_json(&to_json(program, &[])) {
        Ok((read, _)) if read == *program => None,
        Ok(_) => Some("through JSON it is another program".into()),
        Err(error) => Some(format!("its JSON is not read: {error}")),
    }
}

/// The first bindings that differ.
fn difference<'p>(left: &'p Program, right: &'p Program) -> Option<(&'p fusebox_ir::Binding, &'p fusebox_ir::Binding)> {
    left.body.bindings.iter().zip(&right.body.bindings).find(|(left, right)| left != right)
}

/// Checks programs; says of each kind of fault the smallest program that was found.
fn check(seeds: std::ops::Range<u64>, config: &Config) {
    let kind = |fault: &str| fault.chars().take_while(|&c| c != ':').take(60).collect::<String>();
    let mut faults: BTreeMap<String, (usize, u64)> = BTreeMap::new();
    for seed in seeds {
        if let Some(fault) = fault(&program(seed, config)) {
            faults.entry(kind(&fault)).or_insert((0, seed)).0 += 1;
        }
    }
    let mut report = String::new();
    for (which, (times, seed)) in faults {
        let program = program(seed, config);
        let small = minimize(&program, &mut |smaller| fault(smaller).is_some_and(|fault| kind(&fault) == which));
        let why = fault(&small).unwrap_or_default();
        report += &format!(
            "\n{times} times, first seed {seed} (FUSEBOX_SEED={seed} cargo test -p fusebox-ir --test round_trips): {why}\n{small}\n"
        );
    }
    assert!(report.is_empty(), "{report}");
}

/// All seeds, a tenth of them, or the one that is asked for.
fn seeds(count: u64) -> std::ops::Range<u64> {
    match std::env::var("FUSEBOX_SEED").ok().and_then(|seed| seed.parse().ok()) {
        Some(seed) => seed..seed + 1,
        None if std::env::var_os("FUSEBOX_QUICK").is_some() => 0..count / 10,
        None => 0..count,
    }
}

#[test]
fn programs_of_everything_keep_through_text_and_json() {
    check(seeds(8_000), &Config::forms());
}

#[test]
fn programs_that_run_keep_through_text_and_json() {
    check(seeds(2_000), &Config { nested: true, clusters: true, large: true, ..Config::default() });
}

#[test]
fn functions_and_programs_without_results_keep() {
    for source in [
        "fn none() -> { return }",
        "fn same(s: f32) -> f32 { let t: f32 = backpermute([], || { return }, s) return t }",
    ] {
        let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(fault(&program), None);
    }
}

#[test]
fn flat_programs_are_flat_and_there_is_every_operation_and_function() {
    let mut found = BTreeSet::new();
    for seed in 0..400 {
        let flat = program(seed, &Config::default());
        validate(&flat, &[Property::Flat]).unwrap_or_else(|errors| panic!("seed {seed}: {errors}"));
        let other = program(seed, &Config::forms());
        for block in [&flat.body, &other.body] {
            note(block, &mut found);
        }
    }
    let operations = "constant unit compute generate map backpermute transform replicate replicate_seg slice reshape concat fold fold1 fold_seg fold1_seg \
                      scanl scanl1 scanl' scanr scanr1 scanr' scanl_seg scanl1_seg scanl'_seg scanr_seg scanr1_seg scanr'_seg permute expand \
                      permuted_expand filter sort stencil nest element cond while foreign consume cluster if loop assert fma read flat";
    let functions = Unary::ALL.iter().map(|f| f.text()).chain(Binary::ALL.iter().map(|f| f.text()));
    let missing: Vec<&str> =
        operations.split_whitespace().chain(functions).filter(|name| !found.contains(*name)).collect();
    assert!(missing.is_empty(), "never made: {missing:?}");
}

/// What occurs in a block.
fn note(block: &Block, found: &mut BTreeSet<&'static str>) {
    for binding in &block.bindings {
        found.insert(binding.op.name());
        for part in binding.op.parts() {
            match part {
                Part::Body(body) => note(body, found),
                Part::Function(f) => note_scalar(f, found),
                _ => {}
            }
        }
    }
}

fn note_scalar(f: &Lambda, found: &mut BTreeSet<&'static str>) {
    for instruction in &f.instructions {
        found.insert(match &instruction.op {
            ScalarOp::Unary { function, .. } => function.text(),
            ScalarOp::Binary { function, .. } => function.text(),
            ScalarOp::Fma { .. } => "fma",
            ScalarOp::Convert { .. } => "convert",
            ScalarOp::Bits { .. } => "bits",
            ScalarOp::Read { .. } => "read",
            ScalarOp::ReadFlat { .. } => "flat",
            ScalarOp::If { .. } => "if",
            ScalarOp::While { .. } => "loop",
            ScalarOp::Assert { .. } => "assert",
        });
        for part in instruction.op.parts() {
            if let ScalarPart::Body(body) = part {
                note_scalar(body, found);
            }
        }
    }
}
