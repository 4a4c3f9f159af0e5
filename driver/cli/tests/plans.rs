//! Plans from files: dumped, edited, broken, and run.

mod support;

use std::{
    path::PathBuf,
    process::{Command, Stdio},
    time::{Duration, Instant},
};

use serde_json::{Value, json};
use support::{Folder, f32s, i64s};

/// Golden programs with what each is here for.
const GOLDEN: [&str; 9] = [
    "normalise2",    // a fold and a scan in one kernel
    "scans",         // scans of all kinds
    "filter",        // an append
    "quicksort",     // loops that append
    "sort_carry",    // a library step
    "breadth_first", // a loop with scatters
    "expand",        // an extent known only when it runs
    "heat",          // stencils, arrays that are swapped
    "kmeans",        // several kernels in a loop
];

fn golden() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../golden")
}

/// Words that give a golden program its inputs.
fn inputs(name: &str) -> String {
    let folder = golden().join("data").join(name);
    let mut words: Vec<String> = std::fs::read_dir(&folder)
        .unwrap_or_else(|error| panic!("{}: {error}", folder.display()))
        .map(|entry| entry.unwrap().path())
        .filter(|path| !path.file_name().unwrap().to_str().unwrap().starts_with("expected."))
        .map(|path| format!(" -i {}={}", path.file_stem().unwrap().to_str().unwrap(), path.display()))
        .collect();
    words.sort();
    words.concat()
}

/// Dumps a golden program's plan to `plan.json`.
fn dump_golden(f: &Folder, name: &str) -> Value {
    let program = golden().join("programs").join(format!("{name}.fbx"));
    dump(f, program.to_str().unwrap())
}

fn dump(f: &Folder, program: &str) -> Value {
    let plan = f.fusebox(&format!("dump {program} --stage kernels --format json")).ok();
    f.write("plan.json", &plan);
    serde_json::from_str(&plan).unwrap()
}

#[test]
fn a_dumped_plan_gives_what_its_program_gives() {
    for name in GOLDEN {
        let f = Folder::new();
        dump_golden(&f, name);
        let program = golden().join("programs").join(format!("{name}.fbx"));
        let given = inputs(name);
        f.fusebox(&format!("run {} {given} -o program.npz", program.display())).ok();
        for options in ["", "--threads 1 --repeat 2", "--backend interp"] {
            f.fusebox(&format!("run plan.json {given} -o plan.npz {options}")).ok();
            assert!(f.read("program.npz") == f.read("plan.npz"), "{name} {options}: the results differ");
        }
        // The plan of the plan is the plan.
        let again = f.fusebox("dump plan.json --stage kernels --format json").ok();
        assert_eq!(again.as_bytes(), f.read("plan.json"), "{name}");
        assert_eq!(
            f.fusebox("dump plan.json").ok(),
            f.fusebox(&format!("dump {} --stage kernels", program.display())).ok()
        );
    }
}

/// `b = 2 a`, and its plan in `plan.json`.
fn doubled() -> (Folder, Value) {
    let f = Folder::new();
    f.write("double.fbx", "fn double(a: [n]f32) -> [n]f32 { let b: [n]f32 = map(|x| x * 2.0, a) return b }");
    f.write("a.npy", f32s(&[1.0, 2.5, -3.0]));
    let plan = dump(&f, "double.fbx");
    (f, plan)
}

/// Every place in `value` that is of this value.
fn replace(value: &mut Value, from: &Value, to: &Value) -> usize {
    if value == from {
        *value = to.clone();
        return 1;
    }
    match value {
        Value::Array(items) => items.iter_mut().map(|item| replace(item, from, to)).sum(),
        Value::Object(fields) => fields.values_mut().map(|field| replace(field, from, to)).sum(),
        _ => 0,
    }
}

