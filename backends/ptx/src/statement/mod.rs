//! Statements that do more than compute: what one thread does at a point, and what threads do together.

mod append;
pub(crate) mod atomic;
mod load;
mod reduce;
mod scan;
mod scatter;
mod store;
mod table;
