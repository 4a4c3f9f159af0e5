//! Scalars that a branch makes and only functions name: they are computed where one of these functions has an element to run for.
//!
//! A function of an operation without elements runs for none, and what it names is not needed. A `cond` that may fail is therefore put under the
//! question whether there are elements. Arrays that functions read, and what other operations give, are computed whether there are or not: to
//! ask would keep them apart from what could be fused with them.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Binding, ElementType::I64, Extent, Lambda, LambdaBuilder, Operand, Part, ScalarOperand,
    ScalarValue, analysis::elements,
};

use crate::facts::{Facts, Item};

/// The extents of each operation whose function names a value. It is needed where all extents of one of them are positive.
pub(crate) type Runs = Vec<Vec<Extent>>;

/// More operations are not asked for their elements.
const MOST: usize = 8;

/// For values that may be left alone who names them, found from the last binding of a block to its first.
pub(crate) struct Elements {
    /// None where something needs the value whether there are elements or not.
    known: HashMap<ArrayId, Option<Runs>>,
    branches: HashSet<ArrayId>,
}

impl Elements {
    /// Of the branches among these items that may fail and give nothing but scalars.
    pub(crate) fn of(items: &[Item<'_>], harmless: impl FnOnce() -> Vec<bool>) -> Self {
        let gives_scalars = |binding: &Binding| {
            matches!(binding.op, ArrayOp::Cond { .. }) && binding.results.iter().all(|var| var.ty.is_scalar())
        };
        let mut found = Self { known: HashMap::new(), branches: HashSet::new() };
        if !items.iter().any(|item| gives_scalars(item.binding)) {
            return found;
        }
        let fallible = items.iter().zip(harmless()).filter(|(_, harmless)| !harmless).map(|(item, _)| item.binding);
        for binding in fallible {
            let ids = binding.results.iter().map(|var| var.id);
            if gives_scalars(binding) {
                found.branches.extend(ids.clone());
            } else if !matches!(binding.op, ArrayOp::Unit { .. }) {
                continue;
            }
            found.known.extend(ids.map(|id| (id, Some(Vec::new()))));
        }
        if found.branches.is_empty() {
            found.known.clear();
        }
        found
    }

    /// Notes a need that does not hang on elements.
    pub(crate) fn needed(&mut self, id: ArrayId) {
        if let Some(runs) = self.known.get_mut(&id) {
            *runs = None;
        }
    }

    /// Notes what a binding that is computed names.
    pub(crate) fn computed(&mut self, binding: &Binding, facts: &Facts<'_>) {
        if self.known.is_empty() {
            return;
        }
        let Some(extents) = elements::extents(binding, &|id| facts.ty(id)) else {
            return binding.for_each_use(&mut |id| self.needed(id));
        };
        binding.results.iter().for_each(|var| var.ty.for_each_use(&mut |id| self.needed(id)));
        for part in binding.op.parts() {
            match part {
                Part::Function(f) => {
                    let arrays = f.arrays_read();
                    f.outer_uses(&mut |id| match arrays.contains(&id) {
                        true => self.needed(id),
                        false => self.runs(id, &extents),
                    });
                }
                Part::Array(id) | Part::Inner(id) => self.needed(*id),
                Part::Value(Operand::Value(id)) | Part::Argument(Operand::Value(id)) => self.needed(*id),
                Part::Value(Operand::Constant(_)) | Part::Argument(Operand::Constant(_)) => {}
                Part::Body(body) => {
                    body.bindings.iter().for_each(|inner| inner.for_each_use(&mut |id| self.needed(id)))
                }
            }
        }
    }

    /// Notes what a binding that waits names: code that functions hold names it as often as they do.
    pub(crate) fn waits(&mut self, binding: &Binding) {
        if self.known.is_empty() {
            return;
        }
        let of = binding.results.iter().map(|var| self.known.get(&var.id).cloned().flatten());
        let by_functions: Option<Vec<Runs>> = if let ArrayOp::Unit { .. } = binding.op { of.collect() } else { None };
        match by_functions {
            Some(all) => {
                binding.for_each_use(&mut |id| all.iter().flatten().for_each(|extents| self.runs(id, extents)))
            }
            None => binding.for_each_use(&mut |id| self.needed(id)),
        }
    }

    fn runs(&mut self, id: ArrayId, extents: &[Extent]) {
        let Some(Some(runs)) = self.known.get_mut(&id) else { return };
        if !runs.iter().any(|known| known == extents) {
            runs.push(extents.to_vec());
        }
        if runs.len() > MOST {
            self.needed(id);
        }
    }

    /// Whose elements the results of a branch are for, if they are for nothing else, and this is not asked already.
    pub(crate) fn only_for(&self, item: &Item<'_>, needed: &[bool], facts: &Facts<'_>) -> Option<Runs> {
        let ArrayOp::Cond { condition, .. } = &item.binding.op else { return None };
        let mut all = Runs::new();
        for (var, _) in item.binding.results.iter().zip(needed).filter(|(_, needed)| **needed) {
            let runs = self.known.get(&var.id).filter(|_| self.branches.contains(&var.id))?.as_ref()?;
            all.extend(runs.iter().filter(|runs| !all.contains(runs)).cloned().collect::<Runs>());
        }
        let asked = if let Operand::Value(id) = condition { facts.definitions.binding(*id) } else { None };
        let is_asked = |asked: &Binding| matches!(&asked.op, ArrayOp::Unit { f } if *f == some(&all));
        (!all.is_empty() && !asked.is_some_and(is_asked)).then_some(all)
    }
}

/// Scalar code that says whether one of these operations has elements.
pub(crate) fn some(runs: &Runs) -> Lambda {
    let mut f = LambdaBuilder::new();
    let mut any: Option<ScalarValue> = None;
    for extents in runs {
        let mut all: Option<ScalarValue> = None;
        for extent in extents {
            let count = match *extent {
                Extent::Value(id) => ScalarValue::outer(id, I64),
                Extent::Constant(n) => ScalarValue::from(n),
                Extent::Unknown => continue,
            };
            let positive = f.binary(Binary::Gt, count, 0i64);
            all = Some(all.map_or(positive, |all| f.binary(Binary::And, all, positive)));
        }
        if let Some(all) = all {
            any = Some(any.map_or(all, |any| f.binary(Binary::Or, any, all)));
        }
    }
    match any {
        Some(any) => f.finish(&[any]),
        None => Lambda { results: vec![ScalarOperand::Constant(true.into())], ..Lambda::default() },
    }
}
