//! The one algebra of sizes: sums of terms with whole coefficients.
//!
//! What a term is says whoever uses it: `sizes` has values of programs and interned products, `counts` products of named sizes, the
//! prover of bounds scalars of plans and kernels. What happens at the end of `i64` is a part of the type, as it decides what may be
//! concluded. [`Wrapping`] sums are exact modulo 2⁶⁴, as the scalars of programs are: equal forms are equal scalars, and of order they say
//! nothing before it is known that nothing wrapped. [`Saturating`] sums stay at the end: they are estimates, which must not become small.

use std::{cmp::Ordering, fmt::Debug, hash::Hash, marker::PhantomData};

/// What numbers do at the end of `i64`.
pub trait Numbers: Clone + Debug + Default + Ord + Hash {
    /// The sum.
    fn sum(a: i64, b: i64) -> i64;

    /// The product.
    fn product(a: i64, b: i64) -> i64;
}

/// Numbers modulo 2⁶⁴.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Wrapping;

/// Numbers that stay at the end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Saturating;

impl Numbers for Wrapping {
    fn sum(a: i64, b: i64) -> i64 {
        a.wrapping_add(b)
    }

    fn product(a: i64, b: i64) -> i64 {
        a.wrapping_mul(b)
    }
}

impl Numbers for Saturating {
    fn sum(a: i64, b: i64) -> i64 {
        a.saturating_add(b)
    }

    fn product(a: i64, b: i64) -> i64 {
        a.saturating_mul(b)
    }
}

/// `constant + Σ coefficient · term`: terms in order, each once, no coefficient 0. So equal sums are equal values.
///
/// ```
/// use fusebox_ir::analysis::Linear;
/// let (n, m) = (Linear::<_>::term("n"), Linear::term("m"));
/// let form = n.plus(&m, 2).offset(3);
/// assert_eq!(form.minus(&n).minus(&m.scaled(2)).as_constant(), Some(3));
/// assert_eq!(form.evaluate(&mut |name| Some(if *name == "n" { 10 } else { 20 })), Some(53));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Linear<T, N = Wrapping> {
    constant: i64,
    terms: Vec<(T, i64)>,
    numbers: PhantomData<N>,
}

impl<T, N> Default for Linear<T, N> {
    fn default() -> Self {
        Self { constant: 0, terms: Vec::new(), numbers: PhantomData }
    }
}

impl<T: Clone + Ord, N: Numbers> Linear<T, N> {
    /// A number.
    pub fn constant(value: i64) -> Self {
        Self { constant: value, ..Self::default() }
    }

    /// A term, once.
    pub fn term(term: T) -> Self {
        Self { terms: vec![(term, 1)], ..Self::default() }
    }

    /// The number that is added to the terms.
    pub fn rest(&self) -> i64 {
        self.constant
    }

    /// The terms with their coefficients, in order.
    pub fn terms(&self) -> &[(T, i64)] {
        &self.terms
    }

    /// The coefficient of a term; 0 of one that is not here.
    pub fn coefficient(&self, term: &T) -> i64 {
        self.terms.binary_search_by(|(own, _)| own.cmp(term)).map_or(0, |at| self.terms[at].1)
    }

    /// The number, if there is no term.
    pub fn as_constant(&self) -> Option<i64> {
        self.terms.is_empty().then_some(self.constant)
    }

    /// The term, if it is one, once, and nothing else.
    pub fn as_term(&self) -> Option<&T> {
        match &self.terms[..] {
            [(term, 1)] if self.constant == 0 => Some(term),
            _ => None,
        }
    }

    /// `self + factor · other`.
    pub fn plus(&self, other: &Self, factor: i64) -> Self {
        let mut terms = Vec::with_capacity(self.terms.len() + other.terms.len());
        let (mut left, mut right) = (&self.terms[..], &other.terms[..]);
        loop {
            let order = match (left, right) {
                ([], []) => break,
                ([], _) => Ordering::Greater,
                (_, []) => Ordering::Less,
                ([(a, _), ..], [(b, _), ..]) => a.cmp(b),
            };
            let (mut term, mut coefficient) = (None, 0);
            if order.is_le()
                && let [(first, a), rest @ ..] = left
            {
                (term, coefficient, left) = (Some(first), *a, rest);
            }
            if order.is_ge()
                && let [(first, b), rest @ ..] = right
            {
                (term, coefficient, right) = (Some(first), N::sum(coefficient, N::product(*b, factor)), rest);
            }
            if let (Some(term), true) = (term, coefficient != 0) {
                terms.push((term.clone(), coefficient));
            }
        }
        Self { constant: N::sum(self.constant, N::product(other.constant, factor)), terms, numbers: PhantomData }
    }

    /// `self - other`.
    pub fn minus(&self, other: &Self) -> Self {
        self.plus(other, -1)
    }

    /// `self + value`.
    pub fn offset(&self, value: i64) -> Self {
        Self { constant: N::sum(self.constant, value), terms: self.terms.clone(), numbers: PhantomData }
    }

    /// `factor · self`.
    pub fn scaled(&self, factor: i64) -> Self {
        Self::default().plus(self, factor)
    }

    /// The product, where `product` is that of two terms; `None` where that has none.
    pub fn times(&self, other: &Self, product: &mut dyn FnMut(&T, &T) -> Option<Self>) -> Option<Self> {
        let without = |form: &Self| Self { constant: 0, ..form.clone() };
        let mut sum = self.scaled(other.constant).plus(&without(other), self.constant);
        for (left, a) in &self.terms {
            for (right, b) in &other.terms {
                sum = sum.plus(&product(left, right)?, N::product(*a, *b));
            }
        }
        Some(sum)
    }

