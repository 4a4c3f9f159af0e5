//! The commands, one file each.

pub(crate) mod check;
pub(crate) mod devices;
pub(crate) mod dump;
pub(crate) mod explain;
pub(crate) mod opt;
pub(crate) mod passes;
pub(crate) mod run;
pub(crate) mod tune;

/// How arrays in the lanes of nests are held.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Flattening {
    /// As plain arrays where all lanes have the same extents
    Regular,
    /// All with offsets, to see what the other is worth
    Irregular,
}

/// How they are held; regular ones as plain arrays without an option.
fn flattening(choice: Option<Flattening>) -> fusebox::Flattening {
    match choice {
        None | Some(Flattening::Regular) => fusebox::Flattening::Regular,
        Some(Flattening::Irregular) => fusebox::Flattening::Irregular,
    }
}

/// The way of fusion that an option names; the usual one without it.
fn fusion(name: Option<&str>) -> Result<fusebox::Fusion, fusebox::Error> {
    name.map_or(Ok(fusebox::Fusion::default()), str::parse).map_err(fusebox::Error::UnknownFusion)
}
