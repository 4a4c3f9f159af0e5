//! What a user's first program does, with nothing but the facade: the README's program, elements that are records and enums, an
//! explanation, and errors by `?`.

use fusebox::prelude::*;

/// A record.
#[derive(Clone, Copy, Debug, PartialEq, Elt)]
struct Body {
    position: f32,
    speed: f32,
}

/// A record of records, and of a value that may be absent.
#[derive(Clone, Debug, PartialEq, Elt)]
struct Pair {
    left: Body,
    right: Body,
    distance: Option<f32>,
}

/// An enum.
#[derive(Clone, Copy, Debug, PartialEq, Elt)]
enum Shape {
    Circle(f32),
    Rect { w: f32, h: f32 },
    Empty,
}

fn main() -> Result<(), fusebox::Error> {
    readme()?;
    records()?;
    enums()?;
    explained()?;
    failing()?;
    println!("outside: all is as it should be");
    Ok(())
}

/// The first program of the README.
fn readme() -> Result<(), fusebox::Error> {
    let dotp = fusebox::compile2(|xs: Acc<Vector<f32>>, ys: Acc<Vector<f32>>| {
        zip_with(|x, y| x * y, xs, ys).fold(|a, b| a + b, 0.0)
    })?;
    let (xs, ys) = (Vector::from_slice(&[1.0, 2.0, 3.0])?, Vector::from_slice(&[4.0, 5.0, 6.0])?);
    let r: Scalar<f32> = dotp.run(&xs, &ys)?;
    assert_eq!(r.value(), Some(32.0));
    drop((xs, ys)); // Rust's own `drop`
    Ok(())
}

fn records() -> Result<(), fusebox::Error> {
    let step = fusebox::compile2(|bodies: Acc<Vector<Body>>, dt: Exp<f32>| {
        bodies.map(|b| Body::exp(b.position() + dt * b.speed(), b.speed()))
    })?;
    let bodies = [Body { position: 1.0, speed: 2.0 }, Body { position: 0.0, speed: -1.0 }];
    let moved = step.run(&Vector::new(2, &bodies)?, &0.5)?.to_vec();
    assert_eq!(moved, [Body { position: 2.0, speed: 2.0 }, Body { position: -0.5, speed: -1.0 }]);

    let pairs = fusebox::compile2(|left: Acc<Vector<Body>>, right: Acc<Vector<Body>>| {
        left.zip_with(right, |left, right| {
            let distance = right.position() - left.position();
            Pair::exp(left, right, some_if(distance.ge(0.0), distance))
        })
    })?;
    let (left, right) = (Vector::new(2, &bodies)?, Vector::new(2, &moved)?);
    let pairs = pairs.run(&left, &right)?.to_vec();
    assert_eq!(pairs[0], Pair { left: bodies[0], right: moved[0], distance: Some(1.0) });
    assert_eq!(pairs[1].distance, None);
    Ok(())
}

fn enums() -> Result<(), fusebox::Error> {
    let areas = fusebox::compile1(|shapes: Acc<Vector<Shape>>| {
        shapes.map(|shape| shape.cases(|radius| 3.0f32 * radius * radius, |w, h| w * h, || 0.0f32))
    })?;
    let shapes = [Shape::Circle(2.0), Shape::Rect { w: 2.0, h: 3.0 }, Shape::Empty];
    assert_eq!(areas.run(&Vector::new(3, &shapes)?)?.to_vec(), [12.0, 6.0, 0.0]);

    let squares = fusebox::compile1(|sides: Acc<Vector<f32>>| {
        sides.map(|side| cond(side.gt(0.0), Shape::exp_rect(side, side), Shape::exp_empty()))
    })?;
    let made = squares.run(&Vector::from_slice(&[2.0, -1.0])?)?.to_vec();
    assert_eq!(made, [Shape::Rect { w: 2.0, h: 2.0 }, Shape::Empty]);
    Ok(())
}

/// Names that the program gives, and names of lines, are those of the explanation.
fn explained() -> Result<(), fusebox::Error> {
    let normalise = fusebox::compile1(|xs: Acc<Vector<f32>>| {
        let total = sum(xs).named("total").get();
        let scores = xs.map(|x| x / total);
        (scores, scores.fold(|a, b| a.max(b), 0.0))
    })?;
    let text = normalise.explain().to_string();
    assert!(text.contains("`total` (src/main.rs:"), "{text}");
    Ok(())
}

/// What fails says so as a message, which is what a `main` that fails prints.
fn failing() -> Result<(), fusebox::Error> {
    let divide = fusebox::compile2(|xs: Acc<Vector<i64>>, y: Exp<i64>| xs.map(|x| x / y))?;
    let error = divide.run(&Vector::from_slice(&[1, 2])?, &0).err();
    let printed = error.map(|error| format!("{error:?}")).unwrap_or_default();
    assert!(printed.contains("division by zero") && !printed.contains('{'), "{printed}");
    Ok(())
}
