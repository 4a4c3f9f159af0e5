//! Families of programs that grow: each makes a program of about as many array operations as it is asked for.
//!
//! All are written in the embedded language, so that sharing is measured too. Constants differ from operation to operation, so that no two
//! operations are the same term. Elements stay whole numbers that `f32` holds exactly while programs are small, so that the order of
//! additions does not matter to results.

use fusebox::lang::*;
use fusebox_ir::term::Terms;

/// A family of programs.
#[derive(Clone, Copy)]
pub struct Family {
    /// What it is called.
    pub name: &'static str,
    /// What grows.
    pub summary: &'static str,
    /// The terms of a program of one input, `x: [n]f32`, of about as many operations as asked for.
    pub terms: fn(usize) -> Result<Terms, BuildError>,
}

/// Every family.
pub const ALL: &[Family] = &[
    Family { name: "chain", summary: "maps, each of the one before", terms: chain },
    Family { name: "tree", summary: "maps, zipped two by two until one is left", terms: tree },
    Family { name: "doubling", summary: "arrays, each the sum of the one before and itself", terms: doubling },
    Family { name: "reversed", summary: "arrays, each the sum of the one before and its reverse", terms: reversed },
    Family { name: "rotations", summary: "one array in different orders, summed", terms: rotations },
    Family { name: "folds", summary: "folds of one array, summed as scalars", terms: folds },
    Family { name: "weighted", summary: "folds of maps of one array, summed as scalars", terms: weighted },
    Family { name: "scans", summary: "scans, each of the one before", terms: scans },
    Family { name: "siblings", summary: "scans of one array, summed", terms: siblings },
    Family { name: "both ways", summary: "scans up and down by turns, each of the one before", terms: both_ways },
    Family { name: "stencils", summary: "stencils, each of the one before", terms: stencils },
    Family { name: "normalised", summary: "arrays, each the one before minus its own sum", terms: normalised },
    Family { name: "conds", summary: "branches, each on the result of the one before", terms: conds },
    Family { name: "loops", summary: "loops, each from the result of the one before", terms: loops },
    Family {
        name: "nested",
        summary: "rows of eight elements in a nest: maps, scans and zips, each of the one before",
        terms: nested,
    },
    Family { name: "nested loops", summary: "the same in a loop that each lane ends for itself", terms: nested_loops },
    Family { name: "mixed", summary: "operations of all kinds on what is there, in no regular order", terms: mixed },
];

/// The family of a name.
pub fn find(name: &str) -> Option<&'static Family> {
    ALL.iter().find(|family| family.name == name)
}

type V = Acc<Vector<f32>>;

fn of_vector<R: Results>(name: &str, function: impl FnOnce(V) -> R) -> Result<Terms, BuildError> {
    Ok(program(name, function).inputs(["x"]).results(["y"]).build()?.terms)
}

/// A small whole number, others for others next to it.
fn number(position: usize) -> f32 {
    (position + 2) as f32
}

fn plus(a: V, b: V) -> V {
    zip_with(|x, y| x + y, a, b)
}

/// The sum of arrays, in pairs, pairs of pairs and so on.
fn total(mut arrays: Vec<V>, start: V) -> V {
    while arrays.len() > 1 {
        arrays = arrays.chunks(2).map(|pair| pair.iter().copied().reduce(plus).unwrap_or(start)).collect();
    }
    arrays.first().copied().unwrap_or(start)
}

fn chain(count: usize) -> Result<Terms, BuildError> {
    of_vector("chain", |x: V| (0..count).fold(x, |a, i| a.map(|v| v + number(i))))
}

fn tree(count: usize) -> Result<Terms, BuildError> {
    of_vector("tree", |x: V| total((0..count.div_ceil(2)).map(|i| x.map(|v| v + number(i))).collect(), x))
}

fn doubling(count: usize) -> Result<Terms, BuildError> {
    of_vector("doubling", |x: V| (0..count).fold(x, |a, _| plus(a, a)))
}

fn reversed(count: usize) -> Result<Terms, BuildError> {
    of_vector("reversed", |x: V| (0..count.div_ceil(2)).fold(x, |a, _| plus(reverse_on(0, a), a)))
}

fn rotations(count: usize) -> Result<Terms, BuildError> {
    of_vector("rotations", |x: V| {
        let n = x.length();
        let by = |i: usize| backpermute(n, |ix| (ix + i as i64) % n, x);
        total((0..count.div_ceil(2)).map(by).collect(), x)
    })
}

/// The sum of scalars, as one scalar operation.
fn sum_of(scalars: impl Iterator<Item = Exp<f32>>) -> Acc<Scalar<f32>> {
    unit(scalars.fold(constant(0f32), |a, b| a + b))
}

fn folds(count: usize) -> Result<Terms, BuildError> {
    of_vector("folds", |x: V| sum_of((0..count).map(|i| x.fold(|a, b| a + b, number(i)).get())))
}

