//! Matrices, graphs, particles.

use fusebox_ir::term::Terms;
use fusebox_lang::*;

use super::Embedded;

pub(super) const ALL: &[Embedded] = &[
    Embedded { name: "matmul", build: matrix_product },
    Embedded { name: "smvm", build: smvm },
    Embedded { name: "transpose", build: transposed },
    Embedded { name: "pagerank", build: pagerank },
    Embedded { name: "kmeans", build: kmeans },
    Embedded { name: "nbody", build: nbody },
];

fn matrix_product() -> Result<Terms, BuildError> {
    let f = |a: Acc<Matrix<f32>>, b: Acc<Matrix<f32>>| {
        let ((n, _), (_, m)) = (a.shape(), b.shape());
        let left = a.replicate((All, m, All)).named("left");
        let right = transpose(b).named("columns").replicate((n, All, All)).named("right");
        zip_with(|x, y| x * y, left, right).named("products").fold(|x, y| x + y, 0.0)
    };
    Ok(program("matmul", f).inputs(["a", "b"]).results(["c"]).build()?.terms)
}

fn transposed() -> Result<Terms, BuildError> {
    Ok(program("transpose", |a: Acc<Matrix<f32>>| transpose(a)).inputs(["a"]).results(["b"]).build()?.terms)
}

/// Compressed rows: where each row begins, the column of each value, the values.
fn smvm() -> Result<Terms, BuildError> {
    let f = |offsets: Acc<Vector<i32>>, columns: Acc<Vector<i32>>, values: Acc<Vector<f32>>, x: Acc<Vector<f32>>| {
        let products = zip_with(|c: Exp<i32>, v| v * x.at(c.cast::<i64>()), columns, values).named("products");
        fold_seg(|a, b| a + b, 0.0, products, offsets)
    };
    Ok(program("smvm", f).inputs(["offsets", "columns", "values", "x"]).results(["y"]).build()?.terms)
}

// ANCHOR: pagerank
fn pagerank() -> Result<Terms, BuildError> {
    type Links = Acc<Vector<i32>>;
    let f = |offsets: Links, sources: Links, degrees: Links, damping: Exp<f32>, iterations: Exp<i64>| {
        let pages = degrees.length();
        let count = pages.cast::<f32>().named("count");
        let base = ((1.0 - damping) / count).named("base");
        let step = |ranks: Acc<Vector<f32>>| {
            let shares = zip_with(|r, d: Exp<i32>| r / d.cast::<f32>(), ranks, degrees).named("shares");
            let sent = gather(sources.map(|s| s.cast::<i64>()), shares).named("sent");
            let sums = fold_seg(|a, b| a + b, 0.0, sent, offsets).named("sums");
            // As many segments as pages: what is beyond the pages is cut off.
            generate(pages, |i| base + damping * sums.at(i)).named("next")
        };
        aiterate(iterations, step, fill(pages, 1.0 / count).named("start"))
    };
    let inputs = ["offsets", "sources", "degrees", "damping", "iterations"];
    Ok(program("pagerank", f).inputs(inputs).results(["ranks"]).build()?.terms)
}
// ANCHOR_END: pagerank

// ANCHOR: kmeans
fn kmeans() -> Result<Terms, BuildError> {
    let f = |points: Acc<Matrix<f32>>, centroids: Acc<Matrix<f32>>, iterations: Exp<i64>| {
        let ((d, n), (k, _)) = (points.shape(), centroids.shape());
        let rows = transpose(points).named("rows");
        let step = |(old, _): (Acc<Matrix<f32>>, Acc<Vector<i64>>)| {
            let differences = zip_with(|p, c| p - c, rows.replicate((All, k, All)), old.replicate((n, All, All)));
            let distances = sum(differences.map(|x| x * x)).named("distances");
            let own = argmin(distances).named("own");
            let counts = permute(|new, now| new + now, fill(k, 0i64), |i| own.at(i), fill(n, 1i64)).named("counts");
            let sums = permute(|new, now| new + now, fill((k, d), 0f32), |(i, j)| (own.at(i), j), rows).named("sums");
            let next = generate((k, d), |(c, j)| {
                let size = counts.at(c);
                cond(size.gt(0), sums.at((c, j)) / size.cast::<f32>(), old.at((c, j)))
            });
            (next.named("centres"), counts)
        };
        aiterate(iterations, step, (centroids, fill(k, 0i64)))
    };
    Ok(program("kmeans", f).inputs(["points", "centroids", "iterations"]).results(["centres", "counts"]).build()?.terms)
}
// ANCHOR_END: kmeans

type Vec3 = (f32, f32, f32);

// ANCHOR: nbody
fn nbody() -> Result<Terms, BuildError> {
    type Coordinates = Acc<Vector<f32>>;
    let f = |mass: Coordinates, px: Coordinates, py: Coordinates, pz: Coordinates, eps2: Exp<f32>| {
        let bodies = zip4(px, py, pz, mass);
        let n = bodies.length();
        let pull = |a: Exp<(f32, f32, f32, f32)>, b: Exp<(f32, f32, f32, f32)>| {
            let ((x, y, z, _), (u, v, w, mass)) = (a.parts(), b.parts());
            let (dx, dy, dz) = ((u - x).named("dx"), (v - y).named("dy"), (w - z).named("dz"));
            let q = (dx * dx + dy * dy + dz * dz + eps2).named("q");
            let s = (mass / (q * q.sqrt())).named("s");
            (s * dx, s * dy, s * dz)
        };
        let pulls = zip_with(pull, bodies.replicate((All, n)), bodies.replicate((n, All)));
        let add = |a: Exp<Vec3>, b: Exp<Vec3>| {
            let ((x, y, z), (u, v, w)) = (a.parts(), b.parts());
            (x + u, y + v, z + w)
        };
        unzip3(pulls.named("pull").fold(add, (0.0, 0.0, 0.0)))
    };
    Ok(program("nbody", f).inputs(["mass", "px", "py", "pz", "eps2"]).results(["ax", "ay", "az"]).build()?.terms)
}
// ANCHOR_END: nbody
