//! Arrays that a kernel writes over: who reads their elements, and who writes them.
//!
//! A kernel's points may run in any order, each by itself. So an element that is written over may be read by the point alone that writes
//! it, and before: anything else is a mistake of whoever made the kernel, which no value of a run in one order would show.

use std::{cell::RefCell, collections::HashMap};

use fusebox_ir::{Action, Kernel, KernelArrayId};

/// A point: a number that no other point of the same depth has in this run.
type Point = u64;

#[derive(Debug, Default)]
struct Element {
    /// The point that has read it, of the depth of the store.
    reader: Option<Point>,
    written: bool,
}

/// Reads and writes of one run of a kernel.
#[derive(Debug)]
pub(super) struct Watch {
    /// For each depth the point that runs.
    points: Vec<Point>,
    entered: Point,
    /// For each array of the kernel that another is written over: the depth of the store, and elements by position.
    in_place: Vec<Option<(usize, RefCell<HashMap<usize, Element>>)>>,
}

impl Watch {
    pub(super) fn new(kernel: &Kernel) -> Self {
        let mut in_place: Vec<_> = kernel.arrays.iter().map(|_| None).collect();
        for (position, array) in kernel.arrays.iter().enumerate() {
            let Some(source) = array.in_place_of else { continue };
            let depth = kernel.statements.iter().find_map(|statement| match &statement.action {
                Action::Store { array, .. } if array.index() == position => Some(statement.depth as usize),
                _ => None,
            });
            in_place[source.index()] = Some((depth.expect("what is in place is stored"), RefCell::default()));
        }
        Self { points: vec![0; kernel.levels.len() + 1], entered: 0, in_place }
    }

    /// The next point of a depth begins.
    pub(super) fn enter(&mut self, depth: usize) {
        self.entered += 1;
        self.points[depth] = self.entered;
    }

    /// An element is read.
    ///
    /// # Panics
    /// If it was written over before, or is read by two points.
    pub(super) fn read(&self, kernel: &Kernel, array: KernelArrayId, position: usize) {
        let Some((depth, elements)) = &self.in_place[array.index()] else { return };
        let mut elements = elements.borrow_mut();
        let element = elements.entry(position).or_default();
        let name = &kernel.arrays[array.index()].name;
        assert!(!element.written, "element {position} of `{name}` is read after it was written over");
        let point = self.points[*depth];
        let reader = *element.reader.get_or_insert(point);
        assert!(reader == point, "element {position} of `{name}`, which is written over, is read by two points");
    }

    /// An element of an array is written.
    ///
    /// # Panics
    /// If it is in the memory of another, and that element was read by another point, or written before.
    pub(super) fn write(&self, kernel: &Kernel, array: KernelArrayId, position: usize) {
        let Some(source) = kernel.arrays[array.index()].in_place_of else { return };
        let Some((depth, elements)) = &self.in_place[source.index()] else { return };
        let mut elements = elements.borrow_mut();
        let element = elements.entry(position).or_default();
        let name = &kernel.arrays[source.index()].name;
        assert!(!element.written, "element {position} of `{name}` is written over twice");
        let reader = element.reader.is_none_or(|reader| reader == self.points[*depth]);
        assert!(reader, "element {position} of `{name}` is written over by another point than the one that reads it");
        element.written = true;
    }
}
