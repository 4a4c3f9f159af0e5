//! Panels: what a gang loads again and again, copied to scratch memory before the loops between, a gang behind the other.

use fusebox_ir::{Action, Binary};
use fusebox_schedule::{
    Gang, Loop, Node,
    panels::{level_of_panel, panel},
};

use super::{Emitter, Result, Val};
use crate::vector::{Memory, Value};

/// A panel that is there.
#[derive(Clone, Copy, Debug)]
pub(super) struct Panel {
    /// Where it is in scratch memory.
    place: i64,
    /// The level that has a gang at each step.
    level: usize,
    /// The first index of that level.
    from: Value,
    lanes: u32,
}

impl Emitter<'_> {
    /// Makes the panels that the loops of level `before` ask for, where the code is for whole gangs; gives which there are.
    pub(super) fn panels_before(&mut self, before: usize, nodes: &[Node]) -> Result<Vec<usize>> {
        let [Node::Loop(each), ..] = nodes else { return Ok(Vec::new()) };
        if each.pack.is_empty() || self.mask.is_some() || self.jam.is_some() {
            return Ok(Vec::new());
        }
        let Some(gang) = self.gang else { return Ok(Vec::new()) };
        let window = self.window.filter(|(own, _)| *own == gang.level && *own == before + 1);
        let Some((_, (start, end))) = window else {
            if gang.level >= before || gang.lanes != self.lanes {
                return Ok(Vec::new());
            }
            return self.panels_of(gang, before, each, None);
        };
        // A window of fewer steps than lanes has no gang.
        let steps = self.b.sub(end, start);
        let lanes = self.b.int(gang.lanes.into());
        let whole = self.b.binary(Binary::Eq, steps, lanes);
        let around = std::mem::replace(&mut self.lanes, gang.lanes);
        let level = &self.kernel.levels[gang.level];
        let (from, to) = (self.operand(level.from)?, self.operand(level.to)?);
        let (from, to) = (self.plain(from), self.plain(to));
        let index = self.index_at(gang.level, (from, to), start, gang.lanes);
        self.locals.insert(level.index.id, index);
        let made = self.panels_of(gang, before, each, Some(whole))?;
        self.locals.remove(&level.index.id);
        self.lanes = around;
        Ok(made)
    }

    /// The panels of a gang, filled where a condition holds.
    fn panels_of(&mut self, gang: Gang, before: usize, each: &Loop, when: Option<Value>) -> Result<Vec<usize>> {
        let kernel = self.kernel;
        let level = level_of_panel(gang.level, before);
        let Some(inner) = kernel.levels.get(level) else { return Err(self.broken("a panel without a level inside")) };
        let outer = &kernel.levels[before];
        let bounds = [outer.from, outer.to, inner.from, inner.to].map(|bound| self.operand(bound));
        let mut known = Vec::new();
        for bound in bounds {
            known.push(self.plain(bound?));
        }
        let [outer_from, outer_to, from, to] = known[..] else { return Err(self.broken("a level without bounds")) };
        // Without steps of the other level nothing is loaded, and nothing is known of where it would be.
        let zero = self.b.int(0);
        let mut some = self.b.less(outer_from, outer_to);
        if let Some(when) = when {
            some = self.b.binary(Binary::And, some, when);
        }
        let steps = self.b.sub(to, from);
        let steps = self.b.select(some, steps, zero);
        let Some(most) = self.most_steps(level) else {
            return Err(self.broken("a panel for as many steps as one likes"));
        };
        let mut made = Vec::new();
        let open = self.b.begin_loop(zero, steps, 1, &[]);
        let index = self.b.add(from, open.index);
        self.locals.insert(inner.index.id, Val::Uniform(index));
        let lanes = self.b.int(self.lanes.into());
        let at = self.b.mul(open.index, lanes);
        for &position in &each.pack {
            let position = position as usize;
            let bytes = panel(kernel, gang.level, before, position).map_err(|why| self.broken(&why))?;
            let Action::Load { array, map, outside, place, .. } = &kernel.statements[position].action else {
                return Err(self.broken("a panel of what is no load"));
            };
            let value = self.load(*array, map, outside.as_ref(), place)?;
            let value = self.gang(value);
            let place = self.b.scratch(bytes.size(self.lanes, most) as usize);
            let base = self.scratch_at(place);
            self.b.store(base, at, value, None);
            made.push((position, Panel { place, level, from, lanes: self.lanes }));
        }
        self.b.end_loop(open, Vec::new());
        self.locals.remove(&inner.index.id);
        let positions = made.iter().map(|(position, _)| *position).collect();
        self.panels.extend(made);
        Ok(positions)
    }

    /// What a load finds in its panel, if it has one.
    pub(super) fn load_from_panel(&mut self, position: usize) -> Result<Option<Val>> {
        let Some(&panel) = self.panels.get(&position) else { return Ok(None) };
        if self.lanes != panel.lanes || self.mask.is_some() {
            return Ok(None);
        }
        let kernel = self.kernel;
        let Action::Load { array, .. } = &kernel.statements[position].action else { self.misplaced(position) };
        let index = self.local(kernel.levels[panel.level].index.id)?;
        let index = self.plain(index);
        let step = self.b.binary(Binary::Sub, index, panel.from);
        let lanes = self.b.int(panel.lanes.into());
        let at = self.b.mul(step, lanes);
        let base = self.scratch_at(panel.place);
        let element = kernel.arrays[array.index()].element;
        Ok(Some(Val::Gang(self.b.load(element, panel.lanes, base, at, Memory::Shared))))
    }
}
