//! Operations that make each element by itself.

use fusebox_ir::{ArrayId, Fault, Lambda, Operand};

use super::{Computed, Context};
use crate::{
    scalar::{Function, Stop},
    val::Val,
};

pub(super) fn unit<'p>(context: Context<'_, 'p>, f: &'p Lambda) -> Computed {
    let value =
        Function::new(f).call(context.evaluator, &|_| unreachable!("a unit has no parameters"), [context.wanted])?;
    Ok(vec![(context.wanted, Val::scalar(value[0]))])
}

pub(super) fn generate<'p>(context: Context<'_, 'p>, extents: &[Operand], f: &'p Lambda) -> Computed {
    let f = Function::new(f);
    context.tabulate(context.extents(extents)?, |index| {
        Ok(f.call(context.evaluator, &|i| Ok(index[i].into()), [context.wanted])?[0])
    })
}

/// Runs over the extents of the binding, which may be less than those of the sources, never more.
pub(super) fn map<'p>(context: Context<'_, 'p>, f: &'p Lambda, sources: &[ArrayId]) -> Computed {
    let f = Function::new(f);
    let extents = context.declared_extents()?;
    for at in f.needs(&[context.wanted]) {
        let array = context.evaluator.value(sources[at])?;
        if let Some((&extent, &available)) = extents.iter().zip(&array.extents).find(|(n, available)| n > available) {
            let (result, array) = (context.name(), context.evaluator.name(sources[at]));
            return Err(Fault::TooFew { result, extent, array, available }.into());
        }
    }
    context.tabulate(extents, |index| {
        Ok(f.call(context.evaluator, &|i| context.evaluator.element(sources[i], index), [context.wanted])?[0])
    })
}

pub(super) fn backpermute<'p>(
    context: Context<'_, 'p>,
    extents: &[Operand],
    f: &'p Lambda,
    sources: &[ArrayId],
) -> Computed {
    let f = Function::new(f);
    let source = sources[context.wanted];
    context.evaluator.value(source)?;
    context.tabulate(context.extents(extents)?, |index| {
        let from = source_index(context, &f, index)?;
        context.evaluator.element(source, &from)
    })
}

pub(super) fn transform<'p>(
    context: Context<'_, 'p>,
    extents: &[Operand],
    index: &'p Lambda,
    f: &'p Lambda,
    sources: &[ArrayId],
) -> Computed {
    let (to_source, f) = (Function::new(index), Function::new(f));
    let needed: Vec<ArrayId> = f.needs(&[context.wanted]).into_iter().map(|i| sources[i]).collect();
    context.equal_extents(&needed)?;
    context.tabulate(context.extents(extents)?, |index| {
        let element = |i: usize| context.evaluator.element(sources[i], &source_index(context, &to_source, index)?);
        Ok(f.call(context.evaluator, &element, [context.wanted])?[0])
    })
}

fn source_index(context: Context<'_, '_>, f: &Function<'_>, index: &[i64]) -> Result<Vec<i64>, Stop> {
    let from = f.call(context.evaluator, &|i| Ok(index[i].into()), 0..f.results())?;
    Ok(from.into_iter().map(|i| i.as_i64().unwrap_or_default()).collect())
}
