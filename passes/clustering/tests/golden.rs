//! Twenty-two small programs, after those of van Balen's thesis: exactly these clusters, arrays written and values of the objective, by both solvers.

use fusebox_clustering::{Config, Objective, Region, SolverChoice, Status, cluster, graphs, models};
use fusebox_ir::{Property, text, validate};

fn clustered(source: &str, config: &Config) -> Region {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let (clustered, report) = cluster(&program, config).unwrap_or_else(|error| panic!("{error}\n{program}"));
    validate(&clustered, &[Property::Flat, Property::Clustered])
        .unwrap_or_else(|errors| panic!("{errors}\n{clustered}"));
    report.regions.into_iter().next().expect("a region")
}

fn show(region: &Region) -> String {
    region.clusters.iter().map(|cluster| format!("{{{}}}", cluster.operations.join(","))).collect()
}

/// Clusters in order, arrays written in order, objective.
fn golden(source: &str, clusters: &str, written: &str, objective: u64) {
    // Without a solver where greedy clusters are proved to be the best, and with each solver in any case.
    let configs = [
        Config::default(),
        Config { always_solve: true, ..Config::default() },
        Config { always_solve: true, solver: SolverChoice::Microlp, ..Config::default() },
    ];
    for config in configs {
        let region = clustered(source, &config);
        let found = (show(&region), region.written.join(","), region.objective, region.status);
        let expected = (clusters.to_owned(), written.to_owned(), objective, Status::Optimal);
        assert_eq!(found, expected, "{source}\n{config:?}\n{region:#?}");
        assert_eq!((region.bound, region.gap), (objective, 0.0), "{source}");
        if config.always_solve && region.apart.is_empty() && clusters.contains(',') {
            assert!(region.variables > 0 && !region.solver.is_empty(), "{source}");
        }
    }
}

#[test]
fn normalise2() {
    golden(
        "fn p(xs: [n]f32) -> [n]f32, [n]f32 {
          let sum1: f32 = fold(|a, b| a + b, 0.0, xs)
          let m = n + 1
          let scn: [m]f32 = scanl(|a, b| a + b, 0.0, xs)
          let sum2: f32 = fold(|a, b| a + b, 0.0, scn)
          let ys1: [n]f32 = map(|x| x / sum1, xs)
          let ys2: [n]f32 = map(|x| x / sum2, xs)
          return ys1, ys2 }",
        "{sum1,scn,sum2}{ys1,ys2}",
        "sum1,sum2,ys1,ys2",
        121,
    );
}

#[test]
fn expanded_normalise2() {
    golden(
        "fn p(us: [n]f32) -> [n]f32, [n]f32 {
          let xs: [n]f32 = map(|u| u * 2.0, us)
          let sum1: f32 = fold(|a, b| a + b, 0.0, xs)
          let m = n + 1
          let scn: [m]f32 = scanl(|a, b| a + b, 0.0, xs)
          let sum2: f32 = fold(|a, b| a + b, 0.0, scn)
          let ys1: [n]f32 = map(|x| x / sum1, xs)
          let ys2: [n]f32 = map(|x| x / sum2, xs)
          return ys1, ys2 }",
        "{xs,sum1,scn,sum2}{ys1,ys2}",
        "xs,sum1,sum2,ys1,ys2",
        247,
    );
}

#[test]
fn normalise2_and_a_zip_of_both() {
    golden(
        "fn p(xs: [n]f32) -> [n]f32 {
          let sum1: f32 = fold(|a, b| a + b, 0.0, xs)
          let m = n + 1
          let scn: [m]f32 = scanl(|a, b| a + b, 0.0, xs)
          let sum2: f32 = fold(|a, b| a + b, 0.0, scn)
          let ys1: [n]f32 = map(|x| x / sum1, xs)
          let ys2: [n]f32 = map(|x| x / sum2, xs)
          let z: [n]f32 = map(|a, b| a * b, ys1, ys2)
          return z }",
        "{sum1,scn,sum2}{ys1,ys2,z}",
        "sum1,sum2,z",
        163,
    );
}

#[test]
fn a_map_of_a_map_whose_array_is_a_result_too_is_diagonal() {
    golden(
        "fn p(x: [n]f32) -> [n]f32, [n]f32 {
          let ys: [n]f32 = map(|x| x + 1.0, x)
          let zs: [n]f32 = map(|x| x * 2.0, ys)
          return ys, zs }",
        "{ys,zs}",
        "ys,zs",
        4,
    );
}

