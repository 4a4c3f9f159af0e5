//! Kernels and plans: valid ones come back from JSON, broken ones are refused with the right message.

use fusebox_ir::{
    Access, Action, ArrayId, Association, Binary, Constant, DimBoundary, DimIndex, ElementType, Extent, IndexMap,
    Instruction, Kernel, KernelArray, KernelExtent, Lambda, Level, LevelOrder, Local, LocalId, Operand, Output, Place,
    Plan, PlanValue, ScalarOp, ScalarOperand, Statement, Step, Type,
    json::{kernel_from_json, kernel_to_json, plan_from_json, plan_to_json},
    validate_kernel, validate_plan,
};

const F32: ElementType = ElementType::F32;
const I64: ElementType = ElementType::I64;

fn local(id: u32, ty: ElementType) -> Local {
    Local { id: LocalId(id), ty, name: "".into() }
}

fn operand(id: u32) -> ScalarOperand {
    LocalId(id).into()
}

fn at(depth: u32, action: Action) -> Statement {
    Statement { depth, when: None, operation: fusebox_ir::Name::default(), action }
}

fn map(locals: &[u32]) -> IndexMap {
    let dim = |&id| DimIndex { offset: 0, terms: vec![(1, LocalId(id))], boundary: DimBoundary::None };
    IndexMap { dims: locals.iter().map(dim).collect(), checked: false }
}

fn binary(result: u32, ty: ElementType, function: Binary, a: u32, b: u32) -> Instruction {
    let op = ScalarOp::Binary { function, a: operand(a), b: operand(b) };
    Instruction { results: vec![local(result, ty)], op, place: Place::default() }
}

/// `s = Σ x[i]²`: a load, a product, a sum, a store.
fn squares() -> Kernel {
    let array =
        |name: &str, extents, access| KernelArray { name: name.to_owned(), element: F32, extents, access, over: None };
    let sum = Lambda {
        params: vec![local(4, F32), local(5, F32)],
        instructions: vec![binary(6, F32, Binary::Add, 4, 5)],
        results: vec![operand(6)],
    };
    Kernel {
        name: "fold `s`".into(),
        sizes: vec![local(0, I64)],
        arrays: vec![array("x", vec![KernelExtent::Size(LocalId(0))], Access::Read), array("s", vec![], Access::Write)],
        levels: vec![Level {
            index: local(1, I64),
            from: Constant::from(0i64).into(),
            to: operand(0),
            order: LevelOrder::Up,
        }],
        statements: vec![
            at(
                1,
                Action::Load {
                    result: local(2, F32),
                    array: ArrayId(0),
                    map: map(&[1]),
                    outside: None,
                    place: Place::default(),
                },
            ),
            at(1, Action::Scalar(binary(3, F32, Binary::Mul, 2, 2))),
            at(
                1,
                Action::Reduce {
                    results: vec![local(7, F32)],
                    to: 0,
                    association: Association::Interleaved { lanes: 64 },
                    combine: sum,
                    seeds: vec![Constant::from(0f32).into()],
                    values: vec![operand(3)],
                },
            ),
            at(0, Action::Store { array: ArrayId(1), map: map(&[]), value: operand(7) }),
        ],
    }
}

fn plan() -> Plan {
    let value = |name: &str, ty| PlanValue { name: name.to_owned(), ty };
    Plan {
        name: "f".to_owned(),
        values: vec![
            value("n", Type::scalar(I64)),
            value("x", Type::array(vec![Extent::Value(ArrayId(0))], F32)),
            value("s", Type::scalar(F32)),
        ],
        sizes: vec![ArrayId(0)],
        inputs: vec![ArrayId(1)],
        kernels: vec![squares()],
        steps: vec![
            Step::Allocate { value: ArrayId(2), over: None, operation: "fold `s`".to_owned(), place: Place::default() },
            Step::Launch { kernel: 0, sizes: vec![Extent::Value(ArrayId(0))], arrays: vec![ArrayId(1), ArrayId(2)] },
        ],
        results: vec![ArrayId(2)],
        outputs: vec![Output { name: "s".to_owned(), ty: Type::scalar(F32) }],
    }
}

#[test]
fn valid_ones_come_back() {
    assert_eq!(kernel_from_json(&kernel_to_json(&squares())).expect("a valid kernel"), squares());
    assert_eq!(plan_from_json(&plan_to_json(&plan())).expect("a valid plan"), plan());
}

#[track_caller]
fn kernel_refused(breaking: impl FnOnce(&mut Kernel), expected: &str) {
    let mut kernel = squares();
    breaking(&mut kernel);
    let errors = validate_kernel(&kernel).expect_err("a broken kernel");
    assert_eq!(errors.errors[0].to_string(), expected);
}

