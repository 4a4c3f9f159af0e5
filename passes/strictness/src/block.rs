//! Blocks made strict: each binding where it is needed.

use std::collections::HashSet;

use fusebox_ir::{
    ArrayId, ArrayOp, Binding, Block, Constant, ElementType, Extent, Fresh, Lambda, Name, Operand, Part, PartMut,
    Program, Type, Var,
    analysis::{
        demand::chosen,
        restrict::{apart, closure, restrict},
    },
};

use crate::{
    Config, Error, Report, code,
    facts::{Facts, Item},
    names::{Named, Names},
    parts::{Bindings, parts},
};

/// Blocks nested deeper take nothing from outside that may be computed there.
const DEEP: usize = 64;
/// Blocks are not nested deeper: scalar code inside may have some levels of its own.
const DEEPEST: usize = fusebox_ir::MAX_NESTING - 2;
/// Small programs may grow by this.
const SMALL: usize = 1_000;

/// A strict program under construction. Items name values of the program that it is made of.
pub(crate) struct Maker<'p> {
    program: &'p Program,
    pub(crate) facts: Facts<'p>,
    pub(crate) names: Names<'p>,
    pub(crate) fresh: Fresh,
    depth: usize,
    /// Bindings of the program, of blocks inside too.
    before: usize,
    made: usize,
    limit: usize,
    seen: HashSet<ArrayId>,
    pub(crate) report: Report,
}

/// The strict program.
pub(crate) fn program(program: &Program, config: &Config) -> Result<(Program, Report), Error> {
    let before = program.body.blocks().map(|block| block.bindings.len()).sum();
    let mut maker = Maker {
        program,
        facts: Facts::of(program),
        names: Names::default(),
        fresh: Fresh::new(program),
        depth: 0,
        before,
        made: 0,
        limit: before.saturating_mul(config.max_growth).saturating_add(SMALL),
        seen: HashSet::new(),
        report: Report::default(),
    };
    let body = &program.body;
    let (sizes, params) = maker.enter(body);
    let mut bindings = Vec::new();
    maker.block(&[], &body.bindings, &body.results, &[], &mut bindings)?;
    let results = body.results.iter().map(|&id| maker.array(id)).collect();
    let mut outputs = program.outputs.clone();
    outputs.iter_mut().for_each(|output| maker.extents(&mut output.ty));
    maker.report.dropped = before - maker.seen.len();
    let body = Block { sizes, params, bindings, results };
    let made = Program { name: program.name.clone(), body, outputs };
    Ok((made.renumbered(), maker.report))
}

