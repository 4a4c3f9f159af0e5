//! Random programs: made strict they mean the same, by need and with every block computing all of its bindings in order.

use std::collections::HashSet;

use fusebox_interp::{Error, run, run_in_order};
use fusebox_ir::{ArrayId, Binding, Block, Part, Program, Property, Value, generate, json, text, validate};
use fusebox_strictness::{Config, make_strict};

/// All bindings, of blocks inside too, the last first.
fn bindings(program: &Program) -> Vec<&Binding> {
    fn of<'p>(block: &'p Block, all: &mut Vec<&'p Binding>) {
        for binding in block.bindings.iter().rev() {
            all.push(binding);
            for part in binding.op.parts() {
                if let Part::Body(body) = part {
                    of(body, all);
                }
            }
        }
    }
    let mut all = Vec::new();
    of(&program.body, &mut all);
    all
}

/// The values that functions name, and all that these are made of: functions need them although they may not look at them.
fn named_by_functions(program: &Program) -> HashSet<ArrayId> {
    let mut named = HashSet::new();
    let all = bindings(program);
    for part in all.iter().flat_map(|binding| binding.op.parts()) {
        if let Part::Function(f) = part {
            f.outer_uses(&mut |id| _ = named.insert(id));
        }
    }
    let mut known = 0;
    while std::mem::replace(&mut known, named.len()) != named.len() {
        for binding in &all {
            if binding.results.iter().any(|var| named.contains(&var.id)) {
                binding.op.for_each_use(&mut |id| _ = named.insert(id));
                binding.results.iter().for_each(|var| var.ty.for_each_use(&mut |id| _ = named.insert(id)));
                for part in binding.op.parts() {
                    if let Part::Body(body) = part {
                        body.for_each_definition(&mut |var| _ = named.insert(var.id));
                    }
                }
            }
        }
    }
    named
}

/// Whether the operation that an error names makes something that functions name.
fn is_of_functions(program: &Program, error: &Error) -> bool {
    let Error::Run(error) = error else { return false };
    let named = named_by_functions(program);
    bindings(program).into_iter().any(|binding| {
        let is_named = binding.results.iter().any(|var| named.contains(&var.id));
        is_named
            && binding.results.iter().any(|var| {
                let name = if var.name.is_empty() { var.id.to_string() } else { var.name.0.clone() };
                error.operation == format!("{} `{name}`", binding.op.name())
            })
    })
}

/// What is wrong with a strict program.
fn check(program: &Program, inputs: &[Value]) -> Result<(Program, bool), String> {
    // So that a program which makes it panic is made smaller, too.
    let (strict, _) = std::panic::catch_unwind(|| make_strict(program, &Config::default()))
        .map_err(|_| "it panics".to_owned())?
        .map_err(|error| match error {
            fusebox_strictness::Error::Invalid(errors) => format!("the generated program is not valid: {errors}"),
            error => format!("not strict: {error}"),
        })?;
    let properties = [Property::Flat, Property::Strict];
    validate(&strict, &properties).map_err(|errors| format!("invalid: {errors}\n{strict}"))?;
    let read = text::parse(&strict.to_string()).map_err(|error| format!("text: {error}\n{strict}"))?;
    let (same, _) = json::from_json(&json::to_json(&strict, &properties)).map_err(|error| format!("JSON: {error}"))?;
    if read != strict || same != strict {
        return Err(format!("another program through text or JSON\n{strict}"));
    }
    let (again, _) = make_strict(&strict, &Config::default()).map_err(|error| format!("not strict again: {error}"))?;
    validate(&again, &properties).map_err(|errors| format!("invalid again: {errors}\n{again}"))?;
    let expected = run(program, inputs);
    match (&expected, run(&strict, inputs)) {
        (Ok(expected), Ok(found)) if *expected == found => {}
        (Ok(_), Ok(_)) => return Err(format!("other results\n{strict}")),
        (Err(_), Err(_)) => {}
        (Ok(_), Err(error)) => return Err(format!("an error was made: {error}\n{strict}")),
        (Err(error), Ok(_)) => return Err(format!("an error was lost: {error}\n{strict}")),
    }
    match (&expected, run_in_order(&strict, inputs)) {
        (Ok(expected), Ok(found)) if *expected == found => {}
        (Ok(_), Ok(_)) => return Err(format!("other results in order\n{strict}")),
        (Err(_), Err(_)) => {}
        (Ok(_), Err(error)) if is_of_functions(&strict, &error) => return Ok((strict, true)),
        (Ok(_), Err(error)) => return Err(format!("an error was made in order: {error}\n{strict}")),
        (Err(error), Ok(_)) => return Err(format!("an error was lost in order: {error}\n{strict}")),
    }
    Ok((strict, false))
}

/// How many programs were changed, and of how many functions need too much.
fn programs(count: u64, config: &generate::Config) -> (usize, usize) {
    let (mut changed, mut functions, mut refused) = (0, 0, 0);
    for seed in 0..count {
        let program = generate::program(seed, config);
        // Of what may fail validation refuses some: an extent that is never but negative.
        if config.may_fail && validate(&program, &[Property::Flat]).is_err() {
            refused += 1;
            continue;
        }
        match check(&program, &generate::inputs(&program, seed, config)) {
            Ok((strict, of_functions)) => {
                changed += usize::from(strict != program);
                functions += usize::from(of_functions);
            }
            Err(error) => {
                let fails = |program: &Program| {
                    validate(program, &[Property::Flat]).is_ok()
                        && check(program, &generate::inputs(program, seed, config)).is_err()
                };
                let small = generate::minimize(&program, &mut |program: &Program| fails(program));
                let again = check(&small, &generate::inputs(&small, seed, config)).map(|_| ());
                let again = again.err().unwrap_or_default();
                panic!("seed {seed}: {error}\nmade smaller: {again}\n{small}");
            }
        }
    }
    assert!(refused * 100 <= count, "{refused} programs are not valid");
    (changed, functions)
}

#[test]
fn programs_that_do_not_fail_mean_the_same() {
    let (changed, functions) = programs(1_500, &generate::Config { max_bindings: 24, ..generate::Config::default() });
    assert!(changed > 300, "{changed} programs were changed");
    assert!(functions < 40, "of {functions} programs a function needs what it does not look at");
}

#[test]
fn programs_that_may_fail_fail_as_before() {
    let config = generate::Config { may_fail: true, max_bindings: 20, ..generate::Config::default() };
    let (changed, functions) = programs(1_500, &config);
    assert!(changed > 300, "{changed} programs were changed");
    assert!(functions < 40, "of {functions} programs a function needs what it does not look at");
}

#[test]
fn branches_of_branches_and_loops_mean_the_same() {
    use generate::Kind::*;
    let control = [Generate, Map, Fold, Unit, Unit, Cond, Cond, Cond, While, While, Slice, Foreign, Scan];
    let config = generate::Config {
        may_fail: true,
        max_bindings: 24,
        operations: control.into_iter().map(|kind| (kind, 4)).collect(),
        ..generate::Config::default()
    };
    let (changed, functions) = programs(1_500, &config);
    assert!(changed > 700, "{changed} programs were changed");
    assert!(functions < 60, "of {functions} programs a function needs what it does not look at");
}

#[test]
fn clusters_that_are_there_stay() {
    let config = generate::Config { clusters: true, max_bindings: 20, ..generate::Config::default() };
    programs(300, &config);
}
