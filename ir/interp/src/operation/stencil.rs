//! Stencils: functions of a neighbourhood.

use fusebox_ir::{ArrayId, Boundary, Constant, Lambda, Tap, TapBoundary};

use super::{Computed, Context};
use crate::scalar::{Function, Stop};

pub(super) fn stencil<'p>(
    context: Context<'_, 'p>,
    f: &'p Lambda,
    taps: &[Tap],
    boundaries: &'p [TapBoundary],
) -> Computed {
    let f = Function::new(f);
    let boundary = |array: ArrayId| boundaries.iter().find(|b| b.array == array).map(|b| &b.boundary);
    context.tabulate(context.declared_extents()?, |index| {
        let tap = |param: usize| {
            let tap = &taps[param];
            let at: Vec<i64> = index.iter().zip(&tap.offsets).map(|(i, offset)| i.wrapping_add(*offset)).collect();
            read(context, tap.array, boundary(tap.array), at)
        };
        Ok(f.call(context.evaluator, &tap, [context.wanted])?[0])
    })
}

/// Clamp, mirror and wrap act per dimension; constant and function where any dimension is outside.
fn read<'p>(
    context: Context<'_, 'p>,
    id: ArrayId,
    boundary: Option<&'p Boundary>,
    mut at: Vec<i64>,
) -> Result<Constant, Stop> {
    let array = context.evaluator.value(id)?;
    let inside = |at: &[i64]| array.position(at).is_some();
    match boundary {
        Some(Boundary::Constant(value)) if !inside(&at) => return context.evaluator.constant(*value),
        Some(Boundary::Function(f)) if !inside(&at) => {
            return Ok(Function::new(f).call(context.evaluator, &|i| Ok(at[i].into()), [0])?[0]);
        }
        Some(Boundary::Clamp) => each(&mut at, &array.extents, |i, n| i.clamp(0, n - 1)),
        Some(Boundary::Wrap) => each(&mut at, &array.extents, i64::rem_euclid),
        Some(Boundary::Mirror) => each(&mut at, &array.extents, mirror),
        Some(Boundary::Constant(_) | Boundary::Function(_)) | None => {}
    }
    context.evaluator.element(id, &at)
}

/// An empty dimension has nothing to be brought inside: the index stays outside.
fn each(at: &mut [i64], extents: &[i64], inside: impl Fn(i64, i64) -> i64) {
    for (i, &n) in at.iter_mut().zip(extents) {
        if n > 0 {
            *i = inside(*i, n);
        }
    }
}

/// Reflected without repeating the edges, as often as needed: a period of 2(n - 1).
pub(crate) fn mirror(i: i64, n: i64) -> i64 {
    if n == 1 {
        return 0;
    }
    let period = 2 * (n - 1);
    let folded = i.rem_euclid(period);
    folded.min(period - folded)
}
