//! The program out of placed terms.

use std::collections::HashMap;

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Block, ElementType, Extent, Lambda, Local, LocalId, Name, Operand, Output, PartMut,
    Program, ScalarOp, ScalarOperand, Type, Var,
    term::{Term, TermId, Terms},
};

use crate::{
    Config, Error,
    names::Names,
    placement::Placement,
    scalar_code::{Around, Root, translate},
    scopes::{Scope, operands_of},
};

/// Makes the program; ids are dense.
pub(crate) fn program(terms: &Terms, placement: &Placement, config: &Config) -> Result<Program, Error> {
    let names = Names::new(terms);
    let mut maker = Maker { terms, placement, config, results: HashMap::new(), names, next: terms.nodes.len() as u32 };
    let mut body = Block::default();
    for &input in &terms.inputs {
        let mut sizes = Vec::new();
        operands_of(terms, input, &mut |size| sizes.push(size));
        for size in sizes {
            if let Term::Size { name } = &terms.nodes[size.index()].term
                && !maker.results.contains_key(&size)
            {
                let id = maker.bind(size);
                body.sizes.push(Var { id, ty: Type::scalar(ElementType::I64), name: Name(name.clone()) });
            }
        }
    }
    for &input in &terms.inputs {
        let id = maker.bind(input);
        if let Term::Input { name, ty } = &terms.nodes[input.index()].term {
            body.params.push(Var { id, ty: maker.ty(ty)?, name: Name(name.clone()) });
        }
    }
    let results: Vec<TermId> = terms.outputs.iter().map(|(_, id)| *id).collect();
    maker.fill(&mut body, 0, &results)?;
    let mut outputs = Vec::new();
    for ((name, term), id) in terms.outputs.iter().zip(&body.results) {
        let ty = maker.declared(&body, *id).ok_or_else(|| Error::escapes(terms, *term))?;
        outputs.push(Output { name: name.clone(), ty });
    }
    Ok(Program { name: terms.name.clone(), body, outputs }.renumbered())
}

struct Maker<'t> {
    terms: &'t Terms,
    placement: &'t Placement,
    config: &'t Config,
    /// The values that terms are bound to: all results of operations and units.
    results: HashMap<TermId, Vec<ArrayId>>,
    names: Names,
    next: u32,
}

impl Around for Maker<'_> {
    fn bound(&self, id: TermId) -> Option<ArrayId> {
        match &self.terms.nodes[id.index()].term {
            Term::Result { of, index } => self.results.get(of)?.get(*index as usize).copied(),
            _ => self.results.get(&id)?.first().copied(),
        }
    }
}

