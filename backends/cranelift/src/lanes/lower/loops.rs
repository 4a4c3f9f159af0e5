//! Branches and loops of a lane.

use std::collections::HashMap;

use cranelift_codegen::ir::{InstBuilder, Value as Clif, condcodes::IntCC};

use super::{Loaded, Lower};
use crate::lanes::script::{Do, Move, Source};

impl<'s> Lower<'s, '_> {
    /// Of a condition the lowest byte.
    fn holds(&mut self, condition: &Source) -> Clif {
        let bits = self.source(condition);
        self.b.ins().band_imm_u(bits, 0xff)
    }

    pub(super) fn branch(&mut self, condition: &Source, then: &'s [Do], otherwise: &'s [Do]) {
        let holds = self.holds(condition);
        let blocks = [then, otherwise].map(|steps| (self.b.create_block(), steps));
        let next = self.b.create_block();
        self.b.ins().brif(holds, blocks[0].0, &[], blocks[1].0, &[]);
        for (block, steps) in blocks {
            self.b.switch_to_block(block);
            self.steps(steps);
            self.b.ins().jump(next, &[]);
        }
        self.b.switch_to_block(next);
    }

    pub(super) fn turns(&mut self, test: &'s [Do], condition: &Source, body: &'s [Do], moves: &'s [Move]) {
        let (turn, inside, next) = (self.b.create_block(), self.b.create_block(), self.b.create_block());
        self.b.ins().jump(turn, &[]);
        self.b.switch_to_block(turn);
        self.steps(test);
        let holds = self.holds(condition);
        self.b.ins().brif(holds, inside, &[], next, &[]);
        self.b.switch_to_block(inside);
        self.steps(body);
        self.advance(moves);
        self.b.ins().jump(turn, &[]);
        self.b.switch_to_block(next);
    }

    /// What a turn made becomes the state, all at once.
    fn advance(&mut self, moves: &[Move]) {
        let mut places: HashMap<usize, Loaded> = HashMap::new();
        let mut arrays = Vec::new();
        let mut scalars = Vec::new();
        for step in moves {
            match step {
                Move::Scalar { to, from } => scalars.push((*to, self.source(from))),
                Move::Array { to, from, made } => {
                    let before = places.get(from).copied();
                    let place = before.unwrap_or_else(|| self.place(*from));
                    if before.is_none() {
                        places.insert(*from, place);
                        let unmade = self.b.ins().icmp_imm_u(IntCC::Equal, place.address, 0);
                        self.fail_if(unmade);
                    }
                    // What the turn made has no other name after it: the state takes the place of that name.
                    if before.is_none() && *made {
                        self.set_nowhere(*from);
                    } else {
                        self.count(place.piece, 1);
                    }
                    arrays.push((*to, place, self.extents(*from)));
                }
            }
        }
        for (to, bits) in scalars {
            self.set_scalar(to, bits);
        }
        for (to, place, extents) in arrays {
            self.free(to);
            self.set_place(to, place);
            let first = self.script.arrays[to].first;
            for (dim, extent) in extents.into_iter().enumerate() {
                self.store(self.script.layout.extent(first + dim), extent);
            }
        }
    }
}
