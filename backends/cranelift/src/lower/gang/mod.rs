//! Functions on gangs and masks.

mod arithmetic;
mod bit_shifts;
mod convert;
mod lanes;
mod make;
mod widths;
