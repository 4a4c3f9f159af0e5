//! What each operation means: a table; the meanings are in the files beside.

mod consume;
mod control;
mod elementwise;
mod expand;
mod fold;
mod permute;
mod scan;
mod segments;
mod shape;
mod sort;
mod stencil;

pub(crate) use self::{sort::compare, stencil::mirror};
use fusebox_ir::{ArrayId, ArrayOp, Binding, Constant, ElementType, Operand};

use crate::{
    evaluate::Evaluator,
    scalar::{Function, Stop},
    val::{self, Val},
};

/// Computed results of an operation: which, and the value.
type Computed = Result<Vec<(usize, Val)>, Stop>;

/// What every evaluation of an operation sees.
#[derive(Clone, Copy)]
struct Context<'a, 'p> {
    evaluator: &'a Evaluator<'p>,
    binding: &'p Binding,
    /// The result that is needed. Others may come along if they need nothing more.
    wanted: usize,
}

/// Computes one result of an operation, and others that need nothing more.
pub(crate) fn evaluate<'p>(evaluator: &Evaluator<'p>, binding: &'p Binding, wanted: usize) -> Computed {
    let context = Context { evaluator, binding, wanted };
    match &binding.op {
        ArrayOp::Constant { extents, values } => shape::constant(context, extents, values),
        ArrayOp::Unit { f } => elementwise::unit(context, f),
        ArrayOp::Compute { sources } => Ok(vec![(wanted, evaluator.value(sources[wanted])?)]),
        ArrayOp::Generate { extents, f } => elementwise::generate(context, extents, f),
        ArrayOp::Map { f, sources } => elementwise::map(context, f, sources),
        ArrayOp::Backpermute { extents, f, sources } => elementwise::backpermute(context, extents, f, sources),
        ArrayOp::Transform { extents, index, f, sources } => {
            elementwise::transform(context, extents, index, f, sources)
        }
        ArrayOp::Replicate { dims, sources } => shape::replicate(context, dims, sources),
        ArrayOp::ReplicateSegments { extent, sources, offsets } => {
            segments::replicate(context, *extent, sources, *offsets)
        }
        ArrayOp::Slice { dims, sources } => shape::slice(context, dims, sources),
        ArrayOp::Reshape { extents, sources } => shape::reshape(context, extents, sources),
        ArrayOp::Concat { sources, dim } => shape::concat(context, sources, *dim),
        ArrayOp::Fold { combine, seeds, sources, offsets, commutes: _ } => {
            fold::fold(context, combine, seeds, sources, *offsets)
        }
        ArrayOp::Scan { direction, form, combine, seeds, sources, offsets, commutes: _ } => {
            scan::scan(context, *direction, *form, combine, seeds, sources, *offsets)
        }
        ArrayOp::Permute { combine, defaults, values, targets, keep, order } => {
            permute::permute(context, &permute::Arrays { defaults, values, targets, keep: *keep }, combine, *order)
        }
        ArrayOp::Expand { size, get, sources } => expand::expand(context, size, get, sources),
        ArrayOp::PermutedExpand { size, get, combine, defaults, sources, order } => {
            expand::permuted_expand(context, size, get, combine, defaults, sources, *order)
        }
        ArrayOp::Filter { keep, sources } => expand::filter(context, keep, sources),
        ArrayOp::Sort { keys, carry } => sort::sort(context, keys, carry),
        ArrayOp::Stencil { f, taps, boundaries } => stencil::stencil(context, f, taps, boundaries),
        ArrayOp::Nest { extents, body } => control::nest(context, extents, body),
        ArrayOp::Element { source, index } => control::element(context, *source, index),
        ArrayOp::Cond { condition, then, otherwise } => control::cond(context, *condition, then, otherwise),
        ArrayOp::While { condition, step, starts } => control::run_while(context, condition, step, starts),
        ArrayOp::Foreign { name: _, fallback, arguments } => control::foreign(context, fallback, arguments),
        ArrayOp::Consume { limit, body, sinks, streams, chunks } => {
            consume::consume(context, *limit, body, sinks, streams, *chunks)
        }
        ArrayOp::Cluster { body, marks: _, order: _ } => {
            Ok(vec![(wanted, evaluator.block(body, &[], [wanted])?.remove(0))])
        }
    }
}

