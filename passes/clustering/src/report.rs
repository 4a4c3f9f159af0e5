//! What was done and why not more: plain data, the same for the same program, without clocks.

use std::collections::HashSet;

use serde::Serialize;

use crate::{
    fit::Fitter,
    graph::{Complete, Graph, Kind},
    objective::Measures,
    orders::{Domain, meet},
    pairs::{Pair, Refusal},
    partition::Partition,
    problem::Problem,
};

/// What clustering did to a program.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Report {
    /// Blocks that hold operations, the program's body first: each is clustered by itself.
    pub regions: Vec<Region>,
}

/// What was done in one block, or in a bare graph.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Region {
    /// Which block: empty for the body of a program, else the names of the bindings that hold it.
    pub path: String,
    /// Operations, which clusters hold.
    pub operations: usize,
    /// Pairs that might be fused, and pairs that never are.
    pub pairs: usize,
    /// Variables of all models solved last.
    pub variables: usize,
    /// Their constraints.
    pub constraints: usize,
    /// Who solved them; none where nothing was left to decide.
    pub solver: String,
    /// How it ended.
    pub status: Status,
    /// What the objective says of the clusters.
    pub objective: u64,
    /// What it is proved to be at least.
    pub bound: u64,
    /// `(objective - bound) / objective`.
    pub gap: f64,
    /// Branch-and-bound nodes, where the solver tells.
    pub nodes: Option<u64>,
    /// What is counted.
    pub measures: Measures,
    /// The same of the greedy clusters, for comparison.
    pub greedy: Measures,
    /// Arrays written to memory, results among them: the name of the operation, with the position of an output that is not its only one.
    pub written: Vec<String>,
    /// Operations that cost less than to read what they make: the name of one for each cluster that makes it again. Measures are those of
    /// the clusters before.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub again: Vec<String>,
    /// Clusters, in order.
    pub clusters: Vec<ClusterReport>,
    /// Neighbours that are not fused, and why; [`MAX_APART`] at most.
    pub apart: Vec<Apart>,
    /// How many more there are.
    pub apart_left_out: usize,
    /// What a reader should know: limits reached, falls back.
    pub notes: Vec<String>,
}

/// How a solution was found.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// Proved to be the best.
    #[default]
    Optimal,
    /// Proved to leave the fewest pairs unfused and write the fewest arrays; that it has the fewest levels was not proved.
    OptimalButLevels,
    /// A limit was reached: the best found so far.
    Limit,
    /// Greedy, because it was asked for or nothing else was found.
    Greedy,
    /// Each operation by itself.
    Apart,
}

/// One cluster.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ClusterReport {
    /// Names of operations, in order.
    pub operations: Vec<String>,
    /// Clusters before it on the longest way.
    pub level: usize,
    /// Fused pairs.
    pub fused: Vec<Fused>,
}

/// A fused pair.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Fused {
    /// The producer, or the earlier one.
    pub first: String,
    /// The consumer, or the later one.
    pub second: String,
    /// How.
    pub category: Category,
}

/// The three ways to fuse.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Category {
    /// Producer and consumer; the array between them is never stored.
    Vertical,
    /// Producer and consumer; the array is stored too.
    Diagonal,
    /// Two that read the same array.
    Horizontal,
}

/// Neighbours that are not fused.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Apart {
    /// The producer, or the earlier one.
    pub first: String,
    /// Its place in the source, where known.
    pub first_place: String,
    /// The consumer, or the later one.
    pub second: String,
    /// Its place in the source, where known.
    pub second_place: String,
    /// Whether they are siblings: both read the same array.
    pub siblings: bool,
    /// A sentence.
    pub why: String,
}

/// The most pairs that a report explains.
pub const MAX_APART: usize = 1_000;

/// Explains the pairs that are not fused.
pub(crate) fn apart(problem: &Problem<'_>, partition: &Partition) -> (Vec<Apart>, usize) {
    let graph = problem.graph;
    let mut all = Vec::new();
    let mut left_out = 0;
    let mut add = |a: usize, b: usize, siblings: bool, why: &mut dyn FnMut() -> String| {
        if all.len() == MAX_APART {
            left_out += 1;
            return;
        }
        let (first, second) = (&graph.nodes[a], &graph.nodes[b]);
        all.push(Apart {
            first: first.name.clone(),
            first_place: first.place.clone(),
            second: second.name.clone(),
            second_place: second.place.clone(),
            siblings,
            why: why(),
        });
    };
    for &node in problem.sorted.iter().filter(|&&node| problem.is_operation(node)) {
        for &(to, why) in problem.next[node].iter().filter(|(to, _)| problem.is_operation(*to)) {
            if let Some(why) = why {
                add(node, to, false, &mut || complete(graph, why));
            }
        }
    }
    let mut fitter = Fitter::new(problem);
    let mut known: HashSet<(usize, usize)> = HashSet::new();
    for pair in &problem.pairs {
        let (a, b) = (partition.of(pair.a), partition.of(pair.b));
        // A pair that is an edge too is explained there.
        let edge = !pair.is_vertical() && problem.next[pair.a].iter().any(|&(to, _)| to == pair.b);
        if a == b || edge || !known.insert((pair.a, pair.b)) {
            continue;
        }
        let refusal = |fitter: &mut Fitter<'_>| match &pair.refused {
            Some(refusal) => Err(refusal.clone()),
            None => partition.may_merge(problem, fitter, a, b).map(drop),
        };
        add(pair.a, pair.b, !pair.is_vertical(), &mut || match (&refusal(&mut fitter), &pair.refused) {
            (Err(Refusal::Order), _) => order(problem, pair),
            (Err(refusal), Some(_)) => sentence(graph, refusal),
            (Err(refusal), None) => {
                let others: Vec<&str> = partition
                    .members(a)
                    .iter()
                    .chain(partition.members(b))
                    .filter(|&&node| node != pair.a && node != pair.b)
                    .map(|&node| graph.nodes[node].name.as_str())
                    .take(3)
                    .collect();
                match others[..] {
                    [] => sentence(graph, refusal),
                    _ => format!(
                        "fusing it would unfuse `{}`, which costs more: {}",
                        others.join("`, `"),
                        sentence(graph, refusal)
                    ),
                }
            }
            (Ok(()), _) => "no nest of loops was found that holds both".to_owned(),
        });
    }
    (all, left_out)
}

