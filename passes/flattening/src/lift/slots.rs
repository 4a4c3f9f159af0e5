//! What goes through flat branches and loops: arrays in the lanes and extents that their types say, with the number of their elements where
//! extents differ by lane.

use fusebox_ir::{ArrayId, ArrayOp, Binding, ElementType::I64, Extent, Name, Type, Var};

use super::{
    Lifter, Value,
    context::{ContextId, LaneExtent, Made},
    flat::operand,
};

/// A value that goes through a flat branch or loop.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// The lanes that have such a value.
    pub home: ContextId,
    /// Whether a number of elements goes before it, as extents differ by lane.
    pub counted: bool,
}

impl<'p> Lifter<'p> {
    /// Values as results of a block that go through a branch or a loop: each as one of the lanes and extents that its slot and type say, a
    /// number of elements before it where extents differ by lane. Gives the results, and how many uniform dimensions end each.
    pub fn joined_up(&mut self, vars: &[Var], values: &[Value], slots: &mut [Slot]) -> (Vec<ArrayId>, Vec<usize>) {
        let (mut results, mut layouts) = (Vec::new(), Vec::new());
        let before: Vec<_> = vars.iter().map(|var| self.env.get(&var.id).cloned()).collect();
        for ((var, value), slot) in vars.iter().zip(values).zip(slots) {
            let name = self.source_name(var.id);
            let value = self.declared(value, slot.home, &var.ty, &name);
            let steps = self.steps(slot.home, value.elements);
            let uniform =
                steps.iter().rev().take_while(|&&step| matches!(self.context(step).made, Made::Uniform { .. })).count();
            slot.counted = uniform < steps.len();
            layouts.push(uniform);
            if slot.counted {
                let count = self.context(value.elements).dims[0];
                let count = match count {
                    Extent::Value(id) => id,
                    other => self.operand_value(operand(other)).array,
                };
                results.push(count);
            }
            results.push(value.array);
            self.define(var, value);
        }
        for (var, before) in vars.iter().zip(before) {
            match before {
                Some(bound) => _ = self.env.insert(var.id, bound),
                None => _ = self.env.remove(&var.id),
            }
        }
        (results, layouts)
    }

    /// Names and types of what goes through, with ids of their own.
    pub fn typed(&mut self, vars: &[Var], slots: &[Slot], layouts: &[usize]) -> Vec<(ArrayId, Name, Type)> {
        let mut all: Vec<(ArrayId, Name, Type)> = Vec::new();
        let mut own: Vec<ArrayId> = Vec::new();
        for ((var, slot), &uniform) in vars.iter().zip(slots).zip(layouts) {
            let mut extents = Vec::new();
            let rank = var.ty.rank();
            let from = if slot.counted {
                let count = self.flat.id();
                all.push((count, "total".into(), Type::scalar(I64)));
                extents.push(Extent::Value(count));
                rank - uniform
            } else {
                extents.extend(self.dims(slot.home));
                0
            };
            for &extent in &var.ty.extents[from..] {
                let sibling = match extent {
                    Extent::Value(id) => vars[..own.len()].iter().position(|other| other.id == id),
                    Extent::Constant(_) | Extent::Unknown => None,
                };
                extents.push(match sibling {
                    Some(at) => Extent::Value(own[at]),
                    None => match self.lane_extent(extent) {
                        LaneExtent::Uniform(extent) => extent,
                        LaneExtent::Varying(_) => extent,
                    },
                });
            }
            let id = self.flat.id();
            own.push(id);
            all.push((id, var.name.clone(), Type::array(extents, var.ty.element)));
        }
        all
    }

    /// Defines values that flat results (or parameters) of these ids stand for.
    pub fn define_slots(&mut self, vars: &[Var], slots: &[Slot], ids: &[ArrayId]) {
        let mut ids = ids.iter().copied();
        for (var, slot) in vars.iter().zip(slots) {
            let total = if slot.counted { ids.next() } else { None };
            let Some(array) = ids.next() else { return };
            let extents = self.lane_extents(&var.ty.extents);
            let elements = self.extend_counted(slot.home, &extents, total);
            self.define(var, Value { array, home: slot.home, elements, ty: var.ty.element });
        }
    }

    /// As `extend_all`; the number of all elements of the innermost ragged dimension is known.
    fn extend_counted(&mut self, home: ContextId, extents: &[LaneExtent], total: Option<ArrayId>) -> ContextId {
        let mut at = home;
        let last = extents.iter().rposition(|extent| matches!(extent, LaneExtent::Varying(_)));
        for (position, extent) in extents.iter().enumerate() {
            at = match extent {
                LaneExtent::Varying(sizes) if Some(position) == last => self.ragged(at, sizes, total),
                extent => self.extend(home, at, extent),
            };
        }
        at
    }

    /// Binds a branch or loop, and what its results stand for.
    pub fn through(&mut self, binding: &'p Binding, slots: &[Slot], layouts: &[usize], op: ArrayOp) {
        let results = self.typed(&binding.results, slots, layouts);
        let ids: Vec<ArrayId> = results.iter().map(|(id, _, _)| *id).collect();
        let level = self.flat.here();
        self.flat.bind_ids(level, op, results);
        self.define_slots(&binding.results, slots, &ids);
    }
}
