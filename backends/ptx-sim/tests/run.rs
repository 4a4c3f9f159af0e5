//! Whole kernels, run to their end.

mod common;

use common::*;
use fusebox_ptx_sim::{Device, Fault, FaultKind, Launch, Options};

#[test]
fn saxpy_with_a_ragged_end() {
    let module = parsed(include_str!("ptx/saxpy.ptx"));
    let n = 1000;
    let floats = |f: fn(usize) -> f32| (0..n).map(|i| f(i).to_bits()).collect::<Vec<u32>>();
    let (xs, ys) = (floats(|i| i as f32 * 0.1), floats(|i| 3.0 - i as f32));
    let mut device = Device::new(Options::default());
    let (x, y) = (words(&mut device, "x", &xs), words(&mut device, "y", &ys));
    let scale = u64::from(2.5f32.to_bits());
    let counts = device.launch(&module, "saxpy", line(8, 128), &[x, y, scale, n as u64]).unwrap();
    for (i, found) in read_words(&mut device, y, n).into_iter().enumerate() {
        assert_eq!(f32::from_bits(found), 2.5 * (i as f32 * 0.1) + (3.0 - i as f32), "element {i}");
    }
    assert_eq!(counts.loads, 64); // 32 groups, 2 loads each
    assert_eq!(counts.sectors_loaded, 2 * (n as u64 * 4).div_ceil(32));
    assert_eq!(counts.divergent_branches, 1); // the warp with the last element
}

#[test]
fn a_sum_by_warps_blocks_and_the_grid() {
    let module = parsed(include_str!("ptx/sum.ptx"));
    let values: Vec<u32> = (0..10_000u32).map(|i| i.wrapping_mul(2_654_435_761)).collect();
    for seed in 0..5 {
        let mut device = Device::new(seeded(seed));
        let (a, total) = (words(&mut device, "a", &values), words(&mut device, "total", &[0]));
        let launch = Launch { grid: [7, 1, 1], block: [96, 1, 1], shared: 0 };
        device.launch(&module, "sum", launch, &[a, total, values.len() as u64]).unwrap();
        let expected = values.iter().fold(0u32, |total, &value| total.wrapping_add(value));
        assert_eq!(read_words(&mut device, total, 1), [expected]);
    }
}

/// The sums up to each word by `scan.ptx`.
fn scanned(text: &str, tiles: usize, options: Options) -> Result<Vec<u32>, Fault> {
    let module = parsed(text);
    let values: Vec<u32> = (0..64 * tiles as u32).map(|i| i % 1000).collect();
    let mut device = Device::new(options);
    let (a, ticket) = (words(&mut device, "a", &values), words(&mut device, "ticket", &[0]));
    let states = words(&mut device, "tiles", &vec![0; 2 * tiles]);
    device.launch(&module, "scan", line(tiles as u32, 64), &[a, states, ticket])?;
    Ok(read_words(&mut device, a, values.len()))
}

fn sums(tiles: usize) -> Vec<u32> {
    (0..64 * tiles as u32).scan(0, |sum, i| Some(std::mem::replace(sum, *sum + i % 1000) + i % 1000)).collect()
}

#[test]
fn a_scan_that_looks_back_at_a_thousand_blocks_in_any_order() {
    for (seed, resident) in [(0, 6), (1, 1), (2, 40)] {
        let found = scanned(include_str!("ptx/scan.ptx"), 1024, Options { seed, resident, ..Options::default() });
        assert_eq!(found.unwrap(), sums(1024));
    }
}

#[test]
fn a_scan_without_tickets_waits_for_blocks_that_do_not_run() {
    let text = include_str!("ptx/scan.ptx").replace("atom.global.add.u32 %r2, [%rd3], 1;", "mov.u32 %r2, %ctaid.x;");
    let fault = scanned(&text, 64, seeded(3)).unwrap_err();
    assert_eq!(fault.kind, FaultKind::Starved, "{fault}");
    // With all blocks at once it would go unnoticed.
    assert_eq!(scanned(&text, 64, Options { resident: 64, ..seeded(3) }).unwrap(), sums(64));
}

#[test]
fn a_scan_that_lacks_a_barrier_is_found() {
    let whole = include_str!("ptx/scan.ptx");
    let mut found = 0;
    for (at, barrier) in whole.match_indices("bar.sync 0;") {
        let text = format!("{}{}", &whole[..at], &whole[at + barrier.len()..]);
        for seed in 0..3 {
            let fault = scanned(&text, 8, seeded(seed)).expect_err("a barrier is missing");
            assert!([FaultKind::Race, FaultKind::Unwritten].contains(&fault.kind), "{fault}");
        }
        found += 1;
    }
    assert_eq!(found, 3);
}

#[test]
fn a_scan_that_tells_its_sum_in_halves_is_found() {
    let whole = "st.relaxed.gpu.global.u64 [%rd7], %rd8;";
    let halves = "st.relaxed.gpu.global.u32 [%rd7], %r4; st.relaxed.gpu.global.u32 [%rd7+4], %r11;";
    let text = include_str!("ptx/scan.ptx").replacen(whole, halves, 1);
    assert_eq!(scanned(&text, 8, seeded(0)).unwrap_err().kind, FaultKind::Torn);
}
