//! The end of a kernel's construction: statements in order.

use std::collections::HashMap;

use fusebox_ir::{
    ElementType, Extent, Kernel, KernelArray, KernelArrayId, Local, LocalId, Name, PlanExtent, Statement, ValueId,
};

use super::{
    KernelBuilder,
    tidy::{fails, tidied},
    walk::Visit,
};
use crate::association;

/// A kernel, and what launches give it.
pub(crate) struct Launch {
    pub(crate) kernel: Kernel,
    pub(crate) sizes: Vec<PlanExtent>,
    pub(crate) arrays: Vec<ValueId>,
}

impl KernelBuilder<'_> {
    /// The kernel made of what was put into the nest.
    pub(crate) fn finish(mut self) -> Launch {
        association::put(&mut self);
        let name = Name(std::mem::take(&mut self.name));
        let arrays: Vec<KernelArray> = self.arrays.iter().map(|array| self.kernel_array(array)).collect();
        let given: Vec<ValueId> = self.arrays.iter().map(|array| array.value).collect();
        let mut statements: Vec<Statement> = std::mem::take(&mut self.before).into_iter().flatten().collect();
        statements.extend(std::mem::take(&mut self.after).into_iter().rev().flatten());
        let mut same = Rename { locals: &self.same };
        statements.iter_mut().for_each(|statement| same.statement(statement));
        let mut levels = std::mem::take(&mut self.levels);
        for level in &mut levels {
            same.operand(&mut level.from);
            same.operand(&mut level.to);
        }
        for statement in &mut statements {
            if !fails(&statement.action) || statement.operation.0 == name.0 {
                statement.operation = Name::default();
            }
        }
        let (sizes, values) = (&self.sizes, &self.known.values);
        let local =
            |&(value, id): &(ValueId, LocalId)| Local { id, ty: ElementType::I64, name: values.name(value).into() };
        let kernel = Kernel { name, sizes: sizes.iter().map(local).collect(), arrays, levels, statements };
        let sizes = sizes.iter().map(|&(value, _)| Extent::Value(value)).collect();
        tidied(self.program(), Launch { kernel, sizes, arrays: given })
    }
}

struct Rename<'a> {
    locals: &'a HashMap<LocalId, LocalId>,
}

impl Visit for Rename<'_> {
    fn define(&mut self, _: &mut Local) {}

    fn local(&mut self, id: &mut LocalId) {
        while let Some(&other) = self.locals.get(id) {
            *id = other;
        }
    }

    fn array(&mut self, _: &mut KernelArrayId) {}
}
