//! What the passes of a program may be asked.

use std::path::Path;

use crate::source;

/// Options of each command that runs the passes.
#[derive(clap::Args)]
pub(crate) struct Choices {
    /// How operations are fused: none, greedy, optimal [default: optimal]
    #[arg(long)]
    fusion: Option<String>,
    /// How lanes of nests run, and their arrays are held [default: alone]
    #[arg(long, value_enum)]
    flattening: Option<Flattening>,
}

/// How lanes of nests run, and their arrays are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Flattening {
    /// As regular, but lanes that loop over arrays as long as each likes run one at a time on each thread
    Alone,
    /// All lanes at once: plain arrays where all lanes have the same extents, else offsets
    Regular,
    /// All lanes at once, all arrays with offsets, to see what the others are worth
    Irregular,
}

impl Choices {
    /// The options of a compilation with these choices.
    ///
    /// # Errors
    /// A way of fusion that does not exist.
    pub fn options(&self) -> Result<fusebox::Options, fusebox::Error> {
        let fusion = self.fusion.as_deref().map_or(Ok(fusebox::Fusion::default()), str::parse);
        let flattening = match self.flattening {
            None | Some(Flattening::Alone) => fusebox::Flattening::Alone,
            Some(Flattening::Regular) => fusebox::Flattening::Regular,
            Some(Flattening::Irregular) => fusebox::Flattening::Irregular,
        };
        let fusion = fusion.map_err(fusebox::Error::UnknownFusion)?;
        Ok(fusebox::Options { fusion, flattening, ..Default::default() })
    }

    /// Refuses what is given for a plan.
    pub fn refuse(&self, path: &Path) -> anyhow::Result<()> {
        source::refuse(path, "--fusion", self.fusion.is_some())?;
        source::refuse(path, "--flattening", self.flattening.is_some())
    }
}
