//! Expands whose elements go to targets: elements with few and with very many, to the bit, and shared by threads, warps and the grid.

use crate::common::{Random, check, plan, rescheduled};
use fusebox_ir::{Array, ElementType};

/// Element j of source element i goes to a target; some go nowhere.
fn expand(combine: &str) -> String {
    format!(
        "fn f(sizes: [n]i32, start: [n]i32, defaults: [m]i32) -> [m]i32 {{
          let counts: [m]i32 = permuted_expand(|z, s| i64(z), |z, s, j| {{
            let value = s + i32(j)
            return (i64(s) + 3 * j) % m, value, value & 1 == 0
          }}, |x, y| {combine}, defaults, sizes, start)
          return counts }}"
    )
}

/// The inputs for source elements of these sizes.
fn inputs(random: &mut Random, sizes: &[i32], targets: usize) -> Vec<Array> {
    vec![
        Array::new(&[sizes.len()], sizes).unwrap(),
        random.ints(ElementType::I32, &[sizes.len()], 0, 1000),
        random.ints(ElementType::I32, &[targets], -9, 9),
    ]
}

#[test]
fn expands_of_every_size_have_the_bits_of_the_interpreter() {
    let mut random = Random(81);
    let sizes = [
        vec![],
        vec![0],
        vec![-5, 31, 32, 33, 0, 1],
        vec![2; 100],
        (0..70).map(|size| size * 3).collect(),
        [vec![1; 40], vec![4095, 4096, 4097, 0], vec![3; 40]].concat(),
        [vec![1; 40], vec![32_767, 32_768, 40_001], vec![3; 40]].concat(),
    ];
    for combine in ["x + y", "max(x, y)", "x ^ y"] {
        // Targets that blocks have copies of, and more than those.
        for targets in [7, 3000] {
            let inputs: Vec<_> = sizes.iter().map(|sizes| inputs(&mut random, sizes, targets)).collect();
            check(&expand(combine), &inputs);
        }
    }
}

/// One source element has 200,000 targets, the others few: no warp does more than its share of them.
#[test]
fn one_source_element_with_many_targets_does_not_run_on_one_thread() {
    let plan = plan(&expand("x + y"));
    let mut random = Random(82);
    let sizes = [vec![3; 100], vec![200_000], vec![2; 100]].concat();
    let inputs = inputs(&mut random, &sizes, 5000);
    let cut = rescheduled(&plan, &inputs, str::to_owned);
    let by_warp = rescheduled(&plan, &inputs, |text| text.replace("< 32768", "< 1000000"));
    let by_thread =
        rescheduled(&plan, &inputs, |text| text.replace("< 32 ", "< 900000 ").replace("< 32768", "< 1000000"));
    // 49 pieces are as many warps', and a warp has 32 threads.
    assert!(cut.longest_warp * 20 < by_warp.longest_warp, "{} and {}", cut.longest_warp, by_warp.longest_warp);
    assert!(by_warp.longest_warp * 15 < by_thread.longest_warp, "{} {}", by_warp.longest_warp, by_thread.longest_warp);
}
