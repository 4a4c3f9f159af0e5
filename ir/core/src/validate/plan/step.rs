//! Steps of plans: what each uses, makes, writes and frees, and how launches fit their kernels.

use super::Checker;
use crate::{
    Access, ElementType, Extent, KernelArray, KernelExtent, PlanExtent, PlanType, Step, Type, ValueId,
    analysis::NotInPlace,
    validate::{MAX_NESTING, ProgramFault, context::PathStep},
};

impl<'p> Checker<'p> {
    pub(super) fn steps(&mut self, field: &'static str, steps: &'p [Step], depth: usize) {
        if depth > MAX_NESTING {
            return self.report.report(ProgramFault::TooDeep { limit: MAX_NESTING });
        }
        for (position, step) in steps.iter().enumerate() {
            self.within(PathStep::Item(field, position), |c| c.step(step, depth));
        }
    }

    /// Steps whose values are not seen after them; what of `state` they take over or free is there again afterwards.
    fn inner_steps(
        &mut self,
        field: &'static str,
        steps: &'p [Step],
        depth: usize,
        state: &[ValueId],
        inside: impl FnOnce(&mut Self),
    ) {
        let before = self.log.len();
        let owned = std::mem::replace(&mut self.owned, state.iter().copied().collect());
        self.steps(field, steps, depth + 1);
        inside(self);
        self.owned = owned;
        for id in state.iter().filter(|id| self.ever.contains(id)) {
            self.taken.remove(id);
            self.made.insert(*id);
        }
        for id in self.log.drain(before..) {
            self.made.remove(&id);
        }
    }

