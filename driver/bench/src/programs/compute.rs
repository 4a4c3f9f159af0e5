//! Much arithmetic for each byte: `mandelbrot`, `nbody`, `matmul`, `kmeans`, `md5`.

use anyhow::{Result, ensure};
use rayon::prelude::*;

use super::md5;
use crate::{
    compare::Tolerance,
    data::Data,
    hand::{self, Hand, mul_add},
    program::{
        Input::{Named, Number},
        Program, Sizes, Work,
    },
    random::Random,
};

pub(super) fn programs() -> [Program; 5] {
    [
        Program {
            name: "mandelbrot",
            text: include_str!("../../../../golden/programs/mandelbrot.fbx"),
            inputs: &[Named("w"), Named("h"), Named("x0"), Named("x1"), Named("y0"), Named("y1"), Named("limit")],
            results: &[0],
            outside: true,
            needs_fusion: false,
            sizes: Sizes { small: 128, large: 1400 },
            tiny: 40,
            same_steps: None,
            generate: |n| {
                let named = [("w", n as f64), ("h", n as f64), ("x0", -2.0), ("x1", 0.75), ("y0", -1.25), ("y1", 1.25)];
                named
                    .into_iter()
                    .fold(Data::new().with_param("limit", 256.0), |data, (name, x)| data.with_param(name, x))
            },
            hand: mandelbrot,
            work: |data| {
                // About a fifth of this view never escapes; seven operations a step.
                let pixels = data.param("w")? * data.param("h")?;
                Ok(Work { bytes: 4.0 * pixels, operations: 7.0 * 0.25 * data.param("limit")? * pixels })
            },
            tolerance: Tolerance { outliers: 1e-4, ..Tolerance::EXACT },
        },
        Program {
            name: "nbody",
            text: include_str!("../../../../golden/programs/nbody.fbx"),
            inputs: &[Named("mass"), Named("px"), Named("py"), Named("pz"), Named("eps2")],
            results: &[0, 1, 2],
            outside: true,
            needs_fusion: true,
            sizes: Sizes { small: 512, large: 8192 },
            tiny: 100,
            same_steps: None,
            generate: |n| {
                let mut random = Random::new(40);
                let mut data = Data::new().with_param("n", n as f64).with_param("eps2", 0.01);
                for name in ["px", "py", "pz"] {
                    data = data.with_array(name, &[n], &random.floats(n, -1.0, 1.0));
                }
                data.with_array("mass", &[n], &random.floats(n, 0.1, 1.0))
            },
            hand: nbody,
            work: |data| {
                let n = data.param("n")?;
                Ok(Work { bytes: 28.0 * n, operations: 20.0 * n * n })
            },
            // Pulls from all sides cancel.
            tolerance: Tolerance { relative: 1e-3, absolute: 1e-2, outliers: 0.0 },
        },
        Program {
            name: "matmul",
            text: include_str!("../../../../golden/programs/matmul.fbx"),
            inputs: &[Named("a"), Named("b")],
            results: &[0],
            outside: true,
            needs_fusion: true,
            sizes: Sizes { small: 128, large: 1024 },
            tiny: 50,
            same_steps: None,
            generate: |n| {
                let mut random = Random::new(41);
                let data = Data::new().with_param("n", n as f64);
                let data = data.with_array("a", &[n, n], &random.floats(n * n, -1.0, 1.0));
                data.with_array("b", &[n, n], &random.floats(n * n, -1.0, 1.0))
            },
            hand: matmul,
            work: |data| {
                let n = data.param("n")?;
                Ok(Work { bytes: 12.0 * n * n, operations: 2.0 * n * n * n })
            },
            tolerance: Tolerance { relative: 1e-4, absolute: 1e-3, outliers: 0.0 },
        },
        Program {
            name: "kmeans",
            text: include_str!("../../../../golden/programs/kmeans.fbx"),
            inputs: &[Named("points"), Named("centroids"), Number(1.0)],
            results: &[0],
            outside: true,
            needs_fusion: true,
            sizes: Sizes { small: 10_000, large: 1_000_000 },
            tiny: 2_000,
            same_steps: None,
            generate: |n| {
                let mut random = Random::new(42);
                let data = Data::new().with_param("n", n as f64).with_param("k", 16.0);
                let data = data.with_array("points", &[4, n], &random.floats(4 * n, -1.0, 1.0));
                data.with_array("centroids", &[16, 4], &random.floats(64, -1.0, 1.0))
            },
            hand: kmeans,
            work: |data| {
                let n = data.param("n")?;
                Ok(Work { bytes: 16.0 * n, operations: 12.0 * 16.0 * n })
            },
            tolerance: Tolerance { relative: 1e-3, absolute: 1e-4, outliers: 0.0 },
        },
        Program {
            name: "md5",
            text: include_str!("../../../../golden/programs/md5.fbx"),
            inputs: &[Named("words")],
            results: &[0],
            outside: true,
            needs_fusion: false,
            sizes: Sizes { small: 4_000, large: 2_000_000 },
            tiny: 500,
            same_steps: None,
            generate: |n| {
                let mut random = Random::new(43);
                let words: Vec<u32> = (0..16 * n).map(|_| random.bits() as u32).collect();
                Data::new().with_param("n", n as f64).with_array("words", &[16, n], &words)
            },
            hand: md5::by_hand,
            work: |data| {
                let n = data.param("n")?;
                Ok(Work { bytes: 80.0 * n, operations: 64.0 * 8.0 * n })
            },
            tolerance: Tolerance::EXACT,
        },
    ]
}

