//! Loops over slices that need instructions of their own choice, which the compiler would not find: elements that are kept move together,
//! running sums in a register, letters compared at many places, segments summed by masks.
//!
//! Each is a plain loop, and one with AVX-512 for processors that have it. Its instructions are safe functions of the crate `pulp`, of a token
//! that says that they are there. Both give the same.

mod boards;
mod keep;
mod running;
mod search;
mod segments;

pub use boards::{Boards, placed};
pub use keep::{GROUP, keep_above};
pub use running::Number;
pub use search::places;
pub use segments::sums;

/// `call`, inlined where the instructions of the token may be used.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
fn within<R>(simd: pulp::x86::V4, call: impl FnOnce() -> R) -> R {
    struct Call<F>(F);
    impl<R, F: FnOnce() -> R> pulp::NullaryFnOnce for Call<F> {
        type Output = R;
        #[inline(always)]
        fn call(self) -> R {
            (self.0)()
        }
    }
    simd.vectorize(Call(call))
}
