//! Pieces of a level that run outside of the level around it: for each, all steps of that level, and inside of them those of the piece alone.

use std::ops::Range;

use fusebox_ir::Binary;
use fusebox_schedule::{By, Loop, Node, Remainder};

use super::{Emitter, Result, Val, levels::Steps};

impl<'k> Emitter<'k> {
    /// Where the loops of a level begin with one over pieces of the level inside: that loop, and the steps of a piece.
    pub(super) fn pieces_of_inner(&self, depth: usize, nodes: &'k [Node]) -> Option<(&'k Loop, i64)> {
        let each = match nodes {
            // Which range of the outermost level it is, the caller says.
            [Node::Loop(threads), ..] if threads.by == By::Threads => match threads.body.as_slice() {
                [Node::Loop(each), ..] => each,
                _ => return None,
            },
            [Node::Loop(each), ..] => each,
            _ => return None,
        };
        let level = self.level_of(each)?;
        (level > depth).then(|| self.piece(each).map(|length| (each, length)))?
    }

    /// The loops of level `depth` around the statements `inner`, for one window of the level inside after the other.
    pub(super) fn in_windows(
        &mut self,
        depth: usize,
        inner: Range<usize>,
        (pieces, length): (&'k Loop, i64),
    ) -> Result {
        let Some(level) = self.kernel.levels.get(depth + 1) else {
            return Err(self.broken("a window of a level that there is not"));
        };
        let (Val::Uniform(from), Val::Uniform(to)) = (self.operand(level.from)?, self.operand(level.to)?) else {
            return Err(self.broken("bounds of a level differ between lanes"));
        };
        let zero = self.b.int(0);
        let steps = self.b.sub(to, from);
        let high = self.b.binary(Binary::Max, steps, zero);
        // The last window begins earlier where its gangs may: so it is whole.
        let last = self.overlaps(depth + 1, &pieces.body).then(|| {
            let last = self.b.add_int(high, -length);
            self.b.binary(Binary::Max, last, zero)
        });
        self.in_pieces(length, Steps { low: zero, high, first: zero }, |this, start, end| {
            let start = last.map_or(start, |last| this.b.binary(Binary::Min, start, last));
            let around = this.window.replace((depth + 1, (start, end)));
            this.nodes = &pieces.body;
            let done = this.level(depth, inner);
            this.window = around;
            done
        })
    }

    /// Whether gangs of a level may overlap others, wherever there are some.
    fn overlaps(&self, level: usize, nodes: &[Node]) -> bool {
        nodes.iter().any(|node| match node {
            Node::Loop(each) if matches!(each.by, By::Lanes(_)) && self.level_of(each) == Some(level) => {
                each.remainder == Remainder::Overlapped
            }
            Node::Loop(each) => self.overlaps(level, &each.body),
            Node::Do(_) => false,
            Node::Choose { then, otherwise, .. } => self.overlaps(level, then) && self.overlaps(level, otherwise),
        })
    }

    fn level_of(&self, each: &Loop) -> Option<usize> {
        self.nest.level_of(self.kernel.levels.len(), each.axis)
    }
}
