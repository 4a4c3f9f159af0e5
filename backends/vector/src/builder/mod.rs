//! Builds functions region by region, folding what is known.

use std::collections::HashMap;

use fusebox_ir::{Binary, Constant, ElementType, Unary, primitive};

use crate::{Function, Inst, Memory, Op, Region, Site, Type, Value};

mod conditions;
mod regions;

use conditions::Conditions;
pub use regions::{OpenLoop, OpenWhile};

/// A function under construction. Regions are opened and closed like brackets.
#[derive(Debug, Default)]
pub struct Builder {
    types: Vec<Type>,
    constants: Vec<Option<Constant>>,
    /// What is known to be another uniform `i64` and a number.
    sums: HashMap<Value, (Value, i64)>,
    conditions: Conditions,
    regions: Vec<Region>,
    sites: Vec<Site>,
    scratch: usize,
}

impl Builder {
    /// An empty function.
    pub fn new() -> Self {
        Self { regions: vec![Region::default()], ..Self::default() }
    }

    /// An empty function, with the values, the sites and the scratch memory of another: for instructions to be put into that.
    pub(crate) fn beside(function: &Function) -> Self {
        let Function { types, sites, scratch, .. } = function;
        let constants = vec![None; types.len()];
        Self { types: types.clone(), constants, sites: sites.clone(), scratch: *scratch, ..Self::new() }
    }

    /// The function, once every region but the outermost is closed.
    pub fn finish(mut self, name: String) -> Function {
        let body = self.regions.pop().unwrap_or_default();
        Function { name, types: self.types, body, sites: self.sites, scratch: self.scratch }
    }

    /// Room in scratch memory, aligned to 64 bytes; gives its offset.
    pub fn scratch(&mut self, bytes: usize) -> i64 {
        let offset = self.scratch;
        self.scratch += bytes.next_multiple_of(64);
        offset as i64
    }

    /// A new place where the function may fail.
    pub fn site(&mut self, site: Site) -> usize {
        self.sites.push(site);
        self.sites.len() - 1
    }

    /// The type of a value.
    pub fn ty(&self, value: Value) -> Type {
        self.types[value.0 as usize]
    }

    /// The element type of a value.
    pub fn element(&self, value: Value) -> ElementType {
        self.ty(value).element
    }

    /// The lanes of a value.
    pub fn lanes(&self, value: Value) -> u32 {
        self.ty(value).lanes
    }

    /// The number that a uniform value is known to be.
    pub fn constant_of(&self, value: Value) -> Option<Constant> {
        self.constants[value.0 as usize]
    }

    /// A value that an instruction to come will define.
    pub fn fresh(&mut self, element: ElementType, lanes: u32) -> Value {
        self.types.push(Type { element, lanes });
        self.constants.push(None);
        Value(self.types.len() as u32 - 1)
    }

    /// Appends an instruction with these results.
    pub fn push(&mut self, results: &[Value], op: Op) {
        if let Some(region) = self.regions.last_mut() {
            region.0.push(Inst { results: results.into(), op });
        }
    }

    fn one(&mut self, element: ElementType, lanes: u32, op: Op) -> Value {
        let result = self.fresh(element, lanes);
        self.push(&[result], op);
        result
    }

    /// The range's first step (0), its end (1), or scratch memory (2).
    pub fn parameter(&mut self, position: u32) -> Value {
        self.one(ElementType::I64, 1, Op::Parameter(position))
    }

    /// A word of the argument table.
    pub fn argument(&mut self, position: usize) -> Value {
        self.one(ElementType::I64, 1, Op::Argument(position as u32))
    }

    /// A uniform number.
    pub fn constant(&mut self, constant: Constant) -> Value {
        let value = self.one(constant.ty(), 1, Op::Constant(constant));
        self.constants[value.0 as usize] = Some(constant);
        self.conditions.spread(value, constant);
        value
    }

    /// A uniform `f32` or `f64`, rounded.
    pub(crate) fn float(&mut self, element: ElementType, value: f64) -> Value {
        let single = element == ElementType::F32;
        self.constant(if single { Constant::from(value as f32) } else { Constant::from(value) })
    }

