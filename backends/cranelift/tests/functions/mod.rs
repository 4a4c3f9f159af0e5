//! Random block functions over arrays of every type of element, and the memory that they run on.

use fusebox_cranelift::{
    Block,
    vector::{Append, Builder, Function, Memory, Op, Site, Value},
};
use fusebox_ir::{Binary, Constant, ElementType, Failure, FailureKind, Unary, primitive};

use crate::common::Random;

const ELEMENTS: [ElementType; 11] = [
    ElementType::Bool,
    ElementType::I8,
    ElementType::U8,
    ElementType::I16,
    ElementType::U16,
    ElementType::I32,
    ElementType::U32,
    ElementType::I64,
    ElementType::U64,
    ElementType::F32,
    ElementType::F64,
];

/// Elements of every array.
const LENGTH: usize = 512;

/// A number that is likely to be a corner case.
fn number(random: &mut Random, element: ElementType) -> Constant {
    let bits = random.next();
    let kind = random.next() % 4;
    if element == ElementType::Bool {
        return Constant::from(bits % 2 == 1);
    }
    if element.is_float() {
        let corners =
            [0.0, -0.0, 1.0, -1.5, f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e-310, 2.5e9, -3e19, 0.1, 127.9];
        return match kind {
            0 => primitive::float(element, corners[bits as usize % corners.len()]),
            1 => Constant::from_bits(element, bits),
            _ => primitive::float(element, (bits % 2001) as f64 / 100.0 - 10.0),
        };
    }
    let width = element.bits();
    match kind {
        0 => {
            Constant::from_bits(element, [0, 1, u64::MAX, 1 << (width - 1), (1 << (width - 1)) - 1][bits as usize % 5])
        }
        1 => Constant::from_bits(element, bits),
        _ => Constant::from_i64(element, (bits % 41) as i64 - 20),
    }
}

/// A function under construction: values of every type that there are, gangs of one number of lanes.
struct Maker {
    b: Builder,
    random: Random,
    lanes: u32,
    values: Vec<Value>,
    arrays: Vec<Value>,
    site: usize,
    depth: usize,
}

impl Maker {
    fn pick(&mut self, of: impl Fn(ElementType, u32) -> bool) -> Option<Value> {
        let able: Vec<Value> =
            self.values.iter().copied().filter(|&value| of(self.b.element(value), self.b.lanes(value))).collect();
        // Later ones more often.
        let (x, y) = (self.random.next() as usize, self.random.next() as usize);
        (!able.is_empty()).then(|| able[(x % able.len()).max(y % able.len())])
    }

    fn same(&mut self, a: Value) -> Value {
        let (element, lanes) = (self.b.element(a), self.b.lanes(a));
        if self.random.next().is_multiple_of(4) {
            let constant = number(&mut self.random, element);
            let constant = self.b.constant(constant);
            return self.b.splat(constant, lanes);
        }
        self.pick(|e, l| e == element && l == lanes).unwrap_or(a)
    }

    fn mask(&mut self, lanes: u32) -> Value {
        match self.pick(|e, l| e == ElementType::Bool && l == lanes) {
            Some(mask) => mask,
            None => {
                let holds = self.b.constant(Constant::from(true));
                self.b.splat(holds, lanes)
            }
        }
    }

    /// A position of `lanes` elements inside of an array.
    fn position(&mut self) -> Value {
        match self.pick(|e, l| e == ElementType::I64 && l == 1) {
            Some(value) => {
                let most = self.b.int((LENGTH / 2 - 1) as i64);
                let index = self.b.binary(Binary::And, value, most);
                let offset = (self.random.next() % 64) as i64;
                self.b.add_int(index, offset)
            }
            None => self.b.int(7),
        }
    }

    fn positions(&mut self) -> Option<Value> {
        let lanes = self.lanes;
        let index = self.pick(|e, l| e == ElementType::I64 && l == lanes)?;
        let most = self.b.int(LENGTH as i64 - 1);
        Some(self.b.binary(Binary::And, index, most))
    }

