//! Rays that meet spheres: `ray`.

use anyhow::Result;
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

/// How many spheres there are.
const SPHERES: usize = 16;
/// The most rays of a pixel.
const BOUNCES: usize = 4;

pub(super) fn programs() -> [Program; 1] {
    [Program {
        name: "ray",
        text: include_str!("../../../../golden/programs/ray.fbx"),
        inputs: &[
            Named("cx"),
            Named("cy"),
            Named("cz"),
            Named("radius"),
            Named("shade"),
            Named("mirror"),
            Named("lx"),
            Named("ly"),
            Named("lz"),
            Named("h"),
            Named("w"),
            Number(BOUNCES as f64),
        ],
        results: &[0],
        outside: false,
        needs_fusion: false,
        sizes: Sizes { small: 64, large: 1024 },
        tiny: 24,
        same_steps: None,
        generate: |n| {
            let mut random = Random::new(70);
            // A large one below, small ones above it.
            let mut some = |ground: f32, low: f32, high: f32| -> Vec<f32> {
                [ground].into_iter().chain(random.floats(SPHERES - 1, low, high)).collect()
            };
            let arrays = [
                ("cx", some(0.0, -2.5, 2.5)),
                ("cy", some(-100.5, -0.3, 1.2)),
                ("cz", some(1.0, 0.0, 4.0)),
                ("radius", some(100.0, 0.2, 0.6)),
                ("shade", some(0.6, 0.3, 1.0)),
                ("mirror", some(0.2, 0.0, 0.8)),
            ];
            let params = [("h", n as f64), ("w", n as f64), ("lx", 0.48), ("ly", 0.8), ("lz", -0.36)];
            let data = params.into_iter().fold(Data::new(), |data, (name, value)| data.with_param(name, value));
            arrays.iter().fold(data, |data, (name, values)| data.with_array(name, &[SPHERES], values))
        },
        hand: ray,
        work: |data| {
            let pixels = data.param("h")? * data.param("w")?;
            // One ray of each pixel and its shadow, at least where there is something: 20 operations a sphere.
            Ok(Work { bytes: 4.0 * pixels, operations: 20.0 * SPHERES as f64 * pixels })
        },
        // At edges the last bit decides what is met.
        tolerance: Tolerance { relative: 1e-3, absolute: 1e-3, outliers: 5e-3 },
    }]
}

/// Pixels that are on their way at once.
const PIXELS: usize = 16;

type Lanes = [f32; PIXELS];
/// Points or directions, by component.
type Points = [Lanes; 3];

/// A sphere as a ray needs it.
#[derive(Clone, Copy)]
struct Sphere {
    centre: [f32; 3],
    radius: f32,
    shade: f32,
    mirror: f32,
}

/// Pixels of a row side by side: all their rays are tried against one sphere after the other; what was met is looked at one by one.
fn ray<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let part = |name| data.slice::<f32>(name);
    let centres = [part("cx")?, part("cy")?, part("cz")?];
    let (radius, shade, mirror) = (part("radius")?, part("shade")?, part("mirror")?);
    let spheres: Vec<Sphere> = (0..radius.len())
        .map(|at| {
            let centre = centres.map(|part| part[at]);
            Sphere { centre, radius: radius[at], shade: shade[at], mirror: mirror[at] }
        })
        .collect();
    let light = [data.param("lx")? as f32, data.param("ly")? as f32, data.param("lz")? as f32];
    let (h, w) = (data.size("h")?, data.size("w")?);
    hand::filling(&[h, w], move |out: &mut [f32]| {
        out.par_chunks_mut(w.max(1)).enumerate().for_each(|(i, row)| {
            let y = (0.5 * h as f32 - i as f32 - 0.5) / h as f32;
            for (chunk, out) in row.chunks_mut(PIXELS).enumerate() {
                let x = std::array::from_fn(|lane| ((chunk * PIXELS + lane) as f32 + 0.5 - 0.5 * w as f32) / h as f32);
                out.copy_from_slice(&seen(x, y, &spheres, light)[..out.len()]);
            }
        });
    })
}

