//! Nested programs: rows that are sorted, merged, searched, each by itself. They give what their texts give, but are not the same programs:
//! texts name what the embedded language has no names for.

use fusebox_ir::term::Terms;
use fusebox_lang::*;

use super::{Embedded, rearrangement::quicksorted};

pub(super) const ALL: &[Embedded] = &[
    Embedded { name: "nested_bubble_sort", build: bubble_sort },
    Embedded { name: "nested_find", build: find },
    Embedded { name: "nested_hull", build: hull },
    Embedded { name: "nested_merge", build: merge },
    Embedded { name: "nested_nearest", build: nearest },
    Embedded { name: "nested_queens", build: queens },
    Embedded { name: "nested_quicksort", build: quicksort },
    Embedded { name: "nested_triangle_count", build: triangles },
];

/// Rows, or texts, of different lengths.
type Ragged<T> = Acc<Nested<Ix1, Ix1, T>>;

// ANCHOR: nested_quicksort
/// Each row by a loop of its own.
fn quicksort() -> Result<Terms, BuildError> {
    let f = |xss: Acc<Matrix<i64>>| rows(xss).map(|row| quicksorted(row, |a, b| a.le(b)));
    Ok(program("nested_quicksort", f).inputs(["xss"]).results(["sorted"]).build()?.terms)
}
// ANCHOR_END: nested_quicksort

/// Neighbours are exchanged, in a turn all pairs that begin at even places and then those that begin at odd ones, until a turn changes nothing.
fn bubble_sort() -> Result<Terms, BuildError> {
    type State = (Acc<Vector<i64>>, Exp<i64>, Exp<bool>);
    let row = |row: Acc<Vector<i64>>| {
        let k = row.length();
        let exchanged = |v: Acc<Vector<i64>>, from: i64| {
            let first = |j: Exp<i64>| ((j + from) & 1).eq_(0);
            let upper = |j: Exp<i64>| cond((j + 1).lt(k), v.at(j).min(v.at(j + 1)), v.at(j));
            let lower = |j: Exp<i64>| cond(j.gt(0), v.at(j - 1).max(v.at(j)), v.at(j));
            generate(k, |j| cond(first(j), upper(j), lower(j)))
        };
        let turn = |(v, t, _): State| {
            let next = exchanged(exchanged(v, 0), 1);
            let changed = or(zip_with(|a, b| a.ne_(b), v, next)).get();
            (next, t + 1, changed)
        };
        let (sorted, turns, _) = awhile((row, constant(0i64), constant(true)), |(_, _, more)| more, turn);
        (sorted, turns)
    };
    let f = |rows: Ragged<i64>| rows.map(row);
    Ok(program("nested_bubble_sort", f).inputs(["rows"]).results(["sorted", "turns"]).build()?.terms)
}

/// How many elements of a sorted row are below, as told of each.
fn number_below<T: Elt>(row: Acc<Vector<T>>, below: impl FnOnce(Exp<T>) -> Exp<bool>) -> Exp<i64> {
    let found = while_loop(
        lift::<(i64, i64)>((0i64, row.length())),
        |state| state.fst().lt(state.snd()),
        |state| {
            let (low, high) = state.parts();
            let middle = (low + high) >> 1;
            let under = below(row.at(middle));
            (cond(under, middle + 1, low), cond(under, high, middle))
        },
    );
    found.fst()
}

/// An element of one row goes to its index and the number of smaller ones of the other; what is left are the places of the other.
fn merge() -> Result<Terms, BuildError> {
    let f = |a: Ragged<i32>, b: Ragged<i32>| {
        nest(a.shape(), |i| {
            let (x, y) = (a.element(i), b.element(i));
            let places = generate(x.length(), |j| j + number_below(y, |other| other.lt(x.at(j))));
            let none = fill(x.length() + y.length(), false);
            let first = permute_unique(none, |j| places.at(j), fill(x.length(), true));
            let before = scanl_total(|a, b| a + b, 0, first.map(|own| own.cast::<i64>())).0;
            generate(x.length() + y.length(), |t| cond(first.at(t), x.at(before.at(t)), y.at(t - before.at(t))))
        })
    };
    Ok(program("nested_merge", f).inputs(["a", "b"]).results(["merged"]).build()?.terms)
}

