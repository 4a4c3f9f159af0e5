//! A kernel under construction: levels are opened from the outermost, statements put at their depths, before or after what is deeper.
//!
//! Locals have provisional ids until [`finish`] numbers them. Scalar code is written with a [`LambdaBuilder`](fusebox_ir::LambdaBuilder), made strict and expanded, and
//! then falls apart into statements: each as far outside as what it uses allows, if it cannot fail.

mod code;
mod finish;
mod known;
mod load;
mod run;
mod statements;
mod tidy;
mod walk;

use std::collections::HashMap;

use fusebox_ir::{
    Access, Action, ArrayId, Constant, ElementType, Extent, IndexMap, KernelArray, KernelArrayId, KernelExtent, Level,
    LevelOrder, Local, LocalId, Name, Operand, Place, PlanExtent, PlanOperand, Program, ScalarOperand, Statement,
    ValueId, analysis::Sizes, bug,
};

pub(crate) use self::{
    finish::Launch,
    known::Known,
    statements::{Associates, Commutes, Learned, ScanParts},
    tidy::{fails, tidied},
};
use crate::{
    bounds::linear::{Atom, Facts, Linear},
    bounds::values::Values,
    locals::{Ids, Types},
};

/// Finds values of the program in the plan.
pub(crate) trait Scope {
    /// What a value is.
    fn find(&self, id: ArrayId) -> PlanOperand;

    /// The array of the plan that a value is; none for a scalar that is none, and what is made in the nest.
    fn array(&self, id: ArrayId) -> Option<ValueId>;

    /// What the program calls an array of the plan, of several names the first.
    fn name(&self, value: ValueId) -> Option<ArrayId>;
}

/// Where in a nest a statement stands: how many levels are around it, and whether what is deeper has been done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ProgramPoint {
    pub(crate) depth: u32,
    pub(crate) after: bool,
}

impl ProgramPoint {
    pub(crate) fn before(depth: u32) -> Self {
        Self { depth, after: false }
    }

    pub(crate) fn after(depth: u32) -> Self {
        Self { depth, after: true }
    }

    /// Whether what stands here can be used there.
    fn usable_at(self, there: Self) -> bool {
        self.depth <= there.depth && (!self.after || self == there)
    }
}

/// What is loaded from where, to load it once; and whether it is zero outside.
type LoadKey = (KernelArrayId, Vec<(i64, Vec<(i64, LocalId)>, u8)>, bool);

/// An array of a nest.
struct NestArray {
    value: ValueId,
    access: Access,
}

/// A level over segments, and one over the elements of each.
struct SegmentLevels {
    offsets: ArrayId,
    segment: LocalId,
    element: LocalId,
    /// The segment's first element.
    from: ScalarOperand,
}

/// A kernel under construction.
pub(crate) struct KernelBuilder<'v> {
    scope: &'v dyn Scope,
    sizes_of_program: &'v Sizes,
    name: String,
    /// The operation whose statements are put, where the kernel is of several.
    pub(crate) operation: Name,
    pub(crate) ids: Ids,
    pub(crate) known: Known<'v>,
    sizes: Vec<(ValueId, LocalId)>,
    scalars: HashMap<ValueId, LocalId>,
    /// Scalars of the program that are made in this nest.
    own: HashMap<ArrayId, ScalarOperand>,
    arrays: Vec<NestArray>,
    pub(crate) levels: Vec<Level>,
    pub(crate) before: Vec<Vec<Statement>>,
    pub(crate) after: Vec<Vec<Statement>>,
    loads: HashMap<LoadKey, LocalId>,
    /// Loads that were found to repeat an earlier one.
    same: HashMap<LocalId, LocalId>,
    /// Levels over the elements of segments.
    segments: Vec<SegmentLevels>,
    /// Reduces and scans, by their first result, whose association is looked up when all loads are known.
    pub(crate) associates: HashMap<LocalId, Associates>,
}

impl<'v> KernelBuilder<'v> {
    pub(crate) fn new(values: &'v Values<'v>, scope: &'v dyn Scope, sizes: &'v Sizes, name: String) -> Self {
        Self {
            scope,
            sizes_of_program: sizes,
            name,
            operation: Name::default(),
            ids: Ids::default(),
            known: Known {
                values,
                types: Types::new(values.program),
                points: Vec::new(),
                forms: HashMap::new(),
                facts: Facts::default(),
                clamped: HashMap::new(),
                outer: HashMap::new(),
            },
            sizes: Vec::new(),
            scalars: HashMap::new(),
            own: HashMap::new(),
            arrays: Vec::new(),
            levels: Vec::new(),
            before: vec![Vec::new()],
            after: vec![Vec::new()],
            loads: HashMap::new(),
            same: HashMap::new(),
            segments: Vec::new(),
            associates: HashMap::new(),
        }
    }

