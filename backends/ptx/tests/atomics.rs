//! Many threads that combine into few cells: every type and every function that has no order.

use crate::common::{Random, check, interpreted, plan, proved, run, same_bits, simulator};
use fusebox_ir::{Array, ElementType};

/// The functions that are known to commute and not to round, of each type.
fn functions(element: ElementType) -> &'static [&'static str] {
    match element {
        ElementType::Bool => &["x & y", "x | y", "x ^ y"],
        ElementType::F16 | ElementType::F32 | ElementType::F64 => &["min(x, y)", "max(x, y)"],
        _ => &["x + y", "x * y", "min(x, y)", "max(x, y)", "x & y", "x | y", "x ^ y"],
    }
}

#[test]
fn every_function_of_every_type_into_few_cells() {
    let mut random = Random(3);
    for element in ElementType::ALL {
        for function in functions(element) {
            let source = format!(
                "fn f(d: [m]{element}, v: [n]{element}, t: [n]i64) -> [m]{element} {{
                 let p: [m]{element} = permute(|x, y| {function}, d, v, at: t) return p }}"
            );
            let cells = random.array(element, &[3]);
            let inputs = vec![cells, random.array(element, &[700]), random.ints(ElementType::I64, &[700], 0, 3)];
            check(&source, &[inputs]);
        }
    }
}

/// Every function of these types into one cell, by many blocks; `FUSEBOX_ADDS=100000` says how often
/// instead of a million times.
fn into_one_cell(elements: &[ElementType]) {
    let count = std::env::var("FUSEBOX_ADDS").ok().and_then(|count| count.parse().ok()).unwrap_or(1_000_000usize);
    let mut random = Random(21);
    for &element in elements {
        for function in functions(element) {
            let source = format!(
                "fn f(d: [m]{element}, v: [n]{element}) -> [m]{element} {{
                 let t: [n]i64 = generate([n], |i| 0)
                 let p: [m]{element} = permute(|x, y| {function}, d, v, at: t) return p }}"
            );
            let plan = plan(&source);
            let inputs = [random.array(element, &[1]), random.array(element, &[count])];
            let expected = interpreted(&plan, &inputs).unwrap();
            let results =
                run(&plan, &inputs, "sm_80", 2).unwrap_or_else(|error| panic!("{element} {function}: {error}"));
            assert!(same_bits(&results[0], &expected[0]), "{element} {function}: {:?} {:?}", results[0], expected[0]);
        }
    }
}

#[test]
fn many_of_every_small_type_into_one_cell() {
    into_one_cell(&[ElementType::Bool, ElementType::I8, ElementType::U8, ElementType::I16, ElementType::U16]);
}

#[test]
fn many_of_every_whole_type_into_one_cell() {
    into_one_cell(&[ElementType::I32, ElementType::U32, ElementType::I64, ElementType::U64]);
}

#[test]
fn many_of_every_float_type_into_one_cell() {
    into_one_cell(&[ElementType::F16, ElementType::F32, ElementType::F64]);
}

/// Two components that are combined together, under a lock.
#[test]
fn pairs_into_few_cells() {
    let source = "fn f(d: [m]i32, e: [m]i64, v: [n]i32, t: [n]i64) -> [m]i32, [m]i64 {
        let i: [n]i64 = generate([n], |i| i)
        let p: [m]i32, q: [m]i64 = permute(|x, j, y, l| {
            let first = x < y || (x == y && j <= l)
            return if first { x } else { y }, if first { j } else { l } }, (d, e), (v, i), at: t)
        return p, q }";
    let mut random = Random(5);
    let plan = plan(source);
    let scatter = plan.kernels.last().unwrap();
    let module = fusebox_ptx::emit(scatter, &fusebox_schedule::Target::named("sm_80").unwrap()).unwrap();
    assert!(module.text.contains("atom.acquire.gpu.global.cas.b32"), "no lock in\n{}", module.text);
    for n in [0usize, 1, 300] {
        let inputs = vec![
            Array::new(&[2], &[9i32, 9]).unwrap(),
            Array::new(&[2], &[0i64, 0]).unwrap(),
            random.ints(ElementType::I32, &[n], -20, 20),
            random.ints(ElementType::I64, &[n], 0, 2),
        ];
        check(source, &[inputs]);
    }
}

/// Blocks in whatever order the seed says.
#[test]
fn a_hundred_thousand_sums_into_one_cell() {
    let source = "fn f(d: [m]i32, v: [n]i32) -> [m]i32 { let t: [n]i64 = generate([n], |i| 0) let p: [m]i32 = permute(|x, y| x + y, d, v, at: t) return p }";
    let plan = plan(source);
    let inputs = [Array::new(&[1], &[7i32]).unwrap(), Random(9).array(ElementType::I32, &[100_000])];
    let expected = interpreted(&plan, &inputs).unwrap();
    for seed in 0..3 {
        assert!(same_bits(&run(&plan, &inputs, "sm_80", seed).unwrap()[0], &expected[0]), "seed {seed}");
    }
}

