//! The collective operations, as functions; the function applied to elements comes first.

pub mod control;
pub mod expand;
pub mod fold;
pub mod host;
pub mod map;
pub mod permute;
pub mod scan;
pub mod shape;
pub mod stencil;
