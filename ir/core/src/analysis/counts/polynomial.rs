//! Polynomials in named sizes.

use std::{cmp::Ordering, fmt, sync::Arc};

use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::{
    Binary, Constant,
    analysis::linear::{Linear, Saturating},
    primitive,
};

/// The most symbols that a product, or the operands of a function, may hold: more is a symbol of its own to whoever computes.
const LARGEST: usize = 48;

/// A sum of products of sizes, as a [`Linear`] of products; numbers beyond `i64` stay at its end.
///
/// ```
/// use fusebox_ir::analysis::counts::Polynomial;
/// let n = Polynomial::named("n");
/// let reads = n.plus(&n).plus(&Polynomial::constant(2));
/// assert_eq!(reads.to_string(), "2n + 2");
/// assert_eq!(reads.evaluate(&|name| (name == "n").then_some(10)), Some(22));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Polynomial(Sum);

type Sum = Linear<Vec<Factor>, Saturating>;

/// A power of a symbol.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Factor {
    /// What is multiplied.
    pub symbol: Symbol,
    /// How often, at least once.
    pub power: u32,
}

/// What a polynomial is in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Symbol {
    /// A size, a scalar input, or a number known only when the program runs, by its name.
    Named(Arc<str>),
    /// A function of two polynomials that is none itself, such as `min(n, m)`.
    Function(Binary, Box<Polynomial>, Box<Polynomial>),
}

impl Polynomial {
    /// A number.
    pub fn constant(value: i64) -> Self {
        Self(Sum::constant(value))
    }

    /// A size.
    pub fn named(name: &str) -> Self {
        Self::symbol(Symbol::Named(name.into()))
    }

    fn symbol(symbol: Symbol) -> Self {
        Self(Sum::term(vec![Factor { symbol, power: 1 }]))
    }

    /// The number, if there is no symbol.
    pub fn as_constant(&self) -> Option<i64> {
        self.0.as_constant()
    }

    /// Products with their coefficients: of larger degree first, then by name.
    fn ordered(&self) -> Vec<&(Vec<Factor>, i64)> {
        let mut terms: Vec<_> = self.0.terms().iter().collect();
        terms.sort_by_key(|(product, _)| std::cmp::Reverse(degree(product)));
        terms
    }

    /// Coefficients and products: of larger degree first, then by name; the product of nothing is the constant.
    pub fn terms(&self) -> Vec<(i64, &[Factor])> {
        let products = self.ordered().into_iter().map(|(product, coefficient)| (*coefficient, product.as_slice()));
        let constant = (self.0.rest() != 0).then_some((self.0.rest(), &[][..]));
        products.chain(constant).collect()
    }

    /// Adds another.
    pub fn add_assign(&mut self, other: &Self) {
        *self = self.plus(other);
    }

    /// The sum.
    pub fn plus(&self, other: &Self) -> Self {
        Self(self.0.plus(&other.0, 1))
    }

    /// The difference.
    pub fn minus(&self, other: &Self) -> Self {
        Self(self.0.minus(&other.0))
    }

    /// The product with a number.
    pub fn scaled(&self, factor: i64) -> Self {
        Self(self.0.scaled(factor))
    }

    /// How many things are added up.
    fn count(&self) -> usize {
        self.0.terms().len() + usize::from(self.0.rest() != 0)
    }

    /// The product, if it is not too large to be read.
    pub fn times(&self, other: &Self) -> Option<Self> {
        // A sum of few terms may grow by a number without limit: that costs nothing. Otherwise the product weighs at most: every term with
        // every other.
        let number = self.as_constant().or(other.as_constant()).is_some();
        let (left, right) = (self.count(), other.count());
        if !number && right.saturating_mul(self.weight()) + left.saturating_mul(other.weight()) > LARGEST {
            return None;
        }
        self.0.times(&other.0, &mut |left, right| Some(Sum::term(multiplied(left, right)))).map(Self)
    }

