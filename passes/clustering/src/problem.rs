//! A graph made ready for clustering: pairs that might share a pass, why others cannot, what is written in any case.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use crate::{
    Error,
    bits::Bits,
    graph::{Complete, Graph, Kind, Source},
};

/// Two nodes that might be fused: a producer and its consumer, or two that traverse the same array.
#[derive(Clone, Debug)]
pub(crate) struct Pair {
    /// The producer, or the earlier one.
    pub(crate) a: usize,
    pub(crate) b: usize,
    /// The outputs of `a` that `b` traverses; none of two that only read the same.
    pub(crate) outputs: Vec<usize>,
    /// The arrays that need not be read (again) if they are fused.
    pub(crate) weight: u32,
    /// Why they are never fused, whatever else is.
    pub(crate) refused: Option<Refusal>,
}

impl Pair {
    /// Whether it is a producer and its consumer.
    pub(crate) fn is_vertical(&self) -> bool {
        !self.outputs.is_empty()
    }
}

/// Why nodes cannot share a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// An edge between the two must be complete.
    Complete(Complete),
    /// Something between them must be complete.
    Between(usize),
    /// The first is too expensive to be computed wherever the second reads it.
    Expensive(usize),
    /// One is needed anyway, the other only by a branch.
    Need,
    /// Different segments.
    Segments,
    /// They run in different orders.
    Order,
    /// It is stored too, so it is made in the order of memory.
    Stored(usize),
    /// Rows of different lengths are combined inside.
    Inner,
    /// Two groups of elements would be appended, one beside the other.
    Appends(usize, usize),
    /// Something outside the cluster would have to stand between.
    Cycle(usize),
    /// Nothing that is read or made is shared.
    Apart,
    /// The shared analysis of nests says no.
    Nest(String),
}

/// The least and the largest number of an order, in the numbering of [`Problem`].
pub(crate) type Domain = (u32, u32);

/// The graph with what follows from it.
pub(crate) struct Problem<'g> {
    pub(crate) graph: &'g Graph,
    /// Nodes that are operations.
    pub(crate) operations: usize,
    pub(crate) pairs: Vec<Pair>,
    /// Pairs by node.
    pub(crate) of_node: Vec<Vec<usize>>,
    /// For each node those that need it, ascending; whether it must be complete before and why.
    pub(crate) next: Vec<Vec<(usize, Option<Complete>)>>,
    /// How many others each node is needed by, in the whole graph.
    pub(crate) users: Vec<usize>,
    /// Nodes so that edges lead forwards.
    pub(crate) sorted: Vec<usize>,
    /// Position of each node in `sorted`.
    pub(crate) rank: Vec<usize>,
    /// Outputs that are written whatever is fused.
    pub(crate) written: Vec<Vec<bool>>,
    /// Outputs that somebody reads or wants.
    pub(crate) used: Vec<Vec<bool>>,
    /// The orders of gathers are below it, then come downwards, upwards, and those of what expands append.
    pub(crate) down: u32,
    /// The number of orders.
    pub(crate) orders: u32,
    /// The order that a gather reads in, or an expand appends in.
    pub(crate) own_order: Vec<Option<u32>>,
    /// Classes of extents folded one dimension inside: of what is read, and of each output.
    pub(crate) inner_read: Vec<Option<u32>>,
    pub(crate) inner_made: Vec<Vec<Option<u32>>>,
    /// The number of such classes.
    pub(crate) inners: u32,
    /// Arrays that are traversed, and how often arrays are read that must be complete: for [`crate::Objective::ArrayReads`].
    pub(crate) traversed: BTreeMap<Source, Vec<usize>>,
    /// What each node traverses.
    pub(crate) traversed_by: Vec<Vec<Source>>,
    pub(crate) complete_reads: u64,
    /// Arrays of which not all pairs of readers are weighed, with the number of readers.
    pub(crate) unweighed: Vec<(Source, usize)>,
    /// For each node those that wait for it to be complete; empty in large graphs.
    pub(crate) after: Vec<Bits>,
}

/// With how many others that read the same array an operation is paired, at most.
pub(crate) const MAX_BESIDE: usize = 16;

