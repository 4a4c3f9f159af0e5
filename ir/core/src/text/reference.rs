//! What there is to write: every operation and every function of scalar code, with an example of each.
//!
//! The names of operations are known to the parser from here. What a scalar function does is said where it is declared, and what it is for where
//! types are checked.

use super::takes::{binary_takes, unary_takes};
use crate::{Binary, Unary};

/// The inputs of the program that examples are statements of.
pub const EXAMPLE_INPUTS: &str =
    "xs: [n]f32, ys: [n]f32, ks: [n]i64, a: [p, q]f32, b: [q, r]f32, os: [o]i64, rows: [n][?]f32, frames: stream f32";

/// An operation on arrays, as text writes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OperationHelp {
    /// Its name.
    pub name: &'static str,
    /// Its arguments.
    pub form: &'static str,
    /// From the extents of its arrays to those of its results.
    pub shape: &'static str,
    /// What it does, in a sentence.
    pub says: &'static str,
    /// Statements with it, of a program that takes [`EXAMPLE_INPUTS`].
    pub example: &'static str,
    /// The page of the book that says all of it.
    pub page: &'static str,
}

/// A function or an operator of scalar code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ScalarHelp {
    /// Its name or sign.
    pub name: &'static str,
    /// How it is written: `x + y`, `exp(x)`.
    pub form: String,
    /// Which types it is for.
    pub takes: &'static str,
    /// What it does.
    pub says: &'static str,
    /// A statement with it, of a program that takes [`EXAMPLE_INPUTS`].
    pub example: String,
}

macro_rules! operations {
    ($($page:literal: { $($name:literal $form:literal, $shape:literal, $says:literal, $example:literal;)* })*) => {
        /// Every operation, in the order of the book.
        pub const OPERATIONS: &[OperationHelp] = &[$($(OperationHelp {
            name: $name, form: $form, shape: $shape, says: $says, example: $example, page: $page,
        },)*)*];
    };
}

