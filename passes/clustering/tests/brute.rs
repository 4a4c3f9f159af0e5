//! Small random graphs against every division into clusters there is, judged by the rules themselves and not by the model.

use std::collections::BTreeSet;

use fusebox_clustering::{Config, Edge, Graph, Kind, Method, Objective, SolverChoice, Source, Status, cluster_graph};

use crate::graphs::graph;

/// Of a node in a cluster: orders of reading and making, classes inside of what is read and made.
#[derive(Clone, Copy, PartialEq)]
struct State {
    reads: i32,
    makes: i32,
    inner_read: i32,
    inner_made: i32,
}

const UP: i32 = -2;
const DOWN: i32 = -1;

struct Brute<'g> {
    graph: &'g Graph,
    /// Pairs of a producer and a consumer that may be fused.
    edges: BTreeSet<(usize, usize)>,
    /// Pairs that read the same array, with how many.
    beside: Vec<(usize, usize, u64)>,
    /// Pairs that must not be in one cluster, with an order.
    complete: BTreeSet<(usize, usize)>,
}

impl<'g> Brute<'g> {
    fn new(graph: &'g Graph) -> Self {
        let (mut edges, mut complete, mut beside) = (BTreeSet::new(), BTreeSet::new(), Vec::new());
        let traverses = |edge: &Edge| {
            let Source::Output(from, output) = edge.from else { return edge.complete.is_none() };
            let (maker, reader) = (&graph.nodes[from], &graph.nodes[edge.to]);
            let whole = matches!(maker.kind, Kind::FoldAll | Kind::Permute { .. } | Kind::PermutedExpand);
            let longer = matches!(maker.kind, Kind::ScanLeft { longer: true } | Kind::ScanRight { longer: true });
            let made = maker.outputs[output].extents;
            edge.complete.is_none() && !whole && (made == reader.extents || (longer && maker.extents == reader.extents))
        };
        for edge in &graph.edges {
            if let Source::Output(from, _) = edge.from {
                if traverses(edge) {
                    edges.insert((from, edge.to))
                } else {
                    complete.insert((from, edge.to))
                };
            }
        }
        edges.retain(|pair| !complete.contains(pair));
        for a in 0..graph.nodes.len() {
            for b in a + 1..graph.nodes.len() {
                let read = |node: usize| -> BTreeSet<Source> {
                    graph
                        .edges
                        .iter()
                        .filter(|edge| edge.to == node && edge.complete.is_none())
                        .map(|edge| edge.from)
                        .collect()
                };
                let shared = read(a).intersection(&read(b)).count() as u64;
                if shared > 0 && graph.nodes[a].extents == graph.nodes[b].extents {
                    beside.push((a, b, shared));
                }
            }
        }
        Self { graph, edges, beside, complete }
    }

    /// The order that a gather reads in or an expand appends in.
    fn own(&self, node: usize) -> i32 {
        match self.graph.nodes[node].kind {
            Kind::Gather { order: Some(shared) } => 1000 + shared as i32,
            _ => node as i32,
        }
    }

    fn is_appended(&self, order: i32) -> bool {
        (0..self.graph.nodes.len() as i32).contains(&order) && self.graph.nodes[order as usize].kind == Kind::Expand
    }

