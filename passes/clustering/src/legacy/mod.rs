//! The models that this one grew out of, to compare with: of the thesis as its companion code has it, and of Robinson et al.
//!
//! Both are only models, to be solved by [`crate::solver::solve`]. That of the thesis has the holes of spec/ilp-fusion.md §6.

pub mod robinson;
pub mod thesis;
