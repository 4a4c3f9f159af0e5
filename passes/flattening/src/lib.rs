#![doc = include_str!("../README.md")]

pub mod analysis;
mod error;
mod extents;
mod faults;
mod interface;
mod lift;
mod live;
mod said;
mod spread;
mod streams;
mod views;

use fusebox_ir::{
    ArrayOp, Program, Property,
    analysis::{branches::with_branches, scalar_blocks::scalars_as_code},
    validate,
};

use crate::analysis::{Line, Representation, Ways, explain_in};
pub use crate::{
    error::{Error, NamedInside},
    said::in_words_of_lanes,
    streams::{has_streams, streams_in_memory},
};

/// What may be chosen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Config {
    /// How arrays in lanes are held.
    pub flattening: Flattening,
    /// Of [`Flattening::Alone`], whether the lanes of all outermost nests run one at a time, if they may: to see what that is worth.
    pub every_alone: bool,
}

impl Config {
    /// With arrays held in this way.
    pub fn of(flattening: Flattening) -> Self {
        Self { flattening, every_alone: false }
    }
}

/// How arrays in lanes are held.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Flattening {
    /// Those whose extents are the same in all lanes as plain arrays of higher rank.
    #[default]
    Regular,
    /// All with descriptors, as if nothing were known: to see what the other is worth.
    Irregular,
    /// As [`Self::Regular`], but where the lanes of an outermost nest loop over arrays as long as each likes, they run one at a time: each as a
    /// flat program of its own, several at once where there are several threads. For processors with caches.
    Alone,
}

/// What was done.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Report {
    /// How each value in nests is held, and each array of arrays, and why.
    pub held: Vec<Line>,
    /// Values in nests that are the same in all lanes.
    pub avoided: usize,
    /// Values held as arrays of higher rank, or as one scalar for each lane.
    pub regular: usize,
    /// Values held with a descriptor.
    pub irregular: usize,
    /// Values of lanes that run one at a time.
    pub of_one_lane: usize,
    /// Operations that were lifted.
    pub lifted: usize,
    /// Arrays of offsets that were made.
    pub descriptors: usize,
    /// Nests whose lanes run one at a time, always or where rows are long.
    pub alone: usize,
}

/// Whether a program is flat, and its lanes run as they are to: lanes that run one at a time do so in no other way than [`Flattening::Alone`].
pub fn is_flat(program: &Program, way: Flattening) -> bool {
    validate(program, &[Property::Flat]).is_ok() && (way == Flattening::Alone || !has_lanes_alone(program))
}

fn has_lanes_alone(program: &Program) -> bool {
    program.body.blocks().flat_map(|block| &block.bindings).any(|binding| binding.op.is_lanes())
}

/// Branches and loops of scalars in nests as scalar code: a lane decides for itself inside of one function then, and no lanes have to be parted.
fn scalars_in_lanes(program: &Program) -> Program {
    scalars_as_code(program, |op| matches!(op, ArrayOp::Nest { .. }))
}

/// Makes a program flat: nested parallelism becomes operations on flat arrays, for all lanes at once.
///
/// The result has [`Property::Flat`]. Results are the same, bit for bit but for how sums of floats associate, and so are errors, but that
/// some say less of where in a lane they happened. An input or a result `t` that is an array of arrays becomes `t.extents` and `t.values`.
///
/// # Errors
/// [`Error::Invalid`] if the program is not valid; [`Error::Deep`], [`Error::Taken`] where an input or a result has no form as flat arrays;
/// [`Error::NamedInside`] of a traversal that gives a name to an extent inside of arrays of arrays.
pub fn flatten(program: &Program, config: &Config) -> Result<(Program, Report), Error> {
    validate(program, &[])?;
    if is_flat(program, config.flattening) {
        return Ok((program.clone(), Report::default()));
    }
    let program = &*spread::as_lookups(program);
    let traversed = streams::traversals_in_lanes(program)?;
    let mut needed = live::live(&with_branches(&scalars_in_lanes(&traversed)));
    faults::as_own_messages(&mut needed.body);
    let (flat, done) = lift::lift(&needed, config)?;
    let held = explain_in(program, &Ways { irregular: config.flattening == Flattening::Irregular, alone: done.alone });
    let count = |representation| held.iter().filter(|line| line.representation == representation).count();
    let report = Report {
        avoided: count(Representation::Avoided),
        regular: count(Representation::Regular),
        irregular: count(Representation::Irregular),
        of_one_lane: count(Representation::Alone),
        lifted: done.lifted,
        descriptors: done.descriptors,
        alone: done.nests_alone,
        held,
    };
    Ok((flat, report))
}