/// Pixels that are on their way at once.
const PIXELS: usize = 32;

fn mandelbrot<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let (w, h, limit) = (data.size("w")?, data.size("h")?, data.size("limit")? as i32);
    let float = |name| anyhow::Ok(data.param(name)? as f32);
    let (x0, x1, y0, y1) = (float("x0")?, float("x1")?, float("y0")?, float("y1")?);
    hand::filling(&[h, w], move |out: &mut [i32]| {
        out.par_chunks_mut(w.max(1)).enumerate().for_each(|(py, row)| {
            let cy = y0 + py as f32 * (y1 - y0) / h as f32;
            for (chunk, out) in row.chunks_mut(PIXELS).enumerate() {
                let cx = std::array::from_fn(|lane| x0 + (chunk * PIXELS + lane) as f32 * (x1 - x0) / w as f32);
                out.copy_from_slice(&escapes(cx, cy, limit)[..out.len()]);
            }
        });
    })
}

/// Steps until each point escapes. Those that have go on, uncounted, until all have.
#[inline(always)]
fn escapes(cx: [f32; PIXELS], cy: f32, limit: i32) -> [i32; PIXELS] {
    let (mut zr, mut zi) = (cx, [cy; PIXELS]);
    let mut inside = [1i32; PIXELS];
    let mut counts = [0i32; PIXELS];
    let mut left = limit;
    while left > 0 {
        let steps = left.min(8);
        for _ in 0..steps {
            for lane in 0..PIXELS {
                let (r, i) = (zr[lane], zi[lane]);
                let (rr, ii) = (r * r, i * i);
                inside[lane] &= i32::from(rr + ii <= 4.0);
                counts[lane] += inside[lane];
                zr[lane] = rr - ii + cx[lane];
                zi[lane] = 2.0 * r * i + cy;
            }
        }
        if inside.iter().fold(0, |any, inside| any | inside) == 0 {
            break;
        }
        left -= steps;
    }
    counts
}

/// Bodies that are on their way at once.
const BODIES: usize = 32;

fn nbody<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let (mass, px) = (data.slice::<f32>("mass")?, data.slice::<f32>("px")?);
    let (py, pz) = (data.slice::<f32>("py")?, data.slice::<f32>("pz")?);
    let eps2 = data.param("eps2")? as f32;
    hand::filling_all(&[px.len()], move |[ax, ay, az]: [&mut [f32]; 3]| {
        let outputs = ax.par_chunks_mut(BODIES).zip(ay.par_chunks_mut(BODIES)).zip(az.par_chunks_mut(BODIES));
        outputs.enumerate().for_each(|(chunk, ((ax, ay), az))| {
            let first = chunk * BODIES;
            let mine = |p: &[f32]| -> [f32; BODIES] {
                std::array::from_fn(|lane| p.get(first + lane).copied().unwrap_or(0.0))
            };
            let (x, y, z) = (mine(px), mine(py), mine(pz));
            let mut pulls = [[0f32; BODIES]; 3];
            for (((&m, &qx), &qy), &qz) in mass.iter().zip(px).zip(py).zip(pz) {
                for lane in 0..BODIES {
                    let (dx, dy, dz) = (qx - x[lane], qy - y[lane], qz - z[lane]);
                    let q = mul_add(dx, dx, mul_add(dy, dy, mul_add(dz, dz, eps2)));
                    let s = m / (q * q.sqrt());
                    pulls[0][lane] = mul_add(s, dx, pulls[0][lane]);
                    pulls[1][lane] = mul_add(s, dy, pulls[1][lane]);
                    pulls[2][lane] = mul_add(s, dz, pulls[2][lane]);
                }
            }
            for (out, pulls) in [ax, ay, az].into_iter().zip(pulls) {
                let count = out.len();
                out.copy_from_slice(&pulls[..count]);
            }
        });
    })
}

/// Rows and columns of the tile of a product that stays in registers, and how many products it adds before it is stored.
pub(super) const TILE: [usize; 2] = [6, 32];
const DEPTH: usize = 512;

