//! A kernel under construction: levels are opened from the outermost, statements put at their depths, before or after what is deeper.
//!
//! Locals have provisional ids until [`finish`] numbers them. Scalar code comes as [`Code`], which is made strict and expanded, and
//! then falls apart into statements: each as far outside as what it uses allows, if it cannot fail.

mod finish;
mod walk;

use std::collections::HashMap;

use fusebox_ir::{
    Access, Action, ArrayId, Binary, Constant, DimBoundary, DimIndex, ElementType, Extent, Failure, FailureKind,
    IndexMap, Instruction, KernelArray, KernelExtent, Lambda, Level, LevelOrder, Local, LocalId, Name, Operand, Place,
    ScalarOp, ScalarOperand, Statement, Unary,
};

pub(crate) use self::finish::Launch;
use crate::{
    expand::Expand,
    linear::{Atom, Facts, Linear, never_negative},
    strict::{Code, Ids, Strict, can_fail, free_uses, local},
    values::Values,
};

/// Where a value of the program is.
pub(crate) enum Source<'p> {
    /// In the plan.
    Plan(Operand),
    /// Nowhere: scalar code that may fail and that only functions use; its result number.
    Deferred(&'p Lambda, usize),
}

/// Finds values of the program in the plan.
pub(crate) trait Scope<'p> {
    fn find(&self, id: ArrayId) -> Source<'p>;

    /// The array of the plan that a value is; none for a scalar that is none.
    fn array(&self, id: ArrayId) -> Option<ArrayId>;
}

/// Where in a nest a statement stands: how many levels are around it, and whether what is deeper has been done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Spot {
    pub(crate) depth: u32,
    pub(crate) after: bool,
}

impl Spot {
    pub(crate) fn before(depth: u32) -> Self {
        Self { depth, after: false }
    }

    pub(crate) fn after(depth: u32) -> Self {
        Self { depth, after: true }
    }

    /// Whether what stands here can be used there.
    fn usable_at(self, there: Self) -> bool {
        self.depth <= there.depth && (!self.after || self == there)
    }
}

/// What is known of the scalars of a nest.
pub(crate) struct Known<'v> {
    pub(crate) values: &'v Values,
    /// By local id.
    pub(crate) types: Vec<ElementType>,
    spots: Vec<Spot>,
    forms: HashMap<LocalId, Linear>,
    facts: Facts,
    /// Sizes and scalars from outside.
    outer: HashMap<LocalId, ArrayId>,
}

impl Known<'_> {
    /// The linear form of an `i64`.
    pub(crate) fn form(&self, operand: ScalarOperand) -> Linear {
        match operand {
            ScalarOperand::Local(id) => self.forms.get(&id).cloned().unwrap_or_else(|| Linear::local(id)),
            ScalarOperand::Constant(constant) => Linear::constant(constant.as_i64().unwrap_or_default()),
            ScalarOperand::Outer(_) => Linear::default(),
        }
    }

    fn in_plan(&self, form: &Linear) -> Linear {
        form.map(&mut |atom| match atom {
            Atom::Local(id) => {
                self.outer.get(&id).map_or_else(|| Linear::atom(atom), |&value| self.values.form_of(value))
            }
            Atom::Value(_) => Linear::atom(atom),
        })
    }

    /// Whether a form is known to be at least 0 at a depth.
    pub(crate) fn never_negative(&self, form: &Linear, depth: u32) -> bool {
        never_negative(&self.in_plan(form), depth, &[&self.facts, &self.values.facts])
    }

    fn fact(&mut self, depth: u32, form: &Linear) {
        let form = self.in_plan(form);
        self.facts.add(depth, form);
    }

    /// Whether an index is inside of an array wherever it is computed at a depth.
    fn inside(&self, ty: &fusebox_ir::Type, index: &[Linear], depth: u32) -> bool {
        index.len() == ty.rank()
            && index.iter().zip(&ty.extents).all(|(index, &extent)| {
                let room = self.values.form(extent).offset(-1).plus(-1, &self.in_plan(index));
                self.never_negative(index, depth) && self.never_negative(&room, depth)
            })
    }

    fn spot(&self, operand: ScalarOperand) -> Spot {
        local(&operand).and_then(|id| self.spots.get(id.index()).copied()).unwrap_or(Spot::before(0))
    }

    /// Notes the form of an instruction's result, and what follows from what it is.
    fn note(&mut self, instruction: &Instruction, depth: u32) {
        let [result] = &instruction.results[..] else { return };
        if result.ty != ElementType::I64 {
            return;
        }
        let own = Linear::local(result.id);
        let form = match &instruction.op {
            ScalarOp::Binary { function, a, b } => {
                let (left, right) = (self.form(*a), self.form(*b));
                match function {
                    Binary::Add => left.plus(1, &right),
                    Binary::Sub => left.plus(-1, &right),
                    Binary::Mul => match (left.as_constant(), right.as_constant()) {
                        (Some(by), _) => right.scaled(by),
                        (_, Some(by)) => left.scaled(by),
                        _ => return,
                    },
                    Binary::Min => {
                        self.fact(0, &left.clone().plus(-1, &own));
                        self.fact(0, &right.clone().plus(-1, &own));
                        if self.never_negative(&left, depth) && self.never_negative(&right, depth) {
                            self.fact(depth, &own);
                        }
                        return;
                    }
                    Binary::Max => {
                        self.fact(0, &own.clone().plus(-1, &left));
                        self.fact(0, &own.clone().plus(-1, &right));
                        return;
                    }
                    Binary::Div | Binary::DivFloor => {
                        if let Some(by) = right.as_constant().filter(|&by| by > 0)
                            && self.never_negative(&left, depth)
                        {
                            self.fact(depth, &own);
                            self.fact(depth, &left.plus(-by, &own));
                        }
                        return;
                    }
                    Binary::Rem | Binary::ModFloor => {
                        let positive = self.never_negative(&right.clone().offset(-1), depth);
                        if positive && (*function == Binary::ModFloor || self.never_negative(&left, depth)) {
                            self.fact(depth, &own);
                            self.fact(depth, &right.offset(-1).plus(-1, &own));
                        }
                        return;
                    }
                    _ => return,
                }
            }
            ScalarOp::Unary { function: Unary::Neg, a } => self.form(*a).scaled(-1),
            ScalarOp::Convert { a, .. }
                if self.types.get(local(a).map_or(usize::MAX, LocalId::index)) == Some(&ElementType::I64) =>
            {
                self.form(*a)
            }
            _ => return,
        };
        self.forms.insert(result.id, form);
    }
}

