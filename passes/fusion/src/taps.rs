//! Laws of stencils: a producer whose elements are tapped is computed at each tap.

use fusebox_ir::{Binary, ElementType, Extent, LambdaBuilder, ScalarOperand, ScalarValue};

use crate::{
    checks,
    compose::{as_indexed, drop_unused},
    graph::{Classes, Graph, scalar},
    index::{Indices, Range},
    language::{Edge, Shape, Source, Tapped},
    meeting::{Meeting, Outcome, met_one, met_unchecked},
    producers::{as_constant, range_pays},
    reads::{element, manifest},
    reason::Reason,
};

/// Under clamp, mirror and wrap an element outside is one inside, so a function of it is computed as well from the source's: over the same
/// extents it is the same place. What a constant or a function stands for outside is no result of the map.
pub(crate) fn of_map(graph: &mut Graph, m: &Meeting<'_>) -> Outcome {
    let (f, g) = (m.consumer.of_elements(), m.producer.of_elements());
    let tapped: Vec<(Source, Tapped)> = m.consumer.sources().zip(m.consumer.taps.iter().cloned()).collect();
    let of_map: Vec<&(Source, Tapped)> = tapped.iter().filter(|(source, _)| source.class == m.of).collect();
    inside_alone(m)?;
    if !graph.cover(m.producer.sources(), &m.producer.extents) {
        return Err(Reason::EdgesElsewhere);
    }
    // A tap of an empty array fails: so does one of its source, if it is tapped.
    let results: Vec<usize> = of_map.iter().map(|(source, _)| source.component).collect();
    if !graph.within(&m.consumer.extents, &m.producer.extents) && !checks::looks_at_some(graph, g, &results) {
        return Err(Reason::Unread);
    }
    let mut places: Vec<&Vec<i64>> = of_map.iter().map(|(_, tap)| &tap.offsets).collect();
    places.sort();
    places.dedup();
    range_pays(graph, Range::Once, m.known, m.producer, places.len() as u64)?;

    // Each tap once: of the producer's sources for each of its taps, and the others as they are.
    let mut each: Vec<(Source, Tapped)> = Vec::new();
    for (source, tap) in &tapped {
        let taken: Vec<Source> = if source.class == m.of { m.producer.source_list() } else { vec![*source] };
        for source in taken {
            let tap = (source, tap.clone());
            if !each.contains(&tap) {
                each.push(tap);
            }
        }
    }
    let clash = each.iter().any(|(a, x)| each.iter().any(|(b, y)| a == b && x.edge != y.edge));
    if clash {
        return Err(Reason::TwoBoundaries);
    }
    let functions = &graph.analysis.functions;
    let mut composer = LambdaBuilder::sharing();
    let params = composer.params(each.iter().map(|(source, _)| graph.element(*source)));
    let param = |source: Source, tap: &Tapped| {
        let found = each.iter().position(|(other, of)| *other == source && of.offsets == tap.offsets);
        params[found.unwrap_or_else(|| panic!("every tap has a parameter: {:?}", m.consumer))]
    };
    let arguments: Vec<ScalarOperand> = tapped
        .iter()
        .map(|(source, tap)| {
            if source.class != m.of {
                return param(*source, tap);
            }
            let elements: Vec<ScalarOperand> = m.producer.sources().map(|source| param(source, tap)).collect();
            composer.call(functions.get(g), &elements)[source.component]
        })
        .collect();
    let results = composer.call(functions.get(f), &arguments);
    let mut lambda = composer.finish_needed(&results);
    // A stencil has a tap.
    drop_unused(&mut lambda, &mut each);
    let f = graph.analysis.functions.intern(lambda);
    let (sources, taps): (Vec<Source>, Vec<Tapped>) = each.into_iter().unzip();
    Ok(met_unchecked(m, m.consumer.like(Shape::Stencil).function(f).reading(&sources).tapping(taps)))
}

