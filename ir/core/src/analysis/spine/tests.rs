use super::{IterationOrder, Members, Over, Spine, spine};
use crate::{
    ArrayOp, Binding, LevelOrder, Property,
    analysis::{Definitions, Sizes},
    text, validate,
};

/// The nest of the first cluster whose bindings these are: levels, then where each stands; or why there is none.
fn nest(inputs: &str, bindings: &str, results: &str) -> String {
    // Types of results are not looked at: the cluster alone matters.
    let marks = marked(bindings, results);
    let declared = |name: &str| {
        let line = bindings.split(';').find(|line| line.split(" = ").next().is_some_and(|l| of(l, name).is_some()));
        line.and_then(|line| of(line.split(" = ").next().unwrap(), name)).unwrap_or_else(|| panic!("no {name}"))
    };
    let typed: Vec<String> = results.split(", ").map(|name| format!("{name}: {}", declared(name))).collect();
    let any: Vec<String> = typed.iter().map(|typed| anything(typed.split_once(": ").unwrap().1)).collect();
    let source = format!(
        "fn f({inputs}) -> {} {{\n let p = n + 1\n let q = s - 1\n let less = n - 1\n let {} = cluster(|| {{ {marks} return {results} }})\n return {results} }}",
        any.join(", "),
        typed.join(", "),
    );
    let program = text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    validate(&program, &[]).unwrap_or_else(|errors| panic!("{errors}\n{source}"));
    of_last_cluster(&program)
}

/// The nest of a program's last cluster, or why there is none; the whole program is valid where there is one, and only then.
fn of_last_cluster(program: &crate::Program) -> String {
    let (definitions, sizes) = (Definitions::of(program), Sizes::of_program(program));
    let body = program.body.bindings.iter().rev().find_map(|binding| match &binding.op {
        ArrayOp::Cluster { body, .. } => Some(body),
        _ => None,
    });
    let body = body.unwrap();
    let list: Vec<&Binding> = body.bindings.iter().collect();
    let members = Members {
        bindings: &list,
        manifest: &|id| body.results.contains(&id),
        type_of: &|id| definitions.ty(id),
        sizes: &sizes,
    };
    let found = spine(&members);
    let valid = validate(program, &[Property::Clustered]);
    assert_eq!(found.is_ok(), valid.is_ok(), "{program}");
    match found {
        Ok(spine) => show(&spine, &list, program),
        Err(conflict) => {
            let name = |at: usize| &list[at].results[0].name.0;
            let text = format!("{} {}: {}", name(conflict.first), name(conflict.second), conflict.why);
            let error = valid.unwrap_err().to_string();
            assert!(error.contains(&conflict.why.to_string()) && error.contains(name(conflict.second)), "{error}");
            text
        }
    }
}

/// The type of a name in `a: T, b: U`.
fn of(pattern: &str, name: &str) -> Option<String> {
    let (_, rest) =
        format!(" {pattern},").split_once(&format!(" {name}: ")).map(|(a, b)| (a.to_owned(), b.to_owned()))?;
    let mut depth = 0;
    let end = rest.char_indices().find(|&(_, c)| {
        depth += i32::from(c == '[') - i32::from(c == ']');
        c == ',' && depth == 0
    });
    Some(rest[..end?.0].trim().to_owned())
}

fn anything(ty: &str) -> String {
    match ty.split_once(']') {
        Some((extents, element)) => format!("[{}]{element}", vec!["?"; extents.split(',').count()].join(", ")),
        None => ty.to_owned(),
    }
}

