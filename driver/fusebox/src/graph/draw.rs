//! The graphs of a program: nodes of its operations, edges between what makes a value and what uses it.

use std::collections::{BTreeSet, HashMap, HashSet};

use fusebox_ir::{ArrayId, ArrayOp, Binding, Block, Extent, Mark, Part, Program, Type, Var, text};

use super::{Cluster, Edge, Graph, Link, Node, NodeKind, Reasons};

/// The graph of a program's body, and of each block inside that holds operations, from the outside in.
pub(crate) fn graphs(program: &Program, reasons: &Reasons) -> Vec<Graph> {
    let mut names = text::value_names(program);
    let mut types = HashMap::new();
    program.body.for_each_definition(&mut |var| {
        types.insert(var.id, var.ty.clone());
        // Text gives the results of a cluster other names than what makes them inside: here they are one thing.
        if !var.name.is_empty() {
            names.insert(var.id, var.name.0.clone());
        }
    });
    let sizes = sizes(&program.body);
    let mut graphs = Vec::new();
    let mut rest = vec![(String::new(), &program.body)];
    while let Some((path, block)) = rest.pop() {
        let mut drawing =
            Drawing { names: &names, types: &types, sizes: &sizes, reasons, graph: Graph { path, ..Graph::default() } };
        let inner = drawing.block(block);
        // The first block is the next.
        rest.extend(inner.into_iter().rev());
        let graph = drawing.graph;
        if graph.nodes.iter().any(|node| matches!(node.kind, NodeKind::Operation | NodeKind::Control))
            || graph.path.is_empty()
        {
            graphs.push(graph);
        }
    }
    graphs
}

/// The values that an operation uses, and those extents of its results that this block makes.
fn uses_of(binding: &Binding, made: &HashMap<ArrayId, usize>) -> Vec<ArrayId> {
    let mut uses = binding.op.uses();
    for extent in binding.results.iter().flat_map(|var| var.ty.all_extents()) {
        if let Extent::Value(id) = extent
            && !uses.contains(id)
            && made.contains_key(id)
            && !binding.results.iter().any(|var| var.id == *id)
        {
            uses.push(*id);
        }
    }
    uses
}

/// The sizes that types of parameters bind, in all blocks.
fn sizes(body: &Block) -> HashSet<ArrayId> {
    let mut sizes = HashSet::new();
    let mut blocks = vec![body];
    while let Some(block) = blocks.pop() {
        sizes.extend(block.sizes.iter().map(|size| size.id));
        for binding in &block.bindings {
            blocks.extend(
                binding
                    .op
                    .parts()
                    .into_iter()
                    .filter_map(|part| if let Part::Body(body) = part { Some(body) } else { None }),
            );
        }
    }
    sizes
}

struct Drawing<'p> {
    names: &'p HashMap<ArrayId, String>,
    types: &'p HashMap<ArrayId, Type>,
    /// Sizes that types bind. They get no edges, since types show them.
    sizes: &'p HashSet<ArrayId>,
    reasons: &'p Reasons,
    graph: Graph,
}

impl<'p> Drawing<'p> {
    fn name(&self, id: ArrayId) -> String {
        self.names.get(&id).cloned().unwrap_or_else(|| id.to_string())
    }

    /// Draws a block, and returns the blocks inside of its operations.
    fn block(&mut self, block: &'p Block) -> Vec<(String, &'p Block)> {
        let mut made: HashMap<ArrayId, usize> = HashMap::new();
        let mut inner = Vec::new();
        let mut uses: Vec<(usize, Vec<ArrayId>)> = Vec::new();
        for binding in &block.bindings {
            if let ArrayOp::Cluster { body, marks, .. } = &binding.op {
                let cluster = self.graph.clusters.len();
                let mut nodes = Vec::new();
                for (binding, mark) in body.bindings.iter().zip(marks) {
                    let at = self.binding(binding, mark.mark != Mark::Vertical, Some(cluster));
                    made.extend(binding.results.iter().map(|var| (var.id, at)));
                    uses.push((at, uses_of(binding, &made)));
                    nodes.push(at);
                }
                self.graph.clusters.push(Cluster { nodes });
                let results = binding.results.iter().zip(&body.results);
                let results: Vec<_> = results.filter_map(|(var, id)| Some((var.id, *made.get(id)?))).collect();
                made.extend(results);
                continue;
            }
            let at = self.binding(binding, true, None);
            made.extend(binding.results.iter().map(|var| (var.id, at)));
            uses.push((at, uses_of(binding, &made)));
            let bodies: Vec<&Block> = binding
                .op
                .parts()
                .into_iter()
                .filter_map(|part| if let Part::Body(body) = part { Some(body) } else { None })
                .collect();
            let several = bodies.len() > 1;
            for (position, body) in bodies.into_iter().enumerate() {
                let which = match (&binding.op, position) {
                    (ArrayOp::Cond { .. }, 0) => ", where its condition holds".to_owned(),
                    (ArrayOp::Cond { .. }, _) => ", where its condition does not hold".to_owned(),
                    (ArrayOp::While { .. }, 0) => ", condition".to_owned(),
                    (ArrayOp::While { .. }, _) => ", each turn".to_owned(),
                    _ if several => format!(", block {}", position + 1),
                    _ => String::new(),
                };
                let result = binding.results.first().map_or(String::new(), |var| self.name(var.id));
                let around =
                    if self.graph.path.is_empty() { String::new() } else { format!("{} › ", self.graph.path) };
                inner.push((format!("{around}{} {result}{which}", binding.op.name()), body));
            }
        }
        self.edges(&uses, &mut made);
        self.horizontal(&uses);
        for id in &block.results {
            if let Some(&at) = made.get(id) {
                self.graph.nodes[at].result = true;
            }
        }
        inner
    }

