//! What of compile time can be counted: that programs that grow make models and code that grow no faster, and that limits are told of.

use fusebox::{Backend, Options, ir::Value};
use fusebox_bench::growth::{
    families::{self, Family},
    program,
};
use fusebox_clustering::{Config, Region, Status, cluster};
use fusebox_ir::{Array, Program};

fn compiled(program: &Program, backend: Backend) -> fusebox::Program {
    fusebox::compile_program(program, &Options { cache: false, ..Options::on(backend) })
        .unwrap_or_else(|error| panic!("{error}\n{program}"))
}

/// What clustering says of the body of a program of a family, before anything was fused. Nests are flattened.
fn clustered(family: &str, size: usize) -> Region {
    let family = families::find(family).unwrap();
    let program = program(family, size).unwrap();
    let passes = fusebox::pipeline_of(&program, &Options::default());
    let flattening: Vec<_> = passes.into_iter().filter(|pass| pass.name() == "flattening").collect();
    let flat = fusebox::run_passes(&program, &flattening, false).unwrap().pop();
    let flat = flat.as_ref().and_then(|stage| stage.program()).unwrap_or(&program);
    let (_, mut report) = cluster(flat, &Config::default()).unwrap();
    report.regions.swap_remove(0)
}

#[test]
fn programs_of_all_families_give_what_the_interpreter_gives() {
    for Family { name, terms, .. } in families::ALL {
        for size in [1, 7, 40] {
            let family = families::find(name).unwrap();
            assert!((terms)(size).is_ok());
            let program = program(family, size).unwrap();
            let elements: Vec<f32> = (0..37).map(|i| (i * 7 % 11) as f32).collect();
            let inputs = [Value::Array(Array::new(&[37], &elements).unwrap())];
            let expected = fusebox_interp::run(&program, &inputs).unwrap();
            let found = compiled(&program, Backend::Cpu).run(&inputs).unwrap();
            assert_eq!(found, expected, "{name} {size}\n{program}");
        }
    }
}

#[test]
fn models_grow_no_faster_than_programs() {
    // The mixed ones take their time without optimisation; what bounds them is tested below.
    for family in families::ALL.iter().filter(|family| family.name != "mixed") {
        let [few, many] = [80, 320].map(|size| clustered(family.name, size));
        assert!(many.pairs <= 6 * few.pairs.max(50), "{}: {} pairs, then {}", family.name, few.pairs, many.pairs);
        // Only what is cut to pieces of a stated size has models at all.
        let rows = |region: &Region| region.variables + region.constraints;
        assert!(
            rows(&many) <= 8 * rows(&few).max(500),
            "{}: models of {}, then {}",
            family.name,
            rows(&few),
            rows(&many)
        );
    }
}

#[test]
fn what_a_limit_cut_short_is_told() {
    let told = |region: &Region, what: &str| {
        assert!(region.notes.iter().any(|note| note.contains(what)), "{:?}", region.notes);
        assert_eq!(region.status, Status::Limit);
    };
    told(&clustered("scans", 40), "were parted");
    let folds = clustered("folds", 40);
    told(&folds, "were parted");
    told(&folds, "has 40 readers");
    assert!(folds.clusters.iter().all(|cluster| cluster.operations.len() <= Config::default().max_accumulating));
    assert_eq!(folds.clusters.len(), 3);
    told(&clustered("mixed", 700), "clustered in pieces");
    // And what none cut short is not.
    for family in ["chain", "doubling", "stencils", "both ways"] {
        let region = clustered(family, 400);
        assert_eq!((region.status, region.notes.len()), (Status::Optimal, 0), "{family}: {:?}", region.notes);
    }
}

#[test]
fn kernels_that_are_alike_are_compiled_once() {
    let backend = fusebox_cranelift::Cranelift::new(fusebox_cranelift::Config::default()).unwrap();
    let functions = |family: &str, size: usize| {
        let program = program(families::find(family).unwrap(), size).unwrap();
        let stages = fusebox::run_passes(&program, &fusebox::pipeline(&Options::default()), false).unwrap();
        let plan = stages.last().unwrap().plan().unwrap();
        let loaded = backend.compile_plan(plan).unwrap().load_plan().unwrap();
        (plan.kernels.len(), loaded.functions())
    };
    for family in ["scans", "both ways", "stencils", "loops", "folds"] {
        let [(few, known), (many, same)] = [50, 100].map(|size| functions(family, size));
        assert!(many > few, "{family}: {few} kernels, then {many}");
        assert!(same <= known + 8, "{family}: {few} kernels in {known} functions, then {many} in {same}");
    }
}