fn marked(bindings: &str, results: &str) -> String {
    let lines: Vec<&str> = bindings.split(';').map(str::trim).filter(|line| !line.is_empty()).collect();
    let words = |text: &str| -> Vec<String> {
        text.split(|c: char| !c.is_alphanumeric() && c != '_').map(str::to_owned).collect()
    };
    let mut text = String::new();
    for (at, line) in lines.iter().enumerate() {
        let pattern = line.split(" = ").next().unwrap();
        let names: Vec<String> =
            pattern.split(", ").filter_map(|p| p.split_once(": ")).map(|(n, _)| n.to_owned()).collect();
        let used = lines[at + 1..].iter().any(|later| words(later).iter().any(|word| names.contains(word)));
        let result = results.split(", ").any(|result| names.iter().any(|name| name == result));
        let mark = match (at + 1 == lines.len(), used, result) {
            (true, ..) => "last",
            (_, true, false) => "vertical",
            (_, true, true) => "diagonal",
            (_, false, _) => "horizontal",
        };
        text += &format!("{mark} {line}\n");
    }
    text
}

fn show(spine: &Spine, list: &[&Binding], program: &crate::Program) -> String {
    let definitions = Definitions::of(program);
    let levels: Vec<String> = spine
        .levels
        .iter()
        .map(|level| {
            let order = match level.order {
                LevelOrder::Parallel => "",
                LevelOrder::Up => " up",
                LevelOrder::Down => " down",
            };
            let value = |id| definitions.get(id).map_or(String::new(), |of| of.var().name.0.clone());
            match level.over {
                Over::Extent(crate::Extent::Value(id)) => format!("{}{order}", value(id)),
                Over::Extent(other) => format!("{other:?}{order}"),
                Over::Segments(id) => format!("segments {}{order}", value(id)),
                Over::Elements(of) => format!("elements {}{order}", value(of)),
                Over::Inner(at) => format!("inner {}{order}", list[at].results[0].name.0),
            }
        })
        .collect();
    let mut text = format!("[{}]", levels.join(", "));
    for (binding, placement) in list.iter().zip(&spine.placements) {
        let after = if placement.after { " after" } else { "" };
        text += &format!("; {} {}{after}", binding.results[0].name.0, placement.depth);
        match placement.iteration_order {
            IterationOrder::Own => {}
            IterationOrder::Through(by) => text += &format!(" through {}", list[by].results[0].name.0),
            IterationOrder::Counted(by) => text += &format!(" of {}", list[by].results[0].name.0),
        }
        if placement.dims.iter().any(|dim| dim.short) {
            text += " short";
        }
        if placement.longer {
            text += " longer";
        }
        if placement.stored {
            text += " stored";
        }
    }
    text
}

const INPUTS: &str = "x: [n]i64, y: [n]i64, z: [m]i64, a: [n, m]i64, o: [s]i64, d: [m]i64, t: [n]i64";

fn of_vectors(bindings: &str, results: &str) -> String {
    nest(INPUTS, bindings, results)
}

#[test]
fn levels_are_shared_by_what_has_equal_extents() {
    let fits = of_vectors(
        "s1: i64 = fold(|A, B| A + B, 0, x); c: [n]i64 = scanl1(|A, B| A + B, x); s2: i64 = fold(|A, B| A + B, 0, c)",
        "s1, s2",
    );
    assert_eq!(fits, "[n up]; s1 1; c 1; s2 1");
    let other = of_vectors("s1: i64 = fold(|A, B| A + B, 0, x); s2: i64 = fold(|A, B| A + B, 0, z)", "s1, s2");
    assert_eq!(other, "s1 s2: their extents are not known to be equal");
}

