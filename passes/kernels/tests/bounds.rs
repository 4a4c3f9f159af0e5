//! Indices that lowering leaves unchecked are inside: whatever numbers there are, those near the ends of `i64` too. The interpreter of plans
//! looks at every access, and calls it a broken plan where an unchecked one is outside.

use crate::strict::lower;
use fusebox_interp::{Error, run_plan};
use fusebox_ir::{Action, Array, Plan, Value, text};
use fusebox_kernels::Config;

fn plan(index: &str) -> Plan {
    let source = format!(
        "fn f(a: [n]f32, x: i64, y: i64) -> [n]f32 {{ let b: [n]f32 = generate([n], |i| a[{index}]) return b }}"
    );
    let program = text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    lower(&program, &Config::default()).unwrap_or_else(|error| panic!("{error}\n{source}")).0
}

/// Whether `a` is loaded without a check; reads in scalar code have one.
fn is_proved(plan: &Plan) -> bool {
    plan.kernels.iter().any(|kernel| {
        kernel.statements.iter().any(|statement| match &statement.action {
            Action::Load { array, map, .. } => kernel.arrays[array.index()].name == "a" && !map.checked,
            _ => false,
        })
    })
}

#[test]
fn what_is_plainly_inside_needs_no_check() {
    for index in ["i", "n - 1 - i", "min(i + 1, n - 1)", "min(max(i - 3, 0), n - 1)", "i % n"] {
        assert!(is_proved(&plan(index)), "{index}\n{}", plan(index));
    }
}

/// A window of `a` at each of so many places, at what index: elements, and how many they are together.
fn windows(places: &str, index: &str) -> Plan {
    let source = format!(
        "fn f(a: [n]f32, w: [m]f32, x: i64) -> [?]f32 {{
        let k = {places}
        let p: [k, m]f32 = generate([k, m], |i, j| a[{index}] * w[j])
        let s: [k]f32 = fold(|x, y| x + y, 0.0, p)
        return s }}"
    );
    let program = text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    lower(&program, &Config::default()).unwrap_or_else(|error| panic!("{error}\n{source}")).0
}

/// Where there are places, they are as many as the number that they are the greater of, and 0.
#[test]
fn windows_that_fit_need_no_check() {
    for (places, index) in [
        ("n - m + 1", "i + j"),
        ("max(n - m + 1, 0)", "i + j"),
        ("max(0, n - m + 1)", "i + j"),
        ("max(n - m, 0)", "i + j + 1"),
        ("max(n - m, 0)", "n - 1 - i - j"),
        ("max(n - 2 * m, 0)", "i + 2 * j + 1"),
    ] {
        assert!(is_proved(&windows(places, index)), "{places}, {index}\n{}", windows(places, index));
    }
    for (places, index) in [
        ("max(n - m + 2, 0)", "i + j"),
        ("max(n - m + 1, 1)", "i + j"),
        ("max(n - m + 1, 0)", "i + j + 1"),
        ("max(n - m + x, 0)", "i + j"),
        ("max(n - m, 0) + 2", "i + j"),
    ] {
        assert!(!is_proved(&windows(places, index)), "{places}, {index}\n{}", windows(places, index));
    }
}

