//! Which appends store whole vectors.

use fusebox_ir::{Action, Kernel};

use super::{Choice, rows::is_read_again};
use crate::{appends::may_be_whole, form::Form, schedule::Nest};

/// The appends that store whole vectors: those of elements that come again at each step of a level around, where few are kept each time. A whole
/// vector lies in two lines of a cache, and fewer lanes more often in one; so where many are kept, masks are faster. `wanted`: whether all that may
/// store whole vectors.
pub(super) fn forms(kernel: &Kernel, nest: &Nest, wanted: Option<bool>) -> Vec<Form> {
    let Some(gang) = nest.gang(kernel.levels.len()).filter(|_| wanted != Some(false)) else { return Vec::new() };
    let few = wanted == Some(true) || gang.level > 0 && is_read_again(kernel, gang.level);
    let appends = kernel.statements.iter().enumerate().filter(|(position, statement)| {
        matches!(statement.action, Action::Append { .. })
            && statement.depth as usize == gang.level + 1
            && may_be_whole(kernel, *position).is_ok()
    });
    appends.filter(|_| few).map(|(position, _)| Form::Whole { statement: position as u32 }).collect()
}

/// What was chosen, for people.
pub(super) fn choices(nest: &Nest) -> impl Iterator<Item = Choice> {
    nest.whole().map(|statement| Choice {
        about: format!("the append of statement {statement}"),
        chosen: "whole vectors are stored, and what comes next is written over the lanes behind those that are kept".to_owned(),
        because: "the same elements come at each step of the level around, and few of them are kept each time: that takes no mask for each store".to_owned(),
        instead_of: vec!["stores with masks: less of them is in two lines of a cache".to_owned()],
    })
}
