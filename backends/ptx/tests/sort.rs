//! Sorts on the simulator: in blocks, and by digits with look-back.

use crate::common::{self, Random, interpreted, plan, proved, same_bits, simulator};
use fusebox_ir::{Array, ElementType};

fusebox_conformance::sorts!(common::Simulated);

/// What runs for a row of more elements than 32 bits count, with fewer of them.
#[test]
fn positions_of_64_bits() {
    let source = "fn f(a: [n, m]u16, b: [n, m]f64) -> [n, m]u16, [n, m]f64, [n, m]i64 {
        let at: [n, m]i64 = generate([n, m], |i, j| j)
        let x: [n, m]u16, y: [n, m]f64, from: [n, m]i64 = sort((a, b), carry: at) return x, y, from }";
    let plan = plan(source);
    let mut random = Random(4);
    for extents in [[3, 100], [2, 5000]] {
        let inputs = [ElementType::U16, ElementType::F64].map(|element| random.array(element, &extents));
        let inputs: Vec<Array> = inputs.into();
        let expected = interpreted(&plan, &inputs).unwrap();
        for from in [1, usize::MAX] {
            let backend = simulator("sm_80", 3).with_wide_from(from);
            let loaded = backend.compile_proved_plan(&proved(&plan)).unwrap().load_plan().unwrap();
            let results = loaded.run_plan(&inputs).unwrap();
            assert!(results.iter().zip(&expected).all(|(own, other)| same_bits(own, other)), "{extents:?} from {from}");
        }
    }
}
