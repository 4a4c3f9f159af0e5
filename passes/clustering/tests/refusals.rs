//! What is not fused, and what the report says of it; regions; limits; what is no graph.

use fusebox_clustering::{
    Category, Config, Error, Graph, Method, Model, Objective, Region, Report, SolverChoice, Status, cluster,
    cluster_graph, graphs, models,
    solver::{Microlp, solve},
};
use fusebox_ir::{Property, text, validate};

fn clustered(source: &str) -> (String, Report) {
    let program = text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let (clustered, report) = cluster(&program, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
    validate(&clustered, &[Property::Flat, Property::Clustered])
        .unwrap_or_else(|errors| panic!("{errors}\n{clustered}"));
    (clustered.to_string(), report)
}

fn show(region: &Region) -> String {
    region.clusters.iter().map(|cluster| format!("{{{}}}", cluster.operations.join(","))).collect()
}

/// The clusters, and why the two that are named are apart.
fn refused(source: &str, clusters: &str, pair: (&str, &str), why: &str) {
    let (_, report) = clustered(source);
    let region = &report.regions[0];
    assert_eq!(show(region), clusters, "{region:#?}");
    let apart = region.apart.iter().find(|apart| (apart.first.as_str(), apart.second.as_str()) == pair);
    let apart = apart.unwrap_or_else(|| panic!("nothing is said of {pair:?}: {:#?}", region.apart));
    assert!(apart.why.contains(why), "{apart:?}");
    assert!(!apart.first_place.is_empty() && !apart.second_place.is_empty(), "{apart:?}");
}

#[test]
fn what_a_permute_gives_is_not_taken_element_by_element() {
    refused(
        "fn p(d: [7]f32, x: [n]f32, t: [n]i64) -> [7]f32 {
          let p: [7]f32 = permute(|new, old| new + old, d, x, at: t)
          let b: [7]f32 = map(|x| x * 2.0, p)
          return b }",
        "{p}{b}",
        ("p", "b"),
        "what a permute writes is complete only after the last element",
    );
}

#[test]
fn extents_that_are_not_proved_equal() {
    refused(
        "fn p(x: [n]f32, m: i64) -> [n]f32 {
          let a: [m]f32 = generate([m], |i| 1.0)
          let z: [n]f32 = map(|x, y| x * y, x, a)
          return z }",
        "{a}{z}",
        ("a", "z"),
        "extents not proved equal: `[m]` and `[n]`",
    );
}

#[test]
fn folds_of_rows_of_different_extents() {
    let source = |second: &str| {
        format!(
            "fn p(x: [r, c]f32, y: [r, d]f32, y2: [r, c]f32) -> [r]f32 {{
              let f: [r]f32 = fold(|a, b| a + b, 0.0, x)
              let g: [r]f32 = fold(|a, b| a + b, 0.0, {second})
              let z: [r]f32 = map(|a, b| a * b, f, g)
              return z }}"
        )
    };
    let (_, report) = clustered(&source("y"));
    assert_eq!(report.regions[0].clusters.len(), 2, "{report:#?}");
    let whys: Vec<&str> = report.regions[0].apart.iter().map(|apart| apart.why.as_str()).collect();
    assert!(whys.iter().any(|why| why.contains("rows of different extents")), "{whys:?}");
    let (_, report) = clustered(&source("y2"));
    assert_eq!(show(&report.regions[0]), "{f,g,z}");
}

#[test]
fn a_scalar_is_complete_after_the_last_element() {
    refused(
        "fn p(x: [n]f32) -> f32 {
          let s: f32 = fold(|a, b| a + b, 0.0, x)
          let t: f32 = map(|x| x * 2.0, s)
          return t }",
        "{s}{t}",
        ("s", "t"),
        "complete only after the last element",
    );
}

#[test]
fn what_is_read_by_index_is_complete_before() {
    refused(
        "fn p(x: [n]f32) -> [n]f32 {
          let a: [n]f32 = map(|x| x * 2.0, x)
          let b: [n]f32 = generate([n], |i| a[n - 1 - i])
          return b }",
        "{a}{b}",
        ("a", "b"),
        "read by index",
    );
}

#[test]
fn scalar_code_between_two_operations_keeps_them_apart() {
    refused(
        "fn p(x: [n]f32) -> [n]f32, f32 {
          let s: f32 = fold(|a, b| a + b, 0.0, x)
          let h = s / 2.0
          let b: [n]f32 = map(|x| x * h, x)
          return b, s }",
        "{s}{b}",
        ("s", "b"),
        "stands between them",
    );
}

