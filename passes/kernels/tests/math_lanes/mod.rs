//! Runs expanded instructions on many arguments at a time, so that functions can be tested on billions of them.
//!
//! An instruction is one loop over [`LANES`] values. Both bodies of an `if` run for all lanes and one result is selected; a `while` runs
//! until no lane is active. The meaning of each instruction is tested against `fusebox_ir::primitive`.
#![allow(dead_code)] // each test file uses a part

use fusebox_ir::{
    Binary, Constant, ElementType, Instruction, Lambda, LambdaBuilder, LocalId, Name, Place, ScalarOp, ScalarOperand,
    Unary,
};
use fusebox_kernels::math;

/// How many values an instruction computes at a time.
pub const LANES: usize = 1024;

/// One value per lane.
#[derive(Clone, Debug)]
pub enum Lanes {
    Bool(Vec<bool>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    U32(Vec<u32>),
    U64(Vec<u64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// A function expanded into instructions, with what it needs to run.
pub struct Machine {
    pub lambda: Lambda,
    values: Vec<Option<Lanes>>,
}

/// What a float type must tell a test.
pub trait Float: Copy + PartialEq + std::fmt::Debug + Send + 'static {
    const TYPE: ElementType;
    fn wrap(values: Vec<Self>) -> Lanes;
    fn unwrap(lanes: Lanes) -> Vec<Self>;
}
impl Float for f32 {
    const TYPE: ElementType = ElementType::F32;
    fn wrap(values: Vec<Self>) -> Lanes {
        Lanes::F32(values)
    }
    fn unwrap(lanes: Lanes) -> Vec<Self> {
        match lanes {
            Lanes::F32(values) => values,
            other => panic!("f32 expected: {other:?}"),
        }
    }
}
impl Float for f64 {
    const TYPE: ElementType = ElementType::F64;
    fn wrap(values: Vec<Self>) -> Lanes {
        Lanes::F64(values)
    }
    fn unwrap(lanes: Lanes) -> Vec<Self> {
        match lanes {
            Lanes::F64(values) => values,
            other => panic!("f64 expected: {other:?}"),
        }
    }
}

/// The code of a function of one operand.
pub fn unary(function: Unary, ty: ElementType) -> Machine {
    Machine::expanded(&[ty], |x, code| math::expand_unary(function, ty, x[0], &Place::default(), code))
        .unwrap_or_else(|| panic!("{} is not expanded", function.text()))
}

/// The code of a function of two operands.
pub fn binary(function: Binary, ty: ElementType) -> Machine {
    Machine::expanded(&[ty, ty], |x, code| math::expand_binary(function, ty, x[0], x[1], &Place::default(), code))
        .unwrap_or_else(|| panic!("{} is not expanded", function.text()))
}

impl Machine {
    /// The code as kernels have it.
    fn expanded(
        params: &[ElementType],
        expand: impl FnOnce(&[ScalarOperand], &mut LambdaBuilder) -> Option<ScalarOperand>,
    ) -> Option<Self> {
        let mut code = LambdaBuilder::sharing().folding();
        let params = code.params(params.iter().copied());
        let result = expand(&params, &mut code)?;
        let locals = code.next_local().index();
        Some(Self { lambda: code.finish(&[result]), values: vec![None; locals] })
    }

    /// The same with sums of products as `fma`, as `--contract` makes them: where a product is used nowhere else, the right operand's first.
    pub fn contracted(self) -> Self {
        let mut uses = vec![0; self.values.len()];
        let results = |lambda: &Lambda| lambda.results.clone();
        each_list(&self.lambda, &mut |lambda| {
            let operands = lambda.instructions.iter().flat_map(operands).chain(results(lambda));
            for operand in operands {
                if let ScalarOperand::Local(id) = operand {
                    uses[id.0 as usize] += 1;
                }
            }
        });
        let mut locals = uses.len() as u32;
        let lambda = contract(&self.lambda, &uses, &mut locals);
        Self { lambda, values: vec![None; locals as usize] }
    }

    /// A machine for a lambda with dense locals.
    pub fn of(lambda: Lambda, locals: usize) -> Self {
        Self { lambda, values: vec![None; locals] }
    }

    /// Results of [`LANES`] arguments.
    pub fn run<T: Float>(&mut self, arguments: &[&[T]]) -> Vec<T> {
        for (at, argument) in arguments.iter().enumerate() {
            assert_eq!(argument.len(), LANES);
            self.values[at] = Some(T::wrap(argument.to_vec()));
        }
        T::unwrap(self.evaluate())
    }

    /// The result for arguments put in by hand.
    pub fn run_lanes(&mut self, arguments: Vec<Lanes>) -> Lanes {
        for (at, argument) in arguments.into_iter().enumerate() {
            self.values[at] = Some(argument);
        }
        self.evaluate()
    }

    fn evaluate(&mut self) -> Lanes {
        let lambda = std::mem::take(&mut self.lambda);
        execute(&lambda.instructions, &mut self.values);
        let result = operand(lambda.results[0], &self.values);
        self.lambda = lambda;
        result
    }

    /// Results of any number of arguments.
    pub fn all<T: Float>(&mut self, arguments: &[&[T]]) -> Vec<T> {
        let length = arguments[0].len();
        let mut results = Vec::with_capacity(length + LANES);
        for start in (0..length).step_by(LANES) {
            let padded: Vec<Vec<T>> =
                arguments.iter().map(|a| (start..start + LANES).map(|at| a[at.min(length - 1)]).collect()).collect();
            let slices: Vec<&[T]> = padded.iter().map(Vec::as_slice).collect();
            results.extend(self.run(&slices));
        }
        results.truncate(length);
        results
    }

    /// Instructions outside and inside of bodies; selects and reinterpretations of bits count too.
    pub fn size(&self) -> (usize, usize) {
        fn inside(instructions: &[Instruction]) -> usize {
            instructions
                .iter()
                .map(|instruction| match &instruction.op {
                    ScalarOp::If { then, otherwise, .. } => count(then) + count(otherwise),
                    ScalarOp::While { condition, step, .. } => count(condition) + count(step),
                    _ => 0,
                })
                .sum()
        }
        fn count(lambda: &Lambda) -> usize {
            lambda.instructions.len() + inside(&lambda.instructions)
        }
        (self.lambda.instructions.len(), inside(&self.lambda.instructions))
    }
}

/// The operands of an instruction, without those of its bodies.
fn operands(instruction: &Instruction) -> Vec<ScalarOperand> {
    match &instruction.op {
        ScalarOp::Unary { a, .. } | ScalarOp::Convert { a, .. } | ScalarOp::Bits { a, .. } => vec![*a],
        ScalarOp::Binary { a, b, .. } => vec![*a, *b],
        ScalarOp::Fma { a, b, c } => vec![*a, *b, *c],
        ScalarOp::If { condition, .. } => vec![*condition],
        ScalarOp::While { starts, .. } => starts.clone(),
        other => panic!("functions are not made of {other:?}"),
    }
}

/// Calls `f` with a function and all bodies inside.
fn each_list(lambda: &Lambda, f: &mut dyn FnMut(&Lambda)) {
    f(lambda);
    for instruction in &lambda.instructions {
        match &instruction.op {
            ScalarOp::If { then: a, otherwise: b, .. } | ScalarOp::While { condition: a, step: b, .. } => {
                each_list(a, f);
                each_list(b, f);
            }
            _ => {}
        }
    }
}

fn contract(lambda: &Lambda, uses: &[u32], locals: &mut u32) -> Lambda {
    let mut done: Vec<Instruction> = Vec::new();
    for instruction in &lambda.instructions {
        let mut instruction = instruction.clone();
        let ty = instruction.results[0].ty;
        match &mut instruction.op {
            ScalarOp::If { then: a, otherwise: b, .. } | ScalarOp::While { condition: a, step: b, .. } => {
                *a = contract(a, uses, locals);
                *b = contract(b, uses, locals);
            }
            &mut ScalarOp::Binary { function, a: left, b: right }
                if ty.is_float() && matches!(function, Binary::Add | Binary::Sub) =>
            {
                let minus = function == Binary::Sub;
                let product = |operand: ScalarOperand| match operand {
                    ScalarOperand::Local(id) if uses[id.0 as usize] == 1 => {
                        done.iter().find(|made| made.results[0].id == id).and_then(|made| match made.op {
                            ScalarOp::Binary { function: Binary::Mul, a, b } => Some((a, b)),
                            _ => None,
                        })
                    }
                    _ => None,
                };
                let on_right = product(right);
                if let Some((mut a, b)) = on_right.or(product(left)) {
                    let mut c = if on_right.is_some() { left } else { right };
                    if minus {
                        // left - a b = (-a) b + left; a b - right = a b + (-right)
                        let negated = if on_right.is_some() { &mut a } else { &mut c };
                        let id = LocalId(*locals);
                        *locals += 1;
                        let results = vec![fusebox_ir::Local { id, ty, name: Name::default() }];
                        let op = ScalarOp::Unary { function: Unary::Neg, a: *negated };
                        done.push(Instruction { results, op, place: Default::default() });
                        *negated = id.into();
                    }
                    instruction.op = ScalarOp::Fma { a, b, c };
                }
            }
            _ => {}
        }
        done.push(instruction);
    }
    Lambda { params: lambda.params.clone(), instructions: done, results: lambda.results.clone() }
}

fn splat(constant: Constant) -> Lanes {
    let bits = constant.bits();
    match constant.ty() {
        ElementType::Bool => Lanes::Bool(vec![bits != 0; LANES]),
        ElementType::I32 => Lanes::I32(vec![bits as i32; LANES]),
        ElementType::I64 => Lanes::I64(vec![bits as i64; LANES]),
        ElementType::U32 => Lanes::U32(vec![bits as u32; LANES]),
        ElementType::U64 => Lanes::U64(vec![bits; LANES]),
        ElementType::F32 => Lanes::F32(vec![f32::from_bits(bits as u32); LANES]),
        ElementType::F64 => Lanes::F64(vec![f64::from_bits(bits); LANES]),
        ty => panic!("functions are not made of {ty}"),
    }
}

fn operand(operand: ScalarOperand, values: &[Option<Lanes>]) -> Lanes {
    match operand {
        ScalarOperand::Local(id) => values[id.0 as usize].clone().expect("defined before use"),
        ScalarOperand::Constant(constant) => splat(constant),
        ScalarOperand::Outer(_) => panic!("functions read no arrays"),
    }
}

fn execute(instructions: &[Instruction], values: &mut [Option<Lanes>]) {
    for instruction in instructions {
        let get = |a: &ScalarOperand| operand(*a, values);
        let results = match &instruction.op {
            ScalarOp::Unary { function, a } => vec![run_unary(*function, get(a))],
            ScalarOp::Binary { function, a, b } => vec![run_binary(*function, get(a), get(b))],
            ScalarOp::Fma { a, b, c } => vec![run_fma(get(a), get(b), get(c))],
            ScalarOp::Convert { to, a } => vec![run_convert(*to, get(a))],
            ScalarOp::Bits { to, a } => vec![run_bits(*to, get(a))],
            ScalarOp::If { condition, then, otherwise } => {
                let Lanes::Bool(condition) = get(condition) else { panic!("a condition is a bool") };
                // A slow path that no lane takes is skipped, which saves tests their time; its result would not be selected.
                if condition.contains(&true) {
                    execute(&then.instructions, values);
                } else {
                    for (result, value) in then.results.iter().zip(&instruction.results) {
                        if let ScalarOperand::Local(id) = result
                            && values[id.0 as usize].is_none()
                        {
                            values[id.0 as usize] = Some(splat(Constant::zero(value.ty)));
                        }
                    }
                }
                execute(&otherwise.instructions, values);
                let pairs = then.results.iter().zip(&otherwise.results);
                pairs.map(|(a, b)| run_select(&condition, operand(*a, values), operand(*b, values))).collect()
            }
            ScalarOp::While { condition, step, starts } => {
                let mut state: Vec<Lanes> = starts.iter().map(get).collect();
                loop {
                    let enter = |lambda: &Lambda, state: &[Lanes], values: &mut [Option<Lanes>]| -> Vec<Lanes> {
                        for (param, value) in lambda.params.iter().zip(state) {
                            values[param.id.0 as usize] = Some(value.clone());
                        }
                        execute(&lambda.instructions, values);
                        lambda.results.iter().map(|a| operand(*a, values)).collect()
                    };
                    let Lanes::Bool(active) = enter(condition, &state, values).remove(0) else {
                        panic!("a condition is a bool")
                    };
                    if !active.contains(&true) {
                        break state;
                    }
                    let next = enter(step, &state, values);
                    state = next.into_iter().zip(state).map(|(a, b)| run_select(&active, a, b)).collect();
                }
            }
            other => panic!("functions are not made of {other:?}"),
        };
        for (local, value) in instruction.results.iter().zip(results) {
            values[local.id.0 as usize] = Some(value);
        }
    }
}

fn map<A: Copy, R>(a: &[A], f: impl Fn(A) -> R) -> Vec<R> {
    a.iter().map(|&a| f(a)).collect()
}

fn zip<A: Copy, B: Copy, R>(a: &[A], b: &[B], f: impl Fn(A, B) -> R) -> Vec<R> {
    a.iter().zip(b).map(|(&a, &b)| f(a, b)).collect()
}

fn run_select(condition: &[bool], a: Lanes, b: Lanes) -> Lanes {
    fn choose<T: Copy>(condition: &[bool], a: &[T], b: &[T]) -> Vec<T> {
        condition.iter().zip(a.iter().zip(b)).map(|(&c, (&a, &b))| if c { a } else { b }).collect()
    }
    macro_rules! types {
        ($($ty:ident)*) => {
            match (&a, &b) {
                $((Lanes::$ty(a), Lanes::$ty(b)) => Lanes::$ty(choose(condition, a, b)),)*
                _ => panic!("a select of two types"),
            }
        };
    }
    types!(Bool I32 I64 U32 U64 F32 F64)
}

pub fn run_unary(function: Unary, a: Lanes) -> Lanes {
    macro_rules! float {
        ($ty:ident, $a:expr) => {
            Lanes::$ty(match function {
                Unary::Neg => map($a, |a| -a),
                Unary::Abs => map($a, |a| a.abs()),
                Unary::Sqrt => map($a, |a| a.sqrt()),
                Unary::Trunc => map($a, |a| a.trunc()),
                Unary::Floor => map($a, |a| a.floor()),
                Unary::Ceil => map($a, |a| a.ceil()),
                Unary::Round => map($a, |a| a.round_ties_even()),
                other => panic!("functions are not made of {other:?}"),
            })
        };
    }
    match (&a, function) {
        (Lanes::F32(a), _) => float!(F32, a),
        (Lanes::F64(a), _) => float!(F64, a),
        (Lanes::U32(a), Unary::Clz) => Lanes::U32(map(a, u32::leading_zeros)),
        (Lanes::U64(a), Unary::Clz) => Lanes::U64(map(a, |a| a.leading_zeros().into())),
        (Lanes::Bool(a), Unary::Not) => Lanes::Bool(map(a, |a| !a)),
        (Lanes::I32(a), Unary::Neg) => Lanes::I32(map(a, i32::wrapping_neg)),
        (Lanes::I64(a), Unary::Neg) => Lanes::I64(map(a, i64::wrapping_neg)),
        (a, function) => panic!("functions are not made of {function:?} of {a:?}"),
    }
}

pub fn run_binary(function: Binary, a: Lanes, b: Lanes) -> Lanes {
    macro_rules! compare {
        ($a:expr, $b:expr, $otherwise:expr) => {
            match function {
                Binary::Eq => Lanes::Bool(zip($a, $b, |a, b| a == b)),
                Binary::Ne => Lanes::Bool(zip($a, $b, |a, b| a != b)),
                Binary::Lt => Lanes::Bool(zip($a, $b, |a, b| a < b)),
                Binary::Le => Lanes::Bool(zip($a, $b, |a, b| a <= b)),
                Binary::Gt => Lanes::Bool(zip($a, $b, |a, b| a > b)),
                Binary::Ge => Lanes::Bool(zip($a, $b, |a, b| a >= b)),
                _ => $otherwise,
            }
        };
    }
    macro_rules! float {
        ($ty:ident, $a:expr, $b:expr) => {
            compare!(
                $a,
                $b,
                Lanes::$ty(match function {
                    Binary::Add => zip($a, $b, |a, b| a + b),
                    Binary::Sub => zip($a, $b, |a, b| a - b),
                    Binary::Mul => zip($a, $b, |a, b| a * b),
                    Binary::Div => zip($a, $b, |a, b| a / b),
                    other => panic!("functions are not made of {other:?}"),
                })
            )
        };
    }
    macro_rules! integer {
        ($ty:ident, $rust:ty, $a:expr, $b:expr) => {
            compare!(
                $a,
                $b,
                Lanes::$ty(match function {
                    Binary::Add => zip($a, $b, |a, b| a.wrapping_add(b)),
                    Binary::Sub => zip($a, $b, |a, b| a.wrapping_sub(b)),
                    Binary::Mul => zip($a, $b, |a, b| a.wrapping_mul(b)),
                    Binary::And => zip($a, $b, |a, b| a & b),
                    Binary::Or => zip($a, $b, |a, b| a | b),
                    Binary::Xor => zip($a, $b, |a, b| a ^ b),
                    Binary::Shl =>
                        zip($a, $b, |a, b| u32::try_from(b).ok().and_then(|b| a.checked_shl(b)).unwrap_or(0)),
                    Binary::Shr => zip($a, $b, |a, b| {
                        let most = <$rust>::BITS - 1;
                        let by = u32::try_from(b).unwrap_or(u32::MAX);
                        if by <= most { a >> by } else { a >> most >> 1 }
                    }),
                    other => panic!("functions are not made of {other:?}"),
                })
            )
        };
    }
    match (&a, &b) {
        (Lanes::F32(a), Lanes::F32(b)) => float!(F32, a, b),
        (Lanes::F64(a), Lanes::F64(b)) => float!(F64, a, b),
        (Lanes::U32(a), Lanes::U32(b)) => integer!(U32, u32, a, b),
        (Lanes::U64(a), Lanes::U64(b)) => integer!(U64, u64, a, b),
        (Lanes::I32(a), Lanes::I32(b)) => integer!(I32, i32, a, b),
        (Lanes::I64(a), Lanes::I64(b)) => integer!(I64, i64, a, b),
        (Lanes::Bool(a), Lanes::Bool(b)) => Lanes::Bool(match function {
            Binary::And => zip(a, b, |a, b| a & b),
            Binary::Or => zip(a, b, |a, b| a | b),
            Binary::Xor => zip(a, b, |a, b| a ^ b),
            other => panic!("functions are not made of {other:?}"),
        }),
        (a, b) => panic!("functions are not made of {function:?} of {a:?} and {b:?}"),
    }
}

fn run_fma(a: Lanes, b: Lanes, c: Lanes) -> Lanes {
    fn each<T: Copy>(a: &[T], b: &[T], c: &[T], f: impl Fn(T, T, T) -> T) -> Vec<T> {
        a.iter().zip(b.iter().zip(c)).map(|(&a, (&b, &c))| f(a, b, c)).collect()
    }
    match (&a, &b, &c) {
        (Lanes::F32(a), Lanes::F32(b), Lanes::F32(c)) => Lanes::F32(each(a, b, c, f32::mul_add)),
        (Lanes::F64(a), Lanes::F64(b), Lanes::F64(c)) => Lanes::F64(each(a, b, c, f64::mul_add)),
        other => panic!("an fma of {other:?}"),
    }
}

fn run_convert(to: ElementType, a: Lanes) -> Lanes {
    macro_rules! to {
        ($a:expr) => {
            match to {
                ElementType::I32 => Lanes::I32(map($a, |a| a as i32)),
                ElementType::I64 => Lanes::I64(map($a, |a| a as i64)),
                ElementType::U32 => Lanes::U32(map($a, |a| a as u32)),
                ElementType::U64 => Lanes::U64(map($a, |a| a as u64)),
                ElementType::F32 => Lanes::F32(map($a, |a| a as f32)),
                ElementType::F64 => Lanes::F64(map($a, |a| a as f64)),
                ty => panic!("functions are not made of {ty}"),
            }
        };
    }
    match &a {
        Lanes::I32(a) => to!(a),
        Lanes::I64(a) => to!(a),
        Lanes::U32(a) => to!(a),
        Lanes::U64(a) => to!(a),
        Lanes::F32(a) => to!(a),
        Lanes::F64(a) => to!(a),
        Lanes::Bool(_) => panic!("functions convert no bool"),
    }
}

fn run_bits(to: ElementType, a: Lanes) -> Lanes {
    let wide: Vec<u64> = match &a {
        Lanes::I32(a) => map(a, |a| u64::from(a as u32)),
        Lanes::I64(a) => map(a, |a| a as u64),
        Lanes::U32(a) => map(a, u64::from),
        Lanes::U64(a) => a.clone(),
        Lanes::F32(a) => map(a, |a| u64::from(a.to_bits())),
        Lanes::F64(a) => map(a, f64::to_bits),
        Lanes::Bool(_) => panic!("a bool has no bits to reinterpret"),
    };
    match to {
        ElementType::I32 => Lanes::I32(map(&wide, |a| a as i32)),
        ElementType::I64 => Lanes::I64(map(&wide, |a| a as i64)),
        ElementType::U32 => Lanes::U32(map(&wide, |a| a as u32)),
        ElementType::U64 => Lanes::U64(wide),
        ElementType::F32 => Lanes::F32(map(&wide, |a| f32::from_bits(a as u32))),
        ElementType::F64 => Lanes::F64(map(&wide, f64::from_bits)),
        ty => panic!("functions are not made of {ty}"),
    }
}
