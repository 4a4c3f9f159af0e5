//! `.npy` files of the facade are read by another implementation of the format, and the other way round.
//!
//! The tests are here because that implementation asks for other features of shared dependencies: beside the facade's own examples, it
//! would have most of the workspace compiled twice.

use fusebox::files::{read_npy, write_npy};
use fusebox_ir::{Array, ElementType};
use npyz::WriterBuilder;

#[test]
fn what_is_written_is_read_by_another_implementation() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    let elements: Vec<f64> = (0..24).map(|x| f64::from(x) / 3.0).collect();
    write_npy(&path, &Array::new(&[2, 3, 4], &elements).unwrap()).unwrap();
    let file = npyz::NpyFile::new(std::fs::File::open(&path).unwrap()).unwrap();
    assert_eq!((file.shape(), file.order()), ([2, 3, 4].as_slice(), npyz::Order::C));
    assert_eq!(file.into_vec::<f64>().unwrap(), elements);
    for extents in [&[][..], &[1], &[0], &[3, 0, 2]] {
        let array = Array::zeros(ElementType::U16, extents).unwrap();
        write_npy(&path, &array).unwrap();
        let file = npyz::NpyFile::new(std::fs::File::open(&path).unwrap()).unwrap();
        assert_eq!(file.shape().len(), extents.len());
        assert_eq!(file.into_vec::<u16>().unwrap().len(), array.len());
        assert_eq!(read_npy(&path).unwrap().plain(), Some(&array));
    }
}

#[test]
fn what_another_implementation_writes_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.npy");
    for order in [npyz::Order::C, npyz::Order::Fortran] {
        let out = std::fs::File::create(&path).unwrap();
        let mut writer =
            npyz::WriteOptions::new().default_dtype().order(order).shape(&[2, 3]).writer(out).begin_nd().unwrap();
        for element in [1i32, 2, 3, 4, 5, 6] {
            writer.push(&element).unwrap();
        }
        writer.finish().unwrap();
        let expected = if order == npyz::Order::C { [1, 2, 3, 4, 5, 6] } else { [1, 3, 5, 2, 4, 6] };
        assert_eq!(read_npy(&path).unwrap().plain().and_then(|array| array.as_slice()), Some(&expected[..]));
    }
}