#[test]
fn scans_of_one_direction_fuse() {
    golden(
        "fn p(x: [n]f32) -> [?]f32 {
          let m = n + 1
          let a: [m]f32 = scanl(|a, b| a + b, 0.0, x)
          let k = m + 1
          let b: [k]f32 = scanl(|a, b| a + b, 0.0, a)
          return b }",
        "{a,b}",
        "b",
        2,
    );
}

#[test]
fn scans_of_two_directions_do_not() {
    golden(
        "fn p(x: [n]f32) -> [?]f32 {
          let m = n + 1
          let a: [m]f32 = scanl(|a, b| a + b, 0.0, x)
          let k = m + 1
          let b: [k]f32 = scanr(|a, b| a + b, 0.0, a)
          return b }",
        "{a}{b}",
        "a,b",
        9,
    );
}

#[test]
fn a_permute_takes_what_a_backpermute_gives() {
    golden(
        "fn p(x: [n]f32, t: [n]i64) -> [7]f32 {
          let d: [7]f32 = generate([7], |i| 0.0)
          let b: [n]f32 = backpermute([n], |i| n - 1 - i, x)
          let p: [7]f32 = permute(|new, old| new + old, d, b, at: t)
          return p }",
        "{d}{b,p}",
        "d,p",
        7,
    );
}

#[test]
fn nothing_takes_what_a_permute_gives() {
    golden(
        "fn p(x: [n]f32, t: [n]i64) -> [7]f32 {
          let d: [7]f32 = generate([7], |i| 0.0)
          let p: [7]f32 = permute(|new, old| new + old, d, x, at: t)
          let b: [7]f32 = backpermute([7], |i| 6 - i, p)
          return b }",
        "{d}{p}{b}",
        "d,p,b",
        11,
    );
}

#[test]
fn a_backpermute_of_a_map_runs_it_in_its_order() {
    let source = "fn p(x: [n]f32) -> [n]f32 {
          let a: [n]f32 = map(|x| x + 1.0, x)
          let b: [n]f32 = backpermute([n], |i| n - 1 - i, a)
          return b }";
    golden(source, "{a,b}", "b", 2);
    let (program, _) = cluster(&text::parse(source).unwrap(), &Config::default()).unwrap();
    assert!(program.to_string().contains("order: "), "{program}");
}

#[test]
fn what_is_stored_is_made_in_the_order_of_memory() {
    golden(
        "fn p(x: [n]f32) -> [n]f32, [n]f32 {
          let a: [n]f32 = map(|x| x + 1.0, x)
          let b: [n]f32 = backpermute([n], |i| n - 1 - i, a)
          return a, b }",
        "{a}{b}",
        "a,b",
        9,
    );
}

#[test]
fn nothing_runs_in_two_orders() {
    golden(
        "fn p(x: [n]f32) -> [n]f32, [n]f32 {
          let a: [n]f32 = map(|x| x + 1.0, x)
          let b: [n]f32 = backpermute([n], |i| n - 1 - i, a)
          let c: [n]f32 = backpermute([n], |i| (i + 1) % n, a)
          return b, c }",
        "{a}{b}{c}",
        "a,b,c",
        37,
    );
}

#[test]
fn a_scan_is_not_backpermuted() {
    golden(
        "fn p(x: [n]f32) -> [n]f32 {
          let a: [n]f32 = scanl1(|a, b| a + b, x)
          let b: [n]f32 = backpermute([n], |i| n - 1 - i, a)
          return b }",
        "{a}{b}",
        "a,b",
        9,
    );
}

#[test]
fn map_backpermute_map() {
    golden(
        "fn p(x: [n]f32) -> [n]f32 {
          let a: [n]f32 = map(|x| x + 1.0, x)
          let b: [n]f32 = backpermute([n], |i| n - 1 - i, a)
          let c: [n]f32 = map(|x| x * 2.0, b)
          return c }",
        "{a,b,c}",
        "c",
        3,
    );
}

#[test]
fn both_sources_of_a_zip_fuse() {
    golden(
        "fn p(x: [n]f32, y: [n]f32) -> [n]f32 {
          let a: [n]f32 = map(|x| x + 1.0, x)
          let b: [n]f32 = map(|x| x * 2.0, y)
          let z: [n]f32 = map(|a, b| a * b, a, b)
          return z }",
        "{a,b,z}",
        "z",
        3,
    );
}

