//! Values as text.

use crate::{Array, ElementType, Extent, Nested, Type, Value, text};

fn ty(extents: &[Extent<u32>], element: ElementType) -> Type<u32> {
    Type::array(extents.to_vec(), element)
}

const ANY: Extent<u32> = Extent::Unknown;

#[track_caller]
fn refused(source: &str, ty: &Type<u32>, message: &str, at: usize) {
    let error = text::value(source, ty).expect_err(source);
    assert_eq!((error.to_string().as_str(), error.at()), (message, at), "{source}");
}

#[test]
fn scalars_are_read_with_and_without_their_types() {
    let read = |text: &str, element| text::scalar(text, element).map(|constant| constant.to_string());
    assert_eq!(read("1.5", ElementType::F32).unwrap(), "1.5f32");
    assert_eq!(read("1", ElementType::F64).unwrap(), "1.0f64");
    assert_eq!(read("-0", ElementType::F64).unwrap(), "-0.0f64");
    assert_eq!(read("-7i8", ElementType::I8).unwrap(), "-7i8");
    assert_eq!(read("0xff", ElementType::U8).unwrap(), "255u8");
    assert_eq!(read("1_000", ElementType::I64).unwrap(), "1000i64");
    assert_eq!(read("-inf", ElementType::F16).unwrap(), "-inf_f16");
    assert_eq!(read("nan_f32", ElementType::F32).unwrap(), "nan_f32");
    assert_eq!(read("bits_f32(0x7fc00001)", ElementType::F32).unwrap(), "bits_f32(0x7fc00001)");
    assert_eq!(read("true", ElementType::Bool).unwrap(), "true");
    assert_eq!(read("18446744073709551615", ElementType::U64).unwrap(), "18446744073709551615u64");
    assert_eq!(read("-128", ElementType::I8).unwrap(), "-128i8");
    for (text, element, message) in [
        ("256", ElementType::U8, "`256` does not fit in `u8`"),
        ("1.5", ElementType::I32, "`1.5` is a float, and `i32` is expected"),
        ("1i64", ElementType::I32, "expected i32, found `1i64`"),
        ("true", ElementType::I32, "expected i32, found `true`"),
        ("inf", ElementType::I32, "expected i32, found `inf`"),
        ("1", ElementType::Bool, "`1` is a number, and `bool` is expected"),
        ("", ElementType::F32, "expected f32, found ``"),
        ("--1", ElementType::F32, "expected f32, found `--1`"),
        ("1e999", ElementType::F64, "`1e999` does not fit in `f64`"),
    ] {
        assert_eq!(read(text, element).unwrap_err(), message, "{text}");
    }
}

#[test]
fn arrays_are_lists_of_their_rows() {
    let matrix = ty(&[ANY, ANY], ElementType::I32);
    let read = |source: &str, ty: &Type<u32>| text::value(source, ty).unwrap();
    assert_eq!(read(" [ [1,2] , [3 , -4] ] ", &matrix), Array::new(&[2, 2], &[1, 2, 3, -4]).unwrap().into());
    assert_eq!(read("[[], []]", &matrix), Array::new::<i32>(&[2, 0], &[]).unwrap().into());
    assert_eq!(read("[]", &matrix), Array::new::<i32>(&[0, 0], &[]).unwrap().into());
    let three = ty(&[ANY, Extent::Constant(3)], ElementType::I32);
    assert_eq!(read("[]", &three), Array::new::<i32>(&[0, 3], &[]).unwrap().into(), "the type knows");
    assert_eq!(read("7", &ty(&[], ElementType::U8)), Array::scalar(7u8).into());
}

#[test]
fn what_is_printed_is_read_again() {
    let array = Array::new(&[2, 3], &[1.5f32, f32::NAN, f32::INFINITY, -0.0, 1e-30, 3.0]).unwrap();
    let printed = "[[1.5, nan, inf], [-0.0, 1e-30, 3.0]]";
    assert_eq!(text::value(printed, &ty(&[ANY, ANY], ElementType::F32)).unwrap(), array.into());
}

#[test]
fn arrays_of_arrays_and_streams() {
    let rows = Type { inner: vec![vec![ANY]], ..ty(&[ANY], ElementType::F64) };
    let Value::Nested(Nested { extents, values }) = text::value("[[1, 2], [], [3]]", &rows).unwrap() else { panic!() };
    assert_eq!((extents.to_vec::<i64>(), values.to_vec::<f64>()), (Some(vec![2, 0, 1]), Some(vec![1.0, 2.0, 3.0])));
    let images = Type { inner: vec![vec![ANY, ANY]], ..ty(&[ANY], ElementType::U8) };
    let Value::Nested(Nested { extents, values }) = text::value("[[[1, 2]], [[3], [4]], []]", &images).unwrap() else {
        panic!()
    };
    assert_eq!(extents, Array::new(&[3, 2], &[1i64, 2, 2, 1, 0, 0]).unwrap());
    assert_eq!(values.to_vec::<u8>(), Some(vec![1, 2, 3, 4]));
    let frames = Type { stream: true, ..ty(&[ANY], ElementType::U8) };
    let elements = vec![Array::new(&[2], &[1u8, 2]).unwrap(), Array::new(&[1], &[3u8]).unwrap()];
    assert_eq!(text::value("[[1, 2], [3]]", &frames).unwrap(), Value::Stream(elements));
}

#[test]
fn what_is_no_value_is_told_with_its_place() {
    let matrix = ty(&[ANY, ANY], ElementType::I32);
    refused("[[1, 2], [3]]", &matrix, "this list has 1 element, and the first beside it has 2", 9);
    refused("[1, 2]", &matrix, "expected `[` before the elements of a list, found `1`", 1);
    refused("[[1 2]]", &matrix, "expected `,` or `]` behind an element, found `2`", 4);
    refused("[[1, 2]", &matrix, "expected `,` or `]` behind an element, and the text ends", 7);
    refused("", &matrix, "expected `[` before the elements of a list, and the text ends", 0);
    refused("[[1]] 2", &matrix, "`2` stands behind the value", 6);
    refused("[[x]]", &matrix, "expected i32, found `x`", 2);
    refused("[[ü, 1]]", &matrix, "expected i32, found `ü`", 2);
    refused("[[1,]]", &matrix, "expected i32, found `]`", 4);
    refused(
        "[1, …]",
        &ty(&[ANY], ElementType::I32),
        "this list is cut short: `…` stands for elements that are not shown",
        4,
    );
    refused(&"[".repeat(100_000), &matrix, "expected i32, found `[`", 2);
}
