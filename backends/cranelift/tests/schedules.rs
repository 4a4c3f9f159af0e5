//! Schedules: every one that is accepted has the bits of the interpreter of kernels, and what would change a bit is refused.
//!
//! `FUSEBOX_SEED=N` runs one seed, `FUSEBOX_SCHEDULES=N` that many instead of those the test names, `FUSEBOX_QUICK=1` a tenth.

use std::{collections::BTreeMap, sync::Arc};

use crate::common::{self, Random, by_hand};
use fusebox_backend::{BackendError, profiled};
use fusebox_conformance::edited;
use fusebox_conformance::kernels::{Generated, Shape, generate};
use fusebox_cranelift::{Config, Cranelift, Features};
use fusebox_ir::{Array, Kernel, Plan, validate_plan};
use fusebox_schedule::{Book, Preferences, Schedule, Target, alternatives, check, guarded, guards, schedule};

/// The targets whose schedules this machine carries out, with the features that code for them may use. A schedule for another would be passed over,
/// and show nothing.
fn targets() -> Vec<(&'static str, Option<Features>)> {
    let all = [("sse", None), ("avx2", Some(Features::AVX2)), ("avx512", Some(Features::BASE))];
    all.into_iter().filter(|(_, features)| features.is_none_or(|features| features.run_here())).collect()
}

/// Mostly small kernels; some of several blocks, and of several tiles.
const SHAPES: [Shape; 6] = [
    Shape { points: 200, long: false, may_fail: false },
    Shape { points: 10_000, long: false, may_fail: false },
    Shape { points: 200, long: false, may_fail: true },
    Shape { points: 200, long: true, may_fail: false },
    Shape { points: 2_000, long: true, may_fail: false },
    Shape { points: 70_000, long: true, may_fail: false },
];

/// What is wrong with one random schedule of a generated kernel; `Ok`: what became of it, and the schedule.
fn fault(seed: u64, shape: Shape) -> Result<(&'static str, String), String> {
    let Generated { plan, inputs } = generate(seed, shape);
    validate_plan(&plan).map_err(|errors| errors.to_string())?;
    let mut random = Random(seed ^ 0x5eed);
    let targets = targets();
    let (name, features) = targets[random.next() as usize % targets.len()];
    let target = Target::named(name).ok_or("there is no such target")?;
    let Some(kernel) = plan.kernels.first() else { return Ok(("no kernel", String::new())) };
    let all = alternatives(kernel, &target);
    let mut chosen = all[random.next() as usize % all.len()].clone();
    let text = chosen.to_text(kernel);
    let again = Schedule::parse(&text, kernel).map_err(|error| format!("{error}\n{text}"))?;
    if again != chosen {
        return Err(format!("another schedule was read than written:\n{text}"));
    }
    let mut outcome = "alternative";
    if random.next().is_multiple_of(2) {
        outcome = "refused";
        let edited = edited(&text, &mut random);
        match Schedule::parse(&edited, kernel) {
            Ok(schedule) if schedule != chosen && check(kernel, &schedule, &target).is_ok() => {
                (chosen, outcome) = (schedule, "edited");
            }
            _ => {}
        }
    }
    let expected = common::interpreted(&plan, &inputs);
    if seed.is_multiple_of(3)
        && let Some(own) = in_versions(&plan, &inputs, &target, &chosen, &mut random)
    {
        let text = own.to_text(kernel);
        let again = Schedule::parse(&text, kernel).map_err(|error| format!("{error}\n{text}"))?;
        if again != own {
            return Err(format!("another schedule was read than written:\n{text}"));
        }
        (chosen, outcome) = (own, "versions");
    }
    let mut book = Book::default();
    book.insert(kernel, chosen.clone());
    for threads in [1, 3] {
        let config = Config {
            threads,
            share_from_ns: 1,
            out_of_cache_bytes: if threads == 3 { 0 } else { usize::MAX },
            schedules: Arc::new(book.clone()),
            features,
            ..Config::default()
        };
        let backend = Cranelift::new(config).map_err(|error| error.to_string())?;
        let loaded = common::compiled(&backend, &plan).and_then(|compiled| compiled.load_plan());
        let context = |what: String| format!("{what}, {threads} threads\n{}\n{kernel}", chosen.to_text(kernel));
        let loaded = loaded.map_err(|error| context(error.to_string()))?;
        match (loaded.run_plan(&inputs), &expected) {
            (Ok(results), Ok(expected)) => {
                for (result, expected) in results.iter().zip(expected) {
                    if !common::same_bits(result, expected) {
                        let at = result.constants().zip(expected.constants()).position(|(a, b)| a != b);
                        let pair = at.map(|at| (result.get(at), expected.get(at)));
                        return Err(context(format!("differs at {at:?}: {pair:?}")));
                    }
                }
            }
            (Err(BackendError::Run(_)), Err(_)) => {}
            (Err(error), _) => return Err(context(format!("fails: {error}"))),
            (Ok(_), Err(expected)) => return Err(context(format!("does not fail: {expected}"))),
        }
    }
    Ok((outcome, chosen.to_text(kernel)))
}