/// What is loaded from where, to load it once.
type LoadKey = (ArrayId, Vec<(i64, Vec<(i64, LocalId)>, u8)>);

/// An array of a nest.
struct NestArray {
    value: ArrayId,
    access: Access,
}

/// A kernel under construction.
pub(crate) struct Nest<'v, 'p> {
    scope: &'v dyn Scope<'p>,
    name: String,
    pub(crate) ids: Ids,
    pub(crate) known: Known<'v>,
    sizes: Vec<(ArrayId, LocalId)>,
    scalars: HashMap<ArrayId, LocalId>,
    arrays: Vec<NestArray>,
    pub(crate) levels: Vec<Level>,
    pub(crate) before: Vec<Vec<Statement>>,
    after: Vec<Vec<Statement>>,
    loads: HashMap<LoadKey, LocalId>,
    /// Loads that were found to repeat an earlier one.
    same: HashMap<LocalId, LocalId>,
}

impl<'v, 'p> Nest<'v, 'p> {
    pub(crate) fn new(values: &'v Values, scope: &'v dyn Scope<'p>, name: String) -> Self {
        Self {
            scope,
            name,
            ids: Ids::default(),
            known: Known {
                values,
                types: Vec::new(),
                spots: Vec::new(),
                forms: HashMap::new(),
                facts: Facts::default(),
                outer: HashMap::new(),
            },
            sizes: Vec::new(),
            scalars: HashMap::new(),
            arrays: Vec::new(),
            levels: Vec::new(),
            before: vec![Vec::new()],
            after: vec![Vec::new()],
            loads: HashMap::new(),
            same: HashMap::new(),
        }
    }

    /// How many levels are open.
    pub(crate) fn depth(&self) -> u32 {
        self.levels.len() as u32
    }

    fn define(&mut self, local: &Local, spot: Spot) {
        let at = local.id.index();
        if self.known.types.len() <= at {
            self.known.types.resize(at + 1, ElementType::Bool);
        }
        if self.known.spots.len() <= at {
            self.known.spots.resize(at + 1, Spot::before(0));
        }
        self.known.types[at] = local.ty;
        self.known.spots[at] = spot;
    }

    fn local(&mut self, ty: ElementType, spot: Spot) -> Local {
        let local = Local { id: self.ids.fresh(), ty, name: Name::default() };
        self.define(&local, spot);
        local
    }

    pub(crate) fn ty(&self, operand: ScalarOperand) -> ElementType {
        match operand {
            ScalarOperand::Local(id) => self.known.types.get(id.index()).copied().unwrap_or(ElementType::Bool),
            ScalarOperand::Constant(constant) => constant.ty(),
            ScalarOperand::Outer(_) => ElementType::Bool,
        }
    }

    // What comes from outside.

    /// An extent of the plan.
    pub(crate) fn extent(&mut self, extent: Extent) -> ScalarOperand {
        match extent {
            Extent::Constant(constant) => Constant::from(constant).into(),
            Extent::Value(id) => self.scalar(id),
            Extent::Unknown => Constant::from(0i64).into(),
        }
    }

