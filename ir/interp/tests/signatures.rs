//! The table of operations says of generated programs what running them shows: extents of results, and what cannot fail.

use std::collections::HashMap;

use fusebox_interp::run;
use fusebox_ir::{
    ArrayId, Extent, Operand, Output, Program, Type, Value,
    analysis::can_fail,
    generate::{Config, inputs, program},
    operations::{Given, Relation, Shape, Signature, Sum, Term},
    validate,
};

/// The program with everything that its body binds for results.
fn with_all_results(program: &Program) -> Program {
    let mut program = program.clone();
    let vars = program.body.bindings.iter().flat_map(|binding| &binding.results);
    let (results, outputs) = vars
        .map(|var| {
            // Types of results name sizes of the program's inputs alone; other extents are whatever they are.
            let inputs: Vec<ArrayId> =
                program.body.sizes.iter().chain(&program.body.params).map(|var| var.id).collect();
            let hidden = |extent: &Extent| match extent {
                Extent::Value(id) if !inputs.contains(id) => Extent::Unknown,
                extent => *extent,
            };
            let ty = Type { extents: var.ty.extents.iter().map(hidden).collect(), ..var.ty.clone() };
            (var.id, Output { name: format!("r{}", var.id.0), ty })
        })
        .unzip();
    program.body.results = results;
    program.outputs = outputs;
    program
}

fn number(value: &Value) -> Option<i64> {
    match value {
        Value::Array(array) if array.extents().is_empty() => array.constants().next()?.as_i64(),
        _ => None,
    }
}

struct Values(HashMap<ArrayId, Value>);

impl Values {
    fn extents(&self, id: ArrayId) -> Vec<i64> {
        match &self.0[&id] {
            Value::Array(array) => array.extents().iter().map(|&n| n as i64).collect(),
            other => panic!("a flat program has arrays alone, not {other:?}"),
        }
    }

    fn operand(&self, operand: Operand) -> i64 {
        match operand {
            Operand::Value(id) => number(&self.0[&id]).expect("an integer"),
            Operand::Constant(constant) => constant.as_i64().expect("an integer"),
        }
    }

    fn sum(&self, sum: &Sum) -> i64 {
        let term = |term: &Term| match *term {
            Term::Extent { array, dim } => self.extents(array)[dim],
            Term::Value(operand) => self.operand(operand),
        };
        sum.constant + sum.terms.iter().map(term).sum::<i64>()
    }
}

#[test]
fn results_have_the_extents_of_the_table() {
    let config = Config::default();
    let (mut exactly, mut within, mut counted, mut demands) = (0, 0, 0, 0);
    for seed in 0..400 {
        let original = program(seed, &config);
        let program = with_all_results(&original);
        validate(&program, &[]).unwrap_or_else(|errors| panic!("{errors}\n{program}"));
        let given = inputs(&original, seed, &config);
        let Ok(results) = run(&program, &given) else { continue };
        let mut values: HashMap<ArrayId, Value> = program.body.params.iter().map(|var| var.id).zip(given).collect();
        values.extend(program.body.results.iter().copied().zip(results));
        for param in &program.body.params {
            let Value::Array(array) = values[&param.id].clone() else { continue };
            for (extent, &n) in param.ty.extents.iter().zip(array.extents()) {
                if let Extent::Value(id) = extent {
                    values.insert(*id, Value::Array(fusebox_ir::Array::scalar(n as i64)));
                }
            }
        }
        let values = Values(values);
        for binding in &program.body.bindings {
            let rank = |id: ArrayId| Some(values.extents(id).len());
            let signature = Signature::of(binding, &rank);
            for (var, Given { shape, .. }) in binding.results.iter().zip(&signature.results) {
                let found = values.extents(var.id);
                match shape {
                    Shape::Exactly(sums) => {
                        let expected: Vec<i64> = sums.iter().map(|sum| values.sum(sum)).collect();
                        assert_eq!(found, expected, "{}\n{program}", binding.op.name());
                        exactly += 1;
                    }
                    Shape::Within(arrays) => {
                        for &array in arrays {
                            let available = values.extents(array);
                            assert_eq!(found.len(), available.len());
                            assert!(found.iter().zip(&available).all(|(a, b)| a <= b), "{found:?} {available:?}");
                        }
                        within += 1;
                    }
                    Shape::Counted => {
                        assert_eq!(found, [number(&values.0[&binding.results[0].id]).expect("a number")]);
                        counted += 1;
                    }
                    Shape::Declared | Shape::Unknown => {}
                }
            }
            for demand in signature.demands(&binding.results, &rank) {
                let (left, right) = (values.sum(&demand.left.0), values.sum(&demand.right.0));
                match demand.relation {
                    Relation::Equal => assert_eq!(left, right, "{}\n{program}", binding.op.name()),
                    Relation::AtMost => assert!(left <= right, "{}\n{program}", binding.op.name()),
                }
                demands += 1;
            }
        }
    }
    assert!(exactly > 1000 && within > 200 && counted > 50 && demands > 1000, "{exactly} {within} {counted} {demands}");
}

#[test]
fn what_cannot_fail_does_not() {
    let config = Config { may_fail: true, ..Config::default() };
    let (mut safe, mut failed) = (0, 0);
    for seed in 0..400 {
        let original = program(seed, &config);
        let all = with_all_results(&original);
        let given = inputs(&original, seed, &config);
        for binding in &all.body.bindings {
            // By itself: what it reads has been computed without an error.
            let mut before = all.clone();
            let mut needs: Vec<ArrayId> = Vec::new();
            binding.op.for_each_use(&mut |id| needs.push(id));
            binding.results.iter().for_each(|var| var.ty.for_each_use(&mut |id| needs.push(id)));
            let keep = |at: &usize| needs.contains(&all.body.results[*at]);
            let chosen: Vec<usize> = (0..all.body.results.len()).filter(keep).collect();
            before.body.results = chosen.iter().map(|&at| all.body.results[at]).collect();
            before.outputs = chosen.iter().map(|&at| all.outputs[at].clone()).collect();
            if !before.body.results.is_empty() && run(&before, &given).is_err() {
                continue;
            }
            let mut after = all.clone();
            after.body.results = binding.results.iter().map(|var| var.id).collect();
            let outputs = all.body.results.iter().zip(&all.outputs);
            after.outputs =
                outputs.filter(|(id, _)| after.body.results.contains(id)).map(|(_, output)| output.clone()).collect();
            let result = run(&after, &given);
            if can_fail(binding) {
                failed += usize::from(result.is_err());
            } else {
                assert!(result.is_ok(), "{}: {:?}\n{all}", binding.op.name(), result.err());
                safe += 1;
            }
        }
    }
    assert!(safe > 300 && failed > 10, "{safe} {failed}");
}
