//! Operations that arrange elements, without functions.

use fusebox_ir::{ArrayId, Constant, Fault, Operand};

use super::{Computed, Context};
use crate::val::{self, Val};

pub(super) fn constant(context: Context<'_, '_>, extents: &[i64], values: &[Constant]) -> Computed {
    let extents = val::checked(&context.name(), extents.to_vec())?;
    Ok(vec![(0, Val::new(context.element(0), extents, values.to_vec()))])
}

/// `None` keeps the next dimension of the source, `Some` is a new one.
pub(super) fn replicate(context: Context<'_, '_>, dims: &[Option<Operand>], sources: &[ArrayId]) -> Computed {
    let source = sources[context.wanted];
    let array = context.evaluator.value(source)?;
    let mut kept = array.extents.iter();
    let mut extents = Vec::new();
    for dim in dims {
        extents.push(match dim {
            Some(extent) => context.evaluator.operand(*extent)?.to_i64(),
            None => kept.next().copied().unwrap_or_default(),
        });
    }
    context.tabulate(val::checked(&context.name(), extents)?, |index| {
        let from: Vec<i64> = index.iter().zip(dims).filter(|(_, dim)| dim.is_none()).map(|(&i, _)| i).collect();
        context.evaluator.element(source, &from)
    })
}

/// `None` keeps the dimension, `Some` fixes it.
pub(super) fn slice(context: Context<'_, '_>, dims: &[Option<Operand>], sources: &[ArrayId]) -> Computed {
    let source = sources[context.wanted];
    let array = context.evaluator.value(source)?;
    let extents = array.extents.iter().zip(dims).filter(|(_, dim)| dim.is_none()).map(|(&n, _)| n).collect();
    context.tabulate(extents, |index| {
        let mut kept = index.iter();
        let mut from = Vec::new();
        for dim in dims {
            from.push(match dim {
                Some(fixed) => context.evaluator.operand(*fixed)?.to_i64(),
                None => kept.next().copied().unwrap_or_default(),
            });
        }
        context.evaluator.element(source, &from)
    })
}

pub(super) fn reshape(context: Context<'_, '_>, extents: &[Operand], sources: &[ArrayId]) -> Computed {
    let source = sources[context.wanted];
    let array = context.evaluator.value(source)?;
    let extents = context.extents(extents)?;
    let (left_extent, right_extent) = (val::count(&extents) as i64, array.len() as i64);
    if left_extent != right_extent {
        let (left, right) = (context.name(), context.evaluator.name(source));
        return Err(Fault::Sizes { left, left_extent, right, right_extent }.into());
    }
    Ok(vec![(context.wanted, array.reshaped(extents))])
}

pub(super) fn concat(context: Context<'_, '_>, sources: &[ArrayId], dim: usize) -> Computed {
    let arrays: Vec<Val> = sources.iter().map(|&id| context.evaluator.value(id)).collect::<Result<_, _>>()?;
    for (source, array) in sources.iter().zip(&arrays) {
        for (d, (&left_extent, &right_extent)) in arrays[0].extents.iter().zip(&array.extents).enumerate() {
            if d != dim && left_extent != right_extent {
                let (left, right) = (context.evaluator.name(sources[0]), context.evaluator.name(*source));
                return Err(Fault::Sizes { left, left_extent, right, right_extent }.into());
            }
        }
    }
    let mut extents = arrays[0].extents.clone();
    extents[dim] = arrays.iter().map(|array| array.extents[dim]).sum();
    context.tabulate(val::checked(&context.name(), extents)?, |index| {
        let mut from = index.to_vec();
        for array in &arrays {
            if from[dim] < array.extents[dim] {
                return Ok(array.at(array.position(&from).unwrap_or_else(|| unreachable!("extents agree"))));
            }
            from[dim] -= array.extents[dim];
        }
        unreachable!("the extent is the sum of extents")
    })
}
