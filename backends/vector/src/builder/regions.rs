//! Regions, and the loops and branches that are made of them.

use fusebox_ir::{Constant, ElementType};

use super::Builder;
use crate::{If, Loop, Op, Region, Value, While};

/// A counted loop whose body is open.
#[derive(Debug)]
pub struct OpenLoop {
    turns: Turns,
    from: Value,
    to: Value,
    step: i64,
    /// The index.
    pub index: Value,
    starts: Vec<Value>,
    /// The carried values inside.
    pub carried: Vec<Value>,
}

/// What is known of how many turns a counted loop makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Turns {
    /// None: the body is dropped.
    None,
    /// One: the body stands where the loop would.
    One,
    /// Any number.
    Any,
}

/// A loop whose header or body is open.
#[derive(Debug)]
pub struct OpenWhile {
    starts: Vec<Value>,
    /// The carried values inside.
    pub carried: Vec<Value>,
    header: Region,
    condition: Value,
}

impl Builder {
    /// Opens a region.
    pub fn open(&mut self) {
        self.regions.push(Region::default());
    }

    /// Closes the region opened last.
    pub fn close(&mut self) -> Region {
        self.regions.pop().unwrap_or_default()
    }

    /// Appends the instructions of a closed region.
    pub fn append(&mut self, region: &mut Region) {
        if let Some(open) = self.regions.last_mut() {
            open.0.append(&mut region.0);
        }
    }

    fn like(&mut self, values: &[Value]) -> Vec<Value> {
        values
            .iter()
            .map(|&value| self.ty(value))
            .collect::<Vec<_>>()
            .into_iter()
            .map(|ty| self.fresh(ty.element, ty.lanes))
            .collect()
    }

    /// Opens the body of a counted loop: its index, and the carried values. If it is known to make one turn, it is no loop, and its index is a number.
    pub fn begin_loop(&mut self, from: Value, to: Value, step: i64, starts: &[Value]) -> OpenLoop {
        let turns = self.turns(from, to, step);
        let starts = starts.to_vec();
        if turns == Turns::One {
            return OpenLoop { turns, from, to, step, index: from, carried: starts.clone(), starts };
        }
        let index = self.fresh(ElementType::I64, 1);
        let carried = self.like(&starts);
        self.open();
        OpenLoop { turns, from, to, step, index, starts, carried }
    }

    fn turns(&self, from: Value, to: Value, step: i64) -> Turns {
        let number = |value: Value| self.constant_of(value).and_then(Constant::as_i64);
        match (number(from), number(to)) {
            // The verifier refuses it.
            _ if step < 1 => Turns::Any,
            (Some(from), Some(to)) if from >= to => Turns::None,
            (Some(from), Some(to)) if from.checked_add(step).is_none_or(|next| next >= to) => Turns::One,
            _ => Turns::Any,
        }
    }

    /// Closes a counted loop; gives the last carried values.
    pub fn end_loop(&mut self, open: OpenLoop, next: Vec<Value>) -> Vec<Value> {
        let OpenLoop { turns, from, to, step, index, starts, carried } = open;
        if turns == Turns::One {
            return next;
        }
        let body = self.close();
        if turns == Turns::None {
            return starts;
        }
        let results = self.like(&carried);
        self.push(&results, Op::Loop(Box::new(Loop { from, to, step, index, starts, carried, body, next })));
        results
    }

    /// Opens the header of a loop: the carried values.
    pub fn begin_while(&mut self, starts: &[Value]) -> OpenWhile {
        let carried = self.like(starts);
        self.open();
        OpenWhile { starts: starts.to_vec(), carried, header: Region::default(), condition: Value(0) }
    }

    /// Closes the header, opens the body.
    pub fn while_body(&mut self, open: &mut OpenWhile, condition: Value) {
        open.header = self.close();
        open.condition = condition;
        self.open();
    }

    /// Closes a loop; gives the last carried values.
    pub fn end_while(&mut self, open: OpenWhile, next: Vec<Value>) -> Vec<Value> {
        let body = self.close();
        let OpenWhile { starts, carried, header, condition } = open;
        let results = self.like(&carried);
        self.push(&results, Op::While(Box::new(While { starts, carried, header, condition, body, next })));
        results
    }

    /// An `if` out of two closed regions and their results.
    pub fn end_if(
        &mut self,
        condition: Value,
        then: (Region, Vec<Value>),
        otherwise: (Region, Vec<Value>),
    ) -> Vec<Value> {
        let results = self.like(&then.1);
        let (then, then_results) = then;
        let (otherwise, otherwise_results) = otherwise;
        self.push(&results, Op::If(Box::new(If { condition, then, then_results, otherwise, otherwise_results })));
        results
    }
}
