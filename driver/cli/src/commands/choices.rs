//! What the passes of a program may be asked.

use std::path::Path;

use crate::source;

/// Options of each command that runs the passes.
#[derive(clap::Args)]
pub(crate) struct Choices {
    /// How operations are fused: none, greedy, optimal [default: optimal]
    #[arg(long)]
    fusion: Option<String>,
    /// How arrays in the lanes of nests are held [default: regular]
    #[arg(long, value_enum)]
    flattening: Option<Flattening>,
}

/// How arrays in the lanes of nests are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Flattening {
    /// As plain arrays where all lanes have the same extents
    Regular,
    /// All with offsets, to see what the other is worth
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
            None | Some(Flattening::Regular) => fusebox::Flattening::Regular,
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
