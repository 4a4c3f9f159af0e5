//! Random programs: clustered, valid as such, and the same when run.

use fusebox_clustering::{Config, Method, cluster};
use fusebox_ir::{Property, generate, validate};

fn agrees(seeds: std::ops::Range<u64>, method: Method) {
    let shape = generate::Config::default();
    let config = Config { method, ..Config::default() };
    for seed in seeds {
        let program = generate::program(seed, &shape);
        let (clustered, report) =
            cluster(&program, &config).unwrap_or_else(|error| panic!("seed {seed}: {error}\n{program}"));
        if let Err(errors) = validate(&clustered, &[Property::Flat, Property::Clustered]) {
            panic!("seed {seed}: {errors}\n{program}\n{clustered}");
        }
        for which in 0..2 {
            let inputs = generate::inputs(&program, which, &shape);
            let expected =
                fusebox_interp::run(&program, &inputs).unwrap_or_else(|error| panic!("seed {seed}: {error}"));
            let found = fusebox_interp::run(&clustered, &inputs)
                .unwrap_or_else(|error| panic!("seed {seed}: {error}\n{program}\n{clustered}"));
            assert_eq!(found, expected, "seed {seed}\n{program}\n{clustered}");
        }
        let (again, same) = cluster(&program, &config).unwrap();
        assert_eq!((&again, &same), (&clustered, &report), "seed {seed}: not deterministic");
    }
}

#[test]
fn clusters_mean_what_their_operations_meant() {
    agrees(0..500, Method::Optimal);
}

#[test]
fn greedy_clusters_mean_what_their_operations_meant() {
    agrees(500..700, Method::Greedy);
    agrees(700..800, Method::Apart);
}
