//! Values of other threads of a warp.

use fusebox_ir::ElementType;

use crate::{
    text::{Class, Code, Reg},
    value::Val,
};

impl Code {
    /// The value that the thread `by` lanes above has, of a warp whose threads are all here; of threads without such a one their own.
    pub(crate) fn shuffle_down(&mut self, value: Val, by: u32) -> Val {
        match Class::of(value.ty) {
            Class::Word => {
                let reg = self.in_reg(value);
                let moved = self.word_from(reg, by);
                Val::new(value.ty, moved)
            }
            Class::Predicate => {
                let word = self.convert(ElementType::U32, value);
                let word = self.in_reg(word);
                let moved = Val::new(ElementType::U32, self.word_from(word, by));
                Val::new(value.ty, self.compare("ne", moved, Self::number(ElementType::U32, 0)))
            }
            Class::Half => {
                let word = self.bits(ElementType::U16, value);
                let word = self.in_reg(word);
                let moved = Val::new(ElementType::U16, self.word_from(word, by));
                self.bits(value.ty, moved)
            }
            Class::Double => {
                let reg = self.in_reg(value).to_string();
                let low = self.make(ElementType::U32, "cvt.u32.u64", &[&reg]);
                let high = self.make(ElementType::U64, "shr.u64", &[&reg, "32"]);
                let high = self.text(high);
                let high = self.make(ElementType::U32, "cvt.u32.u64", &[&high]);
                let [low, high] = [low, high].map(|half| {
                    let half = self.in_reg(half);
                    let moved = self.word_from(half, by).to_string();
                    let wide = self.make(ElementType::U64, "cvt.u64.u32", &[&moved]);
                    self.text(wide)
                });
                let high = self.make(ElementType::U64, "shl.b64", &[&high, "32"]);
                let high = self.text(high);
                self.make(value.ty, "or.b64", &[&high, &low])
            }
        }
    }

    fn word_from(&mut self, reg: Reg, by: u32) -> Reg {
        let moved = self.reg(Class::Word);
        self.op(format_args!("shfl.sync.down.b32 {moved}, {reg}, {by}, 31, 0xffffffff"));
        moved
    }
}
