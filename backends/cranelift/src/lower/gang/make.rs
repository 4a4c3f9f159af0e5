//! Gangs made of uniform values: constants, one value in all lanes, and the numbers of the lanes.

use cranelift_codegen::ir::InstBuilder;
use fusebox_ir::{Constant, ElementType};

use crate::{
    lower::{Lower, Registers, int_vector, registers, vector_type},
    vector::{Type, Value},
};

impl Lower<'_> {
    pub(in crate::lower) fn constant(&mut self, constant: Constant, lanes: u32) -> Registers {
        if lanes == 1 {
            return Registers::One(self.constant_one(constant));
        }
        let element = constant.ty();
        if element == ElementType::Bool {
            let bytes = self.mask_bytes;
            let byte = if constant.bits() == 1 { 0xff } else { 0 };
            let register = self.vector_constant(int_vector(bytes), vec![byte; 16]);
            return Registers::Mask(bytes, vec![register; registers(lanes, bytes)]);
        }
        let width = element.bytes();
        let bytes: Vec<u8> = (0..16).map(|byte| constant.bits().to_le_bytes()[byte % width]).collect();
        let register = self.vector_constant(vector_type(element), bytes);
        Registers::Gang(vec![register; registers(lanes, width as u32)])
    }

    pub(in crate::lower) fn splat(&mut self, value: Value, ty: Type) -> Registers {
        let one = self.one(value);
        if ty.element == ElementType::Bool {
            let bytes = self.mask_bytes;
            let vector = int_vector(bytes);
            let wide = if bytes == 1 { one } else { self.b.ins().uextend(vector.lane_type(), one) };
            let ones = self.b.ins().ineg(wide);
            let register = self.b.ins().splat(vector, ones);
            return Registers::Mask(bytes, vec![register; registers(ty.lanes, bytes)]);
        }
        let register = self.b.ins().splat(vector_type(ty.element), one);
        Registers::Gang(vec![register; registers(ty.lanes, ty.element.bytes() as u32)])
    }

    pub(in crate::lower) fn iota(&mut self, ty: Type) -> Registers {
        if ty.lanes == 1 {
            return Registers::One(self.constant_one(Constant::zero(ty.element)));
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
        Registers::Gang(parts)
    }
}
