#![doc = include_str!("../README.md")]

pub mod abreast;
pub mod accumulate;
pub mod appends;
mod book;
pub mod chains;
mod check;
mod choose;
mod effects;
pub mod few;
mod form;
pub mod gangs;
pub mod grid;
pub mod interchange;
pub mod jam;
mod labels;
mod loops;
mod nest;
pub mod panels;
mod parse;
mod print;
mod registers;
pub mod rows;
mod schedule;
pub mod shares;
pub mod slice;
mod sorts;
pub mod streams;
mod strips;
mod target;
mod tokens;
mod unroll;
mod versions;

pub use self::{
    book::Book,
    check::{Fault, check},
    choose::{Accumulators, Choice, Preferences, Scheduled, alternatives, schedule, with_version},
    effects::{effects, has_effect},
    form::Form,
    nest::Gang,
    schedule::{Axis, By, Effects, Guard, Loop, Nest, Node, OutOfCache, Remainder, Schedule, Split, SplitBy, Version},
    sorts::Sorts,
    strips::Strips,
    target::{Cpu, Gpu, Machine, Target},
    tokens::ParseError,
    versions::{guarded, guards},
};
