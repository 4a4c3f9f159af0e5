//! Kernels: the invariants that `kernel.rs` states.

mod statement;

use super::{
    ProgramFault, ValidationErrors,
    context::{PathStep, Validator},
};
use crate::{
    Action, ElementType, Extent, Kernel, KernelArrayId, KernelExtent, Local, LocalId, MAX_EXTENT, MAX_NESTING,
    MAX_RANK, ScalarOperand, Type, Var,
    analysis::{InPlace, NotInPlace},
};

/// Checks that `kernel` keeps what its type promises: dense locals, a nest that does not branch, types, arrays used as they say.
///
/// # Errors
/// Every fault, each with its position.
pub fn validate_kernel(kernel: &Kernel) -> Result<(), ValidationErrors> {
    let errors = kernel_errors(kernel);
    if errors.is_empty() { Ok(()) } else { Err(ValidationErrors { errors }) }
}

pub(super) fn kernel_errors(kernel: &Kernel) -> Vec<super::ValidationError> {
    // Of arrays scalar code sees rank and element type; extents are the launch's.
    let arrays: Vec<Var> = kernel
        .arrays
        .iter()
        .enumerate()
        .map(|(position, array)| Var {
            id: KernelArrayId::at(position).in_code(),
            ty: Type::array(vec![Extent::Unknown; array.extents.len()], array.element),
            name: array.name.as_str().into(),
        })
        .collect();
    let mut validator = Validator::new();
    validator.in_kernel = true;
    validator.kernel(kernel, &arrays);
    validator.finish()
}

/// Locals that are seen from some depth on, until it ends.
#[derive(Default)]
struct Scopes {
    /// For each depth what is defined there.
    open: Vec<Vec<LocalId>>,
    /// Results of reduces and totals of scans: seen at their depth, after the levels inside.
    later: Vec<Vec<LocalId>>,
    depth: usize,
}

impl Scopes {
    fn define(&mut self, locals: &[Local], depth: usize) {
        if let Some(open) = self.open.get_mut(depth) {
            open.extend(locals.iter().map(|local| local.id));
        }
    }
}

