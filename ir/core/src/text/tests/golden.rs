//! Every golden program.

use std::path::Path;

use super::same;

#[test]
fn golden_programs_print_and_parse_to_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/programs");
    let mut count = 0;
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_some_and(|extension| extension == "fbx") {
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let text = std::fs::read_to_string(&path).unwrap();
            if let Err(error) = crate::text::parse_named(&text, &name) {
                panic!("{error}");
            }
            same(&text);
            count += 1;
        }
    }
    assert!(count >= 70, "only {count} programs");
}
