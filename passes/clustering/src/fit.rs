//! Whether nodes fit into one cluster, said directly by the rules: the judge of every clustering, whoever proposes it.

use fusebox_ir::analysis::UnionFind;

use crate::{
    orders::{Domain, meet},
    pairs::Refusal,
    problem::Problem,
};

/// In what orders the nodes of a cluster run, and which pairs are fused.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fit {
    /// For each node of the cluster, in the order given: how it runs over what it reads.
    pub(crate) reads: Vec<u32>,
    /// How it makes its elements.
    pub(crate) makes: Vec<u32>,
    /// Class of what is folded one dimension inside of what it reads, if any.
    pub(crate) inner_read: Vec<u32>,
    /// And of each output.
    pub(crate) inner_made: Vec<Vec<u32>>,
    /// Positions of fused pairs, ascending.
    pub(crate) fused: Vec<usize>,
}

/// Slots of equal values: united, each with what it may be.
struct Slots {
    unite: UnionFind,
    domains: Vec<Domain>,
}

impl Slots {
    /// Makes two slots one, if something is left for it.
    fn unite(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.unite.find(a), self.unite.find(b));
        let Some(domain) = meet(self.domains[a], self.domains[b]) else { return false };
        let root = self.unite.unite(a, b);
        self.domains[root] = domain;
        true
    }

    fn may_unite(&mut self, a: usize, b: usize) -> bool {
        let (a, b) = (self.unite.find(a), self.unite.find(b));
        meet(self.domains[a], self.domains[b]).is_some()
    }

    fn narrow(&mut self, slot: usize, to: Domain) -> bool {
        let root = self.unite.find(slot);
        match meet(self.domains[root], to) {
            Some(domain) => {
                self.domains[root] = domain;
                true
            }
            None => false,
        }
    }

    fn get(&mut self, slot: usize) -> Domain {
        let root = self.unite.find(slot);
        self.domains[root]
    }
}

/// Reused between calls: for each node its position in the cluster.
pub(crate) struct Fitter<'p> {
    problem: &'p Problem<'p>,
    position: Vec<u32>,
}

const OUTSIDE: u32 = u32::MAX;

impl<'p> Fitter<'p> {
    pub(crate) fn new(problem: &'p Problem<'p>) -> Self {
        Self { problem, position: vec![OUTSIDE; problem.graph.nodes.len()] }
    }

    /// Tries `nodes` as one cluster. Of pairs that only read the same, those that `first` asks for are fused first.
    ///
    /// What stands between them outside of the cluster is not looked at: see [`crate::partition::Partition`].
    ///
    /// # Errors
    /// The first rule that is broken.
    pub(crate) fn fit(&mut self, nodes: &[usize], first: &dyn Fn(usize) -> bool) -> Result<Fit, Refusal> {
        for (position, &node) in nodes.iter().enumerate() {
            self.position[node] = position as u32;
        }
        let fit = self.inside(nodes, first);
        nodes.iter().for_each(|&node| self.position[node] = OUTSIDE);
        fit
    }

