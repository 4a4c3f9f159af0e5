//! What a function has to be, whoever made it: makers and users of functions rely on it, and nothing else looks.

mod types;

use std::fmt::{self, Display};

use fusebox_ir::{Constant, bug};

use crate::{Function, If, Inst, Loop, Op, Region, Type, Value, While};

/// A rule that a function may break.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Rule {
    /// Values are positions in [`Function::types`], whose lanes are powers of two.
    Values,
    /// A value is defined once.
    DefinedOnce,
    /// A value is used after it is defined, inside of the region that defines it.
    DefinedBeforeUse,
    /// An instruction has as many results as its operation gives.
    Results,
    /// Operands and results have the types and the lanes that the operation asks for.
    Types,
    /// Carried values are alike in number and type: first ones, those inside, next ones, results; so are the results of both sides of an `if`.
    Carried,
    /// A mask is of `bool`, of the lanes of what it masks or uniform.
    Masks,
    /// A number is of the type of its result.
    Constants,
    /// Positions in the instruction are inside: of lanes, of parameters, of the words of the argument table; steps are above 0.
    Positions,
    /// Accesses at known places of scratch memory are inside of it.
    Scratch,
    /// A failure has a site, whose lanes and number of operands are its own.
    Sites,
    /// A store past the caches is of whole vectors of 16 bytes, in a row, without a mask.
    Streaming,
}

/// A rule that is broken somewhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// Which.
    pub rule: Rule,
    /// By which instruction, as text without its regions.
    pub at: String,
    /// How.
    pub what: String,
}

impl Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}: `{}`: {}", self.rule, self.at, self.what)
    }
}

/// Whether a function is as all code generators take it to be.
///
/// # Errors
/// Every [`Fault`], in the order of instructions.
pub fn verify(function: &Function) -> Result<(), Vec<Fault>> {
    verify_call(function, u32::MAX as usize)
}

/// The same for a function whose caller gives an argument table of so many words.
///
/// # Errors
/// As [`verify`].
pub fn verify_call(function: &Function, words: usize) -> Result<(), Vec<Fault>> {
    let count = function.types.len();
    let mut verify = Verify {
        function,
        words,
        states: vec![State::Undefined; count],
        constants: vec![None; count],
        places: vec![None; count],
        open: Vec::new(),
        at: None,
        faults: Vec::new(),
    };
    for (position, ty) in function.types.iter().enumerate() {
        if !ty.lanes.is_power_of_two() {
            verify.fault(Rule::Values, format!("v{position} has {} lanes", ty.lanes));
        }
    }
    verify.region(&function.body, |_| {});
    if verify.faults.is_empty() { Ok(()) } else { Err(verify.faults) }
}

/// [`verify`] between one part of ours and the next. Only in builds with debug assertions: what is tested is looked at there.
///
/// # Panics
/// If the function breaks a rule: that is a mistake of `maker`.
pub fn debug_verify(function: &Function, maker: &str) {
    if cfg!(debug_assertions) {
        insist(function, maker, verify(function));
    }
}

/// [`debug_verify`] with the words of the argument table.
///
/// # Panics
/// As [`debug_verify`].
pub fn debug_verify_call(function: &Function, words: usize, maker: &str) {
    if cfg!(debug_assertions) {
        insist(function, maker, verify_call(function, words));
    }
}

fn insist(function: &Function, maker: &str, verified: Result<(), Vec<Fault>>) {
    if let Err(faults) = verified {
        let faults: Vec<String> = faults.iter().map(Fault::to_string).collect();
        bug!(function, "{maker} made a function that is not valid: {}", faults.join("; "));
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    Undefined,
    Defined,
    /// Its region is closed.
    Gone,
}

struct Verify<'a> {
    function: &'a Function,
    words: usize,
    states: Vec<State>,
    constants: Vec<Option<Constant>>,
    /// How many bytes behind the beginning of scratch memory a value is known to be.
    places: Vec<Option<i64>>,
    /// What the open regions define.
    open: Vec<Value>,
    at: Option<&'a Inst>,
    faults: Vec<Fault>,
}

