//! Functions of operations put together: what a law's result computes, and of which sources.

use egg::Id;
use fusebox_ir::{ElementType, Lambda, LambdaBuilder, ScalarOperand};
use rustc_hash::FxHashMap;

use crate::{
    functions::{FunctionId, used_params},
    graph::{Classes, Graph},
    language::{Operation, Shape, Source},
};

/// What stands for results of a class in a function that takes it in: a function of these sources.
pub(crate) struct Inlined {
    pub class: Id,
    pub f: FunctionId,
    pub sources: Vec<Source>,
}

impl Inlined {
    /// A producer of which all elements are made from those at the same place, or at the place that a consumer asks for.
    pub(crate) fn of(class: Id, f: FunctionId, producer: &Operation) -> Self {
        Self { class, f, sources: producer.source_list() }
    }
}

/// The function of a consumer with producers taken in, and its sources, each once, without those not needed. What producers read of one
/// another, they read elsewhere: it stays a source.
pub(crate) fn joined(
    graph: &mut Graph,
    f: FunctionId,
    sources: &[Source],
    inlined: &[Inlined],
) -> (FunctionId, Vec<Source>) {
    joined_with(graph, f, sources, inlined, false)
}

/// As [`joined`] for maps alone, each after what it uses: what they read of one another is at the same place, and is taken in too.
pub(crate) fn joined_run(
    graph: &mut Graph,
    f: FunctionId,
    sources: &[Source],
    inlined: &[Inlined],
) -> (FunctionId, Vec<Source>) {
    joined_with(graph, f, sources, inlined, true)
}

fn joined_with(
    graph: &mut Graph,
    f: FunctionId,
    sources: &[Source],
    inlined: &[Inlined],
    nested: bool,
) -> (FunctionId, Vec<Source>) {
    let by_class: FxHashMap<Id, usize> = inlined.iter().enumerate().map(|(at, inlined)| (inlined.class, at)).collect();
    let mut each: Vec<Source> = Vec::new();
    let mut param_of: FxHashMap<Source, usize> = FxHashMap::default();
    let mut opened = vec![false; inlined.len()];
    let mut stack: Vec<(Source, bool)> = sources.iter().rev().map(|&source| (source, true)).collect();
    while let Some((source, taken_in)) = stack.pop() {
        match by_class.get(&source.class).filter(|_| taken_in) {
            Some(&at) if !opened[at] => {
                opened[at] = true;
                stack.extend(inlined[at].sources.iter().rev().map(|&source| (source, nested)));
            }
            Some(_) => {}
            None => {
                param_of.entry(source).or_insert_with(|| {
                    each.push(source);
                    each.len() - 1
                });
            }
        }
    }
    let functions = &graph.analysis.functions;
    let mut composer = LambdaBuilder::sharing();
    let params = composer.params(each.iter().map(|&source| graph.element(source)));
    let mut values: Vec<Vec<ScalarOperand>> = vec![Vec::new(); inlined.len()];
    let value = |values: &[Vec<ScalarOperand>], source: &Source, taken_in: bool| match by_class
        .get(&source.class)
        .filter(|_| taken_in)
    {
        Some(&at) => values[at][source.component],
        None => params[param_of[source]],
    };
    for (at, inlined) in inlined.iter().enumerate().filter(|(at, _)| opened[*at]) {
        let arguments: Vec<ScalarOperand> =
            inlined.sources.iter().map(|source| value(&values, source, nested)).collect();
        values[at] = composer.call(functions.get(inlined.f), &arguments);
    }
    let arguments: Vec<ScalarOperand> = sources.iter().map(|source| value(&values, source, true)).collect();
    let results = composer.call(functions.get(f), &arguments);
    let mut lambda = composer.finish_needed(&results);
    // An operation of no sources would have no rank.
    drop_unused(&mut lambda, &mut each);
    (graph.analysis.functions.intern(lambda), each)
}

/// Drops parameters that a function does not use, and what stands for them; never all.
pub(crate) fn drop_unused<T>(lambda: &mut Lambda, each: &mut Vec<T>) {
    let mut used = used_params(lambda);
    if let (false, Some(first)) = (used.contains(&true), used.first_mut()) {
        *first = true;
    }
    let mut keep = used.iter();
    lambda.params.retain(|_| *keep.next().unwrap_or(&true));
    let mut keep = used.iter();
    each.retain(|_| *keep.next().unwrap_or(&true));
}

/// An operation that reads elements elsewhere, whatever it is called: an index function, then a function.
///
/// # Panics
/// If it does not read elements elsewhere.
pub(crate) fn as_indexed(graph: &mut Graph, operation: &Operation) -> (FunctionId, FunctionId) {
    let functions = &mut graph.analysis.functions;
    let index = match (operation.shape, operation.index) {
        (Shape::Replicate, _) => functions.replicated(&operation.dims),
        (Shape::Slice, _) => functions.sliced(&operation.dims),
        (_, Some(index)) => index,
        (shape, None) => panic!("a {} does not read elements elsewhere: {operation:?}", shape.name()),
    };
    (index, operation.f.unwrap_or_else(|| functions.identity(&operation.elements)))
}

/// `g` after `f`.
pub(crate) fn composed(graph: &mut Graph, g: FunctionId, f: FunctionId) -> FunctionId {
    let functions = &graph.analysis.functions;
    let mut composer = LambdaBuilder::sharing();
    let lambda = functions.get(f);
    let params = composer.params(lambda.params.iter().map(|param| param.ty));
    let inner = composer.call(lambda, &params);
    let results = composer.call(functions.get(g), &inner);
    let lambda = composer.finish_needed(&results);
    graph.analysis.functions.intern(lambda)
}

/// A function of a consumer's sources as one of all results of their class.
pub(crate) fn picked(
    graph: &mut Graph,
    f: FunctionId,
    sources: impl Iterator<Item = Source>,
    elements: &[ElementType],
) -> FunctionId {
    let functions = &graph.analysis.functions;
    let mut composer = LambdaBuilder::sharing();
    let params = composer.params(elements.iter().map(|&element| element));
    let arguments: Vec<ScalarOperand> = sources.map(|source| params[source.component]).collect();
    let results = composer.call(functions.get(f), &arguments);
    let lambda = composer.finish_needed(&results);
    graph.analysis.functions.intern(lambda)
}
