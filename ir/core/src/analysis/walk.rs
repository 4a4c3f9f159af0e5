//! One walk over scalar code for every question about its values: intervals, sizes, forms in the indices, what is the same in all lanes.
//!
//! A [`Domain`] says what is known of a value and how instructions change that; the walk does branches and loops. Source of the method:
//! Cousot and Cousot, "Abstract interpretation: a unified lattice model for static analysis of programs", POPL 1977.

use std::collections::HashMap;

use crate::{ArrayId, Constant, ElementType, Instruction, Lambda, LocalId, ScalarOp, ScalarOperand, ScalarPart};

/// What is known of scalars, and how.
pub trait Domain {
    /// What is known of one scalar.
    type Value: Clone;

    /// What is known of a constant.
    fn constant(&mut self, constant: Constant) -> Self::Value;

    /// What is known of a value from outside of the function.
    fn outer(&mut self, id: ArrayId) -> Self::Value;

    /// What is known of a local that the walk has not met.
    ///
    /// # Panics
    /// By default: the walk was not started where the code starts.
    fn free(&mut self, id: LocalId) -> Self::Value {
        panic!("{id} is used before it was met")
    }

    /// What is known of the result of an instruction that holds no bodies. `operands` are in printing order, without the array of a read.
    fn instruction(&mut self, instruction: &Instruction, operands: &[Self::Value]) -> Self::Value;

    /// What is known of a scalar of type `ty` that is one of two, as a condition decides.
    fn either(
        &mut self,
        condition: &Self::Value,
        then: &Self::Value,
        otherwise: &Self::Value,
        ty: ElementType,
    ) -> Self::Value;

    /// What is known of a state of a loop that may be what it was before a turn, or what it is after it; `None` where that is what is known
    /// before. A chain of such answers has to end, as the walk goes on until there is none.
    fn widened(&mut self, before: &Self::Value, after: &Self::Value, ty: ElementType) -> Option<Self::Value>;

    /// What is known of a state when the loop has ended; `condition` is what is known of its condition, whatever the turn.
    fn ended(&mut self, condition: &Self::Value, state: Self::Value, ty: ElementType) -> Self::Value {
        let _ = (condition, ty);
        state
    }
}

/// A walk, and what it has found out of locals.
#[derive(Clone, Debug)]
pub struct Walk<D: Domain> {
    /// The domain.
    pub domain: D,
    values: HashMap<LocalId, D::Value>,
    /// How many loops are around.
    depth: usize,
    /// What the last walk of a loop found of its states, by the first parameter of its step: only while a loop is around, whose next turn
    /// walks it again.
    before: HashMap<LocalId, Vec<D::Value>>,
}

/// What is known where a loop stands.
#[derive(Clone, Debug)]
pub struct Loop<V> {
    /// Of its condition, whatever the turn.
    pub condition: V,
    /// Of its states, before any turn and after the last.
    pub states: Vec<V>,
}

impl<D: Domain> Walk<D> {
    /// Nothing is known yet.
    pub fn new(domain: D) -> Self {
        Self { domain, values: HashMap::new(), depth: 0, before: HashMap::new() }
    }

    /// Says what is known of a local.
    pub fn set(&mut self, id: LocalId, value: D::Value) {
        self.values.insert(id, value);
    }

    /// What is known of a local, if it has been met.
    pub fn get(&self, id: LocalId) -> Option<&D::Value> {
        self.values.get(&id)
    }

    /// What is known of an operand.
    pub fn operand(&mut self, operand: ScalarOperand) -> D::Value {
        match operand {
            ScalarOperand::Local(id) => match self.values.get(&id) {
                Some(value) => value.clone(),
                None => self.domain.free(id),
            },
            ScalarOperand::Constant(constant) => self.domain.constant(constant),
            ScalarOperand::Outer(id) => self.domain.outer(id),
        }
    }

    /// Walks a function, of whose parameters that much is known; gives what is known of its results.
    pub fn function(&mut self, f: &Lambda, arguments: &[D::Value]) -> Vec<D::Value> {
        debug_assert_eq!(f.params.len(), arguments.len());
        for (param, argument) in f.params.iter().zip(arguments) {
            self.values.insert(param.id, argument.clone());
        }
        for instruction in &f.instructions {
            self.instruction(instruction);
        }
        f.results.iter().map(|&result| self.operand(result)).collect()
    }

