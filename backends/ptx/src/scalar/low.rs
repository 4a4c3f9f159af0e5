//! Numbers of 64 bits by their lowest 32, for positions that have no more.

use fusebox_ir::{Constant, ElementType};

use crate::{text::Code, value::Val};

impl Code {
    /// The lowest 32 bits of an `i64`.
    pub(crate) fn low(&mut self, of: Val) -> Val {
        match of.constant() {
            Some(constant) => Self::number(ElementType::U32, constant.bits() as u32 as i64),
            None => {
                let wide = self.text(of);
                self.make(ElementType::U32, "cvt.u32.u64", &[&wide])
            }
        }
    }

    /// `a · b + c` of numbers of 32 bits, which may wrap.
    pub(crate) fn low_sum(&mut self, a: Val, b: Val, c: Val) -> Val {
        let number = |of: Val| of.constant().map(Constant::bits);
        if number(a) == Some(0) || number(b) == Some(0) {
            return c;
        }
        let (a, b) = if number(a) == Some(1) { (b, a) } else { (a, b) };
        let once = number(b) == Some(1);
        if once && number(c) == Some(0) {
            return a;
        }
        let [a, b, c] = [a, b, c].map(|value| self.text(value));
        if once {
            return self.make(ElementType::U32, "add.u32", &[&a, &c]);
        }
        self.make(ElementType::U32, "mad.lo.u32", &[&a, &b, &c])
    }
}
