//! Damaged files.

use fusebox::files::{read_npy, write_npy};
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
