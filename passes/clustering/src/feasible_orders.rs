//! In which orders nodes may run, given who reads what they make; and whether all that stands between two nodes may run with them.
//!
//! What is made in the order of a gather is not written, so every reader takes it from the maker, in that order. And whoever shares a cluster
//! with a node shares it with all that stands between the two. The integer program knows both only when its whole numbers are fixed: its
//! relaxation loses half of each, so that models of a few hundred gathers take seconds.

use std::collections::{BTreeMap, BTreeSet, BinaryHeap, HashMap};

use crate::{
    bits::Bits,
    orders::{Domain, meet},
    pairs::Pair,
    problem::Problem,
};

/// Orders of gathers.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Gathers {
    Any,
    Of(BTreeSet<u32>),
}

/// Orders in which a node may run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Orders {
    gathers: Gathers,
    /// Of those that memory may be written in.
    stored: Option<Domain>,
}

impl Orders {
    fn of(problem: &Problem<'_>, (low, high): Domain) -> Self {
        let gathers = match (low, high.min(problem.down.saturating_sub(1))) {
            _ if low >= problem.down => Gathers::Of(BTreeSet::new()),
            (0, last) if last + 1 == problem.down => Gathers::Any,
            (low, last) => Gathers::Of((low..=last).collect()),
        };
        Self { gathers, stored: meet((low, high), problem.stored()) }
    }

    /// Those that are in both.
    fn and(&self, other: &Self) -> Self {
        let gathers = match (&self.gathers, &other.gathers) {
            (Gathers::Any, one) | (one, Gathers::Any) => one.clone(),
            (Gathers::Of(a), Gathers::Of(b)) => Gathers::Of(a & b),
        };
        Self { gathers, stored: self.stored.zip(other.stored).and_then(|(a, b)| meet(a, b)) }
    }

    fn is_empty(&self) -> bool {
        self.stored.is_none() && matches!(&self.gathers, Gathers::Of(gathers) if gathers.is_empty())
    }
}

/// In which orders each node may read, and make what it makes.
struct Running {
    reads: Vec<Orders>,
    makes: Vec<Orders>,
}

impl Running {
    /// Readers first, as who is read runs as they do or writes.
    fn new(problem: &Problem<'_>, pairs: &[Pair], of_node: &[Vec<usize>]) -> Self {
        let mut reads: Vec<Orders> = (0..problem.next.len()).map(|n| Orders::of(problem, problem.reads(n))).collect();
        let mut makes: Vec<Orders> = (0..problem.next.len()).map(|n| Orders::of(problem, problem.made(n))).collect();
        for &node in problem.sorted.iter().rev() {
            if problem.has_order(node) {
                let vertical = of_node[node].iter().map(|&pair| &pairs[pair]);
                let readers: Vec<usize> =
                    vertical.filter(|pair| pair.is_vertical() && pair.a == node).map(|pair| pair.b).collect();
                let written = problem.written[node].contains(&true);
                let unwritten = match written {
                    true => Gathers::Of(BTreeSet::new()),
                    false => {
                        let orders = readers.iter().fold(makes[node].clone(), |all, &reader| all.and(&reads[reader]));
                        orders.gathers
                    }
                };
                makes[node].gathers = unwritten;
            }
            if problem.keeps_order(node) {
                reads[node] = reads[node].and(&makes[node]);
                makes[node] = reads[node].clone();
            }
        }
        Self { reads, makes }
    }
}