/// A schedule with a version more, for the lengths of the levels in this run, or for others near them.
fn in_versions(
    plan: &Plan,
    inputs: &[Array],
    target: &Target,
    usual: &Schedule,
    random: &mut Random,
) -> Option<Schedule> {
    let kernel = plan.kernels.first()?;
    let plain = Cranelift::new(Config { threads: 1, vectors: false, ..Config::default() }).ok()?;
    let loaded = common::compiled(&plain, plan).ok()?.load_plan().ok()?;
    let (_, launches) = profiled(|| loaded.run_plan(inputs));
    let mut when = guards(kernel, &launches.first()?.sizes, 300);
    when.retain(|_| !random.next().is_multiple_of(4));
    if random.next().is_multiple_of(4) {
        when.first_mut()?.steps += 1;
    }
    let own = guarded(kernel, &when).ok().filter(|_| !when.is_empty())?;
    let all = alternatives(&own, target);
    let mut version = all[random.next() as usize % all.len()].versions.last()?.clone();
    version.when = when;
    let versions = std::iter::once(version).chain(usual.versions.iter().cloned()).collect();
    let schedule = Schedule { target: usual.target.clone(), versions };
    check(kernel, &schedule, target).is_ok().then_some(schedule)
}

fn number(name: &str) -> Option<u64> {
    std::env::var(name).ok()?.parse().ok()
}

#[test]
fn random_schedules_have_the_bits_of_the_interpreter() {
    let quick = if std::env::var_os("FUSEBOX_QUICK").is_some() { 10 } else { 1 };
    let count = number("FUSEBOX_SCHEDULES").unwrap_or(2_000 / quick);
    let seeds = number("FUSEBOX_SEED").map_or(0..count, |seed| seed..seed + 1);
    let mut tally: BTreeMap<&str, usize> = BTreeMap::new();
    let mut faults = Vec::new();
    for seed in seeds {
        let shape = SHAPES[(seed % 16) as usize % SHAPES.len()];
        match fault(seed, shape) {
            Ok((outcome, text)) => {
                *tally.entry(outcome).or_default() += 1;
                let forms = ["remainder masked", "choose when"];
                forms
                    .into_iter()
                    .filter(|form| text.contains(form))
                    .for_each(|form| *tally.entry(form).or_default() += 1);
            }
            Err(fault) => faults.push(format!("seed {seed}, {shape:?}: {fault}")),
        }
    }
    println!("{tally:?}");
    assert!(faults.is_empty(), "{} faults, the first:\n{}", faults.len(), faults[0]);
    if number("FUSEBOX_SEED").is_none() {
        // Else it would show little.
        assert!(tally["alternative"] * 4 > count as usize && tally["edited"] * 50 > count as usize, "{tally:?}");
        assert!(tally["versions"] * 50 > count as usize, "{tally:?}");
        // Those of rows that go in order are in `rows.rs`.
        let forms = ["remainder masked", "choose when"];
        assert!(
            forms.iter().all(|form| tally.get(form).is_some_and(|&times| times * 200 > count as usize)),
            "{tally:?}"
        );
    }
}

