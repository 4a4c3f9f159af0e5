//! Random kernels, each in a plan that launches it once: levels of any extents and bounds, statements of all kinds in any mix.

use fusebox_ir::{
    Access, Action, Array, Association, Binary, Constant, DimBoundary, DimIndex, ElementType, Extent, Failure,
    FailureKind, IndexMap, Instruction, Kernel, KernelArray, KernelArrayId, KernelExtent, Lambda, Level, LevelOrder,
    Local, LocalId, Output, Place, Plan, PlanExtent, PlanType, PlanValue, ScalarOp, ScalarOperand, ScatterOrder,
    Statement, Step, Type, Unary, ValueId, analysis::in_place::may_be_in_place, primitive,
};

use super::Random;
use ElementType::{Bool, F16, F32, F64, I16, I32, I64, U8, U64};

/// What kernels are like.
#[derive(Clone, Copy, Debug)]
pub struct Shape {
    /// About the most points of the innermost depth.
    pub points: i64,
    /// Whether the outermost level has them all, and carries scans.
    pub long: bool,
    /// Whether checked indices, assertions and divisions may fail.
    pub may_fail: bool,
}

/// A plan and what to run it on.
pub struct Generated {
    pub plan: Plan,
    pub inputs: Vec<Array>,
}

/// A local that may be used here.
#[derive(Clone, Copy, Debug)]
struct Seen {
    id: LocalId,
    ty: ElementType,
    depth: usize,
    /// Of `i64`: least and greatest value, where known and small.
    range: Option<(i64, i64)>,
}

struct Bounds {
    index: Seen,
    /// Steps, where they are known when the kernel is made; else the most there may be.
    steps: i64,
    known: bool,
}

struct Draw {
    random: Random,
    shape: Shape,
    next: u32,
    sizes: Vec<i64>,
    arrays: Vec<KernelArray>,
    /// Elements of arrays that are read or updated.
    data: Vec<Option<Array>>,
    levels: Vec<Level>,
    bounds: Vec<Bounds>,
    statements: Vec<Statement>,
    seen: Vec<Seen>,
    /// Results of reduces and totals, by the depth they are for.
    later: Vec<Vec<Seen>>,
    append: Option<(KernelArrayId, Vec<KernelArrayId>)>,
}

/// The kernel of a seed.
pub fn generate(seed: u64, shape: Shape) -> Generated {
    let mut draw = Draw {
        random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ 77),
        shape,
        next: 0,
        sizes: Vec::new(),
        arrays: Vec::new(),
        data: Vec::new(),
        levels: Vec::new(),
        bounds: Vec::new(),
        statements: Vec::new(),
        seen: Vec::new(),
        later: Vec::new(),
        append: None,
    };
    draw.kernel();
    draw.plan()
}

fn constant(value: impl Into<Constant>) -> ScalarOperand {
    ScalarOperand::Constant(value.into())
}

impl Draw {
    fn below(&mut self, n: usize) -> usize {
        (self.random.next() % n.max(1) as u64) as usize
    }