#[test]
fn rows_stand_before_or_after_what_is_deeper() {
    let fits = of_vectors(
        "v: [n]i64 = map(|X| X + 1, x); r: [n, m]i64 = replicate([_, m], v); w: [n, m]i64 = map(|A, B| A * B, r, a); f: [n]i64 = fold(|A, B| A + B, 0, w); g: [n]i64 = map(|A, B| A + B, f, v); h: i64 = fold(|A, B| A + B, 0, g)",
        "g, h",
    );
    assert_eq!(fits, "[n up, m up]; v 1; r 2; w 2; f 2; g 1 after; h 1 after");
    let other = of_vectors(
        "f: [n]i64 = fold(|A, B| A + B, 0, a); r: [n, m]i64 = replicate([_, m], f); w: [n, m]i64 = map(|A, B| A * B, r, a)",
        "w",
    );
    assert_eq!(other, "f r: the first is known only after the loop in which the second needs it");
    let other = of_vectors("s1: i64 = fold(|A, B| A + B, 0, x); b: [n]i64 = replicate([n], s1)", "b");
    assert_eq!(other, "s1 b: the first is known only after the loop in which the second needs it");
}

#[test]
fn exclusive_scans_have_a_step_more() {
    let fits = of_vectors(
        "c: [p]i64 = scanl(|A, B| A + B, 0, x); e: [p]i64 = map(|A| A * 2, c); b: [n]i64 = map(|A| A + 1, x)",
        "e, b",
    );
    assert_eq!(fits, "[p up]; c 1 short longer; e 1; b 1 short");
    let fits = of_vectors("c: [p]i64 = scanl(|A, B| A + B, 0, x); b: [n]i64 = map(|A| A + 1, x)", "c, b");
    assert_eq!(fits, "[n up]; c 1; b 1");
    let fits = of_vectors("c: [p]i64 = scanr(|A, B| A + B, 0, x); e: i64 = fold(|A, B| A + B, 0, c)", "e");
    assert_eq!(fits, "[p down]; c 1 short longer; e 1");
    let fewer = of_vectors("c: [p]i64 = scanr(|A, B| A + B, 0, x); e: [n]i64 = map(|A| A * 2, c)", "e");
    assert_eq!(fewer, "[p down]; c 1 short longer; e 1 short");
    let other = of_vectors("c: [n]i64 = scanl1(|A, B| A + B, x); e: [n]i64 = scanr1(|A, B| A + B, c)", "e");
    assert_eq!(other, "c e: one runs up, the other down");
}

#[test]
fn what_is_read_in_another_order_is_made_in_it() {
    let fits = of_vectors("e: [n]i64 = map(|A| A + 1, x); b: [n]i64 = backpermute([n], |i| n - 1 - i, e)", "b");
    assert_eq!(fits, "[n]; e 1 through b; b 1");
    let fits = of_vectors(
        "e: [n]i64 = map(|A| A + 1, x); b: [n]i64 = backpermute([n], |i| n - 1 - i, e); c: [n]i64 = map(|A| A * 2, b); v: [m]i64 = backpermute([m], |i| i, c)",
        "v",
    );
    assert_eq!(fits, "[m]; e 1 through b; b 1 through v; c 1 through v; v 1");
    let stored = of_vectors("e: [n]i64 = map(|A| A + 1, x); b: [n]i64 = backpermute([n], |i| n - 1 - i, e)", "e, b");
    assert_eq!(stored, "e b: the first is stored in its own order, and the second reads it in another");
    let two = of_vectors(
        "e: [n]i64 = map(|A| A + 1, x); b: [n]i64 = backpermute([n], |i| n - 1 - i, e); c: [n]i64 = map(|A, B| A + B, b, e)",
        "c",
    );
    assert_eq!(two, "e b: the first would be read in two orders");
    let scan = of_vectors("e: [n]i64 = scanl1(|A, B| A + B, x); b: [n]i64 = backpermute([n], |i| n - 1 - i, e)", "b");
    assert_eq!(scan, "e b: the second reads in an order of its own what is not made element by element");
    let slice = of_vectors("e: [n, m]i64 = map(|A| A + 1, a); b: [n]i64 = slice([_, 0], e)", "b");
    assert_eq!(slice, "[n]; e 1 through b; b 1");
    let columns = of_vectors("e: [m]i64 = map(|A| A + 1, z); b: [n, m]i64 = replicate([n, _], e)", "b");
    assert_eq!(columns, "[n, m]; e 2 through b; b 2");
}

