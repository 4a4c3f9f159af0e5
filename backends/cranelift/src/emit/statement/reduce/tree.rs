//! Blocks of elements, blocks of the results of blocks, and what all of them make in the end.

use fusebox_ir::{Action, Binary, Constant, ElementType, association::BLOCK};

use super::{Maybe, Presence, Reduce, ReduceKind};
use crate::{
    emit::{Emitter, HiddenArgument, Result},
    vector::{Memory, Value},
};

impl Emitter<'_> {
    /// Gives the result of a block to the second tree level and, when that has a block, its result to the third.
    pub(super) fn feed(&mut self, reduce: &Reduce, (values, has): Maybe) -> Result {
        let second = self.b.int(1);
        if reduce.most_blocks.is_none() {
            return self.feed_from(reduce, second, (values, has));
        }
        let count = self.count(reduce, second);
        self.feed_one(reduce, second, count, (&values, has))?;
        let count = self.b.add_int(count, 1);
        self.set_count(reduce, second, count);
        Ok(())
    }

    pub(super) fn feed_from(&mut self, reduce: &Reduce, tree_level: Value, (values, has): Maybe) -> Result {
        let some = self.b.constant(Constant::from(true));
        let flagged = has.is_some();
        let mut starts = values;
        starts.push(self.b.splat(has.unwrap_or(some), reduce.lanes));
        starts.push(tree_level);
        starts.push(some);
        let mut open = self.b.begin_while(&starts);
        let go = open.carried[open.carried.len() - 1];
        self.b.while_body(&mut open, go);
        let k = reduce.types.len();
        let (values, has, tree_level) = (open.carried[..k].to_vec(), open.carried[k], open.carried[k + 1]);
        let count = self.count(reduce, tree_level);
        let inside = self.b.int(BLOCK - 1);
        let element = self.b.binary(Binary::And, count, inside);
        self.feed_one(reduce, tree_level, element, (&values, flagged.then_some(has)))?;
        let zero = self.b.int(0);
        let count = self.b.add_int(count, 1);
        self.set_count(reduce, tree_level, count);
        let rest = self.b.binary(Binary::And, count, inside);
        let full = self.b.binary(Binary::Eq, rest, zero);
        self.b.open();
        let whole = self.b.int(BLOCK);
        let (mut folded, folded_has) = self.fold_block(reduce, tree_level, whole)?;
        folded.push(self.b.splat(folded_has.unwrap_or(some), reduce.lanes));
        let then = self.b.close();
        self.b.open();
        let otherwise = self.b.close();
        let mut same = values;
        same.push(has);
        let mut next = self.b.end_if(full, (then, folded), (otherwise, same));
        next.push(self.b.add_int(tree_level, 1));
        next.push(full);
        self.b.end_while(open, next);
        Ok(())
    }

    /// Makes the result of a block the element of that number in a block of a tree level.
    fn feed_one(
        &mut self,
        reduce: &Reduce,
        tree_level: Value,
        element: Value,
        (values, has): (&[Value], Option<Value>),
    ) -> Result {
        let zero = self.b.int(0);
        let first = self.b.binary(Binary::Eq, element, zero);
        let width = self.b.int(reduce.width.into());
        let used = match reduce.most_blocks {
            Some(most) => {
                let most = self.b.int(most);
                self.used_width(reduce, most)
            }
            None => width,
        };
        let fill = self.b.select(first, used, zero);
        self.fill(reduce, tree_level, fill);
        let fresh = self.b.less(element, width);
        let slot = if reduce.kind == ReduceKind::Runs {
            element
        } else {
            let last = self.b.int(i64::from(reduce.width) - 1);
            self.b.binary(Binary::And, element, last)
        };
        let at = self.slot(reduce, tree_level, slot);
        self.accumulate(reduce, at, fresh, values, has)
    }

    /// The result of everything that was put, from a tree level on.
    pub(super) fn finish_tree(&mut self, reduce: &Reduce, tree_level: Value) -> Result {
        let some = self.b.constant(Constant::from(true));
        let mut open = self.b.begin_while(&[tree_level, some]);
        let (tree_level, go) = (open.carried[0], open.carried[1]);
        self.b.while_body(&mut open, go);
        let count = self.count(reduce, tree_level);
        let above = self.b.add_int(tree_level, 1);
        let fed = self.count(reduce, above);
        let zero = self.b.int(0);
        let top = self.b.binary(Binary::Eq, fed, zero);
        let inside = self.b.int(BLOCK - 1);
        let rest = self.b.binary(Binary::And, count, inside);
        let pending = self.b.binary(Binary::Ne, rest, zero);
        let either = self.b.binary(Binary::Or, top, pending);
        self.b.open();
        let result = self.fold_block(reduce, tree_level, rest)?;
        self.b.open();
        let some_there = self.b.binary(Binary::Gt, count, zero);
        let has = match result.1 {
            Some(has) => {
                let there = self.b.splat(some_there, reduce.lanes);
                self.b.binary(Binary::And, has, there)
            }
            None => some_there,
        };
        self.set_out(reduce, &(result.0.clone(), Some(has)));
        let then = self.b.close();
        self.b.open();
        self.feed_from(reduce, above, result)?;
        let otherwise = self.b.close();
        self.b.end_if(top, (then, Vec::new()), (otherwise, Vec::new()));
        let then = self.b.close();
        self.b.open();
        let otherwise = self.b.close();
        self.b.end_if(either, (then, Vec::new()), (otherwise, Vec::new()));
        let more = self.b.not(top);
        self.b.end_while(open, vec![above, more]);
        Ok(())
    }

    /// All elements, combined; whether there are any.
    pub(in crate::emit) fn total(&mut self, reduce: &Reduce) -> Result<(Vec<Value>, Value)> {
        if reduce.counted {
            let first = self.b.int(0);
            self.finish_tree(reduce, first)?;
        } else {
            let zero = self.b.int(0);
            let block = self.b.int(BLOCK);
            let several = self.b.binary(Binary::Gt, reduce.steps.unwrap_or(zero), block);
            self.b.open();
            let second = self.b.int(1);
            if reduce.most_blocks.is_some() {
                let count = self.count(reduce, second);
                let result = self.fold_block(reduce, second, count)?;
                self.set_out(reduce, &result);
            } else {
                self.finish_tree(reduce, second)?;
            }
            let then = self.b.close();
            self.b.open();
            let otherwise = self.b.close();
            self.b.end_if(several, (then, Vec::new()), (otherwise, Vec::new()));
        }
        let (values, has) = self.out(reduce);
        let some = self.b.constant(Constant::from(true));
        Ok((values, has.unwrap_or(some)))
    }

    /// Combines the results of blocks that the bodies left.
    pub(in crate::emit) fn finish_reduces(&mut self, inner: std::ops::Range<usize>) -> Result {
        let kernel = self.kernel;
        for position in inner {
            let Action::Reduce { to: 0, .. } = kernel.statements[position].action else { continue };
            self.reduce_begin(position)?;
            let steps = self.hidden_argument(HiddenArgument::Steps);
            let steps = self.b.add_int(steps, BLOCK - 1);
            let shift = self.b.int(BLOCK.trailing_zeros().into());
            let blocks = self.b.binary(Binary::Shr, steps, shift);
            let Some(reduce) = self.reduces.get_mut(&position) else { self.misplaced(position) };
            reduce.steps = Some(blocks);
            let reduce = reduce.clone();
            if reduce.is_blocked() {
                // What fits into a block is often run, and short: it has been combined.
                let (zero, one) = (self.b.int(0), self.b.int(1));
                let alone = self.b.binary(Binary::Eq, blocks, one);
                self.b.open();
                let result = self.left_result(position, &reduce, zero);
                self.set_out(&reduce, &result);
                let then = self.b.close();
                self.b.open();
                self.combine_results(position, &reduce, blocks)?;
                let otherwise = self.b.close();
                self.b.end_if(alone, (then, Vec::new()), (otherwise, Vec::new()));
            } else {
                self.combine_results(position, &reduce, blocks)?;
            }
            self.reduce_end(position)?;
        }
        Ok(())
    }

    /// Combines the results of so many blocks.
    fn combine_results(&mut self, position: usize, reduce: &Reduce, blocks: Value) -> Result {
        let zero = self.b.int(0);
        let outer = self.b.begin_loop(zero, blocks, BLOCK, &[]);
        let end = self.b.add_int(outer.index, BLOCK);
        let end = self.b.binary(Binary::Min, end, blocks);
        let count = self.b.sub(end, outer.index);
        self.block_begin(position, count)?;
        let each = self.b.begin_loop(outer.index, end, 1, &[]);
        let (values, has) = self.left_result(position, reduce, each.index);
        let mut here = reduce.clone();
        here.element = Some(self.b.sub(each.index, outer.index));
        self.put(&here, &values, has)?;
        self.b.end_loop(each, Vec::new());
        let result = self.block_result(position, count)?;
        self.block_end(position, outer.index, result)?;
        self.b.end_loop(outer, Vec::new());
        Ok(())
    }

    /// The result that a body left of a block.
    fn left_result(&mut self, position: usize, reduce: &Reduce, block: Value) -> Maybe {
        let values = (reduce.types.iter().enumerate()).map(|(component, &ty)| {
            let base = self.hidden_argument(HiddenArgument::Partial(position, component));
            self.b.load(ty, 1, base, block, Memory::Shared)
        });
        let values = values.collect();
        let has = (reduce.presence == Presence::Flags).then(|| {
            let base = self.hidden_argument(HiddenArgument::PartialFlags(position));
            self.b.load(ElementType::Bool, 1, base, block, Memory::Shared)
        });
        (values, has)
    }

    /// Opens a block of `count` elements.
    pub(in crate::emit) fn block_begin(&mut self, position: usize, count: Value) -> Result {
        let reduce = self.reduce_or_total(position);
        let tree_level = self.b.int(0);
        let width = self.used_width(&reduce, count);
        self.fill(&reduce, tree_level, width);
        Ok(())
    }

    /// The result of a block of `count` elements.
    pub(in crate::emit) fn block_result(&mut self, position: usize, count: Value) -> Result<Maybe> {
        let reduce = self.reduce_or_total(position);
        let kernel = self.kernel;
        self.operation = kernel.operation(&kernel.statements[position]);
        if let Some((gangs, lanes)) = reduce.held.clone() {
            return self.fold_registers(&reduce, gangs, lanes);
        }
        let tree_level = self.b.int(0);
        self.fold_block(&reduce, tree_level, count)
    }

    /// Closes a block, from step `start` on, which has this result.
    pub(in crate::emit) fn block_end(&mut self, position: usize, start: Value, result: Maybe) -> Result {
        let reduce = self.reduce_or_total(position);
        if let Some(statement) = reduce.partial {
            self.leave_result(statement, start, &result);
            return Ok(());
        }
        let zero = self.b.int(0);
        let block = self.b.int(BLOCK);
        let several = self.b.binary(Binary::Gt, reduce.steps.unwrap_or(zero), block);
        self.b.open();
        self.feed(&reduce, result.clone())?;
        let then = self.b.close();
        self.b.open();
        self.set_out(&reduce, &result);
        let otherwise = self.b.close();
        self.b.end_if(several, (then, Vec::new()), (otherwise, Vec::new()));
        Ok(())
    }

    /// Leaves the result of a reduce's block, from step `start` on, for what comes behind all ranges.
    pub(in crate::emit) fn leave_result(&mut self, position: usize, start: Value, (values, has): &Maybe) {
        let shift = self.b.int(BLOCK.trailing_zeros().into());
        let block = self.b.binary(Binary::Shr, start, shift);
        for (component, &value) in values.iter().enumerate() {
            let base = self.hidden_argument(HiddenArgument::Partial(position, component));
            self.b.store(base, block, value, None);
        }
        if let &Some(has) = has {
            let base = self.hidden_argument(HiddenArgument::PartialFlags(position));
            self.b.store(base, block, has, None);
        }
    }

    /// The reduce of a statement, or that of its total if it is a scan.
    pub(in crate::emit) fn reduce_or_total(&self, position: usize) -> Reduce {
        let total = || self.scans.get(&position).and_then(|scan| scan.total.as_ref());
        self.reduces.get(&position).or_else(total).cloned().unwrap_or_else(|| self.misplaced(position))
    }
}
