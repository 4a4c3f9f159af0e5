//! Stable fluids (Stam).

use fusebox_ir::term::Terms;
use fusebox_lang::*;

use super::Embedded;

pub(super) const ALL: &[Embedded] = &[Embedded { name: "fluid", build: fluid }];

type Field = Acc<Matrix<f32>>;
type Tap<'a> = &'a Neighbours<Ix2, f32>;

fn zero() -> Boundary<Ix2, f32> {
    Boundary::constant(0.0)
}

/// The sum of the four neighbours.
fn around(x: Tap<'_>) -> Exp<f32> {
    x.at((0, -1)) + x.at((-1, 0)) + x.at((0, 1)) + x.at((1, 0))
}

/// Half the difference of the neighbours to the right and to the left.
fn slope_across(x: Tap<'_>) -> Exp<f32> {
    0.5 * (x.at((0, 1)) - x.at((0, -1)))
}

/// Half the difference of the neighbours below and above.
fn slope_down(x: Tap<'_>) -> Exp<f32> {
    0.5 * (x.at((1, 0)) - x.at((-1, 0)))
}

/// Adds the strengths of sources at their places.
fn inject(field: Field, places: Acc<Vector<(i64, i64)>>, strengths: Acc<Vector<f32>>) -> Field {
    permute_at(PermuteOrder::Source, |new, old| new + old, field, places, None, strengths).named("injected")
}

fn diffuse(field: Field, amount: Exp<f32>, relaxations: Exp<i64>) -> Field {
    let relax = |o: Tap<'_>, x: Tap<'_>| (o.at((0, 0)) + amount * around(x)) / (1.0 + 4.0 * amount);
    aiterate(relaxations, |x| stencil2(relax, zero(), field, zero(), x).named("relaxed"), field)
}

/// Makes a velocity free of divergence.
fn project(u: Field, v: Field, relaxations: Exp<i64>) -> (Field, Field) {
    let divergence =
        stencil2(|u: Tap<'_>, v: Tap<'_>| -(slope_across(u) + slope_down(v)), zero(), u, zero(), v).named("divergence");
    let relax = |o: Tap<'_>, p: Tap<'_>| 0.25 * (o.at((0, 0)) + around(p));
    let pressure =
        aiterate(relaxations, |p| stencil2(relax, zero(), divergence, zero(), p).named("relaxed"), divergence);
    let across = |x: Tap<'_>, p: Tap<'_>| x.at((0, 0)) - slope_across(p);
    let down = |x: Tap<'_>, p: Tap<'_>| x.at((0, 0)) - slope_down(p);
    let u = stencil2(across, zero(), u, zero(), pressure);
    let v = stencil2(down, zero(), v, zero(), pressure);
    (u.named("u"), v.named("v"))
}

/// Takes each element from where the velocity brings it from, between the four elements around; outside there is 0.
fn advect(field: Field, u: Field, v: Field, dt: Exp<f32>) -> Field {
    let (h, w) = field.shape();
    let back = |i: Exp<i64>, extent: Exp<i64>, speed: Exp<f32>| {
        let extent = extent.cast::<f32>();
        (i.cast::<f32>() - dt * extent * speed).max(-0.5).min(extent + 0.5)
    };
    let from = |i: Exp<i64>, j: Exp<i64>| {
        let inside = i.ge(0).and(i.lt(h)).and(j.ge(0)).and(j.lt(w));
        cond(inside, field.at((i, j)), 0f32)
    };
    let element = |(i, j): (Exp<i64>, Exp<i64>)| {
        let x = back(j, w, u.at((i, j))).named("x");
        let y = back(i, h, v.at((i, j))).named("y");
        let (left, top) = (x.floor(), y.floor());
        let (i, j) = (top.cast::<i64>().named("row"), left.cast::<i64>().named("column"));
        let (fx, fy) = ((x - left).named("fx"), (y - top).named("fy"));
        let above = (1.0 - fx) * from(i, j) + fx * from(i, j + 1);
        let below = (1.0 - fx) * from(i + 1, j) + fx * from(i + 1, j + 1);
        (1.0 - fy) * above + fy * below
    };
    generate((h, w), element).named("advected")
}

/// What the fluid is at one place.
#[derive(Clone, Copy, Debug, Elt)]
struct Cell {
    density: f32,
    u: f32,
    v: f32,
}

/// What is added in each step, and where.
#[derive(Clone, Copy, Debug, Elt)]
struct Source {
    row: i64,
    column: i64,
    density: f32,
    u: f32,
    v: f32,
}

/// The parameters of the solver.
#[derive(Clone, Copy, Debug, Elt)]
struct Constants {
    dt: f32,
    viscosity: f32,
    diffusion: f32,
    relaxations: i64,
}

fn fluid() -> Result<Terms, BuildError> {
    let f = |fluid: Acc<Matrix<Cell>>, sources: Acc<Vector<Source>>, constants: Exp<Constants>, steps: Exp<i64>| {
        let (dt, viscosity, diffusion, relaxations) = constants.fields();
        let places = sources.map(|source| (source.row(), source.column()));
        let cells = fluid.size().cast::<f32>().named("cells");
        let amount = |rate: Exp<f32>| (dt * rate * cells).named("amount");
        let step = |(density, u, v): (Field, Field, Field)| {
            let u = inject(u, places, sources.map(|source| source.u()));
            let v = inject(v, places, sources.map(|source| source.v()));
            let viscous = |x: Field| diffuse(x, amount(viscosity), relaxations);
            let (u, v) = project(viscous(u), viscous(v), relaxations);
            let (u, v) = project(advect(u, u, v, dt), advect(v, u, v, dt), relaxations);
            let density = inject(density, places, sources.map(|source| source.density()));
            let density = diffuse(density, amount(diffusion), relaxations);
            (advect(density, u, v, dt), u, v)
        };
        let fields = (fluid.map(|cell| cell.density()), fluid.map(|cell| cell.u()), fluid.map(|cell| cell.v()));
        aiterate(steps, step, fields)
    };
    let inputs = ["fluid", "source", "constants", "steps"];
    Ok(program("fluid", f).inputs(inputs).results(["density", "u", "v"]).build()?.terms)
}
