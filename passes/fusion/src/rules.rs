//! The laws: what a consumer and a producer become where they meet. One table, a law a line.

use std::collections::BTreeSet;

use egg::Id;
use fusebox_ir::{Binary, Constant, ElementType, Extent, Lambda, Operand, Place, ScalarOp, ScalarOperand};

use crate::{
    checks, cost,
    functions::{Composer, FunctionId, used_params},
    graph::{Graph, Kind, Shape, Source, Term, scalar},
    index::{Indices, Range},
    reads, taps,
};

/// A consumer with a producer that it reads.
pub(crate) struct Meeting<'m> {
    pub consumer: &'m Term,
    /// The class of the consumer.
    pub class: Id,
    pub producer: &'m Term,
    /// The class of the producer.
    pub of: Id,
    /// Whether a class may be taken in.
    pub may_take: &'m dyn Fn(&Graph<'_>, Id) -> bool,
}

/// What a law makes: the operation instead of the consumer, and the classes that it took in.
pub(crate) struct Met {
    pub term: Term,
    pub absorbed: BTreeSet<Id>,
}

/// Why a law does not apply: a sentence.
pub(crate) type Refused = String;

/// A law.
pub(crate) struct Law {
    /// What meets what.
    pub name: &'static str,
    pub consumer: Shape,
    pub producer: Shape,
    pub apply: fn(&mut Graph<'_>, &Meeting<'_>) -> Result<Met, Refused>,
    /// Whether the consumer reads the producer by index in a function; otherwise it is a source.
    pub reads: bool,
}

/// Every law of two that meet. Where several have the same shapes, the first that applies counts. (What all users of a producer ask for is
/// not here: `shorten` sees to it before.)
#[rustfmt::skip] // a law a line
pub(crate) const LAWS: &[Law] = {
    use Shape::{Backpermute, Generate, Map, Replicate, Reshape, Slice, Stencil, Transform};
    &[
        // Functions one after the other.
        law("map-map", Map, Map, map_map),                                                  // map f (map g x)          = map (f . g) x
        law("map-fill", Map, Generate, map_fill),                                           // zip f x (fill c)         = map (|x| f x c) x
        law("map-generate", Map, Generate, map_generate),                                   // zip f (gen g) (gen h)    = gen (|i| f (g i) (h i))
        // Elements read elsewhere, then a function.
        law("map-backpermute", Map, Backpermute, map_indexed),                              // zip f (bp p x) (bp p y) = transform p f x y
        law("map-transform", Map, Transform, map_indexed),                                  // map f (transform p g x)  = transform p (f . g) x
        law("map-replicate", Map, Replicate, map_indexed),
        law("map-slice", Map, Slice, map_indexed),
        // A function, then elements read elsewhere.
        law("backpermute-map", Backpermute, Map, indexed_map),                              // bp p (map g x)           = transform p g x
        law("transform-map", Transform, Map, indexed_map),                                  // transform p f (map g x)  = transform p (f . g) x
        law("replicate-map", Replicate, Map, indexed_map),
        law("slice-map", Slice, Map, indexed_map),
        law("backpermute-generate", Backpermute, Generate, indexed_generate),               // bp p (gen g) = gen (g . p)
        law("transform-generate", Transform, Generate, indexed_generate),
        law("replicate-generate", Replicate, Generate, indexed_generate),
        law("slice-generate", Slice, Generate, indexed_generate),
        // Elements read elsewhere twice.
        law("backpermute-backpermute", Backpermute, Backpermute, indexed_indexed),          // bp p (bp q x) = bp (q . p) x
        law("backpermute-transform", Backpermute, Transform, indexed_indexed),
        law("backpermute-replicate", Backpermute, Replicate, indexed_indexed),
        law("backpermute-slice", Backpermute, Slice, indexed_indexed),
        law("transform-backpermute", Transform, Backpermute, indexed_indexed),
        law("transform-transform", Transform, Transform, indexed_indexed),
        law("transform-replicate", Transform, Replicate, indexed_indexed),
        law("transform-slice", Transform, Slice, indexed_indexed),
        law("replicate-backpermute", Replicate, Backpermute, indexed_indexed),
        law("replicate-transform", Replicate, Transform, indexed_indexed),
        law("replicate-replicate", Replicate, Replicate, indexed_indexed),
        law("replicate-slice", Replicate, Slice, indexed_indexed),
        law("slice-backpermute", Slice, Backpermute, indexed_indexed),
        law("slice-transform", Slice, Transform, indexed_indexed),
        law("slice-replicate", Slice, Replicate, indexed_indexed),
        law("slice-slice", Slice, Slice, indexed_indexed),
        // The same elements in other extents.
        law("reshape-map", Reshape, Map, reshape_map),                                      // reshape (map g x)        = map g (reshape x)
        law("reshape-reshape", Reshape, Reshape, reshape_reshape),
        law("reshape-generate", Reshape, Generate, reshape_generate),                       // reshape (gen g)  = gen (g . unflatten . flatten)
        // Elements read in functions.
        read("generate-reads-map", Generate, Map, reads::of_map),                           // gen (|i| … (map g x)[p i] …) = gen (|i| … g (x[p i]) …)
        read("generate-reads-generate", Generate, Generate, reads::of_generate),
        read("generate-reads-backpermute", Generate, Backpermute, reads::of_indexed),
        read("generate-reads-transform", Generate, Transform, reads::of_indexed),
        read("generate-reads-replicate", Generate, Replicate, reads::of_indexed),
        read("generate-reads-slice", Generate, Slice, reads::of_indexed),
        read("map-reads-map", Map, Map, reads::of_map),
        read("map-reads-generate", Map, Generate, reads::of_generate),
        read("map-reads-backpermute", Map, Backpermute, reads::of_indexed),
        read("map-reads-transform", Map, Transform, reads::of_indexed),
        read("map-reads-replicate", Map, Replicate, reads::of_indexed),
        read("map-reads-slice", Map, Slice, reads::of_indexed),
        // Elements read around each place.
        law("stencil-map", Stencil, Map, taps::of_map),                                     // stencil f (map g x)      = stencil (f . g at each tap) x
    ]
};

