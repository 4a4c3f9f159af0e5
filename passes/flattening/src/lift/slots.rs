//! What goes through flat branches and loops: arrays in the lanes and extents that their types say, with the number of their elements where
//! extents differ by lane. Of arrays of arrays the extents that types do not say go through too, unless every way there is has the same.

use fusebox_ir::{ArrayId, ArrayOp, Binding, ElementType::I64, Extent, Name, Type, Var};

use super::{
    Lifter, Value,
    context::{ContextId, LaneExtent},
    flat::operand,
    inner::Levels,
};

/// A value that goes through a flat branch or loop.
#[derive(Clone, Debug)]
pub(super) struct Slot {
    /// The lanes that have such a value.
    pub home: ContextId,
    /// Each extent of inner arrays that the type does not say, where it is the same however the lanes go; else it goes through by itself.
    pub inner: Vec<Option<LaneExtent>>,
}

impl Slot {
    /// A value of which the type alone says what stays.
    pub fn new(home: ContextId, ty: &Type) -> Self {
        let unknown = ty.inner.iter().flatten().filter(|extent| **extent == Extent::Unknown).count();
        Self { home, inner: vec![None; unknown] }
    }
}

/// How one dimension of a value goes through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Along {
    /// As a dimension of the array.
    Uniform,
    /// In one dimension with those before it; whether the number of elements so far goes along.
    Ragged { counted: bool },
    /// As that, with its extents.
    Own,
}

/// What goes through, as flat values.
pub(super) struct Joined {
    pub flat: Vec<ArrayId>,
    /// For each value its dimensions.
    pub layouts: Vec<Vec<Along>>,
}

impl<'p> Lifter<'p> {
    /// The extents of a value that goes through, and `None` for one that goes by itself.
    fn slot_extents(&mut self, var: &Var, slot: &Slot) -> Vec<Option<LaneExtent>> {
        let mut inner = slot.inner.iter();
        let all: Vec<Extent> = var.ty.all_extents().copied().collect();
        all.into_iter()
            .map(|extent| match extent {
                Extent::Unknown => inner.next().cloned().flatten(),
                extent => Some(self.lane_extent(extent)),
            })
            .collect()
    }

    fn layout(&self, var: &Var, slot: &Slot, extents: &[Option<LaneExtent>]) -> Vec<Along> {
        let nested = !var.ty.inner.is_empty();
        let mut rank = self.context(slot.home).dims.len();
        let mut layout: Vec<Along> = extents
            .iter()
            .map(|extent| match extent {
                Some(LaneExtent::Uniform(_)) if self.fits(slot.home, rank) => {
                    rank += 1;
                    Along::Uniform
                }
                other => {
                    rank = 1;
                    if other.is_none() { Along::Own } else { Along::Ragged { counted: nested } }
                }
            })
            .collect();
        if let Some(Along::Ragged { counted }) = layout.iter_mut().rfind(|along| **along != Along::Uniform) {
            *counted = true;
        }
        layout
    }

    /// Values as results of a block that go through a branch or a loop: each as one of the lanes and extents that its slot and type say.
    pub fn joined_up(&mut self, vars: &[Var], values: &[Value], slots: &[Slot]) -> Joined {
        let mut joined = Joined { flat: Vec::new(), layouts: Vec::new() };
        let before: Vec<_> = vars.iter().map(|var| self.env.get(&var.id).cloned()).collect();
        for ((var, value), slot) in vars.iter().zip(values).zip(slots) {
            let name = self.source_name(var.id);
            let value = self.declared(value, slot.home, &var.ty, &name);
            let extents = self.slot_extents(var, slot);
            let layout = self.layout(var, slot, &extents);
            let steps = self.steps(slot.home, value.elements);
            let mut levels = Levels::of(&var.ty, self.dims(slot.home));
            for (dim, (&along, &step)) in layout.iter().zip(&steps).enumerate() {
                let (start, above) = levels.at(dim);
                if along == Along::Own {
                    let lanes = if start == 0 { slot.home } else { steps[start - 1] };
                    let sizes = self.sizes_over(&value, lanes, dim);
                    let sizes = if self.flat.ty(sizes).extents == above { sizes } else { self.reshaped(sizes, above) };
                    joined.flat.push(sizes);
                }
                match along {
                    Along::Uniform => levels.dims.extend(self.dims(step).last()),
                    Along::Ragged { counted: false } => {}
                    Along::Ragged { counted: true } | Along::Own => {
                        let count = self.count(step);
                        levels.dims = vec![count];
                        joined.flat.push(match count {
                            Extent::Value(id) => id,
                            other => self.operand_value(operand(other)).array,
                        });
                    }
                }
            }
            let same = self.flat.ty(value.array).rank() == levels.dims.len();
            joined.flat.push(if same { value.array } else { self.reshaped(value.array, levels.dims) });
            joined.layouts.push(layout);
            self.define(var, value);
        }
        for (var, before) in vars.iter().zip(before) {
            match before {
                Some(bound) => _ = self.env.insert(var.id, bound),
                None => _ = self.env.remove(&var.id),
            }
        }
        joined
    }

