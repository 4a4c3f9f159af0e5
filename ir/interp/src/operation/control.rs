//! Operations that hold blocks, and arrays of arrays.

use fusebox_ir::{ArrayId, Block, Extent, Operand};

use super::{Computed, Context};
use crate::val::{self, Val};

pub(super) fn nest<'p>(context: Context<'_, 'p>, extents: &[Operand], body: &'p Block) -> Computed {
    let extents = context.extents(extents)?;
    let mut elements = Vec::new();
    for position in 0..val::count(&extents) {
        let index: Vec<Val> = val::index(&extents, position).into_iter().map(|i| Val::scalar(i.into())).collect();
        elements.extend(context.evaluator.block(body, &index, [context.wanted])?);
    }
    let ty = &context.binding.results[context.wanted].ty;
    let value = if ty.inner.is_empty() {
        Val::new(ty.element, extents, elements.iter().map(|element| element.at(0)).collect())
    } else {
        Val::nested(ty.element, extents, elements)
    };
    Ok(vec![(context.wanted, value)])
}

/// The extents that the type of the source does not know come before the array.
pub(super) fn element(context: Context<'_, '_>, source: ArrayId, index: &[Operand]) -> Computed {
    let array = context.evaluator.value(source)?;
    let index = context.evaluator.integers(index)?;
    let Some(position) = array.position(&index) else {
        return Err(context.evaluator.outside(source, &array, &index));
    };
    let element = array.arrays()[position].clone();
    let declared = context.evaluator.ty(source).inner.first().map(Vec::as_slice).unwrap_or_default();
    let unknown = declared.iter().zip(&element.extents).filter(|(declared, _)| **declared == Extent::Unknown);
    let mut computed: Vec<(usize, Val)> = unknown.map(|(_, &n)| Val::scalar(n.into())).enumerate().collect();
    computed.push((computed.len(), element));
    Ok(computed)
}

pub(super) fn cond<'p>(
    context: Context<'_, 'p>,
    condition: Operand,
    then: &'p Block,
    otherwise: &'p Block,
) -> Computed {
    let branch = if context.evaluator.constant(condition)?.bits() != 0 { then } else { otherwise };
    Ok(vec![(context.wanted, context.evaluator.block(branch, &[], [context.wanted])?.remove(0))])
}

pub(super) fn run_while<'p>(
    context: Context<'_, 'p>,
    condition: &'p Block,
    step: &'p Block,
    starts: &[Operand],
) -> Computed {
    let mut state: Vec<Val> = starts.iter().map(|&start| context.evaluator.operand(start)).collect::<Result<_, _>>()?;
    while context.evaluator.block(condition, &state, [0])?[0].at(0).bits() != 0 {
        state = context.evaluator.block(step, &state, 0..state.len())?;
    }
    Ok(state.into_iter().enumerate().collect())
}

/// The interpreter has no implementations but the fallback.
pub(super) fn foreign<'p>(context: Context<'_, 'p>, fallback: &'p Block, arguments: &[Operand]) -> Computed {
    let arguments: Vec<Val> = arguments.iter().map(|&a| context.evaluator.operand(a)).collect::<Result<_, _>>()?;
    Ok(vec![(context.wanted, context.evaluator.block(fallback, &arguments, [context.wanted])?.remove(0))])
}
