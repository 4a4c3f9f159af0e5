//! Classes that grow together.

use petgraph::unionfind;

/// Numbers below a limit in classes; the least number of a class stands for it, whatever was united first.
#[derive(Clone, Debug)]
pub struct UnionFind {
    classes: unionfind::UnionFind<u32>,
    /// Of the number by which `classes` knows a class, the least one in it.
    least: Vec<u32>,
}

impl UnionFind {
    /// Each number below `limit` in a class of its own. `limit` must be below 2^32.
    pub fn new(limit: usize) -> Self {
        Self { classes: unionfind::UnionFind::new(limit), least: (0..limit as u32).collect() }
    }

    /// Who stands for the class of a number, which must be below the limit.
    pub fn find(&mut self, number: usize) -> usize {
        self.least[self.classes.find_mut(number as u32) as usize] as usize
    }

    /// Makes the classes of two numbers one, and says who stands for it.
    pub fn unite(&mut self, a: usize, b: usize) -> usize {
        let least = self.find(a).min(self.find(b));
        self.classes.union(a as u32, b as u32);
        let class = self.classes.find_mut(a as u32);
        self.least[class as usize] = least as u32;
        least
    }
}
