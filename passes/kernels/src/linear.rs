//! Linear forms over scalars, and proofs that one is not negative: what bounds checks that never fail rest on.
//!
//! A scalar is its form in arithmetic modulo 2^64. Facts and proofs are about the form as a number of any size, where sums of what is not
//! negative are not negative. So whoever concludes something about a scalar, or notes a fact about one, asks whether its form is
//! [`exact`]: that the scalar is the form's number itself. A form that is at least 0 and below the form of something exact is exact too.

use std::collections::{BTreeMap, HashMap};

#[cfg(doc)]
use fusebox_ir::MAX_EXTENT;
use fusebox_ir::{ArrayId, LocalId};

/// What a form is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Atom {
    /// A scalar of the plan.
    Value(ArrayId),
    /// A scalar of a kernel.
    Local(LocalId),
}

/// `constant + Σ factor · atom`; coefficients are in wrapping arithmetic, which sums, differences and products by constants keep modulo 2^64.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub(crate) struct Linear {
    pub(crate) constant: i64,
    /// No factor is 0.
    pub(crate) terms: BTreeMap<Atom, i64>,
}

impl Linear {
    pub(crate) fn constant(constant: i64) -> Self {
        Self { constant, terms: BTreeMap::new() }
    }

    pub(crate) fn atom(atom: Atom) -> Self {
        Self { constant: 0, terms: BTreeMap::from([(atom, 1)]) }
    }

    pub(crate) fn local(id: LocalId) -> Self {
        Self::atom(Atom::Local(id))
    }

    pub(crate) fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// `self + factor · other`.
    pub(crate) fn plus(mut self, factor: i64, other: &Self) -> Self {
        self.constant = self.constant.wrapping_add(factor.wrapping_mul(other.constant));
        for (&atom, &by) in &other.terms {
            let sum = self.terms.entry(atom).or_insert(0);
            *sum = sum.wrapping_add(factor.wrapping_mul(by));
            if *sum == 0 {
                self.terms.remove(&atom);
            }
        }
        self
    }

    pub(crate) fn offset(mut self, by: i64) -> Self {
        self.constant = self.constant.wrapping_add(by);
        self
    }

    pub(crate) fn scaled(&self, factor: i64) -> Self {
        Self::default().plus(factor, self)
    }

    /// With each atom replaced.
    pub(crate) fn map(&self, replace: &mut dyn FnMut(Atom) -> Self) -> Self {
        let start = Self::constant(self.constant);
        self.terms.iter().fold(start, |sum, (&atom, &factor)| sum.plus(factor, &replace(atom)))
    }

    /// Whether numbers are small enough that those of a proof do not wrap.
    fn is_small(&self) -> bool {
        self.constant.unsigned_abs() < 1 << 50
            && self.terms.len() < 64
            && self.terms.values().all(|factor| factor.unsigned_abs() < 1 << 10)
    }
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
        if !form.is_small() {
            return;
        }
        for (&atom, &factor) in &form.terms {
            self.about.entry((atom, factor > 0)).or_default().push(self.list.len());
        }
        self.list.push((depth, form));
    }

    /// Forgets what was noted since there were `len` facts.
    pub(crate) fn truncate(&mut self, len: usize) {
        while self.list.len() > len {
            let Some((_, form)) = self.list.pop() else { break };
            for (&atom, &factor) in &form.terms {
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
    let done = |rest: &Linear| rest.terms.is_empty() && rest.constant >= 0;
    form.is_small() && search(form, depth, facts, &done, 8, &mut steps)
}

/// Most that the factors of a form over extents sum to: extents are at most [`MAX_EXTENT`], so the form is far inside of `i64`.
const FACTORS: u64 = 1 << 12;

/// Whether facts show that the number of `form` is an `i64` under `depth` levels: then a scalar of this form is that number. `extent` says which
/// scalars are extents of what was made, which lie between 0 and [`MAX_EXTENT`].
pub(crate) fn exact(form: &Linear, depth: u32, facts: &[&Facts], extent: &dyn Fn(Atom) -> bool) -> bool {
    let mut terms = form.terms.iter();
    match (terms.next(), terms.next()) {
        (None, _) => return true,
        (Some((_, 1)), None) if form.constant == 0 => return true,
        _ => {}
    }
    // Whether what is left is at least `-i64::MAX`, whatever the values of its atoms.
    let done = |rest: &Linear| {
        let factors = rest.terms.values().fold(0u64, |sum, factor| sum.saturating_add(factor.unsigned_abs()));
        if rest.terms.keys().all(|&atom| extent(atom)) {
            return factors <= FACTORS;
        }
        factors == 1 && rest.constant >= i64::from(rest.terms.values().all(|&factor| factor > 0))
    };
    let within = |form: &Linear| {
        let mut steps = STEPS;
        search(form, depth, facts, &done, 8, &mut steps)
    };
    form.is_small() && within(form) && within(&form.scaled(-1))
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
    let hardest = form.terms.iter().max_by_key(|&(&atom, &factor)| (matches!(atom, Atom::Local(_)), factor < 0, atom));
    let Some((&atom, &factor)) = hardest else { return false };
    for (fact, by) in facts.iter().flat_map(|facts| facts.about(atom, factor > 0)).filter_map(|(at, fact)| {
        let of = *fact.terms.get(&atom)?;
        (*at <= depth && factor % of == 0).then(|| (fact, factor / of))
    }) {
        if *steps == 0 {
            return false;
        }
        *steps -= 1;
        let rest = form.clone().plus(-by, fact);
        if rest.is_small() && search(&rest, depth, facts, done, fuel - 1, steps) {
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
        let (n, i) = (Linear::atom(Atom::Value(ArrayId(0))), Linear::local(LocalId(0)));
        let mut facts = Facts::default();
        facts.add(0, n.clone());
        facts.add(1, i.clone());
        facts.add(1, n.clone().offset(-1).plus(-1, &i));
        let from_end = n.clone().offset(-1).plus(-1, &i);
        assert!(never_negative(&from_end, 1, &[&facts]));
        assert!(never_negative(&n.clone().offset(-1).plus(-1, &from_end), 1, &[&facts]));
        // The last element of what may be empty: only inside the level.
        assert!(never_negative(&n.clone().offset(-1), 1, &[&facts]));
        assert!(!never_negative(&n.clone().offset(-1), 0, &[&facts]));
        assert!(!never_negative(&i.clone().offset(-1), 1, &[&facts]));
        facts.truncate(1);
        assert!(!never_negative(&i, 1, &[&facts]));
    }

    #[test]
    fn doubled_indices_need_what_halving_means() {
        let (k, h, i) =
            (Linear::atom(Atom::Value(ArrayId(0))), Linear::atom(Atom::Value(ArrayId(1))), Linear::local(LocalId(0)));
        let mut facts = Facts::default();
        facts.add(1, h.clone().offset(-1).plus(-1, &i));
        let room = k.clone().offset(-1).plus(-2, &i);
        assert!(!never_negative(&room, 1, &[&facts]));
        facts.add(0, k.clone().plus(-2, &h));
        assert!(never_negative(&room, 1, &[&facts]));
    }
}
