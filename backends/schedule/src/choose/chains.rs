//! Which reduces have one accumulator.

use fusebox_ir::{Action, Kernel};

use super::Choice;
use crate::{chains::may_be_chain, form::Form, schedule::Nest};

/// The reduces that may have one accumulator and have all of their levels along others than the one across lanes, somewhere in a nest; `wanted`: whether
/// they do.
pub(super) fn forms(kernel: &Kernel, nest: &Nest, wanted: Option<bool>) -> Vec<Form> {
    if wanted == Some(false) {
        return Vec::new();
    }
    let gangs = nest.gangs(kernel.levels.len());
    let apart = |position: usize| match &kernel.statements[position].action {
        Action::Reduce { to, .. } => {
            let levels = *to as usize..kernel.statements[position].depth as usize;
            gangs.is_empty() || gangs.iter().any(|level| !levels.contains(level))
        }
        _ => false,
    };
    let positions = (0..kernel.statements.len()).filter(|&position| apart(position));
    let legal = positions.filter(|&position| may_be_chain(kernel, position).is_ok());
    legal.map(|position| Form::Chain { statement: position as u32 }).collect()
}

/// What was chosen, for people.
pub(super) fn choices(nest: &Nest) -> impl Iterator<Item = Choice> {
    nest.chains().map(|statement| Choice {
        about: format!("the reduce of statement {statement}"),
        chosen: "one accumulator, in a register, where its elements come one after the other".to_owned(),
        because: "its function gives the same bits however elements are grouped".to_owned(),
        instead_of: vec!["accumulators in scratch memory, which are folded at the end".to_owned()],
    })
}
