//! Laws of producers that are sources of producers: functions are composed, elements are read where the producer reads its own.

use egg::Id;
use fusebox_ir::{ElementType, Extent, LambdaBuilder, ScalarOperand};

use crate::{
    checks,
    compose::{Inlined, as_indexed, composed, joined, joined_run, picked},
    cost,
    facts::Known,
    functions::{FunctionId, used_params},
    graph::{Classes, Graph},
    index::{Indices, Range},
    language::{Operation, Shape, Source},
    meeting::{Meeting, Met, Outcome, forms_of, met_all, met_one, only_source},
    reason::Reason,
    runs,
};

/// A map takes in a map, and with it all others of its run.
pub(crate) fn map_map(graph: &mut Graph, m: &Meeting<'_>) -> Outcome {
    if let Some(run) = runs::of(graph, m.class).filter(|run| run.contains(&(m.of, m.known.node))) {
        return map_run(graph, m, run);
    }
    if !checks::fits(graph, m.consumer, m.producer) {
        return Err(Reason::Short);
    }
    let inlined = [Inlined::of(m.of, m.producer.of_elements(), m.producer)];
    let (f, sources) = joined(graph, m.consumer.of_elements(), &m.consumer.source_list(), &inlined);
    met_one(graph, m, m.consumer.like(Shape::Map).function(f).reading(&sources))
}

/// A map takes in all maps of its run, with what they read of one another.
fn map_run(graph: &mut Graph, m: &Meeting<'_>, run: Vec<(Id, Id)>) -> Outcome {
    let maps: Vec<(Id, Operation)> = run.iter().map(|&(class, node)| (class, graph.operation(node))).collect();
    let inlined: Vec<Inlined> = maps.iter().map(|(class, map)| Inlined::of(*class, map.of_elements(), map)).collect();
    let (f, sources) = joined_run(graph, m.consumer.of_elements(), &m.consumer.source_list(), &inlined);
    let operation = m.consumer.like(Shape::Map).function(f).reading(&sources);
    let maps: Vec<(Id, &Operation)> = maps.iter().map(|(class, map)| (*class, map)).collect();
    checks::kept_of_run(graph, m.consumer, &maps, &operation)?;
    Ok(Met { operation, took: run })
}

/// A generate that does not look at its index is a constant beside the other sources.
pub(crate) fn map_fill(graph: &mut Graph, m: &Meeting<'_>) -> Outcome {
    if m.consumer.sources().all(|source| source.class == m.of) {
        return Err(Reason::NoSourceLeft);
    }
    let Some(constant) = as_constant(graph, m.producer) else { return Err(Reason::WantsIndex) };
    if !graph.within(&m.consumer.extents, &m.producer.extents) {
        return Err(Reason::Short);
    }
    let inlined = [Inlined { class: m.of, f: constant, sources: Vec::new() }];
    let (f, sources) = joined(graph, m.consumer.of_elements(), &m.consumer.source_list(), &inlined);
    met_one(graph, m, m.consumer.like(Shape::Map).function(f).reading(&sources))
}

/// The function of a generate without its parameters, if it does not look at them.
pub(crate) fn as_constant(graph: &mut Graph, generate: &Operation) -> Option<FunctionId> {
    let functions = &mut graph.analysis.functions;
    let mut lambda = functions.get(generate.of_elements()).clone();
    if used_params(&lambda).contains(&true) {
        return None;
    }
    lambda.params.clear();
    Some(functions.intern(lambda))
}