impl<'g> Problem<'g> {
    pub(crate) fn new(graph: &'g Graph) -> Result<Self, Error> {
        graph.check()?;
        let count = graph.nodes.len();
        let mut next: Vec<BTreeMap<usize, Option<Complete>>> = vec![BTreeMap::new(); count];
        let mut traversed: BTreeMap<Source, Vec<usize>> = BTreeMap::new();
        let mut complete: HashSet<(Source, usize)> = HashSet::new();
        for edge in &graph.edges {
            let why = complete_because(graph, edge.from, edge.to, edge.complete);
            if why.is_some() {
                complete.insert((edge.from, edge.to));
            }
            if let Source::Output(from, _) = edge.from {
                let entry = next[from].entry(edge.to).or_insert(why);
                *entry = entry.or(why);
            }
        }
        for edge in &graph.edges {
            let traverses = edge.complete.is_none() && graph.nodes[edge.to].kind != Kind::Outside;
            let alone = match edge.from {
                Source::External(_) => true,
                Source::Output(from, _) => graph.nodes[from].kind != Kind::Outside,
            };
            if traverses && alone {
                traversed.entry(edge.from).or_default().push(edge.to);
            }
        }
        for readers in traversed.values_mut() {
            readers.sort_unstable();
            readers.dedup();
        }
        let next: Vec<Vec<(usize, Option<Complete>)>> =
            next.into_iter().map(|of_node| of_node.into_iter().collect()).collect();
        let mut previous = vec![Vec::new(); count];
        for (node, after) in next.iter().enumerate() {
            after.iter().for_each(|&(to, _)| previous[to].push(node));
        }
        let sorted = sorted(graph, &next, &previous)?;
        let mut rank = vec![0; count];
        sorted.iter().enumerate().for_each(|(position, &node)| rank[node] = position);
        let traversed_by = traversed_by(&traversed, count);
        let mut problem = Self {
            graph,
            operations: graph.nodes.iter().filter(|node| node.kind != Kind::Outside).count(),
            pairs: Vec::new(),
            of_node: vec![Vec::new(); count],
            users: next.iter().map(Vec::len).collect(),
            next,
            sorted,
            rank,
            written: graph.nodes.iter().map(|node| node.outputs.iter().map(|output| output.result).collect()).collect(),
            used: graph.nodes.iter().map(|node| node.outputs.iter().map(|output| output.result).collect()).collect(),
            down: 0,
            orders: 0,
            own_order: vec![None; count],
            inner_read: vec![None; count],
            inner_made: graph.nodes.iter().map(|node| vec![None; node.outputs.len()]).collect(),
            inners: 0,
            traversed_by,
            traversed,
            complete_reads: complete.len() as u64,
            unweighed: Vec::new(),
            after: Vec::new(),
        };
        for edge in &graph.edges {
            if let Source::Output(from, output) = edge.from {
                problem.used[from][output] = true;
                if complete.contains(&(edge.from, edge.to)) {
                    problem.written[from][output] = true;
                }
            }
        }
        problem.number_orders();
        problem.number_inners();
        problem.find_pairs(&complete);
        for (position, pair) in problem.pairs.iter().enumerate() {
            problem.of_node[pair.a].push(position);
            problem.of_node[pair.b].push(position);
        }
        Ok(problem)
    }

    fn number_orders(&mut self) {
        let mut shared: HashMap<u32, u32> = HashMap::new();
        let mut gathers = 0;
        for (node, own) in self.graph.nodes.iter().zip(&mut self.own_order) {
            if let Kind::Gather { order } = node.kind {
                let fresh = |gathers: &mut u32| {
                    *gathers += 1;
                    *gathers - 1
                };
                *own = Some(match order {
                    Some(order) => *shared.entry(order).or_insert_with(|| fresh(&mut gathers)),
                    None => fresh(&mut gathers),
                });
            }
        }
        self.down = gathers;
        self.orders = gathers + 2;
        for (node, own) in self.graph.nodes.iter().zip(&mut self.own_order) {
            if node.kind == Kind::Expand {
                *own = Some(self.orders);
                self.orders += 1;
            }
        }
    }

    fn number_inners(&mut self) {
        let mut classes: HashMap<u32, u32> = HashMap::new();
        let mut number = |given: Option<u32>, inners: &mut u32| {
            let mut fresh = || {
                *inners += 1;
                *inners - 1
            };
            match given {
                Some(class) => *classes.entry(class).or_insert_with(fresh),
                None => fresh(),
            }
        };
        for (position, node) in self.graph.nodes.iter().enumerate() {
            if matches!(node.kind, Kind::Expand | Kind::PermutedExpand) || node.inner.is_some() {
                self.inner_read[position] = Some(number(node.inner, &mut self.inners));
            }
            for (made, output) in self.inner_made[position].iter_mut().zip(&node.outputs) {
                if matches!(node.kind, Kind::Fold | Kind::FoldSegments) || output.inner.is_some() {
                    *made = Some(number(output.inner, &mut self.inners));
                }
            }
        }
    }

