//! The reference: that it has everything, and that its examples are programs.

use super::{
    super::{advice::advice, reference::*},
    elsewhere::framed,
    parse,
};
use crate::{ArrayOp, Binary, Unary, validate};

#[track_caller]
fn checked(example: &str) -> crate::Program {
    let text = framed(example);
    let program = parse(&text).unwrap_or_else(|error| panic!("{error}"));
    validate(&program, &[]).unwrap_or_else(|errors| panic!("{text}\n{errors}"));
    program
}

#[test]
fn every_example_is_a_program_that_has_it() {
    for operation in OPERATIONS {
        let program = checked(operation.example);
        let text = program.to_string();
        let written = text.contains(&format!("{}(", operation.name));
        assert!(written || operation.name == "unit", "{text}");
        assert!(operation.form.contains(&format!("{}(", operation.name)));
        assert!(operation.says.ends_with('.'), "{}", operation.says);
    }
    for function in scalar_functions() {
        checked(&function.example);
        assert!(!function.says.is_empty());
    }
}

#[test]
fn every_operation_and_function_is_there() {
    // What programs hold: the tag of each operation in JSON is in the schema.
    let schema: serde_json::Value = serde_json::from_str(&crate::json::schema()).unwrap();
    let tags = schema["$defs"]["Binding"]["oneOf"].as_array().unwrap();
    let tags: Vec<_> = tags.iter().map(|of| of["properties"]["op"]["const"].as_str().unwrap().to_owned()).collect();
    let made: std::collections::BTreeSet<String> = OPERATIONS
        .iter()
        .flat_map(|operation| checked(operation.example).body.bindings)
        .map(|binding| serde_json::to_value(&binding.op).unwrap()["op"].as_str().unwrap().to_owned())
        .collect();
    assert!(tags.len() > 20);
    assert_eq!(made, tags.into_iter().collect());
    let functions = scalar_functions();
    let names = Unary::ALL.iter().map(|f| f.text()).chain(Binary::ALL.iter().map(|f| f.text()));
    for name in names {
        assert!(functions.iter().any(|function| function.name == name), "{name}");
    }
    // A name of the table is one that the parser has an operation for.
    let mut names: Vec<_> = OPERATIONS.iter().map(|operation| operation.name).collect();
    names.dedup();
    assert_eq!(names.len(), OPERATIONS.len());
    assert!(matches!(checked(OPERATIONS[0].example).body.bindings[0].op, ArrayOp::Constant { .. }));
}

#[test]
fn advice_for_names() {
    assert_eq!(advice("flod").unwrap(), "did you mean `fold`?");
    assert!(advice("reduce").unwrap().starts_with("`reduce` is written `fold`"));
    assert_eq!(advice("xylophone"), None);
}
