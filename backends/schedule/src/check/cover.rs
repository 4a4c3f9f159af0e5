//! Whether a nest executes every statement at every point of its depth, once.

use std::collections::BTreeSet;

use fusebox_ir::Kernel;

use crate::{
    effects::{effects, has_effect},
    schedule::{Axis, Effects, Loop, Nest, Node, SplitBy},
};

/// Statements that stand together, with what is around them.
#[derive(Clone, Debug)]
pub(super) struct Leaf<'n> {
    /// From the outermost.
    pub(super) loops: Vec<&'n Loop>,
    /// The statements, by position: of `do *` those that stand nowhere else on the way.
    pub(super) statements: BTreeSet<usize>,
    /// Whether they are all that stand nowhere else.
    pub(super) rest: bool,
    /// The choices around: the level, the threshold, and whether this is the side of short levels, with how many loops were around.
    pub(super) choices: Vec<(u32, u32, bool, usize)>,
}

/// The places of a nest where statements stand.
///
/// # Errors
/// Splits, axes, levels and statements that there are not.
pub(super) fn leaves<'n>(kernel: &Kernel, nest: &'n Nest) -> Result<Vec<Leaf<'n>>, Vec<String>> {
    let mut walk = Walk { kernel, nest, leaves: Vec::new(), faults: Vec::new() };
    let levels = kernel.levels.len();
    for (number, split) in nest.splits.iter().enumerate() {
        if split.axis.0 as usize >= levels + 2 * number {
            walk.faults.push(format!("split {number} is of an axis that comes later"));
        }
        if split.more > 0 && u64::from(split.axis.0) + u64::from(split.more) >= levels as u64 {
            walk.faults.push(format!("split {number} numbers levels together that there are not"));
        }
        if matches!(split.by, SplitBy::Steps(0) | SplitBy::Shares(0)) {
            walk.faults.push(format!("split {number} is into pieces without steps"));
        }
    }
    if walk.faults.is_empty() {
        walk.nodes(&nest.nodes, &Leaf { loops: vec![], statements: BTreeSet::new(), rest: false, choices: vec![] });
    }
    if !walk.faults.is_empty() {
        return Err(walk.faults);
    }
    let all: BTreeSet<usize> = effects(kernel).map(|(position, _)| position).collect();
    let mut leaves = walk.leaves;
    for at in 0..leaves.len() {
        if leaves[at].rest {
            let own = way(&leaves[at]);
            let together = leaves.iter().filter(|other| !other.rest && are_together(&own, &way(other)));
            let named = together.flat_map(|other| other.statements.iter().copied()).collect();
            leaves[at].statements = all.difference(&named).copied().collect();
        }
    }
    Ok(leaves)
}

struct Walk<'n, 'k> {
    kernel: &'k Kernel,
    nest: &'n Nest,
    leaves: Vec<Leaf<'n>>,
    faults: Vec<String>,
}

impl<'n> Walk<'n, '_> {
    fn nodes(&mut self, nodes: &'n [Node], around: &Leaf<'n>) {
        if nodes.len() > 1 && nodes.iter().any(|node| matches!(node, Node::Choose { .. })) {
            self.faults.push("a choice has neighbours: it stands alone in a loop, or in the nest".to_owned());
        }
        for node in nodes {
            match node {
                Node::Loop(each) => {
                    if self.nest.level_of(self.kernel.levels.len(), each.axis).is_none() {
                        self.faults.push(format!("a loop is over axis {}, which there is not", each.axis.0));
                    }
                    if each.unroll == 0 {
                        self.faults.push("a loop is unrolled 0 times".to_owned());
                    }
                    let mut inside = around.clone();
                    inside.loops.push(each);
                    self.nodes(&each.body, &inside);
                }
                Node::Do(Effects::Rest) => self.leaves.push(Leaf { rest: true, ..around.clone() }),
                Node::Do(Effects::Named(positions)) => {
                    let mut leaf = around.clone();
                    for &position in positions {
                        let statement = self.kernel.statements.get(position as usize);
                        if !statement.is_some_and(has_effect) {
                            self.faults.push(format!("statement {position} is none that a schedule places"));
                        } else if !leaf.statements.insert(position as usize) {
                            self.faults.push(format!("statement {position} stands twice in one place"));
                        }
                    }
                    self.leaves.push(leaf);
                }
                Node::Choose { level, fewer_than, then, otherwise } => {
                    if *level as usize >= self.kernel.levels.len() {
                        self.faults.push(format!("a choice is by level {level}, which there is not"));
                    }
                    for (side, nodes) in [(true, then), (false, otherwise)] {
                        let mut inside = around.clone();
                        inside.choices.push((*level, *fewer_than, side, around.loops.len()));
                        self.nodes(nodes, &inside);
                    }
                }
            }
        }
    }
}

