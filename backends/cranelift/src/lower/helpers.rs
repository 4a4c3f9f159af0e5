//! Scalar functions that the code generator has no instructions for, called by the code it makes.

use fusebox_ir::{Binary, Constant, ElementType, Unary, primitive};

/// The name under which code finds [`exact`].
pub const NAME: &str = "fusebox_exact";

/// Which function of [`exact`], as a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Helper {
    /// A function of one operand.
    Unary(Unary, ElementType),
    /// A function of two operands of one type.
    Binary(Binary, ElementType),
    /// A product and a sum.
    Fma(ElementType),
    /// From the first type to the second.
    Convert(ElementType, ElementType),
}

impl Helper {
    /// The number, for the first argument.
    pub fn code(self) -> i64 {
        let (kind, function, a, b) = match self {
            Self::Unary(function, a) => (0, function as i64, a as i64, 0),
            Self::Binary(function, a) => (1, function as i64, a as i64, 0),
            Self::Fma(a) => (2, 0, a as i64, 0),
            Self::Convert(a, b) => (3, 0, a as i64, b as i64),
        };
        kind | function << 8 | a << 16 | b << 24
    }
}

/// An exact function on bits: which ([`Helper::code`]), and up to three operands.
pub extern "C" fn exact(code: u64, a: u64, b: u64, c: u64) -> u64 {
    let byte = |shift: u32| (code >> shift & 0xff) as usize;
    let ty = |shift: u32| ElementType::ALL.get(byte(shift)).copied().unwrap_or(ElementType::F64);
    let operand = |bits: u64| Constant::from_bits(ty(16), bits);
    let result = match byte(0) {
        0 => Unary::ALL.get(byte(8)).and_then(|&function| primitive::unary(function, operand(a))),
        1 => Binary::ALL
            .get(byte(8))
            .and_then(|&function| primitive::binary(function, operand(a), operand(b)).ok().flatten()),
        2 => primitive::fma(operand(a), operand(b), operand(c)),
        _ => primitive::convert(ty(24), operand(a)),
    };
    result.map_or(0, Constant::bits)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn helpers_find_their_functions() {
        let bits = |x: f32| u64::from(x.to_bits());
        assert_eq!(
            exact(Helper::Binary(Binary::Rem, ElementType::F32).code() as u64, bits(7.5), bits(2.0), 0),
            bits(1.5)
        );
        assert_eq!(exact(Helper::Unary(Unary::Floor, ElementType::F32).code() as u64, bits(-1.5), 0, 0), bits(-2.0));
        assert_eq!(exact(Helper::Convert(ElementType::F32, ElementType::F16).code() as u64, bits(1.0), 0, 0), 0x3c00);
    }
}
