//! What text and page have in common: rows of counts, and sentences.

use fusebox_ir::analysis::counts::{Region, RegionKind};

use crate::{Apart, Counted, Explanation};

/// Rows of the table of counts: what is counted, before, after. None where nothing could be counted.
pub(super) fn counts(explanation: &Explanation) -> Vec<(&'static str, String, String)> {
    let (before, after) = (explanation.before.as_ref(), explanation.after.as_ref());
    if before.is_none() && after.is_none() {
        return Vec::new();
    }
    let number = |of: Option<String>| of.unwrap_or_else(|| "?".to_owned());
    let row = |what, get: &dyn Fn(&Counted) -> String| (what, number(before.map(get)), number(after.map(get)));
    vec![
        row("kernels", &|counted| counted.kernels.to_string()),
        row("loops", &|counted| counted.loops.to_string()),
        row("reads", &|counted| counted.polynomials.reads.to_string()),
        row("writes", &|counted| counted.polynomials.writes.to_string()),
        row("bytes read", &|counted| counted.polynomials.bytes_read.to_string()),
        row("bytes written", &|counted| counted.polynomials.bytes_written.to_string()),
    ]
}

/// What counts leave out where they are not exact.
pub(super) const INEXACT: &str = "Not exact: of a loop one test and one iteration are counted, of a branch and of reads under a condition the larger side.";

/// What counts leave out, if anything.
pub(super) fn caveat(explanation: &Explanation) -> Option<&'static str> {
    let exact = |counted: &Option<Counted>| counted.as_ref().is_none_or(|counted| counted.exact);
    (!exact(&explanation.before) || !exact(&explanation.after)).then_some(INEXACT)
}

/// What a region is, in words.
pub(super) fn region(region: &Region) -> String {
    match region.kind {
        RegionKind::Test => format!("each test of loop `{}`", region.of),
        RegionKind::Turn => format!("each turn of loop `{}`", region.of),
        RegionKind::Then => format!("where the condition of `{}` holds", region.of),
        RegionKind::Otherwise => format!("where the condition of `{}` does not hold", region.of),
        RegionKind::Lane => format!("each lane of `{}`", region.of),
    }
}

/// Regions that do something.
pub(super) fn regions(explanation: &Explanation) -> Vec<&Region> {
    let all = explanation.after.iter().flat_map(|counted| &counted.regions);
    all.filter(|region| region.each.loops > 0 || region.each.reads != Default::default()).collect()
}

/// What producer fusion did, a sentence for each operation that became another.
pub(super) fn choices(explanation: &Explanation) -> Vec<String> {
    let Some(report) = &explanation.producers else { return Vec::new() };
    let mut lines: Vec<String> = report
        .choices
        .iter()
        .map(|choice| {
            let mut line = at(&choice.name, &choice.place.to_string());
            if choice.before != choice.after {
                line += &format!(" ({}) became {}", choice.before, choice.after);
            }
            if !choice.absorbed.is_empty() {
                let absorbed: Vec<_> = choice.absorbed.iter().map(|name| format!("`{name}`")).collect();
                line += &format!(" took in {}", absorbed.join(", "));
            }
            if !choice.laws.is_empty() {
                line += &format!(", by {}", choice.laws.join(", "));
            }
            line
        })
        .collect();
    lines.extend(report.duplications.iter().map(|copied| {
        let places: Vec<_> = copied.places.iter().map(|name| format!("`{name}`")).collect();
        format!("`{}` is computed in {}: {} instructions an element", copied.producer, places.join(", "), copied.work)
    }));
    lines
}

/// How the e-graph was searched, and what was chosen on it.
pub(super) fn search(explanation: &Explanation) -> Option<String> {
    use fusebox_fusion::Stop;
    let report = explanation.producers.as_ref()?;
    let stop = match report.stop {
        Stop::Saturated => "no law applied any more",
        Stop::Iterations => "the limit of sweeps was reached",
        Stop::Nodes => "the limit of nodes was reached",
        Stop::Steps => "the limit of choices was reached",
    };
    Some(format!(
        "cost {} became {}; {} nodes in {} classes after {} sweep{}, when {stop}",
        report.cost_before,
        report.cost_after,
        report.nodes,
        report.classes,
        report.iterations,
        plural(report.iterations)
    ))
}

/// What is said of the search for clusters, block by block.
pub(super) fn clusterings(explanation: &Explanation) -> Vec<String> {
    use fusebox_clustering::Status;
    let regions = explanation.clustering.iter().flat_map(|report| &report.regions);
    regions
        .filter(|region| region.operations > 0)
        .map(|region| {
            let block = if region.path.is_empty() { "the program".to_owned() } else { region.path.clone() };
            let (operations, clusters) = (region.operations, region.clusters.len());
            let how = match region.status {
                Status::Optimal if region.solver.is_empty() => "with nothing left to decide".to_owned(),
                Status::Optimal => format!("proved the best by {}", region.solver),
                Status::OptimalButLevels => format!("proved the best by {}, but for their order", region.solver),
                Status::Limit if region.measures == region.greedy => {
                    format!("greedily, for want of better (gap {:.1} %)", 100.0 * region.gap)
                }
                Status::Limit => format!("the best that {} found (gap {:.1} %)", region.solver, 100.0 * region.gap),
                Status::Greedy => "greedily".to_owned(),
                Status::Apart => "each operation by itself".to_owned(),
            };
            let mut line = format!(
                "{block}: {operations} operation{} in {clusters} cluster{}, {how}",
                plural(operations),
                plural(clusters)
            );
            if region.variables > 0 {
                line += &format!("; {} variables, {} constraints", region.variables, region.constraints);
            }
            line += &format!("; objective {}", region.objective);
            for note in &region.notes {
                line += &format!("; {note}");
            }
            line
        })
        .collect()
}

fn plural(count: usize) -> &'static str {
    if count == 1 { "" } else { "s" }
}

/// A pair that is not fused, as a sentence.
pub(super) fn pair(pair: &Apart) -> String {
    format!("{} and {}: {}.", at(&pair.first, &pair.place), at(&pair.second, &pair.second_place), pair.why)
}

/// A name, and where it stands in the source: `` `scores` (src/main.rs:12:9) ``.
fn at(name: &str, place: &str) -> String {
    if place.is_empty() { format!("`{name}`") } else { format!("`{name}` ({place})") }
}