const fn law(
    name: &'static str,
    consumer: Shape,
    producer: Shape,
    apply: fn(&mut Graph<'_>, &Meeting<'_>) -> Result<Met, Refused>,
) -> Law {
    Law { name, consumer, producer, apply, reads: false }
}

const fn read(
    name: &'static str,
    consumer: Shape,
    producer: Shape,
    apply: fn(&mut Graph<'_>, &Meeting<'_>) -> Result<Met, Refused>,
) -> Law {
    Law { name, consumer, producer, apply, reads: true }
}

/// What stands for results of a class in a function that takes it in: a function of these sources.
pub(crate) struct Inlined {
    pub class: Id,
    pub f: FunctionId,
    pub sources: Vec<Source>,
}

/// The function of a consumer with producers taken in, and its sources, each once, without those not needed.
pub(crate) fn joined(
    graph: &mut Graph<'_>,
    f: FunctionId,
    sources: &[Source],
    inlined: &[Inlined],
) -> (FunctionId, Vec<Source>) {
    let mut all: Vec<Source> = Vec::new();
    for source in sources {
        match inlined.iter().find(|inlined| inlined.class == source.class) {
            Some(inlined) => all.extend(&inlined.sources),
            None => all.push(*source),
        }
    }
    let mut each = Vec::with_capacity(all.len());
    for source in all {
        if !each.contains(&source) {
            each.push(source);
        }
    }
    let mut composer = Composer::default();
    let params: Vec<ScalarOperand> = each.iter().map(|&source| composer.param(graph.element(source))).collect();
    let param = |source: &Source| params[each.iter().position(|other| other == source).unwrap_or_default()];
    let values: Vec<Vec<ScalarOperand>> = inlined
        .iter()
        .map(|inlined| {
            let arguments: Vec<ScalarOperand> = inlined.sources.iter().map(param).collect();
            composer.call(graph.functions.get(inlined.f), &arguments)
        })
        .collect();
    let arguments: Vec<ScalarOperand> = sources
        .iter()
        .map(|source| match inlined.iter().position(|inlined| inlined.class == source.class) {
            Some(at) => values[at][source.component],
            None => param(source),
        })
        .collect();
    let results = composer.call(graph.functions.get(f), &arguments);
    let mut lambda = composer.finish(&results);
    let mut used = used_params(&lambda);
    // An operation of no sources would have no rank.
    if let (false, Some(first)) = (used.contains(&true), used.first_mut()) {
        *first = true;
    }
    let mut keep = used.iter();
    lambda.params.retain(|_| *keep.next().unwrap_or(&true));
    let mut keep = used.iter();
    each.retain(|_| *keep.next().unwrap_or(&true));
    (graph.functions.intern(lambda), each)
}

