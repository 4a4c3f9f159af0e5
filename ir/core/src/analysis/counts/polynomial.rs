//! Polynomials in named sizes.

use std::{collections::BTreeMap, fmt, sync::Arc};

use serde::{Serialize, Serializer, ser::SerializeStruct};

use crate::{Binary, Constant, primitive};

/// The most symbols that a product, or the operands of a function, may hold: more is a symbol of its own to whoever computes.
const LARGEST: usize = 48;

/// A sum of products of sizes, with whole coefficients; those beyond `i64` stay at its end.
///
/// ```
/// use fusebox_ir::analysis::counts::Polynomial;
/// let n = Polynomial::named("n");
/// let reads = n.plus(&n).plus(&Polynomial::constant(2));
/// assert_eq!(reads.to_string(), "2n + 2");
/// assert_eq!(reads.evaluate(&|name| (name == "n").then_some(10)), Some(22));
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Polynomial {
    /// Coefficients by product, none of them 0; the product of nothing is the constant.
    terms: BTreeMap<Vec<Factor>, i64>,
}

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
        let mut polynomial = Self::default();
        polynomial.add_term(Vec::new(), value);
        polynomial
    }

    /// A size.
    pub fn named(name: &str) -> Self {
        Self::symbol(Symbol::Named(name.into()))
    }

    fn symbol(symbol: Symbol) -> Self {
        Self { terms: BTreeMap::from([(vec![Factor { symbol, power: 1 }], 1)]) }
    }

    /// The number, if there is no symbol.
    pub fn as_constant(&self) -> Option<i64> {
        match self.terms.iter().next() {
            None => Some(0),
            Some((product, &coefficient)) if self.terms.len() == 1 && product.is_empty() => Some(coefficient),
            Some(_) => None,
        }
    }

    /// Coefficients and products: of larger degree first, then by name.
    pub fn terms(&self) -> Vec<(i64, &[Factor])> {
        let mut terms: Vec<_> = self.terms.iter().map(|(product, &factor)| (factor, product.as_slice())).collect();
        terms.sort_by_key(|(_, product)| std::cmp::Reverse(degree(product)));
        terms
    }

    fn add_term(&mut self, product: Vec<Factor>, coefficient: i64) {
        use std::collections::btree_map::Entry;
        match self.terms.entry(product) {
            Entry::Vacant(_) if coefficient == 0 => {}
            Entry::Vacant(entry) => {
                entry.insert(coefficient);
            }
            Entry::Occupied(mut entry) => match entry.get().saturating_add(coefficient) {
                0 => {
                    entry.remove();
                }
                sum => *entry.get_mut() = sum,
            },
        }
    }

    /// Adds another.
    pub fn add_assign(&mut self, other: &Self) {
        for (product, &coefficient) in &other.terms {
            self.add_term(product.clone(), coefficient);
        }
    }

    /// The sum.
    pub fn plus(&self, other: &Self) -> Self {
        let mut sum = self.clone();
        sum.add_assign(other);
        sum
    }

    /// The difference.
    pub fn minus(&self, other: &Self) -> Self {
        self.plus(&other.scaled(-1))
    }

    /// The product with a number.
    pub fn scaled(&self, factor: i64) -> Self {
        let mut scaled = Self::default();
        for (product, coefficient) in &self.terms {
            scaled.add_term(product.clone(), coefficient.saturating_mul(factor));
        }
        scaled
    }

    /// The product, if it is not too large to be read.
    pub fn times(&self, other: &Self) -> Option<Self> {
        // A sum of few terms may grow by a number without limit: that costs nothing.
        if let Some(factor) = other.as_constant() {
            return Some(self.scaled(factor));
        }
        if let Some(factor) = self.as_constant() {
            return Some(other.scaled(factor));
        }
        let (left, right) = (self.terms.len(), other.terms.len());
        // What the product weighs at most: every term with every other.
        if right.saturating_mul(self.weight()) + left.saturating_mul(other.weight()) > LARGEST {
            return None;
        }
        let mut result = Self::default();
        for (left, a) in &self.terms {
            for (right, b) in &other.terms {
                let mut product = left.clone();
                for factor in right {
                    match product.iter_mut().find(|old| old.symbol == factor.symbol) {
                        Some(old) => old.power = old.power.saturating_add(factor.power),
                        None => product.push(factor.clone()),
                    }
                }
                product.sort();
                result.add_term(product, a.saturating_mul(*b));
            }
        }
        Some(result)
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
            (Binary::Div | Binary::DivFloor, _, Some(divisor)) if a.divided(divisor).is_some() => {
                return a.divided(divisor);
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

    /// Divided by a number that divides every coefficient.
    fn divided(&self, divisor: i64) -> Option<Self> {
        let divides = |coefficient: &i64| coefficient.checked_rem(divisor) == Some(0);
        if !self.terms.values().all(divides) {
            return None;
        }
        let terms = self.terms.iter().map(|(product, coefficient)| (product.clone(), coefficient / divisor));
        Some(Self { terms: terms.collect() })
    }

    /// The larger of two counts: the one that is at least the other whatever the sizes, which are not negative; else `max` of both.
    /// Should that be too large to be read, it is their sum, which is as much or more.
    pub fn larger(&self, other: &Self) -> Self {
        let never_negative = |difference: Self| difference.terms.values().all(|&coefficient| coefficient > 0);
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
        let mut sum = 0i128;
        for (product, &coefficient) in &self.terms {
            let mut term = i128::from(coefficient);
            for Factor { symbol, power } in product {
                let factor = match symbol {
                    Symbol::Named(name) => value(name)?,
                    Symbol::Function(function, a, b) => apply(*function, a.evaluate(value)?, b.evaluate(value)?)?,
                };
                term = term.checked_mul(i128::from(factor).checked_pow(*power)?)?;
            }
            sum = sum.checked_add(term)?;
        }
        sum.try_into().ok()
    }

    /// Every name in it, in functions too, in order.
    pub fn names(&self) -> Vec<&str> {
        let mut names = Vec::new();
        let mut rest = vec![self];
        while let Some(polynomial) = rest.pop() {
            for factor in polynomial.terms.keys().flatten() {
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
        self.terms.keys().map(|product| product.iter().map(of).sum::<usize>().max(1)).sum()
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
        for (coefficient, product) in self.terms() {
            match (text.is_empty(), coefficient < 0) {
                (true, false) => {}
                (true, true) => text.push('-'),
                (false, false) => text.push_str(" + "),
                (false, true) => text.push_str(" - "),
            }
            let size = coefficient.unsigned_abs();
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
                1 if !product.is_empty() => {}
                size if product.is_empty() => text.push_str(&size.to_string()),
                size if product.starts_with(|c: char| c.is_alphabetic() || c == '_') && !product.contains('(') => {
                    text.push_str(&format!("{size}{times}"));
                }
                size => text.push_str(&format!("{size}*")),
            }
            text.push_str(&product);
        }
        if text.is_empty() { "0".to_owned() } else { text }
    }
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
