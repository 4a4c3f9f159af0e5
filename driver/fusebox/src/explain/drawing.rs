//! A graph of operations and clusters as boxes and lines: clusters by themselves first, then they and all else together.

use std::collections::BTreeMap;

use super::layout::{Layer, Layout, Net, Pin, Point, Thing, layered, straightened};
use crate::{Graph, Link};

/// Around the nodes of a cluster.
const PADDING: f64 = 12.0;
/// At the left side of a cluster, for its name.
const NAME: f64 = 24.0;
const MARGIN: f64 = 12.0;
/// A port of a cluster takes as much room as a line.
const PORT: Point = (9.0, 0.0);
/// Two ports of a cluster, or two lines at a node, are so far from each other.
const PINS: f64 = 9.0;

/// A box: left, top, width, height.
pub(super) type Area = [f64; 4];

/// Where everything is.
pub(super) struct Drawing {
    pub nodes: Vec<Area>,
    pub clusters: Vec<Area>,
    /// By the edges of the graph.
    pub edges: Vec<Drawn>,
    pub size: Point,
}

/// An edge as it is drawn.
#[derive(Clone, Debug, Default)]
pub(super) struct Drawn {
    /// From its source, to its end or to the cluster in which several read its value together. Empty where nothing is drawn.
    pub line: Vec<Point>,
    /// Inside of that cluster, to its end.
    pub together: Vec<Point>,
}

/// A net of the graph: what comes from one node in one way.
type Key = (usize, Link);

/// A cluster by itself.
struct Inner {
    nodes: Vec<usize>,
    /// Nets that come from outside, with their ports from left to right; those that go outside.
    ins: Vec<Key>,
    outs: Vec<Key>,
    nets: Vec<(Key, Vec<usize>)>,
    layout: Layout,
}

impl Inner {
    fn new(nodes: &[usize], ins: Vec<Key>, outs: Vec<Key>, edges: &[(Key, usize)], sizes: &[Point]) -> Self {
        let position = |node: usize| nodes.iter().position(|&other| other == node);
        let any = |&node: &usize| Thing { size: sizes[node], layer: Layer::Any };
        let mut things: Vec<Thing> = nodes.iter().map(any).collect();
        things.extend((0..ins.len()).map(|at| Thing { size: PORT, layer: Layer::First(at) }));
        things.extend((0..outs.len()).map(|at| Thing { size: PORT, layer: Layer::Last(at) }));
        let mut ends: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
        for &(key, to) in edges {
            if let Some(to) = position(to) {
                ends.entry(key).or_default().push(to);
            }
        }
        for (at, key) in outs.iter().enumerate() {
            ends.entry(*key).or_default().push(nodes.len() + ins.len() + at);
        }
        let nets: Vec<(Key, Vec<usize>)> = ends.into_iter().collect();
        let pin = |thing| Pin { thing, at: None };
        let port = |thing| Pin { thing, at: Some(PORT.0 / 2.0) };
        let begin = |key: &Key| match ins.iter().position(|other| other == key) {
            Some(at) => Some(port(nodes.len() + at)),
            None => position(key.0).map(pin),
        };
        let end = |&to: &usize| if to < nodes.len() { pin(to) } else { port(to) };
        let lines: Vec<Net> = nets
            .iter()
            .filter_map(|(key, to)| Some(Net { from: begin(key)?, to: to.iter().map(end).collect() }))
            .collect();
        let layout = layered(&things, &lines);
        Self { nodes: nodes.to_vec(), ins, outs, nets, layout }
    }

    fn size(&self) -> Point {
        (self.layout.size.0 + NAME + PADDING, self.layout.size.1 + 2.0 * PADDING)
    }

    /// How far from the left side of the cluster a net comes in, or goes out.
    fn port(&self, key: Key) -> Option<f64> {
        let at = |ports: &[Key]| ports.iter().position(|other| *other == key);
        let thing = at(&self.ins).or_else(|| at(&self.outs).map(|at| self.ins.len() + at))?;
        Some(self.layout.corners[self.nodes.len() + thing].0 + PORT.0 / 2.0 + NAME)
    }

