//! Generates that read arrays at functions of their own index: they are operations over sources.
//!
//! What a function reads by index must be stored before, whatever the index is. An element at the own index, or at another that the own
//! one gives, is a source instead: laws take in what makes it, and clustering may run the two in one pass. Where all is read at one index
//! the generate is a map, or a transform; where arrays are read at several, it is a map over what reads each, and over its index where it
//! looks at that.

use std::collections::HashSet;

use fusebox_ir::{ArrayId, ElementType, Extent, Instruction, Lambda, LocalId, ScalarOp, ScalarOperand, ScalarPart};

use crate::{
    functions::{Composer, FunctionId, used_params},
    graph::{Classes, Graph},
    index::{IndexMap, Indices},
    language::Shape,
};

/// Reads of a generate that may become sources.
const MOST: usize = 8;

/// A read as a source.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Read {
    pub array: ArrayId,
    /// From the own index to that of the array; none where it is the own index.
    pub index: Option<FunctionId>,
}

/// What a generate is as an operation over sources.
pub(crate) enum Sourced {
    /// A map over arrays and over what reads arrays elsewhere; the last parameters of the function are the dimensions of the own index
    /// that it looks at.
    Map { f: Lambda, reads: Vec<Read>, dims: Vec<usize> },
    /// All is read at one index that is not the own.
    Elsewhere { index: FunctionId, f: Lambda, arrays: Vec<ArrayId> },
}

impl Sourced {
    pub(crate) fn shape(&self) -> Shape {
        match self {
            Self::Map { .. } => Shape::Map,
            Self::Elsewhere { f, .. } if hands_on(f) => Shape::Backpermute,
            Self::Elsewhere { .. } => Shape::Transform,
        }
    }
}

fn hands_on(f: &Lambda) -> bool {
    f.results.iter().all(|&result| f.params.iter().any(|param| result == param.id.into()))
}

/// What a generate over these extents is; none where it has to stay one. `gains` says of an array whether something is gained where it is a
/// source and not read by index; `in_order` whether all users traverse the generate as it is: others would read all of several sources
/// elsewhere, where they read one generate.
pub(crate) fn of(
    graph: &mut Graph,
    extents: &[Extent],
    f: &Lambda,
    gains: impl Fn(&Graph, ArrayId) -> bool,
    in_order: bool,
) -> Option<Sourced> {
    if extents.is_empty() {
        return None;
    }
    let reads = reads(graph, f, &gains)?;
    let (f, own) = with_elements(graph, f, &reads);
    let at_own = |graph: &Graph, read: &Read| {
        let extents_of = graph.analysis.tables.types.get(&read.array).map(|ty| &ty.extents);
        map_of(graph, read, extents) == IndexMap::Identity && extents_of.is_some_and(|of| graph.within(extents, of))
    };
    let dims: Vec<usize> = (0..own).filter(|&dim| used_params(&f)[dim]).collect();
    let elements = |f: Lambda| Lambda { params: f.params[own..].to_vec(), ..f };
    if dims.is_empty() && reads.iter().all(|read| at_own(graph, read)) {
        let reads = reads.into_iter().map(|read| Read { index: None, ..read }).collect();
        return Some(Sourced::Map { f: elements(f), reads, dims });
    }
    if reads.len() > MOST {
        return None;
    }
    if !reads.iter().any(|read| gains(graph, read.array)) || !reads.iter().all(|read| is_inside(graph, read, extents)) {
        return None;
    }
    let first = reads[0];
    if dims.is_empty() && reads.iter().all(|read| read.index == first.index) {
        let types = &graph.analysis.tables.types;
        let same = |read: &Read| graph.equal(&types[&read.array].extents, &types[&first.array].extents);
        let index = first.index.filter(|_| reads.iter().all(same))?;
        return Some(Sourced::Elsewhere {
            index,
            f: elements(f),
            arrays: reads.into_iter().map(|read| read.array).collect(),
        });
    }
    // Only what is traversed by rows or as it is can run in one pass with what makes it.
    let fuses = |read: &Read| {
        let map = map_of(graph, read, extents);
        gains(graph, read.array) && (map.is_by_rows() || at_own(graph, read))
    };
    let is_plain = |read: &Read| {
        let map = map_of(graph, read, extents);
        matches!(map, IndexMap::Replicate(_) | IndexMap::Permutation(_) | IndexMap::Slice(_)) || at_own(graph, read)
    };
    if !in_order || !reads.iter().any(fuses) || !reads.iter().all(is_plain) {
        return None;
    }
    let params = f.params[own..].iter().chain(dims.iter().map(|&dim| &f.params[dim])).cloned().collect();
    let each = reads.iter().map(|read| Read { index: read.index.filter(|_| !at_own(graph, read)), ..*read });
    Some(Sourced::Map { reads: each.collect(), f: Lambda { params, ..f }, dims })
}

