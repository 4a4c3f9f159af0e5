//! Kernels over one level of n steps, written by hand: fused ones, whatever passes make of programs.

use fusebox_ir::{
    Access, Action, Association, Binary, Constant, DimBoundary, DimIndex, ElementType, Extent, IndexMap, Instruction,
    Kernel, KernelArray, KernelArrayId, KernelExtent, Lambda, Level, LevelOrder, Local, LocalId, Output, Place, Plan,
    PlanValue, ScalarOp, ScalarOperand, Statement, Step, Type, ValueId,
};

/// A kernel in the making; `%0` is n, `%1` the index.
pub struct ByHand {
    kernel: Kernel,
    next: u32,
    appended: Vec<KernelArrayId>,
}

fn local(id: u32, ty: ElementType) -> Local {
    Local { id: LocalId(id), ty, name: "".into() }
}

impl ByHand {
    pub fn new(name: &str, order: LevelOrder) -> Self {
        let from = ScalarOperand::Constant(Constant::from(0i64));
        let level = Level { index: local(1, ElementType::I64), from, to: LocalId(0).into(), order };
        let kernel = Kernel {
            name: name.into(),
            sizes: vec![local(0, ElementType::I64)],
            arrays: Vec::new(),
            levels: vec![level],
            statements: Vec::new(),
        };
        Self { kernel, next: 2, appended: Vec::new() }
    }

    fn fresh(&mut self, ty: ElementType) -> Local {
        self.next += 1;
        local(self.next - 1, ty)
    }

    fn array(&mut self, element: ElementType, vector: bool, access: Access) -> KernelArrayId {
        let name = format!("a{}", self.kernel.arrays.len());
        let extents = if vector { vec![KernelExtent::Size(LocalId(0))] } else { Vec::new() };
        self.kernel.arrays.push(KernelArray { name, element, extents, access, in_place_of: None });
        KernelArrayId::at(self.kernel.arrays.len() - 1)
    }

    fn push(&mut self, depth: u32, when: Option<LocalId>, action: Action) {
        let when = when.map(ScalarOperand::from);
        self.kernel.statements.push(Statement { depth, when, operation: "".into(), action });
    }

    fn map(vector: bool) -> IndexMap {
        let dim = DimIndex { offset: 0, terms: vec![(1, LocalId(1))], boundary: DimBoundary::None };
        IndexMap { dims: if vector { vec![dim] } else { Vec::new() }, checked: false }
    }

    /// The element of a new vector at the index.
    pub fn load(&mut self, element: ElementType) -> LocalId {
        let array = self.array(element, true, Access::Read);
        let result = self.fresh(element);
        let id = result.id;
        self.push(
            1,
            None,
            Action::Load { result, array, map: Self::map(true), outside: None, place: Place::default() },
        );
        id
    }

    pub fn binary(&mut self, ty: ElementType, function: Binary, a: LocalId, b: impl Into<ScalarOperand>) -> LocalId {
        let result = self.fresh(ty);
        let id = result.id;
        let op = ScalarOp::Binary { function, a: a.into(), b: b.into() };
        self.push(1, None, Action::Scalar(Instruction { results: vec![result], op, place: Place::default() }));
        id
    }

    fn function(&mut self, ty: ElementType, function: Binary) -> Lambda {
        let params = vec![self.fresh(ty), self.fresh(ty)];
        let result = self.fresh(ty);
        let results = vec![result.id.into()];
        let op = ScalarOp::Binary { function, a: params[0].id.into(), b: params[1].id.into() };
        Lambda {
            params,
            instructions: vec![Instruction { results: vec![result], op, place: Place::default() }],
            results,
        }
    }

    /// All elements, combined with a seed; stored in a scalar.
    pub fn reduce(&mut self, ty: ElementType, function: Binary, lanes: u32, value: LocalId) {
        let combine = self.function(ty, function);
        let result = self.fresh(ty);
        let id = result.id;
        let seeds = vec![Constant::zero(ty).into()];
        let association = Association::Interleaved { lanes };
        let values = vec![value.into()];
        self.push(1, None, Action::Reduce { results: vec![result], to: 0, association, combine, seeds, values });
        let array = self.array(ty, false, Access::Write);
        self.push(0, None, Action::Store { array, map: Self::map(false), value: id.into() });
    }

    /// The running combination, each with its element.
    pub fn scan(&mut self, ty: ElementType, function: Binary, lanes: u32, total_lanes: u32, value: LocalId) -> LocalId {
        let combine = self.function(ty, function);
        let result = self.fresh(ty);
        let id = result.id;
        let association = Association::Tiles { lanes, total_lanes };
        let (totals, seeds, values) = (Vec::new(), Vec::new(), vec![value.into()]);
        self.push(
            1,
            None,
            Action::Scan { results: vec![result], exclusive: false, totals, association, combine, seeds, values },
        );
        id
    }