/// An operation that reads elements elsewhere, whatever it is called: an index function, then a function.
pub(crate) fn as_indexed(graph: &mut Graph<'_>, term: &Term) -> Option<(FunctionId, FunctionId)> {
    let identity = |graph: &mut Graph<'_>| graph.functions.identity(&term.elements);
    match &term.kind {
        Kind::Transform { index, f } => Some((*index, *f)),
        Kind::Backpermute { index } => Some((*index, identity(graph))),
        Kind::Replicate { dims } => {
            let index = graph.functions.intern(kept_dims(dims));
            Some((index, identity(graph)))
        }
        Kind::Slice { dims } => {
            let index = graph.functions.intern(fixed_dims(dims));
            Some((index, identity(graph)))
        }
        Kind::Generate { .. } | Kind::Map { .. } | Kind::Reshape | Kind::Stencil { .. } => None,
    }
}

/// Index in the result of a replicate to index in its source.
fn kept_dims(dims: &[Option<Operand>]) -> Lambda {
    let mut f = Composer::default();
    let params: Vec<ScalarOperand> = dims.iter().map(|_| f.param(ElementType::I64)).collect();
    let kept: Vec<ScalarOperand> =
        params.iter().zip(dims).filter(|(_, dim)| dim.is_none()).map(|(&param, _)| param).collect();
    f.finish(&kept)
}

/// Index in the result of a slice to index in its source.
fn fixed_dims(dims: &[Option<Operand>]) -> Lambda {
    let mut f = Composer::default();
    let index: Vec<ScalarOperand> = dims
        .iter()
        .map(|dim| match dim {
            Some(fixed) => fixed.in_scalar(),
            None => f.param(ElementType::I64),
        })
        .collect();
    f.finish(&index)
}

/// `g` after `f`.
pub(crate) fn composed(graph: &mut Graph<'_>, g: FunctionId, f: FunctionId) -> FunctionId {
    let mut composer = Composer::default();
    let lambda = graph.functions.get(f);
    let params: Vec<ScalarOperand> = lambda.params.iter().map(|param| composer.param(param.ty)).collect();
    let inner = composer.call(lambda, &params);
    let results = composer.call(graph.functions.get(g), &inner);
    let lambda = composer.finish(&results);
    graph.functions.intern(lambda)
}

fn taken(classes: impl IntoIterator<Item = Id>) -> BTreeSet<Id> {
    classes.into_iter().collect()
}

/// A check of an index says the index and the extents, which scalar code cannot: it stays a read, or a cluster's.
pub(crate) const UNPROVED: &str = "that its user stays inside was not proved, and the check is that of reading it";

const SHORT: &str = "it may run over less than its sources, and its user was not proved to stay inside";

fn map_map(graph: &mut Graph<'_>, m: &Meeting<'_>) -> Result<Met, Refused> {
    let (Kind::Map { f }, Kind::Map { f: g }) = (&m.consumer.kind, &m.producer.kind) else { return Err(String::new()) };
    if !graph.within(&m.consumer.extents, &m.producer.extents) && !graph.cover(&m.producer.sources, &m.producer.extents)
    {
        return Err(SHORT.to_owned());
    }
    let inlined = [Inlined { class: m.of, f: *g, sources: m.producer.sources.clone() }];
    let (f, sources) = joined(graph, *f, &m.consumer.sources, &inlined);
    met_one(graph, m, Term { kind: Kind::Map { f }, sources, ..m.consumer.clone() })
}

/// What was made of a consumer and one producer, where both check no more than it.
fn met_one(graph: &mut Graph<'_>, m: &Meeting<'_>, term: Term) -> Result<Met, Refused> {
    checks::kept(graph, m.consumer, &[(m.of, m.producer)], &term)?;
    Ok(Met { term, absorbed: taken([m.of]) })
}

/// The same of a consumer and several.
fn met_all(
    graph: &mut Graph<'_>,
    m: &Meeting<'_>,
    producers: impl Iterator<Item = (Id, Term)>,
    term: Term,
) -> Result<Met, Refused> {
    let producers: Vec<(Id, Term)> = producers.collect();
    let listed: Vec<(Id, &Term)> = producers.iter().map(|(class, producer)| (*class, producer)).collect();
    checks::kept(graph, m.consumer, &listed, &term)?;
    Ok(Met { term, absorbed: taken(listed.into_iter().map(|(class, _)| class)) })
}

