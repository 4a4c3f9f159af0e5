//! Memory that was used and will be used again: fresh pages cost more than what is computed in them.

use std::sync::Mutex;

use fusebox_ir::{Array, ElementType};

/// Arrays below this many bytes are left to the allocator.
const SMALL: usize = 16 << 10;

/// Host memory for arrays, kept from run to run.
#[derive(Debug)]
pub struct Pool {
    limit: usize,
    free: Mutex<Vec<Array>>,
}

impl Pool {
    /// A pool that keeps at most `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { limit, free: Mutex::new(Vec::new()) }
    }

    /// An array of any contents; `None` if there is no memory for it.
    pub fn take(&self, element: ElementType, extents: &[usize]) -> Option<Array> {
        let bytes = extents.iter().try_fold(element.bytes(), |size, &extent| size.checked_mul(extent))?;
        if bytes >= SMALL
            && let Ok(mut free) = self.free.lock()
        {
            // The smallest that fits.
            let mut order: Vec<usize> = (0..free.len()).filter(|&position| free[position].capacity() > bytes).collect();
            order.sort_by_key(|&position| free[position].capacity());
            if let Some(&position) = order.first() {
                let array = free.swap_remove(position);
                match array.recycled(element, extents) {
                    Ok(array) => return Some(array),
                    Err(array) => free.push(array),
                }
            }
        }
        Array::zeros(element, extents).ok()
    }

    /// Takes an array back.
    pub fn give(&self, array: Array) {
        if array.capacity() < SMALL {
            return;
        }
        // Memory that somebody else sees too is none to write in.
        let (element, extents) = (array.element(), array.extents().to_vec());
        if let (Ok(array), Ok(mut free)) = (array.recycled(element, &extents), self.free.lock()) {
            free.push(array);
            let mut held: usize = free.iter().map(Array::capacity).sum();
            while held > self.limit && !free.is_empty() {
                held -= free.remove(0).capacity();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_comes_back_and_the_limit_holds() {
        let pool = Pool::new(1 << 20);
        let array = pool.take(ElementType::F32, &[10_000]).unwrap();
        let address = array.bytes().as_ptr();
        pool.give(array);
        let again = pool.take(ElementType::I64, &[5_000]).unwrap();
        assert_eq!(
            (again.bytes().as_ptr(), again.element(), again.extents()),
            (address, ElementType::I64, &[5_000usize][..])
        );
        pool.give(again);
        for _ in 0..100 {
            pool.give(Array::zeros(ElementType::U8, &[100_000]).unwrap());
        }
        assert!(pool.free.lock().unwrap().iter().map(Array::capacity).sum::<usize>() <= 1 << 20);
    }

    #[test]
    fn what_no_memory_holds_is_refused() {
        assert!(Pool::new(0).take(ElementType::F64, &[1 << 40, 1 << 40]).is_none());
    }
}
