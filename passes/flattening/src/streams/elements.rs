//! What the body of a traversal in lanes takes at a step: the element of a stream, computed from the step's number.

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Block, ElementType::I64, Extent, Lambda, LambdaBuilder, Operand, ScalarOp, ScalarValue,
    Type, Var,
};

use super::{
    Stored,
    sinks::offsets,
    state::Lanes,
    writer::{Writer, number},
};
use crate::extents::{operands, scalar};

/// What a body reads from one of the streams, and the element that it takes itself.
pub(super) struct Element<'t> {
    pub stream: ArrayId,
    /// The type of the whole stream.
    pub ty: Type,
    pub param: &'t Var,
}

impl Lanes<'_> {
    /// Binds what a body takes of a stream at a step.
    pub fn element(&mut self, of: &Element<'_>, body: &Block, index: ArrayId, writer: &mut Writer<'_>) {
        let (stream, source) = match self.rows.get(&of.stream) {
            Some(&rows) => (rows, self.ty(rows)),
            None => (of.stream, of.ty.clone()),
        };
        if let Some(stored) = self.streams.known.stored.get(&stream).cloned() {
            return self.element_of_stored(&stored, of, body, index, writer);
        }
        if source.inner.is_empty() {
            let own = &source.extents[1..];
            let declared = self.declared(of.param, own, body, writer);
            let dims = [Some(Operand::Value(index))].into_iter().chain(own.iter().map(|_| None)).collect();
            let op = ArrayOp::Slice { dims, sources: vec![stream] };
            return bound_as(of.param, own, &declared, op, writer);
        }
        // Of several dimensions outside, an element is an array of arrays again.
        if source.rank() > 1 {
            let declared = self.declared(of.param, &source.extents[1..], body, writer);
            return renested(of.param, &declared, stream, &source, &[index], writer);
        }
        let mut sizes = Vec::new();
        let level = &source.inner[0];
        let own: Vec<Extent> = level
            .iter()
            .map(|&extent| match extent {
                Extent::Unknown => {
                    let id = writer.fresh.id();
                    sizes.push(Var { id, ty: Type::scalar(I64), name: "".into() });
                    self.streams.known.types.insert(id, Type::scalar(I64));
                    Extent::Value(id)
                }
                known => known,
            })
            .collect();
        let declared = self.declared(of.param, &own, body, writer);
        let inner = source.inner[1..].to_vec();
        let (id, checks) =
            if inner.is_empty() { named(of.param, &own, &declared, writer) } else { (writer.fresh.id(), true) };
        let ty = Type { inner: inner.clone(), ..Type::array(own.clone(), source.element) };
        let var = Var { id, ty: ty.clone(), name: of.param.name.clone() };
        let results = sizes.into_iter().chain([var]).collect();
        writer.bind_as(results, ArrayOp::Element { source: stream, index: vec![index.into()] });
        if !inner.is_empty() {
            renested(of.param, &declared, id, &ty, &[], writer);
        } else if checks {
            checked(of.param, &own, &declared, id, writer);
        }
    }

    /// The extents that a parameter has: sizes that it binds are those of what is given.
    fn declared(&mut self, param: &Var, own: &[Extent], body: &Block, writer: &mut Writer<'_>) -> Vec<Extent> {
        let mut declared = Vec::new();
        for (&extent, &given) in param.ty.extents.iter().zip(own) {
            let known = &mut self.streams.known;
            let binds = |id: ArrayId| body.sizes.iter().any(|size| size.id == id);
            declared.push(match extent {
                Extent::Value(id) if binds(id) && !known.instead.contains_key(&id) => {
                    // The body may give it to a sink, which takes values.
                    let size = match given {
                        Extent::Value(size) => size,
                        constant => writer.unit("size", |_| scalar(constant)),
                    };
                    known.types.insert(size, Type::scalar(I64));
                    known.instead.insert(id, size.into());
                    given
                }
                other => known.extent_now(other),
            });
        }
        declared
    }

    /// An element of a stream that is in memory as chunks are: its extents and values among those of all.
    fn element_of_stored(
        &mut self,
        stored: &Stored,
        of: &Element<'_>,
        body: &Block,
        index: ArrayId,
        writer: &mut Writer<'_>,
    ) {
        let &Stored { extents, values, number: count, rank, element, .. } = stored;
        let Some(extents) = extents else {
            let op = ArrayOp::Slice { dims: vec![Some(index.into())], sources: vec![values] };
            return writer.bind_as(vec![of.param.clone()], op);
        };
        let sizes = writer.products(extents, count, rank);
        let offsets = offsets(sizes, count, writer);
        let own: Vec<Extent> = (0..rank)
            .map(|dim| {
                let size = writer.unit("size", |f| {
                    let step = ScalarValue::outer(index, I64);
                    if rank == 1 { f.read(extents, I64, &[step]) } else { f.read(extents, I64, &[step, number(dim)]) }
                });
                self.streams.known.types.insert(size, Type::scalar(I64));
                Extent::Value(size)
            })
            .collect();
        let declared = self.declared(of.param, &own, body, writer);
        let (id, checks) = named(of.param, &own, &declared, writer);
        let var = Var { id, ty: Type::array(own.clone(), element), name: of.param.name.clone() };
        writer.generate_as(var, |f, at| {
            let within = (1..rank).fold(at[0], |position, dim| {
                let whole = f.mul(position, scalar(own[dim]));
                f.add(whole, at[dim])
            });
            let begin = f.read(offsets, I64, &[ScalarValue::outer(index, I64)]);
            let position = f.add(begin, within);
            f.read(values, element, &[position])
        });
        if checks {
            checked(of.param, &own, &declared, id, writer);
        }
    }
}

