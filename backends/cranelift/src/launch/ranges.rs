//! The outermost level cut into ranges.

/// Steps from 0 on in ranges of one length, of which the last may be shorter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ranges {
    steps: i64,
    /// At least 1.
    length: i64,
}

impl Ranges {
    pub(super) fn new(steps: i64, length: i64) -> Self {
        Self { steps, length: length.max(1) }
    }

    /// All steps in one range.
    pub(super) fn one(steps: i64) -> Self {
        Self::new(steps, steps)
    }

    /// How many ranges: one at least, which has no steps where there are none.
    pub(super) fn count(self) -> usize {
        (self.steps as u64).div_ceil(self.length as u64).max(1) as usize
    }

    /// The first step of a range, and the one behind its last.
    pub(super) fn get(self, range: usize) -> (i64, i64) {
        let from = (range as i64).saturating_mul(self.length).min(self.steps);
        (from, from.saturating_add(self.length).min(self.steps))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_are_next_to_each_other_and_are_all_steps() {
        for steps in [0, 1, 7, 64, 65, 1000] {
            for length in [0, 1, 3, 64, 65, 2000] {
                let ranges = Ranges::new(steps, length);
                let end = (0..ranges.count()).fold(0, |end, range| {
                    let (from, to) = ranges.get(range);
                    assert!(from == end && (from < to || steps == 0), "{ranges:?}: {range}");
                    to
                });
                assert_eq!(end, steps, "{ranges:?}");
            }
        }
        let ranges = Ranges::new(i64::MAX, 1 << 40);
        assert_eq!(ranges.get(ranges.count() - 1).1, i64::MAX);
    }
}
