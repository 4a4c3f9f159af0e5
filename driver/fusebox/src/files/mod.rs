//! Arrays from and to files: `.npy`, `.npz`, Matrix Market, PNG.
//!
//! What a file is, its content says, not its name; how it becomes inputs, the program's inputs say. [`inputs`] and [`write_results`]
//! do all of it; [`read_npy`] and [`write_npy`] are for those who need less. Nothing in a file is trusted: sizes that it claims are
//! compared with what is there before memory is taken.

mod error;
mod fetch;
mod image;
mod inputs;
mod map;
mod matrix_market;
mod natural;
mod npy;
mod npz;
mod results;
mod stream;

use std::path::Path;

pub use self::{
    error::{FileError, FileFault},
    inputs::{Given, inputs},
    map::map_npy,
    npy::Table,
    results::{Target, check_targets, write_results},
};
use crate::whole;
use fusebox_ir::Array;

/// The array in a `.npy` file: one column for each field of a structured or complex type.
///
/// # Errors
/// Files that cannot be read, are cut, or hold types without a counterpart.
pub fn read_npy(path: &Path) -> Result<Table, FileError> {
    let at = |fault| FileError::new(path, fault);
    let mut source = fetch::open(path).map_err(at)?;
    npy::read(&mut source.reader, source.size).map_err(at)
}

/// Writes an array as `.npy`, in C order. The file is what it was until the new one is whole.
///
/// # Errors
/// Files that cannot be written.
pub fn write_npy(path: &Path, array: &Array) -> Result<(), FileError> {
    whole::write(path, |out| npy::write(out, &npy::Columns::plain(array)))
        .map_err(|error| FileError::new(path, error.into()))
}
