//! In which row each element of ragged rows stands, and where in it: arrays that say so, known by how they are made.
//!
//! Rows one after the other come with offsets, the running sums of their lengths. What belongs to a row is spread over its elements through
//! an array that names the row of each: an `expand` of the rows' positions by the same lengths. In a nest over these rows that array says
//! nothing new.

use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    ArrayId, ArrayOp, Binary, Binding, Direction, ElementType, Lambda, Operand, ScalarOp, ScalarOperand, ScanForm,
    analysis::{Equal, algebra::built_ins},
};

/// Arrays that say where rows begin, and in which row an element stands. Filled in order of definition.
#[derive(Clone, Debug, Default)]
pub struct Rows {
    /// Vectors of which each element is its own position.
    positions: FxHashSet<ArrayId>,
    /// Running sums from 0, one more than there are rows: of which lengths.
    offsets: FxHashMap<ArrayId, ArrayId>,
    /// For each element the position of its row: of rows of which lengths.
    rows: FxHashMap<ArrayId, ArrayId>,
    /// For each element its place in its row: of rows of which lengths.
    places: FxHashMap<ArrayId, ArrayId>,
}

impl Rows {
    /// The results of a binding. `equal` knows them already.
    pub fn add(&mut self, binding: &Binding, equal: &Equal) {
        match &binding.op {
            ArrayOp::Generate { extents, f } if extents.len() == 1 => {
                for (var, result) in binding.results.iter().zip(&f.results) {
                    if is_param(f, *result, 0) {
                        self.positions.insert(var.id);
                    }
                }
            }
            ArrayOp::Scan {
                direction: Direction::Left,
                form: ScanForm::Exclusive,
                combine,
                seeds,
                sources,
                offsets: None,
                ..
            } => {
                if let ([var], [lengths], [Operand::Constant(seed)]) = (&binding.results[..], &sources[..], &seeds[..])
                    && (var.ty.rank(), var.ty.element) == (1, ElementType::I64)
                    && seed.as_i64() == Some(0)
                    && built_ins(combine).as_deref() == Some(&[Binary::Add])
                {
                    self.offsets.insert(var.id, equal.of(*lengths));
                }
            }
            ArrayOp::Expand { size, get, sources } => {
                let lengths =
                    (0..sources.len()).find(|&at| size.results.first().is_some_and(|&r| is_param(size, r, at)));
                let Some(lengths) = lengths else { return };
                for (var, &result) in binding.results.iter().skip(1).zip(&get.results) {
                    if is_param(get, result, sources.len()) {
                        self.places.insert(var.id, equal.of(sources[lengths]));
                    }
                    let at = (0..sources.len()).find(|&at| is_param(get, result, at));
                    if at.is_some_and(|at| self.positions.contains(&sources[at])) {
                        self.rows.insert(var.id, equal.of(sources[lengths]));
                    }
                }
            }
            _ => {}
        }
    }

    /// Notes that a value is another, as the results of a cluster are.
    pub fn note(&mut self, id: ArrayId, same: ArrayId) {
        if self.positions.contains(&same) {
            self.positions.insert(id);
        }
        for table in [&mut self.offsets, &mut self.rows, &mut self.places] {
            if let Some(&lengths) = table.get(&same) {
                table.insert(id, lengths);
            }
        }
    }

    /// Whether `rows` holds for each element, of all rows that begin at `offsets`, the position of its row. So it is wherever these are
    /// offsets of segments at all: where a length is negative they are not, and whoever runs over the segments fails.
    pub fn are_rows_of(&self, rows: ArrayId, offsets: ArrayId, equal: &Equal) -> bool {
        self.are_of(&self.rows, rows, offsets, equal)
    }

    /// Whether `places` holds for each element, of all rows that begin at `offsets`, how many of its row are before it; as of
    /// [`Rows::are_rows_of`].
    pub fn are_places_of(&self, places: ArrayId, offsets: ArrayId, equal: &Equal) -> bool {
        self.are_of(&self.places, places, offsets, equal)
    }

    fn are_of(&self, said: &FxHashMap<ArrayId, ArrayId>, array: ArrayId, offsets: ArrayId, equal: &Equal) -> bool {
        let lengths = said.get(&array).or_else(|| said.get(&equal.of(array)));
        let of = self.offsets.get(&offsets).or_else(|| self.offsets.get(&equal.of(offsets)));
        lengths.is_some() && lengths == of
    }
}

/// Whether a result of a function is one of its parameters.
fn is_param(f: &Lambda, result: ScalarOperand, param: usize) -> bool {
    f.params.get(param).is_some_and(|param| result == ScalarOperand::from(param.id))
}

/// The array that a function of one index reads at that index, if that is all it does.
pub fn read_at_index(f: &Lambda) -> Option<ArrayId> {
    match reads_at_index(f)?[..] {
        [array] => Some(array),
        _ => None,
    }
}

/// The arrays that a function of one index reads: the first at that index, each other one at what was read of the one before. If that is
/// all it does.
pub fn reads_at_index(f: &Lambda) -> Option<Vec<ArrayId>> {
    let ([param], [result]) = (&f.params[..], &f.results[..]) else { return None };
    let (mut arrays, mut last) = (Vec::new(), ScalarOperand::from(param.id));
    for instruction in &f.instructions {
        let (ScalarOp::Read { array, index }, [local]) = (&instruction.op, &instruction.results[..]) else {
            return None;
        };
        if *index != [last] {
            return None;
        }
        arrays.push(*array);
        last = local.id.into();
    }
    (*result == last && !arrays.is_empty()).then_some(arrays)
}
