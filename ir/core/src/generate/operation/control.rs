//! Operations that hold blocks: cond, while, foreign.

use std::collections::HashMap;

use crate::{
    ArrayId, ArrayOp, Binary, Constant, ElementType, Extent, Operand, ScalarOp, ScalarOperand, Type,
    generate::scope::{Bounds, Known, LARGE, Scope, single},
};

/// What a result of a branch or loop has to be, whichever branch is taken and however often the loop runs.
#[derive(Clone, Debug)]
pub(super) enum Pattern {
    /// An array or scalar of these extents.
    Fixed(ElementType, Vec<Extent>),
    /// A size, at most so large, and a vector of it.
    Sized(ElementType, i64),
    /// An array of arrays, where there is no other this one. `?` of inner extents is any.
    Nested(ArrayId, Type),
}

impl Scope<'_> {
    fn patterns(&mut self) -> Vec<Pattern> {
        let most = if self.linear { 2 * LARGE } else { 24 };
        (0..self.several())
            .map(|_| {
                if let Some(nested) = self.nested_pattern() {
                    return nested;
                }
                let element = self.random.element();
                if self.random.chance(1, 3) {
                    return Pattern::Sized(element, most);
                }
                let extents = match self.pick(|scope, known| known.is_array() && scope.fits(&known.ty.extents)) {
                    Some(known) => known.ty.extents,
                    None => Vec::new(),
                };
                Pattern::Fixed(element, extents)
            })
            .collect()
    }

    fn nested_pattern(&mut self) -> Option<Pattern> {
        if !self.config.nested || !self.random.chance(1, 3) {
            return None;
        }
        let mut known = self.pick(|scope, known| !known.ty.inner.is_empty() && scope.goes_through(known))?;
        for extent in known.ty.inner.iter_mut().flatten() {
            if self.random.chance(1, 3) {
                *extent = Extent::Unknown;
            }
        }
        Some(Pattern::Nested(known.id, known.ty))
    }

    /// Whether an array of arrays may be what goes through a branch or a loop.
    fn goes_through(&self, known: &Known) -> bool {
        !known.ty.stream && known.ty.inner.len() < 3 && self.fits(&known.ty.extents)
    }

    /// An array of arrays in scope that may be where another is, of that type.
    fn like(&mut self, id: ArrayId, ty: &Type) -> ArrayId {
        let most = self.nested_most.get(&id).copied().unwrap_or(self.config.max_extent);
        let agrees = |(declared, given): (&Extent, &Extent)| *declared == Extent::Unknown || declared == given;
        let fits = |scope: &Self, known: &Known| {
            let ranks = |ty: &Type| ty.inner.iter().map(Vec::len).collect::<Vec<_>>();
            scope.goes_through(known)
                && known.ty.element == ty.element
                && known.ty.extents == ty.extents
                && ranks(&known.ty) == ranks(ty)
                && ty.inner.iter().flatten().zip(known.ty.inner.iter().flatten()).all(agrees)
                && scope.nested_most.get(&known.id).copied().unwrap_or(scope.config.max_extent) <= most
        };
        self.pick(fits).map_or(id, |known| known.id)
    }

    /// New ids and types for results of these patterns.
    fn results(&mut self, patterns: &[Pattern]) -> (Vec<ArrayId>, Vec<Type>) {
        let (mut ids, mut types) = (Vec::new(), Vec::new());
        for pattern in patterns {
            match pattern {
                Pattern::Fixed(element, extents) => {
                    ids.push(self.fresh());
                    types.push(Type::array(extents.clone(), *element));
                }
                Pattern::Sized(element, most) => {
                    let size = self.fresh();
                    self.bounds.insert(size, (0, *most));
                    ids.extend([size, self.fresh()]);
                    types.push(Type::scalar(ElementType::I64));
                    types.push(Type::array(vec![Extent::Value(size)], *element));
                }
                Pattern::Nested(like, ty) => {
                    let id = self.fresh();
                    if let Some(&most) = self.nested_most.get(like) {
                        self.nested_most.insert(id, most);
                    }
                    ids.push(id);
                    types.push(ty.clone());
                }
            }
        }
        (ids, types)
    }

    /// Values in scope that fit patterns, made where there are none.
    fn give(&mut self, patterns: &[Pattern]) -> Vec<ArrayId> {
        let mut results = Vec::new();
        for pattern in patterns {
            match pattern {
                Pattern::Fixed(element, extents) if extents.is_empty() => results.push(self.scalar_value(*element)),
                Pattern::Fixed(element, extents) => results.push(self.produce(Some(*element), extents).id),
                Pattern::Sized(element, most) => {
                    let fits = |scope: &Self, known: &Known| {
                        known.is_array()
                            && known.ty.rank() == 1
                            && known.element() == *element
                            && scope.bounds_of(known.ty.extents[0]).1 <= *most
                            && scope.bounds_of(known.ty.extents[0]).0 >= 0
                    };
                    let vector = match self.pick(fits) {
                        Some(known) => known,
                        None => {
                            let extent = self.extent();
                            let extent = if self.bounds_of(extent).1 <= *most { extent } else { Extent::Constant(2) };
                            self.generated(*element, &[extent])
                        }
                    };
                    let size = match vector.ty.extents[0] {
                        Extent::Value(id) => id,
                        extent => self.constant_unit(Constant::from(self.bounds_of(extent).0)),
                    };
                    results.extend([size, vector.id]);
                }
                Pattern::Nested(id, ty) => results.push(self.like(*id, ty)),
            }
        }
        results
    }

    fn constant_unit(&mut self, constant: Constant) -> ArrayId {
        let f = crate::Lambda {
            params: Vec::new(),
            instructions: Vec::new(),
            results: vec![ScalarOperand::Constant(constant)],
        };
        let known = self.bind(ArrayOp::Unit { f }, vec![Type::scalar(constant.ty())]).swap_remove(0);
        if let Some(value @ 0..) = constant.as_i64()
            && constant.ty() == ElementType::I64
        {
            self.bounds.insert(known.id, (value, value));
        }
        known.id
    }

    /// A value of rank 0: in scope, or a new one.
    pub(super) fn scalar_value(&mut self, element: ElementType) -> ArrayId {
        if self.random.chance(2, 3)
            && let Some(known) = self.pick(|_, known| known.ty.is_scalar() && known.element() == element)
        {
            return known.id;
        }
        let f = self.lambda(&[], &[element]);
        self.bind(ArrayOp::Unit { f }, vec![Type::scalar(element)])[0].id
    }

    fn some_steps(&mut self) {
        let steps = self.random.pick(&[0, 1, 1, 2, 3]);
        self.steps(steps);
    }

    pub(super) fn cond(&mut self) -> Option<()> {
        let condition = match self.operand_of(ElementType::Bool) {
            Operand::Constant(_) if self.random.chance(3, 4) => Operand::Value(self.scalar_value(ElementType::Bool)),
            operand => operand,
        };
        let patterns = self.patterns();
        let mut branches = Vec::new();
        for _ in 0..2 {
            let mark = self.open();
            self.some_steps();
            let results = self.give(&patterns);
            branches.push(self.close(mark, results));
        }
        let (ids, types) = self.results(&patterns);
        let otherwise = branches.pop()?;
        let then = branches.pop()?;
        self.bind_ids(&ids, ArrayOp::Cond { condition, then, otherwise }, types);
        Some(())
    }

    /// Parameters of a block, for patterns.
    fn parameters(&mut self, patterns: &[Pattern]) -> Vec<Known> {
        let (ids, types) = self.results(patterns);
        ids.into_iter()
            .zip(types)
            .map(|(id, ty)| {
                let var = self.var(id, ty.clone());
                self.block().params.push(var);
                self.know(id, ty)
            })
            .collect()
    }

    /// A loop of a few iterations, with a counter in its state.
    pub(super) fn repeat(&mut self) -> Option<()> {
        let counter = self.random.pick(&[ElementType::I64, ElementType::I32, ElementType::U8]);
        let mut patterns = self.patterns();
        let at = patterns.len();
        let start = self.give(&patterns);
        patterns.push(Pattern::Fixed(counter, Vec::new()));
        let mut starts: Vec<Operand> = start.into_iter().map(Operand::Value).collect();
        if let ([start], [Pattern::Fixed(element, extents), _]) = (&mut starts[..], &patterns[..])
            && extents.is_empty()
            && self.random.chance(1, 2)
        {
            *start = Operand::Constant(self.random.constant(*element));
        }
        starts.push(Operand::Constant(Constant::from_i64(counter, 0)));

        let mark = self.open();
        let state = self.parameters(&patterns);
        if self.random.chance(1, 4) {
            self.some_steps();
        }
        let turns = Constant::from_i64(counter, self.random.range(0, 4));
        let count = state[state.len() - 1].id;
        let op = ScalarOp::Binary { function: Binary::Lt, a: ScalarOperand::Outer(count), b: turns.into() };
        let mut goes_on =
            self.bind(ArrayOp::Unit { f: single(op, ElementType::Bool) }, vec![Type::scalar(ElementType::Bool)])[0].id;
        if self.random.chance(1, 3) {
            let more = self.scalar_value(ElementType::Bool);
            let (a, b) = (ScalarOperand::Outer(goes_on), ScalarOperand::Outer(more));
            let op = ScalarOp::Binary { function: Binary::LogicalAnd, a, b };
            goes_on = self
                .bind(ArrayOp::Unit { f: single(op, ElementType::Bool) }, vec![Type::scalar(ElementType::Bool)])[0]
                .id;
        }
        let condition = self.close(mark, vec![goes_on]);

        let mark = self.open();
        let state = self.parameters(&patterns);
        self.some_steps();
        let mut next = self.give(&patterns[..at]);
        let count = state[state.len() - 1].id;
        let op = ScalarOp::Binary {
            function: Binary::Add,
            a: ScalarOperand::Outer(count),
            b: Constant::from_i64(counter, 1).into(),
        };
        next.push(self.bind(ArrayOp::Unit { f: single(op, counter) }, vec![Type::scalar(counter)])[0].id);
        let step = self.close(mark, next);

        let (ids, types) = self.results(&patterns);
        self.bind_ids(&ids, ArrayOp::While { condition, step, starts }, types);
        Some(())
    }

    pub(super) fn foreign(&mut self) -> Option<()> {
        let mut arguments = Vec::new();
        for _ in 0..self.random.pick(&[0, 1, 1, 2, 3]) {
            let known = self.pick(|_, known| known.is_array())?;
            if self.random.chance(1, 8) {
                arguments
                    .push((Operand::Constant(self.random.constant(known.element())), Type::scalar(known.element())));
            } else {
                arguments.push((Operand::Value(known.id), known.ty));
            }
        }
        // Outside nothing is seen inside.
        let outside = std::mem::take(&mut self.values);
        let mark = self.open();
        let mut inside: HashMap<ArrayId, ArrayId> = HashMap::new();
        let mut back: HashMap<ArrayId, Extent> = HashMap::new();
        for (_, ty) in &arguments {
            let extents =
                ty.extents.iter().map(|&extent| self.fallback_extent(extent, &mut inside, &mut back)).collect();
            let (id, ty) = (self.fresh(), Type::array(extents, ty.element));
            let var = self.var(id, ty.clone());
            self.block().params.push(var);
            self.know(id, ty);
        }
        self.some_steps();
        let mut patterns = self.patterns();
        // What is fixed has to be sayable outside; of arrays of arrays too much would have to be.
        patterns.retain(|pattern| !matches!(pattern, Pattern::Nested(..)));
        if patterns.is_empty() {
            patterns.push(Pattern::Fixed(ElementType::I64, Vec::new()));
        }
        for pattern in &mut patterns {
            if let Pattern::Fixed(_, extents) = pattern
                && !extents.iter().all(|extent| {
                    matches!(extent, Extent::Constant(_))
                        || matches!(extent, Extent::Value(id) if back.contains_key(id))
                })
            {
                extents.clear();
            }
        }
        let results = self.give(&patterns);
        let fallback = self.close(mark, results);
        self.values = outside;
        for pattern in &mut patterns {
            if let Pattern::Fixed(_, extents) = pattern {
                for extent in extents {
                    if let Extent::Value(id) = extent {
                        *extent = back.get(id).copied().unwrap_or(*extent);
                    }
                }
            }
        }
        let (ids, types) = self.results(&patterns);
        let name = self.random.text();
        let arguments = arguments.into_iter().map(|argument| argument.0).collect();
        self.bind_ids(&ids, ArrayOp::Foreign { name, fallback, arguments }, types);
        Some(())
    }

    /// The extent of a parameter: a size of the fallback for each size of the arguments, sometimes for a constant too.
    fn fallback_extent(
        &mut self,
        extent: Extent,
        inside: &mut HashMap<ArrayId, ArrayId>,
        back: &mut HashMap<ArrayId, Extent>,
    ) -> Extent {
        if let Extent::Value(outer) = extent
            && let Some(&size) = inside.get(&outer)
            && self.random.chance(5, 6)
        {
            return Extent::Value(size);
        }
        if matches!(extent, Extent::Constant(_)) && self.random.chance(2, 3) {
            return extent;
        }
        let size = self.fresh();
        let bounds: Bounds = self.bounds_of(extent);
        self.bounds.insert(size, bounds);
        let var = self.var(size, Type::scalar(ElementType::I64));
        self.block().sizes.push(var);
        self.know(size, Type::scalar(ElementType::I64));
        if let Extent::Value(outer) = extent {
            inside.insert(outer, size);
        }
        back.insert(size, extent);
        Extent::Value(size)
    }
}
