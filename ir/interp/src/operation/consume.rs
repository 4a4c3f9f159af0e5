//! Sequence computations: one traversal of the streams, element by element.

use fusebox_ir::{ArrayId, Block, Operand, Sink};

use super::{Computed, Context};
use crate::{
    scalar::Stop,
    val::{self, Val},
};

pub(super) fn consume<'p>(
    context: Context<'_, 'p>,
    limit: Option<Operand>,
    body: &'p Block,
    sinks: &'p [Sink],
    streams: &[ArrayId],
    chunks: bool,
) -> Computed {
    let streams: Vec<Val> = streams.iter().map(|&id| context.evaluator.value(id)).collect::<Result<_, _>>()?;
    let mut steps = streams.iter().map(|stream| stream.extents[0]).min();
    if let Some(limit) = limit {
        let limit = context.evaluator.operand(limit)?.to_i64().max(0);
        steps = Some(steps.map_or(limit, |steps| steps.min(limit)));
    }
    let mut state = State::wanted(context, sinks, chunks)?;
    for i in 0..steps.unwrap_or(0) {
        let parts = streams.iter().map(|stream| stream.part(i as usize));
        let mut arguments = vec![Val::scalar(i.into())];
        if chunks {
            // A chunk of one element: the first step, their number, then of each stream extents and values.
            arguments.push(Val::scalar(1i64.into()));
            parts.for_each(|part| arguments.extend(lifted(&part)));
        } else {
            arguments.extend(parts);
        }
        let values = context.evaluator.block(body, &arguments, state.results.clone())?;
        // A sink has one size for all that it takes at a step.
        if !chunks || matches!(state.sink, Sink::Elements { .. }) {
            context.equal_extents(&body.results[state.results.clone()])?;
        }
        match state.sink {
            Sink::Accumulate { .. } if chunks => state.accumulate(context, values)?,
            Sink::Accumulate { .. } => {
                let extents = values.first().and_then(|first| lifted(first).into_iter().rev().nth(1));
                let vectors = values.iter().map(|value| value.reshaped(vec![value.len() as i64]));
                state.accumulate(context, extents.into_iter().chain(vectors).collect())?;
            }
            Sink::Tabulate | Sink::StreamOut if chunks => state.take(vec![alone(&values)?]),
            Sink::Tabulate | Sink::StreamOut | Sink::Elements { .. } => state.take(values),
        }
    }
    state.finish(context)
}

/// A chunk of one element: its extents (none at rank 0; `[1, r]` above rank 1) and its values.
fn lifted(part: &Val) -> Vec<Val> {
    let extents: Vec<_> = part.extents.iter().map(|&n| n.into()).collect();
    let values = part.reshaped(vec![part.len() as i64]);
    match extents.len() {
        0 => vec![values],
        1 => vec![Val::new(fusebox_ir::ElementType::I64, vec![1], extents), values],
        r => vec![Val::new(fusebox_ir::ElementType::I64, vec![1, r as i64], extents), values],
    }
}

/// The one element of a chunk: from its values, behind extents if it is no scalar.
fn alone(chunk: &[Val]) -> Result<Val, Stop> {
    Ok(match chunk {
        [values] => values.part(0),
        [extents, values] => {
            let extents = extents.scalars().iter().filter_map(|extent| extent.as_i64()).collect();
            values.reshaped(extents)
        }
        _ => unreachable!("a valid body gives extents and values"),
    })
}

/// The sink of the wanted result, and what it has so far.
struct State<'p> {
    sink: &'p Sink,
    /// The first result of the operation that is the sink's.
    first: usize,
    /// The results of the body that it takes.
    results: std::ops::Range<usize>,
    /// Elements so far, for each array; of `accumulate` the state.
    values: Vec<Vec<Val>>,
}