/// Tiles wait for each other in whatever order blocks run.
#[test]
fn a_scan_of_many_tiles() {
    let source = "fn f(a: [n]i32) -> [n]i32, i32 { let s: [n]i32, t: i32 = scanl'(|x, y| x + y, 3, a) return s, t }";
    let plan = plan(source);
    let inputs = [Random(1).array(ElementType::I32, &[40 * 4096 + 17])];
    let expected = interpreted(&plan, &inputs).unwrap();
    for seed in 0..3 {
        let results = run(&plan, &inputs, "sm_80", seed).unwrap();
        assert!(results.iter().zip(&expected).all(|(own, other)| same_bits(own, other)), "seed {seed}");
    }
}

/// The same, of as many tiles as a large machine has blocks.
#[test]
fn a_scan_of_a_thousand_tiles_and_a_million_sums() {
    let scan = plan("fn f(a: [n]i32) -> [n]i32 { let s: [n]i32 = scanl1(|x, y| x + y, a) return s }");
    let inputs = [Random(1).array(ElementType::I32, &[1024 * 4096])];
    let expected = interpreted(&scan, &inputs).unwrap();
    assert!(same_bits(&run(&scan, &inputs, "sm_80", 5).unwrap()[0], &expected[0]));
    let sums = plan(
        "fn f(d: [m]i32, v: [n]i32) -> [m]i32 { let t: [n]i64 = generate([n], |i| 0) let p: [m]i32 = permute(|x, y| x + y, d, v, at: t) return p }",
    );
    let inputs = [Array::new(&[1], &[7i32]).unwrap(), Random(9).array(ElementType::I32, &[1_000_000])];
    let expected = interpreted(&sums, &inputs).unwrap();
    assert!(same_bits(&run(&sums, &inputs, "sm_80", 6).unwrap()[0], &expected[0]));
}

const HISTOGRAM: &str = "fn f(h: [m]i32, t: [n]i64) -> [m]i32 { let o: [n]i32 = generate([n], |i| 1i32)
    let p: [m]i32 = permute(|x, y| x + y, h, o, at: t) return p }";

/// Few targets: each block combines into a copy in shared memory, and each of its targets once into the others'.
#[test]
fn a_histogram_has_a_copy_for_each_block() {
    let n = 40_000usize;
    let mut random = Random(8);
    let plan = plan(HISTOGRAM);
    for (cells, few) in [(256usize, true), (2048, true), (2049, false), (3000, false)] {
        let inputs = [random.array(ElementType::I32, &[cells]), random.ints(ElementType::I64, &[n], 0, cells as i64)];
        let backend = simulator("sm_90", 4);
        let loaded = backend.compile_proved_plan(&proved(&plan)).unwrap().load_plan().unwrap();
        let results = loaded.run_plan(&inputs).unwrap();
        assert!(same_bits(&results[0], &interpreted(&plan, &inputs).unwrap()[0]), "{cells} cells");
        let taken = backend.device().carried_out();
        if few {
            let blocks = n.div_ceil(256 * 32);
            assert_eq!(taken.shared_atomics, n as u64);
            assert!(taken.atomics <= (blocks * cells) as u64, "{} of {cells} cells", taken.atomics);
        } else {
            assert_eq!((taken.atomics, taken.shared_atomics), (n as u64, 0), "{cells} cells");
        }
    }
}

/// A wrong index leaves nobody waiting at the end of a block.
#[test]
fn a_histogram_with_a_wrong_index_fails() {
    let mut targets: Vec<i64> = (0..20_000).map(|i| i % 5).collect();
    targets[12_345] = 5;
    check(HISTOGRAM, &[vec![Array::new(&[5], &[0i32; 5]).unwrap(), Array::new(&[20_000], &targets).unwrap()]]);
}

/// The smaller value, and of equal ones the smaller index.
const PAIRS: &str = "fn f(d: [m]i32, e: [m]i32, v: [n]i32, j: [n]i32, t: [n]i64) -> [m]i32, [m]i32 {
    let p: [m]i32, q: [m]i32 = permute(|x, j, y, l| {
        let first = x < y || (x == y && j <= l)
        return if first { x } else { y }, if first { j } else { l } }, (d, e), (v, j), at: t)
    return p, q }";

fn pairs(random: &mut Random, n: usize, cells: i64) -> Vec<Array> {
    vec![
        Array::new(&[cells as usize], &vec![9i32; cells as usize]).unwrap(),
        Array::new(&[cells as usize], &vec![-1i32; cells as usize]).unwrap(),
        random.ints(ElementType::I32, &[n], -50, 50),
        Array::new(&[n], &(0..n as i32).collect::<Vec<_>>()).unwrap(),
        random.ints(ElementType::I64, &[n], 0, cells),
    ]
}

