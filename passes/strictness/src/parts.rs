//! Bindings of a block, cut into what its results certainly need and what only branches and loops inside need.

use std::collections::HashSet;

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Operand,
    analysis::{
        demand::{Demand, Need, certain_outside},
        restrict::closure,
    },
};

use crate::{
    elements::{Elements, Runs},
    facts::{Facts, Item},
};

/// A binding of a block: what is computed where it stands, and what waits.
pub(crate) struct Portion<'p> {
    pub(crate) now: Option<Item<'p>>,
    pub(crate) later: Option<Item<'p>>,
    /// Of what is computed, for whose elements alone it is, if for some: then what it needs waits.
    pub(crate) only_for: Option<Runs>,
}

/// What is to be cut.
pub(crate) struct Bindings<'a, 'p> {
    /// What waits from outside.
    pub(crate) waits: &'a [Item<'p>],
    /// The block's own.
    pub(crate) own: &'p [Binding],
    /// What is needed of them.
    pub(crate) results: &'a [ArrayId],
    /// Conditions that hold where the block is run.
    pub(crate) holds: &'a [Operand],
    /// How many blocks are around.
    pub(crate) depth: usize,
}

/// Cuts bindings into what is computed now and what later; what nothing needs is left out. If `early`, what cannot fail is computed now.
pub(crate) fn parts<'p>(list: &Bindings<'_, 'p>, facts: &Facts<'p>, early: bool) -> Vec<Portion<'p>> {
    let all = |binding: &'p Binding| {
        let wanted = vec![true; binding.results.len()];
        Item { binding, certain: vec![false; wanted.len()], wanted, depth: list.depth }
    };
    let items: Vec<Item<'p>> = list.waits.iter().cloned().chain(list.own.iter().map(all)).collect();
    let mut elements = Elements::of(&items, || self::harmless(&items, facts));
    let harmless = if early { harmless(&items, facts) } else { vec![false; items.len()] };
    let mut demand = Demand::new(&facts.fallible, list.holds);
    list.results.iter().for_each(|&id| demand.add(id, Need::Now));
    list.results.iter().for_each(|&id| elements.needed(id));
    let mut parts: Vec<Portion<'p>> = Vec::new();
    for (item, harmless) in items.into_iter().zip(harmless).rev() {
        let of = |at: usize, id: ArrayId| if item.wanted[at] { demand.of(id) } else { None };
        let needs: Vec<Option<Need>> =
            item.binding.results.iter().enumerate().map(|(at, var)| of(at, var.id)).collect();
        let mut now: Vec<bool> =
            needs.iter().map(|need| *need == Some(Need::Now) || harmless && need.is_some()).collect();
        let mut part = Portion { now: None, later: None, only_for: None };
        if now.contains(&true) {
            part.only_for = elements.only_for(&item, &now, facts);
            now = closure(item.binding, &now);
            elements.computed(item.binding, facts);
            match part.only_for {
                Some(_) => demand.perhaps(item.binding),
                None => demand.computed(item.binding, &now),
            }
            // What comes along and nothing needs is not wanted.
            let wanted = needs.iter().zip(&now).map(|(need, &now)| need.is_some() && now).collect();
            let certain = needs.iter().map(|need| *need == Some(Need::Now)).collect();
            part.now = Some(Item { wanted, certain, ..item.clone() });
        }
        let later: Vec<bool> = needs.iter().zip(&now).map(|(need, &now)| need.is_some() && !now).collect();
        if later.contains(&true) {
            if let ArrayOp::Unit { f } = &item.binding.op
                && needs.contains(&Some(Need::Inlined))
            {
                demand.function(f);
            }
            demand.perhaps(item.binding);
            elements.waits(item.binding);
            part.later = Some(Item { wanted: later, ..item.clone() });
        }
        if part.now.is_some() || part.later.is_some() {
            parts.push(part);
        }
    }
    parts.reverse();
    late(&mut parts);
    parts
}