    fn binding(&mut self, binding: &Binding, manifest: bool, cluster: Option<usize>) -> usize {
        let kind = match &binding.op {
            ArrayOp::Unit { .. } | ArrayOp::Constant { .. } => NodeKind::Scalar,
            op if op.parts().iter().any(|part| matches!(part, Part::Body(_))) => NodeKind::Control,
            _ => NodeKind::Operation,
        };
        let manifest = manifest && kind == NodeKind::Operation;
        let vars: Vec<&Var> = binding.results.iter().collect();
        let at = self.node(&vars, binding.op.name(), kind, manifest, cluster, binding.place.to_string());
        self.graph.nodes[at].whole = kind == NodeKind::Control
            || matches!(
                binding.op,
                ArrayOp::Sort { .. }
                    | ArrayOp::Concat { .. }
                    | ArrayOp::Reshape { .. }
                    | ArrayOp::Foreign { .. }
                    | ArrayOp::Element { .. }
            );
        at
    }

    fn node(
        &mut self,
        vars: &[&Var],
        operation: &'static str,
        kind: NodeKind,
        manifest: bool,
        cluster: Option<usize>,
        place: String,
    ) -> usize {
        let results = vars.iter().map(|var| self.name(var.id)).collect();
        let ty = vars.first().map_or(String::new(), |var| self.ty(&var.ty));
        self.graph.nodes.push(Node {
            results,
            operation,
            kind,
            ty,
            manifest,
            result: false,
            cluster,
            place,
            whole: false,
        });
        self.graph.nodes.len() - 1
    }

    fn ty(&self, ty: &Type) -> String {
        let extents = |extents: &[Extent]| {
            let shown: Vec<_> = extents
                .iter()
                .map(|extent| match extent {
                    Extent::Constant(n) => n.to_string(),
                    Extent::Value(id) => self.name(*id),
                    Extent::Unknown => "?".to_owned(),
                })
                .collect();
            format!("[{}]", shown.join(", "))
        };
        let outer = if ty.extents.is_empty() { String::new() } else { extents(&ty.extents) };
        let inner: String = ty.inner.iter().map(|inner| extents(inner)).collect();
        format!("{}{outer}{inner}{}", if ty.stream { "stream " } else { "" }, ty.element.name())
    }

    /// Joins nodes to what they use. Values from outside become nodes where they are first used; sizes are in types already.
    fn edges(&mut self, uses: &[(usize, Vec<ArrayId>)], made: &mut HashMap<ArrayId, usize>) {
        let mut edges: HashMap<(usize, usize), usize> = HashMap::new();
        for (to, used) in uses {
            for &id in used {
                if self.sizes.contains(&id) {
                    continue;
                }
                let from = match made.get(&id) {
                    Some(&from) => from,
                    None => {
                        let var = Var {
                            id,
                            ty: self
                                .types
                                .get(&id)
                                .cloned()
                                .unwrap_or_else(|| Type::scalar(fusebox_ir::ElementType::I64)),
                            name: Default::default(),
                        };
                        let at = self.node(&[&var], "input", NodeKind::Input, false, None, String::new());
                        made.insert(id, at);
                        at
                    }
                };
                if from == *to {
                    continue;
                }
                let name = self.name(id);
                match edges.get(&(from, *to)) {
                    Some(&edge) => {
                        let values = &mut self.graph.edges[edge].values;
                        if !values.contains(&name) {
                            values.push(name);
                        }
                    }
                    None => {
                        edges.insert((from, *to), self.graph.edges.len());
                        let scalar = self.types.get(&id).is_some_and(Type::is_scalar);
                        let edge = self.edge(from, *to, name, scalar);
                        self.graph.edges.push(edge);
                    }
                }
            }
        }
    }

