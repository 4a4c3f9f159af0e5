//! Number literals: what they mean once their type is known.

use half::f16;

use super::error::{Parsed, Span, fault, shown};
use crate::{Constant, ElementType, round_to_f16};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Radix {
    /// Whole numbers.
    Decimal,
    Hexadecimal,
    Binary,
    /// With a point or an exponent.
    Float,
}

/// A number as written, without its suffix.
#[derive(Clone, Copy, Debug)]
pub(super) struct Literal<'s> {
    pub negative: bool,
    pub radix: Radix,
    /// Without sign, `0x` or `0b`, and suffix.
    pub(super) digits: &'s str,
    pub suffix: Option<ElementType>,
}

impl<'s> Literal<'s> {
    /// Reads the number token `text`.
    pub fn new(text: &'s str, negative: bool, span: Span) -> Parsed<Self> {
        let wrong = |why: &str| fault(span, format!("`{}` is no number: {why}", shown(text)));
        let prefix = text.as_bytes().get(1).map(u8::to_ascii_lowercase);
        let (radix, rest) = match prefix {
            Some(b'x') => (Radix::Hexadecimal, &text[2..]),
            Some(b'b') => (Radix::Binary, &text[2..]),
            _ => (Radix::Decimal, text),
        };
        let is_digit = |c: char| match radix {
            Radix::Hexadecimal => c.is_ascii_hexdigit(),
            Radix::Binary => matches!(c, '0' | '1'),
            _ => c.is_ascii_digit(),
        };
        let whole = rest.find(|c: char| !is_digit(c) && c != '_').unwrap_or(rest.len());
        let mut end = whole;
        let mut radix = radix;
        if radix == Radix::Decimal {
            let bytes = rest.as_bytes();
            let digits =
                |from: usize| from + rest[from..].bytes().take_while(|b| b.is_ascii_digit() || *b == b'_').count();
            if bytes.get(end) == Some(&b'.') {
                end = digits(end + 1);
                radix = Radix::Float;
            }
            if matches!(bytes.get(end), Some(b'e' | b'E')) {
                let sign = usize::from(matches!(bytes.get(end + 1), Some(b'+' | b'-')));
                let exponent = digits(end + 1 + sign);
                if exponent > end + 1 + sign {
                    end = exponent;
                    radix = Radix::Float;
                }
            }
        }
        let (digits, suffix) = rest.split_at(end);
        if whole == 0 {
            return Err(wrong("digits are missing"));
        }
        let mut around = digits.as_bytes().windows(3);
        let digit = |b: u8| is_digit(b as char);
        let between = !digits.starts_with('_') && !digits.ends_with('_');
        if digits.contains('_') && (radix == Radix::Float || !between || around.any(|w| w[1] == b'_' && !digit(w[2]))) {
            return Err(wrong("`_` stands between digits of whole numbers"));
        }
        let suffix = match suffix {
            "" => None,
            name => Some(ElementType::from_name(name).filter(|ty| ty.is_number()).ok_or_else(|| {
                wrong(&format!("`{}` is no number type", shown(name)))
                    .help("types are i8 i16 i32 i64 u8 u16 u32 u64 f16 f32 f64")
            })?),
        };
        if matches!(radix, Radix::Hexadecimal | Radix::Binary) && suffix.is_some_and(ElementType::is_float) {
            return Err(wrong("hexadecimal and binary numbers are integers")
                .help(format!("the bits of a float are written `bits_f32({})`", shown(&text[..text.len() - 3]))));
        }
        Ok(Self { negative, radix, digits, suffix })
    }

    /// The suffixes to choose from where nothing tells the type.
    pub fn untyped(&self, span: Span, source: &str) -> Box<super::error::Fault> {
        let text = shown(span.text(source));
        let (types, example) = match self.radix {
            Radix::Float => ("f16, f32, f64", "f32"),
            Radix::Decimal => ("i8, i16, i32, i64, u8, u16, u32, u64, f16, f32, f64", "i64"),
            _ => ("i8, i16, i32, i64, u8, u16, u32, u64", "u32"),
        };
        fault(span, format!("nothing tells the type of `{text}`"))
            .help(format!("append one of {types}, such as `{text}{example}`"))
    }

    /// The bits of `bits_T(literal)`: a bare whole number, read as unsigned.
    pub fn unsigned_bits(&self, ty: ElementType) -> Option<Constant> {
        let value = self.magnitude().filter(|_| !self.negative && self.suffix.is_none())?;
        Some(Constant::from_bits(ty, value)).filter(|constant| constant.bits() == value)
    }

