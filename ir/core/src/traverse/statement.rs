//! What statements of kernels hold. Everything that walks kernels (uses, renaming, validation, counts) is a short loop over this.

use super::Parts;
use crate::{
    Access, Action, ArrayId, FailureKind, IndexMap, KernelArrayId, Lambda, Local, LocalId, ScalarOperand, ScalarPart,
    ScalarPartMut, Statement,
};

/// Something that a statement holds.
#[derive(Debug)]
pub enum StatementPart<'a> {
    /// An operand.
    Operand(&'a ScalarOperand),
    /// A local in an index.
    Index(&'a LocalId),
    /// An array, and what is done with it; reads by scalar code of a statement's own are among them.
    Array(KernelArrayId, Access),
    /// A function, a branch, a loop's condition or its step.
    Body(&'a Lambda),
    /// A local that it defines.
    Result(&'a Local),
}

/// Something that a statement holds, to change.
#[derive(Debug)]
pub enum StatementPartMut<'a> {
    /// As [`StatementPart::Operand`].
    Operand(&'a mut ScalarOperand),
    /// As [`StatementPart::Index`].
    Index(&'a mut LocalId),
    /// As [`StatementPart::Array`], but for reads by scalar code.
    Array(&'a mut KernelArrayId, Access),
    /// An array that scalar code of a statement's own reads, as the code names it ([`KernelArrayId::of_code`]).
    Read(&'a mut ArrayId),
    /// As [`StatementPart::Body`].
    Body(&'a mut Lambda),
    /// As [`StatementPart::Result`].
    Result(&'a mut Local),
}

macro_rules! statement_parts {
    ($when:expr, $action:expr, $part:ident, $scalar:ident, $iter:ident, $parts:ident, $operands:ident, $terms:ident, $array:expr, $read:expr) => {{
        use $part::{Body, Index, Operand, Result};
        let mut parts: Parts<$part<'_>> = $when.$iter().map(Operand).collect();
        match $action {
            Action::Load { result, array, map, outside, place: _ } => {
                parts.push($array(array, Access::Read));
                parts.extend($terms(map).map(Index));
                parts.extend(outside.$iter().map(Body));
                parts.push(Result(result));
            }
            Action::Scalar(instruction) => {
                parts.extend(instruction.op.$parts().into_iter().map(|part| match part {
                    $scalar::Operand(operand) => Operand(operand),
                    $scalar::Array(array) => $read(array),
                    $scalar::Body(body) => Body(body),
                }));
                parts.extend(instruction.results.$iter().map(Result));
            }
            Action::Check { condition, failure } => {
                parts.push(Operand(condition));
                parts.extend(failure.fault.$operands().into_iter().map(Operand));
            }
            Action::Reduce { results, to: _, association: _, combine, seeds, values } => {
                parts.extend(values.$iter().map(Operand));
                parts.extend(seeds.$iter().map(Operand));
                parts.push(Body(combine));
                parts.extend(results.$iter().map(Result));
            }
            Action::Scan { results, exclusive: _, totals, association: _, combine, seeds, values } => {
                parts.extend(values.$iter().map(Operand));
                parts.extend(seeds.$iter().map(Operand));
                parts.push(Body(combine));
                parts.extend(results.$iter().map(Result));
                parts.extend(totals.$iter().map(Result));
            }
            Action::Store { array, map, value } => {
                parts.push($array(array, Access::Write));
                parts.extend($terms(map).map(Index));
                parts.push(Operand(value));
            }
            Action::Append { arrays, count, values } => {
                parts.extend(arrays.$iter().map(|array| $array(array, Access::Write)));
                parts.push($array(count, Access::Write));
                parts.extend(values.$iter().map(Operand));
            }
            Action::Scatter { arrays, map, combine, values, order: _, place: _ } => {
                parts.extend(arrays.$iter().map(|array| $array(array, Access::Update)));
                parts.extend($terms(map).map(Index));
                parts.extend(values.$iter().map(Operand));
                parts.push(Body(combine));
            }
        }
        parts
    }};
}

impl Statement {
    /// Everything that this statement holds: what it uses before what it defines. Functions are not descended into.
    pub fn parts(&self) -> Parts<StatementPart<'_>> {
        let array = |id: &KernelArrayId, access| StatementPart::Array(*id, access);
        let read = |id: &ArrayId| StatementPart::Array(KernelArrayId::of_code(*id), Access::Read);
        statement_parts!(self.when, &self.action, StatementPart, ScalarPart, iter, parts, operands, terms, array, read)
    }

    /// As [`Self::parts`], to change what is held.
    pub fn parts_mut(&mut self) -> Parts<StatementPartMut<'_>> {
        statement_parts!(
            self.when,
            &mut self.action,
            StatementPartMut,
            ScalarPartMut,
            iter_mut,
            parts_mut,
            operands_mut,
            terms_mut,
            StatementPartMut::Array,
            StatementPartMut::Read
        )
    }

    /// The locals that it defines.
    pub fn results(&self) -> Vec<&Local> {
        let parts = self.parts().into_iter();
        parts.filter_map(|part| if let StatementPart::Result(local) = part { Some(local) } else { None }).collect()
    }

    /// Every local that it uses, in its functions too; their own are among them.
    pub fn used_locals(&self) -> Vec<LocalId> {
        let mut used = Vec::new();
        let operand = |operand: &ScalarOperand, used: &mut Vec<LocalId>| {
            if let ScalarOperand::Local(id) = operand {
                used.push(*id);
            }
        };
        for part in self.parts() {
            match part {
                StatementPart::Operand(value) => operand(value, &mut used),
                StatementPart::Index(id) => used.push(*id),
                StatementPart::Body(body) => body.for_each_operand(&mut |value| operand(value, &mut used)),
                StatementPart::Array(..) | StatementPart::Result(_) => {}
            }
        }
        used
    }
}

macro_rules! action_map {
    ($action:expr) => {
        match $action {
            Action::Load { array, map, .. } | Action::Store { array, map, .. } => Some((*array, map)),
            // One index is for all targets.
            Action::Scatter { arrays, map, .. } => Some((*arrays.first()?, map)),
            Action::Scalar(_)
            | Action::Check { .. }
            | Action::Reduce { .. }
            | Action::Scan { .. }
            | Action::Append { .. } => None,
        }
    };
}

impl Action {
    /// Where in an array it reads, writes or combines; of several arrays the first.
    pub fn map(&self) -> Option<(KernelArrayId, &IndexMap)> {
        action_map!(self)
    }

    /// As [`Self::map`], to change the index.
    pub fn map_mut(&mut self) -> Option<(KernelArrayId, &mut IndexMap)> {
        action_map!(self)
    }
}

fn terms(map: &IndexMap) -> impl Iterator<Item = &LocalId> {
    map.dims.iter().flat_map(|dim| dim.terms.iter().map(|(_, id)| id))
}

fn terms_mut(map: &mut IndexMap) -> impl Iterator<Item = &mut LocalId> {
    map.dims.iter_mut().flat_map(|dim| dim.terms.iter_mut().map(|(_, id)| id))
}

macro_rules! fault_operands {
    ($fault:expr, $iter:ident) => {
        match $fault {
            FailureKind::Index { array: _, index, extents } => index.$iter().chain(extents).collect(),
            FailureKind::NegativeExtent { array: _, extent } => vec![extent],
            FailureKind::EmptyFold { array: _, row } => vec![row],
            FailureKind::Offsets { offsets: _, position, value, extent } => vec![position, value, extent],
            FailureKind::TooLarge { array: _, extents } => extents.$iter().collect(),
            FailureKind::Assertion { message: _, shown } => shown.$iter().collect(),
            FailureKind::DivisionByZero | FailureKind::NoOffsets { .. } => Vec::new(),
        }
    };
}

impl FailureKind {
    /// The numbers that its message says, in the order of the fields.
    pub fn operands(&self) -> Vec<&ScalarOperand> {
        fault_operands!(self, iter)
    }

    /// As [`Self::operands`], to change them.
    pub fn operands_mut(&mut self) -> Vec<&mut ScalarOperand> {
        fault_operands!(self, iter_mut)
    }
}
