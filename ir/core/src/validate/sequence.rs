//! `consume`: streams, the body, sinks.

use std::collections::HashSet;

use super::{
    ProgramFault,
    context::{PathStep, Validator},
    operation::Wants,
    types::Want,
};
use crate::{
    ArrayId, Binding, Block, ElementType, MAX_RANK, Operand, Sink, Type,
    analysis::{Size, Sizes},
};

impl<'p> Validator<'p> {
    pub fn consume(
        &mut self,
        binding: &'p Binding,
        limit: Option<&Operand>,
        body: &'p Block,
        sinks: &'p [Sink],
        streams: &[ArrayId],
        chunks: bool,
    ) -> Wants {
        if let Some(limit) = limit {
            self.within(PathStep::Field("limit"), |v| v.scalar_of(limit, ElementType::I64, &|| "the limit".to_owned()));
        } else if streams.is_empty() {
            self.report(ProgramFault::Endless);
        }
        let elements: Vec<Option<Type>> = streams
            .iter()
            .enumerate()
            .map(|(position, &id)| self.within(PathStep::Item("streams", position), |v| v.stream_element(id, position)))
            .collect();
        let index = Some(Want::scalar(ElementType::I64));
        let mut params = if chunks { vec![index.clone(), index] } else { vec![index] };
        if chunks {
            for element in &elements {
                match element {
                    Some(element) => params.extend(chunk(element.rank(), element.element).map(Some)),
                    None => params.push(None),
                }
            }
        } else {
            let mut unbound: HashSet<ArrayId> = body.sizes.iter().map(|var| var.id).collect();
            for (param, element) in body.params.iter().skip(1).zip(&elements) {
                if let Some(element) = element {
                    self.sizes.bind_sizes(&param.ty, element, &mut unbound);
                }
            }
            params.extend(elements.iter().map(|element| element.as_ref().map(|ty| self.want(ty))));
        }
        let mut given = None;
        self.repeats += 1;
        self.block("body", body, &params, true, &mut |_, results| given = Some(results.to_vec()));
        let wants = self.sinks(binding, sinks, given, chunks);
        self.repeats -= 1;
        wants
    }

    /// The type of an element of a stream, or of an array along its outermost dimension.
    fn stream_element(&mut self, id: ArrayId, position: usize) -> Option<Type> {
        let what = || format!("stream {position}");
        let ty = self.use_value(id, true, &what)?;
        if ty.stream {
            return Some(Type { stream: false, ..ty.clone() });
        }
        let Some((_, rest)) = ty.extents.split_first() else {
            self.report(ProgramFault::RankZero { what: what() });
            return None;
        };
        let mut element = Type { extents: rest.to_vec(), ..ty.clone() };
        if rest.is_empty() && !element.inner.is_empty() {
            element.extents = element.inner.remove(0);
        }
        Some(element)
    }

    /// Checks sinks against what the body gives, and says what the results must be.
    fn sinks(
        &mut self,
        binding: &'p Binding,
        sinks: &'p [Sink],
        given: Option<Vec<Option<Want>>>,
        chunks: bool,
    ) -> Wants {
        self.at_least("sinks", sinks.len(), 1);
        let mut taken = 0usize;
        let mut wants: Vec<Option<Want>> = Vec::new();
        for (position, sink) in sinks.iter().enumerate() {
            if self.stopped() {
                return Wants::new();
            }
            self.within(PathStep::Item("sinks", position), |v| {
                // The results that this sink makes begin here.
                let results = binding.results.get(wants.len()..).unwrap_or_default();
                let count = sink.takes(results, chunks);
                let end = taken.saturating_add(count);
                let values: Option<&[Option<Want>]> = given.as_ref().and_then(|given| given.get(taken..end));
                taken = end;
                match sink {
                    Sink::Elements { .. } => {
                        v.at_least("arrays", count, 1);
                        v.same_extents(values.unwrap_or_default());
                        let size = results.first().map(|var| Sizes::unknown(var.id));
                        wants.push(Some(Want::scalar(ElementType::I64)));
                        // Of a result that is not there nothing is known, and the count of results tells.
                        for position in 0..count.min(given.as_ref().map_or(0, Vec::len)) {
                            let value = values.and_then(|values| values.get(position)).cloned().flatten();
                            wants.push(value.map(|value| Want::array(vec![size.clone()], value.element)));
                        }
                    }
                    Sink::Tabulate => {
                        let element = values.and_then(|values| values.last()).cloned().flatten();
                        let rank = match (&element, chunks) {
                            (Some(element), false) => element.extents.len(),
                            _ => results.iter().find(|var| !var.ty.is_scalar()).map_or(1, |var| var.ty.rank()) - 1,
                        };
                        if rank >= MAX_RANK {
                            let what = "the table".to_owned();
                            v.report(ProgramFault::Rank { what, rank: rank + 1, limit: MAX_RANK });
                        }
                        let extents: Vec<Option<Size>> =
                            (0..=rank).map(|dim| results.get(dim).map(|var| Sizes::unknown(var.id))).collect();
                        wants.extend(vec![Some(Want::scalar(ElementType::I64)); rank + 1]);
                        wants.push(element.map(|element| Want::array(extents, element.element)));
                    }
                    Sink::StreamOut => {
                        let element = values.and_then(|values| values.last()).cloned().flatten();
                        wants.push(element.and_then(|element| {
                            let extents = match chunks {
                                false => element.extents,
                                true => vec![None; results.first()?.ty.rank()],
                            };
                            Some(Want { stream: true, ..Want::array(extents, element.element) })
                        }));
                    }
                    Sink::Accumulate { f, seeds, .. } => {
                        v.accumulate(binding, wants.len(), f, seeds, values, chunks);
                        wants.extend(seeds.iter().map(|seed| v.want_operand(seed)));
                    }
                }
            });
        }
        if let Some(given) = &given {
            self.count("results of the block", given.len(), taken);
        }
        vec![wants]
    }

