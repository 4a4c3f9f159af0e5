//! Which scatters store what a gang puts at places one behind the other together.

use fusebox_ir::{Kernel, analysis::kernels::in_runs};

use super::Choice;
use crate::form::Form;
use crate::schedule::Nest;

/// The scatters of a kernel that put elements in runs along the level that a nest has across lanes; `wanted`: whether they are stored so.
pub(super) fn forms(kernel: &Kernel, nest: &Nest, wanted: Option<bool>) -> Vec<Form> {
    let Some(gang) = nest.gang(kernel.levels.len()).filter(|_| wanted.unwrap_or(true)) else { return Vec::new() };
    let along = |&position: &usize| kernel.statements[position].depth as usize == gang.level + 1;
    let positions = (0..kernel.statements.len()).filter(along).filter(|&position| in_runs(kernel, position).is_ok());
    positions.map(|position| Form::Runs { statement: position as u32 }).collect()
}

/// What was chosen, for people.
pub(super) fn choices(nest: &Nest) -> impl Iterator<Item = Choice> {
    nest.in_runs().map(|statement| Choice {
        about: format!("the scatter of statement {statement}"),
        chosen: "elements of a gang that go to places one behind the other are packed, and stored together".to_owned(),
        because: "a scan has counted them: it takes one store, and not one for each lane".to_owned(),
        instead_of: vec!["a store for each lane".to_owned()],
    })
}