fn weighted(count: usize) -> Result<Terms, BuildError> {
    of_vector("weighted", |x: V| {
        sum_of((0..count.div_ceil(2)).map(|i| x.map(|v| v + number(i)).fold(|a, b| a + b, 0.0).get()))
    })
}

fn scans(count: usize) -> Result<Terms, BuildError> {
    of_vector("scans", |x: V| (0..count).fold(x, |a, _| scanl1(|v, w| v.max(w), a)))
}

fn siblings(count: usize) -> Result<Terms, BuildError> {
    of_vector("siblings", |x: V| {
        let one = |i: usize| scanl1(|v, w| v.max(w), x.map(|v| v + number(i)));
        total((0..count.div_ceil(3)).map(one).collect(), x)
    })
}

fn both_ways(count: usize) -> Result<Terms, BuildError> {
    of_vector("both_ways", |x: V| {
        (0..count).fold(x, |a, i| match i % 2 {
            0 => scanl1(|v, w| v.max(w), a),
            _ => scanr1(|v, w| v.min(w), a),
        })
    })
}

fn stencils(count: usize) -> Result<Terms, BuildError> {
    of_vector("stencils", |x: V| {
        let rule = |taps: &Neighbours<Ix1, f32>| taps.at(-1).max(taps.at(1)) - taps.at(0);
        (0..count).fold(x, |a, _| stencil(rule, Boundary::Clamp, a))
    })
}

fn normalised(count: usize) -> Result<Terms, BuildError> {
    of_vector("normalised", |x: V| {
        (0..count.div_ceil(2)).fold(x, |a, _| {
            let top = a.fold(|v, w| v.max(w), 0.0).get();
            a.map(|v| top - v)
        })
    })
}

fn conds(count: usize) -> Result<Terms, BuildError> {
    of_vector("conds", |x: V| {
        (0..count.div_ceil(3))
            .fold(x, |a, i| acond(a.at(0).gt(number(i)), a.map(|v| v - number(i)), a.map(|v| v + number(i))))
    })
}

fn loops(count: usize) -> Result<Terms, BuildError> {
    of_vector("loops", |x: V| {
        (0..count.div_ceil(2)).fold(x, |a, i| aiterate(2, |state: V| state.map(|v| v + number(i)), a))
    })
}

/// Operations on rows of eight elements, each of the one before.
fn on_rows(row: V, count: usize) -> V {
    (0..count).fold(row, |a, i| match i % 3 {
        0 => a.map(|v| v - number(i)),
        1 => scanl1(|v, w| v.max(w), a),
        _ => plus(a, row),
    })
}

fn row_of(v: Exp<f32>) -> V {
    generate(8, |j| v + j.cast::<f32>())
}

fn nested(count: usize) -> Result<Terms, BuildError> {
    of_vector("nested", |x: V| x.map(|v| sum(on_rows(row_of(v), count)).get()))
}

fn nested_loops(count: usize) -> Result<Terms, BuildError> {
    of_vector("nested_loops", |x: V| {
        x.map(|v| {
            // Each turn takes 1 away from what the condition looks at, at least.
            let turn = |row: V| zip_with(|before, after| (before - 1.0).min(after), row, on_rows(row, count));
            sum(awhile(row_of(v), |row: V| row.at(0).gt(0.0), turn)).get()
        })
    })
}

/// The numbers of a linear congruential generator, the same on every machine.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit
    }
}

fn mixed(count: usize) -> Result<Terms, BuildError> {
    of_vector("mixed", |x: V| {
        let mut random = Random(5);
        let n = x.length();
        let mut arrays = vec![x];
        let mut used = vec![true];
        let mut scalar = constant(1f32);
        for i in 0..count {
            let recent = arrays.len().min(8);
            let (at, beside) = (arrays.len() - 1 - random.below(recent), arrays.len() - 1 - random.below(recent));
            let (a, b) = (arrays[at], arrays[beside]);
            used[at] = true;
            let made = match random.below(10) {
                0..=2 => a.map(|v| v - number(i)),
                3 => a.map(|v| v.min(b.at(0))),
                4 | 5 => {
                    used[beside] = true;
                    zip_with(|v, w| v.max(w - scalar), a, b)
                }
                6 => scanl1(|v, w| v.max(w), a),
                7 => scanr1(|v, w| v.max(w), a),
                8 => backpermute(n, |ix| (ix + i as i64) % n, a),
                _ => {
                    scalar = a.fold(|v, w| v.max(w), 0.0).get();
                    a.map(|v| v - scalar)
                }
            };
            arrays.push(made);
            used.push(false);
        }
        let unused = arrays.iter().zip(&used).filter(|(_, used)| !**used).map(|(array, _)| *array);
        total(unused.collect(), x)
    })
}
