//! Reads a flat program, with clusters or without, makes its kernels, and prints the plan: as JSON (which `plan_from_json` reads) if the
//! program came as JSON, else as text. What was done goes to standard error.
//!
//! `cargo run -p fusebox-kernels --example kernels -- FILE`

use std::{error::Error, fs};

use fusebox_ir::{Property, json, text};
use fusebox_kernels::{Config, lower};

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("give the file of a program, as text or JSON")?;
    let source = fs::read_to_string(file)?;
    let is_json = source.trim_start().starts_with('{');
    let program = if is_json { json::from_json(&source)?.0 } else { text::parse(&source)? };
    fusebox_ir::validate(&program, &[Property::Flat])?;
    let (plan, report) = lower(&program, &Config::default())?;
    if is_json {
        println!("{}", json::plan_to_json(&plan))
    } else {
        println!("{plan}")
    }
    eprintln!("{report:?}");
    Ok(())
}