/// What a kernel's schedule for a target becomes when a part of its text is replaced: `accepted`, or why not.
fn changed(kernel: &Kernel, target: &str, from: &str, to: &str) -> String {
    let target = Target::named(target).unwrap();
    let legal = schedule(kernel, &target, Preferences::default()).schedule;
    check(kernel, &legal, &target).unwrap_or_else(|faults| panic!("refused: {faults:?}"));
    let text = legal.to_text(kernel);
    assert!(text.contains(from), "there is no `{from}` in\n{text}");
    let edited = Schedule::parse(&text.replace(from, to), kernel).unwrap_or_else(|error| panic!("{error}"));
    match check(kernel, &edited, &target) {
        Ok(()) => "accepted".to_owned(),
        Err(faults) => faults.iter().map(|fault| format!("{fault}\n")).collect(),
    }
}

#[test]
fn one_change_is_refused_with_the_reason() {
    let (map, dot, scan) = (by_hand::map(), by_hand::dot(), by_hand::scan());
    let (map, dot, scan) = (map.kernel(), dot.kernel(), scan.kernel());
    let cases: &[(&Kernel, &str, &str, &str, &str)] = &[
        (&dot, "avx512", "by 4096", "by 2048", "not split by 4096"),
        (&dot, "avx512", "shares of 4096", "shares of 2048", "pieces of 2048 steps"),
        (&dot, "avx512", "unroll 2", "unroll 4", "not the accumulators"),
        (&dot, "avx512", "lanes(32) unroll 2", "lanes(24) unroll 2", "24 lanes are no power of two"),
        (&dot, "avx512", "unroll 2, out", "unroll 2, remainder overlapped, out", "cannot run twice"),
        (&dot, "avx512", "unroll 2, out", "unroll 2, remainder masked, out", "it may have more than 4096 steps"),
        (&dot, "avx512", "when x1 < 4097", "when x1 < 4098", "it may have more than 4096 steps"),
        (&dot, "avx512", "shares of 4096", "elements", "divided by the elements of rows"),
        (&dot, "avx512", "prefetch a0, a1", "stream a0", "stored past the caches"),
        (&dot, "avx512", "prefetch a0, a1", "prefetch a0, a1 ahead 100", "a multiple of 64 bytes ahead"),
        (&dot, "avx512", "prefetch a0, a1", "prefetch a0, a1 ahead 2097152", "1048576 at most"),
        (&dot, "avx512", "loop x1_shares threads", "loop x1_shares", "shares and chunks are for threads"),
        (&dot, "sse", "by 64 ->", "by 128 ->", "steps of a piece run outside"),
        (&dot, "sse", "loop x1_64s {", "loop x1_64s unroll 2 {", "pieces do not run at once"),
        (&scan, "avx512", "by 32768", "by 65536", "not split by 32768"),
        (&scan, "avx512", "lanes(16)", "lanes(32)", "a scan has gangs of its own"),
        (&scan, "avx512", "remainder masked", "remainder scalar", "masked in the gangs of a scan"),
        (&scan, "avx512", "totals {", "# {", "there is no nest for their totals"),
        (&map, "avx512", "loop x1_share lanes", "loop x1 lanes", "run over more than once"),
        (&map, "avx512", "do *", "do * do *", "stands twice"),
        (&scan, "avx512", "do *", "do a1", "executed nowhere"),
        (&map, "avx512", "threads", "blocks", "those of a GPU"),
        (&map, "avx512", "overlapped", "overlapped, border apart", "it has no border"),
        (&map, "avx512", "shares of 32", "chunks", "no scatter is in chunks"),
        (&map, "avx512", "version {", "version when x1 == 4 {", "the last version has a guard"),
        (&map, "avx512", "version {", "version { do * } version {", "none behind it ever runs"),
        (
            &map,
            "avx512",
            "version {",
            "version when x1 == 4 and x1 == 4 { loop x1 { do * } } version {",
            "two are for one",
        ),
        (
            &map,
            "avx512",
            "version {",
            "version when x1 == 1125899906842625 { loop x1 { do * } } version {",
            "that no array has",
        ),
    ];
    for (kernel, target, from, to, reason) in cases {
        let said = match *from {
            // A nest that is left out is no change of one word.
            "totals {" => without_totals(kernel, target),
            _ => changed(kernel, target, from, to),
        };
        assert!(
            said.contains(reason),
            "{}: `{from}` to `{to}`: should be refused as `{reason}`:\n{said}",
            kernel.name.0
        );
    }
}

