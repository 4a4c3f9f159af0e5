//! Which level goes across lanes, and how many lanes a gang has. Results do not depend on it.

use std::collections::HashMap;

use fusebox_ir::{
    Action, Association, Binary, DimBoundary, ElementType, IndexMap, Instruction, Kernel, Lambda, LocalId, ScalarOp,
    ScalarOperand, ScalarPart, ScatterOrder, Unary,
};

/// Most lanes of a gang: an error slot has room for operands of so many.
const LANES: usize = 64;

/// The level across lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Schedule {
    /// Which level.
    pub level: usize,
    /// Lanes of a gang.
    pub lanes: u32,
    /// Whether a last short gang is masked (where a scan fixes the gang); else the rest is scalar code.
    pub masked: bool,
    /// Bytes of the vectors that it is for.
    pub vector_bytes: usize,
}

/// How a value depends on the lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Uniform,
    /// `i64` that grows by this from lane to lane.
    Linear(Option<i64>),
    Varying,
}

/// What the code under a level costs and gains across lanes.
#[derive(Default)]
struct Tally {
    gain: i64,
    loss: i64,
    bytes: usize,
    instructions: usize,
}

impl Schedule {
    /// The best level for machines with vectors of `vector_bytes`, or none where scalar code is better.
    ///
    /// A kernel with scans in tiles has those scans' gangs, or, where they differ or other statements forbid them, a level inside of them,
    /// or none.
    pub fn choose(kernel: &Kernel, vector_bytes: usize) -> Option<Self> {
        let tiles: Vec<(usize, u32)> = (kernel.statements.iter())
            .filter_map(|statement| match &statement.action {
                Action::Scan { association: Association::Tiles { lanes, .. }, .. } => {
                    Some((statement.depth as usize - 1, *lanes))
                }
                _ => None,
            })
            .collect();
        if let Some(&(level, lanes)) = tiles.first() {
            let alone = lanes > 1 && tiles.iter().all(|&other| other == (level, lanes));
            if alone && sound(kernel, level) && even(kernel, level) {
                return Some(Self { level, lanes, masked: true, vector_bytes });
            }
        }
        let mut best: Option<(i64, Self)> = None;
        for level in (0..kernel.levels.len()).rev() {
            if !sound(kernel, level) || !possible(kernel, level) {
                continue;
            }
            let Some(tally) = tally(kernel, level) else { continue };
            let registers = if tally.instructions <= 48 { 2 } else { 1 };
            let mut lanes = (vector_bytes * registers / tally.bytes.max(1)).clamp(1, LANES) as u32;
            for statement in &kernel.statements {
                if let Action::Reduce { to, association: Association::Interleaved { lanes: width }, .. } =
                    statement.action
                    && to as usize == level
                {
                    lanes = lanes.min(width);
                }
            }
            let steps = match (kernel.levels[level].from, kernel.levels[level].to) {
                (ScalarOperand::Constant(from), ScalarOperand::Constant(to)) => {
                    to.as_i64().unwrap_or(0).saturating_sub(from.as_i64().unwrap_or(0))
                }
                _ => i64::MAX,
            };
            if lanes < 2 || (lanes as usize) * tally.bytes < 8 || steps < i64::from(lanes) {
                continue;
            }
            let score = tally.gain - tally.loss;
            if score > 0 && best.is_none_or(|(other, _)| score > other) {
                best = Some((score, Self { level, lanes, masked: false, vector_bytes }));
            }
        }
        best.map(|(_, schedule)| schedule)
    }
}

/// Whether gangs along `level` keep the order of what is ordered.
fn sound(kernel: &Kernel, level: usize) -> bool {
    kernel.statements.iter().filter(|statement| statement.depth as usize > level).all(|statement| {
        let own = statement.depth as usize == level + 1;
        match &statement.action {
            Action::Reduce { to, .. } => own || *to as usize > level,
            Action::Append { .. } => own,
            Action::Scatter { order, .. } => own || matches!(order, ScatterOrder::Any | ScatterOrder::Unique),
            _ => true,
        }
    })
}

