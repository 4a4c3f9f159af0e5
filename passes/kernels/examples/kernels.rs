//! Reads a flat program, with clusters or without, makes its kernels, and prints the plan: as text, or as JSON with `--json`.
//!
//! `cargo run -p fusebox-kernels --example kernels -- FILE [--json]` (text or JSON)

use std::{error::Error, fs};

use fusebox_ir::{Property, json, text};
use fusebox_kernels::{Config, lower};

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("give the file of a program, as text or JSON")?;
    let source = fs::read_to_string(file)?;
    let program =
        if source.trim_start().starts_with('{') { json::from_json(&source)?.0 } else { text::parse(&source)? };
    fusebox_ir::validate(&program, &[Property::Flat])?;
    let (plan, report) = lower(&program, &Config::default())?;
    if std::env::args().any(|argument| argument == "--json") {
        println!("{}", serde_json::to_string_pretty(&plan)?);
    } else {
        println!("{plan}");
    }
    eprintln!("{report:?}");
    Ok(())
}
