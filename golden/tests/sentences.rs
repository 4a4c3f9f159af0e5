//! Why operations are not fused is said of every pair of them, whatever the program.

use std::collections::HashSet;

use fusebox::{Link, Options, explain};

#[test]
fn every_pair_that_is_not_fused_has_a_sentence() {
    let (mut programs, mut pairs) = (0, 0);
    for name in fusebox_golden::names() {
        let program = fusebox_golden::load(&name).program;
        let explanation = explain(&program, &Options::default()).unwrap();
        if explanation.stopped.is_some() {
            continue;
        }
        programs += 1;
        let told: HashSet<(&str, &str)> =
            explanation.apart.iter().map(|pair| (pair.first.as_str(), pair.second.as_str())).collect();
        for graph in &explanation.graphs {
            for edge in graph.edges.iter().filter(|edge| edge.link == Link::Infusible) {
                let first = |at: usize| graph.nodes[at].results[0].as_str();
                let pair = (first(edge.from), first(edge.to));
                assert!(edge.why.is_some() && told.contains(&pair), "{name}: {pair:?} in `{}`", graph.path);
                pairs += 1;
            }
        }
    }
    assert!(programs > 50 && pairs > 100, "{programs} programs, {pairs} pairs");
}
