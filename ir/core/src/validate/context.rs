//! What the validator knows at a point of the program: values in scope, where it is, faults so far.

use std::collections::{HashMap, HashSet};

use super::{ProgramFault, ValidationError};
use crate::{ArrayId, Binding, ElementType, Local, LocalId, Operand, Place, Type, Var, analysis::Sizes};

/// A step of the position in JSON.
#[derive(Clone, Copy, Debug)]
pub(super) enum PathStep {
    Field(&'static str),
    Item(&'static str, usize),
}

/// A value that is defined.
#[derive(Clone, Copy)]
struct Defined<'p> {
    var: &'p Var,
    open: bool,
    /// The fallback it stands in: others do not see it.
    fallback: u32,
    /// How many bodies around it may run any number of times.
    repeats: u32,
}

pub(super) struct Validator<'p> {
    pub sizes: Sizes,
    pub depth: usize,
    /// How many bodies around may run any number of times.
    pub repeats: u32,
    pub in_cluster: bool,
    /// Scalar code of kernels: values from outside are loaded.
    pub in_kernel: bool,
    fallback: u32,
    fallbacks: u32,
    stopped: bool,
    next: u32,
    values: Vec<Defined<'p>>,
    /// Those whose id is not the next: a fault, but their uses are none.
    others: HashMap<ArrayId, Defined<'p>>,
    scopes: Vec<Vec<ArrayId>>,
    streams_read: HashSet<ArrayId>,
    next_local: u32,
    locals: Vec<(ElementType, bool)>,
    other_locals: HashMap<LocalId, (ElementType, bool)>,
    local_scopes: Vec<Vec<LocalId>>,
    path: Vec<PathStep>,
    subjects: Vec<&'p Binding>,
    places: Vec<&'p Place>,
    errors: Vec<ValidationError>,
}

impl<'p> Validator<'p> {
    pub fn new() -> Self {
        Self {
            sizes: Sizes::new(),
            depth: 0,
            repeats: 0,
            in_cluster: false,
            in_kernel: false,
            fallback: 0,
            fallbacks: 0,
            stopped: false,
            next: 0,
            values: Vec::new(),
            others: HashMap::new(),
            scopes: Vec::new(),
            streams_read: HashSet::new(),
            next_local: 0,
            locals: Vec::new(),
            other_locals: HashMap::new(),
            local_scopes: Vec::new(),
            path: Vec::new(),
            subjects: Vec::new(),
            places: Vec::new(),
            errors: Vec::new(),
        }
    }

    pub fn finish(self) -> Vec<ValidationError> {
        self.errors
    }

    /// Whether no fault was found so far.
    pub fn is_sound(&self) -> bool {
        self.errors.is_empty()
    }

    /// Drops the faults that were found so far, and says how many there were.
    pub fn forget(&mut self) -> usize {
        std::mem::take(&mut self.errors).len()
    }

    /// How many faults were found so far.
    pub fn faults(&self) -> usize {
        self.errors.len()
    }

    /// Whether nesting is too deep: what is deeper was not looked at, so that nothing else may be said of it.
    pub fn stopped(&self) -> bool {
        self.stopped
    }

    pub fn stop(&mut self) {
        self.stopped = true;
    }

    pub fn report(&mut self, fault: ProgramFault) {
        let place = self.places.iter().rev().find(|place| !place.is_unknown()).map(|&place| place.clone());
        let subject = self.subjects.last().map(|binding| {
            let name = binding.results.first().map(|var| format!(" `{}`", name_of(var)));
            format!("{}{}", binding.op.name(), name.unwrap_or_default())
        });
        let mut path = String::new();
        for step in &self.path {
            if !path.is_empty() {
                path.push('.');
            }
            match step {
                PathStep::Field(name) => path.push_str(name),
                PathStep::Item(name, position) => path.push_str(&format!("{name}[{position}]")),
            }
        }
        self.errors.push(ValidationError {
            place: place.unwrap_or_default(),
            path,
            subject: subject.unwrap_or_default(),
            fault,
        });
    }

    pub fn enter(&mut self, step: PathStep) {
        self.path.push(step);
    }

    pub fn leave(&mut self) {
        self.path.pop();
    }

    pub fn within<R>(&mut self, step: PathStep, check: impl FnOnce(&mut Self) -> R) -> R {
        self.path.push(step);
        let result = check(self);
        self.path.pop();
        result
    }

    pub fn within_binding<R>(&mut self, binding: &'p Binding, check: impl FnOnce(&mut Self) -> R) -> R {
        self.subjects.push(binding);
        let result = self.at(&binding.place, check);
        self.subjects.pop();
        result
    }

    pub fn at<R>(&mut self, place: &'p Place, check: impl FnOnce(&mut Self) -> R) -> R {
        self.places.push(place);
        let result = check(self);
        self.places.pop();
        result
    }

    pub fn count(&mut self, what: &str, found: usize, expected: usize) -> bool {
        if found != expected {
            self.report(ProgramFault::Count { what: what.to_owned(), found, expected });
        }
        found == expected
    }

    pub fn at_least(&mut self, what: &str, found: usize, least: usize) -> bool {
        if found < least {
            self.report(ProgramFault::TooFewGiven { what: what.to_owned(), found, least });
        }
        found >= least
    }

    // Values.

    pub fn open_scope(&mut self) {
        self.scopes.push(Vec::new());
    }

    pub fn close_scope(&mut self) {
        for id in self.scopes.pop().unwrap_or_default() {
            if let Some(value) = self.defined_mut(id) {
                value.open = false;
            }
        }
    }