    fn some(&mut self) {
        if self.made().is_none() {
            let element = ELEMENTS[self.random.next() as usize % ELEMENTS.len()];
            let constant = number(&mut self.random, element);
            let constant = self.b.constant(constant);
            self.values.push(constant);
        }
    }

    fn array(&self, element: ElementType) -> Value {
        self.arrays[ELEMENTS.iter().position(|&own| own == element).unwrap()]
    }

    fn target(&self, element: ElementType) -> Value {
        self.arrays[ELEMENTS.len() + ELEMENTS.iter().position(|&own| own == element).unwrap()]
    }

    fn made(&mut self) -> Option<()> {
        let lanes = self.lanes;
        let wanted = if self.random.next().is_multiple_of(5) { 1 } else { lanes };
        let element = ELEMENTS[self.random.next() as usize % ELEMENTS.len()];
        let value = match self.random.next() % 22 {
            0..=3 => {
                let function = Binary::ALL[self.random.next() as usize % Binary::ALL.len()];
                let a = self.pick(|_, l| l == wanted)?;
                let own = self.b.element(a);
                if own.is_float() && function == Binary::Rem {
                    return None;
                }
                let b = if function.is_shift() {
                    let uniform = self.random.next().is_multiple_of(2);
                    self.pick(|e, l| e.is_integer() && (l == if uniform { 1 } else { wanted }))?
                } else {
                    self.same(a)
                };
                let (x, y) = (Constant::from_i64(own, 1), Constant::from_i64(self.b.element(b), 1));
                let known = primitive::binary(function, x, y).ok().flatten();
                known.filter(|_| primitive::is_exact_binary(function))?;
                let made = self.b.binary(function, a, b);
                if function == Binary::And && own.is_integer() && self.random.next().is_multiple_of(2) {
                    // Whether both have a bit in common.
                    let zero = self.b.constant(Constant::zero(own));
                    let compare = if self.random.next().is_multiple_of(2) { Binary::Eq } else { Binary::Ne };
                    let common = self.b.binary(compare, made, zero);
                    self.values.push(common);
                }
                made
            }
            4 | 5 => {
                let function = Unary::ALL[self.random.next() as usize % Unary::ALL.len()];
                let a = self.pick(|_, l| l == wanted)?;
                primitive::unary(function, Constant::from_i64(self.b.element(a), 1))
                    .filter(|_| primitive::is_exact(function))?;
                self.b.unary(function, a)
            }
            6 | 7 => {
                let a = self.pick(|e, l| l == wanted && e != element)?;
                if element == ElementType::Bool {
                    return None;
                }
                self.b.convert(element, a)
            }
            8 => {
                let a = self.pick(|e, l| l == wanted && e.bytes() == element.bytes())?;
                if element == ElementType::Bool || self.b.element(a) == ElementType::Bool {
                    return None;
                }
                let own = self.b.element(a);
                let a = if own.is_float() {
                    // Bits of a NaN may be any.
                    let (nan, zero) = (self.b.unary(Unary::IsNan, a), self.b.constant(Constant::zero(own)));
                    self.b.select(nan, zero, a)
                } else {
                    a
                };
                self.b.bits(element, a)
            }
            9 => {
                let a = self.pick(|e, l| e.is_float() && l == wanted)?;
                let (b, c) = (self.same(a), self.same(a));
                self.b.fma(a, b, c)
            }
            10 | 11 => {
                let a = self.pick(|_, l| l == wanted)?;
                let b = self.same(a);
                let width = if self.random.next().is_multiple_of(3) { 1 } else { wanted };
                let mask = self.mask(width);
                self.b.select(mask, a, b)
            }
            12 => {
                let a = self.pick(|_, l| l == 1)?;
                self.b.splat(a, lanes)
            }
            13 => {
                let a = self.pick(|_, l| l == lanes)?;
                if self.random.next().is_multiple_of(2) {
                    // Halves of halves, until one lane is left; some are stored on the way.
                    let mut half = a;
                    while self.b.lanes(half) > 1 {
                        half = self.b.half(half, self.random.next().is_multiple_of(2));
                        if self.random.next().is_multiple_of(3) {
                            self.store(half);
                        }
                    }
                    self.values.push(half);
                    return Some(());
                }
                let lane = self.random.next() as u32 % lanes;
                self.b.extract(a, lane)
            }
            14 => {
                let a = self.pick(|_, l| l == lanes)?;
                let own = self.b.element(a);
                let new = self.pick(|e, l| e == own && l == 1)?;
                let lane = self.random.next() as u32 % lanes;
                self.b.insert(a, lane, new)
            }
            15 => {
                let a = self.pick(|_, l| l == lanes)?;
                let bytes = self.b.element(a).bytes();
                if bytes >= 4 && bytes * lanes as usize >= 64 && self.random.next().is_multiple_of(2) {
                    let (other, run) = (self.same(a), 1 << (self.random.next() as u32 % lanes.ilog2()));
                    let unzipped = self.b.unzip(a, other, run, self.random.next().is_multiple_of(2));
                    self.values.push(unzipped);
                    return Some(());
                }
                let fill = self.same(a);
                let by = 1 << (self.random.next() as u32 % lanes.ilog2().max(1));
                self.b.shift(a, by, fill)
            }
            16 => {
                let mask = self.mask(lanes);
                if lanes > 1 && self.random.next().is_multiple_of(2) {
                    // A comparison that is asked for under the mask alone.
                    let a = self.pick(|e, l| e != ElementType::Bool && e != ElementType::F16 && l == lanes)?;
                    let b = self.same(a);
                    let numbers = self.b.element(a).is_float() && self.random.next().is_multiple_of(2);
                    let compared = if numbers {
                        self.b.are_numbers(a, b)
                    } else {
                        let compare = [Binary::Eq, Binary::Lt, Binary::Ge][self.random.next() as usize % 3];
                        self.b.binary(compare, a, b)
                    };
                    let both = self.b.binary(Binary::And, mask, compared);
                    self.values.push(both);
                    return Some(());
                }
                self.b.any(mask)
            }
            17 => {
                let base = self.array(element);
                let index = self.position();
                self.b.load(element, wanted, base, index, Memory::Input)
            }
            18 => {
                let base = self.array(element);
                let index = self.positions()?;
                self.b.load(element, lanes, base, index, Memory::Guarded)
            }
            19 => {
                let (base, index) = (self.array(element), self.position());
                if lanes > 1 && self.random.next().is_multiple_of(2) {
                    let (mask, elsewhere) = (self.mask(lanes), self.position());
                    let loaded = self.b.load_masked((element, lanes), base, index, (mask, elsewhere), Memory::Guarded);
                    self.values.push(loaded);
                    if self.random.next().is_multiple_of(2) {
                        let other = self.same(loaded);
                        let over = self.b.select(mask, loaded, other);
                        self.values.push(over);
                        // What is loaded has another use, or none.
                        if self.random.next().is_multiple_of(2) {
                            self.values.retain(|&value| value != loaded);
                        }
                    }
                    return Some(());
                }
                let stride = self.b.int((self.random.next() % 3) as i64);
                self.b.load_strided(element, lanes, base, index, stride, Memory::Input)
            }
            20 => {
                if element != ElementType::Bool {
                    self.b.iota(element, lanes)
                } else {
                    return None;
                }
            }
            _ => {
                self.effect()?;
                return Some(());
            }
        };
        self.values.push(value);
        Some(())
    }

