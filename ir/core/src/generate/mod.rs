//! Random programs, for tests: valid, of every operation, the same for the same seed; inputs that fit them; and a shrinker.
//!
//! ```
//! use fusebox_ir::generate::{Config, inputs, program};
//! let config = Config::default();
//! let p = program(7, &config);
//! assert!(fusebox_ir::validate(&p, &[]).is_ok());
//! assert_eq!(inputs(&p, 1, &config).len(), p.body.params.len());
//! ```

mod code;
mod combine;
mod host;
mod minimize;
mod names;
mod operation;
mod random;
mod scope;

pub use self::{host::inputs, minimize::minimize};
use self::{random::Random, scope::Scope};
use crate::Program;

/// A kind of operation that the generator makes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // each is the operation of that name
pub enum Kind {
    Constant,
    Unit,
    Compute,
    Generate,
    Map,
    Backpermute,
    Transform,
    Replicate,
    Slice,
    Reshape,
    Concat,
    Fold,
    Scan,
    Permute,
    Expand,
    PermutedExpand,
    Filter,
    Sort,
    Stencil,
    Cond,
    While,
    Foreign,
    Nest,
    Consume,
    Cluster,
}

impl Kind {
    /// Every kind, with how often it comes by default.
    pub const DEFAULT: [(Self, u32); 25] = [
        (Self::Constant, 2),
        (Self::Unit, 4),
        (Self::Compute, 1),
        (Self::Generate, 4),
        (Self::Map, 8),
        (Self::Backpermute, 4),
        (Self::Transform, 2),
        (Self::Replicate, 3),
        (Self::Slice, 3),
        (Self::Reshape, 2),
        (Self::Concat, 2),
        (Self::Fold, 6),
        (Self::Scan, 6),
        (Self::Permute, 4),
        (Self::Expand, 3),
        (Self::PermutedExpand, 3),
        (Self::Filter, 3),
        (Self::Sort, 2),
        (Self::Stencil, 3),
        (Self::Cond, 2),
        (Self::While, 2),
        (Self::Foreign, 1),
        (Self::Nest, 4),
        (Self::Consume, 3),
        (Self::Cluster, 3),
    ];
}

/// What may be in a program whose bits depend on association or on the library of functions: sums of floats, `exp`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rounding {
    /// Nothing: floats are summed where every order gives the same bits.
    Never,
    /// As results that nothing else uses: sums named `X.sum`, beside each the sum of the absolute values as `X.bound` (`f64`); and
    /// elements one function away from what is exact, named `X.ulp`.
    Marked,
    /// Anywhere.
    Free,
}

/// How many elements the long array has where there is one ([`Config::long_rows`]).
pub const LONG_ROW: i64 = 1_000;

/// What kind of programs and inputs are made.
#[derive(Clone, Debug)]
pub struct Config {
    /// How many bindings, about.
    pub max_bindings: usize,
    /// The largest extent of inputs, but for large ones.
    pub max_extent: i64,
    /// Whether some programs are of few bindings over vectors, so that inputs of thousands of elements fit.
    pub large: bool,
    /// How often each kind of operation comes.
    pub operations: Vec<(Kind, u32)>,
    /// Whether there are arrays of arrays, `nest`, `element` and `consume`.
    pub nested: bool,
    /// How deep blocks are nested at most.
    pub max_depth: usize,
    /// Whether one array of each array of arrays among the inputs has [`LONG_ROW`] elements, beside short ones.
    pub long_rows: bool,
    /// Whether a quarter of the replicates go by offsets.
    pub segments: bool,
    /// Whether there are clusters.
    pub clusters: bool,
    /// Whether a run may fail. If not: indices are inside, divisors not zero, assertions hold, sizes agree.
    pub may_fail: bool,
    /// Where results may be rounded otherwise on another way of execution.
    pub rounding: Rounding,
    /// Whether promises hold: combining functions are associative, those that say so commute, unique targets are distinct. If not,
    /// programs are for what does not run them.
    pub promises: bool,
}

impl Default for Config {
    /// Flat programs whose runs do not fail, with bits fixed by the program alone.
    fn default() -> Self {
        Self {
            max_bindings: 14,
            max_extent: 7,
            large: false,
            operations: Kind::DEFAULT.to_vec(),
            nested: false,
            max_depth: 3,
            long_rows: false,
            segments: false,
            clusters: false,
            may_fail: false,
            rounding: Rounding::Never,
            promises: true,
        }
    }
}

impl Config {
    /// Programs of everything there is, not meant to be run: for the forms of programs.
    pub fn forms() -> Self {
        Self {
            nested: true,
            segments: true,
            clusters: true,
            may_fail: true,
            rounding: Rounding::Free,
            promises: false,
            ..Self::default()
        }
    }
}

/// A random valid program; the same for the same seed.
pub fn program(seed: u64, config: &Config) -> Program {
    let mut random = Random::new(seed);
    let large = config.large && random.chance(1, 8);
    let mut scope = Scope::new(random, config, large);
    scope.inputs();
    let most = if large { config.max_bindings.min(8) } else { config.max_bindings };
    let steps = scope.random.range(1, most.max(1) as i64) as usize;
    scope.steps(steps);
    scope.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_makes_the_same_program() {
        let config = Config::default();
        assert_eq!(program(5, &config), program(5, &config));
        assert_ne!(program(5, &config), program(6, &config));
    }
}
