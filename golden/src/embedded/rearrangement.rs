//! Permutes, filters, sorts.

use fusebox_ir::term::Terms;
use fusebox_lang::*;

use super::Embedded;

pub(super) const ALL: &[Embedded] = &[
    Embedded { name: "histogram", build: counts },
    Embedded { name: "filter", build: above },
    Embedded { name: "sieve", build: sieve },
    Embedded { name: "radix_sort", build: radix_sort },
    Embedded { name: "expand", build: expanded },
];

/// The text parts keys around many pivots at once, in lanes that run one at a time; here it is the shorter quicksort, flattened by hand.
pub(super) const ANOTHER_WAY: &[Embedded] = &[Embedded { name: "quicksort", build: quicksort }];

fn counts() -> Result<Terms, BuildError> {
    let f = |keys: Acc<Vector<i32>>, bins: Exp<i64>| {
        let ones = fill(keys.length(), 1i32).named("ones");
        permute(|new, old| new + old, fill(bins, 0i32).named("zeros"), |i| keys.at(i).cast::<i64>(), ones)
    };
    Ok(program("histogram", f).inputs(["keys", "bins"]).results(["counts"]).build()?.terms)
}

fn above() -> Result<Terms, BuildError> {
    let f = |xs: Acc<Vector<f32>>| {
        let kept = filter_vector(|x: Exp<f32>| x.gt(0.5), xs);
        (kept.length(), kept)
    };
    Ok(program("filter", f).inputs(["xs"]).results(["count", "kept"]).build()?.terms)
}

// ANCHOR: sieve
fn sieve() -> Result<Terms, BuildError> {
    let f = |n: Exp<i64>| {
        let start = generate(n, |i| i.gt(1)).named("start");
        let strike = |(p, flags): (Exp<i64>, Acc<Vector<bool>>)| {
            let multiples = cond(flags.at(p), (n - 1) / p - p + 1, 0).named("multiples");
            let left = permute_unique(flags, |j| p * p + j * p, fill(multiples, false)).named("left");
            (p + 1, left)
        };
        let (_, flags) = awhile((constant(2i64), start), |(p, _)| (p * p).lt(n), strike);
        let primes = filter_vector(|number: Exp<(i64, bool)>| number.snd(), zip(iota(n), flags));
        (primes.length(), unzip(primes).0)
    };
    Ok(program("sieve", f).inputs(["n"]).results(["count", "primes"]).build()?.terms)
}
// ANCHOR_END: sieve

fn radix_sort() -> Result<Terms, BuildError> {
    const SIGN: u32 = 0x8000_0000;
    let f = |keys: Acc<Vector<i32>>| {
        let pass = |(xs, bit): (Acc<Vector<u32>>, Exp<i64>)| {
            let zeros = xs.map(|x| 1 - ((x >> bit) & 1).cast::<i64>()).named("zeros");
            let (down, total) = scanl_total(|a, b| a + b, 0, zeros);
            let total = total.get();
            let place = |i: Exp<i64>| {
                let before = down.at(i).named("before");
                cond(zeros.at(i).eq_(1), before, total + i - before)
            };
            (permute_unique(xs, place, xs).named("ys"), bit + 1)
        };
        let flipped = keys.map(|k| k.bits::<u32>() ^ SIGN).named("flipped");
        let (ordered, _) = awhile((flipped, constant(0i64)), |(_, bit)| bit.lt(32), pass);
        ordered.map(|x| (x ^ SIGN).bits::<i32>())
    };
    Ok(program("radix_sort", f).inputs(["keys"]).results(["sorted"]).build()?.terms)
}