impl<'a> Verify<'a> {
    fn fault(&mut self, rule: Rule, what: String) {
        let at = self.at.map_or_else(String::new, |inst| self.function.line_of(inst));
        self.faults.push(Fault { rule, at, what });
    }

    /// The type of a value, if there is such a value.
    fn ty(&self, value: Value) -> Option<Type> {
        self.function.types.get(value.0 as usize).copied()
    }

    fn define(&mut self, value: Value) {
        match self.states.get(value.0 as usize) {
            None => self.fault(Rule::Values, format!("{value} has no type")),
            Some(State::Undefined) => {}
            Some(State::Defined | State::Gone) => {
                self.fault(Rule::DefinedOnce, format!("{value} is defined already"));
            }
        }
        if let Some(state) = self.states.get_mut(value.0 as usize) {
            *state = State::Defined;
            self.open.push(value);
        }
    }

    fn used(&mut self, value: Value) {
        match self.states.get(value.0 as usize) {
            None => self.fault(Rule::Values, format!("{value} has no type")),
            Some(State::Undefined) => self.fault(Rule::DefinedBeforeUse, format!("{value} is not defined yet")),
            Some(State::Gone) => self.fault(Rule::DefinedBeforeUse, format!("the region of {value} is closed")),
            Some(State::Defined) => {}
        }
    }

    fn all_used(&mut self, values: &[Value]) {
        values.iter().for_each(|&value| self.used(value));
    }

    /// A region, and what sees its values behind its last instruction.
    fn region(&mut self, region: &'a Region, behind: impl FnOnce(&mut Self)) {
        self.inside(&[], region, behind);
    }

    /// A region that defines `own` at its beginning.
    fn inside(&mut self, own: &[Value], region: &'a Region, behind: impl FnOnce(&mut Self)) {
        let (outer, at) = (self.open.len(), self.at);
        own.iter().for_each(|&value| self.define(value));
        for inst in &region.0 {
            self.at = Some(inst);
            self.inst(inst);
        }
        self.at = at;
        behind(self);
        for value in self.open.split_off(outer) {
            self.states[value.0 as usize] = State::Gone;
        }
    }

    fn inst(&mut self, inst: &'a Inst) {
        match &inst.op {
            Op::Loop(own) => {
                let Loop { from, to, starts, index, carried, body, next, .. } = &**own;
                self.all_used(&[*from, *to]);
                self.all_used(starts);
                let own: Vec<Value> = carried.iter().copied().chain([*index]).collect();
                self.inside(&own, body, |this| this.all_used(next));
            }
            Op::While(own) => {
                let While { starts, carried, header, condition, body, next } = &**own;
                self.all_used(starts);
                self.inside(carried, header, |this| {
                    this.used(*condition);
                    // The body sees what the header computes.
                    this.region(body, |this| this.all_used(next));
                });
            }
            Op::If(own) => {
                let If { condition, then, then_results, otherwise, otherwise_results } = &**own;
                self.used(*condition);
                self.region(then, |this| this.all_used(then_results));
                self.region(otherwise, |this| this.all_used(otherwise_results));
            }
            op => self.all_used(&op.operands()),
        }
        let wanted = match &inst.op {
            Op::Store { .. } | Op::Prefetch { .. } | Op::FailIf { .. } => 0,
            Op::Loop(own) => own.carried.len(),
            Op::While(own) => own.carried.len(),
            Op::If(own) => own.then_results.len(),
            _ => 1,
        };
        // Types are looked at where there are all of them.
        let known = |this: &Self| inst.results.iter().chain(&inst.op.operands()).all(|&value| this.ty(value).is_some());
        if inst.results.len() != wanted {
            self.fault(Rule::Results, format!("{} results instead of {wanted}", inst.results.len()));
        } else if known(self) {
            self.types(inst);
        }
        inst.results.iter().for_each(|&value| self.define(value));
    }
}
