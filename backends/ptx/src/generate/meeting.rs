//! Where the threads of a block, or of a warp, meet: those that failed leave with all others.

use crate::{
    emit::{Emitter, Result},
    text::Class,
};

/// Code after which the threads of a block meet: one that fails goes to its end.
pub(super) fn phase<'k>(e: &mut Emitter<'k>, inside: impl FnOnce(&mut Emitter<'k>) -> Result) -> Result {
    let end = e.c.label();
    let exit = std::mem::replace(&mut e.exit, end);
    inside(e)?;
    e.exit = exit;
    e.c.place(end);
    Ok(())
}

/// All threads of a block meet, and leave together if one has failed.
pub(super) fn agree(e: &mut Emitter<'_>) {
    if let Some(failed) = e.failed {
        let any = e.c.reg(Class::Predicate);
        if e.by_warps {
            e.c.op(format_args!("vote.sync.any.pred {any}, {failed}, 0xffffffff"));
        } else {
            e.c.op(format_args!("bar.red.or.pred {any}, 0, {failed}"));
        }
        let exit = e.exit;
        e.c.op(format_args!("@{any} bra {exit}"));
    } else {
        e.c.op("bar.sync 0");
    }
}
