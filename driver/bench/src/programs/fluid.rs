//! Stable fluids: `fluid`.

use anyhow::{Result, ensure};
use rayon::prelude::*;

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

/// A field with a border of zeros, so that no loop asks where it is.
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
        Self { cells: vec![0.0; (h + 2) * (w + 2)], h, w }
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

    /// Fills every row.
    fn fill(&mut self, with: impl Fn(usize, &mut [f32]) + Sync) {
        let w = self.w;
        let inside = &mut self.cells[w + 2..][..self.h * (w + 2)];
        inside.par_chunks_mut(w + 2).enumerate().with_min_len(ROWS).for_each(|(row, to)| with(row, &mut to[1..=w]));
    }

    fn add(&mut self, places: &[(usize, usize)], strengths: &[f32]) {
        for (&(row, column), strength) in places.iter().zip(strengths) {
            self.cells[(row + 1) * (self.w + 2) + column + 1] += strength;
        }
    }

    /// Between the four cells around a point; outside there is 0.
    fn between(&self, y: f32, x: f32) -> f32 {
        let (top, left) = (y.floor(), x.floor());
        let (fy, fx) = (y - top, x - left);
        // From -1 to the extent: the border and what is inside, and one cell beyond, which counts for nothing.
        let (i, j) = ((top + 1.0) as usize, (left + 1.0) as usize);
        let cell =
            |i: usize, j: usize| if i < self.h + 2 && j < self.w + 2 { self.cells[i * (self.w + 2) + j] } else { 0.0 };
        let above = (1.0 - fx) * cell(i, j) + fx * cell(i, j + 1);
        let below = (1.0 - fx) * cell(i + 1, j) + fx * cell(i + 1, j + 1);
        (1.0 - fy) * above + fy * below
    }
}

/// Relaxes `field`, from itself, with these weights of what it was and of all together; `spare` ends as anything.
fn relax(field: &mut Field, start: &mut Field, spare: &mut Field, amount: f32, whole: f32) {
    start.cells.copy_from_slice(&field.cells);
    for _ in 0..RELAXATIONS {
        let (old, own) = (&*field, &*start);
        spare.fill(|row, to| {
            let (Around { above, row: middle, below }, own) = (old.around(row), &own.around(row).row[1..]);
            let w = to.len();
            let (above, below, own) = (&above[1..=w], &below[1..=w], &own[..w]);
            let (left, right) = (&middle[..w], &middle[2..w + 2]);
            for j in 0..w {
                to[j] = (own[j] + amount * (left[j] + above[j] + right[j] + below[j])) * whole;
            }
        });
        std::mem::swap(field, spare);
    }
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
        let (u, v) = (&u.around(row).row[1..], &v.around(row).row[1..]);
        for (j, to) in to.iter_mut().enumerate() {
            let y = (row as f32 - DT * h * v[j]).max(-0.5).min(h + 0.5);
            let x = (j as f32 - DT * w * u[j]).max(-0.5).min(w + 0.5);
            *to = field.between(y, x);
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