    /// A function of two integers, as the scalar code of programs has them, if it is known what it gives and not too large to be read.
    pub fn function(function: Binary, a: &Self, b: &Self) -> Option<Self> {
        match function {
            Binary::Add => return Some(a.plus(b)),
            Binary::Sub => return Some(a.minus(b)),
            Binary::Mul => return a.times(b),
            _ => {}
        }
        if let (Some(a), Some(b)) = (a.as_constant(), b.as_constant()) {
            return apply(function, a, b).map(Self::constant);
        }
        match (function, b.minus(a).as_constant(), b.as_constant()) {
            (Binary::Min, Some(more), _) => return Some(if more >= 0 { a.clone() } else { b.clone() }),
            (Binary::Max, Some(more), _) => return Some(if more >= 0 { b.clone() } else { a.clone() }),
            (Binary::Div | Binary::DivFloor, _, Some(divisor)) if a.0.divided(divisor).is_some() => {
                return a.0.divided(divisor).map(Self);
            }
            (Binary::Min | Binary::Max | Binary::Rem | Binary::ModFloor | Binary::Div | Binary::DivFloor, ..) => {}
            _ => return None,
        }
        if a.weight() + b.weight() > LARGEST {
            return None;
        }
        let (mut a, mut b) = (a.clone(), b.clone());
        if matches!(function, Binary::Min | Binary::Max) && b < a {
            std::mem::swap(&mut a, &mut b);
        }
        Some(Self::symbol(Symbol::Function(function, Box::new(a), Box::new(b))))
    }

    /// The larger of two counts: the one that is at least the other whatever the sizes, which are not negative; else `max` of both.
    /// Should that be too large to be read, it is their sum, which is as much or more.
    pub fn larger(&self, other: &Self) -> Self {
        let never_negative =
            |difference: Self| difference.0.rest() >= 0 && difference.0.terms().iter().all(|&(_, factor)| factor > 0);
        if never_negative(self.minus(other)) {
            self.clone()
        } else if never_negative(other.minus(self)) {
            other.clone()
        } else {
            Self::function(Binary::Max, self, other).unwrap_or_else(|| self.plus(other))
        }
    }

    /// The value, where that of every name is known, no function fails, and it fits.
    pub fn evaluate(&self, value: &dyn Fn(&str) -> Option<i64>) -> Option<i64> {
        let power = |Factor { symbol, power }: &Factor| {
            let base = match symbol {
                Symbol::Named(name) => value(name)?,
                Symbol::Function(function, a, b) => apply(*function, a.evaluate(value)?, b.evaluate(value)?)?,
            };
            i128::from(base).checked_pow(*power)
        };
        let mut product = |factors: &Vec<Factor>| {
            factors.iter().try_fold(1i128, |product, factor| product.checked_mul(power(factor)?))
        };
        self.0.evaluate(&mut product)?.try_into().ok()
    }

    /// Every name in it, in functions too, in order.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        let mut rest = vec![self];
        while let Some(polynomial) = rest.pop() {
            for factor in polynomial.0.terms().iter().flat_map(|(product, _)| product) {
                match &factor.symbol {
                    Symbol::Named(name) => names.push(&**name),
                    Symbol::Function(_, a, b) => rest.extend([&**a, b]),
                }
            }
        }
        names.sort_unstable();
        names.dedup();
        names
    }

    /// How many symbols there are to read, and coefficients.
    fn weight(&self) -> usize {
        let of = |factor: &Factor| {
            let once = match &factor.symbol {
                Symbol::Named(_) => 1,
                Symbol::Function(_, a, b) => 1 + a.weight() + b.weight(),
            };
            once * factor.power as usize
        };
        let products = self.0.terms().iter().map(|(product, _)| product.iter().map(of).sum::<usize>());
        products.sum::<usize>() + usize::from(self.0.rest() != 0)
    }

    /// With every product sign: `2*n + 2`, which is an expression of the text form.
    pub fn expression(&self) -> String {
        self.spelled("*")
    }

    /// In brackets, if there is more than one thing.
    fn operand(&self, times: &str) -> String {
        let text = self.spelled(times);
        if text.chars().all(|c| c.is_alphanumeric() || c == '_') { text } else { format!("({text})") }
    }

    fn spelled(&self, times: &str) -> String {
        let mut text = String::new();
        self.0.write(self.ordered(), &mut text, &mut |text, size, product| {
            let mut shown = Vec::new();
            for Factor { symbol, power } in product {
                let base = match symbol {
                    Symbol::Named(name) => name.to_string(),
                    Symbol::Function(function, a, b) if function.text().starts_with(char::is_alphabetic) => {
                        format!("{}({}, {})", function.text(), a.spelled(times), b.spelled(times))
                    }
                    Symbol::Function(function, a, b) => {
                        format!("({} {} {})", a.operand(times), function.text(), b.operand(times))
                    }
                };
                // The text form has no powers.
                shown.extend(std::iter::repeat_n(base, *power as usize));
            }
            let product = shown.join("*");
            match size {
                1 => {}
                size if product.starts_with(|c: char| c.is_alphabetic() || c == '_') && !product.contains('(') => {
                    text.push_str(&format!("{size}{times}"));
                }
                size => text.push_str(&format!("{size}*")),
            }
            text.push_str(&product);
        });
        text
    }
}

