//! Targets of scatters elsewhere than in their arrays: copies in the shared memory of each block, and words that hold pairs.

use fusebox_ir::{Action, Constant, ElementType, Kernel, KernelArrayId, Lambda, analysis::algebra::identities};
use fusebox_schedule::Form;

use super::{
    Building, THREADS,
    fold::stop_if_failed,
    grid,
    meeting::{agree, phase},
};
use crate::{
    emit::{Emitter, Result},
    module::{Argument, Quantity},
    statement::atomic::AtomicSpace,
    text::{Reg, Space},
    value::Val,
};

/// A scatter with copies of its targets.
pub(super) struct Copies<'k> {
    position: usize,
    arrays: &'k [KernelArrayId],
    combine: &'k Lambda,
    identity: Vec<Constant>,
    cells: i64,
}

impl<'k> Copies<'k> {
    /// Those that a form says.
    pub(super) fn of(kernel: &'k Kernel, form: &Form) -> Option<Self> {
        let Form::Private { statement, cells } = *form else { return None };
        let position = statement as usize;
        let Action::Scatter { arrays, combine, .. } = &kernel.statements.get(position)?.action else { return None };
        Some(Self { position, arrays, combine, identity: identities(combine)?, cells: cells.into() })
    }

    /// Where the copy of each component is.
    fn memory(&self, e: &mut Emitter<'k>) -> Vec<Reg> {
        let bytes = |constant: &Constant| self.cells as u64 * constant.ty().bytes() as u64;
        self.identity.iter().map(|constant| e.c.memory(Space::Shared, bytes(constant))).collect()
    }
}

/// Points whose scatters go to the copies of the block, where there are few enough targets, and to the targets themselves elsewhere.
pub(super) fn points<'k>(
    e: &mut Emitter<'k>,
    copies: &[Copies<'k>],
    threads: u32,
    each: impl Fn(&mut Emitter<'k>) -> Result,
) -> Result {
    let thread = e.special("tid.x");
    let (direct, behind) = (e.c.label(), e.c.label());
    let mut targets = Vec::new();
    for copies in copies {
        let size = e.size(copies.arrays[0])?;
        // A number that is known was looked at by the schedule.
        if size.as_i64().is_none_or(|size| size > copies.cells) {
            let many = e.c.compare("gt", size, copies.cells.into());
            e.c.op(format_args!("@{many} bra {direct}"));
        }
        targets.push(size);
    }
    let stride = Val::from(i64::from(threads));
    let memory: Vec<Vec<Reg>> = copies.iter().map(|copies| copies.memory(e)).collect();
    for ((copies, memory), &size) in copies.iter().zip(&memory).zip(&targets) {
        for (&base, &identity) in memory.iter().zip(&copies.identity) {
            // Smaller elements are swapped with their whole word.
            let in_word = (4 / identity.ty().bytes() as i64).max(1);
            let filled = if in_word == 1 {
                size
            } else {
                let words = e.pieces(size, in_word);
                e.c.mul(words, in_word.into())
            };
            e.stride_up(thread, filled, stride, |e, cell| {
                let place = e.address(base, cell, identity.ty().bytes() as u64);
                e.store_to("shared", place, 0, identity.into());
                Ok(())
            })?;
        }
        e.private.insert(copies.position, memory.clone());
    }
    e.c.op("bar.sync 0");
    let failed = e.c.variable(Constant::from(false).into());
    e.failed = Some(failed);
    phase(e, &each)?;
    agree(e);
    e.failed = None;
    for ((copies, memory), &size) in copies.iter().zip(&memory).zip(&targets) {
        e.private.remove(&copies.position);
        e.stride_up(thread, size, stride, |e, cell| {
            let values: Vec<Val> = (memory.iter().zip(&copies.identity))
                .map(|(&base, identity)| {
                    let ty = identity.ty();
                    let place = e.address(base, cell, ty.bytes() as u64);
                    e.load_from("shared", ty, place, 0)
                })
                .collect();
            let behind = e.c.label();
            skip_untouched(e, &values, &copies.identity, behind);
            e.combine_each(copies.combine, &values, |e, component, _| {
                Ok((AtomicSpace::Global, e.element(copies.arrays[component], cell)?))
            })?;
            e.c.place(behind);
            Ok(())
        })?;
    }
    e.c.op(format_args!("bra {behind}"));
    e.c.place(direct);
    each(e)?;
    e.c.place(behind);
    Ok(())
}

/// A target that nothing in the block was combined into is left alone: whole numbers say so.
fn skip_untouched(e: &mut Emitter<'_>, values: &[Val], identity: &[Constant], behind: crate::text::Label) {
    let ([value], [identity]) = (values, identity) else { return };
    if identity.ty().is_integer() {
        let same = e.c.compare("eq", *value, (*identity).into());
        e.c.op(format_args!("@{same} bra {behind}"));
    }
}

/// A scatter of pairs, and the words that hold them.
pub(super) struct Words {
    pub(super) position: usize,
    arrays: [KernelArrayId; 2],
    pub(super) memory: Argument,
}

impl Building<'_> {
    /// Those that a form says.
    pub(super) fn words(&mut self, form: &Form) -> Option<Words> {
        let Form::Packed { statement } = *form else { return None };
        let position = statement as usize;
        let Action::Scatter { arrays, .. } = &self.kernel.statements.get(position)?.action else { return None };
        let arrays = [*arrays.first()?, *arrays.get(1)?];
        let memory = self.scratch(Quantity::Elements(arrays[0]).times(8), false);
        Some(Words { position, arrays, memory })
    }

    /// An entry that fills the words.
    pub(super) fn pack(&mut self, words: &Words) -> Result {
        self.each_word("pack", words, |e, target, word| {
            let [low, high] = words.arrays.map(|array| e.load_at(array, target));
            let both = e.c.pair([low?, high?]);
            e.store_to("global", word, 0, Val::new(ElementType::U64, both));
            Ok(())
        })
    }

    /// An entry that takes the words apart again.
    pub(super) fn unpack(&mut self, words: &Words) -> Result {
        let types = words.arrays.map(|array| self.kernel.arrays[array.index()].element);
        self.each_word("unpack", words, |e, target, word| {
            let both = e.load_from("global", ElementType::U64, word, 0);
            let both = e.c.in_reg(both);
            let parts = e.c.unpacked(both, types);
            for (array, part) in words.arrays.into_iter().zip(parts) {
                let place = e.element(array, target)?;
                e.store_to("global", place, 0, part);
            }
            Ok(())
        })
    }

    fn each_word(
        &mut self,
        name: &str,
        words: &Words,
        inside: impl Fn(&mut Emitter<'_>, Val, Reg) -> Result,
    ) -> Result {
        let mut e = Emitter::new(self.kernel, self.made_for, &mut self.sites, &[words.memory]);
        stop_if_failed(&mut e);
        let (base, size) = (e.argument(words.memory), e.size(words.arrays[0])?);
        let (thread, stride) = grid(&mut e);
        e.stride_up(thread, size, stride, |e, target| {
            let word = e.address(base, target, 8);
            inside(e, target, word)
        })?;
        let name = format!("{name}{}", words.position);
        let blocks = Quantity::Elements(words.arrays[0]).pieces(THREADS.into());
        let made = e.finish(&name, blocks, THREADS)?;
        self.entries.push(made);
        Ok(())
    }
}
