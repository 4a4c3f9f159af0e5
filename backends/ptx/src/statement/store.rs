//! Stores.

use fusebox_ir::{IndexMap, KernelArrayId, Place, ScalarOperand};

use crate::{
    emit::{Emitter, Result},
    text::Reg,
};

impl Emitter<'_> {
    /// `array[map] = value`.
    pub(crate) fn store(
        &mut self,
        array: KernelArrayId,
        map: &IndexMap,
        value: ScalarOperand,
        when: Option<Reg>,
    ) -> Result {
        let put = |this: &mut Self| {
            let position = if map.checked {
                let index = map.dims.iter().map(|dim| this.dim_index(dim)).collect::<Result<Vec<_>>>()?;
                let extents = this.extents(array)?;
                this.check_index(array, (&index, &index), &extents, &Place::default())?;
                this.position(array, &index)?
            } else {
                this.position_of(array, map)?
            };
            let address = this.element(array, position)?;
            let value = this.operand(value)?;
            this.store_to("global", address, 0, value);
            Ok(())
        };
        match when {
            None => put(self),
            Some(when) => self.only_if(when, put),
        }
    }
}
