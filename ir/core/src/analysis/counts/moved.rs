//! What steps take that move whole arrays: copies and sorts.

use super::{Polynomial, Traffic};
use crate::{Operand, Plan, PlanExtent, Step, ValueId};

/// What a step takes that reads and writes every element of arrays once; scalars do not count. A sort is counted as one such step, in however
/// many passes a backend does it.
pub(super) fn moved(plan: &Plan, ids: &[ValueId], extent: impl Fn(PlanExtent) -> Polynomial) -> Traffic {
    let mut traffic = Traffic::default();
    for value in ids.iter().filter_map(|id| plan.values.get(id.index())).filter(|value| !value.ty.is_scalar()) {
        let product = value.ty.extents.iter().try_fold(Polynomial::constant(1), |all, &own| all.times(&extent(own)));
        let elements = product.unwrap_or_else(|| Polynomial::named("?"));
        traffic.loops = 1;
        traffic.reads.add_assign(&elements);
        traffic.bytes_read.add_assign(&elements.scaled(value.ty.element.bytes() as i64));
    }
    (traffic.writes, traffic.bytes_written) = (traffic.reads.clone(), traffic.bytes_read.clone());
    traffic
}

/// Whether memory is nobody's but a value's, wherever the value is: it is no input, and nothing gives it or what it was another name.
pub(super) fn has_own_memory(plan: &Plan, id: ValueId) -> bool {
    let named = |step: &Step| match step {
        Step::Alias { value, source, .. } => *value == id || *source == Operand::Value(id),
        Step::Truncate { value, source } => *value == id || *source == id,
        Step::While { state, next, .. } => state.contains(&id) || next.contains(&Operand::Value(id)),
        _ => false,
    };
    !plan.inputs.contains(&id) && !plan.results.contains(&id) && !plan.steps.iter().flat_map(Step::within).any(named)
}
