//! Scans from the right, whose gangs lie in memory in the other order.

use crate::common::{Random, check};
use fusebox_ir::ElementType;

#[test]
fn scans_from_the_right() {
    for element in ElementType::ALL {
        if element == ElementType::Bool {
            continue;
        }
        for (scan, more) in [("scanr1(|a, b| a + b, d)", "n"), ("scanr(|a, b| max(a, b), w, d)", "k")] {
            let source = format!(
                "fn f(x: [n]{element}, y: [n]{element}, w: {element}) -> [?]{element} {{
                let k = n + 1
                let d: [n]{element} = map(|x, y| x - y, x, y)
                let r: [{more}]{element} = {scan}
                return r }}"
            );
            let inputs = [0usize, 1, 7, 63, 64, 65, 130, 1000, 4097, 9000].map(|n| {
                let mut random = Random(n as u64);
                vec![random.array(element, &[n]), random.array(element, &[n]), random.array(element, &[])]
            });
            check(&source, &inputs);
        }
    }
}
