//! `ops`: what there is to write.

use std::io::Write;

use fusebox_ir::text::{
    advice,
    reference::{EXAMPLE_INPUTS, OPERATIONS, scalar_functions},
};

use crate::Failure;

/// List the operations on arrays and the functions of scalar code, or say all of one
#[derive(clap::Args)]
pub(crate) struct Options {
    /// An operation or a function
    name: Option<String>,
}

pub(crate) fn run(options: &Options, out: &mut dyn Write) -> Result<(), Failure> {
    match &options.name {
        None => all(out),
        Some(name) => one(name, out),
    }
}

fn all(out: &mut dyn Write) -> Result<(), Failure> {
    writeln!(out, "Operations on arrays:")?;
    for operation in OPERATIONS {
        writeln!(out, "  {:15} {}", operation.name, operation.says)?;
    }
    writeln!(out, "\nScalar code:")?;
    for function in scalar_functions() {
        writeln!(out, "  {:15} {:20} {}", function.form, function.takes, function.says)?;
    }
    writeln!(out, "\n`fusebox ops NAME` says all of one, with an example.")?;
    Ok(())
}

fn one(name: &str, out: &mut dyn Write) -> Result<(), Failure> {
    let mut found = false;
    let mut entry = |lines: [(&str, &str); 5]| -> Result<(), Failure> {
        if found {
            writeln!(out)?;
        }
        found = true;
        for (what, says) in lines.iter().filter(|(_, says)| !says.is_empty()) {
            writeln!(out, "{what:9}{says}")?;
        }
        Ok(())
    };
    for operation in OPERATIONS.iter().filter(|operation| operation.name == name) {
        let page = format!("{}.md", operation.page);
        entry([
            ("", operation.form),
            ("shape", operation.shape),
            ("", operation.says),
            ("example", operation.example),
            ("book", &page),
        ])?;
    }
    for function in scalar_functions().iter().filter(|function| function.name == name) {
        entry([
            ("", &function.form),
            ("takes", function.takes),
            ("", function.says),
            ("example", &function.example),
            ("", ""),
        ])?;
    }
    if found {
        writeln!(out, "\nExamples are statements of a program that takes {EXAMPLE_INPUTS}.")?;
        return Ok(());
    }
    let advice = advice(name).unwrap_or_else(|| "`fusebox ops` lists them".to_owned());
    Err(anyhow::anyhow!("there is no operation or function `{name}`: {advice}").into())
}