/// Puts what is only for some elements before the first binding that names it: there it is known whether it has elements.
fn late(parts: &mut Vec<Portion<'_>>) {
    for at in (0..parts.len()).rev() {
        let Some(item) = parts[at].now.as_ref().filter(|_| parts[at].only_for.is_some()) else { continue };
        let mut names: HashSet<ArrayId> = item.binding.results.iter().map(|var| var.id).collect();
        let first = parts.iter().skip(at + 1).position(|part| {
            let names_it = |item: &Item<'_>| {
                let mut uses = false;
                item.binding.for_each_use(&mut |id| uses |= names.contains(&id));
                uses
            };
            if part.now.as_ref().is_some_and(names_it) {
                return true;
            }
            if let Some(code) = part.later.as_ref().filter(|item| names_it(item)) {
                names.extend(code.binding.results.iter().map(|var| var.id));
            }
            false
        });
        if let Some(others) = first.filter(|others| *others > 0) {
            let (now, only_for) = (parts[at].now.take(), parts[at].only_for.take());
            parts.insert(at + 1 + others, Portion { now, later: None, only_for });
            if parts[at].later.is_none() {
                parts.remove(at);
            }
        }
    }
}

/// Which items cannot fail, nor anything of the list that they need.
fn harmless(items: &[Item<'_>], facts: &Facts<'_>) -> Vec<bool> {
    let mut fails: HashSet<ArrayId> = HashSet::new();
    let mut all = Vec::with_capacity(items.len());
    for item in items {
        let mut harmless = !facts.can_fail(item.binding);
        item.binding.for_each_use(&mut |id| harmless &= !fails.contains(&id));
        if !harmless {
            fails.extend(item.binding.results.iter().map(|var| var.id));
        }
        all.push(harmless);
    }
    all
}

/// What waits, cut into what is computed before a loop and what in it.
pub(crate) struct Before<'p> {
    /// What is computed before.
    pub(crate) taken: Vec<ArrayId>,
    /// What still waits.
    pub(crate) remaining: Vec<Item<'p>>,
    /// Whether anything that is taken may fail: the loop's body certainly needs that.
    pub(crate) fails: bool,
}

/// Cuts what waits: before a loop is computed what it may need and cannot fail, and what its body certainly needs.
pub(crate) fn before_loop<'p>(binding: &Binding, waits: &[Item<'p>], facts: &Facts<'p>) -> Before<'p> {
    let ArrayOp::While { step, .. } = &binding.op else { unreachable!("a loop") };
    let mut uses = HashSet::new();
    binding.for_each_use(&mut |id| _ = uses.insert(id));
    let mut needed = certain_outside(step, &step.results, &facts.fallible);
    for item in waits.iter().rev() {
        let wanted: Vec<bool> = item.binding.results.iter().map(|var| needed.contains(&var.id)).collect();
        if wanted.contains(&true) {
            let closed = closure(item.binding, &wanted);
            let mut demand = Demand::new(&facts.fallible, &[]);
            demand.computed(item.binding, &closed);
            let mut certain = Vec::new();
            item.binding.for_each_use(&mut |id| certain.extend((demand.of(id) == Some(Need::Now)).then_some(id)));
            needed.extend(certain);
        }
        if item.binding.results.iter().any(|var| uses.contains(&var.id)) {
            item.binding.for_each_use(&mut |id| _ = uses.insert(id));
        }
    }
    let mut before = Before { taken: Vec::new(), remaining: Vec::new(), fails: false };
    // In order: what uses something that may fail and is not taken is not taken either.
    let mut failing: HashSet<ArrayId> = HashSet::new();
    for item in waits {
        let own = facts.can_fail(item.binding);
        let mut fails = own;
        item.binding.for_each_use(&mut |id| fails |= failing.contains(&id));
        let mut left = item.wanted.clone();
        for (var, left) in item.binding.results.iter().zip(&mut left).filter(|(_, left)| **left) {
            if needed.contains(&var.id) || !fails && uses.contains(&var.id) {
                before.taken.push(var.id);
                before.fails |= own;
                *left = false;
            } else if fails {
                failing.insert(var.id);
            }
        }
        if left.contains(&true) {
            before.remaining.push(Item { wanted: left, ..item.clone() });
        }
    }
    before
}