/// A vector sorted; `le` says that a key does not come after another. Equal keys keep their order.
///
/// Flattened: every turn parts all segments at once, each around one of its keys. Each element knows its segment. Pivots stand anywhere, so
/// that no order of keys takes many turns. Once segments are short, each element counts those in front of it.
pub(super) fn quicksorted<T: Elt>(keys: Acc<Vector<T>>, le: impl Fn(Exp<T>, Exp<T>) -> Exp<bool>) -> Acc<Vector<T>> {
    type Bounds = Acc<Vector<i64>>;
    /// Keys, where the segment of each begins and ends, and where pivots stand in their segments, in parts of 65,536.
    type State<T> = (Acc<Vector<T>>, Bounds, Bounds, Exp<i64>);
    let n = keys.length();
    let in_front = |keys: Acc<Vector<T>>, a: Exp<i64>, b: Exp<i64>| {
        let (x, y) = (keys.at(a), keys.at(b));
        (le(x, y) & (a.lt(b) | !le(y, x))).cast::<i64>()
    };
    let part = |(keys, begins, ends, chance): State<T>| {
        let pivot = |begin: Exp<i64>, end: Exp<i64>| (begin + (((end - begin + 1) * chance) >> 16)).named("pivot");
        let smaller = generate(n, |j| in_front(keys, j, pivot(begins.at(j), ends.at(j)))).named("smaller");
        let before = scanl(|a, b| a + b, 0, smaller).named("before");
        let (at, begins, ends) = unzip3(generate(n, |j| {
            let (begin, end) = (begins.at(j), ends.at(j));
            let pivot = pivot(begin, end);
            let below = (before.at(j) - before.at(begin)).named("below");
            let middle = (begin + (before.at(end + 1) - before.at(begin))).named("middle");
            let above = middle + (j - begin - below) + j.lt(pivot).cast::<i64>();
            let at = cond(before.at(j + 1).gt(before.at(j)), begin + below, cond(j.eq_(pivot), middle, above));
            // The pivot becomes a segment of its own.
            let begin = cond(j.lt(middle), begin, j.min(middle + 1));
            (at, begin, cond(j.gt(middle), end, j.max(middle - 1)))
        }));
        (permute_unique(keys, |j| at.at(j), keys).named("keys"), begins, ends, (chance * 25173 + 13849) & 65535)
    };
    // What counting would take: eight steps for each element are less than a turn and what comes after it.
    let long = |(_, begins, ends, _): State<T>| {
        sum(zip_with(|begin, end| end - begin, begins, ends)).get().named("steps").gt(n * 8)
    };
    let start = (keys, fill(n, 0i64), fill(n, n - 1), constant(32768i64));
    let (keys, begins, ends, _) = awhile(start, long, part);
    let place = generate(n, |j| {
        let start = lift::<(i64, i64)>((begins.at(j), begins.at(j)));
        let step = |state: Exp<(i64, i64)>| (state.fst() + 1, state.snd() + in_front(keys, state.fst(), j));
        while_loop(start, |state| state.fst().le(ends.at(j)), step).snd()
    });
    permute_unique(keys, |j| place.named("place").at(j), keys)
}

fn quicksort() -> Result<Terms, BuildError> {
    // NaN comes last.
    let f = |keys: Acc<Vector<f32>>| quicksorted(keys, |a, b| a.le(b) | b.is_nan());
    Ok(program("quicksort", f).inputs(["keys"]).results(["sorted"]).build()?.terms)
}

fn expanded() -> Result<Terms, BuildError> {
    type Segments = Acc<Vector<i32>>;
    let f = |sizes: Segments, start: Segments, step: Segments, weight: Segments, m: Exp<i64>| {
        let wide = |x: Exp<i32>| x.cast::<i64>();
        let elements = expand(
            |segment: Exp<(i32, i32, i32, i32)>| wide(segment.parts().0),
            |segment, j| {
                let (_, start, step, weight) = segment.parts();
                ((wide(start) + j * wide(step)) & (m - 1), weight + j.cast::<i32>())
            },
            zip4(sizes, start, step, weight),
        );
        let (at, values) = unzip(elements);
        permute(|new, old| new + old, fill(m, 0i32).named("zeros"), |i| at.at(i), values)
    };
    Ok(program("expand", f).inputs(["sizes", "start", "step", "weight", "m"]).results(["counts"]).build()?.terms)
}