    fn find_pairs(&mut self, complete: &HashSet<(Source, usize)>) {
        let mut vertical: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        let mut beside: BTreeMap<(usize, usize), u32> = BTreeMap::new();
        for (&source, readers) in &self.traversed {
            if let Source::Output(from, output) = source {
                for &to in readers.iter().filter(|&&to| !complete.contains(&(source, to))) {
                    vertical.entry((from, to)).or_default().push(output);
                }
            }
            let (near, all) = self.near(readers);
            if !all {
                self.unweighed.push((source, readers.len()));
            }
            for (a, b) in near {
                let (a, b) = if self.rank[a] <= self.rank[b] { (a, b) } else { (b, a) };
                *beside.entry((a, b)).or_default() += 1;
            }
        }
        // What must be complete before for one reason is not traversed for another.
        for (&(a, b), outputs) in &vertical {
            let blocked = self.next[a].iter().any(|&(to, why)| to == b && why.is_some());
            if !blocked {
                let weight = outputs.len() as u32;
                self.pairs.push(Pair { a, b, outputs: outputs.clone(), weight, refused: None });
            } else {
                outputs.iter().for_each(|&output| self.written[a][output] = true);
            }
        }
        for (&(a, b), &weight) in &beside {
            self.pairs.push(Pair { a, b, outputs: Vec::new(), weight, refused: None });
        }
        let rank = &self.rank;
        self.pairs.sort_by_key(|pair| (!pair.is_vertical(), rank[pair.b], rank[pair.a]));
    }

    /// Readers of one array two by two, as far as their extents are equal; whether these are all such pairs.
    ///
    /// All pairs would be the square of the readers. Where there are many, each is paired with the next of all and with the next of those that
    /// run as it does; that is enough to connect any that can be fused.
    fn near(&self, readers: &[usize]) -> (BTreeSet<(usize, usize)>, bool) {
        let mut alike: BTreeMap<_, Vec<usize>> = BTreeMap::new();
        let mut equal: BTreeMap<u32, Vec<usize>> = BTreeMap::new();
        for &reader in readers {
            let node = &self.graph.nodes[reader];
            equal.entry(node.extents).or_default().push(reader);
            let runs = (node.extents, node.need, node.segments, self.reads(reader), self.inner_read[reader]);
            alike.entry(runs).or_default().push(reader);
        }
        let all = equal.values().all(|readers| readers.len() <= MAX_BESIDE + 1);
        let mut pairs = BTreeSet::new();
        for readers in equal.values().chain(alike.values()) {
            for (position, &a) in readers.iter().enumerate() {
                pairs.extend(readers[position + 1..].iter().take(MAX_BESIDE).map(|&b| (a, b)));
            }
        }
        (pairs, all)
    }

    /// For each node those that wait for it to be complete; empty where that was not found out.
    pub(crate) fn waiting(&self) -> &[Bits] {
        &self.after
    }

    /// Whether it was found out who waits for whom.
    pub(crate) fn knows_waits(&self) -> bool {
        self.after.len() == self.graph.nodes.len()
    }

    /// Whether one of two nodes is known to wait for the other to be complete.
    pub(crate) fn waits(&self, a: usize, b: usize) -> bool {
        let waits = |a: usize, b: usize| self.after.get(a).is_some_and(|after| after.contains(b));
        waits(a, b) || waits(b, a)
    }

    /// Whether a node is an operation that a cluster may hold.
    pub(crate) fn is_operation(&self, node: usize) -> bool {
        self.graph.nodes[node].kind != Kind::Outside
    }

    /// Upwards.
    pub(crate) fn up(&self) -> u32 {
        self.down + 1
    }

    /// Orders in which memory can be written.
    pub(crate) fn stored(&self) -> Domain {
        (self.down, self.orders.saturating_sub(1))
    }

    /// Orders in which a node may run over what it reads.
    pub(crate) fn reads(&self, node: usize) -> Domain {
        let (down, up, last) = (self.down, self.up(), self.orders.saturating_sub(1));
        match self.graph.nodes[node].kind {
            Kind::Elementwise => (self.least_made(node), last),
            Kind::Source | Kind::Outside => (0, last),
            Kind::Gather { .. } => self.own_order[node].map_or((0, last), |own| (own, own)),
            Kind::Fold | Kind::FoldSegments => (down, up),
            Kind::FoldAll => (down, last),
            Kind::ScanLeft { .. } => (up, up),
            Kind::ScanRight { .. } => (down, down),
            Kind::Permute { any_order: true } => (0, last),
            Kind::Permute { any_order: false } | Kind::Expand | Kind::PermutedExpand => (up, last),
        }
    }

    /// The lowest order of a node that could make its elements in any: gathers' are below those of memory.
    fn least_made(&self, node: usize) -> u32 {
        if self.graph.nodes[node].expensive { self.down } else { 0 }
    }

