//! Elements, in whatever order and byte order they are stored.

use std::io::{self, Read};

use fusebox_ir::{Array, ElementType};

use super::{
    Table,
    dtype::{Dtype, Field},
    header,
};
use crate::files::FileFault;

/// How many bytes a `.npy` file has, by its header.
pub(in crate::files) fn length(reader: &mut dyn Read) -> Result<u64, FileFault> {
    let header = header::read(reader)?;
    let (_, bytes) = header.count().ok_or(FileFault::Truncated { expected: u64::MAX, found: 0 })?;
    Ok(header.size.saturating_add(bytes as u64))
}

/// Reads a `.npy` file of `size` bytes.
pub(in crate::files) fn read(reader: &mut dyn Read, size: u64) -> Result<Table, FileFault> {
    let header = header::read(reader)?;
    let found = size.saturating_sub(header.size);
    // Before memory is taken for it.
    let (count, bytes) = header.count().ok_or(FileFault::Truncated { expected: u64::MAX, found })?;
    let expected = bytes as u64;
    if expected > found {
        return Err(FileFault::Truncated { expected, found });
    }
    if expected < found {
        return Err(FileFault::Trailing { expected, found });
    }
    let extents = header.extents;
    let mut columns = Vec::new();
    for field in &header.dtype.fields {
        columns.push(Array::zeros(field.ty, &extents)?);
    }
    let cut = |error: io::Error| match error.kind() {
        io::ErrorKind::UnexpectedEof => FileFault::Truncated { expected, found: 0 },
        _ => error.into(),
    };
    match (header.dtype.fields.as_slice(), columns.as_mut_slice()) {
        // The common case, without a copy.
        ([field], [column]) if field.ty.bytes() == header.dtype.size => {
            reader.read_exact(column.bytes_mut()).map_err(cut)?;
            reorder(field, column.bytes_mut());
        }
        _ => records(reader, &header.dtype, count, &mut columns).map_err(cut)?,
    }
    for column in &mut columns {
        if column.element() == ElementType::Bool
            && let Some(position) = column.bytes().iter().position(|&byte| byte > 1)
        {
            return Err(FileFault::NoBool { position, value: column.bytes()[position] });
        }
        if header.fortran_order && extents.len() > 1 {
            *column = transposed(column)?;
        }
    }
    let names = header.dtype.fields.into_iter().map(|field| field.name);
    Ok(Table { extents, columns: names.zip(columns).collect() })
}

/// Little-endian elements, which is what arrays are made of.
fn reorder(field: &Field, bytes: &mut [u8]) {
    let width = field.ty.bytes();
    if field.big_endian && width > 1 {
        bytes.chunks_exact_mut(width).for_each(<[u8]>::reverse);
    }
}

/// Elements of several fields, some thousand at a time.
fn records(reader: &mut dyn Read, dtype: &Dtype, count: usize, columns: &mut [Array]) -> io::Result<()> {
    if dtype.size == 0 {
        return Ok(());
    }
    let rows = ((1 << 16) / dtype.size).max(1).min(count);
    let mut buffer = vec![0; rows * dtype.size];
    let mut done = 0;
    while done < count {
        let rows = rows.min(count - done);
        let buffer = &mut buffer[..rows * dtype.size];
        reader.read_exact(buffer)?;
        for (field, column) in dtype.fields.iter().zip(columns.iter_mut()) {
            let width = field.ty.bytes();
            let to = &mut column.bytes_mut()[done * width..][..rows * width];
            for (row, to) in buffer.chunks_exact(dtype.size).zip(to.chunks_exact_mut(width)) {
                to.copy_from_slice(&row[field.offset..][..width]);
            }
            reorder(field, to);
        }
        done += rows;
    }
    Ok(())
}

/// Elements stored with the outermost index moving fastest, in row-major order.
fn transposed(stored: &Array) -> Result<Array, FileFault> {
    let mut array = Array::zeros(stored.element(), stored.extents())?;
    let (from, width) = (stored.bytes(), stored.element().bytes());
    let extents = stored.extents();
    let mut strides = vec![1; extents.len()];
    for dim in 1..extents.len() {
        strides[dim] = strides[dim - 1] * extents[dim - 1];
    }
    let mut index = vec![0; extents.len()];
    let mut position = 0;
    for to in array.bytes_mut().chunks_exact_mut(width) {
        to.copy_from_slice(&from[position * width..][..width]);
        for dim in (0..extents.len()).rev() {
            index[dim] += 1;
            position += strides[dim];
            if index[dim] < extents[dim] {
                break;
            }
            position -= strides[dim] * extents[dim];
            index[dim] = 0;
        }
    }
    Ok(array)
}
