//! What is known of nested programs before they are lifted: which arrays have equal shapes, and what depends on which lanes.

mod regularity;
mod report;
mod shape;
mod shape_walk;

pub(crate) use self::report::{NestAlone, Ways, explain_in};
pub use self::{
    regularity::{Lanes, Regularity, regularity},
    report::{Line, Representation, explain},
    shape::{Dim, Shapes},
    shape_walk::shapes,
};