/// A generate that does not look at its index is a constant beside the other sources.
fn map_fill(graph: &mut Graph<'_>, m: &Meeting<'_>) -> Result<Met, Refused> {
    let (Kind::Map { f }, Kind::Generate { f: g }) = (&m.consumer.kind, &m.producer.kind) else {
        return Err(String::new());
    };
    if m.consumer.sources.iter().all(|source| source.class == m.of) {
        return Err("no other source would be left".to_owned());
    }
    let lambda = graph.functions.get(*g);
    if used_params(lambda).contains(&true) {
        return Err("it depends on the index, which a map does not know: clustering fuses the two".to_owned());
    }
    if !graph.within(&m.consumer.extents, &m.producer.extents) {
        return Err(SHORT.to_owned());
    }
    let mut lambda = graph.functions.get(*g).clone();
    lambda.params.clear();
    let g = graph.functions.intern(lambda);
    let (f, sources) = joined(graph, *f, &m.consumer.sources, &[Inlined { class: m.of, f: g, sources: Vec::new() }]);
    met_one(graph, m, Term { kind: Kind::Map { f }, sources, ..m.consumer.clone() })
}

/// The classes that a term's sources are of, each once.
pub(crate) fn source_classes(term: &Term) -> Vec<Id> {
    let mut classes: Vec<Id> = Vec::new();
    for source in &term.sources {
        if !classes.contains(&source.class) {
            classes.push(source.class);
        }
    }
    classes
}

/// The forms of a class that users may take in, with their positions, the latest first.
pub(crate) fn offered(graph: &Graph<'_>, id: Id) -> Vec<(usize, Term)> {
    let class = graph.class(id);
    let forms = class.forms.iter().enumerate().take(class.tight + 1).rev();
    forms.filter(|(_, form)| !form.loose).map(|(at, form)| (at, form.term.clone())).collect()
}

/// The latest form of each class, up to what users take in, of which `pick` gives something.
fn forms_of<T>(
    graph: &mut Graph<'_>,
    classes: &[Id],
    m: &Meeting<'_>,
    pick: &dyn Fn(&mut Graph<'_>, &Term) -> Option<T>,
) -> Option<Vec<(Term, T)>> {
    let mut found = Vec::with_capacity(classes.len());
    for &id in classes {
        if graph.is_leaf(id) || (id != m.of && !(m.may_take)(graph, id)) {
            return None;
        }
        let terms: Vec<Term> = offered(graph, id).into_iter().map(|(_, term)| term).collect();
        let picked = terms.into_iter().find_map(|term| pick(graph, &term).map(|picked| (term, picked)));
        found.push(picked?);
    }
    Some(found)
}

fn map_generate(graph: &mut Graph<'_>, m: &Meeting<'_>) -> Result<Met, Refused> {
    let Kind::Map { f } = m.consumer.kind else { return Err(String::new()) };
    let classes = source_classes(m.consumer);
    let generates = |_: &mut Graph<'_>, term: &Term| match term.kind {
        Kind::Generate { f } => Some(f),
        _ => None,
    };
    let Some(found) = forms_of(graph, &classes, m, &generates) else {
        return Err("beside it an array is traversed, which would have to be read by index: clustering fuses the two"
            .to_owned());
    };
    if found.iter().any(|(term, _)| !graph.within(&m.consumer.extents, &term.extents)) {
        return Err(SHORT.to_owned());
    }
    let mut composer = Composer::default();
    let index: Vec<ScalarOperand> = m.consumer.extents.iter().map(|_| composer.param(ElementType::I64)).collect();
    let values: Vec<Vec<ScalarOperand>> =
        found.iter().map(|(_, g)| composer.call(graph.functions.get(*g), &index)).collect();
    let arguments: Vec<ScalarOperand> = m
        .consumer
        .sources
        .iter()
        .map(|source| {
            let at = classes.iter().position(|&class| class == source.class).unwrap_or_default();
            values[at][source.component]
        })
        .collect();
    let results = composer.call(graph.functions.get(f), &arguments);
    let lambda = composer.finish(&results);
    let f = graph.functions.intern(lambda);
    let term = Term { kind: Kind::Generate { f }, sources: Vec::new(), ..m.consumer.clone() };
    met_all(graph, m, classes.into_iter().zip(found.into_iter().map(|(term, _)| term)), term)
}

