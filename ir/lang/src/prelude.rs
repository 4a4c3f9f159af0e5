//! What is made of the collective operations: fills, parts of arrays, statistics, gathers and scatters, segments.

mod fill;
mod flow;
mod part;
mod reduce;
mod scan;
mod scalar;
mod segment;

pub use self::{fill::*, flow::*, part::*, reduce::*, scalar::*, scan::*, segment::*};
