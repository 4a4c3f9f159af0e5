//! What the lanes of a warp do together.

use super::suffixes::Suffixes;
use super::{Decoded, Given};
use crate::code::{NONE, Op, Shuffle, Slot, Update, Vote};
use crate::text::ParseError;
use crate::text::tree::Operand;
use crate::types::Type;

impl Given<'_, '_> {
    pub(super) fn warp(mut self, suffixes: &mut Suffixes<'_>) -> Decoded {
        let name = self.instruction.opcode.as_str();
        if name == "activemask" {
            let ty = suffixes.ty()?;
            self.count(1, 1)?;
            let dst = self.dst(0, Type::B32)?;
            if !Self::is_bits32(ty) {
                return Err(self.no_such(ty));
            }
            self.decoder.push(Op::ActiveMask { dst });
            return Ok(());
        }
        if !suffixes.take("sync") {
            return Err(suffixes.error("lacks `.sync`: without it, it is gone since sm_70"));
        }
        match name {
            "shfl" => self.shuffle(suffixes),
            "vote" => self.vote(suffixes),
            "match" => self.matches(suffixes),
            _ => self.reduce(suffixes),
        }
    }

    /// `d` or `d|p`.
    fn dst_and_valid(&mut self, ty: Type) -> Result<(Slot, Slot), ParseError> {
        let (place, operand) = self.operand(0)?;
        let Operand::Pair(d, p) = operand.clone() else { return Ok((self.dst(0, ty)?, NONE)) };
        let slot = |name: &str, ty: Type| match name {
            "_" => Ok(NONE),
            name => self.decoder.register(name, ty, place),
        };
        let (dst, valid) = (slot(&d, ty)?, slot(&p, Type::Pred)?);
        Ok((if dst == NONE { self.decoder.temporary() } else { dst }, valid))
    }

    fn shuffle(&mut self, suffixes: &mut Suffixes<'_>) -> Decoded {
        let mode = suffixes.take_if(|suffix| match suffix {
            "up" => Some(Shuffle::Up),
            "down" => Some(Shuffle::Down),
            "bfly" => Some(Shuffle::Butterfly),
            "idx" => Some(Shuffle::Index),
            _ => None,
        });
        let mode = mode.ok_or_else(|| suffixes.error("lacks `.up`, `.down`, `.bfly` or `.idx`"))?;
        let ty = suffixes.ty()?;
        if ty != Type::B32 {
            return Err(self.no_such(ty));
        }
        self.count(5, 5)?;
        let (dst, valid) = self.dst_and_valid(ty)?;
        let (a, lane, clamp) = (self.source(1, ty)?, self.source(2, Type::B32)?, self.source(3, Type::B32)?);
        let members = self.source(4, Type::B32)?;
        self.decoder.push(Op::Shuffle { mode, dst, valid, a, lane, clamp, members });
        Ok(())
    }

    fn vote(&mut self, suffixes: &mut Suffixes<'_>) -> Decoded {
        let vote = suffixes.take_if(|suffix| match suffix {
            "all" => Some(Vote::All),
            "any" => Some(Vote::Any),
            "uni" => Some(Vote::Uniform),
            "ballot" => Some(Vote::Ballot),
            _ => None,
        });
        let vote = vote.ok_or_else(|| suffixes.error("lacks `.all`, `.any`, `.uni` or `.ballot`"))?;
        let ty = suffixes.ty()?;
        if ty != if vote == Vote::Ballot { Type::B32 } else { Type::Pred } {
            return Err(self.no_such(ty));
        }
        self.count(3, 3)?;
        let (dst, predicate) = (self.dst(0, ty)?, self.source(1, Type::Pred)?);
        let members = self.source(2, Type::B32)?;
        self.decoder.push(Op::Vote { vote, dst, predicate, members });
        Ok(())
    }

    fn matches(&mut self, suffixes: &mut Suffixes<'_>) -> Decoded {
        let all = suffixes.one_of(&["all", "any"]).ok_or_else(|| suffixes.error("lacks `.all` or `.any`"))? == "all";
        let ty = suffixes.ty()?;
        if !matches!(ty, Type::B32 | Type::B64) {
            return Err(self.no_such(ty));
        }
        self.count(3, 3)?;
        let (dst, valid) = if all { self.dst_and_valid(Type::B32)? } else { (self.dst(0, Type::B32)?, NONE) };
        let (a, members) = (self.source(1, ty)?, self.source(2, Type::B32)?);
        self.decoder.push(Op::Match { all, dst, valid, a, members });
        Ok(())
    }

    fn reduce(&mut self, suffixes: &mut Suffixes<'_>) -> Decoded {
        let update = suffixes.take_if(|suffix| {
            Some(match suffix {
                "add" => Update::Add,
                "min" => Update::Min,
                "max" => Update::Max,
                "and" => Update::And,
                "or" => Update::Or,
                "xor" => Update::Xor,
                _ => return None,
            })
        });
        let update = update.ok_or_else(|| suffixes.error("lacks an operation"))?;
        let ty = suffixes.ty()?;
        let allowed = match update {
            Update::Add | Update::Min | Update::Max => matches!(ty, Type::U32 | Type::S32),
            _ => ty == Type::B32,
        };
        if !allowed {
            return Err(self.no_such(ty));
        }
        self.count(3, 3)?;
        let (dst, a, members) = (self.dst(0, ty)?, self.source(1, ty)?, self.source(2, Type::B32)?);
        self.decoder.push(Op::Reduce { update, ty, dst, a, members });
        Ok(())
    }
}
