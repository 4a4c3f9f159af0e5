//! Nested programs of the golden suite: what becomes of them.

use fusebox_flattening::{Config, flatten};
use fusebox_ir::{Property, text, validate};

#[test]
fn nested_golden_programs_are_made_flat() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../golden/programs");
    let mut flat = 0;
    let mut paths: Vec<_> = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{error}")).flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with("nested_"))) {
        let source = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{error}"));
        let program = text::parse(&source).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        validate(&program, &[]).unwrap_or_else(|errors| panic!("{}: {errors}", path.display()));
        let (made, report) = flatten(&program, &Config::default()).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        validate(&made, &[Property::Flat]).unwrap_or_else(|errors| panic!("{}: {errors}\n{made}", path.display()));
        println!("{} {report:?}", program.name);
        flat += 1;
    }
    assert!(flat >= 15, "{flat} programs");
}
