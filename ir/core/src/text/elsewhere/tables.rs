//! The names and signs, as tables.

use super::{Elsewhere, known};

/// Functions and operations, by the last part of their names.
pub(in crate::text) const CALLS: &[Elsewhere] = &[
    known(
        &["reduce", "foldl", "foldr", "foldl'", "inject"],
        "is written `fold`",
        "let s: f32 = fold(|x, y| x + y, 0.0, xs)",
    ),
    known(
        &["sum", "total"],
        "is written as a `fold`, which goes along the last dimension",
        "let s: f32 = fold(|x, y| x + y, 0.0, xs)",
    ),
    known(&["product", "prod"], "is written as a `fold`", "let s: f32 = fold(|x, y| x * y, 1.0, xs)"),
    known(&["maximum", "amax", "nanmax"], "is written as a `fold1`", "let s: f32 = fold1(|x, y| max(x, y), xs)"),
    known(&["minimum", "amin", "nanmin"], "is written as a `fold1`", "let s: f32 = fold1(|x, y| min(x, y), xs)"),
    known(
        &["mean", "average", "avg"],
        "is written as a `fold`",
        "let s: f32 = fold(|x, y| x + y, 0.0, xs) let m = s / f32(n)",
    ),
    known(
        &["any", "exists", "some"],
        "is written as a `fold`",
        "let t: [n]bool = map(|x| x > 0.0, xs) let some: bool = fold(|x, y| x || y, false, t)",
    ),
    known(
        &["all", "every", "forall"],
        "is written as a `fold`",
        "let t: [n]bool = map(|x| x > 0.0, xs) let all: bool = fold(|x, y| x && y, true, t)",
    ),
    known(
        &["count", "count_nonzero", "count_if"],
        "is written as a `fold`",
        "let t: [n]i64 = map(|x| i64(x > 0.0), xs) let c: i64 = fold(|x, y| x + y, 0, t)",
    ),
    known(
        &["dot", "inner", "vdot", "inner_product"],
        "is written as a `fold` of a `map`",
        "let t: [n]f32 = map(|x, y| x * y, xs, ys) let s: f32 = fold(|x, y| x + y, 0.0, t)",
    ),
    known(
        &["matmul", "mm", "einsum", "matrix_multiply"],
        "is written as a `fold` of products",
        "let t: [p, r, q]f32 = generate([p, r, q], |i, j, l| a[i, l] * b[l, j]) let c: [p, r]f32 = fold(|x, y| x + y, 0.0, t)",
    ),
    known(
        &["argmax", "argmin"],
        "is written as a `fold1` of pairs",
        "let is: [n]i64 = generate([n], |i| i) let v: f32, k: i64 = fold1(|x, i, y, j| { return if y > x { y } else { x }, if y > x { j } else { i } }, xs, is)",
    ),
    known(
        &["scan", "cumsum", "prefix_sum", "inclusive_scan", "scan_inclusive", "accumulate"],
        "is written `scanl1`, or `scanl` with a seed",
        "let s: [n]f32 = scanl1(|x, y| x + y, xs)",
    ),
    known(
        &["exclusive_scan", "prescan", "prescanl", "scan_exclusive"],
        "is written `scanl'`, which gives the total too",
        "let s: [n]f32, t: f32 = scanl'(|x, y| x + y, 0.0, xs)",
    ),
    known(
        &[
            "zip_with",
            "zipWith",
            "zipwith",
            "map2",
            "map3",
            "imap",
            "for_each",
            "foreach",
            "apply",
            "vmap",
            "vectorize",
            "pmap",
            "fmap",
        ],
        "is written `map`, of one array or several",
        "let s: [n]f32 = map(|x, y| x + y, xs, ys)",
    ),
    known(
        &["zip", "unzip"],
        "is not needed: an array of pairs is two arrays",
        "let s: [n]f32 = map(|x, y| x + y, xs, ys)",
    ),
    known(
        &["gather", "take_along_axis", "fancy_index"],
        "is written as a read of the array",
        "let g: [n]f32 = map(|k| xs[k], ks)",
    ),
    known(
        &["scatter", "put", "update", "index_put"],
        "is written `permute`",
        "let t: [n]f32 = permute(|new, old| new, xs, ys, at: ks)",
    ),
    known(
        &["scatter_add", "histogram", "bincount", "reduce_by_index", "hist", "segment_sum"],
        "is written `permute`",
        "let t: [n]f32 = permute(|new, old| new + old, xs, ys, at: ks)",
    ),
    known(
        &["iota", "range", "arange", "indices", "enumerate", "tabulate", "build", "from_function", "fromfunction"],
        "is written `generate`",
        "let is: [n]i64 = generate([n], |i| i)",
    ),
    known(&["linspace"], "is written `generate`", "let t: [n]f32 = generate([n], |i| f32(i) / f32(n - 1))"),
    known(
        &["zeros", "ones", "full", "fill", "zeros_like", "ones_like", "full_like", "empty"],
        "is written `generate`",
        "let z: [n]f32 = generate([n], |i| 0.0)",
    ),
    known(
        &["flatten", "ravel", "unflatten", "view"],
        "is written `reshape`",
        "let k = p * q let f: [k]f32 = reshape([k], a)",
    ),
    known(
        &["len", "length", "size", "shape", "numel", "dim", "ndim", "extent"],
        "is not needed: `xs: [n]f32` has `n` elements",
        "let half = n / 2",
    ),
    known(
        &["transpose", "T", "permute_dims", "swapaxes", "rearrange"],
        "is written `backpermute`",
        "let t: [q, p]f32 = backpermute([q, p], |i, j| { return j, i }, a)",
    ),
    known(
        &["reverse", "flip", "rev"],
        "is written `backpermute`",
        "let t: [n]f32 = backpermute([n], |i| n - 1 - i, xs)",
    ),
    known(&["head", "first", "hd"], "is written as a read", "let h = xs[0]"),
    known(
        &["tail", "drop", "tl", "skip"],
        "is written `backpermute`",
        "let k = n - 1 let t: [k]f32 = backpermute([k], |i| i + 1, xs)",
    ),
    known(&["init", "take"], "is written `backpermute`", "let k = n - 1 let t: [k]f32 = backpermute([k], |i| i, xs)"),
    known(
        &["rotate", "roll", "shift"],
        "is written `backpermute`",
        "let t: [n]f32 = backpermute([n], |i| mod(i + 1, n), xs)",
    ),
    known(
        &["append", "concatenate", "cat", "hstack", "vstack", "stack"],
        "is written `concat`",
        "let k = n + n let c: [k]f32 = concat(xs, ys)",
    ),
    known(
        &["broadcast", "broadcast_to", "tile", "repeat", "expand_dims", "unsqueeze"],
        "is written `replicate`",
        "let t: [n, 3]f32 = replicate([_, 3], xs)",
    ),
    known(
        &["argsort", "sort_by", "sort_by_key", "sorted", "order"],
        "is written `sort`, which carries other arrays along",
        "let is: [n]i64 = generate([n], |i| i) let k: [n]f32, order: [n]i64 = sort(xs, carry: is)",
    ),
    known(
        &["where", "select", "ifelse", "if_then_else"],
        "is written with `if`",
        "let t: [n]f32 = map(|x, y| if x > 0.0 { x } else { y }, xs, ys)",
    ),
    known(
        &["partition", "compress", "nonzero", "filter_map", "remove_if", "copy_if"],
        "is written `filter`",
        "let k: i64, v: [k]f32 = filter(|x| x > 0.0, xs)",
    ),
    known(
        &["convolve", "conv", "conv1d", "conv2d", "convolution"],
        "is written `stencil`",
        "let c: [n]f32 = stencil(|l, m, r| 0.25 * l + 0.5 * m + 0.25 * r, xs[-1], xs[0], xs[1], xs: clamp)",
    ),
    known(
        &["random", "rand", "randn", "randint", "uniform", "normal"],
        "is not there in text: numbers come as an input, or are hashed from their index; the embedded language has `random`",
        "let hashed: [n]u32 = generate([n], |i| u32(i) * 2654435761 ^ u32(i) >> 7)",
    ),
    known(&["fabs", "absolute", "absf"], "is written `abs`", "let t: [n]f32 = map(|x| abs(x), xs)"),
    known(&["ln", "logn"], "is written `log`", "let t: [n]f32 = map(|x| log(x), xs)"),
    known(&["power", "powf", "powi", "powr"], "is written `pow`", "let t: [n]f32 = map(|x| pow(x, 1.5), xs)"),
    known(&["square"], "is written as a product", "let t: [n]f32 = map(|x| x * x, xs)"),
    known(
        &["rsqrt", "recip", "reciprocal", "inversesqrt"],
        "is written as a quotient",
        "let t: [n]f32 = map(|x| 1.0 / sqrt(x), xs)",
    ),
    known(&["fmin", "fmax"], "is written `min` or `max`", "let t: [n]f32 = map(|x, y| max(x, y), xs, ys)"),
    known(
        &["clip", "clamp", "saturate"],
        "is written with `min` and `max`",
        "let t: [n]f32 = map(|x| min(max(x, 0.0), 1.0), xs)",
    ),
    known(&["sigmoid", "logistic"], "is written with `exp`", "let t: [n]f32 = map(|x| 1.0 / (1.0 + exp(-x)), xs)"),
    known(&["relu"], "is written with `max`", "let t: [n]f32 = map(|x| max(x, 0.0), xs)"),
    known(
        &["floor_div", "floor_divide", "floordiv", "quot"],
        "is written `div`, or `/`, which rounds to zero",
        "let k = div(n, 2)",
    ),
    known(
        &["fmod", "rem", "remainder", "modulo"],
        "is written `mod(a, b)`, of the sign of `b`, or `%`, of that of `a`",
        "let k = n % 2",
    ),
    known(&["float", "float32", "to_f32", "single", "r32"], "is written `f32`", "let y = f32(n)"),
    known(&["double", "float64", "to_f64", "r64"], "is written `f64`", "let y = f64(n)"),
    known(&["int", "int32", "to_i32"], "is written `i32`", "let k = i32(n)"),
    known(
        &["astype", "cast", "convert", "to", "as", "fromIntegral", "from_integral", "int64", "toInt"],
        "is written as the name of the type",
        "let k = i64(xs[0])",
    ),
    known(&["isnan", "isNaN"], "is written `is_nan`", "let t: [n]bool = map(|x| is_nan(x), xs)"),
    known(
        &["isinf", "isfinite", "is_finite"],
        "is written with `is_inf` and `is_nan`",
        "let t: [n]bool = map(|x| is_inf(x), xs)",
    ),
    known(
        &["print", "println", "printf", "trace", "display"],
        "is not needed: `run` prints what the program returns",
        "fn f(xs: [n]f32) -> [n]f32 { let y: [n]f32 = map(|x| x + 1.0, xs) return y }",
    ),
    known(
        &["let_", "def", "fun", "func", "function", "lambda"],
        "is not needed: functions are written where they are used",
        "let y: [n]f32 = map(|x| x + 1.0, xs)",
    ),
    known(
        &["for", "loop", "forloop", "fori_loop", "iterate", "scan_loop"],
        "is written `map` or `fold` over elements, and `while` over steps",
        "let v, k = (while(|v: f32, k: i64| k < 10, |v: f32, k: i64| { return v * 2.0, k + 1 }, 1.0, 0))",
    ),
];