/// Whether gangs along `level` need nothing that only scalar code has.
fn possible(kernel: &Kernel, level: usize) -> bool {
    let fits =
        kernel.statements.iter().filter(|statement| statement.depth as usize > level).all(|statement| match &statement
            .action
        {
            Action::Reduce { to, association, .. } if *to as usize <= level => match association {
                Association::Interleaved { lanes } => *lanes >= 2,
                Association::Runs { .. } => true,
                _ => false,
            },
            Action::Reduce { association, to, .. } => {
                let ragged = matches!(association, Association::Ragged { .. }) && statement.depth > *to + 1;
                !matches!(association, Association::Runs { .. }) && !ragged
            }
            Action::Scan { association: Association::Tiles { .. }, .. } => false,
            Action::Scan { .. } => statement.depth as usize != level + 1,
            _ => true,
        });
    fits && even(kernel, level)
}

/// Whether loops inside `level` are of the same bounds for every lane.
fn even(kernel: &Kernel, level: usize) -> bool {
    let known = depths(kernel);
    let early = |operand: ScalarOperand| match operand {
        ScalarOperand::Local(id) => known.get(&id).is_some_and(|&depth| depth <= level),
        _ => true,
    };
    kernel.levels[level + 1..].iter().all(|level| early(level.from) && early(level.to))
}

/// The depth at which each local is made; indices count as made at the depth inside their level.
fn depths(kernel: &Kernel) -> HashMap<LocalId, usize> {
    let mut known: HashMap<LocalId, usize> = kernel.sizes.iter().map(|size| (size.id, 0)).collect();
    for (depth, level) in kernel.levels.iter().enumerate() {
        known.insert(level.index.id, depth + 1);
    }
    for statement in &kernel.statements {
        let depth = statement.depth as usize;
        match &statement.action {
            Action::Load { result, .. } => {
                known.insert(result.id, depth);
            }
            Action::Scalar(instruction) => known.extend(instruction.results.iter().map(|result| (result.id, depth))),
            Action::Reduce { results, to, .. } => known.extend(results.iter().map(|result| (result.id, *to as usize))),
            Action::Scan { results, totals, .. } => {
                known.extend(results.iter().map(|result| (result.id, depth)));
                known.extend(totals.iter().map(|total| (total.id, depth.saturating_sub(1))));
            }
            _ => {}
        }
    }
    known
}

/// Gain and loss of gangs along `level`; `None` where a boundary is in the way.
fn tally(kernel: &Kernel, level: usize) -> Option<Tally> {
    let known = depths(kernel);
    let own = kernel.levels[level].index.id;
    let mut classes: HashMap<LocalId, Class> = HashMap::new();
    for (&id, &depth) in &known {
        classes.insert(id, if depth <= level { Class::Uniform } else { Class::Varying });
    }
    for level in &kernel.levels[level + 1..] {
        classes.insert(level.index.id, Class::Uniform);
    }
    classes.insert(own, Class::Linear(Some(1)));
    let mut tally = Tally::default();
    for statement in kernel.statements.iter().filter(|statement| statement.depth as usize > level) {
        match &statement.action {
            Action::Load { result, array, map, outside, .. } => {
                let along = |id: LocalId| id == own;
                for dim in &map.dims {
                    let bounded = dim.boundary != DimBoundary::None || outside.is_some();
                    let varies = dim.terms.iter().any(|&(_, id)| classes.get(&id) != Some(&Class::Uniform));
                    let plain = dim.terms.iter().all(|&(factor, id)| {
                        if along(id) { factor == 1 } else { known.get(&id).is_some_and(|&depth| depth <= level) }
                    });
                    if bounded && varies && !plain {
                        return None;
                    }
                }
                let class = position(map, &classes);
                let element = kernel.arrays[array.index()].element;
                tally.access(class, element);
                classes.insert(result.id, if class == Class::Uniform { Class::Uniform } else { Class::Varying });
            }
            Action::Scalar(instruction) => scalar(instruction, &mut classes, &mut tally),
            Action::Check { .. } => tally.gain += 1,
            Action::Reduce { combine, association, .. } => {
                count(combine, &mut tally);
                if matches!(association, Association::Runs { .. }) {
                    tally.loss += 2;
                }
            }
            Action::Scan { combine, .. } => count(combine, &mut tally),
            Action::Store { array, map, .. } => {
                let class = position(map, &classes);
                tally.access(class, kernel.arrays[array.index()].element);
            }
            Action::Append { .. } => tally.loss += 2,
            Action::Scatter { .. } => tally.loss += 4,
        }
    }
    if tally.bytes == 0 {
        tally.bytes = 8;
    }
    Some(tally)
}

