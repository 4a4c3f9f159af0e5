//! Combining functions, with the values and seeds that they combine.

use ElementType::{Bool, F32, F64, I32, I64, U8};
use fusebox_ir::{
    Binary, Constant, ElementType, Instruction, Lambda, Local, LocalId, Place, ScalarOp, ScalarOperand, primitive,
};

use super::Draw;

impl Draw {
    /// A combining function of some types; whether it commutes, and whether it rounds.
    pub(super) fn function(&mut self) -> (Lambda, Vec<ElementType>, bool, bool) {
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

    pub(super) fn values(&mut self, types: &[ElementType]) -> Vec<ScalarOperand> {
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

    #[allow(clippy::type_complexity)] // the parts of one statement
    pub(super) fn combination(
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
}
