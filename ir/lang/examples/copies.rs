//! How long it takes to bring sixteen million elements into an array of the host and out of it again, beside a plain copy.
//!
//! `cargo run --release -p fusebox-lang --example copies`

use std::{hint::black_box, time::Instant};

use fusebox_lang::{Complex, Elt, Matrix, Vector};

const ROWS: usize = 4000;
const COLUMNS: usize = 4000;

/// The least of several times, in milliseconds.
fn time<R>(mut f: impl FnMut() -> R) -> f64 {
    let once = |_| {
        let start = Instant::now();
        black_box(f());
        start.elapsed().as_secs_f64() * 1e3
    };
    (0..5).map(once).fold(f64::INFINITY, f64::min)
}

fn shown<T: Elt>(what: &str, elements: &[T]) {
    let matrix = Matrix::new((ROWS as i64, COLUMNS as i64), elements).expect("there is memory for it");
    let copy = time(|| elements.to_vec());
    let new = time(|| Matrix::new((ROWS as i64, COLUMNS as i64), black_box(elements)).is_ok());
    let to_vec = time(|| black_box(&matrix).to_vec());
    println!("{what:8} copy {copy:6.1} ms   Matrix::new {new:6.1} ms   to_vec {to_vec:6.1} ms");
}

fn main() {
    let floats: Vec<f32> = (0..ROWS * COLUMNS).map(|i| i as f32).collect();
    shown("f32", &floats);
    let complex: Vec<Complex<f32>> = floats.iter().map(|&re| Complex { re, im: -re }).collect();
    shown("complex", &complex);
    let pairs: Vec<(i64, bool)> = (0..ROWS * COLUMNS).map(|i| (i as i64, i % 3 == 0)).collect();
    shown("pair", &pairs);
    println!("from_slice of f32 {:6.1} ms", time(|| Vector::from_slice(black_box(&floats)).is_ok()));
}
