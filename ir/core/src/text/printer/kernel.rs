//! Kernels, for dumps and snapshots: a statement a line, after its depth. There is no parser for these.

use std::{collections::HashMap, fmt};

use super::{Out, Printer, names::ArrayNames, scalar::Scalars};
use crate::{
    Access, Action, Association, Binary, DimBoundary, DimIndex, FailureKind, IndexMap, Kernel, KernelArray,
    KernelArrayId, KernelExtent, Lambda, Level, LevelOrder, LocalId, ScalarOp, ScalarOperand, ScatterOrder, Statement,
};

impl fmt::Display for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.name.is_empty() { "unnamed" } else { &self.name.0 };
        let printer = Printer { arrays: ArrayNames::of_kernel(self) };
        let mut text = KernelText { printer: &printer, scalars: Scalars::empty(&printer) };
        text.give_names(self);
        let sizes: Vec<_> = self.sizes.iter().map(|local| text.local(local.id)).collect();
        let mut out = Out::new(format!("kernel {name} ({})", sizes.join(", ")));
        for (word, access) in [("reads", Access::Read), ("writes", Access::Write), ("updates", Access::Update)] {
            let arrays = self.arrays.iter().enumerate().filter(|(_, array)| array.access == access);
            let arrays: Vec<_> = arrays.map(|(position, array)| text.array(position, array)).collect();
            if !arrays.is_empty() {
                out.text(&format!(" {word} {}", arrays.join(", ")));
            }
        }
        let levels: Vec<_> = self.levels.iter().map(|level| text.level(level)).collect();
        if !levels.is_empty() {
            out.text(&format!(" over {}", levels.join(", ")));
        }
        out.text(" ");
        let statements: Vec<_> = self.statements.iter().map(|statement| text.statement(statement)).collect();
        out.lined(if statements.is_empty() { vec![Out::new("nothing")] } else { statements });
        f.write_str(&out.lines())
    }
}

/// What the text of a kernel calls its locals and its arrays.
#[derive(Clone, Debug)]
pub struct KernelNames {
    /// Sizes, indices of levels, and results of statements.
    pub locals: HashMap<LocalId, String>,
    /// By position.
    pub arrays: Vec<String>,
}

/// See [`KernelNames`].
pub(in crate::text) fn kernel_names(kernel: &Kernel) -> KernelNames {
    let printer = Printer { arrays: ArrayNames::of_kernel(kernel) };
    let mut text = KernelText { printer: &printer, scalars: Scalars::empty(&printer) };
    text.give_names(kernel);
    let results = kernel.statements.iter().flat_map(Statement::results);
    let locals = kernel.sizes.iter().chain(kernel.levels.iter().map(|level| &level.index)).chain(results);
    KernelNames {
        locals: locals.map(|local| (local.id, text.local(local.id))).collect(),
        arrays: (0..kernel.arrays.len()).map(|position| text.name(KernelArrayId::at(position))).collect(),
    }
}

struct KernelText<'p> {
    printer: &'p Printer,
    scalars: Scalars<'p>,
}

impl<'p> KernelText<'p> {
    /// Extents of a level may be made by statements before it, so indices and results are named first.
    fn give_names(&mut self, kernel: &Kernel) {
        let results = kernel.statements.iter().flat_map(Statement::results);
        let levels = kernel.levels.iter().map(|level| &level.index);
        for local in kernel.sizes.iter().chain(levels).chain(results) {
            self.scalars.give_name(local);
        }
    }

    fn array(&self, position: usize, array: &KernelArray) -> String {
        let extents: Vec<_> = array
            .extents
            .iter()
            .map(|extent| match extent {
                KernelExtent::Constant(value) => value.to_string(),
                KernelExtent::Size(local) => self.local(*local),
            })
            .collect();
        let extents = if extents.is_empty() { String::new() } else { format!("[{}]", extents.join(", ")) };
        let in_place = array.in_place_of.map_or(String::new(), |source| format!(" in place of {}", self.name(source)));
        format!("{}: {extents}{}{in_place}", self.name(KernelArrayId::at(position)), array.element)
    }

    fn name(&self, id: KernelArrayId) -> String {
        self.printer.name(id.in_code())
    }

