#![doc = include_str!("../README.md")]

mod emit;
pub mod failure;
mod form;
mod generate;
mod module;
mod scalar;
mod statement;
mod text;
mod value;

pub use generate::{elements, emit, steps};
pub use module::{Argument, Entry, Module, Quantity, Scratch};
