//! Floating-point arithmetic in every format and rounding, on exact values that are rounded once.
//!
//! Slow and plain. What Rust computes to the nearest is left to Rust; this has the other roundings and `f16`.

/// A binary format of IEEE 754.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Format {
    Half,
    Single,
    Double,
}

/// Which neighbour an inexact value is rounded to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Rounding {
    Nearest,
    Zero,
    Down,
    Up,
}

impl Rounding {
    /// From a number of `const` parameters.
    pub const fn numbered(number: u8) -> Self {
        match number {
            0 => Self::Nearest,
            1 => Self::Zero,
            2 => Self::Down,
            _ => Self::Up,
        }
    }

    /// `rn`, `rz`, `rm`, `rp`.
    pub fn named(name: &str) -> Option<Self> {
        Some(match name {
            "rn" => Self::Nearest,
            "rz" => Self::Zero,
            "rm" => Self::Down,
            "rp" => Self::Up,
            _ => return None,
        })
    }
}

/// A number without rounding. In a finite one, the lowest bit of a long mantissa may stand for all that lie below.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Exact {
    Nan,
    Infinite {
        negative: bool,
    },
    /// `±mantissa * 2^exponent`
    Finite {
        negative: bool,
        mantissa: u128,
        exponent: i32,
    },
}
use Exact::{Finite, Infinite, Nan};

impl Format {
    /// Bits of the mantissa with the one that is not stored.
    fn precision(self) -> u32 {
        match self {
            Self::Half => 11,
            Self::Single => 24,
            Self::Double => 53,
        }
    }

    fn exponent_bits(self) -> u32 {
        match self {
            Self::Half => 5,
            Self::Single => 8,
            Self::Double => 11,
        }
    }

    fn bias(self) -> i32 {
        (1 << (self.exponent_bits() - 1)) - 1
    }

    fn sign_at(self) -> u32 {
        self.precision() - 1 + self.exponent_bits()
    }

    fn infinity(self, negative: bool) -> u64 {
        let exponent = (1u64 << self.exponent_bits()) - 1;
        exponent << (self.precision() - 1) | u64::from(negative) << self.sign_at()
    }

    /// The NaN that instructions give.
    pub fn nan(self) -> u64 {
        match self {
            Self::Half => 0x7fff,
            Self::Single => 0x7fff_ffff,
            Self::Double => 0x7ff8_0000_0000_0000,
        }
    }

    /// The number that these bits are.
    pub fn decode(self, bits: u64) -> Exact {
        let fraction_bits = self.precision() - 1;
        let negative = bits >> self.sign_at() & 1 == 1;
        let fraction = bits & ((1 << fraction_bits) - 1);
        let field = (bits >> fraction_bits) as u32 & ((1 << self.exponent_bits()) - 1);
        if field == (1 << self.exponent_bits()) - 1 {
            return if fraction == 0 { Infinite { negative } } else { Nan };
        }
        let hidden = if field == 0 { 0 } else { 1u64 << fraction_bits };
        let exponent = field.max(1) as i32 - self.bias() - fraction_bits as i32;
        Finite { negative, mantissa: u128::from(fraction | hidden), exponent }
    }

