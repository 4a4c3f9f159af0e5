//! Depth without an end to the stack.

/// Stack left before a deeper evaluation takes more, and how much it takes.
const RED_ZONE: usize = 256 * 1024;
const MORE_STACK: usize = 8 * 1024 * 1024;

/// Runs what may call itself again for what is nested inside.
pub(super) fn deeper<T>(run: impl FnOnce() -> T) -> T {
    stacker::maybe_grow(RED_ZONE, MORE_STACK, run)
}
