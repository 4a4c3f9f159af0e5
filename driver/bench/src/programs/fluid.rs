//! Stable fluids: `fluid`.

use anyhow::{Result, ensure};
use rayon::prelude::*;

use super::turns;
use crate::{
    compare::Tolerance,
    data::Data,
    hand::{self, Hand},
    program::{
        Input::{Named, Number},
        Program, Sizes, Work,
    },
    random::Random,
};

const STEPS: usize = 2;
const RELAXATIONS: usize = 20;
const DT: f32 = 0.1;
const VISCOSITY: f32 = 1e-6;
const DIFFUSION: f32 = 1e-6;

pub(super) fn programs() -> [Program; 1] {
    [Program {
        name: "fluid",
        text: include_str!("../../../../golden/programs/fluid.fbx"),
        inputs: &[
            Named("density"),
            Named("u"),
            Named("v"),
            Named("row"),
            Named("column"),
            Named("sd"),
            Named("su"),
            Named("sv"),
            Number(DT as f64),
            Number(VISCOSITY as f64),
            Number(DIFFUSION as f64),
            Number(RELAXATIONS as f64),
            Number(STEPS as f64),
        ],
        results: &[0, 1, 2],
        outside: false,
        needs_fusion: false,
        sizes: Sizes { small: 128, large: 1024 },
        tiny: 20,
        same_steps: None,
        generate: |n| {
            let mut random = Random::new(80);
            let k = 8;
            let data = Data::new().with_param("n", n as f64);
            let fields = [("density", 0.0, 1.0), ("u", -0.02, 0.02), ("v", -0.02, 0.02)];
            let data = fields
                .into_iter()
                .fold(data, |data, (name, low, high)| data.with_array(name, &[n, n], &random.floats(n * n, low, high)));
            let strengths = [("sd", 0.0, 5.0), ("su", -0.1, 0.1), ("sv", -0.1, 0.1)];
            let data = strengths
                .into_iter()
                .fold(data, |data, (name, low, high)| data.with_array(name, &[k], &random.floats(k, low, high)));
            ["row", "column"].into_iter().fold(data, |data, name| {
                let places: Vec<i64> = (0..k).map(|_| random.below(n as u64) as i64).collect();
                data.with_array(name, &[k], &places)
            })
        },
        hand: fluid,
        work: |data| {
            let cells = data.array("density")?.len() as f64;
            // Five relaxed fields, each read with its source and written; six operations an element.
            let relaxed = (5 * STEPS * RELAXATIONS) as f64 * cells;
            Ok(Work { bytes: 12.0 * relaxed, operations: 6.0 * relaxed })
        },
        tolerance: Tolerance { relative: 1e-3, absolute: 1e-4, outliers: 0.0 },
    }]
}

/// Rows that one thread takes at a time.
const ROWS: usize = 16;

/// Elements that are on their way at once.
const LANES: usize = 32;

type Lanes = [f32; LANES];

/// A field with a border of zeros, and a row of them more, so that no loop asks where it is.
#[derive(Clone)]
struct Field {
    cells: Vec<f32>,
    h: usize,
    w: usize,
}

/// A row with the rows above and below, each with a cell more at both ends.
struct Around<'f> {
    above: &'f [f32],
    row: &'f [f32],
    below: &'f [f32],
}

impl Field {
    fn new(h: usize, w: usize) -> Self {
        Self { cells: vec![0.0; (h + 3) * (w + 2) + 1], h, w }
    }

    fn set(&mut self, from: &[f32]) {
        let w = self.w;
        self.cells.chunks_mut(w + 2).skip(1).zip(from.chunks(w)).for_each(|(to, from)| to[1..=w].copy_from_slice(from));
    }

    fn get(&self, to: &mut [f32]) {
        let w = self.w;
        to.par_chunks_mut(w).enumerate().for_each(|(row, to)| to.copy_from_slice(&self.around(row).row[1..=w]));
    }

