//! Reads a program, clusters it, prints it in the form in which it came, text or JSON; the report goes to standard error.
//!
//! `cargo run -p fusebox-clustering --example cluster -- FILE [optimal|greedy|apart] [--report]`

use std::{error::Error, fs};

use fusebox_clustering::{Config, Method, cluster};
use fusebox_ir::{Property, json, text};

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let Some(file) = arguments.first() else { return Err("give the file of a program, as text or JSON".into()) };
    let source = fs::read_to_string(file)?;
    let is_json = source.trim_start().starts_with('{');
    let program = if is_json { json::from_json(&source)?.0 } else { text::parse(&source)? };
    let method = match arguments.get(1).map(String::as_str) {
        None | Some("optimal" | "--report") => Method::Optimal,
        Some("greedy") => Method::Greedy,
        Some("apart") => Method::Apart,
        Some(other) => return Err(format!("no method is called `{other}`; there are optimal, greedy, apart").into()),
    };
    let (clustered, report) = cluster(&program, &Config { method, ..Config::default() })?;
    let properties = [Property::Flat, Property::Clustered];
    if is_json {
        println!("{}", json::to_json(&clustered, &properties))
    } else {
        println!("{clustered}")
    }
    if arguments.iter().any(|argument| argument == "--report") {
        eprintln!("{}", serde_json::to_string_pretty(&report)?);
    }
    Ok(())
}
