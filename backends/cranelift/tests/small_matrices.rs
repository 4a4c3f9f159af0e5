//! Products of many small matrices: rows and columns of fewer steps than gangs have lanes.

use crate::common::{Random, check, plan};
use fusebox_ir::{Array, ElementType};
use fusebox_schedule::{Preferences, Target, schedule};

fn products(element: ElementType) -> String {
    format!(
        "fn f(a: [b, n, k]{element}, c: [b, k, m]{element}) -> [b, n, m]{element} {{
        let s: [b, n, m]{element} = cluster(|| {{
            vertical p: [b, n, m, k]{element} = generate([b, n, m, k], |q, i, j, l| a[q, i, l] * c[q, l, j])
            last s: [b, n, m]{element} = fold(|x, y| x + y, 0.0, p)
            return s }})
        return s }}"
    )
}

#[test]
fn all_sizes_have_the_bits_of_the_interpreter() {
    // Rows, columns and what is summed, around gangs of four, eight and more lanes.
    let sizes = [
        [0, 4, 4],
        [4, 0, 4],
        [4, 4, 0],
        [1, 1, 1],
        [3, 3, 3],
        [4, 4, 4],
        [5, 7, 6],
        [8, 8, 8],
        [9, 12, 5],
        [31, 31, 2],
        [17, 40, 3],
        [40, 17, 3],
        [33, 8, 130],
    ];
    for element in [ElementType::F32, ElementType::F64] {
        let inputs: Vec<Vec<Array>> = (sizes.iter())
            .map(|&[n, m, k]: &[usize; 3]| {
                let mut random = Random((n + 50 * m + 2_500 * k) as u64);
                vec![random.array(element, &[7, n, k]), random.array(element, &[7, k, m])]
            })
            .collect();
        check(&products(element), &inputs);
    }
}

#[test]
fn both_short_levels_have_narrow_gangs() {
    let kernel = plan(&products(ElementType::F32)).kernels.pop().unwrap();
    for (target, narrow) in [("avx512", &[4, 8][..]), ("avx2", &[4, 8]), ("sse", &[4])] {
        let chosen = schedule(&kernel, &Target::named(target).unwrap(), Preferences::default()).schedule;
        let text = chosen.to_text(&kernel);
        let shorter = text.find("choose when x1 < ").unwrap_or_else(|| panic!("{text}"));
        for lanes in narrow {
            assert!(text[shorter..].contains(&format!("loop x2 lanes({lanes}), remainder overlapped")), "{text}");
        }
    }
}
