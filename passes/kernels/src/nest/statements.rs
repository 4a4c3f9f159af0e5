//! Checks, stores, reduces, scans.

use std::collections::HashMap;

use fusebox_ir::{
    Access, Action, Association, Binary, Constant, DimBoundary, DimIndex, ElementType, Failure, FailureKind, IndexMap,
    Lambda, Local, LocalId, Place, ScalarOperand, Statement, ValueId,
    analysis::{algebra, need::local},
};

use super::{KernelBuilder, ProgramPoint};
use crate::bounds::linear::{Atom, Linear};

/// What code without levels tells of the scalars it makes.
#[derive(Debug, Default)]
pub(crate) struct Learned {
    /// Those that are linear in extents.
    pub(crate) forms: Vec<(ValueId, Linear)>,
    /// What is not negative.
    pub(crate) facts: Vec<Linear>,
    /// Those that are the greater of 0 and this.
    pub(crate) clamped: Vec<(ValueId, Linear)>,
}

/// How a reduce or scan is to associate, as far as its operation says.
#[derive(Clone, Debug)]
pub(crate) struct Associates {
    /// Of its components.
    pub(crate) types: Vec<ElementType>,
    pub(crate) commutes: Commutes,
}

/// Whether the function of a reduce or scan is known to commute.
#[derive(Clone, Debug)]
pub(crate) enum Commutes {
    Yes,
    No,
    /// This function does, and gives the same of these values.
    As(Lambda),
}

impl Commutes {
    /// What an operation says, or else what is known of its function.
    pub(crate) fn of(said: bool, combine: &Lambda) -> Self {
        if said || algebra(combine).commutes { Self::Yes } else { Self::No }
    }
}

/// What a scan is made of.
pub(crate) struct ScanParts {
    pub(crate) exclusive: bool,
    pub(crate) totals: bool,
    /// How it associates, or what that depends on.
    pub(crate) association: Result<Association, Associates>,
    pub(crate) combine: Lambda,
    pub(crate) seeds: Vec<ScalarOperand>,
    pub(crate) values: Vec<ScalarOperand>,
}

