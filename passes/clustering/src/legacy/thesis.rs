//! The model of van Balen's thesis, as in its companion code.

use std::collections::{BTreeMap, BTreeSet};

use crate::{Error, Graph, Kind, Model, Source};

/// The model and what its variables stand for. Externals are nodes too (`use`), after those of the graph.
#[derive(Clone, Debug)]
pub struct Thesis {
    /// To be minimised: the number of unfused edges.
    pub model: Model,
    /// The variable of a pair: 0 where it is fused.
    pub fused: BTreeMap<(usize, usize), usize>,
    /// The variable of a node's cluster.
    pub cluster: Vec<usize>,
}

/// Builds the model of a graph.
///
/// # Errors
/// Those of [`Graph::check`]; [`Error::Graph`] of an expand, which the thesis does not have.
pub fn thesis(graph: &Graph) -> Result<Thesis, Error> {
    graph.check()?;
    let nodes = graph.nodes.len();
    let count = nodes + graph.externals.len();
    let (mut vertical, mut preventing) = (BTreeSet::new(), BTreeSet::new());
    for edge in &graph.edges {
        let from = match edge.from {
            Source::Output(node, _) => node,
            Source::External(external) => nodes + external,
        };
        let unfusable = matches!(graph.nodes[edge.to].kind, Kind::Outside);
        let set = if edge.complete.is_some() || unfusable { &mut preventing } else { &mut vertical };
        set.insert((from, edge.to));
    }
    let mut beside = BTreeSet::new();
    for from in 0..count {
        let readers: Vec<usize> = vertical.iter().filter(|(maker, _)| *maker == from).map(|(_, to)| *to).collect();
        for (position, &a) in readers.iter().enumerate() {
            beside.extend(readers[position + 1..].iter().map(|&b| (a, b)));
        }
    }
    let mut model = Model::default();
    let mut fused = BTreeMap::new();
    let pairs: BTreeSet<(usize, usize)> = vertical.iter().chain(&beside).chain(&preventing).copied().collect();
    for &(x, y) in &pairs {
        let counts = vertical.contains(&(x, y)) || beside.contains(&(x, y));
        let least = if preventing.contains(&(x, y)) { 1.0 } else { 0.0 };
        let variable = model.variable(format!("f_{x}_{y}"), (least, 1.0), true, f64::from(counts));
        fused.insert((x, y), variable);
    }
    let most = 2.0 * count.max(1) as f64;
    let cluster: Vec<usize> =
        (0..count).map(|node| model.variable(format!("pi_{node}"), (0.0, most), true, 0.0)).collect();
    let mut orders = Vec::with_capacity(count);
    for node in 0..count {
        let kind = graph.nodes.get(node).map_or(Kind::Source, |node| node.kind);
        let inputs = vertical.iter().filter(|(_, to)| *to == node).count();
        // Bounds of `in`, bounds of `out`, whether they are equal.
        let (reads, makes, equal) = match kind {
            // They read nothing in an order, but have the variable there too.
            Kind::Outside | Kind::Source => ((0.0, 2.0), (0.0, 2.0), false),
            Kind::Elementwise if inputs < 2 => ((0.0, 1.0), (0.0, 1.0), true),
            Kind::Elementwise | Kind::Fold | Kind::FoldSegments => ((0.0, 2.0), (0.0, 2.0), true),
            Kind::FoldAll | Kind::Permute { .. } => ((0.0, 2.0), (0.0, 2.0), false),
            Kind::ScanLeft { .. } => ((0.0, 0.0), (0.0, 0.0), true),
            Kind::ScanRight { .. } => ((1.0, 1.0), (1.0, 1.0), true),
            Kind::Gather { .. } => ((2.0, 2.0), (0.0, 2.0), false),
            Kind::Expand | Kind::PermutedExpand => {
                return Err(Error::Graph { what: "the thesis has no expand and no filter".to_owned() });
            }
        };
        let reads = model.variable(format!("in_{node}"), reads, false, 0.0);
        let makes = model.variable(format!("out_{node}"), makes, false, 0.0);
        if equal {
            model.row(format!("order_{node}"), &[(reads, 1.0), (makes, -1.0)], 0.0, 0.0);
        }
        orders.push((reads, makes));
    }
    let (none, any) = (f64::NEG_INFINITY, f64::INFINITY);
    for &(x, y) in &preventing {
        model.row(format!("before_{x}_{y}"), &[(cluster[y], 1.0), (cluster[x], -1.0)], 1.0, any);
    }
    for &(x, y) in vertical.union(&preventing) {
        let f = fused[&(x, y)];
        model.row(format!("least_{x}_{y}"), &[(cluster[y], 1.0), (cluster[x], -1.0), (f, -1.0)], 0.0, any);
        model.row(format!("most_{x}_{y}"), &[(cluster[y], 1.0), (cluster[x], -1.0), (f, -most)], none, 0.0);
    }
    let mut within = |name: String, first: usize, second: usize, f: usize, distance: f64| {
        model.row(format!("{name}_up"), &[(second, 1.0), (first, -1.0), (f, -distance)], none, 0.0);
        model.row(format!("{name}_down"), &[(first, 1.0), (second, -1.0), (f, -distance)], none, 0.0);
    };
    for &(x, y) in &beside {
        within(format!("beside_{x}_{y}"), cluster[x], cluster[y], fused[&(x, y)], most);
    }
    for &(x, y) in &vertical {
        within(format!("runs_{x}_{y}"), orders[x].1, orders[y].0, fused[&(x, y)], 2.0);
    }
    for &(x, y) in &beside {
        within(format!("reads_{x}_{y}"), orders[x].0, orders[y].0, fused[&(x, y)], 2.0);
    }
    Ok(Thesis { model, fused, cluster })
}