    fn states(&self, node: usize, cluster: &[usize]) -> Vec<State> {
        let mut orders = vec![UP, DOWN];
        orders.extend(cluster.iter().map(|&node| self.own(node)));
        orders.sort_unstable();
        orders.dedup();
        let gathered = |order: i32| order >= 0 && !self.is_appended(order);
        let kind = self.graph.nodes[node].kind;
        let inner = self.graph.nodes[node].outputs[0].inner;
        let own_class = 100 + node as i32;
        let mut classes = vec![-1];
        classes.extend(cluster.iter().filter_map(|&node| self.graph.nodes[node].outputs[0].inner.map(|c| c as i32)));
        classes.extend(cluster.iter().map(|&node| 100 + node as i32));
        classes.sort_unstable();
        classes.dedup();
        let mut states = Vec::new();
        for &reads in &orders {
            for &makes in &orders {
                let right = match kind {
                    Kind::Elementwise => reads == makes,
                    Kind::Source => reads == UP && !self.is_appended(makes),
                    Kind::Gather { .. } => reads == self.own(node) && !self.is_appended(makes),
                    Kind::Fold | Kind::FoldSegments => reads == makes && reads < 0,
                    Kind::FoldAll => !gathered(reads) && makes == UP,
                    Kind::ScanLeft { .. } => reads == UP && makes == UP,
                    Kind::ScanRight { .. } => reads == DOWN && makes == DOWN,
                    Kind::Permute { any_order: true } => makes == UP,
                    Kind::Permute { any_order: false } | Kind::PermutedExpand => {
                        makes == UP && (reads == UP || self.is_appended(reads))
                    }
                    Kind::Expand => (reads == UP || self.is_appended(reads)) && makes == self.own(node),
                    Kind::Outside => false,
                };
                // What is expensive is not made again wherever it is read; kinds that run in one order anyway are as they are.
                let expensive = self.graph.nodes[node].expensive && matches!(kind, Kind::Elementwise | Kind::Source);
                if !right || expensive && gathered(makes) {
                    continue;
                }
                for &inner_read in &classes {
                    for &inner_made in &classes {
                        let right = match kind {
                            Kind::Elementwise | Kind::ScanLeft { .. } | Kind::ScanRight { .. } => {
                                inner_read == inner_made
                            }
                            Kind::Fold | Kind::FoldSegments => inner_made == inner.unwrap() as i32,
                            Kind::Expand => inner_read == own_class,
                            Kind::PermutedExpand => inner_read == own_class && inner_made == -1,
                            Kind::FoldAll | Kind::Permute { .. } => inner_made == -1,
                            Kind::Source => inner_read == -1,
                            Kind::Gather { .. } | Kind::Outside => true,
                        };
                        if right {
                            states.push(State { reads, makes, inner_read, inner_made });
                        }
                    }
                }
            }
        }
        states
    }

    /// The most weight of fused siblings in a cluster, or none if it is no cluster.
    fn cluster(&self, cluster: &[usize], of: &[usize]) -> Option<u64> {
        let node = |n: usize| &self.graph.nodes[n];
        let inside = |n: usize| cluster.contains(&n);
        if cluster.iter().any(|&n| node(n).need != node(cluster[0]).need) {
            return None;
        }
        let segments: BTreeSet<u32> = cluster.iter().filter_map(|&n| node(n).segments).collect();
        if segments.len() > 1 || self.complete.iter().any(|&(a, b)| inside(a) && inside(b)) {
            return None;
        }
        let written: Vec<bool> = cluster
            .iter()
            .map(|&n| {
                let read = self.edges.iter().chain(&self.complete).any(|&(a, b)| a == n && of[b] != of[n]);
                node(n).outputs[0].result || read
            })
            .collect();
        let mut best = None;
        let states: Vec<Vec<State>> = cluster.iter().map(|&node| self.states(node, cluster)).collect();
        self.assign(cluster, &written, &states, &mut Vec::new(), &mut best);
        best
    }

