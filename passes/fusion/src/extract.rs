//! The choice of a form for each operation: the cheapest whole, where an array is paid for once however many use it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use egg::Id;
use fusebox_ir::{ArrayId, Extent, Operand, analysis::work::PER_BYTE};

use crate::{
    Config,
    cost::{self, LOOP},
    encode::{Outside, Region},
    error::Error,
    graph::{Edge, Graph, Kind, Source, Term},
    reads,
};

/// How an operation reads an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Mode {
    /// Each element at its own place: free where the same pass makes it.
    InOrder,
    /// Each element at another place: free where the same pass makes it for this alone.
    Elsewhere,
    /// Several elements, or as a whole: it must be stored before.
    Stored,
    /// As a scalar.
    Scalar,
}

/// What the choice needs to know of a form.
struct Facts {
    uses: Vec<(Source, Mode)>,
    work: u64,
    /// Costs nothing: a reshape.
    free: bool,
    /// Repeats along inner dimensions alone: what it reads in passing is computed once a row.
    by_rows: bool,
}

/// A form for each class that is needed.
pub(crate) struct Solution {
    pub choice: HashMap<Id, usize>,
    pub needed: BTreeSet<Id>,
    pub cost: u128,
    pub cost_before: u128,
    /// Whether there were more choices to compare than allowed.
    pub limited: bool,
}

struct Extraction<'g, 'a> {
    graph: &'g Graph<'a>,
    region: &'g Region,
    facts: HashMap<Id, Vec<Facts>>,
    outside: BTreeMap<Id, Vec<&'g Outside>>,
    steps: usize,
    limited: bool,
}

pub(crate) fn cheapest(graph: &Graph<'_>, region: &Region, config: &Config) -> Result<Solution, Error> {
    let owners: BTreeSet<Id> = graph.order.iter().map(|&id| graph.owner(id)).collect();
    let facts = owners
        .iter()
        .map(|&id| (id, graph.class(id).forms.iter().map(|form| facts(graph, &form.term)).collect()))
        .collect();
    let mut outside: BTreeMap<Id, Vec<&Outside>> = BTreeMap::new();
    for (&id, users) in &region.outside {
        outside.entry(graph.owner(id)).or_default().extend(users);
    }
    outside.retain(|id, _| !graph.is_leaf(*id));
    let mut extraction = Extraction { graph, region, facts, outside, steps: config.max_steps, limited: false };
    let first: HashMap<Id, usize> = owners.iter().map(|&id| (id, 0)).collect();
    let cost_before = extraction.cost(&first)?.unwrap_or(u128::MAX);
    let tight: HashMap<Id, usize> = owners.iter().map(|&id| (id, graph.class(id).tight)).collect();
    let (mut choice, mut best) = match extraction.cost(&tight)? {
        Some(cost) => (tight, cost),
        None => (first, cost_before),
    };
    extraction.improve(&mut choice, &mut best)?;
    let needed = extraction.needed(&choice).unwrap_or_default().into_iter().collect();
    Ok(Solution { choice, needed, cost: best, cost_before, limited: extraction.limited })
}

