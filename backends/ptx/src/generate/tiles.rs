//! Tiles of the outermost level, with look-back.

use super::{Building, unsupported};
use crate::emit::Result;

impl Building<'_> {
    pub(super) fn tiles(&mut self) -> Result {
        Err(unsupported(self.kernel, "tiles are not generated for PTX yet"))
    }
}
