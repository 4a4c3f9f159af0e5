//! What operations check of extents and indices, and whether it is still checked where a law makes one operation of two.
//!
//! An operation checks its own extents, and those of the arrays that it needs, before it makes an element. A function that does not look at a
//! source does not need it, so where a law takes the producer between them away, the check of it would go too. A law applies only where all
//! that both checked is proved, or checked by what the law makes.

use egg::Id;
use fusebox_ir::{
    ArrayId, Extent, Instruction, Lambda, LocalId, ScalarOp, ScalarOperand, ScalarPart,
    analysis::{Answer, Size, certain_params, instruction_can_fail, possible_params},
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    functions::FunctionId,
    graph::{Classes, Graph},
    language::{Operation, Shape, Source},
    reason::Reason,
};

/// Sums that differ by less do not wrap: no array has extents near it.
const SMALL: i64 = 1 << 32;

/// Something that an operation checks of extents.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Check {
    NotNegative(Extent),
    AtMost(Extent, Extent),
}

/// The sources that a result needs: they are computed, with all their checks, before it is.
fn needed(graph: &Graph, operation: &Operation, result: usize) -> Vec<Source> {
    match operation.shape {
        Shape::Map | Shape::Transform => {
            let needs = possible_params(graph.analysis.functions.get(operation.of_elements()), result);
            operation.sources().zip(needs).filter_map(|(source, needs)| needs.then_some(source)).collect()
        }
        Shape::Backpermute | Shape::Replicate | Shape::Slice | Shape::Reshape => {
            operation.sources().nth(result).into_iter().collect()
        }
        // A stencil reads what it taps element by element.
        Shape::Generate | Shape::Stencil => Vec::new(),
    }
}

/// What an operation checks of extents for a result, itself. That extents are equal, or have as many elements, laws prove before.
fn checks(graph: &Graph, operation: &Operation, result: usize) -> Vec<Check> {
    let mut checks: Vec<Check> = match operation.shape {
        // The extents of a slice are those of its source.
        Shape::Slice => Vec::new(),
        _ => operation.extents.iter().map(|&extent| Check::NotNegative(extent)).collect(),
    };
    if operation.shape == Shape::Map {
        for source in needed(graph, operation, result) {
            let available = &graph.ty(source).extents;
            checks.extend(operation.extents.iter().zip(available).map(|(&extent, &of)| Check::AtMost(extent, of)));
        }
    }
    checks
}

/// What is known where an operation gives a result.
#[derive(Default)]
struct Given {
    checks: Vec<Check>,
    /// The extents of arrays that exist there.
    arrays: Vec<Vec<Extent>>,
}

impl Given {
    fn by(graph: &Graph, operation: &Operation, result: usize) -> Self {
        let mut given = Self { checks: checks(graph, operation, result), arrays: vec![operation.extents.clone()] };
        for source in needed(graph, operation, result) {
            let extents = graph.ty(source).extents.clone();
            given.checks.extend(extents.iter().map(|&extent| Check::NotNegative(extent)));
            given.arrays.push(extents);
        }
        given
    }

    /// Whether a size is how many elements one of the arrays has: never less than none, although a product of sizes may wrap.
    fn counts(&self, graph: &mut Graph, size: &Size) -> bool {
        self.arrays.iter().any(|extents| elements_of(graph, extents).as_ref() == Some(size))
    }
}

/// How many elements an array of these extents has.
pub(crate) fn elements_of(graph: &mut Graph, extents: &[Extent]) -> Option<Size> {
    let mut product = Size::constant(1);
    for &extent in extents {
        let size = graph.size(extent)?;
        product = graph.analysis.tables.sizes.product(&product, &size);
    }
    Some(product)
}

/// Whether a check cannot fail, or what is given fails where it would.
fn implied(graph: &Graph, check: Check, given: &Given) -> bool {
    let proved = |answer: Answer| answer == Answer::Proved;
    let at_most = |a: Extent, b: Extent| a == b || proved(graph.analysis.tables.sizes.at_most(a, b));
    let above = |low: Extent, high: Extent| {
        let (Some(low_size), Some(high_size)) = (graph.size(low), graph.size(high)) else { return false };
        match high_size.plus(&low_size, -1).as_constant() {
            Some(difference) => (0..SMALL).contains(&difference),
            None => at_most(low, high),
        }
    };
    let mut given_checks = given.checks.iter();
    match check {
        Check::NotNegative(extent) => {
            proved(graph.analysis.tables.sizes.not_negative(extent))
                || given_checks.any(|given| matches!(given, Check::NotNegative(other) if above(*other, extent)))
        }
        Check::AtMost(a, b) => {
            at_most(a, b)
                || given_checks
                    .any(|given| matches!(given, Check::AtMost(low, high) if at_most(a, *low) && at_most(*high, b)))
        }
    }
}

/// Whether all that a consumer and the producers that it took in checked of extents is proved, or checked by what was made of them.
pub(crate) fn kept(
    graph: &mut Graph,
    consumer: &Operation,
    producers: &[(Id, &Operation)],
    made: &Operation,
) -> Result<(), Reason> {
    kept_with(graph, consumer, producers, made, false)
}

/// As [`kept`] for a run of maps, which need one another at the same place.
pub(crate) fn kept_of_run(
    graph: &mut Graph,
    consumer: &Operation,
    producers: &[(Id, &Operation)],
    made: &Operation,
) -> Result<(), Reason> {
    kept_with(graph, consumer, producers, made, true)
}

