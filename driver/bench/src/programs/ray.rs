//! Rays that meet spheres: `ray`.

use anyhow::Result;
use rayon::prelude::*;

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
const PIXELS: usize = 32;

type Lanes = [f32; PIXELS];
/// Points or directions, by component.
type Points = [Lanes; 3];

/// A sphere as a ray needs it.
#[derive(Clone, Copy)]
struct Sphere {
    centre: [f32; 3],
    radius: f32,
    square: f32,
    shade: f32,
    mirror: f32,
}

/// Pixels of a row side by side: all their rays are tried against one sphere after the other.
fn ray<'d>(data: &'d Data) -> Result<Box<dyn Hand + 'd>> {
    let part = |name| data.slice::<f32>(name);
    let centres = [part("cx")?, part("cy")?, part("cz")?];
    let (radius, shade, mirror) = (part("radius")?, part("shade")?, part("mirror")?);
    let spheres: Vec<Sphere> = (0..radius.len())
        .map(|at| {
            let (centre, radius) = (centres.map(|part| part[at]), radius[at]);
            Sphere { centre, radius, square: radius * radius, shade: shade[at], mirror: mirror[at] }
        })
        .collect();
    let light = [data.param("lx")? as f32, data.param("ly")? as f32, data.param("lz")? as f32];
    let (h, w) = (data.size("h")?, data.size("w")?);
    hand::filling(&[h, w], move |out: &mut [f32]| {
        out.par_chunks_mut(w.max(1)).enumerate().for_each(|(i, row)| {
            let y = (0.5 * h as f32 - i as f32 - 0.5) / h as f32;
            for (chunk, out) in row.chunks_mut(PIXELS).enumerate() {
                let x = std::array::from_fn(|lane| ((chunk * PIXELS + lane) as f32 + 0.5 - 0.5 * w as f32) / h as f32);
                out.copy_from_slice(&seen(&x, y, &spheres, light)[..out.len()]);
            }
        });
    })
}

/// What is seen at points of the screen.
fn seen(x: &Lanes, y: f32, spheres: &[Sphere], light: [f32; 3]) -> Lanes {
    let mut origin: Points = [[0.0; PIXELS], [1.0; PIXELS], [-4.0; PIXELS]];
    let mut direction: Points = [[0.0; PIXELS]; 3];
    for lane in 0..PIXELS {
        let length = (x[lane] * x[lane] + y * y + 1.0).sqrt();
        direction[0][lane] = x[lane] / length;
        direction[1][lane] = y / length;
        direction[2][lane] = 1.0 / length;
    }
    let (mut lit, mut weight) = ([0f32; PIXELS], [1f32; PIXELS]);
    for _ in 0..BOUNCES {
        let near = nearest(&origin, &direction, spheres);
        let Met { sphere, hits } = met(&near, spheres);
        // Points just off the spheres that were met, and what light would fall there.
        let (mut normal, mut start): (Points, Points) = ([[0.0; PIXELS]; 3], origin);
        for axis in 0..3 {
            for lane in 0..PIXELS {
                let point = origin[axis][lane] + near.way[lane] * direction[axis][lane];
                let hit = near.sphere[lane] >= 0;
                normal[axis][lane] = if hit { (point - sphere[axis][lane]) / sphere[3][lane] } else { 0.0 };
                start[axis][lane] = point + 0.01 * normal[axis][lane];
            }
        }
        let dark = if hits { shadowed(&start, &near.sphere, spheres, light) } else { [0; PIXELS] };
        let mut any = 0u32;
        for lane in 0..PIXELS {
            let along = |b: [f32; 3]| normal[0][lane] * b[0] + normal[1][lane] * b[1] + normal[2][lane] * b[2];
            let (hit, shade, mirror) = (near.sphere[lane] >= 0, sphere[4][lane], sphere[5][lane]);
            let direct = if dark[lane] != 0 { 0.0 } else { 0.9 * along(light).max(0.0) };
            let surface = (1.0 - mirror) * (shade * (0.1 + direct));
            let sky = 0.5 + 0.4 * direction[1][lane];
            lit[lane] += weight[lane] * if hit { surface } else { sky };
            weight[lane] *= if hit { mirror } else { 0.0 };
            any |= u32::from(weight[lane] > 0.0);
            let back = 2.0 * along([direction[0][lane], direction[1][lane], direction[2][lane]]);
            for axis in 0..3 {
                direction[axis][lane] -= back * normal[axis][lane];
                origin[axis][lane] = start[axis][lane];
            }
        }
        if any == 0 {
            break;
        }
    }
    lit
}

