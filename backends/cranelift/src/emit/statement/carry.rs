//! Carries of scans whose tiles are run apart: words of memory that the tiles share.

use std::ops::Range;

use fusebox_ir::{Action, Association, Binary, Constant, ElementType, LevelOrder, association::TILE};

use crate::{
    emit::{Emitter, HiddenArgument, Result, identities},
    vector::{Memory, Value},
};

impl Emitter<'_> {
    /// The scans of `inner` along the outermost level, whose tiles may be run apart.
    fn tiled(&self, inner: Range<usize>) -> Vec<usize> {
        inner
            .filter(|&position| {
                let statement = &self.kernel.statements[position];
                let tiled = matches!(statement.action, Action::Scan { association: Association::Tiles { .. }, .. });
                tiled && statement.depth == 1
            })
            .collect()
    }

    /// Stores one value for each component at `at`, and whether they are there.
    pub(super) fn put_words(
        &mut self,
        position: usize,
        at: Value,
        values: &[Value],
        has: Value,
        words: fn(usize, usize) -> HiddenArgument,
        flags: fn(usize) -> HiddenArgument,
    ) {
        for (component, &value) in values.iter().enumerate() {
            let base = self.hidden_argument(words(position, component));
            self.b.store(base, at, value, None);
        }
        let base = self.hidden_argument(flags(position));
        self.b.store(base, at, has, None);
    }

    fn words(
        &mut self,
        position: usize,
        at: Value,
        types: &[ElementType],
        words: fn(usize, usize) -> HiddenArgument,
        flags: fn(usize) -> HiddenArgument,
    ) -> (Vec<Value>, Value) {
        let values = (types.iter().enumerate())
            .map(|(component, &ty)| {
                let base = self.hidden_argument(words(position, component));
                self.b.load(ty, 1, base, at, Memory::Shared)
            })
            .collect();
        let base = self.hidden_argument(flags(position));
        (values, self.b.load(ElementType::Bool, 1, base, at, Memory::Shared))
    }

    /// The carry before a tile: what the scan starts from, or what was left by the tile before.
    pub(super) fn carry_before(
        &mut self,
        position: usize,
        tile: Value,
        types: &[ElementType],
        (starts, has): (&[Value], Value),
    ) -> (Vec<Value>, Value) {
        let zero = self.b.int(0);
        let first = self.b.binary(Binary::Eq, tile, zero);
        let (carries, there) = self.words(position, tile, types, HiddenArgument::Carry, HiddenArgument::CarryFlags);
        let carries = starts.iter().zip(&carries).map(|(&start, &carry)| self.b.select(first, start, carry)).collect();
        // What is there from the start on stays.
        let always = self.b.constant_of(has).and_then(Constant::as_bool) == Some(true);
        (carries, if always { has } else { self.b.select(first, has, there) })
    }

    /// What a scan starts from, and whether that is anything.
    pub(super) fn starts(&mut self, position: usize) -> Result<(Vec<ElementType>, Vec<Value>, Value)> {
        let kernel = self.kernel;
        let Action::Scan { combine, seeds, values, .. } = &kernel.statements[position].action else {
            return Err(self.broken("a scan that is none"));
        };
        let types: Vec<ElementType> = combine.params.iter().take(values.len()).map(|param| param.ty).collect();
        let seeds = seeds.iter().map(|&seed| self.operand(seed)).collect::<Result<Vec<_>>>()?;
        let identity = identities(combine);
        let starts = (types.iter().enumerate())
            .map(|(component, &ty)| match (seeds.get(component), &identity) {
                (Some(&seed), _) => self.plain(seed),
                (None, Some(identity)) => self.b.constant(identity[component]),
                (None, None) => self.b.constant(Constant::zero(ty)),
            })
            .collect();
        let has = self.b.constant(Constant::from(!seeds.is_empty() || identity.is_some()));
        Ok((types, starts, has))
    }

    /// The carries behind the tile that the range names.
    pub(in crate::emit) fn carries(&mut self, inner: Range<usize>) -> Result {
        let kernel = self.kernel;
        let tile = self.range.0;
        let next = self.b.add_int(tile, 1);
        for position in self.tiled(inner) {
            let Action::Scan { combine, .. } = &kernel.statements[position].action else { self.misplaced(position) };
            self.operation = kernel.operation(&kernel.statements[position]);
            let (types, starts, has) = self.starts(position)?;
            let (carry, has) = self.carry_before(position, tile, &types, (&starts, has));
            let (total, has_total) =
                self.words(position, tile, &types, HiddenArgument::Total, HiddenArgument::TotalFlags);
            let swap = kernel.levels[0].order == LevelOrder::Down;
            let (new, has) = self.combine_present(combine, (&carry, has), (&total, has_total), swap)?;
            self.put_words(position, next, &new, has, HiddenArgument::Carry, HiddenArgument::CarryFlags);
        }
        Ok(())
    }

    /// Totals of scans become locals: the carries behind the last tile.
    pub(in crate::emit) fn finish_scans(&mut self, inner: Range<usize>) -> Result {
        let kernel = self.kernel;
        for position in self.tiled(inner) {
            let Action::Scan { totals, .. } = &kernel.statements[position].action else { self.misplaced(position) };
            if totals.is_empty() {
                continue;
            }
            let (types, starts, has) = self.starts(position)?;
            let steps = self.hidden_argument(HiddenArgument::Steps);
            let up = self.b.add_int(steps, TILE - 1);
            let shift = self.b.int(TILE.trailing_zeros().into());
            let tiles = self.b.binary(Binary::Shr, up, shift);
            let (carry, _) = self.carry_before(position, tiles, &types, (&starts, has));
            for (local, value) in totals.iter().zip(carry) {
                let value = self.val(value);
                self.locals.insert(local.id, value);
            }
        }
        Ok(())
    }
}
