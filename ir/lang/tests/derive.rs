//! Records and enums as elements.

use fusebox_lang::*;

example!();

#[derive(Clone, Copy, Debug, PartialEq, Elt)]
struct Point {
    x: f32,
    y: f32,
}

#[derive(Clone, Debug, PartialEq, Elt)]
struct Segment<T> {
    from: T,
    to: T,
    weight: i32,
}

#[derive(Clone, Debug, PartialEq, Elt)]
enum Figure {
    Circle(f32),
    HalfPlane { w: f32, h: f32 },
    Empty,
}

#[derive(Clone, Debug, PartialEq, Elt)]
struct Pair(i64, bool);

fn names<T: Elt>() -> Vec<String> {
    Fields::of::<T>().into_iter().map(|(name, ty)| format!("{name}: {ty}")).collect()
}

#[test]
fn components_have_the_names_of_fields() {
    assert_eq!(names::<Point>(), ["x: f32", "y: f32"]);
    assert_eq!(names::<Segment<Point>>(), ["from.x: f32", "from.y: f32", "to.x: f32", "to.y: f32", "weight: i32"]);
    assert_eq!(names::<Figure>(), ["tag: u8", "circle: f32", "half_plane.w: f32", "half_plane.h: f32"]);
    assert_eq!(names::<Pair>(), ["_0: i64", "_1: bool"]);
    assert_eq!(names::<Option<Complex<f64>>>(), ["some: bool", "value.re: f64", "value.im: f64"]);
}

#[test]
fn records_are_taken_apart_and_made() {
    let points = Vector::new(2, &[Point { x: 1.0, y: 2.0 }, Point { x: 3.0, y: 5.0 }]).unwrap();
    let r = example::run1(
        |points: Acc<Vector<Point>>| {
            points.map(|p| {
                let (x, y) = p.fields();
                Segment::exp(p, Point::exp(y, x), (p.x() + p.y()).cast::<i32>())
            })
        },
        &points,
    );
    let expected =
        |a: f32, b: f32| Segment { from: Point { x: a, y: b }, to: Point { x: b, y: a }, weight: (a + b) as i32 };
    assert_eq!(r.to_vec(), [expected(1.0, 2.0), expected(3.0, 5.0)]);
}

#[test]
fn enums_choose_by_alternative() {
    let figures = [Figure::Circle(2.0), Figure::HalfPlane { w: 2.0, h: 3.0 }, Figure::Empty];
    let input = Vector::new(3, &figures).unwrap();
    assert_eq!(input.to_vec(), figures);
    let (areas, grown, circles) = example::run1(
        |figures: Acc<Vector<Figure>>| {
            let areas = figures.map(|f| f.cases(|r| r * r * 3.0, |w, h| w * h, || 0.0f32));
            let grown = figures.map(|f| {
                f.cases(
                    |r| Figure::exp_circle(r + 1.0),
                    |w, h| Figure::exp_half_plane(w, h * 2.0),
                    || Figure::Circle(0.5),
                )
            });
            (areas, grown, figures.map(|f| f.is_circle()))
        },
        &input,
    );
    assert_eq!(areas.to_vec(), [12.0, 6.0, 0.0]);
    assert_eq!(grown.to_vec(), [Figure::Circle(3.0), Figure::HalfPlane { w: 2.0, h: 6.0 }, Figure::Circle(0.5)]);
    assert_eq!(circles.to_vec(), [true, false, false]);
}

#[test]
fn absent_fields_are_zero() {
    let array = Vector::new(1, &[Figure::Circle(2.0)]).unwrap();
    let zeros: Vec<_> = array.columns().iter().map(|column| column.get(0).bits()).collect();
    assert_eq!(zeros, [0, u64::from(2.0f32.to_bits()), 0, 0]);
}

#[test]
fn a_tag_out_of_range_is_no_element() {
    let columns = vec![
        fusebox_ir::Array::new(&[1], &[9u8]).unwrap(),
        fusebox_ir::Array::new(&[1], &[0.0f32]).unwrap(),
        fusebox_ir::Array::new(&[1], &[0.0f32]).unwrap(),
        fusebox_ir::Array::new(&[1], &[0.0f32]).unwrap(),
    ];
    assert_eq!(Vector::<Figure>::from_columns(columns).unwrap().get(0), None);
}