#[test]
fn an_edited_plan_gives_the_edited_result() {
    let (f, mut plan) = doubled();
    assert_eq!(f.fusebox("run plan.json -i a=a.npy --print").ok(), "b: [3]f32 = [2.0, 5.0, -6.0]\n");
    assert_eq!(replace(&mut plan, &json!("2.0f32"), &json!("10.0f32")), 1, "{plan:#}");
    assert_eq!(replace(&mut plan, &json!("mul"), &json!("sub")), 1, "{plan:#}");
    f.write("edited.json", plan.to_string());
    for backend in ["cpu", "interp"] {
        let shown = f.fusebox(&format!("run edited.json -i a=a.npy --print --backend {backend}")).ok();
        assert_eq!(shown, "b: [3]f32 = [-9.0, -7.5, -13.0]\n", "{backend}");
    }
}

#[test]
fn plans_are_known_by_their_content() {
    let (f, plan) = doubled();
    f.write("plan.fbx", plan.to_string());
    assert_eq!(f.fusebox("check plan.fbx").ok(), "fn double(a: [n]f32) -> b: [n]f32 as a plan\n");
    assert_eq!(f.fusebox("check double.fbx").ok(), "fn double(a: [n]f32) -> b: [n]f32\n");
    assert!(f.fusebox("dump plan.fbx").ok().starts_with("plan double(a: [n]f32)"));
    assert!(f.fusebox("dump plan.fbx --stage kernels --format dot").ok().starts_with("digraph"));
}

#[test]
fn plans_are_explained_kernel_by_kernel() {
    let f = Folder::new();
    dump_golden(&f, "normalise2");
    let text = f.fusebox("explain plan.json").ok();
    for says in [
        "reads          2n + 2",
        "0: cluster `sum1`: loops 1, reads n, writes 2",
        "1: cluster `ys1`: loops 1, reads n + 2, writes 2n",
    ] {
        assert!(text.contains(says), "should say: {says}\nbut says: {text}");
    }
    let explained: Value = serde_json::from_str(&f.fusebox("explain plan.json --format json").ok()).unwrap();
    assert_eq!(explained["total"]["loops"], 2);
    assert_eq!(explained["kernels"][1]["each"]["writes"], "2n");
    assert_eq!(explained["kernels"][1]["launches"], 1);
    f.fusebox("explain plan.json --html e.html").fails(2, &["this is a plan", "--html is for programs"]);
    f.fusebox("explain plan.json --format dot").fails(2, &["this is a plan", "fusebox dump plan.json --format dot"]);
}

#[test]
fn what_has_no_meaning_for_plans_is_refused() {
    let (f, _) = doubled();
    f.fusebox("run plan.json -i a=a.npy --fusion none")
        .fails(2, &["plan.json: this is a plan", "--fusion is for programs"]);
    f.fusebox("run plan.json -i a=a.npy --verify").fails(2, &["plan.json: this is a plan", "--verify is for programs"]);
    f.fusebox("dump plan.json --fusion none").fails(2, &["--fusion is for programs"]);
    f.fusebox("dump plan.json --stage clustering").fails(2, &["stage `clustering` comes before it"]);
    f.fusebox("dump plan.json --stage nothing").fails(2, &["there is no stage `nothing`"]);
    f.fusebox("opt plan.json --passes simplify").fails(2, &["this is a plan, and passes run on programs"]);
    let text = f.fusebox("dump plan.json").ok();
    f.write("plan.txt", format!("# printed\n\n{text}"));
    f.write("kernel.txt", text.split_once("\n0: ").unwrap().1);
    f.write("kernels.txt", &text[text.find("\n0: ").unwrap()..]);
    for (file, kind) in
        [("plan.txt", "a plan as text"), ("kernel.txt", "a kernel as text"), ("kernels.txt", "a kernel as text")]
    {
        f.fusebox(&format!("run {file} -i a=a.npy"))
            .fails(2, &[file, kind, "fusebox dump PROGRAM --stage kernels --format json"]);
    }
}