impl Maker<'_> {
    fn fresh(&mut self) -> ArrayId {
        self.next += 1;
        ArrayId(self.next - 1)
    }

    /// A value for a term that has one.
    fn bind(&mut self, id: TermId) -> ArrayId {
        let value = self.fresh();
        self.results.insert(id, vec![value]);
        value
    }

    /// The value that a term is bound to.
    fn value(&self, id: TermId) -> Result<ArrayId, Error> {
        self.bound(id).ok_or_else(|| Error::escapes(self.terms, id))
    }

    fn extent(&self, extent: Extent) -> Result<Extent, Error> {
        let Extent::Value(id) = extent else { return Ok(extent) };
        match self.operand(Operand::Value(id))? {
            Operand::Value(id) => Ok(Extent::Value(id)),
            Operand::Constant(constant) => constant
                .as_i64()
                .map(Extent::Constant)
                .ok_or_else(|| Error::Extent { place: self.terms.nodes[TermId::of_array(id).index()].place.clone() }),
        }
    }

    fn ty(&self, ty: &Type) -> Result<Type, Error> {
        let mut ty = ty.clone();
        for extent in ty.all_extents_mut() {
            *extent = self.extent(*extent)?;
        }
        Ok(ty)
    }

    fn operand(&self, operand: Operand) -> Result<Operand, Error> {
        let Operand::Value(id) = operand else { return Ok(operand) };
        let term = TermId::of_array(id);
        match &self.terms.nodes[term.index()].term {
            Term::Constant(constant) => Ok(Operand::Constant(*constant)),
            _ => self.value(term).map(Operand::Value),
        }
    }

    /// Fills a block with what is placed in it, and gives it its results.
    fn fill(&mut self, block: &mut Block, place: usize, results: &[TermId]) -> Result<(), Error> {
        let placement = self.placement;
        for &id in &placement.places[place].terms {
            let binding = self.binding(id)?;
            block.bindings.push(binding);
        }
        for &result in results {
            let value = match self.operand(Operand::Value(result.as_array()))? {
                Operand::Value(value) => value,
                Operand::Constant(constant) => {
                    let id = self.fresh();
                    let f = Lambda { results: vec![constant.into()], ..Lambda::default() };
                    let var = Var { id, ty: Type::scalar(constant.ty()), name: Name::default() };
                    block.bindings.push(Binding {
                        results: vec![var],
                        op: ArrayOp::Unit { f },
                        place: Default::default(),
                    });
                    id
                }
            };
            block.results.push(value);
        }
        Ok(())
    }

    fn binding(&mut self, id: TermId) -> Result<Binding, Error> {
        let node = &self.terms.nodes[id.index()];
        let (op, types) = match &node.term {
            Term::Array { op, results, .. } => {
                let op = if self.placement.nests.contains(&id) { self.nest(id)? } else { self.operation(id, op)? };
                (op, results.clone())
            }
            Term::Scalar { results, .. } => {
                let f = translate(self.terms, self, &self.names, self.config, Root::Unit(id))?;
                (ArrayOp::Unit { f }, results.iter().map(|&element| Type::scalar(element)).collect())
            }
            _ => return Err(Error::Escapes { place: node.place.clone() }),
        };
        let ids: Vec<ArrayId> = types.iter().map(|_| self.fresh()).collect();
        self.results.insert(id, ids.clone());
        let names = self.names.of_binding(self.terms, id, ids.len());
        let var = |((ty, id), name): ((&Type, ArrayId), Name)| Ok(Var { id, ty: self.ty(ty)?, name });
        let results = types.iter().zip(ids).zip(names).map(var).collect::<Result<_, Error>>()?;
        Ok(Binding { results, op, place: node.place.clone() })
    }

    /// An operation with its operands, functions and blocks.
    fn operation(&mut self, id: TermId, skeleton: &ArrayOp) -> Result<ArrayOp, Error> {
        let terms = self.terms;
        let Term::Array { functions, blocks, .. } = &terms.nodes[id.index()].term else { return Ok(skeleton.clone()) };
        let mut op = skeleton.clone();
        let (mut functions, mut blocks) = (functions.iter(), blocks.iter().enumerate());
        for part in op.parts_mut() {
            match part {
                PartMut::Array(array) | PartMut::Inner(array) => {
                    *array = self.value(TermId::of_array(*array))?;
                }
                PartMut::Value(operand) | PartMut::Argument(operand) => *operand = self.operand(*operand)?,
                PartMut::Function(f) => {
                    if let Some(function) = functions.next() {
                        *f = translate(terms, self, &self.names, self.config, Root::Function(function))?;
                    }
                }
                PartMut::Body(body) => {
                    if let Some((index, block)) = blocks.next() {
                        *body =
                            self.block(Scope { owner: id, index, is_block: true }, &block.params, &block.results)?;
                    }
                }
            }
        }
        Ok(op)
    }

    fn block(&mut self, scope: Scope, params: &[TermId], results: &[TermId]) -> Result<Block, Error> {
        let mut block = Block::default();
        let closed = matches!(&self.terms.nodes[scope.owner.index()].term, Term::Array { op, .. }
            if matches!(**op, ArrayOp::Foreign { .. } | ArrayOp::Consume { .. }));
        for &param in params {
            if let Term::BlockParameter { ty, name } = &self.terms.nodes[param.index()].term {
                // Extents that nothing has bound yet are sizes that this type binds.
                for extent in ty.all_extents() {
                    if let Extent::Value(size) = extent
                        && closed
                        && matches!(self.terms.nodes[TermId::of_array(*size).index()].term, Term::Size { .. })
                        && !self.results.contains_key(&TermId::of_array(*size))
                    {
                        let name = match &self.terms.nodes[TermId::of_array(*size).index()].term {
                            Term::Size { name } => Name(name.clone()),
                            _ => Name::default(),
                        };
                        let id = self.bind(TermId::of_array(*size));
                        block.sizes.push(Var { id, ty: Type::scalar(ElementType::I64), name });
                    }
                }
                let id = self.bind(param);
                block.params.push(Var { id, ty: self.ty(ty)?, name: Name(name.clone()) });
            }
        }
        let place = self.placement.place_of_scope[&scope];
        self.fill(&mut block, place, results)?;
        Ok(block)
    }

    /// A `map` or `generate` whose function holds array operations: its parameters become values of a block.
    fn nest(&mut self, id: TermId) -> Result<ArrayOp, Error> {
        let terms = self.terms;
        let Term::Array { op, functions, results, .. } = &terms.nodes[id.index()].term else {
            return Err(Error::Escapes { place: terms.nodes[id.index()].place.clone() });
        };
        let function = &functions[0];
        let mut body = Block::default();
        let index = |id: ArrayId, name: Name| Var { id, ty: Type::scalar(ElementType::I64), name };
        let extents = results[0].extents.iter().map(|&extent| match self.extent(extent)? {
            Extent::Constant(n) => Ok(Operand::Constant(n.into())),
            Extent::Value(id) => Ok(Operand::Value(id)),
            Extent::Unknown => Err(Error::Extent { place: terms.nodes[id.index()].place.clone() }),
        });
        let extents: Vec<Operand> = extents.collect::<Result<_, Error>>()?;
        if let ArrayOp::Map { sources, .. } = &**op {
            for _ in &extents {
                let id = self.fresh();
                body.params.push(index(id, "i".into()));
            }
            let indices: Vec<ScalarOperand> = body.params.iter().map(|param| ScalarOperand::Outer(param.id)).collect();
            for (source, &param) in sources.iter().zip(&function.params) {
                let Term::Parameter { ty, name } = &terms.nodes[param.index()].term else { continue };
                let array = self.value(TermId::of_array(*source))?;
                let element = Local { id: LocalId(0), ty: *ty, name: Name::default() };
                let read = fusebox_ir::Instruction {
                    results: vec![element],
                    op: ScalarOp::Read { array, index: indices.clone() },
                    place: terms.nodes[id.index()].place.clone(),
                };
                let f = Lambda { params: Vec::new(), instructions: vec![read], results: vec![LocalId(0).into()] };
                let value = self.bind(param);
                let var = Var { id: value, ty: Type::scalar(*ty), name: Name(name.clone()) };
                body.bindings.push(Binding { results: vec![var], op: ArrayOp::Unit { f }, place: Default::default() });
            }
        } else {
            for &param in &function.params {
                let name = match &terms.nodes[param.index()].term {
                    Term::Parameter { name, .. } => Name(name.clone()),
                    _ => Name::default(),
                };
                let id = self.bind(param);
                body.params.push(index(id, name));
            }
        }
        let place = self.placement.place_of_scope[&Scope { owner: id, index: 0, is_block: false }];
        self.fill(&mut body, place, &function.results)?;
        Ok(ArrayOp::Nest { extents, body })
    }

    /// The declared type of a result of the body: extents that are no inputs may be any.
    fn declared(&self, body: &Block, id: ArrayId) -> Option<Type> {
        let vars =
            body.params.iter().chain(&body.sizes).chain(body.bindings.iter().flat_map(|binding| &binding.results));
        let mut ty = vars.into_iter().find(|var| var.id == id)?.ty.clone();
        for extent in ty.all_extents_mut() {
            if let Extent::Value(size) = extent
                && !body.sizes.iter().chain(&body.params).any(|var| var.id == *size)
            {
                *extent = Extent::Unknown;
            }
        }
        Some(ty)
    }
}
