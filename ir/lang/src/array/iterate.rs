//! Elements and rows of arrays of the host, one after the other; elements by index.

use std::ops::{Index, IndexMut};

use fusebox_ir::Scalar as Stored;

use super::Array;
use crate::{elt::Elt, shape::Shape};

/// The elements of an array in row-major order, made by [`Array::iter`].
#[derive(Clone, Debug)]
pub struct Iter<'a, Sh: Shape, T: Elt> {
    array: &'a Array<Sh, T>,
    next: usize,
    end: usize,
}

impl<Sh: Shape, T: Elt> Iterator for Iter<'_, Sh, T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        while self.next < self.end {
            self.next += 1;
            // What stands for no element is left out, as by `to_vec`.
            if let Some(element) = self.array.get(self.next - 1) {
                return Some(element);
            }
        }
        None
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.end - self.next))
    }
}

impl<Sh: Shape, T: Elt> DoubleEndedIterator for Iter<'_, Sh, T> {
    fn next_back(&mut self) -> Option<T> {
        while self.next < self.end {
            self.end -= 1;
            if let Some(element) = self.array.get(self.end) {
                return Some(element);
            }
        }
        None
    }
}

impl<Sh: Shape, T: Elt> Array<Sh, T> {
    /// The elements in row-major order, one after the other. All at once: [`to_vec`](Self::to_vec), of numbers
    /// [`as_slice`](Self::as_slice).
    ///
    /// ```
    /// # use fusebox_lang::*;
    /// let points = Vector::from_slice(&[(1, 2.0), (3, 4.0)]).unwrap();
    /// assert_eq!(points.iter().map(|(i, _)| i).sum::<i32>(), 4);
    /// ```
    pub fn iter(&self) -> Iter<'_, Sh, T> {
        Iter { array: self, next: 0, end: self.len() }
    }
}

/// The elements in row-major order.
impl<Sh: Shape, T: Elt> IntoIterator for Array<Sh, T> {
    type Item = T;
    type IntoIter = std::vec::IntoIter<T>;
    fn into_iter(self) -> Self::IntoIter {
        self.to_vec().into_iter()
    }
}

impl<'a, Sh: Shape, T: Elt> IntoIterator for &'a Array<Sh, T> {
    type Item = T;
    type IntoIter = Iter<'a, Sh, T>;
    fn into_iter(self) -> Iter<'a, Sh, T> {
        self.iter()
    }
}

impl<Sh: Shape, T: Elt + Stored> Array<Sh, T> {
    /// The numbers in row-major order, without copying.
    pub fn as_slice(&self) -> &[T] {
        self.columns.first().and_then(fusebox_ir::Array::as_slice).unwrap_or_default()
    }

    /// The numbers in row-major order, to change. Where another array shares them, they are copied first.
    pub fn as_mut_slice(&mut self) -> &mut [T] {
        self.columns.first_mut().and_then(fusebox_ir::Array::as_mut_slice).unwrap_or_default()
    }

    /// The rows of numbers along the innermost dimension, in order, without copying; of rank 0 one row.
    ///
    /// ```
    /// # use fusebox_lang::*;
    /// let m = Matrix::new((2, 3), &[1, 2, 3, 4, 5, 6]).unwrap();
    /// assert_eq!(m.rows().map(|row| row.iter().sum::<i32>()).collect::<Vec<_>>(), [6, 15]);
    /// ```
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[T]> + DoubleEndedIterator {
        let columns = self.extents.last().copied().unwrap_or(1);
        let outer = &self.extents[..self.extents.len().saturating_sub(1)];
        // Rows without elements are rows too, but no product of extents overflows where there are none.
        let rows = outer.iter().fold(1usize, |rows, &extent| rows.saturating_mul(extent));
        let elements = self.as_slice();
        (0..rows).map(move |row| &elements[row * columns..][..columns])
    }
}

/// The number at an index, one part a dimension.
///
/// ```
/// # use fusebox_lang::*;
/// let mut m = Matrix::new((2, 3), &[1, 2, 3, 4, 5, 6]).unwrap();
/// m[[0, 1]] = 20;
/// assert_eq!((m[[0, 1]], m[[1, 2]]), (20, 6));
/// ```
///
/// # Panics
/// Outside of the array, as slices do. [`Array::element`] does not, and gives elements of any type.
impl<const N: usize, Sh: Shape, T: Elt + Stored> Index<[usize; N]> for Array<Sh, T> {
    type Output = T;
    #[track_caller]
    fn index(&self, index: [usize; N]) -> &T {
        match self.position(index) {
            Some(position) => &self.as_slice()[position],
            None => outside(&index, self.extents()),
        }
    }
}

/// As [`Index`].
///
/// # Panics
/// Outside of the array.
impl<const N: usize, Sh: Shape, T: Elt + Stored> IndexMut<[usize; N]> for Array<Sh, T> {
    #[track_caller]
    fn index_mut(&mut self, index: [usize; N]) -> &mut T {
        match self.position(index) {
            Some(position) => &mut self.as_mut_slice()[position],
            None => outside(&index, self.extents()),
        }
    }
}

#[track_caller]
fn outside(index: &[usize], extents: &[usize]) -> ! {
    panic!("index {index:?} is outside of an array of extents {extents:?}")
}
