//! Scalar code that is built, shared, folded and copied.

use super::*;
use crate::{ArrayId, Binary, ElementType, Lambda, Local, Place, ScalarOp, ScalarOperand, ScalarPart, Unary};

/// `|x| if x > 0 { (x + 1) * (x + 1) } else { (2 + 3) * x }`, as often as asked.
fn branches(mut f: LambdaBuilder, times: usize) -> Lambda {
    let x = f.param("x", ElementType::I64);
    let one = |f: &mut LambdaBuilder| {
        let positive = f.binary(Binary::Gt, x, 0i64);
        let then = |f: &mut LambdaBuilder| {
            let (a, b) = (f.add(x, 1i64), f.add(x, 1i64));
            vec![f.mul(a, b)]
        };
        let otherwise = |f: &mut LambdaBuilder| {
            let five = f.add(2i64, 3i64);
            vec![f.mul(five, x)]
        };
        f.branch(positive, then, otherwise)[0].operand
    };
    let results: Vec<ScalarOperand> = (0..times).map(|_| one(&mut f)).collect();
    f.finish_needed(&results)
}

/// How many instructions a function has, and how many the bodies of its branches.
fn counts(f: &Lambda) -> (usize, usize) {
    let bodies = f.instructions.iter().map(|instruction| match &instruction.op {
        ScalarOp::If { then, otherwise, .. } => then.instructions.len() + otherwise.instructions.len(),
        _ => 0,
    });
    (f.instructions.len(), bodies.sum())
}

#[test]
fn what_is_the_same_is_computed_once_where_that_was_asked() {
    assert_eq!(counts(&branches(LambdaBuilder::new(), 2)), (4, 10));
    assert_eq!(counts(&branches(LambdaBuilder::sharing(), 2)), (2, 4));
    assert_eq!(counts(&branches(LambdaBuilder::sharing().folding(), 2)), (2, 3));
}

#[test]
fn what_may_fail_or_is_not_exact_is_not_folded() {
    let mut f = LambdaBuilder::new().folding();
    let quotient = f.binary(Binary::Div, 1i64, 0i64);
    let exp = f.unary(Unary::Exp, 1f32);
    let sum = f.add(1i64, 2i64);
    assert_eq!(f.finish(&[quotient, exp, sum]).instructions.len(), 2);
}

#[test]
fn what_no_result_needs_goes() {
    let mut f = LambdaBuilder::new();
    let x = f.param("x", ElementType::F32);
    let unused = f.mul(x, x);
    let used = f.add(x, 1f32);
    let f = f.finish_needed(&[used.operand]);
    assert_eq!((f.instructions.len(), f.params.len()), (1, 1));
    assert!(f.instructions[0].results.iter().all(|local| ScalarOperand::Local(local.id) != unused.operand));
}

#[test]
fn a_function_is_copied_with_its_bodies_and_what_it_takes_from_outside() {
    /// Code in which every value from outside is another.
    struct Other(LambdaBuilder);

    impl Emit for Other {
        fn emit(&mut self, op: ScalarOp, results: &[Local], place: &Place) -> Vec<ScalarOperand> {
            self.0.emit(op, results, place)
        }
        fn open(&mut self, params: &[Local]) -> Vec<ScalarOperand> {
            self.0.open(params)
        }
        fn close(&mut self, results: Vec<ScalarOperand>) -> Lambda {
            self.0.close(results)
        }
        fn outer(&mut self, id: ArrayId) -> ScalarOperand {
            ScalarOperand::Outer(ArrayId(id.0 + 10))
        }
        fn array(&mut self, id: ArrayId) -> ArrayId {
            ArrayId(id.0 + 20)
        }
    }

    let f = Lambda::build(&[("x", ElementType::I64)], |f, p| {
        let size = ScalarValue::outer(ArrayId(1), ElementType::I64);
        let small = f.binary(Binary::Lt, p[0], size);
        f.branch(small, |f| vec![f.read(ArrayId(2), ElementType::F32, &[p[0]])], |_| vec![0f32.into()])
    });
    let mut code = Other(LambdaBuilder::new());
    let unused = code.0.param("", ElementType::I64);
    let x = code.0.param("", ElementType::I64);
    let results = inline(&mut code, &f, &[x.operand]);
    let copy = code.0.finish_needed(&results);
    let mut outer = Vec::new();
    copy.outer_uses(&mut |id| outer.push(id.0));
    outer.sort_unstable();
    assert_eq!(outer, [11, 22]);
    assert_eq!(counts(&copy), (2, 1));
    assert!(
        copy.instructions[0]
            .op
            .parts()
            .iter()
            .all(|part| !matches!(part, ScalarPart::Operand(of) if **of == unused.operand))
    );
}
