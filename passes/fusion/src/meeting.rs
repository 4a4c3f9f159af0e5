//! A consumer that meets a producer: what laws are given, and what they give.

use egg::Id;

use crate::{
    checks,
    facts::Known,
    graph::{Classes, Graph},
    language::Operation,
    pairs,
    reason::Reason,
};

/// A consumer with a producer that it reads.
pub(crate) struct Meeting<'m> {
    pub consumer: &'m Operation,
    /// What is known of this form of the consumer.
    pub user: &'m Known,
    /// The class of the consumer.
    pub class: Id,
    pub producer: &'m Operation,
    /// What is known of this form of the producer.
    pub known: &'m Known,
    /// The class of the producer.
    pub of: Id,
}

/// What a law makes: the operation instead of the consumer, and the classes that it took in, with their e-nodes.
pub(crate) struct Met {
    pub operation: Operation,
    pub took: Vec<(Id, Id)>,
}

/// What a law gives, or why it does not apply.
pub(crate) type Outcome = Result<Met, Reason>;

/// What was made of a consumer and one producer, where both check no more than it.
pub(crate) fn met_one(graph: &mut Graph, m: &Meeting<'_>, operation: Operation) -> Outcome {
    met_all(graph, m, vec![(m.of, m.known.node, m.producer.clone())], operation)
}

/// What was made of a consumer and producers, where all check no more than it.
pub(crate) fn met_all(
    graph: &mut Graph,
    m: &Meeting<'_>,
    producers: Vec<(Id, Id, Operation)>,
    operation: Operation,
) -> Outcome {
    let listed: Vec<(Id, &Operation)> = producers.iter().map(|(class, _, producer)| (*class, producer)).collect();
    checks::kept(graph, m.consumer, &listed, &operation)?;
    Ok(Met { operation, took: producers.into_iter().map(|(class, node, _)| (class, node)).collect() })
}

/// What was made of a consumer and one producer of which nothing is checked that it does not check.
pub(crate) fn met_unchecked(m: &Meeting<'_>, operation: Operation) -> Met {
    Met { operation, took: vec![(m.of, m.known.node)] }
}

/// For each of a map's source classes the latest form that `pick` gives something of; none where one has no such form, or may not be
/// taken in.
pub(crate) fn forms_of<T>(
    graph: &mut Graph,
    m: &Meeting<'_>,
    mut pick: impl FnMut(&mut Graph, &Operation) -> Option<T>,
) -> Option<Vec<((Id, Id, Operation), T)>> {
    let mut found = Vec::new();
    for class in m.consumer.source_classes() {
        if graph.is_leaf(class) || (class != m.of && !pairs::may_take(graph, m.class, class)) {
            return None;
        }
        let forms: Vec<Id> = pairs::offered(graph, class).map(|known| known.node).collect();
        let picked = forms.into_iter().find_map(|node| {
            let operation = graph.operation(node);
            pick(graph, &operation).map(|picked| ((class, node, operation), picked))
        });
        found.push(picked?);
    }
    Some(found)
}

/// That the producer makes all that the consumer reads.
pub(crate) fn only_source(m: &Meeting<'_>) -> Result<(), Reason> {
    let only = m.consumer.sources().all(|source| source.class == m.of);
    if only { Ok(()) } else { Err(Reason::OtherSources) }
}
