//! A parsed file: its entries, and where their variables are.

use crate::decode::{self, Body};
use crate::layout::{Layout, in_device_memory};
use crate::text::tree::Variable;
use crate::text::{ParseError, parse};
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

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
