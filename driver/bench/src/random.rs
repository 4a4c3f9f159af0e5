//! Random inputs, the same on every machine.

/// The SplitMix64 generator. Source: Steele, Lea, Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014.
pub struct Random(u64);

impl Random {
    /// A generator of its own sequence for each seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// A number from 0 to below 1, evenly spread.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number from 0 to below `bound`, evenly spread but for less than `bound / 2^64`.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.bits()) * u128::from(bound)) >> 64) as u64
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