#[test]
fn pairs_of_32_bits_are_swapped_at_once() {
    let plan = plan(PAIRS);
    let module =
        fusebox_ptx::emit(plan.kernels.last().unwrap(), &fusebox_schedule::Target::named("sm_90").unwrap()).unwrap();
    let names: Vec<&str> = module.entries.iter().map(|entry| entry.name.as_str()).collect();
    assert!(names.len() == 3 && module.text.contains("atom.global.cas.b64"), "{names:?}\n{}", module.text);
    assert!(!module.text.contains("acquire"), "{}", module.text);
    let mut random = Random(15);
    let inputs = [(0, 3), (1, 1), (2000, 1), (3000, 2), (500, 700)].map(|(n, cells)| pairs(&mut random, n, cells));
    check(PAIRS, &inputs);
}

/// Were the two halves of a pair written one after the other, the simulator would find it.
#[test]
fn a_torn_pair_is_found() {
    let plan = plan(PAIRS);
    let module =
        fusebox_ptx::emit(plan.kernels.last().unwrap(), &fusebox_schedule::Target::named("sm_90").unwrap()).unwrap();
    let swap = module.text.lines().find(|line| line.contains("cas.b64") && line.matches('%').count() == 4).unwrap();
    let words: Vec<&str> = swap.split([' ', ',', '[', ']', ';']).filter(|word| word.starts_with('%')).collect();
    let [found, place, old, new] = words[..] else { panic!("{swap}") };
    let torn = format!(
        "\t.reg .b32 %low, %high;\n\tmov.b64 {{%low, %high}}, {new};\n\tst.relaxed.gpu.global.b32 [{place}], %low;\n\
         \tst.relaxed.gpu.global.b32 [{place}+4], %high;\n\tmov.b64 {found}, {old};"
    );
    launched(&plan, &module, &module.text).unwrap();
    let fault = launched(&plan, &module, &module.text.replace(swap, &torn)).unwrap_err();
    assert!(fault.contains("a torn value"), "{fault}");
}

/// Launches the entries of a text of the last kernel: arrays and sizes have 512 elements, of which numbers of targets are 0 and 1.
fn launched(plan: &fusebox_ir::Plan, module: &fusebox_ptx::Module, text: &str) -> Result<(), String> {
    use fusebox_ptx::{Argument, Device, DeviceLaunch, Remote};
    let backend = simulator("sm_90", 0);
    let device = backend.device();
    let place = |bytes: &[u8]| {
        let address = device.allocate("array", bytes.len() as u64).unwrap().unwrap();
        device.upload(address, bytes).unwrap();
        address
    };
    let arrays = plan.kernels.last().unwrap().arrays.iter().map(|array| match array.element {
        ElementType::I64 => place(&(0..512u64).flat_map(|i| (i % 2).to_le_bytes()).collect::<Vec<_>>()),
        _ => place(&(0..512u32).flat_map(u32::to_le_bytes).collect::<Vec<_>>()),
    });
    let arrays: Vec<u64> = arrays.collect();
    let (error, scratch) = (place(&[0; 256]), place(&[0; 8 * 512]));
    let loaded = device.load(text).map_err(|error| error.to_string())?;
    for entry in &module.entries {
        let argument = |argument: &Argument| match *argument {
            Argument::Size(_) => 512,
            Argument::Array(id) => arrays[id.index()],
            Argument::Error => error,
            Argument::Scratch(_) | Argument::Steps => scratch,
        };
        let arguments: Vec<u64> = entry.arguments.iter().map(argument).collect();
        let launch = DeviceLaunch { entry: &entry.name, blocks: 2, threads: entry.threads, arguments: &arguments };
        device.launch(&(), &loaded, &launch).map_err(|error| error.to_string())?;
    }
    Ok(())
}

/// Where all lanes of a warp combine into one target by compare and swap, they combine first, and one of them swaps.
#[test]
fn lanes_of_a_warp_combine_first() {
    let n = 16_384;
    let mut random = Random(23);
    let source = "fn f(d: [m]f32, v: [n]f32, t: [n]i64) -> [m]f32 {
        let p: [m]f32 = permute(|x, y| min(x, y), d, v, at: t) return p }";
    let plan = plan(source);
    let updates = |targets: Array, random: &mut Random| {
        let inputs = [random.array(ElementType::F32, &[40]), random.array(ElementType::F32, &[n]), targets];
        let backend = simulator("sm_90", 9);
        let loaded = backend.compile_proved_plan(&proved(&plan)).unwrap().load_plan().unwrap();
        let results = loaded.run_plan(&inputs).unwrap();
        assert!(same_bits(&results[0], &interpreted(&plan, &inputs).unwrap()[0]));
        backend.device().carried_out().shared_atomics
    };
    let one = updates(Array::new(&[n], &vec![7i64; n]).unwrap(), &mut random);
    let many = updates(random.ints(ElementType::I64, &[n], 0, 40), &mut random);
    // Warps still meet; without this all lanes would, and each try again and again.
    assert!(one < n as u64 && many >= n as u64, "{one} and {many}");
}
