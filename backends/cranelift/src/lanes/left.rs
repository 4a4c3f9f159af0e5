//! Lanes that were left because they ask for large arrays: which of them one thread runs by itself, and which all threads share.

use super::memory::POOL_BYTES;

/// A lane that is left.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Left {
    pub lane: usize,
    /// Bytes of the array that it asked for.
    pub asked: usize,
}

/// A lane that one thread runs by itself asks for at most one of so many parts of what each thread has to do: with larger ones the other threads would
/// wait for it at the end.
const SHARES: usize = 2;

/// The lanes that each run on a thread by themselves, from the one that asks for most, and those that run one after the other on all threads, in order.
///
/// What a lane asks for stands for its work. A lane that is too much for one thread is shared by all, and so is one whose array is larger than what a
/// thread keeps in memory, as several would be there at a time. All others run without meetings of threads.
pub(super) fn apart(mut left: Vec<Left>, threads: usize) -> (Vec<usize>, Vec<usize>) {
    left.sort_unstable_by_key(|left| (std::cmp::Reverse(left.asked), left.lane));
    let mut rest: usize = left.iter().fold(0, |sum, left| sum.saturating_add(left.asked));
    let is_large = |left: &&Left| {
        let large = left.asked > POOL_BYTES || left.asked.saturating_mul(SHARES * threads) > rest;
        rest -= if large { left.asked.min(rest) } else { 0 };
        large
    };
    let large = left.iter().take_while(is_large).count();
    let lanes = |left: &[Left]| left.iter().map(|left| left.lane).collect::<Vec<_>>();
    let (mut shared, apart) = (lanes(&left[..large]), lanes(&left[large..]));
    shared.sort_unstable();
    (apart, shared)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lanes_of_like_sizes_run_apart_and_those_that_others_would_wait_for_do_not() {
        let of = |asked: &[usize], threads: usize| {
            apart(asked.iter().enumerate().map(|(lane, &asked)| Left { lane, asked }).collect(), threads)
        };
        assert_eq!(of(&[], 2), (vec![], vec![]));
        assert_eq!(of(&[5; 8], 2), (vec![0, 1, 2, 3, 4, 5, 6, 7], vec![]));
        assert_eq!(of(&[5; 3], 2), (vec![], vec![0, 1, 2]));
        // What is left when the largest have gone is looked at again.
        assert_eq!(of(&[1, 1, 90, 1, 30, 1], 2), (vec![0, 1, 3, 5], vec![2, 4]));
        assert_eq!(of(&[3, 4, 5, 4], 1), (vec![2, 1, 3, 0], vec![]));
        let huge = POOL_BYTES + 1;
        assert_eq!(of(&[huge, 7, huge, huge, huge, 7, 7, 7], 2), (vec![1, 5, 6, 7], vec![0, 2, 3, 4]));
        assert_eq!(of(&[usize::MAX; 9], 2), (vec![], (0..9).collect()));
    }
}
