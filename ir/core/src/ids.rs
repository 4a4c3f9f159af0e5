//! Ids: each names something in one space, and is a type of its own. What is named in two spaces is converted by a function that says so.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[cfg(doc)]
use crate::{Block, Kernel, Plan};

macro_rules! id {
    ($(#[$doc:meta])* $name:ident, $letter:literal) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
        #[serde(transparent)]
        pub struct $name(pub u32);

        impl $name {
            /// The position in a table keyed by this id.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($letter, "{}"), self.0)
            }
        }
    };
}
id! {
    /// A value of a [`Block`]: an array, or a scalar as an array of rank 0. Dense in a program, in order of definition:
    /// sizes of a block, then its parameters, then for each binding the values of its blocks before its results.
    ArrayId, "a"
}
id! {
    /// A scalar of a [`Lambda`](crate::Lambda). Dense in the outermost function.
    LocalId, "%"
}
id! {
    /// An array of a [`Kernel`]: its position in [`Kernel::arrays`].
    KernelArrayId, "a"
}
id! {
    /// A value of a [`Plan`]: its position in [`Plan::values`].
    ///
    /// ```compile_fail,E0308
    /// // A value of a program is none of its plan.
    /// let value: fusebox_ir::ValueId = fusebox_ir::ArrayId(0);
    /// ```
    ValueId, "a"
}

impl KernelArrayId {
    /// The id of the array at a position.
    pub fn at(position: usize) -> Self {
        Self(position as u32)
    }

    /// The array as scalar code of its kernel names it.
    ///
    /// Instructions and functions of kernels are those of programs: there the [`ArrayId`] of a read is the position of an array of the
    /// kernel. This function and [`Self::of_code`] alone convert between the two.
    pub fn in_code(self) -> ArrayId {
        ArrayId(self.0)
    }

    /// The array that a read in scalar code of a kernel names: the inverse of [`Self::in_code`].
    pub fn of_code(id: ArrayId) -> Self {
        Self(id.0)
    }
}

impl ValueId {
    /// The id of the value at a position.
    pub fn at(position: usize) -> Self {
        Self(position as u32)
    }
}
