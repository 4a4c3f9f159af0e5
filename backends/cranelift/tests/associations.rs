//! Every association on the CPU: at any number of threads, in gangs or one by one.

use crate::common::{self, check};
use fusebox_ir::Array;

fusebox_conformance::associations!(common::Cpu);

/// A level of one step is no loop: a scan in order begins anew at each point of the level around, also where its function has no identity that could
/// stand before the first element.
#[test]
fn levels_of_one_step_begin_anew() {
    for scan in ["scanl1", "scanr1"] {
        for steps in [1, 2] {
            let source = format!(
                "fn f(a: [n, {steps}]f32) -> [n, {steps}]f32, [n]f32 {{
                    let c: [n, {steps}]f32 = {scan}(|x, y| exp(x) * 0.5 + y, a)
                    let e: [n]f32 = fold1(|x, y| x * 0.5 + y, c)
                    return c, e }}"
            );
            let inputs = [0, 1, 2, 33, 70_000].map(|n| {
                let numbers = (0..n * steps).map(|at| (at * 7919 % 101) as f32 / 50.0 - 1.0).collect::<Vec<_>>();
                vec![Array::new(&[n, steps], &numbers).unwrap()]
            });
            check(&source, &inputs);
        }
    }
}
