//! What becomes one kernel: a cluster, or an operation outside of clusters.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{ArrayId, ArrayOp, Binding, Mark, Var};

/// Operations that become one kernel.
pub(super) struct Group<'p> {
    /// In program order.
    pub(super) list: &'p [Binding],
    /// What the group gives: each result by its name in the group and by that outside, which are the same of an operation alone.
    pub(super) given: Vec<(ArrayId, ArrayId)>,
    /// The fusion tree: of each operation whether any of its results leaves the group.
    leaves: Vec<bool>,
}

impl<'p> Group<'p> {
    /// An operation by itself.
    pub(super) fn alone(binding: &'p Binding) -> Self {
        let given = binding.results.iter().map(|var| (var.id, var.id)).collect();
        Self { list: std::slice::from_ref(binding), given, leaves: vec![true] }
    }

    /// The operations of a cluster.
    pub(super) fn cluster(binding: &'p Binding) -> Self {
        let ArrayOp::Cluster { body, marks, .. } = &binding.op else { return Self::alone(binding) };
        let given = body.results.iter().copied().zip(binding.results.iter().map(|var| var.id)).collect();
        let leaves = marks.iter().map(|mark| mark.mark != Mark::Vertical).collect();
        Self { list: &body.bindings, given, leaves }
    }

    /// What a result of the group is called outside, if it leaves the group.
    pub(super) fn outside(&self, id: ArrayId) -> Option<ArrayId> {
        self.given.iter().find(|(inner, _)| *inner == id).map(|&(_, outer)| outer)
    }

    /// Results that are stored, by their names in the group: what the fusion tree says leaves it and `used` says is used outside, with the
    /// sizes in the types of that.
    pub(super) fn stored(&self, used: &dyn Fn(ArrayId) -> bool) -> HashSet<ArrayId> {
        let leaving = self.list.iter().zip(&self.leaves).filter(|(_, leaves)| **leaves);
        let leaving: HashSet<ArrayId> = leaving.flat_map(|(binding, _)| &binding.results).map(|var| var.id).collect();
        let vars: HashMap<ArrayId, &Var> =
            self.list.iter().flat_map(|binding| &binding.results).map(|var| (var.id, var)).collect();
        let mut stored = HashSet::new();
        let mut waiting: Vec<ArrayId> = self
            .given
            .iter()
            .filter(|(inner, outer)| leaving.contains(inner) && used(*outer))
            .map(|&(inner, _)| inner)
            .collect();
        while let Some(id) = waiting.pop() {
            if let Some(var) = vars.get(&id)
                && stored.insert(id)
            {
                var.ty.for_each_use(&mut |size| waiting.push(size));
            }
        }
        stored
    }
}
