//! Values of the host as columns, one for each component, and back.
//!
//! Columns of numbers are copied as a whole. Elements of several components are taken apart a field at a time, so that each of their
//! columns is.

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

/// Adds columns, value by value.
pub(crate) fn store_each<T: Elt>(values: &[T], extents: &[usize], out: &mut Vec<Array>) -> Result<(), ArrayError> {
    let mut columns = T::types().into_iter().map(|ty| Array::zeros(ty, extents)).collect::<Result<Vec<Array>, _>>()?;
    let mut row = Vec::with_capacity(T::COUNT);
    let mut bytes: Vec<_> = columns.iter_mut().map(|column| (column.element().bytes(), column.bytes_mut())).collect();
    for (position, value) in values.iter().enumerate() {
        row.clear();
        value.put(&mut row);
        for ((width, bytes), constant) in bytes.iter_mut().zip(&row) {
            bytes[position * *width..][..*width].copy_from_slice(&constant.bits().to_le_bytes()[..*width]);
        }
    }
    out.append(&mut columns);
    Ok(())
}

/// The values of columns, one by one.
pub(crate) fn load_each<T: Elt>(columns: &[Array], count: usize) -> Option<Vec<T>> {
    (0..count).map(|position| T::take(&mut columns.iter().map(|column| column.get(position)))).collect()
}