    fn step(&mut self, step: &'p Step, depth: usize) {
        match step {
            Step::Allocate { value, in_place_of, operation: _, place: _ } => {
                self.extents(*value);
                let source = in_place_of.and_then(|source| Some((source, self.used(source, "what is taken over")?)));
                self.make(*value);
                if let Some((source, found)) = source {
                    let plan = self.plan;
                    let ty = self.ty(*value);
                    if source == *value
                        || !self.owned.contains(&source)
                        || (depth == 0 && plan.results.contains(&source))
                    {
                        self.not_in_place(*value, source, NotInPlace::Outside);
                    } else if self.taking.values().any(|&other| other == source) {
                        self.not_in_place(*value, source, NotInPlace::Twice);
                    } else if ty.is_some_and(|ty| ty.is_scalar()) {
                        self.not_in_place(*value, source, NotInPlace::Scalar);
                    } else if ty.is_some_and(|ty| ty.element.bytes() != found.element.bytes()) {
                        self.not_in_place(*value, source, NotInPlace::Size);
                    }
                    self.taking.insert(*value, source);
                }
            }
            Step::Constant { value, data } => {
                self.make(*value);
                self.write(*value);
                let Some(ty) = self.ty(*value) else { return };
                let extents: Option<Vec<i64>> = ty
                    .extents
                    .iter()
                    .map(|extent| if let Extent::Constant(extent) = extent { Some(*extent) } else { None })
                    .collect();
                let Some(extents) = extents else {
                    let what = format!("`{}`", self.name(*value));
                    return self.report.report(ProgramFault::UnknownExtent { what, dim: 0 });
                };
                if extents.iter().try_fold(1i64, |size, &extent| size.checked_mul(extent))
                    != i64::try_from(data.len()).ok()
                {
                    self.report.report(ProgramFault::Elements { found: data.len(), extents });
                }
                if let Some(found) = data.iter().map(|data| data.ty()).find(|found| *found != ty.element) {
                    let (what, expected) = ("an element".to_owned(), ty.element);
                    self.report.report(ProgramFault::WrongElement { what, found, expected });
                }
            }
            Step::Launch { kernel, sizes, arrays } => self.launch(*kernel, sizes, arrays),
            Step::Alias { value, source, operation: _, place: _ } => {
                let source = self.operand(source, "the source of an alias");
                self.extents(*value);
                self.make(*value);
                self.written.insert(*value);
                self.same_kind(self.ty(*value), source.as_ref(), "the alias", false);
            }
            Step::Truncate { value, source } => {
                let source = self.used(*source, "the source");
                self.extents(*value);
                self.make(*value);
                self.written.insert(*value);
                self.same_kind(self.ty(*value), source, "the shorter vector", false);
                if let Some(found) = self.ty(*value).map(PlanType::rank).filter(|&rank| rank != 1) {
                    let what = "the shorter vector".to_owned();
                    self.report.report(ProgramFault::WrongRank { what, found, expected: 1 });
                }
                if source.is_some_and(|ty| ty.rank() == 0) {
                    self.report.report(ProgramFault::RankZero { what: "the source".to_owned() });
                }
            }
            Step::Copy { value, source } => {
                let source = self.used(*source, "the source");
                self.extents(*value);
                self.make(*value);
                self.same_kind(self.ty(*value), source, "the copy", true);
            }
            Step::CheckEqual { left, right, .. } => {
                self.extent(*left, "the left extent");
                self.extent(*right, "the right extent");
            }
            Step::CheckAtMost { extent, available, .. } => {
                self.extent(*extent, "the extent");
                self.extent(*available, "the extent that is available");
            }
            Step::CheckNotNegative { extent, .. } => self.extent(*extent, "the extent"),
            Step::Sort { keys, carry, results } => {
                self.report.at_least("keys", keys.len(), 1);
                self.report.count("results", results.len(), keys.len() + carry.len());
                for (source, result) in keys.iter().chain(carry).zip(results) {
                    let source = self.used(*source, "what is sorted");
                    let ty = self.used(*result, "a result of a sort");
                    self.write(*result);
                    self.same_kind(ty, source, "a result of a sort", true);
                }
            }
            Step::If { condition, then, otherwise, results } => {
                self.condition(condition);
                for (field, steps) in [("then", then), ("otherwise", otherwise)] {
                    // Both branches make the results: for the second they are not made twice.
                    results.iter().for_each(|id| _ = self.ever.remove(id));
                    self.inner_steps(field, steps, depth, &[], |c| {
                        for &result in results {
                            c.used(result, "a result of a branch");
                        }
                    });
                }
                for &result in results {
                    if self.exists(result, "a result of `if`") {
                        self.ever.insert(result);
                        self.made.insert(result);
                        self.owned.insert(result);
                        self.log.push(result);
                    }
                }
            }
            Step::While { state, condition_steps, condition, body, next } => {
                let types: Vec<_> = state.iter().map(|&id| self.used(id, "the state")).collect();
                let kept = self.kept.clone();
                self.kept.extend(&self.made);
                self.inner_steps("condition_steps", condition_steps, depth, &[], |c| c.condition(condition));
                self.inner_steps("body", body, depth, state, |c| {
                    if c.report.count("next states", next.len(), state.len()) {
                        for (next, ty) in next.iter().zip(&types) {
                            let found = c.operand(next, "the next state");
                            c.same_kind(found.as_ref(), *ty, "the next state", true);
                        }
                    }
                });
                self.kept = kept;
            }
            Step::Lanes { lane, count, body, given, results, operation: _, place: _ } => {
                self.extent(*count, "the number of lanes");
                let kept = self.kept.clone();
                self.kept.extend(&self.made);
                self.make(*lane);
                self.written.insert(*lane);
                self.scalar_i64(*lane, "the lane");
                let mut types = Vec::new();
                self.inner_steps("body", body, depth, &[*lane], |c| {
                    types = given.iter().map(|given| c.operand(given, "what a lane gives")).collect();
                });
                self.made.remove(lane);
                self.owned.remove(lane);
                self.kept = kept;
                if self.report.count("results", results.len(), 2 * given.len()) {
                    self.joined(results, &types);
                }
            }
            Step::Free { value } => {
                if !self.taken.remove(value) {
                    self.used(*value, "what is freed");
                    if self.kept.contains(value) && !self.owned.contains(value) {
                        self.report.report(ProgramFault::FreedInLoop { value: self.name(*value) });
                    }
                }
                self.made.remove(value);
            }
        }
    }

