//! What the lanes of one worker give, one behind the other, in blocks of the memory that all runs share: it is there again for the next run.

use std::ops::Range;

use fusebox_backend::Pool;
use fusebox_ir::{Array, ElementType};

/// Bytes of the first block. Each has twice as many as the one before, up to [`LARGEST`].
const FIRST: usize = 1 << 14;
/// Bytes of a block, at most: from two huge pages on memory is made of those.
const LARGEST: usize = 1 << 22;

/// Bytes that stay here from run to run, at most.
const STAY: usize = 1 << 23;

/// Bytes of an array that several lanes give.
#[derive(Debug, Default)]
pub(super) struct Kept {
    blocks: Vec<Block>,
    /// How many blocks are full.
    full: usize,
    length: usize,
    /// Whether there was no memory for something.
    lacks: bool,
}

#[derive(Debug)]
struct Block {
    /// The number of its first byte.
    first: usize,
    size: usize,
    memory: Array,
}

impl Block {
    fn end(&self) -> usize {
        self.first + self.size
    }
}

impl Kept {
    /// How many bytes there are.
    pub(super) fn len(&self) -> usize {
        self.length
    }

    /// Whether there was no memory for something that should be here.
    pub(super) fn lacks(&self) -> bool {
        self.lacks
    }

    /// More bytes behind the others.
    pub(super) fn extend(&mut self, mut bytes: &[u8], pool: &Pool) {
        while !bytes.is_empty() && !self.lacks {
            let Some(block) = self.blocks.get_mut(self.full) else {
                self.grow(pool);
                continue;
            };
            let (now, later) = bytes.split_at(bytes.len().min(block.end() - self.length));
            block.memory.bytes_mut()[self.length - block.first..][..now.len()].copy_from_slice(now);
            self.length += now.len();
            self.full += usize::from(self.length == block.end());
            bytes = later;
        }
    }

    fn grow(&mut self, pool: &Pool) {
        let size = self.blocks.last().map_or(FIRST, |last| (last.size * 2).min(LARGEST));
        match pool.take(ElementType::U8, &[size]) {
            Some(memory) => self.blocks.push(Block { first: self.length, size, memory }),
            None => self.lacks = true,
        }
    }

    /// Nothing is left behind so many bytes.
    pub(super) fn truncate(&mut self, length: usize) {
        self.length = self.length.min(length);
        self.full = self.blocks.partition_point(|block| block.end() <= self.length);
    }

    /// Nothing is here, and nothing was missing. What is large goes back to the pool.
    pub(super) fn clear(&mut self) {
        self.truncate(0);
        self.lacks = false;
        self.blocks.truncate(self.blocks.partition_point(|block| block.end() <= STAY));
    }

    /// Some of the bytes, block by block.
    pub(super) fn bytes(&self, range: Range<usize>) -> impl Iterator<Item = &[u8]> {
        let begin = self.blocks.partition_point(|block| block.end() <= range.start);
        self.blocks[begin..].iter().map_while(move |block| {
            let (from, to) = (range.start.max(block.first), range.end.min(block.end()));
            (from < to).then(|| &block.memory.bytes()[from - block.first..to - block.first])
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_in_order_across_blocks() {
        let pool = Pool::new(1 << 30);
        let all: Vec<u8> = (0..STAY + 8 * FIRST).map(|at| (at * 7 % 251) as u8).collect();
        let mut kept = Kept::default();
        for length in [1, 5, FIRST - 6, 2, 3 * FIRST, 0, 1000] {
            kept.extend(&all[kept.len()..][..length], &pool);
        }
        let length = kept.len();
        assert_eq!(length, 4 * FIRST + 1002);
        for (from, to) in
            [(0, 0), (0, length), (FIRST - 1, FIRST + 1), (FIRST, FIRST), (17, 3 * FIRST), (length, length)]
        {
            let found: Vec<u8> = kept.bytes(from..to).flatten().copied().collect();
            assert_eq!(found, all[from..to], "{from}..{to}");
        }
        // What is taken back is written again.
        for length in [4 * FIRST, FIRST, FIRST - 1, 0] {
            kept.truncate(length);
            assert_eq!(kept.len(), length);
            kept.extend(&all[length..5 * FIRST], &pool);
            assert!(kept.bytes(0..5 * FIRST).flatten().eq(&all[..5 * FIRST]), "{length}");
        }
        kept.truncate(0);
        kept.extend(&all, &pool);
        assert!(kept.bytes(0..all.len()).flatten().eq(&all));
        assert_eq!(pool.kept_bytes(), 0);
        kept.clear();
        assert_eq!((kept.len(), kept.lacks(), kept.bytes(0..0).count()), (0, false, 0));
        assert!(pool.kept_bytes() > 0, "what is large goes back");
    }
}
