//! Every exact scalar function and conversion on corner cases of every type.

use fusebox_ir::{Array, Binary, Constant, ElementType, Unary, primitive};

use crate::{Random, Ways, check};

/// Corner cases, then random numbers: a few gangs and a rest.
fn corners(element: ElementType, shift: usize) -> Array {
    let mut all: Vec<Constant> = Vec::new();
    let bits = element.bits();
    if element.is_float() {
        let specials = [
            0.0,
            -0.0,
            1.0,
            -1.0,
            0.5,
            -0.5,
            1.5,
            2.5,
            -2.5,
            3.7,
            -3.7,
            1e9,
            -1e9,
            3e10,
            -3e10,
            127.6,
            -129.0,
            255.5,
            65535.9,
            1e-30,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ];
        all.extend(specials.iter().map(|&x| primitive::float(element, x)));
        all.extend(
            [1u64, 0x8000_0000_0000_0001]
                .map(|tiny| Constant::from_bits(element, if tiny == 1 { 1 } else { 1 | 1 << (bits - 1) })),
        );
    } else if element == ElementType::Bool {
        all.extend([true, false, false, true].map(Constant::from));
    } else {
        for x in [0i64, 1, -1, 2, -2, 3, 7, -7, 8, 31, 32, 33, 63, 64, 100, -100] {
            all.push(Constant::from_i64(element, x));
        }
        all.push(Constant::from_bits(element, 1 << (bits - 1)));
        all.push(Constant::from_bits(element, (1u64 << (bits - 1)) - 1));
        all.push(Constant::from_bits(element, u64::MAX));
    }
    all.extend(Random(9 + shift as u64).array(element, &[20]).constants());
    let count = 2 * 47;
    let cycled: Vec<Constant> =
        (0..count).map(|position| all[(position + shift * (position / all.len() + 1)) % all.len()]).collect();
    Array::from_constants(element, &[count], &cycled).unwrap()
}

fn without_zeros(array: &Array) -> Array {
    let elements: Vec<Constant> =
        array.constants().map(|x| if x.bits() == 0 { Constant::from_i64(x.ty(), 5) } else { x }).collect();
    Array::from_constants(array.element(), array.extents(), &elements).unwrap()
}

/// Functions of one operand.
pub fn functions_of_one_operand(ways: &dyn Ways) {
    for &function in Unary::ALL.iter().filter(|&&function| primitive::is_exact(function)) {
        for element in ElementType::ALL {
            let Some(result) = primitive::unary(function, Constant::from_i64(element, 1)) else { continue };
            let call = match function {
                Unary::Neg | Unary::Not | Unary::Complement => format!("{}x", function.text()),
                _ => format!("{}(x)", function.text()),
            };
            let source = format!(
                "fn f(a: [n]{element}) -> [n]{r} {{ let b: [n]{r} = map(|x| {call}, a) return b }}",
                r = result.ty()
            );
            check(ways, &source, &[vec![corners(element, 0)], vec![corners(element, 3)]]);
        }
    }
}

/// Functions of two operands.
pub fn functions_of_two_operands(ways: &dyn Ways) {
    for &function in Binary::ALL.iter().filter(|&&function| primitive::is_exact_binary(function)) {
        for element in ElementType::ALL {
            let one = Constant::from_i64(element, 1);
            let Ok(Some(result)) = primitive::binary(function, one, one) else { continue };
            let division = matches!(function, Binary::Div | Binary::Rem | Binary::DivFloor | Binary::ModFloor);
            let word = function.text().chars().all(|c| c.is_alphabetic() || c == '_');
            let call = if word { format!("{}(x, y)", function.text()) } else { format!("x {} y", function.text()) };
            let source = format!(
                "fn f(a: [n]{element}, b: [n]{element}) -> [n]{r} {{ let c: [n]{r} = map(|x, y| {call}, a, b) return c }}",
                r = result.ty()
            );
            let mut inputs = Vec::new();
            for shift in 0..3 {
                let (a, b) = (corners(element, 0), corners(element, shift + 1));
                let b = if division && element.is_integer() { without_zeros(&b) } else { b };
                inputs.push(vec![a, b]);
            }
            check(ways, &source, &inputs);
        }
    }
}

