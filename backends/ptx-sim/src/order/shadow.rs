//! Who wrote and who read each cell of memory last, and the conflicts that this shows.
//!
//! A cell is four bytes, or one as soon as something smaller is accessed. Of writes the last is kept, of reads all since then.
//! Source: Flanagan, Freund, "FastTrack: efficient and precise dynamic race detection", PLDI 2009.

use super::clock::{Thread, Threads};
use crate::code::Scope;

const NOBODY: u32 = u32::MAX;

/// How somebody accessed a cell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct How {
    /// Of a strong access, who sees it.
    pub strong: Option<Scope>,
    /// Bytes of the access.
    pub bytes: u8,
    /// A read of what nobody may write in the same launch, in whatever order.
    pub constant: bool,
}

impl How {
    /// Of two accesses by one thread, the one that conflicts with more.
    fn weaker(self, other: Self) -> Self {
        let weaker = if other.strong < self.strong { other } else { self };
        Self { constant: self.constant || other.constant, ..weaker }
    }

    /// Whether two strong accesses that overlap are of one value, and each sees the other.
    fn agrees(self, other: Self, same_block: bool) -> bool {
        let seen = |how: Self| how.strong.is_some_and(|scope| same_block || scope == Scope::Device);
        seen(self) && seen(other) && self.bytes == other.bytes
    }
}

/// The reads of one warp.
#[derive(Clone, Copy, Debug)]
struct Readers {
    warp: u32,
    lanes: u32,
    clock: u32,
    how: How,
    line: u32,
}

#[derive(Clone, Copy, Debug)]
struct Cell {
    /// Of which run of a block or launch this is; what is older does not count.
    stamp: u32,
    writer: u32,
    write_clock: u32,
    write_line: u32,
    /// Or, with `many`, where the readers are.
    reader: u32,
    read_clock: u32,
    read_line: u32,
    write_how: How,
    read_how: How,
    many: bool,
}

const FRESH: How = How { strong: None, bytes: 0, constant: false };
const EMPTY: Cell = Cell {
    stamp: 0,
    writer: NOBODY,
    write_clock: 0,
    write_line: 0,
    reader: NOBODY,
    read_clock: 0,
    read_line: 0,
    write_how: FRESH,
    read_how: FRESH,
    many: false,
};

/// Two accesses without an order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Conflict {
    pub other: u32,
    pub other_writes: bool,
    pub line: u32,
    /// Both are strong, but of different sizes.
    pub torn: bool,
    /// One of them is a read of what nobody may write.
    pub constant: bool,
}

/// The cells of one piece of memory.
#[derive(Debug, Default)]
pub(crate) struct Shadow {
    /// Bytes of a cell: one, or four.
    fine: bool,
    cells: Vec<Cell>,
    many: Vec<Vec<Readers>>,
    unused: Vec<u32>,
}

/// Who accesses, and when.
pub(crate) struct Access<'a> {
    pub thread: &'a Thread,
    pub threads: Threads,
    pub stamp: u32,
    pub line: u32,
    pub how: How,
}

impl Access<'_> {
    /// Whether an earlier access does not conflict with this one.
    fn follows(&self, other: u32, clock: u32, how: How) -> bool {
        if self.how.constant || how.constant {
            return false;
        }
        if other == self.thread.number || self.threads.knows(self.thread, other, clock) {
            return true;
        }
        self.agrees(other, how)
    }

    /// Whether this and an access of that thread's block are strong, of one value, and see each other.
    fn agrees(&self, other: u32, how: How) -> bool {
        let same_block = self.threads.block(other) == self.threads.block(self.thread.number);
        !self.how.constant && !how.constant && how.agrees(self.how, same_block)
    }

    fn conflict(&self, other: u32, other_writes: bool, line: u32, how: How) -> Conflict {
        let torn = self.how.strong.is_some() && how.strong.is_some() && self.how.bytes != how.bytes;
        Conflict { other, other_writes, line, torn, constant: self.how.constant || how.constant }
    }
}

impl Shadow {
    /// Notes an access, and says with what it conflicts. `size`: the bytes of the memory.
    pub fn access(&mut self, offset: usize, size: usize, write: bool, access: &Access<'_>) -> Result<(), Conflict> {
        if self.cells.is_empty() {
            self.cells = vec![EMPTY; size.div_ceil(4)];
        }
        let bytes = usize::from(access.how.bytes);
        if bytes < 4 && !self.fine {
            self.refine(size);
        }
        let shift = if self.fine { 0 } else { 2 };
        if bytes == 1 << shift {
            return if write { self.write(offset >> shift, access) } else { self.read(offset >> shift, access) };
        }
        for cell in offset >> shift..(offset + bytes).div_ceil(1 << shift) {
            if write { self.write(cell, access)? } else { self.read(cell, access)? }
        }
        Ok(())
    }

    fn refine(&mut self, size: usize) {
        let words = std::mem::take(&mut self.cells);
        self.cells.reserve(size);
        for at in 0..size {
            let mut cell = words[at >> 2];
            if cell.many && at & 3 != 0 {
                let readers = self.many[cell.reader as usize].clone();
                cell.reader = self.keep(readers);
            }
            self.cells.push(cell);
        }
        self.fine = true;
    }

