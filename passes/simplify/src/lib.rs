#![doc = include_str!("../README.md")]

mod again;
mod arrays;
mod checks;
mod declared;
mod edits;
mod empty_rows;
mod identities;
mod loops;
mod scalar;

use fusebox_ir::Program;

/// What to simplify.
#[derive(Clone, Debug)]
pub struct Config {
    /// Whether terms that are equal are computed once. Without, what sharing recovery left unfolded stays so.
    pub share: bool,
    /// Whether unrolled iterations become scalar loops.
    pub recover_loops: bool,
    /// Rounds at most; a round that changes nothing is the last.
    pub max_rounds: usize,
}

impl Default for Config {
    fn default() -> Self {
        Self { share: true, recover_loops: true, max_rounds: 3 }
    }
}

/// What was done.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Rounds that changed something.
    pub rounds: usize,
    /// Bindings before, in blocks inside too.
    pub bindings_before: usize,
    /// Bindings after.
    pub bindings_after: usize,
    /// Whether the last round still changed something, so that one more might.
    pub unfinished: bool,
}

/// Simplifies a valid program; results are unchanged, bit for bit.
///
/// Needs no property and keeps all. Results have the extents that their operations give afterwards, be they
/// counted, and others that are declared are checked. An error of what no result needs may be lost, none is made.
pub fn simplify(program: &Program, config: &Config) -> (Program, Report) {
    let mut simplified = declared::as_given(program.clone());
    let mut report = Report { rounds: 0, bindings_before: bindings(program), bindings_after: 0, unfinished: false };
    for _ in 0..config.max_rounds {
        let next = arrays::simplify_program(simplified.clone(), config);
        report.unfinished = next != simplified;
        simplified = next;
        if !report.unfinished {
            break;
        }
        report.rounds += 1;
    }
    let simplified = empty_rows::with_identities(simplified);
    report.bindings_after = bindings(&simplified);
    (simplified, report)
}

fn bindings(program: &Program) -> usize {
    program.body.blocks().map(|block| block.bindings.len()).sum()
}
