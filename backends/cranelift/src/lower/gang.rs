//! Functions on gangs and masks: instructions on each register, and lane by lane where there are none.

use cranelift_codegen::ir::{
    InstBuilder, Value as Clif,
    condcodes::{FloatCC, IntCC},
    types,
};
use fusebox_ir::{Binary, Constant, ElementType, Unary, bug};

use super::{
    Held, Lower, int_vector, registers,
    scalar::{float_condition, int_condition},
    vector_type,
};
use crate::vector::{Type, Value};

impl Lower<'_> {
    pub(super) fn constant(&mut self, constant: Constant, lanes: u32) -> Held {
        if lanes == 1 {
            return Held::One(self.constant_one(constant));
        }
        let element = constant.ty();
        if element == ElementType::Bool {
            let bytes = self.mask_bytes;
            let byte = if constant.bits() == 1 { 0xff } else { 0 };
            let register = self.vector_constant(int_vector(bytes), vec![byte; 16]);
            return Held::Mask(bytes, vec![register; registers(lanes, bytes)]);
        }
        let width = element.bytes();
        let bytes: Vec<u8> = (0..16).map(|byte| constant.bits().to_le_bytes()[byte % width]).collect();
        let register = self.vector_constant(vector_type(element), bytes);
        Held::Gang(vec![register; registers(lanes, width as u32)])
    }

    pub(super) fn splat(&mut self, value: Value, ty: Type) -> Held {
        let one = self.one(value);
        if ty.element == ElementType::Bool {
            let bytes = self.mask_bytes;
            let vector = int_vector(bytes);
            let wide = if bytes == 1 { one } else { self.b.ins().uextend(vector.lane_type(), one) };
            let ones = self.b.ins().ineg(wide);
            let register = self.b.ins().splat(vector, ones);
            return Held::Mask(bytes, vec![register; registers(ty.lanes, bytes)]);
        }
        let register = self.b.ins().splat(vector_type(ty.element), one);
        Held::Gang(vec![register; registers(ty.lanes, ty.element.bytes() as u32)])
    }

    pub(super) fn iota(&mut self, ty: Type) -> Held {
        if ty.lanes == 1 {
            return Held::One(self.constant_one(Constant::zero(ty.element)));
        }
        let width = ty.element.bytes();
        let per = 16 / width;
        let parts = (0..registers(ty.lanes, width as u32))
            .map(|register| {
                let bytes = (0..per)
                    .flat_map(|lane| {
                        Constant::from_i64(ty.element, (register * per + lane) as i64)
                            .bits()
                            .to_le_bytes()
                            .into_iter()
                            .take(width)
                    })
                    .collect();
                self.vector_constant(vector_type(ty.element), bytes)
            })
            .collect();
        Held::Gang(parts)
    }

    /// A mask's registers with lanes of `bytes`.
    pub(super) fn mask(&mut self, value: Value, bytes: u32) -> Vec<Clif> {
        let lanes = self.ty(value).lanes;
        match self.held(value) {
            Held::Mask(own, registers) => self.resized_mask(registers, own, bytes, lanes),
            Held::One(_) | Held::Gang(_) => bug!(self.function, "{value} should be a mask"),
        }
    }

    fn resized_mask(&mut self, mut registers: Vec<Clif>, from: u32, to: u32, lanes: u32) -> Vec<Clif> {
        let mut bytes = from;
        while bytes < to {
            registers = self.widened(&registers, bytes, true, lanes);
            bytes *= 2;
        }
        while bytes > to {
            registers = self.narrowed(&registers, bytes);
            bytes /= 2;
        }
        registers
    }

    /// Integer lanes twice as wide.
    fn widened(&mut self, from: &[Clif], bytes: u32, signed: bool, lanes: u32) -> Vec<Clif> {
        let wanted = registers(lanes, bytes * 2);
        let mut wide = Vec::new();
        for &register in from {
            wide.push(if signed { self.b.ins().swiden_low(register) } else { self.b.ins().uwiden_low(register) });
            if wide.len() < wanted {
                wide.push(if signed { self.b.ins().swiden_high(register) } else { self.b.ins().uwiden_high(register) });
            }
        }
        wide.truncate(wanted);
        wide
    }

    /// The low halves of integer lanes of `bytes`.
    fn narrowed(&mut self, from: &[Clif], bytes: u32) -> Vec<Clif> {
        let half = bytes as usize / 2;
        let ty = int_vector(bytes / 2);
        from.chunks(2)
            .map(|pair| {
                let picks: Vec<u8> =
                    (0..32).filter(|byte| byte % bytes as usize / half == 0).map(|byte| byte as u8).collect();
                self.shuffled(ty, pair[0], pair[pair.len() - 1], picks)
            })
            .collect()
    }

    /// Bytes picked out of two registers.
    fn shuffled(&mut self, ty: cranelift_codegen::ir::Type, a: Clif, b: Clif, picks: Vec<u8>) -> Clif {
        let (a, b) = (self.reinterpret(types::I8X16, a), self.reinterpret(types::I8X16, b));
        let picks = self.b.func.dfg.immediates.push(picks.into());
        let bytes = self.b.ins().shuffle(a, b, picks);
        self.reinterpret(ty, bytes)
    }

    pub(super) fn shift(&mut self, value: Value, by: u32, fill: Value) -> Held {
        let ty = self.ty(value);
        let (bytes, from, fill, mask) = match (self.held(value), self.held(fill)) {
            (Held::Mask(bytes, registers), _) => {
                let fill = self.mask(fill, bytes);
                (bytes, registers, fill, true)
            }
            (Held::Gang(registers), Held::Gang(fill)) => (ty.element.bytes() as u32, registers, fill, false),
            _ => bug!(self.function, "{value} should be a gang"),
        };
        let vector = self.b.func.dfg.value_type(from[0]);
        let moved = (by * bytes) as usize;
        let shifted: Vec<Clif> = (0..from.len())
            .map(|register| {
                let start = register * 16;
                if start >= moved {
                    let (source, rest) = ((start - moved) / 16, (start - moved) % 16);
                    if rest == 0 {
                        return from[source];
                    }
                    let picks = (rest..rest + 16).map(|byte| byte as u8).collect();
                    self.shuffled(vector, from[source], from[source + 1], picks)
                } else if start + 16 <= moved {
                    fill[register]
                } else {
                    let picks = (0..16)
                        .map(|byte| if start + byte < moved { byte } else { start + byte - moved + 16 } as u8)
                        .collect();
                    self.shuffled(vector, fill[register], from[0], picks)
                }
            })
            .collect();
        if mask { Held::Mask(bytes, shifted) } else { Held::Gang(shifted) }
    }

    pub(super) fn select(&mut self, condition: Value, a: Value, b: Value) -> Held {
        let (mut left, mut right) = (self.held(a), self.held(b));
        if let Held::One(condition) = self.held(condition) {
            if let (Held::Mask(bytes, _), Held::Mask(..)) = (&left, &right) {
                let bytes = *bytes;
                right = Held::Mask(bytes, self.mask(b, bytes));
            }
            let mut choose = |a: &[Clif], b: &[Clif]| {
                a.iter().zip(b).map(|(&a, &b)| self.b.ins().select(condition, a, b)).collect::<Vec<_>>()
            };
            return match (left, right) {
                (Held::One(a), Held::One(b)) => Held::One(choose(&[a], &[b])[0]),
                (Held::Gang(a), Held::Gang(b)) => Held::Gang(choose(&a, &b)),
                (Held::Mask(bytes, a), Held::Mask(_, b)) => Held::Mask(bytes, choose(&a, &b)),
                _ => bug!(self.function, "{a} and {b} should be alike"),
            };
        }
        let bytes = match &left {
            Held::Mask(bytes, _) => *bytes,
            _ => self.ty(a).element.bytes() as u32,
        };
        let is_mask = matches!(left, Held::Mask(..));
        if is_mask {
            left = Held::Gang(self.mask(a, bytes));
            right = Held::Gang(self.mask(b, bytes));
        }
        let condition = self.mask(condition, bytes);
        let (Held::Gang(left), Held::Gang(right)) = (left, right) else { bug!(self.function, "{a} should be a gang") };
        let chosen = (condition.into_iter().zip(left).zip(right))
            .map(|((condition, a), b)| {
                let ty = self.b.func.dfg.value_type(a);
                let condition = self.reinterpret(ty, condition);
                self.b.ins().bitselect(condition, a, b)
            })
            .collect();
        if is_mask { Held::Mask(bytes, chosen) } else { Held::Gang(chosen) }
    }

    /// One function on each register.
    fn each(&mut self, a: &[Clif], mut one: impl FnMut(&mut Self, Clif) -> Clif) -> Vec<Clif> {
        a.iter().map(|&a| one(self, a)).collect()
    }

    fn pairs(&mut self, a: &[Clif], b: &[Clif], mut one: impl FnMut(&mut Self, Clif, Clif) -> Clif) -> Vec<Clif> {
        a.iter().zip(b).map(|(&a, &b)| one(self, a, b)).collect()
    }

    /// A gang computed lane by lane.
    fn lanes(&mut self, ty: Type, operands: &[Value], mut one: impl FnMut(&mut Self, &[Clif]) -> Clif) -> Held {
        let held: Vec<Held> = operands.iter().map(|&operand| self.held(operand)).collect();
        let lanes = (0..ty.lanes)
            .map(|lane| {
                let operands: Vec<Clif> = held.iter().map(|held| self.extract(held, lane)).collect();
                one(self, &operands)
            })
            .collect();
        self.gang_of(ty, lanes)
    }

    pub(super) fn unary_gang(&mut self, function: Unary, a: Value) -> Held {
        let ty = self.ty(a);
        let (element, bytes) = (ty.element, ty.element.bytes() as u32);
        if let Held::Mask(bytes, registers) = self.held(a) {
            return Held::Mask(bytes, self.each(&registers, |this, a| this.b.ins().bnot(a)));
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
                return Held::Gang(self.each(&registers, simple));
            }
            match function {
                Unary::IsNan => {
                    return Held::Mask(
                        bytes,
                        self.each(&registers, |this, a| this.b.ins().fcmp(FloatCC::NotEqual, a, a)),
                    );
                }
                Unary::IsInf => {
                    let infinity =
                        Constant::from_bits(element, if bytes == 4 { 0x7f80_0000 } else { 0x7ff0_0000_0000_0000 });
                    let Held::Gang(infinity) = self.constant(infinity, ty.lanes) else {
                        panic!("a constant gang is a gang")
                    };
                    return Held::Mask(
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
                return Held::Gang(self.each(&registers, simple));
            }
        }
        let result = if matches!(function, Unary::IsNan | Unary::IsInf) { ElementType::Bool } else { element };
        self.lanes(Type { element: result, lanes: ty.lanes }, &[a], |this, operands| {
            this.unary_one(function, element, operands[0])
        })
    }

    pub(super) fn binary_gang(&mut self, function: Binary, a: Value, b: Value) -> Held {
        let ty = self.ty(a);
        if let Held::Mask(bytes, left) = self.held(a) {
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
            return Held::Mask(bytes, result);
        }
        if function.is_shift() {
            return self.shift_gang(function, a, b);
        }
        let (element, bytes) = (ty.element, ty.element.bytes() as u32);
        let (left, right) = (self.gang(a), self.gang(b));
        if matches!(element, ElementType::F32 | ElementType::F64) {
            if function.is_comparison() {
                let condition = float_condition(function);
                return Held::Mask(bytes, self.pairs(&left, &right, |this, a, b| this.b.ins().fcmp(condition, a, b)));
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
                return Held::Gang(self.pairs(&left, &right, simple));
            }
        } else if element.is_integer() {
            if function.is_comparison() {
                return Held::Mask(bytes, self.compare_ints(function, element, &left, &right));
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
                return Held::Gang(self.pairs(&left, &right, simple));
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
                return Held::Gang(chosen);
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

    /// Shifts and rotations: of all lanes by one amount, else lane by lane.
    fn shift_gang(&mut self, function: Binary, a: Value, b: Value) -> Held {
        let ty = self.ty(a);
        let (element, amount) = (ty.element, self.ty(b).element);
        let known = self.constants[b.0 as usize];
        let Held::One(by) = self.held(b) else {
            return self.lanes(ty, &[a, b], |this, operands| {
                this.binary_one(function, element, amount, operands[0], operands[1], known)
            });
        };
        let registers = self.gang(a);
        let width = i64::from(element.bits());
        let arithmetic = function == Binary::Shr && element.is_signed();
        let wide = self.convert_one(amount_unsigned(amount), ElementType::U64, by);
        let limit = self.b.ins().iconst(types::I64, width);
        let beyond = self.b.ins().icmp(IntCC::UnsignedGreaterThanOrEqual, wide, limit);
        let by = self.b.ins().ireduce(types::I32, wide);
        match function {
            Binary::RotateLeft | Binary::RotateRight => {
                let by = self.b.ins().band_imm_u(by, width - 1);
                let back = self.b.ins().ineg(by);
                let back = self.b.ins().band_imm_u(back, width - 1);
                let (left, right) = if function == Binary::RotateLeft { (by, back) } else { (back, by) };
                let rotated = self.each(&registers, |this, a| {
                    let high = this.b.ins().ishl(a, left);
                    let low = this.b.ins().ushr(a, right);
                    this.b.ins().bor(high, low)
                });
                Held::Gang(rotated)
            }
            _ if arithmetic => {
                let most = self.b.ins().iconst(types::I32, width - 1);
                let by = self.b.ins().select(beyond, most, by);
                Held::Gang(self.each(&registers, |this, a| this.b.ins().sshr(a, by)))
            }
            _ => {
                let shifted = self.each(&registers, |this, a| {
                    if function == Binary::Shl { this.b.ins().ishl(a, by) } else { this.b.ins().ushr(a, by) }
                });
                if known.is_some_and(|known| known.bits() < width as u64) {
                    return Held::Gang(shifted);
                }
                // All ones where the amount is below the width: one `and` for each register.
                let inside = self.b.ins().bxor_imm_u(beyond, 1);
                let vector = vector_type(element);
                let inside =
                    if element.bytes() == 1 { inside } else { self.b.ins().uextend(vector.lane_type(), inside) };
                let ones = self.b.ins().ineg(inside);
                let keep = self.b.ins().splat(vector, ones);
                Held::Gang(self.each(&shifted, |this, a| this.b.ins().band(a, keep)))
            }
        }
    }

    pub(super) fn fma_gang(&mut self, ty: Type, a: Value, b: Value, c: Value) -> Held {
        if self.features.fma && matches!(ty.element, ElementType::F32 | ElementType::F64) {
            let (a, b, c) = (self.gang(a), self.gang(b), self.gang(c));
            return Held::Gang(a.into_iter().zip(b).zip(c).map(|((a, b), c)| self.b.ins().fma(a, b, c)).collect());
        }
        self.lanes(ty, &[a, b, c], |this, operands| this.fma_one(ty.element, operands[0], operands[1], operands[2]))
    }

    pub(super) fn convert_gang(&mut self, a: Value, to: Type) -> Held {
        use ElementType::{Bool, F16, F32, F64};
        let from = self.ty(a).element;
        let (wide, narrow) = (from.bytes() as u32, to.element.bytes() as u32);
        let lanes = to.lanes;
        if from == Bool && to.element != F16 {
            let bytes = if to.element.is_float() { 4 } else { narrow };
            let mask = self.mask(a, bytes);
            let ones = self.each(&mask, |this, mask| this.b.ins().ineg(mask));
            return match to.element {
                F32 => Held::Gang(self.each(&ones, |this, a| this.b.ins().fcvt_from_sint(types::F32X4, a))),
                F64 => Held::Gang(self.doubles(&ones, true, lanes)),
                _ => Held::Gang(ones),
            };
        }
        if from == F16 || to.element == F16 {
            return self.lanes(to, &[a], |this, operands| this.convert_one(from, to.element, operands[0]));
        }
        let registers = self.gang(a);
        match (from.is_float(), to.element.is_float()) {
            (false, false) => Held::Gang(self.resized(registers, wide, narrow, from.is_signed(), lanes)),
            (false, true) if wide <= 4 => {
                let ints = self.resized(registers, wide, 4, from.is_signed(), lanes);
                let signed = from.is_signed() || wide < 4;
                if to.element == F64 {
                    return Held::Gang(self.doubles(&ints, signed, lanes));
                }
                Held::Gang(self.each(&ints, |this, a| {
                    if signed {
                        this.b.ins().fcvt_from_sint(types::F32X4, a)
                    } else {
                        this.b.ins().fcvt_from_uint(types::F32X4, a)
                    }
                }))
            }
            (true, false) if from == F32 && narrow <= 4 => {
                let signed = to.element.is_signed() || narrow < 4;
                let mut ints = self.each(&registers, |this, a| {
                    if signed {
                        this.b.ins().fcvt_to_sint_sat(types::I32X4, a)
                    } else {
                        this.b.ins().fcvt_to_uint_sat(types::I32X4, a)
                    }
                });
                if narrow < 4 {
                    let bits = narrow * 8;
                    let (low, high) = if to.element.is_signed() {
                        (-(1i64 << (bits - 1)), (1i64 << (bits - 1)) - 1)
                    } else {
                        (0, (1i64 << bits) - 1)
                    };
                    let lows = self.constant(Constant::from_i64(ElementType::I32, low), 4);
                    let highs = self.constant(Constant::from_i64(ElementType::I32, high), 4);
                    if let (Held::Gang(low), Held::Gang(high)) = (lows, highs) {
                        ints = self.each(&ints, |this, a| {
                            let raised = this.b.ins().smax(a, low[0]);
                            this.b.ins().smin(raised, high[0])
                        });
                    }
                }
                Held::Gang(self.resized(ints, 4, narrow, false, lanes))
            }
            (true, true) if from == F32 && to.element == F64 => {
                let mut wide = Vec::new();
                for register in registers {
                    wide.push(self.b.ins().fvpromote_low(register));
                    if lanes > 2 {
                        let high = self.shuffled(types::F32X4, register, register, (8..16).chain(8..16).collect());
                        wide.push(self.b.ins().fvpromote_low(high));
                    }
                }
                Held::Gang(wide)
            }
            (true, true) if from == F64 && to.element == F32 => {
                let halves = self.each(&registers, |this, a| this.b.ins().fvdemote(a));
                let narrow = halves
                    .chunks(2)
                    .map(|pair| {
                        if pair.len() == 1 {
                            return pair[0];
                        }
                        self.shuffled(types::F32X4, pair[0], pair[1], (0..8).chain(16..24).collect())
                    })
                    .collect();
                Held::Gang(narrow)
            }
            _ if from == to.element => Held::Gang(registers),
            _ => self.lanes(to, &[a], |this, operands| this.convert_one(from, to.element, operands[0])),
        }
    }

    /// Integer lanes of another width, wrapped or extended.
    fn resized(&mut self, mut registers: Vec<Clif>, from: u32, to: u32, signed: bool, lanes: u32) -> Vec<Clif> {
        let mut bytes = from;
        while bytes < to {
            registers = self.widened(&registers, bytes, signed, lanes);
            bytes *= 2;
        }
        while bytes > to {
            registers = self.narrowed(&registers, bytes);
            bytes /= 2;
        }
        registers
    }

    /// 32-bit integers as f64.
    fn doubles(&mut self, ints: &[Clif], signed: bool, lanes: u32) -> Vec<Clif> {
        let mut wide = Vec::new();
        for &register in ints {
            let mut halves = vec![register];
            if lanes > 2 {
                halves.push(self.shuffled(types::I32X4, register, register, (8..16).chain(8..16).collect()));
            }
            for half in halves {
                wide.push(if signed {
                    let long = self.b.ins().swiden_low(half);
                    self.b.ins().fcvt_from_sint(types::F64X2, long)
                } else {
                    let long = self.b.ins().uwiden_low(half);
                    self.b.ins().fcvt_from_uint(types::F64X2, long)
                });
            }
        }
        wide
    }
}

/// Amounts of shifts are read as unsigned.
fn amount_unsigned(amount: ElementType) -> ElementType {
    match amount {
        ElementType::I8 => ElementType::U8,
        ElementType::I16 => ElementType::U16,
        ElementType::I32 => ElementType::U32,
        ElementType::I64 => ElementType::U64,
        other => other,
    }
}
