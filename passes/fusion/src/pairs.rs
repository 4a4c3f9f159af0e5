//! Which producers an operation may take in now, and in which forms.

use egg::Id;

use crate::{
    facts::{Known, Pair},
    graph::{Classes, Graph},
    homes,
};

/// Weighted instructions of a producer that may be computed by several users.
const MOST_COPIED: u64 = 64;

/// The form of a class that laws look at: the last one, but that copies are made from only while copies are made.
pub(crate) fn front(graph: &Graph, class: Id) -> Option<&Known> {
    let facts = graph.facts(class);
    match facts.forms.last() {
        Some(last) if graph.analysis.copying && last.copies => Some(last),
        _ => facts.tight(),
    }
}

/// Whether a producer may be taken in now: it ends up where the user does, unless copies are made.
pub(crate) fn may_take(graph: &Graph, class: Id, of: Id) -> bool {
    let home = |id: Id| graph.facts(id).home.map_or(id, |home| graph.find(home));
    match home(of) == home(class) {
        true => !graph.analysis.copying && graph.facts(of).depth > homes::floor(graph, class),
        false => graph.analysis.copying,
    }
}

/// The producers that a class reads and that may be taken in now, sources first; and of each whether a function reads it by index.
pub(crate) fn read_by(graph: &Graph, class: Id) -> Vec<(Id, bool)> {
    let Some(front) = front(graph, class) else { return Vec::new() };
    let mut classes: Vec<(Id, bool)> = Vec::new();
    let sources = graph.source_classes(front.node);
    classes.extend(sources.into_iter().map(|of| (of, false)));
    classes.extend(graph.read_classes(front).into_iter().map(|of| (of, true)));
    classes.retain(|&(of, _)| of != class && !graph.is_leaf(of) && may_take(graph, class, of));
    classes
}

/// The pairs that laws may apply to at a class, in the order in which they are tried.
pub(crate) fn pairs(graph: &Graph, class: Id) -> Vec<Pair> {
    let mut pairs = Vec::new();
    for (of, reads) in read_by(graph, class) {
        if graph.analysis.copying && !is_cheap(graph, of) {
            continue;
        }
        pairs.extend(offered(graph, of).map(|known| Pair { of, at: known.node, shape: known.shape, reads }));
    }
    pairs
}

/// The forms of a class that users may take in, the latest first.
pub(crate) fn offered(graph: &Graph, id: Id) -> impl Iterator<Item = &Known> {
    graph.facts(id).forms.iter().rev().filter(|known| !known.copies)
}

pub(crate) fn is_cheap(graph: &Graph, of: Id) -> bool {
    graph.facts(of).tight().is_some_and(|known| known.work <= MOST_COPIED)
}
