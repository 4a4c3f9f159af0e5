//! Schedules made for certain kernels: what a tuner writes, and what a run is forced to.

use fusebox_ir::Kernel;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{schedule::Schedule, sorts::Sorts, strips::Strips, tokens::ParseError};

/// Schedules by kernel and target. A kernel without an entry is scheduled as always.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Book {
    entries: Vec<Entry>,
    /// How turns of loops, and kernels that follow each other, run over rows; none: as usual on the machine at hand.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    strips: Option<Strips>,
    /// How sorts run; none: as usual.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    sorts: Option<Sorts>,
}

/// A kernel, and how it runs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Entry {
    kernel: Kernel,
    schedules: Vec<Schedule>,
}

impl Book {
    /// The schedule of a kernel for a target, by the target's name.
    pub fn get(&self, kernel: &Kernel, target: &str) -> Option<&Schedule> {
        let entry = self.entries.iter().find(|entry| entry.kernel == *kernel)?;
        entry.schedules.iter().find(|schedule| schedule.target == target)
    }

    /// Notes the schedule of a kernel, in place of what it had for that target.
    pub fn insert(&mut self, kernel: &Kernel, schedule: Schedule) {
        let at = self.entries.iter().position(|entry| entry.kernel == *kernel).unwrap_or_else(|| {
            self.entries.push(Entry { kernel: kernel.clone(), schedules: Vec::new() });
            self.entries.len() - 1
        });
        let schedules = &mut self.entries[at].schedules;
        match schedules.iter_mut().find(|own| own.target == schedule.target) {
            Some(own) => *own = schedule,
            None => schedules.push(schedule),
        }
    }

    /// Forgets the schedules of a kernel.
    pub fn remove(&mut self, kernel: &Kernel) {
        self.entries.retain(|entry| entry.kernel != *kernel);
    }

    /// The targets of all schedules.
    pub fn targets(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().flat_map(|entry| &entry.schedules).map(|schedule| schedule.target.as_str())
    }

    /// Whether nothing has been noted.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty() && self.strips.is_none() && self.sorts.is_none()
    }

    /// How turns of loops, and kernels that follow each other, run over rows, if that has been noted.
    pub fn strips(&self) -> Option<Strips> {
        self.strips
    }

    /// Notes how they do, or forgets it.
    pub fn set_strips(&mut self, strips: Option<Strips>) {
        self.strips = strips;
    }

    /// How sorts run, if that has been noted.
    pub fn sorts(&self) -> Option<Sorts> {
        self.sorts
    }

    /// Notes how they do, or forgets it.
    pub fn set_sorts(&mut self, sorts: Option<Sorts>) {
        self.sorts = sorts;
    }

    /// Reads schedules as text, one behind the other: each is of the first kernel of its name that has none for its target yet. Strips and sorts may
    /// stand before, between and behind them, once each.
    ///
    /// # Errors
    /// The first thing that is wrong, with its place: a schedule whose kernel there is not, too.
    pub fn parse(text: &str, kernels: &[Kernel]) -> Result<Self, ParseError> {
        let mut book = Self::default();
        let (mut strips, mut sorts) = (None, None);
        let mut given: Vec<(usize, String)> = Vec::new();
        let find = |name: &str, target: &str| {
            let free = |position: &usize| !given.iter().any(|(own, of)| own == position && of == target);
            let position =
                (0..kernels.len()).filter(|&position| format!("{:?}", kernels[position].name.0) == name).find(free)?;
            given.push((position, target.to_owned()));
            Some(&kernels[position])
        };
        let found = Schedule::parse_all(text, find, (&mut strips, &mut sorts))?;
        found.into_iter().for_each(|(kernel, schedule)| book.insert(kernel, schedule));
        (book.strips, book.sorts) = (strips, sorts);
        Ok(book)
    }

    /// From JSON.
    ///
    /// # Errors
    /// What `serde_json` says; strips of no bytes; sorts by digits that are too long.
    pub fn from_json(json: &str) -> Result<Self, serde_json::Error> {
        let book: Self = serde_json::from_str(json)?;
        if let Some(Strips::Of { bytes: 0, .. }) = book.strips {
            return Err(serde::de::Error::custom("a strip has one byte at least"));
        }
        match book.sorts.and_then(Sorts::fault) {
            Some(fault) => Err(serde::de::Error::custom(fault)),
            None => Ok(book),
        }
    }

    /// The JSON Schema of such files (draft 2020-12).
    pub fn schema() -> String {
        format!("{:#}\n", schemars::schema_for!(Self).to_value())
    }

    /// As JSON.
    pub fn to_json(&self) -> String {
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}
