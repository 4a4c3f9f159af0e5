//! Values of several components as columns, and back: they are taken apart a field at a time, so that columns of numbers are copied as a whole.

use std::vec::IntoIter;

use fusebox_ir::{Array, ArrayError};

use crate::elt::Elt;

/// Adds the columns of one field of many values.
pub(crate) fn store_part<V, T: Elt>(
    values: &[V],
    field: impl Fn(&V) -> &T,
    extents: &[usize],
    out: &mut Vec<Array>,
) -> Result<(), ArrayError> {
    let part: Vec<T> = values.iter().map(|value| field(value).clone()).collect();
    T::store(&part, extents, out)
}

/// The values of the field whose columns come next, which are taken away from `columns`.
pub(crate) fn load_part<T: Elt>(columns: &mut &[Array], count: usize) -> Option<IntoIter<T>> {
    let (own, rest) = columns.split_at_checked(T::COUNT)?;
    *columns = rest;
    T::load(own, count).map(Vec::into_iter)
}
