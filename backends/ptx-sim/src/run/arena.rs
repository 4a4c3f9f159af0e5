//! A piece of memory: its bytes, which of them somebody has written, and who accessed them.

use crate::order::Shadow;

/// Memory of one allocation, of one block, or of one thread.
#[derive(Debug)]
pub(crate) struct Arena {
    pub bytes: Vec<u8>,
    /// A bit for each byte.
    written: Vec<u64>,
    pub shadow: Shadow,
}

impl Arena {
    /// Bytes that nobody has written. They are no zeros, so that who relies on zeros sees it.
    pub fn new(bytes: usize) -> Self {
        Self { bytes: vec![0xcd; bytes], written: vec![0; bytes.div_ceil(64)], shadow: Shadow::default() }
    }

    /// As new; what the shadow holds is outdated by a new stamp.
    pub fn forget(&mut self) {
        self.bytes.fill(0xcd);
        self.written.fill(0);
    }

    /// Whether all of these bytes were written.
    pub fn is_written(&self, offset: usize, bytes: usize) -> bool {
        let (word, bit) = (offset / 64, offset % 64);
        if bit + bytes <= 64 {
            let mask = (u64::MAX >> (64 - bytes)) << bit;
            return self.written[word] & mask == mask;
        }
        (offset..offset + bytes).all(|at| self.written[at / 64] >> (at % 64) & 1 == 1)
    }

    /// The first of these bytes that was not written.
    pub fn first_unwritten(&self, offset: usize, bytes: usize) -> Option<usize> {
        (offset..offset + bytes).find(|at| self.written[at / 64] >> (at % 64) & 1 == 0)
    }

    /// Notes that these bytes are written.
    pub fn mark(&mut self, offset: usize, bytes: usize) {
        if bytes == 0 {
            return;
        }
        let (word, bit) = (offset / 64, offset % 64);
        if bit + bytes <= 64 {
            self.written[word] |= (u64::MAX >> (64 - bytes)) << bit;
            return;
        }
        for at in offset..offset + bytes {
            self.written[at / 64] |= 1 << (at % 64);
        }
    }

    /// A value of one, two, four or eight bytes.
    #[inline]
    pub fn value(&self, offset: usize, bytes: usize) -> u64 {
        let place = &self.bytes[offset..];
        match bytes {
            1 => u64::from(place[0]),
            2 => place.first_chunk().map_or(0, |bytes| u16::from_le_bytes(*bytes).into()),
            4 => place.first_chunk().map_or(0, |bytes| u32::from_le_bytes(*bytes).into()),
            _ => place.first_chunk().map_or(0, |bytes| u64::from_le_bytes(*bytes)),
        }
    }

    /// Writes a value; says whether it is another than before.
    #[inline]
    pub fn set(&mut self, offset: usize, bytes: usize, value: u64) -> bool {
        let changed = self.value(offset, bytes) != value;
        let place = &mut self.bytes[offset..];
        match bytes {
            1 => place[0] = value as u8,
            2 => place[..2].copy_from_slice(&(value as u16).to_le_bytes()),
            4 => place[..4].copy_from_slice(&(value as u32).to_le_bytes()),
            _ => place[..8].copy_from_slice(&value.to_le_bytes()),
        }
        self.mark(offset, bytes);
        changed
    }
}
