//! The laws: what a consumer and a producer become where they meet. One table, a law a line; each is a rewrite of egg.
//!
//! The searcher of a law finds a consumer and a producer of its shapes in the form that is looked at; the applier makes the operation that
//! stands for both, if the law's conditions hold, and makes it equal to the consumer. Why a law was refused is kept for the report.

use std::rc::Rc;

use egg::{Applier, Id, PatternAst, Rewrite, SearchMatches, Searcher, Subst, Symbol, Var};

use crate::{
    facts::Origin,
    functions::{FunctionId, Functions, MOST_NESTING},
    graph::{Classes, Graph, Knowledge},
    language::{Node, Shape},
    meeting::{Meeting, Met, Outcome},
    pairs,
    producers::{indexed_generate, indexed_indexed, indexed_map, map_fill, map_generate, map_indexed, map_map},
    reads,
    reason::Reason,
    reshapes, taps,
};

/// A law.
pub(crate) struct Law {
    /// What meets what.
    pub name: &'static str,
    pub consumer: Shape,
    pub producer: Shape,
    pub apply: fn(&mut Graph, &Meeting<'_>) -> Outcome,
    /// Whether the consumer reads the producer by index in a function; otherwise it is a source.
    pub reads: bool,
}

/// Every law of two that meet. Where several have the same shapes, the first that applies counts. (What all users of a producer ask for is
/// not here: `restrict` sees to it before.)
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
        law("map-reshape", Map, Reshape, reshapes::under_map),                              // map f (reshape x)        = reshape (map f x)
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
        law("reshape-map", Reshape, Map, reshapes::of_map),                                      // reshape (map g x)        = map g (reshape x)
        law("reshape-reshape", Reshape, Reshape, reshapes::of_reshape),
        law("reshape-generate", Reshape, Generate, reshapes::of_generate),                       // reshape (gen g)  = gen (g . unflatten . flatten)
        law("reshape-backpermute", Reshape, Backpermute, reshapes::of_indexed),              // reshape (bp p x)         = bp (p . unflatten . flatten) x
        law("reshape-transform", Reshape, Transform, reshapes::of_indexed),
        law("reshape-replicate", Reshape, Replicate, reshapes::of_indexed),
        law("reshape-slice", Reshape, Slice, reshapes::of_indexed),
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
        law("stencil-fill", Stencil, Generate, taps::of_fill),
        law("stencil-generate", Stencil, Generate, taps::of_generate),                      // stencil f (gen g)        = gen (|i| f (g at each tap of i))
        law("stencil-backpermute", Stencil, Backpermute, taps::of_indexed),                 // stencil f (bp p x)       = gen (|i| f (x[p at each tap of i]))
        law("stencil-transform", Stencil, Transform, taps::of_indexed),
        law("stencil-replicate", Stencil, Replicate, taps::of_indexed),
        law("stencil-slice", Stencil, Slice, taps::of_indexed),
    ]
};

