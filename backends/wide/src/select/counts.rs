//! Counts of bits in each lane: ones, zeros above the first one, zeros below the last.

use iced_x86::Code as C;
use regalloc2::VReg;

use super::{Select, codes};
use crate::machine::Arg;

/// Ones of four bits.
const ONES: [u8; 16] = [0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4];
/// Zeros above the first one of the upper four bits of a byte; 8 where there is no one.
const ZEROS_ABOVE_UPPER: [u8; 16] = [8, 3, 2, 2, 1, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0];
/// The same of the lower four bits, where the upper ones are zeros.
const ZEROS_ABOVE_LOWER: [u8; 16] = [8, 7, 6, 6, 5, 5, 5, 5, 4, 4, 4, 4, 4, 4, 4, 4];

impl Select<'_> {
    /// How many ones each lane has.
    pub(super) fn ones(&mut self, bytes: usize, a: VReg) -> VReg {
        if self.features.counts {
            return self.w(codes::count_ones(bytes), &[Arg::Any(a)]);
        }
        let table = self.table(&ONES);
        let (low, high) = self.by_halves(a, table, table);
        let counts = self.w(C::EVEX_Vpaddb_zmm_k1z_zmm_zmmm512, &[Arg::Use(low), Arg::Use(high)]);
        // Counts of bytes are added to those of their lane.
        if bytes == 8 {
            let zero = self.zero();
            return self.w(C::EVEX_Vpsadbw_zmm_zmm_zmmm512, &[Arg::Use(counts), Arg::Use(zero)]);
        }
        if bytes == 1 {
            return counts;
        }
        let one = self.lanes_of(1, 1);
        let words = self.w(C::EVEX_Vpmaddubsw_zmm_k1z_zmm_zmmm512, &[Arg::Use(counts), one]);
        if bytes == 2 {
            return words;
        }
        let one = self.lanes_of(1, 2);
        self.w(C::EVEX_Vpmaddwd_zmm_k1z_zmm_zmmm512, &[Arg::Use(words), one])
    }

    /// How many zeros each lane has below its lowest one: the width where there is none.
    pub(super) fn zeros_below(&mut self, bytes: usize, a: VReg) -> VReg {
        let add = codes::add(bytes);
        let minus = self.lanes_of(u64::MAX, bytes);
        let less = self.w(add, &[Arg::Use(a), minus]);
        let and_not =
            if bytes == 8 { C::EVEX_Vpandnq_zmm_k1z_zmm_zmmm512b64 } else { C::EVEX_Vpandnd_zmm_k1z_zmm_zmmm512b32 };
        // Ones where those zeros are, zeros elsewhere.
        let below = self.w(and_not, &[Arg::Use(a), Arg::Use(less)]);
        if self.features.counts || bytes < 4 || !self.features.avx512 {
            return self.ones(bytes, below);
        }
        let above = self.zeros_above(bytes, below);
        let width = self.m.constant(&(bytes as u64 * 8).to_le_bytes()[..bytes]);
        let (spread, subtract) = if bytes == 4 {
            (C::EVEX_Vbroadcastss_zmm_k1z_xmmm32, C::EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32)
        } else {
            (C::EVEX_Vbroadcastsd_zmm_k1z_xmmm64, C::EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64)
        };
        let width = self.w(spread, &[Arg::Mem(width)]);
        self.w(subtract, &[Arg::Use(width), Arg::Use(above)])
    }

    /// How many zeros each lane has above its highest one: the width where there is none.
    pub(super) fn zeros_above(&mut self, bytes: usize, a: VReg) -> VReg {
        if !self.features.avx512 && bytes > 1 {
            return self.zeros_above_spread(bytes, a);
        }
        match bytes {
            8 => self.w(C::EVEX_Vplzcntq_zmm_k1z_zmmm512b64, &[Arg::Any(a)]),
            4 => self.w(C::EVEX_Vplzcntd_zmm_k1z_zmmm512b32, &[Arg::Any(a)]),
            2 => {
                // As upper halves of lanes of 4 bytes; a one behind them ends the count at 16.
                let low = self.w(C::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, &[Arg::Any(a), Arg::Imm(16)]);
                let [low, high] = [low, a].map(|half| {
                    let end = self.every(0x8000, 4);
                    let ended = self.w(C::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32, &[Arg::Use(half), end]);
                    self.zeros_above(4, ended)
                });
                let high = self.w(C::EVEX_Vpslld_zmm_k1z_zmmm512b32_imm8, &[Arg::Any(high), Arg::Imm(16)]);
                self.w(C::EVEX_Vpord_zmm_k1z_zmm_zmmm512b32, &[Arg::Use(low), Arg::Use(high)])
            }
            _ => {
                let [low, high] = [&ZEROS_ABOVE_LOWER, &ZEROS_ABOVE_UPPER].map(|table| self.table(table));
                let (low, high) = self.by_halves(a, low, high);
                self.w(C::EVEX_Vpminub_zmm_k1z_zmm_zmmm512, &[Arg::Use(low), Arg::Use(high)])
            }
        }
    }

    /// A table in each 16 bytes of a register.
    fn table(&mut self, table: &[u8; 16]) -> VReg {
        let table = self.m.constant(table);
        self.w(C::EVEX_Vbroadcasti32x4_zmm_k1z_m128, &[Arg::Mem(table)])
    }

    /// What a table has for the lower four bits of each byte, and another for the upper four.
    fn by_halves(&mut self, a: VReg, low: VReg, high: VReg) -> (VReg, VReg) {
        let above = self.w(C::EVEX_Vpsrlw_zmm_k1z_zmmm512_imm8, &[Arg::Any(a), Arg::Imm(4)]);
        let found = [(a, low), (above, high)].map(|(bits, table)| {
            let four = self.every(0x0f0f_0f0f, 4);
            let bits = self.w(C::EVEX_Vpandd_zmm_k1z_zmm_zmmm512b32, &[Arg::Use(bits), four]);
            self.w(C::EVEX_Vpshufb_zmm_k1z_zmm_zmmm512, &[Arg::Use(table), Arg::Use(bits)])
        });
        (found[0], found[1])
    }
}
