//! Kernels and plans: valid ones come back from JSON, broken ones are refused with the right message.

use fusebox_ir::{
    Access, Action, ArrayId, Association, Binary, Constant, DimBoundary, DimIndex, ElementType, Extent, IndexMap,
    Instruction, Kernel, KernelArray, KernelArrayId, KernelExtent, Lambda, Level, LevelOrder, Local, LocalId, Operand,
    Output, Place, Plan, PlanValue, ScalarOp, ScalarOperand, Statement, Step, Type, ValueId,
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
    let array = |name: &str, extents, access| KernelArray {
        name: name.to_owned(),
        element: F32,
        extents,
        access,
        in_place_of: None,
    };
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
                    array: KernelArrayId(0),
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
            at(0, Action::Store { array: KernelArrayId(1), map: map(&[]), value: operand(7) }),
        ],
    }
}

fn plan() -> Plan {
    let value = |name: &str, ty| PlanValue { name: name.to_owned(), ty };
    Plan {
        name: "f".to_owned(),
        values: vec![
            value("n", Type::scalar(I64)),
            value("x", Type::array(vec![Extent::Value(ValueId(0))], F32)),
            value("s", Type::scalar(F32)),
        ],
        sizes: vec![ValueId(0)],
        inputs: vec![ValueId(1)],
        kernels: vec![squares()],
        steps: vec![
            Step::Allocate {
                value: ValueId(2),
                in_place_of: None,
                operation: "fold `s`".to_owned(),
                place: Place::default(),
            },
            Step::Launch { kernel: 0, sizes: vec![Extent::Value(ValueId(0))], arrays: vec![ValueId(1), ValueId(2)] },
        ],
        results: vec![ValueId(2)],
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
    // Which elements are there already would depend on the schedule.
    let read = || ScalarOp::Read { array: ArrayId(1), index: Vec::new() };
    let as_op = |k: &mut Kernel, op: ScalarOp| {
        let Action::Scalar(instruction) = &mut k.statements[1].action else { panic!("{k}") };
        instruction.op = op;
    };
    let refused = "statements[1]: an array that code reads is `s`, whose access is write, and read is wanted";
    kernel_refused(|k| as_op(k, read()), refused);
    kernel_refused(
        |k| {
            let condition = Constant::from(true).into();
            let instruction = Instruction { results: vec![local(9, F32)], op: read(), place: Place::default() };
            let then = Lambda { params: Vec::new(), instructions: vec![instruction], results: vec![operand(9)] };
            let otherwise = Lambda { params: Vec::new(), instructions: Vec::new(), results: vec![operand(2)] };
            as_op(k, ScalarOp::If { condition, then, otherwise });
        },
        refused,
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
        "statements[2]: 48 lanes are no power of two of 4096 at most",
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
fn files_may_say_shorten() {
    let step = Step::Truncate { value: ValueId(4), source: ValueId(2) };
    let json = serde_json::to_string(&step).expect("a step");
    let older = json.replace("\"truncate\"", "\"shorten\"");
    assert_ne!(json, older);
    assert_eq!(serde_json::from_str::<Step>(&older).expect("an older spelling"), step);
}

#[test]
fn broken_plans_are_refused() {
    plan_refused(|p| _ = p.steps.remove(0), "steps[0]: an array of a launch is `s`, which is not made here");
    plan_refused(|p| p.steps.push(p.steps[0].clone()), "steps[2]: `s` is made again: each value is made once");
    plan_refused(
        |p| p.steps.push(p.steps[1].clone()),
        "steps[2].arrays[1]: `s` is written again: each value is written once",
    );
    plan_refused(|p| p.results[0] = ValueId(7), "results[0]: result `s` is a7, and the plan has 3 values");
    plan_refused(|p| p.kernels.clear(), "steps[1]: kernel 0 of 0");
    plan_refused(|p| p.kernels[0].statements[0].depth = 2, "kernels[0].statements[0]: depth 2 of a kernel of 1 levels");
    plan_refused(|p| p.values[2].ty = Type::scalar(I64), "steps[1].arrays[1]: `s` is of i64, and f32 is wanted");
    plan_refused(
        |p| p.steps.push(Step::Free { value: ValueId(2) }),
        "results[0]: result `s` is `s`, which is not made here",
    );
    plan_refused(
        |p| {
            let alias =
                |value, source| Step::Alias { value, source, operation: String::new(), place: Place::default() };
            p.values.push(PlanValue { name: "t".to_owned(), ty: Type::scalar(F32) });
            p.steps.push(Step::If {
                condition: Operand::Constant(true.into()),
                then: vec![alias(ValueId(3), Operand::Value(ValueId(2)))],
                otherwise: Vec::new(),
                results: vec![ValueId(3)],
            });
        },
        "steps[2]: a result of a branch is `t`, which is not made here",
    );
}

/// `y[i] = x[i]²`, which may be in the memory of `x`.
fn in_place() -> Kernel {
    let mut kernel = squares();
    let extents = kernel.arrays[0].extents.clone();
    kernel.arrays[1] = KernelArray {
        name: "y".to_owned(),
        element: F32,
        extents,
        access: Access::Write,
        in_place_of: Some(KernelArrayId(0)),
    };
    kernel.statements.truncate(2);
    kernel.statements.push(at(1, Action::Store { array: KernelArrayId(1), map: map(&[1]), value: operand(3) }));
    kernel
}

#[track_caller]
fn not_in_place(breaking: impl FnOnce(&mut Kernel), why: &str) {
    let mut kernel = in_place();
    breaking(&mut kernel);
    let errors = validate_kernel(&kernel).expect_err("a broken kernel");
    assert_eq!(errors.errors[0].to_string(), format!("arrays[1]: `y` cannot take over {why}"));
}

#[test]
fn arrays_written_over_others() {
    let kernel = in_place();
    assert_eq!(kernel_from_json(&kernel_to_json(&kernel)).expect("a valid kernel"), kernel);
    assert!(kernel.to_string().contains("writes y: [x1]f32 in place of x over"), "{kernel}");
    not_in_place(
        |k| k.arrays[1].in_place_of = Some(KernelArrayId(1)),
        "`y`, which is not an array that the kernel reads, or only part of the other is written",
    );
    not_in_place(
        |k| k.arrays[1].access = Access::Update,
        "`x`, which is not an array that the kernel reads, or only part of the other is written",
    );
    not_in_place(|k| k.arrays[1].element = ElementType::F64, "`x`, which is of another size");
    not_in_place(|k| k.arrays[0].extents[0] = KernelExtent::Constant(4), "`x`, which is of another size");
    not_in_place(
        |k| k.statements[2].when = Some(Constant::from(true).into()),
        "`x`, which is read where the other is not stored once for each point",
    );
    not_in_place(
        |k| k.statements.push(k.statements[2].clone()),
        "`x`, which is read where the other is not stored once for each point",
    );
    let load = |breaking: fn(&mut IndexMap)| {
        move |k: &mut Kernel| {
            let Action::Load { map, .. } = &mut k.statements[0].action else { return };
            breaking(map);
        }
    };
    not_in_place(load(|map| map.dims[0].offset = -1), "`x`, which is read at another index");
    not_in_place(load(|map| map.dims[0].boundary = DimBoundary::Wrap), "`x`, which is read at another index");
    not_in_place(
        |k| {
            let read = ScalarOp::Read { array: ArrayId(0), index: vec![operand(1)] };
            let then = Lambda {
                instructions: vec![Instruction { results: vec![local(4, F32)], op: read, place: Place::default() }],
                results: vec![operand(4)],
                ..Lambda::default()
            };
            let otherwise = Lambda { results: vec![operand(3)], ..Lambda::default() };
            let op = ScalarOp::If { condition: Constant::from(true).into(), then, otherwise };
            let branch = Instruction { results: vec![local(5, F32)], op, place: Place::default() };
            k.statements.insert(2, at(1, Action::Scalar(branch)));
        },
        "`x`, which is read in scalar code",
    );
    not_in_place(
        |k| {
            let mut again = k.statements[0].clone();
            let Action::Load { result, .. } = &mut again.action else { return };
            *result = local(4, F32);
            k.statements.push(again);
        },
        "`x`, which is read at another depth, or after the store",
    );
    let mut kernel = in_place();
    kernel.arrays.push(KernelArray { name: "z".to_owned(), ..kernel.arrays[1].clone() });
    kernel.statements.push(at(1, Action::Store { array: KernelArrayId(2), map: map(&[1]), value: operand(3) }));
    let errors = validate_kernel(&kernel).expect_err("two arrays over one");
    assert_eq!(errors.errors[0].to_string(), "arrays[2]: `z` cannot take over `x`, which is taken over already");
}

/// `y = x²`, `z = y²` in the memory of `y`.
fn chain() -> Plan {
    let vector = || Type::array(vec![Extent::Value(ValueId(0))], F32);
    let value = |name: &str, ty| PlanValue { name: name.to_owned(), ty };
    let allocate = |id, in_place_of| Step::Allocate {
        value: ValueId(id),
        in_place_of,
        operation: "map".to_owned(),
        place: Place::default(),
    };
    let launch = |from, to| Step::Launch {
        kernel: 0,
        sizes: vec![Extent::Value(ValueId(0))],
        arrays: vec![ValueId(from), ValueId(to)],
    };
    Plan {
        values: vec![value("n", Type::scalar(I64)), value("x", vector()), value("y", vector()), value("z", vector())],
        kernels: vec![in_place()],
        steps: vec![
            allocate(2, None),
            launch(1, 2),
            allocate(3, Some(ValueId(2))),
            launch(2, 3),
            Step::Free { value: ValueId(2) },
        ],
        results: vec![ValueId(3)],
        outputs: vec![Output { name: "z".to_owned(), ty: vector() }],
        ..plan()
    }
}

#[track_caller]
fn chain_refused(breaking: impl FnOnce(&mut Plan), expected: &str) {
    let mut plan = chain();
    breaking(&mut plan);
    let errors = validate_plan(&plan).expect_err("a broken plan");
    assert_eq!(errors.errors[0].to_string(), expected);
}

#[test]
fn values_that_take_over_others() {
    let plan = chain();
    validate_plan(&plan).expect("a valid plan");
    let json = plan_to_json(&plan);
    assert_eq!(plan_from_json(&json).expect("a valid plan"), plan);
    // Of the step, and of the arrays of the kernel.
    assert_eq!(
        json.matches("\"over\": ").count(),
        1 + plan.kernels[0].arrays.iter().filter(|a| a.in_place_of.is_some()).count()
    );
    assert!(plan.to_string().contains("allocate z: [n]f32 in place of y for map"), "{plan}");
    let in_place = |step: usize, source: u32| {
        move |p: &mut Plan| {
            let Step::Allocate { in_place_of, .. } = &mut p.steps[step] else { return };
            *in_place_of = Some(ValueId(source));
        }
    };
    // An input.
    chain_refused(in_place(0, 1), "steps[0]: `y` cannot take over `x`, which is needed outside of these steps");
    chain_refused(in_place(2, 3), "steps[2]: what is taken over is `z`, which is not made here");
    chain_refused(
        |p| p.results[0] = ValueId(2),
        "steps[2]: `z` cannot take over `y`, which is needed outside of these steps",
    );
    chain_refused(|p| p.steps.swap(3, 4), "steps[4]: an array of a launch is `y`, which is not made here");
    let launched = "steps[3]: `z` cannot take over `y`, which is not read by the launch that writes it, as the kernel would have to say";
    chain_refused(|p| p.kernels[0].arrays[1].in_place_of = None, launched);
    chain_refused(
        |p| {
            let Step::Launch { arrays, .. } = &mut p.steps[3] else { return };
            arrays[0] = ValueId(1);
        },
        launched,
    );
    chain_refused(|p| p.steps[4] = p.steps[1].clone(), "steps[4]: an array of a launch is `y`, which is not made here");
    let reads_y = Step::Truncate { value: ValueId(4), source: ValueId(2) };
    let another = |p: &mut Plan| {
        let ty = p.values[3].ty.clone();
        p.values.push(PlanValue { name: "w".to_owned(), ty });
    };
    chain_refused(
        |p| {
            another(p);
            p.steps.insert(4, reads_y);
        },
        "steps[4]: the source is `y`, which is not made here",
    );
    chain_refused(
        |p| {
            another(p);
            p.steps.insert(3, Step::Truncate { value: ValueId(4), source: ValueId(3) });
        },
        "steps[3]: the source is `z`, which is not made here",
    );
    chain_refused(
        |p| {
            // From around the branch: it may be needed after it.
            let then = p.steps.drain(2..4).collect();
            p.steps.insert(
                2,
                Step::If {
                    condition: Operand::Constant(true.into()),
                    then,
                    otherwise: Vec::new(),
                    results: Vec::new(),
                },
            );
            p.results[0] = ValueId(1);
        },
        "steps[2].then[0]: `z` cannot take over `y`, which is needed outside of these steps",
    );
}
