//! Laws of elements read by index in a function: the producer's code stands where its element was read.

use std::collections::BTreeSet;

use egg::Id;
use fusebox_ir::{ArrayId, ElementType, Lambda, LocalId, Place, ScalarOp, ScalarOperand, ScalarPart};

use crate::{
    checks,
    functions::{Composer, FunctionId, read_arrays},
    graph::{Graph, Kind, Source, Term},
    index::{Indices, Range},
    rules::{Meeting, Met, Refused, UNPROVED, as_indexed, range_pays},
};

/// The work of an index function that counts: arithmetic of indices is done beside loads and costs nothing, reads do.
pub(crate) fn dear_work(graph: &Graph<'_>, index: FunctionId) -> u64 {
    let work = graph.functions.work(index);
    if work <= 16 && read_arrays(graph.functions.get(index)).is_empty() { 0 } else { work }
}

/// `(map g x)[i]` is `g(x[i])`.
pub(crate) fn of_map(graph: &mut Graph<'_>, m: &Meeting<'_>) -> Result<Met, Refused> {
    let Kind::Map { f: g } = m.producer.kind else { return Err(String::new()) };
    let covered = graph.cover(&m.producer.sources, &m.producer.extents);
    replaced(graph, m, g, None, covered)
}

/// `(generate g)[i]` is `g(i)`.
pub(crate) fn of_generate(graph: &mut Graph<'_>, m: &Meeting<'_>) -> Result<Met, Refused> {
    let Kind::Generate { f: g } = m.producer.kind else { return Err(String::new()) };
    replaced(graph, m, g, None, false)
}

/// `(transform p g x)[i]` is `g(x[p(i)])`.
pub(crate) fn of_indexed(graph: &mut Graph<'_>, m: &Meeting<'_>) -> Result<Met, Refused> {
    let Some((index, g)) = as_indexed(graph, m.producer) else { return Err(String::new()) };
    replaced(graph, m, g, Some(index), false)
}

fn replaced(
    graph: &mut Graph<'_>,
    m: &Meeting<'_>,
    g: FunctionId,
    inner: Option<FunctionId>,
    covered: bool,
) -> Result<Met, Refused> {
    let (f, over) = match &m.consumer.kind {
        Kind::Generate { f } => (*f, Some(&m.consumer.extents[..])),
        Kind::Map { f } => (*f, None),
        _ => return Err(String::new()),
    };
    if m.consumer.sources.iter().any(|source| source.class == m.of) {
        return Err("its user traverses it too".to_owned());
    }
    if let Some(&source) = m.producer.sources.iter().find(|source| !manifest(graph, source.class)) {
        let name = graph.name(graph.array(source));
        return Err(format!("its source `{name}` would have to be stored to be read by index"));
    }
    let arrays = graph.class(m.of).arrays.clone();
    let reads = reads_of(graph.functions.get(f), &arrays, over, m.producer.extents.len(), graph)?;
    let work = graph.functions.work(g) + inner.map_or(0, |inner| dear_work(graph, inner));
    range_pays(graph, reads.range, work, m.producer, reads.count)?;
    let used: Vec<usize> = read_arrays(graph.functions.get(f))
        .into_iter()
        .filter_map(|array| arrays.iter().position(|&other| other == array))
        .collect();
    let read = m.producer.sources.is_empty() || checks::looks_at_some(graph, g, &used);
    let inside = (covered && read) || reads_inside(graph, f, over, &arrays, m.producer);
    if !inside {
        return Err(UNPROVED.to_owned());
    }
    // An index that may fail must still be computed: it goes into the index of another read, or the function looks at it.
    let follows = match inner {
        Some(inner) => checks::follows_all(graph, inner) && read,
        None if m.producer.sources.is_empty() => checks::looks_at_all(graph, g, &used),
        None => read,
    };
    if !follows && checks::read_index_can_fail(graph.functions.get(f), &|array| arrays.contains(&array)) {
        return Err(checks::UNREAD.to_owned());
    }
    if !used.iter().all(|&result| checks::sources_suffice(graph, m.producer, result)) {
        return Err(UNPROVED.to_owned());
    }
    let functions = &graph.functions;
    let mut composer = Composer::default();
    let lambda = functions.get(f);
    let params: Vec<ScalarOperand> = lambda.params.iter().map(|param| composer.param(param.ty)).collect();
    let results = composer.call_reading(lambda, &params, &mut |composer, array, index| {
        let component = arrays.iter().position(|&other| other == array)?;
        let index = match inner {
            Some(inner) => composer.call(functions.get(inner), index),
            None => index.to_vec(),
        };
        let arguments = if m.producer.sources.is_empty() {
            index
        } else {
            m.producer.sources.iter().map(|&source| element(graph, composer, source, &index)).collect()
        };
        Some(composer.call(functions.get(g), &arguments)[component])
    });
    let lambda = composer.finish(&results);
    let f = graph.functions.intern(lambda);
    let kind = match m.consumer.kind {
        Kind::Generate { .. } => Kind::Generate { f },
        _ => Kind::Map { f },
    };
    Ok(Met { term: Term { kind, ..m.consumer.clone() }, absorbed: BTreeSet::from([m.of]) })
}

