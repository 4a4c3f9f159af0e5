//! Where in a `.npy` file the elements lie, if they lie there as arrays hold them.

use std::io::Read;

use fusebox_ir::ElementType;

use super::header;
use crate::files::FileFault;

/// Elements of one number each, in row-major order and in the byte order of arrays.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::files) struct Place {
    pub element: ElementType,
    pub extents: Vec<usize>,
    /// Bytes before the first element.
    pub start: u64,
    /// Bytes of all elements.
    pub bytes: usize,
}

/// The place of the elements of a file of `size` bytes; `None` where they would have to be converted, checked, or are not all there.
pub(in crate::files) fn place(reader: &mut dyn Read, size: u64) -> Result<Option<Place>, FileFault> {
    let header = header::read(reader)?;
    let [field] = header.dtype.fields.as_slice() else { return Ok(None) };
    let Some((_, bytes)) = header.count() else { return Ok(None) };
    let in_order = !header.fortran_order || header.extents.len() <= 1;
    let as_is = field.name.is_empty()
        && field.ty.bytes() == header.dtype.size
        && (!field.big_endian || field.ty.bytes() == 1)
        // Any byte might be there, and a `bool` is 0 or 1.
        && field.ty != ElementType::Bool;
    let whole = header.size.checked_add(bytes as u64) == Some(size);
    let place = Place { element: field.ty, extents: header.extents, start: header.size, bytes };
    Ok((in_order && as_is && whole && cfg!(target_endian = "little")).then_some(place))
}
