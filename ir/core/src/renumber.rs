//! Dense ids: every value and local counted anew in order of definition.

use std::collections::HashMap;

use crate::{ArrayId, Block, Extent, Lambda, LocalId, Operand, PartMut, Program, ScalarOperand, ScalarPartMut, Var};

impl Program {
    /// The same program with dense ids in order of definition, as [`ArrayId`] and [`LocalId`] ask for.
    ///
    /// Passes may therefore take any unused ids for what they make ([`Program::fresh`]) and call this at their end. Where an id is
    /// defined twice one after the other (a block that was copied), its uses mean the latest definition before them. An id
    /// that is used and never defined gets one that no value has, so that `validate` finds it.
    pub fn renumbered(mut self) -> Self {
        let mut renumber = Renumber { next: 0, map: HashMap::new() };
        renumber.block(&mut self.body);
        for output in &mut self.outputs {
            output.ty.all_extents_mut().for_each(|extent| renumber.extent(extent));
        }
        self
    }

    /// The smallest id that is larger than every id of a value defined in the program.
    pub fn fresh(&self) -> ArrayId {
        let mut next = 0;
        let mut blocks = vec![&self.body];
        while let Some(block) = blocks.pop() {
            let mut vars = |vars: &[Var]| next = vars.iter().map(|var| var.id.0.saturating_add(1)).fold(next, u32::max);
            vars(&block.sizes);
            vars(&block.params);
            for binding in &block.bindings {
                vars(&binding.results);
                blocks.extend(binding.op.parts().into_iter().filter_map(|part| match part {
                    crate::Part::Body(body) => Some(body),
                    _ => None,
                }));
            }
        }
        ArrayId(next)
    }
}

impl Lambda {
    /// The same function with dense local ids in order of definition.
    pub fn renumbered(mut self) -> Self {
        renumber_locals(&mut self, &mut 0, &mut HashMap::new());
        self
    }
}

struct Renumber {
    next: u32,
    map: HashMap<ArrayId, ArrayId>,
}

impl Renumber {
    fn define(&mut self, vars: &mut [Var]) {
        for var in &mut *vars {
            self.map.insert(var.id, ArrayId(self.next));
            var.id = ArrayId(self.next);
            self.next += 1;
        }
        for var in vars {
            var.ty.all_extents_mut().for_each(|extent| self.extent(extent));
        }
    }

    fn id(&self, id: ArrayId) -> ArrayId {
        self.map.get(&id).copied().unwrap_or(ArrayId(u32::MAX - id.0.min(u32::MAX / 2)))
    }

    fn extent(&self, extent: &mut Extent) {
        if let Extent::Value(id) = extent {
            *id = self.id(*id);
        }
    }

    fn operand(&self, operand: &mut Operand) {
        if let Operand::Value(id) = operand {
            *id = self.id(*id);
        }
    }

    fn block(&mut self, block: &mut Block) {
        let mut head: Vec<&mut Var> = block.sizes.iter_mut().chain(&mut block.params).collect();
        for var in &mut head {
            self.map.insert(var.id, ArrayId(self.next));
            var.id = ArrayId(self.next);
            self.next += 1;
        }
        for var in head {
            var.ty.all_extents_mut().for_each(|extent| self.extent(extent));
        }
        for binding in &mut block.bindings {
            for part in binding.op.parts_mut() {
                match part {
                    PartMut::Array(id) | PartMut::Inner(id) => *id = self.id(*id),
                    PartMut::Value(operand) | PartMut::Argument(operand) => self.operand(operand),
                    PartMut::Function(f) => {
                        f.map_outer(&mut |id| Operand::Value(self.id(id)));
                        renumber_locals(f, &mut 0, &mut HashMap::new());
                    }
                    PartMut::Body(body) => self.block(body),
                }
            }
            self.define(&mut binding.results);
        }
        for result in &mut block.results {
            *result = self.id(*result);
        }
    }
}

fn renumber_locals(f: &mut Lambda, next: &mut u32, map: &mut HashMap<LocalId, LocalId>) {
    let define = |id: &mut LocalId, next: &mut u32, map: &mut HashMap<LocalId, LocalId>| {
        map.insert(*id, LocalId(*next));
        *id = LocalId(*next);
        *next += 1;
    };
    let operand = |operand: &mut ScalarOperand, map: &HashMap<LocalId, LocalId>| {
        if let ScalarOperand::Local(id) = operand {
            *id = map.get(id).copied().unwrap_or(LocalId(u32::MAX - id.0.min(u32::MAX / 2)));
        }
    };
    for param in &mut f.params {
        define(&mut param.id, next, map);
    }
    for instruction in &mut f.instructions {
        for part in instruction.op.parts_mut() {
            match part {
                ScalarPartMut::Operand(value) => operand(value, map),
                ScalarPartMut::Array(_) => {}
                ScalarPartMut::Body(body) => renumber_locals(body, next, map),
            }
        }
        for local in &mut instruction.results {
            define(&mut local.id, next, map);
        }
    }
    for result in &mut f.results {
        operand(result, map);
    }
}
