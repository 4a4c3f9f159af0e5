//! What conditions say of integers: that one is a number. Pairs that are compared with the greatest ones there are, as where a fold of the least three
//! gets one new element and two that are none, need neither comparison nor choice.

use std::collections::HashMap;

use fusebox_ir::{Binary, Constant, ElementType, analysis::algebra::identity};

use crate::{Type, Value};

/// What is known where a condition holds, or does not: that values are numbers.
type Facts = Vec<(Value, Constant)>;

/// What has been made so far.
#[derive(Debug, Default)]
pub(super) struct Conditions {
    /// Numbers in all lanes.
    spread: HashMap<Value, Constant>,
    /// Conditions that hold just where a value is a number (`true`), or is not.
    exact: HashMap<Value, (bool, Value, Constant)>,
    /// What is so where a condition holds, and where it does not.
    facts: HashMap<Value, [Facts; 2]>,
    /// Of what a conjunction is one.
    both: HashMap<Value, (Value, Value)>,
    /// Of what a disjunction is one.
    either: HashMap<Value, (Value, Value)>,
}

/// The least and the greatest integer of a type.
fn bounds(ty: ElementType) -> Option<[Constant; 2]> {
    let bounds = [identity(Binary::Max, ty)?, identity(Binary::Min, ty)?];
    ty.is_integer().then_some(bounds)
}

impl Conditions {
    /// A value has this number in all lanes.
    pub(super) fn spread(&mut self, value: Value, number: Constant) {
        self.spread.insert(value, number);
    }

    /// The number that a value has in all lanes.
    pub(super) fn number(&self, value: Value) -> Option<Constant> {
        self.spread.get(&value).copied()
    }

    /// What is so where a condition holds, or does not.
    fn facts(&self, condition: Value, holds: bool) -> &[(Value, Constant)] {
        self.facts.get(&condition).map_or(&[], |facts| &facts[usize::from(!holds)])
    }

    /// The number that a value is where a condition holds, or does not.
    fn where_it(&self, condition: Value, holds: bool, value: Value) -> Option<Constant> {
        self.facts(condition, holds).iter().find(|(own, _)| *own == value).map(|&(_, number)| number)
    }

    /// A comparison, or what connects two conditions, has been made.
    pub(super) fn made(&mut self, function: Binary, operands: (Value, Value), ty: Type, made: Value) {
        let (a, b) = operands;
        match function {
            Binary::And | Binary::LogicalAnd if ty.element == ElementType::Bool => {
                self.both.insert(made, (a, b));
                self.connect(true, operands, made);
            }
            Binary::Or | Binary::LogicalOr if ty.element == ElementType::Bool => {
                self.either.insert(made, (a, b));
                self.connect(false, operands, made);
            }
            _ => {
                let (value, number, turned) = match (self.number(a), self.number(b)) {
                    (None, Some(number)) => (a, number, false),
                    (Some(number), None) => (b, number, true),
                    _ => return,
                };
                let Some([least, greatest]) = bounds(ty.element) else { return };
                let function = if turned { mirrored(function) } else { function };
                let is = match function {
                    Binary::Eq => true,
                    Binary::Ne => false,
                    Binary::Ge if number == greatest => true,
                    Binary::Le if number == least => true,
                    Binary::Lt if number == greatest => false,
                    Binary::Gt if number == least => false,
                    _ => return,
                };
                self.exact.insert(made, (is, value, number));
                let mut facts = [Facts::new(), Facts::new()];
                facts[usize::from(!is)].push((value, number));
                self.facts.insert(made, facts);
            }
        }
    }

    /// Where both hold, or where neither does, what is known of each is so.
    fn connect(&mut self, holds: bool, (a, b): (Value, Value), made: Value) {
        let known = [a, b].map(|condition| self.facts(condition, holds)).concat();
        if !known.is_empty() {
            let mut facts = [Facts::new(), Facts::new()];
            facts[usize::from(!holds)] = known;
            self.facts.insert(made, facts);
        }
    }

    /// `p` and `q`, where one condition or another is `p or (not p and q)`: that is `p or q`.
    pub(super) fn other(&self, (a, b): (Value, Value)) -> Option<(Value, Value)> {
        let opposite = |p: Value, q: Value| match (self.exact.get(&p), self.exact.get(&q)) {
            (Some(&(is, value, number)), Some(&other)) => other == (!is, value, number),
            _ => false,
        };
        [(a, b), (b, a)].into_iter().find_map(|(p, both)| {
            let &(q, z) = self.both.get(&both)?;
            [(q, z), (z, q)].into_iter().find_map(|(q, z)| opposite(p, q).then_some((p, z)))
        })
    }

    /// `q`, where a condition is `known or q`.
    pub(super) fn beside(&self, condition: Value, known: Value) -> Option<Value> {
        match *self.either.get(&condition)? {
            (p, q) | (q, p) if p == known => Some(q),
            _ => None,
        }
    }

    /// What `a` where a condition holds, and else `b`, always is: one of them.
    pub(super) fn chosen(&self, condition: Value, a: Value, b: Value) -> Option<Value> {
        // Where `b` is not taken it is what `a` is; or where it is taken it is the number that `a` is.
        let same = |number: Option<Constant>, other: Value| number.is_some() && number == self.number(other);
        if same(self.where_it(condition, true, b), a) {
            return Some(b);
        }
        if same(self.where_it(condition, false, a), b) {
            return Some(a);
        }
        if same(self.where_it(condition, false, b), a) {
            return Some(a);
        }
        same(self.where_it(condition, true, a), b).then_some(b)
    }
}

/// The comparison whose operands have changed places.
fn mirrored(function: Binary) -> Binary {
    match function {
        Binary::Lt => Binary::Gt,
        Binary::Le => Binary::Ge,
        Binary::Gt => Binary::Lt,
        Binary::Ge => Binary::Le,
        other => other,
    }
}
