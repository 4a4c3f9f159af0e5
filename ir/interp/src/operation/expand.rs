//! Operations whose result's extent only running reveals: expand, permuted expand, filter.

use fusebox_ir::{ArrayId, Constant, Fault, Lambda, PermuteOrder};

use super::{Computed, Context, permute::Target};
use crate::{
    scalar::{Function, Stop},
    val::{self, Val},
};

/// Element `i` of the sources, by need.
fn element(context: Context<'_, '_>, sources: &[ArrayId], param: usize, i: i64) -> Result<Constant, Stop> {
    context.evaluator.element(sources[param], &[i])
}

/// The extent of vectors that functions need for some results.
fn extent(context: Context<'_, '_>, sources: &[ArrayId], needs: impl IntoIterator<Item = usize>) -> Result<i64, Stop> {
    Ok(extents(context, sources, needs)?[0])
}

/// The sources that functions need for some results; of equal extents. Their extents.
fn extents(
    context: Context<'_, '_>,
    sources: &[ArrayId],
    needs: impl IntoIterator<Item = usize>,
) -> Result<Vec<i64>, Stop> {
    let mut needs: Vec<usize> = needs.into_iter().filter(|&param| param < sources.len()).collect();
    needs.sort_unstable();
    needs.dedup();
    let mut ids: Vec<ArrayId> = needs.into_iter().map(|param| sources[param]).collect();
    if ids.is_empty() {
        ids.push(sources[0]);
    }
    Ok(context.equal_extents(&ids)?[0].extents.clone())
}

/// The size of each element; a negative one counts as zero.
fn size_of(context: Context<'_, '_>, size: &Function<'_>, sources: &[ArrayId], i: i64) -> Result<i64, Stop> {
    let size = size.call(context.evaluator, &|param| element(context, sources, param, i), [0])?;
    Ok(size[0].as_i64().unwrap_or_default().max(0))
}

pub(super) fn expand<'p>(context: Context<'_, 'p>, size: &'p Lambda, get: &'p Lambda, sources: &[ArrayId]) -> Computed {
    let (size, get) = (Function::new(size), Function::new(get));
    let wanted: Vec<usize> = context.wanted.checked_sub(1).into_iter().collect();
    let n = extent(context, sources, size.needs(&[0]).into_iter().chain(get.needs(&wanted)))?;
    let sizes: Vec<i64> = (0..n).map(|i| size_of(context, &size, sources, i)).collect::<Result<_, _>>()?;
    let total = sizes.iter().try_fold(0i64, |total, &size| total.checked_add(size));
    let array = context.binding.results[context.wanted.max(1)].id;
    let array = context.evaluator.name(array);
    let total = total.ok_or(Fault::TooLarge { array, extents: vec![i64::MAX] })?;
    let mut computed = vec![(0, Val::scalar(total.into()))];
    if let [result] = wanted[..] {
        let extents = val::checked(&context.name(), vec![total])?;
        let mut scalars = Vec::new();
        for (i, &size) in (0..).zip(&sizes) {
            for j in 0..size {
                let argument = |param: usize| {
                    if param == sources.len() { Ok(j.into()) } else { element(context, sources, param, i) }
                };
                scalars.push(get.call(context.evaluator, &argument, [result])?[0]);
            }
        }
        computed.push((context.wanted, Val::new(context.element(context.wanted), extents, scalars)));
    }
    Ok(computed)
}

/// `get` gives targets, then values, then perhaps whether the element is kept.
pub(super) fn permuted_expand<'p>(
    context: Context<'_, 'p>,
    size: &'p Lambda,
    get: &'p Lambda,
    combine: &'p Lambda,
    defaults: &[ArrayId],
    sources: &[ArrayId],
    order: PermuteOrder,
) -> Computed {
    let (size, get) = (Function::new(size), Function::new(get));
    let mut target = Target::new(context, combine, defaults, order)?;
    let rank = context.evaluator.ty(defaults[0]).rank();
    let keep = rank + defaults.len();
    let has_keep = get.results() > keep;
    let results: Vec<usize> =
        (0..rank).chain(target.components.iter().map(|c| rank + c)).chain(has_keep.then_some(keep)).collect();
    let n = extent(context, sources, size.needs(&[0]).into_iter().chain(get.needs(&results)))?;
    for i in 0..n {
        for j in 0..size_of(context, &size, sources, i)? {
            let argument =
                |param: usize| if param == sources.len() { Ok(j.into()) } else { element(context, sources, param, i) };
            if has_keep && get.call(context.evaluator, &argument, [keep])?[0].bits() == 0 {
                continue;
            }
            let to = get.call(context.evaluator, &argument, 0..rank)?;
            let to: Vec<i64> = to.into_iter().map(|t| t.as_i64().unwrap_or_default()).collect();
            target.put(&to, &|c| Ok(get.call(context.evaluator, &argument, [rank + c])?[0]))?;
        }
    }
    target.finish()
}

pub(super) fn filter<'p>(context: Context<'_, 'p>, keep: &'p Lambda, sources: &[ArrayId]) -> Computed {
    let keep = Function::new(keep);
    let wanted = context.wanted.checked_sub(1);
    let extents = extents(context, sources, keep.needs(&[0]).into_iter().chain(wanted))?;
    let element =
        |source: usize, position: usize| context.evaluator.element(sources[source], &val::index(&extents, position));
    let mut kept = Vec::new();
    for position in 0..val::count(&extents) {
        if keep.call(context.evaluator, &|param| element(param, position), [0])?[0].bits() != 0 {
            kept.push(position);
        }
    }
    let mut computed = vec![(0, Val::scalar((kept.len() as i64).into()))];
    if let Some(source) = wanted {
        let scalars = kept.iter().map(|&position| element(source, position)).collect::<Result<Vec<_>, _>>()?;
        computed.push((context.wanted, Val::new(context.element(context.wanted), vec![kept.len() as i64], scalars)));
    }
    Ok(computed)
}
