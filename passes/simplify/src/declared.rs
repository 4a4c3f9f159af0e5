//! Results that are declared with other extents than their operation gives: as many elements as a filter
//! keeps, as a nest has lanes, as an array inside of another has.
//!
//! Whether both agree is known when the program runs. So the result has the extents that its operation gives, and another operation checks them
//! against those declared; no pass behind has to ask.

use std::collections::HashMap;

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Constant, Extent, Fresh, Operand, Program, Sink, Type, Var,
    analysis::{Answer, Sizes},
};

/// Lets results have the extents that their operations give.
pub(crate) fn as_given(program: Program) -> Program {
    let any = |is: &dyn Fn(&Binding) -> bool| program.body.blocks().flat_map(|block| &block.bindings).any(is);
    // What stands in clusters has its place there.
    if !any(&may_differ) || any(&|binding| matches!(binding.op, ArrayOp::Cluster { .. })) {
        return program;
    }
    let known = Known::of(&program);
    if !any(&|binding| !known.given(binding).is_empty()) {
        return program;
    }
    program.rewrite(&mut |binding, fresh| known.checked(binding, fresh))
}

/// Whether what a binding declares need not be what its operation gives, by the operation alone.
fn may_differ(binding: &Binding) -> bool {
    matches!(binding.op, ArrayOp::Nest { .. } | ArrayOp::Element { .. } | ArrayOp::Consume { .. })
        || binding.declared_apart_from_count().next().is_some()
}

/// What is known of a program.
struct Known {
    types: HashMap<ArrayId, Type>,
    sizes: Sizes,
}

impl Known {
    fn of(program: &Program) -> Self {
        let mut types = HashMap::new();
        program.body.for_each_definition(&mut |var| _ = types.insert(var.id, var.ty.clone()));
        Self { types, sizes: Sizes::of_program(program) }
    }

    /// The types that the operation gives to results which are declared with others, by the positions of these.
    fn given(&self, binding: &Binding) -> Vec<(usize, Type)> {
        let with_extents = |at: usize, extents: Vec<Extent>| (at, Type { extents, ..binding.results[at].ty.clone() });
        let mut all: Vec<(usize, Type)> = match &binding.op {
            ArrayOp::Nest { extents, .. } => {
                let extents: Vec<Extent> = extents.iter().filter_map(as_extent).collect();
                (0..binding.results.len()).map(|at| with_extents(at, extents.clone())).collect()
            }
            ArrayOp::Element { source, .. } => {
                self.types.get(source).and_then(|ty| element(binding, ty)).into_iter().collect()
            }
            ArrayOp::Consume { sinks, chunks: false, .. } => {
                let (mut all, mut begin) = (Vec::new(), 0);
                for sink in sinks {
                    let end = begin + sink.gives(&binding.results[begin.min(binding.results.len())..]);
                    if let (Sink::Elements { .. }, Some(count)) = (sink, binding.results.get(begin)) {
                        all.extend((begin + 1..end).map(|at| with_extents(at, vec![Extent::Value(count.id)])));
                    }
                    begin = end;
                }
                all
            }
            _ => {
                let count = binding.results.first().map(|count| Extent::Value(count.id));
                let is_apart =
                    |at: &usize| binding.declared_apart_from_count().any(|var| var.id == binding.results[*at].id);
                let extents =
                    |at: usize| count.into_iter().chain(binding.results[at].ty.extents.iter().skip(1).copied());
                (0..binding.results.len()).filter(is_apart).map(|at| with_extents(at, extents(at).collect())).collect()
            }
        };
        let counts = binding.declared_apart_from_count().next().is_some();
        let differ = |given: &Type, declared: &Type| {
            given
                .extents
                .iter()
                .zip(&declared.extents)
                .any(|(&a, &b)| a != b && (counts || self.sizes.equal(a, b) != Answer::Proved))
        };
        all.retain(|(at, given)| differ(given, &binding.results[*at].ty));
        all
    }

    fn checked(&self, mut binding: Binding, fresh: &mut Fresh) -> Vec<Binding> {
        let mut checks = Vec::new();
        for (at, ty) in self.given(&binding) {
            let var = &mut binding.results[at];
            let given = Var { id: fresh.id(), name: format!("{}.given", var.name.0).into(), ty };
            let declared = std::mem::replace(var, given);
            let source = var.id;
            // Of a vector the number of elements is its extent, so that nothing is moved.
            let op = match (&declared.ty.extents[..], declared.ty.inner.is_empty()) {
                ([extent], true) => ArrayOp::Reshape { extents: vec![as_operand(*extent)], sources: vec![source] },
                _ => ArrayOp::Compute { sources: vec![source] },
            };
            checks.push(Binding { results: vec![declared], op, place: binding.place.clone() });
        }
        checks.insert(0, binding);
        checks
    }
}

/// The type of one array of an array of arrays.
fn element(binding: &Binding, source: &Type) -> Option<(usize, Type)> {
    let mut levels = source.inner.iter();
    let mut sizes = binding.results.iter().map(|size| Extent::Value(size.id));
    let extents = levels.next()?.iter().map(|&extent| match extent {
        Extent::Unknown => sizes.next().unwrap_or(extent),
        known => known,
    });
    let at = binding.results.len().checked_sub(1)?;
    let ty = Type { extents: extents.collect(), ..binding.results[at].ty.clone() };
    Some((at, ty))
}

fn as_extent(operand: &Operand) -> Option<Extent> {
    match operand {
        Operand::Value(id) => Some(Extent::Value(*id)),
        Operand::Constant(constant) => constant.as_i64().map(Extent::Constant),
    }
}

fn as_operand(extent: Extent) -> Operand {
    match extent {
        Extent::Value(id) => Operand::Value(id),
        Extent::Constant(number) => Operand::Constant(Constant::from(number)),
        Extent::Unknown => Operand::Constant(Constant::from(0i64)),
    }
}
