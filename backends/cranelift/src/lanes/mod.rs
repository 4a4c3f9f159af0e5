//! Lanes that run one at a time: each thread takes lanes, and runs them by itself, without another thread's help.
//!
//! A lane that asks for a large array may be worth the work of all threads on each of its kernels: it is left until the others are done. Then it is known
//! what all these lanes ask for, and [`left`] says which of them run on a thread each, and which on all threads.

mod arrays;
mod frame;
mod helpers;
mod kept;
mod lane;
mod left;
mod lower;
mod memory;
mod pieces;
mod script;
pub(crate) mod scripts;
mod small;
mod writing;

use std::{
    ops::Range,
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering},
    },
};

use fusebox_backend::{AtOnce, BackendError, Joined, LaneRun, Lanes, Stored, Values, lock};
use fusebox_ir::{Array, ElementType, Fault, Place, Plan, RunError};

use self::{frame::Stop, lane::LaneScript, left::Left, memory::LaneMemory, pieces::Pieces};
pub(crate) use self::{memory::POOL_BYTES, small::SmallPlan};
use crate::{Shared, cpu::Cpu};

/// Bytes that lanes give from which on all threads put them together: one copies as many in the time that it takes to call the others.
const TOGETHER_FROM: usize = 1 << 20;

/// How many pieces of work each thread has, so that none waits long for another at the end.
const PIECES: usize = 32;

/// What a thread needs to run lanes: kept from run to run.
#[derive(Debug)]
pub(crate) struct Worker {
    /// What a thread alone has in the place of what all share.
    shared: Shared,
    values: Values<Array>,
    /// Memory of lanes.
    memory: LaneMemory,
    /// What the lanes give that were run here.
    pieces: Pieces,
}

/// What the workers say beside what lanes give.
#[derive(Debug, Default)]
struct Done {
    left: Vec<Left>,
    /// The first lane that failed.
    failed: Option<(usize, BackendError)>,
    peak: usize,
}

impl Done {
    fn fails(&mut self, lane: usize, error: BackendError) {
        if self.failed.as_ref().is_none_or(|(first, _)| lane < *first) {
            self.failed = Some((lane, error));
        }
    }
}

/// Lanes under way.
struct Running<'a> {
    cpu: &'a Cpu<'a>,
    plan: &'a Plan,
    lanes: &'a Lanes<'a, Array>,
    done: Mutex<Done>,
    /// The first lane that failed, or as many as there are: none behind it needs to run.
    end: AtomicUsize,
}

/// Runs lanes on all threads.
///
/// # Errors
/// What fails in the first lane that does; [`Fault::TooLarge`] if there is no memory for what all lanes give.
pub(crate) fn run(cpu: &Cpu<'_>, plan: &Plan, lanes: &Lanes<'_, Array>) -> Result<AtOnce<Array>, BackendError> {
    let threads = cpu.shared.threads.count();
    let running = Running { cpu, plan, lanes, done: Mutex::default(), end: AtomicUsize::new(lanes.count) };
    let length = (lanes.count / (threads * PIECES)).max(1);
    let workers = threads.min(lanes.count.div_ceil(length)).max(1);
    let mut own: Vec<Worker> = {
        let mut spare = lock(&cpu.shared.lanes);
        let new = || Worker {
            shared: cpu.shared.alone(),
            values: Values::default(),
            memory: LaneMemory::default(),
            pieces: Pieces::default(),
        };
        (0..=workers).map(|_| spare.pop().unwrap_or_else(new)).collect()
    };
    own.iter_mut().for_each(|worker| worker.pieces.begin(lanes.step.given()));
    let slots: Vec<Mutex<&mut Worker>> = own.iter_mut().map(Mutex::new).collect();
    let next = AtomicUsize::new(0);
    let in_order = || {
        let first = next.fetch_add(length, Ordering::Relaxed);
        (first < running.end.load(Ordering::Acquire)).then(|| first..(first + length).min(lanes.count))
    };
    running.on_threads(&slots[..workers], running.most(), &in_order);
    let result = running.rest(workers, &slots);
    drop(slots);
    let joined = result.and_then(|peak| joined(&running, &own, peak));
    own.iter_mut().for_each(|worker| worker.pieces.clear());
    // The last comes out first: each thread finds what it had, which its caches may still hold.
    lock(&cpu.shared.lanes).extend(own.into_iter().rev());
    joined.map(Some)
}