    /// Divided by a number that divides the constant and every coefficient; `None` where it does not, or is 0.
    pub fn divided(&self, by: i64) -> Option<Self> {
        let quotient = |number: i64| (number.checked_rem(by)? == 0).then(|| number / by);
        let terms = self.terms.iter().map(|(term, coefficient)| Some((term.clone(), quotient(*coefficient)?)));
        let terms = terms.collect::<Option<_>>()?;
        Some(Self { constant: quotient(self.constant)?, terms, numbers: PhantomData })
    }

    /// With each term replaced.
    pub fn map<U: Clone + Ord>(&self, replace: &mut dyn FnMut(&T) -> Linear<U, N>) -> Linear<U, N> {
        let start = Linear::constant(self.constant);
        self.terms.iter().fold(start, |sum, (term, coefficient)| sum.plus(&replace(term), *coefficient))
    }

    /// The value in numbers that do not wrap, where that of every term is known and it fits.
    pub fn evaluate(&self, value: &mut dyn FnMut(&T) -> Option<i128>) -> Option<i128> {
        self.terms.iter().try_fold(i128::from(self.constant), |sum, (term, coefficient)| {
            sum.checked_add(i128::from(*coefficient).checked_mul(value(term)?)?)
        })
    }

    /// Writes the terms in the order given, which are those of this sum, then the constant: signs between them, and `one` writes a
    /// magnitude and its term.
    pub fn write<'t>(
        &'t self,
        terms: impl IntoIterator<Item = &'t (T, i64)>,
        text: &mut String,
        one: &mut dyn FnMut(&mut String, u64, &T),
    ) {
        let sign = |text: &mut String, first: bool, negative: bool| {
            text.push_str(match (first, negative) {
                (true, false) => "",
                (true, true) => "-",
                (false, false) => " + ",
                (false, true) => " - ",
            });
        };
        for (position, (term, coefficient)) in terms.into_iter().enumerate() {
            sign(text, position == 0, *coefficient < 0);
            one(text, coefficient.unsigned_abs(), term);
        }
        if self.constant != 0 || self.terms.is_empty() {
            sign(text, self.terms.is_empty(), self.constant < 0);
            text.push_str(&self.constant.unsigned_abs().to_string());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    type Form<N> = Linear<char, N>;

    #[test]
    fn sums_are_in_normal_form() {
        let (n, m) = (Form::<Wrapping>::term('n'), Linear::term('m'));
        assert_eq!(n.plus(&m, 2), m.plus(&m, 1).plus(&n, 1));
        assert_eq!(n.plus(&m, 2).terms(), [('m', 2), ('n', 1)]);
        assert_eq!(n.minus(&n), Linear::default());
        assert_eq!(n.scaled(0), Linear::default());
        assert_eq!((n.plus(&m, 3).coefficient(&'m'), n.coefficient(&'m')), (3, 0));
        assert_eq!((n.as_term(), n.offset(1).as_term(), n.scaled(2).as_term()), (Some(&'n'), None, None));
    }

    #[test]
    fn at_the_end_numbers_wrap_or_stay() {
        let wrapped = Form::<Wrapping>::term('n').scaled(i64::MAX).plus(&Linear::term('n'), 1).offset(i64::MAX);
        assert_eq!((wrapped.coefficient(&'n'), wrapped.offset(1).rest()), (i64::MIN, i64::MIN));
        let stays = Form::<Saturating>::term('n').scaled(i64::MAX).plus(&Linear::term('n'), 1).offset(i64::MAX);
        assert_eq!((stays.coefficient(&'n'), stays.offset(1).rest()), (i64::MAX, i64::MAX));
        // Twice 2⁶³ is nothing modulo 2⁶⁴, and as much as there is otherwise.
        assert_eq!(Form::<Wrapping>::term('n').scaled(1 << 62).scaled(4), Linear::default());
        assert_ne!(Form::<Saturating>::term('n').scaled(1 << 62).scaled(4), Linear::default());
    }

    #[test]
    fn values_and_quotients_are_those_of_the_numbers() {
        let form = Form::<Wrapping>::term('n').scaled(6).plus(&Linear::term('m'), -4).offset(2);
        let value = |form: &Form<Wrapping>| form.evaluate(&mut |name| Some(if *name == 'n' { 10 } else { 3 }));
        assert_eq!(value(&form), Some(50));
        assert_eq!(form.divided(2).as_ref().and_then(value), Some(25));
        assert_eq!((form.divided(4), form.divided(0)), (None, None));
        assert_eq!(form.evaluate(&mut |_| None), None);
        assert_eq!(form.evaluate(&mut |_| Some(i128::MAX)), None);
        let square = form.times(&form, &mut |a, b| (a == b).then(|| Linear::term(*a)));
        assert_eq!(square, None, "of two different terms this has no product");
    }

    #[test]
    fn sums_are_written_with_their_signs() {
        let text = |form: &Form<Wrapping>| {
            let mut text = String::new();
            form.write(form.terms(), &mut text, &mut |text, magnitude, name| *text += &format!("{magnitude}{name}"));
            text
        };
        let form = Form::term('n').scaled(-2).plus(&Linear::term('z'), 3).offset(-1);
        assert_eq!(text(&form), "-2n + 3z - 1");
        assert_eq!((text(&Linear::constant(-4)), text(&Linear::default())), ("-4".into(), "0".into()));
    }
}
