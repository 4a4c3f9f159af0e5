//! Whether a kernel may write an array in the memory of one that it reads.

use crate::{Access, Action, DimBoundary, Kernel, KernelArrayId, Statement, StatementPart};

/// Why one array is not written over another.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum NotInPlace {
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
pub fn may_be_in_place(kernel: &Kernel, written: KernelArrayId, read: KernelArrayId) -> Result<(), NotInPlace> {
    let (Some(target), Some(source)) = (kernel.arrays.get(written.index()), kernel.arrays.get(read.index())) else {
        return Err(NotInPlace::Access);
    };
    if target.access != Access::Write || source.access != Access::Read {
        return Err(NotInPlace::Access);
    }
    if target.extents.is_empty() {
        return Err(NotInPlace::Scalar);
    }
    if target.element.bytes() != source.element.bytes() || target.extents != source.extents {
        return Err(NotInPlace::Size);
    }
    let mut stores = kernel.statements.iter().enumerate().filter(|(_, statement)| writes(statement, written));
    let (Some((at, store)), None) = (stores.next(), stores.next()) else { return Err(NotInPlace::Stored) };
    let Action::Store { map, .. } = &store.action else { return Err(NotInPlace::Stored) };
    if store.when.is_some() || store.depth == 0 || map.dims.iter().any(|dim| dim.boundary != DimBoundary::None) {
        return Err(NotInPlace::Stored);
    }
    for (position, statement) in kernel.statements.iter().enumerate() {
        match &statement.action {
            Action::Load { array, map: loaded, outside, .. } if *array == read => {
                if loaded.dims != map.dims || outside.is_some() {
                    return Err(NotInPlace::Index);
                }
                if statement.depth != store.depth || position > at {
                    return Err(NotInPlace::Order);
                }
            }
            _ if statement.reads_in_scalar_code(read) => return Err(NotInPlace::ScalarCode),
            _ => {}
        }
    }
    Ok(())
}

fn writes(statement: &Statement, written: KernelArrayId) -> bool {
    statement
        .parts()
        .into_iter()
        .any(|part| matches!(part, StatementPart::Array(array, access) if access != Access::Read && array == written))
}
