//! Scalar functions, each kept once, beside the e-graph: what its operations hold are ids of these.
//!
//! Functions are composed by lists of instructions: an argument is bound once, however often it is used, so that nothing grows as trees
//! would. What a composed function would compute twice (the same instruction of the same operands) it computes once.

use std::hash::{Hash, Hasher};

use fusebox_ir::{
    ArrayId, ElementType, Instruction, Lambda, Local, LocalId, Name, Operand, Place, ScalarOp, ScalarOperand,
    ScalarPart, ScalarPartMut, analysis::work,
};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

/// A function of the table: equal functions have equal ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FunctionId(u32);

/// Weighted instructions of an index function that are done beside the load.
const FREE_INDEX: u64 = 16;

struct Function {
    lambda: Lambda,
    work: u64,
    size: usize,
    nesting: usize,
}

/// All functions met so far.
#[derive(Default)]
pub(crate) struct Functions {
    list: Vec<Function>,
    by_hash: FxHashMap<u64, Vec<FunctionId>>,
    /// Functions that hand on parameters of these types.
    identities: FxHashMap<Vec<ElementType>, FunctionId>,
    /// Indices that replicates (`true`) and slices of these dimensions read their sources at.
    of_dims: FxHashMap<(bool, Vec<Option<Operand>>), FunctionId>,
}

impl Functions {
    pub(crate) fn intern(&mut self, lambda: Lambda) -> FunctionId {
        let lambda = lambda.renumbered();
        let mut hasher = FxHasher::default();
        hash_lambda(&lambda, &mut hasher);
        let found = self.by_hash.entry(hasher.finish()).or_default();
        if let Some(&id) = found.iter().find(|id| self.list[id.0 as usize].lambda == lambda) {
            return id;
        }
        let id = FunctionId(self.list.len() as u32);
        found.push(id);
        let (work, size, nesting) = (work(&lambda), size(&lambda), nesting(&lambda));
        self.list.push(Function { lambda, work, size, nesting });
        id
    }

    pub(crate) fn get(&self, id: FunctionId) -> &Lambda {
        &self.list[id.0 as usize].lambda
    }

    /// Weighted instructions of one call.
    pub(crate) fn work(&self, id: FunctionId) -> u64 {
        self.list[id.0 as usize].work
    }

    /// The work of an index function that counts: arithmetic of indices is done beside loads and costs nothing, reads do.
    pub(crate) fn index_work(&self, id: FunctionId) -> u64 {
        let work = self.work(id);
        if work <= FREE_INDEX && read_arrays(self.get(id)).is_empty() { 0 } else { work }
    }

    /// Instructions, those of bodies too.
    pub(crate) fn size(&self, id: FunctionId) -> usize {
        self.list[id.0 as usize].size
    }

    /// How deep bodies are in bodies.
    pub(crate) fn nesting(&self, id: FunctionId) -> usize {
        self.list[id.0 as usize].nesting
    }

    /// The function that hands on its parameters.
    pub(crate) fn identity(&mut self, types: &[ElementType]) -> FunctionId {
        if let Some(&id) = self.identities.get(types) {
            return id;
        }
        let mut f = Composer::default();
        let params: Vec<ScalarOperand> = types.iter().map(|&ty| f.param(ty)).collect();
        let lambda = f.finish(&params);
        let id = self.intern(lambda);
        self.identities.insert(types.to_vec(), id);
        id
    }

    /// The index that a replicate of these dimensions reads its sources at.
    pub(crate) fn replicated(&mut self, dims: &[Option<Operand>]) -> FunctionId {
        self.of_dims(true, dims, |f| {
            let params: Vec<ScalarOperand> = dims.iter().map(|_| f.param(ElementType::I64)).collect();
            params.into_iter().zip(dims).filter(|(_, dim)| dim.is_none()).map(|(param, _)| param).collect()
        })
    }

    /// The index that a slice of these dimensions reads its sources at.
    pub(crate) fn sliced(&mut self, dims: &[Option<Operand>]) -> FunctionId {
        self.of_dims(false, dims, |f| {
            let index = |dim: &Option<Operand>| match dim {
                Some(fixed) => fixed.in_scalar(),
                None => f.param(ElementType::I64),
            };
            dims.iter().map(index).collect()
        })
    }