#[test]
fn statistics_of_a_plan_are_one_line_of_json() {
    let (f, _) = doubled();
    for backend in ["cpu", "interp"] {
        let out = f.fusebox(&format!("run plan.json -i a=a.npy --stats --backend {backend}")).ok();
        let stats: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(
            (&stats["program"], &stats["fusion"], &stats["backend"]),
            (&json!("double"), &json!(null), &json!(backend))
        );
        assert_eq!((&stats["bytes_out"], &stats["peak_bytes"]), (&json!(12), &json!(12)));
    }
}

/// The plan after a change, in `broken.json`.
fn broken(f: &Folder, plan: &Value, change: impl FnOnce(&mut Value)) {
    let mut plan = plan.clone();
    change(&mut plan["plan"]);
    f.write("broken.json", plan.to_string());
}

#[test]
fn broken_plans_say_where() {
    let (f, plan) = doubled();
    let text = plan.to_string();
    let refused = |says: &[&str]| {
        for command in ["run broken.json -i a=a.npy", "check broken.json", "dump broken.json", "explain broken.json"] {
            f.fusebox(command).fails(2, &[&["broken.json: "], says].concat());
        }
    };
    for cut in [1, 20, text.len() / 2, text.len() - 1] {
        f.write("broken.json", &text[..cut]);
        refused(&["not JSON", "line 1"]);
    }
    f.write("broken.json", format!("{text} {text}"));
    refused(&["trailing characters"]);
    f.write("broken.json", text.replacen("\"plan\"", "\"plam\"", 1));
    refused(&["plam", "\"program\" or \"plan\" is wanted"]);
    broken(&f, &plan, |p| p["stepss"] = json!([]));
    refused(&["at plan", "unknown field `stepss`"]);
    broken(&f, &plan, |p| p["kernels"][0]["statements"][0]["chekced"] = json!(true));
    refused(&["at plan.kernels[0].statements[0]", "unknown field `chekced`"]);
    broken(&f, &plan, |p| p["steps"][0]["step"] = json!("alocate"));
    refused(&["at plan.steps[0]", "unknown variant `alocate`"]);
    broken(&f, &plan, |p| _ = p.as_object_mut().unwrap().remove("results"));
    refused(&["at plan", "missing field `results`"]);
    broken(&f, &plan, |p| p["steps"][1]["kernel"] = json!(3));
    refused(&["the plan is not valid", "steps[1]: kernel 3 of 1"]);
    broken(&f, &plan, |p| p["values"][1]["type"]["element"] = json!("f64"));
    refused(&["the plan is not valid", "steps[1].arrays[0]", "f64"]);
    broken(&f, &plan, |p| p["values"][1]["type"]["stream"] = json!(true));
    refused(&["the plan is not valid", "values[1]: `a` is a stream"]);
    broken(&f, &plan, |p| p["values"][1]["name"] = json!("not a name"));
    refused(&["the plan is not valid", "`not a name`"]);
    broken(&f, &plan, |p| p["steps"] = json!([]));
    refused(&["the plan is not valid", "results[0]"]);
    // What depends on inputs.
    f.fusebox("run plan.json").fails(2, &["no file is given for `a` ([n]f32)"]);
    f.write("whole.npy", i64s(&[1, 2]));
    f.fusebox("run plan.json -i a=whole.npy").fails(2, &["whole.npy, for `a`: expected [n]f32, found [2]i64"]);
    f.fusebox("run plan.json -i b=a.npy").fails(2, &["`b`"]);
    f.fusebox("run plan.json -i a=a.npy -o c=c.npy").fails(2, &["`c`"]);
}