/// By products and coefficients in order, the constant first if there is one: which of two comes first in a minimum.
impl Ord for Polynomial {
    fn cmp(&self, other: &Self) -> Ordering {
        let key = |of: &Self| (of.0.rest() == 0, of.0.rest());
        match (key(self), key(other)) {
            // The product of nothing stands before every other, and what has no terms before what has some.
            ((false, a), (false, b)) => a.cmp(&b).then_with(|| self.0.terms().cmp(other.0.terms())),
            ((true, _), (true, _)) => self.0.terms().cmp(other.0.terms()),
            ((true, _), (false, _)) if self.0.terms().is_empty() => Ordering::Less,
            ((false, _), (true, _)) if other.0.terms().is_empty() => Ordering::Greater,
            ((a, _), (b, _)) => a.cmp(&b),
        }
    }
}

impl PartialOrd for Polynomial {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

fn multiplied(left: &[Factor], right: &[Factor]) -> Vec<Factor> {
    let mut product = left.to_vec();
    for factor in right {
        match product.iter_mut().find(|old| old.symbol == factor.symbol) {
            Some(old) => old.power = old.power.saturating_add(factor.power),
            None => product.push(factor.clone()),
        }
    }
    product.sort();
    product
}

fn apply(function: Binary, a: i64, b: i64) -> Option<i64> {
    primitive::binary(function, Constant::from(a), Constant::from(b)).ok()??.as_i64()
}

fn degree(product: &[Factor]) -> u64 {
    product.iter().map(|factor| u64::from(factor.power)).sum()
}

/// As people write it: `2n + 2`, `n*m + 3`, `2*min(n, m)`.
impl fmt::Display for Polynomial {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.spelled(""))
    }
}

