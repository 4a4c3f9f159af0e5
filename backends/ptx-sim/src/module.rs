//! A parsed file: its entries, and where their variables are.

use crate::decode::{self, Body};
use crate::text::tree::{Space, Statement, Tree, Variable};
use crate::text::{ParseError, parse};
use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};

/// Generic addresses from here on are of the shared memory of the thread's block.
pub(crate) const SHARED_WINDOW: u64 = 1 << 60;
/// Generic addresses from here on are of the local memory of the thread.
pub(crate) const LOCAL_WINDOW: u64 = 1 << 61;
/// Bytes of shared memory that a block may have on any device (it may opt in for more on some).
const MOST_SHARED: u64 = 227 << 10;
/// Bytes of local memory that a thread may have.
const MOST_LOCAL: u64 = 512 << 10;

/// PTX that was read and understood.
#[derive(Debug)]
pub struct Module {
    /// Tells modules apart, for devices that hold their variables.
    pub(crate) id: u64,
    pub(crate) entries: BTreeMap<String, Entry>,
    pub(crate) variables: Vec<Variable>,
    target: String,
    notes: Vec<ParseError>,
}

/// A kernel, decoded.
#[derive(Debug)]
pub(crate) struct Entry {
    /// Offset and bytes of each parameter.
    pub params: Vec<(u64, u64)>,
    pub param_bytes: u64,
    /// Bytes of shared memory that the text asks for; what a launch adds begins at `dynamic`.
    pub shared: u64,
    pub dynamic: u64,
    pub local: u64,
    pub required: Option<[u32; 3]>,
    pub most: Option<u64>,
    pub body: Body,
}

impl Module {
    /// Parses PTX text.
    ///
    /// # Errors
    /// If the text is no PTX, or uses something that the simulator does not know, which is named.
    pub fn parse(text: &str) -> Result<Self, ParseError> {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let tree = parse(text)?;
        let mut notes = Vec::new();
        let mut entries = BTreeMap::new();
        for entry in &tree.entries {
            let layout = Layout::new(&tree, entry)?;
            let mut body = decode::body(&entry.body, &layout)?;
            notes.append(&mut body.notes);
            let decoded = Entry {
                params: layout.params,
                param_bytes: layout.param_bytes,
                shared: layout.shared,
                dynamic: layout.dynamic,
                local: layout.local,
                required: entry.required,
                most: entry.most,
                body,
            };
            if entries.insert(entry.name.clone(), decoded).is_some() {
                let at = Default::default();
                return Err(ParseError::new(at, format!("the entry `{}` is there twice", entry.name)));
            }
        }
        let variables = tree.variables.into_iter().filter(in_device_memory).collect();
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Ok(Self { id, entries, variables, target: tree.target, notes })
    }

    /// The names of the entries, in order.
    pub fn entries(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    /// The architecture that the text is for: `sm_70`.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// What is allowed, but leaves the result to the assembler.
    pub fn notes(&self) -> &[ParseError] {
        &self.notes
    }
}

fn in_device_memory(variable: &Variable) -> bool {
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
    params: Vec<(u64, u64)>,
    param_bytes: u64,
    shared: u64,
    dynamic: u64,
    local: u64,
}

impl Layout {
    fn new(tree: &Tree, entry: &crate::text::tree::Entry) -> Result<Self, ParseError> {
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
