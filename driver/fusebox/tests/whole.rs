//! The facade is whole: what a user's program sees of names, errors and explanations.

use fusebox::{Error, Options, compile_plan, compile_program, explain_plan, ir, prelude::*};

/// Names of Rust's prelude mean the same beside those of ours.
mod names_of_rust {
    use fusebox::prelude::*;

    fn same<T>(_: T, _: T) {}

    #[test]
    fn functions_and_constructors() {
        same::<fn(Vec<u8>)>(drop, std::mem::drop);
        same::<fn() -> usize>(size_of::<u8>, std::mem::size_of::<u8>);
        same::<fn() -> usize>(align_of::<u8>, std::mem::align_of::<u8>);
        same::<std::option::Option<u8>>(Some(1), None);
        same::<std::result::Result<u8, u8>>(Ok(1), Err(1));
        let dropped = vec![1];
        drop(dropped);
    }

    #[test]
    fn types_and_traits() {
        same::<std::option::Option<u8>>(Option::Some(1), Option::None);
        same::<std::result::Result<u8, u8>>(Result::Ok(1), Result::Err(1));
        same::<std::vec::Vec<u8>>(Vec::new(), std::vec::Vec::new());
        same::<std::string::String>(String::new(), std::string::String::new());
        same::<std::boxed::Box<u8>>(Box::new(1), std::boxed::Box::new(1));
        fn as_rust_has_them<T>(_: T)
        where
            T: Clone + Copy + Send + Sync + Sized + Unpin + Default + PartialEq + Eq + PartialOrd + Ord,
            T: ToString + ToOwned + From<T> + Into<T> + TryFrom<T> + TryInto<T>,
        {
        }
        as_rust_has_them(1u8);
        fn iterates(
            of: impl IntoIterator<Item = u8, IntoIter: DoubleEndedIterator + ExactSizeIterator + Iterator>,
        ) -> Vec<u8> {
            let mut all: Vec<u8> = FromIterator::from_iter(of);
            all.extend([1]);
            all
        }
        assert_eq!(iterates([3, 2]), [3, 2, 1]);
        fn calls(f: impl Fn() -> u8, mut g: impl FnMut() -> u8, h: impl FnOnce() -> u8) -> u8 {
            f() + g() + h()
        }
        assert_eq!(calls(|| 1, || 2, || 3), 6);
        fn refers(text: &(impl AsRef<str> + ?Sized), mut bytes: impl AsMut<[u8]>) -> usize {
            bytes.as_mut()[0] = 1;
            text.as_ref().len()
        }
        assert_eq!(refers("four", [0]), 4);
    }
}

/// A `main` that fails prints what `Debug` gives.
#[test]
fn debug_of_errors_is_their_message() {
    let build = fusebox::compile1(|xs: Acc<Vector<f32>>| xs.reshape(-1)).unwrap_err();
    let text = Error::from(ir::text::parse("fn f(").unwrap_err());
    let json = Error::from(ir::json::from_json("{}").unwrap_err());
    let program = ir::text::parse("fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = map(|x| 1 / 0, a) return b }");
    let wrong = program.ok().and_then(|program| compile_program(&program, &Options::default()).err());
    let array = Error::from(Matrix::new((2, 2), &[1.0f32]).unwrap_err());
    let divide = fusebox::compile1(|x: Exp<i64>| unit(10 / x)).unwrap();
    let run = divide.run(&0).unwrap_err();
    let input = divide.program().run(&[]).unwrap_err();
    let unknown = Error::from("fast".parse::<fusebox::Backend>().unwrap_err());
    let pass = Error::from(fusebox::pass("fast").err().unwrap());
    let all =
        [Some(build), Some(text), Some(json), wrong, Some(array), Some(run), Some(input), Some(unknown), Some(pass)];
    for error in all.into_iter().flatten() {
        let message = error.to_string();
        assert_eq!(format!("{error:?}"), message);
        assert!(!message.contains("Error"), "no structure: {message}");
        let fields = format!("{error:#?}");
        assert!(fields.contains("(\n") || fields.contains(" {\n"), "{fields}");
    }
    // Quotes are quotes, and lines are lines.
    let error = ir::text::parse("fn f() -> i64 {\n  let a: i64 = \"x\"\n  return a }").unwrap_err();
    let printed = format!("{error:?}");
    assert!(printed.contains("\"x\"") && printed.lines().count() > 2 && !printed.contains('\\'), "{printed}");
}

