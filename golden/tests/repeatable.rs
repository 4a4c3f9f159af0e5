//! A program compiles to the same text every time: twice in one process, where each hash map has keys of its own, and in another process,
//! where addresses differ too. So no hash order and no clock reaches what the passes make or say.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    process::Command,
};

use fusebox::{Fusion, Options, explain, pipeline, run_passes};
use fusebox_golden::{embedded, load, names};
use fusebox_ir::{
    Program,
    generate::{Config, program},
    json,
};
use fusebox_sharing::Config as Sharing;

/// Generated programs beside the golden ones.
const GENERATED: u64 = 60;
/// Set for the other process.
const WORKER: &str = "FUSEBOX_REPEATABLE_WORKER";
/// What a line of the other process begins with.
const LINE: &str = "made ";

/// Everything that is made of a program, and said of it.
fn made(program: &Program) -> Vec<(String, String)> {
    let mut all = vec![("read".to_owned(), format!("{program}\n{}", json::to_json(program, &[])))];
    for fusion in [Fusion::None, Fusion::Greedy, Fusion::Optimal] {
        let options = Options { fusion, ..Options::default() };
        let mut passes = pipeline(&options);
        if fusebox_ir::validate(program, &[fusebox_ir::Property::Flat]).is_err() {
            passes.retain(|pass| pass.needs().is_empty());
        }
        let stages = run_passes(program, &passes, false).unwrap_or_else(|error| panic!("{error}\n{program}"));
        for stage in stages {
            let text = match (stage.program(), stage.plan()) {
                (Some(program), _) => format!("{program}\n{}", json::to_json(program, &[])),
                (None, Some(plan)) => format!("{plan}\n{}", json::plan_to_json(plan)),
                (None, None) => String::new(),
            };
            all.push((format!("{} with fusion {fusion}", stage.pass), text));
        }
        let said = explain(program, &options).unwrap_or_else(|error| panic!("{error}\n{program}"));
        // How long each stage took is said too.
        let said = said.to_json();
        let said = said.lines().filter(|line| !line.contains("\"milliseconds\": ")).collect::<Vec<_>>().join("\n");
        all.push((format!("what is said with fusion {fusion}"), said));
    }
    all
}

/// What is made of every program, by its name and what it is.
fn everything() -> BTreeMap<String, String> {
    let golden = names().into_iter().map(|name| (load(&name).program, name));
    let embedded = embedded::all().into_iter().map(|embedded| {
        let terms = (embedded.build)().unwrap_or_else(|error| panic!("{}: {error}", embedded.name));
        let program = fusebox_sharing::program(&terms, &Sharing::default());
        (program.unwrap_or_else(|error| panic!("{}: {error}", embedded.name)), format!("{}, embedded", embedded.name))
    });
    let generated = (0..GENERATED).map(|seed| (program(seed, &Config::default()), format!("generated {seed}")));
    let all = golden.chain(embedded).chain(generated);
    all.flat_map(|(program, name)| {
        made(&program).into_iter().map(move |(what, text)| (format!("{name}, {what}"), text))
    })
    .collect()
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new(); // with fixed keys
    text.hash(&mut hasher);
    hasher.finish()
}

/// The other process: prints what it made, a line each.
#[test]
fn worker() {
    if std::env::var_os(WORKER).is_some() {
        everything().iter().for_each(|(what, text)| println!("{LINE}{:016x} {what}", hash(text)));
    }
}

#[test]
fn the_same_is_made_every_time() {
    let this = std::env::current_exe().expect("this test has a file");
    let other = std::thread::spawn(|| {
        Command::new(this)
            .args(["repeatable::worker", "--exact", "--nocapture"])
            .env(WORKER, "1")
            .output()
            .expect("this test runs again")
    });
    let first = everything();
    let second = everything();
    assert_eq!(first.len(), second.len());
    for ((what, one), (_, two)) in first.iter().zip(&second) {
        let other = one.lines().zip(two.lines()).find(|(one, two)| one != two);
        assert!(one == two, "{what}: not the same twice in one process: {other:?}");
    }
    let other = other.join().expect("the other process is read");
    assert!(other.status.success(), "{}", String::from_utf8_lossy(&other.stderr));
    let printed = String::from_utf8_lossy(&other.stdout).into_owned();
    // The harness prints the test's name before its first line.
    let lines: BTreeMap<&str, &str> = (printed.lines())
        .filter_map(|line| line[line.find(LINE)? + LINE.len()..].split_once(' '))
        .map(|(hash, what)| (what, hash))
        .collect();
    assert_eq!(lines.len(), first.len(), "the other process made something else");
    for (what, text) in &first {
        assert_eq!(
            lines.get(what.as_str()).copied(),
            Some(&*format!("{:016x}", hash(text))),
            "{what}: not the same in another process"
        );
    }
}
