//! What the lanes of one worker give, and of which lanes it is.

use fusebox_backend::Pool;

use super::kept::Kept;

/// Pieces of work that one worker did, in the order in which it did them.
///
/// Nobody else has it while the worker runs, so that lanes take no lock, and it stays from run to run, so that they allocate nothing.
#[derive(Debug, Default)]
pub(super) struct Pieces {
    /// How many arrays lanes give.
    arrays: usize,
    /// For each array the bytes of all pieces; memory of more arrays where other lanes give more.
    kept: Vec<Kept>,
    /// The first lane of each piece; lanes are one behind the other.
    first: Vec<usize>,
    /// For each piece where its bytes of each array end; before it nothing.
    ends: Vec<usize>,
    /// Where what the lane under way gives begins, for each array.
    lane: Vec<usize>,
}

impl Pieces {
    /// No pieces, of lanes that give so many arrays.
    pub(super) fn begin(&mut self, arrays: usize) {
        self.clear();
        self.arrays = arrays;
        self.kept.resize_with(self.kept.len().max(arrays), Kept::default);
        self.ends.resize(arrays, 0);
    }

    /// Nothing of any piece is left, and what is large goes back to the pool.
    pub(super) fn clear(&mut self) {
        self.kept.iter_mut().for_each(Kept::clear);
        self.first.clear();
        self.ends.clear();
    }

    /// A lane begins.
    pub(super) fn begin_lane(&mut self) {
        self.lane.clear();
        self.lane.extend(self.kept[..self.arrays].iter().map(Kept::len));
    }

    /// What the lane under way gave is of no use.
    pub(super) fn take_back_lane(&mut self) {
        self.kept.iter_mut().zip(&self.lane).for_each(|(kept, &length)| kept.truncate(length));
    }

    /// More bytes of an array, behind the others.
    pub(super) fn extend(&mut self, given: usize, bytes: &[u8], pool: &Pool) {
        self.kept[given].extend(bytes, pool);
    }

    /// The lanes from `first` on, up to the last that ran, are a piece.
    pub(super) fn end(&mut self, first: usize) {
        self.first.push(first);
        self.ends.extend(self.kept[..self.arrays].iter().map(Kept::len));
    }

    /// The first lanes of all pieces.
    pub(super) fn first(&self) -> &[usize] {
        &self.first
    }

    /// The bytes that all pieces have of an array.
    pub(super) fn len(&self, given: usize) -> usize {
        self.kept[given].len()
    }

    /// Whether there was no memory for some of an array.
    pub(super) fn lacks(&self, given: usize) -> bool {
        self.kept[given].lacks()
    }

    /// How many bytes a piece has of an array.
    pub(super) fn length(&self, piece: usize, given: usize) -> usize {
        let (from, to) = self.range(piece, given);
        to - from
    }

    /// Writes the bytes that a piece has of an array, which are as many.
    pub(super) fn copy(&self, piece: usize, given: usize, mut to: &mut [u8]) {
        let (from, end) = self.range(piece, given);
        for bytes in self.kept[given].bytes(from..end) {
            let (now, more) = to.split_at_mut(bytes.len());
            now.copy_from_slice(bytes);
            to = more;
        }
    }

    fn range(&self, piece: usize, given: usize) -> (usize, usize) {
        (self.ends[piece * self.arrays + given], self.ends[(piece + 1) * self.arrays + given])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_have_what_their_lanes_gave_and_nothing_of_lanes_that_were_taken_back() {
        let pool = Pool::new(1 << 30);
        let mut pieces = Pieces::default();
        // Other lanes before gave more arrays, and something was left of them.
        pieces.begin(3);
        pieces.begin_lane();
        (0..3).for_each(|given| pieces.extend(given, &[9; 5], &pool));
        pieces.end(0);
        pieces.begin(2);
        assert_eq!((pieces.first(), pieces.len(0)), (&[][..], 0));
        let lane = |number: u8, kept: bool, pieces: &mut Pieces| {
            pieces.begin_lane();
            pieces.extend(0, &vec![number; usize::from(number)], &pool);
            pieces.extend(1, &[number], &pool);
            if !kept {
                pieces.take_back_lane();
            }
        };
        lane(4, true, &mut pieces);
        lane(5, false, &mut pieces);
        lane(6, true, &mut pieces);
        pieces.end(4);
        lane(2, false, &mut pieces);
        pieces.end(2);
        lane(1, true, &mut pieces);
        pieces.end(1);
        assert_eq!(pieces.first(), [4, 2, 1]);
        let bytes = |piece: usize, given: usize| {
            let mut bytes = vec![0; pieces.length(piece, given)];
            pieces.copy(piece, given, &mut bytes);
            bytes
        };
        assert_eq!((bytes(0, 0), bytes(0, 1)), (vec![4, 4, 4, 4, 6, 6, 6, 6, 6, 6], vec![4, 6]));
        assert_eq!((bytes(1, 0), bytes(1, 1)), (vec![], vec![]));
        assert_eq!((bytes(2, 0), bytes(2, 1)), (vec![1], vec![1]));
        assert_eq!((pieces.len(0), pieces.len(1)), (11, 3));
        assert!(!pieces.lacks(0) && !pieces.lacks(1));
    }
}
