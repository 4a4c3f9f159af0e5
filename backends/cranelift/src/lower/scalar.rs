//! Scalar functions on uniform values. Nothing here can trap.

use cranelift_codegen::ir::{
    InstBuilder, Value as Clif,
    condcodes::{FloatCC, IntCC},
    types,
};
use fusebox_ir::{Binary, Constant, ElementType, Unary};

use super::{Lower, helpers::Helper, scalar_type};

impl Lower<'_> {
    pub(super) fn constant_one(&mut self, constant: Constant) -> Clif {
        let ty = scalar_type(constant.ty());
        match constant.ty() {
            ElementType::F32 => {
                self.b.ins().f32const(cranelift_codegen::ir::immediates::Ieee32::with_bits(constant.bits() as u32))
            }
            ElementType::F64 => {
                self.b.ins().f64const(cranelift_codegen::ir::immediates::Ieee64::with_bits(constant.bits()))
            }
            // Integers are wanted sign-extended from their width.
            _ => {
                let shift = 64 - ty.bits();
                self.b.ins().iconst(ty, (constant.bits() << shift) as i64 >> shift)
            }
        }
    }

    /// Calls a helper on bits.
    pub(super) fn call(&mut self, helper: Helper, operands: &[Clif], result: ElementType) -> Clif {
        let code = self.b.ins().iconst(types::I64, helper.code());
        let mut arguments = vec![code];
        for &operand in operands {
            let bits = match self.b.func.dfg.value_type(operand) {
                types::F32 => self.reinterpret(types::I32, operand),
                types::F64 => self.reinterpret(types::I64, operand),
                _ => operand,
            };
            let wide = if self.b.func.dfg.value_type(bits) == types::I64 {
                bits
            } else {
                self.b.ins().uextend(types::I64, bits)
            };
            arguments.push(wide);
        }
        while arguments.len() < 4 {
            arguments.push(self.b.ins().iconst(types::I64, 0));
        }
        let call = self.b.ins().call(self.exact, &arguments);
        let bits = self.b.inst_results(call)[0];
        match scalar_type(result) {
            types::F32 => {
                let low = self.b.ins().ireduce(types::I32, bits);
                self.reinterpret(types::F32, low)
            }
            types::F64 => self.reinterpret(types::F64, bits),
            types::I64 => bits,
            ty => self.b.ins().ireduce(ty, bits),
        }
    }

    pub(super) fn unary_one(&mut self, function: Unary, element: ElementType, a: Clif) -> Clif {
        let ty = scalar_type(element);
        if element == ElementType::F16 {
            return match function {
                Unary::Neg => self.b.ins().bxor_imm_u(a, 0x8000),
                Unary::Abs => self.b.ins().band_imm_u(a, 0x7fff),
                Unary::IsNan | Unary::IsInf => self.call(Helper::Unary(function, element), &[a], ElementType::Bool),
                _ => self.call(Helper::Unary(function, element), &[a], element),
            };
        }
        if element.is_float() {
            return match function {
                Unary::Neg => self.b.ins().fneg(a),
                Unary::Abs => self.b.ins().fabs(a),
                Unary::Sqrt => self.b.ins().sqrt(a),
                Unary::Floor if self.features.rounding => self.b.ins().floor(a),
                Unary::Ceil if self.features.rounding => self.b.ins().ceil(a),
                Unary::Trunc if self.features.rounding => self.b.ins().trunc(a),
                Unary::Round if self.features.rounding => self.b.ins().nearest(a),
                Unary::IsNan => self.b.ins().fcmp(FloatCC::Unordered, a, a),
                Unary::IsInf => {
                    let magnitude = self.b.ins().fabs(a);
                    let infinity = self.float(element, f64::INFINITY);
                    self.b.ins().fcmp(FloatCC::Equal, magnitude, infinity)
                }
                Unary::Sign => {
                    let (one, minus, zero) =
                        (self.float(element, 1.0), self.float(element, -1.0), self.float(element, 0.0));
                    let below = self.b.ins().fcmp(FloatCC::LessThan, a, zero);
                    let above = self.b.ins().fcmp(FloatCC::GreaterThan, a, zero);
                    let negative = self.b.ins().select(below, minus, a);
                    self.b.ins().select(above, one, negative)
                }
                _ => self.call(Helper::Unary(function, element), &[a], element),
            };
        }
        match function {
            Unary::Not => self.b.ins().bxor_imm_u(a, 1),
            Unary::Neg => self.b.ins().ineg(a),
            Unary::Complement => self.b.ins().bnot(a),
            Unary::Abs if element.is_signed() => self.b.ins().iabs(a),
            Unary::Abs => a,
            Unary::Sign => {
                let zero = self.b.ins().iconst(ty, 0);
                let signed = element.is_signed();
                let above = self.b.ins().icmp(if signed { IntCC::SignedGreaterThan } else { IntCC::NotEqual }, a, zero);
                let below = if signed {
                    self.b.ins().icmp(IntCC::SignedLessThan, a, zero)
                } else {
                    self.b.ins().iconst(types::I8, 0)
                };
                let difference = self.b.ins().isub(above, below);
                if ty == types::I8 { difference } else { self.b.ins().sextend(ty, difference) }
            }
            Unary::Popcount => self.b.ins().popcnt(a),
            Unary::Clz => self.b.ins().clz(a),
            Unary::Ctz => self.b.ins().ctz(a),
            _ => self.call(Helper::Unary(function, element), &[a], element),
        }
    }

    fn float(&mut self, element: ElementType, value: f64) -> Clif {
        self.constant_one(if element == ElementType::F32 {
            Constant::from(value as f32)
        } else {
            Constant::from(value)
        })
    }

    pub(super) fn binary_one(
        &mut self,
        function: Binary,
        element: ElementType,
        amount: ElementType,
        a: Clif,
        b: Clif,
        known: Option<Constant>,
    ) -> Clif {
        if element == ElementType::F16 {
            let result = if function.is_comparison() { ElementType::Bool } else { element };
            return self.call(Helper::Binary(function, element), &[a, b], result);
        }
        if element.is_float() {
            return self.binary_float(function, element, a, b);
        }
        let signed = element.is_signed();
        match function {
            Binary::Add => self.b.ins().iadd(a, b),
            Binary::Sub => self.b.ins().isub(a, b),
            Binary::Mul => self.b.ins().imul(a, b),
            Binary::And | Binary::LogicalAnd => self.b.ins().band(a, b),
            Binary::Or | Binary::LogicalOr => self.b.ins().bor(a, b),
            Binary::Xor => self.b.ins().bxor(a, b),
            Binary::Min | Binary::Max => {
                let condition = match (function, signed) {
                    (Binary::Min, true) => IntCC::SignedLessThan,
                    (Binary::Min, false) => IntCC::UnsignedLessThan,
                    (_, true) => IntCC::SignedGreaterThan,
                    (_, false) => IntCC::UnsignedGreaterThan,
                };
                let first = self.b.ins().icmp(condition, a, b);
                self.b.ins().select(first, a, b)
            }
            Binary::Div | Binary::Rem | Binary::DivFloor | Binary::ModFloor => {
                self.divide(function, element, a, b, known)
            }
            Binary::Shl | Binary::Shr | Binary::RotateLeft | Binary::RotateRight => {
                self.shift_one(function, element, amount, a, b, known)
            }
            _ => {
                let condition = int_condition(function, signed);
                self.b.ins().icmp(condition, a, b)
            }
        }
    }

    fn binary_float(&mut self, function: Binary, element: ElementType, a: Clif, b: Clif) -> Clif {
        match function {
            Binary::Add => self.b.ins().fadd(a, b),
            Binary::Sub => self.b.ins().fsub(a, b),
            Binary::Mul => self.b.ins().fmul(a, b),
            Binary::Div => self.b.ins().fdiv(a, b),
            Binary::Min => self.b.ins().fmin(a, b),
            Binary::Max => self.b.ins().fmax(a, b),
            function if function.is_comparison() => self.b.ins().fcmp(float_condition(function), a, b),
            _ => self.call(Helper::Binary(function, element), &[a, b], element),
        }
    }

    /// Quotients and remainders of integers: by 0 they are 0 (a check is before), and the smallest by -1 wraps.
    fn divide(&mut self, function: Binary, element: ElementType, a: Clif, b: Clif, known: Option<Constant>) -> Clif {
        let narrow = scalar_type(element);
        let signed = element.is_signed();
        let (mut a, mut b) = (a, b);
        let mut ty = narrow;
        if ty.bits() < 32 {
            ty = types::I32;
            (a, b) = if signed {
                (self.b.ins().sextend(ty, a), self.b.ins().sextend(ty, b))
            } else {
                (self.b.ins().uextend(ty, a), self.b.ins().uextend(ty, b))
            };
        }
        let zero = self.b.ins().iconst(ty, 0);
        let one = self.b.ins().iconst(ty, 1);
        let minus = self.b.ins().iconst(ty, -1);
        let plain = known.is_some_and(|known| known.bits() != 0 && (!signed || known.as_i64() != Some(-1)));
        let (by_zero, by_minus, safe) = if plain {
            (None, None, b)
        } else {
            let by_zero = self.b.ins().icmp(IntCC::Equal, b, zero);
            let safe = self.b.ins().select(by_zero, one, b);
            if signed {
                let by_minus = self.b.ins().icmp(IntCC::Equal, b, minus);
                let safe = self.b.ins().select(by_minus, one, safe);
                (Some(by_zero), Some(by_minus), safe)
            } else {
                (Some(by_zero), None, safe)
            }
        };
        let remainder = |this: &mut Self| if signed { this.b.ins().srem(a, safe) } else { this.b.ins().urem(a, safe) };
        let quotient = |this: &mut Self| {
            let mut quotient = if signed { this.b.ins().sdiv(a, safe) } else { this.b.ins().udiv(a, safe) };
            if let Some(by_minus) = by_minus {
                let negative = this.b.ins().ineg(a);
                quotient = this.b.ins().select(by_minus, negative, quotient);
            }
            if let Some(by_zero) = by_zero {
                quotient = this.b.ins().select(by_zero, zero, quotient);
            }
            quotient
        };
        let result = match function {
            Binary::Div => quotient(self),
            Binary::Rem => remainder(self),
            Binary::DivFloor if !signed => quotient(self),
            Binary::ModFloor if !signed => remainder(self),
            _ => {
                let rest = remainder(self);
                let some = self.b.ins().icmp(IntCC::NotEqual, rest, zero);
                let signs = self.b.ins().bxor(rest, b);
                let differ = self.b.ins().icmp(IntCC::SignedLessThan, signs, zero);
                let down = self.b.ins().band(some, differ);
                if function == Binary::DivFloor {
                    let whole = quotient(self);
                    let less = self.b.ins().isub(whole, one);
                    self.b.ins().select(down, less, whole)
                } else {
                    let more = self.b.ins().iadd(rest, b);
                    self.b.ins().select(down, more, rest)
                }
            }
        };
        if ty == narrow { result } else { self.b.ins().ireduce(narrow, result) }
    }

    fn shift_one(
        &mut self,
        function: Binary,
        element: ElementType,
        amount: ElementType,
        a: Clif,
        b: Clif,
        known: Option<Constant>,
    ) -> Clif {
        let ty = scalar_type(element);
        let width = i64::from(element.bits());
        match function {
            Binary::RotateLeft => return self.b.ins().rotl(a, b),
            Binary::RotateRight => return self.b.ins().rotr(a, b),
            _ => {}
        }
        let arithmetic = function == Binary::Shr && element.is_signed();
        if let Some(known) = known {
            let beyond = known.bits() >= width as u64;
            if beyond && !arithmetic {
                return self.b.ins().iconst(ty, 0);
            }
            let by = self.b.ins().iconst(types::I32, if beyond { width - 1 } else { known.bits() as i64 });
            return self.shifted(function, arithmetic, a, by);
        }
        let amount_type = scalar_type(amount);
        let limit = self.b.ins().iconst(amount_type, width);
        let beyond = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, b, limit);
        if arithmetic {
            let most = self.b.ins().iconst(amount_type, width - 1);
            let by = self.b.ins().select(beyond, most, b);
            return self.b.ins().sshr(a, by);
        }
        let shifted = self.shifted(function, false, a, b);
        let zero = self.b.ins().iconst(ty, 0);
        self.b.ins().select(beyond, zero, shifted)
    }

    fn shifted(&mut self, function: Binary, arithmetic: bool, a: Clif, by: Clif) -> Clif {
        match function {
            Binary::Shl => self.b.ins().ishl(a, by),
            _ if arithmetic => self.b.ins().sshr(a, by),
            _ => self.b.ins().ushr(a, by),
        }
    }

    pub(super) fn fma_one(&mut self, element: ElementType, a: Clif, b: Clif, c: Clif) -> Clif {
        if self.features.fma && element != ElementType::F16 {
            self.b.ins().fma(a, b, c)
        } else {
            self.call(Helper::Fma(element), &[a, b, c], element)
        }
    }

    pub(super) fn convert_one(&mut self, from: ElementType, to: ElementType, a: Clif) -> Clif {
        let (source, target) = (scalar_type(from), scalar_type(to));
        if from == ElementType::F16 || to == ElementType::F16 {
            return self.call(Helper::Convert(from, to), &[a], to);
        }
        if !from.is_float() && !to.is_float() {
            return if target.bits() < source.bits() {
                self.b.ins().ireduce(target, a)
            } else if target == source {
                a
            } else if from.is_signed() {
                self.b.ins().sextend(target, a)
            } else {
                self.b.ins().uextend(target, a)
            };
        }
        if !from.is_float() {
            let wide = match (source.bits() < 32, from.is_signed()) {
                (false, _) => a,
                (true, true) => self.b.ins().sextend(types::I32, a),
                (true, false) => self.b.ins().uextend(types::I32, a),
            };
            return if from.is_signed() {
                self.b.ins().fcvt_from_sint(target, wide)
            } else {
                self.b.ins().fcvt_from_uint(target, wide)
            };
        }
        if to.is_float() {
            return match (from, to) {
                (ElementType::F32, ElementType::F64) => self.b.ins().fpromote(target, a),
                (ElementType::F64, ElementType::F32) => self.b.ins().fdemote(target, a),
                _ => a,
            };
        }
        let wide = if target.bits() < 32 { types::I32 } else { target };
        let whole = if to.is_signed() {
            self.b.ins().fcvt_to_sint_sat(wide, a)
        } else {
            self.b.ins().fcvt_to_uint_sat(wide, a)
        };
        if wide == target {
            return whole;
        }
        let bits = target.bits();
        let clamped = if to.is_signed() {
            let low = self.b.ins().iconst(wide, -(1i64 << (bits - 1)));
            let high = self.b.ins().iconst(wide, (1i64 << (bits - 1)) - 1);
            let least = self.b.ins().icmp(IntCC::SignedLessThan, whole, low);
            let raised = self.b.ins().select(least, low, whole);
            let most = self.b.ins().icmp(IntCC::SignedGreaterThan, raised, high);
            self.b.ins().select(most, high, raised)
        } else {
            let high = self.b.ins().iconst(wide, (1i64 << bits) - 1);
            let most = self.b.ins().icmp(IntCC::UnsignedGreaterThan, whole, high);
            self.b.ins().select(most, high, whole)
        };
        self.b.ins().ireduce(target, clamped)
    }
}