operations! {
    "operations-elementwise": {
        "constant" "constant([1.0, 2.0])", "as written", "An array written out; rows in brackets.",
            "let t: [2, 2]f32 = constant([[1.0, 2.0], [3.0, 4.0]])";
        "generate" "generate([n, m], |i, j| …)", "the list", "The element at each index is a function of the index.",
            "let t: [n, 3]i64 = generate([n, 3], |i, j| 10 * i + j)";
        "map" "map(|x, …| …, a, …)", "the type of the result, at most that of each array", "A function of the elements at each index.",
            "let t: [n]f32 = map(|x, y| x * y, xs, ys)";
        "transform" "transform([n], |i| …, |x| …, a, …)", "the list", "A function of the elements at an index that another function computes.",
            "let t: [n]f32 = transform([n], |i| n - 1 - i, |x| 2.0 * x, xs)";
        "compute" "compute(a, …)", "that of the arrays", "The same arrays, stored: nothing is fused through it.",
            "let t: [n]f32 = compute(xs)";
    }
    "operations-shapes": {
        "backpermute" "backpermute([n, m], |i, j| { return j, i }, a, …)", "the list", "The element at an index that a function computes.",
            "let t: [q, p]f32 = backpermute([q, p], |i, j| { return j, i }, a)";
        "replicate" "replicate([_, m], a, …)", "one dimension for each of the list; `_` keeps one", "Repeats along new dimensions.",
            "let t: [n, 3]f32 = replicate([_, 3], xs)";
        "slice" "slice([_, j], a, …)", "the dimensions that `_` keeps", "Fixes dimensions at an index.",
            "let t: [p]f32 = slice([_, q - 1], a)";
        "reshape" "reshape([n, m], a, …)", "the list, of as many elements", "The same elements, row by row, in other extents.",
            "let k = p * q let t: [k]f32 = reshape([k], a)";
        "concat" "concat(a, b, …, dim: 0)", "the sum of the extents in `dim`; others are equal", "Arrays one after the other; `dim` is needed from rank 2 on.",
            "let k = n + n let t: [k]f32 = concat(xs, ys)";
    }
    "operations-folds": {
        "fold" "fold(|x, y| …, seed, a, …)", "[..sh, n] → [..sh]", "Combines the seed and all elements of each row, in order; the function is associative.",
            "let t: f32 = fold(|x, y| x + y, 0.0, xs)";
        "fold1" "fold1(|x, y| …, a, …)", "[..sh, n] → [..sh]", "The same without a seed, of rows that are not empty.",
            "let t: [p]f32 = fold1(|x, y| max(x, y), a)";
        "scanl" "scanl(|x, y| …, seed, a, …)", "[..sh, n] → [..sh, n + 1]", "Running combinations from the left: from the seed to the whole.",
            "let k = n + 1 let t: [k]f32 = scanl(|x, y| x + y, 0.0, xs)";
        "scanl1" "scanl1(|x, y| …, a, …)", "[..sh, n] → [..sh, n]", "Running combinations from the left: from the first element to the whole.",
            "let t: [n]f32 = scanl1(|x, y| x + y, xs)";
        "scanl'" "scanl'(|x, y| …, seed, a, …)", "[..sh, n] → [..sh, n], [..sh]", "Running combinations from the left, from the seed on; and the whole.",
            "let t: [n]f32, whole: f32 = scanl'(|x, y| x + y, 0.0, xs)";
        "scanr" "scanr(|x, y| …, seed, a, …)", "[..sh, n] → [..sh, n + 1]", "Running combinations from the right: from the whole to the seed.",
            "let k = n + 1 let t: [k]f32 = scanr(|x, y| x + y, 0.0, xs)";
        "scanr1" "scanr1(|x, y| …, a, …)", "[..sh, n] → [..sh, n]", "Running combinations from the right: from the whole to the last element.",
            "let t: [n]f32 = scanr1(|x, y| x + y, xs)";
        "scanr'" "scanr'(|x, y| …, seed, a, …)", "[..sh, n] → [..sh, n], [..sh]", "Running combinations from the right, to the seed; and the whole.",
            "let t: [n]f32, whole: f32 = scanr'(|x, y| x + y, 0.0, xs)";
        "replicate_seg" "replicate_seg([n], a, …, offsets: o)", "[segments] → [n]", "Repeats each element along a segment.",
            "let k = o - 1 let t: [n]i64 = replicate_seg([n], ks, offsets: os)";
        "fold_seg" "fold_seg(|x, y| …, seed, a, …, offsets: o)", "[..sh, n] → [..sh, segments]", "A fold of each segment; `offsets` has one entry more than there are segments.",
            "let k = o - 1 let t: [k]f32 = fold_seg(|x, y| x + y, 0.0, xs, offsets: os)";
        "fold1_seg" "fold1_seg(|x, y| …, a, …, offsets: o)", "[..sh, n] → [..sh, segments]", "The same without a seed, of segments that are not empty.",
            "let k = o - 1 let t: [k]f32 = fold1_seg(|x, y| max(x, y), xs, offsets: os)";
        "scanl_seg" "scanl_seg(|x, y| …, seed, a, …, offsets: o)", "[..sh, n] → [..sh, n + segments]", "A `scanl` of each segment.",
            "let k = n + o - 1 let t: [k]f32 = scanl_seg(|x, y| x + y, 0.0, xs, offsets: os)";
        "scanl1_seg" "scanl1_seg(|x, y| …, a, …, offsets: o)", "[..sh, n] → [..sh, n]", "A `scanl1` of each segment.",
            "let t: [n]f32 = scanl1_seg(|x, y| x + y, xs, offsets: os)";
        "scanl'_seg" "scanl'_seg(|x, y| …, seed, a, …, offsets: o)", "[..sh, n] → [..sh, n], [..sh, segments]", "A `scanl'` of each segment: bodies, then wholes.",
            "let k = o - 1 let t: [n]f32, wholes: [k]f32 = scanl'_seg(|x, y| x + y, 0.0, xs, offsets: os)";
        "scanr_seg" "scanr_seg(|x, y| …, seed, a, …, offsets: o)", "[..sh, n] → [..sh, n + segments]", "A `scanr` of each segment.",
            "let k = n + o - 1 let t: [k]f32 = scanr_seg(|x, y| x + y, 0.0, xs, offsets: os)";
        "scanr1_seg" "scanr1_seg(|x, y| …, a, …, offsets: o)", "[..sh, n] → [..sh, n]", "A `scanr1` of each segment.",
            "let t: [n]f32 = scanr1_seg(|x, y| x + y, xs, offsets: os)";
        "scanr'_seg" "scanr'_seg(|x, y| …, seed, a, …, offsets: o)", "[..sh, n] → [..sh, n], [..sh, segments]", "A `scanr'` of each segment: bodies, then wholes.",
            "let k = o - 1 let t: [n]f32, wholes: [k]f32 = scanr'_seg(|x, y| x + y, 0.0, xs, offsets: os)";
    }
    "operations-moving": {
        "permute" "permute(|new, old| …, defaults, values, at: (i, j), keep: c)", "that of the defaults", "Starts from the defaults and combines each value in at its target; `unique: true` or `ordered: true`.",
            "let t: [n]f32 = permute(|new, old| new + old, xs, ys, at: ks)";
        "expand" "expand(|x| size, |x, j| …, a, …)", "[n] → i64, [total]", "Replaces each element by as many as `size` says.",
            "let k: i64, t: [k]f32 = expand(|x| 2, |x, j| x + f32(j), xs)";
        "permuted_expand" "permuted_expand(|x| size, |x, j| { return target, value }, |new, old| …, defaults, a, …)", "that of the defaults", "An `expand` whose elements go to a `permute` at once.",
            "let t: [n]f32 = permuted_expand(|k| k, |k, j| { return j, 1.0f32 }, |new, old| new + old, xs, ks)";
        "filter" "filter(|x, …| …, a, …)", "[..sh, n] → i64, [number]", "The elements of which the function holds, in row-major order.",
            "let k: i64, t: [k]f32 = filter(|x| x > 0.0, xs)";
        "sort" "sort(a, carry: (b, …))", "that of the arrays", "Sorts each row, stably, and takes other arrays along; several keys stand in parentheses.",
            "let t: [n]f32, u: [n]i64 = sort(xs, carry: ks)";
    }
    "operations-stencils": {
        "stencil" "stencil(|l, r| …, a[-1], a[1], a: clamp)", "the type of the result", "A function of the elements around; outside: clamp, mirror, wrap, constant(0.0), function(|i| …).",
            "let t: [n]f32 = stencil(|l, r| 0.5 * (l + r), xs[-1], xs[1], xs: clamp)";
    }
    "operations-control": {
        "unit" "unit(|| { … })", "scalars", "Scalar code with several results; mostly written `let x = …`.",
            "let d: i64, m: i64 = unit(|| { let d = n / 10 return d, n - 10 * d })";
        "cond" "cond(c, || { … }, || { … })", "those of the blocks", "The results of one of two blocks.",
            "let t: [n]f32 = cond(n > 5, || { return xs }, || { return ys })";
        "while" "while(|v: f32| …, |v: f32| …, start, …)", "those of the starts", "Runs a block on a state as long as another gives `true`.",
            "let t: f32 = while(|v: f32| { let c = v > 1.0 return c }, |v: f32| { let h = v / 2.0 return h }, xs[0])";
        "foreign" "foreign(\"name\", |x: [n]f32| { … }, a, …)", "those of the block", "A function that a backend may have; the block says what it gives.",
            "let t: [n]f32 = foreign(\"twice\", |v: [m]f32| { let w: [m]f32 = map(|x| 2.0 * x, v) return w }, xs)";
    }
    "nested": {
        "nest" "nest([n], |i| { … })", "the list, before that of each result", "A block of array operations for each index; `map` and `generate` with such functions are nests.",
            "let t: [p]f32 = nest([p], |i| { let row: [q]f32 = slice([i, _], a) let u: f32 = fold(|x, y| x + y, 0.0, row) return u })";
        "element" "element(a, i)", "an i64 for each `?`, then that of the array", "One array of an array of arrays.",
            "let k: i64, row: [k]f32 = element(rows, 0)";
    }
    "streams": {
        "consume" "consume([limit], |i, x: f32| { … yield elements(y) }, s, …)", "as the sinks say", "Goes through streams; sinks: elements, tabulate, accumulate, stream_out.",
            "let k: i64, v: [k]f32 = consume(|i, x: f32| { let y = x * x yield elements(y) }, frames)";
    }
    "pass-clustering": {
        "cluster" "cluster(|| { vertical a: … = … last b: … = … return b }, order: descending)", "those of the block", "Operations that become one kernel; the pass `clustering` makes it.",
            "let t: f32 = cluster(|| { vertical u: [n]f32 = map(|x| x + 1.0, xs) last v: f32 = fold(|x, y| x + y, 0.0, u) return v })";
    }
}

