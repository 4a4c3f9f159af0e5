//! What is sorted, and by which number of it.

use bytemuck::Pod;

/// What the passes of a sort move: a key as it is in memory, or a [`Record`].
pub(super) trait Item: Pod + Send + Sync {
    /// The bits of a key, or the number that a record is sorted by.
    fn bits(self) -> u64;

    /// The same with other bits.
    fn with_bits(self, bits: u64) -> Self;

    /// How many bits can be set.
    const BITS: u32;
}

macro_rules! keys {
    ($($key:ty),*) => {$(
        impl Item for $key {
            const BITS: u32 = Self::BITS;

            #[inline(always)]
            fn bits(self) -> u64 {
                self.into()
            }

            #[inline(always)]
            fn with_bits(self, bits: u64) -> Self {
                bits as Self
            }
        }
    )*};
}

keys!(u8, u16, u32, u64);

/// A rank and a position, for elements that are fetched when their order is known.
pub(super) trait Record: Item {
    /// A rank of at most [`Item::BITS`] bits, and the position of an element.
    fn new(rank: u64, position: usize) -> Self;

    /// The position.
    fn position(self) -> usize;
}

/// Ranks of 32 bits, and positions below 2^32.
impl Item for [u32; 2] {
    const BITS: u32 = 32;

    #[inline(always)]
    fn bits(self) -> u64 {
        self[0].into()
    }

    #[inline(always)]
    fn with_bits(self, bits: u64) -> Self {
        [bits as u32, self[1]]
    }
}

impl Record for [u32; 2] {
    #[inline(always)]
    fn new(rank: u64, position: usize) -> Self {
        [rank as u32, position as u32]
    }

    #[inline(always)]
    fn position(self) -> usize {
        self[1] as usize
    }
}

/// Ranks and positions of 64 bits.
impl Item for [u64; 2] {
    const BITS: u32 = 64;

    #[inline(always)]
    fn bits(self) -> u64 {
        self[0]
    }

    #[inline(always)]
    fn with_bits(self, bits: u64) -> Self {
        [bits, self[1]]
    }
}

impl Record for [u64; 2] {
    #[inline(always)]
    fn new(rank: u64, position: usize) -> Self {
        [rank, position as u64]
    }

    #[inline(always)]
    fn position(self) -> usize {
        self[1] as usize
    }
}

/// How the bits of a key become a number of the same order, its *rank*. It has no more bits than the key.
pub(super) trait Order: Sync {
    fn rank<T: Item>(item: T) -> u64;

    /// The bits of which this is the rank.
    fn bits<T: Item>(rank: u64) -> u64;

    /// Whether only one item has this rank.
    #[inline(always)]
    fn is_known<T: Item>(_ranked: T) -> bool {
        true
    }

    /// An item with its rank in the place of its bits.
    #[inline(always)]
    fn ranked<T: Item>(item: T) -> T {
        item.with_bits(Self::rank(item))
    }

    /// The item that [`Self::ranked`] was given.
    #[inline(always)]
    fn item<T: Item>(ranked: T) -> T {
        ranked.with_bits(Self::bits::<T>(ranked.bits()))
    }
}

/// Unsigned integers and truth values; and ranks.
pub(super) struct Unsigned;

impl Order for Unsigned {
    #[inline(always)]
    fn rank<T: Item>(item: T) -> u64 {
        item.bits()
    }

    #[inline(always)]
    fn bits<T: Item>(rank: u64) -> u64 {
        rank
    }
}

/// Signed integers: the lowest becomes 0.
pub(super) struct Signed;

impl Order for Signed {
    #[inline(always)]
    fn rank<T: Item>(item: T) -> u64 {
        item.bits() ^ 1 << (T::BITS - 1)
    }

    #[inline(always)]
    fn bits<T: Item>(rank: u64) -> u64 {
        rank ^ 1 << (T::BITS - 1)
    }
}

/// Floating point numbers, in the order of `min`: -0 before 0, and every NaN is the same number, the last.
pub(super) struct Float;

impl Order for Float {
    #[inline(always)]
    fn rank<T: Item>(item: T) -> u64 {
        let (sign, all) = (1u64 << (T::BITS - 1), u64::MAX >> (64 - T::BITS));
        let infinity = match T::BITS {
            16 => 0x7c00,
            32 => 0x7f80_0000,
            _ => 0x7ff0_0000_0000_0000,
        };
        let bits = item.bits();
        // Of negative numbers all bits are turned over, of others the sign.
        let rank = if bits & sign != 0 { !bits & all } else { bits | sign };
        if bits & !sign > infinity { all } else { rank }
    }

    #[inline(always)]
    fn bits<T: Item>(rank: u64) -> u64 {
        let (sign, all) = (1u64 << (T::BITS - 1), u64::MAX >> (64 - T::BITS));
        if rank & sign != 0 { rank & !sign } else { !rank & all }
    }

    /// All NaN have one rank.
    #[inline(always)]
    fn is_known<T: Item>(ranked: T) -> bool {
        ranked.bits() != u64::MAX >> (64 - T::BITS)
    }
}

/// Records of 8 bytes as single numbers: by rank, and those of equal ranks by position.
pub(super) struct RankThenPosition;

impl Order for RankThenPosition {
    #[inline(always)]
    fn rank<T: Item>(item: T) -> u64 {
        if cfg!(target_endian = "little") { item.bits().rotate_left(32) } else { item.bits() }
    }

    #[inline(always)]
    fn bits<T: Item>(rank: u64) -> u64 {
        if cfg!(target_endian = "little") { rank.rotate_right(32) } else { rank }
    }
}