/// Shifts by amounts of other types and by one amount for all.
pub fn shifts_by_amounts_of_other_types_and_by_one_amount_for_all(ways: &dyn Ways) {
    for element in [
        ElementType::I8,
        ElementType::U8,
        ElementType::I16,
        ElementType::U32,
        ElementType::I32,
        ElementType::I64,
        ElementType::U64,
    ] {
        for amount in [ElementType::I8, ElementType::U8, ElementType::I64] {
            for call in ["x << y", "x >> y", "rotate_left(x, y)", "rotate_right(x, y)"] {
                let each = format!(
                    "fn f(a: [n]{element}, b: [n]{amount}) -> [n]{element} {{ let c: [n]{element} = map(|x, y| {call}, a, b) return c }}"
                );
                check(ways, &each, &[vec![corners(element, 0), corners(amount, 1)]]);
                let all = format!(
                    "fn f(a: [n]{element}, y: {amount}) -> [n]{element} {{ let c: [n]{element} = map(|x| {call}, a) return c }}"
                );
                let inputs: Vec<Vec<Array>> = [0, 1, 7, 8, 31, 64, -1]
                    .iter()
                    .map(|&by| vec![corners(element, 0), Array::scalar(Constant::from_i64(amount, by))])
                    .collect();
                check(ways, &all, &inputs);
            }
        }
    }
}

/// Conversions between all types.
pub fn conversions_between_all_types(ways: &dyn Ways) {
    for from in ElementType::ALL {
        for to in ElementType::ALL {
            if to == ElementType::Bool {
                continue;
            }
            let source = format!("fn f(a: [n]{from}) -> [n]{to} {{ let b: [n]{to} = map(|x| {to}(x), a) return b }}");
            check(ways, &source, &[vec![corners(from, 0)], vec![corners(from, 5)]]);
            if from.bits() == to.bits() && from != ElementType::Bool {
                let source =
                    format!("fn f(a: [n]{from}) -> [n]{to} {{ let b: [n]{to} = map(|x| bits_{to}(x), a) return b }}");
                check(ways, &source, &[vec![corners(from, 0)]]);
            }
        }
    }
}

/// Fused products of all float types.
pub fn fused_products_of_all_float_types(ways: &dyn Ways) {
    for element in [ElementType::F16, ElementType::F32, ElementType::F64] {
        let source = format!(
            "fn f(a: [n]{element}, b: [n]{element}, c: [n]{element}) -> [n]{element} {{ let d: [n]{element} = map(|x, y, z| fma(x, y, z), a, b, c) return d }}"
        );
        check(ways, &source, &[vec![corners(element, 0), corners(element, 1), corners(element, 2)]]);
    }
}

