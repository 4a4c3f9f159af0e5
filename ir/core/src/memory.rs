//! Host memory of arrays: aligned, with slack, and with a place that it goes back to.

use std::{
    fmt,
    sync::{
        Arc, Weak,
        atomic::{AtomicUsize, Ordering},
    },
};

/// Bytes of alignment of every host buffer, and of readable slack behind the last element.
pub const ALIGNMENT: usize = 64;
/// Bytes of a huge page; memory of several of them starts near the begin of one.
pub const HUGE_PAGE: usize = 2 << 20;
/// From how many bytes memory starts near the begin of a huge page.
const HUGE_FROM: usize = 2 * HUGE_PAGE;

/// From how many bytes on memory starts at another place of a page than the memory before: arrays whose rows are as long as some pages would else
/// have the same elements at the same place of each page, where a load waits for a store to another array, and sets of caches overflow.
const SPREAD_FROM: usize = 64 << 10;
/// Bytes from one such place to the next: lines of caches that code has under way at once.
const SPREAD: usize = 512;
/// Places.
const PLACES: usize = 8;

/// What the allocator aligns by itself: memory of these comes from the system as zeros, and is not written to once more.
#[derive(Clone, Copy, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C, align(16))]
struct Quad([u8; 16]);

const QUAD: usize = size_of::<Quad>();

/// Where memory goes when the last array in it is dropped.
pub trait Home: Send + Sync {
    /// Takes memory back that nobody else has; its contents are of no use.
    fn take_back(&self, memory: Arc<Memory>);
}

/// Memory for one array.
pub struct Memory {
    store: Store,
    /// Bytes before the first aligned one.
    start: usize,
    capacity: usize,
    home: Option<Weak<dyn Home>>,
}

/// What memory is taken from.
enum Store {
    /// The allocator.
    Own(Vec<Quad>),
    /// A file, whose pages are copied when they are written to; or what the system gives in huge pages.
    #[cfg(feature = "map")]
    Mapped(memmap2::MmapMut),
}

impl Store {
    /// Zeros; `None` if there is no memory for them.
    fn zeros(bytes: usize) -> Option<Self> {
        #[cfg(feature = "map")]
        if bytes >= HUGE_FROM {
            return Self::in_huge_pages(bytes);
        }
        Some(Self::Own(bytemuck::allocation::try_zeroed_vec::<Quad>(bytes.div_ceil(QUAD)).ok()?))
    }

    /// Zeros in huge pages, if the system gives them: code that reads many arrays in order, or goes from row to row, waits for the addresses of pages else.
    #[cfg(feature = "map")]
    fn in_huge_pages(bytes: usize) -> Option<Self> {
        let map = memmap2::MmapOptions::new().len(bytes).map_anon().ok()?;
        // Where there are none nothing is lost but time.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Some(Self::Mapped(map))
    }

    fn bytes(&self) -> &[u8] {
        match self {
            Self::Own(quads) => bytemuck::cast_slice(quads),
            #[cfg(feature = "map")]
            Self::Mapped(map) => map,
        }
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        match self {
            Self::Own(quads) => bytemuck::cast_slice_mut(quads),
            #[cfg(feature = "map")]
            Self::Mapped(map) => map,
        }
    }
}

impl Memory {
    /// Memory for `bytes` bytes that lie in a mapped file from `start` on; `None` where they are not aligned, or the mapping ends before
    /// the slack does.
    #[cfg(feature = "map")]
    pub fn mapped(map: memmap2::MmapMut, start: usize, bytes: usize) -> Option<Self> {
        let capacity = Self::capacity_for(bytes)?;
        let there = start.checked_add(capacity).is_some_and(|end| end <= map.len());
        let aligned = map.as_ptr().addr().wrapping_add(start).is_multiple_of(ALIGNMENT);
        (there && aligned).then_some(Self { store: Store::Mapped(map), start, capacity, home: None })
    }

    /// Zeros: room for `bytes` bytes, and the slack; `None` if there is no memory for it.
    pub fn zeros(bytes: usize) -> Option<Self> {
        let capacity = Self::capacity_for(bytes)?;
        let alignment = if capacity >= HUGE_FROM { HUGE_PAGE } else { ALIGNMENT };
        let spread = if capacity >= SPREAD_FROM { SPREAD * PLACES } else { 0 };
        let store = Store::zeros(capacity + alignment + spread)?;
        let start = store.bytes().as_ptr().addr().wrapping_neg() % alignment + place(spread);
        Some(Self { store, start, capacity, home: None })
    }

    /// Bytes that memory for `bytes` bytes has, slack included; `None` where no memory is as large.
    pub fn capacity_for(bytes: usize) -> Option<usize> {
        (bytes < isize::MAX as usize / 2).then(|| bytes.next_multiple_of(ALIGNMENT) + ALIGNMENT)
    }

    /// Bytes from the first aligned one on, slack included.
    pub fn capacity(&self) -> usize {
        self.capacity
    }

    /// The same memory, which goes to `home` when it is not used any more, if that is still there.
    pub fn with_home(mut self, home: Weak<dyn Home>) -> Self {
        self.home = Some(home);
        self
    }

