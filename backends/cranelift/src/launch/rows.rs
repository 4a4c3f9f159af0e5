//! Rows of different lengths, divided by their elements: each share of the rows has about as much to do, whatever a single row has.

use fusebox_ir::{Array, ElementType, KernelArrayId, analysis::kernels::RowLengths};

/// What a row costs beside its elements, in elements.
const ROW: i64 = 4;
/// Rows whose sizes are added up before they are looked at: cuts are between groups of them.
const GROUP: usize = 256;

/// How many elements there are before rows.
pub(super) enum Rows<'a> {
    /// Before each row, and behind the last: whatever the numbers are.
    Offsets32(&'a [i32]),
    /// The same.
    Offsets64(&'a [i64]),
    /// Before each group of rows, and behind the last one.
    Groups(usize, Vec<i64>),
}

impl<'a> Rows<'a> {
    /// Of the rows of a launch, of which there are `rows`, by the arrays that it reads; none where there are no rows, or where the arrays do not say.
    pub(super) fn of(lengths: RowLengths, arrays: &[Option<&'a Array>], rows: i64) -> Option<Self> {
        let rows = usize::try_from(rows).ok().filter(|&rows| rows > 0)?;
        let array = |id: KernelArrayId| arrays.get(id.index()).copied().flatten();
        match lengths {
            RowLengths::Offsets { array: id, first } => {
                let (array, first) = (array(id)?, usize::try_from(first).ok()?);
                let range = first..first.checked_add(rows)?.checked_add(1)?;
                Some(match array.element() {
                    ElementType::I32 => Self::Offsets32(array.as_slice::<i32>()?.get(range)?),
                    _ => Self::Offsets64(array.as_slice::<i64>()?.get(range)?),
                })
            }
            RowLengths::Sizes { array: id, first } => {
                let (array, first) = (array(id)?, usize::try_from(first).ok()?);
                let range = first..first.checked_add(rows)?;
                Some(match array.element() {
                    ElementType::I32 => Self::grouped(array.as_slice::<i32>()?.get(range)?),
                    _ => Self::grouped(array.as_slice::<i64>()?.get(range)?),
                })
            }
        }
    }

    fn grouped<T: Copy + Into<i64>>(sizes: &[T]) -> Self {
        let mut before = vec![0i64];
        let mut sum = 0i64;
        for group in sizes.chunks(GROUP) {
            sum = group.iter().fold(sum, |sum, &size| sum.saturating_add(size.into().max(0)));
            before.push(sum);
        }
        Self::Groups(sizes.len(), before)
    }

    /// Places where rows can be cut, less one; where they are; what is before them.
    fn places(&self) -> usize {
        match self {
            Self::Offsets32(offsets) => offsets.len() - 1,
            Self::Offsets64(offsets) => offsets.len() - 1,
            Self::Groups(_, before) => before.len() - 1,
        }
    }

    fn row(&self, place: usize) -> i64 {
        match self {
            Self::Offsets32(_) | Self::Offsets64(_) => place as i64,
            Self::Groups(rows, _) => (place * GROUP).min(*rows) as i64,
        }
    }

    /// The cost of what is before a place.
    fn before(&self, place: usize) -> i64 {
        let elements = match self {
            Self::Offsets32(offsets) => i64::from(offsets[place]) - i64::from(offsets[0]),
            Self::Offsets64(offsets) => offsets[place].saturating_sub(offsets[0]),
            Self::Groups(_, before) => before[place],
        };
        elements.saturating_add(self.row(place) * ROW)
    }

    /// How many elements all rows have: at least none.
    pub(super) fn elements(&self) -> u64 {
        let rows = self.row(self.places()) * ROW;
        self.before(self.places()).saturating_sub(rows).max(0) as u64
    }

    /// The first row of each of so many shares, and the one behind the last: from 0 on, none before the one before it.
    pub(super) fn cuts(&self, shares: i64) -> Vec<i64> {
        let places = self.places();
        let all = i128::from(self.before(places));
        let mut cuts = vec![0];
        let mut low = 0;
        for share in 1..shares {
            let wanted = all * i128::from(share) / i128::from(shares);
            // The first place with as much before it, where costs grow; else any: each row is in one share whatever they do.
            let mut high = places;
            while low < high {
                let middle = low + (high - low) / 2;
                if i128::from(self.before(middle)) < wanted { low = middle + 1 } else { high = middle }
            }
            cuts.push(self.row(low));
        }
        cuts.push(self.row(places));
        cuts.dedup();
        cuts
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Shares of rows of these lengths, in elements.
    fn shares(lengths: &[i32], count: i64) -> Vec<i64> {
        let mut offsets = vec![0i32];
        for length in lengths {
            offsets.push(offsets[offsets.len() - 1] + length);
        }
        let rows = Rows::Offsets32(&offsets);
        let cuts = rows.cuts(count);
        assert_eq!((cuts[0], cuts[cuts.len() - 1]), (0, lengths.len() as i64));
        assert!(cuts.is_sorted(), "{cuts:?}");
        cuts.windows(2).map(|ends| i64::from(offsets[ends[1] as usize] - offsets[ends[0] as usize])).collect()
    }

    #[test]
    fn shares_have_as_many_elements_and_a_long_row_is_a_share() {
        assert_eq!(shares(&[10; 100], 4), [250; 4]);
        let mut one = vec![1; 1000];
        one[3] = 100_000;
        let shares = shares(&one, 4);
        assert!(shares.contains(&100_003) || shares.contains(&100_004), "{shares:?}");
        // What is beside it is for others.
        assert!(shares.len() > 1 && shares.iter().sum::<i64>() == 100_999, "{shares:?}");
    }

    #[test]
    fn empty_rows_are_divided_too() {
        let offsets = [0i64; 1001];
        assert_eq!(Rows::Offsets64(&offsets).cuts(4), [0, 250, 500, 750, 1000]);
    }

    #[test]
    fn shares_are_all_rows_whatever_the_offsets_are() {
        for offsets in [[0i64, 7, 3, i64::MAX, -5, 9], [i64::MIN; 6], [9, 8, 7, 6, 5, 4], [0, 0, 0, i64::MAX, 0, 1]] {
            let cuts = Rows::Offsets64(&offsets).cuts(3);
            assert!(cuts[0] == 0 && cuts[cuts.len() - 1] == 5 && cuts.is_sorted(), "{offsets:?}: {cuts:?}");
        }
    }

    #[test]
    fn sizes_are_added_in_groups_and_negative_ones_are_none() {
        let sizes: Vec<i32> = (0..1000).map(|row| if row < 512 { 1000 } else { -1000 }).collect();
        let rows = Rows::grouped(&sizes);
        assert_eq!(rows.elements(), 512_000);
        assert_eq!(rows.cuts(2), [0, 512, 1000]);
    }
}
