#![doc = include_str!("../README.md")]

pub mod changes;
pub mod compare;
pub mod compiled;
pub mod contestant;
pub mod data;
pub mod growth;
pub mod hand;
pub mod machine;
pub mod measure;
pub mod plot;
pub mod program;
pub mod programs;
pub mod random;
pub mod report;
pub mod simd;
pub mod suite;
