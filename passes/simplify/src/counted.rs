//! Results of operations that count their elements, where the program declares another extent than that count.
//!
//! Whether both agree is known when the elements are counted. So the operation gives as many as it counts, and a reshape checks the rest; no pass
//! behind has to ask.

use fusebox_ir::{ArrayOp, Binding, Constant, Extent, Fresh, Operand, Program, Var};

/// Lets each result of such an operation have the extent that is counted.
pub(crate) fn with_own_counts(program: Program) -> Program {
    let bindings = || program.body.blocks().flat_map(|block| &block.bindings);
    // What stands in clusters has its place there.
    if !bindings().any(is_apart) || bindings().any(|binding| matches!(binding.op, ArrayOp::Cluster { .. })) {
        return program;
    }
    program.rewrite(&mut |binding, fresh| checked(binding, fresh))
}

fn is_apart(binding: &Binding) -> bool {
    binding.declared_apart_from_count().next().is_some()
}

fn checked(mut binding: Binding, fresh: &mut Fresh) -> Vec<Binding> {
    if !is_apart(&binding) {
        return vec![binding];
    }
    let Some((count, arrays)) = binding.results.split_first_mut() else { return vec![binding] };
    let mut reshapes = Vec::new();
    for var in arrays.iter_mut().filter(|var| var.ty.extents.first() != Some(&Extent::Value(count.id))) {
        let name = format!("{}.counted", var.name.0).into();
        let mut counted = Var { id: fresh.id(), name, ..var.clone() };
        counted.ty.extents[0] = Extent::Value(count.id);
        let extents = var.ty.extents.iter().map(|extent| match *extent {
            Extent::Value(id) => Operand::Value(id),
            Extent::Constant(number) => Operand::Constant(Constant::from(number)),
            Extent::Unknown => Operand::Value(count.id),
        });
        let op = ArrayOp::Reshape { extents: extents.collect(), sources: vec![counted.id] };
        let declared = std::mem::replace(var, counted);
        reshapes.push(Binding { results: vec![declared], op, place: binding.place.clone() });
    }
    reshapes.insert(0, binding);
    reshapes
}
