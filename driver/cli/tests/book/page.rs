//! Runs what a page shows.
//!
//! | fence | what is checked |
//! |---|---|
//! | `fbx` | a program, kept as `NAME.fbx`. It is valid. If it has no inputs it is run by the compiler and by the interpreter, and the lines `#> ` are what is printed |
//! | `fbx,fails` | a program that is refused, or fails when run; the lines `#> ` are the message |
//! | `fbx,interp` | a program that only the interpreter runs |
//! | `console` | commands behind `$ `, and what they print; a line `…` stands for any number of lines |
//! | `file,NAME` | a file for the commands behind it |
//! | others of [`SHOWN`] | nothing here |
//!
//! All blocks of a page share a folder, in which `data` and `programs` are those of the golden programs.

use super::{
    blocks::{self, Block, Part},
    support::Folder,
};
use std::{os::unix::fs::symlink, path::Path, process::Command};

/// What other tests check, or what is for reading.
const SHOWN: [&str; 6] = ["rust", "text", "sh", "toml", "json", "ebnf"];
/// Begins a line of a program that says what is printed.
const PRINTS: &str = "#> ";

/// What was found on a page.
pub struct Found {
    /// The page with what is printed now.
    pub text: String,
    /// What is not as the page says.
    pub differences: Vec<(usize, String)>,
    /// What no new text mends.
    pub errors: Vec<(usize, String)>,
}

/// Runs every block.
pub fn check(text: &str) -> Found {
    let folder = Folder::new();
    for name in ["data", "programs"] {
        let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../golden").join(name);
        symlink(golden.canonicalize().unwrap(), folder.path(name)).unwrap();
    }
    let mut parts = blocks::parts(text);
    let (mut differences, mut errors) = (Vec::new(), Vec::new());
    for part in &mut parts {
        let Part::Block(block) = part else { continue };
        let new = match block.kind.as_str() {
            "fbx" => program(block, &folder),
            "console" => Ok(console(block, &folder)),
            "file" => file(block, &folder).map(|()| block.lines.clone()),
            shown if SHOWN.contains(&shown) => continue,
            other => Err(format!("a block is `{other}`, which is none of fbx, console, file, {}", SHOWN.join(", "))),
        };
        match new {
            Ok(new) if new == block.lines => {}
            Ok(new) => {
                let message = format!("the book says\n{}\nbut it is\n{}", block.lines.join("\n"), new.join("\n"));
                differences.push((block.line, message));
                block.lines = new;
            }
            Err(error) => errors.push((block.line, error)),
        }
    }
    Found { text: blocks::join(&parts), differences, errors }
}

fn file(block: &Block, folder: &Folder) -> Result<(), String> {
    let name = block.words.first().ok_or("a file needs a name: `file,NAME`")?;
    folder.write(name, block.lines.join("\n") + "\n");
    Ok(())
}

/// The lines of a program, with what it prints.
fn program(block: &Block, folder: &Folder) -> Result<Vec<String>, String> {
    let mut lines: Vec<String> = block.lines.iter().filter(|line| !line.starts_with(PRINTS)).cloned().collect();
    let signature = lines.iter().find_map(|line| line.strip_prefix("fn ")).ok_or("a program begins with `fn`")?;
    let (name, inputs) = signature.split_once('(').ok_or("a program has inputs in parentheses")?;
    let (file, runs) = (format!("{name}.fbx"), inputs.starts_with(')'));
    folder.write(&file, lines.join("\n") + "\n");

    let is = |word: &str| block.words.iter().any(|other| other == word);
    let checked = folder.fusebox(&format!("check {file}"));
    let printed = if checked.code != 0 || !runs {
        if checked.code != 0 && !is("fails") {
            return Err(format!("`{file}` is refused:\n{}", checked.err));
        }
        checked.err
    } else {
        let interpreted = folder.fusebox(&format!("run {file} --print --backend interp"));
        if !is("interp") {
            let compiled = folder.fusebox(&format!("run {file} --print"));
            if (&compiled.out, &compiled.err) != (&interpreted.out, &interpreted.err) {
                return Err(format!(
                    "`{file}` gives\n{}{}\nand by the interpreter\n{}{}",
                    compiled.out, compiled.err, interpreted.out, interpreted.err
                ));
            }
        }
        if (interpreted.code != 0) != is("fails") {
            return Err(format!("`{file}` ends with {}\n{}", interpreted.code, interpreted.err));
        }
        interpreted.out + &interpreted.err
    };
    if is("fails") && printed.is_empty() {
        return Err(format!("`{file}` does not fail"));
    }
    lines.extend(printed.lines().map(|line| format!("{PRINTS}{line}").trim_end().to_owned()));
    Ok(lines)
}