    /// Walks an instruction, and notes what is known of its results.
    pub fn instruction(&mut self, instruction: &Instruction) {
        let results: Vec<D::Value> = match &instruction.op {
            ScalarOp::If { condition, then, otherwise } => {
                let condition = self.operand(*condition);
                let (then, otherwise) = (self.function(then, &[]), self.function(otherwise, &[]));
                let sides = then.iter().zip(&otherwise).zip(&instruction.results);
                sides.map(|((a, b), local)| self.domain.either(&condition, a, b, local.ty)).collect()
            }
            ScalarOp::While { condition, step, starts } => {
                let starts = starts.iter().map(|&start| self.operand(start)).collect();
                let found = self.repeat(condition, step, starts);
                let states = found.states.into_iter().zip(&instruction.results);
                states.map(|(state, local)| self.domain.ended(&found.condition, state, local.ty)).collect()
            }
            op => {
                let operands: Vec<ScalarOperand> = op
                    .parts()
                    .into_iter()
                    .filter_map(|part| match part {
                        ScalarPart::Operand(operand) => Some(*operand),
                        ScalarPart::Array(_) | ScalarPart::Body(_) => None,
                    })
                    .collect();
                let operands: Vec<D::Value> = operands.into_iter().map(|operand| self.operand(operand)).collect();
                // Only what holds bodies has several results.
                vec![self.domain.instruction(instruction, &operands)]
            }
        };
        self.values.extend(instruction.results.iter().map(|local| local.id).zip(results));
    }

    /// Walks a loop until a turn tells nothing new.
    ///
    /// A loop inside of a loop is walked again for each turn of that one. It goes on from what it found the last time, widened by what its
    /// starts are now. So its states change no more often in all walks than in one, and the walk of loops in loops takes a number of turns
    /// that is at most the depth times the sum of these changes, and not their product.
    pub fn repeat(&mut self, condition: &Lambda, step: &Lambda, starts: Vec<D::Value>) -> Loop<D::Value> {
        let key = step.params.first().map(|param| param.id);
        let mut states = match key.and_then(|key| self.before.remove(&key)) {
            Some(mut before) => {
                self.widen(&mut before, &starts, step);
                before
            }
            None => starts,
        };
        self.depth += 1;
        let holds = loop {
            let holds = self.function(condition, &states).swap_remove(0);
            let next = self.function(step, &states);
            if !self.widen(&mut states, &next, step) {
                break holds;
            }
        };
        self.depth -= 1;
        if self.depth == 0 {
            self.before.clear();
        } else if let Some(key) = key {
            self.before.insert(key, states.clone());
        }
        Loop { condition: holds, states }
    }

    /// Widens what is known of the states of a loop by what they may be too; says whether that is more.
    fn widen(&mut self, states: &mut [D::Value], after: &[D::Value], step: &Lambda) -> bool {
        let mut changed = false;
        for ((state, after), param) in states.iter_mut().zip(after).zip(&step.params) {
            if let Some(wider) = self.domain.widened(state, after, param.ty) {
                (*state, changed) = (wider, true);
            }
        }
        changed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ArrayOp, Binary, text};

    /// What is known is which parameters a value may depend on.
    #[derive(Default)]
    struct Depends {
        /// How many instructions were walked.
        walked: usize,
    }

    impl Domain for Depends {
        type Value = Vec<usize>;