const fn law(
    name: &'static str,
    consumer: Shape,
    producer: Shape,
    apply: fn(&mut Graph, &Meeting<'_>) -> Outcome,
) -> Law {
    Law { name, consumer, producer, apply, reads: false }
}

const fn read(
    name: &'static str,
    consumer: Shape,
    producer: Shape,
    apply: fn(&mut Graph, &Meeting<'_>) -> Outcome,
) -> Law {
    Law { name, consumer, producer, apply, reads: true }
}

/// The laws as rewrites, in the order of the table.
pub(crate) fn rewrites() -> Vec<(&'static Law, Rewrite<Node, Knowledge>)> {
    let rewrite = |law: &'static Law| {
        let rewrite = Rewrite::new(law.name, Row(law), Row(law));
        (law, rewrite.unwrap_or_else(|error| panic!("{}: {error}", law.name)))
    };
    LAWS.iter().map(rewrite).collect()
}

/// A row of the table: what it searches for, and what it does there.
struct Row(&'static Law);

/// The e-node of the consumer that is looked at.
pub(crate) fn from_var() -> Var {
    Var::from_u32(0)
}

/// The class of the producer.
pub(crate) fn of_var() -> Var {
    Var::from_u32(1)
}

/// The e-node of the producer that is looked at.
pub(crate) fn at_var() -> Var {
    Var::from_u32(2)
}

impl Searcher<Node, Knowledge> for Row {
    fn search_eclass_with_limit(&self, graph: &Graph, class: Id, limit: usize) -> Option<SearchMatches<'_, Node>> {
        let Self(law) = self;
        let class = graph.find(class);
        let from = pairs::front(graph, class)?;
        if from.shape != law.consumer {
            return None;
        }
        let pairs = match &graph.analysis.at_work {
            Some((at, pairs)) if *at == class => Rc::clone(pairs),
            _ => Rc::new(pairs::pairs(graph, class)),
        };
        let substs: Vec<Subst> = pairs
            .iter()
            .filter(|pair| (pair.reads, pair.shape) == (law.reads, law.producer))
            .filter(|pair| !graph.analysis.tried.contains(&(law.name, from.node, pair.of, pair.at)))
            .take(limit)
            .map(|pair| {
                let mut subst = Subst::with_capacity(3);
                subst.insert(from_var(), from.node);
                subst.insert(of_var(), pair.of);
                subst.insert(at_var(), pair.at);
                subst
            })
            .collect();
        (!substs.is_empty()).then_some(SearchMatches { eclass: class, substs, ast: None })
    }

    fn vars(&self) -> Vec<Var> {
        vec![from_var(), of_var(), at_var()]
    }
}

impl Applier<Node, Knowledge> for Row {
    fn apply_one(
        &self,
        graph: &mut Graph,
        class: Id,
        subst: &Subst,
        _searched: Option<&PatternAst<Node>>,
        _name: Symbol,
    ) -> Vec<Id> {
        let Self(law) = self;
        let (from, at) = (subst[from_var()], subst[at_var()]);
        let (class, of) = (graph.find(class), graph.find(subst[of_var()]));
        let (consumer, producer) = (graph.operation(from), graph.operation(at));
        let known = |class: Id, node: Id| {
            let known = graph.facts(class).forms.iter().find(|known| known.node == node).cloned();
            known.unwrap_or_else(|| panic!("{node} is no e-node of {class}, which {} found", law.name))
        };
        let (user, known) = (known(class, from), known(of, at));
        let meeting = Meeting { consumer: &consumer, user: &user, class, producer: &producer, known: &known, of };
        let outcome = (law.apply)(graph, &meeting).and_then(|met| bounded(graph, met));
        let reason = match outcome {
            Err(reason) => reason,
            Ok(met) => {
                let took = met.took.iter().map(|&(of, at)| (graph.find(of), at)).collect();
                let copies = graph.analysis.copying;
                if graph.extend(class, met.operation, Origin { law: law.name, from, took, copies }) {
                    return vec![class];
                }
                Reason::NothingChanges
            }
        };
        graph.analysis.tried.insert((law.name, from, of, at));
        graph.analysis.refusals.insert((of, class), reason);
        Vec::new()
    }

    fn vars(&self) -> Vec<Var> {
        vec![from_var(), of_var(), at_var()]
    }
}

/// What a law made, where its functions are not too large.
fn bounded(graph: &Graph, met: Met) -> Outcome {
    let functions = &graph.analysis.functions;
    let most = |of: fn(&Functions, FunctionId) -> usize| {
        met.operation.functions().map(|f| of(functions, f)).max().unwrap_or(0)
    };
    let max_instructions = graph.analysis.config.max_instructions;
    if most(Functions::nesting) > MOST_NESTING {
        Err(Reason::Nested)
    } else if most(Functions::size) > max_instructions {
        Err(Reason::Large(max_instructions))
    } else {
        Ok(met)
    }
}
