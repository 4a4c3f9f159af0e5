//! `ops` and `schema`.

mod support;

use std::{fs, path::Path};

use fusebox_ir::text::reference;
use support::Folder;

#[test]
fn operations_are_listed_and_told() {
    let f = Folder::new();
    let all = f.fusebox("ops").ok();
    for name in ["fold ", "scanl'_seg ", "while ", "exp(x)", "x + y", "a[i, j]"] {
        assert!(all.lines().any(|line| line.trim_start().starts_with(name)), "{name}\n{all}");
    }
    let fold = f.fusebox("ops fold").ok();
    assert!(fold.contains("[..sh, n] → [..sh]") && fold.contains("let t: f32 = fold("), "{fold}");
    assert!(f.fusebox("ops exp").ok().contains("floats"));
    // Both a sign of one operand and of two.
    assert_eq!(f.fusebox("ops -- -").ok().matches("example").count(), 2);
    f.fusebox("ops flod").fails(2, &["there is no operation or function `flod`: did you mean `fold`?"]);
    f.fusebox("ops reduce").fails(2, &["`reduce` is written `fold`"]);
}

#[test]
fn schemas_are_those_of_the_files() {
    let f = Folder::new();
    f.write("f.fbx", "fn f(xs: [n]f32) -> f32 { let s: f32 = fold(|x, y| x + y, 0.0, xs) return s }");
    for (of, dump) in [
        ("program", "dump f.fbx --format json"),
        ("plan", "dump f.fbx --stage kernels --format json"),
        ("schedules", "dump f.fbx --stage schedule --format json"),
    ] {
        let schema: serde_json::Value = serde_json::from_str(&f.fusebox(&format!("schema {of}")).ok()).unwrap();
        let file: serde_json::Value = serde_json::from_str(&f.fusebox(dump).ok()).unwrap();
        let fields = schema["properties"].as_object().unwrap();
        for field in file.as_object().unwrap().keys() {
            assert!(fields.contains_key(field), "{of}: {field}");
        }
        for field in schema["required"].as_array().unwrap() {
            assert!(!file[field.as_str().unwrap()].is_null(), "{of}: {field}");
        }
    }
    let graph: serde_json::Value = serde_json::from_str(&f.fusebox("schema graph").ok()).unwrap();
    assert!(graph["properties"]["nodes"].is_object(), "{graph}");
    f.fusebox("schema house").fails(2, &["program, plan, schedules, graph"]);
}

/// Every operation is on the page that `ops` names; where it has a section of its own, that has the same signs for its shapes.
#[test]
fn the_book_has_every_operation_with_the_same_shape() {
    let book = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/book");
    for operation in reference::OPERATIONS {
        let (name, shape) = (operation.name, operation.shape);
        let path = book.join(format!("{}.md", operation.page));
        let page = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let words =
            |text: &str| text.split(|c: char| !(c.is_alphanumeric() || "_'".contains(c))).any(|word| word == name);
        assert!(words(&page), "{} does not say `{name}`", path.display());
        let heading = |section: &&str| section.lines().next() == Some(name);
        let Some(section) = page.split("\n## ").skip(1).find(heading) else { continue };
        assert!(!shape.contains('→') || section.contains(&format!("`{shape}`")), "`{name}`: `{shape}`\n{section}");
    }
}