    /// What lanes give: for each a number and a vector of so many elements.
    fn joined(&mut self, results: &[ValueId], types: &[Option<PlanType>]) {
        for (pair, ty) in results.chunks_exact(2).zip(types) {
            let (total, vector) = (pair[0], pair[1]);
            self.make(total);
            self.scalar_i64(total, "the number of all elements");
            self.extents(vector);
            self.make(vector);
            self.written.extend([total, vector]);
            let what = || "the elements of all lanes".to_owned();
            let wanted = ty.as_ref().map(|ty| Type::array(vec![Extent::Value(total)], ty.element));
            self.same_kind(self.ty(vector), wanted.as_ref(), &what(), true);
            if self.ty(vector).is_some_and(|ty| ty.rank() == 1 && ty.extents[0] != Extent::Value(total)) {
                let found = self.ty(vector).map_or(String::new(), |ty| self.show(ty));
                let expected = wanted.map_or(String::new(), |ty| self.show(&ty));
                self.report.report(ProgramFault::WrongType { what: what(), found, expected });
            }
        }
    }

    fn scalar_i64(&mut self, id: ValueId, what: &str) {
        if let Some(ty) = self.ty(id).filter(|ty| **ty != Type::scalar(ElementType::I64)) {
            let (found, expected) = (self.show(ty), "i64".to_owned());
            self.report.report(ProgramFault::WrongType { what: what.to_owned(), found, expected });
        }
    }

    fn write(&mut self, id: ValueId) {
        if !self.written.insert(id) {
            self.report.report(ProgramFault::WrittenTwice { value: self.name(id) });
        }
    }

    fn launch(&mut self, kernel: usize, sizes: &[PlanExtent], arrays: &[ValueId]) {
        for (position, &size) in sizes.iter().enumerate() {
            self.within(PathStep::Item("sizes", position), |c| c.extent(size, "a size"));
        }
        let plan = self.plan;
        let launched = plan.kernels.get(kernel);
        let mut taking: Vec<(usize, ValueId)> = Vec::new();
        // What is allocated over something is there now.
        for (position, array) in arrays.iter().enumerate() {
            if let Some(source) = self.taking.remove(array) {
                taking.push((position, source));
            }
        }
        let types: Vec<_> = arrays.iter().map(|&array| self.used(array, "an array of a launch")).collect();
        let Some(launched) = launched else {
            let kernels = plan.kernels.len();
            return self.report.report(ProgramFault::NoKernel { kernel, kernels });
        };
        self.report.count("sizes", sizes.len(), launched.sizes.len());
        if !self.report.count("arrays", arrays.len(), launched.arrays.len()) {
            return;
        }
        for (position, source) in taking {
            self.takes(arrays[position], source, &launched.arrays[position], arrays);
        }
        for (position, (array, ty)) in launched.arrays.iter().zip(types).enumerate() {
            self.within(PathStep::Item("arrays", position), |c| {
                if array.access == Access::Write {
                    c.write(arrays[position]);
                }
                if array.access != Access::Read && arrays.iter().filter(|&&other| other == arrays[position]).count() > 1
                {
                    c.report.report(ProgramFault::GivenTwice { value: c.name(arrays[position]) });
                }
                let Some(ty) = ty else { return };
                let what = format!("`{}`", c.name(arrays[position]));
                let expected = Type::array(vec![Extent::Unknown; array.extents.len()], array.element);
                c.same_kind(Some(ty), Some(&expected), &what, true);
                for (dim, (found, wanted)) in ty.extents.iter().zip(&array.extents).enumerate() {
                    let wanted = match wanted {
                        KernelExtent::Constant(extent) => Some(Extent::Constant(*extent)),
                        KernelExtent::Size(local) => sizes.get(local.index()).copied(),
                    };
                    if let (Extent::Constant(found), Some(Extent::Constant(expected))) = (found, wanted)
                        && *found != expected
                    {
                        let (found, expected) = (found.to_string(), expected.to_string());
                        c.report.report(ProgramFault::Extents { what: what.clone(), dim, found, expected });
                    }
                }
            });
        }
    }

    fn not_in_place(&mut self, value: ValueId, source: ValueId, why: NotInPlace) {
        let (value, source_name) = (self.name(value), self.name(source));
        self.report.report(ProgramFault::InPlace { value, source_name, why });
    }

    /// A value that is to be written over another, at the launch that does so.
    fn takes(&mut self, value: ValueId, source: ValueId, array: &KernelArray, arrays: &[ValueId]) {
        let allowed = array.in_place_of.and_then(|source| arrays.get(source.index()));
        if allowed != Some(&source) || arrays.iter().filter(|&&array| array == source).count() != 1 {
            self.not_in_place(value, source, NotInPlace::Launch);
        }
        if self.made.remove(&source) {
            self.taken.insert(source);
        }
    }
}