    /// Orders in which a node may make its elements.
    pub(crate) fn made(&self, node: usize) -> Domain {
        let (up, last) = (self.up(), self.orders.saturating_sub(1));
        match self.graph.nodes[node].kind {
            Kind::Source => (self.least_made(node), up),
            Kind::Gather { .. } => (0, up),
            Kind::Expand => self.own_order[node].map_or((0, last), |own| (own, own)),
            Kind::Permute { .. } | Kind::PermutedExpand | Kind::FoldAll | Kind::Outside => (0, last),
            Kind::Elementwise | Kind::Fold | Kind::FoldSegments | Kind::ScanLeft { .. } | Kind::ScanRight { .. } => {
                self.reads(node)
            }
        }
    }

    /// Whether a node makes its elements in the order in which it reads.
    pub(crate) fn keeps_order(&self, node: usize) -> bool {
        matches!(
            self.graph.nodes[node].kind,
            Kind::Elementwise | Kind::Fold | Kind::FoldSegments | Kind::ScanLeft { .. } | Kind::ScanRight { .. }
        )
    }

    /// Whether what is folded one dimension inside of what it reads is so of an output.
    pub(crate) fn keeps_inner(&self, node: usize, output: usize) -> bool {
        self.inner_made[node][output].is_none()
            && matches!(self.graph.nodes[node].kind, Kind::Elementwise | Kind::ScanLeft { .. } | Kind::ScanRight { .. })
    }

    /// Whether the order of memory matters to what a node makes: not to what permutes write themselves, nor to a single element.
    pub(crate) fn has_order(&self, node: usize) -> bool {
        !matches!(
            self.graph.nodes[node].kind,
            Kind::Permute { .. } | Kind::PermutedExpand | Kind::FoldAll | Kind::Outside
        )
    }
}

/// What each node traverses.
pub(crate) fn traversed_by(traversed: &BTreeMap<Source, Vec<usize>>, count: usize) -> Vec<Vec<Source>> {
    let mut by = vec![Vec::new(); count];
    for (&source, readers) in traversed {
        readers.iter().for_each(|&reader| by[reader].push(source));
    }
    by
}

/// What two domains have in common.
pub(crate) fn meet(a: Domain, b: Domain) -> Option<Domain> {
    let both = (a.0.max(b.0), a.1.min(b.1));
    (both.0 <= both.1).then_some(both)
}

/// Why an edge is none that fusion may remove, if so.
fn complete_because(graph: &Graph, from: Source, to: usize, given: Option<Complete>) -> Option<Complete> {
    if given.is_some() {
        return given;
    }
    let reader = &graph.nodes[to];
    if reader.kind == Kind::Outside {
        return Some(Complete::Outside);
    }
    let Source::Output(from, output) = from else { return None };
    let (maker, made) = (&graph.nodes[from], &graph.nodes[from].outputs[output]);
    match maker.kind {
        Kind::Outside => return Some(Complete::Outside),
        Kind::Permute { .. } | Kind::PermutedExpand => return Some(Complete::Permuted),
        Kind::FoldAll => return Some(Complete::Scalar),
        _ => {}
    }
    let longer = matches!(maker.kind, Kind::ScanLeft { longer: true } | Kind::ScanRight { longer: true });
    let equal = made.extents == reader.extents || (longer && made.inner.is_none() && maker.extents == reader.extents);
    (!equal).then_some(Complete::Extents(made.extents, reader.extents))
}

/// The nodes in an order in which edges lead forwards, those first that come first.
fn sorted(
    graph: &Graph,
    next: &[Vec<(usize, Option<Complete>)>],
    previous: &[Vec<usize>],
) -> Result<Vec<usize>, Error> {
    let mut waiting: Vec<usize> = previous.iter().map(Vec::len).collect();
    let ready = waiting.iter().enumerate().filter(|(_, waiting)| **waiting == 0);
    let mut ready: std::collections::BTreeSet<usize> = ready.map(|(node, _)| node).collect();
    let mut sorted = Vec::with_capacity(graph.nodes.len());
    while let Some(node) = ready.pop_first() {
        sorted.push(node);
        for &(to, _) in &next[node] {
            waiting[to] -= 1;
            if waiting[to] == 0 {
                ready.insert(to);
            }
        }
    }
    if sorted.len() == graph.nodes.len() {
        return Ok(sorted);
    }
    // Whoever waits waits for somebody who waits: following that ends where it has been.
    let mut path: Vec<usize> = waiting.iter().position(|waiting| *waiting > 0).into_iter().collect();
    let mut seen = HashSet::new();
    while let Some(&node) = path.last()
        && seen.insert(node)
        && let Some(&before) = previous[node].iter().find(|&&before| waiting[before] > 0)
    {
        path.push(before);
    }
    let last = path.last().copied();
    let start = path.iter().position(|&node| Some(node) == last).unwrap_or(0);
    let names = path[start..].iter().rev().map(|&node| graph.nodes[node].name.clone()).collect();
    Err(Error::Cycle { names })
}
