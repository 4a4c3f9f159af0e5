//! Scatters: plain where nobody else writes, atomic where others may.

use fusebox_ir::{Action, ElementType, Instruction, KernelArrayId, Lambda, ScalarOperand, ScatterOrder};

use crate::{
    emit::{Emitter, Result},
    state::Maybe,
    statement::atomic::AtomicSpace,
    text::Reg,
    value::Val,
};

impl Emitter<'_> {
    /// `arrays[map] = combine(values, arrays[map])`.
    pub(crate) fn scatter(&mut self, position: usize, when: Option<Reg>) -> Result {
        let kernel = self.kernel;
        let Action::Scatter { arrays, map, combine, values, order, place } = &kernel.statements[position].action else {
            return Err(self.broken("a scatter that is none"));
        };
        let Some(&first) = arrays.first() else { return Err(self.broken("a scatter into nothing")) };
        let put = |this: &mut Self| {
            let index = map.dims.iter().map(|dim| this.dim_index(dim)).collect::<Result<Vec<_>>>()?;
            if map.checked {
                let extents = this.extents(first)?;
                this.check_index(first, (&index, &index), &extents, place)?;
            }
            let target = this.wide_position(first, &index)?;
            let values = this.operands(values)?;
            if let Some(&place) = this.staged.get(&position) {
                this.store_to("shared", place, 0, target);
                for (component, &value) in values.iter().enumerate() {
                    this.store_to("shared", place, 8 + 8 * component as u64, value);
                }
                return Ok(());
            }
            let once = kernel.statements[position].depth == 0 && !this.scatters_elsewhere(position, first);
            let alone = !this.contended || once || *order == ScatterOrder::Unique;
            let copy = this.chunks.iter().find(|chunk| chunk.statement == position);
            let copy = copy.map(|chunk| (chunk.is_copy, chunk.copy));
            if let Some(&words) = this.packed.get(&position) {
                let word = this.address(words, target, 8);
                return this.packed(word, combine, &values);
            }
            if let Some(copies) = this.private.get(&position).cloned() {
                return this.combine_each(combine, &values, |this, component, ty| {
                    Ok((AtomicSpace::Shared, this.address(copies[component], target, ty.bytes() as u64)))
                });
            }
            match copy {
                Some((is_copy, copy)) => this.scatter_to_chunk(arrays, target, (is_copy, copy), combine, &values),
                None if alone => this.scatter_alone(arrays, target, combine, &values),
                None => this.scatter_atomic(arrays, target, combine, &values),
            }
        };
        match when {
            None => put(self),
            Some(when) => self.only_if(when, put),
        }
    }

    /// Whether another statement scatters into an array.
    fn scatters_elsewhere(&self, position: usize, array: KernelArrayId) -> bool {
        self.kernel.statements.iter().enumerate().any(|(other, statement)| {
            other != position && matches!(&statement.action, Action::Scatter { arrays, .. } if arrays.contains(&array))
        })
    }

    /// Combines new values into targets that nobody else touches.
    pub(crate) fn scatter_alone(
        &mut self,
        arrays: &[KernelArrayId],
        target: Val,
        combine: &Lambda,
        values: &[Val],
    ) -> Result {
        let mut old = Vec::new();
        for &array in arrays {
            old.push(self.load_at(array, target)?);
        }
        let combined = self.combine(combine, values, &old, false)?;
        for (&array, value) in arrays.iter().zip(combined) {
            let address = self.element(array, target)?;
            self.store_to("global", address, 0, value);
        }
        Ok(())
    }

    /// A step of the outermost level begins, by the one thread that goes through it.
    pub(crate) fn enter_chunks(&mut self, step: Val) {
        for chunk in self.chunks.clone() {
            let Some((length, base, targets)) = chunk.steps else { continue };
            let (x, n) = (self.c.text(step), self.c.text(length));
            let number = self.c.make(ElementType::I64, "div.s64", &[&x, &n]);
            let is_copy = self.c.compare("gt", number, 0i64.into());
            let before = self.c.add(number, (-1i64).into());
            let skipped = self.c.mul(before, targets);
            let Action::Scatter { arrays, .. } = &self.kernel.statements[chunk.statement].action else { continue };
            let copy = self.address(base, skipped, 8 * arrays.len() as u64 + 8);
            self.c.assign(chunk.is_copy, Val::new(ElementType::Bool, is_copy));
            self.c.assign(chunk.copy, Val::new(ElementType::I64, copy));
        }
    }

    /// Into the arrays themselves by the first chunk, else into a copy whose elements are absent at first.
    pub(crate) fn scatter_to_chunk(
        &mut self,
        arrays: &[KernelArrayId],
        target: Val,
        (is_copy, copy): (Reg, Reg),
        combine: &Lambda,
        values: &[Val],
    ) -> Result {
        let (own, behind) = (self.c.label(), self.c.label());
        self.c.op(format_args!("@{is_copy} bra {own}"));
        self.scatter_alone(arrays, target, combine, values)?;
        self.c.op(format_args!("bra {behind}"));
        self.c.place(own);
        let types: Vec<_> = values.iter().map(|value| value.ty).collect();
        let address = self.address(copy, target, 8 * types.len() as u64 + 8);
        let old = self.read_maybe("global", address, &types);
        let new = Maybe { values: values.to_vec(), present: None };
        let combined = self.combine_maybe(combine, &new, &old, false)?;
        self.write_maybe("global", address, &combined);
        self.c.place(behind);
        Ok(())
    }

    /// Combines new values into targets that other threads may be combining into.
    fn scatter_atomic(&mut self, arrays: &[KernelArrayId], target: Val, combine: &Lambda, values: &[Val]) -> Result {
        let by_itself = fusebox_ir::analysis::algebra::built_ins(combine).is_some();
        if values.len() == 1 || by_itself && values.len() == arrays.len() {
            return self.combine_each(combine, values, |this, component, _| {
                Ok((AtomicSpace::Global, this.element(arrays[component], target)?))
            });
        }
        self.under_lock(arrays, target, combine, values)
    }

    /// Combines each component by itself, into its own place.
    pub(crate) fn combine_each(
        &mut self,
        combine: &Lambda,
        values: &[Val],
        place: impl Fn(&mut Self, usize, ElementType) -> Result<(AtomicSpace, Reg)>,
    ) -> Result {
        for (component, &value) in values.iter().enumerate() {
            let (space, address) = place(self, component, value.ty)?;
            if values.len() == 1 {
                return self.atomic(space, address, combine, value);
            }
            let own = component_of(combine, component);
            self.atomic(space, address, &own, value)?;
        }
        Ok(())
    }
}

/// The function of one component alone, of a function that combines each by itself.
fn component_of(combine: &Lambda, component: usize) -> Lambda {
    let k = combine.results.len();
    let result = combine.results[component];
    let makes =
        |instruction: &Instruction| instruction.results.iter().any(|local| ScalarOperand::Local(local.id) == result);
    Lambda {
        params: vec![combine.params[component].clone(), combine.params[k + component].clone()],
        instructions: combine.instructions.iter().filter(|instruction| makes(instruction)).cloned().collect(),
        results: vec![combine.results[component]],
    }
}
