//! Permutes: the defaults copied, then a scatter.

use fusebox_ir::{
    Access, Action, ArrayId, ArrayOp, Binary, Binding, Constant, Lambda, PermuteOrder, ScalarOp, ScalarOperand, Step,
    ValueId,
};

use super::{Bound, Lower, fuse::Fusing, name};
use crate::{
    association,
    error::Error,
    locals::scalar_code,
    nest::{KernelBuilder, ProgramPoint},
};

impl<'p> Lower<'p> {
    /// The results of a permute as copies of its defaults.
    pub(super) fn copies(
        &mut self,
        binding: &Binding,
        defaults: &[ArrayId],
        steps: &mut Vec<Step>,
    ) -> Result<Vec<ValueId>, Error> {
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
}

impl Fusing<'_, '_> {
    pub(super) fn permute(&mut self, position: usize) {
        let binding = self.binding(position);
        let ArrayOp::Permute { combine, values, targets, keep, order, .. } = &binding.op else {
            unreachable!("asked for by its kind")
        };
        let (point, when, index) = (self.point(position), self.when(position), self.index(position));
        let mut code = scalar_code();
        let arrays: Vec<ArrayId> = targets.iter().chain(values).chain(keep).copied().collect();
        let reads = self.sources(position, &arrays, &index, &mut code);
        let elements = self.nest.run_when(code, &reads, point, when);
        let (to, rest) = elements.split_at(targets.len());
        let (new, keep) = rest.split_at(values.len());
        let when = self.nest.both(when, keep.first().copied(), point);
        self.scatter(position, point, when, to, new, combine, *order);
    }

    /// A level for the elements made of each source, which go to their targets at once.
    pub(super) fn permuted_expand(&mut self, position: usize) {
        let binding = self.binding(position);
        let ArrayOp::PermutedExpand { size, get, combine, defaults, sources, order } = &binding.op else {
            unreachable!("asked for by its kind")
        };
        let (point, when, index) = (self.point(position), self.when(position), self.index(position));
        let (rank, count) = (self.lower.extents(defaults[0]).len(), binding.results.len());
        let zero = ScalarOperand::from(Constant::from(0i64));
        let length = self.length(position, size, sources, point, when);
        let j = self.nest.level(zero, length, self.spine.levels[point.depth as usize].order);
        let at = ProgramPoint::before(point.depth + 1);
        let mut code = scalar_code();
        let mut arguments = self.sources(position, sources, &index, &mut code);
        arguments.push(j);
        let nest = &mut self.nest;
        let mut given = nest.call(get, &arguments, &mut code);
        if let Some(&keep) = given.get(rank + count) {
            // What is dropped needs neither target nor value.
            let needed = given[..rank + count].to_vec();
            if nest.may_fail(&code, &needed, &[keep], at.depth) {
                let types: Vec<_> = needed.iter().map(|&operand| nest.ty(operand)).collect();
                let nothing = types.iter().map(|&ty| Constant::zero(ty).into()).collect();
                let body = |results: Vec<ScalarOperand>| Lambda { results, ..Lambda::default() };
                let op = ScalarOp::If { condition: keep, then: body(needed), otherwise: body(nothing) };
                given = nest.push_all(&mut code, op, &types);
                given.push(keep);
            }
        }
        // Where it takes no part there are no elements.
        let given = nest.run(code, &given, at);
        let (to, rest) = given.split_at(rank);
        let (new, keep) = rest.split_at(count);
        self.scatter(position, at, keep.first().copied(), to, new, combine, *order);
    }

    #[allow(clippy::too_many_arguments)]
    fn scatter(
        &mut self,
        position: usize,
        at: ProgramPoint,
        when: Option<ScalarOperand>,
        to: &[ScalarOperand],
        values: &[ScalarOperand],
        combine: &Lambda,
        order: PermuteOrder,
    ) {
        let binding = self.binding(position);
        let results: Vec<ValueId> = binding.results.iter().map(|var| self.stored(var.id)).collect();
        let nest = &mut self.nest;
        let arrays: Vec<_> = results.iter().map(|&result| nest.array(result, Access::Update)).collect();
        let inside = results.first().is_some_and(|&result| nest.is_inside(result, to, at.depth));
        let map = nest.index_map(to, !inside);
        let order = association::of_scatter(combine, order);
        let combine = nest.function(combine);
        let (values, place) = (values.to_vec(), binding.place.clone());
        nest.act(at, when, Action::Scatter { arrays, map, combine, values, order, place });
    }
}

/// `max(a, 0)`: sizes below zero count as zero.
pub(super) fn at_least_zero(nest: &mut KernelBuilder<'_>, a: ScalarOperand, at: ProgramPoint) -> ScalarOperand {
    nest.binary(Binary::Max, a, Constant::from(0i64).into(), at)
}