    fn around(&self, row: usize) -> Around<'_> {
        let [above, row, below] = [row, row + 1, row + 2].map(|row| &self.cells[row * (self.w + 2)..][..self.w + 2]);
        Around { above, row, below }
    }

    /// Where the rows are, without those of the border.
    fn inside(&self) -> std::ops::Range<usize> {
        self.w + 2..(self.h + 1) * (self.w + 2)
    }

    /// Fills every row.
    fn fill(&mut self, with: impl Fn(usize, &mut [f32]) + Sync) {
        let w = self.w;
        let inside = self.inside();
        let inside = &mut self.cells[inside];
        inside.par_chunks_mut(w + 2).enumerate().with_min_len(ROWS).for_each(|(row, to)| with(row, &mut to[1..=w]));
    }

    fn add(&mut self, places: &[(usize, usize)], strengths: &[f32]) {
        for (&(row, column), strength) in places.iter().zip(strengths) {
            self.cells[(row + 1) * (self.w + 2) + column + 1] += strength;
        }
    }

    /// Between the four cells around points, which are from half a cell in front of the first to half a cell behind the last; outside there is 0.
    #[inline(always)]
    fn between(&self, y: &Lanes, x: &Lanes) -> Lanes {
        let stride = self.w + 2;
        let (mut fy, mut fx, mut at) = ([0f32; LANES], [0f32; LANES], [0u32; LANES]);
        for lane in 0..LANES {
            let (top, left) = (y[lane].floor(), x[lane].floor());
            (fy[lane], fx[lane]) = (y[lane] - top, x[lane] - left);
            // From -1 on: the border is there too, and beyond it another row, of zeros.
            at[lane] = ((top + 1.0) as i32 * stride as i32 + (left + 1.0) as i32) as u32;
        }
        let mut cells = [[0f32; LANES]; 4];
        for lane in 0..LANES {
            let at = at[lane] as usize;
            let (above, below) = (&self.cells[at..][..2], &self.cells[at + stride..][..2]);
            (cells[0][lane], cells[1][lane]) = (above[0], above[1]);
            (cells[2][lane], cells[3][lane]) = (below[0], below[1]);
        }
        let mut out = [0f32; LANES];
        for lane in 0..LANES {
            let above = (1.0 - fx[lane]) * cells[0][lane] + fx[lane] * cells[1][lane];
            let below = (1.0 - fx[lane]) * cells[2][lane] + fx[lane] * cells[3][lane];
            out[lane] = (1.0 - fy[lane]) * above + fy[lane] * below;
        }
        out
    }
}

/// Relaxes `field`, from itself, with these weights of what it was and of all together; `start` and `spare` end as anything.
fn relax(field: &mut Field, start: &mut Field, spare: &mut Field, amount: f32, whole: f32) {
    std::mem::swap(field, start);
    let (inside, w) = (field.inside(), field.w);
    let (own, outside) = (&start.cells[inside.clone()], vec![0f32; w + 2]);
    let step = |row: usize, [above, middle, below]: [&[f32]; 3], to: &mut [f32]| {
        let own = &own[row * (w + 2)..][1..=w];
        let (above, below, to) = (&above[1..=w], &below[1..=w], &mut to[1..=w]);
        let (left, right) = (&middle[..w], &middle[2..w + 2]);
        for j in 0..w {
            to[j] = (own[j] + amount * (left[j] + above[j] + right[j] + below[j])) * whole;
        }
    };
    let (field, spare) = (&mut field.cells[inside.clone()], &mut spare.cells[inside]);
    turns::Field { width: w + 2, outside: Some(&outside) }.turns(RELAXATIONS, own, field, spare, step);
}

/// What the steps need beside the fields.
struct Spare {
    a: Field,
    b: Field,
    pressure: Field,
}