impl<'p> State<'p> {
    fn wanted(context: Context<'_, 'p>, sinks: &'p [Sink], chunks: bool) -> Result<Self, Stop> {
        let (mut first, mut taken) = (0, 0);
        for sink in sinks {
            let own = context.binding.results.get(first..).unwrap_or_default();
            let (count, results) = (sink.takes(own, chunks), sink.gives(own));
            if (first..first + results).contains(&context.wanted) {
                let values = match sink {
                    Sink::Accumulate { seeds, .. } => seeds
                        .iter()
                        .map(|&seed| Ok(vec![context.evaluator.operand(seed)?]))
                        .collect::<Result<_, Stop>>()?,
                    Sink::Elements { count } => vec![Vec::new(); *count],
                    Sink::Tabulate | Sink::StreamOut => vec![Vec::new()],
                };
                return Ok(Self { sink, first, results: taken..taken + count, values });
            }
            first += results;
            taken += count;
        }
        unreachable!("every result is of a sink")
    }

    /// The state after a chunk, from what the function gets of it.
    fn accumulate(&mut self, context: Context<'_, 'p>, chunk: Vec<Val>) -> Result<(), Stop> {
        let Sink::Accumulate { f, .. } = self.sink else { return Ok(()) };
        let states = self.values.iter().map(|state| state[0].clone());
        let arguments: Vec<Val> = states.chain(chunk).collect();
        let states = context.evaluator.block(f, &arguments, 0..self.values.len())?;
        self.values = states.into_iter().map(|state| vec![state]).collect();
        Ok(())
    }

    fn take(&mut self, new: Vec<Val>) {
        for (values, new) in self.values.iter_mut().zip(new) {
            values.push(new);
        }
    }

    fn finish(self, context: Context<'_, 'p>) -> Computed {
        let first = self.first;
        let element = |at: usize| context.element(first + at);
        Ok(match self.sink {
            Sink::Accumulate { .. } => {
                self.values.into_iter().enumerate().map(|(at, state)| (first + at, state[0].clone())).collect()
            }
            Sink::StreamOut => {
                vec![(first, Val::nested(element(0), vec![self.values[0].len() as i64], self.values[0].clone()))]
            }
            Sink::Elements { .. } => {
                let size = self.values[0].iter().map(|value| value.len() as i64).sum::<i64>();
                let mut computed = vec![(first, Val::scalar(size.into()))];
                for (at, values) in self.values.iter().enumerate() {
                    let scalars = values.iter().flat_map(|value| value.scalars().iter().copied()).collect();
                    computed.push((first + 1 + at, Val::new(element(1 + at), vec![size], scalars)));
                }
                computed
            }
            Sink::Tabulate => tabulated(context, first, &self.values[0])?,
        })
    }
}

/// The first result from `first` on that is no scalar: an array that a `tabulate` makes.
fn array_at(context: Context<'_, '_>, first: usize) -> usize {
    let results = &context.binding.results;
    (first..results.len()).find(|&at| results[at].ty.rank() > 0).unwrap_or(first)
}

/// Arrays along a new outermost dimension, cut to the least extents.
fn tabulated(context: Context<'_, '_>, first: usize, values: &[Val]) -> Computed {
    let array_at = array_at(context, first);
    let rank = context.binding.results[array_at].ty.rank() - 1;
    let least = |d: usize| values.iter().map(|value| value.extents[d]).min().unwrap_or(0);
    let inner: Vec<i64> = (0..rank).map(least).collect();
    let mut extents = vec![values.len() as i64];
    extents.extend(&inner);
    let extents = val::checked(&context.evaluator.name(context.binding.results[array_at].id), extents)?;
    let mut scalars = Vec::new();
    for value in values {
        for position in 0..val::count(&inner) {
            let from = value.position(&val::index(&inner, position));
            scalars.push(value.at(from.unwrap_or_else(|| unreachable!("cut to the least extents"))));
        }
    }
    let mut computed: Vec<(usize, Val)> =
        extents.iter().enumerate().map(|(at, &n)| (first + at, Val::scalar(n.into()))).collect();
    computed.push((array_at, Val::new(context.element(array_at), extents, scalars)));
    Ok(computed)
}
