//! How long fusion takes for each golden program, in microseconds: `cargo run --release -p fusebox-fusion --example golden [NAME]`. It
//! decides nothing.

use std::{fs, path::Path, time::Instant};

use fusebox_fusion::{Config, fuse};
use fusebox_ir::text;

/// Of so many runs the shortest counts.
const RUNS: usize = 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden/programs");
    let mut files: Vec<_> = fs::read_dir(folder)?.filter_map(|entry| Some(entry.ok()?.path())).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "fbx"));
    files.sort();
    if let Some(only) = std::env::args().nth(1) {
        files.retain(|path| path.file_stem().is_some_and(|name| *name == *only));
    }
    let mut total = 0.0;
    for file in files {
        let program = text::parse(&fs::read_to_string(&file)?)?;
        let mut least = f64::INFINITY;
        for _ in 0..RUNS {
            let start = Instant::now();
            fuse(&program, &Config::default())?;
            least = least.min(start.elapsed().as_secs_f64());
        }
        total += least;
        println!("{:>9.0} {}", least * 1e6, file.file_stem().unwrap_or_default().to_string_lossy());
    }
    println!("{:>9.0} all", total * 1e6);
    Ok(())
}