/// Makes a velocity free of divergence.
fn project(u: &mut Field, v: &mut Field, spare: &mut Spare) {
    let Spare { a, b, pressure } = spare;
    pressure.fill(|row, to| {
        let (u, v) = (u.around(row).row, v.around(row));
        for j in 0..to.len() {
            to[j] = -(0.5 * (u[j + 2] - u[j]) + 0.5 * (v.below[j + 1] - v.above[j + 1]));
        }
    });
    relax(pressure, a, b, 1.0, 0.25);
    let pressure = &*pressure;
    u.fill(|row, to| {
        let p = pressure.around(row).row;
        to.iter_mut().enumerate().for_each(|(j, to)| *to -= 0.5 * (p[j + 2] - p[j]));
    });
    v.fill(|row, to| {
        let p = pressure.around(row);
        to.iter_mut().enumerate().for_each(|(j, to)| *to -= 0.5 * (p.below[j + 1] - p.above[j + 1]));
    });
}

/// Each element from where the velocity brings it from.
fn advect(field: &Field, u: &Field, v: &Field, out: &mut Field) {
    let (h, w) = (field.h as f32, field.w as f32);
    out.fill(|row, to| {
        let count = to.len();
        let (u, v) = (&u.around(row).row[1..=count], &v.around(row).row[1..=count]);
        for ((chunk, to), (u, v)) in to.chunks_mut(LANES).enumerate().zip(u.chunks(LANES).zip(v.chunks(LANES))) {
            let own = |row: &[f32]| -> Lanes {
                let mut lanes = [0.0; LANES];
                lanes[..row.len()].copy_from_slice(row);
                lanes
            };
            let (u, v) = (own(u), own(v));
            let (mut y, mut x) = ([0f32; LANES], [0f32; LANES]);
            for lane in 0..LANES {
                y[lane] = (row as f32 - DT * h * v[lane]).max(-0.5).min(h + 0.5);
                x[lane] = ((chunk * LANES + lane) as f32 - DT * w * u[lane]).max(-0.5).min(w + 0.5);
            }
            to.copy_from_slice(&field.between(&y, &x)[..to.len()]);
        }
    });
}

fn fluid<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let &[h, w] = data.array("density")?.extents() else { anyhow::bail!("`density` should have two extents") };
    ensure!(h > 0 && w > 0, "`density` is empty");
    let fields = [data.slice::<f32>("density")?, data.slice::<f32>("u")?, data.slice::<f32>("v")?];
    let [sd, su, sv] = [data.slice::<f32>("sd")?, data.slice::<f32>("su")?, data.slice::<f32>("sv")?];
    let (rows, columns) = (data.slice::<i64>("row")?, data.slice::<i64>("column")?);
    let places: Vec<(usize, usize)> = rows.iter().zip(columns).map(|(&i, &j)| (i as usize, j as usize)).collect();
    ensure!(places.iter().all(|&(i, j)| i < h && j < w), "a source is outside");
    let field = || Field::new(h, w);
    let [mut density, mut u, mut v, mut u2, mut v2] = [field(), field(), field(), field(), field()];
    let mut spare = Spare { a: field(), b: field(), pressure: field() };
    let cells = (h * w) as f32;
    hand::filling_all(&[h, w], move |[out_density, out_u, out_v]: [&mut [f32]; 3]| {
        for (field, from) in [&mut density, &mut u, &mut v].into_iter().zip(fields) {
            field.set(from);
        }
        let diffuse = |field: &mut Field, spare: &mut Spare, rate: f32| {
            let amount = DT * rate * cells;
            relax(field, &mut spare.a, &mut spare.b, amount, (1.0 + 4.0 * amount).recip());
        };
        for _ in 0..STEPS {
            u.add(&places, su);
            v.add(&places, sv);
            diffuse(&mut u, &mut spare, VISCOSITY);
            diffuse(&mut v, &mut spare, VISCOSITY);
            project(&mut u, &mut v, &mut spare);
            advect(&u, &u, &v, &mut u2);
            advect(&v, &u, &v, &mut v2);
            std::mem::swap(&mut u, &mut u2);
            std::mem::swap(&mut v, &mut v2);
            project(&mut u, &mut v, &mut spare);
            density.add(&places, sd);
            diffuse(&mut density, &mut spare, DIFFUSION);
            advect(&density, &u, &v, &mut spare.a);
            std::mem::swap(&mut density, &mut spare.a);
        }
        density.get(out_density);
        u.get(out_u);
        v.get(out_v);
    })
}
