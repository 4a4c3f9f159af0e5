//! Laws of elements read by index in a function: the producer's code stands where its element was read.

use egg::Id;
use fusebox_ir::{
    ArrayId, Emit, Extent, Lambda, LambdaBuilder, Local, Place, ScalarOp, ScalarOperand, ScalarPart, ScalarValue,
    inline,
};

use crate::{
    checks,
    compose::as_indexed,
    functions::FunctionId,
    graph::{Classes, Graph},
    index::{Indices, Range},
    language::{Operation, Shape, Source},
    meeting::{Meeting, Outcome, met_unchecked},
    producers::range_pays,
    reason::Reason,
};

/// `(map g x)[i]` is `g(x[i])`.
pub(crate) fn of_map(graph: &mut Graph, m: &Meeting<'_>) -> Outcome {
    let covered = graph.cover(m.producer.sources(), &m.producer.extents);
    replaced(graph, m, m.producer.of_elements(), None, covered)
}

/// `(generate g)[i]` is `g(i)`.
pub(crate) fn of_generate(graph: &mut Graph, m: &Meeting<'_>) -> Outcome {
    replaced(graph, m, m.producer.of_elements(), None, false)
}

/// `(transform p g x)[i]` is `g(x[p(i)])`.
pub(crate) fn of_indexed(graph: &mut Graph, m: &Meeting<'_>) -> Outcome {
    let (index, g) = as_indexed(graph, m.producer);
    replaced(graph, m, g, Some(index), false)
}

fn replaced(graph: &mut Graph, m: &Meeting<'_>, g: FunctionId, inner: Option<FunctionId>, covered: bool) -> Outcome {
    let f = m.consumer.of_elements();
    // The parameters of a map are elements, not an index.
    let over = (m.consumer.shape == Shape::Generate).then_some(&m.consumer.extents[..]);
    if m.consumer.sources().any(|source| source.class == m.of) {
        return Err(Reason::TraversedToo);
    }
    if let Some(source) = m.producer.sources().find(|source| !can_be_read(graph, source.class)) {
        return Err(Reason::WouldBeStored(graph.name_of(graph.array(source))));
    }
    let arrays = graph.facts(m.of).arrays.clone();
    let functions = &graph.analysis.functions;
    let reads = reads_of(functions.get(f), &arrays, over, m.producer.extents.len(), graph)?;
    range_pays(graph, reads.range, m.known, m.producer, reads.count)?;
    let no_sources = m.producer.sources().len() == 0;
    let used: Vec<usize> = functions
        .get(f)
        .arrays_read()
        .into_iter()
        .filter_map(|array| arrays.iter().position(|&other| other == array))
        .collect();
    let read = no_sources || checks::looks_at_some(graph, g, &used);
    let inside = (covered && read) || reads_inside(graph, f, over, &arrays, m.producer);
    if !inside {
        return Err(Reason::Unproved);
    }
    // An index that may fail must still be computed: it goes into the index of another read, or the function looks at it.
    let follows = match inner {
        Some(inner) => checks::follows_all(graph, inner) && read,
        None if no_sources => checks::looks_at_all(graph, g, &used),
        None => read,
    };
    if !follows && checks::read_index_can_fail(graph.analysis.functions.get(f), &|array| arrays.contains(&array)) {
        return Err(Reason::Unread);
    }
    if !used.iter().all(|&result| checks::sources_suffice(graph, m.producer, result)) {
        return Err(Reason::Unproved);
    }
    let functions = &graph.analysis.functions;
    let mut composer = LambdaBuilder::sharing();
    let lambda = functions.get(f);
    let params = composer.params(lambda.params.iter().map(|param| param.ty));
    let results = call_reading(&mut composer, lambda, &params, &mut |composer, array, index| {
        let component = arrays.iter().position(|&other| other == array)?;
        let index = match inner {
            Some(inner) => composer.call(functions.get(inner), index),
            None => index.to_vec(),
        };
        let arguments = if no_sources {
            index
        } else {
            m.producer.sources().map(|source| element(graph, composer, source, &index)).collect()
        };
        Some(composer.call(functions.get(g), &arguments)[component])
    });
    let lambda = composer.finish_needed(&results);
    let f = graph.analysis.functions.intern(lambda);
    let sources = m.consumer.source_list();
    Ok(met_unchecked(m, m.consumer.like(m.consumer.shape).function(f).reading(&sources)))
}

/// An element of an array, read by index.
pub(crate) fn element(
    graph: &Graph,
    composer: &mut LambdaBuilder,
    source: Source,
    index: &[ScalarOperand],
) -> ScalarOperand {
    let index: Vec<ScalarValue> = index.iter().copied().map(ScalarValue::int).collect();
    composer.read(graph.array(source), graph.element(source), &index).operand
}

