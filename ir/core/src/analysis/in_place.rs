//! Whether a kernel may write an array in the memory of one that it reads.

use crate::{Access, Action, DimBoundary, Kernel, KernelArrayId, StatementPart};

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

/// What a kernel does to each of its arrays, as far as it decides which may be in the memory of another.
pub struct InPlace<'k> {
    kernel: &'k Kernel,
    arrays: Vec<Uses>,
}

/// What a kernel does to an array.
#[derive(Clone, Default)]
struct Uses {
    /// Positions of statements that write it.
    writes: Vec<usize>,
    /// Positions of its loads.
    loads: Vec<usize>,
    /// Whether scalar code reads it, in functions too.
    in_code: bool,
}

impl<'k> InPlace<'k> {
    /// Looks at every statement once.
    pub fn of(kernel: &'k Kernel) -> Self {
        let mut arrays = vec![Uses::default(); kernel.arrays.len()];
        for (at, statement) in kernel.statements.iter().enumerate() {
            let is_load = matches!(statement.action, Action::Load { .. });
            for part in statement.parts() {
                match part {
                    StatementPart::Array(array, access) => {
                        let Some(uses) = arrays.get_mut(array.index()) else { continue };
                        match access {
                            Access::Read if is_load => uses.loads.push(at),
                            Access::Read => uses.in_code = true,
                            Access::Write | Access::Update => uses.writes.push(at),
                        }
                    }
                    StatementPart::Body(body) => {
                        for id in body.arrays_read() {
                            if let Some(uses) = arrays.get_mut(KernelArrayId::of_code(id).index()) {
                                uses.in_code = true;
                            }
                        }
                    }
                    StatementPart::Operand(_) | StatementPart::Index(_) | StatementPart::Result(_) => {}
                }
            }
        }
        Self { kernel, arrays }
    }

    /// Whether the array at `written` may be in the memory of the one at `read`, whatever the order of points: each element of it is
    /// loaded by the point that stores it, before it does, and by no other.
    ///
    /// # Errors
    /// Why not.
    pub fn allows(&self, written: KernelArrayId, read: KernelArrayId) -> Result<(), NotInPlace> {
        let array = |id: KernelArrayId| Some((self.kernel.arrays.get(id.index())?, self.arrays.get(id.index())?));
        let (Some((target, stored)), Some((source, loaded))) = (array(written), array(read)) else {
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
        let [at] = stored.writes[..] else { return Err(NotInPlace::Stored) };
        let store = &self.kernel.statements[at];
        let Action::Store { map, .. } = &store.action else { return Err(NotInPlace::Stored) };
        if store.when.is_some() || store.depth == 0 || map.dims.iter().any(|dim| dim.boundary != DimBoundary::None) {
            return Err(NotInPlace::Stored);
        }
        for &position in &loaded.loads {
            let statement = &self.kernel.statements[position];
            let Action::Load { map: loaded, outside, .. } = &statement.action else { unreachable!("a load") };
            if loaded.dims != map.dims || outside.is_some() {
                return Err(NotInPlace::Index);
            }
            if statement.depth != store.depth || position > at {
                return Err(NotInPlace::Order);
            }
        }
        if loaded.in_code { Err(NotInPlace::ScalarCode) } else { Ok(()) }
    }
}
