//! Scopes: which name means what, in time that does not depend on how deep scopes nest.

use std::collections::HashMap;

use crate::ArrayId;

#[derive(Clone, Copy, Debug)]
pub(super) enum Entry {
    /// A value of a block.
    Array(ArrayId),
    /// A parameter or `let` of a scalar function, by position among its variables.
    Variable(u32),
    /// What a statement would have bound in which something is wrong, which has been told.
    Broken,
}

#[derive(Default)]
pub(super) struct Names<'s> {
    /// The innermost meaning, and the scope that bound it.
    bound: HashMap<&'s str, (usize, Entry)>,
    /// What bindings of open scopes hid.
    hidden: Vec<(&'s str, Option<(usize, Entry)>)>,
    /// For each open scope, the length of `hidden` before it.
    scopes: Vec<usize>,
}

impl<'s> Names<'s> {
    pub fn open(&mut self) {
        self.scopes.push(self.hidden.len());
    }

    /// How many scopes are open.
    pub fn depth(&self) -> usize {
        self.scopes.len()
    }

    pub fn close(&mut self) {
        let from = self.scopes.pop().unwrap_or(0);
        for (name, before) in self.hidden.drain(from..).rev() {
            match before {
                Some(entry) => self.bound.insert(name, entry),
                None => self.bound.remove(name),
            };
        }
    }

    /// Whether the name was free in the innermost scope, and is bound now.
    pub fn bind(&mut self, name: &'s str, entry: Entry) -> bool {
        let scope = self.scopes.len();
        if self.bound.get(name).is_some_and(|(other, entry)| *other == scope && !matches!(entry, Entry::Broken)) {
            return false;
        }
        let before = self.bound.insert(name, (scope, entry));
        self.hidden.push((name, before));
        true
    }

    pub fn get(&self, name: &str) -> Option<Entry> {
        self.bound.get(name).map(|(_, entry)| *entry)
    }

    /// Every name that means something here.
    pub fn visible(&self) -> impl Iterator<Item = &'s str> {
        self.bound.iter().filter(|(_, (_, entry))| !matches!(entry, Entry::Broken)).map(|(name, _)| *name)
    }
}
