//! The program under construction: open blocks, the values in scope, what is known of sizes.

use std::collections::HashMap;

use super::{Config, Rounding, random::Random};
use crate::{
    ArrayId, ArrayOp, Binary, Binding, Block, Constant, ElementType, Extent, Operand, Output, Place, Program, ScalarOp,
    ScalarOperand, Type, Var,
};

/// The most that is known of a number: from, to.
pub(super) type Bounds = (i64, i64);
const ANY: Bounds = (i64::MIN, i64::MAX);

/// What programs that grow linearly are called, so that inputs may be large.
pub(super) const LINEAR: &str = "large";

/// Extents of inputs of programs that grow linearly are at most this.
pub(super) const LARGE: i64 = 10_000;

/// A value in scope.
#[derive(Clone, Debug)]
pub(super) struct Known {
    pub id: ArrayId,
    pub ty: Type,
    /// Whether all elements are whole numbers of at most 16, so that sums of floats are exact.
    pub small: bool,
    /// Valid offsets of segments of this extent, and how many segments.
    pub segments: Option<(Extent, Extent)>,
}

impl Known {
    pub fn element(&self) -> ElementType {
        self.ty.element
    }

    pub fn is_array(&self) -> bool {
        !self.ty.stream && self.ty.inner.is_empty()
    }
}

pub(super) struct Scope<'c> {
    pub random: Random,
    pub config: &'c Config,
    /// Whether arrays have one extent that is no constant, and sizes grow by sums alone.
    pub linear: bool,
    /// Inside of a cluster: no `unit`.
    pub in_cluster: bool,
    /// Inside of blocks so deep.
    pub depth: usize,
    pub values: Vec<Known>,
    pub bounds: HashMap<ArrayId, Bounds>,
    next: u32,
    blocks: Vec<Block>,
    /// Sums of extents bound before: to find them where none can be bound.
    sums: HashMap<(Extent, Extent), Extent>,
    /// What are indices in the body of a nest, and of which extents.
    pub indices: HashMap<ArrayId, Extent>,
    /// The most extents inside of arrays of arrays.
    pub nested_most: HashMap<ArrayId, i64>,
    /// How often what is made now is made, at most.
    pub lanes: i64,
    /// Results that nothing may use: their bits are rounded otherwise elsewhere.
    pub marked: Vec<(String, Known)>,
}

impl<'c> Scope<'c> {
    pub fn new(random: Random, config: &'c Config, linear: bool) -> Self {
        Self {
            random,
            config,
            linear,
            in_cluster: false,
            depth: 0,
            values: Vec::new(),
            bounds: HashMap::new(),
            next: 0,
            blocks: vec![Block::default()],
            sums: HashMap::new(),
            indices: HashMap::new(),
            nested_most: HashMap::new(),
            lanes: 1,
            marked: Vec::new(),
        }
    }

    /// Whether to do now what may fail.
    pub fn unsafely(&mut self) -> bool {
        self.config.may_fail && self.random.chance(1, 16)
    }

    /// Whether functions and reductions that round may be anywhere.
    pub fn free(&self) -> bool {
        self.config.rounding == Rounding::Free
    }

    // Values.

    pub fn fresh(&mut self) -> ArrayId {
        self.next += 1;
        ArrayId(self.next - 1)
    }

    pub fn block(&mut self) -> &mut Block {
        self.blocks.last_mut().expect("the program's body is always open")
    }

    /// Opens a block; what is known outside stays known.
    pub fn open(&mut self) -> usize {
        self.blocks.push(Block::default());
        self.depth += 1;
        self.values.len()
    }

    /// Closes it; `mark` is what `open` gave.
    pub fn close(&mut self, mark: usize, results: Vec<ArrayId>) -> Block {
        self.values.truncate(mark);
        self.depth -= 1;
        let mut block = self.blocks.pop().unwrap_or_default();
        block.results = results;
        block
    }

    pub fn var(&mut self, id: ArrayId, ty: Type) -> Var {
        Var { id, ty, name: self.random.hint() }
    }

    /// Makes a value known.
    pub fn know(&mut self, id: ArrayId, ty: Type) -> Known {
        let known = Known { id, ty, small: false, segments: None };
        self.values.push(known.clone());
        known
    }

