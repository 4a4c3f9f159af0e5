//! Programs as JSON: both ways, whatever is wrong, however deep.

use std::{fs, path::PathBuf};

use fusebox_ir::{
    ArrayOp, ElementType, Extent, LambdaBuilder, MAX_NESTING, Operand, Program, ProgramBuilder, ProgramFault, Type,
    json::{JsonError, from_json, schema, to_json},
    text, validate,
};
use serde_json::Value;

fn goldens() -> Vec<Program> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../golden/programs");
    let mut paths: Vec<_> =
        fs::read_dir(folder).expect("golden programs").map(|e| e.expect("an entry").path()).collect();
    paths.sort();
    let texts = paths.iter().filter(|path| path.extension().is_some_and(|extension| extension == "fbx"));
    texts.map(|path| text::parse(&fs::read_to_string(path).expect("text")).expect("a golden program")).collect()
}

#[test]
fn golden_programs_come_back() {
    for program in goldens() {
        let json = to_json(&program, &[]);
        let (back, properties) = from_json(&json).unwrap_or_else(|error| panic!("{}: {error}", program.name));
        assert_eq!(back, program);
        assert!(properties.is_empty());
        assert_eq!(to_json(&back, &[]), json, "places and names too");
    }
}

#[test]
fn the_schema_is_current() {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("schema/program.schema.json");
    let blessing = std::env::var("FUSEBOX_BLESS").is_ok_and(|value| value == "1")
        || std::env::var("INSTA_UPDATE").is_ok_and(|value| value == "always");
    if blessing {
        fs::write(&path, schema()).expect("written");
    }
    let committed = fs::read_to_string(&path).unwrap_or_default();
    assert!(committed == schema(), "{} is not current: run `cargo xtask bless`", path.display());
}

fn refused(json: &str) -> String {
    match from_json(json) {
        Ok(_) => "nothing".to_owned(),
        Err(error) => error.to_string(),
    }
}

#[test]
fn headers_are_checked_first() {
    let valid = to_json(&goldens()[0], &[]);
    let with = |from: &str, to: &str| {
        assert!(valid.contains(from), "{from}");
        refused(&valid.replacen(from, to, 1))
    };
    assert_eq!(
        with("\"fusebox\"", "\"other\""),
        "not a fusebox file: `format` is \"other\", and \"fusebox\" is wanted"
    );
    assert_eq!(
        with("\"format\": \"fusebox\",", ""),
        "not a fusebox file: `format` is missing, and \"fusebox\" is wanted"
    );
    assert_eq!(with("\"version\": 1", "\"version\": 2"), "`version` is 2, and 1 is the only one known");
    assert_eq!(
        with("\"version\": 1", "\"kind\": \"plan\", \"version\": 1"),
        "`kind` is \"plan\", and \"program\" is wanted"
    );
    assert_eq!(
        with("\"version\": 1", "\"version\": 1, \"extra\": 0").split(',').next(),
        Some("at extra: unknown field `extra`")
    );
    assert_eq!(refused("{"), "not JSON: EOF while parsing an object at line 1 column 1");
    assert_eq!(refused("[]"), "not a fusebox file: `format` is missing, and \"fusebox\" is wanted");
    assert_eq!(refused("3").split(':').next(), Some("at ."));
    assert_eq!(refused(&(valid.clone() + "{}")).split(':').next(), Some("not JSON"));
    let unknown = valid.replacen("\"properties\": []", "\"properties\": [\"fused\"]", 1);
    assert_eq!(refused(&unknown).split(',').next(), Some("at properties[0]: unknown variant `fused`"));
}

/// `depth` blocks inside each other, each in a nest.
fn nested(depth: usize) -> Program {
    fn level(p: &mut ProgramBuilder, depth: usize) -> fusebox_ir::ArrayId {
        if depth == 0 {
            return p.unit("one", |f| f.add(1i64, 2i64));
        }
        let body = p.block(|p| {
            p.param("i", Type::scalar(ElementType::I64));
            let inner = level(p, depth - 1);
            let read = p.unit("", |f| {
                if depth == 1 {
                    f.add(fusebox_ir::ScalarValue::outer(inner, ElementType::I64), 1i64)
                } else {
                    f.read(inner, ElementType::I64, &[0i64.into()])
                }
            });
            vec![read]
        });
        let op = ArrayOp::Nest { extents: vec![Operand::from(1i64)], body };
        p.bind_one("t", Type::array(vec![Extent::Constant(1)], ElementType::I64), op)
    }
    let mut p = ProgramBuilder::new("deep");
    let t = level(&mut p, depth);
    p.output("t", t);
    p.finish_unchecked()
}

