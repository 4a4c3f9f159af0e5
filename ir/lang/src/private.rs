//! What derived code needs.

use fusebox_ir::Constant;
pub use fusebox_ir::{Array as Column, ArrayError as ColumnError};
/// What the crate `fusebox` re-exports as the derive of `Elt`: its code names that crate and not this one.
pub use fusebox_lang_derive::EltOfFacade;

use crate::{
    elt::Elt,
    exp::{Components, Exp},
};

/// Adds the columns of a field.
///
/// # Errors
/// Where no memory holds them.
pub fn store_part<V, T: Elt>(
    values: &[V],
    field: impl Fn(&V) -> &T,
    extents: &[usize],
    out: &mut Vec<Column>,
) -> Result<(), ColumnError> {
    crate::columns::store_part(values, field, extents, out)
}

/// The values of a field, whose columns come next.
pub fn load_part<T: Elt>(columns: &mut &[Column], count: usize) -> Option<std::vec::IntoIter<T>> {
    crate::columns::load_part(columns, count)
}

/// Adds zeros in place of the components of a field that is absent.
pub fn put_absent<T: Elt>(out: &mut Vec<Constant>) {
    out.extend(T::types().into_iter().map(Constant::zero));
}

/// Passes over the components of a field that is absent.
pub fn skip_absent<T: Elt>(from: &mut dyn Iterator<Item = Constant>) -> Option<()> {
    (0..T::COUNT).try_for_each(|_| from.next().map(|_| ()))
}

/// The components of a field that is absent.
#[track_caller]
pub fn absent<T: Elt>() -> Components {
    Exp::<T>::zero().components()
}