impl<'p> Maker<'p> {
    /// Computes results of a block: what they certainly need, in order, and in its branches the rest. `waits` is what was not computed
    /// outside.
    pub(crate) fn block(
        &mut self,
        waits: &[Item<'p>],
        own: &'p [Binding],
        results: &[ArrayId],
        holds: &[Operand],
        out: &mut Vec<Binding>,
    ) -> Result<(), Error> {
        let early = self.depth >= DEEP || self.made > self.limit;
        self.report.limit_reached |= early && !waits.is_empty();
        let list = Bindings { waits, own, results, holds, depth: self.depth };
        let mut later: Vec<Item<'p>> = Vec::new();
        for portion in parts(&list, &self.facts, early) {
            if let Some(item) = portion.later {
                if let ArrayOp::Unit { f } = &item.binding.op {
                    for (at, (var, &wanted)) in item.binding.results.iter().zip(&item.wanted).enumerate() {
                        if wanted {
                            self.names.bind(var.id, Named::Code(f, at));
                        }
                    }
                }
                later.push(item);
            }
            if let Some(item) = portion.now {
                self.report.moved += usize::from(item.depth < self.depth);
                match portion.only_for {
                    Some(runs) => self.only_for(&item, &runs, &later, out)?,
                    None => {
                        self.count(item.binding)?;
                        self.binding(&item, &later, out)?;
                    }
                }
            }
        }
        // Code that only functions hold is somewhere, too.
        self.seen.extend(later.iter().filter_map(|item| first(item.binding)));
        Ok(())
    }

    /// Counts what is made.
    pub(crate) fn count(&mut self, binding: &Binding) -> Result<(), Error> {
        self.made += 1;
        if first(binding).is_some_and(|id| !self.seen.insert(id)) {
            self.report.copied += 1;
        }
        if self.made > self.limit.saturating_mul(2) {
            let (result, place) = (name(binding), binding.place.clone());
            return Err(Error::Growth { result, bindings: self.made, before: self.before, place });
        }
        Ok(())
    }

    /// A block inside: what it names is forgotten after it.
    pub(crate) fn inside<R>(
        &mut self,
        binding: &Binding,
        make: impl FnOnce(&mut Self) -> Result<R, Error>,
    ) -> Result<R, Error> {
        if self.depth >= DEEPEST {
            return Err(Error::Depth { result: name(binding), depth: self.depth, place: binding.place.clone() });
        }
        self.depth += 1;
        let mark = self.names.mark();
        let made = make(self);
        self.names.undo(mark);
        self.depth -= 1;
        made
    }

    /// Makes some results of a binding; `later` is what waits, for its blocks.
    pub(crate) fn binding(&mut self, item: &Item<'p>, later: &[Item<'p>], out: &mut Vec<Binding>) -> Result<(), Error> {
        // What comes along is made again where it is known already: it keeps its name, as it is needed under that outside, too.
        let along = item.binding.results.iter().zip(&item.wanted).filter(|(_, wanted)| !**wanted);
        let known: Vec<(ArrayId, Named<'p>)> =
            along.filter_map(|(var, _)| Some((var.id, self.names.get(var.id)?))).collect();
        self.named(item, later, out)?;
        known.into_iter().for_each(|(id, named)| self.names.bind(id, named));
        Ok(())
    }

    fn named(&mut self, item: &Item<'p>, later: &[Item<'p>], out: &mut Vec<Binding>) -> Result<(), Error> {
        let wanted = closure(item.binding, &item.wanted);
        match &item.binding.op {
            ArrayOp::Cond { .. } => self.cond(item.binding, &wanted, later, out),
            ArrayOp::While { .. } => self.while_loop(item, later, out),
            ArrayOp::Foreign { .. } => self.foreign(item.binding, &wanted, out),
            ArrayOp::Cluster { .. } => self.cluster(item.binding, &wanted, out),
            ArrayOp::Consume { .. } | ArrayOp::Nest { .. } => self.whole(item.binding, &wanted, out),
            _ => {
                let facts = &self.facts;
                let needed = restrict(item.binding, &wanted);
                let parts = apart(&needed, &facts.sizes, &|id| facts.ty(id));
                self.report.cut += parts.len() - 1;
                for part in parts {
                    let part = filled(part.into_owned(), &mut self.fresh);
                    let made = self.renamed(part);
                    out.push(made);
                }
                Ok(())
            }
        }
    }

    /// The fallback, with the wanted results alone.
    fn foreign(&mut self, binding: &'p Binding, wanted: &[bool], out: &mut Vec<Binding>) -> Result<(), Error> {
        let ArrayOp::Foreign { name, fallback, arguments } = &binding.op else { unreachable!("a foreign operation") };
        let arguments = arguments.iter().map(|&argument| self.operand(argument)).collect();
        let fallback = self.inside(binding, |maker| {
            let (sizes, params) = maker.enter(fallback);
            let (mut bindings, given) = (Vec::new(), chosen(&fallback.results, wanted));
            maker.block(&[], &fallback.bindings, &given, &[], &mut bindings)?;
            let results = given.iter().map(|&id| maker.array(id)).collect();
            Ok(Block { sizes, params, bindings, results })
        })?;
        let results = self.results(binding, wanted);
        let op = ArrayOp::Foreign { name: name.clone(), fallback, arguments };
        out.push(Binding { results, op, place: binding.place.clone() });
        Ok(())
    }

