//! Memory that is kept for later arrays, since a fresh page costs more than most of what is computed in it.

use std::{
    collections::{BTreeMap, VecDeque},
    fmt,
    sync::{Arc, Mutex, Weak},
};

use fusebox_ir::{ALIGNMENT, Array, ElementType, HUGE_PAGE, Home, Memory};

use crate::lock;

/// Host memory for arrays that is kept from run to run. The memory of an array of the pool comes back when the last copy of the array is
/// dropped, whoever has that copy.
pub struct Pool {
    shelf: Arc<Shelf>,
    home: Weak<dyn Home>,
    advise: fn(&mut [u8]),
}

/// Memory that nobody uses.
struct Shelf {
    limit: usize,
    free: Mutex<Free>,
}

#[derive(Default)]
struct Free {
    /// By capacity. Of each, in the order in which it came back, the latest last; with what it was the how-manieth to come back.
    by_capacity: BTreeMap<usize, VecDeque<(u64, Arc<Memory>)>>,
    /// Bytes of all.
    bytes: usize,
    returned: u64,
}

impl Free {
    /// Memory of this capacity: what came back last may still be in a cache.
    fn take(&mut self, capacity: usize) -> Option<Arc<Memory>> {
        let (_, memory) = self.by_capacity.get_mut(&capacity)?.pop_back()?;
        self.bytes -= capacity;
        Some(memory)
    }

    fn put(&mut self, memory: Arc<Memory>) {
        self.bytes += memory.capacity();
        self.returned += 1;
        self.by_capacity.entry(memory.capacity()).or_default().push_back((self.returned, memory));
    }

    /// What came back first.
    fn take_oldest(&mut self) -> Option<Arc<Memory>> {
        let first = |(capacity, free): (&usize, &VecDeque<(u64, Arc<Memory>)>)| Some((free.front()?.0, *capacity));
        let (_, capacity) = self.by_capacity.iter().filter_map(first).min()?;
        let (_, memory) = self.by_capacity.get_mut(&capacity)?.pop_front()?;
        self.bytes -= capacity;
        Some(memory)
    }
}

impl Home for Shelf {
    fn take_back(&self, memory: Arc<Memory>) {
        let mut free = lock(&self.free);
        free.put(memory);
        while free.bytes > self.limit {
            let oldest = free.take_oldest();
            // The system takes memory back when the lock is open again.
            drop(free);
            drop(oldest);
            free = lock(&self.free);
        }
    }
}

impl Pool {
    /// A pool that keeps at most `limit` bytes that nobody uses.
    pub fn new(limit: usize) -> Self {
        Self::with_advice(limit, |_| {})
    }

    /// A pool that hands fresh memory of several huge pages to `advise` before anybody uses it.
    pub fn with_advice(limit: usize, advise: fn(&mut [u8])) -> Self {
        let shelf = Arc::new(Shelf { limit, free: Mutex::default() });
        let home: Arc<dyn Home> = shelf.clone();
        Self { shelf, home: Arc::downgrade(&home), advise }
    }

    /// An array of any contents; `None` if there is no memory for it.
    pub fn take(&self, element: ElementType, extents: &[usize]) -> Option<Array> {
        let bytes = extents.iter().try_fold(element.bytes(), |size, &extent| size.checked_mul(extent))?;
        let room = size_class(bytes)?;
        let capacity = Memory::capacity_for(room)?;
        let kept = lock(&self.shelf.free).take(capacity);
        let memory = match kept {
            Some(memory) => memory,
            None => self.fresh(room)?,
        };
        Array::in_memory(memory, element, extents).ok()
    }

    fn fresh(&self, room: usize) -> Option<Arc<Memory>> {
        let mut fresh = match Memory::zeros(room) {
            Some(fresh) => fresh,
            // What is kept may be in the way.
            None => {
                let kept = std::mem::take(&mut *lock(&self.shelf.free));
                drop(kept);
                Memory::zeros(room)?
            }
        };
        if fresh.capacity() >= 2 * HUGE_PAGE {
            (self.advise)(fresh.bytes_mut());
        }
        Some(Arc::new(fresh.with_home(self.home.clone())))
    }

