//! How gangs append: the lanes that are kept, packed, by stores with masks or as whole vectors.

use fusebox_ir::{Action, Kernel, analysis::has_room};

/// Whether an append may store whole vectors. Lanes behind those that are kept are then written too, up to as many elements as points have come:
/// there is room for one of each, and the next elements are written over them.
///
/// # Errors
/// The first reason why not.
pub fn may_be_whole(kernel: &Kernel, position: usize) -> Result<(), String> {
    let Some(Action::Append { arrays, .. }) = kernel.statements.get(position).map(|statement| &statement.action) else {
        return Err(format!("statement {position} is no append"));
    };
    if !has_room(kernel) {
        return Err(format!("what statement {position} appends to has no room for an element of each point"));
    }
    let over = |&&array: &&fusebox_ir::KernelArrayId| kernel.arrays[array.index()].in_place_of.is_some();
    if arrays.iter().find(over).is_some() {
        return Err(format!("statement {position} appends to the place of an array that is read"));
    }
    Ok(())
}