/// Branches and loops that lanes disagree on.
pub fn branches_and_loops_that_lanes_disagree_on(ways: &dyn Ways) {
    let collatz = "fn f(a: [n]i32) -> [n]i32 { let r: [n]i32 = map(|x| {
        let start = x % 1000
        let v: i32, k: i32 = while(|v: i32, k: i32| v > 1, |v: i32, k: i32| { let w = if v % 2 == 0 { v / 2 } else { 3 * v + 1 } return w, k + 1 }, start, 0i32)
        return k }, a) return r }";
    check(ways, collatz, &[vec![corners(ElementType::I32, 0)]]);
    let escape = "fn f(a: [n]f32, b: [n]f32) -> [n]i32 { let r: [n]i32 = map(|cx, cy| {
        let x: f32, y: f32, k: i32 = while(|x: f32, y: f32, k: i32| x * x + y * y < 4.0 && k < 50, |x: f32, y: f32, k: i32| { return x * x - y * y + cx, 2.0 * x * y + cy, k + 1 }, 0.0, 0.0, 0i32)
        return k }, a, b) return r }";
    check(ways, escape, &[vec![corners(ElementType::F32, 0), corners(ElementType::F32, 1)]]);
    let guarded = "fn f(a: [n]i32, b: [n]i32) -> [n]i32 { let r: [n]i32 = map(|x, y| if y == 0 { 0 } else { x / y }, a, b) return r }";
    check(ways, guarded, &[vec![corners(ElementType::I32, 0), corners(ElementType::I32, 1)]]);
    let reads = "fn f(a: [n]f32, b: [n]i32) -> [n]f32 { let r: [n]f32 = map(|x, y| { let k = i64(y) let s = if k >= 0 && k < n { a[k] } else { x } return s + 1.0 }, a, b) return r }";
    check(ways, reads, &[vec![corners(ElementType::F32, 0), corners(ElementType::I32, 1)]]);
}

/// Long sides of branches, which gangs leave out where no lane takes them, beside sides that cost nothing.
pub fn sides_that_no_lane_takes(ways: &dyn Ways) {
    // Forty instructions.
    let step =
        |step| format!("let v{} = v{step} * 3 + w{step} let w{} = w{step} ^ (v{step} + {step})", step + 1, step + 1);
    let long = (0..20).map(step).collect::<Vec<_>>().join(" ") + " let v = v20 let w = w20";
    let sides = |then: &str, otherwise: &str| {
        format!(
            "fn f(a: [n]i32, t: i32) -> [n]i32, [n]bool, [n]f64, [n]i8 {{
            let p: [n]i32, q: [n]bool, r: [n]f64, s: [n]i8 = map(|x| {{
                let y = x / 7
                let p, q, r, s = if x < t {{ {then} }} else {{ {otherwise} }}
                return p, q, r, s }}, a)
            return p, q, r, s }}"
        )
    };
    let worked = |last: &str| format!("let v0 = x let w0 = y {long} return v, w < v, f64(w), {last}");
    let plain = "return y, x == t, 0.5, i8(t)";
    // Some lanes of each gang, those of some gangs, none and all of them, the first and the last.
    let numbers = |n: usize, number: fn(usize, usize) -> i32| -> Array {
        let numbers: Vec<i32> = (0..n).map(|at| number(at, n)).collect();
        Array::new(&[n], &numbers).unwrap_or_else(|error| panic!("{error}"))
    };
    let kinds: [fn(usize, usize) -> i32; 6] = [
        |at, _| (at * 37 % 23) as i32 - 11,
        |at, _| if at / 50 % 2 == 0 { 9 } else { -9 },
        |at, _| at as i32 + 1,
        |at, _| -1 - at as i32,
        |at, _| i32::from(at > 0),
        |at, n| i32::from(at + 1 < n),
    ];
    let inputs: Vec<Vec<Array>> = [0, 1, 7, 16, 33, 300]
        .into_iter()
        .flat_map(|n| kinds.iter().map(move |&kind| vec![numbers(n, kind), Array::scalar(1i32)]))
        .collect();
    check(ways, &sides(&worked("i8(v)"), plain), &inputs);
    check(ways, &sides(plain, &worked("i8(v)")), &inputs);
    check(ways, &sides(&worked("i8(v)"), &worked("i8(w)")), &inputs);
    // What is left out neither reads nor fails, and what one lane does fails there.
    let read = format!("let v0 = a[i64(x)] let w0 = 100 / (x - 12) {long} return v, w < v, f64(w), i8(v)");
    check(ways, &sides(plain, &read), &inputs);
    // The least three of many numbers, as most are larger than the third so far.
    let least = "fn f(a: [m]i64, b: [n]i64) -> [n]i64, [n]i64, [n]i64 {
        let rows: [n, m]i64 = generate([n, m], |i, j| (a[j] ^ b[i]) & 1023)
        let most: [n, m]i64 = generate([n, m], |i, j| 9223372036854775807)
        let x: [n]i64, y: [n]i64, z: [n]i64 = fold(|a, b, c, d, e, f| {
            let x, y, z = if c <= d { return a, b, c } else {
                let x, u = if a <= d { return a, d } else { return d, a }
                let v, w = if b <= e { return b, e } else { return e, b }
                let y, p = if u <= v { return u, v } else { return v, u }
                let q, r = if c <= f { return c, f } else { return f, c }
                let s = if w <= q { w } else { q }
                let z = if p <= s { p } else { s }
                return x, y, z }
            return x, y, z }, 9223372036854775807, 9223372036854775807, 9223372036854775807, rows, most, most)
        return x, y, z }";
    let rows =
        |m: usize, n: usize| vec![Random(3).array(ElementType::I64, &[m]), Random(5).array(ElementType::I64, &[n])];
    check(ways, least, &[rows(0, 5), rows(1, 1), rows(2, 9), rows(100, 20), rows(1000, 3)]);
}

