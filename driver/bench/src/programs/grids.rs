//! Stencils: `jacobi`, `blur`, `life`, `canny`.

use anyhow::Result;
use rayon::prelude::*;

use super::turns;
use crate::{
    compare::Tolerance,
    data::Data,
    hand::{self, Hand},
    program::{Input::Named, Program, Sizes, Work},
    random::Random,
};

pub(super) fn programs() -> [Program; 4] {
    [
        Program {
            name: "jacobi",
            text: include_str!("../../../../golden/programs/jacobi.fbx"),
            inputs: &[Named("img"), Named("iters")],
            results: &[0],
            outside: true,
            needs_fusion: false,
            sizes: Sizes { small: 200, large: 2000 },
            tiny: 70,
            same_steps: None,
            generate: |n| image(n).with_param("iters", 20.0),
            hand: jacobi,
            work: |data| pixels(data, 8.0 * data.param("iters")?, 5.0 * data.param("iters")?),
            tolerance: Tolerance { relative: 1e-5, absolute: 1e-6, outliers: 0.0 },
        },
        Program {
            name: "blur",
            text: include_str!("../../../../golden/programs/blur.fbx"),
            inputs: &[Named("img")],
            results: &[0],
            outside: true,
            needs_fusion: false,
            sizes: Sizes { small: 200, large: 8192 },
            tiny: 70,
            same_steps: None,
            generate: image,
            hand: blur,
            work: |data| pixels(data, 8.0, 0.0),
            tolerance: Tolerance { relative: 1e-5, absolute: 1e-6, outliers: 0.0 },
        },
        Program {
            name: "canny",
            text: include_str!("../../../../golden/programs/canny.fbx"),
            inputs: &[Named("img"), Named("lo"), Named("hi")],
            results: &[0],
            outside: true,
            needs_fusion: false,
            sizes: Sizes { small: 200, large: 2048 },
            tiny: 70,
            same_steps: None,
            generate: |n| image(n).with_param("lo", 0.2).with_param("hi", 0.5),
            hand: canny,
            work: |data| pixels(data, 5.0, 60.0),
            tolerance: Tolerance { outliers: 1e-5, ..Tolerance::EXACT },
        },
        Program {
            name: "life",
            text: include_str!("../../../../golden/programs/life.fbx"),
            inputs: &[Named("grid"), Named("iters")],
            results: &[0],
            outside: true,
            needs_fusion: false,
            sizes: Sizes { small: 400, large: 4096 },
            tiny: 70,
            same_steps: None,
            generate: |n| {
                let mut random = Random::new(31);
                let grid: Vec<u8> = (0..n * n).map(|_| random.below(2) as u8).collect();
                Data::new().with_param("h", n as f64).with_param("w", n as f64).with_param("iters", 20.0).with_array(
                    "grid",
                    &[n, n],
                    &grid,
                )
            },
            hand: life,
            work: |data| pixels(data, 2.0 * data.param("iters")?, 0.0),
            tolerance: Tolerance::EXACT,
        },
    ]
}

/// Smooth shapes and noise.
fn image(n: usize) -> Data {
    let mut random = Random::new(30);
    let pixel = |at: usize| {
        let (y, x) = ((at / n) as f32, (at % n) as f32);
        0.5 + 0.4 * (x * 0.11).sin() * (y * 0.07).cos() + 0.1 * random.unit() as f32
    };
    let img: Vec<f32> = (0..n * n).map(pixel).collect();
    Data::new().with_param("h", n as f64).with_param("w", n as f64).with_array("img", &[n, n], &img)
}

fn pixels(data: &Data, bytes: f64, operations: f64) -> Result<Work> {
    let pixels = data.param("h")? * data.param("w")?;
    Ok(Work { bytes: bytes * pixels, operations: operations * pixels })
}

/// Height and width of an image.
fn extents(data: &Data, name: &str) -> Result<[usize; 2]> {
    match *data.array(name)?.extents() {
        [h, w] if h > 0 && w > 1 => Ok([h, w]),
        ref other => anyhow::bail!("`{name}` has extents {other:?}, and should have two"),
    }
}

