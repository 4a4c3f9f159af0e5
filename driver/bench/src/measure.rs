//! Times of several ways to do the same, in turn, so that whatever else the machine does falls on all of them.

use std::time::{Duration, Instant};

use anyhow::Result;

/// Runs it once: how long that took. What the run gave is dropped outside of that time.
pub type Run<'a> = Box<dyn FnMut() -> Result<Duration> + 'a>;

/// Times of one way, in seconds.
#[derive(Clone, Debug)]
pub struct Times {
    /// One for each round, in the order of rounds.
    pub samples: Vec<f64>,
    /// How many runs they were made of.
    pub runs: usize,
    /// Their median, and where it is.
    pub spread: Spread,
    /// The shortest.
    pub min: f64,
}

impl Times {
    /// Of one sample a round.
    pub fn new(samples: Vec<f64>, runs: usize) -> Self {
        let spread = Spread::of(samples.clone());
        let (_, min) = summary(samples.clone());
        Self { samples, runs, spread, min }
    }

    /// Half of the samples took no longer.
    pub fn median(&self) -> f64 {
        self.spread.median
    }

    /// How many times as long as another way, which was measured in the same rounds: round by round, so that what slows both cancels.
    pub fn over(&self, other: &Self) -> Spread {
        Spread::of(self.samples.iter().zip(&other.samples).map(|(own, other)| own / other).collect())
    }
}

/// A median, and an interval that holds it with a probability of 95 % or more, whatever samples are distributed like.
///
/// The interval is that of the sign test: from the r-th smallest sample to the r-th largest, with the largest r for which fewer than r of n
/// fair coins show heads with a probability of at most 2.5 %. Of fewer than six samples it is all of them, and holds the median less surely.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// Half of the samples are no larger.
    pub median: f64,
    /// The median is not below, very likely.
    pub low: f64,
    /// Nor above.
    pub high: f64,
}

impl Spread {
    /// Of samples; 0 of none.
    pub fn of(mut samples: Vec<f64>) -> Self {
        samples.sort_by(f64::total_cmp);
        let rank = rank(samples.len());
        let at = |position: Option<usize>| position.and_then(|position| samples.get(position)).copied().unwrap_or(0.0);
        let (low, high) = (at(rank.checked_sub(1)), at(samples.len().checked_sub(rank)));
        let (median, _) = summary(samples);
        Self { median, low, high }
    }

    /// How far the interval reaches from the median, as a part of it.
    pub fn part(&self) -> f64 {
        if self.median > 0.0 { (self.high - self.median).max(self.median - self.low) / self.median } else { 0.0 }
    }

    /// Whether two intervals have nothing in common: then the medians differ, very likely.
    pub fn is_apart_from(&self, other: &Self) -> bool {
        self.high < other.low || other.high < self.low
    }
}

/// The rank of the ends of an interval of `count` samples, from outside.
fn rank(count: usize) -> usize {
    // Probabilities of so many heads: far from 0 for the few rounds that there are.
    let mut heads = 0.5f64.powi(i32::try_from(count).unwrap_or(i32::MAX));
    let (mut below, mut rank) = (0.0, 0);
    while rank < count.div_ceil(2) && below + heads <= 0.025 {
        below += heads;
        heads *= (count - rank) as f64 / (rank + 1) as f64;
        rank += 1;
    }
    rank.max(1)
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
    Ok(samples.into_iter().zip(repeats).map(|(samples, repeats)| Times::new(samples, rounds * repeats)).collect())
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
    fn intervals_are_those_of_the_sign_test() {
        // By the table of the binomial distribution.
        let ranks = [1, 5, 6, 8, 9, 11, 12, 15, 21, 1001].map(rank);
        assert_eq!(ranks, [1, 1, 1, 1, 2, 2, 3, 4, 6, 470]);
        let of = |count: u32| Spread::of((1..=count).rev().map(f64::from).collect());
        assert_eq!(of(11), Spread { median: 6.0, low: 2.0, high: 10.0 });
        assert_eq!(of(1), Spread { median: 1.0, low: 1.0, high: 1.0 });
        assert_eq!(of(0), Spread { median: 0.0, low: 0.0, high: 0.0 });
        assert!((of(11).part() - 4.0 / 6.0).abs() < 1e-12);
        let shifted = |by: f64| Spread::of((1..=11).map(|x| f64::from(x) + by).collect());
        assert!(shifted(9.0).is_apart_from(&of(11)) && of(11).is_apart_from(&shifted(9.0)));
        assert!(!shifted(8.0).is_apart_from(&of(11)));
    }

    #[test]
    fn what_slows_both_ways_cancels() {
        let (a, b) = (Times::new(vec![2.0, 20.0, 4.0], 3), Times::new(vec![1.0, 10.0, 2.0], 3));
        assert_eq!(a.over(&b), Spread { median: 2.0, low: 2.0, high: 2.0 });
        assert_eq!((a.median(), a.min), (4.0, 2.0));
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
        assert!((times[0].median() - 1e-4).abs() < 1e-9 && (times[1].min - 5e-3).abs() < 1e-9);
        assert_eq!((times[0].runs, times[1].runs), (40, 4));
        let failing: Run<'_> = Box::new(|| anyhow::bail!("no"));
        assert!(alternate(&mut [failing], 1).is_err());
    }
}
