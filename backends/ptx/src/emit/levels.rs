//! Levels: their steps, one after the other by one thread, or as axes that threads share.

use std::ops::Range;

use fusebox_ir::{Action, ElementType, LevelOrder, ScalarOperand};

use super::{Emitter, Result};
use crate::value::Val;

/// The steps of a level where its bounds are known.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Axis {
    pub(crate) level: usize,
    pub(crate) from: Val,
    /// How many; at least 0.
    pub(crate) steps: Val,
    down: bool,
}

impl Emitter<'_> {
    /// The bounds of a level, at the point where the code stands.
    pub(crate) fn axis(&mut self, level: usize) -> Result<Axis> {
        let kernel = self.kernel;
        let declared = &kernel.levels[level];
        let (from, to) = (self.operand(declared.from)?, self.operand(declared.to)?);
        let is_size = |operand: ScalarOperand| match operand {
            ScalarOperand::Local(id) => kernel.sizes.iter().any(|size| size.id == id),
            ScalarOperand::Constant(constant) => constant.as_i64().is_some_and(|number| number >= 0),
            ScalarOperand::Outer(_) => false,
        };
        let steps = if from.as_i64() == Some(0) && is_size(declared.to) {
            to
        } else {
            // Where the number is no `i64` it is negative, and there are no steps.
            let difference = self.c.sub(to, from);
            let zero = Val::from(0i64);
            let there = self.c.compare("gt", to, from);
            let text = self.c.text(difference);
            let least = self.c.make(ElementType::I64, "max.s64", &[&text, "0"]);
            self.c.select(there, least, zero)
        };
        Ok(Axis { level, from, steps, down: declared.order == LevelOrder::Down })
    }

    /// Sets the index of a level for its step of a number, counted in the level's order.
    pub(crate) fn enter(&mut self, axis: &Axis, step: Val) {
        let index = if axis.down {
            let end = self.c.add(axis.from, axis.steps);
            let last = self.c.add(end, (-1i64).into());
            self.c.sub(last, step)
        } else {
            self.c.add(axis.from, step)
        };
        self.locals.insert(self.kernel.levels[axis.level].index.id, index);
    }

    /// Whether operands of combinations along a level change places.
    pub(crate) fn is_down(&self, level: usize) -> bool {
        self.kernel.levels[level].order == LevelOrder::Down
    }

    /// Sets the indices of several levels, the first outermost, for a number of a point of them in row-major order.
    pub(crate) fn enter_all(&mut self, axes: &[Axis], point: Val) {
        let mut rest = point;
        for (position, axis) in axes.iter().enumerate().rev() {
            if position == 0 {
                self.enter(axis, rest);
                break;
            }
            let quotient = self.quotient(rest, axis.steps);
            let product = self.c.mul(quotient, axis.steps);
            let step = self.c.sub(rest, product);
            self.enter(axis, step);
            rest = quotient;
        }
    }

    /// `number / by` of what is not negative and above 0: in 32 bits where both have no more, as that takes a third of the time.
    pub(crate) fn quotient(&mut self, number: Val, by: Val) -> Val {
        let (x, n) = (self.c.in_reg(number).to_string(), self.c.text(by));
        let both = self.c.make(ElementType::U64, "or.b64", &[&x, &n]);
        let both = self.c.text(both);
        let large = self.c.test("setp.gt.u64", &[&both, "0xffffffff"]);
        let result = self.c.variable(0i64.into());
        let (wide, behind) = (self.c.label(), self.c.label());
        self.c.op(format_args!("@{large} bra {wide}"));
        let by = self.c.in_reg(by).to_string();
        let [low, small] = [&x, &by].map(|wide| self.c.make(ElementType::U32, "cvt.u32.u64", &[wide]));
        let (low, small) = (self.c.text(low), self.c.text(small));
        let quotient = self.c.make(ElementType::U32, "div.u32", &[&low, &small]);
        let quotient = self.c.text(quotient);
        self.c.op(format_args!("cvt.u64.u32 {result}, {quotient}"));
        self.c.op(format_args!("bra {behind}"));
        self.c.place(wide);
        self.c.op(format_args!("div.u64 {result}, {x}, {n}"));
        self.c.place(behind);
        Val::new(ElementType::I64, result)
    }

    /// How many points several levels have.
    pub(crate) fn points(&mut self, axes: &[Axis]) -> Val {
        axes.iter().fold(1i64.into(), |points, axis| self.c.mul(points, axis.steps))
    }

    /// A level, by this thread alone: its loop, with the statements of `range` inside.
    pub(crate) fn level(&mut self, depth: usize, range: Range<usize>) -> Result {
        let axis = self.axis(depth)?;
        self.begin(depth, range.clone(), Some(axis.steps))?;
        let inner = range.clone();
        self.count_up(axis.steps, |this, step| {
            this.enter(&axis, step);
            if depth == 0 {
                this.enter_chunks(step);
            }
            this.depth(depth + 1, inner)
        })?;
        self.end(depth, range)
    }

    /// Before a level that this thread goes through: reduces to its depth and scans along it start.
    pub(crate) fn begin(&mut self, depth: usize, range: Range<usize>, steps: Option<Val>) -> Result {
        for position in range {
            if self.left_out[position] || self.together.contains_key(&position) {
                continue;
            }
            let statement = &self.kernel.statements[position];
            match &statement.action {
                Action::Reduce { to, .. } if *to as usize == depth => {
                    let count = steps.filter(|_| statement.depth as usize == depth + 1);
                    self.begin_reduce(position, count)?;
                }
                Action::Scan { .. } if statement.depth as usize == depth + 1 => self.begin_scan(position)?,
                _ => {}
            }
        }
        Ok(())
    }

    /// Behind a level: the results of those reduces, the totals of those scans.
    pub(crate) fn end(&mut self, depth: usize, range: Range<usize>) -> Result {
        for position in range {
            if self.left_out[position] || self.together.contains_key(&position) {
                continue;
            }
            let kernel = self.kernel;
            let statement = &kernel.statements[position];
            self.operation = kernel.operation(statement);
            match &statement.action {
                Action::Reduce { to, .. } if *to as usize == depth => self.end_reduce(position)?,
                Action::Scan { .. } if statement.depth as usize == depth + 1 => self.end_scan(position)?,
                _ => {}
            }
        }
        Ok(())
    }
}
