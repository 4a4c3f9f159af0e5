//! Branches. Where all lanes decide alike they stay branches, of flat arrays. Where each lane decides for itself, lanes are parted: a branch is
//! computed for those that take it, and results are put together again. So what a lane does not reach cannot fail, and costs nothing.

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Block,
    ElementType::{Bool, I64},
    Extent, Lambda, Operand, ScalarOperand, Type, Var,
};

use super::{
    LaneOperand, Lifter, Value,
    code::{Code, Outside},
    context::ContextId,
    flat::operands,
    slots::Slot,
};
use crate::Error;

/// A branch of the nested program, for the lanes of a context.
pub(super) struct Branch<'p> {
    pub binding: &'p Binding,
    pub home: ContextId,
    pub then: &'p Block,
    pub otherwise: &'p Block,
}

/// One of two ways that lanes go: their results, and where those of a lane are.
pub(super) struct Way<'a> {
    pub values: &'a [Value],
    /// The lanes that go it, and for each lane of all its number among them.
    pub lanes: Option<(ContextId, ArrayId)>,
    /// The extents of the values in the source, where they may differ from those declared.
    pub block: Option<&'a Block>,
}

impl<'p> Lifter<'p> {
    pub fn cond(&mut self, branch: &Branch<'p>, condition: Operand) -> Result<(), Error> {
        match self.lane_operand(condition) {
            LaneOperand::Outside(condition) => self.cond_of_all(branch, condition),
            LaneOperand::Varying(condition) => self.cond_by_lanes(branch, &condition),
            LaneOperand::Index(_) => fusebox_ir::bug!(self.program, "a condition is no number"),
        }
    }

    /// All lanes take the same branch.
    fn cond_of_all(&mut self, branch: &Branch<'p>, condition: Operand) -> Result<(), Error> {
        let &Branch { binding, home, then, otherwise } = branch;
        let mark = self.mark();
        let mut ways = Vec::new();
        for block in [then, otherwise] {
            self.flat.open();
            self.bindings(block)?;
            let values: Vec<Value> = block.results.iter().map(|&id| self.array_value(id)).collect();
            self.undo(mark);
            let open = self.flat.close(Vec::new());
            self.forget_closed();
            ways.push((open, values));
        }
        // A result is of the lanes that one of the branches makes it of, and of those that its extents depend on.
        let mut slots: Vec<Slot> = Vec::new();
        for (at, var) in binding.results.iter().enumerate() {
            let mut of = self.deeper(ways[0].1[at].home, ways[1].1[at].home);
            for extent in &var.ty.extents {
                let Extent::Value(id) = extent else { continue };
                let extent = match binding.results[..at].iter().position(|other| other.id == *id) {
                    Some(sibling) => slots[sibling].home,
                    None => self.scalar_value(*id).home,
                };
                of = self.deeper(of, extent);
            }
            // A branch that was lifted for fewer lanes than the operation gives all of them.
            let of = if self.is_above(of, home) { of } else { home };
            let inner = self.agreed(var, of, &[&ways[0].1[at], &ways[1].1[at]], self.flat.here());
            slots.push(Slot { home: of, inner });
        }
        self.branches(binding, &slots, ways, condition);
        Ok(())
    }

    /// A branch of flat arrays with these ways, which are blocks that were open and what they give.
    pub fn branches(
        &mut self,
        binding: &'p Binding,
        slots: &[Slot],
        ways: Vec<(Block, Vec<Value>)>,
        condition: Operand,
    ) {
        let mut blocks = Vec::new();
        let mut types = Vec::new();
        for (open, values) in ways {
            self.flat.reopen(open);
            let joined = self.joined_up(&binding.results, &values, slots);
            types = joined.layouts;
            blocks.push(self.flat.close(joined.flat));
            self.forget_closed();
        }
        let Ok([then, otherwise]) = <[Block; 2]>::try_from(blocks) else {
            fusebox_ir::bug!(self.program, "a branch has two blocks");
        };
        self.through(binding, slots, &types, ArrayOp::Cond { condition, then, otherwise });
    }

    /// Each lane takes its own branch.
    fn cond_by_lanes(&mut self, branch: &Branch<'p>, condition: &Value) -> Result<(), Error> {
        let &Branch { binding, home, then, otherwise } = branch;
        let condition = self.lifted(condition, home).array;
        let taken = self.numbers(home, condition);
        let outside = self.here;
        let mut ways = Vec::new();
        for (block, wanted) in [(then, true), (otherwise, false)] {
            let lanes = self.subset(home, condition, wanted);
            self.here = lanes;
            let (mark, guard) = (self.mark(), self.needed_in(lanes));
            self.bindings(block)?;
            let values: Vec<Value> = block.results.iter().map(|&id| self.array_value(id)).collect();
            self.undo(mark);
            (self.here, self.guard) = (outside, guard);
            ways.push((lanes, values));
        }
        let others = self.others(home, taken);
        let ways = [
            Way { values: &ways[0].1, lanes: Some((ways[0].0, taken)), block: Some(then) },
            Way { values: &ways[1].1, lanes: Some((ways[1].0, others)), block: Some(otherwise) },
        ];
        self.rejoin(&binding.results, home, condition, &ways);
        Ok(())
    }

