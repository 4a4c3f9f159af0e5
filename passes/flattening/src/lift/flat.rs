//! The flat program while it is written: blocks that are open, and what is known of the values in them.

use std::collections::HashMap;

use fusebox_ir::{ArrayId, ArrayOp, Binding, Block, ElementType, Fresh, Lambda, Name, Place, Type, Var};

pub(super) use crate::extents::{operand, operands};

/// Open blocks, the innermost last, and the types of all that was bound.
#[derive(Debug)]
pub(super) struct Flat {
    blocks: Vec<Block>,
    types: HashMap<ArrayId, Type>,
    /// In which of the open blocks a value is bound.
    levels: HashMap<ArrayId, usize>,
    fresh: Fresh,
    /// The outermost block that anything is bound in.
    pub floor: usize,
    /// Where what is bound from here on stands in the source.
    pub place: Place,
}

impl Flat {
    pub fn new(fresh: Fresh) -> Self {
        Self {
            blocks: vec![Block::default()],
            types: HashMap::new(),
            levels: HashMap::new(),
            fresh,
            floor: 0,
            place: Place::default(),
        }
    }

    /// The innermost open block.
    pub fn here(&self) -> usize {
        self.blocks.len() - 1
    }

    pub fn open(&mut self) {
        self.blocks.push(Block::default());
    }

    /// Opens a block again that was closed last.
    pub fn reopen(&mut self, block: Block) {
        self.blocks.push(block);
    }

    pub fn close(&mut self, results: Vec<ArrayId>) -> Block {
        let Some(block) = self.blocks.pop() else { panic!("no block is open") };
        Block { results, ..block }
    }

    pub fn id(&mut self) -> ArrayId {
        self.fresh.id()
    }

    pub fn ty(&self, id: ArrayId) -> &Type {
        static NONE: std::sync::OnceLock<Type> = std::sync::OnceLock::new();
        self.types.get(&id).unwrap_or_else(|| NONE.get_or_init(|| Type::scalar(ElementType::I64)))
    }

    pub fn level(&self, id: ArrayId) -> usize {
        self.levels.get(&id).copied().unwrap_or_default()
    }

    fn define(&mut self, level: usize, id: ArrayId, name: &Name, ty: Type) -> Var {
        self.types.insert(id, ty.clone());
        self.levels.insert(id, level);
        Var { id, ty, name: name.clone() }
    }

    pub fn size(&mut self, name: &Name) -> ArrayId {
        let (id, level) = (self.id(), self.here());
        let var = self.define(level, id, name, Type::scalar(ElementType::I64));
        self.blocks[level].sizes.push(var);
        id
    }

    pub fn param(&mut self, name: &Name, ty: Type) -> ArrayId {
        let id = self.id();
        self.param_as(id, name, ty);
        id
    }

    pub fn param_as(&mut self, id: ArrayId, name: &Name, ty: Type) {
        let level = self.here();
        let var = self.define(level, id, name, ty);
        self.blocks[level].params.push(var);
    }

    /// Binds results of these types, whose ids were taken before, in one of the open blocks.
    pub fn bind_ids(&mut self, level: usize, op: ArrayOp, results: Vec<(ArrayId, Name, Type)>) {
        let results = results.into_iter().map(|(id, name, ty)| self.define(level, id, &name, ty)).collect();
        let place = self.place.clone();
        self.blocks[level].bindings.push(Binding { results, op, place });
    }

    /// Binds results in the innermost block.
    pub fn bind(&mut self, op: ArrayOp, results: Vec<(Name, Type)>) -> Vec<ArrayId> {
        let results: Vec<_> = results.into_iter().map(|(name, ty)| (self.id(), name, ty)).collect();
        let ids = results.iter().map(|(id, _, _)| *id).collect();
        let level = self.here();
        self.bind_ids(level, op, results);
        ids
    }

    /// Binds one result as far out as what it uses allows, as it is the same whenever a loop inside takes a turn.
    pub fn bind_out(&mut self, op: ArrayOp, name: &Name, ty: Type) -> ArrayId {
        let id = self.id();
        self.bind_out_ids(op, vec![(id, name.clone(), ty)]);
        id
    }

    /// As [`Self::bind_out`], of several results.
    pub fn bind_out_ids(&mut self, op: ArrayOp, results: Vec<(ArrayId, Name, Type)>) {
        let mut level = self.floor;
        let own: Vec<ArrayId> = results.iter().map(|(id, _, _)| *id).collect();
        let mut visit = |id: ArrayId| {
            if !own.contains(&id) {
                level = level.max(self.levels.get(&id).copied().unwrap_or_default());
            }
        };
        op.for_each_use(&mut visit);
        results.iter().for_each(|(_, _, ty)| ty.for_each_use(&mut visit));
        self.bind_ids(level, op, results);
    }

    /// Scalar code of one `i64`, as far out as it may be.
    pub fn unit(&mut self, name: &str, f: Lambda) -> ArrayId {
        self.bind_out(ArrayOp::Unit { f }, &name.into(), Type::scalar(ElementType::I64))
    }

    /// The blocks, when all but the program's own are closed.
    pub fn finish(mut self, results: Vec<ArrayId>) -> Block {
        self.close(results)
    }
}
