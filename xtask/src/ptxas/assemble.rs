//! One call of the assembler.

use anyhow::{Context, Result, bail};
use std::path::Path;
use std::process::Command;

/// What the assembler says of an entry.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Assembled {
    pub entry: String,
    pub registers: u32,
    /// Bytes of shared memory.
    pub shared: u32,
    /// Bytes that are stored to memory or loaded for want of registers.
    pub spilled: u32,
}

/// Assembles a text for an architecture.
///
/// # Errors
/// What the assembler says, if it does not take the text.
pub fn assemble(ptxas: &Path, text: &Path, architecture: &str, to: &Path) -> Result<Vec<Assembled>> {
    let mut command = Command::new(ptxas);
    command.arg(format!("-arch={architecture}")).arg("-v").arg(text).arg("-o").arg(to);
    let output = command.output().with_context(|| format!("cannot start {}", ptxas.display()))?;
    let said = [output.stderr, output.stdout].concat();
    let said = String::from_utf8_lossy(&said);
    if !output.status.success() {
        bail!("{}", said.trim());
    }
    let assembled = read(&said);
    if assembled.is_empty() {
        bail!("the assembler names no entry:\n{}", said.trim());
    }
    Ok(assembled)
}

/// Reads what the assembler prints with `-v`.
fn read(said: &str) -> Vec<Assembled> {
    let mut entries: Vec<Assembled> = Vec::new();
    for line in said.lines() {
        if let Some((_, rest)) = line.split_once("Compiling entry function '") {
            let entry = rest.split('\'').next().unwrap_or_default().to_string();
            entries.push(Assembled { entry, ..Assembled::default() });
        }
        let Some(last) = entries.last_mut() else { continue };
        last.spilled += before(line, "bytes spill stores") + before(line, "bytes spill loads");
        if line.contains("Used ") {
            last.registers = before(line, "registers");
            last.shared = before(line, "bytes smem");
        }
    }
    entries
}

/// The number before a word; 0 if it is not there.
fn before(line: &str, word: &str) -> u32 {
    let number = line.split_once(word).and_then(|(left, _)| left.split_whitespace().next_back());
    number.and_then(|number| number.parse().ok()).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_read() {
        let said = "\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'sum' for 'sm_70'
ptxas info    : Function properties for sum
    0 bytes stack frame, 4 bytes spill stores, 8 bytes spill loads
ptxas info    : Used 18 registers, 128 bytes smem, 372 bytes cmem[0]
ptxas info    : Compiling entry function 'none' for 'sm_70'
ptxas info    : Used 2 registers, 352 bytes cmem[0]";
        let named =
            |entry: &str, registers, shared, spilled| Assembled { entry: entry.into(), registers, shared, spilled };
        assert_eq!(read(said), [named("sum", 18, 128, 12), named("none", 2, 0, 0)]);
        assert_eq!(read("ptxas fatal"), []);
    }
}
