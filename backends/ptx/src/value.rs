//! Values of scalar code: in a register, or constants that stand in the instruction.

use fusebox_ir::{Constant, ElementType};

use crate::text::{Class, Code, Reg};

/// A scalar value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Val {
    pub(crate) ty: ElementType,
    at: At,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum At {
    Reg(Reg),
    Constant(Constant),
}

impl From<Constant> for Val {
    fn from(constant: Constant) -> Self {
        Self { ty: constant.ty(), at: At::Constant(constant) }
    }
}

impl From<i64> for Val {
    fn from(number: i64) -> Self {
        Constant::from(number).into()
    }
}

impl Val {
    pub(crate) fn new(ty: ElementType, reg: Reg) -> Self {
        Self { ty, at: At::Reg(reg) }
    }

    pub(crate) fn constant(self) -> Option<Constant> {
        match self.at {
            At::Reg(_) => None,
            At::Constant(constant) => Some(constant),
        }
    }

    pub(crate) fn as_i64(self) -> Option<i64> {
        self.constant().and_then(Constant::as_i64)
    }

    pub(crate) fn register(self) -> Option<Reg> {
        match self.at {
            At::Reg(reg) => Some(reg),
            At::Constant(_) => None,
        }
    }
}

impl Code {
    /// The value in a register.
    pub(crate) fn in_reg(&mut self, value: Val) -> Reg {
        match value.at {
            At::Reg(reg) => reg,
            At::Constant(_) => {
                let reg = self.reg(Class::of(value.ty));
                self.assign(reg, value);
                reg
            }
        }
    }

    /// The value as an operand: a register or, where instructions take one, an immediate.
    pub(crate) fn text(&mut self, value: Val) -> String {
        match (value.at, Class::of(value.ty)) {
            (At::Constant(constant), Class::Word | Class::Double) => immediate(constant),
            _ => self.in_reg(value).to_string(),
        }
    }

    /// Puts a value into a register of its class.
    pub(crate) fn assign(&mut self, to: Reg, value: Val) {
        let from = match value.at {
            At::Reg(from) if from == to => return,
            At::Reg(from) => from.to_string(),
            At::Constant(constant) => immediate(constant),
        };
        self.op(format_args!("mov.{} {to}, {from}", to.class.untyped()));
    }

    /// A new register with the value, which later assignments may change.
    pub(crate) fn variable(&mut self, value: Val) -> Reg {
        let reg = self.reg(Class::of(value.ty));
        self.assign(reg, value);
        reg
    }
}

/// A constant as an immediate: the bits of its register.
fn immediate(constant: Constant) -> String {
    let ty = constant.ty();
    match ty {
        ElementType::Bool => if constant.bits() != 0 { "-1" } else { "0" }.to_owned(),
        ElementType::F16 => format!("{:#06x}", constant.bits()),
        ElementType::F32 => format!("0f{:08X}", constant.bits()),
        ElementType::F64 => format!("0d{:016X}", constant.bits()),
        ElementType::I64 if constant.bits() == 1 << 63 => "0x8000000000000000".to_owned(),
        ElementType::U64 => format!("{:#x}", constant.bits()),
        _ => constant.as_i64().unwrap_or_default().to_string(),
    }
}
