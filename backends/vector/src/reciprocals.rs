//! Quotients by a number that is the same in all turns of a loop: products with its reciprocal, to the same bit.
//!
//! Let r be 1 / y, rounded, and q be x · r, rounded. Then q + r · (x - q · y), with one rounding at each of the two additions, is x / y as a quotient is rounded, if
//! nothing on the way overflows or is subnormal. Source: Markstein, "Computation of elementary functions on the IBM RISC System/6000 processor", IBM Journal of
//! Research and Development 34 (1990); Brisebarre, Muller, Raina, "Accelerating correctly rounded floating-point division when the divisor is known in advance", IEEE
//! Transactions on Computers 53 (2004). So each gang is looked at first, and divided unless its elements are +0 or between two powers of two.

use fusebox_ir::{Binary, Constant, ElementType, Unary};
use rustc_hash::FxHashSet;

use crate::{Builder, Function, If, Inst, Loop, Op, Region, Type, Value, While};

/// Bytes of a gang whose quotients take longer than these products: shorter ones take a unit that divides less time.
const LEAST_BYTES: usize = 64;

/// With more functions of gangs for each quotient in a turn of a loop, quotients take no time: the unit that divides works beside the others.
const MOST_OTHERS: usize = 8;

/// Which elements and divisors are far from what overflows and from what is subnormal.
struct Bounds {
    /// Integers of as many bits.
    integers: ElementType,
    /// The exponent of 1, and the place of exponents in bits of elements that are doubled: these have no sign.
    bias: i64,
    shift: u32,
    /// Elements are at least 1 by two to the power of this, and less than that power; so are divisors, which may be it too.
    power: i32,
}

/// What is left of an element has as many bits again below it.
const SINGLE: Bounds = Bounds { integers: ElementType::I32, bias: 127, shift: 24, power: 60 };
const DOUBLE: Bounds = Bounds { integers: ElementType::I64, bias: 1023, shift: 53, power: 480 };

fn bounds(element: ElementType) -> Option<&'static Bounds> {
    match element {
        ElementType::F32 => Some(&SINGLE),
        ElementType::F64 => Some(&DOUBLE),
        _ => None,
    }
}

impl Bounds {
    /// An integer; what does not fit wraps.
    fn integer(&self, b: &mut Builder, value: i64) -> Value {
        b.constant(Constant::from_bits(self.integers, value as u64))
    }

    fn least_integer(&self) -> i64 {
        if self.integers == ElementType::I32 { i32::MIN.into() } else { i64::MIN }
    }

    fn are_usual(&self, divisor: f64) -> bool {
        (2f64.powi(-self.power)..=2f64.powi(self.power)).contains(&divisor)
    }
}

/// The function with such products, for processors with `fma`; none where it has no such quotients. Whoever numbered the function before finds divisors in front of
/// their loops, and numbers it again, as reciprocals are made beside the products.
pub fn reciprocals(function: &Function) -> Option<Function> {
    let mut every = vec![None; function.types.len()];
    for inst in function.instructions() {
        let [result] = inst.results[..] else { continue };
        every[result.0 as usize] = match inst.op {
            Op::Splat(value) => Some(Every::Uniform(value)),
            Op::Constant(constant) => Some(Every::Known(constant)),
            _ => None,
        };
    }
    let mut own = Reciprocals { b: Builder::beside(function), every, any: false };
    let mut body = function.body.clone();
    own.region(&mut body);
    own.any.then(|| Function { body, ..own.b.finish(function.name.clone()) })
}

struct Reciprocals {
    b: Builder,
    /// What each value of the function has in every lane.
    every: Vec<Option<Every>>,
    any: bool,
}

/// What a gang has in every lane.
#[derive(Clone, Copy)]
enum Every {
    Uniform(Value),
    Known(Constant),
}

impl Reciprocals {
    fn region(&mut self, region: &mut Region) {
        for inst in &mut region.0 {
            match &mut inst.op {
                Op::Loop(own) => {
                    let Loop { index, carried, body, .. } = &mut **own;
                    let inside = carried.iter().copied().chain([*index]).collect();
                    self.turn(body, inside);
                }
                Op::While(own) => {
                    let While { carried, header, body, .. } = &mut **own;
                    let inside = carried.iter().copied().chain(defined(header)).collect();
                    self.region(header);
                    self.turn(body, inside);
                }
                other => other.regions_mut().for_each(|region| self.region(region)),
            }
        }
    }

    /// The body of a loop, in which these values are defined besides.
    fn turn(&mut self, body: &mut Region, mut inside: FxHashSet<Value>) {
        self.region(body);
        inside.extend(defined(body));
        let quotients: Vec<usize> =
            (0..body.0.len()).filter(|&at| self.quotient(&body.0[at], &inside).is_some()).collect();
        if quotients.is_empty() || self.functions(body) > (MOST_OTHERS + 1) * quotients.len() {
            return;
        }
        for at in quotients.into_iter().rev() {
            let Some(quotient) = self.quotient(&body.0[at], &inside) else { continue };
            let results = body.0[at].results.clone();
            self.b.open();
            let op = quotient.as_product(&mut self.b);
            self.b.push(&results, op);
            body.0.splice(at..=at, self.b.close().0);
            self.any = true;
        }
    }

