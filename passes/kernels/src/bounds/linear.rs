//! Linear forms over scalars, and proofs that one is not negative: what bounds checks that never fail rest on.
//!
//! A scalar is its form in arithmetic modulo 2^64. Facts and proofs are about the form as a number of any size, where sums of what is not
//! negative are not negative. So whoever concludes something about a scalar, or notes a fact about one, asks whether its form is
//! [`exact`]: that the scalar is the form's number itself. A form that is at least 0 and below the form of something exact is exact too.

use std::collections::HashMap;

#[cfg(doc)]
use fusebox_ir::MAX_EXTENT;
use fusebox_ir::{LocalId, ValueId};

/// What a form is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Atom {
    /// A scalar of the plan.
    Value(ValueId),
    /// A scalar of a kernel.
    Local(LocalId),
}

/// A form: `rest + Σ coefficient · atom`. Its numbers wrap, as the scalar does that it is of.
pub(crate) type Linear = fusebox_ir::analysis::Linear<Atom>;

/// Whether numbers are small enough that those of a proof do not wrap.
fn is_small(form: &Linear) -> bool {
    form.rest().unsigned_abs() < 1 << 50
        && form.terms().len() < 64
        && form.terms().iter().all(|(_, factor)| factor.unsigned_abs() < 1 << 10)
}

/// Forms whose numbers are known not to be negative where some number of levels are around.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    list: Vec<(u32, Linear)>,
    /// By atom and whether its factor is positive: positions in `list`, ascending.
    about: HashMap<(Atom, bool), Vec<usize>>,
}

/// How many facts one proof may try.
const STEPS: usize = 300;

impl Facts {
    pub(crate) fn len(&self) -> usize {
        self.list.len()
    }

    /// Everything noted that holds outside of all levels.
    pub(crate) fn outside(&self) -> impl Iterator<Item = &Linear> {
        self.list.iter().filter(|(depth, _)| *depth == 0).map(|(_, form)| form)
    }

    /// Notes that `form` is not negative where `depth` levels are around.
    pub(crate) fn add(&mut self, depth: u32, form: Linear) {
        if !is_small(&form) {
            return;
        }
        for &(atom, factor) in form.terms() {
            self.about.entry((atom, factor > 0)).or_default().push(self.list.len());
        }
        self.list.push((depth, form));
    }

    /// Forgets what was noted since there were `len` facts.
    pub(crate) fn truncate(&mut self, len: usize) {
        while self.list.len() > len {
            let Some((_, form)) = self.list.pop() else { break };
            for &(atom, factor) in form.terms() {
                if let Some(positions) = self.about.get_mut(&(atom, factor > 0)) {
                    positions.pop();
                }
            }
        }
    }

    fn about(&self, atom: Atom, positive: bool) -> impl Iterator<Item = &(u32, Linear)> {
        self.about.get(&(atom, positive)).into_iter().flatten().rev().take(12).map(|&at| &self.list[at])
    }
}

/// Whether facts show that `form` is at least 0 under `depth` levels: as a sum of facts and a constant.
pub(crate) fn never_negative(form: &Linear, depth: u32, facts: &[&Facts]) -> bool {
    let mut steps = STEPS;
    let done = |rest: &Linear| rest.as_constant().is_some_and(|constant| constant >= 0);
    is_small(form) && search(form, depth, facts, &done, 8, &mut steps)
}

/// Most that the factors of a form over extents sum to: extents are at most [`MAX_EXTENT`], so the form is far inside of `i64`.
const FACTORS: u64 = 1 << 12;

/// Whether facts show that the number of `form` is an `i64` under `depth` levels: then a scalar of this form is that number. `extent` says which
/// scalars are extents of what was made, which lie between 0 and [`MAX_EXTENT`].
pub(crate) fn exact(form: &Linear, depth: u32, facts: &[&Facts], extent: &dyn Fn(Atom) -> bool) -> bool {
    // A number, or a scalar as it is.
    if form.as_constant().is_some() || form.as_term().is_some() {
        return true;
    }
    // Whether what is left is at least `-i64::MAX`, whatever the values of its atoms.
    let done = |rest: &Linear| {
        let factors = rest.terms().iter().fold(0u64, |sum, (_, factor)| sum.saturating_add(factor.unsigned_abs()));
        if rest.terms().iter().all(|&(atom, _)| extent(atom)) {
            return factors <= FACTORS;
        }
        factors == 1 && rest.rest() >= i64::from(rest.terms().iter().all(|&(_, factor)| factor > 0))
    };
    let within = |form: &Linear| {
        let mut steps = STEPS;
        search(form, depth, facts, &done, 8, &mut steps)
    };
    is_small(form) && within(form) && within(&form.scaled(-1))
}

