//! Runs after the first take no memory: values, argument tables, and what kernels work in are those of runs that are over.

mod common;

use std::{
    alloc::{GlobalAlloc, Layout, System},
    cell::Cell,
};

use common::{compiled, plan};
use fusebox_backend::Program as _;
use fusebox_cranelift::{Config, Cranelift};
use fusebox_ir::Array;

thread_local! {
    /// How often this thread has asked for memory.
    static ASKED: Cell<usize> = const { Cell::new(0) };
    /// How many of these were for [`LARGE`] bytes or more.
    static LARGE_ASKED: Cell<usize> = const { Cell::new(0) };
}

/// As much as an array of the test below, and more than anything else.
const LARGE: usize = 1 << 20;

/// The system's allocator, which counts.
struct Counting;

// SAFETY: all is left to the system's allocator; a counter of the thread itself needs no memory.
#[allow(unsafe_code)]
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ASKED.set(ASKED.get() + 1);
        LARGE_ASKED.set(LARGE_ASKED.get() + usize::from(layout.size() >= LARGE));
        // SAFETY: as the caller promises.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: as the caller promises.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often a run of these programs asks for memory once others are over; whether it was run by a script, which plans have after so many runs.
fn asked(source: &str, inputs: &[Array], script_from_runs: u32) -> (usize, bool) {
    let backend = Cranelift::new(Config { threads: 1, script_from_runs, ..Config::default() }).unwrap();
    let loaded = compiled(&backend, &plan(source)).unwrap().load_plan().unwrap();
    let mut results = Vec::new();
    // After powers of two it is asked whether a plan is small.
    for _ in 0..5 {
        loaded.run_into(inputs, &mut results).unwrap();
    }
    let (before, stopped) = (ASKED.get(), loaded.lanes_stopped());
    loaded.run_into(inputs, &mut results).unwrap();
    let asked = ASKED.get() - before;
    assert!(asked > 0 || results.iter().all(|result| !result.is_shared()), "{source}");
    (asked, loaded.has_script() && stopped == 0)
}

#[test]
fn later_runs_ask_for_no_memory() {
    let programs = [
        ("saxpy", "fn f(x: [n]f32, y: [n]f32) -> [n]f32 { let r: [n]f32 = map(|a, b| 2.5 * a + b, x, y) return r }"),
        (
            "a sum",
            "fn f(x: [n]f32, y: [n]f32) -> f32 { let p: [n]f32 = map(|a, b| a * b, x, y) let r: f32 = fold(|a, b| a + b, 0.0, p) return r }",
        ),
        (
            "a scan",
            "fn f(x: [n]f32, y: [n]f32) -> [n]f32 { let p: [n]f32 = map(|a, b| a * b, x, y) let r: [n]f32 = scanl1(|a, b| a + b, p) return r }",
        ),
        (
            "two passes",
            "fn f(x: [n]f32, y: [n]f32) -> [n]f32 { let s: f32 = fold1(|a, b| max(a, b), x) let r: [n]f32 = map(|b| b / s, y) return r }",
        ),
        (
            "a loop",
            "fn f(x: [n]f32, y: [n]f32) -> [n]f32 {
                let r: [n]f32, k: i64 = while(|v: [n]f32, i: i64| { let more = i < 4 return more }, |v: [n]f32, i: i64| {
                    let w: [n]f32 = map(|a, b| a * 0.5 + b, v, y)
                    let j = i + 1
                    return w, j
                }, x, 0i64)
                return r
            }",
        ),
    ];
    for elements in [1usize, 1000, 100_000] {
        let floats =
            |scale: f32| Array::new(&[elements], &(0..elements).map(|i| i as f32 * scale).collect::<Vec<_>>()).unwrap();
        for (name, source) in programs {
            let given = [floats(0.5), floats(0.25)];
            assert_eq!(asked(source, &given, 0), (0, false), "{name} of {elements}");
            let scripted = name == "a loop" && elements <= 1000;
            assert_eq!(asked(source, &given, 1), (0, scripted), "{name} of {elements}");
        }
    }
}

#[test]
fn arrays_that_stay_are_never_copied() {
    let backend = Cranelift::new(Config { threads: 1, ..Config::default() }).unwrap();
    let source = "fn f(x: [n]f32, y: [n]f32) -> [n]f32 { let r: [n]f32 = map(|a, b| 2.5 * a + b, x, y) return r }";
    let loaded = compiled(&backend, &plan(source)).unwrap().load_plan().unwrap();
    let host = Array::new(&[LARGE / 4], &vec![1.0f32; LARGE / 4]).unwrap();
    let large = |work: &mut dyn FnMut()| {
        let before = LARGE_ASKED.get();
        work();
        LARGE_ASKED.get() - before
    };
    let mut arrays = Vec::new();
    assert_eq!(large(&mut || arrays.push(loaded.to_device(&host).unwrap())), 0);
    assert!(arrays[0].to_host().unwrap().shares_memory_with(&host));
    for turn in 0..5 {
        // Each run makes one array; those after the second take the memory of one that was dropped.
        let made = large(&mut || {
            let (mut results, _) = loaded.run_resident(&[arrays[0].clone(), arrays[0].clone()]).unwrap();
            arrays[0] = results.remove(0);
        });
        assert_eq!(made, usize::from(turn < 2), "{turn}");
        let value = 3.5f32.powi(turn + 1);
        assert_eq!(large(&mut || assert_eq!(arrays[0].to_host().unwrap().as_slice::<f32>().unwrap()[7], value)), 0);
    }
}
