//! Lanes of threads folded until one is left.

use fusebox_ir::ElementType;
use fusebox_schedule::grid::{WARP, cannot_fail};

use super::{
    meeting::phase,
    shared::{Shared, own_of},
};
use crate::{
    emit::{Emitter, Result},
    state::{Lanes, Maybe},
    team::Team,
    value::Val,
};

/// Lanes are folded until one is left, that of the first thread: of interleaved ones the upper half into the lower, of runs neighbours.
pub(super) fn tree(e: &mut Emitter<'_>, shared: &[Shared<'_>], thread: Val, team: Team) -> Result {
    // Who fails in a warp would leave the others waiting.
    let shuffled = matches!(team.lanes, Lanes::Interleaved(_)) && shared.iter().all(|each| cannot_fail(each.combine));
    if !shuffled || team.threads > WARP {
        for each in shared {
            let place = e.address(each.exchange(e)?, thread, each.stride());
            let own = own_of(each);
            e.write_maybe("shared", place, &own);
        }
    }
    // What every order is right for all threads have combined, also those that are no lane.
    let rounds = team.threads.ilog2() - if shuffled { WARP.ilog2() } else { 0 };
    for round in 0..rounds {
        e.c.op("bar.sync 0");
        let (distance, takes) = match team.lanes {
            Lanes::Interleaved(_) => {
                let half = i64::from(team.threads >> (round + 1));
                (half, e.c.compare("lt", thread, half.into()))
            }
            Lanes::Runs(_) | Lanes::Kept(_) => {
                let step = 1i64 << round;
                let text = e.c.text(thread);
                let within = e.c.make(ElementType::I64, "and.b64", &[&text, &(2 * step - 1).to_string()]);
                (step, e.c.compare("eq", within, 0i64.into()))
            }
        };
        phase(e, |e| {
            e.only_if(takes, |e| {
                for each in shared {
                    e.operation = e.kernel.operation(&e.kernel.statements[each.position]);
                    let other = e.c.add(thread, distance.into());
                    let place = e.address(each.exchange(e)?, other, each.stride());
                    let right = e.read_maybe("shared", place, &each.types);
                    let right = if each.own.present.is_none() { Maybe { present: None, ..right } } else { right };
                    e.combine_into(each.combine, &each.own, &right, each.down)?;
                    let place = e.address(each.exchange(e)?, thread, each.stride());
                    let own = each.own.maybe(each.types.iter().copied());
                    e.write_maybe("shared", place, &own);
                }
                Ok(())
            })
        })?;
    }
    if shuffled {
        let first_warp = e.c.compare("lt", thread, i64::from(WARP).into());
        e.only_if(first_warp, |e| shared.iter().try_for_each(|each| shuffle(e, each, (thread, team))))?;
    }
    Ok(())
}

/// The lanes of the first warp are folded by halves, through registers.
fn shuffle(e: &mut Emitter<'_>, each: &Shared<'_>, (thread, team): (Val, Team)) -> Result {
    e.operation = e.kernel.operation(&e.kernel.statements[each.position]);
    let mut half = match team.lanes {
        Lanes::Interleaved(lanes) if team.passes_on() && !each.exact => lanes / 2,
        _ => WARP / 2,
    };
    while half > 0 {
        let own = own_of(each);
        let values = own.values.iter().map(|&value| e.c.shuffle_down(value, half)).collect();
        let present = own.present.map(|present| e.c.shuffle_down(Val::new(ElementType::Bool, present), half));
        let right = Maybe { values, present: present.and_then(Val::register) };
        let lower = e.c.compare("lt", thread, i64::from(half).into());
        e.only_if(lower, |e| e.combine_into(each.combine, &each.own, &right, each.down))?;
        half /= 2;
    }
    Ok(())
}