    fn assign(
        &self,
        cluster: &[usize],
        written: &[bool],
        all: &[Vec<State>],
        states: &mut Vec<State>,
        best: &mut Option<u64>,
    ) {
        let position = states.len();
        if position == cluster.len() {
            let appended: BTreeSet<i32> = (0..position)
                .filter(|&at| written[at] && self.is_appended(states[at].makes))
                .map(|at| states[at].makes)
                .collect();
            if appended.len() > 1 {
                return;
            }
            let mut weight = 0;
            let mut groups: Vec<usize> = (0..position).collect();
            let mut join = |a: usize, b: usize| {
                let (old, new) = (groups[a], groups[b]);
                groups.iter_mut().filter(|group| **group == old).for_each(|group| *group = new);
            };
            let at = |n: usize| cluster.iter().position(|&other| other == n);
            for &(a, b) in &self.edges {
                if let (Some(a), Some(b)) = (at(a), at(b)) {
                    join(a, b);
                }
            }
            for &(a, b, shared) in &self.beside {
                if let (Some(a), Some(b)) = (at(a), at(b))
                    && states[a].reads == states[b].reads
                    && states[a].inner_read == states[b].inner_read
                {
                    join(a, b);
                    weight += shared;
                }
            }
            if groups.iter().all(|group| *group == groups[0]) {
                *best = Some(best.unwrap_or(0).max(weight));
            }
            return;
        }
        let node = cluster[position];
        for &state in &all[position] {
            let stored = state.makes < 0 || self.is_appended(state.makes);
            let ordered =
                !matches!(self.graph.nodes[node].kind, Kind::Permute { .. } | Kind::PermutedExpand | Kind::FoldAll);
            if written[position] && ordered && !stored {
                continue;
            }
            let fits = (0..position).all(|other| {
                let (a, b) = (&states[other], &state);
                let forwards = !self.edges.contains(&(cluster[other], node))
                    || (a.makes == b.reads && a.inner_made == b.inner_read);
                let backwards = !self.edges.contains(&(node, cluster[other]))
                    || (b.makes == a.reads && b.inner_made == a.inner_read);
                forwards && backwards
            });
            if fits {
                states.push(state);
                self.assign(cluster, written, all, states, best);
                states.pop();
            }
        }
    }

    /// The longest way over clusters; none if they wait for each other.
    fn levels(&self, of: &[usize]) -> Option<u64> {
        let mut levels = vec![0u64; of.len()];
        for round in 0..=of.len() {
            let mut changed = false;
            for &(a, b) in self.edges.iter().chain(&self.complete) {
                if of[a] != of[b] && levels[of[b]] < levels[of[a]] + 1 {
                    levels[of[b]] = levels[of[a]] + 1;
                    changed = true;
                }
            }
            if !changed {
                return levels.into_iter().max();
            }
            if round == of.len() {
                return None;
            }
        }
        None
    }

    /// What a division costs, if it is one.
    fn cost(&self, of: &[usize]) -> Option<u64> {
        let levels = self.levels(of)?;
        let n = of.len() as u64;
        let mut fused = 0;
        for number in 0..of.len() {
            let cluster: Vec<usize> = (0..of.len()).filter(|&node| of[node] == number).collect();
            if !cluster.is_empty() {
                fused += self.cluster(&cluster, of)?;
            }
        }
        let edges = self.edges.iter().filter(|(a, b)| of[*a] != of[*b]).count() as u64;
        let beside: u64 = self.beside.iter().map(|(_, _, shared)| shared).sum::<u64>() - fused;
        let written = (0..of.len()).filter(|&node| {
            let read = self.edges.iter().chain(&self.complete).any(|&(a, b)| a == node && of[b] != of[node]);
            self.graph.nodes[node].outputs[0].result || read
        });
        Some(n * n * (edges + beside) + n * written.count() as u64 + levels)
    }

    /// The least cost of all divisions.
    fn best(&self) -> u64 {
        let count = self.graph.nodes.len();
        let mut of = vec![0; count];
        let mut best = u64::MAX;
        self.divide(&mut of, 1, 1, &mut best);
        best
    }

    fn divide(&self, of: &mut Vec<usize>, position: usize, clusters: usize, best: &mut u64) {
        if position == of.len() {
            if let Some(cost) = self.cost(of) {
                *best = (*best).min(cost);
            }
            return;
        }
        for cluster in 0..=clusters {
            of[position] = cluster;
            self.divide(of, position + 1, clusters.max(cluster + 1), best);
        }
    }
}

