//! Whether a scalar function is for an element type.

use super::*;
use crate::text::takes::Takes;

impl Lower<'_, '_> {
    pub(super) fn takes(&self, takes: Takes, name: &str, ty: ElementType, span: Span) -> Parsed<()> {
        let (fits, what) = match takes {
            Takes::Numbers => (ty.is_number(), "numbers"),
            Takes::Integers => (ty.is_integer(), "integers"),
            Takes::Floats => (ty.is_float(), "floats"),
            Takes::Bits => (ty.is_integer() || ty == ElementType::Bool, "integers and `bool`"),
            Takes::Bools => (ty == ElementType::Bool, "`bool`"),
            Takes::All => (true, ""),
        };
        if fits {
            return Ok(());
        }
        let fault = fault(span, format!("`{name}` is for {what}, and `{ty}` is given"));
        Err(match (name, ty) {
            ("!", _) if ty.is_integer() => fault.help("`~` turns the bits of an integer round"),
            ("^", _) if ty.is_float() => fault.help("a power is written `pow(x, 2.0)`; `^` is exclusive or"),
            ("~", ElementType::Bool) => fault.help("`!` is the other `bool`"),
            (_, _) if matches!(takes, Takes::Floats) && ty.is_integer() => fault.help("`f32(x)` or `f64(x)` converts"),
            _ => fault,
        })
    }
}
