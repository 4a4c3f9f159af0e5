//! Scalar code that may fail, put into the functions that use it: they compute it where they need it.

use std::collections::{BTreeSet, HashMap};

use fusebox_ir::{
    ArrayId, Instruction, Lambda, LocalId, ScalarOperand, ScalarPart, ScalarPartMut, analysis::components::live,
};

/// Finds the code that a value is, and which of its results.
pub(crate) type Find<'f, 'p> = dyn Fn(ArrayId) -> Option<(&'p Lambda, usize)> + 'f;

/// Puts code into a function, each piece once, before the first instruction that uses it. Gives how many pieces.
pub(crate) fn inline<'p>(f: &mut Lambda, find: &Find<'_, 'p>) -> usize {
    let mut any = false;
    f.outer_uses(&mut |id| any |= find(id).is_some());
    if !any {
        return 0;
    }
    let mut inlining = Inlining { find, next: f.next_local().0, made: HashMap::new(), code: Vec::new() };
    for mut instruction in std::mem::take(&mut f.instructions) {
        inlining.need(&outer(&instruction));
        instruction_outer(&mut instruction, &inlining.made);
        inlining.code.push(instruction);
    }
    let results: Vec<ArrayId> = f
        .results
        .iter()
        .filter_map(|result| if let ScalarOperand::Outer(id) = result { Some(*id) } else { None })
        .collect();
    inlining.need(&results);
    f.results.iter_mut().for_each(|result| named(result, &inlining.made));
    f.instructions = inlining.code;
    inlining.made.len()
}

struct Inlining<'f, 'p> {
    find: &'f Find<'f, 'p>,
    next: u32,
    /// What code that is in the function gives.
    made: HashMap<ArrayId, ScalarOperand>,
    code: Vec<Instruction>,
}

impl Inlining<'_, '_> {
    /// Appends the code of these values, and of what it uses, in order of definition.
    fn need(&mut self, ids: &[ArrayId]) {
        let mut wanted = BTreeSet::new();
        let mut stack: Vec<ArrayId> = ids.to_vec();
        while let Some(id) = stack.pop() {
            if let Some((f, _)) = (self.find)(id)
                && !self.made.contains_key(&id)
                && wanted.insert(id)
            {
                f.outer_uses(&mut |used| stack.push(used));
            }
        }
        for id in wanted {
            let (f, result) = (self.find)(id).expect("only what is code is wanted");
            let mut locals = HashMap::new();
            for instruction in live(&f.instructions, &f.results[result..=result]) {
                let mut instruction = self.renamed(instruction, &mut locals);
                instruction_outer(&mut instruction, &self.made);
                self.code.push(instruction);
            }
            let mut given = f.results[result];
            local(&mut given, &locals);
            named(&mut given, &self.made);
            self.made.insert(id, given);
        }
    }

    /// The instruction with locals of its own.
    fn renamed(&mut self, mut instruction: Instruction, locals: &mut HashMap<LocalId, LocalId>) -> Instruction {
        for part in instruction.op.parts_mut() {
            match part {
                ScalarPartMut::Operand(operand) => local(operand, locals),
                ScalarPartMut::Array(_) => {}
                ScalarPartMut::Body(body) => {
                    body.params.iter_mut().for_each(|param| param.id = self.fresh(param.id, locals));
                    let inner = std::mem::take(&mut body.instructions);
                    body.instructions = inner.into_iter().map(|inner| self.renamed(inner, locals)).collect();
                    body.results.iter_mut().for_each(|result| local(result, locals));
                }
            }
        }
        instruction.results.iter_mut().for_each(|result| result.id = self.fresh(result.id, locals));
        instruction
    }

    fn fresh(&mut self, id: LocalId, locals: &mut HashMap<LocalId, LocalId>) -> LocalId {
        self.next += 1;
        let fresh = LocalId(self.next - 1);
        locals.insert(id, fresh);
        fresh
    }
}

fn local(operand: &mut ScalarOperand, locals: &HashMap<LocalId, LocalId>) {
    if let ScalarOperand::Local(id) = operand {
        *id = *locals.get(id).expect("units have no parameters: a local that they use is theirs");
    }
}

fn named(operand: &mut ScalarOperand, made: &HashMap<ArrayId, ScalarOperand>) {
    if let ScalarOperand::Outer(id) = operand
        && let Some(&code) = made.get(id)
    {
        *operand = code;
    }
}

/// Values from outside that an instruction uses as scalars, in bodies too, in printing order.
fn outer(instruction: &Instruction) -> Vec<ArrayId> {
    let mut used = Vec::new();
    for part in instruction.op.parts() {
        match part {
            ScalarPart::Operand(ScalarOperand::Outer(id)) => used.push(*id),
            ScalarPart::Operand(_) | ScalarPart::Array(_) => {}
            ScalarPart::Body(body) => {
                body.instructions.iter().for_each(|inner| used.extend(outer(inner)));
                for result in &body.results {
                    if let ScalarOperand::Outer(id) = result {
                        used.push(*id);
                    }
                }
            }
        }
    }
    used
}

/// Replaces what is in the function by its local, in bodies too.
fn instruction_outer(instruction: &mut Instruction, made: &HashMap<ArrayId, ScalarOperand>) {
    for part in instruction.op.parts_mut() {
        match part {
            ScalarPartMut::Operand(operand) => named(operand, made),
            ScalarPartMut::Array(_) => {}
            ScalarPartMut::Body(body) => {
                body.instructions.iter_mut().for_each(|inner| instruction_outer(inner, made));
                body.results.iter_mut().for_each(|result| named(result, made));
            }
        }
    }
}