#[test]
fn windows_that_go_unchecked_are_inside() {
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    // None by which there are so many places that going over them would take long.
    let numbers = [0, 1, 2, 3, -1, -2, 7, i64::MIN + 30, i64::MIN + 31];
    let (mut proved, mut checked) = (0, 0);
    for _ in 0..1_500 {
        let number = format!(
            "{}n {} {} {} {}",
            random.of(&["", "", "", "2 * "]),
            random.of(&["-", "-", "-", "+"]),
            random.of(&["m", "m", "m", "2 * m", "x", "max(x, 0)"]),
            random.of(&["+", "-"]),
            random.of(&["0", "0", "1", "1", "2", "x"])
        );
        let places = match random.below(4) {
            0 => format!("max(0, {number})"),
            1 => format!("max(max({number}, 0), {})", random.of(&["0", "1", "n - m"])),
            _ => format!("max({number}, 0)"),
        };
        let places = if random.below(2) == 0 { format!("min({places}, 40)") } else { places };
        let index = random.of(&[
            "i + j",
            "i + j",
            "n - 1 - i - j",
            "i + j - 1",
            "i + 2 * j",
            "2 * i + j",
            "i - j",
            "max(i - j, 0)",
            "min(i + j, n - 1)",
        ]);
        let plan = windows(&places, index);
        *(if is_proved(&plan) { &mut proved } else { &mut checked }) += 1;
        for n in [0usize, 1, 2, 9] {
            for m in [0usize, 1, 2, 3, 11] {
                let x = random.of(&numbers);
                let k = |count: usize| Array::new(&[count], &vec![1.0f32; count]).unwrap();
                let given = [k(n), k(m), Array::scalar(x)].map(Value::Array);
                if let Err(error @ Error::BadPlan { .. }) = run_plan(&plan, &given) {
                    panic!("{places} places, a[{index}], n = {n}, m = {m}, x = {x}: {error}\n{plan}");
                }
            }
        }
    }
    assert!(proved > 50 && checked > 100, "{proved} proved, {checked} checked");
}

#[test]
fn amounts_of_shifts_that_are_no_i64() {
    for index in ["mod(i << 16644787880803531566u64, n)", "mod(rotate_left(i, 3u8), n)"] {
        assert!(is_proved(&plan(index)), "{index}\n{}", plan(index));
    }
}

#[test]
fn what_may_be_outside_is_checked() {
    for index in [
        "i + 1",
        "i - 1",
        "2 * i",
        "x",
        "x % n",
        "min(x, n - 1)",
        "max(x, 0)",
        "min(2 * max(x, 0), n - 1)",
        "min(max(x, 0) + max(y, 0), n - 1)",
        "min(max(x, 0) + 1, n - 1)",
        "max(n - 1 - x, 0)",
    ] {
        assert!(!is_proved(&plan(index)), "{index}\n{}", plan(index));
    }
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }

    fn of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    /// An expression of `i64`.
    fn expression(&mut self, depth: usize) -> String {
        if depth == 0 {
            return self.of(&["i", "i", "n", "x", "y", "0", "1", "2", "7"]).to_owned();
        }
        let a = self.expression(depth - 1);
        let b = self.expression(depth - 1);
        match self.below(9) {
            0 => format!("({a} + {b})"),
            1 => format!("({a} - {b})"),
            2 => format!("{} * ({a})", self.of(&["2", "3", "1000", "4611686018427387904"])),
            3 | 4 => format!("min({a}, {b})"),
            5 | 6 => format!("max({a}, {b})"),
            7 => format!("({a}) / {}", self.of(&["2", "3"])),
            _ => format!("({a}) % {}", self.of(&["n", "3"])),
        }
    }
}

#[test]
fn indices_that_go_unchecked_are_inside() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let numbers = [0, 1, 5, -1, 1 << 49, 1 << 62, i64::MAX, i64::MAX - 1, i64::MIN, i64::MIN + 1, i64::MIN + 7];
    let (mut proved, mut checked) = (0, 0);
    for _ in 0..1_500 {
        let depth = 1 + random.below(3);
        let inner = random.expression(depth);
        // Often held between 0 and the extent, one way or another.
        let index = match random.below(6) {
            0 => format!("min(max({inner}, 0), n - 1)"),
            1 => format!("max(min({inner}, n - 1), 0)"),
            2 => format!("min({inner}, n - 1)"),
            3 => format!("n - 1 - ({inner})"),
            _ => inner,
        };
        let plan = plan(&index);
        *(if is_proved(&plan) { &mut proved } else { &mut checked }) += 1;
        for n in [0usize, 1, 2, 9] {
            for _ in 0..12 {
                let (x, y) = (random.of(&numbers), random.of(&numbers));
                let a = Array::new(&[n], &vec![1.0f32; n]).unwrap();
                let given = [a, Array::scalar(x), Array::scalar(y)].map(Value::Array);
                if let Err(error @ Error::BadPlan { .. }) = run_plan(&plan, &given) {
                    panic!("a[{index}], n = {n}, x = {x}, y = {y}: {error}\n{plan}");
                }
            }
        }
    }
    assert!(proved > 50 && checked > 150, "{proved} proved, {checked} checked");
}
