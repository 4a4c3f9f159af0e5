//! How many instructions a second the simulator executes: `cargo run --release -p fusebox-ptx-sim --example throughput`.

use fusebox_ptx_sim::{Device, Fault, Launch, Module, Options};
use std::time::Instant;

/// Each thread: many multiplications and additions on registers.
const COMPUTE: &str = ".version 7.0 .target sm_70 .address_size 64
.entry compute(.param .u64 a) {
    .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %d<4>; .reg .f32 %f<4>;
    ld.param.u64 %d0, [a]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r2, %r0, %r1, %r2;
    cvt.rn.f32.u32 %f0, %r2; mov.f32 %f1, 0f3F000000; mov.u32 %r3, 0;
LOOP:
    fma.rn.f32 %f0, %f0, %f1, %f1; mul.rn.f32 %f2, %f0, %f1; add.rn.f32 %f0, %f2, %f0; add.u32 %r3, %r3, 1;
    setp.lt.u32 %p0, %r3, 1000; @%p0 bra LOOP;
    mul.wide.u32 %d1, %r2, 4; add.u64 %d1, %d0, %d1; st.global.f32 [%d1], %f0; ret;
}";

/// Each thread: a load and a store for every three other instructions.
const MEMORY: &str = ".version 7.0 .target sm_70 .address_size 64
.entry memory(.param .u64 a) {
    .reg .pred %p<2>; .reg .b32 %r<6>; .reg .b64 %d<4>;
    ld.param.u64 %d0, [a]; mov.u32 %r0, %ctaid.x; mov.u32 %r1, %ntid.x; mov.u32 %r2, %tid.x; mad.lo.u32 %r2, %r0, %r1, %r2;
    mul.wide.u32 %d1, %r2, 4; add.u64 %d1, %d0, %d1; mov.u32 %r3, 0;
LOOP:
    ld.global.u32 %r4, [%d1]; add.u32 %r4, %r4, %r3; st.global.u32 [%d1], %r4; add.u32 %r3, %r3, 1;
    setp.lt.u32 %p0, %r3, 200; @%p0 bra LOOP; ret;
}";

fn main() -> Result<(), Box<dyn std::error::Error>> {
    for (name, text) in [("compute", COMPUTE), ("memory", MEMORY)] {
        let module = Module::parse(text)?;
        let mut device = Device::new(Options::default());
        let threads = 64 * 256;
        let a = device.allocate("a", 4 * threads)?;
        device.write(a, &vec![0; 4 * threads as usize])?;
        let (counts, seconds) =
            timed(|| device.launch(&module, name, Launch { grid: [64, 1, 1], block: [256, 1, 1], shared: 0 }, &[a]))?;
        let millions = counts.thread_instructions as f64 / seconds / 1e6;
        println!("{name}: {millions:.0} million instructions of threads a second ({seconds:.2} s)");
    }
    Ok(())
}

fn timed<T>(run: impl FnOnce() -> Result<T, Fault>) -> Result<(T, f64), Fault> {
    let begin = Instant::now();
    let result = run()?;
    Ok((result, begin.elapsed().as_secs_f64()))
}
