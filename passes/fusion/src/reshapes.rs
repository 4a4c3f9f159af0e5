//! Laws of reshapes: the same elements in row-major order in other extents.

use fusebox_ir::{Binary, Constant, ElementType, Extent, LambdaBuilder, ScalarOperand, ScalarValue};

use crate::{
    checks,
    compose::{Inlined, as_indexed, joined},
    graph::{Classes, Graph, scalar},
    language::{Operation, Shape, Source},
    meeting::{Meeting, Met, Outcome, forms_of, met_one, met_unchecked, only_source},
    producers::{indexed, together},
    reads::manifest,
    reason::Reason,
};

/// `reshape (map g x)` is `map g (reshape x)`.
pub(crate) fn of_map(graph: &mut Graph, m: &Meeting<'_>) -> Outcome {
    only_source(m)?;
    if !graph.cover(m.producer.sources(), &m.producer.extents) {
        return Err(Reason::ElsewhereInSources);
    }
    let identity = graph.analysis.functions.identity(&m.consumer.elements);
    let inlined = [Inlined::of(m.of, m.producer.of_elements(), m.producer)];
    let (f, sources) = joined(graph, identity, &m.consumer.source_list(), &inlined);
    // A result that needs no source does not need the reshape of one either, which checks its extents and how many elements there are.
    let ignores = (0..m.consumer.elements.len()).any(|result| checks::ignores_sources(graph, f, result));
    if ignores && !(as_many(graph, m) && checks::not_negative(graph, m.producer)) {
        return Err(Reason::Count);
    }
    let reshaped: Vec<Source> = sources
        .iter()
        .map(|&source| {
            let elements = vec![graph.element(source)];
            let reshape = Operation::new(Shape::Reshape, m.consumer.extents.clone(), elements).reading(&[source]);
            Source { class: graph.make(reshape, m.class), component: 0 }
        })
        .collect();
    Ok(met_unchecked(m, m.consumer.like(Shape::Map).function(f).reading(&reshaped)))
}

/// `map f (reshape x)` is `reshape (map f x)`, so that one pass makes `x` and the map: between them the array was stored. Of what is stored
/// anyway nothing is gained.
pub(crate) fn under_map(graph: &mut Graph, m: &Meeting<'_>) -> Outcome {
    let reshape = |_: &mut Graph, operation: &Operation| (operation.shape == Shape::Reshape).then_some(());
    let Some(found) = forms_of(graph, m, reshape) else { return Err(Reason::TraversedBeside) };
    let inner = |source: Source| {
        let of = found.iter().find(|((class, ..), ())| *class == source.class);
        let ((_, _, reshape), ()) = of.unwrap_or_else(|| panic!("all sources have a form: {:?}", m.consumer));
        reshape.source_list()[source.component]
    };
    let sources: Vec<Source> = m.consumer.sources().map(inner).collect();
    if sources.iter().all(|source| manifest(graph, source.class)) {
        return Err(Reason::StoredAnyway);
    }
    let extents = graph.ty(sources[0]).extents.clone();
    let fit = graph.cover(sources.iter().copied(), &extents)
        && found.iter().all(|((_, _, reshape), ())| graph.equal(&reshape.extents, &m.consumer.extents));
    if !fit {
        return Err(Reason::OtherExtents);
    }
    let count = checks::elements_of(graph, &extents);
    if count.is_none() || count != checks::elements_of(graph, &m.consumer.extents) {
        return Err(Reason::Count);
    }
    let f = m.consumer.of_elements();
    let map = Operation::new(Shape::Map, extents, m.consumer.elements.clone()).function(f).reading(&sources);
    // A result that needs no source would now check extents that nobody asked for.
    let ignores = (0..map.elements.len()).any(|result| checks::ignores_sources(graph, f, result));
    if ignores && !checks::not_negative(graph, &map) {
        return Err(Reason::Count);
    }
    let class = graph.make(map, m.class);
    let results: Vec<Source> = (0..m.consumer.elements.len()).map(|component| Source { class, component }).collect();
    let took = found.into_iter().map(|((class, node, _), ())| (class, node)).collect();
    Ok(Met { operation: m.consumer.like(Shape::Reshape).reading(&results), took })
}

/// Whether a consumer and a producer are proved to have as many elements.
fn as_many(graph: &mut Graph, m: &Meeting<'_>) -> bool {
    let after = checks::elements_of(graph, &m.consumer.extents);
    after.is_some() && after == checks::elements_of(graph, &m.producer.extents)
}