/// Of each vertex the pairs of its later neighbours that are neighbours: two ascending lists are gone through at once.
fn triangles() -> Result<Terms, BuildError> {
    let f = |later: Ragged<i64>| {
        later.map(|own| {
            let of = |p: Exp<i64>| {
                let theirs = later.element(own.at(p));
                let (k, l) = (own.length(), theirs.length());
                let both = |state: Exp<(i64, i64, i64)>| {
                    let (a, b, _) = state.parts();
                    a.lt(k) & b.lt(l)
                };
                let step = |state: Exp<(i64, i64, i64)>| {
                    let (a, b, count) = state.parts();
                    let (x, y) = (own.at(a), theirs.at(b));
                    let one = |holds: Exp<bool>| holds.cast::<i64>();
                    (a + one(x.le(y)), b + one(y.le(x)), count + one(x.eq_(y)))
                };
                while_loop(lift::<(i64, i64, i64)>((p + 1, 0i64, 0i64)), both, step).parts().2
            };
            sum(generate(own.length(), of)).get()
        })
    };
    Ok(program("nested_triangle_count", f).inputs(["later"]).results(["counts"]).build()?.terms)
}

/// Where a pattern occurs in each of many texts.
fn find() -> Result<Terms, BuildError> {
    let f = |texts: Ragged<u8>, pattern: Acc<Vector<u8>>| {
        let m = pattern.length();
        texts.map(|text| {
            let starts = (text.length() - m + 1).max(0);
            let fits = generate(starts, |s| and(generate(m, |j| text.at(s + j).eq_(pattern.at(j)))).get());
            let places = unzip(filter_vector(|place: Exp<(i64, bool)>| place.snd(), zip(iota(starts), fits))).0;
            (places, places.length())
        })
    };
    Ok(program("nested_find", f).inputs(["texts", "pattern"]).results(["places", "counts"]).build()?.terms)
}

/// The three nearest of many points to each query: a fold that keeps three.
fn nearest() -> Result<Terms, BuildError> {
    type Points = Acc<Vector<i64>>;
    /// A distance and the point that is so far.
    type Far = (i64, i64);
    let least = |a: Exp<Far>, b: Exp<Far>| {
        let ((d, i), (e, j)) = (a.parts(), b.parts());
        cond(d.lt(e).or(d.eq_(e).and(i.lt(j))), a, b)
    };
    let greatest = |a: Exp<Far>, b: Exp<Far>| {
        let ((d, i), (e, j)) = (a.parts(), b.parts());
        cond(d.lt(e).or(d.eq_(e).and(i.lt(j))), b, a)
    };
    // Of two sorted triples the three least, sorted: the third is not in front of the second of one and the first of the other.
    let merge = |x: Exp<(Far, Far, Far)>, y: Exp<(Far, Far, Far)>| {
        let ((a, b, c), (d, e, f)) = (x.parts(), y.parts());
        let second = least(greatest(a, d), least(b, e));
        let third = least(least(greatest(b, d), greatest(a, e)), least(c, f));
        (least(a, d), second, third)
    };
    let f = |px: Points, py: Points, qx: Points, qy: Points| {
        rows(zip(qx, qy)).map(|query| {
            let (x, y) = query.get().parts();
            let none = || lift::<Far>((i64::MAX, i64::MAX));
            let far = generate(px.length(), |i| {
                let (a, b) = (px.at(i) - x, py.at(i) - y);
                lift::<(Far, Far, Far)>(((a * a + b * b, i), none(), none()))
            });
            let (first, second, third) = fold_commuting(merge, (none(), none(), none()), far).get().parts();
            let place = |of: fn(Exp<Far>) -> Exp<i64>| {
                generate(3, |s| cond(s.eq_(0), of(first), cond(s.eq_(1), of(second), of(third))))
            };
            (place(Exp::snd), place(Exp::fst))
        })
    };
    let inputs = ["px", "py", "qx", "qy"];
    Ok(program("nested_nearest", f).inputs(inputs).results(["which", "far"]).build()?.terms)
}

