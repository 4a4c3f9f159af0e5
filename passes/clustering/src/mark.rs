//! Clusters as bindings: marks, orders, and the block in an order in which every value is defined before it is used.

use std::collections::{BTreeSet, HashMap, HashSet};

use fusebox_ir::{ArrayId, ArrayOp, Binding, Block, ClusterMark, Extent, Fresh, Order, Var, analysis};

use crate::Clustering;

/// `block` (whose bindings are the nodes of the graph) with its clusters as bindings.
pub(crate) fn mark(block: Block, clustering: &Clustering, fresh: &mut Fresh) -> Block {
    let mut used_by: HashMap<ArrayId, Vec<usize>> = HashMap::new();
    for (position, binding) in block.bindings.iter().enumerate() {
        binding.for_each_use(&mut |id| used_by.entry(id).or_default().push(position));
    }
    let results: HashSet<ArrayId> = block.results.iter().copied().collect();
    let mut bindings: Vec<Option<Binding>> = block.bindings.into_iter().map(Some).collect();
    let mut marked = Vec::with_capacity(clustering.order.len());
    for group in &clustering.order {
        match *group {
            Group::Outside(position) => marked.extend(bindings[position].take()),
            Group::Cluster(index) => {
                let cluster = &clustering.clusters[index];
                let inside: BTreeSet<usize> = cluster.nodes.iter().copied().collect();
                let escapes = |id: ArrayId| {
                    results.contains(&id)
                        || used_by.get(&id).is_some_and(|users| users.iter().any(|user| !inside.contains(user)))
                };
                let body: Vec<Binding> = cluster.nodes.iter().filter_map(|&node| bindings[node].take()).collect();
                let orders = cluster.nodes.iter().zip(&cluster.makes).zip(&cluster.reads).zip(&body);
                let orders: Vec<Runs> = orders
                    .map(|(((_, &makes), &reads), binding)| {
                        // What is complete only after the last element has no order of its own.
                        let last = matches!(binding.op, ArrayOp::Permute { .. } | ArrayOp::PermutedExpand { .. })
                            || binding.results.iter().all(|var| var.ty.is_scalar());
                        if last { reads } else { makes }
                    })
                    .collect();
                marked.push(bind(body, &orders, &cluster.nodes, &escapes, fresh));
            }
        }
    }
    Block { bindings: marked, ..block }
}

/// A step of a block after clustering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Group {
    /// A node that no cluster holds.
    Outside(usize),
    /// A cluster, by position.
    Cluster(usize),
}

/// How a node runs: named by its position.
pub(crate) use crate::Runs;

fn bind(
    mut body: Vec<Binding>,
    orders: &[Runs],
    nodes: &[usize],
    escapes: &dyn Fn(ArrayId) -> bool,
    fresh: &mut Fresh,
) -> Binding {
    let place = body.last().map(|binding| binding.place.clone()).unwrap_or_default();
    let made: Vec<Var> = body.iter().flat_map(|binding| binding.results.iter().cloned()).collect();
    let mut given: HashSet<ArrayId> = made.iter().map(|var| var.id).filter(|&id| escapes(id)).collect();
    // What leaves takes along the sizes that its type names.
    for var in made.iter().rev().filter(|var| escapes(var.id)) {
        for extent in var.ty.all_extents() {
            if let Extent::Value(id) = extent
                && made.iter().any(|var| var.id == *id)
            {
                given.insert(*id);
            }
        }
    }
    let results: Vec<Var> = made.iter().filter(|var| given.contains(&var.id)).cloned().collect();
    // Outside, what leaves keeps its id; inside it gets another.
    let renamed: HashMap<ArrayId, ArrayId> = results.iter().map(|var| (var.id, fresh.id())).collect();
    let inside = |id: ArrayId| renamed.get(&id).copied().unwrap_or(id);
    for binding in &mut body {
        binding.substitute(&mut |id| inside(id).into());
        binding.results.iter_mut().for_each(|var| var.id = inside(var.id));
    }
    let block_results: Vec<ArrayId> = results.iter().map(|var| inside(var.id)).collect();
    let order = |runs: Runs| match runs {
        Runs::Ascending => Order::Ascending,
        Runs::Descending => Order::Descending,
        Runs::Of(node) => {
            let position = nodes.iter().position(|&other| other == node);
            let id = position.and_then(|position| body[position].results.first()).map(|var| var.id);
            id.map_or(Order::Ascending, Order::Of)
        }
    };
    let whole = orders.last().map_or(Order::Ascending, |&runs| order(runs));
    let marks = analysis::marks(&body, &block_results);
    let marks = marks.into_iter().zip(orders).map(|(mark, &runs)| {
        let own = order(runs);
        ClusterMark { mark, order: (own != whole).then_some(own) }
    });
    let marks = marks.collect();
    let body = Block { bindings: body, results: block_results, ..Block::default() };
    Binding { results, op: ArrayOp::Cluster { body, marks, order: whole }, place }
}

/// The bindings of a block that its results need.
pub(crate) fn live(mut block: Block) -> Block {
    let live = analysis::live(&block);
    let mut live = live.into_iter();
    block.bindings.retain(|_| live.next().unwrap_or(true));
    block
}
