//! What is repeated by offsets, as lookups.
//!
//! `replicate_seg` says in one operation what an `expand` of the positions of segments and a `backpermute` say in two. Nested programs are rewritten
//! to these, so that lifting need not know it. A fold of zeros has the checks of the offsets.

use std::{borrow::Cow, collections::HashMap};

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Binding, ElementType, ElementType::I64, Extent, Fresh, Lambda, LambdaBuilder, Operand,
    Program, ScalarOperand, ScalarValue, Type, Var,
};

use crate::extents::{operands, scalar};

/// The program without `replicate_seg`.
pub(crate) fn as_lookups(program: &Program) -> Cow<'_, Program> {
    let mut bindings = program.body.blocks().flat_map(|block| &block.bindings);
    if !bindings.any(|binding| matches!(binding.op, ArrayOp::ReplicateSegments { .. })) {
        return Cow::Borrowed(program);
    }
    let mut types: HashMap<ArrayId, Type> = HashMap::new();
    program.body.for_each_definition(&mut |var| _ = types.insert(var.id, var.ty.clone()));
    let rewritten = program.clone().rewrite(&mut |binding, fresh| match &binding.op {
        ArrayOp::ReplicateSegments { extent, sources, offsets } => {
            let Some(of) = types.get(offsets).filter(|of| !of.extents.contains(&Extent::Unknown)) else {
                return vec![binding];
            };
            let mut written = Written { bindings: Vec::new(), fresh, binding: &binding };
            written.lookup(*extent, sources, (*offsets, of));
            written.bindings
        }
        _ => vec![binding],
    });
    Cow::Owned(rewritten)
}

/// The bindings that stand for one.
struct Written<'w> {
    bindings: Vec<Binding>,
    fresh: &'w mut Fresh,
    binding: &'w Binding,
}

impl Written<'_> {
    fn lookup(&mut self, extent: Operand, sources: &[ArrayId], (offsets, of): (ArrayId, &Type)) {
        let Some(&count) = of.extents.first() else { return };
        let f = Lambda::build(&[], |f, _| vec![f.sub(scalar(count), 1i64)]);
        let segments = Extent::Value(self.bind("segments", Type::scalar(I64), ArrayOp::Unit { f }));

        let all = self.binding.results.first().map(|var| var.ty.extents.clone()).unwrap_or_default();
        let zeros = self.generate("zeros", &all, |_, _| ScalarValue::int(ScalarOperand::Constant(0i64.into())));
        let fold = ArrayOp::Fold {
            combine: Lambda::componentwise(&[(Binary::Add, I64)]),
            seeds: vec![0i64.into()],
            sources: vec![zeros],
            offsets: Some(offsets),
            commutes: false,
        };
        let none = self.bind("none", Type::array(vec![segments], I64), fold);
        let element = of.element;
        let lengths = self.generate("lengths", &[segments], |f, segment| {
            let next = f.add(segment, 1i64);
            let (from, to) = (at(f, offsets, element, segment), at(f, offsets, element, next));
            let (length, none) = (f.sub(to, from), f.read(none, I64, &[segment]));
            f.add(length, none)
        });
        let positions = self.generate("positions", &[segments], |_, segment| segment);

        let (total, rows) = (self.fresh.id(), self.fresh.id());
        let size = Lambda::build(&[("size", I64), ("segment", I64)], |_, p| vec![p[0]]);
        let get = Lambda::build(&[("size", I64), ("segment", I64), ("within", I64)], |_, p| vec![p[1]]);
        let results = vec![
            Var { id: total, ty: Type::scalar(I64), name: "total".into() },
            Var { id: rows, ty: Type::array(vec![Extent::Value(total)], I64), name: "rows".into() },
        ];
        self.write(results, ArrayOp::Expand { size, get, sources: vec![lengths, positions] });
        let f = Lambda::build(&[("x", I64)], |f, p| vec![f.read(rows, I64, &[p[0]])]);
        let op = ArrayOp::Backpermute { extents: vec![extent], f, sources: sources.to_vec() };
        self.write(self.binding.results.clone(), op);
    }

    fn generate(
        &mut self,
        name: &str,
        extents: &[Extent],
        code: impl FnOnce(&mut LambdaBuilder, ScalarValue) -> ScalarValue,
    ) -> ArrayId {
        let f = Lambda::build(&[("i", I64)], |f, p| vec![code(f, p[0])]);
        let op = ArrayOp::Generate { extents: operands(extents), f };
        self.bind(name, Type::array(extents.to_vec(), I64), op)
    }

    fn bind(&mut self, name: &str, ty: Type, op: ArrayOp) -> ArrayId {
        let id = self.fresh.id();
        self.write(vec![Var { id, ty, name: name.into() }], op);
        id
    }

    fn write(&mut self, results: Vec<Var>, op: ArrayOp) {
        self.bindings.push(Binding { results, op, place: self.binding.place.clone() });
    }
}

/// An entry of offsets, whatever integers they are.
fn at(f: &mut LambdaBuilder, offsets: ArrayId, element: ElementType, index: ScalarValue) -> ScalarValue {
    let entry = f.read(offsets, element, &[index]);
    if element == I64 { entry } else { f.convert(I64, entry) }
}
