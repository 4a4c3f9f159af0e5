//! Expands and filters: results whose number is found when they run.

use fusebox_ir::{
    Access, ArrayId, ArrayOp, Association, Binary, Binding, Constant, ElementType, Extent, FailureKind, Lambda,
    LevelOrder, ScalarOp, ScalarOperand, Step, Type, ValueId,
};

use super::{Lower, Origin, fuse::Fusing, name, scatter::at_least_zero};
use crate::{
    error::Error,
    locals::scalar_code,
    nest::{Associates, Commutes, ProgramPoint, ScanParts},
};

/// More elements than any memory has bytes.
const MOST_ELEMENTS: i64 = 1 << 47;

fn whole(value: i64) -> ScalarOperand {
    Constant::from(value).into()
}

impl<'p> Lower<'p> {
    /// A kernel that scans the sizes of an expand to offsets, one more than there are sizes, the last being the total.
    pub(super) fn offsets(
        &mut self,
        binding: &Binding,
        origin: &Origin,
        steps: &mut Vec<Step>,
    ) -> Result<ValueId, Error> {
        let ArrayOp::Expand { size, sources, .. } = &binding.op else { unreachable!("an expand") };
        let n = self.extents(sources[0])[0];
        let (total, arrays) = (&binding.results[0], &binding.results[1..]);
        let array = arrays.first().unwrap_or(total);
        let count = self.linear_extent(&self.values.form(n).offset(1), "offsets", origin, steps);
        let offsets = self.allocate("offsets".to_owned(), Type::array(vec![count], ElementType::I64), origin, steps);
        let total = self.results(std::slice::from_ref(total), origin, steps)?[0];
        [count, Extent::Value(total)].into_iter().for_each(|extent| self.values.counts(extent));
        let mut nest = self.nest(origin);
        let i = nest.level_over(n, LevelOrder::Up);
        let at = ProgramPoint::before(1);
        let mut code = scalar_code();
        let elements: Vec<ScalarOperand> =
            sources.iter().map(|&source| nest.read(&mut code, self.array(source), vec![i], &binding.place)).collect();
        let length = nest.call(size, &elements, &mut code);
        let length = nest.run(code, &length, at)[0];
        let length = at_least_zero(&mut nest, length, at);
        let combine = nest.built_in(Binary::Add, ElementType::I64);
        let parts = ScanParts {
            exclusive: true,
            totals: true,
            // Sums of i64 do not depend on how they associate, short of wrapping, which is checked.
            association: Ok(Association::Tiles { lanes: 8, total_lanes: 32 }),
            combine,
            seeds: vec![whole(0)],
            values: vec![length],
        };
        let (running, totals) = nest.scan(at, None, parts);
        let sum = nest.binary(Binary::Add, running[0], length, at);
        let counted = nest.binary(Binary::Le, whole(0), sum, at);
        let fault = FailureKind::TooLarge { array: name(array), extents: vec![sum] };
        nest.check(counted, &origin.operation, &origin.place, fault, at, None);
        nest.store(offsets, Access::Write, &[i], running[0], at, None);
        let end = nest.extent(n);
        nest.store(offsets, Access::Write, &[end], totals[0], ProgramPoint::after(0), None);
        nest.store(total, Access::Write, &[], totals[0], ProgramPoint::after(0), None);
        let launch = nest.finish();
        self.launch(launch, steps);
        Ok(offsets)
    }
}

impl Fusing<'_, '_> {
    /// How many elements are made of one, where it takes part; below zero or where it takes none there are no steps.
    pub(super) fn length(
        &mut self,
        position: usize,
        size: &Lambda,
        sources: &[ArrayId],
        point: ProgramPoint,
        when: Option<ScalarOperand>,
    ) -> ScalarOperand {
        let index = self.index(position);
        let mut code = scalar_code();
        let elements = self.sources(position, sources, &index, &mut code);
        let mut length = self.nest.call(size, &elements, &mut code);
        if let Some(condition) = when {
            let body = |results: Vec<ScalarOperand>| Lambda { results, ..Lambda::default() };
            let op = ScalarOp::If { condition, then: body(length), otherwise: body(vec![whole(0)]) };
            length = self.nest.push_all(&mut code, op, &[ElementType::I64]);
        }
        self.nest.run(code, &length, point)[0]
    }

