//! Which block each array term, and each scalar that operations use, is bound in: the lowest that sees all its uses, but outside of bodies
//! that run several times and whose parameters it does not use.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{
    ArrayOp,
    term::{Term, TermId, Terms},
};

use crate::{
    Error,
    scopes::{Dependences, Scope, array_operands_of, extents_of, operands_of, scopes},
};

/// A block of the program that is made; 0 is its body.
pub(crate) struct Place {
    parent: Option<usize>,
    depth: usize,
    /// Whether it may run several times for one run of its operation.
    repeats: bool,
    /// Whether it sees nothing outside (fallbacks).
    closed: bool,
    /// What is bound in it: array terms and scalars that operations use.
    pub(crate) terms: Vec<TermId>,
}

pub(crate) struct Placement {
    pub(crate) places: Vec<Place>,
    pub(crate) place_of_scope: HashMap<Scope, usize>,
    /// Scalar terms that array operations, blocks and the program use: each is bound by a `unit`.
    pub(crate) units: HashSet<TermId>,
    /// Operations whose function becomes a block: nested parallelism.
    pub(crate) nests: HashSet<TermId>,
}

pub(crate) fn place(terms: &Terms, dependences: &Dependences) -> Result<Placement, Error> {
    let nests = nests(terms, dependences)?;
    let units = units(terms, dependences, &nests);
    let root = Place { parent: None, depth: 0, repeats: false, closed: false, terms: Vec::new() };
    let mut placer = Placer {
        terms,
        dependences,
        uses: vec![None; terms.nodes.len()],
        placement: Placement { places: vec![root], place_of_scope: HashMap::new(), units, nests },
    };
    for (_, id) in &terms.outputs {
        placer.used(*id, 0)?;
    }
    for &id in dependences.needed.iter().rev() {
        placer.place(id)?;
    }
    for place in &mut placer.placement.places {
        place.terms.reverse();
    }
    Ok(placer.placement)
}

/// Operations whose function holds array operations that depend on its parameters; an error where there is no nested form.
fn nests(terms: &Terms, dependences: &Dependences) -> Result<HashSet<TermId>, Error> {
    let mut nests = HashSet::new();
    for &id in &dependences.needed {
        let node = &terms.nodes[id.index()];
        let Term::Array { op, .. } = &node.term else { continue };
        for scope in dependences.of(id).iter().filter(|scope| !scope.is_block) {
            let owner = &terms.nodes[scope.owner.index()];
            match &owner.term {
                Term::Array { op: outer, .. } if matches!(**outer, ArrayOp::Map { .. } | ArrayOp::Generate { .. }) => {
                    nests.insert(scope.owner);
                }
                outer => {
                    return Err(Error::NestedParallelism {
                        inner: op.name(),
                        inner_place: node.place.clone(),
                        outer: name(outer),
                        outer_place: owner.place.clone(),
                    });
                }
            }
        }
    }
    Ok(nests)
}

fn name(term: &Term) -> &'static str {
    match term {
        Term::Array { op, .. } => op.name(),
        Term::Scalar { op: fusebox_ir::ScalarOp::If { .. }, .. } => "a scalar conditional",
        _ => "a scalar loop",
    }
}

/// What stands for a term among units: of a result of scalar code, that code.
pub(crate) fn unit_of(terms: &Terms, id: TermId) -> Option<TermId> {
    match &terms.nodes[id.index()].term {
        Term::Scalar { .. } => Some(id),
        Term::Result { of, .. } => unit_of_scalar(terms, *of),
        _ => None,
    }
}

fn unit_of_scalar(terms: &Terms, of: TermId) -> Option<TermId> {
    matches!(terms.nodes[of.index()].term, Term::Scalar { .. }).then_some(of)
}

fn units(terms: &Terms, dependences: &Dependences, nests: &HashSet<TermId>) -> HashSet<TermId> {
    let mut units = HashSet::new();
    let mut operand = |id: TermId| units.extend(unit_of(terms, id));
    for (_, id) in &terms.outputs {
        operand(*id);
    }
    for &id in &dependences.needed {
        match &terms.nodes[id.index()].term {
            Term::Array { op, results, .. } => {
                array_operands_of(op, &mut operand);
                results.iter().for_each(|ty| extents_of(ty, &mut operand));
                for (scope, _, results) in scopes(terms, id) {
                    if scope.is_block || nests.contains(&id) {
                        results.iter().for_each(|&result| operand(result));
                    }
                }
            }
            Term::BlockParameter { ty, .. } => extents_of(ty, &mut operand),
            _ => {}
        }
    }
    units
}

struct Placer<'t> {
    terms: &'t Terms,
    dependences: &'t Dependences,
    /// By term: the lowest place that sees all its uses so far.
    uses: Vec<Option<usize>>,
    placement: Placement,
}