    fn same_extents(&mut self, values: &[Option<Want>]) {
        let mut known = values.iter().flatten();
        let Some(first) = known.next() else { return };
        for (position, other) in known.enumerate() {
            let first = Want { element: other.element, ..first.clone() };
            self.same_kind(other, &first, &|| format!("array {} of the sink", position + 1));
        }
    }

    fn accumulate(
        &mut self,
        binding: &'p Binding,
        first: usize,
        f: &'p Block,
        seeds: &[Operand],
        values: Option<&[Option<Want>]>,
        chunks: bool,
    ) {
        self.at_least("seeds", seeds.len(), 1);
        let state = self.arguments("seeds", "seed", seeds);
        let mut params = state.clone();
        match values {
            Some(values) if chunks => params.extend(values.iter().cloned()),
            Some(values) => {
                self.at_least("arrays", values.len(), 1);
                self.same_extents(values);
                let rank = values.iter().flatten().map(|value| value.extents.len()).next();
                if let Some(extents) = rank.and_then(chunk_extents) {
                    params.push(Some(extents));
                }
                let vector = |value: &Want| Want::array(vec![None], value.element);
                params.extend(values.iter().map(|value| value.as_ref().map(vector)));
            }
            None => params.extend(f.params.iter().skip(params.len()).map(|_| None)),
        }
        self.block("f", f, &params, true, &mut |v, given| {
            if v.count("results of the function", given.len(), seeds.len()) {
                v.agree_all(&f.params[..seeds.len().min(f.params.len())], given, "state");
                if let Some(results) = binding.results.get(first..first.saturating_add(given.len())) {
                    v.agree_all(results, given, "result");
                }
            }
        });
    }

    /// Whether two values are of one type, and of extents that may be equal.
    pub fn same_kind(&mut self, given: &Want, expected: &Want, what: &dyn Fn() -> String) {
        let ranks = |want: &Want| (want.extents.len(), want.inner.iter().map(Vec::len).collect::<Vec<_>>());
        if given.element != expected.element || given.stream != expected.stream || ranks(given) != ranks(expected) {
            let (found, expected) = (self.show_want(given), self.show_want(expected));
            return self.report(ProgramFault::WrongType { what: what(), found, expected });
        }
        for (dim, (found, expected)) in given.extents.iter().zip(&expected.extents).enumerate() {
            self.equal(found, expected, dim, what);
        }
    }
}

/// The extents of a chunk's elements: `[c]` of vectors, `[c, r]` of rank r above; none of scalars.
fn chunk_extents(rank: usize) -> Option<Want> {
    let rank_extent = Some(Size::constant(rank as i64));
    match rank {
        0 => None,
        1 => Some(Want::array(vec![None], ElementType::I64)),
        _ => Some(Want::array(vec![None, rank_extent], ElementType::I64)),
    }
}

/// What a chunk of elements is: their extents, and all values.
fn chunk(rank: usize, element: ElementType) -> impl Iterator<Item = Want> {
    chunk_extents(rank).into_iter().chain([Want::array(vec![None], element)])
}