pub(crate) fn of_reshape(graph: &mut Graph, m: &Meeting<'_>) -> Outcome {
    only_source(m)?;
    let inner = m.producer.source_list();
    let sources: Vec<Source> = m.consumer.sources().map(|source| inner[source.component]).collect();
    if !as_many(graph, m) {
        return Err(Reason::Count);
    }
    met_one(graph, m, m.consumer.like(Shape::Reshape).reading(&sources))
}

/// `reshape (generate g)` is `generate (g . unflatten . flatten)`.
pub(crate) fn of_generate(graph: &mut Graph, m: &Meeting<'_>) -> Outcome {
    only_source(m)?;
    if !as_many(graph, m) {
        return Err(Reason::Count);
    }
    let mut composer = LambdaBuilder::sharing();
    let params = composer.params(m.consumer.extents.iter().map(|_| ElementType::I64));
    let index = elsewhere(&mut composer, &params, m.consumer, m.producer);
    let values = composer.call(graph.analysis.functions.get(m.producer.of_elements()), &index);
    let results: Vec<ScalarOperand> = m.consumer.sources().map(|source| values[source.component]).collect();
    let lambda = composer.finish_needed(&results);
    let f = graph.analysis.functions.intern(lambda);
    of_what_is_read(graph, m, m.consumer.like(Shape::Generate).function(f))
}

/// The operation instead of a reshape, where that gains anything.
fn of_what_is_read(graph: &mut Graph, m: &Meeting<'_>, operation: Operation) -> Outcome {
    let met = met_one(graph, m, operation)?;
    if ends_stored(graph, m) { Err(Reason::StoredAnyway) } else { Ok(met) }
}

/// Whether nothing will read a reshape's elements in the pass that makes them: it is stored, and so may be what it is of, in whose extents no index
/// is taken apart by divisions. Not where its rows are too short to be loops of their own.
fn ends_stored(graph: &Graph, m: &Meeting<'_>) -> bool {
    let home = graph.facts(graph.facts(m.class).home.map_or(m.class, |home| graph.find(home)));
    let is_stored = !home.outside.is_empty() && home.outside.iter().all(|user| !user.fusible);
    let is_reshape = home.forms.first().is_some_and(|form| form.shape == Shape::Reshape);
    is_stored && is_reshape && m.producer.extents.len() > 1 && has_long_rows(&m.producer.extents)
}

/// Rows of fewer elements than this do not fill the vectors of a core.
const SHORT_ROW: i64 = 8;

/// Whether rows are not known to be short.
pub(crate) fn has_long_rows(extents: &[Extent]) -> bool {
    extents.last().is_some_and(|last| !matches!(last, Extent::Constant(row) if *row < SHORT_ROW))
}

/// The index in the extents of a producer that an index in those of its reshape is.
fn elsewhere(
    composer: &mut LambdaBuilder,
    params: &[ScalarOperand],
    reshape: &Operation,
    producer: &Operation,
) -> Vec<ScalarOperand> {
    let zero = ScalarOperand::from(Constant::from(0i64));
    let mut position = ScalarValue::int(params.first().copied().unwrap_or(zero));
    for (&i, &extent) in params.iter().zip(&reshape.extents).skip(1) {
        let row = composer.mul(position, ScalarValue::int(scalar(extent)));
        position = composer.add(row, ScalarValue::int(i));
    }
    let mut index = vec![zero; producer.extents.len()];
    for (at, &extent) in producer.extents.iter().enumerate().rev() {
        if at == 0 {
            index[0] = position.operand;
        } else {
            let extent = ScalarValue::int(scalar(extent));
            index[at] = composer.binary(Binary::Rem, position, extent).operand;
            position = composer.binary(Binary::Div, position, extent);
        }
    }
    index
}

/// `reshape (transform p g x)` is `transform (p . unflatten . flatten) g x`: the same elements are read, in the same order.
pub(crate) fn of_indexed(graph: &mut Graph, m: &Meeting<'_>) -> Outcome {
    only_source(m)?;
    if !as_many(graph, m) {
        return Err(Reason::Count);
    }
    let (inner, g) = as_indexed(graph, m.producer);
    let mut composer = LambdaBuilder::sharing();
    let params = composer.params(m.consumer.extents.iter().map(|_| ElementType::I64));
    let at = elsewhere(&mut composer, &params, m.consumer, m.producer);
    let results = composer.call(graph.analysis.functions.get(inner), &at);
    let lambda = composer.finish_needed(&results);
    let index = graph.analysis.functions.intern(lambda);
    let identity = graph.analysis.functions.identity(&m.consumer.elements);
    let inlined = [Inlined::of(m.of, g, m.producer)];
    let (f, sources) = joined(graph, identity, &m.consumer.source_list(), &inlined);
    together(graph, f, &sources)?;
    let operation = indexed(graph, index, f, &sources, m.consumer);
    of_what_is_read(graph, m, operation)
}
