//! Comparisons and selections.

use super::suffixes::Suffixes;
use super::{Decoded, Given};
use crate::code::{NONE, Op, Slot};
use crate::lanes::{compare, float};
use crate::text::tree::Operand;
use crate::types::Type;

const COMPARISONS: [&str; 18] = [
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu", "num", "nan",
];

impl Given<'_, '_> {
    /// `setp p|q, a, b, c` and `set d, a, b, c`.
    pub(super) fn comparison(mut self, suffixes: &mut Suffixes<'_>) -> Decoded {
        let is_set = self.instruction.opcode == "set";
        let result = if is_set { suffixes.ty()? } else { Type::Pred };
        let ty = suffixes.ty()?;
        let name = suffixes.one_of(&COMPARISONS).ok_or_else(|| suffixes.error("lacks a comparison"))?;
        let combine = suffixes.one_of(&["and", "or", "xor"]);
        let flush = suffixes.take("ftz");
        let apply = compare::compare(name, ty).ok_or_else(|| self.no_such(ty))?;
        let operands = if combine.is_some() { 4 } else { 3 };
        self.count(operands, operands)?;

        let (mut a, mut b) = (self.source(1, ty)?, self.source(2, ty)?);
        if flush {
            for source in [&mut a, &mut b] {
                let flushed = self.decoder.temporary();
                self.decoder.apply(float::flush(), flushed, &[*source]);
                *source = flushed;
            }
        }
        let with = match combine {
            Some(_) => self.source(3, Type::Pred)?,
            None => NONE,
        };
        if is_set {
            let set = compare::set(result).ok_or_else(|| self.no_such(result))?;
            let (truth, dst) = (self.decoder.temporary(), self.dst(0, result)?);
            self.decoder.apply(apply, truth, &[a, b]);
            self.combined(combine, truth, with, truth);
            self.decoder.apply(set, dst, &[truth]);
            return Ok(());
        }
        let (place, operand) = self.operand(0)?;
        if let Operand::Pair(p, q) = operand.clone() {
            let (truth, opposite) = (self.decoder.temporary(), self.decoder.temporary());
            self.decoder.apply(apply, truth, &[a, b]);
            self.decoder.apply(compare::invert(), opposite, &[truth]);
            self.combined(combine, truth, with, truth);
            self.combined(combine, opposite, with, opposite);
            for (name, value) in [(p, truth), (q, opposite)] {
                if name != "_" {
                    let dst = self.decoder.register(&name, Type::Pred, place)?;
                    self.decoder.push(Op::Move { dst, a: value });
                }
            }
            return Ok(());
        }
        let dst = self.dst(0, Type::Pred)?;
        if combine.is_none() {
            self.decoder.apply(apply, dst, &[a, b]);
            return Ok(());
        }
        let truth = self.decoder.temporary();
        self.decoder.apply(apply, truth, &[a, b]);
        self.combined(combine, truth, with, dst);
        Ok(())
    }

    fn combined(&mut self, combine: Option<&str>, truth: Slot, with: Slot, dst: Slot) {
        if let Some(apply) = combine.and_then(compare::combine) {
            self.decoder.apply(apply, dst, &[truth, with]);
        }
    }

    pub(super) fn selection(mut self, suffixes: &mut Suffixes<'_>) -> Decoded {
        let ty = suffixes.ty()?;
        self.count(4, 4)?;
        if matches!(ty, Type::Pred | Type::F16 | Type::F16x2) || ty.bits() == 8 {
            return Err(self.no_such(ty));
        }
        if self.instruction.opcode == "selp" {
            let (dst, a, b) = (self.dst(0, ty)?, self.source(1, ty)?, self.source(2, ty)?);
            let condition = self.source(3, Type::Pred)?;
            self.decoder.push(Op::Select { dst, a, b, condition });
            return Ok(());
        }
        let by = suffixes.ty()?;
        if !matches!(by, Type::S32 | Type::F32) {
            return Err(self.no_such(by));
        }
        let flush = suffixes.take("ftz");
        let (dst, a, b, mut c) = (self.dst(0, ty)?, self.source(1, ty)?, self.source(2, ty)?, self.source(3, by)?);
        if flush {
            let flushed = self.decoder.temporary();
            self.decoder.apply(float::flush(), flushed, &[c]);
            c = flushed;
        }
        self.decoder.apply(compare::select_by_sign(by == Type::F32), dst, &[a, b, c]);
        Ok(())
    }
}
