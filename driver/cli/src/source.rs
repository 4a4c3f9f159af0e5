//! Programs from files: text or JSON, whichever it is.

use std::{fs, path::Path};

use anyhow::{Context, bail};
use fusebox_ir::{Program, json, text, validate};

/// Reads a valid program; errors say where.
pub(crate) fn read(path: &Path) -> anyhow::Result<Program> {
    let name = path.display();
    let bytes = fs::read(path).with_context(|| format!("cannot read {name}"))?;
    let Ok(source) = String::from_utf8(bytes) else {
        bail!("{name}: expected a program as text or JSON, found bytes that are no text")
    };
    let program = if source.trim_start().starts_with('{') {
        json::from_json(&source).map(|(program, _)| program).map_err(|error| match error {
            json::JsonError::Invalid { errors, .. } => anyhow::anyhow!("{name}: the program is not valid:\n{errors}"),
            error => anyhow::anyhow!("{name}: {error}"),
        })?
    } else {
        // Places in text errors name the file.
        text::parse_named(&source, &name.to_string()).map_err(|error| anyhow::anyhow!("{error}"))?
    };
    validate(&program, &[]).map_err(|errors| anyhow::anyhow!("{name}: the program is not valid:\n{errors}"))?;
    Ok(program)
}