    /// The bits of a number, rounded.
    pub fn encode(self, value: Exact, rounding: Rounding) -> u64 {
        let (negative, mantissa, exponent) = match value {
            Nan => return self.nan(),
            Infinite { negative } => return self.infinity(negative),
            Finite { negative, mantissa, exponent } => (negative, mantissa, exponent),
        };
        let sign = u64::from(negative) << self.sign_at();
        if mantissa == 0 {
            return sign;
        }
        let fraction_bits = self.precision() as i32 - 1;
        let least = 1 - self.bias() - fraction_bits; // the exponent of the last place of the smallest numbers
        let top = 127 - mantissa.leading_zeros() as i32;
        let target = (exponent + top - fraction_bits).max(least);
        let (mut kept, rest) = split(mantissa, target - exponent);
        let up = match rounding {
            Rounding::Nearest => rest > Rest::HALF || rest == Rest::HALF && kept & 1 == 1,
            Rounding::Zero => false,
            Rounding::Down => negative && rest != Rest::NONE,
            Rounding::Up => !negative && rest != Rest::NONE,
        };
        kept += u128::from(up);
        let mut target = target;
        if kept >> self.precision() != 0 {
            (kept, target) = (kept >> 1, target + 1);
        }
        let field = if kept >> fraction_bits == 0 { 0 } else { target - least + 1 };
        if field >= (1 << self.exponent_bits()) - 1 {
            let to_infinity = match rounding {
                Rounding::Nearest => true,
                Rounding::Zero => false,
                Rounding::Down => negative,
                Rounding::Up => !negative,
            };
            return if to_infinity { self.infinity(negative) } else { self.infinity(negative) - 1 };
        }
        sign | (field as u64) << fraction_bits | kept as u64 & ((1 << fraction_bits) - 1)
    }
}

/// What lies below the last place: 0 nothing, 1 less than half, 2 half, 3 more.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Rest(u8);

impl Rest {
    const NONE: Self = Self(0);
    const HALF: Self = Self(2);
}

/// `mantissa / 2^by`, and what is lost.
fn split(mantissa: u128, by: i32) -> (u128, Rest) {
    if by <= 0 {
        return (mantissa << -by, Rest::NONE);
    }
    if by > 127 {
        return (0, Rest(u8::from(mantissa != 0)));
    }
    let (kept, lost) = (mantissa >> by, mantissa & ((1 << by) - 1));
    let half = 1u128 << (by - 1);
    (
        kept,
        Rest(if lost == 0 {
            0
        } else if lost < half {
            1
        } else {
            2 + u8::from(lost > half)
        }),
    )
}

/// The mantissa shifted down; its lowest bit says whether anything was lost.
fn jam(mantissa: u128, by: u32) -> u128 {
    if by == 0 {
        mantissa
    } else if by > 127 {
        u128::from(mantissa != 0)
    } else {
        mantissa >> by | u128::from(mantissa & ((1 << by) - 1) != 0)
    }
}

impl Exact {
    /// An integer.
    pub fn integer(value: i128) -> Self {
        Finite { negative: value < 0, mantissa: value.unsigned_abs(), exponent: 0 }
    }

    /// The sum. A sum of zero is negative only where both are, or where rounding goes down.
    pub fn add(self, other: Self, rounding: Rounding) -> Self {
        match (self, other) {
            (Nan, _) | (_, Nan) => Nan,
            (Infinite { negative: a }, Infinite { negative: b }) if a != b => Nan,
            (Infinite { .. }, _) => self,
            (_, Infinite { .. }) => other,
            (
                Finite { negative: sa, mantissa: ma, exponent: ea },
                Finite { negative: sb, mantissa: mb, exponent: eb },
            ) => {
                if ma == 0 && mb == 0 {
                    let negative = if sa == sb { sa } else { rounding == Rounding::Down };
                    return Finite { negative, mantissa: 0, exponent: 0 };
                }
                if ma == 0 || mb == 0 {
                    return if ma == 0 { other } else { self };
                }
                // Both with their highest bits one below the top, so that a sum fits; then the smaller is moved.
                let (la, lb) = (ma.leading_zeros() as i32 - 2, mb.leading_zeros() as i32 - 2);
                let (ma, ea, mb, eb) = (ma << la, ea - la, mb << lb, eb - lb);
                let exponent = ea.max(eb);
                let (ma, mb) = (jam(ma, (exponent - ea) as u32), jam(mb, (exponent - eb) as u32));
                if sa == sb {
                    return Finite { negative: sa, mantissa: ma + mb, exponent };
                }
                let negative = match ma.cmp(&mb) {
                    std::cmp::Ordering::Equal => rounding == Rounding::Down,
                    std::cmp::Ordering::Greater => sa,
                    std::cmp::Ordering::Less => sb,
                };
                Finite { negative, mantissa: ma.abs_diff(mb), exponent }
            }
        }
    }

