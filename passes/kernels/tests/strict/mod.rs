//! Programs as they are written, lowered: they mean evaluation by need, so they are made strict first.

use fusebox_ir::{Plan, Program};
use fusebox_kernels::{Config, Error, Report};

/// What is made of a program; of one that is not flat, why nothing is.
pub fn lower(program: &Program, config: &Config) -> Result<(Plan, Report), Error> {
    match fusebox_strictness::make_strict(program, &fusebox_strictness::Config::default()) {
        Ok((strict, _)) => fusebox_kernels::lower(&strict, config),
        Err(fusebox_strictness::Error::Invalid(_)) => fusebox_kernels::lower(program, config),
        Err(error) => panic!("{error}\n{program}"),
    }
}
