//! Inputs of a program, as arguments give them.

use std::path::PathBuf;

use fusebox::files::Given;

/// Inputs of a command that runs a program: with `-i`, or behind the program.
#[derive(clap::Args)]
pub(crate) struct Inputs {
    /// Inputs, as `--input` takes them
    #[arg(value_name = "[NAME=]FILE")]
    behind: Vec<String>,
    /// An input and its file (or folder, for a stream), or its value, `3` or `[1, 2]`; of a program with one input the file or value alone; or an .npz archive of inputs by name
    #[arg(long = "input", short = 'i', value_name = "[NAME=]FILE")]
    inputs: Vec<String>,
}

impl Inputs {
    /// The inputs that are given.
    ///
    /// # Errors
    /// A name without a file.
    pub fn given(&self) -> anyhow::Result<Vec<Given>> {
        (self.inputs.iter().chain(&self.behind))
            .map(|text| {
                let (name, path) = named(text);
                anyhow::ensure!(!path.as_os_str().is_empty(), "{text}: no file, and no value, is behind the `=`");
                Ok(Given { name, path })
            })
            .collect()
    }
}

/// `NAME=FILE` or `FILE`.
pub(crate) fn named(argument: &str) -> (Option<String>, PathBuf) {
    match argument.split_once('=') {
        Some((name, path)) if fusebox_ir::is_name(name) => (Some(name.to_owned()), path.into()),
        _ => (None, argument.into()),
    }
}
