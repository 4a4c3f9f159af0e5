//! `fusebox test` and `fusebox new`.

mod support;

use support::{Folder, f32s};

const DOTP: &str = "fn dotp(xs: [n]f32, ys: [m]f32) -> f32 {
  let k = min(n, m)
  let a: [k]f32 = map(|x, y| x * y, xs, ys)
  let s: f32 = fold(|x, y| x + y, 0.0, a)
  return s }
";

fn dotp(tests: &str) -> Folder {
    let f = Folder::new();
    f.write("dotp.fbx", format!("{DOTP}{tests}"));
    f
}

#[test]
fn tests_in_comments_are_run() {
    let f = dotp(
        "
# What stands before the first test is any comment.
# == small vectors
# input xs = [1, 2, 3]
# input ys = [4, 5,
#             6, 7]
# output s = 32
#
# kernels 2
# loops 1
# reads 2*min(m,n) + 1
# == nothing
# input xs = []
# input ys = full [0] 1.5
# output s = 0.0

# Any comment again.
# == both backends agree
# input xs = random [1000] from -1 to 1 seed 3
# input ys = iota [999]
# == from files
# input xs = file data/xs.npy
# input ys = file data/xs.npy
# output s = 5.1
# within 0.05
",
    );
    f.write("data/xs.npy", f32s(&[1.0, 2.0]));
    let out = f.fusebox("test dotp.fbx").ok();
    assert_eq!(
        out,
        "dotp.fbx:8: small vectors … ok
dotp.fbx:17: nothing … ok
dotp.fbx:23: both backends agree … ok
dotp.fbx:26: from files … ok
4 passed
"
    );
    let out = f.fusebox("test . --only nothing --backend cpu").ok();
    assert!(out.contains("nothing … ok\n1 passed, 3 left out"), "{out}");
}

/// Fails with 1, and says this for each test.
#[track_caller]
fn says(tests: &str, code: i32, lines: &[&str]) {
    let done = dotp(tests).fusebox("test dotp.fbx");
    assert_eq!(done.code, code, "{tests}\n{}{}", done.out, done.err);
    for line in lines {
        assert!(done.out.contains(line), "{tests}\nshould say: {line}\nbut says: {}", done.out);
    }
}

#[test]
fn what_fails_is_told() {
    let inputs = "# input xs = [1, 2]\n# input ys = [3, 4]\n";
    says(
        &format!("# == a\n{inputs}# output s = 12\n# == b\n{inputs}# output s = 11\n"),
        1,
        &[
            "dotp.fbx:6: a … FAILED\n    on interp `s` is 11.0f32, not 12.0f32 (within 1e-4)",
            "b … ok",
            "1 passed, 1 failed",
        ],
    );
    says(&format!("# == a\n{inputs}# output s = 11.0001\n# within 0\n"), 1, &["not 11.0001f32 (exactly)"]);
    says(&format!("# == a\n{inputs}# kernels 1\n"), 1, &["kernels 2, not 1"]);
    // All that is wrong is told, of each backend.
    says(
        &format!("# == a\n{inputs}# output s = 12\n# kernels 1\n"),
        1,
        &["kernels 2, not 1\n    on interp `s` is 11.0f32, not 12.0f32 (within 1e-4)\n    on cpu `s` is"],
    );
    says(&format!("# == a\n{inputs}# error something\n"), 1, &["it runs, and should fail with: something"]);
    says("# == a\n# input xs = full [2] inf\n# input ys = [0, 1]\n# output s = nan\n", 0, &["1 passed"]);
}

#[test]
fn failures_that_are_expected_pass() {
    let f = Folder::new();
    let at = "fn at(xs: [n]f32, i: i64) -> f32 {\n  let x: f32 = generate([], || xs[i])\n  return x }\n";
    f.write("at.fbx", format!("{at}# == outside\n# input xs = [1, 2]\n# input i = 2\n# error index [2] is outside\n"));
    f.fusebox("test at.fbx").ok();
    f.write("at.fbx", format!("{at}# == outside\n# input xs = [1, 2]\n# input i = 2\n# error no such words\n"));
    let done = f.fusebox("test at.fbx");
    assert_eq!(done.code, 1);
    assert!(done.out.contains("it should fail with: no such words\n    but fails with: "), "{}", done.out);
    f.write(
        "wrong.fbx",
        "fn f(x: f32) -> f32 { return y }\n# == names\n# error unknown name `y`\n# == others\n# error more",
    );
    let done = f.fusebox("test wrong.fbx");
    assert!(done.code == 1 && done.out.contains("1 passed, 1 failed"), "{}", done.out);
}