    /// Functions of gangs, with those of regions inside.
    fn functions(&self, region: &Region) -> usize {
        let own = |inst: &Inst| {
            let is_function = matches!(
                inst.op,
                Op::Unary(..)
                    | Op::Binary(..)
                    | Op::OfNumbers(..)
                    | Op::AreNumbers(..)
                    | Op::Fma(..)
                    | Op::Convert(_)
                    | Op::Select(..)
            );
            let gang = inst.results.first().is_some_and(|&result| self.b.lanes(result) > 1);
            usize::from(is_function && gang) + inst.op.regions().map(|region| self.functions(region)).sum::<usize>()
        };
        region.0.iter().map(own).sum()
    }

    /// The quotient that an instruction is: by what is not among the values inside.
    fn quotient(&self, inst: &Inst, inside: &FxHashSet<Value>) -> Option<Quotient> {
        let Op::Binary(Binary::Div, x, y) = inst.op else { return None };
        let ty = self.b.ty(x);
        let bounds = bounds(ty.element)?;
        let long = ty.element.bytes() * ty.lanes as usize >= LEAST_BYTES;
        let by = self.every.get(y.0 as usize).copied().flatten()?;
        let usual = match by {
            Every::Known(number) => number.as_f64().is_some_and(|number| bounds.are_usual(number)),
            Every::Uniform(_) => true,
        };
        (long && usual && inside.contains(&x) && !inside.contains(&y)).then_some(Quotient { x, y, by, ty, bounds })
    }
}

/// A quotient of a gang by another that has the same number in every lane.
struct Quotient {
    x: Value,
    y: Value,
    by: Every,
    ty: Type,
    bounds: &'static Bounds,
}

impl Quotient {
    /// The quotient itself where an element or the divisor is unusual, and the product elsewhere.
    fn as_product(&self, b: &mut Builder) -> Op {
        let Self { x, y, bounds, .. } = *self;
        let divisor = match self.by {
            Every::Uniform(value) => value,
            Every::Known(number) => b.constant(number),
        };
        let one = b.float(self.ty.element, 1.0);
        let (reciprocal, negative) = (b.binary(Binary::Div, one, divisor), b.unary(Unary::Neg, divisor));
        let factors = [reciprocal, negative].map(|factor| b.splat(factor, self.ty.lanes));
        let usual = self.usual_divisor(b);
        let bits = b.bits(bounds.integers, x);
        let is_beyond = self.is_beyond(b, bits, usual);
        let condition = b.any(is_beyond);
        b.open();
        // Of +0 the product is right, too.
        let zero = bounds.integer(b, 0);
        let mut divides = b.binary(Binary::Ne, bits, zero);
        if let Some(usual) = usual {
            let unusual = b.not(usual);
            let unusual = b.splat(unusual, self.ty.lanes);
            divides = b.binary(Binary::Or, divides, unusual);
        }
        let divides = b.binary(Binary::And, divides, is_beyond);
        let any_divides = b.any(divides);
        b.open();
        let quotient = b.binary(Binary::Div, x, y);
        let divided = (b.close(), vec![quotient]);
        let otherwise = self.product(b, factors);
        let then_results = b.end_if(any_divides, divided, otherwise);
        let then = b.close();
        let (otherwise, otherwise_results) = self.product(b, factors);
        Op::If(Box::new(If { condition, then, then_results, otherwise, otherwise_results }))
    }

    /// The product with the reciprocal, made right by what the negative divisor leaves.
    fn product(&self, b: &mut Builder, [reciprocal, negative]: [Value; 2]) -> (Region, Vec<Value>) {
        b.open();
        let near = b.binary(Binary::Mul, self.x, reciprocal);
        let rest = b.fma(near, negative, self.x);
        let quotient = b.fma(rest, reciprocal, near);
        (b.close(), vec![quotient])
    }

    /// Whether a divisor is usual; none of one that is known to be.
    fn usual_divisor(&self, b: &mut Builder) -> Option<Value> {
        let Every::Uniform(divisor) = self.by else { return None };
        let ends = [-self.bounds.power, self.bounds.power];
        let [low, high] = ends.map(|power| b.float(self.ty.element, 2f64.powi(power)));
        let (from, to) = (b.binary(Binary::Ge, divisor, low), b.binary(Binary::Le, divisor, high));
        Some(b.binary(Binary::And, from, to))
    }

    /// Which elements of these bits are unusual, +0 among them: all, where the divisor is. Usual ones become the least integers.
    fn is_beyond(&self, b: &mut Builder, bits: Value, usual: Option<Value>) -> Value {
        let bounds = self.bounds;
        let (power, least) = (i64::from(bounds.power), bounds.least_integer());
        let mut beyond = bounds.integer(b, least.wrapping_add((2 * power) << bounds.shift));
        if let Some(usual) = usual {
            let none = bounds.integer(b, least);
            beyond = b.select(usual, beyond, none);
        }
        let doubled = b.binary(Binary::Add, bits, bits);
        let offset = bounds.integer(b, least.wrapping_sub((bounds.bias - power) << bounds.shift));
        let place = b.binary(Binary::Add, doubled, offset);
        b.binary(Binary::Ge, place, beyond)
    }
}

/// What instructions of a region define, without those inside of others.
fn defined(region: &Region) -> impl Iterator<Item = Value> {
    region.0.iter().flat_map(|inst| inst.results.iter().copied())
}
