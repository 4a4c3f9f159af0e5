//! Broken programs, each refused with exactly the message beside it.
//!
//! `broken/*.fbx` are programs that text can say: the first lines are the expected message, as comments. `broken/edits.json` breaks valid
//! programs in ways that text cannot: each entry says what to replace in the JSON of a program. `FUSEBOX_BLESS=1` rewrites the messages.

use std::{fmt::Write, fs, path::PathBuf};

use fusebox_ir::{Property, json, text, validate};
use serde::{Deserialize, Serialize};
use serde_json::Value;

const MARK: &str = "# refused: ";

fn folder() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/broken")
}

fn blessing() -> bool {
    std::env::var("FUSEBOX_BLESS").is_ok_and(|value| value == "1")
        || std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always")
}

/// Properties are named in a comment, after `# properties: `.
fn properties(source: &str) -> Vec<Property> {
    let line = source.lines().find_map(|line| line.strip_prefix("# properties: ")).unwrap_or_default();
    [Property::Flat, Property::Clustered].into_iter().filter(|property| line.contains(property.name())).collect()
}

fn refusal(source: &str) -> String {
    match text::parse(source) {
        Err(error) => format!("text: {}", error.message()),
        Ok(program) => match validate(&program, &properties(source)) {
            Ok(()) => "nothing: it is valid".to_owned(),
            Err(errors) => errors.to_string(),
        },
    }
}

#[test]
fn broken_texts_are_refused() {
    let mut wrong = String::new();
    let mut count = 0;
    let mut paths: Vec<PathBuf> =
        fs::read_dir(folder()).expect("the catalogue").map(|entry| entry.expect("an entry").path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "fbx")) {
        let source = fs::read_to_string(path).expect("text");
        let expected: Vec<&str> = source.lines().map_while(|line| line.strip_prefix(MARK)).collect();
        let found = refusal(&source);
        if found.starts_with("nothing") {
            let _ = writeln!(wrong, "{} is valid", path.display());
        } else if blessing() {
            let rest: Vec<&str> = source.lines().skip(expected.len()).collect();
            // Lines move by the number of expected lines, so messages are settled before they are written.
            let moved = "#\n".repeat(found.lines().count()) + &rest.join("\n") + "\n";
            let header: String = refusal(&moved).lines().map(|line| format!("{MARK}{line}\n")).collect();
            fs::write(path, header + &rest.join("\n") + "\n").expect("written");
        } else if found != expected.join("\n") {
            let _ = writeln!(wrong, "{}:\n  found    {found}\n  expected {}", path.display(), expected.join("\n"));
        }
        count += 1;
    }
    assert!(wrong.is_empty(), "{wrong}");
    assert!(count >= 30, "{count}");
}

#[derive(Serialize, Deserialize)]
struct Broken {
    /// What is broken.
    name: String,
    /// A valid program, as text.
    program: Vec<String>,
    /// JSON pointers below `program`, and what stands there instead; `null` removes it.
    edits: Vec<(String, Value)>,
    /// Checked for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    properties: Vec<Property>,
    /// Every message.
    refused: Vec<String>,
}

fn edit(file: &mut Value, at: &str, value: &Value) {
    let pointer = format!("/program{at}");
    let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
    let parent = file.pointer_mut(parent).unwrap_or_else(|| panic!("nothing is at {at}"));
    match parent {
        Value::Object(fields) if value.is_null() => {
            _ = fields.remove(key).unwrap_or_else(|| panic!("nothing is at {at}"))
        }
        Value::Object(fields) => _ = fields.insert(key.to_owned(), value.clone()),
        Value::Array(items) => {
            let position: usize = key.parse().expect("a position");
            if value.is_null() {
                items.remove(position);
            } else if position == items.len() {
                items.push(value.clone());
            } else {
                items[position] = value.clone();
            }
        }
        _ => panic!("{at} is in no object or array"),
    }
}

#[test]
fn broken_edits_are_refused() {
    let path = folder().join("edits.json");
    let source = fs::read_to_string(&path).expect("edits");
    let mut catalogue: Vec<Broken> = serde_json::from_str(&source).expect("the shape of the catalogue");
    let mut wrong = String::new();
    for broken in &mut catalogue {
        let program =
            text::parse(&broken.program.join("\n")).unwrap_or_else(|error| panic!("{}: {error}", broken.name));
        validate(&program, &[])
            .unwrap_or_else(|errors| panic!("{} is broken before it is edited: {errors}", broken.name));
        let mut file: Value = serde_json::from_str(&json::to_json(&program, &broken.properties)).expect("JSON");
        for (at, value) in &broken.edits {
            edit(&mut file, at, value);
        }
        let found: Vec<String> = match json::from_json(&file.to_string()) {
            Ok(_) => vec!["nothing: it is valid".to_owned()],
            Err(json::JsonError::Invalid { errors, .. }) => errors.errors.iter().map(ToString::to_string).collect(),
            Err(error) => vec![format!("JSON: {error}")],
        };
        assert!(!found[0].starts_with("nothing"), "{} is valid", broken.name);
        if found != broken.refused {
            let _ = writeln!(wrong, "{}:\n  found    {found:#?}\n  expected {:#?}", broken.name, broken.refused);
        }
        broken.refused = found;
    }
    if blessing() {
        let text = serde_json::to_string_pretty(&catalogue).expect("JSON");
        fs::write(&path, text + "\n").expect("written");
    } else {
        assert!(wrong.is_empty(), "{wrong}");
    }
    assert!(catalogue.len() >= 30, "{}", catalogue.len());
}
