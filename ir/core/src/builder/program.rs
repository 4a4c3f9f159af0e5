//! Building programs.

use std::collections::HashMap;

use crate::{
    ArrayId, ArrayOp, Binding, Block, ElementType, Extent, Lambda, LambdaBuilder, Operand, Output, Place, Program,
    ScalarValue, Type, ValidationErrors, Var, validate,
};

/// Builds a [`Program`], or a block of one.
///
/// Ids are counted anew at the end, so blocks may be built in any order before the operation that holds them.
///
/// ```
/// use fusebox_ir::{Binary, ElementType::F32, Lambda, ProgramBuilder};
/// let mut p = ProgramBuilder::new("dotp");
/// let n = p.size("n");
/// let (xs, ys) = (p.input("xs", F32, &[n.into()]), p.input("ys", F32, &[n.into()]));
/// let products = p.map("products", &[xs, ys], |f, e| f.mul(e[0], e[1]));
/// let s = p.fold("s", Lambda::componentwise(&[(Binary::Add, F32)]), &[0f32.into()], &[products]);
/// p.output("s", s[0]);
/// let program = p.finish()?;
/// assert_eq!(program.body.bindings.len(), 2);
/// # Ok::<(), fusebox_ir::ValidationErrors>(())
/// ```
#[derive(Debug)]
pub struct ProgramBuilder {
    name: String,
    next: u32,
    /// The program's body, and around the innermost block the blocks it stands in.
    open: Vec<Block>,
    types: HashMap<ArrayId, Type>,
    outputs: Vec<Output>,
    place: Place,
}

impl From<ArrayId> for Extent {
    fn from(id: ArrayId) -> Self {
        Self::Value(id)
    }
}
impl From<i64> for Extent {
    fn from(extent: i64) -> Self {
        Self::Constant(extent)
    }
}
impl From<i64> for Operand {
    fn from(value: i64) -> Self {
        Self::Constant(value.into())
    }
}
impl From<f32> for Operand {
    fn from(value: f32) -> Self {
        Self::Constant(value.into())
    }
}