fn agrees(seeds: std::ops::Range<u64>, most: usize, solver: SolverChoice) {
    for seed in seeds {
        let graph = graph(seed, most);
        let brute = Brute::new(&graph);
        let best = brute.best();
        for always_solve in [false, true] {
            let config = Config { solver, always_solve, ..Config::default() };
            let found =
                cluster_graph(&graph, &config).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{graph:#?}"));
            let mut of = vec![usize::MAX; graph.nodes.len()];
            for (number, cluster) in found.clusters.iter().enumerate() {
                cluster.nodes.iter().for_each(|&node| of[node] = number);
            }
            let cost = brute.cost(&of);
            let shown = || serde_json::to_string(&graph).unwrap();
            assert_eq!(
                cost,
                Some(found.report.objective),
                "seed {seed}: illegal, or counted otherwise: {of:?}\n{}",
                shown()
            );
            assert_eq!(found.report.status, Status::Optimal, "seed {seed}: {:?}", found.report.notes);
            assert_eq!(found.report.objective, best, "seed {seed}: {of:?} {always_solve}\n{}", shown());
            let again = cluster_graph(&graph, &config).unwrap();
            assert_eq!(again, found, "seed {seed}: not deterministic");
        }
        let greedy = cluster_graph(&graph, &Config { method: Method::Greedy, ..Config::default() }).unwrap();
        assert!(greedy.report.objective >= best, "seed {seed}: greedy clusters are better than the best");
        let apart = cluster_graph(&graph, &Config { method: Method::Apart, ..Config::default() }).unwrap();
        assert!(apart.report.objective >= greedy.report.objective, "seed {seed}");
    }
}

#[test]
fn highs_finds_the_best_of_all_divisions() {
    agrees(0..150, 6, SolverChoice::default());
}

#[test]
fn microlp_finds_the_best_of_all_divisions() {
    agrees(250..330, 6, SolverChoice::Microlp);
}

/// `cargo test --release -p fusebox-clustering --test all brute -- --ignored`
#[test]
#[ignore = "minutes: more and larger graphs"]
fn more_divisions() {
    agrees(1_000..1_300, 7, SolverChoice::default());
}

/// The order of nodes may decide between clusters that are equally good, and nothing else.
#[test]
fn the_order_of_nodes_does_not_change_the_objective() {
    for seed in 500..560 {
        let graph = graph(seed, 9);
        let count = graph.nodes.len();
        let mut reversed = graph.clone();
        reversed.nodes.reverse();
        for (edge, original) in reversed.edges.iter_mut().zip(&graph.edges) {
            edge.to = count - 1 - original.to;
            if let Source::Output(node, output) = original.from {
                edge.from = Source::Output(count - 1 - node, output);
            }
        }
        let objective = |graph: &Graph| cluster_graph(graph, &Config::default()).unwrap().report.objective;
        assert_eq!(objective(&graph), objective(&reversed), "seed {seed}");
    }
}

#[test]
fn other_objectives_are_no_worse_than_greedy() {
    for seed in 600..640 {
        let graph = graph(seed, 8);
        for (objective, name) in Objective::ALL {
            let config = Config { objective, ..Config::default() };
            let best = cluster_graph(&graph, &config).unwrap().report;
            assert_eq!(best.status, Status::Optimal, "seed {seed}, {name}: {:?}", best.notes);
            for method in [Method::Greedy, Method::Apart] {
                let other = cluster_graph(&graph, &Config { method, ..config.clone() }).unwrap().report;
                assert!(best.objective <= other.objective, "seed {seed}, {name}");
            }
            assert_eq!(objective, name.parse().unwrap());
        }
    }
}
/// The producer of an array that one of its readers must wait for is written, and so not made in the order of the other reader.
#[test]
fn what_something_stands_behind_is_written() {
    agrees(1_145..1_146, 7, SolverChoice::default());
}
