//! What a block function left in its error slot, as a run-time error.

use fusebox_ir::RunError;

use crate::{lower::SLOT_STRIDE, vector::Site};

/// Words of an error slot.
pub const SLOT_WORDS: usize = SLOT_STRIDE as usize / 8 * 20;

/// The error of a failed site; `mask_bytes` are those of a lane of its mask, 0 where the condition was uniform.
pub fn error(site: &Site, mask_bytes: u32, slot: &[u64]) -> RunError {
    let byte = |position: usize| slot.get(position / 8).map_or(0, |word| word.to_le_bytes()[position % 8]);
    let lane = if mask_bytes == 0 {
        0
    } else {
        (0..site.lanes as usize).find(|lane| byte(lane * mask_bytes as usize) != 0).unwrap_or(0)
    };
    let stride = SLOT_STRIDE as usize / 8;
    let mut next =
        (0..site.operands).map(|operand| slot.get(stride * (operand + 1) + lane).map_or(0, |&word| word as i64));
    site.failure.error(|_| next.next().unwrap_or(0))
}