/// An element that is an array of arrays, and a size of the body that is an extent inside of it: nothing else would bind that.
pub(super) fn named_inside(body: &Block) -> Option<(&Var, &Var)> {
    body.params.iter().find_map(|param| {
        let named = param.ty.inner.iter().flatten().find_map(|extent| match extent {
            Extent::Value(id) => body.sizes.iter().find(|size| size.id == *id),
            _ => None,
        });
        named.map(|size| (param, size))
    })
}

/// The id under which an element is bound: that of the parameter, unless its extents have to be compared first.
fn named(param: &Var, own: &[Extent], declared: &[Extent], writer: &mut Writer<'_>) -> (ArrayId, bool) {
    let checks = own != declared;
    (if checks { writer.fresh.id() } else { param.id }, checks)
}

/// Binds a parameter to the arrays of an array of arrays that begin with an index, as arrays of the extents it declares.
fn renested(param: &Var, declared: &[Extent], source: ArrayId, ty: &Type, index: &[ArrayId], writer: &mut Writer<'_>) {
    let params: Vec<Var> =
        declared.iter().map(|_| Var { id: writer.fresh.id(), ty: Type::scalar(I64), name: "".into() }).collect();
    let (bindings, result) = writer.inner(|writer| {
        let mut sizes = Vec::new();
        let extents = ty.inner[0].iter().map(|&extent| match extent {
            Extent::Unknown => {
                let id = writer.fresh.id();
                sizes.push(Var { id, ty: Type::scalar(I64), name: "".into() });
                Extent::Value(id)
            }
            known => known,
        });
        let own = Type { inner: ty.inner[1..].to_vec(), ..Type::array(extents.collect(), ty.element) };
        let id = writer.fresh.id();
        let results = sizes.into_iter().chain([Var { id, ty: own, name: "".into() }]).collect();
        let index = index.iter().copied().chain(params.iter().map(|param| param.id)).map(Operand::Value).collect();
        writer.bind_as(results, ArrayOp::Element { source, index });
        id
    });
    let body = Block { params, bindings, results: vec![result], ..Block::default() };
    let var = Var { ty: Type { extents: declared.to_vec(), ..param.ty.clone() }, ..param.clone() };
    writer.bind_as(vec![var], ArrayOp::Nest { extents: operands(declared), body });
}

/// Binds an element of a plain array, and compares its extents with those declared.
fn bound_as(param: &Var, own: &[Extent], declared: &[Extent], op: ArrayOp, writer: &mut Writer<'_>) {
    let (id, checks) = named(param, own, declared, writer);
    let ty = Type::array(own.to_vec(), param.ty.element);
    writer.bind_as(vec![Var { id, ty, name: param.name.clone() }], op);
    if checks {
        checked(param, own, declared, id, writer);
    }
}

/// Binds a parameter to an element that must have the extents it declares.
fn checked(param: &Var, own: &[Extent], declared: &[Extent], from: ArrayId, writer: &mut Writer<'_>) {
    let mut f = LambdaBuilder::new();
    let mut index: Vec<ScalarValue> = own.iter().map(|_| f.param("", I64)).collect();
    for ((index, &own), &wanted) in index.iter_mut().zip(own).zip(declared) {
        if own == wanted {
            continue;
        }
        let (own, wanted) = (scalar(own), scalar(wanted));
        let equal = f.binary(Binary::Eq, own, wanted);
        let message = format!("an element of `{}` has an extent of {{}}, not {{}}", param.name.0);
        let shown = vec![own.operand, wanted.operand];
        let op = ScalarOp::Assert { condition: equal.operand, message, shown, value: index.operand };
        *index = f.instruction(op, &[I64])[0];
    }
    let f: Lambda = f.finish(&index);
    let op = ArrayOp::Backpermute { extents: operands(declared), f, sources: vec![from] };
    let ty = Type::array(declared.to_vec(), param.ty.element);
    writer.bind_as(vec![Var { ty, ..param.clone() }], op);
}