    /// A scalar of the plan.
    pub(crate) fn scalar(&mut self, id: ArrayId) -> ScalarOperand {
        if let Some((_, local)) = self.sizes.iter().find(|(value, _)| *value == id) {
            return (*local).into();
        }
        if self.known.values.is_extent(id) {
            let local = self.local(ElementType::I64, Spot::before(0));
            self.known.outer.insert(local.id, id);
            self.sizes.push((id, local.id));
            return local.id.into();
        }
        if let Some(&local) = self.scalars.get(&id) {
            return local.into();
        }
        let array = self.array(id, Access::Read);
        let result = self.local(self.known.values.ty(id).element, Spot::before(0));
        self.known.outer.insert(result.id, id);
        self.scalars.insert(id, result.id);
        let map = IndexMap { dims: Vec::new(), checked: false };
        let local = result.id;
        let action = Action::Load { result, array, map, outside: None, place: Place::default() };
        self.before[0].push(Statement { depth: 0, when: None, operation: Name::default(), action });
        local.into()
    }

    /// An operand of the plan.
    pub(crate) fn operand(&mut self, operand: Operand) -> ScalarOperand {
        match operand {
            Operand::Value(id) => self.scalar(id),
            Operand::Constant(constant) => constant.into(),
        }
    }

    /// A scalar of the program, whose code goes into `code` where it is not in the plan.
    pub(crate) fn scalar_of_program(&mut self, id: ArrayId, code: &mut Deferred, into: &mut Code) -> ScalarOperand {
        if let Source::Plan(operand) = self.scope.find(id) {
            return self.operand(operand);
        }
        // In order of definition, so that each finds those it uses.
        let mut wanted = std::collections::BTreeSet::from([id]);
        let mut stack = vec![id];
        while let Some(next) = stack.pop() {
            if let Source::Deferred(lambda, _) = self.scope.find(next) {
                lambda.outer_uses(&mut |used| {
                    if matches!(self.scope.find(used), Source::Deferred(..)) && wanted.insert(used) {
                        stack.push(used);
                    }
                });
            }
        }
        for next in wanted {
            if code.0.contains_key(&next) {
                continue;
            }
            if let Source::Deferred(lambda, result) = self.scope.find(next) {
                let results = self.call(lambda, &[], code, into);
                code.0.insert(next, results[result]);
            }
        }
        code.0[&id]
    }

    /// Position of an array of the plan in the kernel.
    pub(crate) fn array(&mut self, value: ArrayId, access: Access) -> ArrayId {
        let position = self.arrays.iter().position(|array| array.value == value).unwrap_or_else(|| {
            for extent in self.known.values.ty(value).extents.clone() {
                self.extent(extent);
            }
            self.arrays.push(NestArray { value, access });
            self.arrays.len() - 1
        });
        ArrayId(position as u32)
    }

    fn kernel_array(&self, array: &NestArray) -> KernelArray {
        let ty = self.known.values.ty(array.value);
        let extent = |extent: &Extent| match extent {
            Extent::Constant(constant) => KernelExtent::Constant(*constant),
            Extent::Value(id) => {
                let size = self.sizes.iter().find(|(value, _)| value == id);
                KernelExtent::Size(size.map_or(LocalId(0), |(_, local)| *local))
            }
            Extent::Unknown => KernelExtent::Constant(0),
        };
        let extents = ty.extents.iter().map(extent).collect();
        KernelArray {
            name: self.known.values.name(array.value).to_owned(),
            element: ty.element,
            extents,
            access: array.access,
            over: None,
        }
    }

    // Levels.

    /// Opens a level inside those that are open, and gives its index.
    pub(crate) fn level(&mut self, from: ScalarOperand, to: ScalarOperand, order: LevelOrder) -> ScalarOperand {
        let depth = self.depth() + 1;
        let index = self.local(ElementType::I64, Spot::before(depth));
        let (first, last) = (self.known.form(from), self.known.form(to).offset(-1));
        let own = Linear::local(index.id);
        self.known.fact(depth, &own.clone().plus(-1, &first));
        self.known.fact(depth, &last.plus(-1, &own));
        let operand = index.id.into();
        self.levels.push(Level { index, from, to, order });
        self.before.push(Vec::new());
        self.after.push(Vec::new());
        operand
    }

    /// Opens a level over an extent.
    pub(crate) fn level_over(&mut self, extent: Extent, order: LevelOrder) -> ScalarOperand {
        let to = self.extent(extent);
        self.level(Constant::from(0i64).into(), to, order)
    }