/// The condition of a comparison of integers.
pub(super) fn int_condition(function: Binary, signed: bool) -> IntCC {
    match (function, signed) {
        (Binary::Eq, _) => IntCC::Equal,
        (Binary::Ne, _) => IntCC::NotEqual,
        (Binary::Lt, true) => IntCC::SignedLessThan,
        (Binary::Lt, false) => IntCC::UnsignedLessThan,
        (Binary::Le, true) => IntCC::SignedLessThanOrEqual,
        (Binary::Le, false) => IntCC::UnsignedLessThanOrEqual,
        (Binary::Gt, true) => IntCC::SignedGreaterThan,
        (Binary::Gt, false) => IntCC::UnsignedGreaterThan,
        (_, true) => IntCC::SignedGreaterThanOrEqual,
        (_, false) => IntCC::UnsignedGreaterThanOrEqual,
    }
}

/// The condition of a comparison of floats: all but `!=` are false of a NaN.
pub(super) fn float_condition(function: Binary) -> FloatCC {
    match function {
        Binary::Eq => FloatCC::Equal,
        Binary::Ne => FloatCC::NotEqual,
        Binary::Lt => FloatCC::LessThan,
        Binary::Le => FloatCC::LessThanOrEqual,
        Binary::Gt => FloatCC::GreaterThan,
        _ => FloatCC::GreaterThanOrEqual,
    }
}
