//! The graph of a block, drawn: clusters as boxes, operations in them, lines by how they are joined.

use std::fmt::Write;

use super::{
    escape::escape,
    layout::{Layout, Point, layered},
};
use crate::{Graph, Link, Node, NodeKind};

/// The most characters of a label.
const LONGEST: usize = 30;
const HEIGHT: f64 = 46.0;
/// Around the nodes of a cluster; above them there is its name.
const PADDING: f64 = 16.0;
const TITLE: f64 = 22.0;
const MARGIN: f64 = 12.0;

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

/// Where everything is.
struct Drawing {
    /// Left, top, width, height.
    nodes: Vec<[f64; 4]>,
    clusters: Vec<[f64; 4]>,
    /// For each edge its points, ends included.
    edges: Vec<Vec<Point>>,
    size: Point,
}

fn draw(graph: &Graph) -> Drawing {
    // Clusters by themselves; then they and all other nodes together.
    let mut group: Vec<usize> = vec![usize::MAX; graph.nodes.len()];
    let mut inner: Vec<(Vec<usize>, Layout, Vec<usize>)> = Vec::new();
    let mut sizes: Vec<Point> = Vec::new();
    for cluster in &graph.clusters {
        let own: Vec<usize> = cluster.nodes.clone();
        let position = |at: usize| own.iter().position(|&node| node == at);
        let (mut lines, mut edges) = (Vec::new(), Vec::new());
        for (number, edge) in graph.edges.iter().enumerate() {
            if let (Some(from), Some(to)) = (position(edge.from), position(edge.to))
                && edge.link != Link::Horizontal
            {
                lines.push((from, to));
                edges.push(number);
            }
        }
        let layout = layered(&own.iter().map(|&at| size(&graph.nodes[at])).collect::<Vec<_>>(), &lines);
        own.iter().for_each(|&at| group[at] = sizes.len());
        sizes.push((layout.size.0.max(70.0) + 2.0 * PADDING, layout.size.1 + 2.0 * PADDING + TITLE));
        inner.push((own, layout, edges));
    }
    for (at, node) in graph.nodes.iter().enumerate() {
        if group[at] == usize::MAX {
            group[at] = sizes.len();
            sizes.push(size(node));
        }
    }
    let (mut lines, mut numbers) = (Vec::new(), Vec::new());
    for (number, edge) in graph.edges.iter().enumerate() {
        if group[edge.from] != group[edge.to] {
            lines.push((group[edge.from], group[edge.to]));
            numbers.push(number);
        }
    }
    let outer = layered(&sizes, &lines);
    let mut drawing = Drawing {
        nodes: vec![[0.0; 4]; graph.nodes.len()],
        clusters: Vec::new(),
        edges: vec![Vec::new(); graph.edges.len()],
        size: (outer.size.0 + 2.0 * MARGIN, outer.size.1 + 2.0 * MARGIN),
    };
    let mut bends: Vec<Vec<Point>> = vec![Vec::new(); graph.edges.len()];
    let moved = |points: &[Point], by: Point| points.iter().map(|p| (p.0 + by.0, p.1 + by.1)).collect::<Vec<_>>();
    for (&number, points) in numbers.iter().zip(&outer.bends) {
        bends[number] = moved(points, (MARGIN, MARGIN));
    }
    let corner = |at: usize| {
        let ((x, y), (w, h)) = (outer.centres[at], sizes[at]);
        (x - w / 2.0 + MARGIN, y - h / 2.0 + MARGIN)
    };
    for (at, (own, layout, edges)) in inner.iter().enumerate() {
        let (x, y) = corner(at);
        drawing.clusters.push([x, y, sizes[at].0, sizes[at].1]);
        let spare = (sizes[at].0 - 2.0 * PADDING - layout.size.0) / 2.0;
        let by = (x + PADDING + spare, y + PADDING + TITLE);
        for (&node, centre) in own.iter().zip(&layout.centres) {
            let (w, h) = size(&graph.nodes[node]);
            drawing.nodes[node] = [centre.0 - w / 2.0 + by.0, centre.1 - h / 2.0 + by.1, w, h];
        }
        for (&number, points) in edges.iter().zip(&layout.bends) {
            bends[number] = moved(points, by);
        }
    }
    for (node, &at) in group.iter().enumerate() {
        if at >= graph.clusters.len() {
            let (x, y) = corner(at);
            drawing.nodes[node] = [x, y, sizes[at].0, sizes[at].1];
        }
    }
    for (number, edge) in graph.edges.iter().enumerate() {
        let (from, to) = (drawing.nodes[edge.from], drawing.nodes[edge.to]);
        let points = &mut drawing.edges[number];
        if edge.link == Link::Horizontal {
            points.extend(beside(from, to));
            continue;
        }
        points.push((from[0] + from[2] / 2.0, from[1] + from[3]));
        points.extend(&bends[number]);
        points.push((to[0] + to[2] / 2.0, to[1]));
    }
    drawing
}

