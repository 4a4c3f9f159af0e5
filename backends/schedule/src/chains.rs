//! Chains: reduces with one accumulator, which takes their elements one after the other, as they come. No element is in memory, and nothing is
//! folded at the end.

use fusebox_ir::{
    Action, Association, Kernel,
    analysis::algebra::{algebra, regroups},
};

/// Whether a reduce may have one accumulator where its levels are not across lanes: where its association fixes no bit.
///
/// # Errors
/// Why not.
pub fn may_be_chain(kernel: &Kernel, position: usize) -> Result<(), String> {
    let action = kernel.statements.get(position).map(|statement| &statement.action);
    let Some(Action::Reduce { to, association, combine, .. }) = action else {
        return Err(format!("statement {position} is no chain: it reduces nothing"));
    };
    if *to == 0 {
        return Err(format!("statement {position} is no chain: threads have results of blocks"));
    }
    let free = match association {
        Association::Interleaved { .. } => algebra(combine).commutes,
        Association::Runs { .. } => true,
        Association::InOrder | Association::Tiles { .. } | Association::Ragged { .. } => false,
    };
    if !free || !regroups(combine) {
        return Err(format!("statement {position} is no chain: its bits depend on how elements are grouped"));
    }
    Ok(())
}