#[test]
fn a_zip_takes_one_of_two_scans() {
    let source = "fn p(x: [n]f32) -> [?]f32 {
          let m = n + 1
          let a: [m]f32 = scanl(|a, b| a + b, 0.0, x)
          let b: [m]f32 = scanr(|a, b| a + b, 0.0, x)
          let z: [m]f32 = map(|a, b| a * b, a, b)
          return z }";
    for solver in [SolverChoice::default(), SolverChoice::Microlp] {
        let region = clustered(source, &Config { solver, ..Config::default() });
        assert_eq!((region.objective, region.status, region.written.len()), (25, Status::Optimal, 2));
        assert!(["{a}{b,z}", "{b}{a,z}"].contains(&show(&region).as_str()), "{region:#?}");
    }
}

#[test]
fn a_scalar_is_waited_for() {
    golden(
        "fn p(xs: [n]f32) -> [n]f32 {
          let ys: [n]f32 = map(|x| x + 1.0, xs)
          let s: f32 = fold(|a, b| a + b, 0.0, ys)
          let zs: [n]f32 = map(|x| x + s, ys)
          return zs }",
        "{ys,s}{zs}",
        "ys,s,zs",
        28,
    );
}

#[test]
fn normalize_inc() {
    golden(
        "fn p(us: [n]f32) -> [n]f32 {
          let incs: [n]f32 = map(|u| u + 1.0, us)
          let s: f32 = fold(|a, b| a + b, 0.0, us)
          let ys: [n]f32 = map(|x| x / s, incs)
          return ys }",
        "{s}{incs,ys}",
        "s,ys",
        16,
    );
}

#[test]
fn a_row_is_not_folded_again_for_each_of_its_elements() {
    golden(
        "fn p(x: [r, c]f32) -> [r, c]f32 {
          let f: [r]f32 = fold(|a, b| a + b, 0.0, x)
          let w: [r, c]f32 = replicate([_, c], f)
          let y: [r, c]f32 = map(|a, b| a / b, x, w)
          return y }",
        "{f}{w,y}",
        "f,y",
        25,
    );
}

#[test]
fn map_fold_of_rows_map() {
    golden(
        "fn p(x: [r, c]f32) -> [r]f32 {
          let a: [r, c]f32 = map(|x| x + 1.0, x)
          let f: [r]f32 = fold(|a, b| a + b, 0.0, a)
          let y: [r]f32 = map(|x| x * 2.0, f)
          return y }",
        "{a,f,y}",
        "y",
        3,
    );
}

#[test]
fn a_fold_and_a_map_of_one_matrix() {
    golden(
        "fn p(x: [r, c]f32) -> [r]f32, [r, c]f32 {
          let f: [r]f32 = fold(|a, b| a + b, 0.0, x)
          let y: [r, c]f32 = map(|x| x * 2.0, x)
          return f, y }",
        "{f,y}",
        "f,y",
        4,
    );
}

#[test]
fn a_stencil_waits_for_what_it_taps() {
    golden(
        "fn p(x: [n]f32) -> [n]f32 {
          let a: [n]f32 = map(|x| x + 1.0, x)
          let s: [n]f32 = stencil(|l, r| l + r, a[-1], a[1], a: clamp)
          let b: [n]f32 = map(|x| x * 2.0, s)
          return b }",
        "{a}{s,b}",
        "a,b",
        7,
    );
}

#[test]
fn a_diamond_with_a_scan() {
    golden(
        "fn p(x: [n]f32) -> [n]f32 {
          let a: [n]f32 = map(|x| x + 1.0, x)
          let b: [n]f32 = map(|x| x * 2.0, a)
          let m = n + 1
          let c: [m]f32 = scanl(|a, b| a + b, 0.0, a)
          let z: [n]f32 = map(|b, c| b * c, b, c)
          return z }",
        "{a,b,c,z}",
        "z",
        4,
    );
}

