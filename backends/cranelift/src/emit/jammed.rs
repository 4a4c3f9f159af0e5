//! Unroll and jam: some steps of a level at once. The loops inside run once for all of them; at each point, statements stand once for each step,
//! with values and accumulators of its own, and once for all of them where nothing depends on the step.

use std::{collections::HashMap, ops::Range};

use fusebox_ir::{
    Access, Action, Binary, LocalId,
    analysis::kernels::{AcrossLanes, Lanes},
};
use fusebox_schedule::{Loop, Node};

use super::{Emitter, Result, Val, emitted_level::EmittedLevel, statement::reduce::Reduce};
use crate::vector::Value;

/// Steps that run at once.
pub(super) struct Jam {
    steps: Vec<JammedStep>,
    /// What depends on the step, of each level that has several.
    lanes: Vec<Lanes>,
}

/// What one of the steps has for itself.
#[derive(Default)]
struct JammedStep {
    locals: HashMap<LocalId, Val>,
    reduces: HashMap<usize, Reduce>,
}

impl<'k> Emitter<'k> {
    /// Steps `low..high` of a level, some of them at once; what is left of them one after the other, and so are those of a border that is apart, and
    /// all of them where a loop inside streams past the caches, or has more steps than tiles ask for.
    pub(super) fn steps_jammed(
        &mut self,
        level: &EmittedLevel,
        (low, high): (Value, Value),
        each: &'k Loop,
        first: Value,
    ) -> Result {
        let (nodes, count) = (self.nodes, each.unroll);
        let known = |this: &Self, value| this.b.constant_of(value).and_then(fusebox_ir::Constant::as_i64);
        if !each.border
            && each.up_to.is_none()
            && (known(self, low), known(self, high)) == (Some(0), Some(count.into()))
        {
            // Which step it is, is a constant in the code of each.
            self.all_at_once(level, low, (count, 1))?;
            self.nodes = nodes;
            return Ok(());
        }
        let (from, to) = if each.border {
            let interior = self.interior_of(level, low, high, 1)?;
            (interior.first, interior.end)
        } else {
            (low, high)
        };
        let zero = self.b.int(0);
        let steps = self.b.sub(to, from);
        let mut steps = self.b.binary(Binary::Max, steps, zero);
        if Node::stream(nodes) {
            let out_of_cache = self.out_of_cache();
            steps = self.b.select(out_of_cache, zero, steps);
        }
        if let Some(most) = each.up_to {
            let inner = &self.kernel.levels[level.depth + 1];
            let (inner_from, inner_to) = (self.operand(inner.from)?, self.operand(inner.to)?);
            let (inner_from, inner_to) = (self.plain(inner_from), self.plain(inner_to));
            let inside = self.b.sub(inner_to, inner_from);
            let most = self.b.int(most.into());
            let fits = self.b.binary(Binary::Le, inside, most);
            steps = self.b.select(fits, steps, zero);
        }
        let unit = self.b.int(count.into());
        let tiles = self.b.binary(Binary::Div, steps, unit);
        let together = self.b.mul(tiles, unit);
        let end = self.b.add(from, together);
        if from == low {
            self.tiles_of_steps(level, (low, end), each)?;
            self.nodes = nodes;
            return self.steps(level, end, high, 1, first);
        }
        // The code of single steps stands once: it runs those before the tiles, and those behind.
        let (two, states) = (self.b.int(2), self.states.clone());
        let open = self.b.begin_loop(zero, two, 1, &states);
        self.states.clone_from(&open.carried);
        let before = self.b.binary(Binary::Eq, open.index, zero);
        let (own, own_end) = (self.b.select(before, low, end), self.b.select(before, from, high));
        self.steps(level, own, own_end, 1, first)?;
        let end = self.b.select(before, end, from);
        self.tiles_of_steps(level, (from, end), each)?;
        self.nodes = nodes;
        let next = std::mem::take(&mut self.states);
        self.states = self.b.end_loop(open, next);
        Ok(())
    }

    /// Whole tiles of steps from `low` to `high`; no boundary applies along the level where its border is apart.
    fn tiles_of_steps(&mut self, level: &EmittedLevel, (low, high): (Value, Value), each: &'k Loop) -> Result {
        let open = self.b.begin_loop(low, high, each.unroll.into(), &self.states.clone());
        self.states.clone_from(&open.carried);
        let outer = std::mem::replace(&mut self.inside, each.border.then_some(level.depth));
        self.all_at_once(level, open.index, (each.unroll, 1))?;
        self.inside = outer;
        let next = std::mem::take(&mut self.states);
        self.states = self.b.end_loop(open, next);
        Ok(())
    }

