//! Writing bindings one after the other.

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Binding, ElementType, ElementType::I64, Extent, Fresh, Lambda, LambdaBuilder, Place,
    ScalarOperand, ScalarValue, Type, Var,
};

use crate::extents::operands;

/// A block that is written.
pub(super) struct Writer<'w> {
    pub bindings: &'w mut Vec<Binding>,
    pub fresh: &'w mut Fresh,
    /// Where what is written stands in the source.
    pub place: &'w Place,
}

impl Writer<'_> {
    /// Another block, with the same ids.
    pub fn inner<R>(&mut self, write: impl FnOnce(&mut Writer<'_>) -> R) -> (Vec<Binding>, R) {
        let mut bindings = Vec::new();
        let result = write(&mut Writer { bindings: &mut bindings, fresh: self.fresh, place: self.place });
        (bindings, result)
    }

    pub fn bind_as(&mut self, results: Vec<Var>, op: ArrayOp) {
        self.bindings.push(Binding { results, op, place: self.place.clone() });
    }

    pub fn bind(&mut self, name: &str, ty: Type, op: ArrayOp) -> ArrayId {
        let id = self.fresh.id();
        self.bind_as(vec![Var { id, ty, name: name.into() }], op);
        id
    }

    /// Scalar code of one `i64`.
    pub fn unit(&mut self, name: &str, code: impl FnOnce(&mut LambdaBuilder) -> ScalarValue) -> ArrayId {
        self.bind(name, Type::scalar(I64), ArrayOp::Unit { f: code_of(code) })
    }

    /// As [`Self::unit`], of a value that is known already.
    pub fn unit_as(&mut self, var: Var, code: impl FnOnce(&mut LambdaBuilder) -> ScalarValue) {
        self.bind_as(vec![var], ArrayOp::Unit { f: code_of(code) });
    }

    /// An array computed by its indices.
    pub fn generate(
        &mut self,
        name: &str,
        extents: &[Extent],
        element: ElementType,
        code: impl FnOnce(&mut LambdaBuilder, &[ScalarValue]) -> ScalarValue,
    ) -> ArrayId {
        let id = self.fresh.id();
        let ty = Type::array(extents.to_vec(), element);
        self.generate_as(Var { id, ty, name: name.into() }, code);
        id
    }

    /// As [`Self::generate`], of a value that is known already.
    pub fn generate_as(&mut self, var: Var, code: impl FnOnce(&mut LambdaBuilder, &[ScalarValue]) -> ScalarValue) {
        let mut f = LambdaBuilder::new();
        let index: Vec<ScalarValue> = var.ty.extents.iter().map(|_| f.param("", I64)).collect();
        let element = code(&mut f, &index);
        let op = ArrayOp::Generate { extents: operands(&var.ty.extents), f: f.finish(&[element]) };
        self.bind_as(vec![var], op);
    }

    /// The first elements of an array, along the outermost dimension.
    pub fn first(&mut self, name: &str, source: ArrayId, ty: Type) -> ArrayId {
        let params = vec![("", I64); ty.rank()];
        let f = Lambda::build(&params, |_, p| p.to_vec());
        let op = ArrayOp::Backpermute { extents: operands(&ty.extents), f, sources: vec![source] };
        self.bind(name, ty, op)
    }

    /// The elements of an array in other extents.
    pub fn reshape_as(&mut self, var: Var, source: ArrayId) {
        let op = ArrayOp::Reshape { extents: operands(&var.ty.extents), sources: vec![source] };
        self.bind_as(vec![var], op);
    }

    /// As [`Self::reshape_as`].
    pub fn reshape(&mut self, name: &str, source: ArrayId, ty: Type) -> ArrayId {
        let op = ArrayOp::Reshape { extents: operands(&ty.extents), sources: vec![source] };
        self.bind(name, ty, op)
    }

    /// How many values each of `count` elements of a rank has, from their extents.
    pub fn products(&mut self, extents: ArrayId, count: ArrayId, rank: usize) -> ArrayId {
        if rank == 1 {
            return extents;
        }
        self.generate("sizes", &[count.into()], I64, |f, index| {
            let first = f.read(extents, I64, &[index[0], number(0)]);
            (1..rank).fold(first, |product, dim| {
                let extent = f.read(extents, I64, &[index[0], number(dim)]);
                f.mul(product, extent)
            })
        })
    }

    /// All elements of an `i64` vector combined.
    pub fn fold(&mut self, name: &str, combine: Binary, seed: i64, source: ArrayId) -> ArrayId {
        let op = ArrayOp::Fold {
            combine: Lambda::componentwise(&[(combine, I64)]),
            seeds: vec![seed.into()],
            sources: vec![source],
            offsets: None,
            commutes: false,
        };
        self.bind(name, Type::scalar(I64), op)
    }
}

fn code_of(code: impl FnOnce(&mut LambdaBuilder) -> ScalarValue) -> Lambda {
    let mut f = LambdaBuilder::new();
    let value = code(&mut f);
    f.finish(&[value])
}

/// A number as a scalar of code.
pub(super) fn number(value: usize) -> ScalarValue {
    ScalarValue::int(ScalarOperand::Constant((value as i64).into()))
}