#[test]
fn the_model_of_normalise2() {
    let source = "fn p(xs: [n]f32) -> [n]f32, [n]f32 {
          let sum1: f32 = fold(|a, b| a + b, 0.0, xs)
          let scn: [n]f32 = scanl1(|a, b| a + b, xs)
          let sum2: f32 = fold(|a, b| a + b, 0.0, scn)
          let ys1: [n]f32 = map(|x| x / sum1, xs)
          let ys2: [n]f32 = map(|x| x / sum2, xs)
          return ys1, ys2 }";
    let graph = graphs(&text::parse(source).unwrap()).unwrap().remove(0);
    let models = models(&graph, Objective::Traffic).unwrap();
    insta::assert_snapshot!(models[0].lp(), @r"
    minimize
     obj: + 25 f_1_2 + 25 g_0_1 + 25 g_1_3 + 25 g_0_4 + 25 g_3_4 + 5 m_1_0 + P + 70
    subject to
     M1_1_2_0: + m_1_0 - f_1_2 >= 0
     C_0: + P - pi_0 >= 0
     C_1: + P - pi_1 >= 0
     C_2: + P - pi_2 >= 0
     C_3: + P - pi_3 >= 0
     C_4: + P - pi_4 >= 0
     A2_0_3: + pi_3 - pi_0 >= 1
     A1_1_2: + pi_2 - pi_1 - f_1_2 >= 0
     A1u_1_2: + pi_2 - pi_1 - 3 f_1_2 <= 0
     A2_2_4: + pi_4 - pi_2 >= 1
     A3_0_1: + pi_1 - pi_0 - 3 g_0_1 <= 0
     A3_1_0: + pi_0 - pi_1 - 3 g_0_1 <= 0
     A3_1_3: + pi_3 - pi_1 - 4 g_1_3 <= 0
     A3_3_1: + pi_1 - pi_3 - 2 g_1_3 <= 0
     A3_0_4: + pi_4 - pi_0 - 4 g_0_4 <= 0
     A3_4_0: + pi_0 - pi_4 - 2 g_0_4 <= 0
     A3_3_4: + pi_4 - pi_3 - 3 g_3_4 <= 0
     A3_4_3: + pi_3 - pi_4 - 3 g_3_4 <= 0
     X_1_3: + g_0_1 + g_0_4 >= 1
     X_1_2: + g_0_1 + g_1_3 >= 1
     X_2_4: + g_1_3 + g_3_4 >= 1
     X_3_4: + g_0_4 + g_3_4 >= 1
    bounds
     0 <= f_1_2 <= 1
     0 <= g_0_1 <= 1
     0 <= g_1_3 <= 1
     0 <= g_0_4 <= 1
     0 <= g_3_4 <= 1
     0 <= m_1_0 <= 1
     0 <= pi_0 <= 3
     0 <= pi_1 <= 3
     0 <= pi_2 <= 3
     1 <= pi_3 <= 4
     1 <= pi_4 <= 4
     1 <= P <= 4
    general
     f_1_2
     g_0_1
     g_1_3
     g_0_4
     g_3_4
    end
    ");
}

/// Two that read an array in the order of their own elements share its loads, though neither traverses it.
#[test]
fn generates_that_read_at_their_own_index() {
    golden(
        "fn p(a: [n]f32, e: [n]i64) -> [n]f32, [n]f32 {
          let c: [n]f32 = generate([n], |j| a[j] + 1.0)
          let d: [n]f32 = generate([n], |j| if a[j] > 0.0 { a[e[j]] } else { 2.0 })
          return c, d }",
        "{c,d}",
        "c,d",
        4,
    );
}

#[test]
fn a_map_and_a_generate_of_one_array() {
    golden(
        "fn p(a: [n]f32) -> [n]f32, [n]f32 {
          let c: [n]f32 = map(|x| x * 2.0, a)
          let d: [n]f32 = generate([n], |j| a[j] + f32(j))
          return c, d }",
        "{c,d}",
        "c,d",
        4,
    );
}

#[test]
fn generates_that_read_what_is_complete_before() {
    golden(
        "fn p(a: [n]f32) -> [n]f32, [n]f32 {
          let x: [n]f32 = scanl1(|a, b| a + b, a)
          let c: [n]f32 = generate([n], |j| x[j] / x[n - 1])
          let d: [n]f32 = generate([n], |j| x[j] - x[0])
          return c, d }",
        "{x}{c,d}",
        "x,c,d",
        10,
    );
}

#[test]
fn stencils_of_one_array() {
    golden(
        "fn p(a: [n, m]f32) -> [n, m]f32, [n, m]f32 {
          let c: [n, m]f32 = stencil(|x, y| y - x, a[0, -1], a[0, 1], a: clamp)
          let d: [n, m]f32 = stencil(|x, y| y - x, a[-1, 0], a[1, 0], a: clamp)
          return c, d }",
        "{c,d}",
        "c,d",
        4,
    );
}

/// What is read in another order, or is of other extents, is no reason.
#[test]
fn generates_that_read_in_orders_of_their_own() {
    golden(
        "fn p(a: [n]f32, b: [m]f32) -> [n]f32, [n]f32, [n]f32 {
          let c: [n]f32 = generate([n], |j| a[n - 1 - j] + b[j])
          let d: [n]f32 = generate([n], |j| a[n - 1 - j] * b[j])
          let e: [n]f32 = generate([n], |j| a[j])
          return c, d, e }",
        "{c}{d}{e}",
        "c,d,e",
        9,
    );
}
