//! Rows of arrays outside of nests, which lanes name and flat programs do not have: reads of them are reads of the whole arrays.

use std::collections::HashMap;

use fusebox_ir::{ArrayId, ArrayOp, Block, Lambda, Operand, Part, Place, Program, ScalarOp, ScalarPart, Var};

/// A row, or another part, of an array at the indices of the nests around.
#[derive(Clone, Debug, PartialEq, Eq)]
struct View {
    name: String,
    /// The array that it is of.
    of: String,
    /// At how many indices of nests, from the outermost.
    fixed: usize,
}

/// The name and the number of nests of the one part of an array that is read at a place, if that is all of it that is read there, and at the
/// indices of all nests around.
pub(crate) fn view_read_at(program: &Program, place: &Place, array: &str) -> Option<(String, usize)> {
    let mut found = Found { views: HashMap::new(), names: HashMap::new(), read: Vec::new() };
    found.vars(program.body.sizes.iter().chain(&program.body.params));
    found.block(&program.body, place);
    let Found { views, names, read } = found;
    let mut one = None;
    for (id, nests) in read {
        let of_array = match views.get(&id) {
            Some(view) if view.of == array => (view.fixed == nests).then(|| (view.name.clone(), nests)),
            Some(_) => continue,
            None if names.get(&id).is_some_and(|name| name == array) => None,
            None => continue,
        };
        let view = of_array?;
        if one.get_or_insert_with(|| view.clone()) != &view {
            return None;
        }
    }
    one
}

/// What is found of a program on the way through it.
struct Found {
    views: HashMap<ArrayId, View>,
    names: HashMap<ArrayId, String>,
    /// What is read at the place, inside of how many nests.
    read: Vec<(ArrayId, usize)>,
}

impl Found {
    fn vars<'a>(&mut self, vars: impl Iterator<Item = &'a Var>) {
        for var in vars {
            let name = if var.name.is_empty() { var.id.to_string() } else { var.name.0.clone() };
            self.names.insert(var.id, name);
        }
    }

    fn block(&mut self, block: &Block, place: &Place) {
        let mut blocks: Vec<(&Block, Vec<ArrayId>)> = vec![(block, Vec::new())];
        // What a block uses of another was found there: the stack holds blocks inside of what was gone through.
        while let Some((block, nests)) = blocks.pop() {
            for binding in &block.bindings {
                self.vars(binding.results.iter());
                let here = is_at(&binding.place, place);
                if let ArrayOp::Slice { dims, sources } = &binding.op {
                    for (var, source) in binding.results.iter().zip(sources) {
                        self.slice(var.id, dims, *source, &nests);
                    }
                }
                for part in binding.op.parts() {
                    match part {
                        Part::Array(id) if here => self.read.push((*id, nests.len())),
                        Part::Function(f) => self.function(f, here, place, nests.len()),
                        Part::Body(body) => {
                            self.vars(body.sizes.iter().chain(&body.params));
                            let mut inside = nests.clone();
                            if let ArrayOp::Nest { .. } = binding.op {
                                inside.extend(body.params.iter().map(|param| param.id));
                            }
                            blocks.push((body, inside));
                        }
                        _ => {}
                    }
                }
            }
        }
    }

    /// A slice at indices of nests, which may be of such a slice.
    fn slice(&mut self, id: ArrayId, dims: &[Option<Operand>], source: ArrayId, nests: &[ArrayId]) {
        let fixed: Vec<Operand> = dims.iter().map_while(|dim| *dim).collect();
        if fixed.is_empty() || dims[fixed.len()..].iter().any(Option::is_some) {
            return;
        }
        let (of, before) = match self.views.get(&source) {
            Some(view) => (view.of.clone(), view.fixed),
            None => (self.names.get(&source).cloned().unwrap_or_default(), 0),
        };
        let along = nests.get(before..).unwrap_or_default();
        if along.len() >= fixed.len() && fixed.iter().zip(along).all(|(dim, nest)| *dim == Operand::Value(*nest)) {
            let name = self.names.get(&id).cloned().unwrap_or_default();
            self.views.insert(id, View { name, of, fixed: before + fixed.len() });
        }
    }

    fn function(&mut self, f: &Lambda, here: bool, place: &Place, nests: usize) {
        let mut functions = vec![f];
        while let Some(f) = functions.pop() {
            for instruction in &f.instructions {
                let own = &instruction.place;
                if let ScalarOp::Read { array, .. } | ScalarOp::ReadFlat { array, .. } = &instruction.op
                    && (is_at(own, place) || own.is_unknown() && here)
                {
                    self.read.push((*array, nests));
                }
                functions.extend(instruction.op.parts().into_iter().filter_map(|part| match part {
                    ScalarPart::Body(body) => Some(body),
                    _ => None,
                }));
            }
        }
    }
}

/// Whether two places are known and the same.
pub(crate) fn is_at(a: &Place, b: &Place) -> bool {
    !a.is_unknown() && (&a.file, a.line, a.column) == (&b.file, b.line, b.column)
}
