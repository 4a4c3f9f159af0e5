//! Damaged files.

use fusebox::files::{map_npy, read_npy, write_npy};
use fusebox::ir::Array;

/// Any damage is an error or another array, never a panic.
#[test]
fn damage_anywhere_is_survived() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    write_npy(&path, &Array::new(&[3], &[1f32, 2.0, 3.0]).unwrap()).unwrap();
    let whole = std::fs::read(&path).unwrap();
    let mut state = 1u32;
    for round in 0..2000 {
        let mut bytes = whole.clone();
        for _ in 0..=round % 3 {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            let at = (state >> 8) as usize % bytes.len();
            bytes[at] = (state >> 3) as u8;
        }
        bytes.truncate(if round % 2 == 0 { bytes.len() } else { (state >> 4) as usize % bytes.len() });
        std::fs::write(&path, &bytes).unwrap();
        if let Ok(table) = read_npy(&path) {
            assert!(table.columns.iter().all(|(_, array)| array.bytes().len() <= bytes.len()));
        }
    }
}

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
        #[allow(unsafe_code)]
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
    #[allow(unsafe_code)]
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