    /// Opens a parallel level for each extent.
    pub(crate) fn levels_over(&mut self, extents: &[Extent]) -> Vec<ScalarOperand> {
        extents.iter().map(|&extent| self.level_over(extent, LevelOrder::Parallel)).collect()
    }

    /// Notes that `left <= right` at a depth: a check stands before.
    pub(crate) fn at_most(&mut self, depth: u32, left: ScalarOperand, right: ScalarOperand) {
        let form = self.known.form(right).plus(-1, &self.known.form(left));
        self.known.fact(depth, &form);
    }

    // Scalar code before it is strict.

    /// Appends an instruction to `code`.
    pub(crate) fn push(&mut self, code: &mut Code, op: ScalarOp, ty: ElementType, place: &Place) -> ScalarOperand {
        let operand = code.push(&mut self.ids, op, ty, place);
        if let Some(instruction) = code.instructions.last() {
            let instruction = instruction.clone();
            for result in &instruction.results {
                self.define(result, Spot::before(self.depth()));
            }
            let depth = self.depth();
            self.known.note(&instruction, depth);
        }
        operand
    }

    /// Appends a read of an array of the plan.
    pub(crate) fn read(
        &mut self,
        code: &mut Code,
        value: ArrayId,
        index: Vec<ScalarOperand>,
        place: &Place,
    ) -> ScalarOperand {
        let element = self.known.values.ty(value).element;
        let array = self.array(value, Access::Read);
        self.push(code, ScalarOp::Read { array, index }, element, place)
    }

    /// Appends what a function of the program computes of `arguments`.
    pub(crate) fn call(
        &mut self,
        lambda: &Lambda,
        arguments: &[ScalarOperand],
        deferred: &mut Deferred,
        code: &mut Code,
    ) -> Vec<ScalarOperand> {
        let mut names: HashMap<LocalId, ScalarOperand> =
            lambda.params.iter().map(|param| param.id).zip(arguments.iter().copied()).collect();
        for instruction in &lambda.instructions {
            let imported = self.import(instruction, &mut names, deferred, code);
            for result in &imported.results {
                self.define(result, Spot::before(self.depth()));
            }
            let depth = self.depth();
            self.known.note(&imported, depth);
            code.instructions.push(imported);
        }
        lambda.results.iter().map(|&result| self.imported(result, &names, deferred, code)).collect()
    }

    fn imported(
        &mut self,
        operand: ScalarOperand,
        names: &HashMap<LocalId, ScalarOperand>,
        deferred: &mut Deferred,
        code: &mut Code,
    ) -> ScalarOperand {
        match operand {
            ScalarOperand::Local(id) => names.get(&id).copied().unwrap_or(operand),
            ScalarOperand::Outer(id) => self.scalar_of_program(id, deferred, code),
            ScalarOperand::Constant(_) => operand,
        }
    }

    fn import(
        &mut self,
        instruction: &Instruction,
        names: &mut HashMap<LocalId, ScalarOperand>,
        deferred: &mut Deferred,
        code: &mut Code,
    ) -> Instruction {
        use fusebox_ir::ScalarPartMut::{Array, Body, Operand as Value};
        let mut op = instruction.op.clone();
        for part in op.parts_mut() {
            match part {
                Value(operand) => *operand = self.imported(*operand, names, deferred, code),
                Array(array) => {
                    if let Some(value) = self.scope.array(*array) {
                        *array = self.array(value, Access::Read);
                    }
                }
                Body(body) => *body = self.import_body(body, names, deferred, code),
            }
        }
        let results = instruction.results.iter().map(|result| self.renamed(result, names)).collect();
        Instruction { results, op, place: instruction.place.clone() }
    }

    fn renamed(&mut self, local: &Local, names: &mut HashMap<LocalId, ScalarOperand>) -> Local {
        let new = Local { id: self.ids.fresh(), ty: local.ty, name: local.name.clone() };
        self.define(&new, Spot::before(self.depth()));
        names.insert(local.id, new.id.into());
        new
    }

    fn import_body(
        &mut self,
        body: &Lambda,
        names: &mut HashMap<LocalId, ScalarOperand>,
        deferred: &mut Deferred,
        code: &mut Code,
    ) -> Lambda {
        let params = body.params.iter().map(|param| self.renamed(param, names)).collect();
        let instructions = body.instructions.iter().map(|inner| self.import(inner, names, deferred, code)).collect();
        let results = body.results.iter().map(|&result| self.imported(result, names, deferred, code)).collect();
        Lambda { params, instructions, results }
    }

    /// A function of the program as a strict, expanded function of the kernel.
    pub(crate) fn function(&mut self, lambda: &Lambda) -> Lambda {
        let mut code = Code::default();
        let mut names = HashMap::new();
        let mut body = self.import_body(lambda, &mut names, &mut Deferred::default(), &mut code);
        // Code that was put off runs where it is needed inside.
        code.instructions.append(&mut body.instructions);
        body.instructions = code.instructions;
        self.strict_function(&body)
    }

