//! Every golden program on all cores, however it is fused: results are those expected.

use std::panic::{AssertUnwindSafe, catch_unwind};

use fusebox::{Backend, Fusion, Options, compile_program};
use fusebox_golden::{Golden, load, names};
use fusebox_ir::{Property, validate};

fn runs(golden: &Golden, fusion: Fusion) -> Result<(), String> {
    let options = Options { fusion, verify: true, cache: false, ..Options::on(Backend::Cpu) };
    let program = compile_program(&golden.program, &options).map_err(|error| error.to_string())?;
    let results = program.run(&golden.inputs).map_err(|error| error.to_string())?;
    golden.check(&results).map_err(|mismatch| mismatch.to_string())
}

/// All that fail are told, not the first alone.
fn all(fusion: Fusion) {
    let (mut ran, mut failures) = (0, Vec::new());
    for name in names() {
        let golden = load(&name);
        if validate(&golden.program, &[Property::Flat]).is_err() {
            continue;
        }
        ran += 1;
        let outcome = catch_unwind(AssertUnwindSafe(|| runs(&golden, fusion))).unwrap_or_else(|panic| {
            let text = panic.downcast_ref::<String>().cloned();
            Err(format!("panic {}", text.or(panic.downcast_ref::<&str>().map(|&text| text.into())).unwrap_or_default()))
        });
        failures.extend(outcome.err().map(|why| format!("{name}: {why}")));
    }
    assert!(failures.is_empty(), "{} of {ran} fail with fusion {fusion}:\n{}", failures.len(), failures.join("\n"));
    assert!(ran > 70, "{ran}");
}

#[test]
fn none() {
    all(Fusion::None);
}

#[test]
fn greedy() {
    all(Fusion::Greedy);
}

#[test]
fn optimal() {
    all(Fusion::Optimal);
}
