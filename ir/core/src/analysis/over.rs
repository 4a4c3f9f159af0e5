//! Whether a kernel may write an array in the memory of one that it reads.

use crate::{Access, Action, ArrayId, DimBoundary, Instruction, Kernel, Lambda, ScalarPart, Statement};

/// Why one array is not written over another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotOver {
    /// One of them is no array of the kernel, or is not read, or is not written in full.
    #[error("is not an array that the kernel reads, or only part of the other is written")]
    Access,
    /// A scalar.
    #[error("is a scalar")]
    Scalar,
    /// Elements of other width, or extents that are not the same sizes.
    #[error("is of another size")]
    Size,
    /// Written by an append or a scatter, twice, under a condition, or outside of all levels.
    #[error("is read where the other is not stored once for each point")]
    Stored,
    /// Read in scalar code, where nobody says when.
    #[error("is read in scalar code")]
    ScalarCode,
    /// Loaded at another index, or with a boundary.
    #[error("is read at another index")]
    Index,
    /// Loaded after the store, or at another depth.
    #[error("is read at another depth, or after the store")]
    Order,
    /// Another array is written over it already.
    #[error("is taken over already")]
    Twice,
    /// Of a plan: an input, a result, or a value from around the list of steps.
    #[error("is needed outside of these steps")]
    Outside,
    /// Of a plan: the launch that writes the value does not read it, or its kernel does not allow it.
    #[error("is not read by the launch that writes it, as the kernel would have to say")]
    Launch,
}

/// Whether the array at `written` may be in the memory of the one at `read`, whatever the order of points: each element of it is loaded
/// by the point that stores it, before it does, and by no other.
///
/// # Errors
/// Why not.
pub fn may_write_over(kernel: &Kernel, written: ArrayId, read: ArrayId) -> Result<(), NotOver> {
    let (Some(target), Some(source)) = (kernel.arrays.get(written.index()), kernel.arrays.get(read.index())) else {
        return Err(NotOver::Access);
    };
    if target.access != Access::Write || source.access != Access::Read {
        return Err(NotOver::Access);
    }
    if target.extents.is_empty() {
        return Err(NotOver::Scalar);
    }
    if target.element.bytes() != source.element.bytes() || target.extents != source.extents {
        return Err(NotOver::Size);
    }
    let mut stores = kernel.statements.iter().enumerate().filter(|(_, statement)| writes(statement, written));
    let (Some((at, store)), None) = (stores.next(), stores.next()) else { return Err(NotOver::Stored) };
    let Action::Store { map, .. } = &store.action else { return Err(NotOver::Stored) };
    if store.when.is_some() || store.depth == 0 || map.dims.iter().any(|dim| dim.boundary != DimBoundary::None) {
        return Err(NotOver::Stored);
    }
    for (position, statement) in kernel.statements.iter().enumerate() {
        match &statement.action {
            Action::Load { array, map: loaded, outside, .. } if *array == read => {
                if loaded.dims != map.dims || outside.is_some() {
                    return Err(NotOver::Index);
                }
                if statement.depth != store.depth || position > at {
                    return Err(NotOver::Order);
                }
            }
            Action::Load { outside: Some(function), .. }
            | Action::Reduce { combine: function, .. }
            | Action::Scan { combine: function, .. }
            | Action::Scatter { combine: function, .. }
                if function_reads(function, read) =>
            {
                return Err(NotOver::ScalarCode);
            }
            Action::Scalar(instruction) if reads(std::slice::from_ref(instruction), read) => {
                return Err(NotOver::ScalarCode);
            }
            Action::Load { .. }
            | Action::Scalar(_)
            | Action::Check { .. }
            | Action::Reduce { .. }
            | Action::Scan { .. }
            | Action::Store { .. }
            | Action::Append { .. }
            | Action::Scatter { .. } => {}
        }
    }
    Ok(())
}

fn writes(statement: &Statement, written: ArrayId) -> bool {
    match &statement.action {
        Action::Store { array, .. } => *array == written,
        Action::Append { arrays, count, .. } => arrays.contains(&written) || *count == written,
        Action::Scatter { arrays, .. } => arrays.contains(&written),
        Action::Load { .. }
        | Action::Scalar(_)
        | Action::Check { .. }
        | Action::Reduce { .. }
        | Action::Scan { .. } => false,
    }
}

fn function_reads(function: &Lambda, array: ArrayId) -> bool {
    reads(&function.instructions, array)
}

/// Whether instructions read an array, in branches and loops too.
fn reads(instructions: &[Instruction], array: ArrayId) -> bool {
    let mut lists = vec![instructions];
    while let Some(list) = lists.pop() {
        for part in list.iter().flat_map(|instruction| instruction.op.parts()) {
            match part {
                ScalarPart::Array(read) if *read == array => return true,
                ScalarPart::Body(body) => lists.push(&body.instructions),
                ScalarPart::Array(_) | ScalarPart::Operand(_) => {}
            }
        }
    }
    false
}