fn map_indexed(graph: &mut Graph<'_>, m: &Meeting<'_>) -> Result<Met, Refused> {
    let Kind::Map { f } = m.consumer.kind else { return Err(String::new()) };
    let Some((index, _)) = as_indexed(graph, m.producer) else { return Err(String::new()) };
    let classes = source_classes(m.consumer);
    let same = |graph: &mut Graph<'_>, term: &Term| as_indexed(graph, term).filter(|&(other, _)| other == index);
    let Some(found) = forms_of(graph, &classes, m, &same) else {
        return Err("the other sources are not read at the same index: clustering fuses them".to_owned());
    };
    if found.iter().any(|(term, _)| !graph.within(&m.consumer.extents, &term.extents)) {
        return Err(SHORT.to_owned());
    }
    let inlined: Vec<Inlined> = classes
        .iter()
        .zip(&found)
        .map(|(&class, (term, (_, g)))| Inlined { class, f: *g, sources: term.sources.clone() })
        .collect();
    let (f, sources) = joined(graph, f, &m.consumer.sources, &inlined);
    together(graph, f, &sources)?;
    let term = indexed_term(graph, index, f, sources, m.consumer);
    met_all(graph, m, classes.into_iter().zip(found.into_iter().map(|(term, _)| term)), term)
}

/// Whether one operation may read all sources elsewhere: extents of those that meet in a function must agree when it runs. What is
/// handed on meets nothing.
fn together(graph: &Graph<'_>, f: FunctionId, sources: &[Source]) -> Result<(), Refused> {
    let lambda = graph.functions.get(f);
    let hands_on = lambda.results.iter().all(|result| lambda.params.iter().any(|param| *result == param.id.into()));
    let extents = |source: Source| &graph.ty(source).extents;
    let fit = sources.iter().all(|&source| match hands_on {
        true => sources.iter().all(|&other| graph.may_be_equal(extents(source), extents(other))),
        false => graph.equal(extents(source), extents(sources[0])),
    });
    if fit { Ok(()) } else { Err("its sources were not proved to have the same extents".to_owned()) }
}

/// A backpermute where the function hands on, else a transform.
pub(crate) fn indexed_term(
    graph: &Graph<'_>,
    index: FunctionId,
    f: FunctionId,
    sources: Vec<Source>,
    like: &Term,
) -> Term {
    let lambda = graph.functions.get(f);
    let handed: Option<Vec<Source>> = lambda
        .results
        .iter()
        .map(|result| lambda.params.iter().position(|param| *result == param.id.into()).map(|at| sources[at]))
        .collect();
    match handed {
        Some(sources) => Term { kind: Kind::Backpermute { index }, sources, ..like.clone() },
        None => Term { kind: Kind::Transform { index, f }, sources, ..like.clone() },
    }
}

/// Whether work may be done as often as an index meets an element.
pub(crate) fn range_pays(
    graph: &Graph<'_>,
    range: Range,
    work: u64,
    producer: &Term,
    reads: u64,
) -> Result<(), Refused> {
    let bytes = |sources: &[Source]| sources.iter().map(|&source| graph.element(source).bytes() as u64).sum::<u64>();
    let stored: u64 = producer.elements.iter().map(|element| element.bytes() as u64).sum();
    cost::repeats_pay(range, work, bytes(&producer.sources), stored, reads)
}

/// Where a producer that is read at `index` over the consumer's extents may be taken in: how often its elements are met, and whether
/// they are proved to exist.
fn met(graph: &Graph<'_>, index: FunctionId, over: &[Extent], of: &[Extent]) -> (Range, bool) {
    let lambda = graph.functions.get(index);
    let indices = Indices::of(lambda, Some(over), graph.sizes);
    (indices.range(&lambda.results), indices.inside(&lambda.results, of))
}

