//! The models this one grew out of: their optima are known.

use fusebox_clustering::{
    Graph, Model,
    legacy::{
        robinson::{Combinator, INPUT, Program, robinson},
        thesis::thesis,
    },
    solver::{Microlp, Solver, solve},
};

fn best(model: &Model) -> f64 {
    let solvers: Vec<Box<dyn Solver>> = vec![
        Box::new(Microlp),
        #[cfg(feature = "highs")]
        Box::new(fusebox_clustering::solver::Highs),
    ];
    let costs: Vec<f64> = solvers
        .iter()
        .map(|solver| {
            let answer = solve(&**solver, model, None, 100_000).unwrap();
            assert!(answer.optimal);
            let values = answer.values.unwrap();
            assert_eq!(model.broken(&values), None);
            model.cost(&values).round()
        })
        .collect();
    assert!(costs.iter().all(|cost| *cost == costs[0]), "{costs:?}");
    costs[0]
}

fn normalise2(expanded: bool) -> Graph {
    let (xs, first) = if expanded {
        (r#"{"output": [5, 0]}"#, r#", {"name": "xs", "kind": "elementwise"}"#)
    } else {
        (r#"{"external": 0}"#, "")
    };
    let edge = if expanded { r#", {"from": {"external": 0}, "to": 5}"# } else { "" };
    serde_json::from_str(&format!(
        r#"{{"externals": ["us"],
        "nodes": [
          {{"name": "sum1", "kind": "fold_all"}},
          {{"name": "scn", "kind": {{"scan_left": {{"longer": false}}}}}},
          {{"name": "sum2", "kind": "fold_all"}},
          {{"name": "ys1", "kind": "elementwise"}},
          {{"name": "ys2", "kind": "elementwise"}}{first}],
        "edges": [
          {{"from": {xs}, "to": 0}}, {{"from": {xs}, "to": 1}}, {{"from": {{"output": [1, 0]}}, "to": 2}},
          {{"from": {xs}, "to": 3}}, {{"from": {{"output": [0, 0]}}, "to": 3, "complete": "scalar"}},
          {{"from": {xs}, "to": 4}}, {{"from": {{"output": [2, 0]}}, "to": 4, "complete": "scalar"}}{edge}]}}"#
    ))
    .unwrap()
}

#[test]
fn the_thesis_leaves_six_edges_of_normalise2_unfused() {
    let plain = thesis(&normalise2(false)).unwrap().model;
    assert_eq!((plain.variables.len(), plain.rows.len()), (30, 53));
    assert_eq!(best(&plain), 6.0);
    let expanded = thesis(&normalise2(true)).unwrap().model;
    assert_eq!((expanded.variables.len(), expanded.rows.len()), (34, 58));
    assert_eq!(best(&expanded), 6.0);
}

#[test]
fn robinson_fuses_the_filter_with_both_sides() {
    let program = Program {
        operations: vec![
            (Combinator::Fold { source: INPUT }, vec![]),
            (Combinator::Filter { source: INPUT }, vec![]),
            (Combinator::Fold { source: 1 }, vec![]),
            (Combinator::Map { sources: vec![INPUT] }, vec![0]),
            (Combinator::Map { sources: vec![INPUT] }, vec![2]),
        ],
    };
    let robinson = robinson(&program).unwrap();
    assert_eq!(robinson.fused.len(), 7);
    assert_eq!(best(&robinson.model), 51.0);
    let answer = solve(&Microlp, &robinson.model, None, 100_000).unwrap().values.unwrap();
    let fused = |a: usize, b: usize| answer[robinson.fused[&(a, b)]] < 0.5;
    assert!(fused(0, 1) && fused(1, 2) && fused(0, 2) && fused(3, 4));
}
