//! How near results must be.

use anyhow::{Result, ensure};
use fusebox::ir::Array;

/// How near floats must be: within `absolute + relative * |expected|`. Integers are equal whatever it says.
#[derive(Clone, Copy, Debug)]
pub struct Tolerance {
    /// Times the expected value.
    pub relative: f64,
    /// Beside it.
    pub absolute: f64,
    /// The fraction of elements that may be further away: where floats decide an integer, as at the edge of a set.
    pub outliers: f64,
}

impl Tolerance {
    /// To the bit.
    pub const EXACT: Self = Self { relative: 0.0, absolute: 0.0, outliers: 0.0 };

    /// Relative, for single precision.
    pub const fn relative(relative: f64) -> Self {
        Self { relative, absolute: 0.0, outliers: 0.0 }
    }
}

/// Whether results are near those expected.
///
/// # Errors
/// Another type, or an element too far away: which.
pub fn compare(expected: &[Array], found: &[Array], tolerance: Tolerance) -> Result<()> {
    ensure!(expected.len() == found.len(), "{} results, not {}", found.len(), expected.len());
    for (number, (expected, found)) in expected.iter().zip(found).enumerate() {
        let described = |array: &Array| format!("{:?}{}", array.extents(), array.element());
        let types_agree = expected.element() == found.element() && expected.extents() == found.extents();
        ensure!(types_agree, "result {number} is {}, not {}", described(found), described(expected));
        if expected.bytes() == found.bytes() {
            continue;
        }
        let far: Vec<usize> =
            (0..expected.len()).filter(|&position| !near(expected, found, position, tolerance)).collect();
        let allowed = tolerance.outliers * expected.len() as f64;
        if let Some(&position) = far.first().filter(|_| far.len() as f64 > allowed) {
            anyhow::bail!(
                "result {number} at position {position} is {}, not {}; {} of {} elements are too far away",
                found.get(position),
                expected.get(position),
                far.len(),
                expected.len()
            );
        }
    }
    Ok(())
}

fn near(expected: &Array, found: &Array, position: usize, tolerance: Tolerance) -> bool {
    let (expected, found) = (expected.get(position), found.get(position));
    if expected == found {
        return true;
    }
    match (expected.as_f64(), found.as_f64()) {
        (Some(e), Some(f)) => {
            e == f || e.is_nan() && f.is_nan() || (e - f).abs() <= tolerance.absolute + tolerance.relative * e.abs()
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_far_is_found_and_counted() {
        let array = |elements: &[f32]| vec![Array::new(&[elements.len()], elements).unwrap()];
        let some = Tolerance { relative: 0.1, absolute: 0.0, outliers: 0.25 };
        let expected = array(&[1.0, 2.0, 3.0, f32::NAN]);
        assert!(compare(&expected, &array(&[1.05, 2.0, 3.0, f32::NAN]), some).is_ok());
        assert!(compare(&expected, &array(&[1.5, 2.0, 3.0, f32::NAN]), some).is_ok(), "one in four may be far");
        let error = compare(&expected, &array(&[1.5, 3.0, 3.0, f32::NAN]), some).unwrap_err().to_string();
        assert!(error.contains("position 0") && error.contains("2 of 4"), "{error}");
        assert!(compare(&expected, &array(&[1.0, 2.0, 3.0]), some).is_err(), "another extent");
        assert!(compare(&expected, &[], some).is_err());
        let integers = |elements: &[i32]| vec![Array::new(&[elements.len()], elements).unwrap()];
        assert!(compare(&integers(&[1]), &integers(&[2]), Tolerance::EXACT).is_err());
        assert!(compare(&integers(&[1]), &array(&[1.0]), some).is_err(), "another type");
    }
}