    /// All bytes, slack included.
    pub fn bytes(&self) -> &[u8] {
        &self.store.bytes()[self.start..][..self.capacity]
    }

    /// All bytes, to change.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.store.bytes_mut()[self.start..][..self.capacity]
    }
}

/// Bytes to leave free before memory, of the `spread` there are: others than for the memory before.
fn place(spread: usize) -> usize {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    if spread == 0 { 0 } else { NEXT.fetch_add(1, Ordering::Relaxed) % PLACES * SPREAD }
}

/// A copy is at home nowhere.
impl Clone for Memory {
    fn clone(&self) -> Self {
        let mut copy = match Self::zeros(self.capacity - ALIGNMENT) {
            Some(copy) => copy,
            // As any other copy would end.
            None => std::alloc::handle_alloc_error(std::alloc::Layout::for_value(self.bytes())),
        };
        copy.bytes_mut().copy_from_slice(self.bytes());
        copy
    }
}

/// Memory that arrays share. The last of them gives it to its home, whole: arrays that are made again and again allocate nothing.
#[derive(Clone)]
pub(crate) struct SharedMemory(Option<Arc<Memory>>);

/// There is memory from the beginning to the end.
const HELD: &str = "memory is given away at the end alone";

impl SharedMemory {
    pub(crate) fn new(memory: Arc<Memory>) -> Self {
        Self(Some(memory))
    }

    pub(crate) fn get(&self) -> &Memory {
        self.0.as_deref().expect(HELD)
    }

    /// The memory to write to: a copy, if somebody else has it too.
    pub(crate) fn make_mut(&mut self) -> &mut Memory {
        Arc::make_mut(self.0.as_mut().expect(HELD))
    }

    /// Whether somebody else has it too.
    pub(crate) fn is_shared(&self) -> bool {
        self.0.as_ref().is_some_and(|memory| Arc::strong_count(memory) > 1)
    }

    pub(crate) fn is(&self, other: &Self) -> bool {
        self.0.as_ref().zip(other.0.as_ref()).is_some_and(|(own, other)| Arc::ptr_eq(own, other))
    }
}

impl Drop for SharedMemory {
    fn drop(&mut self) {
        let Some(mut memory) = self.0.take() else { return };
        // Where two threads drop the last two at once, neither is the last, and the memory goes to the system.
        if let Some(own) = Arc::get_mut(&mut memory)
            && let Some(home) = own.home.as_ref().and_then(Weak::upgrade)
        {
            home.take_back(memory);
        }
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Memory").field("capacity", &self.capacity).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use super::*;
    use crate::{Array, ElementType};

    #[test]
    fn memory_is_aligned_zero_and_has_slack() {
        for bytes in [0, 1, 63, 64, 65, 4096, HUGE_FROM - 1, HUGE_FROM + 5, 3 * HUGE_FROM] {
            let memory = Memory::zeros(bytes).unwrap();
            let address = memory.bytes().as_ptr().addr();
            assert_eq!(address % ALIGNMENT, 0, "{bytes} bytes");
            assert!(bytes < HUGE_FROM || address % HUGE_PAGE < SPREAD * PLACES, "{bytes} bytes");
            assert!(memory.capacity() >= bytes + ALIGNMENT && memory.bytes().len() == memory.capacity());
            assert!(memory.bytes().iter().all(|&byte| byte == 0));
        }
        assert!(Memory::zeros(usize::MAX).is_none());
    }

    #[test]
    fn large_memory_starts_at_different_places_of_pages() {
        let memories: Vec<Memory> = (0..PLACES).map(|_| Memory::zeros(HUGE_FROM).unwrap()).collect();
        let mut places: Vec<usize> = memories.iter().map(|memory| memory.bytes().as_ptr().addr() % 4096).collect();
        places.sort_unstable();
        places.dedup();
        // Others may take places in between.
        assert!(places.len() > 1, "{places:?}");
    }

    #[derive(Default)]
    struct Shelf(Mutex<Vec<usize>>);

    impl Home for Shelf {
        fn take_back(&self, memory: Arc<Memory>) {
            self.0.lock().unwrap().push(memory.bytes().as_ptr().addr());
        }
    }

    #[test]
    fn memory_goes_home_once_when_its_last_array_is_dropped() {
        let shelf = Arc::new(Shelf::default());
        let home: Arc<dyn Home> = shelf.clone();
        let memory = Memory::zeros(400).unwrap().with_home(Arc::downgrade(&home));
        let address = memory.bytes().as_ptr().addr();
        let array = Array::in_memory(memory.into(), ElementType::F32, &[100]).unwrap();
        let mut other = array.clone();
        drop(array);
        assert!(shelf.0.lock().unwrap().is_empty());
        let third = other.clone();
        // Writing to one of two copies: the copy of the elements has no home.
        other.set(3, 1f32.into());
        drop(other);
        assert!(shelf.0.lock().unwrap().is_empty());
        drop(third);
        assert_eq!(*shelf.0.lock().unwrap(), [address]);
        // And nowhere, where the home is gone.
        drop((home, Memory::zeros(4).unwrap()));
    }
}
