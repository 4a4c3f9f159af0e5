//! The clusters of an explanation as a graph for Graphviz.

use std::fmt::Write;

use crate::{Explanation, Graph, Link, NodeKind, dot::quoted};

/// Clusters as boxes; operations whose results are stored have two frames; lines say how operations are joined.
pub(super) fn dot(explanation: &Explanation) -> String {
    let mut out = format!(
        "digraph {} {{\n  compound=true\n  node [shape=box, fontname=monospace]\n",
        quoted(&explanation.program)
    );
    for (number, graph) in explanation.graphs.iter().enumerate() {
        block(number, graph, &mut out);
    }
    out += "}\n";
    out
}

fn block(number: usize, graph: &Graph, out: &mut String) {
    let boxed = !graph.path.is_empty();
    if boxed {
        let _ = writeln!(out, "  subgraph cluster_{number} {{\n  label={}\n  color=gray", quoted(&graph.path));
    }
    for (position, cluster) in graph.clusters.iter().enumerate() {
        let _ = writeln!(
            out,
            "  subgraph cluster_{number}_{position} {{\n    label=\"cluster {}\"\n    style=filled\n    fillcolor=gray95",
            position + 1
        );
        for &at in &cluster.nodes {
            node(number, at, graph, "    ", out);
        }
        *out += "  }\n";
    }
    for at in (0..graph.nodes.len()).filter(|&at| graph.nodes[at].cluster.is_none()) {
        node(number, at, graph, "  ", out);
    }
    for edge in &graph.edges {
        let style = match edge.link {
            Link::Vertical => "color=\"#1a7f37\", penwidth=2",
            Link::Diagonal => "color=\"#8250df\", penwidth=2, arrowhead=onormal",
            Link::Horizontal => "color=\"#0969da\", style=dashed, dir=none, constraint=false",
            Link::Infusible => "color=\"#cf222e\", style=dotted, penwidth=2",
            Link::Given => "color=\"#6e7781\"",
        };
        let tooltip = match &edge.why {
            Some(why) => format!("{}: {why}", edge.link.name()),
            None => format!("{}: {}", edge.link.name(), edge.link.meaning()),
        };
        let _ = writeln!(
            out,
            "  b{number}n{} -> b{number}n{} [class={}, {style}, label={}, tooltip={}]",
            edge.from,
            edge.to,
            edge.link.name(),
            quoted(&edge.values.join(", ")),
            quoted(&tooltip)
        );
    }
    if boxed {
        *out += "  }\n";
    }
}

fn node(number: usize, at: usize, graph: &Graph, indent: &str, out: &mut String) {
    let node = &graph.nodes[at];
    let shape = match node.kind {
        NodeKind::Input => "shape=ellipse",
        NodeKind::Operation => "shape=box",
        NodeKind::Scalar => "shape=box, style=rounded",
        NodeKind::Control => "shape=box3d",
    };
    let stored = if node.manifest { ", peripheries=2" } else { "" };
    let bold = if node.result { ", penwidth=2" } else { "" };
    let label = match node.kind {
        NodeKind::Input => format!("{}\n{}", node.results.join(", "), node.ty),
        _ => format!("{}\n{} {}", node.results.join(", "), node.operation, node.ty),
    };
    // In a label of Graphviz a line ends with \n; `quoted` makes it one that is flush left.
    let label = quoted(&label);
    let _ = writeln!(out, "{indent}b{number}n{at} [{shape}{stored}{bold}, label={label}]");
}
