//! `completions` and `man`: what shells and manuals want to know of the command.

use std::io::Write;

use clap_complete::Shell;

use crate::Failure;

/// Print completions for a shell
///
/// For example `fusebox completions bash > ~/.local/share/bash-completion/completions/fusebox`.
#[derive(clap::Args)]
pub(crate) struct Completions {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

/// Print the manual page
///
/// For example `fusebox man | man -l -`; of one command, `fusebox man run`.
#[derive(clap::Args)]
pub(crate) struct Manual {
    /// A command, to have its page
    command: Option<String>,
}

pub(crate) fn completions(
    options: &Completions,
    mut command: clap::Command,
    out: &mut dyn Write,
) -> Result<(), Failure> {
    let mut text = Vec::new();
    clap_complete::generate(options.shell, &mut command, "fusebox", &mut text);
    out.write_all(&text)?;
    Ok(())
}

pub(crate) fn manual(options: &Manual, mut command: clap::Command, out: &mut dyn Write) -> Result<(), Failure> {
    command.build();
    let page = match &options.command {
        None => command,
        Some(name) => match command.find_subcommand(name) {
            Some(found) => found.clone(),
            None => {
                let names: Vec<_> = command.get_subcommands().map(clap::Command::get_name).collect();
                return Err(anyhow::anyhow!("there is no command `{name}`; there are {}", names.join(", ")).into());
            }
        },
    };
    clap_mangen::Man::new(page).render(out)?;
    Ok(())
}