    /// Steps `low..high` of a level in so many gangs at once; of an iteration that is not whole nothing, or the last iteration begins earlier, if some are whole.
    /// Returns the first step that is not done.
    pub(super) fn gangs_at_once(
        &mut self,
        level: &EmittedLevel,
        (low, high): (Value, Value),
        (gangs, lanes): (u32, u32),
        overlaps: bool,
    ) -> Result<Value> {
        let nodes = self.nodes;
        let unit = self.b.int((gangs * lanes).into());
        let steps = self.b.sub(high, low);
        let (end, last) = if overlaps {
            let none = self.b.less(steps, unit);
            (self.b.select(none, low, high), Some(self.b.sub(high, unit)))
        } else {
            let whole = self.b.binary(Binary::Div, steps, unit);
            let whole = self.b.mul(whole, unit);
            (self.b.add(low, whole), None)
        };
        let open = self.b.begin_loop(low, end, (gangs * lanes).into(), &self.states.clone());
        self.states.clone_from(&open.carried);
        let first = last.map_or(open.index, |last| self.b.binary(Binary::Min, open.index, last));
        self.all_at_once(level, first, (gangs, lanes))?;
        self.nodes = nodes;
        let next = std::mem::take(&mut self.states);
        self.states = self.b.end_loop(open, next);
        Ok(end)
    }

    /// `count` steps from `low` on, or gangs of so many lanes, at once; where steps of the level around are at once, too, all of these with each of those.
    fn all_at_once(&mut self, level: &EmittedLevel, low: Value, (count, lanes): (u32, u32)) -> Result {
        let (locals, around) = (self.locals.clone(), self.jam.take());
        let own = self.kernel.levels[level.depth].index.id;
        let mut indices = Vec::new();
        for number in 0..count {
            let step = self.b.add_int(low, (number * lanes).into());
            if level.depth == 0 {
                self.outer_step = Some(step);
            }
            indices.push(self.index_at(level.depth, (level.from, level.to), step, lanes));
        }
        let mut jam = Jam { steps: Vec::new(), lanes: vec![Lanes::of(self.kernel, level.depth)] };
        jam.lanes.extend(around.iter().flat_map(|around| around.lanes.iter().cloned()));
        let of_around = around.as_ref().map_or_else(
            || vec![HashMap::new()],
            |around| around.steps.iter().map(|step| step.locals.clone()).collect(),
        );
        for known in of_around {
            for &index in &indices {
                let mut locals = known.clone();
                locals.insert(own, index);
                jam.steps.push(JammedStep { locals, reduces: HashMap::new() });
            }
        }
        self.jam = Some(jam);
        self.depth(level.depth + 1, level.inner.clone())?;
        (self.locals, self.jam) = (locals, around);
        Ok(())
    }

    /// Whether a statement has something else to do at each of the steps that run at once.
    fn differs(&self, jam: &Jam, position: usize) -> bool {
        let statement = &self.kernel.statements[position];
        match &statement.action {
            Action::Load { array, .. } if self.kernel.arrays[array.index()].access != Access::Read => true,
            Action::Load { .. } | Action::Scalar(_) => {
                let by = |lanes: &Lanes| {
                    statement.results().iter().any(|local| lanes.local(local.id) != AcrossLanes::Uniform)
                };
                jam.lanes.iter().any(by)
            }
            _ => true,
        }
    }

    /// What each of the steps that run at once has for itself; of one step alone, nothing.
    pub(super) fn locals_of_steps(&self) -> Vec<HashMap<LocalId, Val>> {
        self.jam
            .as_ref()
            .map_or_else(|| vec![HashMap::new()], |jam| jam.steps.iter().map(|step| step.locals.clone()).collect())
    }

    /// Does something with the locals of one of the steps that run at once; these results of a reduce become the step's own.
    pub(super) fn at_step(&mut self, number: usize, position: usize, one: impl FnOnce(&mut Self) -> Result) -> Result {
        let Some(mut jam) = self.jam.take() else { return one(self) };
        let step = &mut jam.steps[number];
        self.enter(step);
        one(self)?;
        let made = self.kernel.statements[position].results().iter().map(|local| local.id).collect::<Vec<_>>();
        self.leave(step, &made);
        self.jam = Some(jam);
        Ok(())
    }

    /// The values of a local, one of each of the steps that run at once; none where it is not known.
    pub(super) fn local_of_steps(&mut self, id: LocalId) -> Vec<Value> {
        let shared = self.locals.get(&id).copied();
        let own = self.jam.iter().flat_map(|jam| &jam.steps).filter_map(|step| step.locals.get(&id).copied());
        let values: Vec<Val> = shared.into_iter().chain(own).collect();
        values.into_iter().map(|value| self.plain(value)).collect()
    }