        fn constant(&mut self, _: Constant) -> Vec<usize> {
            Vec::new()
        }
        fn outer(&mut self, _: ArrayId) -> Vec<usize> {
            Vec::new()
        }
        fn instruction(&mut self, instruction: &Instruction, operands: &[Vec<usize>]) -> Vec<usize> {
            self.walked += 1;
            // `x - x` is told apart, so that the order of operands is seen.
            match &instruction.op {
                ScalarOp::Binary { function: Binary::Sub, a, b } if a == b => Vec::new(),
                _ => union(operands),
            }
        }
        fn either(&mut self, c: &Vec<usize>, a: &Vec<usize>, b: &Vec<usize>, _: ElementType) -> Vec<usize> {
            union(&[c.clone(), a.clone(), b.clone()])
        }
        fn widened(&mut self, before: &Vec<usize>, after: &Vec<usize>, _: ElementType) -> Option<Vec<usize>> {
            let both = union(&[before.clone(), after.clone()]);
            (both != *before).then_some(both)
        }
        fn ended(&mut self, condition: &Vec<usize>, state: Vec<usize>, _: ElementType) -> Vec<usize> {
            union(&[condition.clone(), state])
        }
    }

    fn union(sets: &[Vec<usize>]) -> Vec<usize> {
        let mut all: Vec<usize> = sets.iter().flatten().copied().collect();
        all.sort_unstable();
        all.dedup();
        all
    }

    fn walk(f: &str) -> (Vec<usize>, usize) {
        let source =
            format!("fn f(a: [n]i64, b: [n]i64, c: [n]i64) -> [n]i64 {{ let r: [n]i64 = map({f}, a, b, c) return r }}");
        let program = text::parse(&source).unwrap_or_else(|error| panic!("{error}"));
        let ArrayOp::Map { f, .. } = &program.body.bindings[0].op else { panic!("a map") };
        let arguments: Vec<Vec<usize>> = (0..3).map(|param| vec![param]).collect();
        let mut walk = Walk::new(Depends::default());
        (walk.function(f, &arguments).swap_remove(0), walk.domain.walked)
    }

    fn depends(f: &str) -> Vec<usize> {
        walk(f).0
    }

    #[test]
    fn instructions_branches_and_loops_are_followed() {
        assert_eq!(depends("|x, y, z| x + 2 * y"), [0, 1]);
        assert_eq!(depends("|x, y, z| (x - x) + z"), [2]);
        assert_eq!(depends("|x, y, z| if x > 0 { y } else { 3i64 }"), [0, 1]);
        // The second state takes the first, which takes `z`: two turns until nothing changes.
        let both = "|x, y, z| {
            let i, p, q = while(|i: i64, p: i64, q: i64| i < 9, |i: i64, p: i64, q: i64| { return i + 1, z, p }, x, 0i64, 0i64)
            return q }";
        assert_eq!(depends(both), [0, 2]);
    }

    /// Loops in loops, each of which starts from little, so that each walk of one takes some turns.
    fn nested(depth: usize) -> String {
        let mut body = "return p + 1, q, r }".to_owned();
        for level in 0..depth {
            let state = "p: i64, q: i64, r: i64";
            body = format!(
                "let a{level}, b{level}, c{level} = while(|{state}| p < 9, |{state}| {{ {body}, p, 0i64, 0i64)
                 return b{level} + q, c{level} + r, a{level} + z }}"
            );
        }
        let outermost = body.rfind("return").map_or("", |end| &body[..end]);
        let last = depth - 1;
        format!("|x, y, z| {{ let p = x {outermost} return a{last} + b{last} + c{last} }}")
    }

    #[test]
    fn loops_in_loops_take_no_product_of_turns() {
        let counts: Vec<usize> = [3, 6, 12].into_iter().map(|depth| walk(&nested(depth)).1).collect();
        assert_eq!(walk(&nested(12)).0, [0, 2]);
        // About the square of the depth: each level is walked as often as that around it, and a few times more. The product would be 2^12.
        assert!(counts[1] <= 4 * counts[0] && counts[2] <= 4 * counts[1], "{counts:?}");
    }

    #[test]
    fn a_loop_that_is_walked_again_forgets_nothing_of_its_starts() {
        // The inner loop starts from `z` only in the second turn of the outer one.
        let both = "|x, y, z| {
            let i, p = while(|i: i64, p: i64| i < 9, |i: i64, p: i64| {
              let j, q = while(|j: i64, q: i64| j < 9, |j: i64, q: i64| { return j + 1, q }, 0i64, p)
              return i + 1, q + z }, x, y)
            return p }";
        assert_eq!(depends(both), [0, 1, 2]);
    }
}
