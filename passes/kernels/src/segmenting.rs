//! Which arrays say of each element in which segment it is, or where in it, and which arrays are the offsets of these segments. Both are made of
//! the lengths of the segments: a loop over the elements of each segment knows what they say, and need not read them.

use std::collections::{HashMap, HashSet};

use fusebox_ir::{
    ArrayId, ArrayOp, Binary, Binding, Constant, Direction, ElementType, Lambda, LocalId, Operand, Program, ScalarOp,
    ScanForm, ValueId, analysis::need::local,
};

/// What an array says of an element.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Said {
    /// The number of its segment.
    Segment,
    /// How many elements of its segment are before it.
    Place,
}

/// What is known of the arrays of a plan.
#[derive(Debug, Default)]
pub(crate) struct Segmenting {
    /// Vectors that are their own indices, by their names in the program.
    indices: HashSet<ArrayId>,
    /// What arrays say, of segments of which lengths.
    says: HashMap<ValueId, (Said, ValueId)>,
    /// The lengths that offsets are the sums of.
    lengths: HashMap<ValueId, ValueId>,
}

impl Segmenting {
    pub(crate) fn of_program(program: &Program) -> Self {
        let mut indices = HashSet::new();
        let blocks: Vec<_> = program.body.blocks().collect();
        for binding in blocks.iter().flat_map(|block| &block.bindings) {
            if let (ArrayOp::Generate { f, .. }, [result]) = (&binding.op, &binding.results[..])
                && let [index] = &f.params[..]
                && returned(f) == Some(index.id)
            {
                indices.insert(result.id);
            }
        }
        // Names that clusters give to what is made in them.
        for binding in blocks.iter().flat_map(|block| &block.bindings) {
            if let ArrayOp::Cluster { body, .. } = &binding.op {
                let made = binding.results.iter().zip(&body.results);
                let same: Vec<ArrayId> =
                    made.filter(|(_, own)| indices.contains(own)).map(|(result, _)| result.id).collect();
                indices.extend(same);
            }
        }
        Self { indices, ..Self::default() }
    }

    /// Notes what the arrays say that an operation makes; `value` finds arrays in the plan.
    pub(crate) fn note(&mut self, binding: &Binding, value: impl Fn(ArrayId) -> Option<ValueId>) {
        match &binding.op {
            ArrayOp::Expand { size, get, sources } => {
                let length = returned(size).and_then(|id| size.params.iter().position(|param| param.id == id));
                let Some(lengths) = length.and_then(|at| value(sources[at])) else { return };
                for (result, operand) in binding.results.iter().skip(1).zip(&get.results) {
                    let param = local(operand).and_then(|id| get.params.iter().position(|param| param.id == id));
                    let said = match param {
                        Some(at) if at == sources.len() => Said::Place,
                        Some(at) if self.indices.contains(&sources[at]) => Said::Segment,
                        _ => continue,
                    };
                    self.says.extend(value(result.id).map(|made| (made, (said, lengths))));
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
            } if is_sum(combine) && seeds[..] == [Operand::Constant(Constant::from(0i64))] => {
                if let ([result], Some(lengths)) = (&binding.results[..], value(sources[0])) {
                    self.lengths.extend(value(result.id).map(|made| (made, lengths)));
                }
            }
            _ => {}
        }
    }

    /// The lengths that these offsets are the sums of.
    pub(crate) fn lengths(&self, offsets: ValueId) -> Option<ValueId> {
        self.lengths.get(&offsets).copied()
    }

    /// What an array says of elements in segments of these lengths.
    pub(crate) fn says(&self, array: ValueId, lengths: ValueId) -> Option<Said> {
        self.says.get(&array).filter(|(_, own)| *own == lengths).map(|(said, _)| *said)
    }
}

/// What a function of no instructions gives, where that is one local.
fn returned(f: &Lambda) -> Option<LocalId> {
    match &f.results[..] {
        [result] if f.instructions.is_empty() => local(result),
        _ => None,
    }
}

/// Whether a function adds two `i64`.
fn is_sum(f: &Lambda) -> bool {
    let ([x, y], [sum], [result]) = (&f.params[..], &f.instructions[..], &f.results[..]) else { return false };
    let adds = |a, b| {
        sum.op == ScalarOp::Binary { function: Binary::Add, a, b } && sum.results.len() == 1 && x.ty == ElementType::I64
    };
    (adds(x.id.into(), y.id.into()) || adds(y.id.into(), x.id.into())) && local(result) == Some(sum.results[0].id)
}