/// The lines of commands, with what they print.
fn console(block: &Block, folder: &Folder) -> Vec<String> {
    let mut lines = Vec::new();
    let mut rest = block.lines.as_slice();
    while let Some((command, after)) = rest.split_first() {
        let end = after.iter().position(|line| line.starts_with("$ ")).unwrap_or(after.len());
        let (said, next) = after.split_at(end);
        lines.push(command.clone());
        let printed = match command.strip_prefix("$ ") {
            Some(command) => run(command, folder),
            None => "a block of commands begins with `$ `".into(),
        };
        let printed: Vec<&str> = printed.lines().map(str::trim_end).collect();
        if fits(&said.iter().map(String::as_str).collect::<Vec<_>>(), &printed) {
            lines.extend(said.iter().cloned());
        } else {
            lines.extend(printed.into_iter().map(str::to_owned));
        }
        rest = next;
    }
    lines
}

fn run(command: &str, folder: &Folder) -> String {
    let binary = Path::new(env!("CARGO_BIN_EXE_fusebox")).parent().unwrap();
    let path = format!("{}:{}", binary.display(), std::env::var("PATH").unwrap_or_default());
    let output = Command::new("sh")
        .args(["-c", &format!("exec 2>&1\n{command}")])
        .current_dir(folder.path(""))
        .env("PATH", path)
        .output()
        .unwrap();
    let printed = String::from_utf8(output.stdout).unwrap();
    match output.status.code() {
        Some(0) => printed,
        Some(code) => format!("{printed}exit code {code}\n"),
        None => format!("{printed}killed\n"),
    }
}

/// Whether this was printed, where `…` stands for any number of lines.
fn fits(said: &[&str], printed: &[&str]) -> bool {
    match said.split_first() {
        None => printed.is_empty(),
        Some((&"…", rest)) => (0..=printed.len()).any(|skipped| fits(rest, &printed[skipped..])),
        Some((line, rest)) => printed.split_first().is_some_and(|(first, more)| first == line && fits(rest, more)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RIGHT: &str = "```fbx\nfn f() -> i32 {\n  let a = 1i32 + 2\n  return a }\n#> a: i32 = 3\n```\n";

    #[test]
    fn what_is_right_is_left_alone() {
        let page = format!("{RIGHT}\n```console\n$ fusebox check f.fbx\nfn f() -> a: i32\n```\n");
        let found = check(&page);
        assert_eq!((found.differences, found.errors), (vec![], vec![]));
        assert_eq!(found.text, page);
    }

    #[test]
    fn a_wrong_result_is_found_and_mended() {
        let found = check(&RIGHT.replace("= 3", "= 4"));
        assert_eq!(found.differences.len(), 1);
        assert_eq!(found.text, RIGHT);
    }

    #[test]
    fn what_a_command_prints_is_compared() {
        let found =
            check(&format!("{RIGHT}```console\n$ fusebox check f.fbx\nfn f() -> b: i32\n$ cat f.fbx\n…\n```\n"));
        assert_eq!(found.differences.len(), 1);
        let found = check(&format!("{RIGHT}```console\n$ fusebox check g.fbx\n```\n"));
        assert!(found.text.contains("exit code 2"), "{}", found.text);
    }

    #[test]
    fn broken_programs_and_unknown_blocks_are_errors() {
        for page in [
            RIGHT.replace("1i32 + 2", "1i32 + b"),
            RIGHT.replace("```fbx", "```fbx,fails"),
            RIGHT.replace("1i32 + 2", "1i32 / (1i32 - 1i32)"),
            "```\nfn f\n```\n".into(),
            "```fbxx\nfn f\n```\n".into(),
        ] {
            assert_eq!(check(&page).errors.len(), 1, "{page}");
        }
    }
}