/// The nearest spheres in the way of rays, -1 for none, and how far they are.
struct Near {
    sphere: [i32; PIXELS],
    way: Lanes,
}

fn nearest(origin: &Points, direction: &Points, spheres: &[Sphere]) -> Near {
    let (mut met, mut near) = ([-1; PIXELS], [f32::INFINITY; PIXELS]);
    for (number, sphere) in (0..).zip(spheres) {
        let (mut b, mut q) = ([0f32; PIXELS], [0f32; PIXELS]);
        let mut any = 0u32;
        for lane in 0..PIXELS {
            let [x, y, z]: [f32; 3] = std::array::from_fn(|axis| origin[axis][lane] - sphere.centre[axis]);
            b[lane] = mul_add(x, direction[0][lane], mul_add(y, direction[1][lane], z * direction[2][lane]));
            // The square of half of what is inside, by the way to the point that is nearest to the centre.
            q[lane] = mul_add(b[lane], b[lane], sphere.square - mul_add(x, x, mul_add(y, y, z * z)));
            any |= u32::from(q[lane] > 0.0) & u32::from(b[lane] < 0.0);
        }
        if any == 0 {
            continue; // nobody meets it in front
        }
        for lane in 0..PIXELS {
            let way = if q[lane] > 0.0 { -b[lane] - q[lane].max(0.0).sqrt() } else { -1.0 };
            let better = (way > 0.01) & (way < near[lane]);
            met[lane] = if better { number } else { met[lane] };
            near[lane] = if better { way } else { near[lane] };
        }
    }
    Near { sphere: met, way: near.map(|near| if near < f32::INFINITY { near } else { 0.0 }) }
}

/// What rays need to know of the spheres that they met: centre, radius, shade, mirror; and whether there is any.
struct Met {
    sphere: [Lanes; 6],
    hits: bool,
}

fn met(near: &Near, spheres: &[Sphere]) -> Met {
    let mut sphere = [[0f32; PIXELS]; 6];
    sphere[3] = [1.0; PIXELS];
    let mut hits = false;
    for (number, own) in (0..).zip(spheres) {
        if near.sphere.iter().fold(0, |any, &sphere| any | u32::from(sphere == number)) == 0 {
            continue;
        }
        hits = true;
        let [x, y, z] = own.centre;
        for (part, value) in sphere.iter_mut().zip([x, y, z, own.radius, own.shade, own.mirror]) {
            for (part, &sphere) in part.iter_mut().zip(&near.sphere) {
                *part = if sphere == number { value } else { *part };
            }
        }
    }
    Met { sphere, hits }
}

/// Whether there is a sphere between points and the light; not 0 where there is.
fn shadowed(start: &Points, met: &[i32; PIXELS], spheres: &[Sphere], light: [f32; 3]) -> [u32; PIXELS] {
    // Those that met nothing are not asked for.
    let mut dark = met.map(|met| u32::from(met < 0));
    for sphere in spheres {
        let mut all = 1;
        for lane in 0..PIXELS {
            let [x, y, z]: [f32; 3] = std::array::from_fn(|axis| start[axis][lane] - sphere.centre[axis]);
            let b = mul_add(x, light[0], mul_add(y, light[1], z * light[2]));
            let outside = mul_add(x, x, mul_add(y, y, z * z)) - sphere.square;
            // In front, and not around the point.
            let between = u32::from(mul_add(b, b, -outside) > 0.0) & u32::from(b < 0.0) & u32::from(outside > 0.0);
            dark[lane] |= between;
            all &= dark[lane];
        }
        if all != 0 {
            break;
        }
    }
    dark
}
