//! Where what a command prints goes.

use std::{fs, io::Write, path::Path};

use anyhow::Context;

use crate::Failure;

/// Prints to a file, where one is named, else to `out`. The file stays what it was unless all was printed.
pub(crate) fn to_file(
    file: Option<&Path>,
    out: &mut dyn Write,
    print: impl FnOnce(&mut dyn Write) -> Result<(), Failure>,
) -> Result<(), Failure> {
    let Some(file) = file else { return print(out) };
    let mut text = Vec::new();
    print(&mut text)?;
    fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    eprintln!("wrote {}", file.display());
    Ok(())
}
