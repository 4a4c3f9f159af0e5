//! `explain`, and what `--fusion` changes.

mod support;

use serde_json::Value;
use support::{Folder, f32s};

const NORMALISE2: &str = "fn normalise2(xs: [n]f32) -> [n]f32, [n]f32 {
  let sum1: f32 = fold(|a, b| a + b, 0.0, xs)
  let scn: [n]f32 = scanl1(|a, b| a + b, xs)
  let sum2: f32 = fold(|a, b| a + b, 0.0, scn)
  let ys1: [n]f32 = map(|x| x / sum1, xs)
  let ys2: [n]f32 = map(|x| x / sum2, xs)
  return ys1, ys2 }";

fn folder() -> Folder {
    let f = Folder::new();
    f.write("normalise2.fbx", NORMALISE2);
    f.write("add.fbx", "fn add(a: [n]f32, b: [n]f32) -> [n]f32 { let c: [n]f32 = map(|x, y| x + y, a, b) return c }");
    f.write(
        "stream.fbx",
        "fn count(b: [n, m][?]i64) -> i64, [?]i64 {
  let z: i64, s: [z]i64 = consume(|j, rows: [l][k]i64| { let y = k; yield elements(y) }, b)
  return z, s }",
    );
    f.write(
        "nested.fbx",
        "fn nested(n: i64) -> [4][?]i64 { let r: [4][?]i64 = nest([4], |i| { let v: [i]i64 = generate([i], |j| i * j) return v }) return r }",
    );
    f
}