impl ProgramBuilder {
    /// A program without inputs, bindings and results.
    pub fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            next: 0,
            open: vec![Block::default()],
            types: HashMap::new(),
            outputs: Vec::new(),
            place: Place::default(),
        }
    }

    /// Bindings from here on get this place.
    pub fn at(&mut self, place: Place) {
        self.place = place;
    }

    /// The type of a value made by this builder.
    ///
    /// # Panics
    /// If it was not.
    #[track_caller]
    pub fn type_of(&self, id: ArrayId) -> &Type {
        self.types.get(&id).expect("a value made by this builder")
    }

    fn id(&mut self) -> ArrayId {
        let id = ArrayId(self.next);
        self.next += 1;
        id
    }

    fn body(&mut self) -> &mut Block {
        self.open.last_mut().expect("the program's body is always open")
    }

    fn var(&mut self, id: ArrayId, name: &str, ty: Type) -> Var {
        self.types.insert(id, ty.clone());
        Var { id, ty, name: name.into() }
    }

    /// A size that the types of the inputs (parameters of this block) bind, in the order in which they meet sizes first.
    pub fn size(&mut self, name: &str) -> ArrayId {
        let id = self.id();
        let var = self.var(id, name, Type::scalar(ElementType::I64));
        self.body().sizes.push(var);
        id
    }

    /// An input (a parameter of this block) of any type.
    pub fn param(&mut self, name: &str, ty: Type) -> ArrayId {
        let id = self.id();
        let var = self.var(id, name, ty);
        self.body().params.push(var);
        id
    }

    /// An input that is an array of scalars, or a scalar if there are no extents.
    pub fn input(&mut self, name: &str, element: ElementType, extents: &[Extent]) -> ArrayId {
        self.param(name, Type::array(extents.to_vec(), element))
    }

    /// A binding of `count` results, whose types may name the results.
    ///
    /// # Panics
    /// If `results` gives another number than `count`.
    #[track_caller]
    pub fn bind<'a>(
        &mut self,
        count: usize,
        op: ArrayOp,
        results: impl FnOnce(&[ArrayId]) -> Vec<(&'a str, Type)>,
    ) -> Vec<ArrayId> {
        let ids: Vec<ArrayId> = (0..count).map(|_| self.id()).collect();
        let types = results(&ids);
        assert_eq!(types.len(), count, "a name and a type for each result");
        let results = ids.iter().zip(types).map(|(&id, (name, ty))| self.var(id, name, ty)).collect();
        let place = self.place.clone();
        self.body().bindings.push(Binding { results, op, place });
        ids
    }

    /// A binding of one result.
    pub fn bind_one(&mut self, name: &str, ty: Type, op: ArrayOp) -> ArrayId {
        self.bind(1, op, |_| vec![(name, ty)])[0]
    }

    /// A value of rank 0 as an operand of scalar code.
    ///
    /// # Panics
    /// If it was not made by this builder.
    #[track_caller]
    pub fn scalar(&self, id: ArrayId) -> ScalarValue {
        ScalarValue::outer(id, self.type_of(id).element)
    }

    /// `unit`: scalar code of one result. Values from outside come from [`Self::scalar`].
    pub fn unit(&mut self, name: &str, build: impl FnOnce(&mut LambdaBuilder) -> ScalarValue) -> ArrayId {
        let (f, ty) = lambda(&[], |f, _| build(f));
        self.bind_one(name, Type::scalar(ty), ArrayOp::Unit { f })
    }

    /// `generate` of one array.
    pub fn generate(
        &mut self,
        name: &str,
        extents: &[Extent],
        build: impl FnOnce(&mut LambdaBuilder, &[ScalarValue]) -> ScalarValue,
    ) -> ArrayId {
        let (f, ty) = lambda(&vec![ElementType::I64; extents.len()], build);
        let operands = operands(extents);
        self.bind_one(name, Type::array(extents.to_vec(), ty), ArrayOp::Generate { extents: operands, f })
    }

    /// `map` to one array, over the extents of the first source.
    ///
    /// # Panics
    /// If there is no source, or one that this builder did not make.
    #[track_caller]
    pub fn map(
        &mut self,
        name: &str,
        sources: &[ArrayId],
        build: impl FnOnce(&mut LambdaBuilder, &[ScalarValue]) -> ScalarValue,
    ) -> ArrayId {
        let elements: Vec<ElementType> = sources.iter().map(|&id| self.type_of(id).element).collect();
        let extents = self.type_of(sources[0]).extents.clone();
        let (f, ty) = lambda(&elements, build);
        self.bind_one(name, Type::array(extents, ty), ArrayOp::Map { f, sources: sources.to_vec() })
    }

    /// `fold` (without seeds `fold1`) of the innermost dimension; the results have the given name.
    ///
    /// # Panics
    /// If a source is of rank 0, or was not made by this builder.
    #[track_caller]
    pub fn fold(&mut self, name: &str, combine: Lambda, seeds: &[Operand], sources: &[ArrayId]) -> Vec<ArrayId> {
        let types: Vec<Type> = sources
            .iter()
            .map(|&id| {
                let mut ty = self.type_of(id).clone();
                ty.extents.pop().expect("a fold of at least one dimension");
                ty
            })
            .collect();
        let op =
            ArrayOp::Fold { combine, seeds: seeds.to_vec(), sources: sources.to_vec(), offsets: None, commutes: false };
        self.bind(types.len(), op, |_| types.into_iter().map(|ty| (name, ty)).collect())
    }

    /// A block: `build` gives its results; its sizes and parameters come from [`Self::size`] and [`Self::param`].
    pub fn block(&mut self, build: impl FnOnce(&mut Self) -> Vec<ArrayId>) -> Block {
        self.open.push(Block::default());
        let results = build(self);
        let mut block = self.open.pop().unwrap_or_default();
        block.results = results;
        block
    }

    /// A result of the program; extents that are no constants, sizes or inputs are declared as `?`.
    ///
    /// # Panics
    /// If the value was not made by this builder.
    #[track_caller]
    pub fn output(&mut self, name: &str, id: ArrayId) {
        let mut ty = self.type_of(id).clone();
        let body = &self.open[0];
        for extent in ty.all_extents_mut() {
            if let Extent::Value(id) = extent
                && !body.sizes.iter().chain(&body.params).any(|var| var.id == *id)
            {
                *extent = Extent::Unknown;
            }
        }
        self.output_as(name, id, ty);
    }

    /// A result of the program of a declared type.
    pub fn output_as(&mut self, name: &str, id: ArrayId, ty: Type) {
        self.outputs.push(Output { name: name.to_owned(), ty });
        self.open[0].results.push(id);
    }

    /// The program, with dense ids, as it was built: maybe not valid.
    pub fn finish_unchecked(mut self) -> Program {
        let body = self.open.swap_remove(0);
        Program { name: self.name, body, outputs: self.outputs }.renumbered()
    }

    /// The program, with dense ids.
    ///
    /// # Errors
    /// Every fault that [`validate()`] finds.
    pub fn finish(self) -> Result<Program, ValidationErrors> {
        let program = self.finish_unchecked();
        validate(&program, &[])?;
        Ok(program)
    }
}

/// Extents as operands; `?` is none and becomes 0.
fn operands(extents: &[Extent]) -> Vec<Operand> {
    extents
        .iter()
        .map(|extent| match *extent {
            Extent::Constant(value) => value.into(),
            Extent::Value(id) => id.into(),
            Extent::Unknown => 0i64.into(),
        })
        .collect()
}

fn lambda(
    params: &[ElementType],
    build: impl FnOnce(&mut LambdaBuilder, &[ScalarValue]) -> ScalarValue,
) -> (Lambda, ElementType) {
    let mut f = LambdaBuilder::new();
    let params: Vec<ScalarValue> = params.iter().map(|&ty| f.param("", ty)).collect();
    let result = build(&mut f, &params);
    (f.finish(&[result]), result.ty)
}