/// Rows that one thread takes at a time.
const ROWS: usize = 16;

/// A row and its neighbours, clamped.
fn around<T>(image: &[T], w: usize, row: usize) -> [&[T]; 3] {
    let h = image.len() / w;
    [row.saturating_sub(1), row, (row + 1).min(h - 1)].map(|row| &image[row * w..][..w])
}

/// Calls `inner` for the positions of a row that have neighbours on both sides, with them, and for both ends with the end repeated.
#[inline(always)]
fn across<T: Copy, U>(row: &[T], out: &mut [U], inner: impl Fn(T, T, T, usize) -> U) {
    let last = row.len() - 1;
    out[0] = inner(row[0], row[0], row[1], 0);
    for (at, (out, x)) in out[1..last].iter_mut().zip(row.array_windows::<3>()).enumerate() {
        *out = inner(x[0], x[1], x[2], at + 1);
    }
    out[last] = inner(row[last - 1], row[last], row[last], last);
}

fn jacobi<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let (img, [h, w], iterations) = (data.slice::<f32>("img")?, extents(data, "img")?, data.size("iters")?);
    let mut spare = vec![0f32; h * w];
    let step = |_: usize, [north, here, south]: [&[f32]; 3], to: &mut [f32]| {
        let (north, south) = (&north[..here.len()], &south[..here.len()]);
        across(here, to, |west, x, east, at| 0.2 * (x + north[at] + south[at] + east + west));
    };
    hand::filling(&[h, w], move |out: &mut [f32]| match iterations {
        0 => out.copy_from_slice(img),
        _ => turns::Field { width: w, outside: None }.turns(iterations, img, out, &mut spare, step),
    })
}

/// Strips of columns, of which three rows stay in the innermost cache: sums of three rows, then of three neighbours.
fn blur<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    const STRIP: usize = 2048;
    let (img, [h, w]) = (data.slice::<f32>("img")?, extents(data, "img")?);
    hand::filling(&[h, w], move |out: &mut [f32]| {
        out.par_chunks_mut(ROWS * w).enumerate().for_each(|(chunk, out)| {
            let mut sums = [0f32; STRIP + 2];
            for first in (0..w).step_by(STRIP) {
                let end = (first + STRIP).min(w);
                for (row, out) in out.chunks_mut(w).enumerate() {
                    let [north, here, south] = around(img, w, chunk * ROWS + row);
                    let sum = |at: usize| north[at] + 2.0 * here[at] + south[at];
                    let (out, sums) = (&mut out[first..end], &mut sums[..end - first + 2]);
                    (sums[0], sums[end - first + 1]) = (sum(first.saturating_sub(1)), sum(end.min(w - 1)));
                    let rows = north[first..end].iter().zip(&here[first..end]).zip(&south[first..end]);
                    for (sum, ((north, here), south)) in sums[1..].iter_mut().zip(rows) {
                        *sum = north + 2.0 * here + south;
                    }
                    for (out, sums) in out.iter_mut().zip(sums.array_windows::<3>()) {
                        *out = (sums[0] + 2.0 * sums[1] + sums[2]) * (1.0 / 16.0);
                    }
                }
            }
        });
    })
}

