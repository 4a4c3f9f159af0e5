//! Loads and stores of all lanes of a group.

use std::ops::Range;

use super::block::{Block, Launched, Stepped};
use super::touch::Touch;
use super::warp::{Warp, lanes};
use crate::code::{Address, NONE, Order, Slot};
use crate::fault::{Fault, FaultKind};
use crate::lanes::Row;
use crate::text::tree::Space;
use crate::types::Type;

impl Launched<'_> {
    /// Where each lane accesses.
    pub(super) fn places(
        &self,
        block: &Block,
        warp: &Warp,
        active: u32,
        address: &Address,
        line: u32,
    ) -> Result<Row, Box<Fault>> {
        if address.base == NONE {
            return Ok([address.offset as u64; 32]);
        }
        self.known(block, warp, address.base, active, line)?;
        Ok(warp.row(address.base).map(|base| (base & address.mask).wrapping_add(address.offset as u64)))
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn load_row(
        &mut self,
        block: &mut Block,
        warp: &mut Warp,
        active: u32,
        address: &Address,
        ty: Type,
        order: Order,
        dst: &[Slot],
        mask: u64,
        line: u32,
    ) -> Stepped {
        let places = self.places(block, warp, active, address, line)?;
        let bytes = ty.bytes() as usize * dst.len();
        self.count(address.space, active, &places, bytes, false);
        let unused = 64 - ty.bits();
        for lane in lanes(active) {
            self.aligned(block, warp, lane, places[lane], bytes, line)?;
        }
        for (number, &slot) in dst.iter().enumerate() {
            let mut values: Row = [0; 32];
            for lane in lanes(active) {
                let place = places[lane].wrapping_add(number as u64 * u64::from(ty.bytes()));
                let touch = touch(lane, address.space, place, ty, order, line);
                let value = self.load(block, warp, &touch);
                let value = value.map_err(|(kind, message)| self.fault(kind, block, warp, lane, line, message))?;
                let value = if ty.is_signed() { ((value << unused) as i64 >> unused) as u64 } else { value };
                values[lane] = value & mask;
            }
            warp.set(slot, active, &values);
        }
        Ok(())
    }

    #[allow(clippy::too_many_arguments)]
    pub(super) fn store_row(
        &mut self,
        block: &mut Block,
        warp: &mut Warp,
        active: u32,
        address: &Address,
        ty: Type,
        order: Order,
        values: &[Slot],
        line: u32,
    ) -> Stepped {
        let places = self.places(block, warp, active, address, line)?;
        let bytes = ty.bytes() as usize * values.len();
        self.count(address.space, active, &places, bytes, true);
        for lane in lanes(active) {
            self.aligned(block, warp, lane, places[lane], bytes, line)?;
        }
        for (number, &slot) in values.iter().enumerate() {
            self.known(block, warp, slot, active, line)?;
            for lane in lanes(active) {
                let place = places[lane].wrapping_add(number as u64 * u64::from(ty.bytes()));
                let touch = touch(lane, address.space, place, ty, order, line);
                let value = warp.row(slot)[lane] & ty.mask();
                let stored = self.store(block, warp, &touch, value);
                stored.map_err(|(kind, message)| self.fault(kind, block, warp, lane, line, message))?;
            }
        }
        Ok(())
    }

    /// Vectors are aligned as a whole.
    fn aligned(&self, block: &Block, warp: &Warp, lane: usize, place: u64, bytes: usize, line: u32) -> Stepped {
        if place & (bytes as u64 - 1) == 0 {
            return Ok(());
        }
        let message = format!("address {place:#x} is no multiple of {bytes}");
        Err(self.fault(FaultKind::Misaligned, block, warp, lane, line, message))
    }

    fn count(&mut self, space: Space, active: u32, places: &Row, bytes: usize, store: bool) {
        match space {
            Space::Global | Space::Generic => {
                let mut sectors = [u64::MAX; 32];
                for lane in lanes(active) {
                    sectors[lane] = places[lane] / 32;
                }
                sectors.sort_unstable();
                let mut touched = u64::from(sectors[0] != u64::MAX);
                touched += sectors.windows(2).filter(|pair| pair[0] != pair[1] && pair[1] != u64::MAX).count() as u64;
                if store {
                    self.counts.stores += 1;
                    self.counts.sectors_stored += touched;
                } else {
                    self.counts.loads += 1;
                    self.counts.sectors_loaded += touched;
                }
            }
            Space::Shared => {
                // A turn moves a word of each bank: so many lanes take part at once as have words for all banks.
                let words = bytes.div_ceil(4);
                for turn in 0..words {
                    let turns = turns(active, places, words, turn * 32 / words..(turn + 1) * 32 / words);
                    self.counts.bank_conflicts += turns.saturating_sub(1);
                }
            }
            _ => {}
        }
    }
}

/// One access of a lane.
pub(super) fn touch(lane: usize, space: Space, address: u64, ty: Type, order: Order, line: u32) -> Touch {
    Touch { lane, space, address, bytes: ty.bytes() as usize, order, line }
}

/// In how many turns so many words of each of some lanes are moved: as many as there are different words of one bank.
fn turns(active: u32, places: &Row, words: usize, lanes: Range<usize>) -> u64 {
    let (mut moved, mut count) = ([u64::MAX; 32], 0);
    for lane in lanes.filter(|lane| active >> lane & 1 == 1) {
        for word in 0..words as u64 {
            moved[count] = places[lane] / 4 + word;
            count += 1;
        }
    }
    let moved = &mut moved[..count];
    moved.sort_unstable();
    let mut of_bank = [0u64; 32];
    for (at, &word) in moved.iter().enumerate() {
        of_bank[word as usize % 32] += u64::from(at == 0 || moved[at - 1] != word);
    }
    of_bank.into_iter().max().unwrap_or(0)
}
