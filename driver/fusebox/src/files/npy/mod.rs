//! The `.npy` format of numpy, versions 1 to 3.

mod dtype;
mod header;
mod literal;
mod place;
mod read;
mod write;

pub(super) use self::{
    place::{Place, place},
    read::{length, read},
    write::{Columns, write},
};
use fusebox_ir::Array;

/// What a `.npy` file starts with.
pub(super) const MAGIC: &[u8] = b"\x93NUMPY";

/// What a `.npy` file holds.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// The extents, from the outermost dimension.
    pub extents: Vec<usize>,
    /// An array for each field of a structured type, called by its name (fields in fields by all names, joined by `.`), of a complex
    /// type `re` and `im`; of a plain type one array, called nothing.
    pub columns: Vec<(String, Array)>,
}

impl Table {
    /// The array of a plain type.
    pub fn plain(&self) -> Option<&Array> {
        match self.columns.as_slice() {
            [(name, array)] if name.is_empty() => Some(array),
            _ => None,
        }
    }

    /// The column of this name.
    pub fn column(&self, name: &str) -> Option<&Array> {
        self.columns.iter().find(|(column, _)| column == name).map(|(_, array)| array)
    }
}