    fn local(&self, id: LocalId) -> String {
        self.scalars.operand(&id.into())
    }

    fn operands(&self, operands: &[ScalarOperand]) -> String {
        let operands: Vec<_> = operands.iter().map(|operand| self.scalars.operand(operand)).collect();
        operands.join(", ")
    }

    /// An `i64`, without saying so.
    fn size(&self, operand: &ScalarOperand) -> String {
        match operand {
            ScalarOperand::Constant(constant) => super::scalar::bare(*constant),
            other => self.scalars.operand(other),
        }
    }

    fn sizes(&self, operands: &[ScalarOperand]) -> String {
        let sizes: Vec<_> = operands.iter().map(|operand| self.size(operand)).collect();
        sizes.join(", ")
    }

    fn level(&self, level: &Level) -> String {
        let index = self.local(level.index.id);
        let order = match level.order {
            LevelOrder::Parallel => "",
            LevelOrder::Up => " up",
            LevelOrder::Down => " down",
        };
        let (from, to) = (self.size(&level.from), self.size(&level.to));
        if from == "0" { format!("{index} < {to}{order}") } else { format!("{index} in {from}..{to}{order}") }
    }

    fn statement(&mut self, statement: &'p Statement) -> Out {
        let mut out = Out::new(format!("{}: ", statement.depth));
        let names = statement.results().into_iter().map(|local| self.local(local.id)).collect::<Vec<_>>().join(", ");
        match &statement.action {
            Action::Load { result: _, array, map, outside, place: _ } => {
                out.text(&format!("{names} = load {}", self.place(*array, map)));
                if let Some(outside) = outside {
                    out.text(" outside ");
                    out.append(self.scalars.lambda(outside));
                }
            }
            Action::Scalar(instruction) => {
                out.text(&format!("{names} = "));
                out.append(self.scalars.instruction(instruction));
            }
            Action::Check { condition, failure } => {
                let what = self.failure(&failure.fault);
                out.text(&format!("check {} else {what} in {}", self.scalars.operand(condition), failure.operation));
            }
            Action::Reduce { results: _, to, association, combine, seeds, values } => {
                out.text(&format!("{names} = reduce(to {to}, {}, ", self.association(*association)));
                self.combination(combine, seeds, values, &mut out);
            }
            Action::Scan { results: _, exclusive, totals: _, association, combine, seeds, values } => {
                let before = if *exclusive { "before, " } else { "" };
                out.text(&format!("{names} = scan({before}{}, ", self.association(*association)));
                self.combination(combine, seeds, values, &mut out);
            }
            Action::Store { array, map, value } => {
                out.text(&format!("store {} = {}", self.place(*array, map), self.scalars.operand(value)));
            }
            Action::Append { arrays, count, values } => {
                let arrays: Vec<_> = arrays.iter().map(|id| self.name(*id)).collect();
                let (arrays, count) = (arrays.join(", "), self.name(*count));
                out.text(&format!("append {arrays} = {} counting {count}", self.operands(values)));
            }
            Action::Scatter { arrays, map, combine, values, order, place: _ } => {
                let places: Vec<_> = arrays.iter().map(|id| self.place(*id, map)).collect();
                let order = match order {
                    ScatterOrder::Any => "any order",
                    ScatterOrder::Unique => "unique",
                    ScatterOrder::Chunks => "chunks",
                    ScatterOrder::InOrder => "in order",
                };
                out.text(&format!("scatter {} with({order}, ", places.join(", ")));
                self.combination(combine, &[], values, &mut out);
            }
        }
        if let Some(when) = &statement.when {
            out.text(&format!(" when {}", self.scalars.operand(when)));
        }
        if !statement.operation.is_empty() {
            out.text(&format!(" in {}", statement.operation.0));
        }
        out
    }

    /// `+, seeds, values)`
    fn combination(&mut self, combine: &'p Lambda, seeds: &[ScalarOperand], values: &[ScalarOperand], out: &mut Out) {
        match built_in(combine) {
            Some(function) => out.text(function.text()),
            None => out.append(self.scalars.lambda(combine)),
        }
        for operands in [seeds, values] {
            if !operands.is_empty() {
                out.text(&format!(", {}", self.operands(operands)));
            }
        }
        out.text(")");
    }

