//! Tests of a program that stand in its comments: what they say, and how one is carried out.

mod made;
mod read;
mod tested;

pub(crate) use read::read;
pub(crate) use tested::{Bad, Tested};

use std::path::Path;

use fusebox::{
    Signature, Slot,
    files::{self, Given},
};
use fusebox_ir::{Value, text};

/// One test: inputs, and what they must give.
#[derive(Debug)]
pub(crate) struct Case {
    /// The line on which it begins, from 1.
    pub(crate) line: usize,
    /// What it is about; may be empty.
    pub(crate) name: String,
    inputs: Vec<Named>,
    /// Results that are compared with something.
    pub(crate) outputs: Vec<Named>,
    /// What the message of the failure has to hold, if the program is to fail.
    pub(crate) error: Option<String>,
    /// How near floats must be, if it is said.
    pub(crate) within: Option<f64>,
    /// Counts of the compiled program: which, and what `explain` says of it.
    pub(crate) counts: Vec<(Count, String)>,
}

/// A value of a test.
#[derive(Debug)]
pub(crate) struct Named {
    /// Of which input or result.
    pub(crate) name: String,
    /// As it is written.
    text: String,
    pub(crate) line: usize,
}

/// What of a compiled program is counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Count {
    Kernels,
    Loops,
    Reads,
    Writes,
}

impl Count {
    const ALL: [(&'static str, Self); 4] =
        [("kernels", Self::Kernels), ("loops", Self::Loops), ("reads", Self::Reads), ("writes", Self::Writes)];

    pub(crate) fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|&(_, count)| count == self).map_or("", |(name, _)| name)
    }

    /// As `explain` says it.
    pub(crate) fn of(self, counted: &fusebox::Counted) -> String {
        match self {
            Self::Kernels => counted.kernels.to_string(),
            Self::Loops => counted.loops.to_string(),
            Self::Reads => counted.reads.clone(),
            Self::Writes => counted.writes.clone(),
        }
    }
}

/// What is wrong with a test itself, and its line.
#[derive(Debug)]
pub(crate) struct Wrong {
    pub(crate) line: usize,
    pub(crate) message: String,
}

impl Case {
    /// The inputs of the program, in order; files are looked for beside the program.
    pub(crate) fn inputs(&self, signature: &Signature, folder: &Path) -> Result<Vec<Value>, Wrong> {
        let missing = |slot: &Slot| Wrong {
            line: self.line,
            message: format!(
                "no value for input `{}`, which is {}: write `# input {} = …`",
                slot.name, slot.spelled, slot.name
            ),
        };
        for given in &self.inputs {
            given.slot(&signature.inputs, "input")?;
        }
        (signature.inputs.iter())
            .map(|slot| {
                let given = self.inputs.iter().find(|given| given.name == slot.name).ok_or_else(|| missing(slot))?;
                given.value(slot, signature, folder)
            })
            .collect()
    }

    /// What results must be, for those that are told.
    pub(crate) fn expected(&self, signature: &Signature, folder: &Path) -> Result<Vec<Option<Value>>, Wrong> {
        for given in &self.outputs {
            given.slot(&signature.results, "result")?;
        }
        (signature.results.iter())
            .map(|slot| {
                let given = self.outputs.iter().find(|given| given.name == slot.name);
                given.map(|given| given.value(slot, signature, folder)).transpose()
            })
            .collect()
    }
}

impl Named {
    fn slot<'s>(&self, slots: &'s [Slot], what: &str) -> Result<&'s Slot, Wrong> {
        slots.iter().find(|slot| slot.name == self.name).ok_or_else(|| {
            let there: Vec<_> = slots.iter().map(|slot| format!("`{}`", slot.name)).collect();
            let there =
                if there.is_empty() { "there are none".into() } else { format!("there are {}", there.join(", ")) };
            self.wrong(format!("the program has no {what} `{}`: {there}", self.name))
        })
    }

    fn wrong(&self, message: impl Into<String>) -> Wrong {
        Wrong { line: self.line, message: message.into() }
    }

    fn value(&self, slot: &Slot, signature: &Signature, folder: &Path) -> Result<Value, Wrong> {
        let of = |message: String| self.wrong(format!("`{}`, which is {}: {message}", slot.name, slot.spelled));
        if let Some(path) = self.text.strip_prefix("file ") {
            // A result is read as an input of its type would be.
            let mut alone = signature.clone();
            alone.inputs = vec![slot.clone()];
            let given = Given { name: Some(slot.name.clone()), path: folder.join(path.trim()) };
            let values = files::inputs(&alone, &[given]).map_err(|error| self.wrong(error.to_string()))?;
            return values.into_iter().next().ok_or_else(|| of("the file has nothing for it".into()));
        }
        if let Some(made) = made::value(&self.text, &slot.ty) {
            return made.map_err(of);
        }
        text::value(&self.text, &slot.ty).map_err(|error| of(error.to_string()))
    }
}
