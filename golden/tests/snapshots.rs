//! What each stage makes of each golden program: `cargo xtask bless` rewrites, `git diff` shows what changed.

use fusebox::{Flattening, Fusion, Options, Stage, pipeline_of, run_passes};
use fusebox_golden::{Golden, load, names};
use fusebox_interp::run_plan;
use fusebox_ir::Plan;

/// What the passes make, in order.
fn stages(golden: &Golden, fusion: Fusion) -> Vec<Stage> {
    let passes = pipeline_of(&golden.program, &Options { fusion, ..Options::default() });
    run_passes(&golden.program, &passes, false)
        .unwrap_or_else(|error| panic!("{} with fusion {fusion}: {error}", golden.name))
}

fn plan(golden: &Golden, fusion: Fusion) -> Option<Plan> {
    stages(golden, fusion).pop()?.plan().cloned()
}

/// What the first pass of a name makes, as text.
fn after(golden: &Golden, pass: &str) -> Option<String> {
    let stages = stages(golden, Fusion::Optimal);
    let stage = stages.iter().find(|stage| stage.pass == pass)?;
    stage.program().map(ToString::to_string).or_else(|| stage.plan().map(ToString::to_string))
}

/// Snapshots of one stage stand in a folder of their own.
fn each(stage: &str, text: impl Fn(&Golden) -> Option<String>) {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(fusebox_golden::folder().join("snapshots").join(stage));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for name in names() {
            if let Some(text) = text(&load(&name)) {
                insta::assert_snapshot!(name, text);
            }
        }
    });
}

#[test]
fn read() {
    each("read", |golden| Some(golden.program.to_string()));
}

#[test]
fn simplify() {
    each("simplify", |golden| after(golden, "simplify"));
}

/// Of programs that are not flat.
#[test]
fn flattening() {
    each("flattening", |golden| after(golden, "flattening"));
}

/// Programs of which every form is shown, by what each says of it: rows that are sorted, searched and transformed.
const FORMS: [&str; 4] = ["nested_quicksort", "nested_bubble_sort", "nested_find", "nested_fft"];

/// What flattening makes of some programs if all lanes run at once, and if everything in lanes is held with offsets.
#[test]
fn flattening_in_other_ways() {
    for (way, folder) in [(Flattening::Regular, "flattening_regular"), (Flattening::Irregular, "flattening_irregular")]
    {
        each(folder, |golden| {
            let shown = FORMS.contains(&golden.name.as_str());
            let passes =
                shown.then(|| pipeline_of(&golden.program, &Options { flattening: way, ..Options::default() }))?;
            let upto = passes.iter().position(|pass| pass.name() == "flattening")?;
            let stages = run_passes(&golden.program, &passes[..=upto], false);
            let stages = stages.unwrap_or_else(|error| panic!("{}: {error}", golden.name));
            stages.last()?.program().map(ToString::to_string)
        });
    }
}

/// Of programs that read streams.
#[test]
fn streams() {
    each("streams", |golden| after(golden, "streams"));
}

/// Of programs that it changes.
#[test]
fn fusion() {
    each("fusion", |golden| after(golden, "fusion").filter(|text| after(golden, "simplify").as_ref() != Some(text)));
}

/// Of programs that it changes.
#[test]
fn strictness() {
    each("strictness", |golden| {
        let stages = stages(golden, Fusion::Optimal);
        let at = stages.iter().position(|stage| stage.pass == "strictness")?;
        let before = stages[at - 1].program()?;
        stages[at].program().filter(|program| *program != before).map(ToString::to_string)
    });
}

#[test]
fn clustering() {
    each("clustering", |golden| after(golden, "clustering"));
}

#[test]
fn kernels() {
    each("kernels", |golden| after(golden, "kernels"));
}

/// Kernels in the plan; then launches, loop nests, elements read and written by a run on the golden inputs.
#[test]
fn counts() {
    let mut table = String::from("program fusion kernels launches loops reads writes\n");
    for name in names() {
        let golden = load(&name);
        for fusion in [Fusion::None, Fusion::Optimal] {
            let Some(plan) = plan(&golden, fusion) else { continue };
            let (_, counts) = run_plan(&plan, &golden.flat_inputs()).unwrap_or_else(|error| panic!("{name}: {error}"));
            let (kernels, launches, loops) = (plan.kernels.len(), counts.launches, counts.loops);
            table += &format!("{name} {fusion} {kernels} {launches} {loops} {} {}\n", counts.reads, counts.writes);
        }
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(fusebox_golden::folder().join("snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!("counts", table));
}

/// Programs whose kernels have between them every form that schedules have.
const SCHEDULED: [&str; 14] = [
    "black_scholes",
    "blur",
    "dotp",
    "filter",
    "histogram",
    "kmeans",
    "matmul",
    "md5",
    "prefix_sum",
    "segmented_sums",
    "smvm",
    "softmax_rows",
    "stats",
    "transpose",
];

/// How the kernels of some programs run on each target.
#[test]
fn schedules() {
    each("schedules", |golden| {
        let plan = SCHEDULED.contains(&golden.name.as_str()).then(|| plan(golden, Fusion::Optimal))??;
        let mut text = String::new();
        for target in ["avx512", "avx2", "sse", "sm_90"] {
            let scheduled = fusebox::schedules(&plan, target).unwrap();
            text.extend(plan.kernels.iter().zip(scheduled).map(|(kernel, found)| found.schedule.to_text(kernel)));
        }
        Some(text)
    });
}

/// Words of a schedule for a processor, and what the reason for each says.
const REASONS: [(&str, &str); 7] = [
    ("remainder overlapped", ": overlapped"),
    ("remainder masked", "masked"),
    ("border apart", ": apart"),
    ("out of cache", " out of cache: "),
    ("by elements", "as many elements each"),
    ("by chunks", "chunks of the scatter"),
    (" abreast(", " abreast "),
];

/// Every schedule is legal, with reasons, for every target, and its text and its JSON are read again as it is.
#[test]
fn schedules_are_legal_and_read_again() {
    for name in names() {
        let Some(plan) = plan(&load(&name), Fusion::Optimal) else { continue };
        for target in fusebox_schedule::Target::DISTINCT {
            let scheduled = fusebox::schedules(&plan, target).unwrap();
            let target = fusebox_schedule::Target::named(target).unwrap();
            let mut book = fusebox_schedule::Book::default();
            let mut text = String::new();
            for (kernel, found) in plan.kernels.iter().zip(scheduled) {
                let own = found.schedule.to_text(kernel);
                fusebox_schedule::check(kernel, &found.schedule, &target)
                    .unwrap_or_else(|faults| panic!("{name}: {faults:?}\n{own}{kernel}"));
                assert_eq!(
                    fusebox_schedule::Schedule::parse(&own, kernel).as_ref(),
                    Ok(&found.schedule),
                    "{name}\n{own}"
                );
                if target.cpu().is_some() {
                    for (word, reason) in REASONS.into_iter().filter(|(word, _)| own.contains(word)) {
                        let given = found
                            .choices
                            .iter()
                            .any(|choice| format!("{}: {}", choice.about, choice.chosen).contains(reason));
                        assert!(given, "{name}, {}: no reason for `{word}`:\n{own}", target.name);
                    }
                }
                if book.get(kernel, &target.name).is_none() {
                    text.push_str(&own);
                    book.insert(kernel, found.schedule);
                }
            }
            assert_eq!(fusebox_schedule::Book::from_json(&book.to_json()).unwrap(), book, "{name}");
        }
    }
}