#[test]
fn readers_of_one_input_fuse() {
    let (text, report) = clustered(
        "fn p(x: [n]f32) -> [n]f32, f32 {
          let a: [n]f32 = map(|x| x * 2.0, x)
          let s: f32 = fold(|a, b| a + b, 0.0, x)
          return a, s }",
    );
    assert_eq!(show(&report.regions[0]), "{a,s}");
    assert_eq!(report.regions[0].clusters[0].fused[0].category, Category::Horizontal);
    assert!(text.contains("horizontal a"), "{text}");
}

#[test]
fn a_filter_and_a_fold_of_it_are_one_pass() {
    let (_, report) = clustered(
        "fn p(x: [n]f32) -> f32, [?]f32 {
          let y: [n]f32 = map(|x| x * 2.0, x)
          let k: i64, v: [k]f32 = filter(|x| x > 0.5, y)
          let s: f32 = fold(|a, b| a + b, 0.0, v)
          let w: [k]f32 = map(|x| x + 1.0, v)
          return s, w }",
    );
    assert_eq!(show(&report.regions[0]), "{y,k,s,w}");
}

#[test]
fn a_scan_of_what_a_filter_keeps_waits() {
    refused(
        "fn p(x: [n]f32) -> [?]f32 {
          let k: i64, v: [k]f32 = filter(|x| x > 0.5, x)
          let w: [k]f32 = scanl1(|a, b| a + b, v)
          return w }",
        "{k}{w}",
        ("k", "w"),
        "makes elements",
    );
}

#[test]
fn a_fold_is_complete_before_it_is_read_elsewhere() {
    refused(
        "fn p(m: [n, k]f32) -> [n]f32 {
          let s: [n]f32 = fold(|a, b| a + b, 0.0, m)
          let r: [n]f32 = backpermute([n], |i| n - 1 - i, s)
          return r }",
        "{s}{r}",
        ("s", "r"),
        "`s` is needed whole before `r` can begin: its reduction is not complete until the last element",
    );
}

#[test]
fn segments_of_different_offsets_stay_apart() {
    let source = |second: &str| {
        format!(
            "fn p(x: [n]f32, o: [s]i64, q: [s]i64) -> [?]f32, [?]f32 {{
              let k = s - 1
              let f: [k]f32 = fold_seg(|a, b| a + b, 0.0, x, offsets: o)
              let g: [k]f32 = fold_seg(|a, b| max(a, b), 0.0, x, offsets: {second})
              return f, g }}"
        )
    };
    let (_, report) = clustered(&source("q"));
    assert_eq!(show(&report.regions[0]), "{f}{g}");
    assert_eq!(report.regions[0].apart[0].why, "they run over different segments");
    let (_, report) = clustered(&source("o"));
    assert_eq!(show(&report.regions[0]), "{f,g}");
}

#[test]
fn branches_are_regions_with_what_only_they_need() {
    // As the pass `strictness` makes it: what only the branch needs is in it.
    let (_, report) = clustered(
        "fn p(x: [n]f32, c: bool) -> [n]f32, [n]f32 {
          let a: [n]f32 = map(|x| x * 2.0, x)
          let r: [n]f32 = cond(c, || { let b: [n]f32 = map(|x| x * 3.0, x) let u: [n]f32 = map(|x| x + 1.0, b) let v: [n]f32 = map(|x| x - 1.0, u) return v }, || { return x })
          return a, r }",
    );
    assert_eq!(show(&report.regions[0]), "{a}");
    assert_eq!(show(&report.regions[1]), "{b,u,v}");
    assert!(report.regions[1].path.contains("cond r"), "{}", report.regions[1].path);
}

#[test]
fn conditions_and_bodies_of_loops_are_regions() {
    let (_, report) = clustered(
        "fn p(x: [n]f32) -> [n]f32 {
          let y: [n]f32 = while(|a: [n]f32| {
              let b: [n]f32 = map(|x| x * x, a)
              let s: f32 = fold(|a, b| a + b, 0.0, b)
              let go = s > 1.0
              return go }, |a: [n]f32| {
              let c: [n]f32 = map(|x| x * 0.5, a)
              let d: [n]f32 = map(|x| x - 0.1, c)
              return d }, x)
          return y }",
    );
    let all: Vec<String> = report.regions.iter().map(show).collect();
    assert_eq!(all, ["{b,s}", "{c,d}"]);
}

