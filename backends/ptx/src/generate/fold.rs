//! A fold over everything: blocks of 4,096 elements by all blocks of the grid, what they give by one.

use super::{
    Building, around, axes,
    elements::{block_of, fold, own_steps},
    is_once,
    meeting::{agree, phase},
    once, points_of, prologue,
    shared::{Feeder, feed_own, leave, reset_all, results, shared},
    tree::tree,
};
use crate::{
    emit::{Emitter, Result, parts},
    module::Argument,
    team::Team,
    text::Class,
};
use fusebox_ir::association::BLOCK;

impl Building<'_> {
    pub(super) fn fold(&mut self, inner: usize, team: Team) -> Result {
        let (kernel, all) = (self.kernel, self.all());
        let pieces = points_of(0..inner).pieces(BLOCK);
        let reduces: Vec<usize> = (0..kernel.statements.len())
            .filter(|&position| matches!(kernel.statements[position].action, fusebox_ir::Action::Reduce { to: 0, .. }))
            .collect();
        let strides: Vec<u64> = reduces
            .iter()
            .map(|&position| match &kernel.statements[position].action {
                fusebox_ir::Action::Reduce { results, .. } => 8 * results.len() as u64 + 8,
                _ => 8,
            })
            .collect();
        let partial: Vec<Argument> =
            strides.iter().map(|&stride| self.scratch(pieces.clone().times(stride as i64), false)).collect();
        let locks: Vec<Argument> = self.locks().into_iter().collect();
        let more: Vec<Argument> = partial.iter().chain(&locks).copied().collect();

        let mut e = Emitter::new(kernel, self.made_for, &mut self.sites, &more);
        e.locks = locks.first().map(|&locks| e.argument(locks));
        e.failed = Some(e.c.variable(fusebox_ir::Constant::from(false).into()));
        let (before, deeper, behind) = parts(kernel, 0, all.clone());
        prologue(&mut e, all.clone())?;
        let levels = axes(&mut e, 0..inner)?;
        let total = e.points(&levels);
        let (thread, block, blocks) = (e.special("tid.x"), e.special("ctaid.x"), e.special("nctaid.x"));
        let first = e.c.compare("eq", thread, 0i64.into());
        let own = shared(&mut e, 0, team, Some(BLOCK))?;
        let count = e.pieces(total, BLOCK);
        e.stride_up(block, count, blocks, |e, piece| {
            let bounds = block_of(e, piece, total);
            reset_all(e, &own);
            own_steps(e, (thread, team), bounds, &mut |e, point| {
                e.enter_all(&levels, point);
                let inside = around(e, 1..inner, deeper.clone())?;
                e.depth(inner, inside)
            })?;
            tree(e, &own, thread, team)?;
            e.only_if(first, |e| leave(e, &own, &partial, piece))?;
            agree(e);
            Ok(())
        })?;
        let made = e.finish("blocks", pieces, team.threads)?;
        self.entries.push(made);

        let mut e = Emitter::new(kernel, self.made_for, &mut self.sites, &more);
        e.locks = locks.first().map(|&locks| e.argument(locks));
        e.failed = Some(e.c.variable(fusebox_ir::Constant::from(false).into()));
        stop_if_failed(&mut e);
        prologue(&mut e, all)?;
        let levels = axes(&mut e, 0..inner)?;
        let total = e.points(&levels);
        let thread = e.special("tid.x");
        let first = e.c.compare("eq", thread, 0i64.into());
        let mut own = shared(&mut e, 0, team, None)?;
        let count = e.pieces(total, BLOCK);
        let sources: Vec<_> = own
            .iter()
            .zip(&partial)
            .map(|(each, &argument)| (each.stride(), each.types.clone(), e.argument(argument)))
            .collect();
        let feeders: Vec<_> = own.iter().map(Feeder::of).collect();
        fold(&mut e, &mut own, (thread, team), count, &mut |e, piece| {
            for ((stride, types, base), feeder) in sources.iter().zip(&feeders) {
                let place = e.address(*base, piece, *stride);
                let element = e.read_maybe("global", place, types);
                feed_own(e, feeder, &element)?;
            }
            Ok(())
        })?;
        phase(&mut e, |e| {
            e.only_if(first, |e| {
                results(e, &mut own)?;
                if is_once(e.kernel, &before, &behind) { once(e, before, behind) } else { Ok(()) }
            })
        })?;
        let made = e.finish("rest", crate::module::Quantity::Number(1), team.threads)?;
        self.entries.push(made);
        Ok(())
    }
}

/// A later launch does nothing once an earlier one has failed. A thread that fails in this launch writes the slot after all of its block have read it, so
/// that they agree; other blocks may see it, and go.
pub(super) fn stop_if_failed(e: &mut Emitter<'_>) {
    let (slot, exit) = (e.argument(Argument::Error), e.exit);
    let found = e.c.reg(Class::Double);
    e.c.op(format_args!("ld.relaxed.gpu.global.u64 {found}, [{slot}]"));
    e.c.op("bar.sync 0");
    let failed = e.c.test("setp.ne.u64", &[&found.to_string(), "0"]);
    e.c.op(format_args!("@{failed} bra {exit}"));
}
