//! Generates that read arrays at functions of their own index: they are operations over sources.
//!
//! What a function reads by index must be stored before, whatever the index is. An element at the own index, or at another that the own
//! one gives, is a source instead: laws take in what makes it, and clustering may run the two in one pass. Where all is read at one index
//! the generate is a map, or a transform; where arrays are read at several, it is a map over what reads each, and over its index where it
//! looks at that. What is stored whatever happens, or read where data says, that map reads by index as the generate did.

use fusebox_ir::{
    ArrayId, ElementType, Extent, Instruction, Lambda, LambdaBuilder, LocalId, ScalarOp, ScalarOperand, ScalarPart,
};
use rustc_hash::FxHashSet;

use crate::{
    facts::Known,
    functions::{FunctionId, used_params},
    graph::{Classes, Graph},
    index::{IndexMap, Indices},
    language::Shape,
    reads::call_reading,
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

/// A read as it stands in the function.
struct Found {
    array: ArrayId,
    /// From the own index to that of the array; none where data decides it, or a branch around the read computes it.
    index: Option<FunctionId>,
    /// What that function is.
    map: IndexMap,
    /// Whether the read is proved to stay inside of the array.
    inside: bool,
    /// Whether it is the own index, of an array that has an element there.
    own: bool,
}

impl Found {
    /// The read as a source; none where it has to stay a read by index.
    fn source(&self, graph: &Graph) -> Option<Read> {
        let plain = matches!(self.map, IndexMap::Replicate(_) | IndexMap::Permutation(_) | IndexMap::Slice(_));
        // Laws may take in what makes the array, wherever the own index says that it is read.
        let made = self.map != IndexMap::Data && is_made(graph, self.array);
        let is_source = self.index.is_some() && (self.own || self.inside && (plain || made));
        is_source.then_some(Read { array: self.array, index: self.index })
    }
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
    let reads = reads(graph, extents, f, &gains)?;
    let sources: Vec<Read> = reads.iter().filter_map(|found| found.source(graph)).collect();
    if reads.iter().all(|found| found.own) {
        let (of_elements, own) = with_elements(graph, f, &sources);
        if !used_params(&of_elements)[..own].contains(&true) {
            let reads = sources.into_iter().map(|read| Read { index: None, ..read }).collect();
            return Some(Sourced::Map { f: without_index(of_elements, own, &[]), reads, dims: Vec::new() });
        }
    }
    if reads.len() > MOST || !reads.iter().any(|found| gains(graph, found.array)) {
        return None;
    }
    if let Some(elsewhere) = at_one_index(graph, f, &reads) {
        return Some(elsewhere);
    }
    // What has to be stored for another read gains nothing as a source.
    let by_index = |array: ArrayId| reads.iter().any(|other| other.array == array && other.source(graph).is_none());
    let mut fusing =
        reads.iter().filter(|found| gains(graph, found.array) && fuses(graph, found) && !by_index(found.array));
    if !in_order || fusing.next().is_none() {
        return None;
    }
    let (f, own) = with_elements(graph, f, &sources);
    let dims: Vec<usize> = (0..own).filter(|&dim| used_params(&f)[dim]).collect();
    let found = reads.iter().filter(|found| found.source(graph).is_some());
    let each = found.map(|found| Read { array: found.array, index: found.index.filter(|_| !found.own) });
    Some(Sourced::Map { reads: each.collect(), f: without_index(f, own, &dims), dims })
}

/// A generate that reads all at one index that is not its own, and looks at nothing else.
fn at_one_index(graph: &Graph, f: &Lambda, reads: &[Found]) -> Option<Sourced> {
    let first = reads.first()?;
    let index = first.index?;
    let extents = |found: &Found| &graph.analysis.tables.types[&found.array].extents;
    let same =
        |found: &Found| found.inside && found.index == Some(index) && graph.equal(extents(found), extents(first));
    if !reads.iter().all(same) {
        return None;
    }
    let sources: Vec<Read> = reads.iter().map(|found| Read { array: found.array, index: found.index }).collect();
    let (f, own) = with_elements(graph, f, &sources);
    if used_params(&f)[..own].contains(&true) {
        return None;
    }
    let arrays = reads.iter().map(|found| found.array).collect();
    Some(Sourced::Elsewhere { index, f: without_index(f, own, &[]), arrays })
}

/// A function of the own index and of elements as one of elements, and after them of some dimensions of the index.
fn without_index(f: Lambda, own: usize, dims: &[usize]) -> Lambda {
    let params = f.params[own..].iter().chain(dims.iter().map(|&dim| &f.params[dim])).cloned().collect();
    Lambda { params, ..f }
}

/// Whether what makes the array of a read can run in one pass with the generate: it is traversed by rows or as it is, or it repeats what is.
fn fuses(graph: &Graph, found: &Found) -> bool {
    if found.own || found.map.is_by_rows() {
        return found.own || found.inside;
    }
    let Some(IndexMap::Replicate(kept)) = made_by(graph, found.array).map(|known| &known.index) else { return false };
    let Some(index) = found.index.filter(|_| found.inside).map(|index| graph.analysis.functions.get(index)) else {
        return false;
    };
    let mut rows = kept.iter().zip(&index.params);
    rows.all(|(&dim, param)| index.results[dim] == param.id.into())
}

/// The operation of the graph that makes an array, as it is written.
fn made_by(graph: &Graph, array: ArrayId) -> Option<&Known> {
    let source = graph.analysis.of_array.get(&array)?;
    graph.facts(source.class).forms.first()
}

fn is_made(graph: &Graph, array: ArrayId) -> bool {
    made_by(graph, array).is_some_and(|known| known.shape.is_producer())
}

/// Everything that a function reads, each once; none where it reads nothing, or where nothing is gained.
fn reads(
    graph: &mut Graph,
    extents: &[Extent],
    f: &Lambda,
    gains: &impl Fn(&Graph, ArrayId) -> bool,
) -> Option<Vec<Found>> {
    let mut known: FxHashSet<LocalId> = f.params.iter().map(|param| param.id).collect();
    known.extend(f.instructions.iter().flat_map(|instruction| &instruction.results).map(|local| local.id));
    let is_known = |operand: &ScalarOperand| !matches!(operand, ScalarOperand::Local(id) if !known.contains(id));
    let mut places: Vec<(ArrayId, Option<Vec<ScalarOperand>>)> = Vec::new();
    let mut open: Vec<&Instruction> = f.instructions.iter().rev().collect();
    while let Some(instruction) = open.pop() {
        let (array, index) = match &instruction.op {
            ScalarOp::Read { array, index } => (*array, Some(index).filter(|index| index.iter().all(is_known))),
            ScalarOp::ReadFlat { array, .. } => (*array, None),
            op => {
                for part in op.parts().into_iter().rev() {
                    if let ScalarPart::Body(body) = part {
                        open.extend(body.instructions.iter().rev());
                    }
                }
                continue;
            }
        };
        if !places.iter().any(|(other, at)| *other == array && at.as_ref() == index) {
            places.push((array, index.cloned()));
        }
    }
    let own = f.params.iter().map(|param| ScalarOperand::from(param.id));
    let at_own = |index: &Vec<ScalarOperand>| index.iter().copied().eq(own.clone());
    let all_own = places.iter().all(|(_, index)| index.as_ref().is_some_and(at_own));
    if places.is_empty() || !all_own && !places.iter().any(|(array, _)| gains(graph, *array)) {
        return None;
    }
    let mut reads: Vec<Found> = Vec::new();
    for (array, index) in places {
        let ty = graph.analysis.tables.types.get(&array)?;
        if !ty.inner.is_empty() || ty.stream {
            return None;
        }
        let of = ty.extents.clone();
        let index = index.filter(|index| index.len() == of.len()).and_then(|index| index_function(graph, f, &index));
        if index.is_some() && reads.iter().any(|other| (other.array, other.index) == (array, index)) {
            continue;
        }
        let mut found = Found { array, index, map: IndexMap::Data, inside: false, own: false };
        if let Some(index) = index {
            let (lambda, sizes) = (graph.analysis.functions.get(index), &graph.analysis.tables.sizes);
            found.map = IndexMap::of(lambda, extents, sizes);
            found.inside = Indices::of(lambda, Some(extents), sizes).inside(&lambda.results, &of);
            found.own = found.map == IndexMap::Identity && graph.within(extents, &of);
        }
        reads.push(found);
    }
    Some(reads)
}

/// The function of the own index that an index is; none where it reads an array.
fn index_function(graph: &mut Graph, f: &Lambda, index: &[ScalarOperand]) -> Option<FunctionId> {
    let of_index = Lambda { results: index.to_vec(), ..f.clone() };
    let mut composer = LambdaBuilder::sharing();
    let params = composer.params(f.params.iter().map(|param| param.ty));
    let results = composer.call(&of_index, &params);
    let lambda = composer.finish_needed(&results);
    let mut reads = false;
    let scalar = |id: ArrayId| graph.analysis.tables.types.get(&id).is_some_and(|ty| ty.rank() == 0);
    lambda.outer_uses(&mut |id| reads |= !scalar(id));
    (!reads).then(|| graph.analysis.functions.intern(lambda))
}

/// A function with a parameter for each read, after those of its index; and how many these are.
fn with_elements(graph: &Graph, f: &Lambda, reads: &[Read]) -> (Lambda, usize) {
    let functions = &graph.analysis.functions;
    let mut composer = LambdaBuilder::sharing();
    let own = composer.params(f.params.iter().map(|param| param.ty));
    let element = |read: &Read| graph.analysis.tables.types.get(&read.array).map(|ty| ty.element);
    let elements = composer.params(reads.iter().map(|read| element(read).unwrap_or(ElementType::I64)));
    let results = call_reading(&mut composer, f, &own, &mut |composer, array, index| {
        // An index that is computed again is the same instruction.
        let mut same = |read: &Read| read.index.is_some_and(|of| composer.call(functions.get(of), &own) == index);
        let of_array = reads.iter().zip(&elements).filter(|(read, _)| read.array == array);
        of_array.into_iter().find_map(|(read, &element)| same(read).then_some(element))
    });
    (composer.finish_needed(&results), own.len())
}

/// The own index, of some dimensions.
pub(crate) fn own_index(rank: usize, dims: &[usize]) -> Lambda {
    let mut f = LambdaBuilder::sharing();
    let params = f.params((0..rank).map(|_| ElementType::I64));
    let results: Vec<ScalarOperand> = dims.iter().map(|&dim| params[dim]).collect();
    f.finish_needed(&results)
}
