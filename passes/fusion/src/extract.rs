//! The choice of a form for each operation: the cheapest whole, where an array is paid for once however many use it.
//!
//! egg's own extractor pays for a shared class once for each user, so that it would compute everything wherever it is read. This one starts
//! from the forms that took most in without copies, and takes what makes the whole cheaper as long as something does.

use std::collections::BTreeMap;

use egg::Id;
use rustc_hash::FxHashMap;

use crate::{
    error::Error,
    graph::{Classes, Graph},
    ledger::Ledger,
    region::Region,
};

/// A form for each class that is needed.
pub(crate) struct Solution {
    /// Which of its forms each needed class is.
    pub chosen: BTreeMap<Id, usize>,
    /// The needed classes in order of the program; what laws made is at the end.
    pub needed: Vec<Id>,
    pub cost: u128,
    pub cost_before: u128,
    /// Whether there were more choices to compare than allowed.
    pub limited: bool,
}

struct Extraction<'g> {
    ledger: Ledger<'g>,
    best: u128,
    steps: usize,
    limited: bool,
    /// Changes that made nothing cheaper, with the best cost then.
    vain: FxHashMap<Vec<(usize, usize)>, u128>,
    /// Whether one of them was not tried again, although something is cheaper by now.
    skipped: bool,
}

pub(crate) fn cheapest(graph: &Graph, region: &Region) -> Result<Solution, Error> {
    let mut ledger = Ledger::new(graph, region)?;
    let cost_before = ledger.cost();
    let tight: Vec<(usize, usize)> = (0..ledger.classes())
        .map(|class| {
            let facts = graph.facts(ledger.id(class));
            let tight = facts.forms.iter().rposition(|known| !known.copies);
            (class, tight.unwrap_or_else(|| panic!("the first form of a class holds no copies: {facts:?}")))
        })
        .collect();
    ledger.choose(&tight)?;
    let best = ledger.cost();
    let steps = graph.analysis.config.max_steps;
    let mut extraction = Extraction { ledger, best, steps, limited: false, vain: FxHashMap::default(), skipped: false };
    extraction.improve()?;
    let Extraction { ledger, best, limited, .. } = extraction;
    let needed: Vec<usize> = (0..ledger.classes()).filter(|&class| ledger.is_needed(class)).collect();
    Ok(Solution {
        chosen: needed.iter().map(|&class| (ledger.id(class), ledger.choice(class))).collect(),
        needed: needed.into_iter().map(|class| ledger.id(class)).collect(),
        cost: best,
        cost_before,
        limited,
    })
}

impl Extraction<'_> {
    /// Takes what makes the whole cheaper, as long as something does: another form of one operation; all users of one without it; all
    /// users of one with it.
    fn improve(&mut self) -> Result<(), Error> {
        // Once nothing has changed since a class was looked at, looking again would find the same.
        let (mut class, mut unchanged) = (0, 0);
        loop {
            if unchanged == self.ledger.classes() {
                if !std::mem::take(&mut self.skipped) {
                    return Ok(());
                }
                self.vain.clear();
                unchanged = 0;
            }
            unchanged += 1;
            if self.ledger.is_needed(class) && self.improve_at(class)? {
                unchanged = 0;
            }
            class = (class + 1) % self.ledger.classes();
        }
    }

    fn improve_at(&mut self, class: usize) -> Result<bool, Error> {
        let mut improved = false;
        for form in 0..self.ledger.forms(class) {
            improved |= self.better(&[(class, form)])?;
        }
        for with in [false, true] {
            let moves = self.ledger.users_with(class, with);
            improved |= self.better(&moves)?;
        }
        Ok(improved)
    }

    /// Makes a change if the whole is cheaper then.
    fn better(&mut self, moves: &[(usize, usize)]) -> Result<bool, Error> {
        let moves: Vec<(usize, usize)> =
            moves.iter().copied().filter(|&(class, form)| self.ledger.choice(class) != form).collect();
        if moves.is_empty() {
            return Ok(false);
        }
        if let Some(&best) = self.vain.get(&moves) {
            self.skipped |= best != self.best;
            return Ok(false);
        }
        if self.steps == 0 {
            self.limited = true;
            return Ok(false);
        }
        self.steps -= 1;
        let back: Vec<(usize, usize)> = moves.iter().map(|&(class, _)| (class, self.ledger.choice(class))).collect();
        if self.ledger.choose(&moves)? && self.ledger.cost() < self.best {
            self.best = self.ledger.cost();
            return Ok(true);
        }
        self.ledger.choose(&back)?;
        self.vain.insert(moves, self.best);
        Ok(false)
    }
}
