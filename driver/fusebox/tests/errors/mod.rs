//! Run-time errors of programs are the same however they are fused: a table of programs and inputs, each run in every way.
//!
//! What the interpreter says of the program as written is what is expected: where it gives results, all ways give them; where it fails, all
//! ways fail with a fault of the same kind. (Of elements that nobody reads errors may be lost; such programs are not in the table.)

mod declared;
mod fused;
mod lanes;
mod needed;

use std::mem::discriminant;

use fusebox::{Backend, Error, Fusion, Options, compile_program, ir, pipeline_of, run_passes};
use fusebox_flattening::in_words_of_lanes;
use ir::{Array, Fault, Made, Value, text};

/// A program, inputs, and what the fault says: nothing where the program runs.
pub struct Row {
    program: &'static str,
    inputs: Vec<Value>,
    says: Option<&'static str>,
}

fn fails(program: &'static str, inputs: Vec<Value>, says: &'static str) -> Row {
    Row { program, inputs, says: Some(says) }
}

pub fn runs(program: &'static str, inputs: Vec<Value>) -> Row {
    Row { program, inputs, says: None }
}

fn scalar(value: i64) -> Value {
    Array::scalar(value).into()
}

fn flag(value: bool) -> Value {
    Array::scalar(value).into()
}

pub fn given(elements: &[i64]) -> Value {
    Array::new(&[elements.len()], elements).expect("as many as the extent says").into()
}

/// The numbers from 1.
fn vector(n: usize) -> Value {
    let elements: Vec<i64> = (1..=n as i64).collect();
    Array::new(&[n], &elements).expect("as many as the extent says").into()
}

fn matrix(p: usize, q: usize) -> Value {
    let elements: Vec<i64> = (1..=(p * q) as i64).collect();
    Array::new(&[p, q], &elements).expect("as many as the extents say").into()
}

type Outcome = Result<Vec<Value>, Fault>;

/// What was interpreted of something that was made of a program.
fn interpreted(program: &ir::Program, outcome: Result<Vec<Value>, fusebox_interp::Error>) -> Outcome {
    outcome.map_err(|error| match error {
        fusebox_interp::Error::Run(error) => in_words_of_lanes(program, error).fault,
        other => panic!("no run-time error: {other}"),
    })
}

/// Every way to run a program: its name, the outcome, and what was run.
fn ways(program: &ir::Program, inputs: &[Value]) -> Vec<(String, Outcome, String)> {
    let mut ways = Vec::new();
    for fusion in Fusion::ALL {
        let options = Options { fusion, verify: true, cache: false, ..Options::on(Backend::Cpu) };
        let stages =
            run_passes(program, &pipeline_of(program, &options), true).unwrap_or_else(|error| panic!("{error}"));
        let mut last = String::new();
        for stage in stages {
            let (outcome, text) = match &stage.made {
                Made::Program(made) => (interpreted(program, fusebox_interp::run(made, inputs)), made.to_string()),
                Made::Plan(plan) => (
                    interpreted(program, fusebox_interp::run_plan(plan, inputs).map(|(results, _)| results)),
                    plan.to_string(),
                ),
            };
            last.clone_from(&text);
            ways.push((format!("{fusion}, interpreted after {}", stage.pass), outcome, text));
        }
        let compiled = compile_program(program, &options).unwrap_or_else(|error| panic!("{error}"));
        let outcome = compiled.run(inputs).map_err(|error| match error {
            Error::Run(error) => error.fault,
            other => panic!("no run-time error: {other}"),
        });
        ways.push((format!("{fusion}, compiled"), outcome, last));
    }
    ways
}

/// What is wrong with a row; nothing where all ways agree.
fn faults(row: &Row) -> Vec<String> {
    let program = text::parse(row.program).unwrap_or_else(|error| panic!("{error}\n{}", row.program));
    ir::validate(&program, &[]).unwrap_or_else(|errors| panic!("{errors}\n{program}"));
    let expected = interpreted(&program, fusebox_interp::run(&program, &row.inputs));
    let said = match (&expected, row.says) {
        (Ok(_), None) => true,
        (Err(fault), Some(says)) => fault.to_string().contains(says),
        _ => false,
    };
    assert!(said, "as written it gives {expected:?}, and the table says {:?}\n{}", row.says, row.program);
    let mut faults = Vec::new();
    let mut wrong: Option<String> = None;
    for (way, found, text) in ways(&program, &row.inputs) {
        // What is wrong once is wrong in what is made of it.
        let fusion = way.split(',').next().map(str::to_owned);
        if wrong == fusion {
            continue;
        }
        let same = match (&expected, &found) {
            (Ok(expected), Ok(found)) => expected == found,
            (Err(expected), Err(found)) => discriminant(expected) == discriminant(found),
            _ => false,
        };
        if !same {
            wrong = fusion;
            faults.push(format!("{way}: {found:?}\n  instead of {expected:?}\n{}\nbecame\n{text}", row.program));
        }
    }
    faults
}

pub fn check(rows: &[Row]) {
    let faults: Vec<String> = rows.iter().flat_map(faults).collect();
    assert!(faults.is_empty(), "{} faults:\n\n{}", faults.len(), faults.join("\n\n"));
}
