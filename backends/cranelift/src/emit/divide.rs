//! Divisions that cost less than one for each lane.

use fusebox_ir::{Binary, Constant, ElementType};

use super::Emitter;
use crate::vector::Value;

/// Whether it divides, integers or others.
pub(super) fn is_division(function: Binary) -> bool {
    matches!(function, Binary::Div | Binary::Rem | Binary::DivFloor | Binary::ModFloor)
}

/// The number by which a product is the quotient by this one, to the bit: of powers of two, both round the same number. They are normal, as
/// divisions take long and subnormal factors too.
pub(super) fn exact_reciprocal(divisor: Constant) -> Option<Constant> {
    let element = divisor.ty();
    let (fraction, most) = match element {
        ElementType::F32 => (23, 0xff),
        ElementType::F64 => (52, 0x7ff),
        _ => return None,
    };
    let bits = divisor.bits();
    let (sign, exponent) = (bits >> (element.bits() - 1), bits >> fraction & most);
    let power = bits & ((1 << fraction) - 1) == 0 && (1..most - 1).contains(&exponent);
    power.then(|| Constant::from_bits(element, sign << (element.bits() - 1) | (most - 1 - exponent) << fraction))
}

impl Emitter<'_> {
    /// A quotient or remainder by a constant power of two, as shifts and masks.
    pub(super) fn divided_by_power(&mut self, function: Binary, x: Value, divisor: Value) -> Option<Value> {
        let constant = self.b.constant_of(divisor)?;
        let (power, element) = (constant.power_of_two()?, constant.ty());
        let by = self.b.constant(Constant::from_bits(element, power.into()));
        let below = self.b.constant(Constant::from_bits(element, constant.bits() - 1));
        let rounds_to_zero = element.is_signed() && matches!(function, Binary::Div | Binary::Rem);
        let quotient = matches!(function, Binary::Div | Binary::DivFloor);
        if !rounds_to_zero {
            let (function, with) = if quotient { (Binary::Shr, by) } else { (Binary::And, below) };
            return Some(self.b.binary(function, x, with));
        }
        // A shift rounds down: what is below zero is moved up first.
        let last = self.b.constant(Constant::from_bits(element, u64::from(element.bits()) - 1));
        let sign = self.b.binary(Binary::Shr, x, last);
        let moved = self.b.binary(Binary::And, sign, below);
        let sum = self.b.binary(Binary::Add, x, moved);
        if quotient {
            return Some(self.b.binary(Binary::Shr, sum, by));
        }
        let rest = self.b.binary(Binary::And, sum, below);
        Some(self.b.binary(Binary::Sub, rest, moved))
    }

    /// The quotients or remainders of neighbouring numbers by one divisor. If that is no less than there are lanes, the quotient grows by one at
    /// most from the first lane to the last, so that one division does for all.
    pub(super) fn divided_row(
        &mut self,
        function: Binary,
        (base, stride): (Value, Value),
        divisor: Value,
        all: Value,
    ) -> Value {
        if self.b.constant_of(stride).and_then(Constant::as_i64) != Some(1) || self.b.constant_of(divisor).is_some() {
            return self.b.binary(function, all, divisor);
        }
        let lanes = self.lanes;
        let (one, least, most) = (self.b.int(1), self.b.int(lanes.into()), self.b.constant(Constant::from(1u64 << 62)));
        let unsigned = self.b.bits(ElementType::U64, base);
        // Neither negative, nor so large that a lane wraps.
        let plain = self.b.binary(Binary::Lt, unsigned, most);
        let long = self.b.binary(Binary::Le, least, divisor);
        let at_once = self.b.binary(Binary::And, plain, long);
        let quotient = self.b.binary(Binary::Div, base, divisor);
        let whole = self.b.mul(quotient, divisor);
        let rest = self.b.sub(base, whole);
        self.b.open();
        let iota = self.b.iota(ElementType::I64, lanes);
        let rests = self.b.add(iota, rest);
        let next = self.b.binary(Binary::Le, divisor, rests);
        let (here, there) = if matches!(function, Binary::Div | Binary::DivFloor) {
            (self.b.splat(quotient, lanes), self.b.add(quotient, one))
        } else {
            (rests, self.b.sub(rests, divisor))
        };
        let row = self.b.select(next, there, here);
        let then = self.b.close();
        self.b.open();
        let each = self.b.binary(function, all, divisor);
        let otherwise = self.b.close();
        self.b.end_if(at_once, (then, vec![row]), (otherwise, vec![each]))[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_powers_of_two_have_exact_reciprocals() {
        for (divisor, reciprocal) in
            [(16.0f32, 0.0625f32), (-0.5, -2.0), (1.0, 1.0), (f32::MIN_POSITIVE, 1.0 / f32::MIN_POSITIVE)]
        {
            assert_eq!(exact_reciprocal(divisor.into()), Some(reciprocal.into()), "{divisor}");
        }
        assert_eq!(exact_reciprocal(f64::from(1u32 << 31).into()), Some((1.0 / f64::from(1u32 << 31)).into()));
        // Of the last the reciprocal is subnormal.
        for divisor in [0.0f32, -0.0, 3.0, 0.1, f32::INFINITY, f32::NAN, 1e-40, 1.7014118e38] {
            assert_eq!(exact_reciprocal(divisor.into()), None, "{divisor}");
        }
        assert_eq!(exact_reciprocal(16i32.into()), None);
    }
}
