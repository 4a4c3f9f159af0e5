//! The first step of a loop by itself, where accumulators hold nothing before it: its elements are the accumulators, and steps behind it need not
//! ask whether there were any.

use fusebox_ir::{Action, Binary, Constant};
use fusebox_schedule::{By, Node};

use super::{Emitter, Result, emitted_level::EmittedLevel};
use crate::vector::Value;

/// Statements of a step, at most, that stand twice for that.
const MOST_STATEMENTS: usize = 24;

impl Emitter<'_> {
    /// Steps `low..high` of a level, one after the other.
    pub(super) fn steps(&mut self, nest: &EmittedLevel, low: Value, high: Value, lanes: u32, first: Value) -> Result {
        let flags = if lanes == 1 { self.flags_of_first_step(nest) } else { Vec::new() };
        if flags.is_empty() {
            return self.steps_up_to(nest, (low, high), None, lanes, first, &[]);
        }
        let some = self.b.less(low, high);
        let (states, locals) = (self.states.clone(), self.locals.clone());
        self.b.open();
        let element = self.b.sub(low, first);
        self.numbered(nest, element);
        self.step(nest, low, 1)?;
        let then = self.b.close();
        let made = std::mem::replace(&mut self.states, states.clone());
        self.locals = locals;
        self.b.open();
        let otherwise = self.b.close();
        self.states = self.b.end_if(some, (then, made), (otherwise, states));
        let begun: Vec<Value> = flags.iter().map(|&flag| self.states[flag]).collect();
        let second = self.b.add_int(low, 1);
        let second = self.b.binary(Binary::Min, second, high);
        self.steps_up_to(nest, (second, high), None, 1, first, &flags)?;
        for (flag, begun) in flags.into_iter().zip(begun) {
            self.states[flag] = begun;
        }
        Ok(())
    }

    /// The states that say whether a reduce has something, and say no before a level's first step, which has an element of each.
    fn flags_of_first_step(&self, nest: &EmittedLevel) -> Vec<usize> {
        if self.mask.is_some() || nest.inner.len() > MOST_STATEMENTS || !is_short(self.nodes) {
            return Vec::new();
        }
        let of = |position: usize| {
            let statement = &self.kernel.statements[position];
            let direct = statement.depth as usize == nest.depth + 1 && statement.when.is_none();
            let reduce = self.reduces.get(&position).filter(|_| direct)?;
            let flag = reduce.flag_in_order()?;
            let none = self.in_order_flags.contains(&flag)
                && self.b.constant_of(self.states[flag]).and_then(Constant::as_bool) == Some(false);
            none.then_some(flag)
        };
        let reduces = nest.inner.clone();
        reduces.filter(|&p| matches!(self.kernel.statements[p].action, Action::Reduce { .. })).filter_map(of).collect()
    }

    /// The accumulators say that they have something.
    pub(super) fn have_something(&mut self, flags: &[usize]) {
        for &flag in flags {
            let some = self.b.constant(Constant::from(true));
            self.states[flag] = self.b.splat(some, self.b.lanes(self.states[flag]));
        }
    }
}

/// Whether what is inside of a step has no loop but few steps in a row: beside other loops, what is asked in each step is nothing.
fn is_short(nodes: &[Node]) -> bool {
    nodes.iter().all(|node| match node {
        Node::Do(_) => true,
        Node::Loop(each) => each.by == By::Serial && each.unroll > 1 && is_short(&each.body),
        Node::Choose { .. } => false,
    })
}