    /// What is checked inside sees nothing defined outside.
    pub fn in_fallback(&mut self, check: impl FnOnce(&mut Self)) {
        let outside = self.fallback;
        self.fallbacks += 1;
        self.fallback = self.fallbacks;
        check(self);
        self.fallback = outside;
    }

    pub fn define(&mut self, var: &'p Var) {
        let defined = Defined { var, open: true, fallback: self.fallback, repeats: self.repeats };
        if var.id.0 != self.next {
            self.report(ProgramFault::Order { found: var.id.0, expected: self.next });
        }
        // One fault for a gap, not one for all that follows.
        self.next = var.id.0.saturating_add(1).max(self.next);
        if self.values.len() == var.id.index() {
            self.values.push(defined);
        } else {
            self.others.insert(var.id, defined);
        }
        if let Some(scope) = self.scopes.last_mut() {
            scope.push(var.id);
        }
    }

    fn defined(&self, id: ArrayId) -> Option<&Defined<'p>> {
        self.values.get(id.index()).or_else(|| self.others.get(&id))
    }

    fn defined_mut(&mut self, id: ArrayId) -> Option<&mut Defined<'p>> {
        match self.values.get_mut(id.index()) {
            Some(value) => Some(value),
            None => self.others.get_mut(&id),
        }
    }

    /// The type of a value, in scope or not.
    pub fn type_of(&self, id: ArrayId) -> Option<&'p Type> {
        self.defined(id).map(|value| &value.var.ty)
    }

    pub fn name(&self, id: ArrayId) -> String {
        self.defined(id).map_or_else(|| id.to_string(), |value| name_of(value.var))
    }

    /// The type of a value that is used here; `stream` says whether it may be one.
    pub fn use_value(&mut self, id: ArrayId, stream: bool, what: &dyn Fn() -> String) -> Option<&'p Type> {
        let Some(&value) = self.defined(id).filter(|value| value.open) else {
            let named = self.defined(id).map_or_else(|| id.to_string(), |value| format!("`{}`", name_of(value.var)));
            self.report(ProgramFault::NotInScope { what: what(), value: named });
            return None;
        };
        if value.fallback != self.fallback {
            self.report(ProgramFault::OutsideFallback { what: what(), value: name_of(value.var) });
            return None;
        }
        if value.var.ty.stream {
            if !stream {
                self.report(ProgramFault::Stream { what: what() });
                return None;
            }
            if !self.streams_read.insert(id) {
                self.report(ProgramFault::StreamAgain { what: what(), value: name_of(value.var) });
            } else if self.repeats > value.repeats {
                self.report(ProgramFault::StreamRepeated { what: what(), value: name_of(value.var) });
            }
        }
        Some(&value.var.ty)
    }

    /// The type of an array of scalars, whose elements the operation reads.
    pub fn array(&mut self, id: ArrayId, what: &dyn Fn() -> String) -> Option<&'p Type> {
        let ty = self.use_value(id, false, what)?;
        if !ty.inner.is_empty() {
            self.report(ProgramFault::Nested { what: what(), value: self.name(id) });
            return None;
        }
        Some(ty)
    }

    /// The element type of an operand that is a scalar.
    pub fn scalar(&mut self, operand: &Operand, what: &dyn Fn() -> String) -> Option<ElementType> {
        match *operand {
            Operand::Constant(constant) => Some(constant.ty()),
            Operand::Value(id) => {
                let ty = self.use_value(id, false, what)?;
                if !ty.is_scalar() {
                    self.report(ProgramFault::NoScalar { what: what(), value: self.name(id), ty: self.show(ty) });
                    return None;
                }
                Some(ty.element)
            }
        }
    }

    /// An operand that is a scalar of type `expected`.
    pub fn scalar_of(&mut self, operand: &Operand, expected: ElementType, what: &dyn Fn() -> String) {
        if let Some(found) = self.scalar(operand, what)
            && found != expected
        {
            self.report(ProgramFault::WrongElement { what: what(), found, expected });
        }
    }

    // Locals of the function that is checked.

    pub fn start_function(&mut self) {
        self.next_local = 0;
        self.locals.clear();
        self.other_locals.clear();
        self.local_scopes.clear();
    }

    pub fn open_body(&mut self) {
        self.local_scopes.push(Vec::new());
    }

    pub fn close_body(&mut self) {
        for id in self.local_scopes.pop().unwrap_or_default() {
            self.set_local_open(id, false);
        }
    }

    pub fn define_local(&mut self, local: &Local) {
        if local.id.0 != self.next_local {
            self.report(ProgramFault::LocalOrder { found: local.id.0, expected: self.next_local });
        }
        self.next_local = local.id.0.saturating_add(1).max(self.next_local);
        if self.locals.len() == local.id.index() {
            self.locals.push((local.ty, true));
        } else {
            self.other_locals.insert(local.id, (local.ty, true));
        }
        if let Some(scope) = self.local_scopes.last_mut() {
            scope.push(local.id);
        }
    }

    /// Whether a local may be used from here on.
    pub fn set_local_open(&mut self, id: LocalId, open: bool) {
        if let Some(local) = self.locals.get_mut(id.index()) {
            local.1 = open;
        } else if let Some(local) = self.other_locals.get_mut(&id) {
            local.1 = open;
        }
    }

    pub fn local(&mut self, id: LocalId, what: &dyn Fn() -> String) -> Option<ElementType> {
        let local = self.locals.get(id.index()).or_else(|| self.other_locals.get(&id));
        match local {
            Some(&(ty, true)) => Some(ty),
            _ => {
                self.report(ProgramFault::LocalNotInScope { what: what(), local: id.0 });
                None
            }
        }
    }
}

/// The hint, or the id.
pub(super) fn name_of(var: &Var) -> String {
    if var.name.is_empty() { var.id.to_string() } else { var.name.0.clone() }
}