#[test]
fn what_costs_less_to_make_than_to_read_is_made_by_each_cluster_that_reads_it() {
    let (program, report) = clustered(
        "fn p(x: [n]i64, t: [n]i64) -> [n]i64, [n]i64 {
          let i: [n]i64 = generate([n], |i| i)
          let a: [n]i64 = map(|x, i| x + i, x, i)
          let s: [n]i64 = scanl1(|x, y| x + y, a)
          let b: [n]i64 = generate([n], |j| s[n - 1 - j])
          let c: [n]i64 = map(|b, i| b * i, b, i)
          return s, c }",
    );
    let [_, first, second] = program.split("cluster(").collect::<Vec<_>>()[..] else { panic!("{program}") };
    for cluster in [first, second] {
        assert_eq!(cluster.matches("= generate([n], |i2| i2)").count(), 1, "{program}");
    }
    assert_eq!(report.regions[0].again, ["i"]);
    assert_eq!(report.regions[0].written, ["s", "c"]);
    // An array that is needed whole, or given, is written.
    let (program, report) = clustered(
        "fn p(x: [n]i64) -> [n]i64, [n]i64 {
          let i: [n]i64 = generate([n], |i| i)
          let s: [n]i64 = scanl1(|x, y| x + y, x)
          let c: [n]i64 = generate([n], |j| s[n - 1 - j] + i[s[j]])
          return s, c }",
    );
    assert!(report.regions[0].again.is_empty(), "{program}");
}

/// normalizeInc: greedy clusters are not the best, so that something is left to solve.
const HARD: &str = "fn p(us: [n]f32) -> [n]f32 {
  let incs: [n]f32 = map(|u| u + 1.0, us)
  let s: f32 = fold(|a, b| a + b, 0.0, us)
  let a: [n]f32 = map(|x, u| x / s + u, incs, us)
  let t: f32 = fold(|a, b| a + b, 0.0, a)
  let b: [n]f32 = map(|x, y, u| x / t + y + u, a, incs, us)
  let c: [n]f32 = scanr1(|x, y| x + y, b)
  let d: [n]f32 = map(|x, y| x + y, c, incs)
  return d }";

#[test]
fn a_limit_gives_greedy_clusters_and_says_so() {
    let program = text::parse(HARD).unwrap();
    let with = |config: Config| cluster(&program, &config).unwrap().1.regions.remove(0);
    let greedy = with(Config { method: Method::Greedy, ..Config::default() });
    for solver in [SolverChoice::default(), SolverChoice::Microlp] {
        let always_solve = true;
        let none = with(Config { max_nodes: 0, always_solve, solver, ..Config::default() });
        assert_eq!((none.status, none.objective), (Status::Limit, greedy.objective));
        assert!(none.notes[0].contains("greedy clusters"), "{:?}", none.notes);
        assert!(none.bound <= none.objective && none.gap >= 0.0);
        let small = with(Config { max_variables: 3, always_solve, solver, ..Config::default() });
        assert_eq!((small.status, small.objective), (Status::Limit, greedy.objective));
        assert!(small.notes[0].contains("variables"), "{:?}", small.notes);
        let one = with(Config { max_nodes: 1, always_solve, solver, ..Config::default() });
        assert!(one.objective <= greedy.objective);
        let best = with(Config { solver, ..Config::default() });
        assert_eq!(best.status, Status::Optimal);
        assert!(best.objective <= one.objective && best.objective <= greedy.objective);
    }
}

#[test]
fn what_is_learnt_of_one_pair_is_asked_of_all() {
    // Each expansion counts its elements first: what it reads by element is complete before, where that is stored.
    let each = |i: usize| {
        format!(
            "let p{i}: [n]i64 = map(|x| (x + {i}) & 7, x)
             let o{i}: [n]i64 = scanl1(|a, b| a + b, p{i})
             let t{i}: i64, e{i}: [t{i}]i64 = expand(|p| p, |p, k| p * k, p{i})\n"
        )
    };
    let types: String = (0..6).map(|_| ", [n]i64, [?]i64").collect();
    let steps: String = (0..6).map(each).collect();
    let results: String = (0..6).map(|i| format!(", o{i}, e{i}")).collect();
    let source = format!("fn p(x: [n]i64) -> {} {{ {steps} return {} }}", &types[2..], &results[2..]);
    let program = text::parse(&source).unwrap();
    let config = Config { max_rounds: 3, ..Config::default() };
    let (_, report) = cluster(&program, &config).unwrap();
    let region = &report.regions[0];
    assert_eq!(region.status, Status::Optimal, "{:?}", region.notes);
    assert!(region.notes.iter().any(|note| note.contains("counted before they are stored")), "{:?}", region.notes);
}

