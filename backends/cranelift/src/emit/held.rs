//! Blocks whose accumulators are in registers from their first element to their result. Only what does not fill an unrolled iteration goes by memory,
//! where there is any: then all accumulators do.

use fusebox_schedule::{By, Loop, Node};

use super::{Emitter, Result, emitted_level::EmittedLevel, strip_mined::StripMined, unrolled::Unrolled};
use crate::vector::Value;

impl<'k> Emitter<'k> {
    /// Whether blocks of a level that run as these nodes say keep their accumulators in registers; those of several steps at once are too many.
    pub(super) fn holds(&self, nest: &EmittedLevel, nodes: &[Node]) -> bool {
        let [Node::Loop(each), ..] = nodes else { return false };
        let By::Lanes(lanes) = each.by else { return false };
        let plain = !each.border && StripMined::of(self.kernel, each).is_none();
        plain
            && self.lanes == 1
            && self.mask.is_none()
            && self.jam.is_none()
            && Unrolled::of(self.kernel, nest.depth, lanes, each.unroll).is_some()
    }

    /// The steps of a block, `low..whole` in unrolled iterations and then `rest`, up to `high`.
    pub(super) fn run_held(
        &mut self,
        nest: &EmittedLevel,
        unrolled: &Unrolled,
        each: &'k Loop,
        (low, whole, high): (Value, Value, Value),
        rest: impl FnOnce(&mut Self) -> Result,
    ) -> Result {
        let (own, lanes) = (self.states.len(), self.lanes);
        for _ in 0..unrolled.width() / lanes {
            for &position in unrolled.positions() {
                for nothing in self.reduce_or_total(position).nothing() {
                    let nothing = self.b.constant(nothing);
                    let nothing = self.b.splat(nothing, lanes);
                    self.states.push(nothing);
                }
            }
        }
        self.gangs(nest, (low, whole), None, lanes, low, (each, Some(unrolled)))?;
        unrolled.positions().iter().for_each(|&position| self.set_registers(position, None));
        let before = self.states.clone();
        let some = self.b.less(whole, high);
        self.b.open();
        let accumulators = self.states.split_off(own);
        self.store_accumulators(unrolled, &accumulators, lanes);
        rest(self)?;
        let accumulators = self.load_accumulators(unrolled, lanes);
        self.states.extend(accumulators);
        let then = (self.b.close(), std::mem::replace(&mut self.states, before.clone()));
        self.b.open();
        let otherwise = (self.b.close(), before);
        self.states = self.b.end_if(some, then, otherwise);
        self.lanes = 1;
        let mut accumulators = self.states.split_off(own).into_iter();
        let mut gangs = vec![Vec::new(); unrolled.positions().len()];
        for _ in 0..unrolled.width() / lanes {
            for (&position, gangs) in unrolled.positions().iter().zip(&mut gangs) {
                let components = self.reduce_or_total(position).components();
                gangs.push((accumulators.by_ref().take(components).collect(), None));
            }
        }
        for (&position, gangs) in unrolled.positions().iter().zip(gangs) {
            self.set_held(position, gangs, lanes);
        }
        Ok(())
    }
}