#[test]
fn tests_that_are_none_are_told() {
    for (tests, message) in [
        ("", "dotp.fbx: no tests: one begins with the comment `# ==`"),
        ("# ==\n# inptu xs = [1]\n", "dotp.fbx:7: expected input, output, error, within"),
        ("# ==\n# input xs = [1\n", "dotp.fbx:7: a list has a `[` without its `]`"),
        ("# ==\n# input xs\n", "dotp.fbx:7: expected `input NAME = VALUE`"),
        ("# ==\n# input xs = [1]\n# input xs = [1]\n", "dotp.fbx:8: input `xs` has a value already"),
        ("# ==\n# within -1\n", "dotp.fbx:7: expected `within` and a number that is not negative, found `-1`"),
        ("# ==\n# error\n", "dotp.fbx:7: expected `error TEXT`"),
        (
            "# ==\n# error x\n# output s = 1\n",
            "dotp.fbx:6: a test has `error`, if the program is to fail, or `output`, and not both",
        ),
        ("# ==\n# input xs = []\n\n# output s = 1\n", "dotp.fbx:9: `# output s = 1` belongs to no test"),
        ("# ==\n# input xs = [1] # first\n", "dotp.fbx:7: a comment ends with its line: nothing may follow the value"),
        ("# ==\n# input xs = [1]\n", "line 6: no value for input `ys`, which is [m]f32: write `# input ys = …`"),
        ("# ==\n# input zs = [1]\n", "line 7: the program has no input `zs`: there are `xs`, `ys`"),
        (
            "# ==\n# input xs = [1]\n# input ys = []\n# output t = 1\n",
            "line 9: the program has no result `t`: there are `s`",
        ),
        ("# ==\n# input xs = [x]\n# input ys = []\n", "line 7: `xs`, which is [n]f32: expected f32, found `x`"),
        ("# ==\n# input xs = file no.npy\n# input ys = []\n", "line 7: "),
        ("# ==\n# input xs = iota [2, 2]\n# input ys = []\n", "line 7: `xs`, which is [n]f32: 2 extents for rank 1"),
        (
            "# ==\n# input xs = iota [99999999999]\n# input ys = []\n",
            "an array that is made has at most 268435456 elements",
        ),
        ("# ==\n# input xs = random [2] from 3 to 1\n# input ys = []\n", "goes from the lower to the higher number"),
        ("# ==\n# input xs = random [2] form 3\n# input ys = []\n", "expected `from`, `to` or `seed`, found `form`"),
        ("# ==\n# input xs = full [2]\n# input ys = []\n", "expected `full EXTENTS VALUE`"),
    ] {
        says(tests, 2, &[message]);
    }
    let f = Folder::new();
    f.fusebox("test no.fbx").fails(2, &["no.fbx"]);
    f.fusebox("test").fails(2, &["<FILE>"]);
    assert_eq!(f.fusebox("test .").code, 2, "an empty folder");
}

#[test]
fn a_new_crate_is_ready() {
    let f = Folder::new();
    let said = f.fusebox("new some/mine-2").ok();
    assert!(said.contains("cargo run"), "{said}");
    let manifest = String::from_utf8(f.read("some/mine-2/Cargo.toml")).unwrap();
    assert!(manifest.contains("name = \"mine-2\"") && manifest.contains("fusebox = { path = \""), "{manifest}");
    // Its program as text is tested at once; that it builds and runs as Rust, `cargo xtask outside` tests.
    assert!(f.fusebox("test some/mine-2").ok().ends_with("3 passed\n"));
    f.fusebox("new some/mine-2").fails(2, &["is there already"]);
    f.fusebox("new 2mine").fails(2, &["`2mine` is no name of a crate"]);
    f.fusebox("new .").fails(2, &[". names no new folder"]);
    f.fusebox("new self").fails(2, &["that is a word of Rust"]);
    f.fusebox("new fusebox").fails(2, &["another has that name"]);
    f.fusebox("new other --path some").fails(2, &["has no driver/fusebox/Cargo.toml"]);
    f.fusebox("new from-git --git https://example.org/fusebox").ok();
    let manifest = String::from_utf8(f.read("from-git/Cargo.toml")).unwrap();
    assert!(manifest.contains("fusebox = { git = \"https://example.org/fusebox\" }"), "{manifest}");
}
