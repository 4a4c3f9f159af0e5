//! The values of a plan under construction, and what is known of the sizes among them.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{ArrayId, Constant, Extent, PlanExtent, PlanOperand, PlanType, PlanValue, Program, ValueId, bug};

use crate::bounds::linear::{Atom, Facts, Linear, exact, never_negative};

/// Every value of the plan, and what is known of scalars among them where the plan is being extended.
#[derive(Debug)]
pub(crate) struct Values<'p> {
    /// Whose values they are; shown with bugs.
    pub(crate) program: &'p Program,
    list: Vec<PlanValue>,
    /// Scalars that are linear in others.
    forms: HashMap<ValueId, Linear>,
    /// Scalars that are the greater of 0 and this.
    clamped: HashMap<ValueId, Linear>,
    /// Holds at every point after where it was noted.
    pub(crate) facts: Facts,
    /// Scalars that are extents of arrays that have been made.
    extents: HashSet<ValueId>,
    order: Vec<ValueId>,
    /// Scalars that are not negative, however they come to be.
    counts: HashSet<ValueId>,
}

/// Where what is known of values ends when a branch ends.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Checkpoint {
    facts: usize,
    extents: usize,
}

impl<'p> Values<'p> {
    pub(crate) fn new(program: &'p Program) -> Self {
        Self {
            program,
            list: Vec::new(),
            forms: HashMap::new(),
            clamped: HashMap::new(),
            facts: Facts::default(),
            extents: HashSet::new(),
            order: Vec::new(),
            counts: HashSet::new(),
        }
    }

    pub(crate) fn add(&mut self, name: String, ty: PlanType) -> ValueId {
        let id = ValueId::at(self.list.len());
        self.list.push(PlanValue { name, ty });
        id
    }

    fn get(&self, id: ValueId) -> &PlanValue {
        self.list.get(id.index()).unwrap_or_else(|| bug!(self.program, "{id} is no value of the plan"))
    }

    pub(crate) fn ty(&self, id: ValueId) -> &PlanType {
        &self.get(id).ty
    }

    pub(crate) fn name(&self, id: ValueId) -> &str {
        &self.get(id).name
    }

    /// All of them, and the scalars that are not negative however they come to be.
    pub(crate) fn into_parts(self) -> (Vec<PlanValue>, HashSet<ValueId>) {
        (self.list, self.counts)
    }

    /// Notes that an extent is not negative however it comes to be: it counts something.
    pub(crate) fn counts(&mut self, extent: PlanExtent) {
        if let Extent::Value(id) = extent {
            self.counts.insert(id);
        }
    }

    /// Notes that an array of this type was made: none of its extents is negative.
    pub(crate) fn made(&mut self, ty: &PlanType) {
        for extent in &ty.extents {
            if let Extent::Value(id) = *extent
                && self.extents.insert(id)
            {
                self.order.push(id);
                let form = self.form_of(id);
                if self.exact(&form) {
                    self.facts.add(0, form);
                }
            }
        }
    }

    /// Whether the scalar is the extent of an array that was made.
    pub(crate) fn is_extent(&self, id: ValueId) -> bool {
        self.extents.contains(&id)
    }

    pub(crate) fn checkpoint(&self) -> Checkpoint {
        Checkpoint { facts: self.facts.len(), extents: self.order.len() }
    }

    pub(crate) fn restore(&mut self, to: Checkpoint) {
        self.facts.truncate(to.facts);
        while self.order.len() > to.extents {
            let Some(id) = self.order.pop() else { break };
            self.extents.remove(&id);
        }
    }

    /// Notes that a scalar is linear in others.
    pub(crate) fn define(&mut self, id: ValueId, form: Linear) {
        let form = form.map(&mut |&atom| match atom {
            Atom::Value(of) => self.form_of(of),
            Atom::Local(_) => Linear::term(atom),
        });
        self.forms.insert(id, form);
    }

    /// Notes that a scalar is the greater of 0 and a scalar of this form.
    pub(crate) fn clamp(&mut self, id: ValueId, number: Linear) {
        self.clamped.insert(id, number);
    }

    /// The form of the scalar that a scalar is the greater of, and 0.
    pub(crate) fn clamped_of(&self, id: ValueId) -> Option<Linear> {
        self.clamped.get(&id).map(|number| {
            number.map(&mut |&atom| match atom {
                Atom::Value(of) => self.form_of(of),
                Atom::Local(_) => Linear::term(atom),
            })
        })
    }

    pub(crate) fn form_of(&self, id: ValueId) -> Linear {
        self.forms.get(&id).cloned().unwrap_or_else(|| Linear::term(Atom::Value(id)))
    }

    pub(crate) fn form(&self, extent: PlanExtent) -> Linear {
        match extent {
            Extent::Constant(constant) => Linear::constant(constant),
            Extent::Value(id) => self.form_of(id),
            Extent::Unknown => bug!(self.program, "a value of the plan has an extent that is not known"),
        }
    }

    /// The extent that a scalar operand is.
    pub(crate) fn operand_as_extent(&self, operand: PlanOperand) -> PlanExtent {
        match operand {
            PlanOperand::Value(id) => Extent::Value(id),
            PlanOperand::Constant(constant) => match constant.as_i64() {
                Some(number) => Extent::Constant(number),
                None => bug!(self.program, "{constant} is no i64, and stands for an extent"),
            },
        }
    }

    /// The scalar operand that an extent is.
    pub(crate) fn extent_as_operand(&self, extent: PlanExtent) -> PlanOperand {
        match extent {
            Extent::Value(id) => PlanOperand::Value(id),
            Extent::Constant(constant) => PlanOperand::Constant(Constant::from(constant)),
            Extent::Unknown => bug!(self.program, "a value of the plan has an extent that is not known"),
        }
    }

    /// Whether the form's number is known to be at least 0.
    fn never_negative(&self, form: &Linear) -> bool {
        never_negative(form, 0, &[&self.facts])
    }

    /// Whether a scalar of this form is known to be the form's number.
    fn exact(&self, form: &Linear) -> bool {
        let extent = |atom| matches!(atom, Atom::Value(id) if self.is_extent(id));
        exact(form, 0, &[&self.facts], &extent)
    }

    /// Whether one scalar is known to be at most another.
    pub(crate) fn at_most(&self, small: &Linear, large: &Linear) -> bool {
        self.exact(small) && self.exact(large) && self.never_negative(&large.minus(small))
    }

    /// Notes that one scalar is at most another.
    pub(crate) fn note_at_most(&mut self, small: &Linear, large: &Linear) {
        if self.exact(small) && self.exact(large) {
            self.facts.add(0, large.minus(small));
        }
    }

    /// Whether two extents are known to be equal.
    pub(crate) fn equal(&self, left: &Linear, right: &Linear) -> bool {
        let difference = left.minus(right);
        match difference.as_constant() {
            Some(constant) => constant == 0,
            None => self.never_negative(&difference) && self.never_negative(&difference.scaled(-1)),
        }
    }
}

/// The id of a number of elements that is never a value of the plan, by the program's name for it: extents that are it are equal to each other
/// alone. No value has the id, as those have the lowest.
pub(crate) fn counted(id: ArrayId) -> ValueId {
    ValueId(u32::MAX - id.0)
}
