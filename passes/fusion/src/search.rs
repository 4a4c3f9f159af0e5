//! The search: which laws are tried where, in which order, and when it ends.
//!
//! Operations are met in order of the program, so that what an operation takes in is already all that it can become: each operation gets a
//! handful of forms, and a chain of n of them n laws, where laws applied everywhere would make n². First an operation takes in what ends up
//! in one operation with it; then, apart, cheap producers that others use too. Which of these forms stays is the extraction's choice.

use std::collections::{BTreeMap, BTreeSet, HashSet};

use egg::Id;
use fusebox_ir::MAX_NESTING;

use crate::{
    Config,
    encode::Region,
    functions::{FunctionId, Functions, read_arrays},
    graph::{Form, Graph, Term},
    report::Stop,
    rules::{LAWS, Meeting, offered, source_classes},
};

/// Weighted instructions of a producer that may be computed by several users.
const MOST_COPIED: u64 = 64;

/// Bodies in bodies that a function composed here may have: other passes add some, and programs may have [`MAX_NESTING`].
const MOST_NESTING: usize = MAX_NESTING / 2;

/// What the search found.
pub(crate) struct Search {
    pub stop: Stop,
    pub iterations: usize,
    /// Why the last law tried did not apply, by producer and consumer.
    pub refusals: BTreeMap<(Id, Id), String>,
    tried: HashSet<(Id, usize, Id, usize)>,
    /// The form of each operation from which copies were made.
    loosened: BTreeMap<Id, usize>,
}

pub(crate) fn saturate(graph: &mut Graph<'_>, region: &mut Region, config: &Config) -> Search {
    let mut search = Search {
        stop: Stop::Saturated,
        iterations: 0,
        refusals: BTreeMap::new(),
        tried: HashSet::new(),
        loosened: BTreeMap::new(),
    };
    let mut changed = true;
    while changed {
        if search.iterations == config.max_iterations {
            search.stop = Stop::Iterations;
            break;
        }
        search.iterations += 1;
        changed = false;
        // What laws make stands at the end, and is met in the same sweep.
        let mut at = 0;
        while at < graph.order.len() {
            let id = graph.order[at];
            at += 1;
            if graph.owner(id) != id {
                continue;
            }
            while search.step(graph, region, config, id, false) {
                changed = true;
                if graph.egraph.total_size() >= config.max_nodes {
                    search.stop = Stop::Nodes;
                    return search;
                }
            }
            if graph.owner(id) != id {
                continue;
            }
            let tight = graph.class(id).tight;
            if search.loosened.insert(id, tight) != Some(tight) {
                let mut copies = 0;
                while copies < config.max_copies && search.step(graph, region, config, id, true) {
                    copies += 1;
                }
            }
        }
    }
    search
}