    fn range(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low).max(0) as usize + 1) as i64
    }

    fn chance(&mut self, times: usize, of: usize) -> bool {
        self.below(of) < times
    }

    fn pick<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len())]
    }

    fn element(&mut self) -> ElementType {
        self.pick(&[F32, F32, F32, F32, F32, F64, F64, I32, I32, I64, I64, U8, U8, I16, U64, Bool, F16])
    }

    fn fresh(&mut self, ty: ElementType) -> Local {
        self.next += 1;
        Local { id: LocalId(self.next - 1), ty, name: "".into() }
    }

    fn depth(&self) -> usize {
        // The depth that statements are made at just now is kept as the number of scopes of `later` that are open.
        self.later.len() - 1
    }

    fn see(&mut self, local: &Local, range: Option<(i64, i64)>) {
        let depth = self.depth();
        self.seen.push(Seen { id: local.id, ty: local.ty, depth, range });
    }

    fn push(&mut self, when: Option<ScalarOperand>, action: Action) {
        let depth = self.depth() as u32;
        self.statements.push(Statement { depth, when, operation: "".into(), action });
    }

    fn kernel(&mut self) {
        for _ in 0..3 {
            let size = self.pick(&[0, 1, 2, 3, 5, 8, 17, 31, 64, 100]);
            self.fresh(I64);
            self.sizes.push(size);
        }
        let depth = if self.shape.long { self.pick(&[1, 1, 1, 2]) } else { self.pick(&[0, 1, 1, 1, 2, 2, 2, 3]) };
        let first = self.next;
        // Indices come behind sizes, before what statements make.
        let indices: Vec<Local> = (0..depth).map(|_| self.fresh(I64)).collect();
        assert_eq!(self.next, first + depth as u32);
        self.later.push(Vec::new());
        for (position, size) in self.sizes.clone().into_iter().enumerate() {
            self.seen.push(Seen { id: LocalId(position as u32), ty: I64, depth: 0, range: Some((size, size)) });
        }
        let mut points = 1;
        for (position, index) in indices.into_iter().enumerate() {
            let here = self.below(3);
            self.some_statements(here, false);
            points = self.level(index, position, depth, points);
            self.later.push(Vec::new());
        }
        let here = 2 + self.below(5);
        self.some_statements(here, true);
        while self.later.len() > 1 {
            let left = self.depth();
            self.later.pop();
            self.seen.retain(|seen| seen.depth < left);
            let after = std::mem::take(&mut self.later[left - 1]);
            // What loops made is used at once, now and then only partly.
            for seen in after {
                self.seen.push(seen);
                if self.chance(3, 4) {
                    self.store(Some(seen));
                }
            }
            let here = self.below(3);
            self.some_statements(here, true);
        }
        if !self.arrays.iter().any(|array| array.access != Access::Read) {
            let value = self.any_value();
            self.store(Some(value));
        }
    }

    /// Opens a level: its bounds may be loaded.
    fn level(&mut self, index: Local, position: usize, depth: usize, points: i64) -> i64 {
        let most = (self.shape.points / points).max(1);
        let order =
            self.pick(&[LevelOrder::Parallel, LevelOrder::Parallel, LevelOrder::Up, LevelOrder::Up, LevelOrder::Down]);
        let mut level = Level { index, from: constant(0i64), to: constant(0i64), order };
        let (mut low, mut known) = (0, true);
        let high;
        let kind = if self.shape.long && position == 0 { 0 } else { self.below(6) };
        match kind {
            0..=2 => {
                let steps = if self.shape.long && position == 0 {
                    if level.order == LevelOrder::Parallel && self.chance(4, 5) {
                        level.order = LevelOrder::Up;
                    }
                    self.range(most / 8, most)
                } else if position + 1 == depth && self.chance(1, 3) {
                    self.range(0, most)
                } else {
                    self.pick(&[0, 1, 2, 3, 4, 7, 8, 9, 16, 17, 33, 65, 130]).min(most)
                };
                low = if self.chance(1, 6) { self.range(-2, 3) } else { 0 };
                high = low + steps;
                (level.from, level.to) = (constant(low), constant(high));
            }
            3 => {
                let size = self.below(self.sizes.len());
                level.to = LocalId(size as u32).into();
                high = self.sizes[size];
                if self.chance(1, 5) {
                    low = self.range(0, 3);
                    level.from = constant(low);
                }
            }
            _ => {
                known = false;
                let cap = if self.chance(1, 6) { most.min(300) } else { most.min(12) };
                let source = self.seen.iter().rev().find(|seen| seen.depth == self.depth() && seen.range.is_some());
                let terms: Vec<(i64, LocalId)> = match source {
                    Some(seen) if self.levels.last().is_some_and(|level| level.index.id == seen.id) => {
                        vec![(1, seen.id)]
                    }
                    _ => self.levels.last().map(|level| (1, level.index.id)).into_iter().collect(),
                };
                let (least, greatest) = self.bounds.last().and_then(|bounds| bounds.index.range).unwrap_or((0, 0));
                let count = (greatest - least + 3) as usize;
                if kind == 4 {
                    // Offsets that never fall, from 0 on.
                    let mut offsets = vec![0i64];
                    for _ in 1..count {
                        let step = if self.chance(1, 4) { 0 } else { self.range(0, cap) };
                        offsets.push(offsets[offsets.len() - 1] + step);
                    }
                    high = offsets[offsets.len() - 1];
                    let elements = Array::new(&[count], &offsets).unwrap();
                    let array =
                        self.array(I64, vec![KernelExtent::Constant(count as i64)], Access::Read, Some(elements));
                    for (offset, bound) in [(0, 0), (1, 1)] {
                        let dims = vec![DimIndex {
                            offset: offset - least,
                            terms: terms.clone(),
                            boundary: DimBoundary::None,
                        }];
                        let local = self.load_of(array, dims, false, None, Some((0, high)));
                        *(if bound == 0 { &mut level.from } else { &mut level.to }) = local.into();
                    }
                } else {
                    let extents = vec![KernelExtent::Constant(count as i64)];
                    let elements = self.random.ints(I64, &[count], -2, cap + 1);
                    let array = self.array(I64, extents, Access::Read, Some(elements));
                    let dims = vec![DimIndex { offset: -least, terms, boundary: DimBoundary::None }];
                    level.to = self.load_of(array, dims, false, None, Some((-2, cap))).into();
                    high = cap;
                }
                let steps = cap.max(0);
                let range = Some((low, (high - 1).max(low)));
                return self.opened(level, steps, known, range, points);
            }
        }
        let steps = (high - low).max(0);
        self.opened(level, steps, known, Some((low, (high - 1).max(low))), points)
    }

    fn opened(&mut self, level: Level, steps: i64, known: bool, range: Option<(i64, i64)>, points: i64) -> i64 {
        let depth = self.levels.len() + 1;
        let index = Seen { id: level.index.id, ty: I64, depth, range };
        self.levels.push(level);
        self.seen.push(index);
        self.bounds.push(Bounds { index, steps, known });
        points * steps.max(1)
    }

    fn array(
        &mut self,
        element: ElementType,
        extents: Vec<KernelExtent>,
        access: Access,
        data: Option<Array>,
    ) -> KernelArrayId {
        let name = format!("x{}", self.arrays.len());
        self.arrays.push(KernelArray { name, element, extents, access, in_place_of: None });
        self.data.push(data);
        KernelArrayId::at(self.arrays.len() - 1)
    }

    fn load_of(
        &mut self,
        array: KernelArrayId,
        dims: Vec<DimIndex>,
        checked: bool,
        outside: Option<Lambda>,
        range: Option<(i64, i64)>,
    ) -> LocalId {
        let result = self.fresh(self.arrays[array.index()].element);
        self.see(&result, range);
        let id = result.id;
        let map = IndexMap { dims, checked };
        self.push(None, Action::Load { result, array, map, outside, place: Place::default() });
        id
    }

    /// An extent that is at least this: a number, or a size.
    fn extent(&mut self, least: i64) -> KernelExtent {
        let size = self.below(self.sizes.len());
        if self.sizes[size] >= least && self.sizes[size] < least + 40 {
            return KernelExtent::Size(LocalId(size as u32));
        }
        KernelExtent::Constant(least)
    }

    fn number(&self, extent: KernelExtent) -> i64 {
        match extent {
            KernelExtent::Constant(extent) => extent,
            KernelExtent::Size(id) => self.sizes[id.index()],
        }
    }

    /// A sum of indices, and its least and greatest value.
    fn affine(&mut self) -> (DimIndex, (i64, i64)) {
        let depth = self.depth();
        let mut terms: Vec<(i64, LocalId)> = Vec::new();
        let mut range = (0, 0);
        let count = self.pick(&[0, 1, 1, 1, 1, 2]);
        for _ in 0..count {
            let candidates: Vec<Seen> = if self.chance(4, 5) {
                self.bounds[..depth].iter().map(|bounds| bounds.index).collect()
            } else {
                self.seen.iter().filter(|seen| seen.range.is_some_and(|(a, b)| b - a < 3000)).copied().collect()
            };
            if candidates.is_empty() {
                continue;
            }
            let one = if self.chance(1, 2) { candidates[candidates.len() - 1] } else { self.pick(&candidates) };
            let (Some((a, b)), false) = (one.range, terms.iter().any(|term| term.1 == one.id)) else { continue };
            let factor = self.pick(&[1, 1, 1, 1, 1, 1, 2, -1]);
            terms.push((factor, one.id));
            range = (range.0 + (a * factor).min(b * factor), range.1 + (a * factor).max(b * factor));
        }
        terms.sort_by_key(|term| term.1);
        (DimIndex { offset: 0, terms, boundary: DimBoundary::None }, range)
    }

    fn load(&mut self) {
        let element = self.element();
        let rank = self.pick(&[0, 1, 1, 1, 1, 2, 2, 3]);
        let kind = self.below(10);
        let mut dims = Vec::new();
        let mut extents = Vec::new();
        let mut size = 1i64;
        let checked = kind == 0;
        for _ in 0..rank {
            let (mut dim, (low, high)) = self.affine();
            let small = size * (high - low + 4) < 80_000;
            if !small {
                dim.terms.clear();
                dim.offset = 0;
                extents.push(self.extent(1));
                dims.push(dim);
                continue;
            }
            let extent = if (1..=2).contains(&kind) {
                // What is outside is met.
                dim.offset = self.range(-3, 3) - low.min(5);
                let most = (high - low).clamp(1, 60);
                let extent = self.range(1, most + 2);
                if kind == 1 {
                    dim.boundary = self.pick(&[DimBoundary::Clamp, DimBoundary::Mirror, DimBoundary::Wrap]);
                }
                self.extent(extent)
            } else {
                let ahead = self.pick(&[0, 0, 0, 1, 3]);
                dim.offset = ahead - low;
                let beyond = self.pick(&[0, 0, 1, 2]);
                let fails = checked && self.shape.may_fail && self.chance(1, 4);
                self.extent(high + dim.offset + 1 + if fails { -1 } else { beyond })
            };
            size *= self.number(extent).max(1);
            extents.push(extent);
            dims.push(dim);
        }
        let numbers: Vec<usize> = extents.iter().map(|&extent| self.number(extent).max(0) as usize).collect();
        let (data, range) = if element == I64 && self.chance(1, 2) {
            (self.random.ints(I64, &numbers, 0, 12), Some((0, 11)))
        } else if element.is_integer() && self.chance(1, 2) {
            (self.random.ints(element, &numbers, 0, 5), None)
        } else {
            (self.random.array(element, &numbers), None)
        };
        let outside = (kind == 2).then(|| {
            let value = self.value(element);
            Lambda { params: Vec::new(), instructions: Vec::new(), results: vec![value] }
        });
        let range = if outside.is_some() { None } else { range };
        let array = self.array(element, extents, Access::Read, Some(data));
        self.load_of(array, dims, checked, outside, range);
    }

    /// Something that is seen, of any type.
    fn any_value(&mut self) -> Seen {
        if self.chance(1, 2) && self.seen.len() > 4 {
            let late = self.seen.len() - 1 - self.below(4);
            return self.seen[late];
        }
        let seen = self.seen.clone();
        self.pick(&seen)
    }

    /// A value of a type: seen, converted, or a number.
    fn value(&mut self, ty: ElementType) -> ScalarOperand {
        let same: Vec<LocalId> = self.seen.iter().filter(|seen| seen.ty == ty).map(|seen| seen.id).collect();
        if !same.is_empty() && self.chance(7, 8) {
            let late = same.len() - 1 - self.below(same.len().min(4));
            return same[late].into();
        }
        let others: Vec<Seen> = self.seen.iter().filter(|seen| seen.ty != ty).copied().collect();
        if ty != Bool && !others.is_empty() && self.chance(3, 4) {
            let other = self.pick(&others);
            return self.scalar(ty, ScalarOp::Convert { to: ty, a: other.id.into() }).into();
        }
        if ty == Bool && self.chance(4, 5) {
            return self.condition();
        }
        ScalarOperand::Constant(self.random.array(ty, &[1]).get(0))
    }

    fn scalar(&mut self, ty: ElementType, op: ScalarOp) -> LocalId {
        let result = self.fresh(ty);
        self.see(&result, None);
        let id = result.id;
        self.push(None, Action::Scalar(Instruction { results: vec![result], op, place: Place::default() }));
        id
    }

    /// A `bool` that holds for some points: the last ones left out, or by data.
    fn condition(&mut self) -> ScalarOperand {
        let depth = self.depth();
        if depth > 0 && self.chance(1, 2) {
            let level = if self.chance(3, 4) { depth - 1 } else { self.below(depth) };
            let index = self.bounds[level].index;
            let (low, high) = index.range.unwrap_or((0, 0));
            let (function, at) = self.pick(&[
                (Binary::Lt, high),
                (Binary::Gt, low),
                (Binary::Lt, (low + high) / 2),
                (Binary::Ne, (low + high) / 2),
            ]);
            return self.scalar(Bool, ScalarOp::Binary { function, a: index.id.into(), b: constant(at) }).into();
        }
        let ty = self.pick(&[F32, I32, I64, U8, F64]);
        let a = self.value(ty);
        let b = if self.chance(2, 3) { ScalarOperand::Constant(Constant::from_i64(ty, 1)) } else { self.value(ty) };
        let function = self.pick(&[Binary::Lt, Binary::Ge, Binary::Ne, Binary::Gt]);
        self.scalar(Bool, ScalarOp::Binary { function, a, b }).into()
    }

    fn when(&mut self) -> Option<ScalarOperand> {
        self.chance(1, 3).then(|| self.value(Bool))
    }

    fn scalar_code(&mut self) {
        let ty = self.pick(&[F32, F32, F32, F64, I32, I64, U8, I16]);
        let (a, b) = (self.value(ty), self.value(ty));
        match self.below(9) {
            0..=3 => {
                let functions: &[Binary] = if ty.is_float() {
                    &[Binary::Add, Binary::Sub, Binary::Mul, Binary::Min, Binary::Max, Binary::Div]
                } else {
                    &[Binary::Add, Binary::Sub, Binary::Mul, Binary::Min, Binary::Max, Binary::Xor, Binary::And]
                };
                let function = self.pick(functions);
                self.scalar(ty, ScalarOp::Binary { function, a, b });
            }
            4 => {
                let function =
                    if ty.is_float() { self.pick(&[Unary::Neg, Unary::Abs, Unary::Floor]) } else { Unary::Complement };
                self.scalar(ty, ScalarOp::Unary { function, a });
            }
            5 => {
                let condition = self.value(Bool);
                let side = |result: ScalarOperand| Lambda {
                    params: Vec::new(),
                    instructions: Vec::new(),
                    results: vec![result],
                };
                let mut then = side(a);
                if self.chance(1, 2) {
                    let result = self.fresh(ty);
                    then.results = vec![result.id.into()];
                    let op = ScalarOp::Binary { function: Binary::Add, a, b };
                    then.instructions = vec![Instruction { results: vec![result], op, place: Place::default() }];
                }
                self.scalar(ty, ScalarOp::If { condition, then, otherwise: side(b) });
            }
            6 if self.shape.may_fail => {
                let condition = if self.chance(1, 8) { self.value(Bool) } else { constant(true) };
                self.scalar(ty, ScalarOp::Assert { condition, message: "so".to_owned(), value: a });
            }
            6 => {
                // A few steps, as many as some lanes want.
                let start = self.value(I64);
                let bits = self.scalar(I64, ScalarOp::Binary { function: Binary::And, a: start, b: constant(3i64) });
                let [x, k] = [self.fresh(ty), self.fresh(I64)];
                let go = self.fresh(Bool);
                let op = ScalarOp::Binary { function: Binary::Gt, a: k.id.into(), b: constant(0i64) };
                let results = vec![go.id.into()];
                let instructions = vec![Instruction { results: vec![go], op, place: Place::default() }];
                let condition = Lambda { params: vec![x, k], instructions, results };
                let [x, k] = [self.fresh(ty), self.fresh(I64)];
                let [y, l] = [self.fresh(ty), self.fresh(I64)];
                let results = vec![y.id.into(), l.id.into()];
                let add = ScalarOp::Binary { function: Binary::Add, a: x.id.into(), b };
                let less = ScalarOp::Binary { function: Binary::Sub, a: k.id.into(), b: constant(1i64) };
                let instructions = vec![
                    Instruction { results: vec![y], op: add, place: Place::default() },
                    Instruction { results: vec![l], op: less, place: Place::default() },
                ];
                let step = Lambda { params: vec![x, k], instructions, results };
                let results = vec![self.fresh(ty), self.fresh(I64)];
                results.iter().for_each(|result| self.see(result, None));
                let op = ScalarOp::While { condition, step, starts: vec![a, bits.into()] };
                self.push(None, Action::Scalar(Instruction { results, op, place: Place::default() }));
            }
            7 if self.shape.may_fail && self.chance(1, 4) => {
                let (a, b) = (self.value(I32), self.value(I32));
                self.scalar(I32, ScalarOp::Binary { function: Binary::Div, a, b });
            }
            7 => {
                let mut condition = self.value(Bool);
                if !self.shape.may_fail || self.chance(5, 6) {
                    // It holds, whatever it is made of.
                    let op = ScalarOp::Binary { function: Binary::LogicalOr, a: condition, b: constant(true) };
                    condition = self.scalar(Bool, op).into();
                }
                let message = "checked".to_owned();
                let failure = Failure {
                    operation: "check".to_owned(),
                    place: Place::default(),
                    fault: FailureKind::Assertion { message },
                };
                let when = self.when();
                self.push(when, Action::Check { condition, failure });
            }
            _ => {
                // An index that is computed.
                let start = self.value(I64);
                let low = self.scalar(I64, ScalarOp::Binary { function: Binary::And, a: start, b: constant(7i64) });
                if let Some(seen) = self.seen.last_mut()
                    && seen.id == low
                {
                    seen.range = Some((0, 7));
                }
            }
        }
    }

    /// A combining function of some types; whether it commutes, and whether it rounds.
    fn function(&mut self) -> (Lambda, Vec<ElementType>, bool, bool) {
        let ty = self.pick(&[F32, F32, F32, F64, I32, I64, U8]);
        let builtin = |draw: &mut Self, ty: ElementType| {
            if ty.is_float() {
                draw.pick(&[Binary::Add, Binary::Add, Binary::Mul, Binary::Min, Binary::Max])
            } else {
                draw.pick(&[Binary::Add, Binary::Xor, Binary::Min, Binary::Max, Binary::And])
            }
        };
        let exact = |function: Binary, ty: ElementType| !ty.is_float() || matches!(function, Binary::Min | Binary::Max);
        let kind = self.below(8);
        let types = match kind {
            0..=3 => vec![ty],
            4 => vec![ty],
            5 => vec![ty, ty],
            6 => vec![ty, I64],
            _ => vec![ty, self.pick(&[F32, F64, I32, U8])],
        };
        let params: Vec<Local> = types.iter().chain(&types).map(|&ty| self.fresh(ty)).collect();
        let at = |position: usize| ScalarOperand::Local(params[position].id);
        let mut instructions = Vec::new();
        let mut emit = |draw: &mut Self, ty: ElementType, op: ScalarOp| {
            let result = draw.fresh(ty);
            let id = ScalarOperand::Local(result.id);
            instructions.push(Instruction { results: vec![result], op, place: Place::default() });
            id
        };
        let (results, commutes, rounds) = match kind {
            0..=3 => {
                let function = builtin(self, ty);
                let (a, b) = if self.chance(1, 5) { (at(1), at(0)) } else { (at(0), at(1)) };
                (vec![emit(self, ty, ScalarOp::Binary { function, a, b })], true, !exact(function, ty))
            }
            4 => {
                // x * c + y, which neither commutes nor has an identity.
                let c = if ty.is_float() { primitive::float(ty, 0.5) } else { Constant::from_i64(ty, 3) };
                let product = emit(self, ty, ScalarOp::Binary { function: Binary::Mul, a: at(0), b: c.into() });
                (vec![emit(self, ty, ScalarOp::Binary { function: Binary::Add, a: product, b: at(1) })], false, true)
            }
            5 => {
                let first = emit(self, ty, ScalarOp::Binary { function: Binary::Mul, a: at(0), b: at(2) });
                let product = emit(self, ty, ScalarOp::Binary { function: Binary::Mul, a: at(1), b: at(2) });
                let second = emit(self, ty, ScalarOp::Binary { function: Binary::Add, a: product, b: at(3) });
                (vec![first, second], false, true)
            }
            6 => {
                // The smaller key, and of equal ones the smaller index.
                let less = emit(self, Bool, ScalarOp::Binary { function: Binary::Lt, a: at(0), b: at(2) });
                let same = emit(self, Bool, ScalarOp::Binary { function: Binary::Eq, a: at(0), b: at(2) });
                let before = emit(self, Bool, ScalarOp::Binary { function: Binary::Le, a: at(1), b: at(3) });
                let tie = emit(self, Bool, ScalarOp::Binary { function: Binary::LogicalAnd, a: same, b: before });
                let first = emit(self, Bool, ScalarOp::Binary { function: Binary::LogicalOr, a: less, b: tie });
                let side = |result: ScalarOperand| Lambda {
                    params: Vec::new(),
                    instructions: Vec::new(),
                    results: vec![result],
                };
                let key = ScalarOp::If { condition: first, then: side(at(0)), otherwise: side(at(2)) };
                let index = ScalarOp::If { condition: first, then: side(at(1)), otherwise: side(at(3)) };
                (vec![emit(self, ty, key), emit(self, I64, index)], true, false)
            }
            _ => {
                let functions: Vec<Binary> = types.iter().map(|&ty| builtin(self, ty)).collect();
                let results = (0..2)
                    .map(|c| emit(self, types[c], ScalarOp::Binary { function: functions[c], a: at(c), b: at(c + 2) }))
                    .collect();
                (results, true, !(0..2).all(|c| exact(functions[c], types[c])))
            }
        };
        (Lambda { params, instructions, results }, types, commutes, rounds)
    }

    fn values(&mut self, types: &[ElementType]) -> Vec<ScalarOperand> {
        types.iter().map(|&ty| self.value(ty)).collect()
    }

    /// Operands of a depth around: seeds.
    fn seeds(&mut self, types: &[ElementType], depth: usize) -> Vec<ScalarOperand> {
        (types.iter())
            .map(|&ty| {
                let around: Vec<LocalId> =
                    self.seen.iter().filter(|seen| seen.ty == ty && seen.depth <= depth).map(|seen| seen.id).collect();
                if !around.is_empty() && self.chance(1, 2) {
                    self.pick(&around).into()
                } else {
                    ScalarOperand::Constant(self.random.array(ty, &[1]).get(0))
                }
            })
            .collect()
    }

    /// Whether at least one point of this depth is met in every one of depth `to`.
    fn is_never_empty(&self, to: usize) -> bool {
        self.bounds[to..self.depth()].iter().all(|bounds| bounds.known && bounds.steps > 0)
    }

    fn reduce(&mut self) {
        let depth = self.depth();
        if depth == 0 {
            return;
        }
        let to = if self.chance(1, 2) { depth - 1 } else { self.below(depth) };
        let lanes = self.pick(&[1, 2, 4, 8, 16, 32, 64]);
        let least = self.pick(&[2, 5, 64]);
        let association = match self.below(8) {
            0 | 1 => Association::InOrder,
            2 => Association::Ragged { lanes, least },
            3 => Association::Runs { lanes },
            _ => Association::Interleaved { lanes },
        };
        // Where ids go: what values need, then the function, then results.
        let (types, when, values, seeds, combine) = self.combination(to);
        let bare = when.is_none() && self.is_never_empty(to) && self.chance(1, 2);
        let seeds = if bare { Vec::new() } else { seeds };
        let results: Vec<Local> = types.iter().map(|&ty| self.fresh(ty)).collect();
        for result in &results {
            self.later[to].push(Seen { id: result.id, ty: result.ty, depth: to, range: None });
        }
        let to = to as u32;
        self.push(when, Action::Reduce { results, to, association, combine, seeds, values });
    }

    #[allow(clippy::type_complexity)] // the parts of one statement
    fn combination(
        &mut self,
        around: usize,
    ) -> (Vec<ElementType>, Option<ScalarOperand>, Vec<ScalarOperand>, Vec<ScalarOperand>, Lambda) {
        // Values may need statements of their own, which come before the function's locals: its types are drawn twice alike.
        let before = (self.random.0, self.next);
        let (_, types, ..) = self.function();
        (self.random.0, self.next) = before;
        let seed = self.random.0;
        let when = self.when();
        let values = self.values(&types);
        let seeds = self.seeds(&types, around);
        let after = std::mem::replace(&mut self.random.0, seed);
        let (combine, ..) = self.function();
        self.random.0 = after;
        (types, when, values, seeds, combine)
    }

    fn scan(&mut self) {
        let depth = self.depth();
        if depth == 0 || self.levels[depth - 1].order == LevelOrder::Parallel {
            return;
        }
        let lanes = self.pick(&[2, 4, 8, 16]);
        let total_lanes = self.pick(&[0, 1, 8, 64]);
        let association =
            if self.chance(1, 4) { Association::InOrder } else { Association::Tiles { lanes, total_lanes } };
        let (types, when, values, seeds, combine) = self.combination(depth - 1);
        let bare = when.is_none() && self.chance(1, 3);
        let exclusive = !bare && self.chance(1, 2);
        let with_totals = self.chance(1, 2) && (!bare || self.is_never_empty(depth - 1));
        let seeds = if bare { Vec::new() } else { seeds };
        let results: Vec<Local> = types.iter().map(|&ty| self.fresh(ty)).collect();
        let totals: Vec<Local> =
            if with_totals { types.iter().map(|&ty| self.fresh(ty)).collect() } else { Vec::new() };
        for total in &totals {
            self.later[depth - 1].push(Seen { id: total.id, ty: total.ty, depth: depth - 1, range: None });
        }
        results.iter().for_each(|result| self.see(result, None));
        let stored = self.seen[self.seen.len() - 1];
        self.push(when, Action::Scan { results, exclusive, totals, association, combine, seeds, values });
        if self.chance(2, 3) {
            self.store(Some(stored));
        }
    }

    fn store(&mut self, value: Option<Seen>) {
        let depth = self.depth();
        let value = value.unwrap_or_else(|| self.any_value());
        let mut order: Vec<usize> = (0..depth).collect();
        if self.chance(1, 4) {
            order.reverse();
        }
        let when = self.when();
        let mut full = when.is_none();
        let mut dims = Vec::new();
        let mut extents = Vec::new();
        let mut size = 1i64;
        for level in order {
            let (low, high) = self.bounds[level].index.range.unwrap_or((0, 0));
            let (steps, known) = (self.bounds[level].steps, self.bounds[level].known);
            let exact = known && self.chance(5, 6);
            let factor = if self.chance(1, 6) {
                -1
            } else if exact {
                1
            } else {
                self.pick(&[1, 1, 2])
            };
            full &= exact;
            let least = (low * factor).min(high * factor);
            let ahead = if exact { 0 } else { self.range(0, 2) };
            let offset = ahead - least;
            let extent = if exact { steps } else { (high - low) * factor.abs() + 1 + ahead + self.range(0, 2) };
            let id = self.bounds[level].index.id;
            dims.push(DimIndex { offset, terms: vec![(factor, id)], boundary: DimBoundary::None });
            let same = (0..self.sizes.len()).find(|&size| self.sizes[size] == extent);
            extents.push(match same {
                Some(size) if self.chance(1, 2) => KernelExtent::Size(LocalId(size as u32)),
                _ => KernelExtent::Constant(extent),
            });
            size = size.saturating_mul(extent.max(1));
        }
        if size > 100_000 {
            return;
        }
        let numbers: Vec<usize> = extents.iter().map(|&extent| self.number(extent) as usize).collect();
        let data = (!full).then(|| self.random.array(value.ty, &numbers));
        let access = if full { Access::Write } else { Access::Update };
        let array = self.array(value.ty, extents, access, data);
        self.push(when, Action::Store { array, map: IndexMap { dims, checked: false }, value: value.id.into() });
    }

    fn append(&mut self) {
        let depth = self.depth();
        let room = self.bounds[..depth].iter().fold(1i64, |room, bounds| room.saturating_mul(bounds.steps));
        if self.append.is_some() || room > 100_000 {
            return;
        }
        let count = self.range(1, 2) as usize;
        let when = self.when();
        let values: Vec<Seen> = (0..count).map(|_| self.any_value()).collect();
        let arrays: Vec<KernelArrayId> = (values.iter())
            .map(|value| self.array(value.ty, vec![KernelExtent::Constant(room)], Access::Write, None))
            .collect();
        let total = self.array(I64, Vec::new(), Access::Write, None);
        self.append = Some((total, arrays.clone()));
        let values = values.into_iter().map(|value| value.id.into()).collect();
        self.push(when, Action::Append { arrays, count: total, values });
    }

    fn scatter(&mut self) {
        let before = self.random.0;
        let next = self.next;
        let (_, types, commutes, rounds) = self.function();
        (self.random.0, self.next) = (before, next);
        let rank = self.pick(&[0, 1, 1, 1, 2]);
        let mut dims = Vec::new();
        let mut extents = Vec::new();
        let checked = self.chance(1, 3);
        for _ in 0..rank {
            let (mut dim, (low, high)) = self.affine();
            if high - low > 300 {
                // Few targets, met often.
                let start: ScalarOperand = dim.terms[0].1.into();
                let id = self.scalar(I64, ScalarOp::Binary { function: Binary::And, a: start, b: constant(15i64) });
                dim.terms = vec![(1, id)];
                dim.offset = 0;
                extents.push(KernelExtent::Constant(16));
                dims.push(dim);
                continue;
            }
            dim.offset = -low;
            let fails = checked && self.shape.may_fail && self.chance(1, 4);
            extents.push(self.extent(high - low + 1 - i64::from(fails)));
            dims.push(dim);
        }
        let when = self.when();
        let values = self.values(&types);
        let order = match self.below(4) {
            0 => ScatterOrder::InOrder,
            1 | 2 if commutes && !rounds => ScatterOrder::Any,
            _ => ScatterOrder::Chunks,
        };
        let after = std::mem::replace(&mut self.random.0, before);
        let (combine, ..) = self.function();
        self.random.0 = after;
        let numbers: Vec<usize> = extents.iter().map(|&extent| self.number(extent).max(0) as usize).collect();
        let arrays: Vec<KernelArrayId> = (types.iter())
            .map(|&ty| {
                let data = self.random.array(ty, &numbers);
                self.array(ty, extents.clone(), Access::Update, Some(data))
            })
            .collect();
        let map = IndexMap { dims, checked };
        self.push(when, Action::Scatter { arrays, map, combine, values, order, place: Place::default() });
    }

    fn some_statements(&mut self, count: usize, effects: bool) {
        for _ in 0..count {
            match self.below(if effects { 16 } else { 8 }) {
                0..=2 => self.load(),
                3 | 4 => self.scalar_code(),
                5 | 6 => self.scan(),
                7 => self.store(None),
                8..=11 => self.reduce(),
                12 => self.scan(),
                13 => self.append(),
                14 => self.scatter(),
                _ => self.store(None),
            }
        }
        if effects && self.depth() > 0 && self.chance(2, 3) {
            self.reduce();
        }
    }

    /// The plan that launches the kernel once.
    fn plan(mut self) -> Generated {
        let sizes: Vec<Local> =
            (0..self.sizes.len()).map(|at| Local { id: LocalId(at as u32), ty: I64, name: "".into() }).collect();
        let mut kernel = Kernel {
            name: "random".into(),
            sizes,
            arrays: std::mem::take(&mut self.arrays),
            levels: std::mem::take(&mut self.levels),
            statements: std::mem::take(&mut self.statements),
        };
        // Where one array may be in the memory of another it is.
        let mut over = vec![None; kernel.arrays.len()];
        for written in 0..kernel.arrays.len() {
            let found = (0..kernel.arrays.len()).find(|&read| {
                !over.contains(&Some(read))
                    && may_be_in_place(&kernel, KernelArrayId::at(written), KernelArrayId::at(read)).is_ok()
            });
            if let Some(read) = found {
                over[written] = Some(read);
                kernel.arrays[written].in_place_of = Some(KernelArrayId::at(read));
            }
        }
        let mut values: Vec<PlanValue> = Vec::new();
        let mut value = |name: String, ty: PlanType| {
            values.push(PlanValue { name, ty });
            ValueId::at(values.len() - 1)
        };
        let (mut inputs, mut given, mut steps) = (Vec::new(), Vec::new(), Vec::new());
        let (mut copies, mut allocations, mut arrays) = (Vec::new(), Vec::new(), Vec::new());
        let (mut results, mut outputs) = (Vec::new(), Vec::new());
        for (position, array) in kernel.arrays.iter().enumerate() {
            let extents: Vec<i64> = array.extents.iter().map(|&extent| self.number(extent)).collect();
            let ty = Type::array(extents.iter().map(|&extent| Extent::Constant(extent)).collect(), array.element);
            let taken = over.contains(&Some(position));
            let id = match &self.data[position] {
                Some(data) => {
                    let input = value(array.name.clone(), ty.clone());
                    inputs.push(input);
                    given.push(data.clone());
                    if array.access == Access::Read && !taken {
                        input
                    } else {
                        let copy = value(format!("{}_here", array.name), ty.clone());
                        copies.push(Step::Copy { value: copy, source: input });
                        copy
                    }
                }
                None => {
                    let made = value(array.name.clone(), ty.clone());
                    allocations.push((position, made));
                    made
                }
            };
            arrays.push(id);
            if array.access != Access::Read
                && !self.append.as_ref().is_some_and(|(_, arrays)| arrays.contains(&KernelArrayId::at(position)))
            {
                results.push(id);
                outputs.push(Output { name: array.name.clone(), ty });
            }
        }
        steps.append(&mut copies);
        for (position, value) in allocations {
            let in_place_of = over[position].map(|read| arrays[read]);
            steps.push(Step::Allocate { value, in_place_of, operation: "random".to_owned(), place: Place::default() });
        }
        let launched: Vec<PlanExtent> = self.sizes.iter().map(|&size| Extent::Constant(size)).collect();
        steps.push(Step::Launch { kernel: 0, sizes: launched, arrays: arrays.clone() });
        if let Some((count, appended)) = &self.append {
            for array in appended {
                let declared = &kernel.arrays[array.index()];
                let ty = Type::array(vec![Extent::Value(arrays[count.index()])], declared.element);
                let short = value(format!("{}_put", declared.name), ty);
                steps.push(Step::Shorten { value: short, source: arrays[array.index()] });
                results.push(short);
                let ty = Type::array(vec![Extent::Unknown], declared.element);
                outputs.push(Output { name: format!("{}_put", declared.name), ty });
            }
        }
        let plan = Plan {
            name: "random".to_owned(),
            values,
            sizes: Vec::new(),
            inputs,
            kernels: vec![kernel],
            steps,
            results,
            outputs,
        };
        Generated { plan, inputs: given }
    }
}
