//! The report, gathered block by block.

use std::collections::BTreeMap;

use egg::Id;
use fusebox_ir::Block;

use crate::{
    encode::Region,
    error::Error,
    extract::Solution,
    graph::{Graph, Term},
    report::{Choice, Duplication, Refusal, Report, Stop},
    search::{Search, read_classes},
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
        graph: &Graph<'_>,
        region: &Region,
        search: &Search,
        solution: &Solution,
    ) -> Result<(), Error> {
        let limit = match search.stop {
            Stop::Saturated => solution.limited.then_some(Stop::Steps),
            stop => Some(stop),
        };
        self.stop = self.stop.or(limit);
        self.iterations = self.iterations.max(search.iterations);
        self.nodes += graph.egraph.total_size();
        self.classes += graph.egraph.number_of_classes();
        self.cost_before = self.cost_before.checked_add(solution.cost_before).ok_or(Error::Cost)?;
        self.cost_after = self.cost_after.checked_add(solution.cost).ok_or(Error::Cost)?;
        let mut computed: BTreeMap<Id, Vec<String>> = BTreeMap::new();
        for &id in &solution.needed {
            let class = graph.class(id);
            let chosen = solution.choice[&id];
            let form = &class.forms[chosen];
            for &of in &form.absorbed {
                computed.entry(of).or_default().push(class.name.clone());
            }
            computed.entry(id).or_default().push(class.name.clone());
            let before = block.bindings.get(class.position).map_or("", |binding| binding.op.name());
            if class.made || (chosen == 0 && before == form.term.kind.name()) {
                continue;
            }
            let (mut laws, mut at) = (Vec::new(), chosen);
            while let Some((law, from)) = class.forms[at].by {
                laws.push(law);
                at = from;
            }
            if class.forms[0].term.kind.name() != before {
                laws.push("generate-as-map");
            }
            laws.reverse();
            self.choices.push(Choice {
                name: class.name.clone(),
                place: class.place.clone(),
                before,
                after: form.term.kind.name(),
                laws,
                absorbed: form.absorbed.iter().map(|&of| graph.class(of).name.clone()).collect(),
            });
        }
        for (of, mut places) in computed {
            places.dedup();
            if places.len() < 2 {
                continue;
            }
            let class = graph.class(of);
            let work = class.forms[0].term.kind.functions().into_iter().map(|f| graph.functions.work(f)).sum();
            self.duplications.push(Duplication { producer: class.name.clone(), places, work });
        }
        self.refuse(graph, region, search, solution);
        Ok(())
    }

    fn refuse(&mut self, graph: &Graph<'_>, region: &Region, search: &Search, solution: &Solution) {
        for &of in &solution.needed {
            let class = graph.class(of);
            if matches!(class.forms[0].term.kind.name(), "stencil") {
                continue;
            }
            let mut refuse = |consumer: String, reason: String| {
                let (producer, place) = (class.name.clone(), class.place.clone());
                let refusal = Refusal { producer, place, consumer, reason };
                if !self.refusals.contains(&refusal) {
                    self.refusals.push(refusal);
                }
            };
            for &user in &solution.needed {
                let chosen = &graph.class(user).forms[solution.choice[&user]];
                if uses(graph, &chosen.term, of) {
                    let without = graph.class(user).forms[solution.choice[&user] + 1..]
                        .iter()
                        .any(|form| !uses(graph, &form.term, of));
                    let reason = if without && region.home.get(&of) == region.home.get(&user) {
                        "the whole costs less with the two apart".to_owned()
                    } else if without {
                        "others use it too, and storing it once costs less than computing it for each".to_owned()
                    } else {
                        let known = search.refusals.get(&(of, user)).cloned();
                        known.unwrap_or_else(|| "others use it too".to_owned())
                    };
                    refuse(graph.class(user).name.clone(), reason);
                }
            }
            let outside = region.outside.iter().filter(|(id, _)| graph.owner(**id) == of);
            let mut outside: Vec<_> = outside.flat_map(|(_, users)| users).collect();
            outside.sort_by(|a, b| (&a.name, a.op, a.level).cmp(&(&b.name, b.op, b.level)));
            for user in outside {
                let reason = match (user.op, user.fusible) {
                    ("return", _) => "it is a result".to_owned(),
                    (op, true) => format!("clustering fuses a {op} with what it traverses"),
                    ("permute" | "permuted_expand", false) => "it becomes the memory of the result".to_owned(),
                    (op, false) => format!("a {op} needs it as a whole"),
                };
                refuse(user.name.clone(), reason);
            }
        }
    }
}

fn uses(graph: &Graph<'_>, term: &Term, of: Id) -> bool {
    term.sources.iter().any(|source| graph.owner(source.class) == of) || read_classes(graph, term).contains(&of)
}
