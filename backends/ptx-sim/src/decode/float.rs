//! Floating-point arithmetic.

use super::suffixes::Suffixes;
use super::{Decoded, Given};
use crate::code::{Op, Slot};
use crate::lanes::Apply;
use crate::lanes::exact::Rounding;
use crate::lanes::float;
use crate::types::Type;

impl Given<'_, '_> {
    /// What integers have too, of floats.
    pub(super) fn float(&mut self, ty: Type, suffixes: &mut Suffixes<'_>) -> Decoded {
        let name = self.instruction.opcode.as_str();
        let no_such = self.no_such(ty);
        match name {
            "min" | "max" => {
                let flush = self.flush(ty, suffixes)?;
                let apply = float::min_max(name == "max", suffixes.take("NaN"), ty).ok_or(no_such)?;
                self.wrapped(apply, ty, flush, false)
            }
            "abs" | "neg" => {
                let flush = self.flush(ty, suffixes)?;
                let apply = float::signs(name, ty).ok_or(no_such)?;
                self.wrapped(apply, ty, flush, false)
            }
            "div" if suffixes.one_of(&["approx", "full"]).is_some() => {
                let flush = self.flush(ty, suffixes)?;
                let apply = float::estimate(name).filter(|_| ty == Type::F32).ok_or(no_such)?;
                self.wrapped(apply, ty, flush, false)
            }
            "add" | "sub" | "mul" | "fma" | "mad" | "div" => self.rounded(ty, suffixes),
            _ => Err(no_such),
        }
    }

    /// `sqrt`, `rcp`, and what a GPU estimates.
    pub(super) fn function(mut self, suffixes: &mut Suffixes<'_>) -> Decoded {
        let ty = suffixes.ty()?;
        let approximate = suffixes.take("approx");
        if !approximate && matches!(self.instruction.opcode.as_str(), "sqrt" | "rcp") {
            return self.rounded(ty, suffixes);
        }
        if !approximate {
            return Err(suffixes.error("lacks `.approx`"));
        }
        let flush = self.flush(ty, suffixes)?;
        let apply = float::estimate(&self.instruction.opcode).filter(|_| ty == Type::F32);
        let apply = apply.ok_or_else(|| self.no_such(ty))?;
        self.wrapped(apply, ty, flush, false)
    }

    fn rounded(&mut self, ty: Type, suffixes: &mut Suffixes<'_>) -> Decoded {
        let name = self.instruction.opcode.as_str();
        let rounding = suffixes.rounding();
        let may_lack = matches!(name, "add" | "sub" | "mul");
        if rounding.is_none() && !may_lack {
            return Err(suffixes.error("lacks a rounding"));
        }
        if rounding.is_none() {
            self.note(format!(
                "`{name}{ty}` without a rounding: the assembler may make one instruction of a product and a sum"
            ));
        }
        let flush = self.flush(ty, suffixes)?;
        let saturate = suffixes.take("sat");
        if saturate && (ty == Type::F64 || matches!(name, "div" | "sqrt" | "rcp")) {
            return Err(self.no_such(ty));
        }
        let name = if name == "mad" { "fma" } else { name };
        let apply = float::rounded(name, ty, rounding.unwrap_or(Rounding::Nearest));
        self.wrapped(apply.ok_or_else(|| self.no_such(ty))?, ty, flush, saturate)
    }

    /// Whether subnormals are flushed.
    fn flush(&self, ty: Type, suffixes: &mut Suffixes<'_>) -> Result<bool, crate::text::ParseError> {
        let flush = suffixes.take("ftz");
        if flush && ty != Type::F32 {
            return Err(self.error(format!("`.ftz` of {ty} is not known here")));
        }
        Ok(flush)
    }

    /// The instruction with what `.ftz` does before and after it, and `.sat` after.
    fn wrapped(&mut self, apply: Apply, ty: Type, flush: bool, saturate: bool) -> Decoded {
        let begin = self.decoder.body.steps.len();
        self.same(apply, ty)?;
        if !flush && !saturate {
            return Ok(());
        }
        let mut step = self.decoder.body.steps.split_off(begin).pop().expect("an instruction is a step");
        let (dst, mut sources) = parts(&mut step.op);
        if flush {
            for source in &mut sources {
                let flushed = self.decoder.temporary();
                self.decoder.apply(float::flush(), flushed, &[**source]);
                **source = flushed;
            }
        }
        let dst = *dst;
        self.decoder.push(step.op);
        if flush {
            self.decoder.apply(float::flush(), dst, &[dst]);
        }
        if saturate {
            let apply = float::saturate(ty).ok_or_else(|| self.no_such(ty))?;
            self.decoder.apply(apply, dst, &[dst]);
        }
        Ok(())
    }

    pub(super) fn sign_or_test(mut self, suffixes: &mut Suffixes<'_>) -> Decoded {
        let ty = suffixes.ty()?;
        if self.instruction.opcode == "copysign" {
            let apply = float::signs("copysign", ty).ok_or_else(|| self.no_such(ty))?;
            return self.same(apply, ty);
        }
        let kind = suffixes.one_of(&["finite", "infinite", "number", "notanumber", "normal", "subnormal"]);
        let kind = kind.ok_or_else(|| suffixes.error("lacks what is asked"))?;
        let apply = float::test(kind, ty).ok_or_else(|| self.no_such(ty))?;
        self.count(2, 2)?;
        self.typed(apply, Type::Pred, &[ty])
    }
}

/// The destination and the sources of arithmetic.
fn parts(op: &mut Op) -> (&mut Slot, Vec<&mut Slot>) {
    match op {
        Op::One { dst, a, .. } => (dst, vec![a]),
        Op::Two { dst, a, b, .. } => (dst, vec![a, b]),
        Op::Three { dst, a, b, c, .. } => (dst, vec![a, b, c]),
        op => unreachable!("no arithmetic on floats: {op:?}"),
    }
}