    /// The product.
    pub fn multiply(self, other: Self) -> Self {
        match (self, other) {
            (Nan, _) | (_, Nan) => Nan,
            (Infinite { .. }, Finite { mantissa: 0, .. }) | (Finite { mantissa: 0, .. }, Infinite { .. }) => Nan,
            (Infinite { negative: a }, Infinite { negative: b } | Finite { negative: b, .. })
            | (Finite { negative: a, .. }, Infinite { negative: b }) => Infinite { negative: a != b },
            (
                Finite { negative: sa, mantissa: ma, exponent: ea },
                Finite { negative: sb, mantissa: mb, exponent: eb },
            ) => Finite { negative: sa != sb, mantissa: ma * mb, exponent: ea + eb },
        }
    }

    /// The quotient, to more places than any format has.
    pub fn divide(self, other: Self) -> Self {
        match (self, other) {
            (Nan, _) | (_, Nan) | (Infinite { .. }, Infinite { .. }) => Nan,
            (Finite { mantissa: 0, .. }, Finite { mantissa: 0, .. }) => Nan,
            (Infinite { negative: a }, Finite { negative: b, .. })
            | (Finite { negative: a, .. }, Finite { negative: b, mantissa: 0, .. }) => Infinite { negative: a != b },
            (Finite { negative: a, .. }, Infinite { negative: b }) => {
                Finite { negative: a != b, mantissa: 0, exponent: 0 }
            }
            (
                Finite { negative: sa, mantissa: ma, exponent: ea },
                Finite { negative: sb, mantissa: mb, exponent: eb },
            ) => {
                let up = ma.leading_zeros() as i32 - 1;
                let (quotient, rest) = ((ma << up.max(0)) / mb, (ma << up.max(0)) % mb);
                let mantissa = quotient << 1 | u128::from(rest != 0);
                Finite {
                    negative: sa != sb,
                    mantissa: if ma == 0 { 0 } else { mantissa },
                    exponent: ea - up.max(0) - eb - 1,
                }
            }
        }
    }

    /// The square root, to more places than any format has.
    pub fn square_root(self) -> Self {
        match self {
            Nan | Infinite { negative: true } => Nan,
            Finite { mantissa: 0, .. } | Infinite { negative: false } => self,
            Finite { negative: true, .. } => Nan,
            Finite { mantissa, exponent, .. } => {
                let mut up = mantissa.leading_zeros() as i32;
                up -= (exponent - up) & 1;
                let square = mantissa << up;
                let root = square.isqrt();
                let mantissa = root << 1 | u128::from(root * root != square);
                Finite { negative: false, mantissa, exponent: (exponent - up) / 2 - 1 }
            }
        }
    }

    /// The neighbouring integer, as magnitude and sign; none for what is no number. Beyond 127 bits it is the largest.
    pub fn to_integer(self, rounding: Rounding) -> Option<(bool, u128)> {
        match self {
            Nan => None,
            Infinite { negative } => Some((negative, u128::MAX)),
            Finite { negative, mantissa, exponent } => {
                if exponent > 0 {
                    let fits = mantissa == 0 || exponent < mantissa.leading_zeros() as i32;
                    return Some((negative, if fits { mantissa << exponent.min(127) } else { u128::MAX }));
                }
                let (kept, rest) = split(mantissa, -exponent);
                let up = match rounding {
                    Rounding::Nearest => rest > Rest::HALF || rest == Rest::HALF && kept & 1 == 1,
                    Rounding::Zero => false,
                    Rounding::Down => negative && rest != Rest::NONE,
                    Rounding::Up => !negative && rest != Rest::NONE,
                };
                Some((negative, kept + u128::from(up)))
            }
        }
    }