/// Words that stand where no name is expected.
pub(in crate::text) const WORDS: &[Elsewhere] = &[
    known(
        &["def", "fun", "func", "function", "define", "proc", "procedure", "entry", "program", "main", "void"],
        "is written `fn`; a text holds one program, and functions of elements stand where they are used",
        "fn f(xs: [n]f32) -> [n]f32 { let y: [n]f32 = map(|x| x + 1.0, xs) return y }",
    ),
    known(
        &["for", "loop", "foreach", "do", "forall", "repeat"],
        "is written `map` or `fold` over elements, and `while` over steps",
        "let v, k = (while(|v: f32, k: i64| k < 10, |v: f32, k: i64| { return v * 2.0, k + 1 }, 1.0, 0))",
    ),
    known(
        &["var", "val", "const", "mut", "auto", "set", "static"],
        "is written `let`; a value never changes",
        "let y = 2.0 * xs[0]",
    ),
    known(
        &["in", "begin", "end", "done", "pass"],
        "is not needed: a statement ends where the next one begins",
        "let y = 2.0 * xs[0] let z = y * y",
    ),
    known(
        &["then"],
        "is not needed: both values of an `if` stand in braces",
        "let y = if n > 2 { 1.0f32 } else { 2.0 }",
    ),
    known(
        &["elif", "elsif", "elseif"],
        "is written `else if`",
        "let y = if n > 2 { 1.0f32 } else if n > 1 { 2.0 } else { 3.0 }",
    ),
    known(
        &["match", "case", "switch", "when", "unless"],
        "is written `if`",
        "let y = if n > 2 { 1.0f32 } else if n > 1 { 2.0 } else { 3.0 }",
    ),
    known(&["as"], "is written as the name of the type", "let t: [n]i64 = map(|x| i64(x), xs)"),
    known(&["and"], "is written `&&`", "let t: [n]bool = map(|x| x > 0.0 && x < 1.0, xs)"),
    known(&["or"], "is written `||`", "let t: [n]bool = map(|x| x < 0.0 || x > 1.0, xs)"),
    known(&["not"], "is written `!`", "let t: [n]bool = map(|x| !(x > 0.0), xs)"),
    known(&["mod", "rem"], "is written `mod(a, b)`, of the sign of `b`, or `%`, of that of `a`", "let k = mod(n, 2)"),
    known(&["div", "quot"], "is written `div(a, b)`, or `/`, which rounds to zero", "let k = div(n, 2)"),
    known(&["lambda", "fn", "where"], "is written with bars", "let y: [n]f32 = map(|x| x + 1.0, xs)"),
];

