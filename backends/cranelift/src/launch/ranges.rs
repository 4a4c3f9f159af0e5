//! The outermost level cut into ranges.

/// Steps from 0 on in ranges: of one length, of which the last may be shorter, or cut anywhere.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ranges {
    steps: i64,
    /// At least 1.
    length: i64,
    /// The first step of each range and the one behind its last, where they are not of one length.
    own: Option<Vec<(i64, i64)>>,
}

impl Ranges {
    pub(super) fn new(steps: i64, length: i64) -> Self {
        Self { steps, length: length.max(1), own: None }
    }

    /// Ranges between these cuts, from 0 on and never falling; of more ranges than `most`, neighbours are one.
    pub(super) fn cut(cuts: &[i64], most: usize) -> Self {
        let ranges = cuts.len().saturating_sub(1).min(most.max(1));
        let cut = |range: usize| cuts[range * (cuts.len() - 1) / ranges.max(1)];
        let own = (0..ranges.max(1)).map(|range| (cut(range), cut((range + 1).min(ranges)))).collect();
        Self { steps: cut(ranges), length: 1, own: Some(own) }
    }

    /// The ranges without some of their steps, which rise.
    pub(super) fn without(&self, steps: &[i64]) -> Self {
        let mut own = Vec::with_capacity(self.count() + steps.len());
        for range in 0..self.count() {
            let (from, to) = self.get(range);
            let mut next = from;
            for &step in steps.iter().filter(|&step| (from..to).contains(step)) {
                own.push((next, step));
                next = step + 1;
            }
            own.push((next, to));
        }
        own.retain(|(from, to)| from < to);
        if own.is_empty() {
            own.push((self.steps, self.steps));
        }
        Self { own: Some(own), ..*self }
    }

    /// The ranges, the last one together with the one before it where it has fewer than so many steps: fewer than a gang are scalar code, and in a longer range
    /// the last gang overlaps another.
    pub(super) fn joined(self, least: i64) -> Self {
        let count = self.count();
        let (from, to) = self.get(count - 1);
        if count == 1 || to - from >= least {
            return self;
        }
        let before = (0..count - 2).map(|range| self.get(range));
        let last = (self.get(count - 2).0, to);
        Self { own: Some(before.chain([last]).collect()), ..self }
    }

    /// All steps in one range.
    pub(super) fn one(steps: i64) -> Self {
        Self::new(steps, steps)
    }

    /// How many ranges: one at least, which has no steps where there are none.
    pub(super) fn count(&self) -> usize {
        if let Some(own) = &self.own {
            return own.len();
        }
        (self.steps as u64).div_ceil(self.length as u64).max(1) as usize
    }

    /// The first step of a range, and the one behind its last.
    pub(super) fn get(&self, range: usize) -> (i64, i64) {
        if let Some(own) = &self.own {
            return own[range];
        }
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
        let cuts = [0, 3, 4, 4, 9];
        for (most, expected) in
            [(1, vec![(0, 9)]), (2, vec![(0, 4), (4, 9)]), (9, vec![(0, 3), (3, 4), (4, 4), (4, 9)])]
        {
            let ranges = Ranges::cut(&cuts, most);
            assert_eq!((0..ranges.count()).map(|range| ranges.get(range)).collect::<Vec<_>>(), expected);
        }
        assert_eq!((Ranges::cut(&[0], 3).count(), Ranges::cut(&[0], 3).get(0)), (1, (0, 0)));
        let left = |ranges: Ranges| (0..ranges.count()).map(|range| ranges.get(range)).collect::<Vec<_>>();
        assert_eq!(left(Ranges::cut(&cuts, 9).without(&[0, 4, 6])), [(1, 3), (3, 4), (5, 6), (7, 9)]);
        assert_eq!(left(Ranges::new(7, 3).without(&[2, 3, 6])), [(0, 2), (4, 6)]);
        assert_eq!(left(Ranges::new(2, 1).without(&[0, 1])), [(2, 2)]);
        assert_eq!(left(Ranges::new(33, 16).joined(16)), [(0, 16), (16, 33)]);
        assert_eq!(left(Ranges::new(20, 16).joined(16)), [(0, 20)]);
        assert_eq!(left(Ranges::new(32, 16).joined(16)), [(0, 16), (16, 32)]);
        assert_eq!(left(Ranges::new(5, 16).joined(16)), [(0, 5)]);
        let ranges = Ranges::new(i64::MAX, 1 << 40);
        assert_eq!(ranges.get(ranges.count() - 1).1, i64::MAX);
    }
}