/// Sums of three rows, then of three neighbours, in bytes.
fn life<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let (grid, [h, w], iterations) = (data.slice::<u8>("grid")?, extents(data, "grid")?, data.size("iters")?);
    let mut other = vec![0u8; h * w];
    hand::filling(&[h, w], move |out: &mut [u8]| {
        let step = |from: &[u8], to: &mut [u8]| {
            to.par_chunks_mut(ROWS * w).enumerate().for_each(|(chunk, to)| {
                let mut sums = vec![0u8; w + 2];
                for (row, to) in (chunk * ROWS..).zip(to.chunks_mut(w)) {
                    let [north, here, south] = [(row + h - 1) % h, row, (row + 1) % h].map(|row| &from[row * w..][..w]);
                    for (((sum, north), here), south) in sums[1..=w].iter_mut().zip(north).zip(here).zip(south) {
                        *sum = north + here + south;
                    }
                    sums[0] = sums[w];
                    sums[w + 1] = sums[1];
                    for ((to, &here), sums) in to.iter_mut().zip(here).zip(sums.array_windows::<3>()) {
                        let all = sums[0] + sums[1] + sums[2]; // with the cell itself
                        *to = u8::from(all == 3) | (u8::from(all == 4) & here);
                    }
                }
            });
        };
        let (mut a, mut b) = (&mut *out, other.as_mut_slice());
        if iterations % 2 == 0 {
            std::mem::swap(&mut a, &mut b);
        }
        match iterations {
            0 => out.copy_from_slice(grid),
            _ => {
                step(grid, a);
                for _ in 1..iterations {
                    step(a, b);
                    std::mem::swap(&mut a, &mut b);
                }
            }
        }
    })
}

/// All stages on a strip of rows, which stays in cache, with the rows around it that the stages after need computed again.
fn canny<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    const STRIP: usize = 32;
    let (img, [h, w]) = (data.slice::<f32>("img")?, extents(data, "img")?);
    let (low, high) = (data.param("lo")? as f32, data.param("hi")? as f32);
    hand::filling(&[h, w], move |out: &mut [u8]| {
        let strips = out.par_chunks_mut(STRIP * w).enumerate();
        strips.for_each_init(Strip::default, |strip, (number, out)| {
            strip.edges(img, [h, w], number * STRIP, out, low, high)
        });
    })
}

/// What lies between the stages of `canny`.
#[derive(Default)]
struct Strip {
    padded: Vec<f32>,
    across: Rows<f32>,
    smooth: Rows<f32>,
    gx: Rows<f32>,
    gy: Rows<f32>,
    magnitude: Rows<f32>,
    grade: Rows<u8>,
}

/// Some rows of an image, each with its end repeated on both sides.
#[derive(Default)]
struct Rows<T> {
    first: usize,
    count: usize,
    w: usize,
    values: Vec<T>,
}

impl<T: Copy + Default> Rows<T> {
    /// Makes room for the rows from `first` to before `end`.
    fn reset(&mut self, first: usize, end: usize, w: usize) -> std::ops::Range<usize> {
        (self.first, self.count, self.w) = (first, end - first, w);
        self.values.resize((end - first) * (w + 2), T::default());
        first..end
    }

    /// A row, clamped to the image; it begins one to the left of the image.
    fn row(&self, row: isize, h: usize) -> &[T] {
        let row = row.clamp(0, h as isize - 1) as usize - self.first;
        &self.values[row * (self.w + 2)..][..self.w + 2]
    }

    /// Fills a row, and repeats its ends.
    fn fill(&mut self, row: usize, fill: impl FnOnce(&mut [T])) {
        let w = self.w;
        let row = &mut self.values[(row - self.first) * (w + 2)..][..w + 2];
        fill(&mut row[1..=w]);
        row[0] = row[1];
        row[w + 1] = row[w];
    }
}