    /// Binds results of these ids, whose types may name each other.
    pub fn bind_ids(&mut self, ids: &[ArrayId], op: ArrayOp, types: Vec<Type>) -> Vec<Known> {
        let results = ids.iter().zip(&types).map(|(&id, ty)| self.var(id, ty.clone())).collect();
        let place = if self.random.chance(1, 4) {
            Place { file: None, line: self.random.range(1, 99) as u32, column: 1 }
        } else {
            Place::default()
        };
        self.block().bindings.push(Binding { results, op, place });
        ids.iter().zip(types).map(|(&id, ty)| self.know(id, ty)).collect()
    }

    pub fn bind(&mut self, op: ArrayOp, types: Vec<Type>) -> Vec<Known> {
        let ids: Vec<ArrayId> = types.iter().map(|_| self.fresh()).collect();
        self.bind_ids(&ids, op, types)
    }

    /// Takes back the latest values: nothing may use them.
    pub fn hide(&mut self, values: &[Known]) {
        self.values.retain(|known| values.iter().all(|hidden| hidden.id != known.id));
    }

    /// One of the values that fit, the latest more often.
    pub fn pick(&mut self, fits: impl Fn(&Self, &Known) -> bool) -> Option<Known> {
        let fitting: Vec<usize> = (0..self.values.len()).filter(|&at| fits(self, &self.values[at])).collect();
        if fitting.is_empty() {
            return None;
        }
        let recent = fitting.len().min(4);
        let at = if self.random.chance(1, 2) {
            fitting.len() - 1 - self.random.below(recent)
        } else {
            self.random.below(fitting.len())
        };
        Some(self.values[fitting[at]].clone())
    }

    /// One of the arrays of scalars of at least that rank.
    pub fn array(&mut self, rank: usize) -> Option<Known> {
        self.pick(|_, known| known.is_array() && known.ty.rank() >= rank)
    }

    /// An array of these extents and, if one is asked for, that element type: one in scope, or a new one.
    pub fn produce(&mut self, element: Option<ElementType>, extents: &[Extent]) -> Known {
        let fits = |known: &Known| {
            known.is_array() && known.ty.extents == extents && element.is_none_or(|e| e == known.element())
        };
        if self.random.chance(4, 5)
            && let Some(known) = self.pick(|_, known| fits(known))
        {
            return known;
        }
        let element = element.unwrap_or_else(|| self.random.element());
        self.generated(element, extents)
    }

    // Sizes.

    pub fn bounds_of(&self, extent: Extent) -> Bounds {
        match extent {
            Extent::Constant(value) => (value, value),
            Extent::Value(id) => self.bounds.get(&id).copied().unwrap_or(ANY),
            Extent::Unknown => ANY,
        }
    }

    /// Whether an extent is never 0.
    pub fn positive(&self, extent: Extent) -> bool {
        self.bounds_of(extent).0 >= 1
    }

    pub fn is_size(&self, known: &Known) -> bool {
        let most = self.max_elements();
        known.ty.is_scalar() && self.bounds.get(&known.id).is_some_and(|&(low, high)| low >= 0 && high <= most)
    }

    /// How many elements an array may have.
    pub fn max_elements(&self) -> i64 {
        if self.linear { 4 * LARGE } else { ((self.config.max_extent * 90).max(90) / self.lanes).max(8) }
    }

    /// Whether arrays of these extents are not too large.
    pub fn fits(&self, extents: &[Extent]) -> bool {
        let sizes = extents.iter().filter(|extent| !matches!(extent, Extent::Constant(_))).count();
        let product =
            extents.iter().try_fold(1i64, |product, &extent| product.checked_mul(self.bounds_of(extent).1.max(1)));
        extents.len() <= crate::MAX_RANK
            && product.is_some_and(|product| product <= self.max_elements())
            && (!self.linear || sizes <= 1)
    }

    /// An extent: of something in scope, or a small number.
    pub fn extent(&mut self) -> Extent {
        if self.random.chance(3, 4)
            && let Some(known) = self.pick(Self::is_size)
        {
            return Extent::Value(known.id);
        }
        Extent::Constant(self.random.pick(&[0, 1, 1, 2, 2, 3, 3, 4, 5]))
    }

    /// Extents of an array that is not too large.
    pub fn extents(&mut self, rank: usize) -> Vec<Extent> {
        let mut extents: Vec<Extent> = (0..rank).map(|_| self.extent()).collect();
        while !self.fits(&extents) {
            let at = self.random.below(rank);
            extents[at] = Extent::Constant(self.random.pick(&[1, 1, 2, 0]));
        }
        extents
    }