    /// Something that is seen from outside.
    fn effect(&mut self) -> Option<()> {
        let lanes = self.lanes;
        match self.random.next() % 8 {
            0..=2 => {
                let value = self.pick(|_, _| true)?;
                self.store(value);
            }
            3 => {
                let condition = self.mask(lanes);
                let operand = self.pick(|e, l| e == ElementType::I64 && l == lanes)?;
                let never = self.b.iota(ElementType::I64, lanes);
                let far = self.b.int(1 << 40);
                let never = self.b.binary(Binary::Gt, never, far);
                // Seldom, or there would be nothing behind.
                let condition = if self.random.next().is_multiple_of(6) {
                    condition
                } else {
                    self.b.binary(Binary::And, condition, never)
                };
                let site = Site { failure: failure(), lanes, operands: 1 };
                self.site = self.b.site(site);
                self.b.fail_if(condition, self.site, vec![operand]);
            }
            4 => {
                let value = self.pick(|_, l| l == lanes)?;
                let mask = self.mask(lanes);
                let base = self.target(self.b.element(value));
                let at = self.position();
                let spare = self.b.parameter(2);
                let count = self.b.fresh(ElementType::I64, 1);
                let op = Op::Append(Box::new(Append {
                    bases: vec![base],
                    count: at,
                    values: vec![value],
                    mask: Some(mask),
                    spare,
                    whole: false,
                }));
                self.b.push(&[count], op);
                self.values.push(count);
            }
            _ if self.depth < 3 => self.control()?,
            _ => return None,
        }
        Some(())
    }