    fn of_dims(
        &mut self,
        replicates: bool,
        dims: &[Option<Operand>],
        index: impl FnOnce(&mut Composer) -> Vec<ScalarOperand>,
    ) -> FunctionId {
        let key = (replicates, dims.to_vec());
        if let Some(&id) = self.of_dims.get(&key) {
            return id;
        }
        let mut f = Composer::default();
        let results = index(&mut f);
        let lambda = f.finish(&results);
        let id = self.intern(lambda);
        self.of_dims.insert(key, id);
        id
    }

    /// Whether it hands on its parameters, all in order.
    pub(crate) fn is_identity(&self, id: FunctionId) -> bool {
        let f = self.get(id);
        f.params.len() == f.results.len()
            && f.params.iter().zip(&f.results).all(|(param, &result)| result == param.id.into())
    }
}

fn size(f: &Lambda) -> usize {
    let mut count = 0;
    let mut bodies = vec![f];
    while let Some(body) = bodies.pop() {
        count += body.instructions.len();
        bodies.extend(body.instructions.iter().flat_map(|instruction| inner_bodies(&instruction.op)));
    }
    count
}

fn nesting(f: &Lambda) -> usize {
    let mut deepest = 0;
    let mut bodies = vec![(f, 0)];
    while let Some((body, depth)) = bodies.pop() {
        deepest = deepest.max(depth);
        let inner = body.instructions.iter().flat_map(|instruction| inner_bodies(&instruction.op));
        bodies.extend(inner.map(|body| (body, depth + 1)));
    }
    deepest
}

fn inner_bodies(op: &ScalarOp) -> impl Iterator<Item = &Lambda> {
    op.parts().into_iter().filter_map(|part| match part {
        ScalarPart::Body(body) => Some(body),
        ScalarPart::Operand(_) | ScalarPart::Array(_) => None,
    })
}

fn hash_lambda(f: &Lambda, hasher: &mut FxHasher) {
    let mut bodies = vec![f];
    while let Some(body) = bodies.pop() {
        body.params.iter().for_each(|param| (param.id, param.ty).hash(hasher));
        body.results.hash(hasher);
        for instruction in &body.instructions {
            instruction.results.iter().for_each(|result| (result.id, result.ty).hash(hasher));
            hash_op(&instruction.op, hasher);
            bodies.extend(inner_bodies(&instruction.op));
        }
    }
}

/// All but bodies.
fn hash_op(op: &ScalarOp, hasher: &mut FxHasher) {
    op.hash_function(hasher);
    for part in op.parts() {
        match part {
            ScalarPart::Operand(operand) => operand.hash(hasher),
            ScalarPart::Array(id) => id.hash(hasher),
            ScalarPart::Body(body) => (body.params.len(), body.instructions.len()).hash(hasher),
        }
    }
}

/// Stands for a read while a function is copied: `None` leaves the read as it is.
pub(crate) type Reader<'a> = dyn FnMut(&mut Composer, ArrayId, &[ScalarOperand]) -> Option<ScalarOperand> + 'a;

/// A function under construction.
#[derive(Default)]
pub(crate) struct Composer {
    params: Vec<Local>,
    next: u32,
    /// The function's instructions, and around the innermost body those of the bodies it stands in.
    open: Vec<Vec<Instruction>>,
    /// Instructions that may be used again, by hash: canonical operation and results.
    seen: Vec<FxHashMap<u64, Vec<(ScalarOp, Vec<LocalId>)>>>,
}

impl Composer {
    fn fresh(&mut self) -> LocalId {
        self.next += 1;
        LocalId(self.next - 1)
    }

    pub(crate) fn param(&mut self, ty: ElementType) -> ScalarOperand {
        let id = self.fresh();
        self.params.push(Local { id, ty, name: Name::default() });
        id.into()
    }

    /// An instruction of one result.
    pub(crate) fn one(&mut self, op: ScalarOp, ty: ElementType, place: &Place) -> ScalarOperand {
        self.push(op, &[Local { id: LocalId(0), ty, name: Name::default() }], place)[0]
    }