    fn association(&self, association: Association) -> String {
        match association {
            Association::InOrder => "L 1".to_owned(),
            Association::Interleaved { lanes } => format!("L {lanes}"),
            Association::Ragged { lanes, least } => format!("L {lanes} from {least}"),
            Association::Runs { lanes } => format!("runs {lanes}"),
            Association::Tiles { lanes, total_lanes: 0 } => format!("tiles {lanes}, running totals"),
            Association::Tiles { lanes, total_lanes } => format!("tiles {lanes}, totals L {total_lanes}"),
        }
    }

    /// `a[i, 2 * j - 1] clamp, checked`
    fn place(&self, array: KernelArrayId, map: &IndexMap) -> String {
        let mut text = self.name(array);
        if !map.dims.is_empty() {
            let dims: Vec<_> = map.dims.iter().map(|dim| self.dim(dim)).collect();
            text.push_str(&format!("[{}]", dims.join(", ")));
        }
        let boundary = |dim: &DimIndex| match dim.boundary {
            DimBoundary::None => "none",
            DimBoundary::Clamp => "clamp",
            DimBoundary::Mirror => "mirror",
            DimBoundary::Wrap => "wrap",
        };
        let boundaries: Vec<_> = map.dims.iter().map(boundary).collect();
        if let Some(first) = boundaries.first().filter(|_| boundaries.iter().any(|b| *b != "none")) {
            let same = boundaries.iter().all(|other| other == first);
            text.push_str(&if same { format!(" {first}") } else { format!(" ({})", boundaries.join(", ")) });
        }
        if map.checked {
            text.push_str(" checked");
        }
        text
    }

    fn dim(&self, dim: &DimIndex) -> String {
        let mut text = String::new();
        let mut term = |negative: bool, what: String| {
            let first = text.is_empty();
            text.push_str(match (first, negative) {
                (true, true) => "-",
                (true, false) => "",
                (false, true) => " - ",
                (false, false) => " + ",
            });
            text.push_str(&what);
        };
        for (factor, local) in &dim.terms {
            let name = self.local(*local);
            let size = factor.unsigned_abs();
            term(*factor < 0, if size == 1 { name } else { format!("{size} * {name}") });
        }
        if dim.offset != 0 || dim.terms.is_empty() {
            term(dim.offset < 0, dim.offset.unsigned_abs().to_string());
        }
        text
    }

    fn failure(&self, fault: &FailureKind) -> String {
        match fault {
            FailureKind::Index { array, index, extents } => {
                format!("index [{}] outside of {array} [{}]", self.sizes(index), self.sizes(extents))
            }
            FailureKind::NegativeExtent { array, extent } => {
                format!("negative extent {} of {array}", self.size(extent))
            }
            FailureKind::DivisionByZero => "division by zero".to_owned(),
            FailureKind::EmptyFold { array, row } => format!("empty row {} of {array}", self.size(row)),
            FailureKind::Offsets { offsets, position, value, extent } => {
                let (position, value, extent) = (self.size(position), self.size(value), self.size(extent));
                format!("offset {position} of {offsets} is {value}, extent {extent}")
            }
            FailureKind::NoOffsets { offsets } => format!("no offsets in {offsets}"),
            FailureKind::TooLarge { array, extents } => format!("{array} [{}] too large", self.sizes(extents)),
            FailureKind::Assertion { message, shown } if shown.is_empty() => {
                format!("assertion {}", Printer::quoted(message))
            }
            FailureKind::Assertion { message, shown } => {
                format!("assertion {} [{}]", Printer::quoted(message), self.sizes(shown))
            }
        }
    }
}

/// The function that a combining function is, of its parameters in order.
fn built_in(combine: &Lambda) -> Option<Binary> {
    let ([left, right], [instruction], [result]) =
        (&combine.params[..], &combine.instructions[..], &combine.results[..])
    else {
        return None;
    };
    match &instruction.op {
        ScalarOp::Binary { function, a, b } if *a == left.id.into() && *b == right.id.into() => {
            let made = instruction.results.first()?;
            (*result == made.id.into()).then_some(*function)
        }
        _ => None,
    }
}