fn complete(graph: &Graph, why: Complete) -> String {
    let name = |class: u32| graph.classes.get(&class).cloned().unwrap_or_else(|| format!("class {class}"));
    match why {
        Complete::Extents(a, b) => format!("extents not proved equal: `{}` and `{}`", name(a), name(b)),
        _ => why.sentence().to_owned(),
    }
}

/// Why two nodes run in no order together: which orders each of them has.
fn order(problem: &Problem<'_>, pair: &Pair) -> String {
    let (first, second) = (&problem.graph.nodes[pair.a], &problem.graph.nodes[pair.b]);
    if pair.is_vertical() && matches!(first.kind, Kind::Fold | Kind::FoldSegments) {
        return format!(
            "`{}` is needed whole before `{}` can begin: its reduction is not complete until the last element",
            first.name, second.name
        );
    }
    let (verb, one) =
        if pair.is_vertical() { ("makes", problem.made(pair.a)) } else { ("reads", problem.reads(pair.a)) };
    let other = problem.reads(pair.b);
    let (one_order, other_order) = (in_words(problem, pair.a, one), in_words(problem, pair.b, other));
    let orders =
        format!("`{}` {verb} elements {one_order}, and `{}` reads them {other_order}", first.name, second.name);
    if meet(one, other).is_none() {
        return orders;
    }
    // Orders of which each could have several: others decide.
    if one_order == other_order {
        return format!(
            "`{}` and `{}` could each run {one_order}, but no order suits them and what stands between them",
            first.name, second.name
        );
    }
    format!("no order suits both and what stands between them: {orders}")
}

/// Orders as words that follow a verb.
fn in_words(problem: &Problem<'_>, node: usize, (low, high): Domain) -> String {
    let (down, up, last) = (problem.down, problem.up(), problem.orders.saturating_sub(1));
    let own = |order: u32| match problem.own_order.iter().position(|own| *own == Some(order)) {
        Some(at) if at == node => "itself".to_owned(),
        Some(at) => format!("`{}`", problem.graph.nodes[at].name),
        None => "another".to_owned(),
    };
    match (low, high) {
        (low, high) if low == high && low < down => match own(low).as_str() {
            "itself" => "in the order of the indices that it computes".to_owned(),
            other => format!("in the order of the indices that {other} computes"),
        },
        (low, high) if low == high && low > up => match own(low).as_str() {
            "itself" => "in the order in which it appends them".to_owned(),
            other => format!("in the order in which {other} appends them"),
        },
        (low, high) if (low, high) == (up, up) => "from the first to the last".to_owned(),
        (low, high) if (low, high) == (down, down) => "from the last to the first".to_owned(),
        (low, high) if (low, high) == (down, up) => "as they stand in memory, from either end".to_owned(),
        (low, _) if low == up => "from the first to the last, or as they are appended".to_owned(),
        (low, high) if low == down && high == last => "as they stand in memory, or as they are appended".to_owned(),
        (0, high) if high == last => "in any order".to_owned(),
        (0, high) if high == up => "in any order but one in which elements are appended".to_owned(),
        _ => "in some orders alone".to_owned(),
    }
}

/// A refusal as a sentence.
pub(crate) fn sentence(graph: &Graph, refusal: &Refusal) -> String {
    let name = |node: usize| graph.nodes[node].name.as_str();
    match refusal {
        Refusal::Complete(why) => complete(graph, *why),
        Refusal::Between(node) => {
            format!("`{}` stands between them and waits for the first to be complete", name(*node))
        }
        Refusal::Expensive(node) => {
            format!("`{}` is too expensive to be computed again wherever the other reads it", name(*node))
        }
        Refusal::Need => "one is needed in any case, the other only by a branch or a loop".to_owned(),
        Refusal::Segments => "they run over different segments".to_owned(),
        Refusal::Order => "no order of elements suits both".to_owned(),
        Refusal::Stored(node) => {
            format!("`{}` is stored too, so it is made in the order of memory, not in that of the reader", name(*node))
        }
        Refusal::Inner => "rows of different extents would be combined inside of one another's".to_owned(),
        Refusal::Appends(a, b) => format!("`{}` and `{}` would be appended one beside the other", name(*a), name(*b)),
        Refusal::Cycle(node) => format!("`{}` must run between them", name(*node)),
        Refusal::Apart => "they share no array".to_owned(),
        Refusal::Nest(why) => why.clone(),
    }
}