#[test]
fn what_is_needed_whole_is_not_in_the_nest() {
    let whole = "the second needs all of the first before it begins";
    let read = of_vectors("e: [n]i64 = map(|A| A + 1, x); b: [n]i64 = generate([n], |i| e[i])", "b");
    assert_eq!(read, format!("e b: {whole}"));
    let tapped =
        of_vectors("e: [n]i64 = map(|A| A + 1, x); b: [n]i64 = stencil(|L, R| L + R, e[-1], e[1], e: clamp)", "b");
    assert_eq!(tapped, format!("e b: {whole}"));
    let seed = of_vectors("e: i64 = fold(|A, B| A + B, 0, x); b: i64 = fold(|A, B| A + B, e, y)", "b");
    assert_eq!(seed, format!("e b: {whole}"));
    let permuted = of_vectors("e: [m]i64 = permute(|A, B| A + B, d, x, at: t); b: [m]i64 = map(|A| A + 1, e)", "b");
    assert_eq!(permuted, format!("e b: {whole}"));
    let defaults = of_vectors("e: [m]i64 = map(|A| A + 1, d); b: [m]i64 = permute(|A, B| A + B, e, x, at: t)", "b");
    assert_eq!(defaults, format!("e b: {whole}"));
    let offsets = of_vectors("e: [s]i64 = map(|A| A, o); b: [q]i64 = fold_seg(|A, B| A + B, 0, x, offsets: e)", "b");
    assert_eq!(offsets, format!("e b: {whole}"));
}

#[test]
fn scatters_keep_to_the_order_of_their_sources() {
    let fits = of_vectors(
        "e: [n]i64 = map(|A| A + 1, x); b: [m]i64 = permute(|A, B| A, d, e, at: t); c: i64 = fold(|A, B| A + B, 0, e)",
        "b, c",
    );
    assert_eq!(fits, "[n up]; e 1; b 1; c 1");
    let any = of_vectors("e: [n]i64 = scanr1(|A, B| A + B, x); b: [m]i64 = permute(|A, B| A + B, d, e, at: t)", "b");
    assert_eq!(any, "[n down]; e 1; b 1");
    let down = of_vectors("e: [n]i64 = scanr1(|A, B| A + B, x); b: [m]i64 = permute(|A, B| A, d, e, at: t)", "b");
    assert_eq!(down, "e b: one keeps to the order of its elements, and the other runs down");
    let seeded = of_vectors("e: [n]i64 = scanr1(|A, B| A + B, x); b: i64 = fold(|A, B| A * 2 - B, 0, e)", "b");
    assert_eq!(seeded, "e b: one keeps to the order of its elements, and the other runs down");
}

#[test]
fn segments_are_two_levels() {
    let fits = of_vectors(
        "e: [n]i64 = map(|A, B| A * B, x, y); b: [q]i64 = fold_seg(|A, B| A + B, 0, e, offsets: o); c: [q]i64 = map(|A| A + 1, b); g: i64 = fold(|A, B| A + B, 0, c); h: i64 = fold(|A, B| A + B, 0, e)",
        "g, h",
    );
    assert_eq!(fits, "[segments o up, elements o up]; e 2; b 2; c 1 after; g 1 after; h 2");
    let fits = of_vectors(
        "b: [n]i64 = scanl1_seg(|A, B| A + B, x, offsets: o); c: [n]i64 = map(|A| A + 1, b); e: [n]i64 = map(|A| A + 1, y)",
        "c, e",
    );
    assert_eq!(fits, "[segments o, elements o up]; b 2; c 2; e 2");
    let other =
        of_vectors("b: [q]i64 = fold_seg(|A, B| A + B, 0, x, offsets: o); c: [n]i64 = scanl1(|A, B| A + B, x)", "b, c");
    assert_eq!(other, "b c: their segments are not the same");
    let other =
        of_vectors("b: [q]i64 = fold_seg(|A, B| A + B, 0, x, offsets: o); c: [m]i64 = map(|A| A + 1, z)", "b, c");
    assert_eq!(other, "b c: their extents are not known to be equal");
    let other = nest(
        "x: [n]i64, o: [s]i64, u: [s]i64",
        "b: [q]i64 = fold_seg(|A, B| A + B, 0, x, offsets: o); c: [q]i64 = fold_seg(|A, B| A + B, 0, x, offsets: u)",
        "b, c",
    );
    assert_eq!(other, "b c: their segments are not the same");
}

