//! How the processor rounds: to nearest, subnormals kept, whatever the thread that calls has chosen.

/// Holds the processor to IEEE 754's defaults; what was before is back when it is dropped.
///
/// A thread that flushes subnormals hands that on to the threads that it starts, so workers need this as much as callers.
#[derive(Debug)]
pub(crate) struct Rounding {
    before: Register,
}

#[cfg(target_arch = "x86_64")]
type Register = u32;
#[cfg(not(target_arch = "x86_64"))]
type Register = u64;

/// MXCSR: every exception masked, to nearest, neither flush to zero nor denormals are zeros. The six lowest bits are flags.
#[cfg(target_arch = "x86_64")]
const DEFAULT: Register = 0x1f80;
#[cfg(target_arch = "x86_64")]
const FLAGS: Register = 0x3f;
/// FPCR: to nearest, subnormals kept, no traps.
#[cfg(not(target_arch = "x86_64"))]
const DEFAULT: Register = 0;
#[cfg(not(target_arch = "x86_64"))]
const FLAGS: Register = 0;

impl Rounding {
    /// IEEE 754's defaults from here on.
    pub(crate) fn defaults() -> Self {
        let before = read();
        if before & !FLAGS != DEFAULT {
            write(DEFAULT);
        }
        Self { before }
    }
}

impl Drop for Rounding {
    fn drop(&mut self) {
        if self.before & !FLAGS != DEFAULT {
            write(self.before);
        }
    }
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
fn read() -> Register {
    let mut register: Register = DEFAULT;
    // SAFETY: stores four bytes where there is room for them.
    unsafe { std::arch::asm!("stmxcsr [{}]", in(reg) &raw mut register, options(nostack, preserves_flags)) }
    register
}

#[cfg(target_arch = "x86_64")]
#[allow(unsafe_code)]
fn write(register: Register) {
    // SAFETY: the defaults, or what the register held before.
    unsafe { std::arch::asm!("ldmxcsr [{}]", in(reg) &raw const register, options(nostack, preserves_flags)) }
}

#[cfg(target_arch = "aarch64")]
#[allow(unsafe_code)]
fn read() -> Register {
    let register: Register;
    // SAFETY: reads a register.
    unsafe { std::arch::asm!("mrs {}, fpcr", out(reg) register, options(nomem, nostack, preserves_flags)) }
    register
}

#[cfg(target_arch = "aarch64")]
#[allow(unsafe_code)]
fn write(register: Register) {
    // SAFETY: the defaults, or what the register held before.
    unsafe { std::arch::asm!("msr fpcr, {}", in(reg) register, options(nostack, preserves_flags)) }
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn read() -> Register {
    DEFAULT
}

#[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
fn write(_: Register) {}
