//! Classes that grow together.

/// Numbers below a limit in classes; the least number of a class stands for it.
#[derive(Clone, Debug)]
pub(crate) struct Unite(Vec<u32>);

impl Unite {
    pub(crate) fn new(limit: usize) -> Self {
        Self((0..limit as u32).collect())
    }

    pub(crate) fn find(&mut self, number: usize) -> usize {
        let mut number = number as u32;
        while self.0[number as usize] != number {
            let parent = self.0[number as usize];
            self.0[number as usize] = self.0[parent as usize];
            number = parent;
        }
        number as usize
    }

    /// Makes two classes one, and says who stands for it.
    pub(crate) fn unite(&mut self, a: usize, b: usize) -> usize {
        let (a, b) = (self.find(a), self.find(b));
        let (least, other) = (a.min(b), a.max(b));
        self.0[other] = least as u32;
        least
    }
}