    /// A uniform `i64`.
    pub fn int(&mut self, value: i64) -> Value {
        self.constant(Constant::from(value))
    }

    /// The uniform value in every lane; gangs are themselves.
    pub fn splat(&mut self, value: Value, lanes: u32) -> Value {
        let ty = self.ty(value);
        if ty.lanes == lanes {
            value
        } else if let Some(constant) = self.constant_of(value) {
            let spread = self.one(ty.element, lanes, Op::Constant(constant));
            self.conditions.spread(spread, constant);
            spread
        } else {
            self.one(ty.element, lanes, Op::Splat(value))
        }
    }

    /// 0, 1, 2, … across lanes.
    pub fn iota(&mut self, element: ElementType, lanes: u32) -> Value {
        self.one(element, lanes, Op::Iota)
    }

    /// A function of one operand.
    pub fn unary(&mut self, function: Unary, a: Value) -> Value {
        let ty = self.ty(a);
        let element = if matches!(function, Unary::IsNan | Unary::IsInf) { ElementType::Bool } else { ty.element };
        if let Some(result) = self.constant_of(a).and_then(|a| primitive::unary(function, a)) {
            return self.constant(result);
        }
        self.one(element, ty.lanes, Op::Unary(function, a))
    }

    /// Whether neither of two floats is NaN, in each lane.
    pub fn are_numbers(&mut self, a: Value, b: Value) -> Value {
        self.one(ElementType::Bool, self.lanes(a), Op::AreNumbers(a, b))
    }

    /// A function of two operands, uniform ones spread over the lanes of the other.
    pub fn binary(&mut self, function: Binary, a: Value, b: Value) -> Value {
        if let (Some(x), Some(y)) = (self.constant_of(a), self.constant_of(b))
            && let Ok(Some(result)) = primitive::binary(function, x, y)
        {
            return self.constant(result);
        }
        let lanes = self.lanes(a).max(self.lanes(b));
        if function == Binary::Mul
            && let Some((a, by)) = self.as_shift(a, b).or_else(|| self.as_shift(b, a))
        {
            return self.binary(Binary::Shl, a, by);
        }
        let a = self.splat(a, lanes);
        // A uniform amount stays uniform: shifting all lanes alike is one instruction.
        let b = if function.is_shift() { b } else { self.splat(b, lanes) };
        if matches!(function, Binary::Or | Binary::LogicalOr)
            && let Some((p, q)) = self.conditions.other((a, b))
        {
            return self.binary(function, p, q);
        }
        let ty = self.ty(a);
        let element = if function.is_comparison() { ElementType::Bool } else { ty.element };
        let made = self.one(element, lanes, Op::Binary(function, a, b));
        self.conditions.made(function, (a, b), ty, made);
        made
    }

    /// A product of a gang and a power of two as a shift, where vectors have no product of such elements that takes as little: the gang, and by how
    /// many bits.
    fn as_shift(&mut self, a: Value, b: Value) -> Option<(Value, Value)> {
        let Type { element, lanes } = self.ty(a);
        let bits = self.constant_of(b)?.power_of_two().filter(|&bits| bits > 0)?;
        let by = Constant::from_i64(element, bits.into());
        (lanes > 1 && element.bytes() >= 4).then(|| (a, self.constant(by)))
    }

    /// The sum of two `i64`. Of uniform ones, numbers are added last: addresses take them for nothing, and what they are added to is the same for
    /// neighbours.
    pub fn add(&mut self, a: Value, b: Value) -> Value {
        match (self.constant_of(a).map(Constant::bits), self.constant_of(b).map(Constant::bits)) {
            (Some(0), None) => b,
            (None, Some(0)) => a,
            _ if self.lanes(a) > 1 || self.lanes(b) > 1 => self.binary(Binary::Add, a, b),
            (Some(_), Some(_)) => self.binary(Binary::Add, a, b),
            (Some(number), None) => self.add_number(b, number as i64, Some(a)),
            (None, Some(number)) => self.add_number(a, number as i64, Some(b)),
            (None, None) => {
                let apart = |value: Value| self.sums.get(&value).copied().unwrap_or((value, 0));
                let ((x, m), (y, n)) = (apart(a), apart(b));
                let sum = self.binary(Binary::Add, x, y);
                self.add_number(sum, m.wrapping_add(n), None)
            }
        }
    }

