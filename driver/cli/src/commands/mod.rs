//! The commands, one file each.

pub(crate) mod check;
pub(crate) mod devices;
pub(crate) mod dump;
pub(crate) mod explain;
pub(crate) mod opt;
pub(crate) mod passes;
pub(crate) mod run;
pub(crate) mod tune;

/// The way of fusion that an option names; the usual one without it.
fn fusion(name: Option<&str>) -> Result<fusebox::Fusion, fusebox::Error> {
    name.map_or(Ok(fusebox::Fusion::default()), str::parse).map_err(fusebox::Error::UnknownFusion)
}
