//! Where the analysis says "equal" or "the same in all lanes", running shows it: programs are given probes, which count lanes where it is not so.

use fusebox_flattening::analysis::{Regularity, Shapes, regularity, shapes};
use fusebox_interp::run;
use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Binding, Block,
    ElementType::I64,
    Fresh, Lambda, LambdaBuilder, Operand, Output, Place, ScalarValue, Type, Value, Var,
    generate::{Config, inputs, program},
    validate,
};

/// A scalar that a block gives beside its results.
#[derive(Clone, Copy)]
enum Probe {
    /// How many lanes break a promise.
    Broken(ArrayId),
    /// The least and the greatest of a number, which is promised to be the same where `of` does not depend on the lane.
    Range { of: ArrayId, low: ArrayId, high: ArrayId },
}

struct Probes<'a> {
    shapes: &'a Shapes,
    found: &'a Regularity,
    fresh: Fresh,
    claims: usize,
}

impl Probes<'_> {
    /// Adds probes to a block with `depth` nests around it.
    fn block(&mut self, block: &mut Block, depth: usize) -> Vec<Probe> {
        let mut probes = Vec::new();
        let mut bindings = Vec::new();
        let mut sizes: Vec<ArrayId> =
            block.params.iter().filter(|var| var.ty == Type::scalar(I64)).map(|var| var.id).collect();
        for mut binding in std::mem::take(&mut block.bindings) {
            let mut inner = Vec::new();
            if let ArrayOp::Nest { body, .. } = &mut binding.op {
                inner = self.block(body, depth + 1);
            }
            sizes.extend(binding.results.iter().filter(|var| var.ty == Type::scalar(I64)).map(|var| var.id));
            let (mut after, found) = self.nest(&mut binding, inner, depth);
            bindings.push(binding);
            bindings.append(&mut after);
            probes.extend(found);
        }
        block.bindings = bindings;
        if depth > 0 {
            for (position, &a) in sizes.iter().enumerate() {
                probes.push(Probe::Range { of: a, low: a, high: a });
                for &b in &sizes[..position] {
                    if self.are_equal(a, b) {
                        self.claims += 1;
                        let differ = self.unit(block, |f| {
                            let differ = f.binary(Binary::Ne, ScalarValue::outer(a, I64), ScalarValue::outer(b, I64));
                            f.convert(I64, differ)
                        });
                        probes.push(Probe::Broken(differ));
                    }
                }
            }
        }
        probes
    }

    fn are_equal(&self, a: ArrayId, b: ArrayId) -> bool {
        match (self.shapes.size(a), self.shapes.size(b)) {
            (Some(x), Some(y)) => {
                let dims = (fusebox_flattening::analysis::Dim::Size(x), fusebox_flattening::analysis::Dim::Size(y));
                self.shapes.equal_dims(&dims.0, &dims.1)
            }
            _ => false,
        }
    }

    fn bind(&mut self, bindings: &mut Vec<Binding>, ty: Type, op: ArrayOp) -> ArrayId {
        let id = self.fresh.id();
        let var = Var { id, ty, name: format!("probe{}", id.0).into() };
        bindings.push(Binding { results: vec![var], op, place: Place::default() });
        id
    }

    fn unit(&mut self, block: &mut Block, build: impl FnOnce(&mut LambdaBuilder) -> ScalarValue) -> ArrayId {
        let mut f = LambdaBuilder::new();
        let result = build(&mut f);
        let f = f.finish(&[result]);
        self.bind(&mut block.bindings, Type::scalar(I64), ArrayOp::Unit { f })
    }

    /// What the probes of a body become after the nest: further results of it, combined over all lanes.
    fn nest(&mut self, nest: &mut Binding, inner: Vec<Probe>, depth: usize) -> (Vec<Binding>, Vec<Probe>) {
        let (mut after, mut probes) = (Block::default(), Vec::new());
        for probe in inner {
            match probe {
                Probe::Broken(id) => {
                    let total = self.combined(nest, &mut after.bindings, id, Binary::Add, 0);
                    probes.push(Probe::Broken(total));
                }
                Probe::Range { of, low, high } => {
                    if self.found.lanes(of).has(depth) {
                        continue;
                    }
                    self.claims += 1;
                    let low = self.combined(nest, &mut after.bindings, low, Binary::Min, i64::MAX);
                    let high = self.combined(nest, &mut after.bindings, high, Binary::Max, i64::MIN);
                    let differ = self.unit(&mut after, |f| {
                        let differ = f.binary(Binary::Lt, ScalarValue::outer(low, I64), ScalarValue::outer(high, I64));
                        f.convert(I64, differ)
                    });
                    probes.push(Probe::Broken(differ));
                    probes.push(Probe::Range { of, low, high });
                }
            }
        }
        (after.bindings, probes)
    }

    fn combined(
        &mut self,
        nest: &mut Binding,
        after: &mut Vec<Binding>,
        id: ArrayId,
        by: Binary,
        seed: i64,
    ) -> ArrayId {
        let ArrayOp::Nest { body, .. } = &mut nest.op else { panic!("probes come out of nests") };
        body.results.push(id);
        let mut extents = nest.results[0].ty.extents.clone();
        let var = Var { id: self.fresh.id(), ty: Type::array(extents.clone(), I64), name: "".into() };
        let mut array = var.id;
        nest.results.push(var);
        while extents.pop().is_some() {
            let op = ArrayOp::Fold {
                combine: Lambda::componentwise(&[(by, I64)]),
                seeds: vec![Operand::Constant(seed.into())],
                sources: vec![array],
                offsets: None,
                commutes: false,
            };
            array = self.bind(after, Type::array(extents.clone(), I64), op);
        }
        array
    }
}