    pub fn rank(&mut self) -> usize {
        if self.random.chance(1, 40) {
            self.random.range(5, 8) as usize
        } else {
            self.random.pick(&[0, 1, 1, 1, 1, 2, 2, 2, 3, 3, 4])
        }
    }

    /// A `unit` of one instruction that gives a size; none in a cluster.
    fn size_unit(&mut self, function: Binary, a: Extent, b: Extent, bounds: Bounds) -> Option<Extent> {
        if self.in_cluster || bounds.0 < 0 || bounds.1 > self.max_elements() {
            return None;
        }
        let code = super::code::single(ScalarOp::Binary { function, a: scalar(a), b: scalar(b) }, ElementType::I64);
        let size = self.bind(ArrayOp::Unit { f: code }, vec![Type::scalar(ElementType::I64)]);
        self.bounds.insert(size[0].id, bounds);
        Some(Extent::Value(size[0].id))
    }

    /// The sum of two extents.
    pub fn sum(&mut self, a: Extent, b: Extent) -> Option<Extent> {
        if let (Extent::Constant(a), Extent::Constant(b)) = (a, b) {
            return Some(Extent::Constant(a + b));
        }
        if let Some(&Extent::Value(sum)) = self.sums.get(&(a, b))
            && self.values.iter().any(|known| known.id == sum)
            && (self.in_cluster || self.random.chance(3, 4))
        {
            return Some(Extent::Value(sum));
        }
        let ((low, high), (more, most)) = (self.bounds_of(a), self.bounds_of(b));
        let sum = self.size_unit(Binary::Add, a, b, (low.checked_add(more)?, high.checked_add(most)?))?;
        self.sums.insert((a, b), sum);
        Some(sum)
    }

    /// The smaller of two extents.
    pub fn smaller(&mut self, a: Extent, b: Extent) -> Option<Extent> {
        if a == b {
            return Some(a);
        }
        let ((low, high), (more, most)) = (self.bounds_of(a), self.bounds_of(b));
        match (a, b) {
            (Extent::Constant(a), Extent::Constant(b)) => Some(Extent::Constant(a.min(b))),
            _ => self.size_unit(Binary::Min, a, b, (low.min(more), high.min(most))),
        }
    }

    /// The product of two extents.
    pub fn product(&mut self, a: Extent, b: Extent) -> Option<Extent> {
        let ((low, high), (more, most)) = (self.bounds_of(a), self.bounds_of(b));
        match (a, b) {
            (Extent::Constant(a), Extent::Constant(b)) => Some(Extent::Constant(a * b)),
            _ if self.linear && !matches!((a, b), (Extent::Constant(_), _) | (_, Extent::Constant(_))) => None,
            _ => self.size_unit(Binary::Mul, a, b, (low.checked_mul(more)?, high.checked_mul(most)?)),
        }
    }

    /// Some size computed from others.
    pub fn new_size(&mut self) -> Option<Extent> {
        let (a, b) = (self.extent(), self.extent());
        let ((low, high), c) = (self.bounds_of(a), self.random.range(1, 3));
        let number = Extent::Constant(c);
        match self.random.below(9) {
            0 => self.sum(a, number),
            1 => self.sum(a, b),
            2 => self.smaller(a, b),
            3 => self.product(a, b),
            4 => self.size_unit(Binary::Div, a, number, (low / c, high / c)),
            5 => self.size_unit(Binary::Max, a, number, (low.max(c), high.max(c))),
            6 => self.size_unit(Binary::Rem, a, number, (0, c - 1)),
            7 if self.unsafely() => self.size_unit(Binary::Sub, a, number, (0, high)),
            _ => self.again(a),
        }
    }

    /// The same size under another name, as something that is or is not seen to be equal.
    pub fn again(&mut self, extent: Extent) -> Option<Extent> {
        let bounds = self.bounds_of(extent);
        let (function, by) = self.random.pick(&[
            (Binary::Add, 0),
            (Binary::Mul, 1),
            (Binary::Min, i64::MAX),
            (Binary::Or, 0),
            (Binary::Xor, 0),
            (Binary::And, -1),
            (Binary::Shl, 0),
            (Binary::DivFloor, 1),
        ]);
        self.size_unit(function, extent, Extent::Constant(by), bounds)
    }