    fn inside(&self, nodes: &[usize], first: &dyn Fn(usize) -> bool) -> Result<Fit, Refusal> {
        let problem = self.problem;
        let graph = problem.graph;
        let at = |node: usize| self.position[node] as usize;
        let is_inside = |node: usize| self.position[node] != OUTSIDE;
        let mut segments = None;
        let mut need = None;
        for &node in nodes {
            if *need.get_or_insert(graph.nodes[node].need) != graph.nodes[node].need {
                return Err(Refusal::Need);
            }
            if let Some(class) = graph.nodes[node].segments
                && *segments.get_or_insert(class) != class
            {
                return Err(Refusal::Segments);
            }
            for &(to, why) in &problem.next[node] {
                if let Some(why) = why
                    && is_inside(to)
                {
                    return Err(Refusal::Complete(why));
                }
            }
        }
        // Slots of orders: what node i reads is 2 i, what it makes 2 i + 1. Of classes: starts[i], then its outputs.
        let mut orders = Slots { unite: UnionFind::new(2 * nodes.len()), domains: Vec::with_capacity(2 * nodes.len()) };
        let mut inners = Slots { unite: UnionFind::new(0), domains: Vec::new() };
        let mut starts = Vec::with_capacity(nodes.len());
        // Class 0 stands for none.
        let class = |class: Option<u32>| class.map_or((0, problem.inners), |class| (class + 1, class + 1));
        for &node in nodes {
            orders.domains.extend([problem.reads(node), problem.made(node)]);
            starts.push(inners.domains.len());
            inners.domains.push(class(problem.inner_read[node]));
            inners.domains.extend(problem.inner_made[node].iter().map(|made| class(*made)));
        }
        inners.unite = UnionFind::new(inners.domains.len());
        for (position, &node) in nodes.iter().enumerate() {
            if problem.keeps_order(node) && !orders.unite(2 * position, 2 * position + 1) {
                return Err(Refusal::Order);
            }
            for output in 0..problem.inner_made[node].len() {
                if problem.keeps_inner(node, output) && !inners.unite(starts[position], starts[position] + 1 + output) {
                    return Err(Refusal::Inner);
                }
            }
        }
        let mut fit = Fit::default();
        let mut connected = UnionFind::new(nodes.len());
        let mut written: Vec<bool> = nodes.iter().map(|&node| problem.written[node].contains(&true)).collect();
        let mut beside = Vec::new();
        for &node in nodes {
            for &index in &problem.of_node[node] {
                let pair = &problem.pairs[index];
                if pair.a != node {
                    continue;
                }
                if !is_inside(pair.b) {
                    written[at(node)] |= pair.is_vertical();
                    continue;
                }
                if !pair.is_vertical() {
                    beside.push(index);
                    continue;
                }
                if let Some(refusal) = &pair.refused {
                    return Err(refusal.clone());
                }
                if !orders.unite(2 * at(pair.a) + 1, 2 * at(pair.b)) {
                    return Err(Refusal::Order);
                }
                for &output in &pair.outputs {
                    if !inners.unite(starts[at(pair.a)] + 1 + output, starts[at(pair.b)]) {
                        return Err(Refusal::Inner);
                    }
                }
                connected.unite(at(pair.a), at(pair.b));
                fit.fused.push(index);
            }
        }
        for (position, &node) in nodes.iter().enumerate() {
            if written[position] && problem.has_order(node) && !orders.narrow(2 * position + 1, problem.stored()) {
                return Err(Refusal::Stored(node));
            }
        }
        beside.sort_by_key(|&index| (!first(index), index));
        for index in beside {
            let pair = &problem.pairs[index];
            let (a, b) = (at(pair.a), at(pair.b));
            if pair.refused.is_none() && orders.may_unite(2 * a, 2 * b) && inners.may_unite(starts[a], starts[b]) {
                orders.unite(2 * a, 2 * b);
                inners.unite(starts[a], starts[b]);
                connected.unite(a, b);
                fit.fused.push(index);
            }
        }
        if (1..nodes.len()).any(|position| connected.find(position) != connected.find(0)) {
            return Err(Refusal::Apart);
        }
        let up = problem.up();
        let pick = |(low, high): Domain| if low <= up && up <= high { up } else { low };
        let mut appended = None;
        for (position, &node) in nodes.iter().enumerate() {
            fit.reads.push(pick(orders.get(2 * position)));
            let makes = pick(orders.get(2 * position + 1));
            if written[position] && makes > up && problem.has_order(node) {
                let other = *appended.get_or_insert((makes, node));
                if other.0 != makes {
                    return Err(Refusal::Appends(other.1, node));
                }
            }
            fit.makes.push(makes);
            fit.inner_read.push(inners.get(starts[position]).0);
            let outputs = 0..problem.inner_made[node].len();
            fit.inner_made.push(outputs.map(|output| inners.get(starts[position] + 1 + output).0).collect());
        }
        fit.fused.sort_unstable();
        Ok(fit)
    }
}
