//! Positions of 64 bits, as arrays of 2^31 elements need them, in smaller arrays.

use crate::common::{golden_plans, interpreted, proved, same_bits, simulator};
use fusebox_ir::{Array, Value};

/// Programs whose kernels have short positions elsewhere have long ones here, with the same bits.
#[test]
fn golden_programs_with_long_positions() {
    let (mut ran, mut wrong) = (0, Vec::new());
    for (name, plan) in golden_plans() {
        let golden = fusebox_golden::load(&name);
        let arrays =
            golden.inputs.iter().map(|value| if let Value::Array(array) = value { Some(array.clone()) } else { None });
        let Some(inputs) = arrays.collect::<Option<Vec<Array>>>() else { continue };
        // The longest programs say no more of positions than others.
        if plan.kernels.len() > 8 {
            continue;
        }
        let backend = simulator("sm_80", 1).with_wide_from(1);
        let loaded = backend.compile_proved_plan(&proved(&plan)).unwrap().load_plan().unwrap();
        let same = match (loaded.run_plan(&inputs), interpreted(&plan, &inputs)) {
            (Ok(results), Ok(expected)) => results.iter().zip(&expected).all(|(own, other)| same_bits(own, other)),
            (results, expected) => results.is_err() && expected.is_err(),
        };
        ran += 1;
        if !same {
            wrong.push(name);
        }
    }
    assert!(wrong.is_empty() && ran > 30, "{ran} ran, wrong: {wrong:?}");
}