#[test]
fn the_deepest_programs_come_back() {
    let program = nested(MAX_NESTING - 1); // and scalar code in the innermost block
    validate(&program, &[]).expect("as deep as is possible");
    let json = to_json(&program, &[]);
    assert_eq!(from_json(&json).expect("as deep as is possible").0, program);
    assert_eq!(text::parse(&program.to_string()).expect("as deep as is possible"), program);
    let errors = validate(&nested(MAX_NESTING), &[]).expect_err("too deep");
    assert_eq!(errors.errors.len(), 1);
    assert_eq!(errors.errors[0].fault, ProgramFault::TooDeep { limit: MAX_NESTING });
}

#[test]
fn the_deepest_functions_come_back() {
    fn level(f: &mut LambdaBuilder, depth: usize) -> Vec<fusebox_ir::ScalarValue> {
        if depth == 0 { vec![1i64.into()] } else { f.branch(true, |f| level(f, depth - 1), |_| vec![2i64.into()]) }
    }
    let deep = |depth| {
        let mut p = ProgramBuilder::new("deep");
        let t = p.unit("t", |f| level(f, depth)[0]);
        p.output("t", t);
        p.finish_unchecked()
    };
    let program = deep(MAX_NESTING - 1);
    validate(&program, &[]).expect("as deep as is possible");
    assert_eq!(from_json(&to_json(&program, &[])).expect("as deep as is possible").0, program);
    assert_eq!(text::parse(&program.to_string()).expect("as deep as is possible"), program);
    assert!(validate(&deep(MAX_NESTING), &[]).is_err());
}

#[test]
fn deep_json_is_refused() {
    let deep = format!("{{\"format\": \"fusebox\", \"version\": 1, \"program\": {}", "[\n".repeat(1_000_000));
    assert!(matches!(from_json(&deep), Err(JsonError::TooDeep { .. })));
}

/// Numbers from a seed: the same on every machine.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((self.0 >> 33) as usize) % limit.max(1)
    }
}

/// Every place in a value, in order.
fn places(value: &Value, at: String, all: &mut Vec<String>) {
    match value {
        Value::Object(fields) => fields.iter().for_each(|(key, value)| places(value, format!("{at}/{key}"), all)),
        Value::Array(items) => items.iter().enumerate().for_each(|(i, value)| places(value, format!("{at}/{i}"), all)),
        _ => {}
    }
    all.push(at);
}

#[test]
fn whatever_is_changed_nothing_panics() {
    let mut numbers = Numbers(7);
    let (mut accepted, mut refused) = (0, 0);
    for program in goldens() {
        let original: Value = serde_json::from_str(&to_json(&program, &[])).expect("JSON");
        let mut all = Vec::new();
        places(&original["program"], "/program".to_owned(), &mut all);
        for _ in 0..150 {
            let mut changed = original.clone();
            for _ in 0..=numbers.below(2) {
                let with = original.pointer(&all[numbers.below(all.len())]).cloned().unwrap_or_default();
                let Some(place) = changed.pointer_mut(&all[numbers.below(all.len())]) else { continue };
                *place = match (&*place, numbers.below(3)) {
                    (Value::Number(_), 0 | 1) => {
                        [0i64, 1, 2, 3, -1, 7, 9, 255, i64::MAX, i64::MIN, 4_294_967_295][numbers.below(11)].into()
                    }
                    (Value::String(_), 0) => with,
                    (Value::String(_), _) => {
                        let names = [
                            "f32", "i64", "bool", "add", "and", "lt", "unknown", "3i64", "true", "generate", "unit",
                            "map",
                        ];
                        names[numbers.below(names.len())].into()
                    }
                    (Value::Array(items), 0 | 1) if !items.is_empty() => {
                        let mut items = items.clone();
                        let at = numbers.below(items.len());
                        if numbers.below(2) == 0 {
                            _ = items.remove(at)
                        } else {
                            items.push(items[at].clone())
                        }
                        items.into()
                    }
                    _ => with,
                };
            }
            match from_json(&changed.to_string()) {
                Ok((program, _)) => {
                    assert_eq!(program.clone().renumbered(), program);
                    assert_eq!(from_json(&to_json(&program, &[])).expect("what was read").0, program);
                    accepted += 1;
                }
                Err(error) => {
                    assert!(!error.to_string().is_empty());
                    refused += 1;
                }
            }
        }
    }
    assert!(accepted > 100 && refused > 5_000, "{accepted} {refused}");
}

