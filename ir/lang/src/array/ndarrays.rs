//! Arrays of the crate `ndarray`, behind the feature of its name.

use fusebox_ir::Scalar as Stored;

use super::{Array, ArrayError};
use crate::{
    elt::Elt,
    shape::{Ix0, Ix1, Ix2, Ix3, Ix4, Ix5, Ix6},
};

macro_rules! dimensions {
    ($($shape:ident $rank:literal;)*) => {$(
        /// A copy in row-major order, whatever the strides.
        ///
        /// ```
        /// # use fusebox_lang::*;
        /// let a = ndarray::arr2(&[[1.0, 2.0], [3.0, 4.0]]);
        /// let m = Matrix::<f64>::try_from(&a.t())?;
        /// assert_eq!(m.to_vec(), [1.0, 3.0, 2.0, 4.0]);
        /// assert_eq!(ndarray::Array2::from(m), a.t());
        /// # Ok::<(), ArrayError>(())
        /// ```
        impl<S: ndarray::Data<Elem = T>, T: Elt> TryFrom<&ndarray::ArrayBase<S, ndarray::$shape>> for Array<$shape, T> {
            type Error = ArrayError;
            fn try_from(array: &ndarray::ArrayBase<S, ndarray::$shape>) -> Result<Self, ArrayError> {
                let extents = array.shape().to_vec();
                match array.as_slice() {
                    Some(elements) => Self::of_extents(extents, elements),
                    None => Self::of_extents(extents, &array.iter().cloned().collect::<Vec<T>>()),
                }
            }
        }

        /// A copy in row-major order.
        impl<T: Elt + Stored> From<Array<$shape, T>> for ndarray::Array<T, ndarray::$shape> {
            fn from(array: Array<$shape, T>) -> Self {
                let mut extents = [0; $rank];
                extents.copy_from_slice(array.extents());
                let elements = array.to_vec();
                Self::from_shape_vec(extents, elements).expect("as many elements as the extents say")
            }
        }
    )*};
}
dimensions! { Ix0 0; Ix1 1; Ix2 2; Ix3 3; Ix4 4; Ix5 5; Ix6 6; }
