//! Loads.

use fusebox_ir::{DimBoundary, IndexMap, KernelArrayId, Lambda, Place};

use crate::{
    emit::{Emitter, Result},
    text::Reg,
    value::Val,
};

impl Emitter<'_> {
    /// `array[map]`.
    pub(crate) fn load(
        &mut self,
        array: KernelArrayId,
        map: &IndexMap,
        outside: Option<&Lambda>,
        place: &Place,
    ) -> Result<Val> {
        if outside.is_none() && !map.checked && map.dims.iter().all(|dim| dim.boundary == DimBoundary::None) {
            let position = self.position_of(array, map)?;
            return self.load_at(array, position);
        }
        let written = map.dims.iter().map(|dim| self.dim_index(dim)).collect::<Result<Vec<_>>>()?;
        let extents = self.extents(array)?;
        if let Some(function) = outside {
            return self.load_or((&written, &extents), function, |this| {
                let position = this.position(array, &written)?;
                this.load_at(array, position)
            });
        }
        let bounded = written.iter().zip(&extents).zip(&map.dims);
        let index = bounded.map(|((&index, &extent), dim)| self.bounded(index, extent, dim.boundary));
        let index = index.collect::<Result<Vec<_>>>()?;
        if map.checked {
            self.check_index(array, (&index, &written), &extents, place)?;
        }
        let position = self.position(array, &index)?;
        self.load_at(array, position)
    }

    /// The same of what is in shared memory, so many bytes behind an address: boundaries were applied when it came there.
    pub(crate) fn load_from_box(
        &mut self,
        array: KernelArrayId,
        map: &IndexMap,
        outside: Option<&Lambda>,
        (address, offset): (Reg, u64),
    ) -> Result<Val> {
        let ty = self.kernel.arrays[array.index()].element;
        let here = |this: &mut Self| Ok(this.load_from("shared", ty, address, offset));
        let Some(function) = outside else { return here(self) };
        let written = map.dims.iter().map(|dim| self.dim_index(dim)).collect::<Result<Vec<_>>>()?;
        let extents = self.extents(array)?;
        self.load_or((&written, &extents), function, here)
    }

    /// A load with a function for what is outside.
    fn load_or(
        &mut self,
        (index, extents): (&[Val], &[Val]),
        function: &Lambda,
        load: impl FnOnce(&mut Self) -> Result<Val>,
    ) -> Result<Val> {
        let Some(outside) = self.outside(index, extents) else { return load(self) };
        let (inside, behind) = (self.c.label(), self.c.label());
        self.c.op(format_args!("@!{outside} bra {inside}"));
        let there = self.lambda(function, &[])?;
        let Some(&there) = there.first() else {
            return Err(self.broken("a function for what is outside gives nothing"));
        };
        let result = self.c.variable(there);
        self.c.op(format_args!("bra {behind}"));
        self.c.place(inside);
        let here = load(self)?;
        self.c.assign(result, here);
        self.c.place(behind);
        Ok(Val::new(here.ty, result))
    }
}
