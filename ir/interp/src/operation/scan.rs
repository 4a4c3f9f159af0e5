//! Scans: from left to right or from right to left, the seed where they start.

use fusebox_ir::{ArrayId, Constant, Direction, Lambda, Operand, ScanForm};

use super::{Computed, Context, segments};
use crate::{
    scalar::Function,
    val::{self, Val},
};

pub(super) fn scan<'p>(
    context: Context<'_, 'p>,
    direction: Direction,
    form: ScanForm,
    combine: &'p Lambda,
    seeds: &[Operand],
    sources: &[ArrayId],
    offsets: Option<ArrayId>,
) -> Computed {
    let combine = Function::new(combine);
    let k = combine.results();
    // Bodies come first, then totals: both are of the same component.
    let components = context.components(&combine, context.wanted % k);
    let ids: Vec<ArrayId> = components.iter().map(|&c| sources[c]).collect();
    let arrays = context.equal_extents(&ids)?;
    let extents = &arrays[0].extents;
    let (outer, n) = (&extents[..extents.len() - 1], segments::innermost(extents));
    let parts = segments::rows(context, offsets, n)?;

    let mut body_extents = extents.clone();
    if let (ScanForm::Exclusive, Some(innermost)) = (form, body_extents.last_mut()) {
        *innermost += parts.len() as i64;
    }
    let mut total_extents = outer.to_vec();
    if offsets.is_some() {
        total_extents.push(parts.len() as i64);
    }
    let body_extents = val::checked(&context.name(), body_extents)?;
    // Rows of no elements take no memory, however many they are, and give none; totals do.
    let rows = match form {
        ScanForm::Body => {
            total_extents = val::checked(&context.name(), total_extents)?;
            val::count(outer)
        }
        ScanForm::Inclusive if arrays[0].len() == 0 => 0,
        ScanForm::Inclusive | ScanForm::Exclusive => val::count(outer),
    };

    let mut bodies: Vec<Vec<Constant>> = vec![Vec::new(); components.len()];
    let mut totals = bodies.clone();
    for row in 0..rows {
        for part in &parts {
            let element = |at: usize| arrays.iter().map(|a| a.at(row * n as usize + at)).collect::<Vec<_>>();
            let mut order: Vec<usize> = part.clone().collect();
            if direction == Direction::Right {
                order.reverse();
            }
            let mut state: Option<Vec<Constant>> = None;
            if !seeds.is_empty() {
                state =
                    Some(components.iter().map(|&c| context.evaluator.constant(seeds[c])).collect::<Result<_, _>>()?);
            }
            let mut outputs = Vec::new();
            for at in order {
                if form != ScanForm::Inclusive {
                    outputs.extend(state.clone());
                }
                let element = element(at);
                let next = match (&state, direction) {
                    (Some(state), Direction::Left) => context.combine(&combine, &components, state, &element)?,
                    (Some(state), Direction::Right) => context.combine(&combine, &components, &element, state)?,
                    (None, _) => element,
                };
                if form == ScanForm::Inclusive {
                    outputs.push(next.clone());
                }
                state = Some(next);
            }
            match form {
                ScanForm::Exclusive => outputs.extend(state),
                ScanForm::Body => {
                    for (total, value) in totals.iter_mut().zip(state.unwrap_or_default()) {
                        total.push(value);
                    }
                }
                ScanForm::Inclusive => {}
            }
            if direction == Direction::Right {
                outputs.reverse();
            }
            for output in outputs {
                for (body, value) in bodies.iter_mut().zip(output) {
                    body.push(value);
                }
            }
        }
    }

    let mut computed = Vec::new();
    for ((&c, body), total) in components.iter().zip(bodies).zip(totals) {
        computed.push((c, Val::new(context.element(c), body_extents.clone(), body)));
        if form == ScanForm::Body {
            computed.push((k + c, Val::new(context.element(k + c), total_extents.clone(), total)));
        }
    }
    Ok(computed)
}
