//! Functions on each register and on each lane; lanes that move or are chosen.

use cranelift_codegen::ir::{InstBuilder, Value as Clif};
use fusebox_ir::bug;

use crate::{
    lower::{Lower, Registers},
    vector::{Type, Value},
};

impl Lower<'_> {
    /// One function on each register.
    pub(super) fn each(&mut self, a: &[Clif], mut one: impl FnMut(&mut Self, Clif) -> Clif) -> Vec<Clif> {
        a.iter().map(|&a| one(self, a)).collect()
    }

    pub(super) fn pairs(
        &mut self,
        a: &[Clif],
        b: &[Clif],
        mut one: impl FnMut(&mut Self, Clif, Clif) -> Clif,
    ) -> Vec<Clif> {
        a.iter().zip(b).map(|(&a, &b)| one(self, a, b)).collect()
    }

    /// A gang computed lane by lane.
    pub(super) fn lanes(
        &mut self,
        ty: Type,
        operands: &[Value],
        mut one: impl FnMut(&mut Self, &[Clif]) -> Clif,
    ) -> Registers {
        let operands: Vec<Registers> = operands.iter().map(|&operand| self.registers_of(operand)).collect();
        let lanes = (0..ty.lanes)
            .map(|lane| {
                let operands: Vec<Clif> = operands.iter().map(|operand| self.extract(operand, lane)).collect();
                one(self, &operands)
            })
            .collect();
        self.gang_of(ty, lanes)
    }

    /// Half of the lanes: registers of several, or what lies in half of one.
    pub(in crate::lower) fn half(&mut self, value: Value, upper: bool) -> Registers {
        let ty = self.ty(value);
        let (bytes, mut registers, mask) = match self.registers_of(value) {
            Registers::Mask(bytes, registers) => (bytes, registers, true),
            Registers::Gang(registers) => (ty.element.bytes() as u32, registers, false),
            Registers::One(_) => bug!(self.function, "{value} should be a gang"),
        };
        if registers.len() > 1 {
            let behind = registers.split_off(registers.len() / 2);
            registers = if upper { behind } else { registers };
        } else if upper {
            let at = (ty.lanes * bytes / 2) as u8;
            let vector = self.b.func.dfg.value_type(registers[0]);
            let picks = (0..16).map(|byte| (byte + at) % 16).collect();
            registers[0] = self.shuffled(vector, registers[0], registers[0], picks);
        }
        if mask { Registers::Mask(bytes, registers) } else { Registers::Gang(registers) }
    }

    pub(in crate::lower) fn shift(&mut self, value: Value, by: u32, fill: Value) -> Registers {
        let ty = self.ty(value);
        let (bytes, from, fill, mask) = match (self.registers_of(value), self.registers_of(fill)) {
            (Registers::Mask(bytes, registers), _) => {
                let fill = self.mask(fill, bytes);
                (bytes, registers, fill, true)
            }
            (Registers::Gang(registers), Registers::Gang(fill)) => (ty.element.bytes() as u32, registers, fill, false),
            _ => bug!(self.function, "{value} should be a gang"),
        };
        let vector = self.b.func.dfg.value_type(from[0]);
        let moved = (by * bytes) as usize;
        let shifted: Vec<Clif> = (0..from.len())
            .map(|register| {
                let start = register * 16;
                if start >= moved {
                    let (source, rest) = ((start - moved) / 16, (start - moved) % 16);
                    if rest == 0 {
                        return from[source];
                    }
                    let picks = (rest..rest + 16).map(|byte| byte as u8).collect();
                    self.shuffled(vector, from[source], from[source + 1], picks)
                } else if start + 16 <= moved {
                    fill[register]
                } else {
                    let picks = (0..16)
                        .map(|byte| if start + byte < moved { byte } else { start + byte - moved + 16 } as u8)
                        .collect();
                    self.shuffled(vector, fill[register], from[0], picks)
                }
            })
            .collect();
        if mask { Registers::Mask(bytes, shifted) } else { Registers::Gang(shifted) }
    }

    /// The lanes in the other order.
    pub(in crate::lower) fn reverse(&mut self, value: Value) -> Registers {
        let ty = self.ty(value);
        let bytes = ty.element.bytes();
        let last = (ty.lanes as usize * bytes).min(16) / bytes - 1;
        let picks: Vec<u8> =
            (0..16).map(|byte| (last.saturating_sub(byte / bytes) * bytes + byte % bytes) as u8).collect();
        let from = self.gang(value);
        let reversed = from.into_iter().rev().map(|register| {
            let vector = self.b.func.dfg.value_type(register);
            self.shuffled(vector, register, register, picks.clone())
        });
        Registers::Gang(reversed.collect())
    }

    /// Every other run of so many lanes of two gangs: registers, or what lies in pairs of them.
    pub(in crate::lower) fn unzip(&mut self, first: Value, second: Value, run: u32, odd: bool) -> Registers {
        let bytes = run as usize * self.ty(first).element.bytes();
        let (all, odd) = ([self.gang(first), self.gang(second)].concat(), usize::from(odd));
        if bytes >= 16 {
            let runs = all.chunks(bytes / 16).skip(odd).step_by(2);
            return Registers::Gang(runs.flatten().copied().collect());
        }
        let picks: Vec<u8> = (0..32u8).filter(|&byte| usize::from(byte) / bytes % 2 == odd).collect();
        let pairs = all.chunks(2).map(|pair| {
            let vector = self.b.func.dfg.value_type(pair[0]);
            self.shuffled(vector, pair[0], pair[1], picks.clone())
        });
        Registers::Gang(pairs.collect())
    }

    pub(in crate::lower) fn select(&mut self, condition: Value, a: Value, b: Value) -> Registers {
        let (mut left, mut right) = (self.registers_of(a), self.registers_of(b));
        if let Registers::One(condition) = self.registers_of(condition) {
            if let (Registers::Mask(bytes, _), Registers::Mask(..)) = (&left, &right) {
                let bytes = *bytes;
                right = Registers::Mask(bytes, self.mask(b, bytes));
            }
            let mut choose = |a: &[Clif], b: &[Clif]| {
                a.iter().zip(b).map(|(&a, &b)| self.b.ins().select(condition, a, b)).collect::<Vec<_>>()
            };
            return match (left, right) {
                (Registers::One(a), Registers::One(b)) => Registers::One(choose(&[a], &[b])[0]),
                (Registers::Gang(a), Registers::Gang(b)) => Registers::Gang(choose(&a, &b)),
                (Registers::Mask(bytes, a), Registers::Mask(_, b)) => Registers::Mask(bytes, choose(&a, &b)),
                _ => bug!(self.function, "{a} and {b} should be alike"),
            };
        }
        let bytes = match &left {
            Registers::Mask(bytes, _) => *bytes,
            _ => self.ty(a).element.bytes() as u32,
        };
        let is_mask = matches!(left, Registers::Mask(..));
        if is_mask {
            left = Registers::Gang(self.mask(a, bytes));
            right = Registers::Gang(self.mask(b, bytes));
        }
        let condition = self.mask(condition, bytes);
        let (Registers::Gang(left), Registers::Gang(right)) = (left, right) else {
            bug!(self.function, "{a} should be a gang")
        };
        let chosen = (condition.into_iter().zip(left).zip(right))
            .map(|((condition, a), b)| {
                let ty = self.b.func.dfg.value_type(a);
                let condition = self.reinterpret(ty, condition);
                self.b.ins().bitselect(condition, a, b)
            })
            .collect();
        if is_mask { Registers::Mask(bytes, chosen) } else { Registers::Gang(chosen) }
    }
}