impl Search {
    /// Takes one producer more into an operation, if a law lets it: into the latest form.
    fn step(&mut self, graph: &mut Graph<'_>, region: &mut Region, config: &Config, id: Id, loose: bool) -> bool {
        let class = graph.class(id);
        let from = match class.forms.last() {
            Some(last) if loose && last.loose => class.forms.len() - 1,
            _ => class.tight,
        };
        let term = class.forms[from].term.clone();
        let home = |region: &Region, of: Id| region.home.get(&of).copied().unwrap_or(of);
        let here = home(region, id);
        let sources: Vec<Id> = source_classes(&term).into_iter().map(|source| graph.owner(source)).collect();
        let read: Vec<Id> = read_classes(graph, &term);
        for (&of, is_read) in sources.iter().map(|of| (of, false)).chain(read.iter().map(|of| (of, true))) {
            if graph.is_leaf(of) || of == id {
                continue;
            }
            let same = home(region, of) == here;
            if same == loose {
                continue;
            }
            if loose && !self.cheap(graph, of) {
                self.refusals
                    .entry((of, id))
                    .or_insert_with(|| "others use it too, and it is too dear to be computed twice".into());
                continue;
            }
            for (at, producer) in offered(graph, of) {
                if !self.tried.insert((id, from, of, at)) {
                    continue;
                }
                let homes = &region.home;
                let may_take = |graph: &Graph<'_>, other: Id| {
                    let other = graph.owner(other);
                    (homes.get(&other).copied().unwrap_or(other) == here) != loose
                };
                let meeting = Meeting { consumer: &term, class: id, producer: &producer, of, may_take: &may_take };
                if let Some(form) = self.meet(graph, config, &meeting, (from, at), is_read, loose) {
                    // What the law made ends up where its user does.
                    for &made in graph.order.iter().rev().take_while(|made| graph.class(**made).made) {
                        region.home.entry(made).or_insert(here);
                    }
                    return graph.extend(id, form);
                }
            }
        }
        false
    }

    fn cheap(&self, graph: &Graph<'_>, of: Id) -> bool {
        let class = graph.class(of);
        let functions = class.forms[class.tight].term.kind.functions();
        functions.into_iter().map(|f| graph.functions.work(f)).sum::<u64>() <= MOST_COPIED
    }

    /// What the first law that applies makes.
    fn meet(
        &mut self,
        graph: &mut Graph<'_>,
        config: &Config,
        meeting: &Meeting<'_>,
        (from, at): (usize, usize),
        is_read: bool,
        loose: bool,
    ) -> Option<Form> {
        let shapes = (meeting.consumer.kind.shape(), meeting.producer.kind.shape());
        let fits = |consumer, producer, reads| (consumer, producer) == shapes && reads == is_read;
        let mut met_a_law = false;
        for law in LAWS.iter().filter(|law| fits(law.consumer, law.producer, law.reads)) {
            met_a_law = true;
            let reason = match (law.apply)(graph, meeting) {
                Err(reason) => reason,
                Ok(met) if graph.class(meeting.class).forms.iter().any(|form| form.term == met.term) => {
                    "nothing would change".into()
                }
                Ok(met) => {
                    let most = |of: fn(&Functions, FunctionId) -> usize| {
                        let functions = met.term.kind.functions();
                        functions.into_iter().map(|f| of(&graph.functions, f)).max().unwrap_or(0)
                    };
                    if most(Functions::nesting) > MOST_NESTING {
                        format!("its user would have bodies nested more than {MOST_NESTING} deep")
                    } else if most(Functions::size) <= config.max_instructions {
                        let mut absorbed = graph.class(meeting.class).forms[from].absorbed.clone();
                        for &of in &met.absorbed {
                            let class = graph.class(of);
                            let form = if of == meeting.of { at } else { class.tight };
                            absorbed.extend(&class.forms[form].absorbed);
                            absorbed.insert(graph.owner(of));
                        }
                        return Some(Form { term: met.term, by: Some((law.name, from)), absorbed, loose });
                    } else {
                        format!("its user would have more than {} instructions", config.max_instructions)
                    }
                }
            };
            self.refusals.insert((meeting.of, meeting.class), reason);
        }
        if !met_a_law {
            let (user, of) = (meeting.consumer.kind.name(), meeting.producer.kind.name());
            let reason = if is_read {
                format!("no law takes a {of} into a {user} that reads it by index")
            } else {
                format!("no law takes a {of} into a {user}")
            };
            self.refusals.entry((meeting.of, meeting.class)).or_insert(reason);
        }
        None
    }
}

/// Classes of arrays that the functions of a term read by index.
pub(crate) fn read_classes(graph: &Graph<'_>, term: &Term) -> Vec<Id> {
    let mut classes = BTreeSet::new();
    for f in term.kind.functions() {
        for array in read_arrays(graph.functions.get(f)) {
            if let Some(source) = graph.of_array.get(&array) {
                classes.insert(graph.owner(source.class));
            }
        }
    }
    classes.into_iter().collect()
}