    /// An operation whose blocks need all that they name.
    fn whole(&mut self, binding: &'p Binding, wanted: &[bool], out: &mut Vec<Binding>) -> Result<(), Error> {
        let mut made = binding.clone();
        let lanes = binding.op.is_lanes();
        if lanes {
            made = restrict(binding, wanted).into_owned();
        }
        for (part, from) in made.op.parts_mut().into_iter().zip(binding.op.parts()) {
            let (PartMut::Body(body), Part::Body(from)) = (part, from) else { continue };
            *body = self.inside(binding, |maker| {
                let (sizes, params) = maker.enter(from);
                let mut bindings = Vec::new();
                let given = body.results.clone();
                maker.block(&[], &from.bindings, &given, &[], &mut bindings)?;
                let results = maker.given(&given, &mut bindings);
                Ok(Block { sizes, params, bindings, results })
            })?;
        }
        let made = self.renamed(made);
        out.push(made);
        Ok(())
    }

    /// A binding in the names of the strict program; blocks are in them already.
    pub(crate) fn renamed(&mut self, mut binding: Binding) -> Binding {
        for part in binding.op.parts_mut() {
            match part {
                PartMut::Array(id) => *id = self.array(*id),
                PartMut::Value(operand) | PartMut::Argument(operand) => *operand = self.operand(*operand),
                PartMut::Function(f) => self.function(f),
                PartMut::Body(_) | PartMut::Inner(_) => {}
            }
        }
        self.define(&mut binding.results);
        binding
    }

    fn function(&mut self, f: &mut Lambda) {
        let names = &self.names;
        let find = |id: ArrayId| match names.get(id) {
            Some(Named::Code(f, result)) => Some((f, result)),
            _ => None,
        };
        self.report.inlined += code::inline(f, &find);
        f.map_outer(&mut |id| self.operand(Operand::Value(id)));
    }

    /// What a value is in the strict program, where it is an array or used as one.
    pub(crate) fn array(&self, id: ArrayId) -> ArrayId {
        match self.names.get(id) {
            Some(Named::Value(value)) => value,
            named => panic!("{id} is {named:?} where an array is wanted, in\n{}", self.program),
        }
    }

    pub(crate) fn operand(&self, operand: Operand) -> Operand {
        let Operand::Value(id) = operand else { return operand };
        match self.names.get(id) {
            Some(Named::Value(value)) => Operand::Value(value),
            Some(Named::Constant(constant)) => Operand::Constant(constant),
            named => panic!("{id} is {named:?} where a value is wanted, in\n{}", self.program),
        }
    }

    /// A type's extents in the names of the strict program.
    fn extents(&self, ty: &mut Type) {
        ty.substitute(&mut |id| self.operand(Operand::Value(id)));
    }

    /// Gives values names of their own. Their types may name each other.
    pub(crate) fn define(&mut self, vars: &mut [Var]) {
        for var in &mut *vars {
            let id = self.fresh.id();
            self.names.bind(var.id, Named::Value(id));
            var.id = id;
        }
        vars.iter_mut().for_each(|var| self.extents(&mut var.ty));
    }

    /// The results of a binding that are wanted, with names of their own.
    pub(crate) fn results(&mut self, binding: &Binding, wanted: &[bool]) -> Vec<Var> {
        let list = binding.results.iter().zip(wanted).filter(|(_, wanted)| **wanted);
        let mut results: Vec<Var> = list.map(|(var, _)| var.clone()).collect();
        self.define(&mut results);
        results
    }

    /// Sizes and parameters of a block, with names of their own.
    pub(crate) fn enter(&mut self, block: &Block) -> (Vec<Var>, Vec<Var>) {
        let mut head: Vec<Var> = block.sizes.iter().chain(&block.params).cloned().collect();
        self.define(&mut head);
        let params = head.split_off(block.sizes.len());
        (head, params)
    }
}

fn first(binding: &Binding) -> Option<ArrayId> {
    binding.results.first().map(|var| var.id)
}

fn name(binding: &Binding) -> String {
    binding.results.first().map_or_else(String::new, |var| match var.name.is_empty() {
        true => var.id.to_string(),
        false => var.name.0.clone(),
    })
}

/// An `expand` of which only the number of elements is left has some elements to count.
fn filled(mut binding: Binding, fresh: &mut Fresh) -> Binding {
    if let ArrayOp::Expand { get, .. } = &mut binding.op
        && get.results.is_empty()
    {
        get.results.push(Constant::from(false).into());
        let ty = Type::array(vec![Extent::Value(binding.results[0].id)], ElementType::Bool);
        binding.results.push(Var { id: fresh.id(), ty, name: Name::default() });
    }
    binding
}
