//! Permutes: the defaults copied, then a scatter.

use fusebox_ir::{
    Access, Action, ArrayId, ArrayOp, Binary, Binding, Constant, Lambda, LevelOrder, PermuteOrder, Place, ScalarOp,
    ScalarOperand, Step,
};

use super::{Bound, Lower, Origin, name};
use crate::{
    association,
    error::Error,
    nest::{Deferred, Nest, Spot},
    strict::Code,
};

impl<'p> Lower<'p> {
    /// The results of a permute as copies of its defaults.
    fn copies(
        &mut self,
        binding: &Binding,
        defaults: &[ArrayId],
        steps: &mut Vec<Step>,
    ) -> Result<Vec<ArrayId>, Error> {
        let mut results = Vec::new();
        for (var, &default) in binding.results.iter().zip(defaults) {
            let source = self.materialised(self.find(default), &name(var), steps);
            let ty = self.plan_type(var)?;
            self.values.made(&ty);
            let value = self.values.add(name(var), ty);
            steps.push(Step::Copy { value, source });
            results.push(value);
        }
        for (var, &value) in binding.results.iter().zip(&results) {
            self.bindings.bind(var.id, Bound::Plan(value.into()));
        }
        Ok(results)
    }

    pub(super) fn permute(&mut self, binding: &Binding, origin: &Origin, steps: &mut Vec<Step>) -> Result<(), Error> {
        let ArrayOp::Permute { combine, defaults, values, targets, keep, order } = &binding.op else { return Ok(()) };
        let arrays = |this: &Self, list: &[ArrayId]| list.iter().map(|&id| this.array(id)).collect::<Vec<_>>();
        let (values, targets) = (arrays(self, values), arrays(self, targets));
        let keep = keep.map(|id| self.array(id));
        let results = self.copies(binding, defaults, steps)?;
        let Some(&first) = values.first() else { return Ok(()) };
        let extents = self.values.ty(first).extents.clone();
        let mut nest = self.nest(origin);
        let index = nest.levels_over(&extents);
        let at = Spot::before(nest.depth());
        let mut code = Code::default();
        let mut reads = Vec::new();
        for &array in targets.iter().chain(&values).chain(&keep) {
            reads.push(nest.read(&mut code, array, index.clone(), &binding.place));
        }
        let elements = nest.run(code, &reads, at);
        let (to, rest) = elements.split_at(targets.len());
        let (new, when) = rest.split_at(values.len());
        scatter(&mut nest, &results, to, new, when.first().copied(), combine, *order, &binding.place);
        let launch = nest.finish();
        self.launch(launch, steps);
        Ok(())
    }

    pub(super) fn permuted_expand(
        &mut self,
        binding: &Binding,
        origin: &Origin,
        steps: &mut Vec<Step>,
    ) -> Result<(), Error> {
        let ArrayOp::PermutedExpand { size, get, combine, defaults, sources, order } = &binding.op else {
            return Ok(());
        };
        let sources: Vec<ArrayId> = sources.iter().map(|&id| self.array(id)).collect();
        let results = self.copies(binding, defaults, steps)?;
        let (Some(&first), Some(&result)) = (sources.first(), results.first()) else { return Ok(()) };
        let extents = self.values.ty(first).extents.clone();
        let rank = self.values.ty(result).rank();
        let mut nest = self.nest(origin);
        let index = nest.levels_over(&extents);
        let zero = ScalarOperand::from(Constant::from(0i64));
        let read_all = |nest: &mut Nest<'_, 'p>, code: &mut Code| -> Vec<ScalarOperand> {
            sources.iter().map(|&source| nest.read(code, source, index.clone(), &binding.place)).collect()
        };
        let mut code = Code::default();
        let elements = read_all(&mut nest, &mut code);
        let length = nest.call(size, &elements, &mut Deferred::default(), &mut code);
        let length = nest.run(code, &length, Spot::before(1))[0];
        let j = nest.level(zero, length, LevelOrder::Parallel);
        let at = Spot::before(nest.depth());
        let mut code = Code::default();
        let mut arguments = read_all(&mut nest, &mut code);
        arguments.push(j);
        let mut given = nest.call(get, &arguments, &mut Deferred::default(), &mut code);
        if let Some(&keep) = given.get(rank + results.len()) {
            // What is dropped needs neither target nor value.
            let needed = given[..rank + results.len()].to_vec();
            if nest.may_fail(&code, &needed, &[keep], at.depth) {
                let types: Vec<_> = needed.iter().map(|&operand| nest.ty(operand)).collect();
                let nothing = types.iter().map(|&ty| Constant::zero(ty).into()).collect();
                let body = |results: Vec<ScalarOperand>| Lambda { results, ..Lambda::default() };
                let op = ScalarOp::If { condition: keep, then: body(needed), otherwise: body(nothing) };
                given = nest.push_all(&mut code, op, &types);
                given.push(keep);
            }
        }
        let given = nest.run(code, &given, at);
        let (to, rest) = given.split_at(rank);
        let (new, when) = rest.split_at(results.len());
        scatter(&mut nest, &results, to, new, when.first().copied(), combine, *order, &binding.place);
        let launch = nest.finish();
        self.launch(launch, steps);
        Ok(())
    }
}

#[allow(clippy::too_many_arguments)]
fn scatter(
    nest: &mut Nest<'_, '_>,
    results: &[ArrayId],
    to: &[ScalarOperand],
    values: &[ScalarOperand],
    when: Option<ScalarOperand>,
    combine: &Lambda,
    order: PermuteOrder,
    place: &Place,
) {
    let arrays: Vec<ArrayId> = results.iter().map(|&result| nest.array(result, Access::Update)).collect();
    let inside = results.first().is_some_and(|&result| nest.is_inside(result, to));
    let map = nest.index_map(to, !inside);
    let order = association::of_scatter(combine, order);
    let combine = nest.function(combine);
    nest.act(when, Action::Scatter { arrays, map, combine, values: values.to_vec(), order, place: place.clone() });
}

/// `max(a, 0)`: sizes below zero count as zero.
pub(super) fn at_least_zero(nest: &mut Nest<'_, '_>, a: ScalarOperand, at: Spot) -> ScalarOperand {
    nest.binary(Binary::Max, a, Constant::from(0i64).into(), at)
}