    /// The neighbouring integer as a number, which keeps the sign of zero.
    pub fn integral(self, rounding: Rounding) -> Self {
        match self {
            Finite { exponent, negative, .. } if exponent < 0 => {
                let mantissa = self.to_integer(rounding).map_or(0, |(_, magnitude)| magnitude);
                Finite { negative, mantissa, exponent: 0 }
            }
            _ => self,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers of all kinds, among them both sides of every edge.
    fn singles() -> Vec<u32> {
        let mut bits = vec![0, 1, 0x7f_ffff, 0x80_0000, 0x80_0001, 0x7f7f_ffff, 0x7f80_0000, 0x7fc0_0000, 0x3f80_0000];
        let mut state = 1u32;
        bits.extend((0..60).map(|_| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state
        }));
        bits.iter().flat_map(|&bits| [bits, bits ^ 0x8000_0000]).collect()
    }

    fn same(found: u64, expected: f32, what: &str) {
        let found = f32::from_bits(found as u32);
        assert!(
            found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
            "{what}: {found:e} {expected:e}"
        );
    }

    #[test]
    fn to_the_nearest_agrees_with_rust() {
        let format = Format::Single;
        let number = |bits: u32| format.decode(u64::from(bits));
        for a in singles() {
            let x = f32::from_bits(a);
            same(format.encode(number(a).square_root(), Rounding::Nearest), x.sqrt(), "sqrt");
            same(format.encode(Format::Double.decode(f64::from(x).to_bits()), Rounding::Nearest), x, "from f64");
            same(
                format.encode(number(a).integral(Rounding::Nearest), Rounding::Nearest),
                x.round_ties_even(),
                "integral",
            );
            for b in singles() {
                let y = f32::from_bits(b);
                let n = Rounding::Nearest;
                same(format.encode(number(a).add(number(b), n), n), x + y, "add");
                same(format.encode(number(a).multiply(number(b)), n), x * y, "mul");
                same(format.encode(number(a).divide(number(b)), n), x / y, "div");
                for c in singles().into_iter().step_by(7) {
                    let z = f32::from_bits(c);
                    let sum = number(a).multiply(number(b)).add(number(c), n);
                    same(format.encode(sum, n), x.mul_add(y, z), "fma");
                }
            }
        }
    }

    #[test]
    fn doubles_agree_with_rust() {
        let format = Format::Double;
        let spread = |bits: u32| u64::from(bits) << 32 | u64::from(bits.wrapping_mul(0x9e37_79b9));
        for a in singles().into_iter().map(spread) {
            for b in singles().into_iter().map(spread) {
                let (x, y) = (f64::from_bits(a), f64::from_bits(b));
                let n = Rounding::Nearest;
                for (found, expected) in [
                    (number(a).add(number(b), n), x + y),
                    (number(a).divide(number(b)), x / y),
                    (number(a).multiply(number(b)).add(number(a ^ 0x40), n), x.mul_add(y, f64::from_bits(a ^ 0x40))),
                ] {
                    let found = f64::from_bits(format.encode(found, n));
                    assert!(
                        found.to_bits() == expected.to_bits() || found.is_nan() && expected.is_nan(),
                        "{x:e} {y:e}"
                    );
                }
            }
        }
        fn number(bits: u64) -> Exact {
            Format::Double.decode(bits)
        }
    }

    #[test]
    fn directed_roundings_enclose_the_exact_value() {
        let third = |rounding| {
            let one = Exact::integer(1);
            f32::from_bits(Format::Single.encode(one.divide(Exact::integer(3)), rounding) as u32)
        };
        assert!(third(Rounding::Down) < third(Rounding::Up));
        assert_eq!(third(Rounding::Down), third(Rounding::Zero));
        assert_eq!(third(Rounding::Up).to_bits(), third(Rounding::Down).to_bits() + 1);
        let largest = Format::Half.encode(Exact::integer(1 << 20), Rounding::Zero);
        assert_eq!(largest, 0x7bff);
        assert_eq!(Format::Half.encode(Exact::integer(65_519), Rounding::Nearest), 0x7bff);
        assert_eq!(Format::Half.encode(Exact::integer(65_520), Rounding::Nearest), 0x7c00);
    }
}