/// `x` has `n` elements in `q` segments (`o`), which are in `q` segments too (`u`).
const NESTED: &str = "x: [n]i64, y: [n]i64, o: [s]i64, u: [s]i64";

#[test]
fn segments_of_segments_are_a_level_each() {
    let fits = nest(
        NESTED,
        "e: [n]i64 = map(|A, B| A * B, x, y); b: [q]i64 = fold_seg(|A, B| A + B, 0, e, offsets: o); w: [q]i64 = generate([q], |i| i); c: [q]i64 = map(|A, B| A + B, b, w); d: [q]i64 = fold_seg(|A, B| A + B, 0, c, offsets: u); g: i64 = fold(|A, B| A + B, 0, d)",
        "g",
    );
    let places = "e 3; b 3; w 2; c 2 after; d 2 after; g 1 after";
    assert_eq!(fits, format!("[segments u up, elements u up, elements o up]; {places}"));
    // Running sums of sums, and the sum of all of them.
    let scans = nest(
        NESTED,
        "b: [q]i64 = fold_seg(|A, B| A + B, 0, x, offsets: o); c: [q]i64 = scanl1_seg(|A, B| A + B, b, offsets: u); g: i64 = fold(|A, B| A + B, 0, c); h: i64 = fold(|A, B| A + B, 0, x)",
        "c, g, h",
    );
    assert_eq!(scans, "[segments u up, elements u up, elements o up]; b 3; c 2 after; g 2 after; h 3");
    // Nothing ties the two but the number of elements.
    let by_extents = nest(
        "x: [n]i64, o: [s]i64, u: [n]i64",
        "b: [q]i64 = fold_seg(|A, B| A + B, 0, x, offsets: o); w: [q]i64 = generate([q], |i| i); d: [less]i64 = fold_seg(|A, B| A + B, 0, w, offsets: u)",
        "b, d",
    );
    assert_eq!(by_extents, "[segments u, elements u up, elements o up]; b 3; w 2; d 2");
}

#[test]
fn segments_that_do_not_follow_each_other_are_apart() {
    let beside = nest(
        NESTED,
        "b: [q]i64 = fold_seg(|A, B| A + B, 0, x, offsets: o); c: [q]i64 = fold_seg(|A, B| A + B, 0, y, offsets: u)",
        "b, c",
    );
    assert_eq!(beside, "b c: their segments are not the same");
    let round = nest(
        NESTED,
        "b: [q]i64 = fold_seg(|A, B| A + B, 0, x, offsets: o); c: [q]i64 = fold_seg(|A, B| A + B, 0, b, offsets: o)",
        "c",
    );
    assert_eq!(round, "b c: their segments are not the same");
    let across = nest(
        NESTED,
        "b: [q]i64 = fold_seg(|A, B| A + B, 0, x, offsets: o); c: [q]i64 = scanl1(|A, B| A + B, b); d: [q]i64 = fold_seg(|A, B| A + B, 0, b, offsets: u)",
        "c, d",
    );
    assert_eq!(across, "c d: their segments are not the same");
}

