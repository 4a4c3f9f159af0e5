//! Statements that carry something from point to point, one file each.

pub(super) mod append;
mod carry;
mod records;
pub(super) mod reduce;
pub(super) mod runs;
pub(super) mod scan;
pub(super) mod scatter;