#[test]
fn debug_of_a_pass_that_fails_tells_what_caused_it() {
    #[derive(Debug, thiserror::Error)]
    #[error("outer")]
    struct Outer(#[source] Inner);
    #[derive(Debug, thiserror::Error)]
    #[error("inner")]
    struct Inner;
    let error = Error::Pass { pass: "fusion", source: Outer(Inner).into() };
    assert_eq!(format!("{error:?}"), "pass `fusion`: outer: inner");
}

/// A scan backwards, which nothing before it can share a loop with, and two users of it.
fn tails(xs: Acc<Vector<f32>>) -> (Acc<Vector<f32>>, Acc<Vector<f32>>) {
    let tails = xs.scanr1(|a, b| a + b).named("tails");
    let sums = tails.scanl1(|a, b| a + b);
    (sums.map(|x| x + 1.0), sums.reverse_it())
}

/// A method of the test's own, so that names of lines are those of the call inside.
trait ReverseIt {
    fn reverse_it(self) -> Self;
}
impl ReverseIt for Acc<Vector<f32>> {
    fn reverse_it(self) -> Self {
        reverse(self)
    }
}

#[test]
fn compiled_programs_explain_themselves() {
    let tails = fusebox::compile1(tails).unwrap();
    let explanation = tails.explain();
    // What the passes counted then, they count now.
    let counted: Vec<_> = explanation.stages[1..].iter().map(|stage| stage.counts.clone()).collect();
    assert_eq!(counted, tails.report().passes.iter().map(|pass| pass.counts.clone()).collect::<Vec<_>>());
    let text = explanation.to_string();
    for says in ["program, fusion optimal", "== Clusters", "== Not fused", "`tails` (", "== Stage kernels"] {
        assert!(text.contains(says), "{says}\n{text}");
    }
    let json: serde_json::Value = serde_json::from_str(&explanation.to_json()).unwrap();
    assert_eq!(json["program"], "program");
    assert!(explanation.to_dot().starts_with("digraph \"program\" {"));
    let folder = tempfile::tempdir().unwrap();
    let page = folder.path().join("tails.html");
    explanation.write_html(&page).unwrap();
    assert_eq!(std::fs::read_to_string(&page).unwrap(), explanation.to_html());
    let error = explanation.write_html(folder.path().join("none").join("x.html")).unwrap_err();
    assert!(error.to_string().starts_with("cannot write ") && error.to_string().contains("x.html: "), "{error}");
    // From the cache too, and through the program without types.
    let again = fusebox::compile1(self::tails).unwrap();
    assert_eq!(again.program().explain().map(|explained| explained.apart), Some(explanation.apart));
}

#[test]
fn plans_say_what_they_take() {
    let program = ir::text::parse("fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = map(|x| x * x, a) return b }").unwrap();
    let stages = fusebox::run_passes(&program, &fusebox::pipeline(&Options::default()), true).unwrap();
    let plan = stages.last().unwrap().plan().unwrap();
    assert!(compile_plan(plan, &Options::default()).unwrap().explain().is_none());
    let explained = explain_plan(plan).unwrap();
    assert_eq!((explained.total.loops, explained.total.reads.as_str()), (1, "n"));
    assert!(explained.to_string().contains("== Kernels"));
    let wrong = ir::Plan { results: vec![ir::ValueId(99)], ..plan.clone() };
    assert!(matches!(explain_plan(&wrong), Err(Error::InvalidPlan(_))));
}

/// Names of bindings as the program's text has them.
fn names(program: &ir::Program) -> Vec<String> {
    let text = program.to_string();
    let lets = text.lines().filter_map(|line| line.trim().strip_prefix("let "));
    let left = lets.map(|line| line.split_once(" = ").map_or(line, |(left, _)| left).to_owned());
    left.flat_map(|left| {
        left.split(", ").filter_map(|one| one.split_once(": ").map(|(name, _)| name.to_owned())).collect::<Vec<_>>()
    })
    .collect()
}

fn recovered<P: Parameters, R: Results>(built: Built<P, R>) -> ir::Program {
    let program = fusebox::recover(&built, &Options::default()).unwrap();
    // Dumps parse again, to the same program with the same names.
    let text = program.to_string();
    let parsed = ir::text::parse(&text).unwrap();
    assert_eq!((&parsed, parsed.to_string()), (&program, text));
    program
}

#[test]
fn values_are_called_as_the_host_calls_them_else_by_operation_and_line() {
    let line = line!();
    let built = build("f", |xs: Acc<Vector<f32>>| {
        let (squares, halves) = (xs.map(|x| x * x), xs.map(|x| x / 2.0));
        let both = squares.zip(halves).map(|both| both.swapped()).named("both");
        let total = sum(both.map(|both| both.fst())).named("total");
        let odd = both.map(|both| both.snd()).named("not a name!");
        (both, odd.map(|x| x + 1.0), total)
    });
    let names = names(&recovered(built.unwrap()));
    let map = |line: u32| format!("map_{line}");
    // `both` and `total` are results, and have the names of these; what else there is:
    for name in [map(line + 2), format!("map_{}b", line + 2), map(line + 4), "not_a_name_".to_owned()] {
        assert!(names.contains(&name), "{name} in {names:?}");
    }
    assert!(names.iter().all(|name| !name.starts_with('a')), "{names:?}");
}

trait Swapped {
    fn swapped(self) -> Self;
}
impl Swapped for Exp<(f32, f32)> {
    fn swapped(self) -> Self {
        let (x, y) = self.parts();
        lift((y, x))
    }
}

#[test]
fn one_name_of_several_arrays_gets_numbers_and_components_their_names() {
    let built = build("f", |zs: Acc<Vector<Complex<f32>>>| {
        let turned = zs.map(|z| z * z).named("z");
        let again = turned.map(|z| z * z).named("z");
        let other = again.map(|z| z + z).named("other").named("last");
        sum(other.map(|z| z.re()))
    });
    let names = names(&recovered(built.unwrap()));
    for name in ["z_re", "z_im", "z_re1", "z_im1", "last_re", "last_im"] {
        assert!(names.iter().any(|there| there == name), "{name} in {names:?}");
    }
    assert!(!names.iter().any(|name| name.starts_with("other")), "{names:?}");
}

#[test]
fn of_two_equal_values_the_first_name_is_kept() {
    let built = build("f", |xs: Acc<Vector<f32>>| {
        let first = xs.map(|x| x * x).named("first");
        let second = xs.map(|x| x * x).named("second");
        (first.scanr1(|a, b| a + b), second.scanl1(|a, b| a + b))
    });
    let program = recovered(built.unwrap());
    assert_eq!(names(&program)[..2], ["first", "second"]);
    let stages = fusebox::run_passes(&program, &[fusebox::pass("simplify").unwrap()], true).unwrap();
    let simplified = names(stages[0].program().unwrap());
    assert!(simplified.contains(&"first".to_owned()) && !simplified.contains(&"second".to_owned()), "{simplified:?}");
}

#[test]
fn reports_and_errors_say_name_and_place() {
    let line = line!();
    let built = fusebox::compile1(|xs: Acc<Vector<i64>>| {
        let scores = xs.map(|x| 100 / x).named("scores");
        let order = scores.scanr1(|a, b| a + b);
        order.scanl1(|a, b| a.max(b))
    });
    let built = built.unwrap();
    let place = |line: u32| format!("tests/whole.rs:{line}:");
    let apart = built.explain().apart;
    let pair = apart.iter().find(|pair| pair.first == format!("scanr1_{}", line + 3));
    let pair = pair.unwrap_or_else(|| panic!("{apart:?}"));
    assert!(pair.place.contains(&place(line + 3)) && pair.second_place.contains(&place(line + 4)), "{pair:?}");
    let text = built.explain().to_string();
    assert!(text.contains(&format!("`{}` ({}", pair.first, pair.place)), "{text}");
    assert!(text.contains(&format!("({})", pair.second_place)), "{text}");
    let error = built.run(&Vector::from_slice(&[1, 0]).unwrap()).unwrap_err().to_string();
    assert!(error.contains("`scores`") && error.contains(&place(line + 2)), "{error}");
}
