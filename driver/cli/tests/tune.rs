//! `tune`, and what `run` makes of the file that it writes.

mod support;

use support::{Folder, f32s};

fn folder() -> Folder {
    let folder = Folder::new();
    folder.write(
        "sums.fbx",
        "fn sums(a: [n]f32) -> f32, [n]f32 {
  let s: f32 = fold(|x, y| x + y, 0.0, a)
  let b: [n]f32 = map(|x| x / s, a)
  return s, b }",
    );
    folder.write("a.npy", f32s(&(0..5_000).map(|i| i as f32).collect::<Vec<_>>()));
    folder
}

#[test]
fn a_file_that_run_takes_or_none() {
    let folder = folder();
    let done = folder.fusebox("tune sums.fbx -i a=a.npy --rounds 2 --tries 4 -o found.json");
    assert_eq!(done.code, 0, "{}", done.err);
    assert!(done.out.contains("of ") && done.out.contains(" other schedules tried: "), "{}", done.out);
    let usual = folder.fusebox("run sums.fbx -i a=a.npy -o usual.npz");
    assert_eq!(usual.code, 0, "{}", usual.err);
    if folder.path("found.json").exists() {
        assert!(done.out.contains("wrote found.json"), "{}", done.out);
        let forced = folder.fusebox("run sums.fbx -i a=a.npy -o forced.npz --schedule found.json");
        assert_eq!(forced.code, 0, "{}", forced.err);
        assert_eq!(folder.read("usual.npz"), folder.read("forced.npz"));
    } else {
        assert!(done.out.contains("no file is written"), "{}", done.out);
    }
}

#[test]
fn schedules_for_other_machines_are_told() {
    let folder = folder();
    let forced = |target: &str| {
        folder.write("other.txt", folder.fusebox(&format!("dump sums.fbx --stage schedule --target {target}")).ok());
        folder.fusebox("run sums.fbx -i a=a.npy -o forced.npz --schedule other.txt --vector 128")
    };
    let done = forced("avx512");
    assert!(
        done.err.contains("other.txt: its schedules are for avx512, and this runs on none of them"),
        "{}",
        done.err
    );
    assert_eq!(done.code, 0, "{}", done.err);
    let done = forced("sse");
    assert!(!done.err.contains("its schedules are for"), "{}", done.err);
}

#[test]
fn what_cannot_be_tuned_is_refused() {
    let folder = folder();
    let cases = [
        ("tune sums.fbx", "a"),
        ("tune none.fbx", "none.fbx"),
        ("tune sums.fbx -i a=a.npy --rounds 0", "--rounds"),
        ("tune sums.fbx -i a=a.npy --tries 1 --rounds 1 --fusion all", "all"),
        ("tune plan.json -i a=a.npy", "schedules are tuned for programs"),
    ];
    folder.write("plan.json", folder.fusebox("dump sums.fbx --stage kernels --format json").out);
    for (arguments, said) in cases {
        let done = folder.fusebox(arguments);
        assert_eq!(done.code, 2, "{arguments}: {}", done.out);
        assert!(done.err.contains(said), "{arguments}: {}", done.err);
    }
}