/// Indices as integers of fewer bytes: their lowest ones.
pub fn indices_as_short_integers(ways: &dyn Ways) {
    for element in ElementType::ALL.into_iter().filter(|element| element.is_integer()) {
        let source = format!(
            "fn f(n: i64, m: i64, from: i64) -> [n]{element}, [n, m]{element}, [n]{element} {{
            let a: [n]{element} = generate([n], |i| {element}(from + i) + {element}(from - i))
            let b: [n, m]{element} = generate([n, m], |i, j| {element}(i * 3 + j) ^ {element}(j + from))
            let c: [n]{element} = generate([n], |i| {element}(2 * i + from))
            return a, b, c }}"
        );
        let sizes = |n: i64, m: i64, from: i64| [n, m, from].map(Array::scalar).to_vec();
        let inputs = [
            sizes(0, 3, 1),
            sizes(1, 1, -1),
            sizes(33, 17, 120),
            sizes(300, 5, 2_147_483_500),
            sizes(70, 33, -4_294_967_300),
            sizes(5, 300, i64::MAX - 100),
        ];
        check(ways, &source, &inputs);
    }
}

/// Integers of every type divided by constants that are powers of two, and by others.
pub fn integers_divided_by_constants(ways: &dyn Ways) {
    for element in ElementType::ALL.into_iter().filter(|element| element.is_integer()) {
        let most = element.bits() - u32::from(element.is_signed()) - 1;
        let powers = [0, 1, 2, 5, most - 1, most].map(|power| (1u128 << power).to_string());
        let others = if element.is_signed() { vec!["3", "-1", "-2", "-4"] } else { vec!["3", "7"] };
        let mut inputs: Vec<Vec<Array>> = [1, 7, 300].map(|n| vec![Random(7).array(element, &[n])]).into();
        inputs.push(vec![corners(element, 0)]);
        for by in powers.iter().map(String::as_str).chain(others) {
            let source = format!(
                "fn f(a: [n]{element}) -> [n]{element}, [n]{element}, [n]{element}, [n]{element} {{
                let q: [n]{element}, r: [n]{element}, p: [n]{element}, m: [n]{element} = map(|x| {{
                    return x / {by}, x % {by}, div(x, {by}), mod(x, {by}) }}, a)
                return q, r, p, m }}"
            );
            check(ways, &source, &inputs);
        }
    }
}

/// Makes a test of each case.
#[macro_export]
macro_rules! scalars {
    ($ways:expr) => {
        $crate::each!($ways, scalars: functions_of_one_operand, functions_of_two_operands, shifts_by_amounts_of_other_types_and_by_one_amount_for_all, conversions_between_all_types, fused_products_of_all_float_types, branches_and_loops_that_lanes_disagree_on, sides_that_no_lane_takes, indices_as_short_integers, integers_divided_by_constants);
    };
}
