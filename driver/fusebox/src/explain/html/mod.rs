//! An explanation as one HTML page that loads nothing else. All text is there without its script, which marks what belongs together and
//! computes with the sizes that are typed in.

mod clusters;
mod counts;
mod kernels;
mod schedules;
mod stages;

use std::fmt::Write;

use super::{about::Names, escape::escape};
use crate::Explanation;

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");
/// Entries of the glossary of the book, whose tests hold the two together.
const GLOSSARY: &str = include_str!("glossary.md");

/// A sentence whose names, between backquotes, are code.
fn marked(text: &str) -> String {
    let mut out = String::new();
    let parts: Vec<&str> = text.split('`').collect();
    let whole = parts.len() % 2 == 1;
    for (at, part) in parts.iter().enumerate() {
        match (whole, at % 2) {
            (true, 1) => out += &format!("<code>{}</code>", escape(part)),
            (true, _) => out += &escape(part),
            (false, _) => out += &format!("{}{}", if at == 0 { "" } else { "`" }, escape(part)),
        }
    }
    out
}

fn list(lines: &[String]) -> String {
    let items: String = lines.iter().map(|line| format!("<li>{}</li>\n", marked(line))).collect();
    format!("<ul>\n{items}</ul>\n")
}

/// The attribute by which the script finds what is about the same operations; nothing where it is about none.
fn about(names: &[String]) -> String {
    if names.is_empty() { String::new() } else { format!(" data-n=\"{}\"", escape(&names.join(" "))) }
}

/// The beginning of a part that scrolls by itself.
fn scroll(label: &str, class: &str) -> String {
    format!("<div class=\"scroll{class}\" tabindex=\"0\" role=\"region\" aria-label=\"{}\">\n", escape(label))
}

/// The page.
pub(super) fn page(explanation: &Explanation) -> String {
    let name = escape(&explanation.program);
    let held = if explanation.held.is_empty() { "" } else { " <a href=\"#held\">Nests</a>" };
    let none = explanation.scheduling.kernels.is_empty();
    let scheduled = if none { "" } else { " <a href=\"#schedules\">Schedules</a>" };
    let mut out = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width, \
         initial-scale=1\">\n<title>{name}: how it is fused</title>\n<style>\n{STYLE}</style>\n</head>\n<body>\n<header>\n<h1>{name}</h1>\n\
         <p>{}</p>\n<nav aria-label=\"On this page\"><a href=\"#counts\">Counts</a> <a href=\"#kernels\">Kernels</a> \
         <a href=\"#clusters\">Clusters</a> <a href=\"#apart\">Not fused</a>{held}{scheduled} <a href=\"#passes\">Passes</a> <a href=\"#stages\">Stages</a> \
         <a href=\"#glossary\">Glossary</a></nav>\n</header>\n<main>\n",
        headline(explanation)
    );
    if let Some(stopped) = &explanation.stopped {
        let _ = writeln!(
            out,
            "<section class=\"stopped\" role=\"note\"><h2>Pass <code>{}</code> stopped</h2><pre>{}</pre></section>",
            escape(&stopped.pass),
            escape(&stopped.why)
        );
    }
    let names = Names::new(explanation);
    counts::table(explanation, &mut out);
    kernels::kernels(explanation, &mut out);
    clusters::graphs(explanation, &mut out);
    clusters::apart(explanation, &mut out);
    clusters::held(explanation, &mut out);
    schedules::schedules(explanation, &mut out);
    stages::passes(explanation, &mut out);
    stages::stages(explanation, &names, &mut out);
    glossary(&mut out);
    let _ = write!(
        out,
        "</main>\n<p id=\"selected\" role=\"status\" hidden></p>\n<script>\n{SCRIPT}</script>\n</body>\n</html>\n"
    );
    out
}

fn headline(explanation: &Explanation) -> String {
    let fusion = format!("fusion <strong>{}</strong>", explanation.fusion);
    match (&explanation.before, &explanation.after) {
        (Some(before), Some(after)) if before != after => {
            let loops = |count: u64| format!("{count} loop{}", if count == 1 { "" } else { "s" });
            format!("{fusion}: {} became {}.", loops(before.loops), loops(after.loops))
        }
        _ => format!("{fusion}."),
    }
}

fn glossary(out: &mut String) {
    *out += "<section id=\"glossary\">\n<h2>Glossary</h2>\n<dl>\n";
    for entry in GLOSSARY.split("## ").skip(1) {
        let (term, meaning) = entry.split_once('\n').unwrap_or((entry, ""));
        let _ = writeln!(out, "<dt>{}</dt><dd>{}</dd>", escape(term.trim()), marked(meaning.trim()));
    }
    *out += "</dl>\n</section>\n";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_of_a_program_is_markup() {
        assert_eq!(escape("<a href='x'>\"&\u{1}"), "&lt;a href=&#39;x&#39;&gt;&quot;&amp;\u{fffd}");
        assert_eq!(marked("`a<b` is <not>"), "<code>a&lt;b</code> is &lt;not&gt;");
        assert_eq!(marked("a ` alone <"), "a ` alone &lt;");
        assert_eq!(about(&["a\"b".to_owned(), "c".to_owned()]), " data-n=\"a&quot;b c\"");
    }
}
