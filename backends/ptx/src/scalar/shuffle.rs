//! Values of other threads of a warp.

use fusebox_ir::ElementType;

use crate::{
    text::{Class, Code, Reg},
    value::Val,
};

impl Code {
    /// The value that the thread `by` lanes above has, of a warp whose threads are all here; of threads without such a one their own.
    pub(crate) fn shuffle_down(&mut self, value: Val, by: u32) -> Val {
        self.shuffled(value, "down.b32", &by.to_string())
    }

    /// The value that the thread of a lane (a `u32`) has, of a warp whose threads are all here.
    pub(crate) fn shuffle_from(&mut self, value: Val, lane: Val) -> Val {
        let lane = self.text(lane);
        self.shuffled(value, "idx.b32", &lane)
    }

    /// The value that the thread has whose lane differs in one bit, of a warp whose threads are all here.
    pub(crate) fn shuffle_across(&mut self, value: Val, bit: u32) -> Val {
        self.shuffled(value, "bfly.b32", &bit.to_string())
    }

    /// A value of another thread of the warp: an instruction says whose.
    fn shuffled(&mut self, value: Val, mode: &str, by: &str) -> Val {
        match Class::of(value.ty) {
            Class::Word => {
                let reg = self.in_reg(value);
                let moved = self.word_from(reg, mode, by);
                Val::new(value.ty, moved)
            }
            Class::Predicate => {
                let word = self.convert(ElementType::U32, value);
                let word = self.in_reg(word);
                let moved = Val::new(ElementType::U32, self.word_from(word, mode, by));
                Val::new(value.ty, self.compare("ne", moved, Self::number(ElementType::U32, 0)))
            }
            Class::Half => {
                let word = self.bits(ElementType::U16, value);
                let word = self.in_reg(word);
                let moved = Val::new(ElementType::U16, self.word_from(word, mode, by));
                self.bits(value.ty, moved)
            }
            Class::Double => {
                let reg = self.in_reg(value);
                let parts = self.unpacked(reg, [ElementType::U32; 2]);
                let parts = parts.map(|part| {
                    let part = self.in_reg(part);
                    Val::new(ElementType::U32, self.word_from(part, mode, by))
                });
                Val::new(value.ty, self.pair(parts))
            }
        }
    }

    /// Two values of 32 bits in one register, the first in its low half.
    pub(crate) fn pair(&mut self, parts: [Val; 2]) -> Reg {
        let [low, high] = parts.map(|part| self.in_reg(part));
        let both = self.reg(Class::Double);
        self.op(format_args!("mov.b64 {both}, {{{low}, {high}}}"));
        both
    }

    /// The values of 32 bits that [`Self::pair`] has put together.
    pub(crate) fn unpacked(&mut self, both: Reg, types: [ElementType; 2]) -> [Val; 2] {
        let [low, high] = [(); 2].map(|()| self.reg(Class::Word));
        self.op(format_args!("mov.b64 {{{low}, {high}}}, {both}"));
        [Val::new(types[0], low), Val::new(types[1], high)]
    }

    fn word_from(&mut self, reg: Reg, mode: &str, by: &str) -> Reg {
        let moved = self.reg(Class::Word);
        self.op(format_args!("shfl.sync.{mode} {moved}, {reg}, {by}, 31, 0xffffffff"));
        moved
    }
}
