//! The search: egg's runner sweeps over the operations of a block until no law applies any more, or a limit is met.
//!
//! The runner would apply one law everywhere and then the next: a chain of n operations would take n sweeps and n² e-nodes. So what it is
//! given is one rewrite, the *sweep*: operations in order of the program, and at each all laws until none applies. What an operation takes
//! in is then already all that it can become, so each gets a handful of forms, and a chain of n takes n laws. First an operation takes in
//! what ends up in one operation with it; then, apart, cheap producers that others use too. Which form stays is the extraction's choice.

use std::{rc::Rc, sync::LazyLock, time::Duration};

use egg::{
    Applier, Id, PatternAst, Rewrite, Runner, SearchMatches, Searcher, SimpleScheduler, StopReason, Subst, Symbol, Var,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    facts::{Known, Pair},
    graph::{Classes, Graph, Knowledge},
    language::{Node, Shape},
    laws::{Law, at_var, from_var, of_var, rewrites},
    pairs::{front, is_cheap, pairs, read_by},
    reason::Reason,
    report::Stop,
    runs,
};

/// Why the search ended, and after how many sweeps.
pub(crate) struct Search {
    pub stop: Stop,
    pub iterations: usize,
}

/// What the runner is given; the same for all programs.
static SWEEP: LazyLock<Rewrite<Node, Knowledge>> = LazyLock::new(|| {
    let sweep = Rewrite::new("sweep", Everywhere, Sweep { laws: rewrites() });
    sweep.unwrap_or_else(|error| panic!("the sweep is a rewrite: {error}"))
});

/// Applies all laws to the graph that `encode` makes.
pub(crate) fn saturate(knowledge: Knowledge, encode: impl FnOnce(&mut Graph)) -> (Graph, Search) {
    let config = knowledge.config.clone();
    let mut runner = Runner::<Node, Knowledge>::new(knowledge)
        .with_scheduler(SimpleScheduler)
        .with_iter_limit(config.max_iterations)
        // The runner stops beyond its limit, and it is met before.
        .with_node_limit(config.max_nodes.saturating_sub(1))
        // No clock decides anything, and the one that is asked stands still: this is never reached.
        .with_time_limit(Duration::MAX);
    encode(&mut runner.egraph);
    // Where no operation reads what another makes, no law applies.
    let graph = &runner.egraph;
    let mut operations = graph.analysis.order.iter();
    if !operations.any(|&class| front(graph, class).is_some_and(|form| reads_some(graph, form))) {
        return (runner.egraph, Search { stop: Stop::Saturated, iterations: 0 });
    }
    // egg measures what it does, by a clock that takes milliseconds to be set up once in a process; one that stands still takes none.
    let (clock, _) = quanta::Clock::mock();
    let runner = quanta::with_clock(&clock, || runner.run([&*SWEEP]));
    let stop = match &runner.stop_reason {
        Some(StopReason::Saturated) => Stop::Saturated,
        Some(StopReason::IterationLimit(_)) => Stop::Iterations,
        Some(StopReason::NodeLimit(_)) => Stop::Nodes,
        other => panic!("the runner has limits of sweeps and of nodes, and stopped for another reason: {other:?}"),
    };
    (runner.egraph, Search { stop, iterations: runner.iterations.len() })
}

/// Whether an operation reads what another of the graph makes.
fn reads_some(graph: &Graph, known: &Known) -> bool {
    let mut classes = graph.source_classes(known.node).into_iter().chain(graph.read_classes(known));
    classes.any(|of| !graph.is_leaf(of))
}

/// Finds every operation of the graph, in order of the program.
struct Everywhere;

impl Searcher<Node, Knowledge> for Everywhere {
    fn search_eclass_with_limit(&self, _: &Graph, class: Id, limit: usize) -> Option<SearchMatches<'_, Node>> {
        let matched = SearchMatches { eclass: class, substs: vec![Subst::with_capacity(0)], ast: None };
        (limit > 0).then_some(matched)
    }

    fn search_with_limit(&self, graph: &Graph, limit: usize) -> Vec<SearchMatches<'_, Node>> {
        let operations = graph.analysis.order.iter().take(limit);
        operations.filter_map(|&id| self.search_eclass_with_limit(graph, id, 1)).collect()
    }

    fn vars(&self) -> Vec<Var> {
        Vec::new()
    }
}

