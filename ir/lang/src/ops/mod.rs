//! The collective operations, as functions; the function applied to elements comes first.

pub mod fold;
pub mod map;
pub mod permute;
pub mod scan;
pub mod shape;
