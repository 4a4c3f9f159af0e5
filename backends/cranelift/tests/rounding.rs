//! Threads that flush subnormals or round otherwise get the same bits, and are left as they were.
#![cfg(target_arch = "x86_64")]

use crate::common::{interpreted, plan, run, same_bits};
use fusebox_cranelift::{Config, Cranelift};
use fusebox_ir::Array;

#[allow(unsafe_code)]
fn mxcsr() -> u32 {
    let mut register = 0u32;
    // SAFETY: stores four bytes where there is room for them.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut register, options(nostack)) }
    register
}

#[allow(unsafe_code)]
fn set_mxcsr(register: u32) {
    // SAFETY: a valid value; put back by the test before floats are computed with in Rust.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const register, options(nostack)) }
}

#[test]
fn a_thread_that_flushes_subnormals_and_rounds_up() {
    let plan = plan("fn f(a: [n]f32) -> [n]f32 { let b: [n]f32 = map(|x| x * 0.3, a) return b }");
    let elements: Vec<f32> =
        (0..5_000).map(|i| if i % 2 == 0 { f32::from_bits(1_000 + i) } else { i as f32 }).collect();
    let inputs = [Array::new(&[elements.len()], &elements).unwrap()];
    let expected = interpreted(&plan, &inputs).unwrap();
    for threads in [1, 3] {
        let before = mxcsr();
        // Flush to zero, denormals are zeros, up; workers take it over from the thread that starts them.
        let other = 0x1f80 | 0x8000 | 0x40 | 0x4000;
        set_mxcsr(other);
        let results = Cranelift::new(Config { threads, share_from_ns: 1, ..Config::default() })
            .and_then(|backend| run(&backend, &plan, &inputs));
        let after = mxcsr();
        set_mxcsr(before);
        assert_eq!(after & !0x3f, other);
        assert!(same_bits(&results.unwrap()[0], &expected[0]), "{threads} threads");
    }
}
