//! Blocks: scopes, sizes, bindings.

use std::collections::HashSet;

use super::{
    MAX_NESTING, ProgramFault,
    context::{PathStep, Validator, name_of},
    types::Want,
};
use crate::{ArrayId, Binding, Block, ElementType, Extent, Type, Var};

impl<'p> Validator<'p> {
    /// Checks a block and hands what it gives (as seen inside) to `check`. What stands outside is seen inside.
    ///
    /// `params` are what the parameters are given, `None` where that is not known; `sizes` says whether their types may bind sizes.
    pub fn block(
        &mut self,
        field: &'static str,
        block: &'p Block,
        params: &[Option<Want>],
        sizes: bool,
        check: &mut dyn FnMut(&mut Self, &[Option<Want>]),
    ) {
        if self.depth >= MAX_NESTING {
            self.report(ProgramFault::TooDeep { limit: MAX_NESTING });
            return self.stop();
        }
        self.depth += 1;
        self.within(PathStep::Field(field), |v| {
            v.open_block(block, sizes, false);
            if v.count("parameters of the block", block.params.len(), params.len()) {
                v.agree_all(&block.params, params, "parameter");
            }
            v.bindings(block);
            if !v.stopped() {
                let results: Vec<Option<Want>> =
                    (0..block.results.len()).map(|position| v.block_result(block, position)).collect();
                check(v, &results);
            }
            v.close_block();
        });
        self.depth -= 1;
    }

    fn block_result(&mut self, block: &'p Block, position: usize) -> Option<Want> {
        let id = block.results[position];
        self.within(PathStep::Item("results", position), |v| {
            v.use_value(id, false, &|| format!("result {position} of the block"))?;
            v.want_value(id)
        })
    }

    /// Opens the scope of a block and defines its sizes and parameters.
    pub fn open_block(&mut self, block: &'p Block, sizes: bool, streams: bool) {
        self.open_scope();
        if !sizes && !block.sizes.is_empty() {
            self.report(ProgramFault::Sizes);
        }
        for (position, size) in block.sizes.iter().enumerate() {
            self.within(PathStep::Item("sizes", position), |v| {
                if size.ty != Type::scalar(ElementType::I64) {
                    let (size, ty) = (name_of(size), v.show(&size.ty));
                    v.report(ProgramFault::SizeType { size, ty });
                }
                v.define(size);
            });
            self.sizes.declare_size(size);
        }
        for (position, param) in block.params.iter().enumerate() {
            self.within(PathStep::Item("params", position), |v| v.define_var(param, "parameter", position, streams));
        }
        self.sizes.enter_block(block);
        self.size_order(block);
    }

    pub fn close_block(&mut self) {
        self.close_scope();
    }

    /// Sizes are in the order in which parameters' types meet them first, and all are met.
    fn size_order(&mut self, block: &'p Block) {
        let sizes: HashSet<ArrayId> = block.sizes.iter().map(|size| size.id).collect();
        let mut met = HashSet::new();
        for extent in block.params.iter().flat_map(|param| param.ty.all_extents()) {
            if let Extent::Value(id) = extent
                && sizes.contains(id)
                && met.insert(*id)
                && let Some(expected) = block.sizes.get(met.len() - 1)
                && expected.id != *id
            {
                let (found, expected) = (self.name(*id), name_of(expected));
                return self.report(ProgramFault::SizeOrder { found, expected });
            }
        }
        for size in block.sizes.iter().filter(|size| !met.contains(&size.id)) {
            self.report(ProgramFault::SizeUnbound { size: name_of(size) });
        }
    }

    /// Checks a type and defines what has it.
    pub fn define_var(&mut self, var: &'p Var, kind: &'static str, position: usize, streams: bool) {
        let what = || {
            if var.name.is_empty() { format!("{kind} {position}") } else { format!("`{}`", var.name.0) }
        };
        self.check_type(&var.ty, &what, false, streams);
        self.define(var);
        self.sizes.declare(var);
    }

    pub fn bindings(&mut self, block: &'p Block) {
        for (position, binding) in block.bindings.iter().enumerate() {
            if self.stopped() {
                break;
            }
            self.within(PathStep::Item("bindings", position), |v| v.within_binding(binding, |v| v.binding(binding)));
        }
    }

    fn binding(&mut self, binding: &'p Binding) {
        let faults = self.faults();
        let wants = self.operation(binding);
        if self.stopped() {
            return;
        }
        let streams = matches!(binding.op, crate::ArrayOp::Consume { .. });
        for (position, var) in binding.results.iter().enumerate() {
            self.within(PathStep::Item("results", position), |v| v.define_var(var, "result", position, streams));
        }
        // Of what is not valid nothing is known but that it is there.
        if self.faults() == faults {
            self.sizes.add_binding(binding);
        }
        for wants in wants {
            let (given, named) = (wants.len(), binding.results.len());
            if given != named {
                self.report(ProgramFault::Named { given, named });
                break;
            }
            self.agree_all(&binding.results, &wants, "result");
        }
    }
}