/// How the row-major position of a map depends on the lane.
fn position(map: &IndexMap, classes: &HashMap<LocalId, Class>) -> Class {
    let mut class = Class::Uniform;
    for (dim, index) in map.dims.iter().enumerate() {
        for (factor, local) in &index.terms {
            let term = classes.get(local).copied().unwrap_or(Class::Varying);
            let last = dim + 1 == map.dims.len();
            class = match (class, term) {
                (Class::Varying, _) | (_, Class::Varying) => Class::Varying,
                (before, Class::Uniform) => before,
                (Class::Uniform, Class::Linear(Some(step))) if last => Class::Linear(step.checked_mul(*factor)),
                _ => Class::Linear(None),
            };
        }
    }
    class
}

impl Tally {
    fn access(&mut self, class: Class, element: ElementType) {
        self.instructions += 1;
        if class != Class::Uniform {
            self.bytes = self.bytes.max(element.bytes());
        }
        match class {
            Class::Uniform => {}
            Class::Linear(Some(1)) => self.gain += 2,
            Class::Linear(_) => self.loss += 3,
            Class::Varying => self.loss += 4,
        }
    }
}

fn count(lambda: &Lambda, tally: &mut Tally) {
    let mut classes = HashMap::new();
    for instruction in &lambda.instructions {
        scalar(instruction, &mut classes, tally);
    }
    for param in &lambda.params {
        tally.bytes = tally.bytes.max(if param.ty == ElementType::I64 { 1 } else { param.ty.bytes() });
    }
}

fn scalar(instruction: &Instruction, classes: &mut HashMap<LocalId, Class>, tally: &mut Tally) {
    let class_of = |operand: &ScalarOperand, classes: &HashMap<LocalId, Class>| match operand {
        ScalarOperand::Local(id) => classes.get(id).copied().unwrap_or(Class::Varying),
        _ => Class::Uniform,
    };
    let mut operands = Vec::new();
    let mut bodies = Vec::new();
    for part in instruction.op.parts() {
        match part {
            ScalarPart::Operand(operand) => operands.push(class_of(operand, classes)),
            ScalarPart::Body(body) => bodies.push(body),
            ScalarPart::Array(_) => {}
        }
    }
    let uniform = operands.iter().all(|&class| class == Class::Uniform) && bodies.is_empty();
    let mut result = if uniform { Class::Uniform } else { Class::Varying };
    if let ScalarOp::Binary { function: function @ (Binary::Add | Binary::Sub | Binary::Mul), a, b } = &instruction.op
        && instruction.results.iter().all(|result| result.ty == ElementType::I64)
    {
        result = match (class_of(a, classes), class_of(b, classes), function) {
            (Class::Varying, _, _) | (_, Class::Varying, _) => Class::Varying,
            (Class::Uniform, Class::Uniform, _) => Class::Uniform,
            (Class::Linear(step), Class::Uniform, Binary::Add | Binary::Sub)
            | (Class::Uniform, Class::Linear(step), Binary::Add) => Class::Linear(step),
            (Class::Linear(_), Class::Linear(_), Binary::Mul) => Class::Varying,
            _ => Class::Linear(None),
        };
    }
    for local in &instruction.results {
        classes.insert(local.id, result);
        if result == Class::Varying && !matches!(local.ty, ElementType::I64 | ElementType::Bool) {
            tally.bytes = tally.bytes.max(local.ty.bytes());
        }
    }
    if result != Class::Varying {
        return;
    }
    tally.instructions += 1;
    let awkward = match &instruction.op {
        ScalarOp::Unary { function, .. } => matches!(function, Unary::Popcount | Unary::Clz | Unary::Ctz),
        ScalarOp::Binary { function, a: _, b } => {
            let float = instruction.results.iter().any(|result| result.ty.is_float());
            let division = matches!(function, Binary::Div | Binary::Rem | Binary::DivFloor | Binary::ModFloor);
            let by_lane = function.is_shift() && class_of(b, classes) != Class::Uniform;
            (division && !(float && *function == Binary::Div)) || by_lane
        }
        ScalarOp::Read { .. } | ScalarOp::ReadFlat { .. } => true,
        ScalarOp::Convert { to, .. } => matches!(to, ElementType::F16 | ElementType::I64 | ElementType::U64),
        _ => false,
    };
    if awkward || instruction.results.iter().any(|result| result.ty == ElementType::F16) {
        tally.loss += 4;
    } else {
        tally.gain += if bodies.is_empty() { 2 } else { 0 };
    }
    for body in bodies {
        for param in &body.params {
            classes.insert(param.id, Class::Varying);
        }
        for instruction in &body.instructions {
            scalar(instruction, classes, tally);
        }
    }
}
