//! Scalar code in lanes: what it reads of the lane is read from flat arrays, at places computed from the lane's coordinates.

use std::collections::BTreeSet;

use fusebox_ir::{
    ArrayId, Binary, ElementType,
    ElementType::{Bool, I64},
    Emit, Extent, Lambda, LambdaBuilder, Local, Place, ScalarOp, ScalarOperand, Scopes, inline, unnamed,
};

use super::{
    Bound, Lifter, Value,
    context::{ContextId, Made, ROOT},
    flat::operand,
    lane::in_lane,
    stack::deeper,
};

/// Code that is written for each lane of a context.
pub(super) struct Code<'l, 'p> {
    pub lifter: &'l mut Lifter<'p>,
    pub b: LambdaBuilder,
    /// The context whose lanes it runs over.
    pub context: ContextId,
    /// The coordinates of the lane in flat arrays over that context.
    pub coords: Vec<ScalarOperand>,
    /// Scalars of the lane that parameters stand for.
    pub scalars: Vec<(ArrayId, ScalarOperand)>,
    /// Where what is written stands in the source.
    pub place: Place,
    /// What scalar code that waited was found to be, for each open body.
    known: Scopes,
    /// What is known to be more than zero.
    pub positive: BTreeSet<ScalarOperand>,
}

/// What is read where an index is outside.
#[derive(Clone, Debug)]
pub(super) enum Outside {
    /// The index is known to be inside.
    Never,
    /// It is an error that names this array.
    Error(String),
}

impl<'l, 'p> Code<'l, 'p> {
    pub fn new(lifter: &'l mut Lifter<'p>, context: ContextId) -> Self {
        let place = lifter.flat.place.clone();
        Self {
            lifter,
            b: LambdaBuilder::sharing(),
            context,
            coords: Vec::new(),
            scalars: Vec::new(),
            place,
            known: Scopes::new(),
            positive: BTreeSet::new(),
        }
    }

    /// Code whose parameters are the coordinates.
    pub fn over(lifter: &'l mut Lifter<'p>, context: ContextId) -> Self {
        let mut code = Self::new(lifter, context);
        let rank = code.lifter.context(context).dims.len();
        code.coords = (0..rank).map(|_| code.b.param("", I64).operand).collect();
        code
    }

    pub fn op(&mut self, op: ScalarOp, ty: ElementType) -> ScalarOperand {
        let place = self.place.clone();
        self.b.emit(op, &unnamed(&[ty]), &place)[0]
    }

    pub fn binary(&mut self, function: Binary, a: ScalarOperand, b: ScalarOperand, ty: ElementType) -> ScalarOperand {
        self.op(ScalarOp::Binary { function, a, b }, ty)
    }

    pub fn constant(value: i64) -> ScalarOperand {
        ScalarOperand::Constant(value.into())
    }

    pub fn extent(extent: Extent) -> ScalarOperand {
        operand(extent).in_scalar()
    }

    pub fn read(&mut self, array: ArrayId, index: Vec<ScalarOperand>) -> ScalarOperand {
        let ty = self.lifter.flat.ty(array).element;
        if index.is_empty() {
            return ScalarOperand::Outer(array);
        }
        self.op(ScalarOp::Read { array, index }, ty)
    }

    /// As [`Self::read`], of an element that is there in every lane.
    pub fn read_of_lane(&mut self, array: ArrayId, index: Vec<ScalarOperand>) -> ScalarOperand {
        let ty = self.lifter.flat.ty(array).element;
        if index.is_empty() {
            return ScalarOperand::Outer(array);
        }
        self.of_lane(ScalarOp::Read { array, index }, ty)
    }

    /// What no lane fails to have: in front of the loops that do not change what it is made of.
    pub fn of_lane(&mut self, op: ScalarOp, ty: ElementType) -> ScalarOperand {
        let place = self.place.clone();
        self.b.emit_before_loops(op, &unnamed(&[ty]), &place)[0]
    }

    /// One of two values, of which only the one that is wanted is computed.
    pub fn choose(
        &mut self,
        condition: ScalarOperand,
        ty: ElementType,
        then: impl FnOnce(&mut Self) -> ScalarOperand,
        otherwise: impl FnOnce(&mut Self) -> ScalarOperand,
    ) -> ScalarOperand {
        self.open(&[]);
        let result = then(self);
        let then = self.close(vec![result]);
        self.open(&[]);
        let result = otherwise(self);
        let otherwise = self.close(vec![result]);
        self.op(ScalarOp::If { condition, then, otherwise }, ty)
    }

    /// An element of a value in the lane of this code.
    pub fn element(&mut self, value: &Value, index: &[ScalarOperand], outside: &Outside) -> ScalarOperand {
        let coords = self.lane(value.home);
        self.element_at(value, &coords, index, outside)
    }

    /// An element of a value in the lane of these coordinates in its home.
    pub fn element_at(
        &mut self,
        value: &Value,
        coords: &[ScalarOperand],
        index: &[ScalarOperand],
        outside: &Outside,
    ) -> ScalarOperand {
        let steps = self.lifter.steps(value.home, value.elements);
        let at = self.down(coords, &steps, index, outside);
        match outside {
            Outside::Never if index.is_empty() => self.read_of_lane(value.array, at),
            _ => self.read(value.array, at),
        }
    }

