//! An explanation as text for a terminal.

use fusebox_ir::analysis::counts::Traffic;

use super::{
    held::LEGEND,
    moves::speed,
    sentences::{self, caveat, choices, clusterings, counts, pair, regions, search},
};
use crate::{Explanation, Held, KernelMoves};

/// The explanation as text.
pub(super) fn text(explanation: &Explanation) -> String {
    let mut out = Vec::new();
    out.push(format!("{}, fusion {}", explanation.program, explanation.fusion));
    if let Some(stopped) = &explanation.stopped {
        out.push(String::new());
        out.push(format!("Pass `{}` stopped: {}", stopped.pass, stopped.why));
    }
    out.push(String::new());
    table(explanation, &mut out);
    if let Some(caveat) = caveat(explanation) {
        out.push(caveat.to_owned());
    }
    for region in regions(explanation) {
        let Traffic { loops, reads, writes, .. } = &region.each;
        let indent = "  ".repeat(region.depth);
        out.push(format!("{indent}{}: loops {loops}, reads {reads}, writes {writes}", sentences::region(region)));
    }
    held(explanation, &mut out);
    if let Some(search) = search(explanation) {
        heading("Producers", &mut out);
        out.push(search);
        out.extend(choices(explanation).into_iter().map(|line| format!("  {line}")));
    }
    if explanation.clustering.is_some() {
        heading("Clusters", &mut out);
        out.extend(clusterings(explanation));
        clusters(explanation, &mut out);
    }
    kernels(explanation, &mut out);
    if !explanation.apart.is_empty() {
        heading("Not fused", &mut out);
        out.extend(explanation.apart.iter().map(pair));
        left_out(explanation, &mut out);
    }
    let scheduling = &explanation.scheduling;
    if !scheduling.kernels.is_empty() {
        heading(&format!("Schedules for {}", scheduling.target), &mut out);
        out.extend(scheduling.steps.iter().cloned());
        for kernel in &scheduling.kernels {
            out.push(format!("{}: {}", kernel.kernel, kernel.name));
            out.extend(kernel.reasons.iter().map(|reason| format!("  {reason}")));
        }
    }
    heading("Passes", &mut out);
    for stage in explanation.stages.iter().skip(1) {
        let counts: Vec<_> = stage.counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
        out.push(format!("{:10} {:9.3} ms  {}", stage.stage, stage.milliseconds, counts.join(", ")));
    }
    for stage in &explanation.stages {
        heading(&format!("Stage {}", stage.stage), &mut out);
        out.push(stage.text.clone());
    }
    out.push(String::new());
    out.join("\n")
}

fn heading(title: &str, out: &mut Vec<String>) {
    out.push(String::new());
    out.push(format!("== {title}"));
}

fn table(explanation: &Explanation, out: &mut Vec<String>) {
    let rows = counts(explanation);
    if rows.is_empty() {
        out.push("Nothing is counted without a plan.".to_owned());
        return;
    }
    let wide = |get: fn(&(&'static str, String, String)) -> usize, least: usize| {
        rows.iter().map(get).max().unwrap_or_default().max(least)
    };
    let before = wide(|row| row.1.chars().count(), 6);
    out.push(format!("{:13}  {:before$}  after", "", "before"));
    for (what, was, is) in &rows {
        out.push(format!("{what:13}  {was:before$}  {is}"));
    }
}

/// How the values of nests are held: what they are in one column, and why, with the line, in the other.
fn held(explanation: &Explanation, out: &mut Vec<String>) {
    if explanation.held.is_empty() {
        return;
    }
    heading("Nests", out);
    let wide = LEGEND.iter().map(|(name, _)| name.len()).max().unwrap_or_default();
    for value in &explanation.held {
        let indent = "  ".repeat(value.depth);
        let Held { name, operation, place, representation, why, .. } = value;
        let line = place.rsplit(':').nth(1).map_or_else(String::new, |line| format!("line {line}: "));
        out.push(format!("  {representation:wide$}  {indent}{line}{operation} `{name}`: {why}"));
    }
}

fn clusters(explanation: &Explanation, out: &mut Vec<String>) {
    for graph in &explanation.graphs {
        if graph.clusters.is_empty() {
            continue;
        }
        if !graph.path.is_empty() {
            out.push(format!("in {}:", graph.path));
        }
        for (number, cluster) in graph.clusters.iter().enumerate() {
            let nodes: Vec<String> = cluster
                .nodes
                .iter()
                .map(|&at| &graph.nodes[at])
                .map(|node| {
                    let names = node.results.join(", ");
                    let stored = if node.manifest { " (stored)" } else { "" };
                    format!("{} {names}{stored}", node.operation)
                })
                .collect();
            out.push(format!("  {}: {}", number + 1, nodes.join("; ")));
        }
    }
}

/// What each kernel moves, and what it took if that is known.
fn kernels(explanation: &Explanation, out: &mut Vec<String>) {
    if explanation.kernels.is_empty() {
        return;
    }
    heading("Kernels", out);
    for kernel in &explanation.kernels {
        let KernelMoves { kernel: number, name, bytes_read, bytes_written, flops, .. } = kernel;
        let repeated = if kernel.repeated { " (repeated)" } else { "" };
        let mut line = format!(
            "  {number}: {name}{repeated}: bytes read {bytes_read}, bytes written {bytes_written}, flops {flops}"
        );
        if let Some(time) = &kernel.time {
            line += &format!(
                "; {:.3} ms in {} launch{}",
                time.milliseconds,
                time.launches,
                if time.launches == 1 { "" } else { "es" }
            );
            line += &format!(", {}", speed(time));
        }
        out.push(line);
    }
}

fn left_out(explanation: &Explanation, out: &mut Vec<String>) {
    let regions = explanation.clustering.iter().flat_map(|report| &report.regions);
    let more: usize = regions.map(|region| region.apart_left_out).sum();
    if more > 0 {
        out.push(format!("… and {more} pairs more"));
    }
}
