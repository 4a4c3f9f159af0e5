//! How near results must be to what is expected.

use fusebox_ir::{Array, Constant, Value};
use serde::{Deserialize, Deserializer};

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

/// A result that is not what is expected.
#[derive(Clone, Debug, PartialEq)]
pub struct Mismatch {
    message: String,
}

impl std::fmt::Display for Mismatch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Mismatch {}

impl Mismatch {
    fn new(message: String) -> Self {
        Self { message }
    }

    pub(crate) fn count(given: usize, expected: usize) -> Self {
        Self::new(format!("{given} results where {expected} are expected"))
    }
}

pub(crate) fn values(name: &str, expected: &Value, result: &Value, tolerance: Tolerance) -> Result<(), Mismatch> {
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
    for (position, (expected, result)) in expected.constants().zip(result.constants()).enumerate() {
        if !near(expected, result, tolerance) {
            return Err(Mismatch::new(format!(
                "`{name}` at position {position} is {result}, not {expected} ({tolerance:?})"
            )));
        }
    }
    Ok(())
}

fn near(expected: Constant, result: Constant, tolerance: Tolerance) -> bool {
    if expected == result {
        return true;
    }
    match (expected.as_f64(), result.as_f64(), tolerance) {
        (Some(e), Some(r), _) if e.is_nan() || r.is_nan() => e.is_nan() && r.is_nan(),
        (Some(e), Some(r), Tolerance::Near { relative, absolute }) => {
            e == r || (e - r).abs() <= absolute + relative * e.abs()
        }
        _ => false,
    }
}