/// What is done with a sum counts less than what is done with each of its elements, and few steps have narrow gangs.
#[test]
fn lanes_go_where_most_is_done() {
    let products = |behind: &str| {
        format!(
            "fn f(x: [n, d]f32, w: [o, d]f32, b: [o]f32) -> [n, o]f32 {{
             let y: [n, o]f32 = cluster(|| {{
               vertical p: [n, o, d]f32 = generate([n, o, d], |i, j, k| x[i, k] * w[j, k])
               vertical z: [n, o]f32 = fold(|a, b| a + b, 0.0, p)
               vertical c: [n, o]f32 = replicate([n, _], b)
               last y: [n, o]f32 = map(|z, b| {behind}, z, c)
               return y }})
             return y }}"
        )
    };
    let few = |steps: u32| {
        format!(
            "fn f(y: [n]i32) -> [n, {steps}]f32 {{
             let r: [n, {steps}]f32 = generate([n, {steps}], |i, j| if i64(y[i]) == j {{ 1.0 }} else {{ 0.0 }})
             return r }}"
        )
    };
    for (source, lanes) in [
        (products("z + b"), "level 2 in gangs of 32"),
        (products("max(z + b, 0.0)"), "level 2 in gangs of 32"),
        (products("exp(z * b) - b"), "level 2 in gangs of 32"),
        (few(10), "level 1 in gangs of 8"),
        (few(40), "level 1 in gangs of 32"),
    ] {
        let plan = common::plan(&source);
        let scheduled = schedule(&plan.kernels[0], &Target::named("avx512").unwrap(), Preferences::default());
        let choice = scheduled.choices.iter().find(|choice| choice.about == "lanes").unwrap();
        assert_eq!(choice.chosen, lanes, "{source}");
    }
}

/// What is kept of a gang is brought together by one instruction of the longest vectors, and lane by lane by others.
#[test]
fn filters_that_do_little_else_go_in_gangs_where_that_gains() {
    let plan = common::plan(
        "fn f(x: [n]bool) -> [?]bool {
         let c: i64, kept: [c]bool = filter(|x| x, x)
         return kept }",
    );
    for (target, gangs) in [("avx512", true), ("avx2", false), ("sse", false)] {
        let kernel = plan.kernels.last().unwrap();
        let scheduled = schedule(kernel, &Target::named(target).unwrap(), Preferences::default());
        let choice = scheduled.choices.iter().find(|choice| choice.about == "lanes").unwrap();
        assert_eq!(choice.chosen.starts_with("level 0 in gangs"), gangs, "{target}: {}", choice.chosen);
    }
}

/// Steps at once and steps in a row, each of which would fit alone: one of both is taken.
#[test]
fn what_is_chosen_fits_together() {
    let plan = common::plan(
        "fn f(points: [n, d]f32, old: [k, d]f32) -> [n]i64 {
         let own: [n]i64 = cluster(|| {
           vertical p: [n, k, d]f32 = replicate([_, k, _], points)
           vertical index: [n, k]i64 = generate([n, k], |i, j| j)
           vertical c: [n, k, d]f32 = replicate([n, _, _], old)
           vertical squares: [n, k, d]f32 = map(|x, y| { let z = x - y return z * z }, p, c)
           vertical distances: [n, k]f32 = fold(|a, b| a + b, 0.0, squares)
           last least: [n]f32, own: [n]i64 = fold1(|d, i, e, j| {
             let f, l = if e < d || e == d && j < i { return e, j } else { return d, i }
             return f, l }, distances, index)
           return own })
         return own }",
    );
    for name in Target::DISTINCT {
        let target = Target::named(name).unwrap();
        for kernel in &plan.kernels {
            let found = schedule(kernel, &target, Preferences::default()).schedule;
            assert_eq!(check(kernel, &found, &target).map_err(|faults| format!("{faults:?}")), Ok(()), "{name}");
        }
    }
}

/// Sums of rows, and sums of rows that gather: programs and kernels.
fn rows() -> [Kernel; 2] {
    let source = |elements: &str| {
        format!(
            "fn f(a: [n]f32, o: [m]i64) -> [?]f32 {{
            let k = m - 1
            let s: [k]f32 = cluster(|| {{
                vertical g: [n]f32 = generate([n], |i| a[{elements}])
                last s: [k]f32 = fold_seg(|x, y| x + y, 0.5, g, offsets: o)
                return s }})
            return s }}"
        )
    };
    ["i", "(i * 7) % n"].map(|elements| {
        let mut plan = common::plan(&source(elements));
        plan.kernels.pop().unwrap()
    })
}

