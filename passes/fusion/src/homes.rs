//! Where each operation ends up: what is used in one operation alone is taken in there, and costs nothing to compute there.
//!
//! Homes are found before any law is tried, from the operations as they are written. An operation that its user cannot take in, as far as
//! their shapes say, is a home itself.

use egg::Id;
use rustc_hash::FxHashMap;

use crate::{
    functions::{FunctionId, used_params},
    graph::{Classes, Graph},
    index::IndexMap,
    language::Shape,
    region::{Inside, Region, Use},
};

/// Operations on the way to a home up to which each takes in all before it.
const NEAR: usize = 16;

/// What an operation can become by taking in what it reads.
#[derive(Clone)]
pub(crate) struct Becomes {
    generate: bool,
    /// An operation that reads its sources elsewhere: where.
    elsewhere: Option<(IndexMap, Option<FunctionId>)>,
}

impl Becomes {
    /// Whether it reads its sources as they are, whatever it takes in.
    pub(crate) fn is_traversed(&self) -> bool {
        !self.generate && self.elsewhere.is_none()
    }
}

/// Something that is traversed whatever is taken in.
const TRAVERSED: Becomes = Becomes { generate: false, elsewhere: None };

/// Finds the homes of all classes, and how far from them they are; gives what each can become.
pub(crate) fn plan(graph: &mut Graph, region: &Region, inside: &Inside) -> FxHashMap<Id, Becomes> {
    let order = graph.analysis.order.clone();
    let mut becomes: FxHashMap<Id, Becomes> = FxHashMap::default();
    for &class in &order {
        let of = becomes_of(graph, class, &becomes);
        becomes.insert(class, of);
    }
    // Users come after what they use: from the last to the first, homes of users are known.
    for &class in order.iter().rev() {
        let facts = graph.facts(class);
        let mut one = facts.outside.is_empty() && facts.forms[0].shape.is_producer();
        let mut home = None;
        for &(position, how) in inside.get(&class).into_iter().flatten() {
            let user = region.classes[position];
            let of_user = user.and_then(|user| graph.facts(user).home);
            let taken_in = user.is_some_and(|user| how == Use::Read || can_take_in(graph, user, class, &becomes));
            one &= taken_in && of_user.is_some() && (home.is_none() || home == of_user);
            home = of_user;
        }
        let home = home.filter(|_| one).unwrap_or(class);
        graph[class].data.home = Some(home);
    }
    for class in order {
        let facts = graph.facts(class);
        let (form, home) = (&facts.forms[0], facts.home);
        let read = graph.source_classes(form.node).into_iter().chain(graph.read_classes(form));
        let before = read.map(|source| graph.facts(source)).filter(|source| source.home == home);
        let depth = 1 + before.map(|source| source.depth).max().unwrap_or(0);
        graph[class].data.depth = depth;
    }
    becomes
}

fn becomes_of(graph: &Graph, class: Id, becomes: &FxHashMap<Id, Becomes>) -> Becomes {
    let form = &graph.facts(class).forms[0];
    let sources = graph.source_classes(form.node);
    let mut each = sources.iter().map(|source| becomes.get(source).unwrap_or(&TRAVERSED));
    match form.shape {
        Shape::Generate => Becomes { generate: true, elsewhere: None },
        Shape::Stencil => TRAVERSED,
        Shape::Reshape => Becomes { generate: each.all(|source| source.generate), elsewhere: None },
        Shape::Backpermute | Shape::Transform | Shape::Replicate | Shape::Slice => {
            // Maps that say all compare by themselves, others by the function.
            let function = match (&form.index, graph.id_to_node(form.node).operation()) {
                (IndexMap::Affine | IndexMap::Computed | IndexMap::Data, Some(operation)) => operation.index,
                _ => None,
            };
            let elsewhere = Some((form.index.clone(), function));
            Becomes { generate: each.all(|source| source.generate), elsewhere }
        }
        Shape::Map => {
            let first = each.next().unwrap_or(&TRAVERSED).clone();
            each.fold(first, |all, source| Becomes {
                generate: all.generate && source.generate,
                elsewhere: all.elsewhere.filter(|elsewhere| source.elsewhere.as_ref() == Some(elsewhere)),
            })
        }
    }
}

/// Whether a user may take in what it has as a source, as far as shapes say: beside what is traversed nothing is read elsewhere, or made of
/// its index.
fn can_take_in(graph: &Graph, user: Id, class: Id, becomes: &FxHashMap<Id, Becomes>) -> bool {
    let (consumer, producer) = (&graph.facts(user).forms[0], &graph.facts(class).forms[0]);
    if consumer.shape != Shape::Map || matches!(producer.shape, Shape::Map | Shape::Reshape) {
        return true;
    }
    let producer = graph.operation(producer.node);
    if producer.shape == Shape::Generate {
        let f = graph.analysis.functions.get(producer.of_elements());
        if !used_params(f).contains(&true) {
            return true;
        }
    }
    let traversed = |source: Id| becomes.get(&source).is_none_or(Becomes::is_traversed);
    !graph.source_classes(consumer.node).into_iter().any(traversed)
}

/// How far from a home an operation must be for this one to take it in.
///
/// If each of a chain of n took in all before it, n functions of up to n instructions would be composed. Far from where a chain begins an
/// operation takes in those back to a multiple of a power of two of [`NEAR`] places, the greatest that divides its own, so that the home
/// takes in a few long parts.
pub(crate) fn floor(graph: &Graph, class: Id) -> usize {
    let facts = graph.facts(class);
    let is_home = facts.home.is_none_or(|home| graph.find(home) == graph.find(class));
    let (part, place) = (facts.depth / NEAR, facts.depth % NEAR);
    match () {
        () if is_home || facts.depth <= NEAR => 0,
        () if place > 0 => part * NEAR,
        () => (part & (part - 1)) * NEAR,
    }
}