pub(crate) fn map_generate(graph: &mut Graph, m: &Meeting<'_>) -> Outcome {
    let generates = |_: &mut Graph, operation: &Operation| match operation.shape {
        Shape::Generate => Some(operation.of_elements()),
        _ => None,
    };
    let Some(found) = forms_of(graph, m, generates) else { return Err(Reason::TraversedBeside) };
    if found.iter().any(|((_, _, producer), _)| !graph.within(&m.consumer.extents, &producer.extents)) {
        return Err(Reason::Short);
    }
    let functions = &graph.analysis.functions;
    let mut composer = LambdaBuilder::sharing();
    let index = composer.params(m.consumer.extents.iter().map(|_| ElementType::I64));
    let values: Vec<Vec<ScalarOperand>> = found.iter().map(|(_, g)| composer.call(functions.get(*g), &index)).collect();
    let value = |source: Source| {
        let of = found.iter().position(|((class, ..), _)| *class == source.class);
        values[of.unwrap_or_else(|| panic!("all sources have a form: {:?}", m.consumer))][source.component]
    };
    let arguments: Vec<ScalarOperand> = m.consumer.sources().map(value).collect();
    let results = composer.call(functions.get(m.consumer.of_elements()), &arguments);
    let lambda = composer.finish_needed(&results);
    let f = graph.analysis.functions.intern(lambda);
    let operation = m.consumer.like(Shape::Generate).function(f);
    met_all(graph, m, found.into_iter().map(|(producer, _)| producer).collect(), operation)
}

pub(crate) fn map_indexed(graph: &mut Graph, m: &Meeting<'_>) -> Outcome {
    let (index, _) = as_indexed(graph, m.producer);
    let same = |graph: &mut Graph, operation: &Operation| {
        let indexed = operation.shape.is_indexed().then(|| as_indexed(graph, operation));
        indexed.filter(|&(other, _)| other == index)
    };
    let Some(found) = forms_of(graph, m, same) else { return Err(Reason::OtherIndex) };
    if found.iter().any(|((_, _, producer), _)| !graph.within(&m.consumer.extents, &producer.extents)) {
        return Err(Reason::Short);
    }
    let inlined: Vec<Inlined> =
        found.iter().map(|((class, _, producer), (_, g))| Inlined::of(*class, *g, producer)).collect();
    let (f, sources) = joined(graph, m.consumer.of_elements(), &m.consumer.source_list(), &inlined);
    together(graph, f, &sources)?;
    let operation = indexed(graph, index, f, &sources, m.consumer);
    met_all(graph, m, found.into_iter().map(|(producer, _)| producer).collect(), operation)
}

/// Whether one operation may read all sources elsewhere: extents of those that meet in a function must agree when it runs. What is
/// handed on meets nothing.
pub(crate) fn together(graph: &Graph, f: FunctionId, sources: &[Source]) -> Result<(), Reason> {
    let lambda = graph.analysis.functions.get(f);
    let hands_on = lambda.results.iter().all(|result| lambda.params.iter().any(|param| *result == param.id.into()));
    let extents = |source: Source| &graph.ty(source).extents;
    let fit = sources.iter().all(|&source| match hands_on {
        true => sources.iter().all(|&other| graph.may_be_equal(extents(source), extents(other))),
        false => graph.equal(extents(source), extents(sources[0])),
    });
    if fit { Ok(()) } else { Err(Reason::OtherExtents) }
}

/// A backpermute where the function hands on, else a transform.
pub(crate) fn indexed(
    graph: &Graph,
    index: FunctionId,
    f: FunctionId,
    sources: &[Source],
    like: &Operation,
) -> Operation {
    let lambda = graph.analysis.functions.get(f);
    let handed: Option<Vec<Source>> = lambda
        .results
        .iter()
        .map(|result| lambda.params.iter().position(|param| *result == param.id.into()).map(|at| sources[at]))
        .collect();
    let operation = match handed {
        Some(sources) => like.like(Shape::Backpermute).reading(&sources),
        None => like.like(Shape::Transform).function(f).reading(sources),
    };
    operation.at(index)
}

/// Whether work may be done as often as an index meets an element.
pub(crate) fn range_pays(
    graph: &Graph,
    range: Range,
    known: &Known,
    producer: &Operation,
    reads: u64,
) -> Result<(), Reason> {
    let source: u64 = producer.sources().map(|source| graph.element(source).bytes() as u64).sum();
    let stored: u64 = producer.elements.iter().map(|element| element.bytes() as u64).sum();
    cost::repeats_pay(range, known.work, source, stored, reads)
}

