//! `--print-after-all`, and messages in colours.

mod support;

use std::process::Command;

use support::Folder;

const PROGRAM: &str = "fn f(xs: [n]f32) -> f32 { let ys: [n]f32 = map(|x| x + 1.0, xs) let s: f32 = fold(|x, y| x + y, 0.0, ys) return s }";

#[test]
fn the_program_after_each_pass_goes_to_standard_error() {
    let f = Folder::new();
    f.write("f.fbx", PROGRAM);
    f.write("x.npy", support::f32s(&[1.0, 2.0]));
    for arguments in ["run f.fbx -i x.npy --print-after-all", "dump f.fbx --stage kernels --print-after-all"] {
        let done = f.fusebox(arguments);
        let heads: Vec<&str> = done.err.lines().filter(|line| line.starts_with("# after ")).collect();
        assert!(heads.iter().any(|head| head.starts_with("# after fusion")), "{}", done.err);
        assert!(heads.contains(&"# after kernels"), "{}", done.err);
        assert!(heads.iter().any(|head| head.ends_with(": unchanged")), "{}", done.err);
        assert!(done.err.contains("plan f(xs: [n]f32)"), "{}", done.err);
        done.ok();
    }
    let done = f.fusebox("opt f.fbx --passes simplify,fusion --print-after-all");
    assert_eq!(done.err.matches("# after ").count(), 2, "{}", done.err);
    done.ok();
    // What was made before a pass failed.
    let done = f.fusebox("opt f.fbx --passes simplify,kernels,fusion --print-after-all");
    assert!(done.err.contains("# after simplify") && done.err.contains("# after kernels"), "{}", done.err);
    done.fails(2, &["fusion"]);
    std::fs::write(f.path("plan.json"), f.fusebox("dump f.fbx --stage kernels --format json").ok()).unwrap();
    f.fusebox("run plan.json -i x.npy --print-after-all").fails(2, &["--print-after-all"]);
}

#[test]
fn messages_have_colours_only_where_they_are_seen() {
    let f = Folder::new();
    f.write("bad.fbx", "fn f(xs: [n]f32) -> f32 { return ys }");
    let run = |variable: Option<&str>| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_fusebox"));
        command.args(["check", "bad.fbx"]).current_dir(f.path(".")).env_remove("CLICOLOR_FORCE").env_remove("NO_COLOR");
        variable.map(|name| command.env(name, "1"));
        String::from_utf8(command.output().unwrap().stderr).unwrap()
    };
    let plain = run(None);
    assert!(plain.starts_with("fusebox: ") && !plain.contains('\u{1b}'), "{plain}");
    assert_eq!(run(Some("NO_COLOR")), plain);
    let coloured = run(Some("CLICOLOR_FORCE"));
    assert!(coloured.contains("\u{1b}[31m") && coloured.contains("unknown name"), "{coloured}");
}
