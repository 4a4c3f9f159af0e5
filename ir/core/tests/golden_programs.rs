//! Every golden program is valid.

use std::{fs, path::Path};

use fusebox_ir::{text, validate};

#[test]
fn golden_programs_are_valid() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/programs");
    let mut count = 0;
    let mut faults = String::new();
    for entry in fs::read_dir(folder).expect("golden programs") {
        let path = entry.expect("an entry").path();
        if path.extension().is_none_or(|extension| extension != "fbx") {
            continue;
        }
        let source = fs::read_to_string(&path).expect("text");
        let program = text::parse(&source).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        if let Err(errors) = validate(&program, &[]) {
            faults += &format!("{}:\n{errors}\n", path.display());
        }
        assert_eq!(program.clone().renumbered(), program, "{}", path.display());
        count += 1;
    }
    assert!(faults.is_empty(), "{faults}");
    assert!(count > 70, "{count}");
}