/// Where a producer that is read at `index` over the consumer's extents may be taken in: how often its elements are met, and whether
/// they are proved to exist.
fn met(graph: &Graph, index: FunctionId, over: &[Extent], of: &[Extent]) -> (Range, bool) {
    let lambda = graph.analysis.functions.get(index);
    let indices = Indices::of(lambda, Some(over), &graph.analysis.tables.sizes);
    (indices.range(&lambda.results), indices.inside(&lambda.results, of))
}

pub(crate) fn indexed_map(graph: &mut Graph, m: &Meeting<'_>) -> Outcome {
    let (index, f) = as_indexed(graph, m.consumer);
    let (range, inside) = met(graph, index, &m.consumer.extents, &m.producer.extents);
    range_pays(graph, range, m.known, m.producer, 1).map_err(|reason| {
        if m.user.shape == Shape::Replicate && m.user.index.is_by_rows() { Reason::OnceARow } else { reason }
    })?;
    let covered = graph.cover(m.producer.sources(), &m.producer.extents);
    if !covered && !inside {
        return Err(Reason::Short);
    }
    // Where an element is read, something else must be: at the same index, of the same extents.
    let g = m.producer.of_elements();
    let read = checks::looks_at_some(graph, g, &checks::used_of(m.consumer, m.of));
    if !read && (!inside || m.user.index_may_fail) {
        return Err(Reason::Unread);
    }
    let inlined = [Inlined::of(m.of, g, m.producer)];
    let (joint, sources) = joined(graph, f, &m.consumer.source_list(), &inlined);
    if together(graph, joint, &sources).is_ok() {
        let operation = indexed(graph, index, joint, &sources, m.consumer);
        return met_one(graph, m, operation);
    }
    // Sources of several extents cannot be read by one operation: one for each, then the function.
    let one_by_one: Vec<Source> = sources
        .iter()
        .map(|&source| {
            let elements = vec![graph.element(source)];
            let read = Operation::new(Shape::Backpermute, m.consumer.extents.clone(), elements).reading(&[source]);
            Source { class: graph.make(read.at(index), m.class), component: 0 }
        })
        .collect();
    met_one(graph, m, m.consumer.like(Shape::Map).function(joint).reading(&one_by_one))
}

pub(crate) fn indexed_generate(graph: &mut Graph, m: &Meeting<'_>) -> Outcome {
    let (index, f) = as_indexed(graph, m.consumer);
    let g = m.producer.of_elements();
    only_source(m)?;
    let (range, inside) = met(graph, index, &m.consumer.extents, &m.producer.extents);
    range_pays(graph, range, m.known, m.producer, 1)?;
    if !inside {
        return Err(Reason::Unproved);
    }
    let used = checks::used_of(m.consumer, m.of);
    if m.user.index_may_fail && !checks::looks_at_all(graph, g, &used) {
        return Err(Reason::Unread);
    }
    let values = composed(graph, g, index);
    let picked = picked(graph, f, m.consumer.sources(), &m.producer.elements);
    let f = composed(graph, picked, values);
    met_one(graph, m, m.consumer.like(Shape::Generate).function(f))
}

pub(crate) fn indexed_indexed(graph: &mut Graph, m: &Meeting<'_>) -> Outcome {
    let (index, f) = as_indexed(graph, m.consumer);
    let (inner, g) = as_indexed(graph, m.producer);
    only_source(m)?;
    let (range, inside) = met(graph, index, &m.consumer.extents, &m.producer.extents);
    range_pays(graph, range, m.known, m.producer, 1)?;
    if !inside {
        return Err(Reason::Unproved);
    }
    let used = checks::used_of(m.consumer, m.of);
    let follows = checks::follows_all(graph, inner) && checks::looks_at_some(graph, g, &used);
    if m.user.index_may_fail && !follows {
        return Err(Reason::Unread);
    }
    let index = composed(graph, inner, index);
    let inlined = [Inlined::of(m.of, g, m.producer)];
    let (f, sources) = joined(graph, f, &m.consumer.source_list(), &inlined);
    together(graph, f, &sources)?;
    let operation = indexed(graph, index, f, &sources, m.consumer);
    met_one(graph, m, operation)
}
