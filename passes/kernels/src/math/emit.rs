//! Where expanded instructions go.

use fusebox_ir::{ElementType, Instruction, Lambda, Local, LocalId, Name, Place, ScalarOp, ScalarOperand};

/// A place that takes instructions, one after the other; bodies of branches and loops are opened and closed like brackets.
pub trait Emit {
    /// Appends an instruction and gives its results, one of each type.
    fn emit_all(&mut self, op: ScalarOp, types: &[ElementType]) -> Vec<ScalarOperand>;

    /// Appends an instruction with one result.
    fn emit(&mut self, op: ScalarOp, ty: ElementType) -> ScalarOperand {
        self.emit_all(op, &[ty])[0]
    }

    /// A fresh local: the parameter of a body that was opened just before.
    fn parameter(&mut self, ty: ElementType) -> Local;

    /// Starts a body: instructions go into it until the matching [`Self::close`].
    fn open(&mut self);

    /// Ends the innermost body and gives its instructions.
    fn close(&mut self) -> Vec<Instruction>;
}

/// The plain [`Emit`]: a list of instructions whose locals are numbered from a given one, in order of definition.
///
/// ```
/// use fusebox_ir::{ElementType, Local, LocalId, Name, Unary};
/// use fusebox_kernels::math::{self, Instructions};
/// let mut code = Instructions::new(LocalId(1)); // %0 is the argument
/// let result = math::expand_unary(Unary::Exp, ElementType::F32, LocalId(0).into(), &mut code).unwrap();
/// assert!(code.instructions().len() < 40);
/// # let _ = result;
/// ```
#[derive(Clone, Debug)]
pub struct Instructions {
    next: LocalId,
    done: Vec<Instruction>,
    outer: Vec<Vec<Instruction>>,
}

impl Instructions {
    /// No instructions yet; the first local will be `next`.
    pub fn new(next: LocalId) -> Self {
        Self { next, done: Vec::new(), outer: Vec::new() }
    }

    /// What was emitted into the innermost open body.
    pub fn instructions(&self) -> &[Instruction] {
        &self.done
    }

    /// The local that the next result will be.
    pub fn next(&self) -> LocalId {
        self.next
    }

    /// The function of `params` made of what was emitted.
    pub fn into_lambda(self, params: Vec<Local>, results: Vec<ScalarOperand>) -> Lambda {
        Lambda { params, instructions: self.done, results }
    }
}

impl Emit for Instructions {
    fn emit_all(&mut self, op: ScalarOp, types: &[ElementType]) -> Vec<ScalarOperand> {
        let results: Vec<Local> = types.iter().map(|&ty| self.parameter(ty)).collect();
        let operands = results.iter().map(|local| local.id.into()).collect();
        self.done.push(Instruction { results, op, place: Place::default() });
        operands
    }

    fn parameter(&mut self, ty: ElementType) -> Local {
        let id = self.next;
        self.next = LocalId(id.0 + 1);
        Local { id, ty, name: Name::default() }
    }

    fn open(&mut self) {
        self.outer.push(std::mem::take(&mut self.done));
    }

    fn close(&mut self) -> Vec<Instruction> {
        let outer = self.outer.pop().unwrap_or_default();
        std::mem::replace(&mut self.done, outer)
    }
}