fn facts(graph: &Graph<'_>, term: &Term) -> Facts {
    let mode = match &term.kind {
        Kind::Map { .. } | Kind::Generate { .. } => Mode::InOrder,
        Kind::Backpermute { .. } | Kind::Transform { .. } | Kind::Replicate { .. } | Kind::Slice { .. } => {
            Mode::Elsewhere
        }
        Kind::Reshape | Kind::Stencil { .. } => Mode::Stored,
    };
    let mut uses: Vec<(Source, Mode)> = Vec::new();
    let mut add = |source: Source, mode: Mode| {
        let source = Source { class: graph.owner(source.class), ..source };
        if !uses.contains(&(source, mode)) {
            uses.push((source, mode));
        }
    };
    term.sources.iter().for_each(|&source| add(source, mode));
    let mut value = |id: ArrayId, mode: Mode| {
        if let Some(&source) = graph.of_array.get(&id) {
            add(source, mode);
        }
    };
    for f in term.kind.functions() {
        graph.functions.get(f).outer_uses(&mut |id| {
            let scalar = graph.types.get(&id).is_some_and(|ty| ty.rank() == 0);
            value(id, if scalar { Mode::Scalar } else { Mode::Stored });
        });
    }
    let mut operands: Vec<Operand> = Vec::new();
    match &term.kind {
        Kind::Replicate { dims } | Kind::Slice { dims } => operands.extend(dims.iter().flatten()),
        Kind::Stencil { edges, .. } => {
            operands.extend(edges.iter().filter_map(|edge| match edge {
                Edge::Constant(value) => Some(*value),
                Edge::Clamp | Edge::Mirror | Edge::Wrap | Edge::Function(_) => None,
            }));
        }
        _ => {}
    }
    for operand in operands {
        if let Operand::Value(id) = operand {
            value(id, Mode::Scalar);
        }
    }
    for extent in &term.extents {
        if let Extent::Value(id) = extent {
            value(*id, Mode::Scalar);
        }
    }
    let work = match &term.kind {
        Kind::Generate { f } | Kind::Map { f } => graph.functions.work(*f),
        Kind::Backpermute { index } => reads::dear_work(graph, *index),
        Kind::Transform { index, f } => reads::dear_work(graph, *index) + graph.functions.work(*f),
        Kind::Replicate { .. } | Kind::Slice { .. } | Kind::Reshape => 0,
        Kind::Stencil { f, offsets, .. } => graph.functions.work(*f) + offsets.len() as u64,
    };
    let by_rows = match &term.kind {
        Kind::Replicate { dims } => dims.iter().skip_while(|dim| dim.is_none()).all(Option::is_some),
        _ => false,
    };
    Facts { uses, work, free: matches!(term.kind, Kind::Reshape), by_rows }
}

impl Extraction<'_, '_> {
    /// Classes that a choice needs, each after those that it uses; `None` if one would need itself.
    fn needed(&self, choice: &HashMap<Id, usize>) -> Option<Vec<Id>> {
        let (mut order, mut needed) = (Vec::new(), BTreeSet::new());
        let mut open: BTreeSet<Id> = BTreeSet::new();
        let mut stack: Vec<(Id, bool)> = self.outside.keys().map(|&id| (id, false)).collect();
        while let Some((id, done)) = stack.pop() {
            if done {
                open.remove(&id);
                needed.insert(id);
                order.push(id);
                continue;
            }
            if needed.contains(&id) {
                continue;
            }
            if !open.insert(id) {
                return None;
            }
            stack.push((id, true));
            for (source, _) in &self.facts[&id][choice[&id]].uses {
                if self.facts.contains_key(&source.class) && !needed.contains(&source.class) {
                    if open.contains(&source.class) {
                        return None;
                    }
                    stack.push((source.class, false));
                }
            }
        }
        Some(order)
    }

    fn level(&self, id: Id) -> usize {
        self.region.levels.get(self.graph.class(id).position).copied().unwrap_or(0)
    }

