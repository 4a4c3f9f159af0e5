#![doc = include_str!("../README.md")]

mod builder;
mod extremes;
mod function;
mod print;
mod reciprocals;
mod traverse;
mod value_numbering;
mod verify;

pub use builder::{Builder, OpenLoop, OpenWhile};
pub use extremes::extremes;
pub use function::{Append, Function, If, Inst, Loop, Memory, Op, Region, Site, Type, Value, Values, While};
pub use reciprocals::reciprocals;
pub use value_numbering::number;
pub use verify::{Fault, Rule, debug_verify, debug_verify_call, verify, verify_call};
