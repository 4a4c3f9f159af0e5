//! Operations that stand twice run once, and so do results that stand twice in one operation.

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Operand, Part, PartMut, ScalarOperand,
    analysis::equal::{is_same_operation, operation_key},
};

use crate::arrays::Arrays;

impl Arrays<'_> {
    /// Reads the first of the scalars that are the same constant, so that what reads them is the same too.
    pub(crate) fn read_first(&self, op: &mut ArrayOp) {
        for part in op.parts_mut() {
            if let PartMut::Array(id) = part {
                *id = self.first.get(id).copied().unwrap_or(*id);
            }
        }
    }

    /// Whether the results of an operation stand before, which then stand for these.
    ///
    /// Of an operation that makes each of its results of one source, some results may stand before; the others stay.
    pub(crate) fn again(&mut self, binding: &Binding) -> bool {
        if binding.op.parts().iter().any(|part| matches!(part, Part::Body(_))) {
            return false;
        }
        match single_source(binding) {
            Some(singles) => {
                let found: Vec<bool> = singles.iter().map(|single| self.stands_before(single)).collect();
                !found.contains(&false)
            }
            None => {
                self.results_twice(binding);
                self.stands_before(binding)
            }
        }
    }

    /// Whether an operation stands before, whose results then stand for these; if not, it is noted for those that follow.
    fn stands_before(&mut self, binding: &Binding) -> bool {
        let key = operation_key(&binding.op);
        let same = |other: &&Binding| is_same_operation(binding, other);
        let found = self.scopes.iter().rev().filter_map(|scope| scope.operations.get(&key)).flatten().find(same);
        let Some(found) = found else {
            if let Some(scope) = self.scopes.last_mut() {
                scope.operations.entry(key).or_default().push(binding.clone());
            }
            return false;
        };
        let firsts: Vec<ArrayId> = found.results.iter().map(|other| other.id).collect();
        let values: Vec<Operand> = firsts.iter().map(|&id| self.standing_for(id)).collect();
        let ids = binding.results.iter().map(|var| var.id);
        // A constant cannot be the result of a block: the binding may have to stay for that.
        if values.iter().any(|value| matches!(value, Operand::Constant(_))) {
            self.first.extend(ids.zip(firsts));
            return false;
        }
        self.values.extend(ids.zip(values));
        true
    }

    /// A function's result that another result of it is too.
    fn results_twice(&mut self, binding: &Binding) {
        let f = match &binding.op {
            ArrayOp::Unit { f }
            | ArrayOp::Generate { f, .. }
            | ArrayOp::Map { f, .. }
            | ArrayOp::Transform { f, .. } => f,
            _ => return,
        };
        for (at, var) in binding.results.iter().enumerate() {
            let same = |earlier: &usize| {
                matches!(f.results[at], ScalarOperand::Local(_))
                    && f.results[*earlier] == f.results[at]
                    && binding.results[*earlier].ty == var.ty
            };
            if let Some(earlier) = (0..at).find(same) {
                let value = self.standing_for(binding.results[earlier].id);
                self.values.entry(var.id).or_insert(value);
            }
        }
    }

    fn standing_for(&self, id: ArrayId) -> Operand {
        self.values.get(&id).copied().unwrap_or(Operand::Value(id))
    }
}

/// Of an operation that makes each result of one source, and of nothing else that differs between them: one such operation for each.
fn single_source(binding: &Binding) -> Option<Vec<Binding>> {
    let (ArrayOp::Compute { sources }
    | ArrayOp::Backpermute { sources, .. }
    | ArrayOp::Replicate { sources, .. }
    | ArrayOp::ReplicateSegments { sources, .. }
    | ArrayOp::Slice { sources, .. }
    | ArrayOp::Reshape { sources, .. }) = &binding.op
    else {
        return None;
    };
    let single = |(&source, var): (&ArrayId, &fusebox_ir::Var)| {
        let mut op = binding.op.clone();
        if let ArrayOp::Compute { sources }
        | ArrayOp::Backpermute { sources, .. }
        | ArrayOp::Replicate { sources, .. }
        | ArrayOp::ReplicateSegments { sources, .. }
        | ArrayOp::Slice { sources, .. }
        | ArrayOp::Reshape { sources, .. } = &mut op
        {
            *sources = vec![source];
        }
        Binding { results: vec![var.clone()], op, place: binding.place.clone() }
    };
    Some(sources.iter().zip(&binding.results).map(single).collect())
}