    /// Into a new vector.
    pub fn store(&mut self, element: ElementType, value: LocalId) {
        let array = self.array(element, true, Access::Write);
        self.push(1, None, Action::Store { array, map: Self::map(true), value: value.into() });
    }

    /// Behind each other, where the condition holds.
    pub fn append(&mut self, element: ElementType, value: LocalId, when: LocalId) {
        let array = self.array(element, true, Access::Write);
        let count = self.array(ElementType::I64, false, Access::Write);
        self.appended.push(array);
        self.push(1, Some(when), Action::Append { arrays: vec![array], count, values: vec![value.into()] });
    }

    /// Statements of depth 0 come last.
    pub fn kernel(mut self) -> Kernel {
        self.kernel.statements.sort_by_key(|statement| statement.depth == 0);
        self.kernel
    }

    /// The plan that runs it on vectors of n elements.
    pub fn plan(self) -> Plan {
        let appended = self.appended.clone();
        let kernel = self.kernel();
        let n = ValueId(0);
        let mut values = vec![PlanValue { name: "n".to_owned(), ty: Type::scalar(ElementType::I64) }];
        let (mut inputs, mut steps, mut arrays) = (Vec::new(), Vec::new(), Vec::new());
        let (mut results, mut outputs) = (Vec::new(), Vec::new());
        for array in &kernel.arrays {
            let extents = array.extents.iter().map(|_| Extent::Value(n)).collect();
            let ty = Type::array(extents, array.element);
            let id = ValueId::at(values.len());
            values.push(PlanValue { name: array.name.clone(), ty: ty.clone() });
            arrays.push(id);
            if array.access == Access::Read {
                inputs.push(id);
            } else {
                steps.push(Step::Allocate {
                    value: id,
                    in_place_of: None,
                    operation: "by hand".to_owned(),
                    place: Place::default(),
                });
                if !appended.iter().any(|array| arrays.get(array.index()) == Some(&id)) {
                    results.push(id);
                    outputs.push(Output { name: array.name.clone(), ty });
                }
            }
        }
        let launched = arrays.clone();
        steps.push(Step::Launch { kernel: 0, sizes: vec![Extent::Value(n)], arrays: launched });
        for array in appended {
            let id = ValueId::at(values.len());
            let element = kernel.arrays[array.index()].element;
            // Its count is the array behind it.
            let ty = Type::array(vec![Extent::Value(arrays[array.index() + 1])], element);
            values.push(PlanValue { name: "kept".to_owned(), ty });
            steps.push(Step::Truncate { value: id, source: arrays[array.index()] });
            results.push(id);
            outputs.push(Output { name: "kept".to_owned(), ty: Type::array(vec![Extent::Unknown], element) });
        }
        Plan {
            name: "by_hand".to_owned(),
            values,
            sizes: vec![n],
            inputs,
            kernels: vec![kernel],
            steps,
            results,
            outputs,
        }
    }
}

/// `y = 2 x + 1`.
pub fn map() -> ByHand {
    let mut k = ByHand::new("map", LevelOrder::Parallel);
    let x = k.load(ElementType::F32);
    let y = k.binary(ElementType::F32, Binary::Mul, x, Constant::from(2.0f32));
    let z = k.binary(ElementType::F32, Binary::Add, y, Constant::from(1.0f32));
    k.store(ElementType::F32, z);
    k
}

/// The dot product.
pub fn dot() -> ByHand {
    let mut k = ByHand::new("dot", LevelOrder::Parallel);
    let (x, y) = (k.load(ElementType::F32), k.load(ElementType::F32));
    let z = k.binary(ElementType::F32, Binary::Mul, x, y);
    k.reduce(ElementType::F32, Binary::Add, 64, z);
    k
}

/// The first kernel of `normalise2`: the sum, the running sum, and the sum of that.
pub fn normalise2() -> ByHand {
    let mut k = ByHand::new("normalise2", LevelOrder::Up);
    let x = k.load(ElementType::F32);
    k.reduce(ElementType::F32, Binary::Add, 64, x);
    let s = k.scan(ElementType::F32, Binary::Add, 16, 64, x);
    k.reduce(ElementType::F32, Binary::Add, 64, s);
    k.store(ElementType::F32, s);
    k
}

/// What is above one half.
pub fn filter() -> ByHand {
    let mut k = ByHand::new("filter", LevelOrder::Up);
    let x = k.load(ElementType::F32);
    let c = k.binary(ElementType::Bool, Binary::Gt, x, Constant::from(0.5f32));
    k.append(ElementType::F32, x, c);
    k
}

/// The running sum.
pub fn scan() -> ByHand {
    let mut k = ByHand::new("scan", LevelOrder::Up);
    let x = k.load(ElementType::F32);
    let s = k.scan(ElementType::F32, Binary::Add, 16, 64, x);
    k.store(ElementType::F32, s);
    k
}