/// What is seen at points of the screen.
fn seen(x: Lanes, y: f32, spheres: &[Sphere], light: [f32; 3]) -> Lanes {
    let mut origin: Points = [[0.0; PIXELS], [1.0; PIXELS], [-4.0; PIXELS]];
    let length = x.map(|x| (x * x + y * y + 1.0).sqrt());
    let over = |part: Lanes| -> Lanes { std::array::from_fn(|lane| part[lane] / length[lane]) };
    let mut direction: Points = [over(x), over([y; PIXELS]), over([1.0; PIXELS])];
    let (mut lit, mut weight) = ([0f32; PIXELS], [1f32; PIXELS]);
    for _ in 0..BOUNCES {
        if weight.iter().all(|&weight| weight <= 0.0) {
            break;
        }
        let (met, near) = nearest(&origin, &direction, spheres);
        // Points just off the spheres that were met, and what light would fall there.
        let (mut normal, mut start): (Points, Points) = ([[0.0; PIXELS]; 3], origin);
        for lane in (0..PIXELS).filter(|&lane| met[lane] >= 0 && weight[lane] > 0.0) {
            let sphere = &spheres[met[lane] as usize];
            for axis in 0..3 {
                let point = origin[axis][lane] + near[lane] * direction[axis][lane];
                normal[axis][lane] = (point - sphere.centre[axis]) / sphere.radius;
                start[axis][lane] = point + 0.01 * normal[axis][lane];
            }
        }
        let dark = shadowed(&start, spheres, light);
        for lane in 0..PIXELS {
            if weight[lane] <= 0.0 {
                continue;
            }
            if met[lane] < 0 {
                lit[lane] += weight[lane] * (0.5 + 0.4 * direction[1][lane]);
                weight[lane] = 0.0;
                continue;
            }
            let sphere = &spheres[met[lane] as usize];
            let along = |a: &Points, b: [f32; 3]| a[0][lane] * b[0] + a[1][lane] * b[1] + a[2][lane] * b[2];
            let direct = if dark[lane] { 0.0 } else { 0.9 * along(&normal, light).max(0.0) };
            lit[lane] += weight[lane] * (1.0 - sphere.mirror) * (sphere.shade * (0.1 + direct));
            weight[lane] *= sphere.mirror;
            let back = 2.0 * along(&direction, [normal[0][lane], normal[1][lane], normal[2][lane]]);
            for axis in 0..3 {
                direction[axis][lane] -= back * normal[axis][lane];
                origin[axis][lane] = start[axis][lane];
            }
        }
    }
    lit
}

/// How a line passes a sphere: minus the way to the point that is nearest to the centre, and the square of half of what is inside.
#[inline(always)]
fn passing(origin: [f32; 3], direction: [f32; 3], sphere: &Sphere) -> (f32, f32) {
    let [x, y, z] = [0, 1, 2].map(|axis| origin[axis] - sphere.centre[axis]);
    let b = x * direction[0] + y * direction[1] + z * direction[2];
    (b, b * b - (x * x + y * y + z * z - sphere.radius * sphere.radius))
}

/// The nearest sphere in the way of each ray, -1 for none, and how far it is.
fn nearest(origin: &Points, direction: &Points, spheres: &[Sphere]) -> ([i32; PIXELS], Lanes) {
    let (mut met, mut near) = ([-1; PIXELS], [f32::INFINITY; PIXELS]);
    for (number, sphere) in (0..).zip(spheres) {
        for lane in 0..PIXELS {
            let (b, q) = passing(origin.map(|part| part[lane]), direction.map(|part| part[lane]), sphere);
            let way = if q > 0.0 { -b - q.max(0.0).sqrt() } else { -1.0 };
            let better = way > 0.01 && way < near[lane];
            met[lane] = if better { number } else { met[lane] };
            near[lane] = if better { way } else { near[lane] };
        }
    }
    (met, near)
}

/// Whether there is a sphere between points and the light.
fn shadowed(start: &Points, spheres: &[Sphere], light: [f32; 3]) -> [bool; PIXELS] {
    let mut dark = [0u32; PIXELS];
    for sphere in spheres {
        for lane in 0..PIXELS {
            let (b, q) = passing(start.map(|part| part[lane]), light, sphere);
            dark[lane] |= u32::from(q > 0.0) & u32::from(-b - q.max(0.0).sqrt() > 0.0);
        }
    }
    dark.map(|dark| dark != 0)
}
