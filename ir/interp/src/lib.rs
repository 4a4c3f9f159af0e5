//! What programs and kernels mean: slow, sequential, obvious
