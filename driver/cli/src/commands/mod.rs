//! The commands, one file each.

pub(crate) mod after_all;
pub(crate) mod check;
mod choices;
pub(crate) mod devices;
pub(crate) mod dump;
pub(crate) mod explain;
mod inputs;
pub(crate) mod new;
pub(crate) mod ops;
pub(crate) mod opt;
pub(crate) mod passes;
pub(crate) mod run;
pub(crate) mod schema;
pub(crate) mod shell;
pub(crate) mod test;
pub(crate) mod tune;
