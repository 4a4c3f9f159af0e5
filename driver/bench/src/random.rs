//! Random inputs, the same on every machine.

use fusebox_ir::SplitMix64;

/// A generator of inputs.
pub struct Random(SplitMix64);

impl Random {
    /// A generator of its own sequence for each seed.
    pub fn new(seed: u64) -> Self {
        Self(SplitMix64::new(seed))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0.bits()
    }

    /// A number from 0 to below 1, evenly spread.
    pub fn unit(&mut self) -> f64 {
        self.0.unit()
    }

    /// A number from 0 to below `bound`, evenly spread but for less than `bound / 2^64`.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0.below(bound)
    }

    /// `count` numbers from `low` to `high`, evenly spread.
    pub fn floats(&mut self, count: usize, low: f32, high: f32) -> Vec<f32> {
        (0..count).map(|_| low + (high - low) * self.unit() as f32).collect()
    }

    /// `count` integers from 0 to below `bound`, evenly spread.
    pub fn integers(&mut self, count: usize, bound: u64) -> Vec<i32> {
        (0..count).map(|_| self.below(bound) as i32).collect()
    }

    /// A length of mean `mean`: exponentially distributed and rounded down, so that some are 0.
    pub fn exponential(&mut self, mean: f64) -> usize {
        (-mean * (1.0 - self.unit()).ln()) as usize
    }

    /// A Poisson number of mean `mean`, which is small (Knuth's product of uniform numbers).
    pub fn poisson(&mut self, mean: f64) -> usize {
        let limit = (-mean).exp();
        let mut product = self.unit();
        let mut count = 0;
        while product > limit {
            product *= self.unit();
            count += 1;
        }
        count
    }
}
