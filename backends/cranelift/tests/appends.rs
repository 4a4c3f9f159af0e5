//! Appends of gangs: by stores with masks and as whole vectors, in rows with a masked rest, of every size of elements.

use crate::common::{Random, changed, every_schedule, plan};
use fusebox_ir::{Array, ElementType, KernelArrayId};
use fusebox_schedule::Preferences;

/// Rows and steps around gangs, iterations and the longest row.
const SIZES: [[usize; 2]; 10] =
    [[0, 20], [3, 0], [1, 1], [5, 7], [4, 16], [3, 33], [7, 64], [2, 131], [3, 4096], [2, 4130]];

/// The elements of `a` that are not below each of `p`: all of `a` again and again.
fn again(element: ElementType) -> String {
    format!(
        "fn f(a: [m]{element}, p: [n]{element}) -> [?]{element}, [?]bool {{
         let k: i64, r: [k]{element}, own: [k]bool = cluster(|| {{
           vertical rows: [n, m]{element} = replicate([n, _], a)
           vertical inside: [n, m]bool = generate([n, m], |i, j| a[j] >= p[i])
           last k: i64, r: [k]{element}, own: [k]bool = filter(|x, own| own, rows, inside)
           return k, r, own }})
         return r, own }}"
    )
}

fn inputs(element: ElementType) -> Vec<Vec<Array>> {
    let mut random = Random(11);
    SIZES.iter().map(|&[n, m]| vec![random.array(element, &[m]), random.array(element, &[n])]).collect()
}

#[test]
fn rows_that_are_filtered_again_and_again() {
    for element in [ElementType::F32, ElementType::F64, ElementType::U8, ElementType::I16] {
        let seen = every_schedule(&again(element), &inputs(element), &["whole r", "remainder masked"]);
        assert!(seen.iter().all(|&count| count > 1), "{element}: {seen:?}");
    }
}

#[test]
fn vectors_with_room_for_no_more_than_they_have() {
    // All are kept, or none, or every third.
    for condition in ["x >= x", "x < x", "i64(x) % 3 == 0"] {
        let source =
            format!("fn f(a: [n]i32) -> [?]i32 {{ let k: i64, r: [k]i32 = filter(|x| {condition}, a) return r }}");
        let mut random = Random(5);
        let inputs: Vec<Vec<Array>> = [0, 1, 31, 32, 33, 64, 4_096, 70_001]
            .map(|elements| vec![random.array(ElementType::I32, &[elements])])
            .into();
        let seen = every_schedule(&source, &inputs, &["whole r"]);
        assert!(seen[0] > 0, "{source}");
    }
}

#[test]
fn whole_vectors_are_chosen_and_refused_with_the_reason() {
    let again = plan(&again(ElementType::F32)).kernels.pop().unwrap();
    let once = plan("fn f(a: [n]f32) -> [?]f32 { let k: i64, r: [k]f32 = filter(|x| x > 0.5, a) return r }");
    let once = once.kernels.last().unwrap();
    let judged = |kernel, changes: &[_]| changed(kernel, "avx512", Preferences::default(), changes);
    assert_eq!(judged(&again, &[("whole r", "")]), "accepted");
    let split = "split x by shares of 32 -> x_shares, x_share";
    let whole = format!("{split}\n whole r");
    assert_eq!(judged(once, &[(split, &whole)]), "accepted");
    let mut over = once.clone();
    let [read, kept] = [0, 1].map(KernelArrayId);
    over.arrays[kept.index()].in_place_of = Some(read);
    assert!(judged(&over, &[(split, &whole)]).contains("appends to the place of an array that is read"));
    let blocks = "split x by 4096 -> x_blocks, x_block";
    let whole = format!("{blocks}\n whole r");
    let said = changed(once, "sm_90", Preferences::default(), &[(blocks, &whole)]);
    assert!(said.contains("appends store whole vectors on processors"), "{said}");
    for (changes, reason) in [
        (&[("whole r", "whole r whole r")][..], "named twice"),
        (&[("whole r", "whole x2")], "is no append"),
        (&[("unroll 2, remainder masked", "unroll 3, remainder masked")], "no power of two"),
        (&[("lanes(16) unroll 2, remainder masked", "lanes(32), remainder masked")], "none of a row"),
    ] {
        let said = judged(&again, changes);
        assert!(said.contains(reason), "{changes:?}: should be refused as `{reason}`:\n{said}");
    }
}
