//! Runs of maps: those that end up in one map are taken in together.
//!
//! Maps that are read by maps alone, all of which end up in the same one, would be taken in one after the other: n compositions of up to n
//! functions for a chain of n. They are taken in at once instead, and have no forms of their own.

use egg::Id;
use rustc_hash::FxHashMap;

use crate::{
    checks,
    graph::{Classes, Graph},
    homes::Becomes,
    language::Shape,
    region::{Inside, Region, Use},
};

/// Finds the runs of a block. What a law finds against one afterwards, [`dissolve`] undoes it.
pub(crate) fn plan(graph: &mut Graph, region: &Region, inside: &Inside, becomes: &FxHashMap<Id, Becomes>) {
    let mut sizes: FxHashMap<Id, usize> = FxHashMap::default();
    let most = graph.analysis.config.max_instructions;
    // Users come after what they use: from the last to the first, the runs of users are known.
    for class in graph.analysis.order.clone().into_iter().rev() {
        let facts = graph.facts(class);
        if facts.forms[0].shape != Shape::Map {
            continue;
        }
        let operation = graph.operation(facts.forms[0].node);
        let size = graph.analysis.functions.size(operation.of_elements());
        let mut last: Option<Id> = None;
        let mut one = facts.outside.is_empty() && operation.apart.is_none() && takes_maps_alone(graph, class, becomes);
        for &(position, how) in inside.get(&class).into_iter().flatten() {
            let Some(user) = region.classes[position].filter(|_| one && how == Use::Traversed) else {
                one = false;
                break;
            };
            let of_user = graph.facts(user).run.unwrap_or(user);
            let consumer = graph.operation(graph.facts(user).forms[0].node);
            one &= last.is_none_or(|last| last == of_user)
                && consumer.shape == Shape::Map
                && checks::fits(graph, &consumer, &operation);
            last = Some(of_user);
        }
        match last.filter(|_| one) {
            Some(last) if sizes.get(&last).copied().unwrap_or(0) + size <= most => {
                *sizes.entry(last).or_default() += size;
                graph[class].data.run = Some(last);
                graph.analysis.runs.entry(last).or_default().push(class);
            }
            _ => _ = sizes.insert(class, size),
        }
    }
    graph.analysis.runs.values_mut().for_each(|run| run.reverse());
}

/// Whether a map stays one whatever it takes in: another operation may be better apart.
fn takes_maps_alone(graph: &Graph, class: Id, becomes: &FxHashMap<Id, Becomes>) -> bool {
    let facts = graph.facts(class);
    let form = &facts.forms[0];
    let stays_map = becomes.get(&class).is_some_and(Becomes::is_traversed);
    let is_map = |source: Id| {
        let facts_of = graph.facts(source);
        let is_map = facts_of.forms.first().is_none_or(|form| matches!(form.shape, Shape::Map | Shape::Stencil));
        is_map || facts_of.home != facts.home
    };
    let mut sources = graph.source_classes(form.node).into_iter();
    sources.all(|source| is_map(source) || stays_map) && graph.read_classes(form).into_iter().all(is_map)
}

/// The members of the run that ends in a class, each after what it uses, with their e-nodes; none where one turned out to be equal to
/// something else meanwhile.
pub(crate) fn of(graph: &Graph, last: Id) -> Option<Vec<(Id, Id)>> {
    let run = graph.analysis.runs.get(&last)?;
    let member = |&class: &Id| {
        let facts = graph.facts(class);
        (facts.run == Some(last) && graph.find(class) == class).then(|| (class, facts.forms[0].node))
    };
    run.iter().map(member).collect()
}

/// Lets the members of a run that was not taken in be taken in one by one. Says whether there are any.
pub(crate) fn dissolve(graph: &mut Graph, last: Id) -> bool {
    let took = |class: Id| {
        graph.facts(last).forms.iter().any(|known| {
            let origin = graph.analysis.origins.get(&known.node);
            origin.is_some_and(|origin| origin.took.iter().any(|&(of, _)| graph.find(of) == graph.find(class)))
        })
    };
    let Some(run) = graph.analysis.runs.get(&last).filter(|run| run.iter().any(|&member| !took(member))) else {
        return false;
    };
    for member in run.clone() {
        graph[member].data.run = None;
    }
    graph.analysis.runs.remove(&last);
    true
}
