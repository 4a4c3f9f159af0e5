//! The models that this one grew out of, to compare with: of the thesis as its companion code has it, and of Robinson et al.
//!
//! Both are only models, to be solved by [`crate::solver::solve`]. That of the thesis has holes: it fuses what reads the
//! result of a permute with the permute, and a map with two gathers of different orders, and it compares no extents.

pub mod robinson;
pub mod thesis;
