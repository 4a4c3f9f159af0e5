//! Kernels and plans print for people.

use crate::{
    Access, Action, Association, Binary, Constant, DimBoundary, DimIndex, ElementType, Extent, Failure, FailureKind,
    IndexMap, Instruction, Kernel, KernelArray, KernelArrayId, KernelExtent, Lambda, Level, LevelOrder, Local, LocalId,
    Name, Operand, Output, Place, Plan, PlanValue, ScalarOp, ScalarOperand, ScatterOrder, Statement, Step, Type,
    ValueId,
};

const I64: ElementType = ElementType::I64;
const F32: ElementType = ElementType::F32;

fn local(id: u32, ty: ElementType, name: &str) -> Local {
    Local { id: LocalId(id), ty, name: Name::from(name) }
}

fn at(id: u32) -> ScalarOperand {
    LocalId(id).into()
}

fn dim(offset: i64, terms: &[(i64, u32)]) -> DimIndex {
    DimIndex {
        offset,
        terms: terms.iter().map(|(factor, id)| (*factor, LocalId(*id))).collect(),
        boundary: DimBoundary::None,
    }
}

fn map(dims: Vec<DimIndex>) -> IndexMap {
    IndexMap { dims, checked: false }
}

/// `|x, y| function(x, y)` with locals from `first` on.
fn combine(function: Binary, first: u32) -> Lambda {
    let op = ScalarOp::Binary { function, a: at(first), b: at(first + 1) };
    Lambda {
        params: vec![local(first, F32, "x"), local(first + 1, F32, "y")],
        instructions: vec![Instruction { results: vec![local(first + 2, F32, "")], op, place: Place::default() }],
        results: vec![at(first + 2)],
    }
}

fn row_sums() -> Kernel {
    let zero = ScalarOperand::Constant(Constant::from(0i64));
    let size = |id| KernelExtent::Size(LocalId(id));
    let array = |name: &str, element, extents: Vec<_>, access| KernelArray {
        name: name.into(),
        element,
        extents,
        access,
        in_place_of: None,
    };
    let product = ScalarOp::Binary { function: Binary::Mul, a: at(4), b: Constant::from(2f32).into() };
    Kernel {
        name: "sums".into(),
        sizes: vec![local(0, I64, "n"), local(1, I64, "m")],
        arrays: vec![
            array("a", F32, vec![size(0), size(1)], Access::Read),
            array("sums", F32, vec![size(0)], Access::Write),
            array("hist", F32, vec![KernelExtent::Constant(8)], Access::Update),
        ],
        levels: vec![
            Level { index: local(2, I64, "i"), from: zero, to: at(0), order: LevelOrder::Parallel },
            Level { index: local(3, I64, "k"), from: Constant::from(1i64).into(), to: at(1), order: LevelOrder::Up },
        ],
        statements: vec![
            Statement {
                depth: 2,
                when: None,
                operation: Default::default(),
                action: Action::Load {
                    result: local(4, F32, "x"),
                    array: KernelArrayId(0),
                    map: IndexMap {
                        dims: vec![
                            dim(0, &[(1, 2)]),
                            DimIndex { boundary: DimBoundary::Clamp, ..dim(-1, &[(2, 3), (-1, 2)]) },
                        ],
                        checked: true,
                    },
                    outside: None,
                    place: Place::default(),
                },
            },
            Statement {
                depth: 2,
                when: None,
                operation: Default::default(),
                action: Action::Scalar(Instruction {
                    results: vec![local(5, F32, "")],
                    op: product,
                    place: Place::default(),
                }),
            },
            Statement {
                depth: 2,
                when: Some(at(6)),
                operation: Default::default(),
                action: Action::Reduce {
                    results: vec![local(7, F32, "s")],
                    to: 1,
                    association: Association::InOrder,
                    combine: combine(Binary::Add, 8),
                    seeds: vec![Constant::from(0f32).into()],
                    values: vec![at(5)],
                },
            },
            Statement {
                depth: 1,
                when: None,
                operation: Default::default(),
                action: Action::Check {
                    condition: at(6),
                    failure: Failure {
                        operation: "fold `s`".into(),
                        place: Place::default(),
                        fault: FailureKind::Index {
                            array: "a".into(),
                            index: vec![at(2)],
                            extents: vec![at(0), at(1)],
                        },
                    },
                },
            },
            Statement {
                depth: 1,
                when: None,
                operation: Default::default(),
                action: Action::Store { array: KernelArrayId(1), map: map(vec![dim(0, &[(1, 2)])]), value: at(7) },
            },
            Statement {
                depth: 1,
                when: None,
                operation: Default::default(),
                action: Action::Scatter {
                    arrays: vec![KernelArrayId(2)],
                    map: map(vec![dim(3, &[])]),
                    combine: Lambda { results: vec![at(11)], ..combine(Binary::Max, 11) },
                    values: vec![at(7)],
                    order: ScatterOrder::Any,
                    place: Place::default(),
                },
            },
        ],
    }
}