/// A tap of a constant array is the constant, wherever it lies.
pub(crate) fn of_fill(graph: &mut Graph, m: &Meeting<'_>) -> Outcome {
    if m.consumer.sources().all(|source| source.class == m.of) {
        return Err(Reason::NoSourceLeft);
    }
    inside_alone(m)?;
    let Some(constant) = as_constant(graph, m.producer) else { return Err(Reason::TappedBeside) };
    if !graph.within(&m.consumer.extents, &m.producer.extents) {
        return Err(Reason::Unread);
    }
    let mut each: Vec<(Source, Tapped)> = m.consumer.sources().zip(m.consumer.taps.iter().cloned()).collect();
    each.retain(|(source, _)| source.class != m.of);
    let functions = &graph.analysis.functions;
    let mut composer = LambdaBuilder::sharing();
    let params = composer.params(each.iter().map(|(source, _)| graph.element(*source)));
    let values = composer.call(functions.get(constant), &[]);
    let mut others = params.iter();
    let argument = |source: Source| match source.class == m.of {
        true => values[source.component],
        false => *others.next().unwrap_or_else(|| panic!("every other tap has a parameter: {:?}", m.consumer)),
    };
    let arguments: Vec<ScalarOperand> = m.consumer.sources().map(argument).collect();
    let results = composer.call(functions.get(m.consumer.of_elements()), &arguments);
    let mut lambda = composer.finish_needed(&results);
    drop_unused(&mut lambda, &mut each);
    let f = graph.analysis.functions.intern(lambda);
    let (sources, taps): (Vec<Source>, Vec<Tapped>) = each.into_iter().unzip();
    met_one(graph, m, m.consumer.like(Shape::Stencil).function(f).reading(&sources).tapping(taps))
}

/// A stencil of an array that is made of its indices is made of its own: each tap at the index that its boundary gives.
pub(crate) fn of_generate(graph: &mut Graph, m: &Meeting<'_>) -> Outcome {
    inside_alone(m)?;
    if m.consumer.sources().any(|source| source.class != m.of) {
        return Err(Reason::TappedBeside);
    }
    // Where there is an element, a tap of an empty array would fail.
    if !graph.within(&m.consumer.extents, &m.producer.extents) {
        return Err(Reason::Unread);
    }
    let mut places: Vec<&Vec<i64>> = m.consumer.taps.iter().map(|tap| &tap.offsets).collect();
    places.sort();
    places.dedup();
    range_pays(graph, Range::Once, m.known, m.producer, places.len() as u64)?;
    let functions = &graph.analysis.functions;
    let mut composer = LambdaBuilder::sharing();
    let own = composer.params(m.consumer.extents.iter().map(|_| ElementType::I64));
    let g = functions.get(m.producer.of_elements());
    let arguments: Vec<ScalarOperand> = m
        .consumer
        .sources()
        .zip(&m.consumer.taps)
        .map(|(source, tap)| {
            let dims = own.iter().zip(&tap.offsets).zip(&m.producer.extents);
            let index: Vec<ScalarOperand> =
                dims.map(|((&i, &offset), &extent)| tapped_at(&mut composer, i, offset, extent, &tap.edge)).collect();
            composer.call(g, &index)[source.component]
        })
        .collect();
    let results = composer.call(functions.get(m.consumer.of_elements()), &arguments);
    let lambda = composer.finish_needed(&results);
    let f = graph.analysis.functions.intern(lambda);
    met_one(graph, m, m.consumer.like(Shape::Generate).function(f))
}

