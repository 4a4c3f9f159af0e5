//! Classes that grow together.

use petgraph::unionfind;

/// Numbers below a limit in classes; the least number of a class stands for it, whatever was united first.
#[derive(Clone, Debug)]
pub(crate) struct UnionFind {
    classes: unionfind::UnionFind<u32>,
    /// Of the number by which `classes` knows a class, the least one in it.
    least: Vec<u32>,
}

impl UnionFind {
    pub(crate) fn new(limit: usize) -> Self {
        Self { classes: unionfind::UnionFind::new(limit), least: (0..limit as u32).collect() }
    }

    pub(crate) fn find(&mut self, number: usize) -> usize {
        self.least[self.classes.find_mut(number as u32) as usize] as usize
    }

    /// Makes two classes one, and says who stands for it.
    pub(crate) fn unite(&mut self, a: usize, b: usize) -> usize {
        let least = self.find(a).min(self.find(b));
        self.classes.union(a as u32, b as u32);
        let class = self.classes.find_mut(a as u32);
        self.least[class as usize] = least as u32;
        least
    }
}