    fn magnitude(&self) -> Option<u64> {
        let radix = match self.radix {
            Radix::Decimal => 10,
            Radix::Hexadecimal => 16,
            Radix::Binary => 2,
            Radix::Float => return None,
        };
        let mut value = 0u64;
        for digit in self.digits.bytes().filter_map(|b| (b as char).to_digit(radix)) {
            value = value.checked_mul(u64::from(radix))?.checked_add(u64::from(digit))?;
        }
        Some(value)
    }

    /// The constant of type `ty` (of the suffix, if there is one).
    pub fn constant(&self, ty: ElementType, span: Span, source: &str) -> Parsed<Constant> {
        let text = || shown(span.text(source));
        let unfit = || fault(span, format!("`{}` does not fit in `{ty}`", text()));
        if ty == ElementType::Bool {
            return Err(fault(span, format!("`{}` is a number, and `bool` is expected", text()))
                .help("write `true` or `false`, or compare"));
        }
        if ty.is_float() {
            match self.radix {
                Radix::Float => {}
                Radix::Decimal if self.suffix.is_some() => {}
                Radix::Decimal => {
                    return Err(fault(span, format!("`{}` is a whole number, and `{ty}` is expected", text()))
                        .help(format!("write `{0}.0`, or `{0}{ty}`", text())));
                }
                _ => return Err(fault(span, format!("`{}` is an integer, and `{ty}` is expected", text()))),
            }
            return self.float(ty).ok_or_else(unfit);
        }
        if self.radix == Radix::Float {
            return Err(fault(span, format!("`{}` is a float, and `{ty}` is expected", text())));
        }
        let value = self.magnitude().ok_or_else(unfit)?;
        let limit = match (ty.is_signed(), self.negative) {
            (true, true) => 1 << (ty.bits() - 1),
            (true, false) => (1 << (ty.bits() - 1)) - 1,
            (false, true) => 0,
            (false, false) => u64::MAX >> (64 - ty.bits()),
        };
        if value > limit {
            let fault = unfit();
            let same_width =
                self.radix != Radix::Decimal && !self.negative && ty.is_signed() && value >> (ty.bits() - 1) == 1;
            return Err(if same_width {
                fault.help(format!("its bits are written `bits_{ty}({})`", text()))
            } else {
                fault
            });
        }
        Ok(Constant::from_bits(ty, if self.negative { value.wrapping_neg() } else { value }))
    }

    fn float(&self, ty: ElementType) -> Option<Constant> {
        let digits = self.digits.replace('_', "");
        let constant = match ty {
            ElementType::F32 => Constant::from(digits.parse::<f32>().ok()?),
            ElementType::F64 => Constant::from(digits.parse::<f64>().ok()?),
            _ => Constant::from(half_from_decimal(&digits)?),
        };
        constant.as_f64().filter(|value| value.is_finite())?;
        let sign = if self.negative { 1 << (ty.bits() - 1) } else { 0 };
        Some(Constant::from_bits(ty, constant.bits() | sign))
    }
}

/// The nearest `f16`, rounded once: where the `f64` in between lies halfway between two, the digits decide.
fn half_from_decimal(digits: &str) -> Option<f16> {
    let value: f64 = digits.parse().ok()?;
    let half = round_to_f16(value);
    let other = f16::from_bits(match () {
        () if half.to_f64() < value => half.to_bits() + 1,
        () if half.to_f64() > value => half.to_bits() - 1,
        () => return Some(half),
    });
    if !other.is_finite() || !half.is_finite() || (half.to_f64() + other.to_f64()) / 2.0 != value {
        return Some(half);
    }
    let (lower, upper) = if half.to_f64() < other.to_f64() { (half, other) } else { (other, half) };
    // Halfway: 12 significant bits, so 40 decimals are exact, and digits beyond the same ones are above.
    let exact = format!("{value:.40e}");
    Some(match compare_decimals(digits, &exact) {
        std::cmp::Ordering::Less => lower,
        std::cmp::Ordering::Equal => half,
        std::cmp::Ordering::Greater => upper,
    })
}

/// Compares two positive decimals exactly.
fn compare_decimals(a: &str, b: &str) -> std::cmp::Ordering {
    let normal = |text: &str| {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, part) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let digits: Vec<u8> = whole.bytes().chain(part.bytes()).collect();
        let zeros = digits.iter().take_while(|d| **d == b'0').count();
        let end = digits.iter().rposition(|d| *d != b'0').map_or(zeros, |last| last + 1);
        let scale = whole.len() as i64 - zeros as i64 + exponent.parse::<i64>().unwrap_or(0);
        (scale, digits[zeros..end.max(zeros)].to_vec())
    };
    normal(a).cmp(&normal(b))
}
