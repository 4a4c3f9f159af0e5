//! Of which scatters threads have copies of the targets.

use fusebox_ir::{Action, Kernel, ScatterOrder, analysis::algebra::identities};

use super::Choice;
use crate::form::Form;
use crate::schedule::Nest;

/// A target is filled and merged, in order, in less than a quarter of the time of an element that goes anywhere.
const TARGETS: u32 = 4;

/// The scatters of a kernel whose targets are copied, in a nest that threads share; `wanted`: how many targets copies have for each element, 0 for no copies.
pub(super) fn forms(kernel: &Kernel, nest: &Nest, wanted: Option<u32>) -> Vec<Form> {
    let targets = wanted.unwrap_or(TARGETS);
    if targets == 0 || !nest.is_shared() {
        return Vec::new();
    }
    let copied = kernel.statements.iter().enumerate().filter(|(_, statement)| match &statement.action {
        Action::Scatter { order: ScatterOrder::Any, combine, .. } => identities(combine).is_some(),
        _ => false,
    });
    copied.map(|(position, _)| Form::Copied { statement: position as u32, targets }).collect()
}

/// What was chosen, for people.
pub(super) fn choices(nest: &Nest) -> impl Iterator<Item = Choice> {
    nest.copied().map(|(statement, targets)| Choice {
        about: format!("the scatter of statement {statement}"),
        chosen: format!(
            "each thread has a copy of its targets, as far as all copies have at most {targets} for each element"
        ),
        because: "a target is filled and merged in less than a quarter of the time of an element that goes anywhere"
            .to_owned(),
        instead_of: vec![
            "one thread, or instructions that no other thread can interrupt, which cost more than copies".to_owned(),
        ],
    })
}