    /// An instruction, or the results of one that is the same.
    fn push(&mut self, op: ScalarOp, results: &[Local], place: &Place) -> Vec<ScalarOperand> {
        let key = canonical(&op);
        let mut hasher = FxHasher::default();
        hash_op(&key, &mut hasher);
        let hash = hasher.finish();
        let found = self.seen.iter().rev().filter_map(|table| table.get(&hash)).flatten().find(|(op, _)| *op == key);
        if let Some((_, locals)) = found {
            return locals.iter().map(|&id| id.into()).collect();
        }
        let results: Vec<Local> = results.iter().map(|local| Local { id: self.fresh(), ..local.clone() }).collect();
        let ids: Vec<LocalId> = results.iter().map(|local| local.id).collect();
        if self.open.is_empty() {
            self.open.push(Vec::new());
            self.seen.push(FxHashMap::default());
        }
        if let (Some(list), Some(seen)) = (self.open.last_mut(), self.seen.last_mut()) {
            list.push(Instruction { results, op, place: place.clone() });
            seen.entry(hash).or_default().push((key, ids.clone()));
        }
        ids.into_iter().map(ScalarOperand::from).collect()
    }

    /// The results of a function for these arguments.
    pub(crate) fn call(&mut self, f: &Lambda, arguments: &[ScalarOperand]) -> Vec<ScalarOperand> {
        self.call_reading(f, arguments, &mut |_, _, _| None)
    }

    /// As [`Self::call`], with reads replaced.
    pub(crate) fn call_reading(
        &mut self,
        f: &Lambda,
        arguments: &[ScalarOperand],
        reader: &mut Reader<'_>,
    ) -> Vec<ScalarOperand> {
        let mut names: FxHashMap<LocalId, ScalarOperand> =
            f.params.iter().map(|param| param.id).zip(arguments.iter().copied()).collect();
        self.list(f, &mut names, reader)
    }

    fn list(
        &mut self,
        f: &Lambda,
        names: &mut FxHashMap<LocalId, ScalarOperand>,
        reader: &mut Reader<'_>,
    ) -> Vec<ScalarOperand> {
        for instruction in &f.instructions {
            let mut op = match &instruction.op {
                ScalarOp::If { condition, then, otherwise } => ScalarOp::If {
                    condition: *condition,
                    then: self.body(then, names, reader),
                    otherwise: self.body(otherwise, names, reader),
                },
                ScalarOp::While { condition, step, starts } => ScalarOp::While {
                    condition: self.body(condition, names, reader),
                    step: self.body(step, names, reader),
                    starts: starts.clone(),
                },
                op => op.clone(),
            };
            for part in op.parts_mut() {
                if let ScalarPartMut::Operand(operand) = part {
                    *operand = named(names, *operand);
                }
            }
            let read = match &op {
                ScalarOp::Read { array, index } => reader(self, *array, index),
                ScalarOp::ReadFlat { array, position } => reader(self, *array, &[*position]),
                _ => None,
            };
            let results = match read {
                Some(value) => vec![value],
                None => self.push(op, &instruction.results, &instruction.place),
            };
            names.extend(instruction.results.iter().map(|local| local.id).zip(results));
        }
        f.results.iter().map(|&result| named(names, result)).collect()
    }

    fn body(&mut self, f: &Lambda, names: &mut FxHashMap<LocalId, ScalarOperand>, reader: &mut Reader<'_>) -> Lambda {
        if self.open.is_empty() {
            self.open.push(Vec::new());
            self.seen.push(FxHashMap::default());
        }
        let params: Vec<Local> = f.params.iter().map(|param| Local { id: self.fresh(), ..param.clone() }).collect();
        names.extend(f.params.iter().map(|param| param.id).zip(params.iter().map(|param| param.id.into())));
        self.open.push(Vec::new());
        self.seen.push(FxHashMap::default());
        let results = self.list(f, names, reader);
        self.seen.pop();
        let instructions = self.open.pop().unwrap_or_default();
        Lambda { params, instructions, results }
    }

    /// The function with these results, without what they do not need. Parameters stay.
    pub(crate) fn finish(self, results: &[ScalarOperand]) -> Lambda {
        let instructions = self.open.into_iter().next().unwrap_or_default();
        let instructions = in_order(instructions, results);
        Lambda { params: self.params, instructions, results: results.to_vec() }
    }
}