/// Applies all laws at an operation, and at those that laws make for it.
struct Sweep {
    laws: Vec<(&'static Law, Rewrite<Node, Knowledge>)>,
}

impl Applier<Node, Knowledge> for Sweep {
    fn apply_one(
        &self,
        graph: &mut Graph,
        class: Id,
        _: &Subst,
        _searched: Option<&PatternAst<Node>>,
        _name: Symbol,
    ) -> Vec<Id> {
        let mut changed = Vec::new();
        let mut next = graph.analysis.order.len();
        let mut class = class;
        loop {
            if self.at(graph, class) {
                changed.push(class);
            }
            let Some(&made) = graph.analysis.order.get(next) else { return changed };
            class = made;
            next += 1;
        }
    }
}

impl Sweep {
    /// Applies laws at an operation until none applies, and says whether one did.
    fn at(&self, graph: &mut Graph, class: Id) -> bool {
        if graph.facts(class).run.is_some() {
            return false;
        }
        let (mut changed, mut again) = (false, false);
        let mut refused = Refused::default();
        while !is_full(graph) {
            if self.step(graph, class, &mut refused) {
                (changed, again) = (true, true);
            } else if again {
                // What was refused may apply beside what was taken in since.
                refused.clear();
                again = false;
            } else {
                break;
            }
        }
        // What is not taken in together is taken in one by one by the next sweep.
        changed |= !is_full(graph) && runs::dissolve(graph, class);
        let class = graph.find(class);
        let Some(tight) = graph.facts(class).tight().map(|known| known.node) else { return changed };
        if graph.analysis.copied_from.insert(class, tight) == Some(tight) {
            return changed;
        }
        graph.analysis.copying = true;
        let mut copies = 0;
        while copies < graph.analysis.config.max_copies
            && !is_full(graph)
            && self.step(graph, class, &mut Refused::default())
        {
            copies += 1;
        }
        graph.analysis.copying = false;
        changed
    }

    /// Takes one producer more into an operation, by the first law that applies: producers in the order of [`pairs`], for each the laws in
    /// the order of the table. Laws in `refused` are not asked; those that do not apply are added.
    fn step(&self, graph: &mut Graph, class: Id, refused: &mut Refused) -> bool {
        let class = graph.find(class);
        let Some(shape) = front(graph, class).map(|front| front.shape) else { return false };
        let pairs = Rc::new(pairs(graph, class));
        if pairs.is_empty() && !graph.analysis.copying {
            return false;
        }
        let order: FxHashMap<(Id, Id, bool), usize> =
            pairs.iter().enumerate().map(|(at, pair)| ((pair.of, pair.at, pair.reads), at)).collect();
        graph.analysis.at_work = Some((class, Rc::clone(&pairs)));
        let mut matches: Vec<(usize, usize, Subst)> = Vec::new();
        let mut met = vec![false; pairs.len()];
        for (at, (law, rewrite)) in self.laws.iter().enumerate().filter(|(_, (law, _))| law.consumer == shape) {
            let fits = |pair: &Pair| (pair.reads, pair.shape) == (law.reads, law.producer);
            let mut some = false;
            pairs.iter().zip(&mut met).filter(|(pair, _)| fits(pair)).for_each(|(_, met)| (*met, some) = (true, true));
            if !some {
                continue;
            }
            for subst in rewrite.searcher.search_eclass(graph, class).into_iter().flat_map(|found| found.substs) {
                let (of, node) = (subst[of_var()], subst[at_var()]);
                let Some(&order) = order.get(&(of, node, law.reads)) else { continue };
                if !refused.contains(&(at, of, node)) {
                    matches.push((order, at, subst));
                }
            }
        }
        graph.analysis.at_work = None;
        refuse(graph, class, shape, &pairs, &met);
        matches.sort_by_key(|&(order, law, _)| (order, law));
        for (_, law, subst) in matches {
            // A law that found an equal operation elsewhere made this class one with that.
            if front(graph, class).is_none_or(|front| front.node != subst[from_var()]) {
                return false;
            }
            let rewrite = &self.laws[law].1;
            if !rewrite.applier.apply_one(graph, class, &subst, None, rewrite.name).is_empty() {
                return true;
            }
            refused.insert((law, subst[of_var()], subst[at_var()]));
        }
        false
    }
}

/// Laws that did not apply at an operation: which, and to which e-node of which producer.
type Refused = FxHashSet<(usize, Id, Id)>;

/// Notes why producers are not taken in that no law is asked about.
fn refuse(graph: &mut Graph, class: Id, consumer: Shape, pairs: &[Pair], met: &[bool]) {
    for (pair, _) in pairs.iter().zip(met).filter(|(_, met)| !**met) {
        let reason = Reason::NoLaw { consumer, producer: pair.shape, read: pair.reads };
        graph.analysis.refusals.entry((pair.of, class)).or_insert(reason);
    }
    if graph.analysis.copying {
        for (of, _) in read_by(graph, class) {
            if !is_cheap(graph, of) {
                graph.analysis.refusals.entry((of, class)).or_insert(Reason::ExpensiveTwice);
            }
        }
    }
}

fn is_full(graph: &Graph) -> bool {
    graph.total_size() >= graph.analysis.config.max_nodes
}
