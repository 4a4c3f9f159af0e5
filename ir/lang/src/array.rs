//! Arrays of the host: what programs are run with, typed.

mod convert;
mod iterate;
#[cfg(feature = "ndarray")]
mod ndarrays;
#[cfg(feature = "num-complex")]
mod num_complexes;
mod show;

use std::marker::PhantomData;

pub use self::iterate::Iter;

use fusebox_ir::Constant;

use crate::{
    elt::Elt,
    shape::{Ix0, Ix1, Ix2, Shape},
};

/// A dense array in row-major order, of shape `Sh` and elements `T`; one column for each component of the elements.
#[derive(Clone)]
pub struct Array<Sh: Shape, T: Elt> {
    extents: Vec<usize>,
    columns: Vec<fusebox_ir::Array>,
    of: PhantomData<fn() -> (Sh, T)>,
}

/// One element.
pub type Scalar<T> = Array<Ix0, T>;
/// One dimension.
pub type Vector<T> = Array<Ix1, T>;
/// Rows and columns.
pub type Matrix<T> = Array<Ix2, T>;

/// Why an array of the host could not be made.
#[derive(Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum ArrayError {
    /// Extents and elements do not fit, or no memory holds them.
    #[error(transparent)]
    Array(#[from] fusebox_ir::ArrayError),
    /// An extent below zero.
    #[error("extent {extent} is negative")]
    Negative {
        /// The extent.
        extent: i64,
    },
    /// Columns that are not those of the element type.
    #[error(
        "columns of types {given:?} and extents {extents:?} are given for an array of rank {rank} whose columns are {wanted:?}"
    )]
    Columns {
        /// The types of the columns.
        given: Vec<fusebox_ir::ElementType>,
        /// The extents of each.
        extents: Vec<Vec<usize>>,
        /// The rank of the array.
        rank: usize,
        /// The types its columns have.
        wanted: Vec<fusebox_ir::ElementType>,
    },
}

fusebox_ir::debug_is_message!(enum ArrayError {
    Array(error),
    Negative { extent },
    Columns { given, extents, rank, wanted },
});

impl<Sh: Shape, T: Elt> Array<Sh, T> {
    /// An array of these elements, in row-major order. Extents: of a vector `3`, of a matrix `(2, 3)`.
    ///
    /// ```
    /// # use fusebox_lang::*;
    /// let m = Matrix::new((2, 3), &[1, 2, 3, 4, 5, 6]).unwrap();
    /// assert_eq!(m.to_vec()[4], 5);
    /// ```
    ///
    /// # Errors
    /// [`ArrayError`] where there are more or fewer elements than the extents say, or an extent is negative.
    pub fn new(extents: Sh::Offset, elements: &[T]) -> Result<Self, ArrayError> {
        let extents = Sh::offsets(extents)
            .into_iter()
            .map(|extent| usize::try_from(extent).map_err(|_| ArrayError::Negative { extent }))
            .collect::<Result<Vec<_>, _>>()?;
        Self::of_extents(extents, elements)
    }

    /// An array of these extents, which are as many as the array has dimensions.
    fn of_extents(extents: Vec<usize>, elements: &[T]) -> Result<Self, ArrayError> {
        let size = extents.iter().try_fold(1usize, |size, &extent| size.checked_mul(extent));
        if size != Some(elements.len()) {
            return Err(fusebox_ir::ArrayError::Count { extents, given: elements.len() }.into());
        }
        let mut columns = Vec::with_capacity(T::COUNT);
        T::store(elements, &extents, &mut columns)?;
        Ok(Self { extents, columns, of: PhantomData })
    }

    /// An array of these columns, one for each component of the elements.
    ///
    /// # Errors
    /// [`ArrayError::Columns`] where their types and extents are others.
    pub fn from_columns(columns: Vec<fusebox_ir::Array>) -> Result<Self, ArrayError> {
        let wanted = T::types();
        let given: Vec<_> = columns.iter().map(fusebox_ir::Array::element).collect();
        let first = columns.first().map(|c| c.extents().to_vec()).unwrap_or_default();
        let fits = given == wanted && first.len() == Sh::RANK && columns.iter().all(|c| c.extents() == first);
        if fits {
            return Ok(Self { extents: first, columns, of: PhantomData });
        }
        let extents = columns.iter().map(|c| c.extents().to_vec()).collect();
        Err(ArrayError::Columns { given, extents, rank: Sh::RANK, wanted })
    }

    /// One column for each component of the elements.
    pub fn columns(&self) -> &[fusebox_ir::Array] {
        &self.columns
    }

    /// One column for each component of the elements.
    pub fn into_columns(self) -> Vec<fusebox_ir::Array> {
        self.columns
    }

    /// The extents, from the outermost dimension.
    pub fn extents(&self) -> &[usize] {
        &self.extents
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.extents.iter().product()
    }

    /// Whether there are no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The element at a row-major position, if there is one.
    pub fn get(&self, position: usize) -> Option<T> {
        if position >= self.len() {
            return None;
        }
        T::take(&mut self.columns.iter().map(|column| column.get(position)))
    }

    /// The elements in row-major order. Columns that stand for no element (an enum's tag out of range) leave it out.
    pub fn to_vec(&self) -> Vec<T> {
        let each = || (0..self.len()).filter_map(|position| self.get(position)).collect();
        T::load(&self.columns, self.len()).unwrap_or_else(each)
    }

    /// The element at an index, one number a dimension; `None` outside of the array.
    ///
    /// ```
    /// # use fusebox_lang::*;
    /// let m = Matrix::new((2, 3), &[1, 2, 3, 4, 5, 6]).unwrap();
    /// assert_eq!((m.element([1, 2]), m.element([2, 0])), (Some(6), None));
    /// ```
    pub fn element<const N: usize>(&self, index: [usize; N]) -> Option<T> {
        self.get(self.position(index)?)
    }

    /// The row-major position of an index; `None` outside of the array.
    fn position<const N: usize>(&self, index: [usize; N]) -> Option<usize> {
        const { assert!(N == Sh::RANK, "an index has one number for each dimension of the array") };
        let inside = index.iter().zip(&self.extents).all(|(i, extent)| i < extent);
        let position = || index.iter().zip(&self.extents).fold(0, |position, (i, extent)| position * extent + i);
        inside.then(position)
    }
}

impl<T: Elt> Vector<T> {
    /// A vector of these elements: numbers, tuples, records.
    ///
    /// ```
    /// # use fusebox_lang::*;
    /// let pairs = Vector::from_slice(&[(1.0f32, true), (2.0, false)]).unwrap();
    /// assert_eq!(pairs.get(1), Some((2.0, false)));
    /// ```
    ///
    /// # Errors
    /// [`ArrayError`] where no memory holds it.
    pub fn from_slice(elements: &[T]) -> Result<Self, ArrayError> {
        Self::of_extents(vec![elements.len()], elements)
    }
}

impl<T: Elt> Scalar<T> {
    /// An array of rank 0.
    pub fn of(value: &T) -> Self {
        let mut constants: Vec<Constant> = Vec::new();
        value.put(&mut constants);
        let columns = constants.into_iter().map(fusebox_ir::Array::scalar).collect();
        Self { extents: Vec::new(), columns, of: PhantomData }
    }

    /// The element; `None` only where the columns stand for none (an enum's tag out of range).
    pub fn value(&self) -> Option<T> {
        self.get(0)
    }
}

/// Equal extents and equal bits of elements.
impl<Sh: Shape, T: Elt> PartialEq for Array<Sh, T> {
    fn eq(&self, other: &Self) -> bool {
        self.extents == other.extents && self.columns == other.columns
    }
}