#[test]
fn broken_kernels_are_refused() {
    kernel_refused(
        |k| k.levels[0].index.id = LocalId(9),
        "levels[0]: local %9 is defined where %1 is next: ids are dense in order of definition",
    );
    kernel_refused(|k| k.sizes[0].ty = F32, "sizes[0]: a size is of f32, and i64 is wanted");
    kernel_refused(
        |k| k.levels[0].to = operand(2),
        "statements[0]: `to` of level 0 uses %2, which is not defined before it in this function or one around it",
    );
    kernel_refused(|k| k.statements[0].depth = 2, "statements[0]: depth 2 of a kernel of 1 levels");
    kernel_refused(
        |k| k.statements[0].depth = 0,
        "statements[0]: a term of dimension 0 uses %1, which is not defined before it in this function or one around it",
    );
    kernel_refused(
        |k| k.statements[3].depth = 1,
        "statements[3]: the value of a store uses %7, which is not defined before it in this function or one around it",
    );
    kernel_refused(
        |k| k.arrays[0].access = Access::Write,
        "statements[0]: the array of a load is `x`, whose access is write, and read is wanted",
    );
    kernel_refused(|k| k.arrays[0].element = I64, "statements[0]: the result of a load is of f32, and i64 is wanted");
    kernel_refused(|k| k.arrays[0].extents.clear(), "statements[0]: dimensions of the map: 1 given, and 0 wanted");
    kernel_refused(
        |k| k.statements[1].when = Some(Constant::from(true).into()),
        "statements[1]: a scalar instruction has no `when`",
    );
    kernel_refused(|k| k.statements[2].when = Some(operand(3)), "statements[2]: `when` is of f32, and bool is wanted");
    kernel_refused(
        |k| {
            let again = k.statements[0].clone();
            k.statements.push(again);
        },
        "statements[4]: a statement of depth 1 after one of depth 0: levels do not branch, so what is deeper is contiguous",
    );
    kernel_refused(
        |k| {
            let Action::Reduce { association, .. } = &mut k.statements[2].action else { return };
            *association = Association::Interleaved { lanes: 48 };
        },
        "statements[2]: 48 lanes are no power of two",
    );
    kernel_refused(
        |k| {
            let Action::Reduce { to, .. } = &mut k.statements[2].action else { return };
            *to = 1;
        },
        "statements[2]: a reduce at depth 1 to depth 1: results are of a depth around it",
    );
    kernel_refused(
        |k| {
            let Action::Scalar(instruction) = &mut k.statements[1].action else { return };
            instruction.op = ScalarOp::Read { array: ArrayId(0), index: vec![operand(1)] };
        },
        "statements[1]: a read of `x` that stands alone is a load",
    );
    kernel_refused(
        |k| {
            let Action::Scalar(instruction) = &mut k.statements[1].action else { return };
            instruction.op = ScalarOp::Unary { function: fusebox_ir::Unary::Exp, a: operand(2) };
        },
        "statements[1]: `exp` is not expanded",
    );
    kernel_refused(
        |k| {
            let Action::Store { value, .. } = &mut k.statements[3].action else { return };
            *value = ScalarOperand::Outer(ArrayId(0));
        },
        "statements[3]: the value of a store is value a0 from outside: in kernels scalars are loaded",
    );
}

#[track_caller]
fn plan_refused(breaking: impl FnOnce(&mut Plan), expected: &str) {
    let mut plan = plan();
    breaking(&mut plan);
    let errors = validate_plan(&plan).expect_err("a broken plan");
    assert_eq!(errors.errors[0].to_string(), expected);
}

#[test]
fn broken_plans_are_refused() {
    plan_refused(|p| _ = p.steps.remove(0), "steps[0]: an array of a launch is `s`, which is not made here");
    plan_refused(|p| p.steps.push(p.steps[0].clone()), "steps[2]: `s` is made again: each value is made once");
    plan_refused(
        |p| p.steps.push(p.steps[1].clone()),
        "steps[2].arrays[1]: `s` is written again: each value is written once",
    );
    plan_refused(|p| p.results[0] = ArrayId(7), "results[0]: result `s` is a7, and the plan has 3 values");
    plan_refused(|p| p.kernels.clear(), "steps[1]: kernel 0 of 0");
    plan_refused(|p| p.kernels[0].statements[0].depth = 2, "kernels[0].statements[0]: depth 2 of a kernel of 1 levels");
    plan_refused(|p| p.values[2].ty = Type::scalar(I64), "steps[1].arrays[1]: `s` is of i64, and f32 is wanted");
    plan_refused(
        |p| p.steps.push(Step::Free { value: ArrayId(2) }),
        "results[0]: result `s` is `s`, which is not made here",
    );
    plan_refused(
        |p| {
            let alias =
                |value, source| Step::Alias { value, source, operation: String::new(), place: Place::default() };
            p.values.push(PlanValue { name: "t".to_owned(), ty: Type::scalar(F32) });
            p.steps.push(Step::If {
                condition: Operand::Constant(true.into()),
                then: vec![alias(ArrayId(3), Operand::Value(ArrayId(2)))],
                otherwise: Vec::new(),
                results: vec![ArrayId(3)],
            });
        },
        "steps[2]: a result of a branch is `t`, which is not made here",
    );
}