/// A stencil of what reads a stored array elsewhere reads that array at each tap, at the index that its boundary and the producer give.
pub(crate) fn of_indexed(graph: &mut Graph, m: &Meeting<'_>) -> Outcome {
    inside_alone(m)?;
    if m.consumer.sources().any(|source| source.class != m.of) {
        return Err(Reason::TappedBeside);
    }
    // Where there is an element, a tap of an empty array would fail; so would an index.
    if !graph.within(&m.consumer.extents, &m.producer.extents) || m.known.index_may_fail {
        return Err(Reason::Unread);
    }
    if let Some(source) = m.producer.sources().find(|source| !manifest(graph, source.class)) {
        return Err(Reason::WouldBeStored(graph.name_of(graph.array(source))));
    }
    let (index, g) = as_indexed(graph, m.producer);
    let functions = &graph.analysis.functions;
    let lambda = functions.get(index);
    let indices = Indices::of(lambda, Some(&m.producer.extents), &graph.analysis.tables.sizes);
    let mut of = m.producer.sources().map(|source| &graph.ty(source).extents);
    if !of.all(|extents| indices.inside(&lambda.results, extents)) {
        return Err(Reason::Unproved);
    }
    // A boundary along rows is an index for each element: its loads are gathers, unless they are the same for a whole row.
    let along = m.consumer.taps.iter().any(|tap| tap.offsets.last().is_some_and(|&offset| offset != 0));
    if !indices.is_one_a_row(&lambda.results) && (along || !indices.is_in_rows(&lambda.results)) {
        return Err(Reason::Scattered);
    }
    let mut places: Vec<&Vec<i64>> = m.consumer.taps.iter().map(|tap| &tap.offsets).collect();
    places.sort();
    places.dedup();
    range_pays(graph, Range::Once, m.known, m.producer, places.len() as u64)?;
    let mut composer = LambdaBuilder::sharing();
    let own = composer.params(m.consumer.extents.iter().map(|_| ElementType::I64));
    let mut arguments: Vec<ScalarOperand> = Vec::new();
    for (tapped, tap) in m.consumer.sources().zip(&m.consumer.taps) {
        let dims = own.iter().zip(&tap.offsets).zip(&m.producer.extents);
        let place: Vec<ScalarOperand> =
            dims.map(|((&i, &offset), &extent)| tapped_at(&mut composer, i, offset, extent, &tap.edge)).collect();
        let at = composer.call(lambda, &place);
        let elements: Vec<ScalarOperand> =
            m.producer.sources().map(|source| element(graph, &mut composer, source, &at)).collect();
        arguments.push(composer.call(functions.get(g), &elements)[tapped.component]);
    }
    let results = composer.call(functions.get(m.consumer.of_elements()), &arguments);
    let lambda = composer.finish_needed(&results);
    let f = graph.analysis.functions.intern(lambda);
    met_one(graph, m, m.consumer.like(Shape::Generate).function(f))
}

/// What a constant or a function stands for outside is no result of the producer.
fn inside_alone(m: &Meeting<'_>) -> Result<(), Reason> {
    let taps = m.consumer.sources().zip(&m.consumer.taps).filter(|(source, _)| source.class == m.of);
    let mut edges = taps.map(|(_, tap)| &tap.edge);
    let other = edges.any(|edge| matches!(edge, Edge::Constant(_) | Edge::Function(_)));
    if other { Err(Reason::OutsideIsOther) } else { Ok(()) }
}

/// Where in an extent a tap lies, its boundary seen to; the array is not empty.
fn tapped_at(
    composer: &mut LambdaBuilder,
    i: ScalarOperand,
    offset: i64,
    extent: Extent,
    edge: &Edge,
) -> ScalarOperand {
    if offset == 0 {
        return i;
    }
    let extent = ScalarValue::int(scalar(extent));
    let at = composer.add(ScalarValue::int(i), offset);
    let place = match edge {
        Edge::Clamp => {
            let last = composer.sub(extent, 1i64);
            let low = composer.binary(Binary::Max, at, 0i64);
            composer.binary(Binary::Min, low, last)
        }
        Edge::Wrap => composer.binary(Binary::ModFloor, at, extent),
        // Edges are not repeated: there and back are twice the extent less both ends.
        Edge::Mirror => {
            let twice = composer.mul(extent, 2i64);
            let round = composer.sub(twice, 2i64);
            let period = composer.binary(Binary::Max, round, 1i64);
            let there = composer.binary(Binary::ModFloor, at, period);
            let back = composer.sub(round, there);
            composer.binary(Binary::Min, there, back)
        }
        Edge::Constant(_) | Edge::Function(_) => panic!("no index stands for what lies outside: {edge:?}"),
    };
    place.operand
}