/// Values.
pub(in crate::text) const VALUES: &[Elsewhere] = &[
    known(&["True", "TRUE"], "is written `true`", "let t: [n]bool = map(|x| true, xs)"),
    known(&["False", "FALSE"], "is written `false`", "let t: [n]bool = map(|x| false, xs)"),
    known(&["pi", "PI", "M_PI"], "is written as a number", "let pi = 3.14159265f32"),
    known(&["inf", "Inf", "INFINITY", "infinity", "Infinity"], "is written with its type", "let top = inf_f32"),
    known(&["nan", "NaN", "NAN"], "is written with its type", "let none = nan_f32"),
];

/// Signs.
pub(in crate::text) const SIGNS: &[Elsewhere] = &[
    known(&["//"], "is written `div`, or `/`, which rounds to zero; a comment begins with `#`", "let k = div(n, 2)"),
    known(&["/*"], "begins no comment: `#` does, up to the end of its line", "let k = n # elements"),
    known(&["--"], "begins no comment: `#` does, up to the end of its line", "let k = n # elements"),
    known(&["**"], "is written `pow`", "let t: [n]f32 = map(|x| pow(x, 1.5), xs)"),
    known(
        &["->", "=>", "\\"],
        "makes no function: its parameters stand between bars",
        "let y: [n]f32 = map(|x| x + 1.0, xs)",
    ),
    known(&[":="], "is written `let` and `=`", "let y = 2.0 * xs[0]"),
    known(
        &["+=", "-=", "*=", "/="],
        "is not there: a value never changes, and loops hand on new ones",
        "let s: f32 = fold(|x, y| x + y, 0.0, xs)",
    ),
    known(
        &["++", "<>"],
        "is written `concat` of arrays, `+ 1` of numbers, `!=` of what differs",
        "let k = n + n let c: [k]f32 = concat(xs, ys)",
    ),
    known(
        &["|>", "$"],
        "is written by names",
        "let y: [n]f32 = map(|x| x + 1.0, xs) let s: f32 = fold(|x, y| x + y, 0.0, y)",
    ),
    known(&["?"], "is written `if`", "let y = if n > 2 { 1.0f32 } else { 2.0 }"),
    known(
        &["@"],
        "is written as a `fold` of products",
        "let t: [p, r, q]f32 = generate([p, r, q], |i, j, l| a[i, l] * b[l, j]) let c: [p, r]f32 = fold(|x, y| x + y, 0.0, t)",
    ),
    known(
        &[".."],
        "makes no range, and no part of an array: `generate` and `backpermute` do",
        "let is: [n]i64 = generate([n], |i| i) let k = n - 1 let t: [k]f32 = backpermute([k], |i| i + 1, xs)",
    ),
    known(&["'"], "begins no string: `\"` does, and characters are numbers", "let letter = 97u8"),
];