/// A program with something of every type that a file may hold.
fn with_everything() -> Program {
    let source = "fn f(xs: [n]f32, frames: stream [?]i64, d: [m]f32, at: [n]i64) -> f32, i64 {
        let a: [n]f32 = map(|x| if x > 0.0 { 2.0 * x } else { while(|v: f32| v < 1.0, |v: f32| v + 1.0, x) }, xs)
        let p: [n]f32 = stencil(|l, r| l + r, a[-1], a[1], a: constant(0.0))
        let h: [m]f32 = permute(|new, old| new + old, d, p, at: at, ordered: true)
        let t: [n]f32 = nest([n], |i| { let r: [i]f32 = generate([i], |j| f32(j)) let q: f32 = fold(|u, v| u + v, 0.0, r) return q })
        let s: f32 = cluster(|| { vertical w: [m]f32 = map(|u| u, h) last s: f32 = fold(|u, v| u + v, 0.0, w) return s }, order: descending)
        let k: i64, l: i64, w: [k, l]i64, total: i64 = consume(|i, frame: [c]i64| {
            yield tabulate(frame), accumulate(|st: i64, e: [g]i64, v: [z]i64| { let u: i64 = fold(|x, y| x + y, st, v) return u }, 0, frame) }, frames)
        return s, total }";
    text::parse(source).expect("a program")
}

#[test]
fn unknown_fields_are_refused_at_every_place() {
    let original: Value = serde_json::from_str(&to_json(&with_everything(), &[])).expect("JSON");
    let mut all = Vec::new();
    places(&original, String::new(), &mut all);
    let (mut objects, mut exact) = (0, 0);
    for place in all {
        let mut changed = original.clone();
        let Some(Value::Object(fields)) = changed.pointer_mut(&place) else { continue };
        fields.insert("strange".to_owned(), Value::Array(Vec::new()));
        objects += 1;
        let Err(JsonError::Shape { path, message }) = from_json(&changed.to_string()) else {
            panic!("`strange` is taken at {place}")
        };
        // A variant such as `{"value": 3}` has no names of fields to say.
        let named = message.starts_with("unknown field `strange`");
        exact += usize::from(named);
        if named {
            let dotted = path.replace('[', "/").replace(']', "").replace('.', "/");
            assert_eq!(format!("/{dotted}"), format!("{place}/strange"), "{message}");
        }
    }
    assert!(objects > 100 && exact > 80, "{objects} objects, {exact} of them with fields");
}

#[test]
fn errors_inside_of_operations_say_where() {
    let valid = to_json(&with_everything(), &[]);
    let at = |from: &str, to: &str| {
        assert_eq!(valid.matches(from).count(), 1, "{from}");
        refused(&valid.replace(from, to))
    };
    let function = "at program.body.bindings[0].f.instructions[1].";
    assert_eq!(
        at("\"2.0f32\"", "\"2.0f33\""),
        format!(
            "{function}then.instructions[0].a.constant: `2.0f33` is not a constant: write a value and its type, such as `1.5f32`"
        )
    );
    let message = at("\"then\": {", "\"then\": {\n \"else\": 0,");
    assert!(
        message.starts_with(&format!("{function}then.else: unknown field `else`, expected one of `params`")),
        "{message}"
    );
    let message = at("\"mul\"", "\"times\"");
    assert!(
        message.starts_with(&format!("{function}then.instructions[0].function: unknown variant `times`")),
        "{message}"
    );
    let message = at("\"sink\": \"tabulate\"", "\"sink\": \"tabulate\", \"count\": 1");
    assert!(message.starts_with("at program.body.bindings[5].sinks[0].count: unknown field `count`"), "{message}");
}

#[test]
fn fields_that_are_given_twice_and_fields_that_are_missing() {
    let valid = to_json(&with_everything(), &[]);
    let twice = valid.replacen("\"extents\": [", "\"extents\": [], \"extents\": [", 1);
    assert!(refused(&twice).contains("duplicate field `extents`"), "{}", refused(&twice));
    let missing = valid.replacen("\"results\": [", "\"strange\": [", 1);
    assert!(refused(&missing).starts_with("at program.body"), "{}", refused(&missing));
}

#[test]
fn a_byte_order_mark_is_skipped() {
    let program = with_everything();
    assert_eq!(from_json(&format!("\u{feff}{}", to_json(&program, &[]))).expect("a program").0, program);
    let source = "\u{feff}fn f(x: f32) -> f32 { return x }";
    assert_eq!(text::parse(source).expect("a program"), text::parse(&source["\u{feff}".len()..]).expect("a program"));
    let error = text::parse("\u{feff}fn f(x: f32) -> f32 { return y }").expect_err("no `y`").to_string();
    assert!(error.starts_with("1:30: "), "{error}");
}
