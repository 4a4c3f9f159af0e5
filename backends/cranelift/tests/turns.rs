//! Folds and scans of the same elements in one kernel: what they share, and where their accumulators are, changes no bit.

use crate::common::{Random, SIZES, by_hand::ByHand, check_plan};
use fusebox_ir::{
    Array, Binary,
    ElementType::{self, F32, F64, I64, U8},
    LevelOrder,
};

/// A kernel of a scan, of folds of its elements, and of folds of what it makes, by these functions.
fn kernel(element: ElementType, order: LevelOrder, of_elements: &[Binary], scan: Binary, of_scan: &[Binary]) -> ByHand {
    let lanes = 256 / element.bytes() as u32;
    let mut k = ByHand::new("turns", order);
    let x = k.load(element);
    for &function in of_elements {
        k.reduce(element, function, lanes, x);
    }
    let s = k.scan(element, scan, lanes / 4, lanes, x);
    for &function in of_scan {
        k.reduce(element, function, lanes, s);
    }
    k.store(element, s);
    k
}

fn check(element: ElementType, of_elements: &[Binary], scan: Binary, of_scan: &[Binary]) {
    let mut random = Random(29);
    let inputs: Vec<Vec<Array>> = SIZES.iter().map(|&size| vec![random.array(element, &[size])]).collect();
    for order in [LevelOrder::Up, LevelOrder::Down] {
        let plan = kernel(element, order, of_elements, scan, of_scan).plan();
        check_plan(&plan, &plan.to_string(), &inputs);
    }
}

#[test]
fn a_total_made_of_another_fold() {
    use Binary::{Add, Max, Min, Xor};
    for element in [F32, F64, I64, U8] {
        check(element, &[Add], Add, &[Add]);
        // The second of these is the one.
        check(element, &[Max, Add], Add, &[]);
    }
    check(F32, &[Min], Min, &[Max]);
    check(U8, &[Xor, Add], Xor, &[Add, Xor]);
}

#[test]
fn a_total_of_its_own() {
    use Binary::{Add, Max, Mul};
    check(F32, &[], Add, &[]);
    // Not of the same function; not of the same elements.
    check(F32, &[Max], Add, &[Add]);
    check(F64, &[Mul], Add, &[]);
}

/// More accumulators than there are registers.
#[test]
fn many_folds() {
    use Binary::{Add, Max, Min, Mul};
    check(F32, &[Max, Min, Mul], Add, &[Max, Min, Add]);
    check(F64, &[Max, Min, Mul, Add], Add, &[Max, Min, Add]);
}

/// Lanes of a fold that are not as many as those of the total.
#[test]
fn a_fold_of_other_lanes() {
    let mut random = Random(31);
    let inputs: Vec<Vec<Array>> = SIZES.iter().map(|&size| vec![random.array(F32, &[size])]).collect();
    for lanes in [1, 16, 32, 128] {
        let mut k = ByHand::new("turns", LevelOrder::Up);
        let x = k.load(F32);
        k.reduce(F32, Binary::Add, lanes, x);
        let s = k.scan(F32, Binary::Add, 16, 64, x);
        k.store(F32, s);
        let plan = k.plan();
        check_plan(&plan, &plan.to_string(), &inputs);
    }
}