fn json(f: &Folder, arguments: &str) -> Value {
    let text = f.fusebox(arguments).ok();
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

#[test]
fn counts_of_normalise2_are_those_published() {
    let f = folder();
    let of = |explained: &Value, when: &str| {
        let counts = &explained[when];
        let text = |what: &str| counts[what].as_str().unwrap().to_owned();
        (counts["loops"].as_u64().unwrap(), text("reads"), text("writes"))
    };
    let before = (5, "5*n + 2".to_owned(), "3*n + 2".to_owned());
    for fusion in ["greedy", "optimal"] {
        let explained = json(&f, &format!("explain normalise2.fbx --format json --fusion {fusion} --verify"));
        assert_eq!(of(&explained, "before"), before);
        assert_eq!(of(&explained, "after"), (2, "2*n + 2".to_owned(), "2*n + 2".to_owned()), "{fusion}");
        assert_eq!(explained["after"]["bytes_read"], "8*n + 8");
        assert_eq!(explained["fusion"], fusion);
        assert!(explained["stopped"].is_null());
        let term = &explained["after"]["polynomials"]["reads"]["terms"][0];
        assert_eq!((&term["coefficient"], &term["factors"][0]["size"]), (&2.into(), &"n".into()));
        let stages: Vec<_> =
            explained["stages"].as_array().unwrap().iter().map(|s| s["stage"].as_str().unwrap()).collect();
        assert_eq!(stages, ["read", "simplify", "fusion", "simplify", "strictness", "clustering", "kernels"]);
        // Two clusters; the scan is in the first, and never stored.
        let graph = &explained["graphs"][0];
        assert_eq!(graph["clusters"].as_array().unwrap().len(), 2);
        let nodes = graph["nodes"].as_array().unwrap();
        let scan = nodes.iter().find(|node| node["results"][0] == "scn").unwrap();
        assert_eq!((&scan["cluster"], &scan["manifest"]), (&0.into(), &false.into()));
        assert!(graph["edges"].as_array().unwrap().iter().any(|edge| edge["link"] == "horizontal"));
    }
    let unfused = json(&f, "explain normalise2.fbx --format json --fusion none");
    assert_eq!((of(&unfused, "before"), of(&unfused, "after")), (before.clone(), before));
}

#[test]
fn pairs_that_do_not_fuse_are_told() {
    let f = folder();
    let explained = json(&f, "explain normalise2.fbx --format json");
    let apart = explained["apart"].as_array().unwrap();
    let pair = apart.iter().find(|pair| pair["first"] == "sum1" && pair["second"] == "ys1").unwrap();
    assert!(pair["why"].as_str().unwrap().len() > 10, "{pair}");
    let fused = |pair: &&Value| pair["first"] == "scn" && pair["second"] == "sum2";
    assert!(!apart.iter().any(|pair| fused(&pair)), "{apart:?}");
}

#[test]
fn text_tells_all_of_it() {
    let f = folder();
    let text = f.fusebox("explain normalise2.fbx").ok();
    for says in [
        "normalise2, fusion optimal",
        "2n + 2",
        "5n + 2",
        "== Clusters",
        "== Not fused",
        "`sum1` (normalise2.fbx:2:19) and `ys1` (normalise2.fbx:5:21): ",
        " ms ",
        "== Stage kernels",
    ] {
        assert!(text.contains(says), "{says}\n{text}");
    }
}

#[test]
fn schedules_of_any_target_with_the_reasons() {
    let f = folder();
    let usual = json(&f, "explain normalise2.fbx --format json");
    assert_eq!(usual["scheduling"]["target"], "avx2");
    for (target, has) in [("avx512", "lanes(16)"), ("sm_90", "grid_threads")] {
        let explained = json(&f, &format!("explain normalise2.fbx --format json --target {target}"));
        assert_eq!(explained["scheduling"]["target"], target);
        let kernels = explained["scheduling"]["kernels"].as_array().unwrap();
        assert!(kernels.iter().any(|kernel| kernel["text"].as_str().unwrap().contains(has)), "{target}: {kernels:?}");
        assert!(
            kernels.iter().all(|kernel| !kernel["reasons"].as_array().unwrap().is_empty()),
            "{target}: {kernels:?}"
        );
    }
    f.fusebox("explain normalise2.fbx --target avx1").fails(2, &["avx1", "avx512"]);
}

#[test]
fn dot_has_clusters_and_links() {
    let f = folder();
    let dot = f.fusebox("explain normalise2.fbx --format dot").ok();
    assert!(dot.starts_with("digraph \"normalise2\" {"), "{dot}");
    assert_eq!(dot.matches("subgraph cluster_0_").count(), 2, "{dot}");
    for class in ["class=vertical", "class=horizontal", "class=infusible", "class=given", "peripheries=2"] {
        assert!(dot.contains(class), "{class}\n{dot}");
    }
    assert_eq!(dot.matches('{').count(), dot.matches('}').count());
}

#[test]
fn a_page_stands_alone_and_holds_no_markup_of_the_program() {
    let f = folder();
    assert_eq!(f.fusebox("explain normalise2.fbx --html page.html").ok(), "");
    let page = String::from_utf8(f.read("page.html")).unwrap();
    for says in ["<!DOCTYPE html>", "<svg", "2n + 2", "5n + 2", "<code>sum1</code>", "prefers-color-scheme: dark"] {
        assert!(page.contains(says), "{says}");
    }
    // Nothing is fetched; the one script is the page's own.
    for source in ["src=", "<script ", "<link", "@import", "url(http", "import(", "fetch("] {
        assert!(!page.contains(source), "{source}");
    }
    assert_eq!(page.matches("<script").count(), 1);
    assert_eq!(page.matches("http").count(), page.matches("http://www.w3.org/2000/svg").count());
    // Names are letters and digits; messages are anything.
    f.write(
        "evil.fbx",
        "fn evil(a: [n]f32) -> [n]f32 {
           let b: [n]f32 = map(|x| assert(x > 0.0, \"<script>alert(1)</script>&\", x), a) return b }",
    );
    f.fusebox("explain evil.fbx --html evil.html").ok();
    let page = String::from_utf8(f.read("evil.html")).unwrap();
    assert_eq!(page.matches("<script").count(), 1, "{page}");
    assert!(page.contains("&lt;script&gt;alert(1)&lt;/script&gt;&amp;"), "{page}");
    // With a form asked for, both.
    assert!(f.fusebox("explain add.fbx --html page.html --format text").ok().contains("add, fusion optimal"));
}

#[test]
fn what_cannot_be_compiled_is_explained_as_far_as_it_goes() {
    let f = folder();
    let explained = json(&f, "explain stream.fbx --format json");
    assert_eq!(explained["stopped"]["pass"], "flattening");
    assert!(explained["stopped"]["why"].as_str().unwrap().contains("consume `z`"));
    assert!(explained["before"].is_null() && explained["after"].is_null());
    assert_eq!(explained["stages"].as_array().unwrap().len(), 2);
    assert!(f.fusebox("explain stream.fbx").ok().contains("Pass `flattening` stopped"));
    f.fusebox("explain stream.fbx --html stream.html").ok();
    assert!(String::from_utf8(f.read("stream.html")).unwrap().contains("stopped</h2>"));
}

#[test]
fn nested_programs_are_explained_to_their_kernels() {
    let f = folder();
    let explained = json(&f, "explain nested.fbx --format json");
    assert!(explained["stopped"].is_null(), "{}", explained["stopped"]);
    assert!(explained["stages"].as_array().unwrap().iter().any(|stage| stage["stage"] == "flattening"), "{explained}");
    assert!(explained["after"]["kernels"].is_number(), "{}", explained["after"]);
}

#[test]
fn wrong_arguments() {
    let f = folder();
    f.write("broken.fbx", "fn broken(");
    for (arguments, says) in [
        ("explain", "PROGRAM"),
        ("explain none.fbx", "cannot read none.fbx"),
        ("explain broken.fbx", "broken.fbx:1"),
        ("explain add.fbx --fusion most", "there is no fusion `most`; there are none, greedy, optimal"),
        ("explain add.fbx --format yaml", "text, json, dot"),
        ("explain add.fbx --html none/page.html", "cannot write none/page.html"),
        ("run add.fbx --fusion most", "there is no fusion `most`"),
        ("dump add.fbx --fusion most", "there is no fusion `most`"),
        (
            "dump add.fbx --fusion none --stage clustering",
            "there is no stage `clustering`; there are read, simplify, strictness, kernels",
        ),
    ] {
        f.fusebox(arguments).fails(2, &[says]);
    }
}

#[test]
fn passes_are_listed_dumped_and_run_one_by_one() {
    let f = folder();
    let passes = f.fusebox("passes").ok();
    for name in ["simplify", "fusion", "strictness", "clustering", "kernels"] {
        assert!(passes.lines().any(|line| line.starts_with(name)), "{passes}");
    }
    let clustered = f.fusebox("dump normalise2.fbx --stage clustering").ok();
    assert_eq!(clustered.matches("cluster(").count(), 2, "{clustered}");
    assert_eq!(f.fusebox("opt normalise2.fbx --passes simplify,fusion,simplify,strictness,clustering").ok(), clustered);
    assert!(!f.fusebox("dump normalise2.fbx --stage fusion").ok().contains("cluster("));
    let json = f.fusebox("dump normalise2.fbx --stage clustering --format json").ok();
    assert!(json.contains("\"clustered\""), "{json}");
}

#[test]
fn results_do_not_depend_on_fusion() {
    let f = folder();
    f.write("xs.npy", f32s(&[1.0, 2.0, 3.0, 2.0]));
    let mut results = Vec::new();
    for fusion in ["none", "greedy", "optimal"] {
        let line = f
            .fusebox(&format!(
                "run normalise2.fbx --input xs=xs.npy --output ys1=a.npy --output ys2=b.npy --stats --fusion {fusion}"
            ))
            .ok();
        let stats: Value = serde_json::from_str(&line).unwrap();
        assert_eq!(stats["fusion"], fusion);
        let passes = stats["milliseconds"]["passes"].as_object().unwrap();
        let expected = if fusion == "none" { 3 } else { 6 };
        assert_eq!(passes.len(), expected, "{line}");
        results.push((f.read("a.npy"), f.read("b.npy")));
    }
    assert!(results.iter().all(|result| *result == results[0]));
}

/// The values of a page's table, kernel by kernel: bytes read, bytes written, flops.
fn moves(page: &str) -> Vec<[i64; 3]> {
    let table = page.split("<table id=\"moves\">").nth(1).unwrap().split("</table>").next().unwrap();
    let row = |row: &str| {
        let cells: Vec<i64> =
            row.split("title=\"").skip(1).map(|cell| cell.split('"').next().unwrap().parse().unwrap()).collect();
        <[i64; 3]>::try_from(cells).ok()
    };
    table.split("<tr").filter_map(row).collect()
}

#[test]
fn a_page_says_what_kernels_move_and_compute() {
    let f = folder();
    f.write("xs.npy", f32s(&[1.0; 100]));
    f.fusebox("explain normalise2.fbx --html page.html").ok();
    let page = String::from_utf8(f.read("page.html")).unwrap();
    // One kernel makes both sums and reads once, the other divides twice; then the sum of both.
    let (n, sums, quotients) = (1024, [4 * 1024, 8, 3 * 1024], [4 * 1024 + 8, 8 * 1024, 2 * 1024]);
    let both: Vec<i64> = sums.iter().zip(quotients).map(|(a, b)| a + b).collect();
    assert!(page.contains(&format!("name=\"n\" step=\"1\" value=\"{n}\"")), "{page}");
    assert_eq!(moves(&page), [sums, quotients, both.try_into().unwrap()]);
    assert!(!page.contains("GB/s"));

    // With the times of a run: its sizes too.
    let stats = f.fusebox("run normalise2.fbx --input xs=xs.npy --stats").ok();
    f.write("stats.json", stats);
    f.fusebox("explain normalise2.fbx --html page.html --stats stats.json").ok();
    let page = String::from_utf8(f.read("page.html")).unwrap();
    assert_eq!(moves(&page)[0], [400, 8, 300]);
    assert_eq!(page.matches(" GB/s</td>").count(), 2, "{page}");
    let text = f.fusebox("explain normalise2.fbx --stats stats.json").ok();
    assert!(text.contains("bytes read 4n, bytes written 8, flops 3n; ") && text.contains(" in 1 launch, "), "{text}");

    // Of another way to compile it, or of nothing.
    f.fusebox("explain normalise2.fbx --fusion none --stats stats.json")
        .fails(2, &["the times are of another program"]);
    f.write("wrong.json", "{}");
    f.fusebox("explain normalise2.fbx --stats wrong.json")
        .fails(2, &["wrong.json", "not what `fusebox run --stats` prints"]);
    f.fusebox("explain normalise2.fbx --stats none.json").fails(2, &["cannot read none.json"]);
}

#[test]
fn stages_are_shown_as_differences() {
    let f = folder();
    f.write(
        "steps.fbx",
        "fn steps(a: [n]f32) -> [n]f32 {
           let b: [n]f32 = map(|x| x + 0.0 * 1.0, a)
           let c: [n]f32 = map(|x| x * x, b)
           return c }",
    );
    f.fusebox("explain steps.fbx --html page.html").ok();
    let page = String::from_utf8(f.read("page.html")).unwrap();
    let stages: Vec<&str> = page.split("<article>").skip(1).collect();
    let of = |name: &str| *stages.iter().find(|stage| stage.starts_with(&format!("<h3>{name} "))).unwrap();
    assert!(!of("read").contains("added") && !of("read").contains("removed"));
    assert!(of("strictness").contains("unchanged</span>"), "{}", of("strictness"));
    assert!(of("strictness").contains("<details><summary>its text"));
    // Fusion makes one map of two: what goes into it is marked with it.
    let fusion = of("fusion");
    assert!(fusion.contains("1 new, 2 gone"), "{fusion}");
    assert!(fusion.contains("<span class=\"line removed\" data-n=\"c\">  let b: [n]f32"), "{fusion}");
    assert!(fusion.contains("<span class=\"line added\" data-n=\"c\">"), "{fusion}");
    // In the plan, the kernel that makes it; in the drawing its node; in the table its row.
    assert!(of("kernels").contains("data-n=\"c\">0: kernel"), "{}", of("kernels"));
    assert!(page.contains("class=\"node operation result\" data-n=\"c\" tabindex=\"0\""), "{page}");
    assert!(page.contains("<tr data-n=\"c\"><th scope=\"row\">0: "), "{page}");
}

#[test]
fn operations_of_a_kernel_are_found_by_what_it_stores() {
    let f = folder();
    // Two values have one name, and one of them is stored.
    let kmeans = concat!(env!("CARGO_MANIFEST_DIR"), "/../../golden/programs/kmeans.fbx");
    let explained = json(&f, &format!("explain {kmeans} --format json"));
    let kernels = explained["kernels"].as_array().unwrap();
    let own = kernels.iter().find(|kernel| kernel["name"] == "cluster `own`").unwrap();
    assert!(own["operations"].as_array().unwrap().contains(&"distances".into()), "{own}");
}

#[test]
fn representations_of_nests_have_a_legend_and_reasons() {
    let f = folder();
    f.fusebox("explain nested.fbx --html page.html").ok();
    let page = String::from_utf8(f.read("page.html")).unwrap();
    for name in ["avoided", "regular", "irregular", "alone"] {
        assert!(page.contains(&format!("<li><span class=\"held {name}\">{name}</span>")), "{name}");
    }
    assert!(page.contains("<td><span class=\"held irregular\">irregular</span></td>"), "{page}");
    assert!(page.contains("its arrays have extents of their own") || page.contains("depends on the lane"), "{page}");
    // The text has the same, with lines.
    let text = f.fusebox("explain nested.fbx").ok();
    let (_, nests) = text.split_once("\n== Nests\n").unwrap_or_else(|| panic!("{text}"));
    assert!(nests.contains("  irregular  "), "{nests}");
    // Of a flat program there is nothing to say.
    f.fusebox("explain add.fbx --html page.html").ok();
    assert!(!String::from_utf8(f.read("page.html")).unwrap().contains("class=\"held "));
}

#[test]
fn the_text_says_how_values_of_nests_are_held_in_each_way_and_why() {
    let f = folder();
    f.write(
        "held.fbx",
        "fn held(xss: [n][m]i64, d: i64) -> [n][m]i64, [n]i64 {
  let yss: [n][m]i64, zs: [n]i64 = nest([n], |i| {
    let xs: [m]i64 = element(xss, i)
    let c: [m]i64 = generate([m], |j| j * d)
    let ys: [m]i64 = while(|v: [m]i64| { let go = v[0] > 0 return go }, |v: [m]i64| {
      let w: [m]i64 = map(|x| x - 1, v)
      return w }, xs)
    let k = xs[0]
    let own: [k]i64 = generate([k], |j| j * i + c[0])
    let z: i64 = fold(|a, b| a + b, 0, own)
    return ys, z })
  return yss, zs }",
    );
    let lines = |options: &str| {
        let text = f.fusebox(&format!("explain held.fbx {options}")).ok();
        let nests = text.split_once("\n== Nests\n").and_then(|(_, rest)| rest.split_once("\n\n"));
        nests.unwrap_or_else(|| panic!("{text}")).0.to_owned()
    };
    let has = |text: &str, line: &str| assert!(text.lines().any(|other| other == line), "{line}\n{text}");
    let regular = lines("--flattening regular");
    has(&regular, "  regular      line 3: element `xs`: all lanes have the same extents");
    has(&regular, "  avoided      line 4: generate `c`: it is the same in all lanes");
    has(&regular, "  irregular    line 9: generate `own`: the extent `k` (line 8) depends on the lane");
    has(&regular, "  regular    line 2: nest `yss`: all lanes have the same extents");
    let irregular = lines("--flattening irregular");
    has(
        &irregular,
        "  irregular    line 3: element `xs`: everything in lanes is held so, though all lanes have the same extents",
    );
    has(&irregular, "  avoided      line 4: generate `c`: it is the same in all lanes");
    let alone = lines("");
    has(
        &alone,
        "  alone        line 4: generate `c`: lanes run one at a time: `ys` (line 5) loops as long as each lane likes",
    );
    has(
        &alone,
        "  alone        line 9: generate `own`: lanes run one at a time: `ys` (line 5) loops as long as each lane likes",
    );
    has(&alone, "  regular    line 2: nest `yss`: all lanes have the same extents");
    assert!(!alone.contains('\u{1b}'), "no colours but on a terminal: {alone:?}");
}
