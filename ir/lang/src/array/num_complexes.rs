//! Complex numbers of the crate `num-complex`, behind the feature of its name.

use super::{ArrayError, Vector};
use crate::{Complex, Elt};

impl<T> From<num_complex::Complex<T>> for Complex<T> {
    fn from(value: num_complex::Complex<T>) -> Self {
        Self { re: value.re, im: value.im }
    }
}

impl<T> From<Complex<T>> for num_complex::Complex<T> {
    fn from(value: Complex<T>) -> Self {
        Self { re: value.re, im: value.im }
    }
}

/// ```
/// # use fusebox_lang::*;
/// let zs = [num_complex::Complex::new(1.0f32, 2.0)];
/// let vector = Vector::<Complex<f32>>::try_from(&zs[..])?;
/// assert_eq!(Vec::<num_complex::Complex<f32>>::from(vector), zs);
/// # Ok::<(), ArrayError>(())
/// ```
impl<T: Elt> TryFrom<&[num_complex::Complex<T>]> for Vector<Complex<T>> {
    type Error = ArrayError;
    fn try_from(elements: &[num_complex::Complex<T>]) -> Result<Self, ArrayError> {
        Self::from_slice(&elements.iter().cloned().map(Complex::from).collect::<Vec<_>>())
    }
}

impl<Sh: crate::Shape, T: Elt> From<crate::Array<Sh, Complex<T>>> for Vec<num_complex::Complex<T>> {
    fn from(array: crate::Array<Sh, Complex<T>>) -> Self {
        array.to_vec().into_iter().map(Into::into).collect()
    }
}
