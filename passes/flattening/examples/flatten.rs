//! Reads a program, makes it flat, and prints why each value is held as it is, and the program: `cargo run --example flatten program.fbx`.

use fusebox_flattening::{Config, analysis::explain, flatten};
use fusebox_ir::text;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("the name of a program is wanted")?;
    let program = text::parse(&std::fs::read_to_string(path)?)?;
    for line in explain(&program) {
        println!("# {line}");
    }
    let (flat, report) = flatten(&program, &Config::default())?;
    println!("# {report:?}\n{flat}");
    Ok(())
}
