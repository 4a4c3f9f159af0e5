//! Permutes, filters, sorts.

use fusebox_ir::term::Terms;
use fusebox_lang::*;

use super::Embedded;

pub(super) const ALL: &[Embedded] = &[
    Embedded { name: "histogram", build: counts },
    Embedded { name: "filter", build: above },
    Embedded { name: "sieve", build: sieve },
    Embedded { name: "radix_sort", build: radix_sort },
    Embedded { name: "quicksort", build: quicksort },
    Embedded { name: "expand", build: expanded },
];

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

/// An element, and the bounds of its segment.
#[derive(Clone, Copy, Debug, Elt)]
struct Item {
    key: f32,
    begin: i64,
    end: i64,
}

/// Flattened: every turn splits all segments at once, each by its first element, into less, equal, greater; one scan counts all three.
fn quicksort() -> Result<Terms, BuildError> {
    let f = |keys: Acc<Vector<f32>>| {
        let n = keys.length();
        let split = |(_, items): (Exp<bool>, Acc<Vector<Item>>)| {
            let pivot = |item: Exp<Item>| items.at(item.begin()).key().named("pivot");
            let kinds = items.map(|item| {
                let (x, pivot) = (item.key(), pivot(item));
                let one = |holds: Exp<bool>| holds.cast::<i64>();
                (one(x.lt(pivot)), one(x.eq_(pivot)), one(x.gt(pivot)))
            });
            let add = |a: Exp<(i64, i64, i64)>, b: Exp<(i64, i64, i64)>| {
                let ((a, b, c), (d, e, f)) = (a.parts(), b.parts());
                (a + d, b + e, c + f)
            };
            let (less, same, above) = unzip3(scanl(add, (0i64, 0i64, 0i64), kinds));
            let moved = items.imap(|i, item| {
                let (x, begin, end) = item.fields();
                let pivot = pivot(item);
                let middle = (begin + less.at(end) - less.at(begin)).named("middle");
                let upper = (middle + same.at(end) - same.at(begin)).named("upper");
                let target = |first: Exp<i64>, counts: Acc<Vector<i64>>| first + counts.at(i) - counts.at(begin);
                cond(
                    x.lt(pivot),
                    lift::<(i64, i64, i64)>((target(begin, less), begin, middle)),
                    cond(
                        x.eq_(pivot),
                        lift::<(i64, i64, i64)>((target(middle, same), middle, upper)),
                        lift::<(i64, i64, i64)>((target(upper, above), upper, end)),
                    ),
                )
            });
            let (at, begins, ends) = unzip3(moved);
            let next = zip_with3(|item: Exp<Item>, begin, end| Item::exp(item.key(), begin, end), items, begins, ends);
            let items = permute_unique(items, |i| at.at(i), next).named("items");
            let key = |i: Exp<i64>| items.at(i).key();
            let wrong = generate(n, |i| (i + 1).lt(n).and(key(i).gt(key(i + 1)))).named("wrong");
            (or(wrong).get(), items)
        };
        let start = keys.map(|key| Item::exp(key, 0i64, n)).named("item");
        let (_, sorted) = awhile((constant(true), start), |(more, _)| more, split);
        sorted.map(|item| item.key())
    };
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
