//! Arithmetic on whole arrays: `2.0 * x + y`, `x.exp()`, `x.max(y)`, element by element.
//!
//! All of it is maps, so that it fuses as maps that are written out. Two arrays have equal extents; a dimension whose extent is the number
//! 1, as [`expand_axis`](crate::Acc::expand_axis) makes it, is repeated along that of the other. What is unequal is an error, when the
//! program is built where both extents are numbers, else when it runs.

mod agree;
mod functions;
mod operand;
mod operators;
mod stretch;

pub use self::operand::Operand;
pub(crate) use self::{
    agree::{is_one, number},
    stretch::spread,
};
