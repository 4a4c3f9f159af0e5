//! What may fail when it is run.

use crate::{
    ArrayId, ArrayOp, Binary, Binding, Block, Extent, Instruction, Lambda, Operand, Part, ScalarOp, ScalarOperand,
    Type, Var,
    analysis::{Answer, Size, Sizes},
    operations::{Demand, Relation, Shape, Signature, Sum, Term},
};

/// Whether a function may fail, or never end: reads, integer divisions whose divisor is no constant other than 0, assertions, loops.
pub fn function_can_fail(f: &Lambda) -> bool {
    f.instructions.iter().any(instruction_can_fail)
}

/// Whether an instruction may fail, or never end, given its operands.
pub fn instruction_can_fail(instruction: &Instruction) -> bool {
    let mut waiting = vec![instruction];
    while let Some(instruction) = waiting.pop() {
        let fails = match &instruction.op {
            ScalarOp::Unary { .. } | ScalarOp::Fma { .. } | ScalarOp::Convert { .. } | ScalarOp::Bits { .. } => false,
            ScalarOp::Binary { function, a: _, b } => {
                let divides = matches!(function, Binary::Div | Binary::Rem | Binary::DivFloor | Binary::ModFloor);
                let float = instruction.results.first().is_some_and(|result| result.ty.is_float());
                let safe = matches!(b, ScalarOperand::Constant(by) if by.bits() != 0);
                divides && !float && !safe
            }
            ScalarOp::If { then, otherwise, .. } => {
                waiting.extend(then.instructions.iter().chain(&otherwise.instructions));
                false
            }
            ScalarOp::Read { .. } | ScalarOp::ReadFlat { .. } | ScalarOp::While { .. } | ScalarOp::Assert { .. } => {
                true
            }
        };
        if fails {
            return true;
        }
    }
    false
}

/// Whether an operation may fail by itself or by its functions; also if only because extents disagree or are negative.
///
/// What cannot is safe to compute although nothing might need it.
pub fn can_fail(binding: &Binding) -> bool {
    let mut waiting = vec![binding];
    while let Some(binding) = waiting.pop() {
        let op = &binding.op;
        let signature = Signature::of(binding, &|_| None);
        let compares = !signature.alike.is_empty()
            || signature.results.iter().any(|given| matches!(given.shape, Shape::Within(_)))
            || signature.extents.iter().any(|extent| !matches!(extent, Operand::Constant(_)));
        // What holds blocks that are run once, in any case or not at all, fails where they do.
        let of_blocks = matches!(op, ArrayOp::Cond { .. } | ArrayOp::Cluster { .. });
        if compares || (signature.fails && !of_blocks) {
            return true;
        }
        for part in op.parts() {
            match part {
                Part::Function(f) if function_can_fail(f) => return true,
                Part::Body(body) => waiting.extend(&body.bindings),
                _ => {}
            }
        }
    }
    false
}

/// Whether computing a binding may fail or not end, other than for want of memory, given what is known of sizes.
///
/// What operations take may fail by itself: that is asked of the bindings that make it.
pub fn binding_can_fail<'a>(binding: &Binding, sizes: &Sizes, type_of: &dyn Fn(ArrayId) -> Option<&'a Type>) -> bool {
    let known = Proofs { sizes, type_of };
    let mut bindings = vec![binding];
    while let Some(binding) = bindings.pop() {
        if !known.sizes_agree(binding) {
            return true;
        }
        for part in binding.op.parts() {
            match part {
                Part::Function(f) if function_can_fail(f) => return true,
                Part::Body(block) => bindings.extend(&block.bindings),
                _ => {}
            }
        }
    }
    false
}

/// Whether all that an operation asks of extents is known to hold, and it ends; of one with blocks, what it asks of their results.
pub fn sizes_are_known<'a>(binding: &Binding, sizes: &Sizes, type_of: &dyn Fn(ArrayId) -> Option<&'a Type>) -> bool {
    Proofs { sizes, type_of }.sizes_agree(binding)
}