fn indexed_map(graph: &mut Graph<'_>, m: &Meeting<'_>) -> Result<Met, Refused> {
    let (Some((index, f)), Kind::Map { f: g }) = (as_indexed(graph, m.consumer), &m.producer.kind) else {
        return Err(String::new());
    };
    let (range, inside) = met(graph, index, &m.consumer.extents, &m.producer.extents);
    let work = graph.functions.work(*g);
    range_pays(graph, range, work, m.producer, 1).map_err(|reason| match &m.consumer.kind {
        Kind::Replicate { dims } if dims.iter().skip_while(|dim| dim.is_none()).all(Option::is_some) => {
            "it is repeated along inner dimensions alone: clustering computes it once a row".to_owned()
        }
        _ => reason,
    })?;
    let covered = graph.cover(&m.producer.sources, &m.producer.extents);
    if !covered && !inside {
        return Err(SHORT.to_owned());
    }
    // Where an element is read, something else must be: at the same index, of the same extents.
    let read = checks::looks_at_some(graph, *g, &checks::used_of(m.consumer, m.of));
    if !read && (!inside || checks::index_can_fail(graph, index)) {
        return Err(checks::UNREAD.to_owned());
    }
    let inlined = [Inlined { class: m.of, f: *g, sources: m.producer.sources.clone() }];
    let (joint, sources) = joined(graph, f, &m.consumer.sources, &inlined);
    if together(graph, joint, &sources).is_ok() {
        let term = indexed_term(graph, index, joint, sources, m.consumer);
        return met_one(graph, m, term);
    }
    // Sources of several extents cannot be read by one operation: one for each, then the function.
    let one_by_one = sources
        .iter()
        .map(|&source| {
            let element = graph.element(source);
            let like = Term { elements: vec![element], apart: None, ..m.consumer.clone() };
            let kind = Kind::Backpermute { index };
            let class = graph.make(Term { kind, sources: vec![source], ..like }, m.class);
            Source { class, component: 0 }
        })
        .collect();
    met_one(graph, m, Term { kind: Kind::Map { f: joint }, sources: one_by_one, ..m.consumer.clone() })
}

fn only_source(m: &Meeting<'_>) -> Result<(), Refused> {
    if m.consumer.sources.iter().all(|source| source.class == m.of) {
        return Ok(());
    }
    Err("its user has other sources too, which are not made in the same way".to_owned())
}

fn indexed_generate(graph: &mut Graph<'_>, m: &Meeting<'_>) -> Result<Met, Refused> {
    let (Some((index, f)), Kind::Generate { f: g }) = (as_indexed(graph, m.consumer), &m.producer.kind) else {
        return Err(String::new());
    };
    only_source(m)?;
    let (range, inside) = met(graph, index, &m.consumer.extents, &m.producer.extents);
    range_pays(graph, range, graph.functions.work(*g), m.producer, 1)?;
    if !inside {
        return Err(UNPROVED.to_owned());
    }
    let used = checks::used_of(m.consumer, m.of);
    if checks::index_can_fail(graph, index) && !checks::looks_at_all(graph, *g, &used) {
        return Err(checks::UNREAD.to_owned());
    }
    let values = composed(graph, *g, index);
    let picked = picked(graph, f, &m.consumer.sources, &m.producer.elements);
    let f = composed(graph, picked, values);
    met_one(graph, m, Term { kind: Kind::Generate { f }, sources: Vec::new(), ..m.consumer.clone() })
}

/// A function of a consumer's sources as one of all results of their class.
fn picked(graph: &mut Graph<'_>, f: FunctionId, sources: &[Source], elements: &[ElementType]) -> FunctionId {
    let mut composer = Composer::default();
    let params: Vec<ScalarOperand> = elements.iter().map(|&element| composer.param(element)).collect();
    let arguments: Vec<ScalarOperand> = sources.iter().map(|source| params[source.component]).collect();
    let results = composer.call(graph.functions.get(f), &arguments);
    let lambda = composer.finish(&results);
    graph.functions.intern(lambda)
}

fn indexed_indexed(graph: &mut Graph<'_>, m: &Meeting<'_>) -> Result<Met, Refused> {
    let Some((index, f)) = as_indexed(graph, m.consumer) else { return Err(String::new()) };
    let Some((inner, g)) = as_indexed(graph, m.producer) else { return Err(String::new()) };
    only_source(m)?;
    let (range, inside) = met(graph, index, &m.consumer.extents, &m.producer.extents);
    let work = graph.functions.work(g) + reads::dear_work(graph, inner);
    range_pays(graph, range, work, m.producer, 1)?;
    if !inside {
        return Err(UNPROVED.to_owned());
    }
    let used = checks::used_of(m.consumer, m.of);
    let follows = checks::follows_all(graph, inner) && checks::looks_at_some(graph, g, &used);
    if checks::index_can_fail(graph, index) && !follows {
        return Err(checks::UNREAD.to_owned());
    }
    let index = composed(graph, inner, index);
    let inlined = [Inlined { class: m.of, f: g, sources: m.producer.sources.clone() }];
    let (f, sources) = joined(graph, f, &m.consumer.sources, &inlined);
    together(graph, f, &sources)?;
    let term = indexed_term(graph, index, f, sources, m.consumer);
    met_one(graph, m, term)
}

