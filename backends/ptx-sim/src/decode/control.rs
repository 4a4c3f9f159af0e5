//! Branches, ends, barriers of blocks.

use super::suffixes::Suffixes;
use super::{Decoded, Given};
use crate::code::{Meeting, NONE, Op, Tally};
use crate::text::tree::Operand;
use crate::types::Type;

impl Given<'_, '_> {
    pub(super) fn control(mut self, suffixes: &mut Suffixes<'_>) -> Decoded {
        match self.instruction.opcode.as_str() {
            "bra" => {
                suffixes.take("uni");
                self.count(1, 1)?;
                let (place, operand) = self.operand(0)?;
                let Operand::Name(label) = operand.clone() else { return Err(self.error("expected a label")) };
                let step = self.decoder.body.steps.len();
                self.decoder.jumps.push((step, label, place));
                self.decoder.push(Op::Branch { target: 0 });
            }
            "trap" => {
                self.count(0, 0)?;
                self.decoder.push(Op::Trap);
            }
            "nanosleep" => {
                suffixes.take("u32");
                self.count(1, 1)?;
                self.source(0, Type::U32)?;
                self.decoder.push(Op::Pause);
            }
            // There are no functions here, so that both end the thread.
            _ => {
                suffixes.take("uni");
                self.count(0, 0)?;
                self.decoder.push(Op::Exit);
            }
        }
        Ok(())
    }

    /// `bar.sync a, b`, `barrier.cta.red.and.pred p, a, b, c`, and `bar.warp.sync mask`.
    pub(super) fn barrier(mut self, suffixes: &mut Suffixes<'_>) -> Decoded {
        if suffixes.take("warp") {
            if !suffixes.take("sync") {
                return Err(suffixes.error("of a warp lacks `.sync`"));
            }
            self.count(1, 1)?;
            let members = self.source(0, Type::B32)?;
            self.decoder.push(Op::WarpBarrier { members });
            return Ok(());
        }
        suffixes.take("cta");
        let aligned = self.instruction.opcode == "bar" || suffixes.take("aligned");
        let kind = suffixes.one_of(&["sync", "arrive", "red"]);
        let kind = kind.ok_or_else(|| suffixes.error("lacks `.sync`, `.arrive` or `.red`"))?;
        let (meeting, first) = match kind {
            "sync" => {
                self.count(1, 2)?;
                (Meeting::Wait, 0)
            }
            "arrive" => {
                self.count(2, 2)?;
                (Meeting::Arrive, 0)
            }
            _ => {
                let tally = suffixes.take_if(|suffix| match suffix {
                    "popc" => Some(Tally::Count),
                    "and" => Some(Tally::And),
                    "or" => Some(Tally::Or),
                    _ => None,
                });
                let tally = tally.ok_or_else(|| suffixes.error("lacks `.popc`, `.and` or `.or`"))?;
                let ty = suffixes.ty()?;
                if ty != if tally == Tally::Count { Type::U32 } else { Type::Pred } {
                    return Err(self.no_such(ty));
                }
                self.count(3, 4)?;
                let last = self.instruction.operands.len() - 1;
                let (dst, predicate) = (self.dst(0, ty)?, self.source(last, Type::Pred)?);
                (Meeting::Reduce { tally, dst, predicate }, 1)
            }
        };
        let given = self.instruction.operands.len() - first - usize::from(kind == "red");
        let id = self.source(first, Type::U32)?;
        let threads = if given == 2 { self.source(first + 1, Type::U32)? } else { NONE };
        let threads = if threads == NONE { self.decoder.constant(0) } else { threads };
        self.decoder.push(Op::Barrier { meeting, aligned, id, threads });
        Ok(())
    }
}