/// `{"text": "2*n + 2", "terms": [{"coefficient": 2, "factors": [{"size": "n", "power": 1}]}, …]}`; a function is
/// `{"function": "min", "arguments": […], "power": 1}`.
impl Serialize for Polynomial {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Term<'p> {
            coefficient: i64,
            factors: Vec<Shown<'p>>,
        }
        #[derive(Serialize)]
        #[serde(untagged)]
        enum Shown<'p> {
            Named { size: &'p str, power: u32 },
            Function { function: &'static str, arguments: [&'p Polynomial; 2], power: u32 },
        }
        let terms: Vec<_> = self
            .terms()
            .into_iter()
            .map(|(coefficient, product)| {
                let factors = product.iter().map(|Factor { symbol, power }| match symbol {
                    Symbol::Named(size) => Shown::Named { size, power: *power },
                    Symbol::Function(function, a, b) => {
                        Shown::Function { function: function.text(), arguments: [a, b], power: *power }
                    }
                });
                Term { coefficient, factors: factors.collect() }
            })
            .collect();
        let mut shown = serializer.serialize_struct("Polynomial", 2)?;
        shown.serialize_field("text", &self.expression())?;
        shown.serialize_field("terms", &terms)?;
        shown.end()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(name: &str) -> Polynomial {
        Polynomial::named(name)
    }

    #[test]
    fn sums_and_products_are_spelled_as_people_write_them() {
        let (n, m) = (named("n"), named("m"));
        let one = Polynomial::constant(1);
        let spelled = |polynomial: &Polynomial| (polynomial.to_string(), polynomial.expression());
        assert_eq!(spelled(&n.scaled(2).plus(&one).plus(&one)), ("2n + 2".into(), "2*n + 2".into()));
        let product = n.times(&m).unwrap().plus(&Polynomial::constant(3));
        assert_eq!(spelled(&product), ("m*n + 3".into(), "m*n + 3".into()));
        assert_eq!(spelled(&n.times(&n).unwrap().minus(&m)), ("n*n - m".into(), "n*n - m".into()));
        let least = Polynomial::function(Binary::Min, &n, &m).unwrap();
        assert_eq!(spelled(&least.scaled(2)), ("2*min(m, n)".into(), "2*min(m, n)".into()));
        assert_eq!(spelled(&n.minus(&n)), ("0".into(), "0".into()));
        let half = Polynomial::function(Binary::Div, &n.plus(&one), &Polynomial::constant(2)).unwrap();
        assert_eq!(half.scaled(3).to_string(), "3*((n + 1) / 2)");
    }

    #[test]
    fn what_is_known_is_simplified() {
        let n = named("n");
        let function = |f, a: &Polynomial, b: &Polynomial| Polynomial::function(f, a, b).unwrap().to_string();
        let next = n.plus(&Polynomial::constant(1));
        assert_eq!(function(Binary::Min, &n, &next), "n");
        assert_eq!(function(Binary::Max, &n, &next), "n + 1");
        assert_eq!(function(Binary::Div, &n.scaled(6), &Polynomial::constant(3)), "2n");
        assert_eq!(function(Binary::Rem, &Polynomial::constant(7), &Polynomial::constant(4)), "3");
        assert_eq!(Polynomial::function(Binary::Div, &Polynomial::constant(7), &Polynomial::constant(0)), None);
        assert_eq!(n.larger(&n.scaled(2)), n.scaled(2));
        assert_eq!(n.larger(&named("m")).to_string(), "max(m, n)");
    }

    #[test]
    fn evaluation_needs_every_name_and_does_not_overflow() {
        let values = |name: &str| match name {
            "n" => Some(1 << 40),
            "m" => Some(7),
            _ => None,
        };
        let (n, m) = (named("n"), named("m"));
        assert_eq!(Polynomial::function(Binary::Min, &n, &m).unwrap().evaluate(&values), Some(7));
        assert_eq!(n.times(&n).unwrap().evaluate(&values), None);
        assert_eq!(n.plus(&named("k")).evaluate(&values), None);
        assert_eq!(Polynomial::constant(i64::MAX).scaled(2).as_constant(), Some(i64::MAX));
    }

    #[test]
    fn what_would_double_at_each_step_ends() {
        let mut x = named("n");
        let mut steps = 0;
        while let Some(next) = Polynomial::function(Binary::Min, &x, &x.scaled(3)) {
            x = next;
            steps += 1;
            assert!(steps < 20);
        }
        let mut x = named("n").plus(&named("m"));
        while let Some(next) = x.times(&x) {
            x = next;
            steps += 1;
            assert!(steps < 40);
        }
    }

    #[test]
    fn json_has_text_and_structure() {
        let json = serde_json::to_value(named("n").scaled(2).plus(&Polynomial::constant(2))).unwrap();
        let terms = serde_json::json!([
            { "coefficient": 2, "factors": [{ "size": "n", "power": 1 }] },
            { "coefficient": 2, "factors": [] },
        ]);
        assert_eq!(json, serde_json::json!({ "text": "2*n + 2", "terms": terms }));
    }
}
