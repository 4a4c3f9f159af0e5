//! Memory: elements of arrays and of scratch memory, positions, checks of indices.

use fusebox_ir::{
    Binary, DimBoundary, DimIndex, ElementType, FailureKind, IndexMap, KernelArrayId, Place, ScalarOperand,
};

use super::{Emitter, Result};
use crate::{
    text::{Class, Reg},
    value::Val,
};

/// The type of loads and stores of an element.
pub(crate) fn stored(ty: ElementType) -> &'static str {
    match ty {
        ElementType::Bool | ElementType::U8 => "u8",
        ElementType::I8 => "s8",
        ElementType::I16 => "s16",
        ElementType::U16 => "u16",
        ElementType::F16 => "b16",
        ElementType::I32 | ElementType::U32 | ElementType::F32 => "b32",
        ElementType::I64 | ElementType::U64 | ElementType::F64 => "b64",
    }
}

/// So many bytes behind an address, as an operand.
pub(crate) fn place(address: Reg, offset: u64) -> String {
    if offset == 0 { format!("[{address}]") } else { format!("[{address}+{offset}]") }
}

impl Emitter<'_> {
    /// The element at an address, in a space such as `global` or `shared`, with qualifiers before it such as `volatile.`.
    pub(crate) fn load_from(&mut self, space: &str, ty: ElementType, address: Reg, offset: u64) -> Val {
        let operation = format!("ld.{space}.{}", stored(ty));
        let place = place(address, offset);
        if ty == ElementType::Bool {
            let byte = self.c.make(ElementType::U8, &operation, &[&place]);
            let byte = self.c.text(byte);
            return Val::new(ty, self.c.test("setp.ne.u32", &[&byte, "0"]));
        }
        self.c.make(ty, &operation, &[&place])
    }

    /// Stores an element at an address.
    pub(crate) fn store_to(&mut self, space: &str, address: Reg, offset: u64, value: Val) {
        let place = place(address, offset);
        let stored = if value.ty == ElementType::Bool { self.c.convert(ElementType::U8, value) } else { value };
        // An immediate says nothing of its width here.
        let reg = self.c.in_reg(stored);
        self.c.op(format_args!("st.{space}.{} {place}, {reg}", self::stored(value.ty)));
    }

    /// `base + position · bytes`.
    pub(crate) fn address(&mut self, base: Reg, position: Val, bytes: u64) -> Reg {
        if position.ty == ElementType::U32 {
            let position = match position.constant() {
                Some(position) => (position.bits() * bytes).to_string(),
                None => {
                    let text = self.c.text(position);
                    let address = self.c.reg(Class::Double);
                    self.c.op(format_args!("mad.wide.u32 {address}, {text}, {bytes}, {base}"));
                    return address;
                }
            };
            let address = self.c.reg(Class::Double);
            self.c.op(format_args!("add.s64 {address}, {base}, {position}"));
            return address;
        }
        let position = match position.as_i64() {
            Some(0) => return base,
            Some(position) => position.wrapping_mul(bytes as i64).to_string(),
            None => {
                let text = self.c.text(position);
                if bytes == 1 {
                    text
                } else if bytes.is_power_of_two() {
                    let scaled = self.c.make(ElementType::I64, "shl.b64", &[&text, &bytes.ilog2().to_string()]);
                    self.c.text(scaled)
                } else {
                    let scaled = self.c.make(ElementType::I64, "mul.lo.s64", &[&text, &bytes.to_string()]);
                    self.c.text(scaled)
                }
            }
        };
        let address = self.c.reg(Class::Double);
        self.c.op(format_args!("add.s64 {address}, {base}, {position}"));
        address
    }

    /// The address of the element of an array at a row-major position.
    pub(crate) fn element(&mut self, array: KernelArrayId, position: Val) -> Result<Reg> {
        let Some(&base) = self.arrays.get(array.index()) else { return Err(self.broken("an array that is not there")) };
        let bytes = self.kernel.arrays[array.index()].element.bytes() as u64;
        Ok(self.address(base, position, bytes))
    }

    /// The element at a row-major position that is inside.
    pub(crate) fn load_at(&mut self, array: KernelArrayId, position: Val) -> Result<Val> {
        let address = self.element(array, position)?;
        Ok(self.load_from("global", self.kernel.arrays[array.index()].element, address, 0))
    }

    /// `offset + Σ factor · local`.
    pub(crate) fn dim_index(&mut self, dim: &DimIndex) -> Result<Val> {
        let mut sum = Val::from(0i64);
        for &(factor, local) in &dim.terms {
            let local = self.local(local)?;
            let term = self.c.mul(local, factor.into());
            sum = self.c.add(sum, term);
        }
        Ok(self.c.add(sum, dim.offset.into()))
    }

    /// The extents of an array.
    pub(crate) fn extents(&mut self, array: KernelArrayId) -> Result<Vec<Val>> {
        let kernel = self.kernel;
        let Some(array) = kernel.arrays.get(array.index()) else {
            return Err(self.broken("an array that is not there"));
        };
        array.extents.iter().map(|&extent| self.extent(extent)).collect()
    }

    /// How many elements an array has.
    pub(crate) fn size(&mut self, array: KernelArrayId) -> Result<Val> {
        let extents = self.extents(array)?;
        Ok(extents.into_iter().fold(1i64.into(), |size, extent| self.c.mul(size, extent)))
    }

    /// The row-major position of an index, of as many bits as positions of the entry have.
    pub(crate) fn position(&mut self, array: KernelArrayId, index: &[Val]) -> Result<Val> {
        if !self.narrow {
            return self.wide_position(array, index);
        }
        let index: Vec<Val> = index.iter().map(|&index| self.c.low(index)).collect();
        self.narrow_position(array, &index)
    }

    /// The position that a map says which needs no boundary and no check.
    pub(crate) fn position_of(&mut self, array: KernelArrayId, map: &IndexMap) -> Result<Val> {
        if !self.narrow {
            let index = map.dims.iter().map(|dim| self.dim_index(dim)).collect::<Result<Vec<_>>>()?;
            return self.wide_position(array, &index);
        }
        let mut index = Vec::new();
        for dim in &map.dims {
            let mut sum = self.c.low(dim.offset.into());
            for &(factor, local) in &dim.terms {
                let (local, factor) = (self.local(local)?, self.c.low(factor.into()));
                let local = self.c.low(local);
                sum = self.c.low_sum(local, factor, sum);
            }
            index.push(sum);
        }
        self.narrow_position(array, &index)
    }

    /// The position of an index that is known by its lowest 32 bits. It is below 2^31, so that nothing of it is lost, whatever wraps on the way.
    fn narrow_position(&mut self, array: KernelArrayId, index: &[Val]) -> Result<Val> {
        let extents = self.extents(array)?;
        let mut position = self.c.low(0i64.into());
        for (&index, &extent) in index.iter().zip(&extents) {
            let extent = self.c.low(extent);
            position = self.c.low_sum(position, extent, index);
        }
        Ok(position)
    }

    /// The row-major position of an index, of 64 bits.
    pub(crate) fn wide_position(&mut self, array: KernelArrayId, index: &[Val]) -> Result<Val> {
        let extents = self.extents(array)?;
        let mut position = Val::from(0i64);
        for (&index, &extent) in index.iter().zip(&extents) {
            let rows = self.c.mul(position, extent);
            position = self.c.add(rows, index);
        }
        Ok(position)
    }

    /// Whether an index is outside in some dimension.
    pub(crate) fn outside(&mut self, index: &[Val], bounds: &[Val]) -> Option<Reg> {
        let mut outside: Option<Reg> = None;
        for (&index, &bound) in index.iter().zip(bounds) {
            let (x, n) = (self.c.text(index), self.c.text(bound));
            // As unsigned numbers those below zero are above any extent.
            let here = self.c.test("setp.ge.u64", &[&x, &n]);
            outside = Some(match outside {
                None => here,
                Some(before) => self.c.either(before, here),
            });
        }
        outside
    }

    /// Fails where `index` is outside of `bounds`; the error says what is `written` and the array's extents.
    pub(crate) fn check_index(
        &mut self,
        array: KernelArrayId,
        (index, written): (&[Val], &[Val]),
        bounds: &[Val],
        place: &Place,
    ) -> Result {
        let Some(outside) = self.outside(index, bounds) else { return Ok(()) };
        let extents = self.extents(array)?;
        let none = ScalarOperand::Constant(0i64.into());
        let fault = FailureKind::Index {
            array: self.kernel.arrays[array.index()].name.clone(),
            index: vec![none; written.len()],
            extents: vec![none; extents.len()],
        };
        let operands: Vec<Val> = written.iter().chain(&extents).copied().collect();
        let failure = self.failure(place, fault);
        self.fail(outside, failure, &operands);
        Ok(())
    }

    /// `array[index…]` that fails outside.
    pub(crate) fn checked_read(&mut self, array: KernelArrayId, index: &[Val], place: &Place) -> Result<Val> {
        let extents = self.extents(array)?;
        self.check_index(array, (index, index), &extents, place)?;
        let position = self.position(array, index)?;
        self.load_at(array, position)
    }

    /// `array.flat[position]` that fails outside.
    pub(crate) fn flat_read(&mut self, array: KernelArrayId, position: Val, place: &Place) -> Result<Val> {
        let size = self.size(array)?;
        self.check_index(array, (&[position], &[position]), &[size], place)?;
        self.load_at(array, position)
    }

    /// What a boundary makes of an index; that of an array without elements stays outside, or becomes so.
    pub(crate) fn bounded(&mut self, index: Val, extent: Val, boundary: DimBoundary) -> Result<Val> {
        match boundary {
            DimBoundary::None => Ok(index),
            DimBoundary::Clamp => {
                let last = self.c.add(extent, (-1i64).into());
                let (x, last) = (self.c.text(index), self.c.text(last));
                let below = self.c.make(ElementType::I64, "min.s64", &[&x, &last]);
                let below = self.c.text(below);
                Ok(self.c.make(ElementType::I64, "max.s64", &[&below, "0"]))
            }
            DimBoundary::Wrap => self.wrapped(index, extent, extent),
            DimBoundary::Mirror => {
                let last = self.c.add(extent, (-1i64).into());
                let period = self.c.add(last, last);
                let folded = self.wrapped(index, period, extent)?;
                let back = self.c.sub(period, folded);
                let beyond = self.c.compare("ge", folded, extent);
                Ok(self.c.select(beyond, back, folded))
            }
        }
    }

    /// `index mod period`; where there is no period, 0 of one element, and outside of none. Nearly all indices are in the first period, and a division of 64
    /// bits takes about a hundred instructions.
    fn wrapped(&mut self, index: Val, period: Val, extent: Val) -> Result<Val> {
        let result = self.c.variable(index);
        let behind = self.c.compare("ge", index, 0i64.into());
        let before = self.c.compare("lt", index, period);
        let inside = self.c.both(behind, before);
        let outside = self.c.not(inside);
        self.only_if(outside, |e| {
            let near = e.c.compare("gt", period, 0i64.into());
            let divisor = e.c.select(near, period, 1i64.into());
            let folded = e.c.binary(Binary::ModFloor, index, divisor);
            let folded = e.expanded(folded)?;
            // Of an array without elements any index is outside of 0..0.
            let folded = e.c.select(near, folded, 0i64.into());
            let some = e.c.compare("gt", extent, 0i64.into());
            let wrapped = e.c.select(some, folded, index);
            e.c.assign(result, wrapped);
            Ok(())
        })?;
        Ok(Val::new(ElementType::I64, result))
    }
}
