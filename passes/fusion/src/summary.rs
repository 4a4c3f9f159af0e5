//! The report, gathered block by block.

use std::collections::{BTreeMap, BTreeSet};

use egg::Id;
use fusebox_ir::Block;
use rustc_hash::FxHashSet;

use crate::{
    error::Error,
    extract::Solution,
    facts::Known,
    graph::{Classes, Graph},
    language::Shape,
    reason::Reason,
    report::{Choice, Duplication, Refusal, Report, Stop},
    search::Search,
};

/// A report while blocks are added.
#[derive(Default)]
pub(crate) struct Summary {
    stop: Option<Stop>,
    iterations: usize,
    nodes: usize,
    classes: usize,
    cost_before: u128,
    cost_after: u128,
    choices: Vec<Choice>,
    refusals: Vec<Refusal>,
    duplications: Vec<Duplication>,
}

impl Summary {
    pub(crate) fn finish(self) -> Report {
        Report {
            stop: self.stop.unwrap_or(Stop::Saturated),
            iterations: self.iterations,
            nodes: self.nodes,
            classes: self.classes,
            cost_before: self.cost_before.to_string(),
            cost_after: self.cost_after.to_string(),
            choices: self.choices,
            refusals: self.refusals,
            duplications: self.duplications,
        }
    }

    /// What runs over less than it did, or elsewhere.
    pub(crate) fn rewritten(&mut self, choices: Vec<Choice>) {
        self.choices.extend(choices);
    }

    /// Before the block is rewritten.
    pub(crate) fn add(
        &mut self,
        block: &Block,
        graph: &Graph,
        search: &Search,
        solution: &Solution,
    ) -> Result<(), Error> {
        let limit = match search.stop {
            Stop::Saturated => solution.limited.then_some(Stop::Steps),
            stop => Some(stop),
        };
        self.stop = self.stop.or(limit);
        self.iterations = self.iterations.max(search.iterations);
        self.nodes += graph.total_size();
        self.classes += graph.number_of_classes();
        self.cost_before = self.cost_before.checked_add(solution.cost_before).ok_or(Error::Cost)?;
        self.cost_after = self.cost_after.checked_add(solution.cost).ok_or(Error::Cost)?;
        let mut computed: BTreeMap<(usize, Id), Vec<String>> = BTreeMap::new();
        for &id in &solution.needed {
            let facts = graph.facts(id);
            let chosen = solution.chosen[&id];
            let absorbed = absorbed(graph, facts.forms[chosen].node);
            for &of in &absorbed {
                computed.entry(of).or_default().push(facts.name.clone());
            }
            computed.entry((facts.order, id)).or_default().push(facts.name.clone());
            let before = block.bindings.get(facts.position).map_or("", |binding| binding.op.name());
            let after = facts.forms[chosen].shape.name();
            if facts.made || (chosen == 0 && before == after) {
                continue;
            }
            let mut laws = laws_of(graph, facts.forms[chosen].node);
            if facts.forms[0].shape.name() != before {
                laws.insert(0, "generate-as-map");
            }
            self.choices.push(Choice {
                name: facts.name.clone(),
                place: facts.place.clone(),
                before,
                after,
                laws,
                absorbed: absorbed.iter().map(|&(_, of)| graph.facts(of).name.clone()).collect(),
            });
        }
        for ((_, of), mut places) in computed {
            places.dedup();
            if places.len() < 2 {
                continue;
            }
            let facts = graph.facts(of);
            let functions = graph.operation(facts.forms[0].node);
            let work = functions.functions().map(|f| graph.analysis.functions.work(f)).sum();
            self.duplications.push(Duplication { producer: facts.name.clone(), places, work });
        }
        self.refuse(graph, solution);
        Ok(())
    }

    fn refuse(&mut self, graph: &Graph, solution: &Solution) {
        let mut users: BTreeMap<Id, Vec<Id>> = BTreeMap::new();
        for &user in &solution.needed {
            for of in used(graph, &graph.facts(user).forms[solution.chosen[&user]]) {
                users.entry(of).or_default().push(user);
            }
        }
        let found = graph.analysis.refusals.iter();
        let reasons: BTreeMap<(Id, Id), &Reason> =
            found.map(|(&(of, user), reason)| ((graph.find(of), graph.find(user)), reason)).collect();
        let mut told: FxHashSet<(String, String, String)> = FxHashSet::default();
        for &of in &solution.needed {
            let facts = graph.facts(of);
            if facts.forms[0].shape == Shape::Stencil {
                continue;
            }
            let mut refuse = |consumer: &str, reason: String| {
                if told.insert((facts.name.clone(), consumer.to_owned(), reason.clone())) {
                    let (producer, place) = (facts.name.clone(), facts.place.clone());
                    self.refusals.push(Refusal { producer, place, consumer: consumer.to_owned(), reason });
                }
            };
            for user in users.get(&of).into_iter().flatten() {
                let of_user = graph.facts(*user);
                let mut later = of_user.forms[solution.chosen[user] + 1..].iter();
                let reason = match later.any(|form| !used(graph, form).contains(&of)) {
                    true if same_home(graph, of, *user) => "the whole costs less with the two apart".to_owned(),
                    true => "others use it too, and storing it once costs less than computing it for each".to_owned(),
                    false => reasons.get(&(of, *user)).map_or("others use it too".to_owned(), |why| why.to_string()),
                };
                refuse(&of_user.name, reason);
            }
            let mut outside: Vec<_> = facts.outside.iter().collect();
            outside.sort_by(|a, b| (&a.name, a.op, a.level).cmp(&(&b.name, b.op, b.level)));
            for user in outside {
                let reason = match (user.op, user.fusible) {
                    ("return", _) => "it is a result".to_owned(),
                    (op, true) => format!("clustering fuses a {op} with what it traverses"),
                    ("permute" | "permuted_expand", false) => "it becomes the memory of the result".to_owned(),
                    (op, false) => format!("a {op} needs it as a whole"),
                };
                refuse(&user.name, reason);
            }
        }
    }
}

/// Whether two classes end up in one operation, as far as users say.
fn same_home(graph: &Graph, a: Id, b: Id) -> bool {
    let home = |id: Id| graph.facts(id).home.map(|home| graph.find(home));
    home(a) == home(b)
}

/// The classes that a form uses.
fn used(graph: &Graph, known: &Known) -> BTreeSet<Id> {
    let sources = graph.source_classes(known.node);
    sources.into_iter().chain(graph.read_classes(known)).collect()
}

/// The laws that made an e-node, in order.
fn laws_of(graph: &Graph, node: Id) -> Vec<&'static str> {
    let (mut laws, mut at) = (Vec::new(), node);
    while let Some(origin) = graph.analysis.origins.get(&at) {
        laws.push(origin.law);
        at = origin.from;
    }
    laws.reverse();
    laws
}

/// All classes that an e-node took in, in order of the program.
fn absorbed(graph: &Graph, node: Id) -> BTreeSet<(usize, Id)> {
    let mut absorbed = BTreeSet::new();
    let mut seen: FxHashSet<Id> = FxHashSet::default();
    let mut stack = vec![node];
    while let Some(node) = stack.pop() {
        let Some(origin) = graph.analysis.origins.get(&node) else { continue };
        if !seen.insert(node) {
            continue;
        }
        stack.push(origin.from);
        for &(of, at) in &origin.took {
            let of = graph.find(of);
            absorbed.insert((graph.facts(of).order, of));
            stack.push(at);
        }
    }
    absorbed
}