impl<'p> Validator<'p> {
    fn kernel(&mut self, kernel: &'p Kernel, arrays: &'p [Var]) {
        self.open_scope();
        arrays.iter().for_each(|array| self.define(array));
        self.start_function();
        self.open_body();
        for (position, size) in kernel.sizes.iter().enumerate() {
            self.within(PathStep::Item("sizes", position), |v| v.index_local(size, "a size"));
        }
        let mut uses = None;
        for (position, array) in kernel.arrays.iter().enumerate() {
            self.within(PathStep::Item("arrays", position), |v| {
                for (dim, extent) in array.extents.iter().enumerate() {
                    match *extent {
                        KernelExtent::Constant(extent) if extent < 0 => {
                            let what = format!("`{}`", array.name);
                            v.report(ProgramFault::NegativeExtent { what, dim, extent });
                        }
                        KernelExtent::Constant(_) => {}
                        // Sizes come first, so their ids are their positions; where they are not that is a fault already.
                        KernelExtent::Size(local) if local.index() < kernel.sizes.len() => {}
                        KernelExtent::Size(LocalId(local)) => {
                            v.report(ProgramFault::KernelExtent { array: array.name.clone(), dim, local });
                        }
                    }
                }
                if array.extents.len() > MAX_RANK {
                    let what = format!("`{}`", array.name);
                    v.report(ProgramFault::Rank { what, rank: array.extents.len(), limit: MAX_RANK });
                }
                if let Some(source) = array.in_place_of {
                    let again = kernel.arrays[..position].iter().any(|other| other.in_place_of == Some(source));
                    let found =
                        uses.get_or_insert_with(|| InPlace::of(kernel)).allows(KernelArrayId::at(position), source);
                    if let Err(why) = if again { Err(NotInPlace::Twice) } else { found } {
                        let of =
                            kernel.arrays.get(source.index()).map_or(source.to_string(), |array| array.name.clone());
                        v.report(ProgramFault::InPlace { value: array.name.clone(), source_name: of, why });
                    }
                }
            });
        }
        if kernel.levels.len() > MAX_NESTING {
            return self.report(ProgramFault::TooDeep { limit: MAX_NESTING });
        }
        for (position, level) in kernel.levels.iter().enumerate() {
            self.within(PathStep::Item("levels", position), |v| v.index_local(&level.index, "an index"));
            self.set_local_open(level.index.id, false);
        }
        let depths = kernel.levels.len() + 1;
        let mut scopes = Scopes { open: vec![Vec::new(); depths], later: vec![Vec::new(); depths], depth: 0 };
        let (mut falling, mut appends) = (false, 0);
        for (position, statement) in kernel.statements.iter().enumerate() {
            self.within(PathStep::Item("statements", position), |v| {
                let depth = statement.depth as usize;
                if depth > kernel.levels.len() {
                    let levels = kernel.levels.len();
                    return v.report(ProgramFault::Depth { depth: statement.depth, levels });
                }
                if depth > scopes.depth && falling {
                    let before = scopes.depth as u32;
                    v.report(ProgramFault::Branches { depth: statement.depth, before });
                }
                falling |= depth < scopes.depth;
                v.move_to(depth, kernel, &mut scopes);
                v.statement(statement, kernel, &mut scopes);
                appends += usize::from(matches!(statement.action, Action::Append { .. }));
                if appends > 1 {
                    v.report(ProgramFault::Appends);
                }
            });
        }
        if !falling {
            // Levels without statements run for nothing, but their bounds are used.
            self.move_to(kernel.levels.len(), kernel, &mut scopes);
        }
        self.close_body();
        self.close_scope();
    }

    fn index_local(&mut self, local: &Local, what: &str) {
        if local.ty != ElementType::I64 {
            self.report(ProgramFault::NoIndex { what: what.to_owned(), found: local.ty });
        }
        self.define_local(local);
    }

    /// Enters levels, whose bounds are seen around them, or leaves them.
    fn move_to(&mut self, depth: usize, kernel: &'p Kernel, scopes: &mut Scopes) {
        while scopes.depth < depth {
            let level = &kernel.levels[scopes.depth];
            for (bound, name) in [(&level.from, "from"), (&level.to, "to")] {
                let what = format!("`{name}` of level {}", scopes.depth);
                self.scalar_operand_of(bound, ElementType::I64, &|| what.clone());
                let constant = if let ScalarOperand::Constant(constant) = bound { constant.as_i64() } else { None };
                let most = if name == "from" { MAX_EXTENT } else { i64::MAX };
                if let Some(bound) = constant.filter(|bound| !(-MAX_EXTENT..=most).contains(bound)) {
                    self.report(ProgramFault::LevelBound { what, bound });
                }
            }
            scopes.depth += 1;
            self.set_local_open(level.index.id, true);
            scopes.open[scopes.depth].push(level.index.id);
        }
        while scopes.depth > depth {
            for id in std::mem::take(&mut scopes.open[scopes.depth]) {
                self.set_local_open(id, false);
            }
            scopes.depth -= 1;
            for id in std::mem::take(&mut scopes.later[scopes.depth]) {
                self.set_local_open(id, true);
                scopes.open[scopes.depth].push(id);
            }
        }
    }

    /// Checks something that sees the locals of a depth and of those around it, and none from deeper levels.
    fn seen_at(&mut self, depth: usize, scopes: &Scopes, check: impl FnOnce(&mut Self)) {
        let deeper = || scopes.open.iter().skip(depth + 1).flatten();
        deeper().for_each(|&id| self.set_local_open(id, false));
        check(self);
        deeper().for_each(|&id| self.set_local_open(id, true));
    }
}