#[test]
fn the_same_offsets_of_other_names_are_the_same_segments() {
    let program = "fn f(x: [n]i64, e: [m]i64) -> [m]i64, [m]i64 {
      let p = m + 1
      let o: [p]i64 = cluster(|| {
        last o: [p]i64 = scanl(|a, b| a + b, 0, e)
        return o })
      let u: [p]i64 = cluster(|| {
        last u: [p]i64 = scanl(|a, b| a + b, 0, e)
        return u })
      let b: [m]i64, c: [m]i64 = cluster(|| {
        horizontal b: [m]i64 = fold_seg(|a, b| a + b, 0, x, offsets: o)
        last c: [m]i64 = fold_seg(|a, b| max(a, b), 0, x, offsets: u)
        return b, c })
      return b, c }";
    let program = text::parse(program).unwrap();
    assert_eq!(validate(&program, &[Property::Clustered]).map_err(|errors| errors.to_string()), Ok(()));
}

#[test]
fn counted_elements_have_no_positions() {
    let fits = of_vectors(
        "k: i64, v: [k]i64 = filter(|A| A > 0, x); w: [k]i64 = map(|A| A * 2, v); g: i64 = fold(|A, B| A + B, 0, w)",
        "k, w, g",
    );
    assert_eq!(fits, "[n up]; k 1; w 1 of k; g 1 of k");
    let fits = of_vectors(
        "k: i64, v: [k]i64 = filter(|A| A > 0, x); j: i64, w: [j]i64 = filter(|A| A > 5, v); g: i64 = fold(|A, B| A + B, 0, w)",
        "g",
    );
    assert_eq!(fits, "[n up]; k 1; j 1 of k; g 1 of j");
    let fits = of_vectors(
        "k: i64, v: [k]i64 = expand(|A| A, |A, j| A * j, x); w: [k]i64 = map(|A| A * 2, v); g: i64 = fold(|A, B| A + B, 0, w)",
        "g",
    );
    assert_eq!(fits, "[n up, inner k up]; k 1; w 2 of k; g 2 of k");
    let fits = of_vectors("k: i64, v: [k]i64 = expand(|A| A, |A, j| A * j, x); w: [k]i64 = map(|A| A * 2, v)", "k, w");
    assert_eq!(fits, "[n, inner k]; k 1 stored; w 2 of k");
    let made = of_vectors(
        "u: [n]i64 = map(|A| A + 1, x); k: i64, v: [k]i64 = expand(|A| A, |A, j| A * j, u); w: [k]i64 = map(|A| A * 2, v)",
        "k, w",
    );
    assert_eq!(made, "u k: elements are counted before they are stored, and that needs the first before");
    let positions = "the second needs positions among elements that are counted as they are met";
    let scanned = of_vectors("k: i64, v: [k]i64 = filter(|A| A > 0, x); w: [k]i64 = scanl1(|A, B| A + B, v)", "k, w");
    assert_eq!(scanned, format!("k w: {positions}"));
    let read = of_vectors("k: i64, v: [k]i64 = filter(|A| A > 0, x); w: [k]i64 = map(|A, B| A + B, v, y)", "k, w");
    assert_eq!(read, format!("k w: {positions}"));
    let two =
        of_vectors("k: i64, v: [k]i64 = filter(|A| A > 0, x); j: i64, w: [j]i64 = filter(|A| A < 0, x)", "k, v, j, w");
    assert_eq!(two, "k j: the numbers of elements of both are known only at the end");
    let beside = of_vectors(
        "k: i64, v: [k]i64 = expand(|A| A, |A, j| A * j, x); g: i64 = fold(|A, B| A + B, 0, v); w: [n]i64 = fold(|A, B| A + B, 0, a)",
        "g, w",
    );
    assert_eq!(beside, "k w: their inner loops would stand beside each other");
}

