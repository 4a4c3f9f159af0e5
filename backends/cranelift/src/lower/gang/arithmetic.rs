//! Arithmetic and comparisons: instructions on each register, and lane by lane where there are none.

use cranelift_codegen::ir::{
    InstBuilder, Value as Clif,
    condcodes::{FloatCC, IntCC},
    types,
};
use fusebox_ir::{Binary, Constant, ElementType, Unary};

use crate::{
    lower::{
        Lower, Registers,
        scalar::{float_condition, int_condition},
    },
    vector::{Type, Value},
};

impl Lower<'_> {
    pub(in crate::lower) fn unary_gang(&mut self, function: Unary, a: Value) -> Registers {
        let ty = self.ty(a);
        let (element, bytes) = (ty.element, ty.element.bytes() as u32);
        if let Registers::Mask(bytes, registers) = self.registers_of(a) {
            return Registers::Mask(bytes, self.each(&registers, |this, a| this.b.ins().bnot(a)));
        }
        let registers = self.gang(a);
        let rounding = self.features.rounding;
        if matches!(element, ElementType::F32 | ElementType::F64) {
            let simple: Option<fn(&mut Self, Clif) -> Clif> = match function {
                Unary::Neg => Some(|this, a| this.b.ins().fneg(a)),
                Unary::Abs => Some(|this, a| this.b.ins().fabs(a)),
                Unary::Sqrt => Some(|this, a| this.b.ins().sqrt(a)),
                Unary::Floor if rounding => Some(|this, a| this.b.ins().floor(a)),
                Unary::Ceil if rounding => Some(|this, a| this.b.ins().ceil(a)),
                Unary::Trunc if rounding => Some(|this, a| this.b.ins().trunc(a)),
                Unary::Round if rounding => Some(|this, a| this.b.ins().nearest(a)),
                _ => None,
            };
            if let Some(simple) = simple {
                return Registers::Gang(self.each(&registers, simple));
            }
            match function {
                Unary::IsNan => {
                    return Registers::Mask(
                        bytes,
                        self.each(&registers, |this, a| this.b.ins().fcmp(FloatCC::NotEqual, a, a)),
                    );
                }
                Unary::IsInf => {
                    let infinity =
                        Constant::from_bits(element, if bytes == 4 { 0x7f80_0000 } else { 0x7ff0_0000_0000_0000 });
                    let Registers::Gang(infinity) = self.constant(infinity, ty.lanes) else {
                        panic!("a constant gang is a gang")
                    };
                    return Registers::Mask(
                        bytes,
                        self.pairs(&registers, &infinity, |this, a, infinity| {
                            let magnitude = this.b.ins().fabs(a);
                            this.b.ins().fcmp(FloatCC::Equal, magnitude, infinity)
                        }),
                    );
                }
                _ => {}
            }
        } else if element.is_integer() {
            let simple: Option<fn(&mut Self, Clif) -> Clif> = match function {
                Unary::Neg => Some(|this, a| this.b.ins().ineg(a)),
                Unary::Complement => Some(|this, a| this.b.ins().bnot(a)),
                Unary::Abs if element.is_signed() => Some(|this, a| this.b.ins().iabs(a)),
                Unary::Abs => Some(|_, a| a),
                _ => None,
            };
            if let Some(simple) = simple {
                return Registers::Gang(self.each(&registers, simple));
            }
        }
        let result = if matches!(function, Unary::IsNan | Unary::IsInf) { ElementType::Bool } else { element };
        self.lanes(Type { element: result, lanes: ty.lanes }, &[a], |this, operands| {
            this.unary_one(function, element, operands[0])
        })
    }

    /// Whether neither is NaN, lane by lane.
    pub(in crate::lower) fn are_numbers(&mut self, a: Value, b: Value) -> Registers {
        let bytes = self.ty(a).element.bytes() as u32;
        let (left, right) = (self.gang(a), self.gang(b));
        Registers::Mask(bytes, self.pairs(&left, &right, |this, a, b| this.b.ins().fcmp(FloatCC::Ordered, a, b)))
    }

    pub(in crate::lower) fn binary_gang(&mut self, function: Binary, a: Value, b: Value) -> Registers {
        let ty = self.ty(a);
        if let Registers::Mask(bytes, left) = self.registers_of(a) {
            let right = self.mask(b, bytes);
            let result = self.pairs(&left, &right, |this, a, b| match function {
                Binary::And | Binary::LogicalAnd | Binary::Min => this.b.ins().band(a, b),
                Binary::Or | Binary::LogicalOr | Binary::Max => this.b.ins().bor(a, b),
                Binary::Xor | Binary::Ne => this.b.ins().bxor(a, b),
                Binary::Eq => {
                    let differ = this.b.ins().bxor(a, b);
                    this.b.ins().bnot(differ)
                }
                // false < true
                Binary::Lt => this.b.ins().band_not(b, a),
                Binary::Gt => this.b.ins().band_not(a, b),
                Binary::Le => {
                    let not = this.b.ins().bnot(a);
                    this.b.ins().bor(not, b)
                }
                _ => {
                    let not = this.b.ins().bnot(b);
                    this.b.ins().bor(a, not)
                }
            });
            return Registers::Mask(bytes, result);
        }
        if function.is_shift() {
            return self.shift_gang(function, a, b);
        }
        let (element, bytes) = (ty.element, ty.element.bytes() as u32);
        let (left, right) = (self.gang(a), self.gang(b));
        if matches!(element, ElementType::F32 | ElementType::F64) {
            if function.is_comparison() {
                let condition = float_condition(function);
                return Registers::Mask(
                    bytes,
                    self.pairs(&left, &right, |this, a, b| this.b.ins().fcmp(condition, a, b)),
                );
            }
            let simple: Option<fn(&mut Self, Clif, Clif) -> Clif> = match function {
                Binary::Add => Some(|this, a, b| this.b.ins().fadd(a, b)),
                Binary::Sub => Some(|this, a, b| this.b.ins().fsub(a, b)),
                Binary::Mul => Some(|this, a, b| this.b.ins().fmul(a, b)),
                Binary::Div => Some(|this, a, b| this.b.ins().fdiv(a, b)),
                Binary::Min => Some(|this, a, b| this.b.ins().fmin(a, b)),
                Binary::Max => Some(|this, a, b| this.b.ins().fmax(a, b)),
                _ => None,
            };
            if let Some(simple) = simple {
                return Registers::Gang(self.pairs(&left, &right, simple));
            }
        } else if element.is_integer() {
            if function.is_comparison() {
                return Registers::Mask(bytes, self.compare_ints(function, element, &left, &right));
            }
            let signed = element.is_signed();
            let simple: Option<fn(&mut Self, Clif, Clif) -> Clif> = match function {
                Binary::Add => Some(|this, a, b| this.b.ins().iadd(a, b)),
                Binary::Sub => Some(|this, a, b| this.b.ins().isub(a, b)),
                Binary::Mul if bytes == 1 => Some(Self::multiply_bytes),
                Binary::Mul => Some(|this, a, b| this.b.ins().imul(a, b)),
                Binary::And => Some(|this, a, b| this.b.ins().band(a, b)),
                Binary::Or => Some(|this, a, b| this.b.ins().bor(a, b)),
                Binary::Xor => Some(|this, a, b| this.b.ins().bxor(a, b)),
                Binary::Min if bytes < 8 && signed => Some(|this, a, b| this.b.ins().smin(a, b)),
                Binary::Min if bytes < 8 => Some(|this, a, b| this.b.ins().umin(a, b)),
                Binary::Max if bytes < 8 && signed => Some(|this, a, b| this.b.ins().smax(a, b)),
                Binary::Max if bytes < 8 => Some(|this, a, b| this.b.ins().umax(a, b)),
                _ => None,
            };
            if let Some(simple) = simple {
                return Registers::Gang(self.pairs(&left, &right, simple));
            }
            if matches!(function, Binary::Min | Binary::Max) {
                let less = self.compare_ints(
                    if function == Binary::Min { Binary::Lt } else { Binary::Gt },
                    element,
                    &left,
                    &right,
                );
                let chosen = less
                    .into_iter()
                    .zip(left.iter().zip(&right))
                    .map(|(less, (&a, &b))| self.b.ins().bitselect(less, a, b))
                    .collect();
                return Registers::Gang(chosen);
            }
        }
        let known = self.constants[b.0 as usize];
        let result = if function.is_comparison() { ElementType::Bool } else { element };
        self.lanes(Type { element: result, lanes: ty.lanes }, &[a, b], |this, operands| {
            this.binary_one(function, element, element, operands[0], operands[1], known)
        })
    }

    /// The low bytes of products, by way of 16-bit lanes.
    fn multiply_bytes(&mut self, a: Clif, b: Clif) -> Clif {
        let (low_a, low_b) = (self.b.ins().uwiden_low(a), self.b.ins().uwiden_low(b));
        let (high_a, high_b) = (self.b.ins().uwiden_high(a), self.b.ins().uwiden_high(b));
        let (low, high) = (self.b.ins().imul(low_a, low_b), self.b.ins().imul(high_a, high_b));
        self.narrowed(&[low, high], 2)[0]
    }

    fn compare_ints(&mut self, function: Binary, element: ElementType, a: &[Clif], b: &[Clif]) -> Vec<Clif> {
        let (mut a, mut b, mut signed) = (a.to_vec(), b.to_vec(), element.is_signed());
        let ordered = !matches!(function, Binary::Eq | Binary::Ne);
        if element == ElementType::U64 && ordered {
            // There is no unsigned comparison of 64-bit lanes: flip the signs.
            let mut sign = vec![0; 16];
            (sign[7], sign[15]) = (0x80, 0x80);
            let sign = self.vector_constant(types::I64X2, sign);
            a = self.each(&a, |this, a| this.b.ins().bxor(a, sign));
            b = self.each(&b, |this, b| this.b.ins().bxor(b, sign));
            signed = true;
        }
        let condition: IntCC = int_condition(function, signed);
        self.pairs(&a, &b, |this, a, b| this.b.ins().icmp(condition, a, b))
    }

    pub(in crate::lower) fn fma_gang(&mut self, ty: Type, a: Value, b: Value, c: Value) -> Registers {
        if self.features.fma && matches!(ty.element, ElementType::F32 | ElementType::F64) {
            let (a, b, c) = (self.gang(a), self.gang(b), self.gang(c));
            return Registers::Gang(a.into_iter().zip(b).zip(c).map(|((a, b), c)| self.b.ins().fma(a, b, c)).collect());
        }
        self.lanes(ty, &[a, b, c], |this, operands| this.fma_one(ty.element, operands[0], operands[1], operands[2]))
    }
}
