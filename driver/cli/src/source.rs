//! Programs and plans from files: text or JSON, whichever it is.

use std::{
    fs::File,
    io::{self, Read},
    path::{self, Path},
};

use anyhow::{Context, bail};
use fusebox_ir::{Made, Program, json, text, validate};

/// Reads a valid program or plan, from standard input if the path is `-`; errors say where.
pub(crate) fn read(path: &Path) -> anyhow::Result<Made> {
    made(path, &source(path)?)
}

/// What messages call a file.
fn called(path: &Path) -> path::Display<'_> {
    if is_standard(path) { Path::new("standard input") } else { path }.display()
}

/// The text of a program or plan.
pub(crate) fn source(path: &Path) -> anyhow::Result<String> {
    let name = called(path);
    let bytes = bytes(path).with_context(|| format!("cannot read {name}"))?;
    if bytes.len() as u64 > LONGEST {
        bail!("{name}: a program has at most {LONGEST} bytes")
    }
    let Ok(source) = String::from_utf8(bytes) else {
        bail!("{name}: expected a program as text or JSON, or a plan as JSON, found bytes that are no text")
    };
    // Some editors begin files with a byte-order mark.
    Ok(source.strip_prefix('\u{feff}').map(str::to_owned).unwrap_or(source))
}

/// The valid program or plan that a text is.
pub(crate) fn made(path: &Path, source: &str) -> anyhow::Result<Made> {
    let name = called(path);
    if source.trim_start().starts_with('{') {
        return json::made_from_json(source).map_err(|error| anyhow::anyhow!("{name}: {error}"));
    }
    if let Some(kind) = printed_only(source) {
        bail!(
            "{name}: this is a {kind} as text, which is for people; plans are read as JSON, which `fusebox dump PROGRAM --stage kernels \
             --format json` prints"
        )
    }
    // Places in text errors name the file.
    let program = text::parse_all(source, Some(&name.to_string())).map_err(|errors| anyhow::anyhow!("{errors}"))?;
    validate(&program, &[]).map_err(|errors| {
        let told = errors.errors.iter().enumerate().map(|(number, error)| {
            // Each looks for its line.
            match (number < text::Errors::MOST).then(|| text::marked(source, &error.place)).flatten() {
                Some(line) => format!("{error}\n{line}"),
                None => error.to_string(),
            }
        });
        anyhow::anyhow!("{name}: the program is not valid:\n{}", told.collect::<Vec<_>>().join("\n"))
    })?;
    Ok(Made::Program(program))
}

/// The most bytes of a program: a device may have no end.
const LONGEST: u64 = 1 << 30;

/// What is in a file, up to one byte more than a program may have.
fn bytes(path: &Path) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let source: Box<dyn Read> =
        if is_standard(path) { Box::new(io::stdin().lock()) } else { Box::new(File::open(path)?) };
    source.take(LONGEST + 1).read_to_end(&mut bytes)?;
    Ok(bytes)
}

fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Reads a program where a plan is of no use; `why` says so of the plan.
pub(crate) fn program(path: &Path, why: &str) -> anyhow::Result<Program> {
    match read(path)? {
        Made::Program(program) => Ok(program),
        Made::Plan(_) => bail!("{}: this is a plan, and {why}", path.display()),
    }
}

/// An option about passes, which a plan has behind it.
pub(crate) fn refuse(path: &Path, option: &str, given: bool) -> anyhow::Result<()> {
    if given {
        bail!("{}: this is a plan, which no pass runs on: {option} is for programs", path.display())
    }
    Ok(())
}

/// What is printed as text and not read: a plan, or a kernel of one. A program begins with `fn`.
fn printed_only(source: &str) -> Option<&'static str> {
    let mut lines = source.lines().map(str::trim_start).filter(|line| !line.is_empty() && !line.starts_with('#'));
    let first = lines.next()?;
    // Kernels in the text of a plan are numbered.
    let unnumbered = first.trim_start_matches(|c: char| c.is_ascii_digit()).trim_start_matches(": ");
    [("plan ", "plan"), ("kernel ", "kernel")].into_iter().find(|(word, _)| unnumbered.starts_with(word)).map(|of| of.1)
}