/// What results need, each instruction just before its first use, so that text prints expressions.
fn in_order(instructions: Vec<Instruction>, results: &[ScalarOperand]) -> Vec<Instruction> {
    let made_by: FxHashMap<LocalId, usize> = instructions
        .iter()
        .enumerate()
        .flat_map(|(at, instruction)| instruction.results.iter().map(move |local| (local.id, at)))
        .collect();
    let mut rest: Vec<Option<Instruction>> = instructions.into_iter().map(Some).collect();
    let mut ordered = Vec::with_capacity(rest.len());
    let mut stack: Vec<(usize, bool)> = Vec::new();
    let wanted = |operands: &mut dyn Iterator<Item = LocalId>, stack: &mut Vec<(usize, bool)>| {
        let from = stack.len();
        stack.extend(operands.filter_map(|id| made_by.get(&id)).map(|&at| (at, false)));
        stack[from..].reverse();
    };
    wanted(&mut results.iter().filter_map(local), &mut stack);
    while let Some((at, ready)) = stack.pop() {
        let Some(instruction) = &rest[at] else { continue };
        if ready {
            ordered.extend(rest[at].take());
            continue;
        }
        stack.push((at, true));
        let mut uses = Vec::new();
        for_each_local(&instruction.op, &mut |id| uses.push(id));
        wanted(&mut uses.into_iter(), &mut stack);
    }
    ordered
}

fn named(names: &FxHashMap<LocalId, ScalarOperand>, operand: ScalarOperand) -> ScalarOperand {
    match operand {
        ScalarOperand::Local(id) => names.get(&id).copied().unwrap_or(operand),
        ScalarOperand::Outer(_) | ScalarOperand::Constant(_) => operand,
    }
}

fn local(operand: &ScalarOperand) -> Option<LocalId> {
    if let ScalarOperand::Local(id) = operand { Some(*id) } else { None }
}

/// Every local that an instruction uses, in bodies too (those defined there among them).
fn for_each_local(op: &ScalarOp, visit: &mut dyn FnMut(LocalId)) {
    let mut operations = vec![op];
    while let Some(op) = operations.pop() {
        for part in op.parts() {
            match part {
                ScalarPart::Operand(operand) => _ = local(operand).map(&mut *visit),
                ScalarPart::Array(_) => {}
                ScalarPart::Body(body) => {
                    body.results.iter().filter_map(local).for_each(&mut *visit);
                    operations.extend(body.instructions.iter().map(|instruction| &instruction.op));
                }
            }
        }
    }
}

/// The operation with what its bodies define counted from a number that no other local has, so that equal operations are equal.
fn canonical(op: &ScalarOp) -> ScalarOp {
    let mut op = op.clone();
    let mut inner: FxHashMap<LocalId, LocalId> = FxHashMap::default();
    let mut next = 1 << 31;
    let mut bodies: Vec<&Lambda> = inner_bodies(&op).collect();
    if bodies.is_empty() {
        return op;
    }
    while let Some(body) = bodies.pop() {
        let results = body.instructions.iter().flat_map(|instruction| &instruction.results);
        for defined in body.params.iter().chain(results) {
            inner.insert(defined.id, LocalId(next));
            next += 1;
        }
        bodies.extend(body.instructions.iter().flat_map(|instruction| inner_bodies(&instruction.op)));
    }
    for part in op.parts_mut() {
        if let ScalarPartMut::Body(body) = part {
            body.map_locals(&mut |id| inner.get(&id).copied().unwrap_or(id));
        }
    }
    op
}

/// Which parameters of a function are used.
pub(crate) fn used_params(f: &Lambda) -> Vec<bool> {
    let mut used: FxHashSet<LocalId> = f.results.iter().filter_map(local).collect();
    f.instructions.iter().for_each(|instruction| for_each_local(&instruction.op, &mut |id| _ = used.insert(id)));
    f.params.iter().map(|param| used.contains(&param.id)).collect()
}

/// Arrays that a function reads by index, each once, in order.
pub(crate) fn read_arrays(f: &Lambda) -> Vec<ArrayId> {
    let mut arrays = Vec::new();
    let mut bodies = vec![f];
    while let Some(body) = bodies.pop() {
        for instruction in &body.instructions {
            if let ScalarOp::Read { array, .. } | ScalarOp::ReadFlat { array, .. } = &instruction.op
                && !arrays.contains(array)
            {
                arrays.push(*array);
            }
            bodies.extend(inner_bodies(&instruction.op));
        }
    }
    arrays
}