    /// A function of the kernel made strict, and expanded.
    pub(crate) fn strict_function(&mut self, body: &Lambda) -> Lambda {
        let strict = Strict::new(&mut self.ids, &|_| false).function(body);
        Expand::new(&mut self.ids, &mut self.known.types).function(strict)
    }

    // Statements.

    fn put(&mut self, spot: Spot, when: Option<ScalarOperand>, action: Action) {
        let list = if spot.after { &mut self.after } else { &mut self.before };
        list[spot.depth as usize].push(Statement { depth: spot.depth, when, operation: Name::default(), action });
    }

    /// Makes `code` strict and executes it at `at`; gives what its results are called.
    pub(crate) fn run(&mut self, code: Code, results: &[ScalarOperand], at: Spot) -> Vec<ScalarOperand> {
        let (instructions, results) = self.strict(&code, results, at.depth);
        let (instructions, results) = Expand::new(&mut self.ids, &mut self.known.types).code(instructions, &results);
        for instruction in instructions {
            self.execute(instruction, at);
        }
        results.iter().map(|&result| self.canonical(result)).collect()
    }

    /// Whether executing `code` for `results` may fail where `needed` are needed anyway.
    pub(crate) fn may_fail(
        &mut self,
        code: &Code,
        results: &[ScalarOperand],
        needed: &[ScalarOperand],
        depth: u32,
    ) -> bool {
        let anyway: std::collections::HashSet<LocalId> = {
            let body = Lambda { params: Vec::new(), instructions: code.instructions.clone(), results: needed.to_vec() };
            crate::strict::certainly_executed(&body).iter().flat_map(|i| &i.results).map(|result| result.id).collect()
        };
        let body = Lambda { params: Vec::new(), instructions: code.instructions.clone(), results: results.to_vec() };
        let certain = crate::strict::certainly_executed(&body);
        certain
            .iter()
            .filter(|instruction| instruction.results.iter().all(|result| !anyway.contains(&result.id)))
            .any(|instruction| can_fail(instruction, &|read| self.is_safe(read, depth)))
    }

    fn is_safe(&self, read: &Instruction, depth: u32) -> bool {
        is_safe(&self.known, &self.arrays, read, depth)
    }

    fn strict(&mut self, code: &Code, results: &[ScalarOperand], depth: u32) -> (Vec<Instruction>, Vec<ScalarOperand>) {
        let Self { ids, known, arrays, .. } = self;
        let safe = |read: &Instruction| is_safe(known, arrays, read, depth);
        Strict::new(ids, &safe).code(&code.instructions, results)
    }

    fn canonical(&self, operand: ScalarOperand) -> ScalarOperand {
        match operand {
            ScalarOperand::Local(id) => self.same.get(&id).copied().unwrap_or(id).into(),
            ScalarOperand::Outer(_) | ScalarOperand::Constant(_) => operand,
        }
    }

    fn execute(&mut self, instruction: Instruction, at: Spot) {
        if let Some((instruction, spot)) = self.invariant(&instruction, at) {
            for result in &instruction.results {
                self.define(result, spot);
            }
            self.put(spot, None, Action::Scalar(instruction));
            return;
        }
        let index = match &instruction.op {
            ScalarOp::Read { array, index } => Some((*array, index.clone())),
            ScalarOp::ReadFlat { array, position } if self.array_type(*array).rank() == 1 => {
                Some((*array, vec![*position]))
            }
            _ => None,
        };
        if let (Some((array, index)), [result]) = (index, &instruction.results[..]) {
            let dims = index.iter().map(|&index| (self.known.form(index), DimBoundary::None)).collect::<Vec<_>>();
            self.load_into(result.clone(), array, &dims, None, at, &instruction.place);
            return;
        }
        let natural =
            free_uses(&instruction).into_iter().map(|id| self.known.spot(id.into())).max().unwrap_or(Spot::before(0));
        let spot = if can_fail(&instruction, &|_| false) { at } else { natural.min(at) };
        for result in &instruction.results {
            self.define(result, spot);
        }
        self.known.note(&instruction, at.depth);
        self.put(spot, None, Action::Scalar(instruction));
    }

