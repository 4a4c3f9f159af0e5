//! A block as a list of steps: those of its bindings, in order, without the bindings that nothing uses. Scalar code behind a kernel that
//! belongs to it is taken along.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{ArrayId, ArrayOp, Binding, Block, Step, analysis::makes_elements};

use super::{Lower, cluster::Group, unsupported};
use crate::error::Error;

impl<'p> Lower<'p> {
    /// Computes the bindings of a block, in order, but for those that nothing uses. Scalar code over what a kernel makes is a part of it.
    pub(super) fn block(
        &mut self,
        bindings: &'p [Binding],
        results: &[ArrayId],
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let users = Users::of(bindings, results);
        let mut done: Vec<bool> = users.live.iter().map(|live| !live).collect();
        for at in 0..bindings.len() {
            if std::mem::replace(&mut done[at], true) {
                continue;
            }
            let binding = &bindings[at];
            match &binding.op {
                ArrayOp::Cond { .. } => self.cond(binding, steps)?,
                ArrayOp::While { .. } => self.while_loop(binding, steps)?,
                ArrayOp::Foreign { .. } => self.foreign(binding, steps)?,
                ArrayOp::Cluster { .. } => {
                    self.kernel(at, Group::cluster(binding), bindings, &users, &mut done, steps)?
                }
                ArrayOp::Unit { .. } => {
                    let group = Group::alone(binding);
                    let (positions, mut units) = self.units_after(bindings, &done, at + 1, &group);
                    units.insert(0, binding);
                    let taken: HashSet<usize> = positions.into_iter().chain([at]).collect();
                    taken.iter().for_each(|&position| done[position] = true);
                    self.units(&units, &|id| users.beyond(id, &taken), steps)?;
                }
                op if makes_elements(op) => {
                    self.kernel(at, Group::alone(binding), bindings, &users, &mut done, steps)?;
                }
                ArrayOp::Consume { chunks: false, .. } => self.lanes(binding, steps)?,
                ArrayOp::Nest { .. } | ArrayOp::Element { .. } | ArrayOp::Consume { .. } => {
                    return Err(unsupported(binding));
                }
                _ => self.emit_operation(binding, steps)?,
            }
        }
        Ok(())
    }

    /// The kernel of a cluster, and of the scalar code behind it that belongs to it.
    fn kernel(
        &mut self,
        at: usize,
        group: Group<'p>,
        bindings: &'p [Binding],
        users: &Users,
        done: &mut [bool],
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let (positions, units) = self.units_after(bindings, done, at + 1, &group);
        let taken: HashSet<usize> = positions.into_iter().chain([at]).collect();
        taken.iter().for_each(|&position| done[position] = true);
        let stored = group.stored(&|id| users.beyond(id, &taken));
        let manifest = |id: ArrayId| stored.contains(&id) || users.beyond(id, &taken);
        self.fuse(&group, &units, &manifest, steps)?;
        for &(inner, outer) in &group.given {
            if inner != outer && self.bindings.has(inner) {
                self.bindings.bind(outer, self.bindings.bound[&inner]);
            }
        }
        Ok(())
    }

    /// A block whose bindings are forgotten after it; `finish` sees them.
    pub(super) fn branch(
        &mut self,
        block: &'p Block,
        finish: &mut dyn FnMut(&mut Self, &mut Vec<Step>) -> Result<(), Error>,
    ) -> Result<Vec<Step>, Error> {
        let (mark, checkpoint) = (self.bindings.log.len(), self.values.checkpoint());
        let mut steps = Vec::new();
        self.block(&block.bindings, &block.results, &mut steps)?;
        finish(self, &mut steps)?;
        self.bindings.undo(mark);
        self.values.restore(checkpoint);
        Ok(steps)
    }
}

/// Which bindings of a block use a value.
struct Users {
    /// Positions of bindings; of the block's results beyond all.
    by: HashMap<ArrayId, Vec<usize>>,
    /// Whether anything uses a binding.
    live: Vec<bool>,
}

impl Users {
    fn of(bindings: &[Binding], results: &[ArrayId]) -> Self {
        let mut by: HashMap<ArrayId, Vec<usize>> = HashMap::new();
        let mut live = vec![false; bindings.len()];
        results.iter().for_each(|&id| by.entry(id).or_default().push(usize::MAX));
        for (position, binding) in bindings.iter().enumerate().rev() {
            live[position] = binding.results.iter().any(|var| by.contains_key(&var.id));
            if live[position] {
                binding.for_each_use(&mut |id| by.entry(id).or_default().push(position));
            }
        }
        Self { by, live }
    }

    /// Whether anything but these bindings uses a value.
    fn beyond(&self, id: ArrayId, bindings: &HashSet<usize>) -> bool {
        self.by.get(&id).is_some_and(|users| users.iter().any(|user| !bindings.contains(user)))
    }
}
