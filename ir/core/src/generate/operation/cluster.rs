//! Clusters: operations that share a pass, with what each is there for.

use std::collections::{HashMap, HashSet};

use crate::{
    ArrayId, ArrayOp, Block, ClusterMark, Extent, Mark, Operand, Order,
    generate::scope::{Known, Scope},
};

impl Scope<'_> {
    pub(super) fn cluster(&mut self) -> Option<()> {
        // Sizes that may be wanted inside, where none can be computed.
        for _ in 0..2 {
            let extent = self.extent();
            self.sum(extent, Extent::Constant(1));
        }
        let mark = self.open();
        self.depth -= 1;
        self.in_cluster = true;
        let steps = self.random.range(1, 5) as usize;
        self.steps(steps);
        self.in_cluster = false;
        let made: Vec<Known> = self.values[mark..].to_vec();
        self.depth += 1;
        let mut body = self.close(mark, Vec::new());
        if body.bindings.is_empty() {
            return None;
        }
        let results = self.cluster_results(&mut body, &made);
        let marks = marks(&body, &results.iter().map(|known| known.id).collect());
        body.results = results.iter().map(|known| known.id).collect();

        let order = self.cluster_order(&body);
        let marks = marks
            .into_iter()
            .map(|mark| ClusterMark { mark, order: self.random.chance(1, 8).then(|| self.cluster_order(&body)) })
            .collect();
        // The types outside say the sizes that come out.
        let mut outer: HashMap<ArrayId, ArrayId> = HashMap::new();
        let (mut ids, mut types) = (Vec::new(), Vec::new());
        for known in &results {
            let id = self.fresh();
            if let Some(&bounds) = self.bounds.get(&known.id) {
                self.bounds.insert(id, bounds);
            }
            let mut ty = known.ty.clone();
            ty.substitute(&mut |id| Operand::Value(outer.get(&id).copied().unwrap_or(id)));
            outer.insert(known.id, id);
            ids.push(id);
            types.push(ty);
        }
        self.bind_ids(&ids, ArrayOp::Cluster { body, marks, order }, types);
        Some(())
    }

    /// Results of a cluster: the last binding, some others, and the sizes in their types; bindings that nothing uses go.
    fn cluster_results(&mut self, body: &mut Block, made: &[Known]) -> Vec<Known> {
        let last: HashSet<ArrayId> =
            body.bindings.last().into_iter().flat_map(|b| b.results.iter().map(|var| var.id)).collect();
        let mut chosen: HashSet<ArrayId> = made
            .iter()
            .filter(|known| last.contains(&known.id) || self.random.chance(1, 3))
            .map(|known| known.id)
            .collect();
        for known in made.iter().rev() {
            if chosen.contains(&known.id) {
                known.ty.for_each_use(&mut |id| _ = chosen.insert(id));
            }
        }
        let mut needed = chosen.clone();
        let mut kept = Vec::new();
        for binding in std::mem::take(&mut body.bindings).into_iter().rev() {
            if binding.results.iter().any(|var| needed.contains(&var.id)) {
                binding.op.for_each_use(&mut |id| _ = needed.insert(id));
                binding.results.iter().for_each(|var| var.ty.for_each_use(&mut |id| _ = needed.insert(id)));
                kept.push(binding);
            }
        }
        kept.reverse();
        body.bindings = kept;
        made.iter().filter(|known| chosen.contains(&known.id)).cloned().collect()
    }

    fn cluster_order(&mut self, body: &Block) -> Order {
        let of = body.bindings.iter().find(|binding| matches!(binding.op, ArrayOp::Backpermute { .. }));
        match (self.random.below(6), of.and_then(|binding| binding.results.first())) {
            (0, _) => Order::Descending,
            (1, Some(var)) => Order::Of(var.id),
            _ => Order::Ascending,
        }
    }
}

/// What each binding of a cluster is there for.
fn marks(body: &Block, results: &HashSet<ArrayId>) -> Vec<Mark> {
    let mut used = HashSet::new();
    let mut marks = Vec::new();
    for (position, binding) in body.bindings.iter().enumerate().rev() {
        let is_result = binding.results.iter().any(|var| results.contains(&var.id));
        let is_used = binding.results.iter().any(|var| used.contains(&var.id));
        marks.push(match (is_used, is_result) {
            _ if position + 1 == body.bindings.len() => Mark::Last,
            (true, false) => Mark::Vertical,
            (true, true) => Mark::Diagonal,
            (false, _) => Mark::Horizontal,
        });
        binding.op.for_each_use(&mut |id| _ = used.insert(id));
        binding.results.iter().for_each(|var| var.ty.for_each_use(&mut |id| _ = used.insert(id)));
    }
    marks.reverse();
    marks
}