    /// A uniform `i64` and a number, which may be a value already.
    fn add_number(&mut self, a: Value, number: i64, value: Option<Value>) -> Value {
        let (rest, before) = self.sums.get(&a).copied().unwrap_or((a, 0));
        let number = number.wrapping_add(before);
        if number == 0 {
            return rest;
        }
        let known = value.filter(|_| before == 0).unwrap_or_else(|| self.int(number));
        let sum = self.binary(Binary::Add, rest, known);
        self.sums.insert(sum, (rest, number));
        sum
    }

    /// The product of two `i64`.
    pub fn mul(&mut self, a: Value, b: Value) -> Value {
        match (self.constant_of(a).map(Constant::bits), self.constant_of(b).map(Constant::bits)) {
            (Some(1), None) => b,
            (None, Some(1)) => a,
            (Some(0), None) if self.lanes(b) == 1 => a,
            (None, Some(0)) if self.lanes(a) == 1 => b,
            _ => self.binary(Binary::Mul, a, b),
        }
    }

    /// The difference of two `i64`.
    pub fn sub(&mut self, a: Value, b: Value) -> Value {
        self.binary(Binary::Sub, a, b)
    }

    /// `a + n` of `i64`.
    pub fn add_int(&mut self, a: Value, n: i64) -> Value {
        let n = self.int(n);
        self.add(a, n)
    }

    /// A product and a sum, rounded once.
    pub fn fma(&mut self, a: Value, b: Value, c: Value) -> Value {
        let lanes = self.lanes(a).max(self.lanes(b)).max(self.lanes(c));
        let (a, b, c) = (self.splat(a, lanes), self.splat(b, lanes), self.splat(c, lanes));
        let element = self.element(a);
        self.one(element, lanes, Op::Fma(a, b, c))
    }

    /// Conversion.
    pub fn convert(&mut self, to: ElementType, a: Value) -> Value {
        let ty = self.ty(a);
        if ty.element == to {
            return a;
        }
        if let Some(result) = self.constant_of(a).and_then(|a| primitive::convert(to, a)) {
            return self.constant(result);
        }
        self.one(to, ty.lanes, Op::Convert(a))
    }

    /// The same bits as another type.
    pub fn bits(&mut self, to: ElementType, a: Value) -> Value {
        let ty = self.ty(a);
        if ty.element == to {
            return a;
        }
        self.one(to, ty.lanes, Op::Bits(a))
    }

    /// `a` where `condition` holds, else `b`.
    pub fn select(&mut self, condition: Value, a: Value, b: Value) -> Value {
        if a == b {
            return a;
        }
        if let Some(known) = self.constant_of(condition).and_then(Constant::as_bool) {
            return if known { a } else { b };
        }
        let lanes = self.lanes(condition).max(self.lanes(a)).max(self.lanes(b));
        let (a, b) = (self.splat(a, lanes), self.splat(b, lanes));
        if let Some(chosen) = self.conditions.chosen(condition, a, b) {
            return chosen;
        }
        // An accumulator of conditions, in the lanes that count: one condition more.
        if let Some(more) = self.conditions.beside(a, b) {
            let more = self.binary(Binary::And, condition, more);
            return self.binary(Binary::Or, b, more);
        }
        let element = self.element(a);
        self.one(element, lanes, Op::Select(condition, a, b))
    }

    /// Both, of `bool`; `None` is true.
    pub fn both(&mut self, a: Option<Value>, b: Option<Value>) -> Option<Value> {
        match (a, b) {
            (Some(a), Some(b)) => Some(self.binary(Binary::And, a, b)),
            (one, None) | (None, one) => one,
        }
    }

    /// Not, of `bool`.
    pub fn not(&mut self, a: Value) -> Value {
        self.unary(Unary::Not, a)
    }