#[test]
fn a_kernel() {
    insta::assert_snapshot!(row_sums(), @r"
    kernel sums (n, m) reads a: [n, m]f32 writes sums: [n]f32 updates hist: [8]f32 over i < n, k in 1..m up {
      2: x = load a[i, 2 * k - i - 1] (none, clamp) checked
      2: x1 = x * 2.0
      2: s = reduce(to 1, L 1, +, 0.0f32, x1) when %6
      1: check %6 else index [i] outside of a [n, m] in fold `s`
      1: store sums[i] = s
      1: scatter hist[3] with(any order, |x2, y| { let x3 = max(x2, y); return x2 }, s) }
    ");
}

#[test]
fn a_plan() {
    let value = |name: &str, ty| PlanValue { name: name.into(), ty };
    let vector = Type::array(vec![Extent::Value(ValueId(0))], F32);
    let plan = Plan {
        name: "p".into(),
        values: vec![
            value("n", Type::scalar(I64)),
            value("a", vector.clone()),
            value("b", vector.clone()),
            value("go", Type::scalar(ElementType::Bool)),
        ],
        sizes: vec![ValueId(0)],
        inputs: vec![ValueId(1)],
        kernels: vec![Kernel { levels: vec![], statements: vec![], arrays: vec![], ..row_sums() }],
        steps: vec![
            Step::Allocate {
                value: ValueId(2),
                in_place_of: None,
                operation: "map `b`".into(),
                place: Place::default(),
            },
            Step::While {
                state: vec![ValueId(2)],
                condition_steps: vec![Step::Launch {
                    kernel: 0,
                    sizes: vec![Extent::Value(ValueId(0)), Extent::Constant(3)],
                    arrays: vec![ValueId(1), ValueId(2)],
                }],
                condition: Operand::Value(ValueId(3)),
                body: vec![Step::Copy { value: ValueId(1), source: ValueId(2) }],
                next: vec![Operand::Value(ValueId(1))],
            },
            Step::Free { value: ValueId(1) },
        ],
        results: vec![ValueId(2)],
        outputs: vec![Output { name: "b".into(), ty: vector }],
    };
    insta::assert_snapshot!(plan, @r"
    plan p(a: [n]f32) with n -> b: [n]f32 {
      allocate b: [n]f32 for map `b`
      while b {
        launch 0 sums (n, 3; a, b)
        test go } do {
        a: [n]f32 = copy b
        next a }
      free a
      return b }
    0: kernel sums (n, m) {
      nothing }
    ");
}

#[test]
fn pieces_print_alone() {
    let program =
        super::parse("fn f(a: [n, 3]f32, k: i64) -> [n, 3]f32 { let b: [n, 3]f32 = map(|x| x * f32(k), a) return b }")
            .unwrap();
    let crate::ArrayOp::Map { f, .. } = &program.body.bindings[0].op else { panic!() };
    assert_eq!(f.to_string(), "|x| x * f32(a2)");
    assert_eq!(program.outputs[0].ty.to_string(), "[a0, 3]f32");
    insta::assert_snapshot!(program.body, @r"
    |a: [n, 3]f32, k: i64| {
      let b: [n, 3]f32 = map(|x| x * f32(k), a)
      return b }
    ");
}
