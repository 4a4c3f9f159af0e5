//! Where values of the vector IR are: registers of 16 bytes and their types.

use cranelift_codegen::ir::{Block, BlockArg, InstBuilder, MemFlagsData, Type as ClifType, Value as Clif, types};
use fusebox_ir::{ElementType, bug};

use super::Lower;
use crate::vector::{Type, Value};

/// The registers that a value of the vector IR is in.
#[derive(Clone, Debug)]
pub(super) enum Registers {
    /// A uniform value.
    One(Clif),
    /// A gang, in registers of 16 bytes (a short one in the low part of one).
    Gang(Vec<Clif>),
    /// A mask with lanes of as many bytes, all ones or zeros.
    Mask(u32, Vec<Clif>),
}

/// The register type of one lane.
pub(super) fn scalar_type(element: ElementType) -> ClifType {
    match element {
        ElementType::Bool | ElementType::I8 | ElementType::U8 => types::I8,
        ElementType::I16 | ElementType::U16 | ElementType::F16 => types::I16,
        ElementType::I32 | ElementType::U32 => types::I32,
        ElementType::I64 | ElementType::U64 => types::I64,
        ElementType::F32 => types::F32,
        ElementType::F64 => types::F64,
    }
}

/// The integer vector with lanes of as many bytes.
pub(super) fn int_vector(bytes: u32) -> ClifType {
    match bytes {
        1 => types::I8X16,
        2 => types::I16X8,
        4 => types::I32X4,
        _ => types::I64X2,
    }
}

pub(super) fn vector_type(element: ElementType) -> ClifType {
    match element {
        ElementType::F32 => types::F32X4,
        ElementType::F64 => types::F64X2,
        other => int_vector(other.bytes() as u32),
    }
}

/// Registers for lanes of as many bytes.
pub(super) fn registers(lanes: u32, bytes: u32) -> usize {
    (lanes * bytes).div_ceil(16) as usize
}

impl Lower<'_> {
    pub(super) fn ty(&self, value: Value) -> Type {
        self.function.types[value.0 as usize]
    }

    pub(super) fn registers_of(&self, value: Value) -> Registers {
        match &self.values[value.0 as usize] {
            Some(registers) => registers.clone(),
            None => bug!(self.function, "{value} is used before it is defined"),
        }
    }

    pub(super) fn set(&mut self, value: Value, registers: Registers) {
        self.values[value.0 as usize] = Some(registers);
    }

    /// A uniform value.
    pub(super) fn one(&mut self, value: Value) -> Clif {
        match self.registers_of(value) {
            Registers::One(one) => one,
            Registers::Gang(_) | Registers::Mask(..) => bug!(self.function, "{value} should be uniform"),
        }
    }

    /// The registers of a gang that is no mask.
    pub(super) fn gang(&mut self, value: Value) -> Vec<Clif> {
        match self.registers_of(value) {
            Registers::Gang(registers) => registers,
            Registers::One(_) | Registers::Mask(..) => bug!(self.function, "{value} should be a gang"),
        }
    }

    pub(super) fn reinterpret(&mut self, to: ClifType, value: Clif) -> Clif {
        if self.b.func.dfg.value_type(value) == to {
            return value;
        }
        let flags = MemFlagsData::new().with_endianness(cranelift_codegen::ir::Endianness::Little);
        self.b.ins().bitcast(to, flags, value)
    }

    /// Clif values that hold a value, masks in the common width.
    pub(super) fn flat(&mut self, value: Value) -> Vec<Clif> {
        match self.registers_of(value) {
            Registers::One(one) => vec![one],
            Registers::Gang(registers) => registers,
            Registers::Mask(..) => {
                let bytes = self.mask_bytes;
                self.mask(value, bytes)
            }
        }
    }

    pub(super) fn flat_types(&self, ty: Type) -> Vec<ClifType> {
        if ty.lanes == 1 {
            vec![scalar_type(ty.element)]
        } else if ty.element == ElementType::Bool {
            vec![int_vector(self.mask_bytes); registers(ty.lanes, self.mask_bytes)]
        } else {
            vec![vector_type(ty.element); registers(ty.lanes, ty.element.bytes() as u32)]
        }
    }

    pub(super) fn unflatten(&self, ty: Type, values: Vec<Clif>) -> Registers {
        if ty.lanes == 1 {
            Registers::One(values[0])
        } else if ty.element == ElementType::Bool {
            Registers::Mask(self.mask_bytes, values)
        } else {
            Registers::Gang(values)
        }
    }

    pub(super) fn arguments(&mut self, values: &[Value]) -> Vec<BlockArg> {
        values.iter().flat_map(|&value| self.flat(value)).map(BlockArg::Value).collect()
    }

    /// Parameters of `block` for `values`, which are then defined by them.
    pub(super) fn parameters(&mut self, block: Block, values: &[Value]) {
        for &value in values {
            let ty = self.ty(value);
            let params = self.flat_types(ty).into_iter().map(|ty| self.b.append_block_param(block, ty)).collect();
            let registers = self.unflatten(ty, params);
            self.set(value, registers);
        }
    }
}
