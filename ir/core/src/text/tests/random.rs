//! Random scalar code, in any order, of any shape: whatever is a valid list of instructions prints and parses to the same list.

use super::parse;
use crate::{
    ArrayId, ArrayOp, Binary, Binding, Block, Constant, ElementType, Extent, Instruction, Lambda, Local, LocalId, Name,
    Output, Place, Program, ScalarOp, ScalarOperand, Type, Unary, Var,
};

struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % end
    }

    fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())]
    }
}

use ElementType::{Bool, F16, F32, F64, I8, I32, I64, U8, U32};

const TYPES: [ElementType; 9] = [Bool, I8, U8, I32, U32, I64, F16, F32, F64];

struct Make {
    random: Random,
    next: u32,
    /// What can be used, innermost last.
    values: Vec<(ScalarOperand, ElementType)>,
    left: usize,
}

impl Make {
    fn constant(&mut self, ty: ElementType) -> ScalarOperand {
        let small = [
            0,
            1,
            2,
            0x80,
            0x7e01,
            0x7c00,
            0x3c00,
            0x7f80_0000,
            0xffc0_0000,
            0x3f80_0000,
            0x7fc0_0001,
            0x3ff0 << 48,
            0xfff0 << 48,
        ];
        let bits = if self.random.below(4) == 0 { self.random.0 } else { self.random.one_of(&small) };
        Constant::from_bits(ty, bits).into()
    }

    fn operand(&mut self, ty: ElementType) -> ScalarOperand {
        let known: Vec<_> = self.values.iter().filter(|(_, other)| *other == ty).map(|(operand, _)| *operand).collect();
        match self.random.below(5) {
            0 => self.constant(ty),
            // Mostly what was made last, so that some of it fits into expressions.
            1..=3 if !known.is_empty() => known[known.len() - 1 - self.random.below(known.len().min(3))],
            _ if !known.is_empty() => self.random.one_of(&known),
            _ => self.constant(ty),
        }
    }

    fn local(&mut self, ty: ElementType) -> Local {
        self.next += 1;
        let name = self.random.one_of(&["", "x", "y", "let", "x1", "a.b", "f32", "2"]);
        Local { id: LocalId(self.next - 1), ty, name: Name::from(name) }
    }

    fn integer(&mut self) -> ElementType {
        self.random.one_of(&[I8, U8, I32, U32, I64])
    }

    fn float(&mut self) -> ElementType {
        self.random.one_of(&[F16, F32, F64])
    }

    fn number(&mut self) -> ElementType {
        if self.random.below(2) == 0 { self.integer() } else { self.float() }
    }

    fn body(&mut self, params: &[ElementType], results: &[ElementType], length: usize, depth: u32) -> Lambda {
        let before = self.values.len();
        let params: Vec<_> = params.iter().map(|ty| self.local(*ty)).collect();
        self.values.extend(params.iter().map(|local| (local.id.into(), local.ty)));
        let mut instructions = Vec::new();
        for _ in 0..length {
            if self.left == 0 {
                break;
            }
            self.left -= 1;
            let instruction = self.instruction(depth);
            self.values.extend(instruction.results.iter().map(|local| (local.id.into(), local.ty)));
            instructions.push(instruction);
        }
        let results = results.iter().map(|ty| self.operand(*ty)).collect();
        self.values.truncate(before);
        Lambda { params, instructions, results }
    }