/// A line between two neighbours: from side to side where they stand beside each other, else from below to above.
fn beside(from: [f64; 4], to: [f64; 4]) -> [Point; 2] {
    let (left, right) = if from[0] <= to[0] { (from, to) } else { (to, from) };
    if left[0] + left[2] <= right[0] {
        [(left[0] + left[2], left[1] + left[3] / 2.0), (right[0], right[1] + right[3] / 2.0)]
    } else {
        let (above, below) = if from[1] <= to[1] { (from, to) } else { (to, from) };
        [(above[0] + 14.0, above[1] + above[3]), (below[0] + 14.0, below[1])]
    }
}

/// A curve through points that leaves and arrives straight down.
fn path(points: &[Point], level: bool) -> String {
    let mut path = String::new();
    for (at, &(x, y)) in points.iter().enumerate() {
        if at == 0 {
            let _ = write!(path, "M{x:.1} {y:.1}");
            continue;
        }
        let (px, py) = points[at - 1];
        if level || (px - x).abs() < 0.5 {
            let _ = write!(path, "L{x:.1} {y:.1}");
        } else {
            let bend = ((y - py) / 2.0).max(12.0);
            let _ = write!(path, "C{px:.1} {:.1} {x:.1} {:.1} {x:.1} {y:.1}", py + bend, y - bend);
        }
    }
    path
}

/// The graph as an `svg` element; `number` tells it from others of the page.
pub(super) fn graph(graph: &Graph, number: usize) -> String {
    let drawing = draw(graph);
    let (width, height) = drawing.size;
    let mut out = String::new();
    let what = if graph.path.is_empty() { "the program's body" } else { &graph.path };
    let _ = write!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"group\" aria-label=\"Operations and clusters of {}\" \
         width=\"{width:.0}\" height=\"{height:.0}\" viewBox=\"0 0 {width:.0} {height:.0}\">\n<defs>",
        escape(what)
    );
    for link in Link::ALL.into_iter().filter(|link| *link != Link::Horizontal) {
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
    for (edge, points) in graph.edges.iter().zip(&drawing.edges) {
        let name = edge.link.name();
        let (from, to) = (&graph.nodes[edge.from], &graph.nodes[edge.to]);
        let marker =
            if edge.link == Link::Horizontal { String::new() } else { format!(" marker-end=\"url(#{name}{number})\"") };
        let why = edge.why.as_ref().map_or(String::new(), |why| format!(": {why}"));
        let title = format!("{} to {} by {}, {name}{why}", names(from), names(to), edge.values.join(", "));
        let _ = writeln!(
            out,
            "<path class=\"edge {name}\" d=\"{}\"{marker}><title>{}</title></path>",
            path(points, edge.link == Link::Horizontal),
            escape(&title)
        );
    }
    // Above lines, which may cross them.
    for (at, [x, y, ..]) in drawing.clusters.iter().enumerate() {
        let (x, y) = (x + 12.0, y + 20.0);
        let _ = writeln!(out, "<text class=\"title\" x=\"{x:.1}\" y=\"{y:.1}\">cluster {}</text>", at + 1);
    }
    for (node, [x, y, w, h]) in graph.nodes.iter().zip(&drawing.nodes) {
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
            "<g class=\"node {kind}{result}\" tabindex=\"0\" role=\"img\" aria-label=\"{0}\"><title>{0}</title>\
             <rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{w:.1}\" height=\"{h:.1}\" rx=\"{round}\"/>",
            escape(&title)
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