/// Whether something that an operation asks of extents is known to hold.
pub fn demand_is_known<'a>(
    demand: &Demand,
    binding: &Binding,
    sizes: &Sizes,
    type_of: &dyn Fn(ArrayId) -> Option<&'a Type>,
) -> bool {
    Proofs { sizes, type_of }.holds(binding, demand)
}

/// What is known of the sizes of arrays.
struct Proofs<'p, 'a> {
    sizes: &'p Sizes,
    type_of: &'p dyn Fn(ArrayId) -> Option<&'a Type>,
}

impl Proofs<'_, '_> {
    /// Whether all that an operation asks of extents is known to hold, and it ends.
    fn sizes_agree(&self, binding: &Binding) -> bool {
        match &binding.op {
            ArrayOp::Cluster { .. } => return true,
            ArrayOp::Cond { then, otherwise, .. } => {
                return self.gives(then, &binding.results) && self.gives(otherwise, &binding.results);
            }
            _ => {}
        }
        let rank = |id: ArrayId| Some(self.own_extents(binding, id).len());
        let signature = Signature::of(binding, &rank);
        let declared = binding.results.iter().zip(&signature.results);
        let declared = declared.filter(|(_, given)| matches!(given.shape, Shape::Within(_) | Shape::Declared));
        let mut declared = declared.flat_map(|(var, _)| &var.ty.extents);
        !signature.fails
            && signature.extents.iter().all(|extent| self.not_negative(extent))
            && declared.all(|&extent| self.sizes.not_negative(extent) == Answer::Proved)
            && signature.demands(&binding.results, &rank).iter().all(|demand| self.holds(binding, demand))
    }

    fn holds(&self, binding: &Binding, demand: &Demand) -> bool {
        let size = |sum: &Sum| {
            sum.terms.iter().try_fold(Size::constant(sum.constant), |total, term| {
                let size = match term {
                    Term::Extent { array, dim } => self.sizes.extent(*self.own_extents(binding, *array).get(*dim)?)?,
                    Term::Value(operand) => self.sizes.operand(operand)?,
                };
                Some(total.plus(&size, 1))
            })
        };
        let (Some(left), Some(right)) = (size(&demand.left.0), size(&demand.right.0)) else { return false };
        let answer = match demand.relation {
            Relation::Equal => self.sizes.equal_sizes(&left, &right),
            Relation::AtMost => self.sizes.at_most_sizes(&left, &right),
        };
        answer == Answer::Proved
    }

    /// The extents of something that a binding reads or gives.
    fn own_extents<'b>(&'b self, binding: &'b Binding, id: ArrayId) -> &'b [Extent] {
        let own = binding.results.iter().find(|var| var.id == id);
        own.map_or_else(|| self.extents(id), |var| &var.ty.extents)
    }

    fn extents(&self, id: ArrayId) -> &[Extent] {
        (self.type_of)(id).map_or(&[], |ty| &ty.extents)
    }

    fn not_negative(&self, operand: &Operand) -> bool {
        self.sizes.operand(operand).is_some_and(|size| self.sizes.not_negative_size(&size) == Answer::Proved)
    }

    /// Whether what a block gives has the extents of `vars`, which may name each other.
    fn gives(&self, block: &Block, vars: &[Var]) -> bool {
        vars.iter().zip(&block.results).all(|(var, &result)| {
            let given = self.extents(result);
            var.ty.extents.len() == given.len()
                && var.ty.extents.iter().zip(given).all(|(&wanted, &given)| {
                    let beside = |id| vars.iter().position(|other| other.id == id);
                    let wanted = match wanted {
                        Extent::Value(id) => beside(id).map_or(wanted, |at| Extent::Value(block.results[at])),
                        Extent::Constant(_) | Extent::Unknown => wanted,
                    };
                    self.sizes.equal(wanted, given) == Answer::Proved
                })
        })
    }
}
