//! Plans: the invariants that `plan.rs` states.

mod step;

use std::collections::{HashMap, HashSet};

use super::{
    ProgramFault, ValidationErrors,
    context::{PathStep, Validator},
    kernel::kernel_errors,
};
use crate::{
    ElementType, Extent, MAX_RANK, Operand, Plan, PlanExtent, PlanOperand, PlanType, Type, ValueId, text::type_text,
};

/// Checks that `plan` keeps what its type promises: its kernels are valid, every value is made before it is used, once, and written once;
/// launches give kernels what they ask for.
///
/// # Errors
/// Every fault, each with its position.
pub fn validate_plan(plan: &Plan) -> Result<(), ValidationErrors> {
    let mut checker = Checker {
        plan,
        report: Validator::new(),
        made: HashSet::new(),
        log: Vec::new(),
        ever: HashSet::new(),
        written: HashSet::new(),
        owned: HashSet::new(),
        taking: HashMap::new(),
        taken: HashSet::new(),
        kept: HashSet::new(),
    };
    checker.plan();
    let mut errors = Vec::new();
    for (position, kernel) in plan.kernels.iter().enumerate() {
        for mut error in kernel_errors(kernel) {
            error.path = format!("kernels[{position}].{}", error.path);
            errors.push(error);
        }
    }
    errors.extend(checker.report.finish());
    if errors.is_empty() { Ok(()) } else { Err(ValidationErrors { errors }) }
}

struct Checker<'p> {
    plan: &'p Plan,
    report: Validator<'p>,
    made: HashSet<ValueId>,
    /// What was made since, so that lists of steps can be left.
    log: Vec<ValueId>,
    /// Made anywhere but in the other branch.
    ever: HashSet<ValueId>,
    written: HashSet<ValueId>,
    /// Made in this list of steps, or state of the loop whose body it is: what may be taken over here.
    owned: HashSet<ValueId>,
    /// Values that are allocated over others and not yet written.
    taking: HashMap<ValueId, ValueId>,
    /// What was taken over, and may only be freed.
    taken: HashSet<ValueId>,
    /// Made before a loop whose steps these are: but for the state of the innermost, not freed here, for the next turn needs them.
    kept: HashSet<ValueId>,
}

impl<'p> Checker<'p> {
    fn within(&mut self, position: PathStep, check: impl FnOnce(&mut Self)) {
        // The position is kept by the validator that reports.
        self.report.enter(position);
        check(self);
        self.report.leave();
    }

    fn name(&self, id: ValueId) -> String {
        self.plan.values.get(id.index()).map_or(id.to_string(), |value| value.name.clone())
    }

    /// A type in words, with names for extents.
    fn show(&self, ty: &PlanType) -> String {
        type_text(ty, &|id| self.name(id))
    }

