//! Arrays of the host from and into vectors of Rust.

use std::alloc::{Layout, handle_alloc_error};

use fusebox_ir::ElementType;

use super::{Array, ArrayError, Matrix, Scalar, Vector};
use crate::{elt::Elt, shape::Shape};

/// ```
/// # use fusebox_lang::*;
/// let xs = Vector::from(vec![1.0f32, 2.0]);
/// assert_eq!(Vec::from(xs), [1.0, 2.0]);
/// ```
///
/// Where there is no memory, it ends as every growing `Vec` does; [`Vector::from_slice`] is an error then.
impl<T: Elt> From<Vec<T>> for Vector<T> {
    fn from(elements: Vec<T>) -> Self {
        match Self::from_slice(&elements) {
            Ok(vector) => vector,
            Err(_) => handle_alloc_error(Layout::for_value(elements.as_slice())),
        }
    }
}

/// ```
/// # use fusebox_lang::*;
/// let squares: Vector<i64> = (0..4).map(|i| i * i).collect();
/// assert_eq!(squares.to_vec(), [0, 1, 4, 9]);
/// ```
impl<T: Elt> FromIterator<T> for Vector<T> {
    fn from_iter<I: IntoIterator<Item = T>>(elements: I) -> Self {
        elements.into_iter().collect::<Vec<T>>().into()
    }
}

impl<T: Elt> Matrix<T> {
    /// A matrix of rows of equal lengths.
    ///
    /// ```
    /// # use fusebox_lang::*;
    /// let m = Matrix::from_rows(&[vec![1.0f32, 2.0], vec![3.0, 4.0]]).unwrap();
    /// assert_eq!(m[[1, 0]], 3.0);
    /// assert!(Matrix::from_rows(&[vec![1.0f32], vec![]]).is_err());
    /// ```
    ///
    /// # Errors
    /// [`ArrayError`] where rows are of different lengths, or no memory holds it.
    pub fn from_rows(rows: &[impl AsRef<[T]>]) -> Result<Self, ArrayError> {
        let columns = rows.first().map_or(0, |row| row.as_ref().len());
        let given = rows.iter().map(|row| row.as_ref().len()).sum();
        let extents = vec![rows.len(), columns];
        if rows.iter().any(|row| row.as_ref().len() != columns) {
            return Err(fusebox_ir::ArrayError::Count { extents, given }.into());
        }
        let mut elements = Vec::with_capacity(given);
        rows.iter().for_each(|row| elements.extend_from_slice(row.as_ref()));
        Self::of_extents(extents, &elements)
    }
}

impl<Sh: Shape, T: Elt> Array<Sh, T> {
    /// An array of these extents whose element at each index is `f` of the index; in row-major order.
    ///
    /// ```
    /// # use fusebox_lang::*;
    /// let m = Matrix::from_fn([2, 3], |[i, j]| 10 * i as i64 + j as i64).unwrap();
    /// assert_eq!(m.to_vec(), [0, 1, 2, 10, 11, 12]);
    /// ```
    ///
    /// # Errors
    /// [`ArrayError`] where no memory holds it.
    pub fn from_fn<const N: usize>(
        extents: [usize; N],
        mut f: impl FnMut([usize; N]) -> T,
    ) -> Result<Self, ArrayError> {
        const { assert!(N == Sh::RANK, "an array has an extent for each dimension") };
        let size = extents.iter().try_fold(1usize, |size, &extent| size.checked_mul(extent));
        let element = T::types().first().copied().unwrap_or(ElementType::Bool);
        let too_large = || fusebox_ir::ArrayError::TooLarge { extents: extents.to_vec(), element };
        let size = size.ok_or_else(too_large)?;
        let mut elements = Vec::new();
        elements.try_reserve_exact(size).map_err(|_| too_large())?;
        let mut index = [0; N];
        for _ in 0..size {
            elements.push(f(index));
            for dimension in (0..N).rev() {
                index[dimension] += 1;
                if index[dimension] < extents[dimension] {
                    break;
                }
                index[dimension] = 0;
            }
        }
        Self::of_extents(extents.to_vec(), &elements)
    }
}

/// The elements in row-major order: [`Array::to_vec`].
impl<Sh: Shape, T: Elt> From<Array<Sh, T>> for Vec<T> {
    fn from(array: Array<Sh, T>) -> Self {
        array.to_vec()
    }
}

impl<T: Elt> TryFrom<&[T]> for Vector<T> {
    type Error = ArrayError;
    fn try_from(elements: &[T]) -> Result<Self, ArrayError> {
        Self::from_slice(elements)
    }
}

impl<T: Elt> From<T> for Scalar<T> {
    fn from(value: T) -> Self {
        Self::of(&value)
    }
}
