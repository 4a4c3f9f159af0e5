//! Times of several ways to do the same, in turn, so that whatever else the machine does falls on all of them.

use std::time::{Duration, Instant};

use anyhow::Result;

/// Runs it once: how long that took. What the run gave is dropped outside of that time.
pub type Run<'a> = Box<dyn FnMut() -> Result<Duration> + 'a>;

/// Times of one way, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct Times {
    /// Half of the runs took no longer.
    pub median: f64,
    /// The shortest.
    pub min: f64,
    /// How many runs.
    pub runs: usize,
}

/// Least time of a sample: shorter runs are repeated in it, since a clock's step and an interrupt would be most of them.
const SAMPLE: f64 = 1e-3;

/// Times `rounds` rounds, in which each way gets a sample, first and last in turn.
///
/// # Errors
/// The first that a run gives.
pub fn alternate(ways: &mut [Run<'_>], rounds: usize) -> Result<Vec<Times>> {
    let mut repeats = Vec::new();
    for run in ways.iter_mut() {
        // The first run may build tables, take memory, wake threads.
        let first = run()?.min(run()?);
        let mut shortest = first;
        let mut spent = first;
        while spent < Duration::from_millis(20) {
            let time = run()?;
            spent += time.max(Duration::from_nanos(50));
            shortest = shortest.min(time);
        }
        repeats.push((SAMPLE / shortest.as_secs_f64().max(1e-8)).ceil().clamp(1.0, 100_000.0) as usize);
    }
    let mut samples = vec![Vec::with_capacity(rounds); ways.len()];
    for round in 0..rounds {
        for turn in 0..ways.len() {
            let way = if round % 2 == 0 { turn } else { ways.len() - 1 - turn };
            let mut time = Duration::ZERO;
            for _ in 0..repeats[way] {
                time += ways[way]()?;
            }
            samples[way].push(time.as_secs_f64() / repeats[way] as f64);
        }
    }
    Ok(samples
        .into_iter()
        .zip(repeats)
        .map(|(samples, repeats)| {
            let (median, min) = summary(samples);
            Times { median, min, runs: rounds * repeats }
        })
        .collect())
}

/// Median and least of some times; 0 of none.
pub fn summary(mut times: Vec<f64>) -> (f64, f64) {
    times.sort_by(f64::total_cmp);
    let middle = times.len() / 2;
    let median = match times.len() {
        0 => 0.0,
        length if length % 2 == 1 => times[middle],
        _ => f64::midpoint(times[middle - 1], times[middle]),
    };
    (median, times.first().copied().unwrap_or(0.0))
}

/// The time that `run` takes; what it gives is dropped after.
///
/// # Errors
/// What it gives.
pub fn timed<T>(run: impl FnOnce() -> Result<T>) -> Result<Duration> {
    let begin = Instant::now();
    let result = run()?;
    let time = begin.elapsed();
    drop(result);
    Ok(time)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn medians() {
        assert_eq!(summary(vec![3.0, 1.0, 2.0]), (2.0, 1.0));
        assert_eq!(summary(vec![4.0, 1.0, 2.0, 3.0]), (2.5, 1.0));
        assert_eq!(summary(vec![]), (0.0, 0.0));
    }

    #[test]
    fn ways_take_turns_and_short_ones_are_repeated() {
        let calls = std::cell::RefCell::new([0, 0]);
        let way = |number: usize, micros| -> Run<'_> {
            let calls = &calls;
            Box::new(move || {
                calls.borrow_mut()[number] += 1;
                Ok(Duration::from_micros(micros))
            })
        };
        let times = alternate(&mut [way(0, 100), way(1, 5000)], 4).unwrap();
        assert!((times[0].median - 1e-4).abs() < 1e-9 && (times[1].min - 5e-3).abs() < 1e-9);
        assert_eq!((times[0].runs, times[1].runs), (40, 4));
        let failing: Run<'_> = Box::new(|| anyhow::bail!("no"));
        assert!(alternate(&mut [failing], 1).is_err());
    }
}
