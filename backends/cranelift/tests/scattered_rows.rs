//! Rows that are combined into rows: the elements of a gang go to targets that lie side by side, all at once.

use crate::common::{Random, changed, check, every_schedule, plan};
use fusebox_ir::{
    Action, Array, ElementType,
    analysis::kernels::{AcrossLanes, Lanes},
};
use fusebox_schedule::Preferences;

/// Rows of `a` into rows of `d`, as `combine` says, where `at` is the row and `column` the place in it, as one kernel.
fn rows(element: ElementType, combine: &str, column: &str, how: &str) -> String {
    format!(
        "fn f(d: [m, n]{element}, a: [l, n]{element}, at: [l]i64) -> [m, n]{element} {{
         let r: [m, n]{element} = cluster(|| {{
           vertical i: [l, n]i64, j: [l, n]i64 = generate([l, n], |i, j| {{ return at[i], {column} }})
           last r: [m, n]{element} = permute(|x, y| {combine}, d, a, at: (i, j){how})
           return r }})
         return r }}"
    )
}

/// Targets, rows and columns: around gangs of the shortest and the longest vectors.
const SIZES: [[usize; 3]; 10] = [
    [3, 0, 4],
    [3, 5, 0],
    [1, 9, 1],
    [4, 30, 3],
    [5, 40, 4],
    [2, 17, 7],
    [6, 20, 16],
    [3, 11, 33],
    [7, 12, 64],
    [2, 5, 131],
];

fn inputs(element: ElementType, outside: bool) -> Vec<Vec<Array>> {
    let mut random = Random(19);
    let of = |[m, l, n]: [usize; 3]| {
        let mut at: Vec<i64> = (0..l).map(|_| (random.next() % m as u64) as i64).collect();
        if let Some(last) = at.last_mut().filter(|_| outside) {
            *last = m as i64;
        }
        let (d, a) = (random.array(element, &[m, n]), random.array(element, &[l, n]));
        vec![d, a, Array::new(&[l], &at).unwrap()]
    };
    SIZES.into_iter().map(of).collect()
}

const SUMS: [(ElementType, &str, &str); 8] = [
    (ElementType::F32, "x + y", ""),
    (ElementType::F64, "x + y", ""),
    (ElementType::F32, "y * 0.5 - x", ", ordered: true"),
    (ElementType::F32, "max(x, y)", ""),
    (ElementType::I32, "x + y", ""),
    (ElementType::U8, "x ^ y", ""),
    (ElementType::F16, "x + y", ", ordered: true"),
    (ElementType::I64, "if x > y { return x } else { return y }", ""),
];

#[test]
fn rows_of_every_type() {
    for (element, combine, how) in SUMS {
        check(&rows(element, combine, "j", how), &inputs(element, false));
        check(&rows(element, combine, "(j + 1) % n", how), &inputs(element, false));
        check(&rows(element, combine, "n - 1 - j", how), &inputs(element, false));
    }
}

#[test]
fn every_schedule_has_the_bits_of_the_interpreter() {
    for (element, combine, how) in SUMS.into_iter().take(3) {
        let some: Vec<_> = inputs(element, false).into_iter().skip(2).collect();
        // Targets of the second lie the other way round.
        for column in ["j", "n - 1 - j"] {
            let seen = every_schedule(&rows(element, combine, column, how), &some, &["loop x1 lanes("]);
            assert!(seen[0] > 1, "{combine}: {seen:?}");
        }
    }
}

#[test]
fn rows_outside_and_elements_that_fail() {
    check(&rows(ElementType::F32, "x + y", "j", ""), &inputs(ElementType::F32, true));
    check(&rows(ElementType::F32, "x + y", "j + 1", ""), &inputs(ElementType::F32, false));
    let divided = rows(ElementType::I32, "x / y", "j", ", ordered: true");
    check(&divided, &inputs(ElementType::I32, false));
    let with_zeros = |mut all: Vec<Array>| {
        let zeros = Array::new(all[0].extents(), &vec![0i32; all[0].len()]).unwrap();
        all[0] = zeros;
        all
    };
    let failing: Vec<_> = inputs(ElementType::I32, false).into_iter().map(with_zeros).collect();
    check(&divided, &failing);
}

/// The last level ends where the rows of the source do, and not where those of the target do.
#[test]
fn rows_longer_than_those_they_go_to() {
    let source = "fn f(d: [m, n]f32, a: [l, k]f32, at: [l]i64) -> [m, n]f32 {
         let r: [m, n]f32 = cluster(|| {
           vertical i: [l, k]i64, j: [l, k]i64 = generate([l, k], |i, j| { return at[i], j })
           last r: [m, n]f32 = permute(|x, y| x + y, d, a, at: (i, j))
           return r })
         return r }";
    let mut random = Random(23);
    let of = |[n, k]: [usize; 2]| {
        let (d, a) = (random.array(ElementType::F32, &[3, n]), random.array(ElementType::F32, &[5, k]));
        vec![d, a, Array::new(&[5], &[0i64, 2, 1, 2, 0]).unwrap()]
    };
    check(source, &[[4, 4], [7, 4], [4, 5], [40, 33], [33, 40], [0, 1]].map(of));
}

#[test]
fn short_rows_have_narrow_gangs() {
    let kernel = plan(&rows(ElementType::F32, "x + y", "j", "")).kernels.pop().unwrap();
    let targets = kernel.statements.iter().find_map(|statement| match &statement.action {
        Action::Scatter { map, .. } => Some(Lanes::of(&kernel, 1).position(map)),
        _ => None,
    });
    assert_eq!(targets, Some(AcrossLanes::Linear(Some(1))), "targets lie side by side");
    let usual = Preferences::default();
    for changes in [&[("x1 < 32", "x1 < 8")][..], &[("lanes(4)", "lanes(2)")], &[("lanes(32)", "lanes(8)")]] {
        assert_eq!(changed(&kernel, "avx512", usual, changes), "accepted", "{changes:?}");
    }
}