    /// For each lane of a context, in row-major order, how many lanes before it have a condition.
    pub fn numbers(&mut self, home: ContextId, condition: ArrayId) -> ArrayId {
        let vector = self.as_vector(condition);
        let count = self.count(home);
        let f = Lambda::build(&[("c", Bool)], |f, p| vec![f.convert(I64, p[0])]);
        let op = ArrayOp::Map { f, sources: vec![vector] };
        let ones = self.flat.bind_out(op, &"".into(), Type::array(vec![count], I64));
        self.sums_before(ones, count, "number")
    }

    /// For each lane how many before it do not have the condition that `numbers` counts.
    fn others(&mut self, home: ContextId, numbers: ArrayId) -> ArrayId {
        let count = self.count(home);
        let lanes = self.iota(count);
        let f = Lambda::build(&[("lane", I64), ("n", I64)], |f, p| vec![f.sub(p[0], p[1])]);
        let op = ArrayOp::Map { f, sources: vec![lanes, numbers] };
        self.flat.bind_out(op, &"number".into(), Type::array(vec![count], I64))
    }

    /// Defines values of all lanes: of those with the condition the first way's, of others the second's.
    pub fn rejoin(&mut self, vars: &[Var], home: ContextId, condition: ArrayId, ways: &[Way<'_>; 2]) {
        for (at, var) in vars.iter().enumerate() {
            let home_dims = self.dims(home);
            let place = |code: &mut Code<'_, '_>, side: usize, lane: &[ScalarOperand]| {
                let value = &ways[side].values[at];
                match ways[side].lanes {
                    Some((lanes, numbers)) if !code.lifter.is_above(value.home, home) => {
                        let position = code.flattened(&home_dims, lane);
                        let number = code.read(numbers, vec![position]);
                        code.climb(lanes, &[number], value.home)
                    }
                    _ => code.climb(home, lane, value.home),
                }
            };
            let elements = self.grown(home, &var.ty, |code, dim, lane, index| {
                let holds = code.read(condition, lane.to_vec());
                let of = |code: &mut Code<'_, '_>, side: usize| {
                    let coords = place(code, side, lane);
                    code.extent_at(&ways[side].values[at], &coords, dim, index)
                };
                code.choose(holds, I64, |code| of(code, 0), |code| of(code, 1))
            });
            let steps = self.steps(home, elements);
            let dims = self.dims(elements);
            let name = self.source_name(var.id);
            let agreeing: Vec<Vec<(usize, String)>> = ways.iter().map(|way| self.not_agreeing(vars, at, way)).collect();
            let mut code = Code::over(self, elements);
            let lane = code.lane(home);
            let index = code.own_indices(&steps);
            let holds = code.read(condition, lane.clone());
            let declared = Value { array: condition, home, elements, ty: var.ty.element };
            let of = |code: &mut Code<'_, 'p>, side: usize| {
                let value = &ways[side].values[at];
                let coords = place(code, side, &lane);
                let mut index = index.clone();
                for (dim, right) in &agreeing[side] {
                    let wanted = code.extent_at(&declared, &lane, *dim, &index);
                    let found = code.extent_at(value, &coords, *dim, &index);
                    index[*dim] = code.if_equal((found, &name), (wanted, right), &lane, index[*dim]);
                }
                code.element_at(value, &coords, &index, &Outside::Never)
            };
            let element = code.choose(holds, var.ty.element, |code| of(code, 0), |code| of(code, 1));
            let f = code.b.finish_needed(&[element]);
            let op = ArrayOp::Generate { extents: operands(&dims), f };
            let array = self.flat.bind(op, vec![(var.name.clone(), Type::array(dims, var.ty.element))])[0];
            self.define(var, Value { array, home, elements, ty: var.ty.element });
        }
    }

    /// The dimensions in which a way's result may have another extent than is declared, and what messages call that one.
    fn not_agreeing(&self, vars: &[Var], at: usize, way: &Way<'_>) -> Vec<(usize, String)> {
        let Some(block) = way.block else { return Vec::new() };
        let found = self.source_type(block.results[at]);
        vars[at]
            .ty
            .all_extents()
            .zip(found.all_extents())
            .enumerate()
            .filter(|(_, (declared, found))| {
                if **declared == Extent::Unknown {
                    return false;
                }
                let declared = match declared {
                    Extent::Value(id) => match vars.iter().position(|other| other.id == *id) {
                        Some(sibling) => Extent::Value(block.results[sibling]),
                        None => **declared,
                    },
                    other => **other,
                };
                self.sizes.equal(declared, **found) != fusebox_ir::analysis::Answer::Proved
            })
            .filter_map(|(dim, (&declared, _))| Some((dim, self.said(declared)?)))
            .collect()
    }
}
