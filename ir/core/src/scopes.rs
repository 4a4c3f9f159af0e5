//! What is known of arrays in bodies of scalar code that are open: it is forgotten when the body is closed, as it is computed there.

use std::collections::HashMap;

use crate::{ArrayId, Emit, Lambda, LambdaBuilder, Local, ScalarOperand};

/// The operands that stand for scalar arrays, for each open body.
#[derive(Debug)]
pub struct Scopes(Vec<HashMap<ArrayId, ScalarOperand>>);

impl Default for Scopes {
    fn default() -> Self {
        Self::new()
    }
}

impl Scopes {
    /// One body is open.
    pub fn new() -> Self {
        Self(vec![HashMap::new()])
    }

    /// Opens a body of code that `b` writes.
    pub fn open(&mut self, b: &mut LambdaBuilder, params: &[Local]) -> Vec<ScalarOperand> {
        self.0.push(HashMap::new());
        b.open(params)
    }

    /// Closes the innermost body.
    pub fn close(&mut self, b: &mut LambdaBuilder, results: Vec<ScalarOperand>) -> Lambda {
        self.0.pop();
        b.close(results)
    }

    /// What an array is in the innermost body from here on.
    pub fn know(&mut self, id: ArrayId, operand: ScalarOperand) {
        if let Some(innermost) = self.0.last_mut() {
            innermost.insert(id, operand);
        }
    }

    /// The operand that stands for an array, in the innermost body that knows it.
    pub fn get(&self, id: ArrayId) -> Option<ScalarOperand> {
        self.0.iter().rev().find_map(|known| known.get(&id)).copied()
    }
}
