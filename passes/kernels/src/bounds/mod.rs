#![doc = include_str!("README.md")]

pub(crate) mod linear; // forms, facts, proofs
pub(crate) mod values; // of a plan, and what is known of them