fn kept_with(
    graph: &mut Graph,
    consumer: &Operation,
    producers: &[(Id, &Operation)],
    made: &Operation,
    nested: bool,
) -> Result<(), Reason> {
    let by_class: FxHashMap<Id, &Operation> = producers.iter().copied().collect();
    for result in 0..consumer.elements.len() {
        let given = Given::by(graph, made, result);
        let mut wanted = checks(graph, consumer, result);
        let mut seen: FxHashSet<Source> = FxHashSet::default();
        let mut sources = needed(graph, consumer, result);
        while let Some(source) = sources.pop() {
            if let (Some(producer), true) = (by_class.get(&source.class), seen.insert(source)) {
                wanted.extend(checks(graph, producer, source.component));
                if nested {
                    sources.extend(needed(graph, producer, source.component));
                }
            }
        }
        let mut asked: FxHashSet<Check> = FxHashSet::default();
        wanted.retain(|&check| asked.insert(check));
        let counted = |graph: &mut Graph, check: Check| match check {
            Check::NotNegative(extent) => graph.size(extent).is_some_and(|size| given.counts(graph, &size)),
            Check::AtMost(..) => false,
        };
        if !wanted.into_iter().all(|check| implied(graph, check, &given) || counted(graph, check)) {
            return Err(Reason::Forgotten);
        }
    }
    Ok(())
}

/// Whether nothing that a result of a producer checks of its sources can fail.
pub(crate) fn sources_suffice(graph: &Graph, producer: &Operation, result: usize) -> bool {
    let checks = checks(graph, producer, result).into_iter();
    checks.filter(|check| matches!(check, Check::AtMost(..))).all(|check| implied(graph, check, &Given::default()))
}

/// Whether no extent of an operation can be negative.
pub(crate) fn not_negative(graph: &Graph, operation: &Operation) -> bool {
    operation.extents.iter().all(|&extent| implied(graph, Check::NotNegative(extent), &Given::default()))
}

/// Whether a result of an operation needs none of its sources.
pub(crate) fn ignores_sources(graph: &Graph, f: FunctionId, result: usize) -> bool {
    !possible_params(graph.analysis.functions.get(f), result).contains(&true)
}

/// The results of a producer that a consumer has as sources.
pub(crate) fn used_of(consumer: &Operation, producer: Id) -> Vec<usize> {
    let of = consumer.sources().filter(|source| source.class == producer);
    of.map(|source| source.component).collect()
}

/// Whether every call of a function for any of these results looks at one of its parameters.
pub(crate) fn looks_at_some(graph: &Graph, f: FunctionId, results: &[usize]) -> bool {
    let f = graph.analysis.functions.get(f);
    results.iter().all(|&result| certain_params(f, result).contains(&true))
}

/// Whether every call of a function for any of these results looks at all of its parameters.
pub(crate) fn looks_at_all(graph: &Graph, f: FunctionId, results: &[usize]) -> bool {
    let f = graph.analysis.functions.get(f);
    results.iter().all(|&result| !certain_params(f, result).contains(&false))
}

/// Whether every call of an index function, of which all results are wanted, looks at all of its parameters.
pub(crate) fn follows_all(graph: &Graph, index: FunctionId) -> bool {
    let f = graph.analysis.functions.get(index);
    let certain: Vec<Vec<bool>> = (0..f.results.len()).map(|result| certain_params(f, result)).collect();
    (0..f.params.len()).all(|param| certain.iter().any(|certain| certain[param]))
}

/// Whether computing some index of a read of these arrays may fail in a function.
pub(crate) fn read_index_can_fail(f: &Lambda, is_read: &dyn Fn(ArrayId) -> bool) -> bool {
    let mut made_by: FxHashMap<LocalId, &Instruction> = FxHashMap::default();
    let mut wanted: Vec<ScalarOperand> = Vec::new();
    let mut bodies = vec![f];
    while let Some(body) = bodies.pop() {
        for instruction in &body.instructions {
            made_by.extend(instruction.results.iter().map(|local| (local.id, instruction)));
            match &instruction.op {
                ScalarOp::Read { array, index } if is_read(*array) => wanted.extend(index),
                ScalarOp::ReadFlat { array, position } if is_read(*array) => wanted.push(*position),
                _ => {}
            }
            bodies.extend(instruction.op.parts().into_iter().filter_map(|part| match part {
                ScalarPart::Body(body) => Some(body),
                _ => None,
            }));
        }
    }
    let mut seen = FxHashSet::default();
    while let Some(operand) = wanted.pop() {
        let ScalarOperand::Local(id) = operand else { continue };
        let (true, Some(instruction)) = (seen.insert(id), made_by.get(&id)) else { continue };
        if instruction_can_fail(instruction) {
            return true;
        }
        let mut operations = vec![&instruction.op];
        while let Some(op) = operations.pop() {
            for part in op.parts() {
                match part {
                    ScalarPart::Operand(operand) => wanted.push(*operand),
                    ScalarPart::Array(_) => {}
                    ScalarPart::Body(body) => {
                        wanted.extend(&body.results);
                        operations.extend(body.instructions.iter().map(|inner| &inner.op));
                    }
                }
            }
        }
    }
    false
}

/// Whether what a map reads of a map exists, of its sources too.
pub(crate) fn fits(graph: &Graph, consumer: &Operation, producer: &Operation) -> bool {
    graph.within(&consumer.extents, &producer.extents) || graph.cover(producer.sources(), &producer.extents)
}
