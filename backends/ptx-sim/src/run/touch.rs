//! Accesses of memory, with everything that is checked of them.

use super::arena::Arena;
use super::block::{Block, Launched};
use super::warp::Warp;
use crate::code::Order;
use crate::fault::FaultKind;
use crate::layout::{LOCAL_WINDOW, SHARED_WINDOW};
use crate::order::{Access, How};
use crate::text::tree::Space;

/// What is wrong with an access.
pub(super) type Wrong = (FaultKind, String);

/// One access of one lane.
pub(super) struct Touch {
    pub lane: usize,
    pub space: Space,
    pub address: u64,
    pub bytes: usize,
    pub order: Order,
    pub line: u32,
}

/// The memory that an address is in.
#[derive(Clone, Copy)]
enum Where {
    Device(usize),
    Shared,
    Local,
    Param,
}

impl Launched<'_> {
    /// A load of one element.
    pub fn load(&mut self, block: &mut Block, warp: &mut Warp, touch: &Touch) -> Result<u64, Wrong> {
        let (at, offset) = self.find(block, warp, touch)?;
        if let Where::Param = at {
            let mut value = [0; 8];
            value[..touch.bytes].copy_from_slice(&self.params[offset..offset + touch.bytes]);
            return Ok(u64::from_le_bytes(value));
        }
        self.check(block, warp, touch, at, offset, false)?;
        let place = self.place(block, touch, at, offset);
        if touch.order.strong.is_some() {
            let threads = self.threads;
            self.messages.read(place, touch.order, &mut warp.threads[touch.lane], threads);
        }
        let arena = arena(self, block, warp, touch.lane, at);
        if !arena.is_written(offset, touch.bytes) {
            return Err(self.unwritten(at, offset));
        }
        Ok(arena.value(offset, touch.bytes))
    }

    /// A store of one element.
    pub fn store(&mut self, block: &mut Block, warp: &mut Warp, touch: &Touch, value: u64) -> Result<(), Wrong> {
        let (at, offset) = self.find(block, warp, touch)?;
        self.writable(at)?;
        self.check(block, warp, touch, at, offset, true)?;
        if touch.order.strong.is_some() {
            let (place, threads) = (self.place(block, touch, at, offset), self.threads);
            self.messages.write(place, touch.order, false, &mut warp.threads[touch.lane], threads);
        }
        if arena(self, block, warp, touch.lane, at).set(offset, touch.bytes, value) {
            self.changed();
        }
        Ok(())
    }

    /// An atomic update; gives what was there.
    pub fn update(
        &mut self,
        block: &mut Block,
        warp: &mut Warp,
        touch: &Touch,
        new: impl Fn(u64, bool) -> u64,
    ) -> Result<u64, Wrong> {
        let (at, offset) = self.find(block, warp, touch)?;
        self.writable(at)?;
        self.check(block, warp, touch, at, offset, true)?;
        let (place, threads) = (self.place(block, touch, at, offset), self.threads);
        self.messages.read(place, touch.order, &mut warp.threads[touch.lane], threads);
        self.messages.write(place, touch.order, true, &mut warp.threads[touch.lane], threads);
        let arena = arena(self, block, warp, touch.lane, at);
        if !arena.is_written(offset, touch.bytes) {
            return Err(self.unwritten(at, offset));
        }
        let old = arena.value(offset, touch.bytes);
        if arena.set(offset, touch.bytes, new(old, matches!(at, Where::Device(_)))) {
            self.changed();
        }
        Ok(old)
    }

    fn find(&self, block: &Block, warp: &mut Warp, touch: &Touch) -> Result<(Where, usize), Wrong> {
        let (address, bytes) = (touch.address, touch.bytes as u64);
        if address & (bytes - 1) != 0 {
            return Err((FaultKind::Misaligned, format!("address {address:#x} is no multiple of {bytes}")));
        }
        let inside = |at: Where, address: u64, size: usize, what: &str| {
            if address > size as u64 || size as u64 - address < bytes {
                let message =
                    format!("{bytes} bytes at byte {} are outside of {what}, which has {size}", address as i64);
                return Err((FaultKind::OutOfBounds, message));
            }
            Ok((at, address as usize))
        };
        let shared =
            |address| inside(Where::Shared, address, block.shared.bytes.len(), "the shared memory of the block");
        match touch.space {
            Space::Param => inside(Where::Param, address, self.params.len(), "the parameters"),
            Space::Shared => shared(address),
            Space::Generic if (SHARED_WINDOW..LOCAL_WINDOW).contains(&address) => shared(address - SHARED_WINDOW),
            Space::Local | Space::Generic if touch.space == Space::Local || address >= LOCAL_WINDOW => {
                let size = self.entry.local as usize;
                let address = if touch.space == Space::Local { address } else { address - LOCAL_WINDOW };
                let found = inside(Where::Local, address, size, "the local memory of the thread")?;
                if warp.local.is_empty() {
                    warp.local.resize_with(32, || None);
                }
                warp.local[touch.lane].get_or_insert_with(|| Arena::new(size));
                Ok(found)
            }
            _ => {
                let (at, offset) = match self.memory.find(address, bytes) {
                    Some(found) => found,
                    None => self.memory.locate(address, bytes)?,
                };
                if touch.space == Space::Const && !self.memory.is_constant(at) {
                    return Err((FaultKind::OutOfBounds, format!("`{}` is no constant memory", self.memory.name(at))));
                }
                Ok((Where::Device(at), offset))
            }
        }
    }

    fn writable(&self, at: Where) -> Result<(), Wrong> {
        match at {
            Where::Device(at) if self.memory.is_constant(at) => {
                Err((FaultKind::ReadOnly, format!("`{}` is constant", self.memory.name(at))))
            }
            _ => Ok(()),
        }
    }

    /// Whether the access is ordered with all others.
    fn check(
        &mut self,
        block: &mut Block,
        warp: &Warp,
        touch: &Touch,
        at: Where,
        offset: usize,
        writes: bool,
    ) -> Result<(), Wrong> {
        let (stamp, arena) = match at {
            Where::Device(at) => (self.stamp, self.memory.arena(at)),
            Where::Shared => (block.stamp, &mut block.shared),
            Where::Local | Where::Param => return Ok(()),
        };
        let how = How { strong: touch.order.strong, bytes: touch.bytes as u8, constant: touch.order.constant };
        let thread = &warp.threads[touch.lane];
        let access = Access { thread, threads: self.threads, stamp, line: touch.line, how };
        let size = arena.bytes.len();
        arena.shadow.access(offset, size, writes, &access).map_err(|conflict| {
            let what = match at {
                Where::Device(at) => format!("byte {offset} of `{}`", self.memory.name(at)),
                _ => format!("byte {offset} of shared memory"),
            };
            self.conflict(conflict, block, writes, &what)
        })
    }

    fn unwritten(&self, at: Where, offset: usize) -> Wrong {
        let what = match at {
            Where::Device(at) => format!("`{}`", self.memory.name(at)),
            Where::Shared => "shared memory".into(),
            Where::Local | Where::Param => "local memory".into(),
        };
        (FaultKind::Unwritten, format!("reads byte {offset} of {what}, which nobody has written"))
    }

    /// A number for a place in memory, of all spaces.
    fn place(&self, block: &Block, touch: &Touch, at: Where, offset: usize) -> u64 {
        match at {
            Where::Device(_) => touch.address,
            _ => SHARED_WINDOW | u64::from(block.number) << 24 | offset as u64,
        }
    }
}

fn arena<'a>(
    launched: &'a mut Launched<'_>,
    block: &'a mut Block,
    warp: &'a mut Warp,
    lane: usize,
    at: Where,
) -> &'a mut Arena {
    match at {
        Where::Device(at) => launched.memory.arena(at),
        Where::Local => warp.local[lane].as_mut().expect("found memory is there"),
        Where::Shared | Where::Param => &mut block.shared,
    }
}