/// Positions of open pairs that are never fused, as no order serves all that would have to be in their cluster.
pub(crate) fn without_order(problem: &Problem<'_>, pairs: &[Pair], reached: &[Bits]) -> Vec<usize> {
    // Without gathers the pairs alone say it.
    if problem.down == 0 || reached.is_empty() {
        return Vec::new();
    }
    let mut of_node = vec![Vec::new(); problem.next.len()];
    let mut before = vec![Vec::new(); problem.next.len()];
    for (position, pair) in pairs.iter().enumerate() {
        of_node[pair.a].push(position);
        of_node[pair.b].push(position);
    }
    for (node, next) in problem.next.iter().enumerate() {
        next.iter().for_each(|&(to, _)| before[to].push(node));
    }
    let kept_apart: BTreeSet<(usize, usize)> =
        pairs.iter().filter(|pair| pair.is_vertical() && pair.refused.is_some()).map(|pair| (pair.a, pair.b)).collect();
    let running = Running::new(problem, pairs, &of_node);
    let mut open: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (position, pair) in pairs.iter().enumerate().filter(|(_, pair)| pair.refused.is_none()) {
        open.entry(pair.b).or_default().push(position);
    }
    let mut never = Vec::new();
    for (&last, positions) in &open {
        let first = positions.iter().map(|&position| problem.rank[pairs[position].a]).min().unwrap_or(0);
        let between =
            Between { problem, running: &running, before: &before, kept_apart: &kept_apart }.up_to(last, first);
        for &position in positions {
            let pair = &pairs[position];
            // What makes something for the last and needs something of the first runs with them too.
            let makers = before[last].iter().filter(|&&maker| reached[pair.a].contains(maker));
            let mut makers = makers.map(|maker| between.get(maker)?.as_ref());
            let own_reads = running.reads[last].clone();
            let reads = makers.try_fold(own_reads, |all, maker| Some(all.and(&maker?.makes)));
            let own = match (between.get(&pair.a), pair.is_vertical()) {
                (Some(own), true) => own.as_ref().map(|own| own.makes.clone()),
                (Some(own), false) => own.as_ref().map(|own| own.reads.clone()),
                // A way between the two leads through what cannot be in the cluster, or there is none.
                (None, _) => (!reached[pair.a].contains(last)).then(|| running.reads[pair.a].clone()),
            };
            if own.zip(reads).is_none_or(|(own, reads)| own.and(&reads).is_empty()) {
                never.push(position);
            }
        }
    }
    never
}

/// In which orders a node runs in a cluster.
struct Runs {
    reads: Orders,
    makes: Orders,
}

struct Between<'a> {
    problem: &'a Problem<'a>,
    running: &'a Running,
    before: &'a [Vec<usize>],
    kept_apart: &'a BTreeSet<(usize, usize)>,
}

impl Between<'_> {
    /// How nodes before the last would run in its cluster, none if they cannot; as far as ranks reach down to the first, and not what is
    /// before a node that cannot.
    fn up_to(&self, last: usize, first: usize) -> HashMap<usize, Option<Runs>> {
        let mut known: HashMap<usize, Option<Runs>> = HashMap::new();
        let own = Runs { reads: self.running.reads[last].clone(), makes: self.running.makes[last].clone() };
        known.insert(last, Some(own));
        let mut waiting = BinaryHeap::new();
        let mut queued = BTreeSet::new();
        let mut queue = |waiting: &mut BinaryHeap<(usize, usize)>, of: usize| {
            for &node in &self.before[of] {
                if self.problem.rank[node] >= first && queued.insert(node) {
                    waiting.push((self.problem.rank[node], node));
                }
            }
        };
        queue(&mut waiting, last);
        while let Some((_, node)) = waiting.pop() {
            let runs = self.before_others(node, &known);
            if runs.is_some() {
                queue(&mut waiting, node);
            }
            known.insert(node, runs);
        }
        known
    }

    /// How a node runs if it shares a cluster with those of its readers that are between it and the last.
    fn before_others(&self, node: usize, known: &HashMap<usize, Option<Runs>>) -> Option<Runs> {
        let mut makes = self.running.makes[node].clone();
        for &(to, why) in &self.problem.next[node] {
            let Some(runs) = known.get(&to) else { continue };
            if why.is_some() || self.kept_apart.contains(&(node, to)) {
                return None;
            }
            makes = makes.and(&runs.as_ref()?.reads);
        }
        let keeps = self.problem.keeps_order(node);
        let reads = if keeps { makes.clone() } else { self.running.reads[node].clone() };
        (!makes.is_empty()).then_some(Runs { reads, makes })
    }
}