    /// A load of `lanes` elements.
    pub fn load(&mut self, element: ElementType, lanes: u32, base: Value, index: Value, memory: Memory) -> Value {
        self.one(element, lanes, Op::Load { base, index, offset: 0, memory })
    }

    /// A load of lanes `stride` elements apart.
    pub fn load_strided(
        &mut self,
        element: ElementType,
        lanes: u32,
        base: Value,
        index: Value,
        stride: Value,
        memory: Memory,
    ) -> Value {
        self.one(element, lanes, Op::LoadStrided { base, index, stride, memory })
    }

    /// A load of those of `lanes` neighbouring elements for which a mask holds; where there are no masks, others read what is `elsewhere`.
    pub fn load_masked(
        &mut self,
        (element, lanes): (ElementType, u32),
        base: Value,
        index: Value,
        (mask, elsewhere): (Value, Value),
        memory: Memory,
    ) -> Value {
        self.one(element, lanes, Op::LoadMasked { base, index, mask, elsewhere, memory })
    }

    /// A store.
    pub fn store(&mut self, base: Value, index: Value, value: Value, mask: Option<Value>) {
        self.push(&[], Op::Store { base, index, value, mask, streaming: false });
    }

    /// A store of a gang past the caches, at a multiple of 16 bytes.
    pub fn store_streaming(&mut self, base: Value, index: Value, value: Value) {
        self.push(&[], Op::Store { base, index, value, mask: None, streaming: true });
    }

    /// A hint that something will be loaded.
    pub fn prefetch(&mut self, base: Value, index: Value, element: ElementType, bytes: i64) {
        self.push(&[], Op::Prefetch { base, index, element, bytes });
    }

    /// Whether a mask holds anywhere; uniform values are themselves.
    pub fn any(&mut self, mask: Value) -> Value {
        if self.lanes(mask) == 1 { mask } else { self.one(ElementType::Bool, 1, Op::Any(mask)) }
    }

    /// One lane; uniform values are themselves.
    pub fn extract(&mut self, a: Value, lane: u32) -> Value {
        let ty = self.ty(a);
        if ty.lanes == 1 { a } else { self.one(ty.element, 1, Op::Extract(a, lane)) }
    }

    /// With one lane replaced.
    pub fn insert(&mut self, a: Value, lane: u32, value: Value) -> Value {
        let ty = self.ty(a);
        if ty.lanes == 1 { value } else { self.one(ty.element, ty.lanes, Op::Insert(a, lane, value)) }
    }

    /// The lower half of the lanes, or the upper one; of two lanes one.
    pub fn half(&mut self, value: Value, upper: bool) -> Value {
        let ty = self.ty(value);
        if ty.lanes <= 2 {
            return self.extract(value, u32::from(upper));
        }
        self.one(ty.element, ty.lanes / 2, Op::Half { value, upper })
    }

    /// Lanes in the other order; a gang of elements that are no `bool`.
    pub fn reverse(&mut self, value: Value) -> Value {
        let ty = self.ty(value);
        if ty.lanes == 1 { value } else { self.one(ty.element, ty.lanes, Op::Reverse(value)) }
    }

    /// Every other run of `run` lanes of the first and then of the second ([`Op::Unzip`]).
    pub fn unzip(&mut self, first: Value, second: Value, run: u32, odd: bool) -> Value {
        let ty = self.ty(first);
        self.one(ty.element, ty.lanes, Op::Unzip { first, second, run, odd })
    }

    /// Lanes moved up by `by`.
    pub fn shift(&mut self, value: Value, by: u32, fill: Value) -> Value {
        let ty = self.ty(value);
        self.one(ty.element, ty.lanes, Op::Shift { value, by, fill })
    }

    /// A compare of `i64`.
    pub fn less(&mut self, a: Value, b: Value) -> Value {
        self.binary(Binary::Lt, a, b)
    }

    /// Leaves with a failure where `condition` holds.
    pub fn fail_if(&mut self, condition: Value, site: usize, operands: Vec<Value>) {
        if self.constant_of(condition).and_then(Constant::as_bool) != Some(false) {
            self.push(&[], Op::FailIf { condition, site, operands });
        }
    }
}