    /// An instruction that may fail and is the same at every point of the levels inside some depth: executed once, before these levels,
    /// if there is any point in them. Gives it under that condition, and where it goes.
    fn invariant(&mut self, instruction: &Instruction, at: Spot) -> Option<(Instruction, Spot)> {
        let read = if self.is_safe(instruction, at.depth) { return None } else { instruction };
        let spot = free_uses(read).into_iter().map(|id| self.known.spot(id.into())).max().unwrap_or(Spot::before(0));
        if at.after || spot.after || spot.depth >= at.depth || !can_fail(instruction, &|_| false) {
            return None;
        }
        let levels = spot.depth as usize..at.depth as usize;
        let bounds: Vec<(ScalarOperand, ScalarOperand)> =
            self.levels[levels].iter().map(|level| (level.from, level.to)).collect();
        if bounds.iter().any(|&(from, to)| self.known.spot(from).max(self.known.spot(to)) > spot) {
            return None;
        }
        let mut some: Option<ScalarOperand> = None;
        for (from, to) in bounds {
            let length = self.known.form(to).plus(-1, &self.known.form(from)).offset(-1);
            if !self.known.never_negative(&length, spot.depth) {
                let filled = self.binary(Binary::Lt, from, to, spot);
                some = Some(match some {
                    Some(some) => self.binary(Binary::And, some, filled, spot),
                    None => filled,
                });
            }
        }
        let Some(condition) = some else {
            // Plain reads become loads, further out.
            return (!matches!(instruction.op, ScalarOp::Read { .. } | ScalarOp::ReadFlat { .. }))
                .then(|| (instruction.clone(), spot));
        };
        let inner: Vec<Local> = instruction.results.iter().map(|result| self.local(result.ty, spot)).collect();
        let results = inner.iter().map(|local| local.id.into()).collect();
        let body = Instruction { results: inner, ..instruction.clone() };
        let then = Lambda { params: Vec::new(), instructions: vec![body], results };
        let zeros = instruction.results.iter().map(|result| Constant::zero(result.ty).into()).collect();
        let otherwise = Lambda { results: zeros, ..Lambda::default() };
        let op = ScalarOp::If { condition, then, otherwise };
        Some((Instruction { results: instruction.results.clone(), op, place: instruction.place.clone() }, spot))
    }

    fn array_type(&self, array: ArrayId) -> &fusebox_ir::Type {
        self.known.values.ty(self.arrays[array.index()].value)
    }

    /// Loads an element; the map is checked unless it is known to be inside.
    pub(crate) fn load(
        &mut self,
        value: ArrayId,
        dims: &[(Linear, DimBoundary)],
        outside: Option<Lambda>,
        at: Spot,
        place: &Place,
    ) -> ScalarOperand {
        let array = self.array(value, Access::Read);
        let result = self.local(self.known.values.ty(value).element, at);
        let operand = result.id.into();
        self.load_into(result, array, dims, outside, at, place);
        self.canonical(operand)
    }

    fn load_into(
        &mut self,
        result: Local,
        array: ArrayId,
        dims: &[(Linear, DimBoundary)],
        mut outside: Option<Lambda>,
        at: Spot,
        place: &Place,
    ) {
        let ty = self.array_type(array).clone();
        let index: Vec<Linear> = dims.iter().map(|(index, _)| index.clone()).collect();
        let natural = index
            .iter()
            .flat_map(|index| index.terms.keys())
            .map(|atom| if let Atom::Local(id) = atom { self.known.spot((*id).into()) } else { Spot::before(0) })
            .max()
            .unwrap_or(Spot::before(0));
        // As far outside as it is safe: what is read inside a level that may be empty is not read before it.
        let depths = natural.depth..=at.depth;
        let safe = depths.clone().find(|&depth| self.known.inside(&ty, &index, depth));
        let bounded = dims.iter().any(|(_, boundary)| *boundary != DimBoundary::None);
        let (spot, checked, drop) = match safe {
            Some(depth) => (
                Spot { depth, after: natural.after && depth == natural.depth || at.after && depth == at.depth },
                false,
                true,
            ),
            None if outside.is_some() => (at, false, false),
            None if bounded => {
                let filled = depths.clone().find(|&depth| {
                    ty.extents
                        .iter()
                        .all(|&extent| self.known.never_negative(&self.known.values.form(extent).offset(-1), depth))
                });
                match filled {
                    Some(depth) => (Spot { depth, after: at.after && depth == at.depth }, false, false),
                    None => (at, true, false),
                }
            }
            None => (at, true, false),
        };
        if drop {
            outside = None;
        }
        let dims: Vec<DimIndex> = dims
            .iter()
            .map(|(index, boundary)| DimIndex {
                boundary: if drop { DimBoundary::None } else { *boundary },
                ..self.dim(index)
            })
            .collect();
        let key = (array, dims.iter().map(|dim| (dim.offset, dim.terms.clone(), dim.boundary as u8)).collect());
        if outside.is_none() {
            if let Some(&same) = self.loads.get(&key) {
                let existing = self.known.spot(same.into());
                if existing.usable_at(at) {
                    self.define(&result, existing);
                    self.known.forms.insert(result.id, Linear::local(same));
                    self.same.insert(result.id, same);
                    return;
                }
            }
            self.loads.insert(key, result.id);
        }
        self.define(&result, spot);
        let map = IndexMap { dims, checked };
        self.put(spot, None, Action::Load { result, array, map, outside, place: place.clone() });
    }

