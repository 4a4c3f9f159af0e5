//! Folds: from left to right, the seed first.

use fusebox_ir::{ArrayId, Constant, Fault, Lambda, Operand};

use super::{Computed, Context, segments};
use crate::{
    scalar::Function,
    val::{self, Val},
};

pub(super) fn fold<'p>(
    context: Context<'_, 'p>,
    combine: &'p Lambda,
    seeds: &[Operand],
    sources: &[ArrayId],
    offsets: Option<ArrayId>,
) -> Computed {
    let combine = Function::new(combine);
    let components = context.components(&combine, context.wanted);
    let ids: Vec<ArrayId> = components.iter().map(|&c| sources[c]).collect();
    let arrays = context.equal_extents(&ids)?;
    let source_extents = &arrays[0].extents;
    let (outer, n) = (&source_extents[..source_extents.len() - 1], segments::innermost(source_extents));
    let parts = segments::rows(context, offsets, n)?;

    let mut extents = outer.to_vec();
    if offsets.is_some() {
        extents.push(parts.len() as i64);
    }
    // Rows of no elements take no memory, however many they are; what they fold to does.
    let extents = val::checked(&context.name(), extents)?;
    let mut results: Vec<Vec<Constant>> = vec![Vec::new(); components.len()];
    for row in 0..val::count(outer) {
        for part in &parts {
            let elements =
                part.clone().map(|at| arrays.iter().map(|a| a.at(row * n as usize + at)).collect::<Vec<_>>());
            let mut state: Option<Vec<Constant>> = None;
            if !seeds.is_empty() {
                state =
                    Some(components.iter().map(|&c| context.evaluator.constant(seeds[c])).collect::<Result<_, _>>()?);
            }
            for element in elements {
                state = Some(match state {
                    Some(state) => context.combine(&combine, &components, &state, &element)?,
                    None => element,
                });
            }
            let Some(state) = state else {
                let row = results[0].len() as i64;
                return Err(Fault::EmptyFold { array: context.evaluator.name(ids[0]), row }.into());
            };
            for (result, value) in results.iter_mut().zip(state) {
                result.push(value);
            }
        }
    }
    let of = |(&c, scalars): (&usize, Vec<Constant>)| (c, Val::new(context.element(c), extents.clone(), scalars));
    Ok(components.iter().zip(results).map(of).collect())
}