/// Checks one program; how many promises held.
fn check(seed: u64, config: &Config) -> Result<usize, String> {
    let source = program(seed, config);
    let shapes = shapes(&source);
    let found = regularity(&source, &shapes);
    let mut probes = Probes { shapes: &shapes, found: &found, fresh: Fresh::new(&source), claims: 0 };
    let mut probed = source.clone();
    let made = probes.block(&mut probed.body, 0);
    (probed.body.results, probed.outputs) = (Vec::new(), Vec::new());
    for probe in made {
        if let Probe::Broken(id) = probe {
            probed.outputs.push(Output { name: format!("p{}", probed.outputs.len()), ty: Type::scalar(I64) });
            probed.body.results.push(id);
        }
    }
    // Arrays of arrays outside of nests: pairs that are said to be of one shape.
    let broken = probed.outputs.len();
    let mut nested: Vec<(ArrayId, Type)> = Vec::new();
    let all = source.body.params.iter().chain(source.body.bindings.iter().flat_map(|binding| &binding.results));
    nested.extend(all.filter(|var| var.ty.inner.len() == 1 && !var.ty.stream).map(|var| (var.id, var.ty.clone())));
    let mut pairs = Vec::new();
    for (position, (a, ty)) in nested.iter().enumerate() {
        for (b, other) in &nested[..position] {
            if shapes.equal(*a, *b) {
                pairs.push(probed.outputs.len());
                for (id, ty) in [(*a, ty), (*b, other)] {
                    let mut ty = ty.clone();
                    ty.all_extents_mut().for_each(|extent| *extent = fusebox_ir::Extent::Unknown);
                    probed.outputs.push(Output { name: format!("n{}", probed.outputs.len()), ty });
                    probed.body.results.push(id);
                }
            }
        }
    }
    let claims = probes.claims + pairs.len();
    let probed = probed.renumbered();
    validate(&probed, &[]).map_err(|errors| format!("the probed program is not valid: {errors}\n{probed}"))?;
    // By names, which no renumbering changes.
    let results = match run(&probed, &inputs(&source, seed, config)) {
        Ok(results) => results,
        Err(_) => return Ok(0),
    };
    for (value, output) in results.iter().zip(&probed.outputs).take(broken) {
        if let Value::Array(array) = value
            && array.get(0).as_i64() != Some(0)
        {
            return Err(format!("seed {seed}: {} lanes break {}\n{source}\n{probed}", array.get(0), output.name));
        }
    }
    for at in pairs {
        if let (Value::Nested(a), Value::Nested(b)) = (&results[at], &results[at + 1])
            && a.extents != b.extents
        {
            return Err(format!("seed {seed}: two shapes are said to be equal and are not\n{source}"));
        }
    }
    Ok(claims)
}

fn config() -> Config {
    use fusebox_ir::generate::Kind;
    let mut config = Config { nested: true, ..Config::default() };
    for (kind, weight) in &mut config.operations {
        if *kind == Kind::Nest {
            *weight = 14;
        }
    }
    config
}

fn check_all(seeds: std::ops::Range<u64>) -> usize {
    let config = config();
    let held: usize = seeds.map(|seed| check(seed, &config).unwrap_or_else(|message| panic!("{message}"))).sum();
    println!("{held} promises held");
    held
}

#[test]
fn what_is_said_of_shapes_and_lanes_holds_when_programs_run() {
    assert!(check_all(0..2_000) > 2_000);
}

/// By `cargo test -p fusebox-flattening --test all sound -- --ignored`.
#[test]
#[ignore = "takes minutes"]
fn what_is_said_of_shapes_and_lanes_holds_for_many_programs() {
    assert!(check_all(2_000..102_000) > 100_000);
}

#[test]
fn a_wrong_promise_is_found() {
    // Analysed as if its index were the same in all lanes, a program breaks what is then promised.
    let source = fusebox_ir::text::parse(
        "fn f(n: i64) -> [n]i64 { let r: [n]i64 = nest([n], |i| { let k = i + 1; let e: [k]i64 = generate([k], |j| j); let s: i64 = fold(|a, b| a + b, 0, e); return s }); return r }",
    )
    .unwrap_or_else(|error| panic!("{error}"));
    let shapes = shapes(&source);
    let found = Regularity::default();
    let mut probes = Probes { shapes: &shapes, found: &found, fresh: Fresh::new(&source), claims: 0 };
    let mut probed = source.clone();
    let made = probes.block(&mut probed.body, 0);
    let broken: Vec<ArrayId> =
        made.iter().filter_map(|probe| if let Probe::Broken(id) = probe { Some(*id) } else { None }).collect();
    probed.outputs = broken.iter().map(|id| Output { name: format!("p{id}"), ty: Type::scalar(I64) }).collect();
    probed.body.results = broken;
    let results =
        run(&probed.renumbered(), &[fusebox_ir::Array::scalar(5i64).into()]).unwrap_or_else(|error| panic!("{error}"));
    assert!(results.iter().any(|value| matches!(value, Value::Array(array) if array.get(0).as_i64() == Some(1))));
}