    fn ty(&self, id: ValueId) -> Option<&'p PlanType> {
        self.plan.values.get(id.index()).map(|value| &value.ty)
    }

    fn exists(&mut self, id: ValueId, what: &str) -> bool {
        let values = self.plan.values.len();
        if id.index() >= values {
            self.report.report(ProgramFault::NoValue { what: what.to_owned(), value: id.to_string(), values });
        }
        id.index() < values
    }

    fn make(&mut self, id: ValueId) {
        if !self.exists(id, "what is made") {
            return;
        }
        if !self.ever.insert(id) {
            self.report.report(ProgramFault::MadeTwice { value: self.name(id) });
        }
        self.made.insert(id);
        self.owned.insert(id);
        self.log.push(id);
    }

    fn used(&mut self, id: ValueId, what: &str) -> Option<&'p PlanType> {
        if !self.exists(id, what) {
            return None;
        }
        if !self.made.contains(&id) || self.taking.contains_key(&id) {
            self.report.report(ProgramFault::NotMade { what: what.to_owned(), value: self.name(id) });
        }
        self.ty(id)
    }

    fn extent(&mut self, extent: PlanExtent, what: &str) {
        match extent {
            Extent::Constant(_) => {}
            Extent::Value(id) => {
                if let Some(ty) = self.used(id, what)
                    && !(ty.is_scalar() && ty.element == ElementType::I64)
                {
                    let (what, value, ty) = (what.to_owned(), self.name(id), self.show(ty));
                    self.report.report(ProgramFault::ExtentType { what, dim: 0, value, ty });
                }
            }
            Extent::Unknown => self.report.report(ProgramFault::UnknownExtent { what: what.to_owned(), dim: 0 }),
        }
    }

    /// The extents of a value that is made here are known.
    fn extents(&mut self, id: ValueId) {
        for &extent in self.ty(id).map_or(&[][..], |ty| &ty.extents) {
            self.extent(extent, &format!("an extent of `{}`", self.name(id)));
        }
    }

    fn operand(&mut self, operand: &PlanOperand, what: &str) -> Option<PlanType> {
        match operand {
            Operand::Value(id) => self.used(*id, what).cloned(),
            Operand::Constant(constant) => Some(Type::scalar(constant.ty())),
        }
    }

    fn condition(&mut self, operand: &PlanOperand) {
        if let Some(ty) = self.operand(operand, "the condition")
            && ty != Type::scalar(ElementType::Bool)
        {
            let (found, expected) = (self.show(&ty), "bool".to_owned());
            self.report.report(ProgramFault::WrongType { what: "the condition".to_owned(), found, expected });
        }
    }

    fn same_kind(&mut self, found: Option<&PlanType>, expected: Option<&PlanType>, what: &str, rank: bool) {
        let (Some(found), Some(expected)) = (found, expected) else { return };
        if found.element != expected.element {
            let (what, found, expected) = (what.to_owned(), found.element, expected.element);
            self.report.report(ProgramFault::WrongElement { what, found, expected });
        } else if rank && found.rank() != expected.rank() {
            let (what, found, expected) = (what.to_owned(), found.rank(), expected.rank());
            self.report.report(ProgramFault::WrongRank { what, found, expected });
        }
    }

    /// Values are arrays of scalars: what nests has been flattened.
    fn value_types(&mut self) {
        for (position, value) in self.plan.values.iter().enumerate() {
            self.within(PathStep::Item("values", position), |c| {
                let what = || format!("`{}`", value.name);
                if value.ty.stream {
                    c.report.report(ProgramFault::Stream { what: what() });
                }
                if !value.ty.inner.is_empty() {
                    let (found, expected) = (c.show(&value.ty), "an array of scalars".to_owned());
                    c.report.report(ProgramFault::WrongType { what: what(), found, expected });
                }
                if value.ty.rank() > MAX_RANK {
                    c.report.report(ProgramFault::Rank { what: what(), rank: value.ty.rank(), limit: MAX_RANK });
                }
            });
        }
    }

    fn plan(&mut self) {
        let plan = self.plan;
        self.value_types();
        let input_names = plan.inputs.iter().filter_map(|id| plan.values.get(id.index()));
        self.report.names(input_names.map(|value| value.name.as_str()), "an input", "inputs");
        self.report.names(plan.outputs.iter().map(|output| output.name.as_str()), "a result", "results");
        for (position, &size) in plan.sizes.iter().enumerate() {
            self.within(PathStep::Item("sizes", position), |c| {
                c.make(size);
                if let Some(ty) = c.ty(size).filter(|ty| **ty != Type::scalar(ElementType::I64)) {
                    let (size, ty) = (c.name(size), c.show(ty));
                    c.report.report(ProgramFault::SizeType { size, ty });
                }
            });
        }
        for (position, &input) in plan.inputs.iter().enumerate() {
            self.within(PathStep::Item("inputs", position), |c| {
                c.make(input);
                // Inputs come at once: a scalar among them may be an extent of one before it.
                c.written.insert(input);
            });
        }
        for (position, &input) in plan.inputs.iter().enumerate() {
            self.within(PathStep::Item("inputs", position), |c| c.extents(input));
        }
        // Whoever gave the inputs has them still.
        self.owned.clear();
        self.steps("steps", &plan.steps, 0);
        self.report.count("results", plan.results.len(), plan.outputs.len());
        for (position, (&result, output)) in plan.results.iter().zip(&plan.outputs).enumerate() {
            self.within(PathStep::Item("results", position), |c| {
                let what = format!("result `{}`", output.name);
                let ty = c.used(result, &what);
                c.same_kind(ty, Some(&output.ty), &what, true);
                for &extent in &output.ty.extents {
                    if extent != Extent::Unknown {
                        c.extent(extent, &format!("an extent of {what}"));
                    }
                }
            });
        }
    }
}
