#![doc = include_str!("../README.md")]

mod checks;
mod circles;
mod compose;
mod cost;
mod decode;
mod encode;
mod error;
mod extract;
mod facts;
mod forms;
mod functions;
mod graph;
mod homes;
mod index;
mod language;
mod laws;
mod ledger;
mod meeting;
mod offsets;
mod pairs;
mod producers;
mod reads;
mod reason;
mod region;
mod rematerialise;
mod report;
mod reshapes;
mod restrict;
mod runs;
mod search;
mod sources;
mod summary;
mod taps;
mod turned;

use fusebox_ir::{ArrayId, ArrayOp, Block, PartMut, Program, Var, analysis::Sizes, validate};
use rustc_hash::{FxHashMap, FxHashSet};

pub use crate::{
    error::Error,
    report::{Choice, Duplication, Refusal, Report, Stop},
};
use crate::{
    graph::{Knowledge, Tables},
    region::Region,
};

/// Limits, in steps and not in seconds, so that a slow machine compiles the same program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Config {
    /// Sweeps over the operations of a block; the last changes nothing.
    pub max_iterations: usize,
    /// Operations in the e-graph of a block, alternatives included.
    pub max_nodes: usize,
    /// Instructions of a function that a law makes; larger ones are refused.
    pub max_instructions: usize,
    /// Producers that one operation may take in although others use them too.
    pub max_copies: usize,
    /// Choices that extraction compares in a block.
    pub max_steps: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self { max_iterations: 10, max_nodes: 50_000, max_instructions: 10_000, max_copies: 4, max_steps: 20_000 }
    }
}

/// Rewrites `program` so that no array is stored only to be read element by element.
///
/// Results are unchanged, bit for bit. An error of an element that nobody reads may be lost, none is made. Needs no property of the
/// program and keeps all; inside of clusters nothing is changed.
///
/// # Errors
/// [`Error::Invalid`] for invalid programs, [`Error::Cost`] where a cost is beyond all numbers.
pub fn fuse(program: &Program, config: &Config) -> Result<(Program, Report), Error> {
    validate(program, &[])?;
    let mut program = program.clone();
    let (mut types, mut names) = (FxHashMap::default(), FxHashMap::default());
    program.body.for_each_definition(&mut |var| {
        types.insert(var.id, var.ty.clone());
        names.insert(var.id, var.name.0.clone());
    });
    let tables = Tables {
        sizes: Sizes::of_program(&program),
        types,
        names,
        tapped: tapped(&program.body),
        next: program.fresh().0,
    };
    let mut fusion = Fusion { config, report: summary::Summary::default() };
    let mut body = std::mem::take(&mut program.body);
    fusion.block(&mut body, tables)?;
    program.body = body;
    Ok((program.renumbered(), fusion.report.finish()))
}

/// The names of all laws of two operations that meet, as [`Choice::laws`] says them.
pub fn laws() -> impl Iterator<Item = &'static str> {
    laws::LAWS.iter().map(|law| law.name)
}

struct Fusion<'c> {
    config: &'c Config,
    report: summary::Summary,
}

impl Fusion<'_> {
    /// Each block by itself: what is made outside of a body that may run often, or not at all, is never computed in it.
    fn block(&mut self, block: &mut Block, mut tables: Tables) -> Result<Tables, Error> {
        let copied = rematerialise::rematerialise(block, &mut |var| {
            let id = tables.fresh();
            tables.types.insert(id, var.ty.clone());
            tables.names.insert(id, var.name.0.clone());
            Var { id, ..var.clone() }
        });
        self.report.rewritten(copied);
        for binding in &mut block.bindings {
            if let ArrayOp::Cluster { .. } = binding.op {
                continue;
            }
            for part in binding.op.parts_mut() {
                if let PartMut::Body(body) = part {
                    tables = self.block(body, tables)?;
                }
            }
        }
        let restricted = restrict::restrict(block, &tables.sizes, &mut tables.types);
        self.report.rewritten(restricted);
        let mut region = Region::default();
        let knowledge = Knowledge::new(self.config, tables);
        let (graph, search) = search::saturate(knowledge, |graph| region = encode::encode(block, graph));
        if !graph.analysis.order.is_empty() {
            let solution = extract::cheapest(&graph, &region)?;
            self.report.add(block, &graph, &search, &solution)?;
            decode::decode(block, &graph, &region, &solution);
        }
        let mut tables = graph.analysis.tables;
        let turned = turned::turn(block, &tables.sizes, &mut tables.types);
        self.report.rewritten(turned);
        let Tables { sizes, types, names, next, .. } = &mut tables;
        let by_offsets = offsets::by_offsets(block, sizes, &mut |like, ty| {
            let id = ArrayId(*next);
            *next += 1;
            types.insert(id, ty.clone());
            names.insert(id, like.name.0.clone());
            Var { id, ty, ..like.clone() }
        });
        self.report.rewritten(by_offsets);
        Ok(tables)
    }
}

fn tapped(body: &Block) -> FxHashSet<ArrayId> {
    let mut tapped = FxHashSet::default();
    for binding in body.blocks().flat_map(|block| &block.bindings) {
        if let ArrayOp::Stencil { taps, .. } = &binding.op {
            tapped.extend(taps.iter().map(|tap| tap.array));
        }
    }
    tapped
}