    /// The line of a net to a node inside, or to its port; the cluster is at (0, 0).
    fn line(&self, key: Key, to: Option<usize>) -> Vec<Point> {
        let to = match to {
            Some(node) => self.nodes.iter().position(|&other| other == node),
            None => self.outs.iter().position(|other| *other == key).map(|at| self.nodes.len() + self.ins.len() + at),
        };
        let net = self.nets.iter().position(|(other, _)| *other == key);
        let line = net.zip(to).and_then(|(net, to)| {
            let end = self.nets[net].1.iter().position(|&other| other == to)?;
            Some(&self.layout.lines[net][end])
        });
        line.into_iter().flatten().map(|(x, y)| (x + NAME, y + PADDING)).collect()
    }
}

fn moved(points: Vec<Point>, by: Point) -> Vec<Point> {
    points.into_iter().map(|(x, y)| (x + by.0, y + by.1)).collect()
}

/// Two lines of which the second goes on where the first ends.
fn joined(mut first: Vec<Point>, second: Vec<Point>) -> Vec<Point> {
    first.extend(second);
    straightened(first)
}

/// Draws a graph whose nodes are so large.
pub(super) fn draw(graph: &Graph, sizes: &[Point]) -> Drawing {
    let groups = Groups::new(graph, &widened(graph, sizes));
    // The second time, ports are in the order of what they lead to.
    let (_, first) = groups.lay(&vec![BTreeMap::new(); graph.clusters.len()]);
    let order: Vec<BTreeMap<Key, f64>> = (0..graph.clusters.len()).map(|at| groups.sides(at, &first)).collect();
    let (inner, outer) = groups.lay(&order);
    groups.drawing(&inner, &outer)
}

/// Nodes are as wide as the lines need that end there.
fn widened(graph: &Graph, sizes: &[Point]) -> Vec<Point> {
    let lines = |at: usize| graph.edges.iter().filter(|edge| edge.to == at && edge.link != Link::Horizontal).count();
    sizes.iter().enumerate().map(|(at, size)| (size.0.max(PINS * (lines(at) + 3) as f64).round(), size.1)).collect()
}

/// The graph as clusters and what stands by itself.
struct Groups<'g> {
    graph: &'g Graph,
    sizes: Vec<Point>,
    /// For each node its cluster, or a number beyond those.
    group: Vec<usize>,
    /// Groups that are a node each.
    alone: Vec<usize>,
    /// Lines: all edges but those between neighbours.
    edges: Vec<(Key, usize)>,
}

impl<'g> Groups<'g> {
    fn new(graph: &'g Graph, sizes: &[Point]) -> Self {
        let mut group = vec![usize::MAX; graph.nodes.len()];
        for (number, cluster) in graph.clusters.iter().enumerate() {
            cluster.nodes.iter().for_each(|&at| group[at] = number);
        }
        let mut alone = Vec::new();
        for (at, number) in group.iter_mut().enumerate().filter(|(_, number)| **number == usize::MAX) {
            *number = graph.clusters.len() + alone.len();
            alone.push(at);
        }
        let lines = graph.edges.iter().filter(|edge| edge.link != Link::Horizontal);
        let edges = lines.map(|edge| ((edge.from, edge.link), edge.to)).collect();
        Self { graph, sizes: sizes.to_vec(), group, alone, edges }
    }

    /// Nets between groups, and the groups that they lead to.
    fn nets(&self) -> BTreeMap<Key, Vec<usize>> {
        let mut nets: BTreeMap<Key, Vec<usize>> = BTreeMap::new();
        for &(key, to) in self.edges.iter().filter(|(key, to)| self.group[key.0] != self.group[*to]) {
            let ends = nets.entry(key).or_default();
            if !ends.contains(&self.group[to]) {
                ends.push(self.group[to]);
            }
        }
        nets
    }

    /// Lays out each cluster, whose ports have an order from left to right, then all.
    fn lay(&self, order: &[BTreeMap<Key, f64>]) -> (Vec<Inner>, Layout) {
        let nets = self.nets();
        let mut inner = Vec::new();
        for (number, cluster) in self.graph.clusters.iter().enumerate() {
            let sorted = |mut keys: Vec<Key>| {
                let side = |key: &Key| order[number].get(key).copied().unwrap_or(0.0);
                keys.sort_by(|a, b| side(a).total_cmp(&side(b)));
                keys
            };
            let ins = nets.iter().filter(|(_, ends)| ends.contains(&number)).map(|(key, _)| *key).collect();
            let outs = nets.keys().filter(|key| self.group[key.0] == number).copied().collect();
            inner.push(Inner::new(&cluster.nodes, sorted(ins), sorted(outs), &self.edges, &self.sizes));
        }
        let free = |size: Point| Thing { size, layer: Layer::Any };
        let mut things: Vec<Thing> = inner.iter().map(|inner| free(inner.size())).collect();
        things.extend(self.alone.iter().map(|&at| free(self.sizes[at])));
        let pin = |group: usize, key: Key| Pin {
            thing: group,
            at: inner.get(group).and_then(|inner: &Inner| inner.port(key)),
        };
        let lines: Vec<Net> = nets
            .iter()
            .map(|(key, ends)| Net {
                from: pin(self.group[key.0], *key),
                to: ends.iter().map(|&group| pin(group, *key)).collect(),
            })
            .collect();
        let outer = layered(&things, &lines);
        (inner, outer)
    }

