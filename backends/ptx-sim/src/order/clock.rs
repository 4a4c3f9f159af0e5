//! What a thread knows of others: which of their accesses happened before its own.
//!
//! Every thread has a clock, which goes on when it releases what it did. A barrier of a block sets the clocks of all its threads to one value, so
//! that what a thread knows of a block is a number and few exceptions, however many threads there are.

use std::collections::BTreeMap;
use std::rc::Rc;

/// What is known of one block.
#[derive(Clone, Debug, Default)]
struct Known {
    /// Of every thread, what it did at this clock and before.
    base: u32,
    /// Of these threads more; in order.
    extra: Vec<(u32, u32)>,
}

impl Known {
    fn covers(&self, thread: u32, clock: u32) -> bool {
        clock <= self.base
            || self.extra.binary_search_by_key(&thread, |&(thread, _)| thread).is_ok_and(|at| clock <= self.extra[at].1)
    }

    fn add(&mut self, thread: u32, clock: u32) {
        match self.extra.binary_search_by_key(&thread, |&(thread, _)| thread) {
            Ok(at) => self.extra[at].1 = self.extra[at].1.max(clock),
            Err(at) => self.extra.insert(at, (thread, clock)),
        }
    }

    fn join(&mut self, other: &Self) {
        self.base = self.base.max(other.base);
        for &(thread, clock) in &other.extra {
            self.add(thread, clock);
        }
        let base = self.base;
        self.extra.retain(|&(_, clock)| clock > base);
    }
}

/// What is known of all blocks.
#[derive(Clone, Debug, Default)]
pub(crate) struct View(BTreeMap<u32, Known>);

impl View {
    /// What either knows.
    pub fn join(&mut self, other: &Self) {
        for (&block, known) in &other.0 {
            self.0.entry(block).or_default().join(known);
        }
    }
}

/// The order that one thread sees.
#[derive(Clone, Debug)]
pub(crate) struct Thread {
    /// Its number: of its block times the threads of a block (in whole warps), and its place in it.
    pub number: u32,
    pub clock: u32,
    /// What it knows of all threads of its block.
    base: u32,
    /// What it knows beyond.
    view: Rc<View>,
    /// What a strong write after the last fence makes known, and whether to all blocks.
    pub fenced: Option<(Told, bool)>,
    /// What strong reads have seen, which the next fence makes known.
    pub seen: Vec<(Told, bool)>,
}

/// What a thread knew and had done at a point, for others. It is not put together before somebody takes it.
#[derive(Clone, Debug)]
pub(crate) struct Told {
    pub thread: u32,
    clock: u32,
    base: u32,
    view: Rc<View>,
}

impl Told {
    /// When it was told, by the clock of the thread.
    pub fn clock(&self) -> u32 {
        self.clock
    }
}

/// How threads are numbered.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Threads {
    /// Threads of a block, in whole warps.
    pub of_block: u32,
}

impl Threads {
    pub fn block(self, thread: u32) -> u32 {
        thread / self.of_block
    }

    /// A thread that has just begun: it knows what was done before the launch.
    pub fn begin(self, number: u32, view: Rc<View>) -> Thread {
        Thread { number, clock: 1, base: 0, view, fenced: None, seen: Vec::new() }
    }

    /// Whether what `other` did at this clock happened before what `thread` does now.
    pub fn knows(self, thread: &Thread, other: u32, clock: u32) -> bool {
        if other == thread.number {
            return true;
        }
        let block = self.block(other);
        if block == self.block(thread.number) && clock <= thread.base {
            return true;
        }
        thread.view.0.get(&block).is_some_and(|known| known.covers(other, clock))
    }

    /// What `thread` knows and did, for others; what it does from here on is not in it.
    pub fn release(self, thread: &mut Thread) -> Told {
        let told =
            Told { thread: thread.number, clock: thread.clock, base: thread.base, view: Rc::clone(&thread.view) };
        thread.clock += 1;
        told
    }

    /// Whether the thread knows all of it already: who knows what somebody did knows what that one knew.
    pub fn has(self, thread: &Thread, told: &Told) -> bool {
        self.knows(thread, told.thread, told.clock)
    }

    /// Whether what is told has all of what was told before.
    pub fn includes(self, told: &Told, before: &Told) -> bool {
        let block = self.block(before.thread);
        told.thread == before.thread && before.clock <= told.clock
            || self.block(told.thread) == block && before.clock <= told.base
            || told.view.0.get(&block).is_some_and(|known| known.covers(before.thread, before.clock))
    }

    /// `thread` knows from here on what it was told.
    pub fn acquire(self, thread: &mut Thread, told: &Told) {
        if self.has(thread, told) {
            return;
        }
        let (block, own) = (self.block(told.thread), self.block(thread.number));
        if !Rc::ptr_eq(&told.view, &thread.view) {
            Rc::make_mut(&mut thread.view).join(&told.view);
        }
        let view = Rc::make_mut(&mut thread.view);
        let known = view.0.entry(block).or_default();
        known.base = known.base.max(told.base);
        known.add(told.thread, told.clock);
        if let Some(own) = view.0.get(&own) {
            thread.base = thread.base.max(own.base);
        }
    }
}

/// All threads of a block come to a barrier: each knows what all did.
pub(crate) fn meet(threads: &mut [&mut Thread], numbers: Threads) {
    let Some(first) = threads.first() else { return };
    let block = numbers.block(first.number);
    let clock = threads.iter().map(|thread| thread.clock).max().unwrap_or(0);
    let mut view = Rc::clone(&first.view);
    for thread in &threads[1..] {
        if !Rc::ptr_eq(&thread.view, &view) && !thread.view.0.is_empty() {
            Rc::make_mut(&mut view).join(&thread.view);
        }
    }
    if view.0.contains_key(&block) {
        Rc::make_mut(&mut view).0.remove(&block); // the barrier tells more
    }
    for thread in threads {
        (thread.clock, thread.base) = (clock + 1, clock);
        thread.view = Rc::clone(&view);
    }
}

/// Some threads of a block meet, those of a warp or of a barrier with a number of threads.
pub(crate) fn meet_some(threads: &mut [&mut Thread], numbers: Threads) {
    let Some(first) = threads.first() else { return };
    let block = numbers.block(first.number);
    let base = threads.iter().map(|thread| thread.base).max().unwrap_or(0);
    let mut view = View::clone(&first.view);
    let mut last = Rc::clone(&first.view);
    for thread in &threads[1..] {
        if !Rc::ptr_eq(&thread.view, &last) {
            view.join(&thread.view);
            last = Rc::clone(&thread.view);
        }
    }
    let mut own = Known { base, extra: threads.iter().map(|thread| (thread.number, thread.clock)).collect() };
    own.extra.sort_unstable();
    view.0.entry(block).or_default().join(&own);
    let view = Rc::new(view);
    for thread in threads {
        (thread.clock, thread.base) = (thread.clock + 1, base);
        thread.view = Rc::clone(&view);
    }
}
