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
    /// The sizes of rows; before each group of rows, and behind the last one.
    Groups32(&'a [i32], Vec<i64>),
    /// The same.
    Groups64(&'a [i64], Vec<i64>),
}

fn before_groups<T: Copy + Into<i64>>(sizes: &[T]) -> Vec<i64> {
    let mut before = vec![0i64];
    let mut sum = 0i64;
    for group in sizes.chunks(GROUP) {
        sum = group.iter().fold(sum, |sum, &size| sum.saturating_add(size.into().max(0)));
        before.push(sum);
    }
    before
}

impl<'a> Rows<'a> {
    /// Of the rows of a launch, of which there are `rows`, by the arrays that it reads; none where there are no rows, or where the arrays do not say.
    pub(super) fn of(lengths: RowLengths, arrays: &[Option<&'a Array>], rows: i64) -> Option<Self> {
        let rows = usize::try_from(rows).ok().filter(|&rows| rows > 0)?;
        let array = |id: KernelArrayId| arrays.get(id.index()).copied().flatten();
        match lengths {
            RowLengths::Offsets { array: id, first } => Self::between(array(id)?, usize::try_from(first).ok()?, rows),
            RowLengths::Sizes { array: id, first } => {
                let (array, first) = (array(id)?, usize::try_from(first).ok()?);
                let range = first..first.checked_add(rows)?;
                Some(match array.element() {
                    ElementType::I32 => {
                        let sizes = array.as_slice::<i32>()?.get(range)?;
                        Self::Groups32(sizes, before_groups(sizes))
                    }
                    _ => {
                        let sizes = array.as_slice::<i64>()?.get(range)?;
                        Self::Groups64(sizes, before_groups(sizes))
                    }
                })
            }
        }
    }

    /// Rows between numbers of an array, from one on.
    pub(super) fn between(offsets: &'a Array, first: usize, rows: usize) -> Option<Self> {
        let range = first..first.checked_add(rows)?.checked_add(1)?;
        Some(match offsets.element() {
            ElementType::I32 => Self::Offsets32(offsets.as_slice::<i32>()?.get(range)?),
            _ => Self::Offsets64(offsets.as_slice::<i64>()?.get(range)?),
        })
    }

    /// Places where rows can be cut, less one; where they are; what is before them.
    fn places(&self) -> usize {
        match self {
            Self::Offsets32(offsets) => offsets.len() - 1,
            Self::Offsets64(offsets) => offsets.len() - 1,
            Self::Groups32(_, before) | Self::Groups64(_, before) => before.len() - 1,
        }
    }

    fn row(&self, place: usize) -> i64 {
        match self {
            Self::Offsets32(_) | Self::Offsets64(_) => place as i64,
            Self::Groups32(sizes, _) => (place * GROUP).min(sizes.len()) as i64,
            Self::Groups64(sizes, _) => (place * GROUP).min(sizes.len()) as i64,
        }
    }

    /// The cost of what is before a place.
    fn before(&self, place: usize) -> i64 {
        let elements = match self {
            Self::Offsets32(offsets) => i64::from(offsets[place]) - i64::from(offsets[0]),
            Self::Offsets64(offsets) => offsets[place].saturating_sub(offsets[0]),
            Self::Groups32(_, before) | Self::Groups64(_, before) => before[place],
        };
        elements.saturating_add(self.row(place) * ROW)
    }

    /// How many elements all rows have: at least none.
    pub(super) fn elements(&self) -> u64 {
        let rows = self.row(self.places()) * ROW;
        self.before(self.places()).saturating_sub(rows).max(0) as u64
    }

    /// Whether rows are segments: they begin with element 0, and none begins before the one before it.
    pub(super) fn are_segments(&self) -> bool {
        match self {
            Self::Offsets32(offsets) => offsets[0] == 0 && offsets.is_sorted(),
            Self::Offsets64(offsets) => offsets[0] == 0 && offsets.is_sorted(),
            Self::Groups32(..) | Self::Groups64(..) => false,
        }
    }

    /// The element that a row begins with, or, behind the last row, how many there are: of segments ([`Self::are_segments`]).
    pub(super) fn begin(&self, row: i64) -> usize {
        match self {
            Self::Offsets32(offsets) => offsets[row as usize] as usize,
            Self::Offsets64(offsets) => offsets[row as usize] as usize,
            Self::Groups32(..) | Self::Groups64(..) => 0,
        }
    }

    /// How many elements a row has.
    fn length(&self, row: usize) -> i64 {
        match self {
            Self::Offsets32(offsets) => i64::from(offsets[row + 1]) - i64::from(offsets[row]),
            Self::Offsets64(offsets) => offsets[row + 1].saturating_sub(offsets[row]),
            Self::Groups32(sizes, _) => sizes[row].into(),
            Self::Groups64(sizes, _) => sizes[row],
        }
    }

    /// The rows, in order, that have so many elements at least and more than one of `shares` shares of all elements. Places where rows are cut
    /// into twice as many shares are found with them: what is longer than a share ends at one.
    pub(super) fn long(&self, least: i64, shares: i64) -> Vec<i64> {
        let least = least.max(i64::try_from(self.elements()).unwrap_or(i64::MAX) / shares.max(1));
        let group = match self {
            Self::Offsets32(_) | Self::Offsets64(_) => 1,
            Self::Groups32(..) | Self::Groups64(..) => GROUP as i64,
        };
        let ends = self.cuts(shares.saturating_mul(2));
        let near = ends.iter().flat_map(|&end| end.saturating_sub(group).max(0)..end);
        let mut long: Vec<i64> = near.filter(|&row| self.length(row as usize) >= least).collect();
        long.sort_unstable();
        long.dedup();
        long
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
        let rows = Rows::Groups32(&sizes, before_groups(&sizes));
        assert_eq!(rows.elements(), 512_000);
        assert_eq!(rows.cuts(2), [0, 512, 1000]);
    }

    #[test]
    fn rows_longer_than_a_share_are_found_wherever_they_are() {
        for at in [0, 1, 255, 256, 500, 999] {
            let mut sizes = vec![3i64; 1000];
            sizes[at] = 50_000;
            sizes[(at + 300) % 1000] = 30_000;
            let mut long = vec![at as i64, (at as i64 + 300) % 1000];
            long.sort_unstable();
            let offsets: Vec<i64> = std::iter::once(0)
                .chain(sizes.iter().scan(0, |sum, size| {
                    *sum += size;
                    Some(*sum)
                }))
                .collect();
            let short: Vec<i32> = offsets.iter().map(|&offset| offset as i32).collect();
            for rows in
                [Rows::Offsets64(&offsets), Rows::Offsets32(&short), Rows::Groups64(&sizes, before_groups(&sizes))]
            {
                assert_eq!(rows.long(1000, 4), long, "{at}");
                assert_eq!(rows.long(1000, 2), [at as i64], "{at}");
                assert_eq!(rows.long(60_000, 4), [0i64; 0]);
            }
        }
        // Whatever the numbers are.
        for offsets in [[0i64, 7, 3, i64::MAX, -5, 9], [i64::MIN; 6], [9, 8, 7, 6, 5, 4], [0, 0, 0, i64::MAX, 0, 1]] {
            let long = Rows::Offsets64(&offsets).long(1, 3);
            assert!(long.iter().all(|row| (0..5).contains(row)), "{long:?}");
        }
    }
}
