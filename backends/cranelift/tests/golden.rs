//! Golden programs on the CPU: to the bit what the interpreter of kernels gives, at any number of threads, in gangs or one by one.

use crate::common::{self, backends, same_bits};
use fusebox_ir::{Array, Property, Value, validate};

#[test]
fn golden_programs_have_the_bits_of_the_interpreter_of_kernels() {
    let mut wrong = Vec::new();
    let mut ran = 0;
    for name in fusebox_golden::names() {
        if std::env::var("ONLY").is_ok_and(|only| only != name) {
            continue;
        }
        let golden = fusebox_golden::load(&name);
        // Nested programs are made flat first, which is tested with the passes.
        if validate(&golden.program, &[Property::Flat]).is_err() {
            continue;
        }
        let plan = match common::lowered(&golden.program) {
            Ok(plan) => plan,
            Err(fusebox_kernels::Error::Unsupported { .. } | fusebox_kernels::Error::UnsupportedType { .. }) => {
                continue;
            }
            Err(error) => panic!("{name}: {error}"),
        };
        let inputs: Vec<Array> = golden
            .inputs
            .iter()
            .map(|value| match value {
                Value::Array(array) => array.clone(),
                other => panic!("{name}: {other:?}"),
            })
            .collect();
        let expected =
            fusebox_interp::run_plan(&plan, &golden.inputs).unwrap_or_else(|error| panic!("{name}: {error}")).0;
        ran += 1;
        for (what, backend) in backends() {
            let compiled = match common::compiled(backend, &plan) {
                Ok(compiled) => compiled,
                Err(error) => {
                    wrong.push(format!("{name}, {what}: {error}"));
                    continue;
                }
            };
            if std::env::var("SHOW").is_ok() {
                eprintln!("{}", fusebox_backend::Compiled::text(&compiled).unwrap());
            }
            match compiled.load_plan().and_then(|loaded| loaded.run_plan(&inputs)) {
                Ok(results) => {
                    for ((output, result), expected) in golden.program.outputs.iter().zip(&results).zip(&expected) {
                        let Value::Array(expected) = expected else { panic!("{name}: {expected:?}") };
                        if !same_bits(result, expected) {
                            wrong.push(format!("{name}, {what}: `{}` is\n  {result:?}\n  {expected:?}", output.name));
                        }
                    }
                }
                Err(error) => wrong.push(format!("{name}, {what}: {error}")),
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {ran} programs:\n{}",
        wrong.len(),
        wrong.join("\n").chars().take(20_000).collect::<String>()
    );
    assert!(ran >= 40 || std::env::var("ONLY").is_ok(), "only {ran} programs ran");
}