    /// What is lowered: shown with bugs.
    pub(crate) fn program(&self) -> &'v Program {
        self.known.values.program
    }

    /// How many levels are open.
    pub(crate) fn depth(&self) -> u32 {
        self.levels.len() as u32
    }

    fn define(&mut self, local: &Local, point: ProgramPoint) {
        self.known.types.note(local);
        let at = local.id.index();
        if self.known.points.len() <= at {
            self.known.points.resize(at + 1, None);
        }
        self.known.points[at] = Some(point);
    }

    fn local(&mut self, ty: ElementType, point: ProgramPoint) -> Local {
        let local = Local { id: self.ids.fresh(), ty, name: Name::default() };
        self.define(&local, point);
        local
    }

    pub(crate) fn ty(&self, operand: ScalarOperand) -> ElementType {
        self.known.types.of(operand)
    }

    // What comes from outside.

    /// An extent of the plan.
    pub(crate) fn extent(&mut self, extent: PlanExtent) -> ScalarOperand {
        match extent {
            Extent::Constant(constant) => Constant::from(constant).into(),
            Extent::Value(id) => self.scalar(id),
            Extent::Unknown => bug!(self.program(), "a value of the plan has an extent that is not known"),
        }
    }

    /// A scalar of the plan.
    pub(crate) fn scalar(&mut self, id: ValueId) -> ScalarOperand {
        if let Some((_, local)) = self.sizes.iter().find(|(value, _)| *value == id) {
            return (*local).into();
        }
        if self.known.values.is_extent(id) {
            let local = self.local(ElementType::I64, ProgramPoint::before(0));
            self.known.outer.insert(local.id, id);
            self.sizes.push((id, local.id));
            return local.id.into();
        }
        if let Some(&local) = self.scalars.get(&id) {
            return local.into();
        }
        let array = self.array(id, Access::Read);
        let result = self.local(self.known.values.ty(id).element, ProgramPoint::before(0));
        self.known.outer.insert(result.id, id);
        self.scalars.insert(id, result.id);
        let map = IndexMap { dims: Vec::new(), checked: false };
        let local = result.id;
        let action = Action::Load { result, array, map, outside: None, place: Place::default() };
        self.before[0].push(Statement { depth: 0, when: None, operation: Name::default(), action });
        local.into()
    }

    /// Scalar code from here on may use a scalar that is made in this nest.
    pub(crate) fn name(&mut self, id: ArrayId, scalar: ScalarOperand) {
        self.own.insert(id, scalar);
    }

    /// An operand of the plan.
    pub(crate) fn operand(&mut self, operand: PlanOperand) -> ScalarOperand {
        match operand {
            Operand::Value(id) => self.scalar(id),
            Operand::Constant(constant) => constant.into(),
        }
    }

    /// Position of an array of the plan in the kernel.
    pub(crate) fn array(&mut self, value: ValueId, access: Access) -> KernelArrayId {
        let position = self.arrays.iter().position(|array| array.value == value).unwrap_or_else(|| {
            for extent in self.known.values.ty(value).extents.clone() {
                self.extent(extent);
            }
            self.arrays.push(NestArray { value, access });
            self.arrays.len() - 1
        });
        KernelArrayId::at(position)
    }

    fn kernel_array(&self, array: &NestArray) -> KernelArray {
        let ty = self.known.values.ty(array.value);
        let extent = |extent: &PlanExtent| match extent {
            Extent::Constant(constant) => KernelExtent::Constant(*constant),
            // The sizes of an array's type are met when it becomes one of the nest.
            Extent::Value(id) => match self.sizes.iter().find(|(value, _)| value == id) {
                Some((_, local)) => KernelExtent::Size(*local),
                None => bug!(self.program(), "{id} is an extent of an array in a kernel, and no size of it"),
            },
            Extent::Unknown => bug!(self.program(), "a value of the plan has an extent that is not known"),
        };
        let extents = ty.extents.iter().map(extent).collect();
        KernelArray {
            name: self.known.values.name(array.value).to_owned(),
            element: ty.element,
            extents,
            access: array.access,
            in_place_of: None,
        }
    }

    // Levels.

    /// Opens a level inside those that are open, and gives its index.
    pub(crate) fn level(&mut self, from: ScalarOperand, to: ScalarOperand, order: LevelOrder) -> ScalarOperand {
        let depth = self.depth() + 1;
        let index = self.local(ElementType::I64, ProgramPoint::before(depth));
        let (first, end) = (self.known.form(from), self.known.form(to));
        let own = Linear::term(Atom::Local(index.id));
        self.known.note_order(&first, 0, &own, depth);
        self.known.note_order(&own, 1, &end, depth);
        if first.as_constant() == Some(0) {
            self.known.note_steps(&end, depth);
        }
        let operand = index.id.into();
        self.levels.push(Level { index, from, to, order });
        self.before.push(Vec::new());
        self.after.push(Vec::new());
        operand
    }

    /// The two innermost levels are over segments, which begin at these offsets, and over the elements of each, the first of which is `from`.
    pub(crate) fn in_segments(&mut self, offsets: ValueId, from: ScalarOperand) {
        if let [.., segment, element] = &self.levels[..]
            && let Some(offsets) = self.scope.name(offsets)
        {
            let (segment, element) = (segment.index.id, element.index.id);
            self.segments.push(SegmentLevels { offsets, segment, element, from });
        }
    }

    /// Opens a level over an extent.
    pub(crate) fn level_over(&mut self, extent: PlanExtent, order: LevelOrder) -> ScalarOperand {
        let to = self.extent(extent);
        self.level(Constant::from(0i64).into(), to, order)
    }

    /// Notes that `left <= right` at a depth: a check stands before.
    pub(crate) fn at_most(&mut self, depth: u32, left: ScalarOperand, right: ScalarOperand) {
        let (left, right) = (self.known.form(left), self.known.form(right));
        self.known.note_order(&left, 0, &right, depth);
    }
}