    fn store(&mut self, value: Value) {
        let (element, lanes) = (self.b.element(value), self.b.lanes(value));
        let base = self.target(element);
        let index = if lanes == self.lanes && lanes > 1 && self.random.next().is_multiple_of(4) {
            self.positions()
        } else {
            None
        };
        let index = match index {
            Some(index) => index,
            None => self.position(),
        };
        let mask = match self.random.next() % 3 {
            0 => Some(self.mask(lanes)),
            1 if lanes > 1 => Some(self.mask(1)),
            _ => None,
        };
        self.b.store(base, index, value, mask);
    }

    /// A loop or an `if`, with values carried.
    fn control(&mut self) -> Option<()> {
        self.depth += 1;
        let carried: Vec<Value> = (0..self.random.next() % 6).filter_map(|_| self.pick(|_, _| true)).collect();
        let known = self.values.len();
        let count = self.random.next() % 12;
        let next = |this: &mut Self| -> Vec<Value> { carried.iter().map(|&value| this.same(value)).collect() };
        let results = match self.random.next() % 3 {
            0 => {
                let from = self.b.int(0);
                let to = self.b.int((self.random.next() % 5) as i64);
                let open = self.b.begin_loop(from, to, 1 + (self.random.next() % 2) as i64, &carried);
                self.values.push(open.index);
                self.values.extend(&open.carried);
                (0..count).for_each(|_| self.some());
                let next = next(self);
                self.b.end_loop(open, next)
            }
            1 => {
                let left = self.b.int((self.random.next() % 4) as i64);
                let starts: Vec<Value> = carried.iter().copied().chain([left]).collect();
                let mut open = self.b.begin_while(&starts);
                let inside = open.carried.clone();
                self.values.extend(&inside);
                (0..count / 2).for_each(|_| self.some());
                let (left, zero) = (inside[carried.len()], self.b.int(0));
                let more = self.b.binary(Binary::Gt, left, zero);
                self.b.while_body(&mut open, more);
                (0..count).for_each(|_| self.some());
                let mut next = next(self);
                let less = self.b.add_int(left, -1);
                next.push(less);
                let mut results = self.b.end_while(open, next);
                results.pop();
                results
            }
            _ => {
                let condition = self.mask(1);
                self.b.open();
                (0..count).for_each(|_| self.some());
                let yes = next(self);
                let then = self.b.close();
                self.values.truncate(known);
                self.b.open();
                (0..count).for_each(|_| self.some());
                let no = next(self);
                let otherwise = self.b.close();
                self.b.end_if(condition, (then, yes), (otherwise, no))
            }
        };
        self.values.truncate(known);
        self.values.extend(results);
        self.depth -= 1;
        Some(())
    }
}