#[test]
fn numbers_that_are_none_and_models_that_are_none_are_errors() {
    let mut model = Model::default();
    let x = model.variable("x", (0.0, 1.0), true, f64::NAN);
    assert!(matches!(solve(&Microlp, &model, None, 10), Err(Error::NotFinite { .. })));
    model.variables[x].cost = 1.0;
    model.row("foreign", &[(7, 1.0)], 0.0, 1.0);
    assert!(matches!(solve(&Microlp, &model, None, 10), Err(Error::Model { .. })));
    model.rows.clear();
    model.row("nan", &[(x, f64::NAN)], 0.0, 1.0);
    assert!(matches!(solve(&Microlp, &model, None, 10), Err(Error::NotFinite { .. })));
    model.rows.clear();
    model.row("impossible", &[(x, 1.0)], 2.0, 3.0);
    assert!(matches!(solve(&Microlp, &model, None, 10), Err(Error::Infeasible)));
    assert_eq!(solve(&Microlp, &Model::default(), None, 10).unwrap().values, Some(Vec::new()));
    #[cfg(feature = "highs")]
    {
        use fusebox_clustering::solver::Highs;
        assert!(matches!(solve(&Highs, &model, None, 10), Err(Error::Infeasible)));
        model.rows[0].terms[0].1 = f64::INFINITY;
        assert!(matches!(solve(&Highs, &model, None, 10), Err(Error::NotFinite { .. })));
        assert_eq!(solve(&Highs, &Model::default(), None, 10).unwrap().values, Some(Vec::new()));
    }
}

#[test]
fn graphs_that_are_none_are_errors() {
    let parse = |nodes: &str, edges: &str| -> Graph {
        serde_json::from_str(&format!(r#"{{"nodes": [{nodes}], "edges": [{edges}]}}"#)).unwrap()
    };
    let two = r#"{"name": "a", "kind": "elementwise"}, {"name": "b", "kind": "fold_all"}"#;
    let all = Config::default();
    let cycle = parse(two, r#"{"from": {"output": [0, 0]}, "to": 1}, {"from": {"output": [1, 0]}, "to": 0}"#);
    match cluster_graph(&cycle, &all) {
        Err(Error::Cycle { names }) => assert!(names.len() >= 2, "{names:?}"),
        other => panic!("{other:?}"),
    }
    for edge in [
        r#"{"from": {"output": [0, 0]}, "to": 9}"#,
        r#"{"from": {"output": [5, 0]}, "to": 1}"#,
        r#"{"from": {"output": [0, 3]}, "to": 1}"#,
        r#"{"from": {"external": 0}, "to": 1}"#,
    ] {
        assert!(matches!(cluster_graph(&parse(two, edge), &all), Err(Error::Graph { .. })), "{edge}");
    }
    let itself = parse(two, r#"{"from": {"output": [0, 0]}, "to": 0}"#);
    assert!(matches!(cluster_graph(&itself, &all), Err(Error::Cycle { .. })));
    let empty = cluster_graph(&Graph::default(), &all).unwrap();
    assert!(empty.clusters.is_empty());
    assert!("traffic".parse::<Objective>().is_ok() && "speed".parse::<Objective>().is_err());
}

#[test]
fn a_program_that_is_not_flat_is_an_error() {
    let nested = text::parse(
        "fn p(n: i64) -> [?]i64 { let s: [n]i64 = nest([n], |i| { let r: [i]i64 = generate([i], |j| j) let q: i64 = fold(|a, b| a + b, 0, r) return q }) return s }",
    );
    assert!(matches!(cluster(&nested.unwrap(), &Config::default()), Err(Error::Invalid(_))));
}

/// Arrays, each a sum of reverses of earlier ones, as fusion leaves them: `x2` and `x3` read the same, but between them stands a reverse that is
/// made of one and read by the other.
const REVERSES: &str = "fn p(x0: [n]f32) -> [n]f32 {
  let r0: [n]f32 = backpermute([n], |i| n - 1 - i, x0)
  let x1: [n]f32 = map(|a, b| a + b, r0, x0)
  let r1: [n]f32 = backpermute([n], |i| n - 1 - i, x1)
  let x2: [n]f32 = map(|a, b, c| a + (b + c), r1, r0, x0)
  let r2: [n]f32 = backpermute([n], |i| n - 1 - i, x2)
  let x3: [n]f32 = map(|a, b, c, d| a + (b + (c + d)), r2, r1, r0, x0)
  return x3 }";

#[test]
fn what_stands_between_two_readers_runs_with_them_or_keeps_them_apart() {
    refused(REVERSES, "{r0}{x1,r1}{x2,r2,x3}", ("x1", "x2"), "no order suits them and what stands between them");
    // So it is never asked in a model whether the two share a pass.
    let graphs = graphs(&text::parse(REVERSES).unwrap()).unwrap();
    let models = models(&graphs[0], Objective::default()).unwrap();
    let names: Vec<&str> =
        models.iter().flat_map(|model| &model.variables).map(|variable| variable.name.as_str()).collect();
    assert!(names.contains(&"f_1_2") && !names.contains(&"g_1_3"), "{names:?}");
}