impl Placer<'_> {
    /// Notes that `id` is used in a place.
    fn used(&mut self, id: TermId, place: usize) -> Result<(), Error> {
        let id = match &self.terms.nodes[id.index()].term {
            Term::Result { of, .. } => *of,
            _ => id,
        };
        let is_bound = match &self.terms.nodes[id.index()].term {
            Term::Array { .. } => true,
            Term::Scalar { .. } => self.placement.units.contains(&id),
            _ => false,
        };
        if is_bound {
            self.uses[id.index()] = Some(match self.uses[id.index()] {
                None => place,
                Some(other) => self.common(id, other, place)?,
            });
        }
        Ok(())
    }

    /// The lowest place around both.
    fn common(&self, id: TermId, mut a: usize, mut b: usize) -> Result<usize, Error> {
        while a != b {
            let deeper = if self.placement.places[a].depth >= self.placement.places[b].depth { &mut a } else { &mut b };
            *deeper = self.outward(id, *deeper)?;
        }
        Ok(a)
    }

    fn outward(&self, id: TermId, place: usize) -> Result<usize, Error> {
        let place = &self.placement.places[place];
        match place.parent {
            Some(parent) if !place.closed => Ok(parent),
            _ => Err(Error::OutsideOfFallback { place: self.terms.nodes[id.index()].place.clone() }),
        }
    }

    /// Binds a term, all of whose users have been placed, and notes what it uses.
    fn place(&mut self, id: TermId) -> Result<(), Error> {
        let Some(lowest) = self.uses[id.index()] else { return Ok(()) };
        let place = self.hoisted(id, lowest)?;
        self.placement.places[place].terms.push(id);
        let terms = self.terms;
        match &terms.nodes[id.index()].term {
            Term::Array { op, results, .. } => {
                let mut operands = Vec::new();
                array_operands_of(op, &mut |operand| operands.push(operand));
                results.iter().for_each(|ty| extents_of(ty, &mut |extent| operands.push(extent)));
                for operand in operands {
                    // Its own results come after it.
                    if operand < id {
                        self.used(operand, place)?;
                    }
                }
                self.scopes(id, op, place)?;
            }
            _ => self.used_by_scalars(&[id], Some(id), place)?,
        }
        Ok(())
    }

    fn scopes(&mut self, id: TermId, op: &ArrayOp, place: usize) -> Result<(), Error> {
        let is_nest = self.placement.nests.contains(&id);
        for (scope, params, results) in scopes(self.terms, id) {
            if !scope.is_block && !is_nest {
                self.used_by_scalars(results, None, place)?;
                continue;
            }
            let inside = self.placement.places.len();
            self.placement.places.push(Place {
                parent: Some(place),
                depth: self.placement.places[place].depth + 1,
                repeats: !matches!(op, ArrayOp::Cond { .. } | ArrayOp::Foreign { .. }),
                closed: matches!(op, ArrayOp::Foreign { .. }),
                terms: Vec::new(),
            });
            self.placement.place_of_scope.insert(scope, inside);
            for &result in results {
                self.used(result, inside)?;
            }
            for &param in params {
                if let Term::BlockParameter { ty, .. } = &self.terms.nodes[param.index()].term {
                    let mut extents = Vec::new();
                    extents_of(ty, &mut |extent| extents.push(extent));
                    // An extent that is a parameter itself is bound with it.
                    for extent in extents {
                        self.used(extent, place)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Notes what scalar code uses of values bound outside of it; of a unit, `unit` is what it binds itself.
    fn used_by_scalars(&mut self, results: &[TermId], unit: Option<TermId>, place: usize) -> Result<(), Error> {
        let mut seen = HashSet::new();
        let mut stack = results.to_vec();
        while let Some(id) = stack.pop() {
            if !seen.insert(id) {
                continue;
            }
            let node = &self.terms.nodes[id.index()];
            let bound = match &node.term {
                Term::Array { .. } => true,
                Term::Scalar { .. } => unit != Some(id) && self.placement.units.contains(&id),
                Term::Result { .. } | Term::Parameter { .. } | Term::Constant(_) => false,
                Term::Input { .. } | Term::Size { .. } | Term::BlockParameter { .. } => false,
            };
            if bound {
                self.used(id, place)?;
            } else if matches!(node.term, Term::Scalar { .. } | Term::Result { .. }) {
                operands_of(self.terms, id, &mut |operand| stack.push(operand));
                for (_, _, results) in scopes(self.terms, id) {
                    stack.extend(results);
                }
            }
        }
        Ok(())
    }

    /// Out of bodies that repeat, as far as what the term depends on allows.
    fn hoisted(&self, id: TermId, lowest: usize) -> Result<usize, Error> {
        let node = &self.terms.nodes[id.index()];
        let mut level = 0;
        for scope in self.dependences.of(id) {
            let place = self.placement.place_of_scope.get(scope).copied();
            let Some(place) = place.filter(|&place| self.is_around(place, lowest)) else {
                return Err(Error::Escapes { place: node.place.clone() });
            };
            if self.placement.places[place].depth > self.placement.places[level].depth {
                level = place;
            }
        }
        let (mut best, mut at) = (lowest, lowest);
        while at != level {
            let place = &self.placement.places[at];
            let Some(parent) = place.parent.filter(|_| !place.closed) else { break };
            if place.repeats {
                best = parent;
            }
            at = parent;
        }
        Ok(best)
    }

    fn is_around(&self, outer: usize, mut inner: usize) -> bool {
        while self.placement.places[inner].depth > self.placement.places[outer].depth {
            match self.placement.places[inner].parent {
                Some(parent) => inner = parent,
                None => return false,
            }
        }
        inner == outer
    }
}
