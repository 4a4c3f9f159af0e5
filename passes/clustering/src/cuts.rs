//! Cuts: what made a cluster impossible, said so that a model does not ask for it again.

use std::collections::{BTreeMap, BTreeSet};

use fusebox_ir::analysis::UnionFind;

use crate::{fit::Fitter, greedy::Judge, model::Cut, pairs::Refusal, partition::Partition, problem::Problem};

/// A cluster that is none.
pub(crate) struct Refused {
    /// Nodes that do not fit together, as few as were found.
    pub(crate) nodes: Vec<usize>,
    pub(crate) why: Refusal,
    pub(crate) cut: Cut,
}

/// For each cluster that is none a cut.
pub(crate) fn of<'p>(
    problem: &'p Problem<'p>,
    fitter: &mut Fitter<'p>,
    partition: &Partition,
    first: &BTreeSet<usize>,
    judge: &mut Judge<'_>,
) -> Vec<Refused> {
    let mut cuts = Cuts { problem, fitter };
    let mut found = Vec::new();
    for cluster in partition.clusters() {
        let members = partition.members(cluster);
        if members.len() < 2 {
            continue;
        }
        let Err(why) = cuts.judged(members, first, judge) else { continue };
        let nodes = cuts.smaller(members.to_vec(), partition, first, judge);
        let cut = cuts.cut(&nodes, partition, first);
        found.push(Refused { nodes, why, cut });
    }
    found
}

/// Cuts for pairs of nodes that are no cluster by themselves, and for these together with all who use what is then written: where a model asked for
/// one cluster that is none, it would else ask for each of these in turn.
pub(crate) fn of_pairs<'p>(problem: &'p Problem<'p>, fitter: &mut Fitter<'p>, judge: &mut Judge<'_>) -> Vec<Cut> {
    let mut found = Vec::new();
    let open = |index: usize| problem.pairs[index].refused.is_none();
    for index in (0..problem.pairs.len()).filter(|&index| open(index)) {
        let pair = &problem.pairs[index];
        let first = BTreeSet::from([index]);
        let own = [pair.a.min(pair.b), pair.a.max(pair.b)];
        if (Cuts { problem, fitter: &mut *fitter }).judged(&own, &first, judge).is_ok() {
            continue;
        }
        let mut nodes = BTreeSet::from(own);
        let alone = together(problem, fitter, &nodes, &first, judge);
        let written = alone.iter().flat_map(|cut| &cut.written);
        nodes.extend(written.flat_map(|&(node, output)| problem.readers(node, output)).map(|pair| pair.b));
        let inside = |index: usize| nodes.contains(&problem.pairs[index].a) && nodes.contains(&problem.pairs[index].b);
        let first = (0..problem.pairs.len()).filter(|&index| open(index) && inside(index)).collect();
        found.extend(alone);
        found.extend(together(problem, fitter, &nodes, &first, judge));
    }
    found
}

/// A cut for nodes, were they the only ones that are together; none if they fit.
fn together<'p>(
    problem: &'p Problem<'p>,
    fitter: &mut Fitter<'p>,
    nodes: &BTreeSet<usize>,
    first: &BTreeSet<usize>,
    judge: &mut Judge<'_>,
) -> Option<Cut> {
    let mut partition = Partition::apart(problem.graph.nodes.len());
    partition.merge_all(&Vec::from_iter(nodes.iter().copied()));
    of(problem, fitter, &partition, first, judge).into_iter().map(|refused| refused.cut).next()
}

struct Cuts<'f, 'p> {
    problem: &'p Problem<'p>,
    fitter: &'f mut Fitter<'p>,
}

impl Cuts<'_, '_> {
    fn judged(&mut self, nodes: &[usize], first: &BTreeSet<usize>, judge: &mut Judge<'_>) -> Result<(), Refusal> {
        self.fitter.fit(nodes, &|pair| first.contains(&pair))?;
        judge(nodes)
    }

    /// As few of the nodes as still do not fit, as long as what is written stays the same.
    fn smaller(
        &mut self,
        mut nodes: Vec<usize>,
        partition: &Partition,
        first: &BTreeSet<usize>,
        judge: &mut Judge<'_>,
    ) -> Vec<usize> {
        for position in (0..nodes.len()).rev() {
            let mut fewer = nodes.clone();
            let gone = fewer.remove(position);
            // Who loses a consumer must be written already.
            let problem = self.problem;
            let producers_written = problem.of_node[gone].iter().map(|&index| &problem.pairs[index]).all(|pair| {
                !pair.is_vertical()
                    || pair.a == gone
                    || !fewer.contains(&pair.a)
                    || pair.outputs.iter().all(|&output| self.is_written(partition, pair.a, output))
            });
            if fewer.len() >= 2
                && producers_written
                && self.is_connected(&fewer, first)
                && self.judged(&fewer, first, judge).is_err_and(|refusal| refusal != Refusal::Apart)
            {
                nodes = fewer;
            }
        }
        nodes
    }

    fn is_written(&self, partition: &Partition, node: usize, output: usize) -> bool {
        let problem = self.problem;
        problem.written[node][output]
            || problem.readers(node, output).any(|pair| partition.of(pair.b) != partition.of(node))
    }

    fn is_connected(&self, nodes: &[usize], first: &BTreeSet<usize>) -> bool {
        self.tree(nodes, first).len() + 1 == nodes.len()
    }

    /// Fused pairs that connect nodes, none more than needed.
    fn tree(&self, nodes: &[usize], first: &BTreeSet<usize>) -> Vec<usize> {
        let position: BTreeMap<usize, usize> = nodes.iter().enumerate().map(|(at, &node)| (node, at)).collect();
        let mut unite = UnionFind::new(nodes.len());
        let mut tree = Vec::new();
        for &index in first {
            let pair = &self.problem.pairs[index];
            if let (Some(&a), Some(&b)) = (position.get(&pair.a), position.get(&pair.b))
                && unite.find(a) != unite.find(b)
            {
                unite.unite(a, b);
                tree.push(index);
            }
        }
        tree
    }

    fn cut(&self, nodes: &[usize], partition: &Partition, first: &BTreeSet<usize>) -> Cut {
        let problem = self.problem;
        let written = nodes.iter().flat_map(|&node| {
            let outputs = 0..problem.written[node].len();
            outputs.filter(move |&output| !problem.written[node][output]).map(move |output| (node, output))
        });
        let written = written.filter(|&(node, output)| self.is_written(partition, node, output)).collect();
        Cut { pairs: self.tree(nodes, first), written }
    }
}
