//! Reads a program, simplifies it, prints it in the form in which it came, text or JSON; what was done goes to standard error.
//!
//! `cargo run -p fusebox-simplify --example simplify -- FILE`

use std::{error::Error, fs};

use fusebox_ir::{json, text};
use fusebox_simplify::{Config, simplify};

fn main() -> Result<(), Box<dyn Error>> {
    let file = std::env::args().nth(1).ok_or("give the file of a program, as text or JSON")?;
    let source = fs::read_to_string(file)?;
    let is_json = source.trim_start().starts_with('{');
    let program = if is_json { json::from_json(&source)?.0 } else { text::parse(&source)? };
    fusebox_ir::validate(&program, &[])?;
    let (simplified, report) = simplify(&program, &Config::default());
    if is_json {
        println!("{}", json::to_json(&simplified, &[]))
    } else {
        println!("{simplified}")
    }
    eprintln!("{report:?}");
    Ok(())
}
