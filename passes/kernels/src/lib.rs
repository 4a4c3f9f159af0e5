//! From clusters to kernels and the plan that runs them

pub mod math;