impl Strip {
    fn edges(&mut self, img: &[f32], [h, w]: [usize; 2], first: usize, out: &mut [u8], low: f32, high: f32) {
        let end = first + out.len() / w;
        let wider = |by: usize| (first.saturating_sub(by), (end + by).min(h));
        let weigh = |a: f32, b: f32, c: f32, d: f32, e: f32| (a + 4.0 * b + 6.0 * c + 4.0 * d + e) / 16.0;

        let (from, to) = wider(5);
        self.padded.resize(w + 4, 0.0);
        for row in self.across.reset(from, to, w) {
            let pixels = &img[row * w..][..w];
            let (padded, across) = (&mut self.padded, &mut self.across);
            padded[2..w + 2].copy_from_slice(pixels);
            padded[..2].fill(pixels[0]);
            padded[w + 2..].fill(pixels[w - 1]);
            across.fill(row, |out| {
                for (out, x) in out.iter_mut().zip(padded.array_windows::<5>()) {
                    *out = weigh(x[0], x[1], x[2], x[3], x[4]);
                }
            });
        }
        let (from, to) = wider(3);
        for row in self.smooth.reset(from, to, w) {
            let at = |by: isize| &self.across.row(row as isize + by, h)[1..=w];
            let (a, b, c, d, e) = (at(-2), at(-1), at(0), at(1), at(2));
            self.smooth.fill(row, |out| {
                for i in 0..w {
                    out[i] = weigh(a[i], b[i], c[i], d[i], e[i]);
                }
            });
        }
        let (from, to) = wider(2);
        self.gx.reset(from, to, w);
        self.gy.reset(from, to, w);
        for row in self.magnitude.reset(from, to, w) {
            let at = |by: isize| &self.smooth.row(row as isize + by, h)[..w + 2];
            let (n, c, s) = (at(-1), at(0), at(1));
            self.gx.fill(row, |out| {
                for i in 0..w {
                    out[i] = n[i + 2] + 2.0 * c[i + 2] + s[i + 2] - (n[i] + 2.0 * c[i] + s[i]);
                }
            });
            self.gy.fill(row, |out| {
                for i in 0..w {
                    out[i] = s[i] + 2.0 * s[i + 1] + s[i + 2] - (n[i] + 2.0 * n[i + 1] + n[i + 2]);
                }
            });
            let (gx, gy) = (&self.gx.row(row as isize, h)[1..=w], &self.gy.row(row as isize, h)[1..=w]);
            self.magnitude.fill(row, |out| {
                for i in 0..w {
                    out[i] = (gx[i] * gx[i] + gy[i] * gy[i]).sqrt();
                }
            });
        }
        let (from, to) = wider(1);
        for row in self.grade.reset(from, to, w) {
            let at = |by: isize| &self.magnitude.row(row as isize + by, h)[..w + 2];
            let (n, c, s) = (at(-1), at(0), at(1));
            let (gx, gy) = (&self.gx.row(row as isize, h)[1..=w], &self.gy.row(row as isize, h)[1..=w]);
            self.grade.fill(row, |out| {
                for i in 0..w {
                    let (x, y) = (gx[i].abs(), gy[i].abs());
                    let (flat, steep) = (y <= 0.414_213_57 * x, y >= 2.414_213_7 * x);
                    let same = (gx[i] > 0.0) == (gy[i] > 0.0);
                    // All four directions: a selected one would be gathered.
                    let here = c[i + 1];
                    let across = (here >= c[i]) & (here >= c[i + 2]);
                    let along = (here >= n[i + 1]) & (here >= s[i + 1]);
                    let falling = (here >= n[i]) & (here >= s[i + 2]);
                    let rising = (here >= n[i + 2]) & (here >= s[i]);
                    let slanted = (same & falling) | (!same & rising);
                    let level = (flat & across) | (!flat & ((steep & along) | (!steep & slanted)));
                    let kept = level & (here >= low);
                    out[i] = u8::from(kept) + u8::from(kept & (here >= high));
                }
            });
        }
        for (row, out) in (first..end).zip(out.chunks_mut(w)) {
            let at = |by: isize| &self.grade.row(row as isize + by, h)[..w + 2];
            let (n, c, s) = (at(-1), at(0), at(1));
            for i in 0..w {
                let strong = |x: u8| u8::from(x == 2);
                let around = strong(n[i]) | strong(n[i + 1]) | strong(n[i + 2]) | strong(c[i]);
                let around = around | strong(c[i + 2]) | strong(s[i]) | strong(s[i + 1]) | strong(s[i + 2]);
                out[i] = strong(c[i + 1]) | (u8::from(c[i + 1] == 1) & around);
            }
        }
    }
}
