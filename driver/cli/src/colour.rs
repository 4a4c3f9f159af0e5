//! Messages in colours, where a terminal shows them. `NO_COLOR` and `CLICOLOR_FORCE` say otherwise.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const PLACE: Style = AnsiColor::Blue.on_default();
const HELP: Style = AnsiColor::Cyan.on_default().bold();

/// Words at the begin of a line that say what comes.
const HEADS: [(&str, Style); 3] = [("fusebox:", ERROR), ("help:", HELP), ("note:", HELP)];

/// How values of nests are held, by the words that `explain` has for it.
const HELD: [(&str, Style); 4] = [
    ("avoided", AnsiColor::Green.on_default()),
    ("regular", AnsiColor::Cyan.on_default()),
    ("irregular", AnsiColor::Yellow.on_default()),
    ("alone", AnsiColor::Magenta.on_default()),
];

/// What `explain` prints on standard output, with colours if that shows them.
pub(crate) fn explanation(text: String) -> String {
    match anstream::AutoStream::choice(&std::io::stdout()) {
        anstream::ColorChoice::Never => text,
        _ => painted_nests(&text),
    }
}

/// An explanation in which the ways that values of nests are held have colours.
fn painted_nests(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 256);
    let mut nests = false;
    for line in text.split_inclusive('\n') {
        nests = if nests { line != "\n" } else { line == "== Nests\n" };
        let word = line.split_whitespace().next().unwrap_or_default();
        match HELD.iter().find(|(held, _)| nests && *held == word) {
            Some((held, style)) => out.push_str(&line.replacen(held, &format!("{style}{held}{style:#}"), 1)),
            None => out.push_str(line),
        }
    }
    out
}

/// Prints what went wrong on standard error.
pub(crate) fn print_error(message: &str) {
    anstream::eprintln!("{}", painted(&format!("fusebox: {message}")));
}

/// A message with colours: of its lines the words at their begin, the numbers of lines that are shown, and what is underlined.
fn painted(message: &str) -> String {
    let mut out = String::with_capacity(message.len() + 64);
    for (number, line) in message.lines().enumerate() {
        if number > 0 {
            out.push('\n');
        }
        paint(line, &mut out);
    }
    out
}

fn paint(line: &str, out: &mut String) {
    let text = line.trim_start();
    let indent = &line[..line.len() - text.len()];
    if let Some((head, style)) = HEADS.iter().find(|(head, _)| text.starts_with(head)) {
        _ = write!(out, "{indent}{style}{head}{style:#}{}", &text[head.len()..]);
        return;
    }
    // `12 | let a = …`, or ` | ^^^`.
    let shown = text.split_once('|').filter(|(number, _)| number.trim_end().bytes().all(|byte| byte.is_ascii_digit()));
    let Some((number, rest)) = shown.filter(|_| !indent.is_empty()) else {
        out.push_str(line);
        return;
    };
    _ = write!(out, "{indent}{PLACE}{number}|{PLACE:#}");
    let marks = rest.trim_start();
    if number.is_empty() && marks.starts_with('^') {
        let ended = marks.find(|mark| mark != '^').unwrap_or(marks.len());
        let gap = &rest[..rest.len() - marks.len()];
        _ = write!(out, "{gap}{ERROR}{}{ERROR:#}{}", &marks[..ended], &marks[ended..]);
    } else {
        out.push_str(rest);
    }
}

#[cfg(test)]
mod tests {
    use super::{painted, painted_nests};

    /// What a terminal shows.
    fn plain(text: &str) -> String {
        anstream::adapter::strip_str(text).to_string()
    }

    #[test]
    fn colours_change_no_letter() {
        for message in [
            "fusebox: a.fbx:1:2: unknown name `x`\n  1 | fn f(x: [n]f32)\n    |      ^^ here\n  help: write `y`",
            "",
            "|",
            "  | ",
            "    | ^^^",
            "12 | not indented",
            "a | b",
            "\u{e9}\u{301} | ^",
        ] {
            assert_eq!(plain(&painted(message)), message);
        }
    }

    #[test]
    fn ways_to_hold_values_are_coloured_where_nests_are_explained() {
        let text = "regular\n\n== Nests\n  regular    line 2: map `a`: why\n  irregular  line 3: map `regular`: why\n\n== Passes\nregular\n";
        let shown = painted_nests(text);
        assert_eq!(plain(&shown), text);
        assert_eq!(shown.matches('\u{1b}').count(), 4, "{shown:?}");
        assert!(shown.contains("\u{1b}[36mregular\u{1b}[0m    line 2"), "{shown:?}");
        assert!(shown.contains("\u{1b}[33mirregular\u{1b}[0m  line 3: map `regular`"), "{shown:?}");
    }

    #[test]
    fn heads_places_and_marks_are_coloured() {
        let text = painted("fusebox: wrong\n  1 | a | b\n    |   ^^");
        assert_eq!(
            text,
            "\u{1b}[1m\u{1b}[31mfusebox:\u{1b}[0m wrong\n  \u{1b}[34m1 |\u{1b}[0m a | b\n    \u{1b}[34m|\u{1b}[0m   \u{1b}[1m\u{1b}[31m^^\u{1b}[0m"
        );
        assert_eq!(painted("no head"), "no head");
    }
}