    /// A scalar instruction that cannot fail, as far outside as possible.
    pub(crate) fn compute(&mut self, op: ScalarOp, ty: ElementType, at: Spot) -> ScalarOperand {
        let mut code = Code::default();
        let result = self.push(&mut code, op, ty, &Place::default());
        self.run(code, &[result], at)[0]
    }

    /// A function of two operands that cannot fail.
    pub(crate) fn binary(&mut self, function: Binary, a: ScalarOperand, b: ScalarOperand, at: Spot) -> ScalarOperand {
        let ty = if function.is_comparison() { ElementType::Bool } else { self.ty(a) };
        self.compute(ScalarOp::Binary { function, a, b }, ty, at)
    }

    /// Appends an instruction of several results to `code`.
    pub(crate) fn push_all(&mut self, code: &mut Code, op: ScalarOp, types: &[ElementType]) -> Vec<ScalarOperand> {
        let at = Spot::before(self.depth());
        let results: Vec<Local> = types.iter().map(|&ty| self.local(ty, at)).collect();
        let operands = results.iter().map(|result| result.id.into()).collect();
        code.instructions.push(Instruction { results, op, place: Place::default() });
        operands
    }

    /// The value of a linear form over scalars of the plan and locals.
    pub(crate) fn linear(&mut self, form: &Linear, at: Spot) -> ScalarOperand {
        let whole = |value: i64| ScalarOperand::from(Constant::from(value));
        let mut sum: Option<ScalarOperand> =
            (form.constant != 0 || form.terms.is_empty()).then(|| whole(form.constant));
        for (&atom, &factor) in &form.terms {
            let term = match atom {
                Atom::Value(id) => self.scalar(id),
                Atom::Local(id) => id.into(),
            };
            let term = if factor == 1 { term } else { self.binary(Binary::Mul, term, whole(factor), at) };
            sum = Some(match sum {
                Some(sum) => self.binary(Binary::Add, sum, term, at),
                None => term,
            });
        }
        sum.unwrap_or_else(|| whole(0))
    }

    /// The sum of two.
    pub(crate) fn sum(&mut self, ty: ElementType) -> Lambda {
        let at = Spot::before(self.depth());
        let [a, b, sum] = [(); 3].map(|()| self.local(ty, at));
        let results = vec![sum.id.into()];
        let op = ScalarOp::Binary { function: Binary::Add, a: a.id.into(), b: b.id.into() };
        let instructions = vec![Instruction { results: vec![sum], op, place: Place::default() }];
        Lambda { params: vec![a, b], instructions, results }
    }

    /// Whether an index into an array of the plan is known to be inside at the innermost depth.
    pub(crate) fn is_inside(&self, value: ArrayId, index: &[ScalarOperand]) -> bool {
        let forms: Vec<Linear> = index.iter().map(|&index| self.known.form(index)).collect();
        self.known.inside(self.known.values.ty(value), &forms, self.depth())
    }

    /// Whether an array may have no elements where something is computed at the innermost depth.
    pub(crate) fn may_be_empty(&self, value: ArrayId) -> bool {
        let extents = &self.known.values.ty(value).extents;
        !extents
            .iter()
            .all(|&extent| self.known.never_negative(&self.known.values.form(extent).offset(-1), self.depth()))
    }

    /// The depth at which a local is made.
    pub(crate) fn depth_of(&self, id: LocalId) -> u32 {
        self.known.spot(id.into()).depth
    }

    /// What is known of the scalars that `values`, made without levels, are stored to.
    pub(crate) fn learned(&self, values: &[ScalarOperand], stored: &[ArrayId]) -> Learned {
        let mut learned = Learned::default();
        let mut names: HashMap<LocalId, ArrayId> = HashMap::new();
        let extents_only = |form: &Linear| {
            form.terms.keys().all(|atom| matches!(atom, Atom::Value(id) if self.known.values.is_extent(*id)))
        };
        for (&value, &id) in values.iter().zip(stored) {
            if self.ty(value) != ElementType::I64 {
                continue;
            }
            let form = self.known.in_plan(&self.known.form(value));
            if extents_only(&form) {
                learned.forms.push((id, form));
            } else if let Some(local) = local(&value) {
                names.entry(local).or_insert(id);
            }
        }
        for fact in self.known.facts.all() {
            let named = fact.map(&mut |atom| match atom {
                Atom::Local(id) => {
                    names.get(&id).map_or_else(|| Linear::atom(atom), |&id| Linear::atom(Atom::Value(id)))
                }
                Atom::Value(_) => Linear::atom(atom),
            });
            if named != *fact && named.terms.keys().all(|atom| matches!(atom, Atom::Value(_))) {
                learned.facts.push(named);
            }
        }
        learned
    }