#[test]
fn elements_of_elements_are_a_level_inside() {
    let chain = of_vectors(
        "k: i64, v: [k]i64 = expand(|A| A, |A, j| A * j, x); l: i64, w: [l]i64 = expand(|A| A, |A, j| A + j, v); g: i64 = fold(|A, B| A + B, 0, w)",
        "g",
    );
    assert_eq!(chain, "[n up, inner k up, inner l up]; k 1; l 2 of k; g 3 of l");
    let kept = of_vectors(
        "k: i64, v: [k]i64 = filter(|A| A > 0, x); l: i64, w: [l]i64 = expand(|A| A, |A, j| A + j, v); g: i64 = fold(|A, B| A + B, 0, w)",
        "g",
    );
    assert_eq!(kept, "[n up, inner l up]; k 1; l 1 of k; g 2 of l");
    // How many there are is counted before they are stored.
    let stored = of_vectors(
        "k: i64, v: [k]i64 = expand(|A| A, |A, j| A * j, x); l: i64, w: [l]i64 = expand(|A| A, |A, j| A + j, v)",
        "l, w",
    );
    assert_eq!(stored, "k l: elements are counted before they are stored, and that needs the first before");
    let zipped = of_vectors(
        "k: i64, v: [k]i64 = expand(|A| A, |A, j| A * j, x); l: i64, w: [l]i64 = expand(|A, B| A, |A, B, j| A + j, v, y); g: i64 = fold(|A, B| A + B, 0, w)",
        "g",
    );
    assert_eq!(zipped, "k l: the second needs positions among elements that are counted as they are met");
}

#[test]
fn what_is_filled_is_made_where_elements_are_met() {
    let filled = of_vectors(
        "k: i64, v: [k]i64 = expand(|A| A, |A, j| A * j, x); w: [k]i64 = generate([k], |i| n); g: i64 = fold(|A, B| A + B, 0, w)",
        "g",
    );
    assert_eq!(filled, "[n up, inner k up]; k 1; w 2 of k; g 2 of k");
    let kept = of_vectors(
        "k: i64, v: [k]i64 = filter(|A| A > 0, x); w: [k]i64 = generate([k], |i| n); u: [k]i64 = map(|A, B| A + B, v, w)",
        "k, u",
    );
    assert_eq!(kept, "[n]; k 1; w 1 of k; u 1 of k");
    let indexed = of_vectors(
        "k: i64, v: [k]i64 = expand(|A| A, |A, j| A * j, x); w: [k]i64 = generate([k], |i| i); g: i64 = fold(|A, B| A + B, 0, w)",
        "g",
    );
    assert_eq!(indexed, "k w: the second needs all of the first before it begins");
}

#[test]
fn a_transform_reads_by_need() {
    let other = of_vectors("e: [n]i64 = map(|A| A + 1, x); b: [n]i64 = transform([n], |i| i, |A| A, e)", "b");
    assert_eq!(other, "e b: the second may not need what would be made of the first");
}

/// Rows of `x` of lengths `e`: where they begin (`o`), and in which row each element stands (`r`).
const RAGGED: &str = "fn f(x: [m]i64, e: [n]i64, y: [n]i64) -> [n]i64, [n]i64 {
  let p = n + 1
  let o: [p]i64 = cluster(|| {
    last o: [p]i64 = scanl(|a, b| a + b, 0, e)
    return o })
  let i: [n]i64 = cluster(|| {
    last i: [n]i64 = generate([n], |x| x)
    return i })
  let k: i64, r: [k]i64 = cluster(|| {
    last k: i64, r: [k]i64 = expand(|size, at| size, |size, at, j| at, e, i)
    return k, r })
  let w: [n]i64, b: [n]i64 = cluster(|| {
    BODY
    return w, b })
  return w, b }";

/// The nest of the cluster in [`RAGGED`], with this body.
fn ragged(body: &str) -> String {
    let program = text::parse(&RAGGED.replace("BODY", body)).unwrap_or_else(|error| panic!("{error}"));
    validate(&program, &[]).unwrap_or_else(|errors| panic!("{errors}"));
    of_last_cluster(&program)
}