    /// Fails where no memory holds what is made of one source, although nothing of it is stored: no run would end.
    fn check_length(&mut self, position: usize, length: ScalarOperand, point: ProgramPoint) {
        let origin = self.origin(position);
        let array = self.binding(position).results.get(1).map_or_else(String::new, name);
        let fits = self.nest.binary(Binary::Lt, length, whole(MOST_ELEMENTS), point);
        let fault = FailureKind::TooLarge { array, extents: vec![length] };
        self.nest.check(fits, &origin.operation, &origin.place, fault, point, None);
    }

    /// A level for the elements made of each source. Those that are stored go behind one another, from an offset that is known.
    pub(super) fn expand(&mut self, position: usize) {
        let binding = self.binding(position);
        let ArrayOp::Expand { size, get, sources } = &binding.op else { unreachable!("asked for by its kind") };
        let (point, when, index) = (self.point(position), self.when(position), self.index(position));
        let order = self.spine.levels[point.depth as usize].order;
        let (length, offset) = match (self.made.offsets.get(&position), index.first()) {
            (Some(&offsets), Some(&i)) => {
                let nest = &mut self.nest;
                let next = nest.binary(Binary::Add, i, whole(1), point);
                let mut code = scalar_code();
                let from = nest.read(&mut code, offsets, vec![i], &binding.place);
                let to = nest.read(&mut code, offsets, vec![next], &binding.place);
                let op = ScalarOp::Binary { function: Binary::Sub, a: to, b: from };
                let length = nest.push(&mut code, op, ElementType::I64, &binding.place);
                let bounds = nest.run_when(code, &[from, length], point, when);
                (bounds[1], Some(bounds[0]))
            }
            _ => {
                let length = self.length(position, size, sources, point, when);
                self.check_length(position, length, point);
                (length, None)
            }
        };
        let j = self.nest.level(whole(0), length, order);
        let at = ProgramPoint::before(point.depth + 1);
        let mut code = scalar_code();
        let mut arguments = self.sources(position, sources, &index, &mut code);
        arguments.push(j);
        let values = self.nest.call(get, &arguments, &mut code);
        let values = self.nest.run(code, &values, at);
        let target = offset.map(|offset| self.nest.binary(Binary::Add, offset, j, at));
        self.targets[position] = target;
        let place: Vec<ScalarOperand> = target.into_iter().collect();
        for (var, &value) in binding.results[1..].iter().zip(&values) {
            self.give_at(position, var, value, &place, at, None);
        }
    }

    /// Elements that take part where `keep` holds; those that are stored are appended.
    pub(super) fn filter(&mut self, position: usize) {
        let binding = self.binding(position);
        let ArrayOp::Filter { keep, sources } = &binding.op else { unreachable!("asked for by its kind") };
        let (point, when, index) = (self.point(position), self.when(position), self.index(position));
        let mut code = scalar_code();
        let elements = self.sources(position, sources, &index, &mut code);
        let kept = self.nest.call(keep, &elements, &mut code);
        let wanted: Vec<ScalarOperand> = elements.into_iter().chain(kept).collect();
        let mut given = self.nest.run_when(code, &wanted, point, when);
        let own = given.pop();
        let when = self.nest.both(when, own, point);
        self.kept[position] = when;
        for (var, &value) in binding.results[1..].iter().zip(&given) {
            self.give_at(position, var, value, &[], point, when);
        }
        let count = &binding.results[0];
        if self.spine.appended != Some(position) && self.made.stored.contains_key(&count.id) {
            let sum = self.total(point, when, 0);
            self.give_at(position, count, sum, &[], ProgramPoint::after(0), None);
        }
    }

    /// How many elements take part, at depth `to`.
    fn total(&mut self, point: ProgramPoint, when: Option<ScalarOperand>, to: u32) -> ScalarOperand {
        let (mut value, mut when, mut at) = (whole(1), when, point);
        for depth in (to..point.depth).rev() {
            let combine = self.nest.built_in(Binary::Add, ElementType::I64);
            let associates = Associates { types: vec![ElementType::I64], commutes: Commutes::Yes };
            value = self.nest.reduce(at, when, depth, associates, combine, vec![whole(0)], vec![value])[0];
            (when, at) = (None, ProgramPoint::after(depth));
        }
        value
    }
}