#[test]
fn rows_are_refused_where_a_bit_would_change() {
    let [sums, gathers] = rows();
    for (kernel, from, to, reason) in [
        (&sums, "lanes(16) unroll 4, remainder masked", "lanes(16) unroll 2, remainder masked", "is none of a row"),
        (&sums, "lanes(16) unroll 4, remainder masked", "lanes(32) unroll 2, remainder masked", "is none of a row"),
        (&sums, "< 9 {", "< 10 {", "is none of a row"),
        (&sums, "< 4097 {", "< 4098 {", "may have more than 4096 steps"),
        (&sums, "lanes(8), remainder masked", "lanes(8), remainder overlapped", "cannot run twice"),
        (&sums, "lanes(8), remainder masked", "abreast(2)", "cannot be done for several points"),
        (&gathers, "abreast(4)", "abreast(9)", "none of 2 to 8"),
        (&gathers, "abreast(4)", "abreast(1)", "none of 2 to 8"),
        (&gathers, "abreast(4)", "lanes(8), remainder masked", "have an order that lanes do not keep"),
        (&gathers, "< 64 {", "< 65 {", "a choice is missing"),
        (&gathers, "by elements", "by chunks", "no scatter is in chunks"),
    ] {
        let said = changed(kernel, "avx2", from, to);
        assert!(said.contains(reason), "`{from}` to `{to}`: should be refused as `{reason}`:\n{said}");
    }
    for (kernel, from, to) in [
        (&sums, "lanes(8), remainder masked", "lanes(16), remainder masked"),
        (&sums, "lanes(16) unroll 4, remainder masked", "lanes(8) unroll 8, remainder masked"),
        (&sums, "< 9 {", "< 5 {"),
        (&sums, "< 4097 {", "< 100 {"),
        (&sums, "by elements", "by shares of 1"),
        (&gathers, "abreast(4)", "abreast(3)"),
        (&gathers, " abreast(4)", ""),
    ] {
        assert_eq!(changed(kernel, "avx2", from, to), "accepted", "{from} to {to}");
    }
}

fn without_totals(kernel: &Kernel, target: &str) -> String {
    let target = Target::named(target).unwrap();
    let mut schedule = schedule(kernel, &target, Preferences::default()).schedule;
    schedule.versions[0].totals = None;
    check(kernel, &schedule, &target).unwrap_err().iter().map(ToString::to_string).collect()
}

#[test]
fn what_makes_no_difference_is_accepted() {
    let (map, dot) = (by_hand::map().kernel(), by_hand::dot().kernel());
    for (kernel, from, to) in [
        (&map, "shares of 32", "shares of 1024"),
        (&map, "lanes(32)", "lanes(64)"),
        (&map, ", out of cache prefetch a0 stream a1", ""),
        (&dot, "shares of 4096", "shares of 32768"),
        (&dot, "lanes(32) unroll 2", "lanes(16) unroll 4"),
        (&dot, "lanes(32) unroll 2", "lanes(64)"),
        (&dot, "lanes(32) unroll 2", "lanes(8)"),
    ] {
        assert_eq!(changed(kernel, "avx512", from, to), "accepted", "{from} to {to}");
    }
}

/// The vector of a product with a matrix is in the caches when the second row comes.
#[test]
fn what_all_rows_load_is_not_prefetched() {
    let product = "fn f(a: [n, m]f32, v: [m]f32) -> [n]f32 {
        let r: [n]f32 = cluster(|| {
          vertical p: [n, m]f32 = generate([n, m], |i, j| a[i, j] * v[j])
          last r: [n]f32 = fold(|x, y| x + y, 0.0, p) return r })
        return r }";
    let kernel = common::plan(product).kernels.pop().unwrap();
    let text = schedule(&kernel, &Target::named("avx512").unwrap(), Preferences::default()).schedule.to_text(&kernel);
    assert!(text.contains("out of cache prefetch a {"), "{text}");
}