    /// Mostly the extents themselves, now and then equal ones of other names, and if runs may fail other ones.
    pub fn spelled(&mut self, extents: &[Extent]) -> Vec<Extent> {
        let mut extents = extents.to_vec();
        for extent in &mut extents {
            if !self.in_cluster && self.random.chance(1, 24) {
                *extent = self.again(*extent).unwrap_or(*extent);
            } else if self.unsafely() && matches!(extent, Extent::Value(_)) {
                let other = self.extent();
                if matches!(other, Extent::Value(_))
                    && self.bounds_of(other).1 <= self.bounds_of(*extent).1
                    && self.unrelated(*extent, other)
                {
                    *extent = other;
                }
            }
        }
        extents
    }

    /// Whatever is computed from sizes of inputs might be refuted to be equal to others.
    fn unrelated(&self, a: Extent, b: Extent) -> bool {
        self.is_input_size(a) && self.is_input_size(b)
    }

    /// Whether an extent is a size that the types of inputs bind.
    pub fn is_input_size(&self, extent: Extent) -> bool {
        matches!(extent, Extent::Value(id) if self.blocks[0].sizes.iter().any(|var| var.id == id))
    }

    // Inputs and results.

    pub fn inputs(&mut self) {
        let count = if self.linear { self.random.range(1, 3) } else { self.random.range(1, 6) };
        let mut taken = Vec::new();
        let most = if self.linear { LARGE } else { self.config.max_extent };
        let mut sizes: Vec<Extent> = Vec::new();
        for _ in 0..count {
            let rank = if self.linear { self.random.pick(&[1, 1, 1, 0, 2]) } else { self.rank() };
            let mut extents: Vec<Extent> = Vec::new();
            for _ in 0..rank {
                let shared = if sizes.is_empty() { None } else { Some(self.random.pick(&sizes)) };
                let extent = match (self.random.below(8), shared) {
                    (0..4, Some(size)) => size,
                    (0..7, _) if sizes.len() < 4 && self.room(&extents, most) => {
                        let size = self.input_size(most, &mut taken);
                        sizes.push(size);
                        size
                    }
                    _ => Extent::Constant(self.random.pick(&[0, 1, 1, 2, 3, 4])),
                };
                extents.push(extent);
                if !self.fits(&extents) {
                    // A size that was just made had room, so this is one met before.
                    extents.pop();
                }
            }
            let element = self.random.element();
            let known = self.input(element, extents, &mut taken);
            if self.config.nested && !self.linear && self.random.chance(1, 4) {
                self.other_input(&known);
            }
        }
        self.offsets_inputs(&sizes, &mut taken);
    }

    /// Whether one more dimension of that extent fits.
    fn room(&self, extents: &[Extent], most: i64) -> bool {
        let product: i64 = extents.iter().map(|&extent| self.bounds_of(extent).1.max(1)).product();
        product.saturating_mul(most) <= self.max_elements()
            && (!self.linear || extents.iter().all(|e| matches!(e, Extent::Constant(_))))
    }

    /// A size that the next input has first.
    fn input_size(&mut self, most: i64, taken: &mut Vec<String>) -> Extent {
        let id = self.fresh();
        self.bounds.insert(id, (0, most));
        if self.random.chance(1, 6) {
            // An input that says an extent.
            let name = self.random.name(taken);
            taken.push(name.clone());
            let var = Var { id, ty: Type::scalar(ElementType::I64), name: name.into() };
            self.block().params.push(var);
        } else {
            let var = self.var(id, Type::scalar(ElementType::I64));
            self.block().sizes.push(var);
        }
        self.know(id, Type::scalar(ElementType::I64));
        Extent::Value(id)
    }

    fn input(&mut self, element: ElementType, extents: Vec<Extent>, taken: &mut Vec<String>) -> Known {
        let (id, name) = (self.fresh(), self.random.name(taken));
        taken.push(name.clone());
        let ty = Type::array(extents, element);
        self.block().params.push(Var { id, ty: ty.clone(), name: name.into() });
        self.know(id, ty)
    }

