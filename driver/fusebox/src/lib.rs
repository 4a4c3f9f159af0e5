#![doc = include_str!("../README.md")]

mod backend;
mod cache;
mod code;
mod device;
pub mod dot;
mod embedded;
mod error;
mod explain;
#[cfg(feature = "files")]
pub mod files;
mod graph;
mod loaded;
mod options;
mod passes;
mod program;
mod report;
mod schedules;
mod signature;
mod times;
mod tune;
mod unchecked;
#[cfg_attr(not(feature = "files"), allow(dead_code, reason = "results in files use more of it"))]
mod whole;

pub use crate::code::code;
pub use crate::schedules::{schedules, sorts, steps, strips};
pub use fusebox_backend::{Running, device_memory::Transfers};
pub use fusebox_ir as ir;

pub use crate::{
    cache::{CacheStatistics, cache_statistics, clear_cache},
    device::{DeviceValue, OnDevice},
    embedded::*,
    error::Error,
    explain::{
        Apart, Counted, Explanation, Held, KernelCounts, KernelMoves, KernelSchedule, PlanExplanation, Polynomials,
        Scheduling, Shown, Stopped, TrafficCounts, explain, explain_for, explain_plan,
    },
    graph::{Cluster, Edge, Graph, Link, Node, NodeKind},
    options::{Backend, Fusion, Options, UnknownBackend, UnknownFusion},
    passes::{
        Details, FRONT_END, Flattening, Stage, UnknownPass, pass, passes, pipeline, pipeline_of, run_passes,
        run_passes_seen,
    },
    program::{Program, compile_plan, compile_program},
    report::{CompileReport, KernelTime, KernelTimes, PassReport, RunReport},
    signature::{InputError, Signature, Slot},
    tune::{TuneConfig, Tuned, TunedForm, TunedKernel, tune},
    unchecked::compile_unchecked,
};

/// The embedded language: the crate `fusebox-lang`.
///
/// It derives element types for crates that depend on `fusebox` alone. Where that has another name, an attribute says so:
///
/// ```
/// extern crate fusebox as array_programs; // or in Cargo.toml: array_programs = { package = "fusebox", … }
/// use array_programs::prelude::*;
///
/// #[derive(Clone, Copy, Debug, PartialEq, Elt)]
/// #[elt(crate = "array_programs")]
/// struct Point {
///     x: f32,
///     y: f32,
/// }
/// # fn main() -> Result<(), fusebox::Error> {
/// let flip = fusebox::compile1(|points: Acc<Vector<Point>>| points.map(|p| Point::exp(p.y(), p.x())))?;
/// let flipped = flip.run(&Vector::new(1, &[Point { x: 1.0, y: 2.0 }])?)?;
/// assert_eq!(flipped.to_vec(), [Point { x: 2.0, y: 1.0 }]);
/// # Ok(())
/// # }
/// ```
pub mod lang {
    /// Makes a record or an enum an element type: its components are those of its fields.
    ///
    /// The same derive as in `fusebox-lang`, for crates that depend on `fusebox` alone.
    #[doc(inline)]
    pub use fusebox_lang::private::EltOfFacade as Elt;
    pub use fusebox_lang::*;
}

/// Everything that embedded programs are written with.
///
/// It shadows nothing of Rust's own prelude: `drop` is Rust's. That of the language, which leaves elements out, is the method
/// `xs.drop(n)`, and the function [`lang::drop`](fusebox_lang::drop()).
///
/// ```
/// use fusebox::prelude::*;
///
/// let rest = fusebox::compile1(|xs: Acc<Vector<i64>>| xs.drop(2))?;
/// let given = vec![1, 2, 3];
/// let xs = Vector::from_slice(&given)?;
/// drop(given);
/// assert_eq!(rest.run(&xs)?.to_vec(), [3]);
/// # Ok::<(), fusebox::Error>(())
/// ```
pub mod prelude {
    // What is named shadows what `*` brings.
    #[doc(no_inline)]
    pub use std::mem::drop;

    pub use crate::lang::*;
}