#[test]
fn accesses_outside_of_arrays_fail_the_run_and_touch_nothing() {
    let (f, plan) = doubled();
    let dims = |p: &mut Value, action: &str, dim: Value| {
        let statements = p["kernels"][0]["statements"].as_array_mut().unwrap();
        let statement = statements.iter_mut().find(|statement| statement["do"] == action).unwrap();
        assert_eq!(statement["map"]["checked"], json!(false));
        statement["map"]["dims"][0] = dim;
    };
    for (action, dim, array, index) in [
        ("load", json!({"offset": 100_000_000_000_i64, "terms": [[1, 1]]}), "`a`", "[100000000000]"),
        ("load", json!({"offset": -1, "terms": [[1, 1]]}), "`a`", "[-1]"),
        ("store", json!({"offset": 100_000_000_000_i64}), "`b`", "[100000000000]"),
        ("store", json!({"offset": 1, "terms": [[1, 1]]}), "`b`", "[3]"),
    ] {
        broken(&f, &plan, |p| dims(p, action, dim));
        for backend in ["cpu", "interp"] {
            f.fusebox(&format!("run broken.json -i a=a.npy --backend {backend}"))
                .fails(1, &[&format!("index {index} is outside of {array}, whose extents are [3]")]);
        }
    }
    // A level that runs on behind the arrays.
    broken(&f, &plan, |p| p["kernels"][0]["levels"][0]["to"] = json!({"constant": "1000000000i64"}));
    f.fusebox("run broken.json -i a=a.npy").fails(1, &["is outside of `a`, whose extents are [3]"]);
    // An append to what is too short.
    let f = Folder::new();
    f.write("keep.fbx", "fn keep(a: [n]f32) -> [?]f32 { let k: i64, b: [k]f32 = filter(|x| x > 0.0, a) return b }");
    f.write("a.npy", f32s(&[1.0; 100]));
    let mut plan = dump(&f, "keep.fbx");
    let kernel = &mut plan["plan"]["kernels"][0];
    let arrays = kernel["arrays"].as_array_mut().unwrap();
    let kept = arrays.iter_mut().find(|array| array["access"] == "write" && array["extents"] != json!([])).unwrap();
    kept["extents"] = json!([{"constant": 7}]);
    let room = plan["plan"]["steps"][0]["value"].as_u64().unwrap() as usize;
    for value in 0..plan["plan"]["values"].as_array().unwrap().len() {
        let of = |value: &Value| value["type"]["extents"].clone();
        let n = of(&plan["plan"]["values"][1]);
        if value >= room && of(&plan["plan"]["values"][value]) == n {
            plan["plan"]["values"][value]["type"]["extents"] = json!([{"constant": 7}]);
        }
    }
    f.write("broken.json", plan.to_string());
    let outside = ["index [7] is outside of", "whose extents are [7]"];
    f.fusebox("run broken.json -i a=a.npy").fails(1, &outside);
    // A schedule in gangs, which do not look at the room for each element, is refused; one for other machines is not asked.
    let mut refused = 0;
    for target in ["avx512", "avx2", "sse"] {
        f.write("own.txt", f.fusebox(&format!("dump keep.fbx --stage schedule --target {target}")).ok());
        let run = f.fusebox("run broken.json -i a=a.npy --schedule own.txt");
        if run.err.contains("runs on none of them") {
            run.fails(1, &outside);
        } else {
            run.fails(2, &["the schedule is refused", "appends to an array that may be too short"]);
            refused += 1;
        }
    }
    assert!(refused > 0, "no schedule for this machine");
}

#[test]
fn a_sort_into_an_array_of_other_extents_is_refused() {
    let f = Folder::new();
    f.write(
        "s.fbx",
        "fn s(a: [n]f32, b: [m]f32) -> [n]f32, [m]f32 { let c: [n]f32 = sort(a) let d: [m]f32 = sort(b) return c, d }",
    );
    f.write("a.npy", f32s(&[3.0, 1.0, 2.0]));
    f.write("b.npy", f32s(&[0.0; 1000]));
    let plan = dump(&f, "s.fbx");
    broken(&f, &plan, |p| {
        let sorts = p["steps"].as_array_mut().unwrap().iter_mut().filter(|step| step["step"] == "sort");
        let [first, second] = sorts.collect::<Vec<_>>().try_into().unwrap();
        std::mem::swap(&mut first["keys"], &mut second["keys"]);
    });
    for (backend, says) in
        [("cpu", "is not of the extents of what is sorted into it"), ("interp", "of different extents")]
    {
        f.fusebox(&format!("run broken.json -i a=a.npy -i b=b.npy --backend {backend}")).fails(2, &[says]);
    }
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 33) as usize % limit
    }

    fn of<'t, T>(&mut self, list: &'t [T]) -> &'t T {
        &list[self.below(list.len())]
    }
}

