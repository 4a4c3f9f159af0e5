//! What each operation asks of its operands and results.

use fusebox_ir::{Binary, ElementType};

use super::{Rule, Verify};
use crate::{Append, If, Inst, Loop, Op, Type, Value, While};

const ADDRESS: Type = Type { element: ElementType::I64, lanes: 1 };

impl Verify<'_> {
    fn of(&self, value: Value) -> Type {
        self.function.types[value.0 as usize]
    }

    fn should(&mut self, rule: Rule, holds: bool, what: impl FnOnce() -> String) {
        if !holds {
            self.fault(rule, what());
        }
    }

    fn is(&mut self, value: Value, ty: Type) {
        let own = self.of(value);
        self.should(Rule::Types, own == ty, || format!("{value} is {own} instead of {ty}"));
    }

    /// Uniform `i64`: addresses, positions, counts.
    fn addresses(&mut self, values: &[Value]) {
        values.iter().for_each(|&value| self.is(value, ADDRESS));
    }

    /// A position of an access of so many lanes: of lane 0, or of each lane its own.
    fn position(&mut self, index: Value, lanes: u32) {
        let own = self.of(index);
        let fits = own.element == ElementType::I64 && (own.lanes == 1 || own.lanes == lanes);
        self.should(Rule::Types, fits, || format!("{index} is {own}, the position of {lanes} lanes"));
    }

    /// A mask of so many lanes, or a uniform `bool`.
    fn mask(&mut self, mask: Value, lanes: u32) {
        let own = self.of(mask);
        let fits = own.element == ElementType::Bool && (own.lanes == 1 || own.lanes == lanes);
        self.should(Rule::Masks, fits, || format!("{mask} is {own}, the mask of {lanes} lanes"));
    }

    /// Lists of values that stand for each other.
    fn alike(&mut self, what: &str, values: &[Value], others: &[Value]) {
        let same = values.len() == others.len()
            && values.iter().zip(others).all(|(&value, &other)| match (self.ty(value), self.ty(other)) {
                (Some(ty), Some(other)) => ty == other,
                // That it has no type is a fault of its own.
                _ => true,
            });
        self.should(Rule::Carried, same, || {
            let text = |values: &[Value]| values.iter().map(Value::to_string).collect::<Vec<_>>().join(", ");
            format!("{what} ({}) are not like ({})", text(values), text(others))
        });
    }

    /// An access of `bytes` bytes in all at an element of `width` bytes.
    fn scratch(&mut self, base: Value, (index, offset): (Value, i64), width: usize, bytes: usize) {
        let Some(place) = self.places[base.0 as usize] else { return };
        let room = self.function.scratch as i64;
        let index = self.constants[index.0 as usize].and_then(|index| index.as_i64());
        let (first, bytes) = match index.and_then(|index| index.checked_add(offset)) {
            Some(index) => (index.checked_mul(width as i64).and_then(|at| at.checked_add(place)), bytes as i64),
            // Somewhere behind.
            None => (Some(place), 0),
        };
        let inside = first.is_some_and(|first| 0 <= first && first <= room - bytes);
        self.should(Rule::Scratch, inside, || {
            format!("{bytes} bytes at {} of {room} bytes", first.map_or("nowhere".to_owned(), |at| at.to_string()))
        });
    }

    /// Everything but that values are defined, and once.
    pub(super) fn types(&mut self, inst: &Inst) {
        let result = inst.results.first().copied();
        let ty = result.map_or(ADDRESS, |result| self.of(result));
        let like = |element: ElementType| Type { element, lanes: ty.lanes };
        match &inst.op {
            Op::Parameter(position) => {
                self.should(Rule::Positions, *position <= 2, || format!("there is no parameter {position}"));
                self.should(Rule::Types, ty == ADDRESS, || format!("a parameter is not {ty}"));
            }
            Op::Argument(position) => {
                let words = self.words;
                self.should(Rule::Positions, (*position as usize) < words, || {
                    format!("word {position} of an argument table of {words}")
                });
                self.should(Rule::Types, ty == ADDRESS, || format!("a word is not {ty}"));
            }
            Op::Constant(constant) => {
                let own = constant.ty();
                self.should(Rule::Constants, own == ty.element, || format!("a number of {own} as {ty}"));
            }
            Op::Splat(a) => self.is(*a, Type { element: ty.element, lanes: 1 }),
            Op::Iota => self.should(Rule::Types, ty.element != ElementType::Bool, || "lanes are no bool".to_owned()),
            Op::Unary(function, a) => {
                let own = self.of(*a);
                let fits = function.result_type(own.element).map(like) == Some(ty) && own.lanes == ty.lanes;
                self.should(Rule::Types, fits, || format!("{} of {own} is not {ty}", function.text()));
            }
            Op::Binary(function, a, b) => self.binary(*function, *a, *b, ty),
            Op::OfNumbers(function, a, b) => {
                let fits = ty.element.is_float() && matches!(function, Binary::Min | Binary::Max);
                self.should(Rule::Types, fits, || format!("`{}` of numbers, as {ty}", function.text()));
                [*a, *b].into_iter().for_each(|operand| self.is(operand, ty));
            }
            Op::AreNumbers(a, b) => {
                let own = self.of(*a);
                let fits = matches!(own.element, ElementType::F32 | ElementType::F64) && own.lanes > 1;
                let fits = fits && ty == Type { element: ElementType::Bool, lanes: own.lanes };
                self.should(Rule::Types, fits, || format!("whether {own} are numbers, as {ty}"));
                self.is(*b, own);
            }
            Op::Fma(a, b, c) => {
                self.should(Rule::Types, ty.element.is_float(), || format!("{ty} is rounded nowhere"));
                [*a, *b, *c].into_iter().for_each(|operand| self.is(operand, ty));
            }
            Op::Convert(a) => {
                let own = self.of(*a);
                let fits = own.element.converts_to(ty.element) && own.lanes == ty.lanes;
                self.should(Rule::Types, fits, || format!("{own} does not convert to {ty}"));
            }
            Op::Bits(a) => {
                let own = self.of(*a);
                let fits = own.element.has_bits_of(ty.element) && own.lanes == ty.lanes;
                self.should(Rule::Types, fits, || format!("{own} has no bits of {ty}"));
            }
            Op::Select(condition, a, b) => {
                self.mask(*condition, ty.lanes);
                [*a, *b].into_iter().for_each(|operand| self.is(operand, ty));
            }
            Op::Load { base, index, offset, .. } => {
                self.addresses(&[*base]);
                self.position(*index, ty.lanes);
                let width = ty.element.bytes();
                self.scratch(*base, (*index, *offset), width, width * ty.lanes as usize);
            }
            Op::LoadStrided { base, index, stride, .. } => {
                self.addresses(&[*base, *index, *stride]);
                self.scratch(*base, (*index, 0), ty.element.bytes(), ty.element.bytes());
            }
            Op::LoadMasked { base, index, mask, elsewhere, .. } => {
                self.addresses(&[*base, *index, *elsewhere]);
                self.mask(*mask, ty.lanes);
                let lanes = self.of(*mask).lanes;
                self.should(Rule::Types, lanes > 1, || format!("{ty} is loaded under a mask of one lane"));
                self.scratch(*base, (*elsewhere, 0), ty.element.bytes(), ty.element.bytes());
            }
            Op::Store { base, index, value, mask, streaming } => {
                let (own, at) = (self.of(*value), self.of(*index));
                self.addresses(&[*base]);
                self.position(*index, own.lanes);
                mask.iter().for_each(|&mask| self.mask(mask, own.lanes));
                let (width, bytes) = (own.element.bytes(), own.element.bytes() * own.lanes as usize);
                self.scratch(*base, (*index, 0), width, bytes);
                let whole = mask.is_none() && at.lanes == 1 && bytes.is_multiple_of(16);
                self.should(Rule::Streaming, !streaming || whole, || format!("{own} at {at}, past the caches"));
            }
            Op::Prefetch { base, index, .. } => self.addresses(&[*base, *index]),
            Op::Append(own) => {
                let Append { bases, count, values, mask, spare, whole: _ } = &**own;
                self.addresses(bases);
                self.addresses(&[*count, *spare]);
                self.should(Rule::Types, ty == ADDRESS, || format!("a count is not {ty}"));
                let lanes = values.first().map_or(1, |&value| self.of(value).lanes);
                let fits = bases.len() == values.len() && values.iter().all(|&value| self.of(value).lanes == lanes);
                self.should(Rule::Types, fits, || "one value for each array, all of the same lanes".to_owned());
                mask.iter().for_each(|&mask| self.mask(mask, lanes));
            }
            Op::Any(mask) => {
                let own = self.of(*mask).element;
                self.should(Rule::Masks, own == ElementType::Bool, || format!("{own} is no mask"));
                self.should(Rule::Types, ty == Type { element: ElementType::Bool, lanes: 1 }, || {
                    format!("whether a mask holds is not {ty}")
                });
            }
            Op::Extract(a, lane) => {
                let own = self.of(*a);
                self.should(Rule::Positions, *lane < own.lanes, || format!("lane {lane} of {own}"));
                self.should(Rule::Types, ty == Type { lanes: 1, ..own }, || format!("a lane of {own} is not {ty}"));
            }
            Op::Insert(a, lane, value) => {
                self.is(*a, ty);
                self.is(*value, Type { lanes: 1, ..ty });
                self.should(Rule::Positions, *lane < ty.lanes, || format!("lane {lane} of {ty}"));
            }
            Op::Half { value, .. } => {
                let own = self.of(*value);
                let fits = ty.lanes > 1 && own == Type { lanes: ty.lanes.saturating_mul(2), ..ty };
                self.should(Rule::Types, fits, || format!("half of {own} is not {ty}"));
            }
            Op::Reverse(value) => {
                self.is(*value, ty);
                self.should(Rule::Types, ty.lanes > 1 && ty.element != ElementType::Bool, || format!("{ty} reversed"));
            }
            Op::Shift { value, by, fill } => {
                [*value, *fill].into_iter().for_each(|operand| self.is(operand, ty));
                self.should(Rule::Positions, *by <= ty.lanes, || format!("{ty} moved by {by}"));
            }
            Op::Unzip { first, second, run, .. } => {
                [*first, *second].into_iter().for_each(|operand| self.is(operand, ty));
                let bytes = ty.element.bytes();
                let whole = bytes >= 4 && ty.element != ElementType::Bool && bytes * ty.lanes as usize >= 64;
                self.should(Rule::Types, whole, || format!("runs of lanes of {ty}"));
                let fits = run.is_power_of_two() && *run <= ty.lanes / 2;
                self.should(Rule::Positions, fits, || format!("runs of {run} lanes of {ty}"));
            }
            Op::FailIf { condition, site, operands } => self.failure(*condition, *site, operands),
            Op::Loop(own) => {
                let Loop { from, to, step, index, starts, carried, next, .. } = &**own;
                self.addresses(&[*from, *to]);
                if self.ty(*index).is_some() {
                    self.addresses(&[*index]);
                }
                self.should(Rule::Positions, *step > 0, || format!("steps of {step}"));
                self.alike("first values", starts, carried);
                self.alike("next values", next, carried);
                self.alike("results", &inst.results, carried);
            }
            Op::While(own) => {
                let While { starts, carried, condition, next, .. } = &**own;
                self.uniform(*condition);
                self.alike("first values", starts, carried);
                self.alike("next values", next, carried);
                self.alike("results", &inst.results, carried);
            }
            Op::If(own) => {
                let If { condition, then_results, otherwise_results, .. } = &**own;
                self.uniform(*condition);
                self.alike("results", &inst.results, then_results);
                self.alike("results", &inst.results, otherwise_results);
            }
        }
        if let Some(result) = result {
            self.note(result, &inst.op);
        }
    }

    fn binary(&mut self, function: Binary, a: Value, b: Value, ty: Type) {
        let (left, right) = (self.of(a), self.of(b));
        let element = function.result_type(left.element, right.element);
        let lanes = left.lanes == ty.lanes && (right.lanes == ty.lanes || function.is_shift() && right.lanes == 1);
        self.should(Rule::Types, element == Some(ty.element) && lanes, || {
            format!("{left} {} {right} is not {ty}", function.text())
        });
    }

    fn uniform(&mut self, condition: Value) {
        let own = self.of(condition);
        let fits = own == Type { element: ElementType::Bool, lanes: 1 };
        self.should(Rule::Masks, fits, || format!("{condition} is {own}, a branch"));
    }

    fn failure(&mut self, condition: Value, site: usize, operands: &[Value]) {
        let own = self.of(condition);
        self.should(Rule::Masks, own.element == ElementType::Bool, || format!("{own} is no mask"));
        for &operand in operands {
            self.is(operand, Type { element: ElementType::I64, lanes: own.lanes });
        }
        let Some(known) = self.function.sites.get(site) else {
            return self.fault(Rule::Sites, format!("there is no site {site}"));
        };
        let (lanes, count) = (known.lanes, known.operands);
        self.should(Rule::Sites, lanes == own.lanes && count == operands.len(), || {
            format!("{} operands of {} lanes at a site of {count} of {lanes}", operands.len(), own.lanes)
        });
    }

    /// What is known of a result: its number, its place in scratch memory.
    fn note(&mut self, result: Value, op: &Op) {
        let slot = result.0 as usize;
        match op {
            Op::Constant(constant) => self.constants[slot] = Some(*constant),
            Op::Parameter(2) => self.places[slot] = Some(0),
            Op::Binary(Binary::Add, a, b) => {
                let number = |value: &Value| self.constants[value.0 as usize].and_then(|number| number.as_i64());
                let place = |value: &Value| self.places[value.0 as usize];
                let parts = match (place(a), number(b), place(b), number(a)) {
                    (Some(place), Some(number), ..) | (_, _, Some(place), Some(number)) => Some((place, number)),
                    _ => None,
                };
                self.places[slot] = parts.and_then(|(place, number)| place.checked_add(number));
            }
            _ => {}
        }
    }
}