    fn instruction(&mut self, depth: u32) -> Instruction {
        let kind = self.random.below(if depth < 4 { 16 } else { 13 });
        let (op, types) = match kind {
            0 => {
                let (ty, function) = match self.random.below(4) {
                    0 => (Bool, Unary::Not),
                    1 => (self.number(), self.random.one_of(&[Unary::Neg, Unary::Abs, Unary::Sign])),
                    2 => (self.integer(), self.random.one_of(&[Unary::Complement, Unary::Clz])),
                    _ => (self.float(), self.random.one_of(&[Unary::Sqrt, Unary::Floor, Unary::IsNan, Unary::IsInf])),
                };
                let result = if matches!(function, Unary::IsNan | Unary::IsInf) { Bool } else { ty };
                (ScalarOp::Unary { function, a: self.operand(ty) }, vec![result])
            }
            1..=4 => {
                let ty = self.number();
                let function = self.random.one_of(&[
                    Binary::Add,
                    Binary::Sub,
                    Binary::Mul,
                    Binary::Div,
                    Binary::Rem,
                    Binary::Min,
                    Binary::Max,
                ]);
                (ScalarOp::Binary { function, a: self.operand(ty), b: self.operand(ty) }, vec![ty])
            }
            5 => {
                let ty = self.integer();
                let function =
                    self.random.one_of(&[Binary::And, Binary::Or, Binary::Xor, Binary::DivFloor, Binary::ModFloor]);
                (ScalarOp::Binary { function, a: self.operand(ty), b: self.operand(ty) }, vec![ty])
            }
            6 => {
                let (ty, amount) = (self.integer(), self.integer());
                let function = self.random.one_of(&[Binary::Shl, Binary::Shr, Binary::RotateLeft]);
                (ScalarOp::Binary { function, a: self.operand(ty), b: self.operand(amount) }, vec![ty])
            }
            7 => {
                let ty = self.random.one_of(&TYPES);
                let function = self.random.one_of(&[Binary::Eq, Binary::Lt, Binary::Ge]);
                (ScalarOp::Binary { function, a: self.operand(ty), b: self.operand(ty) }, vec![Bool])
            }
            8 => {
                let function = self.random.one_of(&[Binary::LogicalAnd, Binary::LogicalOr, Binary::And, Binary::Xor]);
                (ScalarOp::Binary { function, a: self.operand(Bool), b: self.operand(Bool) }, vec![Bool])
            }
            9 => {
                let ty = self.float();
                (ScalarOp::Fma { a: self.operand(ty), b: self.operand(ty), c: self.operand(ty) }, vec![ty])
            }
            10 => {
                let (from, to) = (self.random.one_of(&TYPES), self.random.one_of(&TYPES[1..]));
                (ScalarOp::Convert { to, a: self.operand(from) }, vec![to])
            }
            11 => {
                let (from, to) = self.random.one_of(&[(I32, F32), (F32, U32), (I64, F64), (F64, I64), (U8, I8)]);
                (ScalarOp::Bits { to, a: self.operand(from) }, vec![to])
            }
            12 => match self.random.below(3) {
                0 => (ScalarOp::Read { array: ArrayId(1), index: vec![self.operand(I64)] }, vec![F32]),
                1 => (ScalarOp::ReadFlat { array: ArrayId(1), position: self.operand(I64) }, vec![F32]),
                _ => {
                    let ty = self.random.one_of(&TYPES);
                    let condition = self.operand(Bool);
                    let shown = (0..self.random.below(3)).map(|_| self.operand(I64)).collect();
                    let (message, value) = ("\"\\\n{}".into(), self.operand(ty));
                    (ScalarOp::Assert { condition, message, shown, value }, vec![ty])
                }
            },
            13 | 14 => {
                let types: Vec<_> = (0..1 + self.random.below(3)).map(|_| self.random.one_of(&TYPES)).collect();
                let condition = self.operand(Bool);
                let (left, right) = (self.random.below(4), self.random.below(4));
                let then = self.body(&[], &types, left, depth + 1);
                let otherwise = self.body(&[], &types, right, depth + 1);
                (ScalarOp::If { condition, then, otherwise }, types)
            }
            _ => {
                let types: Vec<_> = (0..1 + self.random.below(3)).map(|_| self.random.one_of(&TYPES)).collect();
                let starts = types.iter().map(|ty| self.operand(*ty)).collect();
                let (left, right) = (self.random.below(3), self.random.below(4));
                let condition = self.body(&types, &[Bool], left, depth + 1);
                let step = self.body(&types, &types, right, depth + 1);
                (ScalarOp::While { condition, step, starts }, types)
            }
        };
        let results = types.into_iter().map(|ty| self.local(ty)).collect();
        Instruction { results, op, place: Place::default() }
    }
}

/// A program of one map, or of one piece of scalar code between operations.
fn program(seed: u64) -> Program {
    let mut make =
        Make { random: Random(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15)), next: 0, values: Vec::new(), left: 60 };
    let size = Var { id: ArrayId(0), ty: Type::scalar(I64), name: "n".into() };
    let array = Type::array(vec![Extent::Value(ArrayId(0))], F32);
    let inputs = [("a", array.clone()), ("s", Type::scalar(F32)), ("i", Type::scalar(I64)), ("x", Type::scalar(Bool))];
    let params: Vec<_> = inputs
        .into_iter()
        .enumerate()
        .map(|(k, (name, ty))| Var { id: ArrayId(k as u32 + 1), ty, name: name.into() })
        .collect();
    make.values = vec![
        (ScalarOperand::Outer(ArrayId(2)), F32),
        (ScalarOperand::Outer(ArrayId(3)), I64),
        (ScalarOperand::Outer(ArrayId(4)), Bool),
    ];
    let types: Vec<_> = (0..1 + make.random.below(3)).map(|_| make.random.one_of(&TYPES)).collect();
    let length = make.random.below(12);
    let (op, extents) = if make.random.below(2) == 0 {
        (ArrayOp::Unit { f: make.body(&[], &types, length, 0) }, vec![])
    } else {
        let f = make.body(&[F32], &types, length, 0);
        (ArrayOp::Map { f, sources: vec![ArrayId(1)] }, array.extents)
    };
    let var = |(k, ty): (usize, &ElementType)| Var {
        id: ArrayId(k as u32 + 5),
        ty: Type::array(extents.clone(), *ty),
        name: "x".into(),
    };
    let results: Vec<_> = types.iter().enumerate().map(var).collect();
    let outputs = results.iter().map(|var| Output { name: format!("r{}", var.id), ty: var.ty.clone() }).collect();
    let ids = results.iter().map(|var| var.id).collect();
    let binding = Binding { results, op, place: Place::default() };
    Program {
        name: "random".into(),
        body: Block { sizes: vec![size], params, bindings: vec![binding], results: ids },
        outputs,
    }
}

#[test]
fn random_scalar_code_prints_and_parses_to_the_same() {
    let quick = std::env::var_os("FUSEBOX_QUICK").is_some();
    let mut nested = 0;
    for seed in 0..if quick { 2_000 } else { 20_000 } {
        let program = program(seed);
        let printed = program.to_string();
        let again = parse(&printed).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{printed}"));
        assert!(
            again == program,
            "seed {seed}: printed as\n{printed}\nread as\n{:#?}\ninstead of\n{:#?}",
            again.body.bindings,
            program.body.bindings
        );
        assert_eq!(again.to_string(), printed, "seed {seed}");
        nested += usize::from(printed.contains("if ") && printed.contains("while("));
    }
    assert!(nested > 100, "only {nested} programs with branches and loops");
}