fn search(
    form: &Linear,
    depth: u32,
    facts: &[&Facts],
    done: &dyn Fn(&Linear) -> bool,
    fuel: u32,
    steps: &mut usize,
) -> bool {
    if done(form) {
        return true;
    }
    if fuel == 0 {
        return false;
    }
    // Locals (indices) first, then what is subtracted: these decide which facts can be used at all.
    let hardest = form.terms().iter().max_by_key(|&&(atom, factor)| (matches!(atom, Atom::Local(_)), factor < 0, atom));
    let Some(&(atom, factor)) = hardest else { return false };
    for (fact, by) in facts.iter().flat_map(|facts| facts.about(atom, factor > 0)).filter_map(|(at, fact)| {
        let of = fact.coefficient(&atom);
        (*at <= depth && of != 0 && factor % of == 0).then(|| (fact, factor / of))
    }) {
        if *steps == 0 {
            return false;
        }
        *steps -= 1;
        let rest = form.plus(fact, -by);
        if is_small(&rest) && search(&rest, depth, facts, done, fuel - 1, steps) {
            return true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_index_from_the_end_is_inside() {
        let (n, i) = (Linear::term(Atom::Value(ValueId(0))), Linear::term(Atom::Local(LocalId(0))));
        let mut facts = Facts::default();
        facts.add(0, n.clone());
        facts.add(1, i.clone());
        facts.add(1, n.offset(-1).minus(&i));
        let from_end = n.offset(-1).minus(&i);
        assert!(never_negative(&from_end, 1, &[&facts]));
        assert!(never_negative(&n.offset(-1).minus(&from_end), 1, &[&facts]));
        // The last element of what may be empty: only inside the level.
        assert!(never_negative(&n.offset(-1), 1, &[&facts]));
        assert!(!never_negative(&n.offset(-1), 0, &[&facts]));
        assert!(!never_negative(&i.offset(-1), 1, &[&facts]));
        facts.truncate(1);
        assert!(!never_negative(&i, 1, &[&facts]));
    }

    #[test]
    fn doubled_indices_need_what_halving_means() {
        let (k, h, i) = (
            Linear::term(Atom::Value(ValueId(0))),
            Linear::term(Atom::Value(ValueId(1))),
            Linear::term(Atom::Local(LocalId(0))),
        );
        let mut facts = Facts::default();
        facts.add(1, h.offset(-1).minus(&i));
        let room = k.offset(-1).plus(&i, -2);
        assert!(!never_negative(&room, 1, &[&facts]));
        facts.add(0, k.plus(&h, -2));
        assert!(never_negative(&room, 1, &[&facts]));
    }

    const ATOMS: u32 = 4;

    /// The number of a form for values of its atoms, of any size.
    fn number(form: &Linear, values: &[i64]) -> i128 {
        let mut value = |atom: &Atom| match atom {
            Atom::Value(id) => Some(i128::from(values[id.index()])),
            Atom::Local(id) => Some(i128::from(values[id.index()])),
        };
        form.evaluate(&mut value).expect("far from the end of `i128`")
    }

    /// xorshift64*.
    struct Random(u64);

    impl Random {
        fn of<T: Copy>(&mut self, list: &[T]) -> T {
            self.0 ^= self.0 >> 12;
            self.0 ^= self.0 << 25;
            self.0 ^= self.0 >> 27;
            list[(self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % list.len()]
        }

        fn atom(&mut self) -> Atom {
            let position = self.of(&[0, 1, 2, 3]);
            // The first two are scalars of the plan, and extents.
            if position < 2 { Atom::Value(ValueId(position)) } else { Atom::Local(LocalId(position)) }
        }

        fn form(&mut self, terms: usize) -> Linear {
            let constant = self.of(&[0, 0, 1, -1, 2, -2, 1 << 40, -(1 << 40)]);
            (0..terms).fold(Linear::constant(constant), |form, _| {
                let factor = self.of(&[1, 1, -1, -1, 2, -2, 3, 1000]);
                form.plus(&Linear::term(self.atom()), factor)
            })
        }
    }

    #[test]
    fn what_is_proved_holds_for_all_numbers_for_which_the_facts_do() {
        let few = [-2i64, -1, 0, 1, 2, 3];
        let many = [i64::MIN, i64::MIN + 1, -1, 0, 1, 1 << 50, 1 << 62, i64::MAX];
        let sizes = [0i64, 1, 2, 3, 1 << 49, 1 << 50];
        let mut random = Random(0x9e37_79b9_7f4a_7c15);
        let (mut positive, mut unwrapped, mut tried) = (0, 0, 0);
        for round in 0..6_000 {
            let mut facts = Facts::default();
            let forms: Vec<Linear> = (0..random.of(&[1, 2, 3, 5]))
                .map(|_| {
                    let terms = random.of(&[1, 2, 2, 3]);
                    random.form(terms)
                })
                .collect();
            forms.iter().for_each(|form| facts.add(0, form.clone()));
            let terms = random.of(&[1, 2, 2, 3]);
            // Sums of facts are proved more often than what comes along.
            let goal = match (round % 3, forms.first()) {
                (0, Some(first)) => {
                    first.plus(&forms[forms.len() - 1], random.of(&[0, 1, 2])).offset(random.of(&[0, 1]))
                }
                _ => random.form(terms),
            };
            let extent = |atom| matches!(atom, Atom::Value(_));
            let proved = never_negative(&goal, 0, &[&facts]);
            let is_exact = exact(&goal, 0, &[&facts], &extent);
            positive += usize::from(proved);
            unwrapped += usize::from(is_exact);
            if !proved && !is_exact {
                continue;
            }
            for _ in 0..400 {
                let values: Vec<i64> = (0..ATOMS)
                    .map(|position| {
                        let list = if position < 2 {
                            &sizes[..]
                        } else if random.of(&[true, false]) {
                            &few[..]
                        } else {
                            &many[..]
                        };
                        random.of(list)
                    })
                    .collect();
                // Facts that are too large to be kept are facts all the same.
                if forms.iter().any(|fact| number(fact, &values) < 0) {
                    continue;
                }
                tried += 1;
                let number = number(&goal, &values);
                assert!(!proved || number >= 0, "{goal:?} at {values:?} is {number}, by {forms:?}");
                assert!(!is_exact || i64::try_from(number).is_ok(), "{goal:?} at {values:?} is {number}, by {forms:?}");
            }
        }
        assert!(positive > 300 && unwrapped > 300 && tried > 10_000, "{positive}, {unwrapped}, {tried}");
    }

    #[test]
    fn what_may_wrap_is_not_exact() {
        let (n, x, i) = (
            Linear::term(Atom::Value(ValueId(0))),
            Linear::term(Atom::Value(ValueId(9))),
            Linear::term(Atom::Local(LocalId(0))),
        );
        let extent = |atom| atom == Atom::Value(ValueId(0));
        let mut facts = Facts::default();
        facts.add(0, n.clone());
        facts.add(0, x.clone());
        facts.add(1, i.clone());
        facts.add(1, n.offset(-1).minus(&i));
        let is_exact = |form: &Linear, depth| exact(form, depth, &[&facts], &extent);
        for form in [&n, &x, &i, &n.offset(-1), &n.offset(5), &n.scaled(7), &x.offset(-1)] {
            assert!(is_exact(form, 0), "{form:?}");
        }
        for form in [&x.offset(1), &x.scaled(2), &x.plus(&n, 1), &i.scaled(2), &n.scaled(1 << 30)] {
            assert!(!is_exact(form, 0), "{form:?}");
        }
        // In the level its index is below the extent.
        assert!(is_exact(&i.scaled(2), 1) && is_exact(&n.offset(-1).minus(&i), 1));
        assert!(never_negative(&x.scaled(2), 0, &[&facts]), "as a number, which no scalar need be");
        for edge in [i64::MIN, i64::MAX, 1 << 50, -(1 << 50)] {
            assert!(!never_negative(&x.offset(edge), 0, &[&facts]) && !is_exact(&x.offset(edge), 0));
            assert!(!never_negative(&x.scaled(edge), 0, &[&facts]) && !is_exact(&x.scaled(edge), 0));
        }
    }
}