/// Values that a result needs whatever branches are taken; the rest is found when met.
///
/// Only what saves deep evaluation has to be here: chains of operations over whole arrays.
pub(crate) fn certainly_needs(op: &ArrayOp, wanted: usize) -> Vec<ArrayId> {
    let operands = |operands: &[Operand]| operands.iter().filter_map(value).collect::<Vec<_>>();
    match op {
        ArrayOp::Compute { sources } | ArrayOp::Replicate { sources, .. } | ArrayOp::Reshape { sources, .. } => {
            vec![sources[wanted]]
        }
        ArrayOp::Slice { sources, .. }
        | ArrayOp::Backpermute { sources, .. }
        | ArrayOp::ReplicateSegments { sources, .. } => vec![sources[wanted]],
        ArrayOp::Concat { sources, .. } => sources.clone(),
        ArrayOp::Map { f, sources } | ArrayOp::Transform { f, sources, .. } => {
            Function::new(f).needs(&[wanted]).into_iter().map(|i| sources[i]).collect()
        }
        ArrayOp::Unit { f } => certain_outer_scalars(f, wanted),
        ArrayOp::Fold { sources, .. } | ArrayOp::Scan { sources, .. } if sources.len() == 1 => sources.clone(),
        ArrayOp::Filter { sources, .. } if sources.len() == 1 => sources.clone(),
        ArrayOp::Sort { keys, .. } => keys.clone(),
        ArrayOp::Element { source, .. } => vec![*source],
        ArrayOp::While { starts, .. } => operands(starts),
        ArrayOp::Cond { condition, .. } => value(condition).into_iter().collect(),
        _ => Vec::new(),
    }
}

fn value(operand: &Operand) -> Option<ArrayId> {
    match operand {
        Operand::Value(id) => Some(*id),
        Operand::Constant(_) => None,
    }
}

/// Scalars from outside that one result of a unit of a single, strict instruction needs: chains of sizes are long in generated programs.
fn certain_outer_scalars(f: &fusebox_ir::Lambda, wanted: usize) -> Vec<ArrayId> {
    use fusebox_ir::{Binary, ScalarOp, ScalarOperand};
    let outer = |operand: &ScalarOperand| match operand {
        ScalarOperand::Outer(id) => Some(*id),
        _ => None,
    };
    match (f.results[wanted], f.instructions.as_slice()) {
        (ScalarOperand::Outer(id), _) => vec![id],
        (ScalarOperand::Local(_), [only]) => match &only.op {
            ScalarOp::Binary { function, a, b } if !matches!(function, Binary::LogicalAnd | Binary::LogicalOr) => {
                [a, b].into_iter().filter_map(outer).collect()
            }
            ScalarOp::Unary { a, .. } | ScalarOp::Convert { a, .. } => outer(a).into_iter().collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}

impl<'p> Context<'_, 'p> {
    /// The name of the wanted result.
    fn name(&self) -> String {
        self.evaluator.name(self.binding.results[self.wanted].id)
    }

    /// The element type of a result.
    fn element(&self, result: usize) -> ElementType {
        self.binding.results[result].ty.element
    }

    /// Extents given as operands, checked.
    fn extents(&self, extents: &[Operand]) -> Result<Vec<i64>, Stop> {
        Ok(val::checked(&self.name(), self.evaluator.integers(extents)?)?)
    }

    /// The extents of the wanted result as its type declares them, checked.
    fn declared_extents(&self) -> Result<Vec<i64>, Stop> {
        let extents = self.evaluator.extents(&self.binding.results[self.wanted].ty.extents)?;
        Ok(val::checked(&self.name(), extents)?)
    }

    /// The wanted result, each element by its index.
    fn tabulate(&self, extents: Vec<i64>, mut element: impl FnMut(&[i64]) -> Result<Constant, Stop>) -> Computed {
        let size = val::count(&extents);
        let mut scalars = Vec::new();
        for position in 0..size {
            scalars.push(element(&val::index(&extents, position))?);
        }
        Ok(vec![(self.wanted, Val::new(self.element(self.wanted), extents, scalars))])
    }

    /// Arrays of equal extents.
    fn equal_extents(&self, ids: &[ArrayId]) -> Result<Vec<Val>, Stop> {
        let arrays: Vec<Val> = ids.iter().map(|&id| self.evaluator.value(id)).collect::<Result<_, _>>()?;
        for (id, array) in ids.iter().zip(&arrays).skip(1) {
            for (&left_extent, &right_extent) in arrays[0].extents.iter().zip(&array.extents) {
                if left_extent != right_extent {
                    let (left, right) = (self.evaluator.name(ids[0]), self.evaluator.name(*id));
                    return Err(fusebox_ir::Fault::Sizes { left, left_extent, right, right_extent }.into());
                }
            }
        }
        Ok(arrays)
    }

    /// Which of k components of a combining function of 2k parameters are needed for one of them.
    fn components(&self, combine: &Function<'_>, wanted: usize) -> Vec<usize> {
        let k = combine.results();
        let mut components = vec![wanted];
        loop {
            let mut needed: Vec<usize> = combine.needs(&components).into_iter().map(|param| param % k).collect();
            needed.extend(&components);
            needed.sort_unstable();
            needed.dedup();
            if needed == components {
                return components;
            }
            components = needed;
        }
    }

    /// `combine(left, right)` of some components; the two sides have the components in the same order.
    fn combine(
        &self,
        combine: &Function<'_>,
        components: &[usize],
        left: &[Constant],
        right: &[Constant],
    ) -> Result<Vec<Constant>, Stop> {
        let k = combine.results();
        let argument = |param: usize| {
            let side = if param < k { left } else { right };
            let at = components.iter().position(|&c| c == param % k);
            Ok(side[at.unwrap_or_else(|| unreachable!("components are closed under need"))])
        };
        combine.call(self.evaluator, &argument, components.iter().copied())
    }
}