    /// Bytes that are kept and that nobody uses.
    pub fn kept_bytes(&self) -> usize {
        lock(&self.shelf.free).bytes
    }
}

impl fmt::Debug for Pool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Pool").field("limit", &self.shelf.limit).field("kept_bytes", &self.kept_bytes()).finish()
    }
}

/// The bytes to allocate for an array of `bytes`. Arrays of about as many bytes get equally many, so that one can use the memory of another:
/// at most an eighth more than it needs (but of few bytes a multiple of the
/// alignment), and whole huge pages if it needs several.
fn size_class(bytes: usize) -> Option<usize> {
    let eighth = (1usize << bytes.max(1).ilog2()) / 8;
    let unit = if bytes >= 2 * HUGE_PAGE { eighth.max(HUGE_PAGE) } else { eighth.max(ALIGNMENT) };
    bytes.checked_next_multiple_of(unit)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_when_the_last_array_is_dropped() {
        let pool = Pool::new(1 << 20);
        let array = pool.take(ElementType::F32, &[10_000]).unwrap();
        let address = array.bytes().as_ptr();
        let copy = array.clone();
        drop(array);
        assert_eq!(pool.kept_bytes(), 0, "a copy has it");
        drop(copy);
        assert!((40_000..50_000).contains(&pool.kept_bytes()));
        let again = pool.take(ElementType::I64, &[5_000]).unwrap();
        assert_eq!(
            (again.bytes().as_ptr(), again.element(), again.extents()),
            (address, ElementType::I64, &[5_000usize][..])
        );
        // Of another size class, though it would fit.
        pool.take(ElementType::F32, &[9_999]).unwrap();
        drop(again);
        let other = pool.take(ElementType::F32, &[5_000]).unwrap();
        assert_ne!(other.bytes().as_ptr(), address);
    }

    #[test]
    fn the_limit_holds_and_the_oldest_goes() {
        let pool = Pool::new(1 << 20);
        let arrays: Vec<Array> = (0..100).map(|_| pool.take(ElementType::U8, &[100_000]).unwrap()).collect();
        let last = arrays.last().unwrap().bytes().as_ptr();
        drop(arrays);
        assert!(pool.kept_bytes() <= 1 << 20 && pool.kept_bytes() > 1 << 19);
        assert_eq!(pool.take(ElementType::U8, &[100_000]).unwrap().bytes().as_ptr(), last);
        drop(pool.take(ElementType::U8, &[2 << 20]));
        assert!(pool.kept_bytes() <= 1 << 20, "what is larger than the limit is not kept");
    }

    #[test]
    fn arrays_outlive_the_pool() {
        let pool = Pool::new(1 << 20);
        let mut array = pool.take(ElementType::U8, &[100_000]).unwrap();
        drop(pool);
        array.set(99_999, 7u8.into());
        assert_eq!(array.get(99_999), 7u8.into());
    }

    #[test]
    fn size_classes_are_near_and_of_whole_huge_pages() {
        for bytes in [0, 1, 63, 64, 65, 16_000, 16_385, 100_000, 4 << 20, (4 << 20) + 1, 80_000_000, 1 << 40] {
            let room = size_class(bytes).unwrap();
            assert!(
                room >= bytes
                    && room <= bytes + (bytes / 8).max(if bytes < 2 * HUGE_PAGE { ALIGNMENT } else { HUGE_PAGE }),
                "{bytes}: {room}"
            );
            assert!(bytes < 2 * HUGE_PAGE || room.is_multiple_of(HUGE_PAGE), "{bytes}: {room}");
            assert_eq!(size_class(room), Some(room));
        }
    }

    #[test]
    fn what_no_memory_holds_is_refused() {
        assert!(Pool::new(0).take(ElementType::F64, &[1 << 40, 1 << 40]).is_none());
        assert!(Pool::new(0).take(ElementType::U8, &[usize::MAX]).is_none());
    }
}
