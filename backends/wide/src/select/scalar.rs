//! Functions of uniform values.

use fusebox_ir::{Binary, Constant, ElementType, Unary};
use fusebox_vector::Value;
use iced_x86::Code as C;
use regalloc2::{Operand, PReg, VReg};

use super::{Outcome, Select, Test, codes, extended};
use crate::machine::{Address, Arg, Cond, INT, Inst as Made};

/// The unsigned type of the same width.
fn unsigned(element: ElementType) -> ElementType {
    match element.bytes() {
        1 => ElementType::U8,
        2 => ElementType::U16,
        4 => ElementType::U32,
        _ => ElementType::U64,
    }
}

fn is_float(element: ElementType) -> bool {
    matches!(element, ElementType::F32 | ElementType::F64)
}

impl Select<'_> {
    pub(super) fn unary_one(&mut self, function: Unary, value: Value) -> Outcome<VReg> {
        let element = self.ty(value).element;
        let a = self.one(value)?;
        if is_float(element) {
            return match function {
                Unary::IsNan | Unary::IsInf => {
                    let (code, args) = self.float_kind_of(function, element, a)?;
                    Ok(self.first_bit(code, &args))
                }
                Unary::Sqrt if element == ElementType::F32 => {
                    Ok(self.w(C::EVEX_Vsqrtss_xmm_k1z_xmm_xmmm32_er, &[Arg::Use(a), Arg::Use(a)]))
                }
                Unary::Sqrt => Ok(self.w(C::EVEX_Vsqrtsd_xmm_k1z_xmm_xmmm64_er, &[Arg::Use(a), Arg::Use(a)])),
                _ => self.unary_register(function, element, a),
            };
        }
        if element == ElementType::Bool {
            return if function == Unary::Not {
                Ok(self.over(C::Xor_rm32_imm8, a, &[Arg::Imm(1)]))
            } else {
                self.lacks("a function of bool")
            };
        }
        if !element.is_integer() {
            return self.lacks(&format!("{} of {element}", function.text()));
        }
        let width = i64::from(element.bits());
        let result = match function {
            Unary::Neg => self.over(C::Neg_rm64, a, &[]),
            Unary::Complement => self.over(C::Not_rm64, a, &[]),
            Unary::Abs if element.is_signed() => {
                let sign = self.over(C::Sar_rm64_imm8, a, &[Arg::Imm(63)]);
                let flipped = self.over(C::Xor_r64_rm64, a, &[Arg::Use(sign)]);
                self.over(C::Sub_r64_rm64, flipped, &[Arg::Use(sign)])
            }
            Unary::Abs => a,
            Unary::Sign if element.is_signed() => {
                let sign = self.over(C::Sar_rm64_imm8, a, &[Arg::Imm(63)]);
                let negative = self.over(C::Neg_rm64, a, &[]);
                let above = self.over(C::Shr_rm64_imm8, negative, &[Arg::Imm(63)]);
                self.over(C::Or_r64_rm64, sign, &[Arg::Use(above)])
            }
            Unary::Sign => self.set_by((C::Test_rm64_r64, vec![Arg::Use(a), Arg::Use(a)], Cond::NotEqual)),
            Unary::Popcount => {
                let plain = self.canonical(unsigned(element), a);
                self.i(C::Popcnt_r64_rm64, &[Arg::Any(plain)])
            }
            Unary::Clz => {
                let plain = self.canonical(unsigned(element), a);
                let count = self.i(C::Lzcnt_r64_rm64, &[Arg::Any(plain)]);
                self.i(C::Lea_r64_m, &[Arg::Mem(Address::at(count, width - 64))])
            }
            Unary::Ctz => {
                let bounded = if width < 64 {
                    let end = self.number(1 << width);
                    self.over(C::Or_r64_rm64, end, &[Arg::Use(a)])
                } else {
                    a
                };
                self.i(C::Tzcnt_r64_rm64, &[Arg::Any(bounded)])
            }
            _ => return self.lacks(&format!("{} of {element}", function.text())),
        };
        Ok(self.canonical(element, result))
    }

    pub(super) fn binary_one(&mut self, function: Binary, a: Value, b: Value, result: Value) -> Outcome<VReg> {
        let element = self.ty(a).element;
        let single = element == ElementType::F32;
        if is_float(element) {
            let (x, y) = (self.one(a)?, self.one(b)?);
            if function.is_comparison() {
                let code = if single {
                    C::EVEX_Vcmpss_kr_k1_xmm_xmmm32_imm8_sae
                } else {
                    C::EVEX_Vcmpsd_kr_k1_xmm_xmmm64_imm8_sae
                };
                let predicate = Arg::Imm(codes::float_predicate(function));
                return Ok(self.first_bit(code, &[Arg::Use(x), Arg::Any(y), predicate]));
            }
            return match codes::scalar_float(function, single) {
                Some(code) => Ok(self.w(code, &[Arg::Use(x), Arg::Any(y)])),
                None => self.binary_registers(function, element, x, y),
            };
        }
        if element == ElementType::F16 {
            return self.lacks("a function of f16");
        }
        if function.is_comparison() {
            let condition = codes::condition(function, element.is_signed());
            let x = self.one(a)?;
            let y = self.small(b)?;
            self.tests.insert(result, Test::Ints(condition, x, y));
            let test = self.test(result)?;
            return Ok(self.set_by(test));
        }
        let known = self.constant_of(b);
        if let Some(done) = self.binary_by_number(function, element, a, b)? {
            return Ok(done);
        }
        let (x, y) = (self.one(a)?, self.one(b)?);
        self.binary_int(function, element, x, y, known)
    }

    /// Functions whose second operand is a small number.
    fn binary_by_number(
        &mut self,
        function: Binary,
        element: ElementType,
        a: Value,
        b: Value,
    ) -> Outcome<Option<VReg>> {
        let (mut a, mut b) = (a, b);
        if codes::commutes(function) && self.constant_of(a).is_some() {
            (a, b) = (b, a);
        }
        let Arg::Imm(number) = self.small(b)? else { return Ok(None) };
        if !element.is_integer() || function.is_shift() {
            return Ok(None);
        }
        let x = self.one(a)?;
        let result = match function {
            Binary::Add => self.i(C::Lea_r64_m, &[Arg::Mem(Address::at(x, number))]),
            Binary::Sub if number > i64::from(i32::MIN) => self.i(C::Lea_r64_m, &[Arg::Mem(Address::at(x, -number))]),
            Binary::Mul if number > 0 && number & (number - 1) == 0 => {
                self.over(C::Shl_rm64_imm8, x, &[Arg::Imm(i64::from(number.trailing_zeros()))])
            }
            Binary::Mul => self.i(C::Imul_r64_rm64_imm32, &[Arg::Any(x), Arg::Imm(number)]),
            Binary::And => self.over(C::And_rm64_imm32, x, &[Arg::Imm(number)]),
            Binary::Or => self.over(C::Or_rm64_imm32, x, &[Arg::Imm(number)]),
            Binary::Xor => self.over(C::Xor_rm64_imm32, x, &[Arg::Imm(number)]),
            _ => return Ok(None),
        };
        Ok(Some(self.canonical(element, result)))
    }

    /// A function of uniform integers, or `bool`, that is no comparison.
    pub(super) fn binary_int(
        &mut self,
        function: Binary,
        element: ElementType,
        a: VReg,
        b: VReg,
        known: Option<Constant>,
    ) -> Outcome<VReg> {
        let result = match function {
            Binary::Add => {
                let sum = Address { index: Some(b), ..Address::at(a, 0) };
                self.i(C::Lea_r64_m, &[Arg::Mem(sum)])
            }
            Binary::Sub => self.over(C::Sub_r64_rm64, a, &[Arg::Any(b)]),
            Binary::Mul => self.over(C::Imul_r64_rm64, a, &[Arg::Any(b)]),
            Binary::And | Binary::LogicalAnd => return Ok(self.over(C::And_r64_rm64, a, &[Arg::Any(b)])),
            Binary::Or | Binary::LogicalOr => return Ok(self.over(C::Or_r64_rm64, a, &[Arg::Any(b)])),
            Binary::Xor => return Ok(self.over(C::Xor_r64_rm64, a, &[Arg::Any(b)])),
            Binary::Min | Binary::Max => {
                // The second where it is beyond the first.
                let condition = match (function, element.is_signed()) {
                    (Binary::Min, true) => Cond::Greater,
                    (Binary::Min, false) => Cond::Above,
                    (_, true) => Cond::Less,
                    (_, false) => Cond::Below,
                };
                let out = self.m.fresh(INT);
                let inst = Made::new()
                    .then(C::Cmp_r64_rm64, &[Arg::Use(a), Arg::Use(b)])
                    .then(codes::conditional_move(condition), &[Arg::Over(out, a), Arg::Use(b)]);
                self.m.push(inst);
                return Ok(out);
            }
            Binary::Div | Binary::Rem | Binary::DivFloor | Binary::ModFloor => {
                self.divide(function, element, a, b, known)
            }
            Binary::Shl | Binary::Shr => self.shift_one(function, element, a, b, known),
            Binary::RotateLeft | Binary::RotateRight => {
                let width = i64::from(element.bits());
                let plain = self.canonical(unsigned(element), a);
                let by = self.over(C::And_rm64_imm32, b, &[Arg::Imm(width - 1)]);
                let back = self.over(C::Neg_rm64, by, &[]);
                let back = self.over(C::And_rm64_imm32, back, &[Arg::Imm(width - 1)]);
                let by = if function == Binary::RotateLeft { by } else { back };
                let high = self.i(C::VEX_Shlx_r64_rm64_r64, &[Arg::Use(plain), Arg::Use(by)]);
                let full = self.number(width);
                // Of no rotation the other part is nothing, or, of 64 bits, the whole again.
                let rest = self.over(C::Sub_r64_rm64, full, &[Arg::Use(by)]);
                let low = self.i(C::VEX_Shrx_r64_rm64_r64, &[Arg::Use(plain), Arg::Use(rest)]);
                self.over(C::Or_r64_rm64, high, &[Arg::Use(low)])
            }
            _ => return self.lacks(&format!("{} of {element}", function.text())),
        };
        Ok(self.canonical(element, result))
    }

    fn shift_one(&mut self, function: Binary, element: ElementType, a: VReg, b: VReg, known: Option<Constant>) -> VReg {
        let width = i64::from(element.bits());
        let arithmetic = function == Binary::Shr && element.is_signed();
        if let Some(known) = known {
            let by = known.bits().min(64) as i64;
            return match function {
                _ if arithmetic => self.over(C::Sar_rm64_imm8, a, &[Arg::Imm(by.min(63))]),
                _ if by >= width => self.number(0),
                Binary::Shl => self.over(C::Shl_rm64_imm8, a, &[Arg::Imm(by)]),
                _ => self.over(C::Shr_rm64_imm8, a, &[Arg::Imm(by)]),
            };
        }
        let out = self.m.fresh(INT);
        if arithmetic {
            let most = self.number(63);
            let by = self.m.fresh(INT);
            let inst = Made::new()
                .then(C::Cmp_rm64_imm8, &[Arg::Use(b), Arg::Imm(63)])
                .then(C::Cmovbe_r64_rm64, &[Arg::Over(by, most), Arg::Use(b)]);
            self.m.push(inst);
            return self.i(C::VEX_Sarx_r64_rm64_r64, &[Arg::Use(a), Arg::Use(by)]);
        }
        let code = if function == Binary::Shl { C::VEX_Shlx_r64_rm64_r64 } else { C::VEX_Shrx_r64_rm64_r64 };
        let shifted = self.i(code, &[Arg::Use(a), Arg::Use(b)]);
        let zero = self.number(0);
        let inst = Made::new()
            .then(C::Cmp_rm64_imm8, &[Arg::Use(b), Arg::Imm(width)])
            .then(C::Cmovae_r64_rm64, &[Arg::Over(out, shifted), Arg::Use(zero)]);
        self.m.push(inst);
        out
    }

    /// Quotient and remainder of 64 bits by a divisor that cannot trap.
    fn divided(&mut self, signed: bool, a: VReg, b: VReg) -> (VReg, VReg) {
        let (rax, rdx) = (PReg::new(0, INT), PReg::new(2, INT));
        let (quotient, rest) = (self.m.fresh(INT), self.m.fresh(INT));
        let mut inst = Made::new();
        inst.operands.push(Operand::reg_fixed_def(quotient, rax));
        inst.operands.push(Operand::reg_fixed_def(rest, rdx));
        inst.operands.push(Operand::reg_fixed_use(a, rax));
        if signed {
            inst = inst.then(C::Cqo, &[]).then(C::Idiv_rm64, &[Arg::Late(b)]);
        } else {
            // `rest` is rdx.
            inst = inst.then(C::Xor_r32_rm32, &[Arg::Use(rest), Arg::Use(rest)]).then(C::Div_rm64, &[Arg::Late(b)]);
        }
        self.m.push(inst);
        (quotient, rest)
    }

    /// Quotients and remainders of integers: by 0 they are 0 (a check is before), and the smallest by -1 wraps.
    fn divide(&mut self, function: Binary, element: ElementType, a: VReg, b: VReg, known: Option<Constant>) -> VReg {
        let signed = element.is_signed();
        let plain = known.is_some_and(|known| known.bits() != 0 && (!signed || extended(known) != -1));
        // Where the divisor is replaced by 1, the remainder is 0 as it should be.
        let mut safe = b;
        if !plain {
            let one = self.number(1);
            let mut replaced = |this: &mut Self, compare: (C, Vec<Arg>)| {
                let out = this.m.fresh(INT);
                let inst = Made::new()
                    .then(compare.0, &compare.1)
                    .then(C::Cmove_r64_rm64, &[Arg::Over(out, safe), Arg::Use(one)]);
                this.m.push(inst);
                safe = out;
            };
            replaced(self, (C::Test_rm64_r64, vec![Arg::Use(b), Arg::Use(b)]));
            if signed {
                replaced(self, (C::Cmp_rm64_imm8, vec![Arg::Use(b), Arg::Imm(-1)]));
            }
        }
        let (mut quotient, mut rest) = self.divided(signed, a, safe);
        if !plain {
            if signed {
                let negative = self.over(C::Neg_rm64, a, &[]);
                quotient = self.instead((C::Cmp_rm64_imm8, vec![Arg::Use(b), Arg::Imm(-1)]), quotient, negative);
            }
            let zero = self.number(0);
            quotient = self.instead((C::Test_rm64_r64, vec![Arg::Use(b), Arg::Use(b)]), quotient, zero);
        }
        let floors = matches!(function, Binary::DivFloor | Binary::ModFloor) && signed;
        if floors {
            // Down where something is left whose sign is not the divisor's.
            let signs = self.over(C::Xor_r64_rm64, rest, &[Arg::Use(b)]);
            let differ = self.over(C::Sar_rm64_imm8, signs, &[Arg::Imm(63)]);
            let zero = self.number(0);
            let down = self.instead((C::Test_rm64_r64, vec![Arg::Use(rest), Arg::Use(rest)]), differ, zero);
            if function == Binary::DivFloor {
                let sum = Address { index: Some(down), ..Address::at(quotient, 0) };
                quotient = self.i(C::Lea_r64_m, &[Arg::Mem(sum)]);
            } else {
                let added = self.over(C::And_r64_rm64, down, &[Arg::Use(b)]);
                let sum = Address { index: Some(added), ..Address::at(rest, 0) };
                rest = self.i(C::Lea_r64_m, &[Arg::Mem(sum)]);
            }
        }
        if matches!(function, Binary::Div | Binary::DivFloor) { quotient } else { rest }
    }

    /// `other` where a comparison finds equal, else `value`.
    fn instead(&mut self, (code, args): (C, Vec<Arg>), value: VReg, other: VReg) -> VReg {
        let out = self.m.fresh(INT);
        let inst = Made::new().then(code, &args).then(C::Cmove_r64_rm64, &[Arg::Over(out, value), Arg::Use(other)]);
        self.m.push(inst);
        out
    }

    pub(super) fn choose_one(&mut self, condition: Value, a: Value, b: Value) -> Outcome<VReg> {
        let element = self.ty(a).element;
        if is_float(element) {
            let holds = self.one(condition)?;
            let mask =
                if self.features.avx512 { self.k(C::VEX_Kmovd_kr_r32, &[Arg::Use(holds)]) } else { self.spread(holds) };
            let (a, b) = (self.one(a)?, self.one(b)?);
            return Ok(self.blended(element.bytes(), mask, b, Arg::Any(a)));
        }
        let (a, b) = (self.one(a)?, self.one(b)?);
        let (code, args, holds) = self.test(condition)?;
        let out = self.m.fresh(INT);
        let inst =
            Made::new().then(code, &args).then(codes::conditional_move(holds), &[Arg::Over(out, b), Arg::Use(a)]);
        self.m.push(inst);
        Ok(out)
    }
}