    fn edge(&self, from: usize, to: usize, value: String, scalar: bool) -> Edge {
        let (producer, consumer) = (&self.graph.nodes[from], &self.graph.nodes[to]);
        let link = match (producer.kind, producer.cluster) {
            (NodeKind::Input | NodeKind::Scalar, _) => Link::Given,
            (_, Some(cluster)) if consumer.cluster == Some(cluster) => {
                if producer.manifest {
                    Link::Diagonal
                } else {
                    Link::Vertical
                }
            }
            _ => Link::Infusible,
        };
        let why = if link == Link::Infusible { self.reason(from, to, scalar) } else { None };
        Edge { from, to, link, values: vec![value], why }
    }

    /// Why two nodes are not fused, one of which makes a scalar for the other, or an array.
    fn reason(&self, from: usize, to: usize, scalar: bool) -> Option<String> {
        let name = |at: usize| self.graph.nodes[at].results.first().cloned();
        if let Some(reason) = self.reasons.get(&(name(from)?, name(to)?)) {
            return Some(reason.clone());
        }
        let (producer, consumer) = (&self.graph.nodes[from], &self.graph.nodes[to]);
        match (producer.whole, consumer.whole) {
            (true, _) => Some(format!("a {} gives it as a whole", producer.operation)),
            (false, true) => Some(format!("a {} needs it as a whole", consumer.operation)),
            (false, false) if scalar => Some("a scalar is complete only after the last element".to_owned()),
            // Scalar code between operations.
            (false, false) if consumer.kind == NodeKind::Scalar => {
                Some("it is read by index, so it must be complete before".to_owned())
            }
            (false, false) => None,
        }
    }

    /// Joins neighbours in a cluster that read the same array and do not use each other: each to the next.
    fn horizontal(&mut self, uses: &[(usize, Vec<ArrayId>)]) {
        let uses: HashMap<usize, &Vec<ArrayId>> = uses.iter().map(|(at, used)| (*at, used)).collect();
        let mut joined: BTreeSet<(usize, usize)> = BTreeSet::new();
        let mut new: Vec<Edge> = Vec::new();
        for cluster in &self.graph.clusters {
            let after = self.reachable(&cluster.nodes);
            let mut readers: Vec<(ArrayId, Vec<usize>)> = Vec::new();
            for &at in &cluster.nodes {
                for &id in uses.get(&at).into_iter().copied().flatten() {
                    if self.types.get(&id).is_none_or(Type::is_scalar) {
                        continue;
                    }
                    match readers.iter_mut().find(|(array, _)| *array == id) {
                        Some((_, list)) => list.push(at),
                        None => readers.push((id, vec![at])),
                    }
                }
            }
            for (id, list) in readers {
                for pair in list.windows(2) {
                    let (a, b) = (pair[0], pair[1]);
                    if a == b || after.contains(&(a, b)) {
                        continue;
                    }
                    let value = self.names.get(&id).cloned().unwrap_or_default();
                    if joined.insert((a, b)) {
                        new.push(Edge { from: a, to: b, link: Link::Horizontal, values: vec![value], why: None });
                    } else if let Some(edge) = new.iter_mut().find(|edge| (edge.from, edge.to) == (a, b)) {
                        edge.values.push(value);
                    }
                }
            }
        }
        self.graph.edges.extend(new);
    }

    /// Pairs of nodes of a cluster of which the second uses the first, through others of the cluster too.
    fn reachable(&self, nodes: &[usize]) -> HashSet<(usize, usize)> {
        let inside: HashSet<usize> = nodes.iter().copied().collect();
        let mut before: HashMap<usize, HashSet<usize>> = HashMap::new();
        for &at in nodes {
            let mut all = HashSet::new();
            for edge in self.graph.edges.iter().filter(|edge| edge.to == at && inside.contains(&edge.from)) {
                all.insert(edge.from);
                all.extend(before.get(&edge.from).into_iter().flatten());
            }
            before.insert(at, all);
        }
        before.into_iter().flat_map(|(to, all)| all.into_iter().map(move |from| (from, to))).collect()
    }
}