    /// Makes the latest input an array of arrays, or a stream.
    fn other_input(&mut self, known: &Known) {
        let first = |scope: &Self, at: usize| match known.ty.extents[at] {
            Extent::Value(id) => {
                !scope.blocks[0].params.iter().rev().skip(1).any(|var| var.ty.extents.contains(&Extent::Value(id)))
            }
            _ => false,
        };
        let mut ty = known.ty.clone();
        if self.random.chance(1, 2) && known.ty.rank() > 1 {
            // The inner extents are known, or any; sizes are met first where no array is missing.
            let at = self.random.range(1, known.ty.rank() as i64 - 1) as usize;
            if (at..known.ty.rank()).any(|at| first(self, at)) {
                return;
            }
            let mut inner = ty.extents.split_off(at);
            for extent in &mut inner {
                if self.random.chance(1, 2) {
                    *extent = Extent::Unknown;
                }
            }
            ty.inner = vec![inner];
            self.nested_most.insert(known.id, self.config.max_extent);
        } else {
            if (0..known.ty.rank()).any(|at| first(self, at)) {
                return;
            }
            for extent in &mut ty.extents {
                if self.random.chance(1, 2) {
                    *extent = Extent::Unknown;
                }
            }
            ty.stream = true;
        }
        if let Some(var) = self.block().params.last_mut() {
            var.ty = ty.clone();
        }
        if let Some(latest) = self.values.iter_mut().find(|latest| latest.id == known.id) {
            latest.ty = ty;
        }
    }

    /// Inputs that are offsets of segments of one size.
    fn offsets_inputs(&mut self, sizes: &[Extent], taken: &mut Vec<String>) {
        for &extent in sizes {
            if !self.random.chance(1, 4) {
                continue;
            }
            let id = self.fresh();
            self.bounds.insert(id, (1, self.config.max_extent.max(1) + 1));
            let var = self.var(id, Type::scalar(ElementType::I64));
            self.block().sizes.push(var);
            self.know(id, Type::scalar(ElementType::I64));
            let wide = self.linear;
            let types: Vec<ElementType> =
                ElementType::ALL.into_iter().filter(|ty| ty.is_integer() && (!wide || ty.bytes() > 1)).collect();
            let element = self.random.pick(&types);
            let offsets = self.input(element, vec![Extent::Value(id)], taken);
            let segments = (0, self.config.max_extent);
            let Some(segments) = self.size_unit(Binary::Sub, Extent::Value(id), Extent::Constant(1), segments) else {
                continue;
            };
            if let Some(known) = self.values.iter_mut().find(|known| known.id == offsets.id) {
                known.segments = Some((extent, segments));
            }
        }
    }

    pub fn finish(mut self) -> Program {
        let mut used = std::collections::HashSet::new();
        for binding in &self.blocks[0].bindings {
            binding.op.for_each_use(&mut |id| _ = used.insert(id));
        }
        let (mut outputs, mut results, mut taken) = (Vec::new(), Vec::new(), Vec::new());
        for (name, known) in std::mem::take(&mut self.marked) {
            taken.push(name.clone());
            outputs.push(Output { name, ty: self.output_type(&known.ty) });
            results.push(known.id);
        }
        for known in self.values.clone().into_iter().rev() {
            let unused = !used.contains(&known.id);
            if !known.ty.stream && results.len() < 12 && self.random.chance(if unused { 4 } else { 1 }, 6) {
                let name = self.random.name(&taken);
                taken.push(name.clone());
                outputs.push(Output { name, ty: self.output_type(&known.ty) });
                results.push(known.id);
            }
        }
        let name = if self.linear { LINEAR.to_owned() } else { self.random.name(&[]) };
        let mut body = self.blocks.swap_remove(0);
        body.results = results;
        Program { name, body, outputs }.renumbered()
    }

    fn output_type(&mut self, ty: &Type) -> Type {
        let mut ty = ty.clone();
        for extent in ty.all_extents_mut() {
            let body = &self.blocks[0];
            let visible = match extent {
                Extent::Value(id) => body.sizes.iter().chain(&body.params).any(|var| var.id == *id),
                _ => true,
            };
            if !visible || self.random.chance(1, 6) {
                *extent = Extent::Unknown;
            }
        }
        ty
    }
}

/// An extent as an operand of scalar code.
pub(super) fn scalar(extent: Extent) -> ScalarOperand {
    operand(extent).in_scalar()
}

/// An extent as an operand.
pub(super) fn operand(extent: Extent) -> Operand {
    match extent {
        Extent::Constant(value) => Operand::Constant(value.into()),
        Extent::Value(id) => Operand::Value(id),
        Extent::Unknown => Operand::Constant(Constant::from(0i64)),
    }
}

/// Extents as operands.
pub(super) fn operands(extents: &[Extent]) -> Vec<Operand> {
    extents.iter().map(|&extent| operand(extent)).collect()
}
