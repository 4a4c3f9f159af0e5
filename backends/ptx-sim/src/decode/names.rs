//! Names of registers, by the blocks `{ … }` that declare them, and of special registers.

use crate::code::{Slot, Special};
use crate::types::Type;
use std::collections::HashMap;

#[derive(Default)]
pub(super) struct Names {
    scopes: Vec<HashMap<String, (Slot, Type)>>,
}

impl Names {
    pub fn open(&mut self) {
        self.scopes.push(HashMap::new());
    }

    pub fn close(&mut self) {
        self.scopes.pop();
    }

    /// False if the innermost block has the name already.
    pub fn declare(&mut self, name: String, slot: Slot, ty: Type) -> bool {
        self.scopes.last_mut().is_some_and(|scope| scope.insert(name, (slot, ty)).is_none())
    }

    pub fn find(&self, name: &str) -> Option<(Slot, Type)> {
        self.scopes.iter().rev().find_map(|scope| scope.get(name)).copied()
    }
}

/// The special register of this name, and its bits.
pub(super) fn special(name: &str) -> Option<(Special, u32)> {
    let axis = |prefix: &str| match name.strip_prefix(prefix)? {
        ".x" => Some(0),
        ".y" => Some(1),
        ".z" => Some(2),
        _ => None,
    };
    let by_axis: [(&str, fn(u8) -> Special); 4] = [
        ("%tid", Special::Thread),
        ("%ntid", Special::Threads),
        ("%ctaid", Special::Block),
        ("%nctaid", Special::Blocks),
    ];
    if let Some(special) = by_axis.iter().find_map(|(prefix, make)| axis(prefix).map(make)) {
        return Some((special, 32));
    }
    Some(match name {
        "%laneid" => (Special::Lane, 32),
        "%warpid" => (Special::Warp, 32),
        "%nwarpid" => (Special::Warps, 32),
        "WARP_SZ" => (Special::WarpSize, 32),
        "%lanemask_eq" => (Special::LanesEqual, 32),
        "%lanemask_lt" => (Special::LanesLess, 32),
        "%lanemask_le" => (Special::LanesLessEqual, 32),
        "%lanemask_gt" => (Special::LanesGreater, 32),
        "%lanemask_ge" => (Special::LanesGreaterEqual, 32),
        "%dynamic_smem_size" => (Special::DynamicShared, 32),
        "%total_smem_size" => (Special::TotalShared, 32),
        "%smid" => (Special::Zero, 32),
        "%nsmid" => (Special::One, 32),
        "%gridid" => (Special::Zero, 64),
        _ => return None,
    })
}
