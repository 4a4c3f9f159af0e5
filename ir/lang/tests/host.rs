//! Arrays of the host: how they are printed, read, walked over and made.

use fusebox_lang::*;

#[derive(Clone, Copy, Debug, PartialEq, Elt)]
struct Particle {
    columns: f32,
    alive: bool,
    of: (i64, Complex<f64>),
    nothing: (),
}

#[derive(Clone, Copy, Debug, PartialEq, Elt)]
enum Colour {
    Grey(u8),
    Rgb(u8, u8, u8),
}

#[test]
fn arrays_are_printed_as_rows() {
    let v = Vector::from_slice(&[1.5, -2.0, 3.25]).unwrap();
    assert_eq!(v.to_string(), "[1.5, -2, 3.25]");
    assert_eq!(format!("{v:.1} {v:?}"), "[1.5, -2.0, 3.2] [3] [1.5, -2.0, 3.25]");
    let m = Matrix::new((2, 2), &[1, -20, 300, 4]).unwrap();
    assert_eq!(m.to_string(), "[[  1, -20],\n [300,   4]]");
    assert_eq!(format!("{m:<2}"), "[[1  , -20],\n [300, 4  ]]");
    assert_eq!(format!("{m:?}"), "[2, 2]\n[[  1, -20],\n [300,   4]]");
    let a = Array::<Ix3, bool>::new((2, 1, 2), &[true, false, false, true]).unwrap();
    assert_eq!(a.to_string(), "[[[ true, false]],\n\n [[false,  true]]]");
    assert_eq!(Scalar::of(&7).to_string(), "7");
    assert_eq!(Matrix::<i32>::new((2, 0), &[]).unwrap().to_string(), "[[],\n []]");
    assert_eq!(Vector::<i32>::from(Vec::new()).to_string(), "[]");
    assert_eq!(format!("{:?}", Vector::from_slice(&[(1, true)]).unwrap()), "[1] [(1, true)]");
}

#[test]
fn long_arrays_are_cut_in_the_middle() {
    let v = Vector::from_slice(&(0..1001).collect::<Vec<i32>>()).unwrap();
    assert_eq!(v.to_string(), "[0, 1, 2, ..., 998, 999, 1000]");
    let whole = Vector::from_slice(&(0..1000).collect::<Vec<i32>>()).unwrap();
    assert!(!whole.to_string().contains("..."));
    let m = Matrix::new((300, 4), &(0..1200).collect::<Vec<i32>>()).unwrap();
    let expected = "[[   0,    1,    2,    3],\n [   4,    5,    6,    7],\n [   8,    9,   10,   11],\n ...,\n [1188, 1189, 1190, 1191],\n \
                    [1192, 1193, 1194, 1195],\n [1196, 1197, 1198, 1199]]";
    assert_eq!(m.to_string(), expected);
}

#[test]
fn elements_are_read_by_index_and_position() {
    let mut m = Matrix::new((2, 3), &[1, 2, 3, 4, 5, 6]).unwrap();
    let shared = m.clone();
    m[[1, 0]] = 40;
    assert_eq!((m[[1, 0]], shared[[1, 0]], m.element([1, 2])), (40, 4, Some(6)));
    assert_eq!((m.element([2, 0]), m.element([0, 3])), (None, None));
    assert_eq!(Scalar::from(3)[[]], 3);
    let outside = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| shared[[0, 3]])).unwrap_err();
    let message = outside.downcast_ref::<String>().unwrap();
    assert_eq!(message, "index [0, 3] is outside of an array of extents [2, 3]");
}

#[test]
fn elements_and_rows_are_walked_over() {
    let m = Matrix::new((2, 3), &[1, 2, 3, 4, 5, 6]).unwrap();
    assert_eq!(m.iter().collect::<Vec<i32>>(), [1, 2, 3, 4, 5, 6]);
    assert_eq!(m.iter().rev().collect::<Vec<i32>>(), [6, 5, 4, 3, 2, 1]);
    assert_eq!((&m).into_iter().sum::<i32>(), 21);
    assert_eq!(m.rows().rev().collect::<Vec<_>>(), [&[4, 5, 6], &[1, 2, 3]]);
    assert_eq!(Matrix::<i32>::new((3, 0), &[]).unwrap().rows().len(), 3);
    assert_eq!(Scalar::of(&5).rows().collect::<Vec<_>>(), [&[5]]);
    let pairs = Vector::from_slice(&[(1, 'x' as u32), (2, 'y' as u32)]).unwrap();
    assert_eq!(pairs.iter().map(|pair| pair.0).collect::<Vec<i32>>(), [1, 2]);
}

#[test]
fn every_element_type_goes_in_and_out_whole() {
    fn there_and_back<T: Elt + PartialEq + std::fmt::Debug>(values: Vec<T>) {
        let vector = Vector::from_slice(&values).unwrap();
        assert_eq!(vector.columns().len(), T::COUNT);
        assert_eq!(vector.to_vec(), values);
        assert_eq!(vector.iter().collect::<Vec<T>>(), values);
        assert_eq!(Vec::from(Vector::from(values.clone())), values);
    }
    there_and_back(vec![1.0f32, f32::INFINITY, -0.0]);
    there_and_back(vec![true, false, true]);
    there_and_back(vec![f16::from_f32(1.5)]);
    there_and_back(vec![u64::MAX, 0]);
    there_and_back(vec![(1i8, 2u16, (true, -3i64))]);
    there_and_back(vec![Complex { re: 1.0, im: 2.0 }, Complex { re: 3.0, im: 4.0 }]);
    there_and_back(vec![Some(3i32), None, Some(-1)]);
    there_and_back(vec![Colour::Grey(7), Colour::Rgb(1, 2, 3)]);
    there_and_back(vec![(), (), ()]);
    let particle = |i: i64| Particle {
        columns: i as f32,
        alive: i % 2 == 0,
        of: (i, Complex { re: 0.5, im: i as f64 }),
        nothing: (),
    };
    there_and_back((0..100).map(particle).collect());
    there_and_back(Vec::<Particle>::new());
}

#[test]
fn what_stands_for_no_element_is_left_out() {
    let tags = fusebox_ir::Array::new(&[3], &[0u8, 9, 0]).unwrap();
    let bytes = fusebox_ir::Array::new(&[3], &[1u8, 2, 3]).unwrap();
    let columns = vec![tags, bytes.clone(), bytes.clone(), bytes.clone(), bytes];
    let colours = Vector::<Colour>::from_columns(columns.into_iter().take(Colour::COUNT).collect()).unwrap();
    assert_eq!(colours.to_vec(), [Colour::Grey(1), Colour::Grey(3)]);
    assert_eq!(colours.iter().count(), 2);
    assert_eq!(format!("{colours:?}"), "[3] [Grey(1), ?, Grey(3)]");
}

#[test]
fn counts_and_extents_have_to_fit() {
    assert!(Matrix::new((2, 2), &[1, 2, 3]).is_err());
    assert!(Matrix::new((2, -2), &[1, 2]).is_err());
    assert!(Matrix::new((i64::MAX, 2), &[(); 2]).is_err());
    assert!(Matrix::new((2, 2), &[(1, true); 5]).is_err());
}