/// Whether an operation is written so; `while` is a keyword.
pub(super) fn is_operation(name: &str) -> bool {
    name != "while" && OPERATIONS.iter().any(|operation| operation.name == name)
}

/// Every function and operator of scalar code that has operands of one type.
pub fn scalar_functions() -> Vec<ScalarHelp> {
    let unary = Unary::ALL.iter().map(|function| {
        let (name, takes) = (function.text(), unary_takes(*function).what());
        let call = |x: &str| {
            if name.starts_with(|c: char| c.is_alphabetic()) { format!("{name}({x})") } else { format!("{name}{x}") }
        };
        let (operand, result) = match takes {
            "bool" => ("(x > 0.0)", "bool"),
            "integers" => ("i64(x)", "i64"),
            _ if matches!(function, Unary::IsNan | Unary::IsInf) => ("x", "bool"),
            _ => ("x", "f32"),
        };
        let example = format!("let t: [n]{result} = map(|x| {}, xs)", call(operand));
        ScalarHelp { name, form: call("x"), takes, says: function.summary(), example }
    });
    let binary = Binary::ALL.iter().map(|function| {
        let (name, takes) = (function.text(), binary_takes(*function).what());
        let named = name.starts_with(|c: char| c.is_alphabetic());
        let call = |x: &str, y: &str| if named { format!("{name}({x}, {y})") } else { format!("{x} {name} {y}") };
        let (x, y, result) = match takes {
            "bool" => ("(x > 0.0)", "(y > 0.0)", "bool"),
            "integers" | "integers, bool" => ("i64(x)", "i64(y)", "i64"),
            _ if function.is_comparison() => ("x", "y", "bool"),
            _ => ("x", "y", "f32"),
        };
        let example = format!("let t: [n]{result} = map(|x, y| {}, xs, ys)", call(x, y));
        ScalarHelp { name, form: call("x", "y"), takes, says: function.summary(), example }
    });
    let others = [
        (
            "fma",
            "fma(x, y, z)",
            "floats",
            "x * y + z, rounded once.",
            "let t: [n]f32 = map(|x, y| fma(x, y, 1.0), xs, ys)",
        ),
        (
            "assert",
            "assert(c, \"message\", x)",
            "any",
            "x where the condition holds, else a run-time error.",
            "let t: [n]f32 = map(|x| assert(x > 0.0, \"positive\", x), xs)",
        ),
        (
            "if",
            "if c { x } else { y }",
            "any",
            "One of two values; `else if` continues it.",
            "let t: [n]f32 = map(|x| if x > 0.0 { x } else { -x }, xs)",
        ),
        (
            "f32",
            "f32(x)",
            "any",
            "Converts; each type is a function: i64(x), u8(x), f64(x).",
            "let t: [n]i64 = map(|x| i64(x), xs)",
        ),
        (
            "bits_u32",
            "bits_u32(x)",
            "any of as many bits",
            "The bits of a value as another type: bits_f32(x), bits_i64(x).",
            "let t: [n]u32 = map(|x| bits_u32(x), xs)",
        ),
        ("a[i, j]", "a[i, j]", "arrays", "Reads an element.", "let t: [n]f32 = map(|k| xs[k], ks)"),
        (
            "a.flat[p]",
            "a.flat[p]",
            "arrays",
            "Reads an element by its place, row by row.",
            "let t: [n]f32 = map(|k| a.flat[k], ks)",
        ),
    ];
    let others = others.into_iter().map(|(name, form, takes, says, example)| ScalarHelp {
        name,
        form: form.to_owned(),
        takes,
        says,
        example: example.to_owned(),
    });
    unary.chain(binary).chain(others).collect()
}
