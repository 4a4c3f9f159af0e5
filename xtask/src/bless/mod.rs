//! x
use crate::workspace::Workspace;
#[derive(clap::Args)]
pub struct Options {}
pub fn run(_: &Workspace, _: &Options) -> anyhow::Result<()> {
    Ok(())
}
