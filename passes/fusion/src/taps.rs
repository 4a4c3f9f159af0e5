//! Laws of stencils: a map whose elements are tapped is computed at each tap.

use std::collections::BTreeSet;

use fusebox_ir::ScalarOperand;

use crate::{
    checks,
    functions::{Composer, used_params},
    graph::{Edge, Graph, Kind, Source, Term},
    index::Range,
    rules::{Meeting, Met, Refused, range_pays},
};

/// Under clamp, mirror and wrap an element outside is one inside, so a function of it is computed as well from the source's: over the same
/// extents it is the same place. What a constant or a function stands for outside is no result of the map.
pub(crate) fn of_map(graph: &mut Graph<'_>, m: &Meeting<'_>) -> Result<Met, Refused> {
    let (Kind::Stencil { f, offsets, edges }, Kind::Map { f: g }) = (&m.consumer.kind, &m.producer.kind) else {
        return Err(String::new());
    };
    let tapped = |at: &usize| m.consumer.sources[*at].class == m.of;
    let taps: Vec<usize> = (0..offsets.len()).filter(tapped).collect();
    if taps.iter().any(|&at| matches!(edges[at], Edge::Constant(_) | Edge::Function(_))) {
        return Err("outside of it stands a constant or a function, which are no results of the map".to_owned());
    }
    if !graph.cover(&m.producer.sources, &m.producer.extents) {
        return Err("it may run over less than its sources, so that their edges are elsewhere".to_owned());
    }
    // A tap of an empty array fails: so does one of its source, if it is tapped.
    let results: Vec<usize> = taps.iter().map(|&at| m.consumer.sources[at].component).collect();
    if !graph.within(&m.consumer.extents, &m.producer.extents) && !checks::looks_at_some(graph, *g, &results) {
        return Err(checks::UNREAD.to_owned());
    }
    let mut places: Vec<&Vec<i64>> = taps.iter().map(|&at| &offsets[at]).collect();
    places.sort();
    places.dedup();
    range_pays(graph, Range::Once, graph.functions.work(*g), m.producer, places.len() as u64)?;

    // Each tap once: of the producer's sources for each of its taps, and the others as they are.
    let mut all: Vec<(Source, Vec<i64>, Edge)> = Vec::new();
    for at in 0..offsets.len() {
        let of_tap = |source: Source| (source, offsets[at].clone(), edges[at].clone());
        if taps.contains(&at) {
            all.extend(m.producer.sources.iter().map(|&source| of_tap(source)));
        } else {
            all.push(of_tap(m.consumer.sources[at]));
        }
    }
    let mut each: Vec<(Source, Vec<i64>, Edge)> = Vec::new();
    for tap in all {
        if !each.contains(&tap) {
            each.push(tap);
        }
    }
    let clash = each.iter().any(|(a, _, x)| each.iter().any(|(b, _, y)| a == b && x != y));
    if clash {
        return Err("a source of it would be tapped under two boundaries".to_owned());
    }
    let mut composer = Composer::default();
    let params: Vec<ScalarOperand> = each.iter().map(|(source, ..)| composer.param(graph.element(*source))).collect();
    let param = |source: Source, at: usize| {
        let found = each.iter().position(|(other, offset, _)| *other == source && *offset == offsets[at]);
        params[found.unwrap_or_default()]
    };
    let arguments: Vec<ScalarOperand> = (0..offsets.len())
        .map(|at| {
            if !taps.contains(&at) {
                return param(m.consumer.sources[at], at);
            }
            let elements: Vec<ScalarOperand> = m.producer.sources.iter().map(|&source| param(source, at)).collect();
            composer.call(graph.functions.get(*g), &elements)[m.consumer.sources[at].component]
        })
        .collect();
    let results = composer.call(graph.functions.get(*f), &arguments);
    let mut lambda = composer.finish(&results);
    let mut used = used_params(&lambda);
    // A stencil has a tap.
    if let (false, Some(first)) = (used.contains(&true), used.first_mut()) {
        *first = true;
    }
    let mut keep = used.iter();
    lambda.params.retain(|_| *keep.next().unwrap_or(&true));
    let mut keep = used.iter();
    each.retain(|_| *keep.next().unwrap_or(&true));
    let f = graph.functions.intern(lambda);
    let sources = each.iter().map(|(source, ..)| *source).collect();
    let (offsets, edges) = each.into_iter().map(|(_, offset, edge)| (offset, edge)).unzip();
    let term = Term { kind: Kind::Stencil { f, offsets, edges }, sources, ..m.consumer.clone() };
    Ok(Met { term, absorbed: BTreeSet::from([m.of]) })
}