/// Everything that a function reads, each once; none where an index is not a function of the own index alone, known before any branch, or
/// where nothing is gained.
fn reads(graph: &mut Graph, f: &Lambda, gains: &impl Fn(&Graph, ArrayId) -> bool) -> Option<Vec<Read>> {
    let mut known: HashSet<LocalId> = f.params.iter().map(|param| param.id).collect();
    known.extend(f.instructions.iter().flat_map(|instruction| &instruction.results).map(|local| local.id));
    let is_known = |operand: &ScalarOperand| !matches!(operand, ScalarOperand::Local(id) if !known.contains(id));
    let mut found: Vec<(ArrayId, Vec<ScalarOperand>)> = Vec::new();
    let mut open: Vec<&Instruction> = f.instructions.iter().rev().collect();
    while let Some(instruction) = open.pop() {
        match &instruction.op {
            ScalarOp::Read { array, index } if index.iter().all(is_known) => {
                if !found.iter().any(|(other, at)| other == array && at == index) {
                    found.push((*array, index.clone()));
                }
            }
            ScalarOp::Read { .. } | ScalarOp::ReadFlat { .. } => return None,
            op => {
                for part in op.parts().into_iter().rev() {
                    if let ScalarPart::Body(body) = part {
                        open.extend(body.instructions.iter().rev());
                    }
                }
            }
        }
    }
    let own = f.params.iter().map(|param| ScalarOperand::from(param.id));
    let at_own = found.iter().all(|(_, index)| index.iter().copied().eq(own.clone()));
    if found.is_empty() || !at_own && !found.iter().any(|(array, _)| gains(graph, *array)) {
        return None;
    }
    let mut reads: Vec<Read> = Vec::new();
    for (array, index) in found {
        let ty = graph.analysis.tables.types.get(&array)?;
        if !ty.inner.is_empty() || ty.stream || ty.rank() != index.len() {
            return None;
        }
        let index = index_function(graph, f, &index)?;
        let read = Read { array, index: Some(index) };
        if !reads.contains(&read) {
            reads.push(read);
        }
    }
    Some(reads)
}

/// The function of the own index that an index is; none where it reads an array.
fn index_function(graph: &mut Graph, f: &Lambda, index: &[ScalarOperand]) -> Option<FunctionId> {
    let of_index = Lambda { results: index.to_vec(), ..f.clone() };
    let mut composer = Composer::default();
    let params: Vec<ScalarOperand> = f.params.iter().map(|param| composer.param(param.ty)).collect();
    let results = composer.call(&of_index, &params);
    let lambda = composer.finish(&results);
    let mut reads = false;
    let scalar = |id: ArrayId| graph.analysis.tables.types.get(&id).is_some_and(|ty| ty.rank() == 0);
    lambda.outer_uses(&mut |id| reads |= !scalar(id));
    (!reads).then(|| graph.analysis.functions.intern(lambda))
}

fn map_of(graph: &Graph, read: &Read, extents: &[Extent]) -> IndexMap {
    let index = read.index.unwrap_or_else(|| panic!("the index of {} is known", read.array));
    IndexMap::of(graph.analysis.functions.get(index), extents, &graph.analysis.tables.sizes)
}

/// Whether a read is proved to stay inside of its array.
fn is_inside(graph: &Graph, read: &Read, extents: &[Extent]) -> bool {
    let index = read.index.unwrap_or_else(|| panic!("the index of {} is known", read.array));
    let lambda = graph.analysis.functions.get(index);
    let of = graph.analysis.tables.types.get(&read.array);
    let indices = Indices::of(lambda, Some(extents), &graph.analysis.tables.sizes);
    of.is_some_and(|ty| indices.inside(&lambda.results, &ty.extents))
}

/// A function with a parameter for each read, after those of its index; and how many these are.
fn with_elements(graph: &Graph, f: &Lambda, reads: &[Read]) -> (Lambda, usize) {
    let functions = &graph.analysis.functions;
    let mut composer = Composer::default();
    let own: Vec<ScalarOperand> = f.params.iter().map(|param| composer.param(param.ty)).collect();
    let element = |read: &Read| graph.analysis.tables.types.get(&read.array).map(|ty| ty.element);
    let elements: Vec<ScalarOperand> =
        reads.iter().map(|read| composer.param(element(read).unwrap_or(ElementType::I64))).collect();
    let results = composer.call_reading(f, &own, &mut |composer, array, index| {
        // An index that is computed again is the same instruction.
        let mut same = |read: &Read| read.index.is_some_and(|of| composer.call(functions.get(of), &own) == index);
        let of_array = reads.iter().zip(&elements).filter(|(read, _)| read.array == array);
        of_array.into_iter().find_map(|(read, &element)| same(read).then_some(element))
    });
    (composer.finish(&results), own.len())
}

/// The own index, of some dimensions.
pub(crate) fn own_index(rank: usize, dims: &[usize]) -> Lambda {
    let mut f = Composer::default();
    let params: Vec<ScalarOperand> = (0..rank).map(|_| f.param(ElementType::I64)).collect();
    let results: Vec<ScalarOperand> = dims.iter().map(|&dim| params[dim]).collect();
    f.finish(&results)
}