    /// The extent of a value along a dimension, in the lane of these coordinates, below these indices.
    pub fn extent_at(
        &mut self,
        value: &Value,
        coords: &[ScalarOperand],
        dim: usize,
        index: &[ScalarOperand],
    ) -> ScalarOperand {
        let steps = self.lifter.steps(value.home, value.elements);
        let Made::Ragged { sizes, .. } = self.lifter.context(steps[dim]).made.clone() else {
            return self.size(steps[dim], &[]);
        };
        // As far down as the extent is known: a row without elements has extents too.
        let at = if self.lifter.is_above(sizes.home, value.home) {
            let at = self.climb(value.home, coords, sizes.home);
            return self.read_of_lane(sizes.array, at);
        } else {
            let known = steps.iter().position(|&step| step == sizes.home).map_or(dim, |at| at + 1);
            let at = self.down(coords, &steps[..known], &index[..known], &Outside::Never);
            let from = if known == 0 { value.home } else { steps[known - 1] };
            self.climb(from, &at, sizes.home)
        };
        self.read(sizes.array, at)
    }

    /// The scalar that a value of the nested program is in this lane.
    /// A scalar of the nested program in the lane.
    pub fn scalar(&mut self, id: ArrayId) -> ScalarOperand {
        match self.lifter.bound(id) {
            Bound::Value(value) if value.home == ROOT => ScalarOperand::Outer(value.array),
            Bound::Value(value) => {
                if let Some((_, operand)) = self.scalars.iter().find(|(known, _)| *known == id) {
                    return *operand;
                }
                self.element(&value, &[], &Outside::Never)
            }
            Bound::Index(step) => {
                let coords = self.lane(step);
                self.own_index(step, &coords)
            }
            Bound::Code(f, position) => {
                if let Some(known) = self.known.get(id) {
                    return known;
                }
                let results = deeper(|| inline(self, f, &[]));
                self.known.know(id, results[position]);
                results[position]
            }
            Bound::Missing => ScalarOperand::Outer(id),
        }
    }

    pub fn call(&mut self, f: &Lambda, arguments: &[ScalarOperand]) -> Vec<ScalarOperand> {
        inline(self, f, arguments)
    }
}

impl Emit for Code<'_, '_> {
    fn emit(&mut self, op: ScalarOp, results: &[Local], place: &Place) -> Vec<ScalarOperand> {
        let before = std::mem::replace(&mut self.place, place.clone());
        let made = match op {
            ScalarOp::Read { array, index } if index.is_empty() => vec![self.scalar(array)],
            ScalarOp::Read { array, index } => {
                let name = self.lifter.source_name(array);
                match (self.lifter.rows.get(&array), &index[..]) {
                    (Some(&row), &[index]) => vec![self.element_of_row(row, index, &name)],
                    _ => {
                        let value = self.lifter.array_value(array);
                        vec![self.element(&value, &index, &Outside::Error(name))]
                    }
                }
            }
            ScalarOp::ReadFlat { array, position } if self.lifter.is_scalar(array) => {
                let (name, ty) = (self.lifter.source_name(array), self.lifter.source_type(array).element);
                let value = self.scalar(array);
                let inside = self.binary(Binary::Eq, position, Self::constant(0), Bool);
                let message = format!("position {{}} is outside of `{name}`, which has one element");
                vec![self.assert(inside, (message, vec![position]), value, ty)]
            }
            ScalarOp::ReadFlat { array, position } => {
                let value = self.lifter.array_value(array);
                let name = self.lifter.source_name(array);
                vec![self.flat_element(&value, position, name)]
            }
            ScalarOp::Binary { function, a, b } if self.may_divide_by_zero(function, b, results) => {
                let b = self.not_zero(b, results[0].ty);
                self.b.emit(ScalarOp::Binary { function, a, b }, results, place)
            }
            ScalarOp::Assert { condition, message, shown, value } => {
                let (message, lane) = in_lane(&message, &self.own_lane());
                let shown = [shown, lane].concat();
                self.b.emit(ScalarOp::Assert { condition, message, shown, value }, results, place)
            }
            op => {
                let positive = self.is_positive(&op, results);
                let made = self.b.emit(op, results, place);
                self.positive.extend(made.iter().filter(|_| positive));
                made
            }
        };
        self.place = before;
        made
    }

    fn open(&mut self, params: &[Local]) -> Vec<ScalarOperand> {
        self.known.open(&mut self.b, params)
    }

    fn close(&mut self, results: Vec<ScalarOperand>) -> Lambda {
        self.known.close(&mut self.b, results)
    }

    fn outer(&mut self, id: ArrayId) -> ScalarOperand {
        self.scalar(id)
    }
}

impl Code<'_, '_> {
    /// An element by its row-major position in the lane's array.
    fn flat_element(&mut self, value: &Value, position: ScalarOperand, name: String) -> ScalarOperand {
        if value.home == ROOT
            && self.lifter.flat.ty(value.array).rank() == self.lifter.steps(ROOT, value.elements).len()
        {
            let ty = self.lifter.flat.ty(value.array).element;
            return self.op(ScalarOp::ReadFlat { array: value.array, position }, ty);
        }
        let steps = self.lifter.steps(value.home, value.elements);
        let coords = self.lane(value.home);
        if steps.len() == 1 {
            return self.element_at(value, &coords, &[position], &Outside::Error(name));
        }
        // Extents of one lane's array do not depend on indices inside of it.
        let zeros = vec![Self::constant(0); steps.len()];
        let sizes: Vec<ScalarOperand> =
            (0..steps.len()).map(|dim| self.extent_at(value, &coords, dim, &zeros)).collect();
        let mut all = Self::constant(1);
        for &size in &sizes {
            all = self.binary(Binary::Mul, all, size, I64);
        }
        let position = self.inside(position, all, &name, &coords);
        let (mut index, mut rest) = (Vec::new(), position);
        for (at, &size) in sizes.iter().enumerate().rev() {
            if at == 0 {
                index.push(rest);
            } else {
                index.push(self.binary(Binary::Rem, rest, size, I64));
                rest = self.binary(Binary::Div, rest, size, I64);
            }
        }
        index.reverse();
        self.element_at(value, &coords, &index, &Outside::Never)
    }
}