/// Every turn extends all boards of a lane by a row: columns, rising and falling diagonals that are attacked.
fn queens() -> Result<Terms, BuildError> {
    type Board = (i64, i64, i64);
    type State = (Acc<Vector<Board>>, Exp<i64>);
    let f = |n: Exp<i64>| {
        let free = |board: Exp<Board>| {
            let (c, r, f) = board.parts();
            ((constant(1i64) << n) - 1) & ((c | r | f) ^ -1)
        };
        let place = |board: Exp<Board>, j: Exp<i64>| {
            let start = lift::<(i64, i64)>((free(board), 0i64));
            let rest = while_loop(start, |s| s.snd().lt(j), |s| (s.fst() & (s.fst() - 1), s.snd() + 1)).fst();
            let (c, r, f) = board.parts();
            let place = rest & (0 - rest);
            (c | place, (r | place) << 1, (f | place) >> 1)
        };
        generate(n, |first| {
            let one = constant(1i64) << first;
            let start = singleton(lift::<Board>((one, one << 1, one >> 1)));
            let extend = |(boards, row): State| (expand(|board| free(board).popcount(), place, boards), row + 1);
            awhile((start, constant(1i64)), |(_, row)| row.lt(n), extend).0.length()
        })
    };
    Ok(program("nested_queens", f).inputs(["n"]).results(["ways"]).build()?.terms)
}

/// Quickhull of each of many sets of points: every turn, each edge with points outside of it becomes two, by way of the farthest of them.
fn hull() -> Result<Terms, BuildError> {
    type Edges = (Acc<Vector<i64>>, Acc<Vector<i64>>, Ragged<i64>, Exp<bool>);
    let f = |x: Ragged<i64>, y: Ragged<i64>| {
        nest(x.shape(), |i| {
            let (xs, ys) = (x.element(i), y.element(i));
            let side = |p: Exp<i64>, q: Exp<i64>, r: Exp<i64>| {
                (xs.at(q) - xs.at(p)) * (ys.at(r) - ys.at(p)) - (ys.at(q) - ys.at(p)) * (xs.at(r) - xs.at(p))
            };
            let all = iota(xs.length());
            let before =
                |a: Exp<i64>, b: Exp<i64>| xs.at(a).lt(xs.at(b)).or(xs.at(a).eq_(xs.at(b)).and(ys.at(a).lt(ys.at(b))));
            let left = fold(|a, b| cond(before(b, a), b, a), 0i64, all).get();
            let right = fold(|a, b| cond(before(a, b), b, a), 0i64, all).get();
            let from = generate(2, |e| cond(e.eq_(0), left, right));
            let to = generate(2, |e| cond(e.eq_(0), right, left));
            let outside = nest(2, |e| filter_vector(|p| side(from.at(e), to.at(e), p).gt(0), all));
            let turn = |(a, b, over, _): Edges| {
                // The farthest point outside of each edge; -1 where there is none.
                let far = generate(a.length(), |e| {
                    let own = over.element(e);
                    let distances = own.map(|r| side(a.at(e), b.at(e), r));
                    let farther = |best: Exp<(i64, i64)>, other: Exp<(i64, i64)>| {
                        let ((d, r), (e, s)) = (best.parts(), other.parts());
                        (d.max(e), cond(e.gt(d), s, r))
                    };
                    fold(farther, (0i64, -1i64), zip(distances, own)).get().snd()
                });
                let cut = |h: Exp<i64>| far.at(h / 2).ge(0);
                let first = |h: Exp<i64>| (h & 1).eq_(0);
                let halves = filter_vector(|h| first(h).or(cut(h)), iota(2 * a.length()));
                let next_a = halves.map(|h| cond(first(h), a.at(h / 2), far.at(h / 2)));
                let next_b = halves.map(|h| cond(first(h).and(cut(h)), far.at(h / 2), b.at(h / 2)));
                let next_over = nest(halves.length(), |e| {
                    let (p, q) = (next_a.at(e), next_b.at(e));
                    filter_vector(|r| side(p, q, r).gt(0), over.element(halves.at(e) / 2))
                });
                (next_a, next_b, next_over, or(far.map(|p| p.ge(0))).get())
            };
            awhile((from, to, outside, constant(true)), |(_, _, _, more)| more, turn).0
        })
    };
    Ok(program("nested_hull", f).inputs(["x", "y"]).results(["corners"]).build()?.terms)
}
