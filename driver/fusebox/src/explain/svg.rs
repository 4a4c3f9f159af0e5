//! The graph of a block, drawn: clusters as boxes, operations in them, lines by how they are joined.

use std::fmt::Write;

use super::{
    drawing::{Drawn, draw},
    escape::escape,
    layout::Point,
};
use crate::{Edge, Graph, Link, Node, NodeKind};

/// The most characters of a label.
const LONGEST: usize = 30;
const HEIGHT: f64 = 46.0;
/// Of the corners of lines.
const ROUND: f64 = 4.0;

/// The most nodes that are drawn: more is no picture any more.
pub(super) const MOST_NODES: usize = 400;

fn short(text: &str) -> String {
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    let kept: String = text.chars().take(LONGEST - 1).collect();
    format!("{kept}…")
}

fn names(node: &Node) -> String {
    short(&node.results.join(", "))
}

fn about(node: &Node) -> String {
    match node.kind {
        NodeKind::Input => short(&node.ty),
        _ => short(&format!("{} {}", node.operation, node.ty)),
    }
}

fn size(node: &Node) -> Point {
    let chars = |text: &str| text.chars().count() as f64;
    let width = (chars(&names(node)) * 8.6).max(chars(&about(node)) * 7.0) + 26.0;
    (width.max(64.0), HEIGHT)
}

/// A line with its corners rounded.
fn path(points: &[Point]) -> String {
    let mut path = String::new();
    for (at, &(x, y)) in points.iter().enumerate() {
        match (at, points.get(at + 1)) {
            (0, _) => drop(write!(path, "M{x:.1} {y:.1}")),
            (_, None) => drop(write!(path, "L{x:.1} {y:.1}")),
            (_, Some(&next)) => {
                let (before, after) = (towards((x, y), points[at - 1]), towards((x, y), next));
                let _ = write!(path, "L{:.1} {:.1}Q{x:.1} {y:.1} {:.1} {:.1}", before.0, before.1, after.0, after.1);
            }
        }
    }
    path
}

/// A point on the way from a corner to its neighbour, where its rounding begins.
fn towards(corner: Point, other: Point) -> Point {
    let (dx, dy) = (other.0 - corner.0, other.1 - corner.1);
    let length = dx.abs() + dy.abs(); // one of them is zero
    let part = (ROUND / length.max(1e-9)).min(0.5);
    (corner.0 + dx * part, corner.1 + dy * part)
}

/// The graph as an `svg` element; `number` tells it from others of the page.
pub(super) fn graph(graph: &Graph, number: usize) -> String {
    let sizes: Vec<Point> = graph.nodes.iter().map(size).collect();
    let drawing = draw(graph, &sizes);
    let (width, height) = drawing.size;
    let mut out = String::new();
    let what = if graph.path.is_empty() { "the program's body" } else { &graph.path };
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"group\" aria-label=\"Operations and clusters of {}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\">\n<defs>",
        escape(what)
    );
    for link in Link::ALL {
        let _ = write!(
            out,
            "<marker id=\"{0}{number}\" class=\"{0}\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" markerWidth=\"8\" \
             markerHeight=\"8\" markerUnits=\"userSpaceOnUse\" orient=\"auto\"><path d=\"M0 0L8 4L0 8z\"/></marker>",
            link.name()
        );
    }
    out += "</defs>\n";
    for [x, y, w, h] in &drawing.clusters {
        let _ = writeln!(
            out,
            "<rect class=\"cluster\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" rx=\"10\"/>"
        );
    }
    for (at, [x, y, _, h]) in drawing.clusters.iter().enumerate() {
        let (x, y) = (x + 16.0, y + h / 2.0);
        let _ = writeln!(
            out,
            "<text class=\"title\" x=\"{x:.1}\" y=\"{y:.1}\" transform=\"rotate(-90 {x:.1} {y:.1})\">cluster {}</text>",
            at + 1
        );
    }
    for (edge, drawn) in graph.edges.iter().zip(&drawing.edges) {
        line(graph, edge, drawn, number, &mut out);
    }
    for (at, (node, [x, y, w, h])) in graph.nodes.iter().zip(&drawing.nodes).enumerate() {
        let kind = match node.kind {
            NodeKind::Input => "input",
            NodeKind::Operation => "operation",
            NodeKind::Scalar => "scalar",
            NodeKind::Control => "control",
        };
        let mut title = format!("{} of {}: {}", node.operation, node.results.join(", "), node.ty);
        if node.kind == NodeKind::Operation {
            title += if node.manifest { ", stored" } else { ", never stored" };
        }
        if node.result {
            title += ", a result";
        }
        if !node.place.is_empty() {
            title += &format!(", at {}", node.place);
        }
        let round = if node.kind == NodeKind::Input { h / 2.0 } else { 5.0 };
        let result = if node.result { " result" } else { "" };
        let _ = write!(
            out,
            "<g id=\"g{number}n{at}\" class=\"node {kind}{result}\" data-n=\"{1}\" tabindex=\"0\" role=\"img\" aria-label=\"{0}\"><title>{0}</title>\
             <rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" rx=\"{round}\"/>",
            escape(&title),
            escape(&node.results.join(" "))
        );
        if node.manifest {
            let _ = write!(
                out,
                "<rect class=\"stored\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{:.1}\" rx=\"3\"/>",
                x + 3.5,
                y + 3.5,
                w - 7.0,
                h - 7.0
            );
        }
        let middle = x + w / 2.0;
        let _ = writeln!(
            out,
            "<text class=\"name\" x=\"{middle:.1}\" y=\"{:.1}\">{}</text><text class=\"about\" x=\"{middle:.1}\" \
             y=\"{:.1}\">{}</text></g>",
            y + 20.0,
            escape(&names(node)),
            y + 36.0,
            escape(&about(node))
        );
    }
    out += "</svg>";
    out
}

/// An edge; where several operations of a cluster read its value together, the last part of it says so.
fn line(graph: &Graph, edge: &Edge, drawn: &Drawn, number: usize, out: &mut String) {
    let name = edge.link.name();
    let why = edge.why.as_ref().map_or(String::new(), |why| format!(": {why}"));
    let (from, to) = (&graph.nodes[edge.from], &graph.nodes[edge.to]);
    let title = escape(&format!("{} to {} by {}, {name}{why}", names(from), names(to), edge.values.join(", ")));
    let ends = format!("data-from=\"g{number}n{}\" data-to=\"g{number}n{}\"", edge.from, edge.to);
    let mut part = |points: &[Point], link: Link, arrow: bool| {
        if points.is_empty() {
            return;
        }
        let name = link.name();
        let marker = if arrow { format!(" marker-end=\"url(#{name}{number})\"") } else { String::new() };
        let _ = writeln!(
            out,
            "<path class=\"edge {name}\" {ends} d=\"{}\"{marker}><title>{title}</title></path>",
            path(points)
        );
    };
    part(&drawn.line, edge.link, drawn.together.is_empty());
    part(&drawn.together, Link::Horizontal, true);
}