/// Stands for a read while a function is copied: `None` leaves the read as it is.
type Reader<'a> = dyn FnMut(&mut LambdaBuilder, ArrayId, &[ScalarOperand]) -> Option<ScalarOperand> + 'a;

/// Code to which functions are copied with their reads replaced.
struct Reading<'c, 'r> {
    code: &'c mut LambdaBuilder,
    reader: &'c mut Reader<'r>,
}

impl Emit for Reading<'_, '_> {
    fn emit(&mut self, op: ScalarOp, results: &[Local], place: &Place) -> Vec<ScalarOperand> {
        let read = match &op {
            ScalarOp::Read { array, index } => (self.reader)(self.code, *array, index),
            ScalarOp::ReadFlat { array, position } => (self.reader)(self.code, *array, &[*position]),
            _ => None,
        };
        read.map_or_else(|| self.code.emit(op, results, place), |value| vec![value])
    }

    fn open(&mut self, params: &[Local]) -> Vec<ScalarOperand> {
        self.code.open(params)
    }

    fn close(&mut self, results: Vec<ScalarOperand>) -> Lambda {
        self.code.close(results)
    }
}

/// The results of a function for these arguments, with its reads replaced.
pub(crate) fn call_reading(
    code: &mut LambdaBuilder,
    f: &Lambda,
    arguments: &[ScalarOperand],
    reader: &mut Reader<'_>,
) -> Vec<ScalarOperand> {
    inline(&mut Reading { code, reader }, f, arguments)
}

/// Whether an array is stored whatever happens.
pub(crate) fn manifest(graph: &Graph, class: Id) -> bool {
    graph.is_leaf(class) && graph.facts(class).manifest
}

/// Whether reading an array by index stores nothing more: it is stored whatever happens, or is that in other extents.
fn can_be_read(graph: &Graph, class: Id) -> bool {
    let reshaped = || {
        let form = graph.facts(class).forms.first().filter(|form| form.shape == Shape::Reshape)?;
        Some(graph.source_classes(form.node).into_iter().all(|of| manifest(graph, of)))
    };
    manifest(graph, class) || reshaped().unwrap_or(false)
}

struct Reads {
    count: u64,
    range: Range,
}

/// How often, and how, a function reads arrays of rank `rank`; `over` are the extents of its parameters where these are an index.
fn reads_of(
    f: &Lambda,
    arrays: &[ArrayId],
    over: Option<&[Extent]>,
    rank: usize,
    graph: &Graph,
) -> Result<Reads, Reason> {
    let indices = Indices::of(f, over, &graph.analysis.tables.sizes);
    let mut reads = Reads { count: 0, range: Range::Once };
    let mut seen: Vec<Vec<ScalarOperand>> = Vec::new();
    let mut bodies = vec![(f, false)];
    while let Some((body, in_loop)) = bodies.pop() {
        for instruction in &body.instructions {
            let turns = in_loop || matches!(instruction.op, ScalarOp::While { .. });
            for part in instruction.op.parts() {
                if let ScalarPart::Body(inner) = part {
                    bodies.push((inner, turns));
                }
            }
            let index = match &instruction.op {
                ScalarOp::Read { array, index } if arrays.contains(array) => index.clone(),
                ScalarOp::ReadFlat { array, position } if arrays.contains(array) => vec![*position],
                _ => continue,
            };
            if index.len() != rank {
                return Err(Reason::ByPosition);
            }
            if in_loop {
                return Err(Reason::InLoop);
            }
            let range = if over.is_some() { indices.range(&index) } else { indices.range(&index).max(Range::Repeats) };
            reads.range = reads.range.max(range);
            if !seen.contains(&index) {
                reads.count += 1;
                seen.push(index);
            }
        }
    }
    if reads.count == 0 {
        return Err(Reason::AsWhole);
    }
    Ok(reads)
}

/// Whether all reads are proved to lie inside of the producer's extents.
fn reads_inside(
    graph: &Graph,
    f: FunctionId,
    over: Option<&[Extent]>,
    arrays: &[ArrayId],
    producer: &Operation,
) -> bool {
    let lambda = graph.analysis.functions.get(f);
    let indices = Indices::of(lambda, over, &graph.analysis.tables.sizes);
    let mut bodies = vec![lambda];
    while let Some(body) = bodies.pop() {
        for instruction in &body.instructions {
            let inside = match &instruction.op {
                ScalarOp::Read { array, index } if arrays.contains(array) => indices.inside(index, &producer.extents),
                ScalarOp::ReadFlat { array, position } if arrays.contains(array) => {
                    indices.inside(&[*position], &producer.extents)
                }
                _ => true,
            };
            if !inside {
                return false;
            }
            bodies.extend(instruction.op.parts().into_iter().filter_map(|part| match part {
                ScalarPart::Body(body) => Some(body),
                _ => None,
            }));
        }
    }
    true
}