    /// A local becomes these values, one of each of the steps that run at once; one alone is that of all of them.
    pub(super) fn set_local_of_steps(&mut self, id: LocalId, values: &[Value]) {
        let values: Vec<Val> = values.iter().map(|&value| self.val(value)).collect();
        match (values.as_slice(), &mut self.jam) {
            (&[value], _) => {
                self.locals.insert(id, value);
            }
            (values, Some(jam)) => {
                for (step, &value) in jam.steps.iter_mut().zip(values) {
                    step.locals.insert(id, value);
                }
            }
            (_, None) => {}
        }
    }

    /// A reduce that is open, of the first of the steps that run at once.
    pub(super) fn open_reduce(&self, position: usize) -> Option<&Reduce> {
        let of_step = self.jam.as_ref().and_then(|jam| jam.steps.first()?.reduces.get(&position));
        self.reduces.get(&position).or(of_step)
    }

    /// A reduce that is open, of each of the steps that run at once.
    pub(super) fn open_reduces(&mut self, position: usize) -> impl Iterator<Item = &mut Reduce> {
        let of_steps = self.jam.iter_mut().flat_map(|jam| &mut jam.steps);
        self.reduces
            .get_mut(&position)
            .into_iter()
            .chain(of_steps.filter_map(move |step| step.reduces.get_mut(&position)))
    }

    /// Does something with a reduce, for each of the steps that run at once.
    pub(super) fn reduce_at_steps(&mut self, position: usize, one: impl FnMut(&mut Self) -> Result) -> Result {
        self.at_steps(false, &[], position..position + 1, one)
    }

    /// What a step has for itself is known.
    fn enter(&mut self, step: &JammedStep) {
        self.locals.extend(step.locals.iter().map(|(&id, &value)| (id, value)));
    }

    /// What a step has for itself is not known any more, and neither is what was `made` since: that is the step's own.
    fn leave(&mut self, step: &mut JammedStep, made: &[LocalId]) {
        for id in made {
            step.locals.extend(self.locals.remove_entry(id));
        }
        step.locals.keys().for_each(|id| {
            self.locals.remove(id);
        });
    }

    /// Does something for each of the steps that run at once, with the locals of the step and its reduces at these positions; what it makes of
    /// `made` is the step's own.
    fn at_steps(
        &mut self,
        reverse: bool,
        made: &[LocalId],
        positions: Range<usize>,
        mut one: impl FnMut(&mut Self) -> Result,
    ) -> Result {
        let Some(mut jam) = self.jam.take() else { return one(self) };
        let count = jam.steps.len();
        for number in 0..count {
            let step = &mut jam.steps[if reverse { count - 1 - number } else { number }];
            self.enter(step);
            self.reduces.extend(positions.clone().filter_map(|position| step.reduces.remove_entry(&position)));
            one(self)?;
            step.reduces.extend(positions.clone().filter_map(|position| self.reduces.remove_entry(&position)));
            self.leave(step, made);
        }
        self.jam = Some(jam);
        Ok(())
    }

    /// Statements, one behind the other; those that differ between steps that run at once, for one step after the other: so few values of each
    /// step wait for the statement that needs them.
    pub(super) fn statements(&mut self, positions: Range<usize>, pure_only: bool) -> Result {
        let mut rest = positions;
        while !rest.is_empty() {
            let jam = self.jam.as_ref();
            let differ = rest.clone().take_while(|&position| jam.is_some_and(|jam| self.differs(jam, position)));
            let own = rest.start..rest.start + differ.count();
            if own.is_empty() {
                self.statement(rest.start, pure_only)?;
                rest.start += 1;
                continue;
            }
            let mut made = Vec::new();
            for position in own.clone() {
                let statement = &self.kernel.statements[position];
                // Results of a reduce are made behind the level.
                if !matches!(statement.action, Action::Reduce { .. }) {
                    made.extend(statement.results().iter().map(|local| local.id));
                }
            }
            self.at_steps(false, &made, own.clone(), |this| {
                own.clone().try_for_each(|position| this.statement(position, pure_only))
            })?;
            rest.start = own.end;
        }
        Ok(())
    }

    /// Opens a reduce, for each of the steps that run at once.
    pub(super) fn reduce_begin_at_steps(&mut self, position: usize) -> Result {
        self.at_steps(false, &[], position..position + 1, |this| this.reduce_begin(position))
    }

    /// Closes a reduce, for each of the steps that run at once.
    pub(super) fn reduce_end_at_steps(&mut self, position: usize) -> Result {
        let made: Vec<LocalId> = self.kernel.statements[position].results().iter().map(|local| local.id).collect();
        self.at_steps(true, &made, position..position + 1, |this| this.reduce_end(position))
    }
}
