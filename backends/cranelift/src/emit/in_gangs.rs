//! Steps of a level in gangs: a border apart, accumulators that are unrolled or strip-mined, gangs, and the remainder.

use fusebox_ir::Binary;
use fusebox_schedule::{Loop, Remainder};

use super::{Emitter, Result, emitted_level::EmittedLevel, levels::Steps, strip_mined::StripMined, unrolled::Unrolled};
use crate::vector::Value;

impl<'k> Emitter<'k> {
    /// Steps in gangs: a border, unrolled or strip-mined accumulators, gangs, then the remainder.
    pub(super) fn in_gangs(
        &mut self,
        nest: &EmittedLevel,
        each: &'k Loop,
        lanes: u32,
        Steps { low, high, first }: Steps,
        strips: Option<(&StripMined<'k>, i64)>,
    ) -> Result {
        self.nodes = &each.body;
        let overlaps = each.remainder == Remainder::Overlapped;
        let (mut main_from, mut main_to) = (low, high);
        if each.border {
            let interior = self.interior_of(nest, low, high, i64::from(lanes))?;
            if overlaps && interior.first != interior.start {
                self.steps(nest, low, interior.first, 1, first)?;
                (main_from, main_to) = (self.head(nest, &interior, lanes, first)?, interior.end);
            } else {
                (main_from, main_to) = (interior.start, self.b.binary(Binary::Max, interior.end, interior.start));
                if main_from != low {
                    self.steps(nest, low, main_from, 1, first)?;
                }
            }
        }
        let width = self.b.int(-i64::from(lanes));
        let length = self.b.sub(main_to, main_from);
        let full = self.b.binary(Binary::And, length, width);
        let zero = self.b.int(0);
        let full = self.b.binary(Binary::Max, full, zero);
        let main_end = self.b.add(main_from, full);
        self.lanes = lanes;
        self.interior = each.border;
        // Strip-mined loops and blocks that are held begin with the first accumulator.
        if main_from == first {
            if let Some((strips, length)) = strips {
                let end = self.whole(main_from, full, strips.width);
                self.run_strip_mined(nest, strips, length, (main_from, end), first)?;
                main_from = end;
            } else if nest.held
                && let Some(unrolled) = Unrolled::of(self.kernel, nest.depth, lanes, each.unroll)
            {
                let end = self.whole(main_from, full, unrolled.width());
                return self.run_held(nest, &unrolled, each, (main_from, end, high), |this| {
                    this.last_gangs(nest, each, lanes, (end, main_end), (main_to, high), first)
                });
            }
        }
        if each.unroll > 1 && strips.is_none() && self.has_levels_inside(nest) {
            let to = if overlaps { main_to } else { main_end };
            main_from = self.gangs_at_once(nest, (main_from, to), (each.unroll, lanes), overlaps)?;
            let behind = self.b.binary(Binary::Max, main_end, main_from);
            return self.last_gangs(nest, each, lanes, (main_from, behind), (main_to, high), first);
        }
        self.last_gangs(nest, each, lanes, (main_from, main_end), (main_to, high), first)
    }

    /// Whether some statements are in a level inside of this one.
    fn has_levels_inside(&self, nest: &EmittedLevel) -> bool {
        self.kernel.statements[nest.inner.clone()].iter().any(|statement| statement.depth as usize > nest.depth + 1)
    }

    /// The gangs from the step `main_from` on, up to `main_end`; then the remainder, up to `high`.
    fn last_gangs(
        &mut self,
        nest: &EmittedLevel,
        each: &'k Loop,
        lanes: u32,
        (main_from, main_end): (Value, Value),
        (main_to, high): (Value, Value),
        first: Value,
    ) -> Result {
        let overlaps = each.remainder == Remainder::Overlapped;
        let main_end =
            self.gangs(nest, (main_from, main_end), overlaps.then_some(main_to), lanes, first, (each, None))?;
        self.interior = false;
        if each.remainder == Remainder::Masked {
            let rest = self.b.less(main_end, high);
            self.b.open();
            let before = self.states.clone();
            let iota = self.b.iota(fusebox_ir::ElementType::I64, lanes);
            let left = self.b.sub(high, main_end);
            let mask = self.b.less(iota, left);
            (self.mask, self.some_lane) = (Some(mask), Some(mask));
            self.remainder = Some(left);
            let end = self.b.add_int(main_end, i64::from(lanes));
            self.steps(nest, main_end, end, lanes, first)?;
            (self.mask, self.some_lane) = (None, None);
            self.remainder = None;
            let then = self.b.close();
            let states = std::mem::replace(&mut self.states, before.clone());
            self.b.open();
            let otherwise = self.b.close();
            self.states = self.b.end_if(rest, (then, states), (otherwise, before));
            self.lanes = 1;
            Ok(())
        } else {
            self.lanes = 1;
            self.steps(nest, main_end, high, 1, first)
        }
    }

    /// The end of those of `full` steps from `from` on that are a multiple of `width`.
    fn whole(&mut self, from: Value, full: Value, width: u32) -> Value {
        let width = self.b.int(-i64::from(width));
        let whole = self.b.binary(Binary::And, full, width);
        self.b.add(from, whole)
    }
}