impl Running<'_> {
    /// The bytes of an array from which on it is worth the work of all threads: fewer where there are not as many lanes as threads.
    fn most(&self) -> Option<usize> {
        let threads = self.cpu.shared.threads.count();
        (threads > 1).then(|| (self.cpu.shared.lane_bytes / threads).saturating_mul(self.lanes.count.min(threads)))
    }

    /// Runs pieces, a thread for each slot, until there are none. Lanes that ask for an array of `most` bytes are left.
    fn on_threads(
        &self,
        slots: &[Mutex<&mut Worker>],
        most: Option<usize>,
        next: &(impl Fn() -> Option<Range<usize>> + Sync),
    ) {
        let before = std::mem::take(&mut lock(&self.done).peak);
        self.cpu.shared.threads.each(slots.len(), |number| self.on_thread(&mut lock(&slots[number]), most, next));
        let mut done = lock(&self.done);
        done.peak = done.peak.max(before);
    }

    /// Runs pieces on this thread until there are none.
    fn on_thread(&self, worker: &mut Worker, most: Option<usize>, next: &impl Fn() -> Option<Range<usize>>) {
        // Bytes of a large array that a lane asks for.
        let asked = AtomicUsize::new(0);
        let Worker { shared, values, memory, pieces } = worker;
        let pool = &self.cpu.shared.memory;
        let independent = self.cpu.independent.filter(|_| shared.threads.count() > 1);
        let cpu = Cpu { shared, independent, asked: Some(&asked), most, ..*self.cpu };
        let outside = self.lanes.outside.iter().map(|(id, stored)| (*id, stored));
        let cleared = self.cpu.cleared;
        let script = self.cpu.scripts.get(self.lanes.step.lane());
        let mut script = script.and_then(|code| LaneScript::new(code, memory, outside, (most, cleared)));
        let mut general: Option<LaneRun<'_, Cpu<'_>>> = None;
        let mut values = Some(values);
        let mut left = Vec::new();
        while let Some(lanes) = next() {
            let mut first = lanes.start;
            for lane in lanes {
                pieces.begin_lane();
                let keep = |_: &LaneScript<'_>, given: usize, bytes: &[u8]| {
                    pieces.extend(given, bytes, pool);
                    Ok(())
                };
                if let Some(script) = &mut script {
                    match script.lane(lane, keep) {
                        Ok(()) => continue,
                        Err(Stop::Large) => asked.store(script.asked.max(1), Ordering::Relaxed),
                        Err(Stop::Failed) => {}
                    }
                }
                pieces.take_back_lane();
                if script.is_some() {
                    self.cpu.shared.lanes_stopped.fetch_add(1, Ordering::Relaxed);
                }
                let ran = if asked.load(Ordering::Relaxed) > 0 {
                    Err(BackendError::BadPlan { message: "a large lane".to_owned() })
                } else {
                    if let Some(values) = values.take() {
                        general = Some(self.begun(&cpu, values));
                    }
                    let Some(run) = &mut general else { break };
                    run.lane(lane, |given, buffer, element, count| {
                        pieces.extend(given, &buffer.bytes()[..count * element.bytes()], pool);
                        Ok(())
                    })
                };
                if let Err(error) = ran {
                    pieces.take_back_lane();
                    let bytes = asked.swap(0, Ordering::Relaxed);
                    if bytes > 0 {
                        pieces.end(first);
                        first = lane + 1;
                        left.push(Left { lane, asked: bytes });
                        continue;
                    }
                    self.end.fetch_min(lane, Ordering::AcqRel);
                    lock(&self.done).fails(lane, error);
                    break;
                }
            }
            pieces.end(first);
        }
        let mut peak = 0;
        if let Some(script) = script {
            peak += script.bytes_held();
            script.end();
        }
        if let Some(run) = general {
            peak += run.peak_bytes();
            run.end();
        }
        let mut done = lock(&self.done);
        done.peak += peak;
        done.left.extend(left);
    }

    /// Runs the lanes that are left, those that may on a thread each, then the others one after the other on all threads; gives the most bytes that
    /// there were at one time.
    fn rest(&self, number: usize, slots: &[Mutex<&mut Worker>]) -> Result<usize, BackendError> {
        let left = std::mem::take(&mut lock(&self.done).left);
        let (apart, left) = left::apart(left, self.cpu.shared.threads.count());
        if !apart.is_empty() {
            let next = AtomicUsize::new(0);
            // Lanes come in any order: those behind the first that fails need not run, but those before it must.
            let largest_first = || {
                let lanes = std::iter::from_fn(|| apart.get(next.fetch_add(1, Ordering::Relaxed)));
                let mut lanes = lanes.filter(|&&lane| lane < self.end.load(Ordering::Acquire));
                lanes.next().map(|&lane| lane..lane + 1)
            };
            self.on_threads(&slots[..number], None, &largest_first);
        }
        let mut done = std::mem::take(&mut *lock(&self.done));
        let end = self.end.load(Ordering::Acquire);
        if let Some(slot) = slots.get(number).filter(|_| !left.is_empty()) {
            let mut worker = lock(slot);
            let Worker { values, pieces, .. } = &mut **worker;
            let mut run = self.begun(self.cpu, values);
            for &lane in left.iter().filter(|&&lane| lane < end) {
                let ran = run.lane(lane, |given, buffer, element, count| {
                    pieces.extend(given, &buffer.bytes()[..count * element.bytes()], &self.cpu.shared.memory);
                    Ok(())
                });
                if let Err(error) = ran {
                    done.fails(lane, error);
                    break;
                }
                pieces.end(lane);
            }
            done.peak = done.peak.max(run.peak_bytes());
            run.end();
        }
        match done.failed.take() {
            Some((_, error)) => Err(error),
            None => Ok(done.peak),
        }
    }

    fn begun<'a>(&'a self, cpu: &'a Cpu<'a>, values: &'a mut Values<Array>) -> LaneRun<'a, Cpu<'a>> {
        let outside = self.lanes.outside.iter().map(|(id, stored)| {
            let Stored { buffer, element, extents, scalar } = stored;
            let stored =
                Stored { buffer: (*buffer).clone(), element: *element, extents: extents.clone(), scalar: *scalar };
            (*id, stored)
        });
        LaneRun::new(cpu, self.plan, self.lanes.step, values, outside)
    }
}

