//! Who needs what a block computes: the block's results, or only branches and loops inside (design §3, evaluation by need).

use std::collections::{BTreeSet, HashMap};

use fusebox_ir::{ArrayId, ArrayOp, Binding, Block, Part};

/// Where a value is needed: 0 is the block itself, others are branches and bodies inside, numbered from 1.
type Places = BTreeSet<u32>;

/// For each binding of a block a class: equal for those that are needed by the same places.
pub(crate) fn needs(block: &Block) -> Vec<u32> {
    let mut needs = Needs { of: HashMap::new(), holders: vec![Places::new()] };
    block.results.iter().for_each(|&id| needs.add(id, &Places::from([0])));
    let mut places = vec![Places::new(); block.bindings.len()];
    for (position, binding) in block.bindings.iter().enumerate().rev() {
        places[position] = needs.binding(binding);
    }
    let mut classes: HashMap<Places, u32> = HashMap::from([(Places::from([0]), 0)]);
    places
        .into_iter()
        .map(|places| {
            let next = classes.len() as u32;
            *classes.entry(places).or_insert(next)
        })
        .collect()
}

struct Needs {
    of: HashMap<ArrayId, Places>,
    /// For each place what must be needed for it to be reached.
    holders: Vec<Places>,
}

impl Needs {
    fn add(&mut self, id: ArrayId, places: &Places) {
        self.of.entry(id).or_default().extend(places);
    }

    /// What needs a binding; and what it uses is needed by that too.
    fn binding(&mut self, binding: &Binding) -> Places {
        let mut places = Places::new();
        for var in &binding.results {
            places.extend(self.of.get(&var.id).into_iter().flatten());
        }
        let places = self.reduced(places);
        if places.is_empty() {
            return places;
        }
        for var in &binding.results {
            var.ty.for_each_use(&mut |id| self.add(id, &places));
        }
        let parts = binding.op.parts();
        for (position, part) in parts.into_iter().enumerate() {
            match part {
                Part::Array(id) | Part::Inner(id) => self.add(*id, &places),
                Part::Value(operand) | Part::Argument(operand) => {
                    if let fusebox_ir::Operand::Value(id) = operand {
                        self.add(*id, &places);
                    }
                }
                Part::Function(f) => f.outer_uses(&mut |id| self.add(id, &places)),
                Part::Body(body) => {
                    // The condition of a loop and the body of a cluster are run in any case, once at least.
                    let certain = matches!(
                        (&binding.op, position),
                        (ArrayOp::While { .. }, 0) | (ArrayOp::Cluster { .. }, _) | (ArrayOp::Foreign { .. }, _)
                    );
                    let inner = if certain {
                        places.clone()
                    } else {
                        self.holders.push(places.clone());
                        Places::from([self.holders.len() as u32 - 1])
                    };
                    self.block(body, &inner);
                }
            }
        }
        places
    }

    fn block(&mut self, block: &Block, places: &Places) {
        block.results.iter().for_each(|&id| self.add(id, places));
        for var in block.sizes.iter().chain(&block.params) {
            var.ty.for_each_use(&mut |id| self.add(id, places));
        }
        for binding in block.bindings.iter().rev() {
            self.binding(binding);
        }
    }

    /// Without places that are reached only where others of them are.
    fn reduced(&self, places: Places) -> Places {
        let implied = |place: u32| {
            let holders = &self.holders[place as usize];
            !holders.is_empty() && holders.iter().all(|holder| places.contains(holder))
        };
        places.iter().copied().filter(|&place| !implied(place)).collect()
    }
}