/// Names of arguments.
pub(in crate::text) const LABELS: &[Elsewhere] = &[
    known(
        &["dim", "dims", "axis", "axes", "dimension", "dimensions"],
        "is not needed for the last dimension, and another one is made the last",
        "let turned: [q, p]f32 = backpermute([q, p], |i, j| { return j, i }, a) let t: [q]f32 = fold(|x, y| x + y, 0.0, turned)",
    ),
    known(
        &["init", "initial", "seed", "start", "identity"],
        "stands behind the function, without a name",
        "let s: f32 = fold(|x, y| x + y, 0.0, xs)",
    ),
    known(
        &["reverse", "descending", "ascending"],
        "is not there: keys go up, and others are made",
        "let keys: [n]f32 = map(|x| -x, xs) let sorted: [n]f32, t: [n]f32 = sort(keys, carry: xs)",
    ),
    known(
        &["key", "keys", "by", "compare", "cmp"],
        "is an array of keys, before those that go along",
        "let keys: [n]f32 = map(|x| abs(x), xs) let sorted: [n]f32, t: [n]f32 = sort(keys, carry: xs)",
    ),
];

/// Functions where an operation takes none, by the operation.
pub(in crate::text) const FUNCTIONS: &[Elsewhere] = &[
    known(
        &["sort"],
        "compares no elements by a function: keys are made, go up, and take others along",
        "let keys: [n]f32 = map(|x| -x, xs) let sorted: [n]f32, t: [n]f32 = sort(keys, carry: xs)",
    ),
    known(
        &["permute"],
        "takes one function, and targets as arrays",
        "let targets: [n]i64 = generate([n], |i| n - 1 - i) let t: [n]f32 = permute(|new, old| new + old, xs, ys, at: targets)",
    ),
];

/// Element types.
pub(in crate::text) const TYPES: &[(&[&str], &str)] = &[
    (&["half", "float16", "Float16"], "f16"),
    (&["float", "float32", "Float", "Float32", "single", "real"], "f32"),
    (&["double", "float64", "Double", "Float64"], "f64"),
    (&["char", "int8", "Int8", "schar"], "i8"),
    (&["short", "int16", "Int16"], "i16"),
    (&["int", "int32", "Int32", "integer"], "i32"),
    (&["long", "int64", "Int", "Int64", "isize", "usize", "size_t", "index"], "i64"),
    (&["byte", "uint8", "Word8", "uchar"], "u8"),
    (&["ushort", "uint16", "Word16"], "u16"),
    (&["uint", "uint32", "unsigned", "Word32"], "u32"),
    (&["ulong", "uint64", "Word64"], "u64"),
    (&["boolean", "Bool", "Boolean", "logical"], "bool"),
];
