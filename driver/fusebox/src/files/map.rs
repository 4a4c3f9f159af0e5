//! Arrays whose memory is a file.

use std::{fs::File, path::Path, sync::Arc};

use fusebox_ir::{Array, Memory};
use memmap2::{MmapMut, MmapOptions};

use super::{
    FileError, FileFault, Table, fetch,
    npy::{self, Place},
    read_npy,
};

/// Systems give memory in pages of this many bytes, or of multiples of it.
const PAGE: u64 = 4096;

/// The array in a `.npy` file, as [`read_npy`] gives it, but without reading it: its memory is the file, of which the system brings what is
/// looked at. Writing to the array changes no file.
///
/// Files are read after all where elements are not of one number each, little-endian and in C order, or truth values, which are checked;
/// where the header is not padded as numpy pads it; and where the file ends so close before the end of a page that there is no room for
/// the bytes that kernels may read behind an array, which is so for one file in forty.
///
/// ```
/// use fusebox::{files, ir, prelude::*};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("xs.npy");
/// files::write_npy(&path, &ir::Array::new(&[3], &[1.0f32, 2.0, 3.0])?)?;
/// // SAFETY: nobody else writes to the file.
/// let table = unsafe { files::map_npy(&path)? };
/// let xs = Vector::<f32>::from_columns(vec![table.plain().expect("it has one column").clone()])?;
/// assert_eq!(xs.as_slice(), [1.0, 2.0, 3.0]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Safety
/// Nobody changes or shortens the file as long as one of its arrays is there: elements that change while they are looked at are
/// undefined behaviour, and those of a file that was cut end the process.
///
/// # Errors
/// As of [`read_npy`].
#[allow(unsafe_code)]
pub unsafe fn map_npy(path: &Path) -> Result<Table, FileError> {
    let at = |fault| FileError::new(path, fault);
    let mut source = fetch::open(path).map_err(at)?;
    let Some(place) = npy::place(&mut source.reader, source.size).map_err(at)? else { return read_npy(path) };
    let Some(length) = length(&place) else { return read_npy(path) };
    let file = File::open(path).map_err(|error| at(error.into()))?;
    // SAFETY: the caller promises that the file stays as it is. The mapping may end behind the file, but in its last page.
    let Ok(map) = (unsafe { MmapOptions::new().len(length).map_copy(&file) }) else { return read_npy(path) };
    match array(map, place).map_err(at)? {
        Some(array) => Ok(Table { extents: array.extents().to_vec(), columns: vec![(String::new(), array)] }),
        None => read_npy(path),
    }
}

/// How many bytes are mapped, slack included; `None` where they do not end in the last page of the file.
fn length(place: &Place) -> Option<usize> {
    let end = place.start.checked_add(place.bytes as u64)?;
    let wanted = place.start.checked_add(Memory::capacity_for(place.bytes)? as u64)?;
    let page_ends = end.checked_next_multiple_of(PAGE)?;
    (place.bytes > 0 && wanted <= page_ends).then(|| usize::try_from(wanted).ok()).flatten()
}

/// An array in a mapped file; `None` where it is not aligned as arrays are.
fn array(map: MmapMut, place: Place) -> Result<Option<Array>, FileFault> {
    let Some(memory) = usize::try_from(place.start).ok().and_then(|start| Memory::mapped(map, start, place.bytes))
    else {
        return Ok(None);
    };
    Ok(Array::in_memory(Arc::new(memory), place.element, &place.extents).ok())
}

#[cfg(test)]
#[allow(unsafe_code)]
mod tests {
    use super::*;
    use crate::files::write_npy;

    /// A mapped file is the array that reading it gives, for every size around the ends of lines and pages; writing to it leaves the file.
    #[test]
    fn mapped_files_are_what_reading_them_gives() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let mut in_place = 0;
        for count in (0..40).chain(960..1080).chain([5000]) {
            let values: Vec<f32> = (0..count).map(|i| i as f32).collect();
            write_npy(&path, &Array::new(&[count], &values).unwrap()).unwrap();
            let read = read_npy(&path).unwrap();
            // SAFETY: the file is this test's, and written again after its arrays are gone.
            let mut mapped = unsafe { map_npy(&path) }.unwrap();
            assert_eq!(mapped, read, "{count}");
            let array = &mut mapped.columns[0].1;
            assert!(array.capacity() >= 4 * count + 64);
            // Headers have 128 bytes, and what is mapped starts at a page.
            in_place += usize::from(array.bytes().as_ptr().addr() % 4096 == 128);
            if count > 0 {
                array.as_mut_slice::<f32>().unwrap()[0] = 7.0;
                assert_eq!(read_npy(&path).unwrap(), read, "{count}");
            }
        }
        assert!(in_place > 140, "{in_place} of 161");
    }

    /// What does not lie in the file as arrays hold it is read.
    #[test]
    fn files_that_cannot_be_mapped_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        let file = |descr: &str, fortran: &str, shape: &str, padding: usize, data: &[u8]| {
            let header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}");
            let header = format!("{header}{}\n", " ".repeat(padding - 11 - header.len()));
            let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
            bytes.extend((header.len() as u16).to_le_bytes());
            bytes.extend(header.as_bytes());
            bytes.extend(data);
            std::fs::write(&path, bytes).unwrap();
        };
        let floats: Vec<u8> = [1f32, 2.0, 3.0, 4.0].iter().flat_map(|x| x.to_le_bytes()).collect();
        // SAFETY: the file is this test's, and written again after its arrays are gone.
        let both = || (unsafe { map_npy(&path) }, read_npy(&path));
        for (descr, fortran, shape, padding) in [
            ("<f4", "False", "(2, 2)", 128),
            ("<f4", "True", "(2, 2)", 128),
            (">f4", "False", "(4,)", 128),
            ("<c8", "False", "(2,)", 128),
            ("<f4", "False", "(4,)", 120),
            ("<f4", "False", "()", 128),
        ] {
            file(descr, fortran, shape, padding, if shape == "()" { &floats[..4] } else { &floats });
            let (mapped, read) = both();
            assert_eq!(mapped.unwrap(), read.unwrap(), "{descr} {fortran} {shape} {padding}");
        }
        file("|b1", "False", "(2,)", 128, &[1, 2]);
        assert!(both().0.unwrap_err().to_string().contains('2'));
        file("<f4", "False", "(5,)", 128, &floats);
        assert!(both().0.is_err());
    }
}
