//! A small ray tracer: spheres, one distant light with shadows, reflections.

use fusebox_ir::term::Terms;
use fusebox_lang::*;

use super::Embedded;

pub(super) const ALL: &[Embedded] = &[Embedded { name: "ray", build: ray }];

/// A point or a direction.
#[derive(Clone, Copy, Debug, Elt)]
struct V3 {
    x: f32,
    y: f32,
    z: f32,
}

/// What a ray may hit.
#[derive(Clone, Copy, Debug, Elt)]
struct Sphere {
    centre: V3,
    radius: f32,
    shade: f32,
    mirror: f32,
}

/// A ray on its way through the scene.
#[derive(Clone, Copy, Debug, Elt)]
struct Ray {
    origin: V3,
    direction: V3,
    light: f32,
    weight: f32,
    turn: i64,
}

/// The nearest sphere so far, or -1, and how far it is.
#[derive(Clone, Copy, Debug, Elt)]
struct Hit {
    tried: i64,
    sphere: i64,
    near: f32,
}

fn add(a: Exp<V3>, b: Exp<V3>) -> Exp<V3> {
    V3::exp(a.x() + b.x(), a.y() + b.y(), a.z() + b.z())
}

fn scaled(s: impl IntoExp<f32>, a: Exp<V3>) -> Exp<V3> {
    let s = s.into_exp();
    V3::exp(s * a.x(), s * a.y(), s * a.z())
}

fn minus(a: Exp<V3>, b: Exp<V3>) -> Exp<V3> {
    V3::exp(a.x() - b.x(), a.y() - b.y(), a.z() - b.z())
}

fn dot(a: Exp<V3>, b: Exp<V3>) -> Exp<f32> {
    a.x() * b.x() + a.y() * b.y() + a.z() * b.z()
}

/// For a ray and a sphere: half the linear coefficient of the quadratic equation of where they meet, and a quarter of its discriminant.
fn meeting(origin: Exp<V3>, direction: Exp<V3>, sphere: Exp<Sphere>) -> (Exp<f32>, Exp<f32>) {
    let from = minus(origin, sphere.centre());
    let b = dot(from, direction).named("b");
    let q = b * b - (dot(from, from) - sphere.radius() * sphere.radius());
    (b, q.named("q"))
}

type Spheres = Acc<Vector<Sphere>>;

fn nearest(spheres: Spheres, origin: Exp<V3>, direction: Exp<V3>) -> Exp<Hit> {
    let count = spheres.length();
    let attempt = |hit: Exp<Hit>| {
        let (tried, sphere, near) = hit.fields();
        let (b, q) = meeting(origin, direction, spheres.at(tried));
        let way = cond(q.gt(0.0), -b - q.sqrt(), -1f32).named("way");
        let better = way.gt(0.01).and(way.lt(near)).named("better");
        Hit::exp(tried + 1, cond(better, tried, sphere), cond(better, way, near))
    };
    while_loop(Hit::exp(0i64, -1i64, f32::INFINITY), |hit| hit.tried().lt(count), attempt)
}

/// Whether something stands between a point and the light.
fn in_shadow(spheres: Spheres, point: Exp<V3>, light: Exp<V3>) -> Exp<bool> {
    let count = spheres.length();
    let attempt = |state: Exp<(i64, bool)>| {
        let (b, q) = meeting(point, light, spheres.at(state.fst()));
        (state.fst() + 1, q.gt(0.0).and((-b - q.max(0.0).sqrt()).gt(0.0)))
    };
    let start = lift::<(i64, bool)>((0i64, false));
    while_loop(start, |state: Exp<(i64, bool)>| state.fst().lt(count).and(!state.snd()), attempt).snd()
}

/// One ray to what it hits: what it brings, and what is reflected of it.
fn bounce(spheres: Spheres, light: Exp<V3>, ray: Exp<Ray>) -> Exp<Ray> {
    let (origin, direction, brought, weight, turn) = ray.fields();
    let hit = nearest(spheres, origin, direction);
    let sky = Ray::exp(origin, direction, brought + weight * (0.5 + 0.4 * direction.y()), 0f32, turn + 1);
    let sphere = spheres.at(hit.sphere());
    let point = add(origin, scaled(hit.near(), direction));
    let (to, radius) = (minus(point, sphere.centre()), sphere.radius());
    let normal = V3::exp(to.x() / radius, to.y() / radius, to.z() / radius);
    let outside = add(point, scaled(0.01, normal));
    let facing = dot(normal, light).max(0.0);
    let lit = cond(in_shadow(spheres, outside, light), 0f32, 0.9 * facing);
    let bright = (sphere.shade() * (0.1 + lit)).named("bright");
    let along = (2.0 * dot(direction, normal)).named("along");
    let reflected = minus(direction, scaled(along, normal));
    let mirror = sphere.mirror();
    let onwards = Ray::exp(outside, reflected, brought + weight * (1.0 - mirror) * bright, weight * mirror, turn + 1);
    cond(hit.sphere().lt(0), sky, onwards)
}

fn ray() -> Result<Terms, BuildError> {
    let f = |spheres: Spheres, light: Exp<V3>, h: Exp<i64>, w: Exp<i64>, bounces: Exp<i64>| {
        let (high, wide) = (h.cast::<f32>(), w.cast::<f32>());
        generate((h, w), |(py, px)| {
            let x = ((px.cast::<f32>() + 0.5 - 0.5 * wide) / high).named("x");
            let y = ((0.5 * high - py.cast::<f32>() - 0.5) / high).named("y");
            let length = (x * x + y * y + 1.0).sqrt().named("length");
            let eye = V3::exp(0f32, 1f32, -4f32);
            let start = Ray::exp(eye, V3::exp(x / length, y / length, 1.0 / length), 0f32, 1f32, 0i64);
            let done = while_loop(
                start,
                |ray| ray.turn().lt(bounces).and(ray.weight().gt(0.0)),
                |ray| bounce(spheres, light, ray),
            );
            done.light()
        })
    };
    Ok(program("ray", f).inputs(["sphere", "light", "h", "w", "bounces"]).results(["image"]).build()?.terms)
}
