//! What strong writes make known to those who read them: release and acquire.

use super::clock::{Thread, Threads, Told};
use crate::code::{Order, Scope};
use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

/// What is told, and whether threads of other blocks may take it.
#[derive(Clone, Debug)]
struct Message {
    told: Told,
    wide: bool,
}

/// By the place in memory. They go with their launch, whose end orders everything.
#[derive(Debug, Default)]
pub(crate) struct Messages(HashMap<u64, Vec<Message>, BuildHasherDefault<OfPlace>>);

/// The hash of a place. Nobody makes places meet, and every atomic instruction asks for its own: the standard library's hash takes too long.
#[derive(Debug, Default)]
struct OfPlace(u64);

impl Hasher for OfPlace {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u64(&mut self, number: u64) {
        // The product's high bits depend on all bits; the map looks at both ends.
        let product = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = product ^ product >> 32;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Messages {
    /// A strong read, or the read of an atomic instruction.
    pub fn read(&self, place: u64, order: Order, thread: &mut Thread, threads: Threads) {
        let Some(messages) = self.0.get(&place) else { return };
        let block = threads.block(thread.number);
        for Message { told, wide } in messages {
            let own = threads.block(told.thread) == block;
            if !own && !wide || threads.has(thread, told) {
                continue;
            }
            if !order.acquire {
                thread.seen.push((told.clone(), *wide));
            } else if own || order.strong == Some(Scope::Device) {
                threads.acquire(thread, told);
            }
        }
        // Who polls sees the same again and again.
        if thread.seen.len() > 64 {
            thread.seen.sort_by_key(|(told, wide)| (told.thread, told.clock(), *wide));
            thread.seen.dedup_by_key(|(told, wide)| (told.thread, told.clock(), *wide));
        }
    }

    /// A strong write; of an atomic instruction (`keeps`), what was known by the old value stays known by the new one.
    pub fn write(&mut self, place: u64, order: Order, keeps: bool, thread: &mut Thread, threads: Threads) {
        let device = order.strong == Some(Scope::Device);
        let own = if order.release {
            Some(Message { told: threads.release(thread), wide: device })
        } else {
            thread.fenced.as_ref().map(|(told, wide)| Message { told: told.clone(), wide: *wide && device })
        };
        match own {
            None if keeps => {}
            None => {
                if !self.0.is_empty() {
                    self.0.remove(&place);
                }
            }
            Some(message) => {
                let messages = self.0.entry(place).or_default();
                // What the new message has need not be kept, if that is for as many.
                let has =
                    |before: &Message| threads.includes(&message.told, &before.told) && message.wide >= before.wide;
                messages.retain(|before| keeps && !has(before));
                messages.push(message);
            }
        }
    }

    /// A fence: what strong reads have seen is known, and what was done is told by the strong writes that follow.
    pub fn fence(scope: Scope, thread: &mut Thread, threads: Threads) {
        let block = threads.block(thread.number);
        for (told, _) in std::mem::take(&mut thread.seen) {
            if threads.block(told.thread) == block || scope == Scope::Device {
                threads.acquire(thread, &told);
            }
        }
        let told = threads.release(thread);
        thread.fenced = Some((told, scope == Scope::Device));
    }
}