    /// What a choice costs; `None` if it cannot be computed in any order.
    ///
    /// # Errors
    /// [`Error::Cost`] where no number holds it.
    fn cost(&self, choice: &HashMap<Id, usize>) -> Result<Option<u128>, Error> {
        let Some(needed) = self.needed(choice) else { return Ok(None) };
        let mut users: BTreeMap<Source, Vec<(Id, usize, Mode)>> = BTreeMap::new();
        for &id in &needed {
            let level = self.level(id);
            for &(source, mode) in &self.facts[&id][choice[&id]].uses {
                users.entry(source).or_default().push((id, level, mode));
            }
        }
        let mut bytes: HashMap<Id, u64> = HashMap::new();
        // What is not stored is computed as often as its user asks.
        let mut in_passing: HashMap<Id, Id> = HashMap::new();
        let mut total: u128 = 0;
        let mut pay = |elements: u128, each: u64| -> Result<(), Error> {
            let cost = elements.checked_mul(u128::from(each)).ok_or(Error::Cost)?;
            total = total.checked_add(cost).ok_or(Error::Cost)?;
            Ok(())
        };
        for (source, users) in &users {
            let array = self.graph.array(*source);
            let made_here = self.facts.contains_key(&source.class);
            let level = match made_here {
                true => Some(self.level(source.class)),
                false if self.graph.class(source.class).manifest => None,
                false => self.region.level_of.get(&array).copied(),
            };
            let outside = self.outside.get(&source.class).map_or(&[][..], Vec::as_slice);
            let alone = users.len() + outside.len() == 1;
            let stored = !made_here || stored(level, users, outside, alone);
            let element = self.graph.element(*source).bytes() as u64;
            let mut paid: BTreeSet<usize> = BTreeSet::new();
            for user in outside.iter().filter(|user| user.fusible && Some(user.level) != level) {
                if paid.insert(user.level) {
                    pay(cost::elements(&self.graph.ty(*source).extents), element * PER_BYTE)?;
                }
            }
            for &(user, at, mode) in users {
                let reads = match mode {
                    Mode::InOrder => Some(at) != level && paid.insert(at),
                    Mode::Elsewhere if !stored && made_here => {
                        if !self.facts[&user][choice[&user]].by_rows {
                            in_passing.insert(source.class, user);
                        }
                        false
                    }
                    Mode::Elsewhere => stored,
                    Mode::Stored => true,
                    Mode::Scalar => false,
                };
                if reads {
                    *bytes.entry(user).or_default() += element;
                }
            }
            if stored && made_here {
                *bytes.entry(source.class).or_default() += element;
            }
        }
        let mut times: HashMap<Id, u128> = HashMap::new();
        for &id in needed.iter().rev() {
            let class = self.graph.class(id);
            let facts = &self.facts[&id][choice[&id]];
            if facts.free {
                continue;
            }
            let mut moved = bytes.get(&id).copied().unwrap_or(0);
            // Results that only others than operations of the graph use.
            for component in 0..class.arrays.len() {
                let source = Source { class: id, component };
                let outside = self.outside.get(&id).map_or(&[][..], Vec::as_slice);
                if !users.contains_key(&source) && stored(Some(self.level(id)), &[], outside, outside.len() == 1) {
                    moved += self.graph.element(source).bytes() as u64;
                }
            }
            let extents = &class.forms[choice[&id]].term.extents;
            let own = cost::elements(extents);
            let asked = in_passing.get(&id).and_then(|user| times.get(user)).copied().unwrap_or(own).max(own);
            times.insert(id, asked);
            pay(asked, LOOP + (moved * PER_BYTE).max(facts.work))?;
        }
        Ok(Some(total))
    }

    /// Takes what makes the whole cheaper, as long as something does: another form of one operation; all users of one without it; all
    /// users of one with it.
    fn improve(&mut self, choice: &mut HashMap<Id, usize>, best: &mut u128) -> Result<(), Error> {
        loop {
            let mut improved = false;
            for id in self.needed(choice).unwrap_or_default() {
                for form in 0..self.facts[&id].len() {
                    let mut other = choice.clone();
                    other.insert(id, form);
                    improved |= self.better(other, choice, best)?;
                }
                for with in [false, true] {
                    let mut other = choice.clone();
                    for (&user, forms) in &self.facts {
                        let has = |form: usize| forms[form].uses.iter().any(|(source, _)| source.class == id);
                        if has(choice[&user]) != with
                            && let Some(form) = (0..forms.len()).rev().find(|&form| has(form) == with)
                        {
                            other.insert(user, form);
                        }
                    }
                    improved |= self.better(other, choice, best)?;
                }
            }
            if !improved {
                return Ok(());
            }
        }
    }

    fn better(
        &mut self,
        other: HashMap<Id, usize>,
        choice: &mut HashMap<Id, usize>,
        best: &mut u128,
    ) -> Result<bool, Error> {
        if other == *choice {
            return Ok(false);
        }
        if self.steps == 0 {
            self.limited = true;
            return Ok(false);
        }
        self.steps -= 1;
        match self.cost(&other)? {
            Some(cost) if cost < *best => {
                (*choice, *best) = (other, cost);
                Ok(true)
            }
            _ => Ok(false),
        }
    }
}

/// Whether a result must be stored: someone uses it in another pass, or otherwise than one pass can.
fn stored(level: Option<usize>, users: &[(Id, usize, Mode)], outside: &[&Outside], alone: bool) -> bool {
    users.iter().any(|&(_, at, mode)| match mode {
        Mode::InOrder => Some(at) != level,
        Mode::Elsewhere => Some(at) != level || !alone,
        Mode::Stored | Mode::Scalar => true,
    }) || outside.iter().any(|user| !user.fusible || Some(user.level) != level)
}
