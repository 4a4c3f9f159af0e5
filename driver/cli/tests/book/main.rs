//! Every program and every command of the book does what the book says, and those of the README.
//!
//! `FUSEBOX_BLESS=1` writes what was found into the pages instead, to be read before it is committed.
#![cfg(unix)]

#[path = "../support/mod.rs"]
mod support;

mod blocks;
mod page;

use std::{fs, path::Path};

const PAGES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/book");

#[test]
fn the_book_is_right() {
    let bless = std::env::var_os("FUSEBOX_BLESS").is_some();
    let only = std::env::var("FUSEBOX_PAGE").unwrap_or_default();
    let mut pages: Vec<_> = fs::read_dir(PAGES).unwrap().map(|entry| entry.unwrap().path()).collect();
    pages.retain(|page| page.extension().is_some_and(|end| end == "md"));
    pages.push(Path::new(PAGES).join("../../README.md"));
    pages.retain(|page| page.to_string_lossy().contains(&only));
    pages.sort();
    assert!(!pages.is_empty(), "there are no pages in {PAGES}");
    let faults: Vec<String> = pages.iter().flat_map(|page| check(page, bless)).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
}

fn check(path: &Path, bless: bool) -> Vec<String> {
    let text = fs::read_to_string(path).unwrap();
    let found = page::check(&text);
    if bless && found.text != text {
        fs::write(path, &found.text).unwrap();
    }
    let name = path.file_name().unwrap().to_string_lossy();
    let faults = if bless { found.errors } else { [found.errors, found.differences].concat() };
    faults.into_iter().map(|(line, fault)| format!("{name}:{line}: {fault}")).collect()
}
