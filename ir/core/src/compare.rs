//! How near results are to what is expected.

use std::fmt;

use serde::{Deserialize, Deserializer};

use crate::{Array, Constant, ElementType, Value};

/// How near floats must be; integers and truth values are always exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Tolerance {
    /// To the bit, signs of zeros too; any NaN is any other.
    Exact,
    /// Within `absolute + relative · |expected|`.
    Near {
        /// Times the expected value.
        relative: f64,
        /// Beside it.
        absolute: f64,
    },
}

impl Tolerance {
    /// The same bound beside the expected value and times it; 0 is exact.
    pub fn within(bound: f64) -> Self {
        if bound == 0.0 { Self::Exact } else { Self::Near { relative: bound, absolute: bound } }
    }

    /// What results of this type may differ by where nothing else is said: room for rounding in another order, and for decimals that are written
    /// with few digits. 1e-2 for `f16`, 1e-4 for `f32`, 1e-9 for `f64`, as [`Self::within`] has it.
    pub fn usual(element: ElementType) -> Self {
        match element {
            ElementType::F16 => Self::within(1e-2),
            ElementType::F32 => Self::within(1e-4),
            ElementType::F64 => Self::within(1e-9),
            _ => Self::Exact,
        }
    }

    /// Whether a result is near enough.
    pub fn allows(self, expected: Constant, result: Constant) -> bool {
        if expected == result {
            return true;
        }
        match (expected.as_f64(), result.as_f64(), self) {
            (Some(e), Some(r), _) if e.is_nan() || r.is_nan() => e.is_nan() && r.is_nan(),
            (Some(e), Some(r), Self::Near { relative, absolute }) => {
                // The distance from an infinity is none, and neither is a bound that is a part of it.
                e == r || (e.is_finite() && (e - r).abs() <= absolute + relative * e.abs())
            }
            _ => false,
        }
    }
}

impl fmt::Display for Tolerance {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Exact => f.write_str("exactly"),
            Self::Near { relative, absolute } if relative == absolute => write!(f, "within {absolute:e}"),
            Self::Near { relative, absolute } => write!(f, "within {absolute:e}, and {relative:e} of it"),
        }
    }
}

impl<'de> Deserialize<'de> for Tolerance {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Form {
            Word(String),
            Bounds { relative: f64, absolute: f64 },
        }
        match Form::deserialize(deserializer)? {
            Form::Bounds { relative, absolute } => Ok(Self::Near { relative, absolute }),
            Form::Word(word) if word == "exact" => Ok(Self::Exact),
            Form::Word(word) => {
                Err(serde::de::Error::custom(format!("tolerance `{word}` is neither `exact` nor bounds")))
            }
        }
    }
}

/// A result that is not what is expected: which, where, and both values.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Mismatch {
    message: String,
}

crate::debug_is_message!(struct Mismatch { message });

impl Mismatch {
    fn new(message: String) -> Self {
        Self { message }
    }

    /// More or fewer results than expected.
    pub fn count(given: usize, expected: usize) -> Self {
        Self::new(format!("{given} results where {expected} are expected"))
    }
}

/// Compares a result with what is expected; `name` is what messages call it.
///
/// # Errors
/// [`Mismatch`]: another kind, type or extent, or the first element that is not near enough.
pub fn compare(name: &str, expected: &Value, result: &Value, tolerance: Tolerance) -> Result<(), Mismatch> {
    match (expected, result) {
        (Value::Array(expected), Value::Array(result)) => arrays(name, expected, result, tolerance),
        (Value::Nested(expected), Value::Nested(result)) => {
            arrays(&format!("{name}.extents"), &expected.extents, &result.extents, tolerance)?;
            arrays(&format!("{name}.values"), &expected.values, &result.values, tolerance)
        }
        (Value::Stream(expected), Value::Stream(result)) => {
            if expected.len() != result.len() {
                return Err(Mismatch::new(format!("`{name}` has {} elements, not {}", result.len(), expected.len())));
            }
            let mut elements = expected.iter().zip(result).enumerate();
            elements.try_for_each(|(i, (expected, result))| arrays(&format!("{name} {i}"), expected, result, tolerance))
        }
        _ => Err(Mismatch::new(format!("`{name}` is of another kind than expected"))),
    }
}

fn arrays(name: &str, expected: &Array, result: &Array, tolerance: Tolerance) -> Result<(), Mismatch> {
    let described = |array: &Array| format!("{:?}{}", array.extents(), array.element());
    if described(expected) != described(result) {
        return Err(Mismatch::new(format!("`{name}` is {}, not {}", described(result), described(expected))));
    }
    for (position, (wanted, found)) in expected.constants().zip(result.constants()).enumerate() {
        if !tolerance.allows(wanted, found) {
            let index = index(position, expected.extents());
            return Err(Mismatch::new(format!("`{name}{index}` is {found}, not {wanted} ({tolerance})")));
        }
    }
    Ok(())
}

/// The index of a row-major position, as it is written: `[2, 3]`; of a scalar nothing.
fn index(mut position: usize, extents: &[usize]) -> String {
    let mut index = Vec::with_capacity(extents.len());
    for &extent in extents.iter().rev() {
        index.push((position % extent).to_string());
        position /= extent;
    }
    index.reverse();
    if index.is_empty() { String::new() } else { format!("[{}]", index.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(expected: Array, result: Array, tolerance: Tolerance) -> String {
        match compare("a", &expected.into(), &result.into(), tolerance) {
            Ok(()) => "equal".into(),
            Err(mismatch) => mismatch.to_string(),
        }
    }

    #[test]
    fn the_first_difference_is_told_with_its_index() {
        let (a, b) = (Array::new(&[2, 2], &[1, 2, 3, 4]).unwrap(), Array::new(&[2, 2], &[1, 2, 5, 6]).unwrap());
        assert_eq!(message(a.clone(), b, Tolerance::Exact), "`a[1, 0]` is 5i32, not 3i32 (exactly)");
        assert_eq!(message(a.clone(), a.clone(), Tolerance::Exact), "equal");
        assert_eq!(
            message(a.clone(), Array::new(&[4], &[1, 2, 3, 4]).unwrap(), Tolerance::Exact),
            "`a` is [4]i32, not [2, 2]i32"
        );
        assert_eq!(
            message(Array::scalar(1u8), Array::scalar(2u8), Tolerance::within(9.0)),
            "`a` is 2u8, not 1u8 (within 9e0)"
        );
    }

    #[test]
    fn floats_are_near_and_nan_is_nan() {
        let near = |e: f64, r: f64, tolerance| message(Array::scalar(e), Array::scalar(r), tolerance) == "equal";
        assert!(near(1000.0, 1000.5, Tolerance::within(1e-3)));
        assert!(!near(1000.0, 1001.5, Tolerance::within(1e-3)));
        assert!(near(f64::NAN, -f64::NAN, Tolerance::Exact));
        assert!(!near(f64::NAN, 1.0, Tolerance::within(1.0)) && !near(1.0, f64::NAN, Tolerance::within(1.0)));
        assert!(near(f64::INFINITY, f64::INFINITY, Tolerance::within(1e-3)));
        assert!(!near(f64::INFINITY, f64::MAX, Tolerance::within(1e-3)));
        assert!(!near(0.0, -0.0, Tolerance::Exact) && near(0.0, -0.0, Tolerance::within(1e-9)));
    }
}
