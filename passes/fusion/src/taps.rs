//! Laws of stencils: a producer whose elements are tapped is computed at each tap.

use fusebox_ir::ScalarOperand;

use crate::{
    checks,
    compose::drop_unused,
    functions::Composer,
    graph::{Classes, Graph},
    index::Range,
    language::{Edge, Shape, Source, Tapped},
    laws::{Meeting, Outcome},
    producers::{met_unchecked, range_pays},
    reason::Reason,
};

/// Under clamp, mirror and wrap an element outside is one inside, so a function of it is computed as well from the source's: over the same
/// extents it is the same place. What a constant or a function stands for outside is no result of the map.
pub(crate) fn of_map(graph: &mut Graph, m: &Meeting<'_>) -> Outcome {
    let (f, g) = (m.consumer.of_elements(), m.producer.of_elements());
    let tapped: Vec<(Source, Tapped)> = m.consumer.sources().zip(m.consumer.taps.iter().cloned()).collect();
    let of_map: Vec<&(Source, Tapped)> = tapped.iter().filter(|(source, _)| source.class == m.of).collect();
    if of_map.iter().any(|(_, tap)| matches!(tap.edge, Edge::Constant(_) | Edge::Function(_))) {
        return Err(Reason::OutsideIsOther);
    }
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
    let mut composer = Composer::default();
    let params: Vec<ScalarOperand> = each.iter().map(|(source, _)| composer.param(graph.element(*source))).collect();
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
    let mut lambda = composer.finish(&results);
    // A stencil has a tap.
    drop_unused(&mut lambda, &mut each);
    let f = graph.analysis.functions.intern(lambda);
    let (sources, taps): (Vec<Source>, Vec<Tapped>) = each.into_iter().unzip();
    Ok(met_unchecked(m, m.consumer.like(Shape::Stencil).function(f).reading(&sources).tapping(taps)))
}
