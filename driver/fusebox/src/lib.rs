#![doc = include_str!("../README.md")]

mod backend;
mod cache;
mod embedded;
mod error;
mod explain;
#[cfg(feature = "files")]
pub mod files;
mod graph;
mod options;
mod passes;
mod program;
mod signature;

pub use fusebox_ir as ir;
pub use fusebox_lang as lang;

pub use crate::{
    cache::{CacheStatistics, cache_statistics, clear_cache},
    embedded::*,
    error::Error,
    explain::{Apart, Counted, Explanation, Polynomials, Shown, Stopped, explain},
    graph::{Cluster, Edge, Graph, Link, Node, NodeKind},
    options::{Backend, Fusion, Options, UnknownBackend, UnknownFusion},
    passes::{Details, FRONT_END, Stage, UnknownPass, pass, passes, pipeline, run_passes},
    program::{CompileReport, PassReport, Program, RunReport, compile_plan, compile_program},
    signature::{InputError, Signature, Slot},
};

/// Everything that embedded programs are written with.
pub mod prelude {
    pub use fusebox_lang::*;
}