fn reshape_map(graph: &mut Graph<'_>, m: &Meeting<'_>) -> Result<Met, Refused> {
    let Kind::Map { f } = &m.producer.kind else { return Err(String::new()) };
    only_source(m)?;
    if !graph.cover(&m.producer.sources, &m.producer.extents) {
        return Err("it may run over less than its sources, whose elements stand elsewhere".to_owned());
    }
    let g = *f;
    let identity = graph.functions.identity(&m.consumer.elements);
    let inlined = [Inlined { class: m.of, f: g, sources: m.producer.sources.clone() }];
    let (f, sources) = joined(graph, identity, &m.consumer.sources, &inlined);
    // A result that needs no source does not need the reshape of one either, which checks its extents and how many elements there are.
    let ignores = (0..m.consumer.elements.len()).any(|result| checks::ignores_sources(graph, f, result));
    if ignores && !(as_many(graph, m) && checks::not_negative(graph, m.producer)) {
        return Err(COUNT.to_owned());
    }
    let reshaped = sources
        .iter()
        .map(|&source| {
            let elements = vec![graph.element(source)];
            let extents = m.consumer.extents.clone();
            let term = Term { kind: Kind::Reshape, extents, elements, sources: vec![source], apart: None };
            Source { class: graph.make(term, m.class), component: 0 }
        })
        .collect();
    let term = Term { kind: Kind::Map { f }, sources: reshaped, ..m.consumer.clone() };
    Ok(Met { term, absorbed: taken([m.of]) })
}

const COUNT: &str = "that both have as many elements was not proved: it is checked when it runs";

/// Whether a consumer and a producer are proved to have as many elements.
fn as_many(graph: &mut Graph<'_>, m: &Meeting<'_>) -> bool {
    let after = checks::elements_of(graph, &m.consumer.extents);
    after.is_some() && after == checks::elements_of(graph, &m.producer.extents)
}

fn reshape_reshape(graph: &mut Graph<'_>, m: &Meeting<'_>) -> Result<Met, Refused> {
    only_source(m)?;
    let sources: Vec<Source> = m.consumer.sources.iter().map(|source| m.producer.sources[source.component]).collect();
    if !as_many(graph, m) {
        return Err(COUNT.to_owned());
    }
    met_one(graph, m, Term { sources, ..m.consumer.clone() })
}

fn reshape_generate(graph: &mut Graph<'_>, m: &Meeting<'_>) -> Result<Met, Refused> {
    let Kind::Generate { f: g } = &m.producer.kind else { return Err(String::new()) };
    only_source(m)?;
    if !as_many(graph, m) {
        return Err(COUNT.to_owned());
    }
    let mut composer = Composer::default();
    let (int, place) = (ElementType::I64, Place::default());
    let params: Vec<ScalarOperand> = m.consumer.extents.iter().map(|_| composer.param(int)).collect();
    let mut binary = |function, a, b| composer.one(ScalarOp::Binary { function, a, b }, int, &place);
    let zero: ScalarOperand = Constant::from(0i64).into();
    let mut position = params.first().copied().unwrap_or(zero);
    for (&i, &extent) in params.iter().zip(&m.consumer.extents).skip(1) {
        let row = binary(Binary::Mul, position, scalar(extent));
        position = binary(Binary::Add, row, i);
    }
    let mut index = vec![zero; m.producer.extents.len()];
    for (at, &extent) in m.producer.extents.iter().enumerate().rev() {
        if at == 0 {
            index[0] = position;
        } else {
            index[at] = binary(Binary::Rem, position, scalar(extent));
            position = binary(Binary::Div, position, scalar(extent));
        }
    }
    let values = composer.call(graph.functions.get(*g), &index);
    let results: Vec<ScalarOperand> = m.consumer.sources.iter().map(|source| values[source.component]).collect();
    let lambda = composer.finish(&results);
    let f = graph.functions.intern(lambda);
    met_one(graph, m, Term { kind: Kind::Generate { f }, sources: Vec::new(), ..m.consumer.clone() })
}
