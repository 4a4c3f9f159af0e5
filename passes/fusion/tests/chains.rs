//! Chains of operations that read all elements of what they are made of: no error may be lost, of whatever kind.

use fusebox_fusion::{Config, fuse};
use fusebox_interp::{Error, run};
use fusebox_ir::{Array, Fault, Program, Value, text, validate};

/// A sequence of numbers; the same each time.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound
    }
}

/// Operations on a vector `V` of extent `E`, to a vector `W` of the extent beside; `a` is a vector of `n`, and `l`, `s` are any numbers.
const STEPS: &[(&str, &str)] = &[
    ("let W: [E]i64 = map(|x| 3i64, V)", "E"),
    ("let W: [E]i64 = map(|x| x * 2 - 1, V)", "E"),
    ("let W: [E]i64 = map(|x| 12 / (x + 1), V)", "E"),
    ("let W: [n]i64 = map(|x, y| x + y, V, a)", "n"),
    ("let W: [E]i64 = backpermute([E], |i| E - 1 - i, V)", "E"),
    ("let W: [E]i64 = backpermute([E], |i| i + s, V)", "E"),
    ("let W: [E]i64 = transform([E], |i| E - 1 - i, |x| x + 1, V)", "E"),
    ("let W: [E]i64 = transform([E], |i| i + s, |x| x + 1, V)", "E"),
    ("let W: [E]i64 = transform([E], |i| i + s, |x| 7i64, V)", "E"),
    ("let W: [l]i64 = reshape([l], V)", "l"),
    ("let W: [l]i64 = map(|x| x + 2, V)", "l"),
    ("let W: [E]i64 = generate([E], |i| V[i + s] + i)", "E"),
    ("let W: [E]i64 = map(|x| x + V[s], V)", "E"),
    ("let W: [E]i64 = stencil(|x, y| x + y, V[-1], V[0], V: clamp)", "E"),
    ("let W_: [l]i64 = generate([l], |i| i) let W: [l]i64 = map(|x, y| x + y, V, W_)", "l"),
    ("let W_: [3, E]i64 = replicate([3, _], V) let W: [E]i64 = slice([s, _], W_)", "E"),
    ("let W_: [E, l]i64 = replicate([_, l], V) let W: [E]i64 = fold(|x, y| x + y, 0, W_)", "E"),
];

fn chain(seed: u64) -> Program {
    let mut numbers = Numbers(seed);
    let (mut body, mut vector, mut extent) = (String::new(), "a".to_owned(), "n");
    for step in 0..2 + numbers.below(5) {
        let (text, after) = STEPS[numbers.below(STEPS.len())];
        let name = format!("v{step}");
        body +=
            &text.replace('V', &vector).replace('W', &name).replace("[E", &format!("[{extent}")).replace('E', extent);
        body += "\n  ";
        vector = name;
        extent = if after == "E" { extent } else { after };
    }
    let source = format!(
        "fn f(a: [n]i64, l: i64, s: i64) -> i64 {{\n  {body}let r: i64 = fold(|x, y| x + y, 0, {vector}) return r }}"
    );
    let program = text::parse(&source).unwrap_or_else(|error| panic!("{error}\n{source}"));
    validate(&program, &[]).unwrap_or_else(|errors| panic!("{errors}\n{source}"));
    program
}

fn inputs(n: i64, l: i64, s: i64) -> Vec<Value> {
    let elements: Vec<i64> = (0..n).map(|i| i - 1).collect();
    let a = Array::new(&[n as usize], &elements).unwrap_or_else(|error| panic!("{error}"));
    vec![a.into(), Array::scalar(l).into(), Array::scalar(s).into()]
}

/// Whether a fault is of extents: whatever is read, such a fault is never lost.
fn is_of_extents(fault: &Fault) -> bool {
    matches!(fault, Fault::Sizes { .. } | Fault::TooFew { .. } | Fault::NegativeExtent { .. })
}

#[test]
fn no_error_is_lost_where_all_elements_are_read() {
    let (mut failed, mut changed) = (0, 0);
    for seed in 0..1_500 {
        let before = chain(seed);
        let (after, report) = fuse(&before, &Config::default()).unwrap_or_else(|error| panic!("{error}"));
        validate(&after, &[]).unwrap_or_else(|errors| panic!("{errors}\n{after}"));
        changed += usize::from(!report.choices.is_empty());
        for (n, l, s) in
            [(4, 4, 0), (4, 4, 1), (4, 5, 0), (4, 3, 0), (4, -1, 0), (1, 1, 0), (0, 0, 0), (0, 0, 1), (4, 4, -4)]
        {
            let inputs = inputs(n, l, s);
            let fault = |outcome: &Result<Vec<Value>, Error>| match outcome {
                Err(Error::Run(error)) => Some(error.fault.clone()),
                Err(other) => panic!("{other}"),
                Ok(_) => None,
            };
            let (expected, found) = (run(&before, &inputs), run(&after, &inputs));
            let (wanted, fault) = (fault(&expected), fault(&found));
            failed += usize::from(wanted.is_some());
            // Of fewer elements than there are not all are read.
            let may_be_lost = l < n && wanted.as_ref().is_some_and(|wanted| !is_of_extents(wanted));
            let same = match (&wanted, &fault) {
                (None, None) => expected == found,
                (None, Some(_)) => false,
                (Some(_), None) => may_be_lost,
                // Of several faults any may be met first.
                (Some(_), Some(_)) => true,
            };
            assert!(same, "seed {seed}, n {n}, l {l}, s {s}: {found:?} instead of {expected:?}\n{before}\n{after}");
        }
    }
    assert!(changed > 1_000 && failed > 2_000, "{changed} programs changed, {failed} runs failed");
}