fn failure() -> Failure {
    Failure {
        operation: "a test".into(),
        place: Default::default(),
        fault: FailureKind::Assertion { message: "never".into(), shown: Vec::new() },
    }
}

/// A random function.
pub fn function(seed: u64, instructions: u64) -> Function {
    let mut random = Random(seed);
    let lanes = 1 << (1 + random.next() % 6);
    let mut b = Builder::new();
    let arrays: Vec<Value> = (0..2 * ELEMENTS.len()).map(|position| b.argument(position)).collect();
    let from = b.parameter(0);
    let mut maker = Maker { b, random, lanes, values: vec![from], arrays, site: 0, depth: 0 };
    maker.b.scratch(64);
    for element in ELEMENTS {
        let (base, zero) = (maker.array(element), maker.b.int((seed % 17) as i64));
        let gang = maker.b.load(element, lanes, base, zero, Memory::Input);
        let one = maker.b.load(element, 1, base, zero, Memory::Input);
        maker.values.extend([one, gang]);
    }
    for _ in 0..instructions {
        maker.some();
    }
    // What is there at the end is seen: many values are alive at once.
    for value in maker.values.clone().into_iter().rev().take(60) {
        let zero = maker.b.int(0);
        let base = maker.target(maker.b.element(value));
        let place = maker.b.add_int(zero, (value.0 % 300) as i64);
        maker.b.store(base, place, value, None);
    }
    maker.b.finish(format!("seed {seed}"))
}

/// All arrays, as words.
fn memory(seed: u64) -> Vec<Vec<u64>> {
    let mut random = Random(seed ^ 0x5eed);
    (0..2)
        .flat_map(|_| ELEMENTS)
        .map(|element| {
            let mut bytes: Vec<u8> = (0..LENGTH)
                .flat_map(|_| {
                    number(&mut random, element)
                        .bits()
                        .to_le_bytes()
                        .into_iter()
                        .take(element.bytes())
                        .collect::<Vec<_>>()
                })
                .collect();
            bytes.resize((LENGTH + 64) * 8, 0);
            bytes.chunks(8).map(|word| u64::from_le_bytes(word.try_into().unwrap())).collect()
        })
        .collect()
}

/// Runs a function on fresh memory: what it gives, and the memory afterwards, NaNs as one.
#[allow(unsafe_code)]
pub fn run(block: &Block, function: &Function, seed: u64) -> (i64, Vec<Vec<u64>>) {
    let mut arrays = memory(seed);
    let table: Vec<u64> = arrays.iter_mut().map(|array| array.as_mut_ptr() as u64).collect();
    let mut scratch = vec![0u64; function.scratch / 8 + 64];
    let mut slot = vec![0u64; 64 * 20];
    // SAFETY: every position is below `LENGTH` by construction, gangs are of at most 64 lanes and arrays longer by as many; strides are at most 2.
    let result = unsafe { block.call(&table, (3, 9), &mut scratch, &mut slot) };
    for (array, element) in arrays.iter_mut().zip(ELEMENTS.iter().chain(&ELEMENTS)) {
        for word in array.iter_mut() {
            match element {
                ElementType::F32 => {
                    let one = |bits: u32| if f32::from_bits(bits).is_nan() { f32::NAN.to_bits() } else { bits };
                    *word = u64::from(one(*word as u32)) | u64::from(one((*word >> 32) as u32)) << 32;
                }
                ElementType::F64 if f64::from_bits(*word).is_nan() => *word = f64::NAN.to_bits(),
                _ => {}
            }
        }
    }
    (result, arrays)
}
