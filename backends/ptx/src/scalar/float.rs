//! `f32` and `f64`; `f16` is computed as `f32` and rounded.

use fusebox_ir::{Binary, ElementType, Unary, primitive};

use super::{Result, Unexpanded, suffix};
use crate::{
    text::{Class, Code, Reg},
    value::Val,
};

impl Code {
    pub(super) fn float_unary(&mut self, function: Unary, a: Val) -> Result<Val> {
        let (ty, s) = (a.ty, suffix(a.ty));
        let x = self.text(a);
        Ok(match function {
            Unary::Neg => self.make(ty, &format!("neg.{s}"), &[&x]),
            Unary::Abs => self.make(ty, &format!("abs.{s}"), &[&x]),
            Unary::Sqrt => self.make(ty, &format!("sqrt.rn.{s}"), &[&x]),
            Unary::Floor => self.make(ty, &format!("cvt.rmi.{s}.{s}"), &[&x]),
            Unary::Ceil => self.make(ty, &format!("cvt.rpi.{s}.{s}"), &[&x]),
            Unary::Trunc => self.make(ty, &format!("cvt.rzi.{s}.{s}"), &[&x]),
            Unary::Round => self.make(ty, &format!("cvt.rni.{s}.{s}"), &[&x]),
            Unary::Sign => {
                let one = Self::number(ty, 1);
                let one = self.in_reg(one).to_string();
                let signed = self.make(ty, &format!("copysign.{s}"), &[&x, &one]);
                // Neither less nor greater than zero: zeros and NaN stay.
                let zero = Self::number(ty, 0);
                let stays = self.compare("equ", a, zero);
                self.select(stays, a, signed)
            }
            Unary::IsNan => Val::new(ElementType::Bool, self.is_nan(a)),
            Unary::IsInf => {
                let magnitude = self.make(ty, &format!("abs.{s}"), &[&x]);
                let infinity = Val::from(primitive::float(ty, f64::INFINITY));
                Val::new(ElementType::Bool, self.compare("eq", magnitude, infinity))
            }
            other => return Err(Unexpanded(other.text())),
        })
    }

    pub(super) fn is_nan(&mut self, a: Val) -> Reg {
        self.compare("nan", a, a)
    }

    pub(super) fn float_binary(&mut self, function: Binary, a: Val, b: Val) -> Result<Val> {
        let (ty, s) = (a.ty, suffix(a.ty));
        let (x, y) = (self.text(a), self.text(b));
        Ok(match function {
            Binary::Add => self.make(ty, &format!("add.rn.{s}"), &[&x, &y]),
            Binary::Sub => self.make(ty, &format!("sub.rn.{s}"), &[&x, &y]),
            Binary::Mul => self.make(ty, &format!("mul.rn.{s}"), &[&x, &y]),
            Binary::Div => self.make(ty, &format!("div.rn.{s}"), &[&x, &y]),
            Binary::Min | Binary::Max => self.extreme(function, a, b),
            Binary::Eq | Binary::Ne | Binary::Lt | Binary::Le | Binary::Gt | Binary::Ge => {
                // Ordered, but that what is not ordered is not equal.
                let comparison = match function {
                    Binary::Eq => "eq",
                    Binary::Ne => "neu",
                    Binary::Lt => "lt",
                    Binary::Le => "le",
                    Binary::Gt => "gt",
                    _ => "ge",
                };
                Val::new(ElementType::Bool, self.compare(comparison, a, b))
            }
            other => return Err(Unexpanded(other.text())),
        })
    }

    /// The lesser or greater of two floats: NaN wins, -0 is less than +0.
    ///
    /// Of two equal numbers the bits differ for zeros alone: or-ed they have the sign of the lesser one, and-ed that of the greater.
    fn extreme(&mut self, function: Binary, a: Val, b: Val) -> Val {
        let (ty, s) = (a.ty, suffix(a.ty));
        let (x, y) = (self.in_reg(a).to_string(), self.in_reg(b).to_string());
        let (name, bits) = if function == Binary::Min { ("min", "or") } else { ("max", "and") };
        if ty == ElementType::F32 && self.has_nan_extremes() {
            return self.make(ty, &format!("{name}.NaN.{s}"), &[&x, &y]);
        }
        let untyped = Class::of(ty).untyped();
        let extreme = self.make(ty, &format!("{name}.{s}"), &[&x, &y]);
        let same = self.compare("eq", a, b);
        let merged = self.make(ty, &format!("{bits}.{untyped}"), &[&x, &y]);
        let extreme = self.select(same, merged, extreme);
        let unordered = self.compare("nan", a, b);
        let nan = Val::from(primitive::float(ty, f64::NAN));
        self.select(unordered, nan, extreme)
    }

    /// `a * b + c`, rounded once.
    pub(crate) fn fma(&mut self, a: Val, b: Val, c: Val) -> Result<Val> {
        if let (Some(x), Some(y), Some(z)) = (a.constant(), b.constant(), c.constant())
            && let Some(folded) = primitive::fma(x, y, z)
        {
            return Ok(folded.into());
        }
        if a.ty == ElementType::F16 {
            // One instruction of the machine, which takes registers alone.
            let [x, y, z] = [a, b, c].map(|value| self.in_reg(value).to_string());
            return Ok(self.make(a.ty, "fma.rn.f16", &[&x, &y, &z]));
        }
        let (x, y, z) = (self.text(a), self.text(b), self.text(c));
        Ok(self.make(a.ty, &format!("fma.rn.{}", suffix(a.ty)), &[&x, &y, &z]))
    }
}
