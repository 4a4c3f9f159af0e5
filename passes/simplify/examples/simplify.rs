//! Reads a program, simplifies it, prints it as text, and what was done on standard error.
//!
//! `cargo run -p fusebox-simplify --example simplify -- FILE` (text or JSON)

use std::{error::Error, fs};

use fusebox_ir::{json, text};
use fusebox_simplify::{Config, simplify};

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("give the file of a program, as text or JSON")?;
    let source = fs::read_to_string(file)?;
    let program =
        if source.trim_start().starts_with('{') { json::from_json(&source)?.0 } else { text::parse(&source)? };
    fusebox_ir::validate(&program, &[])?;
    let (simplified, report) = simplify(&program, &Config::default());
    println!("{simplified}");
    eprintln!("{report:?}");
    Ok(())
}
