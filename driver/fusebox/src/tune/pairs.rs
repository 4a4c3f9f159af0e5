//! Two programs in turn: how long each takes, and whether both give the same.

use std::time::{Duration, Instant};

use fusebox_ir::{Constant, Value};

use crate::{Error, backend::Executable};

/// Runs are repeated until a sample takes as long.
const SAMPLE: Duration = Duration::from_millis(1);

/// Equal but for sign and payload of NaN, which are no part of a result.
pub(super) fn is_same(new: &Value, old: &Value) -> bool {
    let (Value::Array(new), Value::Array(old)) = (new, old) else { return new == old };
    let is_nan = |value: Constant| value.as_f64().is_some_and(f64::is_nan);
    let nans = || new.constants().zip(old.constants()).all(|(new, old)| new == old || is_nan(new) && is_nan(old));
    new == old || new.element() == old.element() && new.extents() == old.extents() && nans()
}

/// Seconds of a run, taken in turn.
pub(super) struct Pair {
    pub(super) old: f64,
    pub(super) new: f64,
}

impl Pair {
    pub(super) fn is_won(&self) -> bool {
        self.new < self.old
    }
}

/// Runs two programs in turn, while `hopeful` says so.
pub(super) fn pairs(
    old: &dyn Executable,
    new: &dyn Executable,
    inputs: &[Value],
    rounds: usize,
    hopeful: impl Fn(&[Pair]) -> bool,
) -> Result<Vec<Pair>, Error> {
    let once = sample(old, inputs, 1)?.min(sample(new, inputs, 1)?);
    let repeat = (SAMPLE.as_secs_f64() / once.as_secs_f64().max(1e-7)).ceil().max(1.0) as u32;
    let mut pairs = Vec::with_capacity(rounds);
    while pairs.len() < rounds && hopeful(&pairs) {
        // Whoever is first alternates.
        let seconds = |program: &dyn Executable| sample(program, inputs, repeat).map(|time| time.as_secs_f64());
        pairs.push(if pairs.len() % 2 == 0 {
            let old = seconds(old)?;
            Pair { old, new: seconds(new)? }
        } else {
            let new = seconds(new)?;
            Pair { old: seconds(old)?, new }
        });
    }
    Ok(pairs)
}

/// The time of a run, over so many.
pub(super) fn sample(program: &dyn Executable, inputs: &[Value], repeat: u32) -> Result<Duration, Error> {
    let begin = Instant::now();
    for _ in 0..repeat {
        program.run(inputs)?;
    }
    Ok(begin.elapsed() / repeat)
}

/// Of a list that is not empty.
pub(super) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
