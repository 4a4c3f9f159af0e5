//! Where the variables of a text are.

use crate::text::ParseError;
use crate::text::tree::{Entry, Space, Statement, Tree, Variable};
use std::collections::HashMap;

/// Generic addresses from here on are of the shared memory of the thread's block.
pub(crate) const SHARED_WINDOW: u64 = 1 << 60;
/// Generic addresses from here on are of the local memory of the thread.
pub(crate) const LOCAL_WINDOW: u64 = 1 << 61;
/// Bytes of shared memory that a block may have on any device (it may opt in for more on some).
const MOST_SHARED: u64 = 227 << 10;
/// Bytes of local memory that a thread may have.
const MOST_LOCAL: u64 = 512 << 10;

/// Whether a variable is in the memory of the device, which all launches share.
pub(crate) fn in_device_memory(variable: &Variable) -> bool {
    matches!(variable.space, Space::Global | Space::Const)
}

/// Where a variable is.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Location {
    /// At this offset of its space.
    Offset(Space, u64),
    /// In device memory, where only the device knows: by its number.
    Global(Space, usize),
}

/// Where all variables that an entry sees are.
#[derive(Debug, Default)]
pub(crate) struct Layout {
    names: HashMap<String, Location>,
    /// Offset and bytes of each parameter.
    pub params: Vec<(u64, u64)>,
    pub param_bytes: u64,
    /// Bytes of shared memory that the text asks for; what a launch adds begins at `dynamic`.
    pub shared: u64,
    pub dynamic: u64,
    pub local: u64,
}

impl Layout {
    pub fn new(tree: &Tree, entry: &Entry) -> Result<Self, ParseError> {
        let mut layout = Self::default();
        let mut inside = Vec::new();
        variables(&entry.body, &mut inside);
        let of_module = tree.variables.iter().filter(|variable| variable.space == Space::Shared);
        let mut dynamic: Vec<&Variable> = Vec::new();
        for variable in entry.params.iter().chain(of_module).chain(inside) {
            if variable.length.is_none() {
                dynamic.push(variable);
                continue;
            }
            let size = match variable.space {
                Space::Param => &mut layout.param_bytes,
                Space::Shared => &mut layout.shared,
                Space::Local => &mut layout.local,
                _ => return Err(ParseError::new(variable.at, "variables of device memory stand outside of entries")),
            };
            if variable.initial.is_some() {
                return Err(ParseError::new(variable.at, format!("`{}` cannot have an initial value", variable.name)));
            }
            let at = size.next_multiple_of(u64::from(variable.align));
            *size = at.saturating_add(variable.bytes());
            if variable.space == Space::Param {
                layout.params.push((at, variable.bytes()));
            }
            layout.declare(variable, Location::Offset(variable.space, at))?;
        }
        let align = dynamic.iter().map(|variable| u64::from(variable.align)).max().unwrap_or(1);
        layout.dynamic = layout.shared.next_multiple_of(align);
        for variable in dynamic {
            if variable.space != Space::Shared {
                return Err(ParseError::new(variable.at, format!("`{}` has no length", variable.name)));
            }
            layout.declare(variable, Location::Offset(Space::Shared, layout.dynamic))?;
        }
        if layout.shared > MOST_SHARED || layout.local > MOST_LOCAL {
            let (shared, local) = (layout.shared, layout.local);
            let what =
                format!("`{}` wants {shared} bytes of shared memory, {local} of local memory: too many", entry.name);
            return Err(ParseError::new(Default::default(), what));
        }
        for (number, variable) in tree.variables.iter().filter(|variable| in_device_memory(variable)).enumerate() {
            layout.declare(variable, Location::Global(variable.space, number))?;
        }
        Ok(layout)
    }

    fn declare(&mut self, variable: &Variable, location: Location) -> Result<(), ParseError> {
        match self.names.insert(variable.name.clone(), location) {
            None => Ok(()),
            Some(_) => Err(ParseError::new(variable.at, format!("the variable `{}` is there twice", variable.name))),
        }
    }

    /// Where the variable of this name is.
    pub fn find(&self, name: &str) -> Option<Location> {
        self.names.get(name).copied()
    }
}

fn variables<'a>(statements: &'a [Statement], found: &mut Vec<&'a Variable>) {
    for statement in statements {
        match statement {
            Statement::Variable(variable) => found.push(variable),
            Statement::Block(inside) => variables(inside, found),
            _ => {}
        }
    }
}