impl KernelBuilder<'_> {
    pub(super) fn put(&mut self, point: ProgramPoint, when: Option<ScalarOperand>, action: Action) {
        let list = if point.after { &mut self.after } else { &mut self.before };
        let operation = self.operation.clone();
        list[point.depth as usize].push(Statement { depth: point.depth, when, operation, action });
    }

    /// The value of a linear form over scalars of the plan and locals.
    pub(crate) fn linear(&mut self, form: &Linear, at: ProgramPoint) -> ScalarOperand {
        let whole = |value: i64| ScalarOperand::from(Constant::from(value));
        let mut sum: Option<ScalarOperand> = (form.rest() != 0 || form.terms().is_empty()).then(|| whole(form.rest()));
        for &(atom, factor) in form.terms() {
            let term = match atom {
                Atom::Value(id) => self.scalar(id),
                Atom::Local(id) => id.into(),
            };
            let term = if factor == 1 { term } else { self.binary(Binary::Mul, term, whole(factor), at) };
            sum = Some(match sum {
                Some(sum) => self.binary(Binary::Add, sum, term, at),
                None => term,
            });
        }
        sum.unwrap_or_else(|| whole(0))
    }

    /// A built-in function of two.
    pub(crate) fn built_in(&mut self, function: Binary, ty: ElementType) -> Lambda {
        self.function(&Lambda::build(&[("", ty), ("", ty)], |f, p| vec![f.binary(function, p[0], p[1])]))
    }

    /// Whether `a < b`, or `a <= b`, is known at a depth.
    pub(crate) fn is_below(&self, a: ScalarOperand, b: ScalarOperand, depth: u32, or_equal: bool) -> bool {
        let (a, b) = (self.known.form(a), self.known.form(b));
        self.known.is_ordered(&a, i64::from(!or_equal), &b, depth)
    }

    /// Notes that `left < right` at a depth: a check stands before.
    pub(crate) fn below(&mut self, depth: u32, left: ScalarOperand, right: ScalarOperand) {
        let (left, right) = (self.known.form(left), self.known.form(right));
        self.known.note_order(&left, 1, &right, depth);
    }

    /// Whether an index into an array of the plan is known to be inside at a depth.
    pub(crate) fn is_inside(&self, value: ValueId, index: &[ScalarOperand], depth: u32) -> bool {
        let forms: Vec<Linear> = index.iter().map(|&index| self.known.form(index)).collect();
        self.known.inside(self.known.values.ty(value), &forms, depth)
    }

    /// Whether an array may have no elements where something is computed at a depth.
    pub(crate) fn may_be_empty(&self, value: ValueId, depth: u32) -> bool {
        !self.known.values.ty(value).extents.iter().all(|&extent| self.known.is_filled(extent, depth))
    }

    /// Whether a value is made outside of all levels.
    pub(crate) fn is_outside(&self, value: ScalarOperand) -> bool {
        self.known.point(value).depth == 0
    }

    /// The depth at which a local is made.
    pub(crate) fn depth_of(&self, id: LocalId) -> u32 {
        self.known.point(id.into()).depth
    }

    /// What is known of the scalars that `values`, made outside of all levels, are stored to.
    pub(crate) fn learned(&self, values: &[ScalarOperand], stored: &[ValueId]) -> Learned {
        let mut learned = Learned::default();
        let mut names: HashMap<LocalId, ValueId> = HashMap::new();
        let extents_only = |form: &Linear| {
            form.terms().iter().all(|(atom, _)| matches!(atom, Atom::Value(id) if self.known.values.is_extent(*id)))
        };
        for (&value, &id) in values.iter().zip(stored) {
            if self.ty(value) != ElementType::I64 {
                continue;
            }
            let form = self.known.in_plan(&self.known.form(value));
            if extents_only(&form) {
                learned.forms.push((id, form));
            } else if let Some(local) = local(&value) {
                names.entry(local).or_insert(id);
            }
        }
        let named = |form: &Linear| {
            let named = form.map(&mut |&atom| match atom {
                Atom::Local(id) => {
                    names.get(&id).map_or_else(|| Linear::term(atom), |&id| Linear::term(Atom::Value(id)))
                }
                Atom::Value(_) => Linear::term(atom),
            });
            let known = named.terms().iter().all(|(atom, _)| matches!(atom, Atom::Value(_)));
            known.then_some(named)
        };
        learned.facts.extend(self.known.facts.outside().filter_map(|fact| named(fact).filter(|named| named != fact)));
        for (local, &id) in &names {
            let number = self.known.clamped.get(local).and_then(|number| named(&self.known.in_plan(number)));
            learned.clamped.extend(number.map(|number| (id, number)));
        }
        learned
    }

    /// Fails where `condition` does not hold, and `when` does.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn check(
        &mut self,
        condition: ScalarOperand,
        operation: &str,
        place: &Place,
        fault: FailureKind,
        at: ProgramPoint,
        when: Option<ScalarOperand>,
    ) {
        let failure = Failure { operation: operation.to_owned(), place: place.clone(), fault };
        self.put(at, when, Action::Check { condition, failure });
    }

    /// The map of an index.
    pub(crate) fn index_map(&self, index: &[ScalarOperand], checked: bool) -> IndexMap {
        let dims = index.iter().map(|&index| self.dim(&self.known.form(index))).collect();
        IndexMap { dims, checked }
    }

    pub(super) fn dim(&self, form: &Linear) -> DimIndex {
        let terms = form
            .terms()
            .iter()
            .filter_map(|&(atom, by)| if let Atom::Local(id) = atom { Some((by, id)) } else { None });
        DimIndex { offset: form.rest(), terms: terms.collect(), boundary: DimBoundary::None }
    }

    /// Stores an element where `when` holds; it is inside there.
    pub(crate) fn store(
        &mut self,
        value: ValueId,
        access: Access,
        index: &[ScalarOperand],
        element: ScalarOperand,
        at: ProgramPoint,
        when: Option<ScalarOperand>,
    ) {
        let array = self.array(value, access);
        let map = self.index_map(index, false);
        self.put(at, when, Action::Store { array, map, value: element });
    }

    /// Combines `values` of where `when` holds at depth `to`.
    #[allow(clippy::too_many_arguments)]
    pub(crate) fn reduce(
        &mut self,
        at: ProgramPoint,
        when: Option<ScalarOperand>,
        to: u32,
        associates: Associates,
        combine: Lambda,
        seeds: Vec<ScalarOperand>,
        values: Vec<ScalarOperand>,
    ) -> Vec<ScalarOperand> {
        let types: Vec<ElementType> = values.iter().map(|&value| self.ty(value)).collect();
        let results: Vec<Local> = types.iter().map(|&ty| self.local(ty, ProgramPoint::after(to))).collect();
        let operands = results.iter().map(|result| result.id.into()).collect();
        if let Some(first) = results.first() {
            self.associates.insert(first.id, associates);
        }
        let association = Association::InOrder;
        self.put(at, when, Action::Reduce { results, to, association, combine, seeds, values });
        operands
    }

    /// Scans `values` of where `when` holds along the level around; gives the running results and the totals.
    pub(crate) fn scan(
        &mut self,
        at: ProgramPoint,
        when: Option<ScalarOperand>,
        scan: ScanParts,
    ) -> (Vec<ScalarOperand>, Vec<ScalarOperand>) {
        let types: Vec<ElementType> = scan.values.iter().map(|&value| self.ty(value)).collect();
        let results: Vec<Local> = types.iter().map(|&ty| self.local(ty, at)).collect();
        let around = ProgramPoint::after(at.depth.saturating_sub(1));
        let totals: Vec<Local> =
            if scan.totals { types.iter().map(|&ty| self.local(ty, around)).collect() } else { Vec::new() };
        let operands = |locals: &[Local]| locals.iter().map(|local| local.id.into()).collect::<Vec<_>>();
        let given = (operands(&results), operands(&totals));
        let ScanParts { exclusive, association, combine, seeds, values, .. } = scan;
        let association = association.unwrap_or_else(|associates| {
            results.first().into_iter().for_each(|first| _ = self.associates.insert(first.id, associates.clone()));
            Association::InOrder
        });
        self.put(at, when, Action::Scan { results, exclusive, totals, association, combine, seeds, values });
        given
    }

    /// A statement where `when` holds.
    pub(crate) fn act(&mut self, at: ProgramPoint, when: Option<ScalarOperand>, action: Action) {
        self.put(at, when, action);
    }

    /// Both hold; nothing stands for what always holds.
    pub(crate) fn both(
        &mut self,
        a: Option<ScalarOperand>,
        b: Option<ScalarOperand>,
        at: ProgramPoint,
    ) -> Option<ScalarOperand> {
        match (a, b) {
            (Some(a), Some(b)) if a != b => Some(self.binary(Binary::And, a, b, at)),
            (a, b) => a.or(b),
        }
    }
}