/// Tiles of the product in registers; panels of both factors packed so that they are read in order.
fn matmul<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let (a, b) = (data.slice::<f32>("a")?, data.slice::<f32>("b")?);
    let extents = |name| match *data.array(name)?.extents() {
        [rows, columns] => Ok([rows, columns]),
        ref other => Err(anyhow::anyhow!("`{name}` has extents {other:?}")),
    };
    let ([n, k], [k2, m]) = (extents("a")?, extents("b")?);
    ensure!(k == k2, "the factors do not fit each other");
    let [rows, columns] = TILE;
    let panels = m.div_ceil(columns);
    let mut packed = vec![[0f32; 32]; panels * k];
    hand::filling(&[n, m], move |out: &mut [f32]| {
        packed.par_chunks_mut(k.max(1)).enumerate().for_each(|(panel, packed)| {
            let first = panel * columns;
            let width = columns.min(m - first);
            for (row, packed) in packed.iter_mut().enumerate() {
                packed[..width].copy_from_slice(&b[row * m + first..][..width]);
            }
        });
        let packed = &packed;
        out.par_chunks_mut(8 * rows * m.max(1)).enumerate().for_each(|(chunk, out)| {
            out.fill(0.0);
            let first_row = chunk * 8 * rows;
            let mut left = vec![[0f32; TILE[0]]; 8 * DEPTH];
            for from in (0..k).step_by(DEPTH) {
                let depth = DEPTH.min(k - from);
                let tiles = (out.len() / m).div_ceil(rows);
                for tile in 0..tiles {
                    for (step, left) in left[tile * DEPTH..][..depth].iter_mut().enumerate() {
                        *left = std::array::from_fn(|row| {
                            let row = first_row + tile * rows + row;
                            if row < n { a[row * k + from + step] } else { 0.0 }
                        });
                    }
                }
                for panel in 0..panels {
                    let right = &packed[panel * k + from..][..depth];
                    for tile in 0..tiles {
                        let sums = product(&left[tile * DEPTH..][..depth], right);
                        let width = columns.min(m - panel * columns);
                        for (out, sums) in out[tile * rows * m..].chunks_mut(m).zip(sums) {
                            for (out, sum) in out[panel * columns..][..width].iter_mut().zip(sums) {
                                *out += sum;
                            }
                        }
                    }
                }
            }
        });
    })
}

#[inline(never)]
pub(super) fn product(left: &[[f32; TILE[0]]], right: &[[f32; TILE[1]]]) -> [[f32; TILE[1]]; TILE[0]] {
    let mut sums = [[0f32; TILE[1]]; TILE[0]];
    for (left, right) in left.iter().zip(right) {
        for (sums, &left) in sums.iter_mut().zip(left) {
            for (sum, &right) in sums.iter_mut().zip(right) {
                *sum = mul_add(left, right, *sum);
            }
        }
    }
    sums
}

/// Distances of many points at once, centroid by centroid; then each point is added to its centroid.
fn kmeans<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    const POINTS: usize = 64;
    const CHUNK: usize = 1 << 13;
    let (points, centroids) = (data.slice::<f32>("points")?, data.slice::<f32>("centroids")?);
    let (centroids, []) = centroids.as_chunks::<4>() else { anyhow::bail!("`centroids` should have four columns") };
    let &[4, n] = data.array("points")?.extents() else { anyhow::bail!("`points` should have four rows") };
    hand::filling(&[centroids.len(), 4], move |out: &mut [f32]| {
        let chunks = (0..n.div_ceil(CHUNK)).into_par_iter().map(|chunk| {
            let mut sums = vec![[0f32; 5]; centroids.len()];
            let first = chunk * CHUNK;
            for first in (first..(first + CHUNK).min(n)).step_by(POINTS) {
                let count = POINTS.min(n - first);
                let component = |row: usize| -> [f32; POINTS] {
                    let mut lanes = [0.0; POINTS];
                    lanes[..count].copy_from_slice(&points[row * n + first..][..count]);
                    lanes
                };
                let p: [[f32; POINTS]; 4] = std::array::from_fn(component);
                let mut least = [f32::INFINITY; POINTS];
                let mut own = [0u32; POINTS];
                for (number, c) in (0..).zip(centroids) {
                    for lane in 0..POINTS {
                        let d: [f32; 4] = std::array::from_fn(|row| p[row][lane] - c[row]);
                        let distance = d[0] * d[0] + d[1] * d[1] + d[2] * d[2] + d[3] * d[3];
                        let nearer = distance < least[lane];
                        least[lane] = if nearer { distance } else { least[lane] };
                        own[lane] = if nearer { number } else { own[lane] };
                    }
                }
                for (lane, &own) in own[..count].iter().enumerate() {
                    let sum = &mut sums[own as usize];
                    for row in 0..4 {
                        sum[row] += p[row][lane];
                    }
                    sum[4] += 1.0;
                }
            }
            sums
        });
        let sums: Vec<Vec<[f32; 5]>> = chunks.collect();
        for (number, (out, centroid)) in out.chunks_mut(4).zip(centroids).enumerate() {
            let mut total = [0f64; 5];
            for sums in &sums {
                for (total, sum) in total.iter_mut().zip(sums[number]) {
                    *total += f64::from(sum);
                }
            }
            for row in 0..4 {
                out[row] = if total[4] > 0.0 { (total[row] / total[4]) as f32 } else { centroid[row] };
            }
        }
    })
}