    fn keep(&mut self, readers: Vec<Readers>) -> u32 {
        match self.unused.pop() {
            Some(at) => {
                self.many[at as usize] = readers;
                at
            }
            None => {
                self.many.push(readers);
                self.many.len() as u32 - 1
            }
        }
    }

    /// An empty list, with the memory of one that is no longer used.
    fn unused_readers(&mut self) -> Vec<Readers> {
        let last = self.unused.last().and_then(|&at| self.many.get_mut(at as usize));
        let mut readers = last.map(std::mem::take).unwrap_or_default();
        readers.clear();
        readers
    }

    #[inline]
    fn renew(&mut self, cell: usize, stamp: u32) {
        let old = &self.cells[cell];
        if old.stamp != stamp {
            if old.many {
                self.unused.push(old.reader);
            }
            self.cells[cell] = Cell { stamp, ..EMPTY };
        }
    }

    fn read(&mut self, at: usize, access: &Access<'_>) -> Result<(), Conflict> {
        self.renew(at, access.stamp);
        let cell = &mut self.cells[at];
        if cell.writer != NOBODY && !access.follows(cell.writer, cell.write_clock, cell.write_how) {
            return Err(access.conflict(cell.writer, true, cell.write_line, cell.write_how));
        }
        let me = access.thread;
        if cell.many {
            let now = Readers {
                warp: me.number / 32,
                lanes: 1 << (me.number % 32),
                clock: me.clock,
                how: access.how,
                line: access.line,
            };
            note(&mut self.many[cell.reader as usize], now);
            return Ok(());
        }
        if cell.reader == me.number {
            (cell.read_clock, cell.read_how, cell.read_line) =
                (me.clock, access.how.weaker(cell.read_how), access.line);
            return Ok(());
        }
        if cell.reader == NOBODY || access.threads.knows(me, cell.reader, cell.read_clock) {
            let constant = access.how.constant || cell.read_how.constant;
            cell.read_how = How { constant, ..access.how };
            (cell.reader, cell.read_clock, cell.read_line) = (me.number, me.clock, access.line);
            return Ok(());
        }
        let before = *cell;
        let mut readers = self.unused_readers();
        for (number, clock, how, line) in [
            (before.reader, before.read_clock, before.read_how, before.read_line),
            (me.number, me.clock, access.how, access.line),
        ] {
            note(&mut readers, Readers { warp: number / 32, lanes: 1 << (number % 32), clock, how, line });
        }
        let kept = self.keep(readers);
        let cell = &mut self.cells[at];
        (cell.many, cell.reader) = (true, kept);
        Ok(())
    }

    fn write(&mut self, at: usize, access: &Access<'_>) -> Result<(), Conflict> {
        self.renew(at, access.stamp);
        let (cell, me) = (&mut self.cells[at], access.thread.number);
        if (cell.writer == me || cell.writer == NOBODY)
            && (cell.reader == me || cell.reader == NOBODY)
            && !cell.many
            && !cell.read_how.constant
        {
            (cell.writer, cell.write_clock, cell.write_line) = (me, access.thread.clock, access.line);
            (cell.write_how, cell.reader) = (access.how, NOBODY);
            return Ok(());
        }
        let cell = *cell;
        if cell.writer != NOBODY && !access.follows(cell.writer, cell.write_clock, cell.write_how) {
            return Err(access.conflict(cell.writer, true, cell.write_line, cell.write_how));
        }
        if cell.many {
            for readers in &self.many[cell.reader as usize] {
                // Those of a warp are of one block.
                if access.agrees(readers.warp * 32, readers.how) {
                    continue;
                }
                let lanes = (0..32).filter(|lane| readers.lanes >> lane & 1 == 1).map(|lane| readers.warp * 32 + lane);
                for reader in lanes {
                    if !access.follows(reader, readers.clock, readers.how) {
                        return Err(access.conflict(reader, false, readers.line, readers.how));
                    }
                }
            }
            self.unused.push(cell.reader);
        } else if cell.reader != NOBODY && !access.follows(cell.reader, cell.read_clock, cell.read_how) {
            return Err(access.conflict(cell.reader, false, cell.read_line, cell.read_how));
        }
        self.cells[at] = Cell {
            writer: access.thread.number,
            write_clock: access.thread.clock,
            write_line: access.line,
            write_how: access.how,
            stamp: access.stamp,
            ..EMPTY
        };
        Ok(())
    }
}

/// Adds a read; the warp's clock is the latest, which asks for no less order than there must be.
fn note(readers: &mut Vec<Readers>, now: Readers) {
    let at = match readers.last() {
        Some(last) if last.warp < now.warp => Err(readers.len()),
        _ => readers.binary_search_by_key(&now.warp, |readers| readers.warp),
    };
    match at {
        Ok(at) => {
            let known = &mut readers[at];
            known.lanes |= now.lanes;
            (known.clock, known.line) = (known.clock.max(now.clock), now.line);
            known.how = known.how.weaker(now.how);
        }
        Err(at) => readers.insert(at, now),
    }
}
