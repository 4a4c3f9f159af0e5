//! What is made of the collective operations: fills, parts of arrays, statistics, gathers and scatters, segments.

mod axis;
mod fill;
mod flow;
mod part;
mod reduce;
mod scalar;
mod scan;
mod segment;

pub use self::{fill::*, flow::*, part::*, reduce::*, scalar::*, scan::*, segment::*};
