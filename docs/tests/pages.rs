//! Every page is in the book and among the documentation tests, and its links lead somewhere.

use std::{collections::BTreeSet, fs, path::PathBuf};

fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join(name)
}

/// Names and texts of the pages, but for the summary.
fn pages() -> Vec<(String, String)> {
    let files = fs::read_dir(folder("book")).unwrap().map(|entry| entry.unwrap().path());
    let files = files.filter(|path| path.extension().is_some_and(|end| end == "md"));
    let mut pages: Vec<_> = files
        .map(|path| (path.file_name().unwrap().to_string_lossy().into_owned(), fs::read_to_string(&path).unwrap()))
        .filter(|(name, _)| name != "SUMMARY.md")
        .collect();
    pages.sort();
    assert!(pages.len() > 10, "the pages are not where they were");
    pages
}

#[test]
fn every_page_is_in_the_summary_and_tested() {
    let summary = fs::read_to_string(folder("book/SUMMARY.md")).unwrap();
    let tested = fs::read_to_string(folder("src/lib.rs")).unwrap();
    for (name, _) in pages() {
        assert_eq!(summary.matches(&format!("({name})")).count(), 1, "{name} is not in SUMMARY.md once");
        assert!(tested.contains(&format!("\"{name}\";")), "{name} is not in src/lib.rs");
    }
}

/// The anchor that mdBook gives to a heading.
fn anchor(heading: &str) -> String {
    let kept = heading.trim().to_lowercase();
    let kept = kept.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// Lines outside of code blocks.
fn prose(text: &str) -> impl Iterator<Item = &str> {
    let mut code = false;
    text.lines().filter(move |line| {
        let fence = line.trim_start().starts_with("```");
        code ^= fence;
        !code && !fence
    })
}

#[test]
fn links_lead_somewhere() {
    let mut pages = pages();
    let anchors: BTreeSet<String> = pages
        .iter()
        .flat_map(|(name, text)| {
            let headings = prose(text).filter_map(|line| Some(line.strip_prefix('#')?.trim_start_matches('#')));
            let anchors = headings.map(|heading| format!("{name}#{}", anchor(heading))).collect::<Vec<_>>();
            anchors.into_iter().chain([name.clone()])
        })
        .collect();
    pages.push(("SUMMARY.md".into(), fs::read_to_string(folder("book/SUMMARY.md")).unwrap()));
    for (name, text) in &pages {
        for line in prose(text) {
            for link in line.split("](").skip(1).filter_map(|rest| rest.split(')').next()) {
                if link.contains("://") || link.is_empty() {
                    continue;
                }
                // The documentation of crates is built beside the book, and what `explain` says of programs of the gallery.
                let explained = link.strip_prefix("explain/").and_then(|name| name.strip_suffix(".html"));
                let explained = explained.is_some_and(|program| *name == format!("gallery-{program}.md"));
                let picture = link.ends_with(".png") && folder("book").join(link).is_file();
                let known = link.starts_with("doc/") || anchors.contains(link) || explained || picture;
                let known = known || (link.starts_with('#') && anchors.contains(&format!("{name}{link}")));
                assert!(known, "{name}: the link `{link}` leads nowhere");
            }
        }
    }
}

#[test]
fn the_glossary_of_explain_pages_is_that_of_the_book() {
    let book = fs::read_to_string(folder("book/glossary.md")).unwrap();
    let page = fs::read_to_string(folder("../driver/fusebox/src/explain/html/glossary.md")).unwrap();
    let entries = |text: &str| -> Vec<String> {
        text.split("\n## ").map(|entry| entry.trim_start_matches("## ").trim().to_owned()).collect()
    };
    let known = entries(&book);
    let shown = entries(&page);
    assert!(shown.len() > 10, "{shown:?}");
    for entry in shown {
        assert!(known.contains(&entry), "the book has another entry, or none:\n{entry}");
    }
}

#[test]
fn what_pages_include_is_there() {
    let mut found = 0;
    for (name, text) in pages() {
        for include in text.split("{{#include ").skip(1).filter_map(|rest| rest.split("}}").next()) {
            let (path, anchor) = include.split_once(':').unwrap_or((include, ""));
            let included =
                fs::read_to_string(folder("book").join(path)).unwrap_or_else(|e| panic!("{name}: {path}: {e}"));
            let lines: Vec<&str> = included.lines().map(str::trim).collect();
            for end in ["ANCHOR", "ANCHOR_END"].iter().filter(|_| !anchor.is_empty()) {
                let line = format!("// {end}: {anchor}");
                assert_eq!(lines.iter().filter(|other| **other == line).count(), 1, "{name}: {path}: {line}");
            }
            found += 1;
        }
    }
    assert!(found >= 20, "{found}");
}
