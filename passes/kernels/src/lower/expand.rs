//! Expands and filters: results whose number is found when they run.

use fusebox_ir::{
    Access, Action, ArrayId, ArrayOp, Association, Binary, Binding, Constant, ElementType, Extent, FailureKind,
    LevelOrder, Operand, ScalarOp, ScalarOperand, Step, Type,
};

use super::{Bound, Lower, Origin, name, scatter::at_least_zero};
use crate::{
    error::Error,
    linear::Linear,
    nest::{Deferred, Nest, ScanParts, Spot},
    strict::Code,
};

impl<'p> Lower<'p> {
    /// A kernel that scans the sizes to offsets, one more than there are sizes, the last being the total; then one over i and j that
    /// stores element j of source i at offset i + j.
    pub(super) fn expand(&mut self, binding: &Binding, origin: &Origin, steps: &mut Vec<Step>) -> Result<(), Error> {
        let ArrayOp::Expand { size, get, sources } = &binding.op else { return Ok(()) };
        let Some((total, arrays)) = binding.results.split_first() else { return Ok(()) };
        let sources: Vec<ArrayId> = sources.iter().map(|&id| self.array(id)).collect();
        let Some(&first) = sources.first() else { return Ok(()) };
        let extents = self.values.ty(first).extents.clone();
        let Some(&n) = extents.first() else { return Ok(()) };
        let array = arrays.first().unwrap_or(total);
        let whole = |value: i64| ScalarOperand::from(Constant::from(value));
        let read_all = |nest: &mut Nest<'_, 'p>, code: &mut Code, index: ScalarOperand| -> Vec<ScalarOperand> {
            sources.iter().map(|&source| nest.read(code, source, vec![index], &binding.place)).collect()
        };

        let count = self.linear_extent(&self.values.form(n).offset(1), "offsets", origin, steps);
        let offsets = self.allocate("offsets".to_owned(), Type::array(vec![count], ElementType::I64), origin, steps);
        let total_value = self.results(std::slice::from_ref(total), origin, steps)?[0];
        let mut nest = self.nest(origin);
        let i = nest.level_over(n, LevelOrder::Up);
        let at = Spot::before(1);
        let mut code = Code::default();
        let elements = read_all(&mut nest, &mut code, i);
        let length = nest.call(size, &elements, &mut Deferred::default(), &mut code);
        let length = nest.run(code, &length, at)[0];
        let length = at_least_zero(&mut nest, length, at);
        let function = nest.sum(ElementType::I64);
        // Sums of i64 do not depend on how they associate, short of wrapping, which is checked.
        let association = Association::Tiles { lanes: 8, total_lanes: 32 };
        let parts = ScanParts {
            exclusive: true,
            totals: true,
            association,
            combine: function,
            seeds: vec![whole(0)],
            values: vec![length],
        };
        let (running, totals) = nest.scan(parts);
        let sum = nest.binary(Binary::Add, running[0], length, at);
        let counted = nest.binary(Binary::Le, whole(0), sum, at);
        let fault = FailureKind::TooLarge { array: name(array), extents: vec![sum] };
        nest.check(counted, &origin.operation, &origin.place, fault, at);
        nest.store(offsets, Access::Write, &[i], running[0], at);
        let end = nest.extent(n);
        nest.store(offsets, Access::Write, &[end], totals[0], Spot::after(0));
        nest.store(total_value, Access::Write, &[], totals[0], Spot::after(0));
        let launch = nest.finish();
        self.launch(launch, steps);

        if arrays.is_empty() {
            return Ok(());
        }
        let results = self.results(arrays, origin, steps)?;
        let mut nest = self.nest(origin);
        let i = nest.level_over(n, LevelOrder::Parallel);
        let at = Spot::before(1);
        let next = nest.binary(Binary::Add, i, whole(1), at);
        let mut code = Code::default();
        let from = nest.read(&mut code, offsets, vec![i], &binding.place);
        let to = nest.read(&mut code, offsets, vec![next], &binding.place);
        let length = nest.push(
            &mut code,
            ScalarOp::Binary { function: Binary::Sub, a: to, b: from },
            ElementType::I64,
            &binding.place,
        );
        let bounds = nest.run(code, &[from, length], at);
        let j = nest.level(whole(0), bounds[1], LevelOrder::Parallel);
        let at = Spot::before(2);
        let mut code = Code::default();
        let mut arguments = read_all(&mut nest, &mut code, i);
        arguments.push(j);
        let values = nest.call(get, &arguments, &mut Deferred::default(), &mut code);
        let values = nest.run(code, &values, at);
        let target = nest.binary(Binary::Add, bounds[0], j, at);
        for (&result, &value) in results.iter().zip(&values) {
            nest.store(result, Access::Write, &[target], value, at);
        }
        let launch = nest.finish();
        self.launch(launch, steps);
        Ok(())
    }

    /// Appends to arrays as long as the sources, which are shortened then.
    pub(super) fn filter(&mut self, binding: &Binding, origin: &Origin, steps: &mut Vec<Step>) -> Result<(), Error> {
        let ArrayOp::Filter { keep, sources } = &binding.op else { return Ok(()) };
        let Some((count, arrays)) = binding.results.split_first() else { return Ok(()) };
        let sources: Vec<ArrayId> = sources.iter().map(|&id| self.array(id)).collect();
        let Some(&first) = sources.first() else { return Ok(()) };
        let n = self.values.ty(first).extents.first().copied().unwrap_or(Extent::Constant(0));
        let mut whole = Vec::new();
        for var in arrays {
            whole.push(self.allocate(name(var), Type::array(vec![n], var.ty.element), origin, steps));
        }
        let count_value = self.results(std::slice::from_ref(count), origin, steps)?[0];
        let mut nest = self.nest(origin);
        let i = nest.level_over(n, LevelOrder::Parallel);
        let at = Spot::before(1);
        let mut code = Code::default();
        let elements: Vec<ScalarOperand> =
            sources.iter().map(|&source| nest.read(&mut code, source, vec![i], &binding.place)).collect();
        let kept = nest.call(keep, &elements, &mut Deferred::default(), &mut code);
        let wanted: Vec<ScalarOperand> = elements.into_iter().chain(kept).collect();
        let mut given = nest.run(code, &wanted, at);
        let when = given.pop();
        let arrays_in: Vec<ArrayId> = whole.iter().map(|&array| nest.array(array, Access::Write)).collect();
        let count_in = nest.array(count_value, Access::Write);
        nest.act(when, Action::Append { arrays: arrays_in, count: count_in, values: given });
        let launch = nest.finish();
        self.launch(launch, steps);
        // There are no more than before.
        let room = self.values.form(n).plus(-1, &Linear::atom(crate::linear::Atom::Value(count_value)));
        self.values.facts.add(0, room);
        for (var, &source) in arrays.iter().zip(&whole) {
            let ty = self.plan_type(var)?;
            self.values.made(&ty);
            let value = self.values.add(name(var), ty);
            self.bindings.bind(var.id, Bound::Plan(Operand::Value(value)));
            steps.push(Step::Shorten { value, source });
        }
        Ok(())
    }
}