#[test]
fn what_belongs_to_a_segment_is_made_before_its_elements() {
    let fits = ragged(
        "diagonal w: [n]i64 = map(|A| A + 1, y)
         vertical s: [m]i64 = backpermute([m], |j| r[j], w)
         vertical v: [m]i64 = map(|A, B| A * B, x, s)
         last b: [n]i64 = fold_seg(|A, B| A + B, 0, v, offsets: o)",
    );
    assert_eq!(fits, "[segments o, elements o up]; w 1; s 2; v 2; b 2");
    let after = ragged(
        "diagonal w: [n]i64 = fold_seg(|A, B| max(A, B), 0, x, offsets: o)
         vertical s: [m]i64 = backpermute([m], |j| r[j], w)
         vertical v: [m]i64 = map(|A, B| A * B, x, s)
         last b: [n]i64 = fold_seg(|A, B| A + B, 0, v, offsets: o)",
    );
    assert_eq!(after, "w s: the first is known only after the loop in which the second needs it");
    // Another array of positions says nothing of these rows.
    let other = ragged(
        "diagonal w: [n]i64 = map(|A| A + 1, y)
         vertical s: [m]i64 = backpermute([m], |j| x[j], w)
         vertical v: [m]i64 = map(|A, B| A * B, x, s)
         last b: [n]i64 = fold_seg(|A, B| A + B, 0, v, offsets: o)",
    );
    assert_eq!(other, "w s: the first is stored in its own order, and the second reads it in another");
}

#[test]
fn what_is_repeated_by_offsets_stands_in_the_nest_of_its_rows() {
    let alone = ragged(
        "diagonal w: [n]i64 = map(|A| A + 1, y)
         vertical s: [m]i64 = replicate_seg([m], w, offsets: o)
         last b: [m]i64 = map(|A, B| A * B, x, s)",
    );
    assert_eq!(alone, "[segments o, elements o]; w 1; s 2; b 2");
    let folded = ragged(
        "diagonal w: [n]i64 = map(|A| A + 1, y)
         vertical s: [m]i64 = replicate_seg([m], w, offsets: o)
         vertical v: [m]i64 = map(|A, B| A * B, x, s)
         last b: [n]i64 = fold_seg(|A, B| A + B, 0, v, offsets: o)",
    );
    assert_eq!(folded, "[segments o, elements o up]; w 1; s 2; v 2; b 2");
    let after = ragged(
        "diagonal w: [n]i64 = fold_seg(|A, B| max(A, B), 0, x, offsets: o)
         last b: [m]i64 = replicate_seg([m], w, offsets: o)",
    );
    assert_eq!(after, "w b: the first is known only after the loop in which the second needs it");
    // Other offsets are other rows, and an array of another length is not of these rows.
    let other = ragged(
        "horizontal w: [n]i64 = fold_seg(|A, B| max(A, B), 0, x, offsets: o)
         last b: [m]i64 = replicate_seg([m], y, offsets: e)",
    );
    assert_eq!(other, "w b: their segments are not the same");
    let longer = ragged(
        "horizontal w: [m]i64 = replicate_seg([m], y, offsets: o)
         last b: [k]i64 = map(|A| A + 1, r)",
    );
    assert_eq!(longer, "w b: their extents are not known to be equal");
    let of_segments = ragged(
        "horizontal w: [m]i64 = replicate_seg([m], y, offsets: o)
         last b: [n]i64 = map(|A| A + 1, y)",
    );
    assert_eq!(of_segments, "[segments o, elements o]; w 2; b 1");
    // Elements are made segment by segment.
    let turned = ragged(
        "diagonal w: [m]i64 = replicate_seg([m], y, offsets: o)
         last b: [m]i64 = backpermute([m], |j| m - 1 - j, w)",
    );
    assert_eq!(turned, "w b: the second reads in an order of its own what is not made element by element");
}
