//! The JSON of every golden program after each pass, and of its plan, is as the schemas say.

use fusebox::{Options, pipeline_of, run_passes};
use fusebox_golden::{load, names};
use fusebox_ir::{Made, json};
use fusebox_schedule::{Book, Preferences, Target, guards, schedule, with_version};
use jsonschema::Validator;
use serde_json::Value;

fn validator(schema: &str) -> Validator {
    let schema: Value = serde_json::from_str(schema).expect("a schema is JSON");
    jsonschema::meta::validate(&schema).unwrap_or_else(|error| panic!("no schema: {error}"));
    jsonschema::validator_for(&schema).unwrap_or_else(|error| panic!("{error}"))
}

/// What a schema says against a file; nothing if it is as it should be.
fn faults(validator: &Validator, json: &str) -> Vec<String> {
    let file: Value = serde_json::from_str(json).expect("a file is JSON");
    validator.iter_errors(&file).map(|error| format!("{}: {error}", error.instance_path())).collect()
}

#[test]
fn programs_and_plans_are_as_their_schemas_say() {
    let (of_programs, of_plans) = (validator(&json::schema()), validator(&json::plan_schema()));
    let mut wrong = Vec::new();
    for name in names() {
        let program = load(&name).program;
        let mut check = |what: &str, faults: Vec<String>| {
            wrong.extend(faults.into_iter().map(|fault| format!("{name}, {what}: {fault}")));
        };
        check("as read", faults(&of_programs, &json::to_json(&program, &[])));
        let stages = run_passes(&program, &pipeline_of(&program, &Options::default()), false);
        for stage in stages.unwrap_or_else(|error| panic!("{name}: {error}")) {
            match &stage.made {
                Made::Program(program) => check(stage.pass, faults(&of_programs, &json::to_json(program, &[]))),
                Made::Plan(plan) => check(stage.pass, faults(&of_plans, &json::plan_to_json(plan))),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn schedules_are_as_their_schema_says() {
    let of_schedules = validator(&Book::schema());
    let mut wrong = Vec::new();
    for name in names() {
        let program = load(&name).program;
        let stages = run_passes(&program, &pipeline_of(&program, &Options::default()), false);
        let stages = stages.unwrap_or_else(|error| panic!("{name}: {error}"));
        let Some(plan) = stages.last().and_then(|stage| stage.plan()) else { panic!("{name} has no plan") };
        for target in Target::DISTINCT {
            let target = Target::named(target).expect("a target of its own");
            let mut book = Book::default();
            for kernel in &plan.kernels {
                let usual = schedule(kernel, &target, Preferences::default()).schedule;
                let sizes = vec![4; kernel.sizes.len()];
                let versions = with_version(kernel, &usual, &guards(kernel, &sizes, 8), &target);
                book.insert(kernel, versions.filter(|_| target.cpu().is_some()).unwrap_or(usual));
            }
            wrong.extend(faults(&of_schedules, &book.to_json()).into_iter().map(|fault| format!("{name}: {fault}")));
            assert!(Book::from_json(&book.to_json()).is_ok_and(|read| read == book), "{name}");
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let unknown = r#"{"entries": [], "more": 1}"#;
    assert!(!of_schedules.is_valid(&serde_json::from_str(unknown).expect("JSON")));
}

/// Schemas refuse: a field that is not there is no field, and each field has its type.
#[test]
fn files_that_are_none_are_not() {
    let program = load("dotp").program;
    let valid: Value = serde_json::from_str(&json::to_json(&program, &[])).expect("JSON");
    let of_programs = validator(&json::schema());
    let edits: [fn(&mut Value); 4] = [
        |file| file["more"] = 1.into(),
        |file| file["program"]["body"] = "none".into(),
        |file| file["program"]["body"]["bindings"][0]["op"] = 7.into(),
        |file| _ = file.as_object_mut().and_then(|file| file.remove("program")),
    ];
    assert!(of_programs.is_valid(&valid));
    for (number, edit) in edits.iter().enumerate() {
        let mut file = valid.clone();
        edit(&mut file);
        assert_ne!(file, valid, "edit {number} does nothing");
        assert!(!of_programs.is_valid(&file), "edit {number} is let through");
        assert!(json::from_json(&file.to_string()).is_err(), "edit {number} is read");
    }
}
