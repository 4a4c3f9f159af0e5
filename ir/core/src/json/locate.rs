//! Where in a file something is wrong.
//!
//! What serde reads in two steps (an operation among the fields of its binding) it reports at the outermost such place. The message names
//! what is wrong there, a field or a value, and that is looked for inside.

use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_path_to_error::{Path, Segment};

/// More places than these are not tried.
const MOST: usize = 64;

/// A step into a value.
#[derive(Clone, Debug)]
enum Step {
    Key(String),
    Index(usize),
}

/// The position of what `message` is about, at `reported` or inside of it, if it is certain.
pub(super) fn locate<T: DeserializeOwned>(file: &Value, reported: &Path, message: &str) -> Option<String> {
    let start = steps(reported)?;
    let mut places = Vec::new();
    if let Some(field) = between(message, "unknown field `", '`') {
        if matches!(start.last(), Some(Step::Key(key)) if *key == field) {
            return None;
        }
        find(
            at(file, &start)?,
            start,
            &mut places,
            &|place, _| matches!(place.last(), Some(Step::Key(key)) if *key == field),
        );
        places.truncate(MOST);
        // Of several, one that is refused although it stands alone.
        let unknown = |place: &&Vec<Step>| {
            let mut alone = file.clone();
            places.iter().filter(|other| !std::ptr::eq(*other, *place)).for_each(|other| remove(&mut alone, other));
            let error = super::attempt::<T>(&alone.to_string()).err();
            error.is_some_and(|error| {
                between(&error.inner().to_string(), "unknown field `", '`').is_some_and(|name| name == field)
            })
        };
        return places.iter().find(unknown).map(|place| shown(place));
    }
    let value = wrong_value(message)?;
    find(at(file, &start)?, start, &mut places, &|_, found| match found {
        Value::String(text) => *text == value,
        Value::Number(number) => number.to_string() == value,
        Value::Bool(truth) => truth.to_string() == value,
        _ => false,
    });
    if let [only] = &places[..] { Some(shown(only)) } else { None }
}

/// The value that a message says is wrong.
fn wrong_value(message: &str) -> Option<String> {
    let before = ["unknown variant `", "integer `", "floating point `", "boolean `"];
    let quoted = before.iter().find_map(|before| between(message, before, '`'));
    let constant = || message.contains("` is not a constant").then(|| between(message, "`", '`')).flatten();
    quoted.or_else(constant).or_else(|| between(message, "string \"", '"'))
}

fn between(message: &str, before: &str, after: char) -> Option<String> {
    let (_, rest) = message.split_once(before)?;
    rest.split_once(after).map(|(inner, _)| inner.to_owned())
}

fn steps(path: &Path) -> Option<Vec<Step>> {
    path.iter()
        .map(|segment| match segment {
            Segment::Seq { index } => Some(Step::Index(*index)),
            Segment::Map { key } => Some(Step::Key(key.clone())),
            Segment::Enum { variant } => Some(Step::Key(variant.clone())),
            Segment::Unknown => None,
        })
        .collect()
}

fn at<'v>(value: &'v Value, steps: &[Step]) -> Option<&'v Value> {
    steps.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get(key),
        Step::Index(index) => value.get(index),
    })
}

/// Every place inside for which `is` holds, in order.
fn find(value: &Value, start: Vec<Step>, places: &mut Vec<Vec<Step>>, is: &dyn Fn(&[Step], &Value) -> bool) {
    let mut open = vec![(value, start)];
    while let Some((value, place)) = open.pop() {
        if is(&place, value) {
            places.push(place.clone());
        }
        let inner = |step| [&place[..], &[step]].concat();
        match value {
            Value::Object(fields) => {
                open.extend(fields.iter().rev().map(|(key, value)| (value, inner(Step::Key(key.clone())))))
            }
            Value::Array(items) => {
                open.extend(items.iter().enumerate().rev().map(|(i, value)| (value, inner(Step::Index(i)))))
            }
            _ => {}
        }
    }
}

fn remove(value: &mut Value, place: &[Step]) {
    let Some((Step::Key(last), outer)) = place.split_last() else { return };
    let parent = outer.iter().try_fold(value, |value, step| match step {
        Step::Key(key) => value.get_mut(key),
        Step::Index(index) => value.get_mut(index),
    });
    if let Some(Value::Object(fields)) = parent {
        fields.remove(last);
    }
}

/// As serde's own paths are written: `program.body.bindings[2]`.
fn shown(place: &[Step]) -> String {
    let mut text = String::new();
    for step in place {
        match step {
            Step::Index(index) => text += &format!("[{index}]"),
            Step::Key(key) if text.is_empty() => text += key,
            Step::Key(key) => text += &format!(".{key}"),
        }
    }
    text
}
