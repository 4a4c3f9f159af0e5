//! Golden programs on the simulator: to the bit what the interpreter of kernels gives.

use crate::common;

use fusebox_ir::{Array, Value};

#[test]
fn golden_programs_have_the_bits_of_the_interpreter_of_kernels() {
    let only = std::env::var("ONLY").ok();
    let mut wrong = Vec::new();
    let mut ran = 0;
    for (seed, (name, plan)) in common::golden_plans().into_iter().enumerate() {
        if only.as_ref().is_some_and(|only| *only != name) {
            continue;
        }
        let golden = fusebox_golden::load(&name);
        let arrays: Option<Vec<Array>> = (golden.inputs.iter())
            .map(|value| if let Value::Array(array) = value { Some(array.clone()) } else { None })
            .collect();
        let Some(inputs) = arrays else { continue };
        let target = ["sm_70", "sm_80", "sm_90"][seed % 3];
        let backend = common::simulator(target, seed as u64);
        let before = std::time::Instant::now();
        let compiled = match backend.compile_proved_plan(&common::proved(&plan)) {
            Ok(compiled) => compiled,
            Err(error) => {
                wrong.push(format!("{name}: {error}"));
                continue;
            }
        };
        let expected =
            fusebox_interp::run_plan(&plan, &golden.inputs).unwrap_or_else(|error| panic!("{name}: {error}")).0;
        ran += 1;
        let run = compiled.load_plan().and_then(|loaded| loaded.run_plan(&inputs));
        println!("{name}: {:?}", before.elapsed());
        match run {
            Ok(results) => {
                for ((output, result), expected) in golden.program.outputs.iter().zip(&results).zip(&expected) {
                    let Value::Array(expected) = expected else { panic!("{name}: {expected:?}") };
                    if !common::same_bits(result, expected) {
                        let text = format!("{result:?}\n  {expected:?}").chars().take(1000).collect::<String>();
                        wrong.push(format!("{name}: `{}` is\n  {text}", output.name));
                    }
                }
            }
            Err(error) => wrong.push(format!("{name}: {error}")),
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {ran} programs:\n{}",
        wrong.len(),
        wrong.join("\n").chars().take(40_000).collect::<String>()
    );
    assert!(ran >= 40 || only.is_some(), "only {ran} programs ran");
}