/// What all lanes give, in order, and the bytes that there were at one time.
fn joined(
    running: &Running<'_>,
    workers: &[Worker],
    mut peak: usize,
) -> Result<(Vec<Joined<Array>>, usize), BackendError> {
    let workers: Vec<&Pieces> = workers.iter().map(|worker| &worker.pieces).collect();
    let pieces = workers
        .iter()
        .flat_map(|pieces| pieces.first().iter().enumerate().map(|(piece, &first)| (first, piece, *pieces)));
    let mut in_order: Vec<_> = pieces.collect();
    in_order.sort_unstable_by_key(|&(first, ..)| first);
    let mut all = Vec::new();
    for (given, element) in running.lanes.step.elements(running.plan).enumerate() {
        let bytes: usize = workers.iter().map(|pieces| pieces.len(given)).sum();
        let elements = bytes / element.bytes();
        let array = running.cpu.shared.memory.take(element, &[elements]);
        let lacks = workers.iter().any(|pieces| pieces.lacks(given));
        let Some(mut array) = array.filter(|_| !lacks) else {
            return Err(too_large(running.plan, element, elements));
        };
        let mut rest = array.bytes_mut();
        let parts = in_order.iter().map(|&(_, piece, pieces)| {
            let (own, more) = std::mem::take(&mut rest).split_at_mut(pieces.length(piece, given));
            rest = more;
            (piece, pieces, own)
        });
        if bytes < TOGETHER_FROM {
            parts.for_each(|(piece, pieces, own)| pieces.copy(piece, given, own));
        } else {
            let parts: Vec<_> = parts.map(|(piece, pieces, own)| (piece, pieces, Mutex::new(own))).collect();
            running.cpu.shared.threads.each(parts.len(), |number| {
                let (piece, pieces, own) = &parts[number];
                pieces.copy(*piece, given, &mut lock(own));
            });
        }
        peak += bytes;
        all.push(Joined { buffer: array, elements });
    }
    Ok((all, peak))
}

fn too_large(plan: &Plan, element: ElementType, elements: usize) -> BackendError {
    let array = format!("{element} elements of all lanes");
    let fault = Fault::TooLarge { array, extents: vec![i64::try_from(elements).unwrap_or(i64::MAX)] };
    RunError { operation: format!("program `{}`", plan.name), place: Place::default(), fault }.into()
}