/// Pointers to all numbers, strings and truth values.
fn leaves(value: &Value, at: String, into: &mut Vec<String>) {
    match value {
        Value::Array(items) => {
            (0..).zip(items).for_each(|(key, item): (usize, _)| leaves(item, format!("{at}/{key}"), into))
        }
        Value::Object(fields) => fields
            .iter()
            .filter(|(key, _)| *key != "place")
            .for_each(|(key, field)| leaves(field, format!("{at}/{key}"), into)),
        _ => into.push(at),
    }
}

/// Runs for a few seconds at most: a plan may loop for ever. The exit code, and what was said.
fn limited(f: &Folder, arguments: &str) -> Option<(Option<i32>, String)> {
    let err = std::fs::File::create(f.path("err.txt")).unwrap();
    let mut child = Command::new(env!("CARGO_BIN_EXE_fusebox"))
        .args(arguments.split_whitespace())
        .current_dir(f.path(""))
        .stdout(Stdio::null())
        .stderr(err)
        .spawn()
        .unwrap();
    let begin = Instant::now();
    loop {
        if let Some(status) = child.try_wait().unwrap() {
            return Some((status.code(), String::from_utf8_lossy(&f.read("err.txt")).into_owned()));
        }
        if begin.elapsed() > Duration::from_secs(3) {
            child.kill().unwrap();
            child.wait().unwrap();
            return None;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

#[test]
fn plans_with_random_changes_are_refused_or_run() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let numbers = [0, 1, 2, 3, -1, 5, 64, 1000, 1 << 31, i64::MAX, i64::MIN];
    let (mut refused, mut ran) = (0, 0);
    for name in
        ["normalise2", "scans", "filter", "quicksort", "sort_carry", "expand", "histogram", "heat", "matmul", "kmeans"]
    {
        let f = Folder::new();
        let plan = dump_golden(&f, name);
        let given = inputs(name);
        let mut places = Vec::new();
        leaves(&plan["plan"], "/plan".to_owned(), &mut places);
        for _ in 0..30 {
            let mut changed = plan.clone();
            let at = random.of(&places).clone();
            let other = plan.pointer(&places[random.below(places.len())]).unwrap();
            let place = changed.pointer_mut(&at).unwrap();
            *place = match place {
                Value::Bool(was) => json!(!*was),
                Value::Number(was) if random.below(2) == 0 => json!(was.as_i64().unwrap_or(0) + 1),
                Value::Number(_) => json!(random.of(&numbers)),
                _ => other.clone(),
            };
            let what = format!("{name}: {at} became {place}");
            f.write("changed.json", changed.to_string());
            for backend in ["cpu", "interp"] {
                let Some((code, said)) = limited(&f, &format!("run changed.json {given} --backend {backend}")) else {
                    continue;
                };
                assert!(
                    matches!(code, Some(0..=2)) && !said.contains("panicked"),
                    "{what}, {backend}: {code:?}\n{said}"
                );
                assert!(code == Some(0) || said.starts_with("fusebox: "), "{what}, {backend}: {said}");
                *(if code == Some(0) { &mut ran } else { &mut refused }) += 1;
            }
        }
    }
    assert!(refused > 100 && ran > 50, "{refused} were refused, {ran} ran: are the changes any good?");
}