/// What is executed never, twice, or not at every point.
pub(super) fn faults(kernel: &Kernel, nest: &Nest, leaves: &[Leaf<'_>]) -> Vec<String> {
    let mut faults = Vec::new();
    // On each way through the choices every effect stands once.
    let ways: BTreeSet<Vec<(u32, u32, bool)>> = leaves.iter().map(way).collect();
    let all: BTreeSet<usize> = effects(kernel).map(|(position, _)| position).collect();
    for way_taken in longest(&ways) {
        let on_way = leaves.iter().filter(|leaf| are_together(way_taken, &way(leaf)));
        let (mut placed, mut rests) = (BTreeSet::new(), 0);
        for leaf in on_way {
            rests += usize::from(leaf.rest);
            for &position in &leaf.statements {
                if !placed.insert(position) {
                    faults.push(format!("statement {position} is executed twice at a point"));
                }
            }
        }
        if rests > 1 {
            faults.push("`do *` stands twice on one way".to_owned());
        }
        if placed != all {
            let missing: Vec<String> = all.difference(&placed).map(ToString::to_string).collect();
            faults.push(format!("statements {} are executed nowhere", missing.join(", ")));
        }
    }
    for leaf in leaves {
        let deepest =
            leaf.statements.iter().map(|&position| kernel.statements[position].depth as usize).max().unwrap_or(0);
        let axes: Vec<Axis> = leaf.loops.iter().map(|each| each.axis).collect();
        for level in 0..kernel.levels.len() {
            let own =
                |axis: &Axis| nest.levels_of(kernel.levels.len(), *axis).is_some_and(|levels| levels.contains(&level));
            let of_level: Vec<Axis> = axes.iter().copied().filter(|axis| own(axis)).collect();
            if level >= deepest && of_level.is_empty() {
                continue;
            }
            let mut left = of_level.clone();
            if !covers(kernel, nest, Axis(level as u32), &mut left) {
                faults.push(format!(
                    "level {level} is not run over whole: a loop over it or over one of its parts is missing"
                ));
            } else if !left.is_empty() {
                faults.push(format!("level {level} is run over more than once"));
            }
        }
    }
    faults
}

/// Whether both are met on one way through the choices.
fn are_together(one: &[(u32, u32, bool)], other: &[(u32, u32, bool)]) -> bool {
    one.starts_with(other) || other.starts_with(one)
}

fn way(leaf: &Leaf<'_>) -> Vec<(u32, u32, bool)> {
    leaf.choices.iter().map(|&(level, than, side, _)| (level, than, side)).collect()
}

/// Those ways that are not the beginning of another.
fn longest(ways: &BTreeSet<Vec<(u32, u32, bool)>>) -> Vec<&Vec<(u32, u32, bool)>> {
    let longer = |way: &Vec<(u32, u32, bool)>| ways.iter().any(|other| other != way && other.starts_with(way));
    ways.iter().filter(|way| !longer(way)).collect()
}

/// Whether loops over `axes` run over all of an axis; takes those out that do.
fn covers(kernel: &Kernel, nest: &Nest, axis: Axis, axes: &mut Vec<Axis>) -> bool {
    if let Some(at) = axes.iter().position(|own| *own == axis) {
        axes.remove(at);
        return true;
    }
    let first = kernel.levels.len() as u32;
    let is_of = |split: &crate::schedule::Split| (split.axis.0..=split.axis.0 + split.more).contains(&axis.0);
    for (number, _) in nest.splits.iter().enumerate().filter(|(_, split)| is_of(split)) {
        let (pieces, steps) = (Axis(first + 2 * number as u32), Axis(first + 2 * number as u32 + 1));
        let mut left = axes.clone();
        if covers(kernel, nest, pieces, &mut left) && covers(kernel, nest, steps, &mut left) {
            *axes = left;
            return true;
        }
    }
    false
}