    /// Fails where `condition` does not hold.
    pub(crate) fn check(
        &mut self,
        condition: ScalarOperand,
        operation: &str,
        place: &Place,
        fault: FailureKind,
        at: Spot,
    ) {
        let failure = Failure { operation: operation.to_owned(), place: place.clone(), fault };
        self.put(at, None, Action::Check { condition, failure });
    }

    /// The map of an index.
    pub(crate) fn index_map(&self, index: &[ScalarOperand], checked: bool) -> IndexMap {
        let dims = index.iter().map(|&index| self.dim(&self.known.form(index))).collect();
        IndexMap { dims, checked }
    }

    fn dim(&self, form: &Linear) -> DimIndex {
        let terms =
            form.terms.iter().filter_map(|(atom, &by)| if let Atom::Local(id) = atom { Some((by, *id)) } else { None });
        DimIndex { offset: form.constant, terms: terms.collect(), boundary: DimBoundary::None }
    }

    /// Stores an element; it is inside.
    pub(crate) fn store(
        &mut self,
        value: ArrayId,
        access: Access,
        index: &[ScalarOperand],
        element: ScalarOperand,
        at: Spot,
    ) {
        let array = self.array(value, access);
        let map = self.index_map(index, false);
        self.put(at, None, Action::Store { array, map, value: element });
    }

    /// Combines `values` at depth `to`.
    pub(crate) fn reduce(
        &mut self,
        to: u32,
        association: fusebox_ir::Association,
        combine: Lambda,
        seeds: Vec<ScalarOperand>,
        values: Vec<ScalarOperand>,
    ) -> Vec<ScalarOperand> {
        let results: Vec<Local> = values
            .iter()
            .map(|&value| self.ty(value))
            .collect::<Vec<_>>()
            .into_iter()
            .map(|ty| self.local(ty, Spot::after(to)))
            .collect();
        let operands = results.iter().map(|result| result.id.into()).collect();
        let at = Spot::before(self.depth());
        self.put(at, None, Action::Reduce { results, to, association, combine, seeds, values });
        operands
    }

    /// Scans `values` along the innermost level; gives the running results and the totals.
    pub(crate) fn scan(&mut self, scan: ScanParts) -> (Vec<ScalarOperand>, Vec<ScalarOperand>) {
        let at = Spot::before(self.depth());
        let types: Vec<ElementType> = scan.values.iter().map(|&value| self.ty(value)).collect();
        let results: Vec<Local> = types.iter().map(|&ty| self.local(ty, at)).collect();
        let around = Spot::after(self.depth().saturating_sub(1));
        let totals: Vec<Local> =
            if scan.totals { types.iter().map(|&ty| self.local(ty, around)).collect() } else { Vec::new() };
        let operands = |locals: &[Local]| locals.iter().map(|local| local.id.into()).collect::<Vec<_>>();
        let given = (operands(&results), operands(&totals));
        let ScanParts { exclusive, association, combine, seeds, values, .. } = scan;
        self.put(at, None, Action::Scan { results, exclusive, totals, association, combine, seeds, values });
        given
    }

    /// A statement at the innermost depth.
    pub(crate) fn act(&mut self, when: Option<ScalarOperand>, action: Action) {
        let at = Spot::before(self.depth());
        self.put(at, when, action);
    }
}

/// What code without levels tells of the scalars it makes.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    /// Those that are linear in extents.
    pub(crate) forms: Vec<(ArrayId, Linear)>,
    /// What is not negative.
    pub(crate) facts: Vec<Linear>,
}

/// What a scan is made of.
pub(crate) struct ScanParts {
    pub(crate) exclusive: bool,
    pub(crate) totals: bool,
    pub(crate) association: fusebox_ir::Association,
    pub(crate) combine: Lambda,
    pub(crate) seeds: Vec<ScalarOperand>,
    pub(crate) values: Vec<ScalarOperand>,
}

/// Scalar code of the program that was put off and is in the code now, by its value.
#[derive(Debug, Default)]
pub(crate) struct Deferred(HashMap<ArrayId, ScalarOperand>);

/// Whether a read is known to be inside.
fn is_safe(known: &Known<'_>, arrays: &[NestArray], read: &Instruction, depth: u32) -> bool {
    let (array, index) = match &read.op {
        ScalarOp::Read { array, index } => (array, index.clone()),
        ScalarOp::ReadFlat { array, position } => (array, vec![*position]),
        _ => return false,
    };
    let ty = known.values.ty(arrays[array.index()].value);
    let index: Vec<Linear> = index.iter().map(|&index| known.form(index)).collect();
    known.inside(ty, &index, depth)
}
