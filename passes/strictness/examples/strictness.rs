//! Reads a flat program, makes it strict, and prints it: as JSON if it came as JSON, else as text. What was done goes to standard error.
//!
//! `cargo run -p fusebox-strictness --example strictness -- FILE`

use std::{error::Error, fs};

use fusebox_ir::{Property, json, text};
use fusebox_strictness::{Config, make_strict};

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("give the file of a program, as text or JSON")?;
    let source = fs::read_to_string(file)?;
    let is_json = source.trim_start().starts_with('{');
    let program = if is_json { json::from_json(&source)?.0 } else { text::parse(&source)? };
    let (program, report) = make_strict(&program, &Config::default())?;
    if is_json {
        println!("{}", json::to_json(&program, &[Property::Flat, Property::Strict]))
    } else {
        println!("{program}")
    }
    eprintln!("{report:?}");
    Ok(())
}
