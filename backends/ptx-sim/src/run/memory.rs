//! Device memory: allocations, each in a range of addresses of its own.

use super::arena::Arena;
use crate::fault::{Fault, FaultKind};
use crate::random::Random;

/// Every allocation has so many addresses for itself, so that no index out of bounds meets another.
const RANGE: u32 = 36;
/// Allocations begin at multiples of this, as those of the driver do.
const ALIGN: u64 = 256;

#[derive(Debug)]
struct Region {
    name: String,
    /// The lowest address.
    base: u64,
    bytes: u64,
    /// Absent once freed.
    arena: Option<Arena>,
    /// Stores of kernels are faults.
    constant: bool,
}

/// All allocations that there are and were.
#[derive(Debug)]
pub(crate) struct Memory {
    regions: Vec<Region>,
    capacity: u64,
    used: u64,
}

impl Memory {
    pub fn new(capacity: u64) -> Self {
        Self { regions: Vec::new(), capacity, used: 0 }
    }

    /// Bytes that allocations have, and bytes that there are.
    pub fn usage(&self) -> (u64, u64) {
        (self.used, self.capacity)
    }

    pub fn allocate(&mut self, name: &str, bytes: u64, constant: bool, random: &mut Random) -> Result<u64, Fault> {
        let number = self.regions.len() as u64 + 1;
        let room = self.capacity - self.used;
        if bytes > room || bytes >= 1 << (RANGE - 1) || number >= 1 << (60 - RANGE) {
            let message = format!("no room for `{name}`: {bytes} bytes, and {room} of {} are free", self.capacity);
            return Err(Fault::of_host(FaultKind::OutOfMemory, message));
        }
        // Not always at a large power of two, and with room below for indices that are negative.
        let base = (number << RANGE) + (1 << (RANGE - 2)) + ALIGN * random.below(4096) as u64;
        let arena = Some(Arena::new(bytes as usize));
        self.regions.push(Region { name: name.into(), base, bytes, arena, constant });
        self.used += bytes;
        Ok(base)
    }

    pub fn free(&mut self, address: u64) -> Result<(), Fault> {
        let region = self.region(address).filter(|&at| self.regions[at].base == address);
        let Some(at) = region else {
            let message = format!("{address:#x} is no allocation");
            return Err(Fault::of_host(FaultKind::OutOfBounds, message));
        };
        let region = &mut self.regions[at];
        if region.arena.take().is_none() {
            return Err(Fault::of_host(FaultKind::Freed, format!("`{}` is freed twice", region.name)));
        }
        self.used -= region.bytes;
        Ok(())
    }

    fn region(&self, address: u64) -> Option<usize> {
        let number = (address >> RANGE) as usize;
        (1..=self.regions.len()).contains(&number).then(|| number - 1)
    }

    /// The allocation that an access is in, and the offset in it; none if [`Self::locate`] has a reason.
    #[inline]
    pub fn find(&self, address: u64, bytes: u64) -> Option<(usize, usize)> {
        let at = self.region(address)?;
        let region = &self.regions[at];
        let offset = address.wrapping_sub(region.base);
        let inside = offset <= region.bytes && region.bytes - offset >= bytes && region.arena.is_some();
        inside.then_some((at, offset as usize))
    }

    /// The allocation that an access is in, and the offset in it.
    pub fn locate(&self, address: u64, bytes: u64) -> Result<(usize, usize), (FaultKind, String)> {
        let Some(at) = self.region(address) else {
            return Err((FaultKind::OutOfBounds, format!("address {address:#x} is in no allocation")));
        };
        let region = &self.regions[at];
        let offset = address.wrapping_sub(region.base);
        if region.arena.is_none() {
            return Err((
                FaultKind::Freed,
                format!("`{}` was freed before this access at byte {}", region.name, offset as i64),
            ));
        }
        if offset > region.bytes || region.bytes - offset < bytes {
            let (name, size) = (&region.name, region.bytes);
            let message = format!("{bytes} bytes at byte {} are outside of `{name}`, which has {size}", offset as i64);
            return Err((FaultKind::OutOfBounds, message));
        }
        Ok((at, offset as usize))
    }

    /// The memory of an allocation that is there.
    pub fn arena(&mut self, at: usize) -> &mut Arena {
        self.regions[at].arena.as_mut().expect("the allocation was located, and is not freed")
    }

    pub fn is_constant(&self, at: usize) -> bool {
        self.regions[at].constant
    }

    pub fn name(&self, at: usize) -> &str {
        &self.regions[at].name
    }

    /// The host writes.
    pub fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), Fault> {
        let (at, offset) = self.of_host(address, bytes.len() as u64)?;
        let arena = self.arena(at);
        arena.bytes[offset..offset + bytes.len()].copy_from_slice(bytes);
        arena.mark(offset, bytes.len());
        Ok(())
    }

    /// The host reads; what nobody has written is a fault here too.
    pub fn read(&mut self, address: u64, bytes: u64) -> Result<Vec<u8>, Fault> {
        let (at, offset) = self.of_host(address, bytes)?;
        let arena = self.arena(at);
        let length = bytes as usize;
        if let Some(first) = arena.first_unwritten(offset, length) {
            let message =
                format!("byte {first} of `{}` is copied to the host, and nobody has written it", self.name(at));
            return Err(Fault::of_host(FaultKind::Unwritten, message));
        }
        Ok(arena.bytes[offset..offset + length].to_vec())
    }

    /// The host reads, whoever has written it.
    pub fn read_anything(&mut self, address: u64, bytes: u64) -> Result<Vec<u8>, Fault> {
        let (at, offset) = self.of_host(address, bytes)?;
        Ok(self.arena(at).bytes[offset..offset + bytes as usize].to_vec())
    }

    /// Nobody has written the allocation.
    pub fn forget(&mut self, address: u64) -> Result<(), Fault> {
        let (at, _) = self.of_host(address, 0)?;
        self.arena(at).forget();
        Ok(())
    }

    fn of_host(&self, address: u64, bytes: u64) -> Result<(usize, usize), Fault> {
        self.locate(address, bytes).map_err(|(kind, message)| Fault::of_host(kind, message))
    }
}
