//! What strong writes make known to those who read them: release and acquire.

use super::clock::{Thread, Threads, View};
use crate::code::{Order, Scope};
use std::collections::HashMap;
use std::rc::Rc;

#[derive(Clone, Debug)]
struct Message {
    view: Rc<View>,
    /// Whether threads of other blocks may take it.
    wide: bool,
    block: u32,
}

/// By the place in memory; cleared at the end of a launch, which orders everything.
#[derive(Debug, Default)]
pub(crate) struct Messages(HashMap<u64, Message>);

impl Messages {
    /// A strong read, or the read of an atomic instruction.
    pub fn read(&self, place: u64, order: Order, thread: &mut Thread, threads: Threads) {
        let Some(message) = self.0.get(&place) else { return };
        let own = message.block == threads.block(thread.number);
        if !own && !message.wide {
            return;
        }
        if !order.acquire {
            if !thread.seen.iter().any(|(view, ..)| Rc::ptr_eq(view, &message.view)) {
                thread.seen.push((Rc::clone(&message.view), message.block, message.wide));
            }
        } else if own || order.strong == Some(Scope::Device) {
            threads.acquire(thread, &message.view);
        }
    }

    /// A strong write; of an atomic instruction (`keeps`), what was known by the old value stays known by the new one.
    pub fn write(&mut self, place: u64, order: Order, keeps: bool, thread: &mut Thread, threads: Threads) {
        let own = if order.release {
            Some((threads.release(thread), order.strong == Some(Scope::Device)))
        } else {
            let device = order.strong == Some(Scope::Device);
            thread.fenced.as_ref().map(|(view, wide)| (Rc::clone(view), *wide && device))
        };
        let block = threads.block(thread.number);
        match (own, keeps) {
            (None, true) => {}
            (None, false) => {
                if !self.0.is_empty() {
                    self.0.remove(&place);
                }
            }
            (Some((view, wide)), false) => drop(self.0.insert(place, Message { view, wide, block })),
            (Some((view, wide)), true) => {
                let message = match self.0.remove(&place) {
                    Some(before) if !Rc::ptr_eq(&before.view, &view) => {
                        let mut joined = View::clone(&before.view);
                        joined.join(&view);
                        Message { view: Rc::new(joined), wide: wide || before.wide, block }
                    }
                    _ => Message { view, wide, block },
                };
                self.0.insert(place, message);
            }
        }
    }

    /// A fence: what strong reads have seen is known, and what was done is told by the strong writes that follow.
    pub fn fence(scope: Scope, thread: &mut Thread, threads: Threads) {
        let block = threads.block(thread.number);
        for (view, of, _) in std::mem::take(&mut thread.seen) {
            if of == block || scope == Scope::Device {
                threads.acquire(thread, &view);
            }
        }
        let view = threads.release(thread);
        thread.fenced = Some((view, scope == Scope::Device));
    }

    pub fn clear(&mut self) {
        self.0.clear();
    }
}