fn element(graph: &Graph<'_>, composer: &mut Composer, source: Source, index: &[ScalarOperand]) -> ScalarOperand {
    let read = ScalarOp::Read { array: graph.array(source), index: index.to_vec() };
    composer.one(read, graph.element(source), &Place::default())
}

/// Whether an array is stored whatever happens.
fn manifest(graph: &Graph<'_>, class: Id) -> bool {
    graph.is_leaf(class) && graph.class(class).manifest
}

struct Reads {
    count: u64,
    range: Range,
}

/// How often, and how, a function reads arrays of rank `rank`; `over` are the extents of its parameters where these are an index.
fn reads_of(
    f: &Lambda,
    arrays: &[ArrayId],
    over: Option<&[fusebox_ir::Extent]>,
    rank: usize,
    graph: &Graph<'_>,
) -> Result<Reads, Refused> {
    let indices = Indices::of(f, over, graph.sizes);
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
                return Err("it is read by its position in memory".to_owned());
            }
            if in_loop {
                return Err("it is read in a loop, as often as that turns".to_owned());
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
        return Err("its user needs it otherwise than by elements".to_owned());
    }
    Ok(reads)
}

/// Whether all reads are proved to lie inside of the producer's extents.
fn reads_inside(
    graph: &Graph<'_>,
    f: FunctionId,
    over: Option<&[fusebox_ir::Extent]>,
    arrays: &[ArrayId],
    producer: &Term,
) -> bool {
    let lambda = graph.functions.get(f);
    let indices = Indices::of(lambda, over, graph.sizes);
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

/// A generate that reads each array at its own index alone, as a map over them: what is traversed fuses, what is read by index does not.
pub(crate) fn as_map(
    graph: &mut Graph<'_>,
    extents: &[fusebox_ir::Extent],
    f: &Lambda,
) -> Option<(Lambda, Vec<ArrayId>)> {
    let arrays = read_arrays(f);
    if arrays.is_empty() || extents.is_empty() {
        return None;
    }
    let fits = |array: &ArrayId| {
        graph.types.get(array).is_some_and(|ty| {
            ty.inner.is_empty() && !ty.stream && ty.rank() == extents.len() && graph.within(extents, &ty.extents)
        })
    };
    if !arrays.iter().all(fits) {
        return None;
    }
    let mut composer = Composer::default();
    let params: Vec<ScalarOperand> = arrays
        .iter()
        .map(|array| composer.param(graph.types.get(array).map_or(ElementType::I64, |ty| ty.element)))
        .collect();
    let mut elsewhere = false;
    let strangers: Vec<ScalarOperand> = (0..f.params.len() as u32).map(|i| LocalId(u32::MAX - i).into()).collect();
    let results = composer.call_reading(f, &strangers, &mut |_, array, at| {
        if at == &strangers[..] {
            return arrays.iter().position(|&other| other == array).map(|at| params[at]);
        }
        elsewhere = true;
        None
    });
    if elsewhere {
        return None;
    }
    // The index itself must not be needed: it stood under ids that this function does not define.
    let lambda = composer.finish(&results);
    let mut defined: BTreeSet<_> = lambda.params.iter().map(|param| param.id).collect();
    let mut bodies = vec![&lambda];
    let mut uses = Vec::new();
    while let Some(body) = bodies.pop() {
        defined.extend(body.params.iter().map(|param| param.id));
        uses.extend(body.results.iter().copied());
        for instruction in &body.instructions {
            defined.extend(instruction.results.iter().map(|local| local.id));
            for part in instruction.op.parts() {
                match part {
                    ScalarPart::Operand(operand) => uses.push(*operand),
                    ScalarPart::Array(_) => {}
                    ScalarPart::Body(inner) => bodies.push(inner),
                }
            }
        }
    }
    let own = uses.iter().all(|operand| !matches!(operand, ScalarOperand::Local(id) if !defined.contains(id)));
    own.then_some((lambda, arrays))
}
