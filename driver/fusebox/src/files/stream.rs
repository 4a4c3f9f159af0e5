//! Streams: an array along its outermost dimension, a folder, or an archive, in natural order of names.

use std::path::{Path, PathBuf};

use fusebox_ir::Array;

use super::{FileError, FileFault, error::unfit, natural};

/// The most elements of a stream that are themselves empty.
const MOST_EMPTY: usize = 1 << 20;

/// The parts of an array along its outermost dimension.
pub(super) fn split(array: &Array) -> Result<Vec<Array>, FileFault> {
    let Some((&count, inner)) = array.extents().split_first() else {
        return Err(unfit("an array whose outermost dimension is the elements of the stream", "a scalar"));
    };
    // Elements without elements take no bytes in a file: their number is not to be trusted.
    if array.is_empty() && count > MOST_EMPTY {
        return Err(
            fusebox_ir::ArrayError::TooLarge { extents: array.extents().to_vec(), element: array.element() }.into()
        );
    }
    let size = array.bytes().len() / count.max(1);
    let parts = (0..count).map(|at| {
        let mut part = Array::zeros(array.element(), inner)?;
        part.bytes_mut().copy_from_slice(&array.bytes()[at * size..][..size]);
        Ok(part)
    });
    parts.collect()
}

/// The files of a folder in natural order of names; hidden ones are none.
pub(super) fn members(folder: &Path) -> Result<Vec<PathBuf>, FileError> {
    let at = |error: std::io::Error| FileError::new(folder, error.into());
    let mut members = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(at)? {
        let entry = entry.map_err(at)?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if !name.starts_with('.') {
            members.push((name, entry.path()));
        }
    }
    members.sort_by(|(a, _), (b, _)| natural::compare(a, b));
    Ok(members.into_iter().map(|(_, path)| path).collect())
}
