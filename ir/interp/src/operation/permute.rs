//! Permutes: each element is combined in at its target, in source order, the default first.

use std::collections::HashSet;

use fusebox_ir::{ArrayId, Constant, Fault, Lambda, PermuteOrder};

use super::{Computed, Context};
use crate::{
    scalar::{Function, Stop},
    val::{self, Val},
};

/// The arrays that a permute reads.
pub(super) struct Arrays<'a> {
    pub(super) defaults: &'a [ArrayId],
    pub(super) values: &'a [ArrayId],
    pub(super) targets: &'a [ArrayId],
    pub(super) keep: Option<ArrayId>,
}

pub(super) fn permute<'p>(
    context: Context<'_, 'p>,
    arrays: &Arrays<'_>,
    combine: &'p Lambda,
    order: PermuteOrder,
) -> Computed {
    let mut target = Target::new(context, combine, arrays.defaults, order)?;
    let sources: Vec<ArrayId> = arrays.targets.iter().copied().chain(arrays.keep).collect();
    let all: Vec<ArrayId> =
        sources.iter().copied().chain(target.components.iter().map(|&c| arrays.values[c])).collect();
    let extents = context.equal_extents(&all)?.first().map(|a| a.extents.clone()).unwrap_or_default();
    for position in 0..val::count(&extents) {
        let index = val::index(&extents, position);
        if let Some(keep) = arrays.keep
            && context.evaluator.element(keep, &index)?.bits() == 0
        {
            continue;
        }
        let at = |&id: &ArrayId| Ok::<_, Stop>(context.evaluator.element(id, &index)?.as_i64().unwrap_or_default());
        let to: Vec<i64> = arrays.targets.iter().map(at).collect::<Result<_, _>>()?;
        target.put(&to, &|c| context.evaluator.element(arrays.values[c], &index))?;
    }
    target.finish()
}

/// The array that is made: of the components that the wanted result needs.
pub(super) struct Target<'a, 'p> {
    context: Context<'a, 'p>,
    combine: Function<'p>,
    pub(super) components: Vec<usize>,
    extents: Vec<i64>,
    state: Vec<Vec<Constant>>,
    unique: Option<HashSet<usize>>,
}

impl<'a, 'p> Target<'a, 'p> {
    pub(super) fn new(
        context: Context<'a, 'p>,
        combine: &'p Lambda,
        defaults: &[ArrayId],
        order: PermuteOrder,
    ) -> Result<Self, Stop> {
        let combine = Function::new(combine);
        let components = context.components(&combine, context.wanted);
        let ids: Vec<ArrayId> = components.iter().map(|&c| defaults[c]).collect();
        let arrays = context.equal_extents(&ids)?;
        let state = arrays.iter().map(|array| array.scalars().to_vec()).collect();
        let unique = (order == PermuteOrder::Unique).then(HashSet::new);
        Ok(Self { context, combine, components, extents: arrays[0].extents.clone(), state, unique })
    }

    /// `result[to] = combine(new, result[to])`, new elements by component and by need.
    pub(super) fn put(&mut self, to: &[i64], new: &dyn Fn(usize) -> Result<Constant, Stop>) -> Result<(), Stop> {
        let Some(position) = val::position(&self.extents, to) else {
            let (array, index) = (self.context.name(), to.to_vec());
            return Err(Fault::Index { array, index, extents: self.extents.clone() }.into());
        };
        if let Some(seen) = &mut self.unique
            && !seen.insert(position)
        {
            return Err(Fault::NotUnique { index: to.to_vec() }.into());
        }
        let k = self.combine.results();
        let old = |c: usize| {
            let at = self.components.iter().position(|&needed| needed == c);
            self.state[at.unwrap_or_else(|| unreachable!("components are closed under need"))][position]
        };
        let argument = |param: usize| if param < k { new(param) } else { Ok(old(param - k)) };
        let combined = self.combine.call(self.context.evaluator, &argument, self.components.iter().copied())?;
        for (state, value) in self.state.iter_mut().zip(combined) {
            state[position] = value;
        }
        Ok(())
    }

    pub(super) fn finish(self) -> Computed {
        let of = |(&c, scalars)| (c, Val::new(self.context.element(c), self.extents.clone(), scalars));
        Ok(self.components.iter().zip(self.state).map(of).collect())
    }
}
