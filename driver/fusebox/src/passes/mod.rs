//! The table of passes.

mod each;
mod stages;

use fusebox_clustering::Method;
pub use fusebox_flattening::Flattening;
use fusebox_ir::{Pass, Program};

use self::each::{Clusters, Flatten, Kernels, Producers, Simplify, Streams, Strict};
pub use self::{
    each::Details,
    stages::{Stage, run_passes, run_passes_seen},
};
pub(crate) use self::{
    each::Explained,
    stages::{Line, run_to_plan},
};
use crate::{Fusion, Options};

static SIMPLIFY: Simplify = Simplify { share: true };
static SIMPLIFY_APART: Simplify = Simplify { share: false };
static FLATTENING: Flatten = Flatten { way: Flattening::Alone };
static FLATTENING_REGULAR: Flatten = Flatten { way: Flattening::Regular };
static FLATTENING_IRREGULAR: Flatten = Flatten { way: Flattening::Irregular };
static STREAMS: Streams = Streams;
static FUSION: Producers = Producers;
static STRICTNESS: Strict = Strict;
static CLUSTERING: Clusters = Clusters { method: Method::Optimal };
static CLUSTERING_GREEDY: Clusters = Clusters { method: Method::Greedy };
static KERNELS: Kernels = Kernels;

/// Every pass that runs on programs, in the order in which programs are compiled; after `fusion` they are simplified again.
pub fn passes() -> &'static [&'static dyn Pass] {
    static PASSES: [&dyn Pass; 7] = [&SIMPLIFY, &FLATTENING, &STREAMS, &FUSION, &STRICTNESS, &CLUSTERING, &KERNELS];
    &PASSES
}

/// The passes that programs are compiled by, in order. Where scalar terms are not to be shared, nothing later shares them either.
pub fn pipeline(options: &Options) -> Vec<&'static dyn Pass> {
    explained_pipeline(options).into_iter().map(|pass| -> &'static dyn Pass { pass }).collect()
}

/// The passes that a program is compiled by: what is nested is made flat first, streams are held in memory, and flat programs of arrays
/// take those of [`pipeline`].
pub fn pipeline_of(program: &Program, options: &Options) -> Vec<&'static dyn Pass> {
    explained_pipeline_of(program, options).into_iter().map(|pass| -> &'static dyn Pass { pass }).collect()
}

pub(crate) fn explained_pipeline_of(program: &Program, options: &Options) -> Vec<&'static dyn Explained> {
    let flat = explained_pipeline(options);
    let way = options.way();
    let is_flat = fusebox_flattening::is_flat(program, way);
    let flattening: &'static dyn Explained = match way {
        Flattening::Irregular => &FLATTENING_IRREGULAR,
        Flattening::Regular => &FLATTENING_REGULAR,
        _ => &FLATTENING,
    };
    let mut first: Vec<&'static dyn Explained> = Vec::new();
    first.extend((!is_flat).then_some(flattening));
    if fusebox_flattening::has_streams(program) {
        first.push(&STREAMS);
    }
    if first.is_empty() {
        return flat;
    }
    flat.first().copied().into_iter().chain(first).chain(flat).collect()
}

pub(crate) fn explained_pipeline(options: &Options) -> Vec<&'static dyn Explained> {
    let simplify: &'static dyn Explained = if options.sharing { &SIMPLIFY } else { &SIMPLIFY_APART };
    match options.fusion {
        Fusion::None => vec![simplify, &STRICTNESS, &KERNELS],
        Fusion::Greedy => vec![simplify, &FUSION, simplify, &STRICTNESS, &CLUSTERING_GREEDY, &KERNELS],
        Fusion::Optimal => vec![simplify, &FUSION, simplify, &STRICTNESS, &CLUSTERING, &KERNELS],
    }
}

/// The pass that makes programs of the terms of the embedded language: it has no programs to run on.
pub const FRONT_END: (&str, &str) =
    ("sharing", "makes a program of embedded terms in which every shared term is computed once");

/// The pass of this name.
///
/// # Errors
/// [`UnknownPass`], which lists those there are.
pub fn pass(name: &str) -> Result<&'static dyn Pass, UnknownPass> {
    passes().iter().copied().find(|pass| pass.name() == name).ok_or_else(|| UnknownPass { name: name.into() })
}

/// A name of no pass.
#[derive(Clone, PartialEq, Eq, thiserror::Error)]
#[error("{}", unknown(.name))]
pub struct UnknownPass {
    /// What was asked for.
    pub name: String,
}

fusebox_ir::debug_is_message!(struct UnknownPass { name });

fn unknown(name: &str) -> String {
    if name == FRONT_END.0 {
        return format!("pass `{name}` makes programs of embedded terms, and does not run on programs");
    }
    let names: Vec<_> = passes().iter().map(|pass| pass.name()).collect();
    format!("there is no pass `{name}`; there are {}", names.join(", "))
}
