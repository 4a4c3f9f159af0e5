//! The out-of-cache variant of loops, for more memory than caches hold: prefetches, and non-temporal stores, which go past the caches.
//!
//! An ordinary store first loads the line that it changes; a non-temporal one does not, which saves a third of the traffic of `z = x + y`. And
//! with vectors of 16 bytes a core has too few loads under way to use all of its memory's bandwidth, without prefetches. Loops have this
//! form beside the usual one; a launch chooses by its bytes ([`HiddenArgument::OutOfCache`]). Results do not depend on it.

use std::collections::{BTreeMap, HashSet};

use fusebox_ir::{Action, Binary, Constant, IndexMap, KernelArrayId};
use fusebox_schedule::{Loop, OutOfCache, streams::Streams};

use super::{Emitter, HiddenArgument, Result, Val, emitted_level::EmittedLevel, unrolled::Unrolled};
use crate::vector::Value;

/// Steps between prefetches.
const CHUNK: i64 = 64;
/// Bytes of a row from which on the lines at its ends do not count.
const LONG_ROW: i64 = 1 << 14;

impl<'k> Emitter<'k> {
    /// Runs steps `low..high`, a multiple of `lanes`, in gangs or in unrolled iterations. Returns the first step that is not executed. With
    /// `overlap`, steps are executed up to there, and the last gang may execute some of the steps before it again.
    pub(super) fn gangs(
        &mut self,
        nest: &EmittedLevel,
        (low, high): (Value, Value),
        overlap: Option<Value>,
        lanes: u32,
        first: Value,
        (each, unrolled): (&'k Loop, Option<&Unrolled>),
    ) -> Result<Value> {
        // Steps of the level around run at once in launches that are in the caches.
        let Some(wanted) = each.out_of_cache.as_ref().filter(|_| self.jam.is_none()) else {
            return self.in_cache(nest, (low, high), overlap, lanes, first, unrolled);
        };
        let Streams { loads: mut reads, stores: mut writes } = Streams::of(self.kernel, nest.depth, lanes, |_| true);
        reads.retain(|array, _| wanted.prefetch.contains(array));
        writes.retain(|array, _| wanted.past_caches.contains(array));
        let whole = self
            .narrowest(&writes)
            .filter(|_| nest.depth > 0)
            .map(|element| self.is_whole_or_long(nest, i64::from(lanes) * element, element));
        if whole.and_then(|whole| self.b.constant_of(whole)).and_then(Constant::as_bool) == Some(false) {
            return self.in_cache(nest, (low, high), overlap, lanes, first, unrolled);
        }
        let mut out_of_cache = self.out_of_cache();
        for &position in writes.values() {
            let aligned = self.starts_aligned(nest, position, low)?;
            out_of_cache = self.b.binary(Binary::And, out_of_cache, aligned);
        }
        if let Some(whole) = whole {
            out_of_cache = self.b.binary(Binary::And, out_of_cache, whole);
        }
        let (states, locals) = (self.states.clone(), self.locals.clone());
        self.b.open();
        self.streaming = writes.keys().copied().collect();
        let chunk = unrolled.map_or(CHUNK.max(lanes.into()), |unrolled| unrolled.width().into());
        let open = self.b.begin_loop(low, high, chunk, &self.states.clone());
        self.states.clone_from(&open.carried);
        self.prefetch(nest, &reads, wanted.ahead, (open.index, chunk))?;
        if let Some(unrolled) = unrolled {
            self.unrolled_step(nest, unrolled, open.index, lanes)?;
        } else {
            let end = self.b.add_int(open.index, chunk);
            let end = self.b.binary(Binary::Min, end, high);
            self.steps(nest, open.index, end, lanes, first)?;
        }
        let next = std::mem::take(&mut self.states);
        self.states = self.b.end_loop(open, next);
        if let Some(unrolled) = unrolled {
            self.extremes_become_one(unrolled, lanes);
        }
        self.streaming.clear();
        // What does not fill a gang is done by ordinary stores of one that overlaps.
        let done = match overlap.filter(|_| unrolled.is_none()) {
            Some(end) => self.last_gang(nest, (low, high), end, lanes, first)?,
            None => high,
        };
        let mut non_temporal_states = std::mem::take(&mut self.states);
        non_temporal_states.push(done);
        let then = self.b.close();
        self.states = states;
        self.locals.clone_from(&locals);
        self.b.open();
        let done = self.in_cache(nest, (low, high), overlap, lanes, first, unrolled)?;
        let mut ordinary_states = std::mem::take(&mut self.states);
        ordinary_states.push(done);
        let otherwise = self.b.close();
        self.states = self.b.end_if(out_of_cache, (then, non_temporal_states), (otherwise, ordinary_states));
        self.locals = locals;
        Ok(self.states.pop().unwrap_or(high))
    }

    /// The ordinary variant of [`Self::gangs`].
    fn in_cache(
        &mut self,
        nest: &EmittedLevel,
        (low, high): (Value, Value),
        overlap: Option<Value>,
        lanes: u32,
        first: Value,
        unrolled: Option<&Unrolled>,
    ) -> Result<Value> {
        if let Some(unrolled) = unrolled {
            let open = self.b.begin_loop(low, high, unrolled.width().into(), &self.states.clone());
            self.states.clone_from(&open.carried);
            self.unrolled_step(nest, unrolled, open.index, lanes)?;
            let next = std::mem::take(&mut self.states);
            self.states = self.b.end_loop(open, next);
            self.extremes_become_one(unrolled, lanes);
            return Ok(high);
        }
        let Some(end) = overlap else {
            self.steps(nest, low, high, lanes, first)?;
            return Ok(high);
        };
        // With less than a gang there is nothing to overlap with.
        let some = self.b.less(low, high);
        let end = self.b.select(some, end, high);
        let last = self.b.add_int(end, -i64::from(lanes));
        self.steps_up_to(nest, (low, end), Some(last), lanes, first, &[])?;
        Ok(end)
    }

    /// A gang up to `end` behind gangs `low..high`, if there is less than one between and one to overlap with. Returns the first step that is not executed.
    fn last_gang(
        &mut self,
        nest: &EmittedLevel,
        (low, high): (Value, Value),
        end: Value,
        lanes: u32,
        first: Value,
    ) -> Result<Value> {
        let some = self.b.less(low, high);
        let end = self.b.select(some, end, high);
        let last = self.b.add_int(end, -i64::from(lanes));
        self.steps_up_to(nest, (high, end), Some(last), lanes, first, &[])?;
        Ok(end)
    }

    /// Prefetches what `statements` of the level will load some steps later, in launches that are out of cache: lines for `steps` steps.
    pub(super) fn prefetch_out_of_cache(
        &mut self,
        nest: &EmittedLevel,
        statements: &HashSet<usize>,
        step: Value,
        steps: i64,
    ) -> Result {
        let reads = Streams::of(self.kernel, nest.depth, 1, |position| statements.contains(&position)).loads;
        if reads.is_empty() {
            return Ok(());
        }
        let out_of_cache = self.out_of_cache();
        self.b.open();
        self.prefetch(nest, &reads, OutOfCache::AHEAD, (step, steps))?;
        let then = self.b.close();
        self.b.open();
        let otherwise = self.b.close();
        self.b.end_if(out_of_cache, (then, Vec::new()), (otherwise, Vec::new()));
        Ok(())
    }

    /// Whether this launch goes over more memory than caches hold.
    pub(super) fn out_of_cache(&mut self) -> Value {
        let out_of_cache = self.hidden_argument(HiddenArgument::OutOfCache);
        let zero = self.b.int(0);
        self.b.binary(Binary::Ne, out_of_cache, zero)
    }

    /// Bytes of the narrowest elements that are stored.
    fn narrowest(&self, writes: &BTreeMap<KernelArrayId, usize>) -> Option<i64> {
        writes.keys().map(|array| self.kernel.arrays[array.index()].element.bytes() as i64).min()
    }

    /// Whether the rows of a level are whole gangs and lines of the caches, or so long that their ends do not matter. A line of which a part goes past the
    /// caches, and the rest through them, costs far more than the others save.
    fn is_whole_or_long(&mut self, nest: &EmittedLevel, gang: i64, element: i64) -> Value {
        let steps = self.b.sub(nest.to, nest.from);
        let width = self.b.int(element);
        let bytes = self.b.mul(steps, width);
        // Both are powers of two.
        let (rest, zero) = (self.b.int(gang.max(OutOfCache::LINE.into()) - 1), self.b.int(0));
        let rest = self.b.binary(Binary::And, bytes, rest);
        let whole = self.b.binary(Binary::Eq, rest, zero);
        let least = self.b.int(LONG_ROW);
        let long = self.b.binary(Binary::Ge, bytes, least);
        self.b.binary(Binary::Or, whole, long)
    }

    /// Whether a store of the level begins at a multiple of a vector's bytes at step `low`.
    fn starts_aligned(&mut self, nest: &EmittedLevel, position: usize, low: Value) -> Result<Value> {
        let Action::Store { array, map, .. } = &self.kernel.statements[position].action else {
            return Err(self.broken("a store that is none"));
        };
        let position = self.place_at(nest, *array, map, low)?;
        let bytes = self.b.int(self.kernel.arrays[array.index()].element.bytes() as i64);
        let offset = self.b.mul(position, bytes);
        let address = self.b.add(self.arrays[array.index()], offset);
        let vector = self.vector_bytes;
        let inside = self.b.int(vector as i64 - 1);
        let rest = self.b.binary(Binary::And, address, inside);
        let zero = self.b.int(0);
        Ok(self.b.binary(Binary::Eq, rest, zero))
    }

    /// The position in its array that an index map gives at a step of the level.
    fn place_at(&mut self, nest: &EmittedLevel, array: KernelArrayId, map: &IndexMap, step: Value) -> Result<Value> {
        let own = self.kernel.levels[nest.depth].index.id;
        let here = self.b.add(nest.from, step);
        let before = self.locals.insert(own, Val::Uniform(here));
        let index = map.dims.iter().map(|dim| self.dim_index(dim)).collect::<Result<Vec<_>>>();
        match before {
            Some(before) => self.locals.insert(own, before),
            None => self.locals.remove(&own),
        };
        let position = self.position(array, &index?)?;
        Ok(self.plain(position))
    }

    /// Asks for the lines so many bytes ahead of those that the steps from `step` on load.
    fn prefetch(
        &mut self,
        nest: &EmittedLevel,
        reads: &BTreeMap<KernelArrayId, usize>,
        ahead: u32,
        (step, steps): (Value, i64),
    ) -> Result {
        let line = i64::from(OutOfCache::LINE);
        for (&array, &position) in reads {
            let Action::Load { map, .. } = &self.kernel.statements[position].action else { continue };
            let element = self.kernel.arrays[array.index()].element;
            let index = self.place_at(nest, array, map, step)?;
            let lines = (steps * element.bytes() as i64).div_euclid(line).max(1);
            for number in 0..lines {
                self.b.prefetch(self.arrays[array.index()], index, element, i64::from(ahead) + number * line);
            }
        }
        Ok(())
    }
}