    /// How far to the left each net of a cluster comes from, or goes to.
    fn sides(&self, cluster: usize, outer: &Layout) -> BTreeMap<Key, f64> {
        let mut sides = BTreeMap::new();
        for ((key, ends), lines) in self.nets().iter().zip(&outer.lines) {
            let own = self.group[key.0] == cluster;
            // What comes in: where it leaves its source. What goes out: where it arrives, in the mean.
            let xs: Vec<f64> = ends
                .iter()
                .zip(lines)
                .filter(|(group, _)| own || **group == cluster)
                .filter_map(|(_, line)| if own { line.last() } else { line.first() })
                .map(|point| point.0)
                .collect();
            if !xs.is_empty() {
                sides.insert(*key, xs.iter().sum::<f64>() / xs.len() as f64);
            }
        }
        sides
    }

    /// Whether several nodes of a cluster read an array of this net together.
    fn together(&self, key: Key, cluster: usize) -> bool {
        let edges = &self.graph.edges;
        let mut values = edges.iter().filter(|edge| (edge.from, edge.link) == key && self.group[edge.to] == cluster);
        let neighbours = || edges.iter().filter(|edge| edge.link == Link::Horizontal && self.group[edge.to] == cluster);
        values.any(|edge| neighbours().any(|pair| pair.values.iter().any(|value| edge.values.contains(value))))
    }

    fn drawing(&self, inner: &[Inner], outer: &Layout) -> Drawing {
        let corner = |group: usize| (outer.corners[group].0 + MARGIN, outer.corners[group].1 + MARGIN);
        let mut nodes = vec![[0.0; 4]; self.graph.nodes.len()];
        let mut clusters = Vec::new();
        for (number, inner) in inner.iter().enumerate() {
            let ((x, y), (w, h)) = (corner(number), inner.size());
            clusters.push([x, y, w, h]);
            for (&node, at) in inner.nodes.iter().zip(&inner.layout.corners) {
                let (w, h) = self.sizes[node];
                nodes[node] = [x + NAME + at.0, y + PADDING + at.1, w, h];
            }
        }
        for (number, &node) in self.alone.iter().enumerate() {
            let ((x, y), (w, h)) = (corner(self.graph.clusters.len() + number), self.sizes[node]);
            nodes[node] = [x, y, w, h];
        }
        let nets = self.nets();
        let edges = self.graph.edges.iter().map(|edge| {
            if edge.link == Link::Horizontal {
                return Drawn::default();
            }
            let key = (edge.from, edge.link);
            let (from, to) = (self.group[edge.from], self.group[edge.to]);
            let inside = |group: usize, end| inner.get(group).map(|inner| moved(inner.line(key, end), corner(group)));
            if from == to {
                return Drawn { line: inside(from, Some(edge.to)).unwrap_or_default(), together: Vec::new() };
            }
            let between = nets.keys().position(|other| *other == key).and_then(|net| {
                let end = nets[&key].iter().position(|&group| group == to)?;
                Some(moved(outer.lines[net][end].clone(), (MARGIN, MARGIN)))
            });
            let line = joined(inside(from, None).unwrap_or_default(), between.unwrap_or_default());
            match inside(to, Some(edge.to)) {
                None => Drawn { line, together: Vec::new() },
                Some(together) if self.together(key, to) => Drawn { line, together },
                Some(rest) => Drawn { line: joined(line, rest), together: Vec::new() },
            }
        });
        Drawing {
            edges: edges.collect(),
            nodes,
            clusters,
            size: (outer.size.0 + 2.0 * MARGIN, outer.size.1 + 2.0 * MARGIN),
        }
    }
}