    /// Names and types of what goes through, with ids of their own.
    pub fn typed(&mut self, vars: &[Var], slots: &[Slot], layouts: &[Vec<Along>]) -> Vec<(ArrayId, Name, Type)> {
        let mut all: Vec<(ArrayId, Name, Type)> = Vec::new();
        let mut own: Vec<ArrayId> = Vec::new();
        for ((var, slot), layout) in vars.iter().zip(slots).zip(layouts) {
            let mut inner = slot.inner.iter();
            let mut levels = Levels::of(&var.ty, self.dims(slot.home));
            let declared: Vec<Extent> = var.ty.all_extents().copied().collect();
            for (dim, (&along, extent)) in layout.iter().zip(declared).enumerate() {
                let known = if extent == Extent::Unknown { inner.next().cloned().flatten() } else { None };
                let (_, above) = levels.at(dim);
                if along == Along::Own {
                    all.push((self.flat.id(), "extents".into(), Type::array(above, I64)));
                }
                match along {
                    Along::Uniform => {
                        let extent = match known {
                            Some(LaneExtent::Uniform(extent)) => extent,
                            _ => self.typed_extent(extent, &vars[..own.len()], &own),
                        };
                        levels.dims.push(extent);
                    }
                    Along::Ragged { counted: false } => {}
                    Along::Ragged { counted: true } | Along::Own => {
                        let count = self.flat.id();
                        all.push((count, "total".into(), Type::scalar(I64)));
                        levels.dims = vec![Extent::Value(count)];
                    }
                }
            }
            let id = self.flat.id();
            own.push(id);
            all.push((id, var.name.clone(), Type::array(levels.dims, var.ty.element)));
        }
        all
    }

    /// A uniform extent of what goes through, which may go through before it.
    fn typed_extent(&mut self, extent: Extent, before: &[Var], own: &[ArrayId]) -> Extent {
        if let Extent::Value(id) = extent
            && let Some(at) = before.iter().position(|other| other.id == id)
        {
            return Extent::Value(own[at]);
        }
        match self.lane_extent(extent) {
            LaneExtent::Uniform(extent) => extent,
            LaneExtent::Varying(_) => extent,
        }
    }

    /// Defines values that flat results (or parameters) of these ids stand for.
    pub fn define_slots(&mut self, vars: &[Var], slots: &[Slot], layouts: &[Vec<Along>], ids: &[ArrayId]) {
        let mut ids = ids.iter().copied();
        for ((var, slot), layout) in vars.iter().zip(slots).zip(layouts) {
            let extents = self.slot_extents(var, slot);
            let mut contexts = vec![slot.home];
            let levels = Levels::of(&var.ty, Vec::new());
            for (dim, (along, extent)) in layout.iter().zip(extents).enumerate() {
                let at = contexts[dim];
                let next = match (along, extent) {
                    (Along::Uniform, Some(extent)) => self.extend(slot.home, at, &extent),
                    (Along::Ragged { counted }, Some(extent)) => {
                        let total = if *counted { ids.next() } else { None };
                        let sizes = match extent {
                            LaneExtent::Varying(sizes) => sizes,
                            LaneExtent::Uniform(extent) => self.scalar_of_extent(extent),
                        };
                        self.ragged(at, &sizes, total)
                    }
                    _ => {
                        let (Some(array), total) = (ids.next(), ids.next()) else {
                            fusebox_ir::bug!(self.program, "extents go through as two values");
                        };
                        self.not_negative.insert(array);
                        let above = contexts[levels.start(dim)];
                        self.ragged(at, &Value { array, home: above, elements: above, ty: I64 }, total)
                    }
                };
                contexts.push(next);
            }
            let Some(array) = ids.next() else {
                fusebox_ir::bug!(self.program, "{} goes through as a value", var.id);
            };
            let elements = contexts[contexts.len() - 1];
            self.define(var, Value { array, home: slot.home, elements, ty: var.ty.element });
        }
    }

    /// Binds a branch or loop, and what its results stand for.
    pub fn through(&mut self, binding: &'p Binding, slots: &[Slot], layouts: &[Vec<Along>], op: ArrayOp) {
        let results = self.typed(&binding.results, slots, layouts);
        let ids: Vec<ArrayId> = results.iter().map(|(id, _, _)| *id).collect();
        let level = self.flat.here();
        self.flat.bind_ids(level, op, results);
        self.define_slots(&binding.results, slots, layouts, &ids);
    }
}