/// Long code has gangs of two registers only where few of its values are live at one time.
#[test]
fn gangs_of_long_code_are_as_wide_as_registers_allow() {
    let gangs = |body: &str, target: &str| {
        let source = format!("fn f(a: [n]f32) -> [n]f32 {{ let r: [n]f32 = map(|x| {{ {body} }}, a) return r }}");
        let kernel = common::plan(&source).kernels.pop().unwrap();
        let text = schedule(&kernel, &Target::named(target).unwrap(), Preferences::default()).schedule.to_text(&kernel);
        let (_, lanes) = text.split_once("lanes(").unwrap();
        lanes.split(')').next().unwrap().parse::<u32>().unwrap()
    };
    let chain: String = (0..60).map(|at| format!("let y{} = y{at} * x + {at}.5 ", at + 1)).collect();
    let chain = format!("let y0 = x + 1.0 {chain} return y60");
    assert_eq!((gangs(&chain, "avx512"), gangs(&chain, "avx2"), gangs(&chain, "sse")), (32, 16, 8));
    // Thirty square roots that are all used after the last is there.
    let many: String = (0..30).map(|at| format!("let y{at} = sqrt(x + {at}.5) ")).collect();
    let sum: String = (0..30).map(|at| format!("let s{} = s{at} * y{at} ", at + 1)).collect();
    let many = format!("{many} let s0 = y29 + 1.0 {sum} return s30");
    assert_eq!((gangs(&many, "avx512"), gangs(&many, "avx2"), gangs(&many, "sse")), (16, 8, 4));
}

/// A plan is refused, and nothing panics, where a book has what does not fit its kernel.
#[test]
fn schedules_that_do_not_fit_are_errors() {
    let plan: Plan = by_hand::dot().plan();
    let other = by_hand::map().kernel();
    let target = Target::named("sse").unwrap();
    let mut book = Book::default();
    book.insert(&plan.kernels[0], schedule(&other, &target, Preferences::default()).schedule);
    let config = Config { schedules: Arc::new(book), ..Config::default() };
    let error = Cranelift::new(config).unwrap().compile_plan(&plan).unwrap_err().to_string();
    assert!(error.contains("the schedule is refused") && error.contains("4096"), "{error}");
}

#[test]
fn books_are_read_as_text_and_as_json() {
    let kernels = [by_hand::dot().kernel(), by_hand::map().kernel(), by_hand::dot().kernel()];
    let target = Target::named("avx512").unwrap();
    let of = |kernel: &Kernel| schedule(kernel, &target, Preferences::default()).schedule;
    let text: String = kernels[..2].iter().map(|kernel| of(kernel).to_text(kernel)).collect();
    let book = Book::parse(&text, &kernels).unwrap();
    assert_eq!(book.get(&kernels[0], "avx512"), Some(&of(&kernels[0])));
    assert_eq!(book.get(&kernels[1], "avx512"), Some(&of(&kernels[1])));
    assert_eq!(book.get(&kernels[1], "sse"), None);
    assert_eq!(Book::from_json(&book.to_json()).unwrap(), book);
    for (text, message) in [
        ("schedule \"map\" for avx512 { version { do * } } }", "expected `schedule`"),
        ("schedule \"nothing\" for avx512 { version { do * } }", "no (other) kernel \"nothing\""),
        ("schedule \"map\" for avx512 { version { loop z { do * } } }", "no axis `z`"),
        ("schedule \"map\" for avx512 { version { do y } }", "no statement `y`"),
        ("schedule \"map\" for avx512 { version { split x1 by 0 -> a, b do * } }", "not between 1 and"),
        ("schedule \"map", "expected `for`, found the end"),
        (
            "schedule \"map\" for avx512 { version { loop x1 lanes(8), remainder mask { do * } } }",
            "expected `masked`, `overlapped` or `scalar`, found `mask`",
        ),
        (
            "schedule \"map\" for avx512 { version { loop x1 lanes(8), masked { do * } } }",
            "expected `remainder`, `first`, `border`, `pack` or `out`, found `masked`",
        ),
        ("", ""),
    ] {
        match Book::parse(text, &kernels) {
            Ok(book) => assert!(text.is_empty() && book.is_empty(), "{text}"),
            Err(error) => assert!(error.to_string().contains(message), "{text}: {error}"),
        }
    }
}
