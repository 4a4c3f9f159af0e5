//! Whole kernels, run to their end.

mod common;

use common::*;
use fusebox_ptx_sim::{Device, Launch, Options};

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
