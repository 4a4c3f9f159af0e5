//! Appends: the lanes of which a mask holds, one behind the other.

use fusebox_vector::{Append, Value};
use iced_x86::Code as C;
use regalloc2::VReg;

use super::{Outcome, Select, codes, convert::narrowing};
use crate::machine::{Address, Arg, INT, Inst as Made};

/// What is kept of a register.
#[derive(Clone, Copy)]
struct Kept {
    mask: VReg,
    /// The position of the first.
    start: VReg,
    /// How many are kept.
    number: VReg,
    /// A mask of as many lanes.
    below: Option<VReg>,
}

impl Select<'_> {
    /// Kept lanes one behind the other; gives the new count.
    pub(super) fn append(&mut self, own: &Append) -> Outcome<VReg> {
        let Append { bases, count, values, mask, spare: _, whole } = own;
        let mask = *mask;
        let start = self.one(*count)?;
        let lanes = values.first().map_or(1, |&value| self.ty(value).lanes);
        if lanes == 1 {
            return self.append_one(bases, start, values, mask);
        }
        let (mut last, mut behind) = (start, None);
        let mut widths: Vec<(u32, Vec<Kept>)> = Vec::new();
        for (&base, &value) in bases.iter().zip(values) {
            let ty = self.ty(value);
            if ty.lanes != lanes {
                return self.lacks("an append of a uniform value beside gangs");
            }
            let bytes = ty.element.bytes() as u32;
            let registers = self.storable(value)?;
            let base = self.one(base)?;
            let Some(mask) = mask else {
                let place = Address { index: Some(start), scale: bytes, ..Address::at(base, 0) };
                for (position, &register) in registers.iter().enumerate() {
                    self.store_part(place.plus(self.nth(position)), register, lanes * bytes);
                }
                last = self.i(C::Lea_r64_m, &[Arg::Mem(Address::at(start, lanes.into()))]);
                continue;
            };
            if !self.features.avx512 {
                last = self.append_of_ones(base, start, ty, &registers, mask)?;
                continue;
            }
            // Lanes that no instruction compresses are made wider, and narrow again.
            let width = if bytes < 4 && !self.features.compress { 4 } else { bytes };
            let registers = self.resized(&registers, bytes as usize, width as usize, false, lanes)?;
            let parts = match widths.iter().find(|(of, _)| *of == width) {
                Some((_, parts)) => parts.clone(),
                None => {
                    let parts = self.kept_parts(start, mask, (lanes, width), !*whole)?;
                    widths.push((width, parts.clone()));
                    parts
                }
            };
            for (&register, part) in registers.iter().zip(&parts) {
                let mut kept = self.zeroed(codes::compress(width), part.mask, &[Arg::Use(register)]);
                if width > bytes {
                    kept = self.w(narrowing(width as usize, bytes as usize), &[Arg::Use(kept)]);
                }
                let place = Address { index: Some(part.start), scale: bytes, ..Address::at(base, 0) };
                match part.below {
                    None => self.store_part(place, kept, lanes.min(self.bytes / width) * bytes),
                    Some(below) => self.store_kept((place, kept), below, (width, bytes)),
                }
            }
            behind = parts.last().map(|part| (part.start, part.number));
        }
        // After the stores: the old count is not needed any more, and the new one may take its register.
        Ok(behind.map_or(last, |(start, number)| self.moved_on(start, number)))
    }

    fn moved_on(&mut self, start: VReg, number: VReg) -> VReg {
        self.i(C::Lea_r64_m, &[Arg::Mem(Address { index: Some(number), ..Address::at(start, 0) })])
    }

    /// What of a gang is kept, register by register of lanes of `width` bytes; with a mask of as many lanes where that is `stored` alone.
    fn kept_parts(&mut self, start: VReg, mask: Value, (lanes, width): (u32, u32), stored: bool) -> Outcome<Vec<Kept>> {
        let mut parts: Vec<Kept> = Vec::new();
        for mask in self.lane_masks(mask, lanes, width)? {
            // Bits beyond those of the register may be lanes of the next.
            let word = match width {
                1 => C::VEX_Kmovq_r64_kr,
                2 => C::VEX_Kmovd_r32_kr,
                4 => C::VEX_Kmovw_r32_kr,
                _ => C::VEX_Kmovb_r32_kr,
            };
            let word = self.i(word, &[Arg::Use(mask)]);
            let number = self.i(C::Popcnt_r64_rm64, &[Arg::Use(word)]);
            let below = stored.then(|| {
                let ones = self.number(-1);
                let below = self.i(C::VEX_Bzhi_r64_rm64_r64, &[Arg::Use(ones), Arg::Use(number)]);
                self.k(C::VEX_Kmovq_kr_r64, &[Arg::Use(below)])
            });
            let start = parts.last().copied().map_or(start, |before| self.moved_on(before.start, before.number));
            parts.push(Kept { mask, start, number, below });
        }
        Ok(parts)
    }

    /// Stores the first lanes, of which each has `bytes` bytes, and had `width` before.
    fn store_kept(&mut self, (place, kept): (Address, VReg), below: VReg, (width, bytes): (u32, u32)) {
        let store = match width > bytes {
            true => codes::masked_store_of_16_lanes(bytes),
            false => codes::masked_store(bytes as usize),
        };
        self.m.push(Made::new().then(store, &[Arg::Mem(place), Arg::Use(kept)]).masked(below, false).kept());
    }

    /// Values put, or not, by a branch.
    fn append_one(&mut self, bases: &[Value], start: VReg, values: &[Value], mask: Option<Value>) -> Outcome<VReg> {
        let [inside, skip, after] = [(); 3].map(|()| self.m.block());
        let out = self.m.fresh(INT);
        if let Some(mask) = mask {
            let test = self.test(mask)?;
            let holds = self.flags(test);
            self.m.branch(holds, inside, skip);
            self.m.fill(inside);
        }
        for (&base, &value) in bases.iter().zip(values) {
            let ty = self.ty(value);
            let bytes = ty.element.bytes() as u32;
            let (base, one) = (self.one(base)?, self.one(value)?);
            self.store_one(ty.element, Address { index: Some(start), scale: bytes, ..Address::at(base, 0) }, one);
        }
        let next = self.i(C::Lea_r64_m, &[Arg::Mem(Address::at(start, 1))]);
        if mask.is_none() {
            return Ok(next);
        }
        self.m.jump(after, vec![next]);
        self.m.fill(skip);
        self.m.jump(after, vec![start]);
        self.m.blocks[after.0].params.push(out);
        self.m.fill(after);
        Ok(out)
    }

    /// Masks for the registers of a gang of `lanes` of so many bytes, zero beyond the last lane.
    pub(super) fn lane_masks(&mut self, mask: Value, lanes: u32, bytes: u32) -> Outcome<Vec<VReg>> {
        if self.ty(mask).lanes > 1 {
            return self.exact_mask(mask, bytes);
        }
        let one = self.one(mask)?;
        let spread = self.spread(one);
        let inside = self.mask_bits(if lanes >= 64 { u64::MAX } else { (1 << lanes) - 1 }, bytes);
        let mask = self.k(C::VEX_Kandq_kr_kr_kr, &[Arg::Use(spread), Arg::Use(inside)]);
        Ok(vec![mask; self.registers(lanes, bytes).max(1)])
    }
}
