//! Scalar functions, each kept once, beside the e-graph: what its operations hold are ids of these.
//!
//! Functions are composed by lists of instructions: an argument is bound once, however often it is used, so that nothing grows as trees
//! would. What a composed function would compute twice (the same instruction of the same operands) it computes once.

use std::hash::{Hash, Hasher};

use fusebox_ir::{
    ElementType, Lambda, LambdaBuilder, LocalId, MAX_NESTING, Operand, ScalarOp, ScalarOperand, ScalarPart,
    analysis::work,
};
use rustc_hash::{FxHashMap, FxHashSet, FxHasher};

/// A function of the table: equal functions have equal ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct FunctionId(u32);

/// Bodies in bodies that a function composed here may have: other passes add some, and programs may have [`MAX_NESTING`].
pub(crate) const MOST_NESTING: usize = MAX_NESTING / 2;

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
        if work <= FREE_INDEX && self.get(id).arrays_read().is_empty() { 0 } else { work }
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
        let mut f = LambdaBuilder::sharing();
        let params = f.params(types.iter().copied());
        let lambda = f.finish_needed(&params);
        let id = self.intern(lambda);
        self.identities.insert(types.to_vec(), id);
        id
    }

    /// The index that a replicate of these dimensions reads its sources at.
    pub(crate) fn replicated(&mut self, dims: &[Option<Operand>]) -> FunctionId {
        self.of_dims(true, dims, |f| {
            let params = f.params(dims.iter().map(|_| ElementType::I64));
            params.into_iter().zip(dims).filter(|(_, dim)| dim.is_none()).map(|(param, _)| param).collect()
        })
    }

    /// The index that a slice of these dimensions reads its sources at.
    pub(crate) fn sliced(&mut self, dims: &[Option<Operand>]) -> FunctionId {
        self.of_dims(false, dims, |f| {
            let index = |dim: &Option<Operand>| match dim {
                Some(fixed) => fixed.in_scalar(),
                None => f.param("", ElementType::I64).operand,
            };
            dims.iter().map(index).collect()
        })
    }

    fn of_dims(
        &mut self,
        replicates: bool,
        dims: &[Option<Operand>],
        index: impl FnOnce(&mut LambdaBuilder) -> Vec<ScalarOperand>,
    ) -> FunctionId {
        let key = (replicates, dims.to_vec());
        if let Some(&id) = self.of_dims.get(&key) {
            return id;
        }
        let mut f = LambdaBuilder::sharing();
        let results = index(&mut f);
        let lambda = f.finish_needed(&results);
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
            instruction.op.hash_without_bodies(hasher);
            bodies.extend(inner_bodies(&instruction.op));
        }
    }
}

/// Which parameters of a function are used.
pub(crate) fn used_params(f: &Lambda) -> Vec<bool> {
    let mut used: FxHashSet<LocalId> = FxHashSet::default();
    f.for_each_operand(&mut |operand| {
        if let ScalarOperand::Local(id) = operand {
            used.insert(*id);
        }
    });
    f.params.iter().map(|param| used.contains(&param.id)).collect()
}
