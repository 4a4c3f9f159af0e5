//! Rust source, told apart into code and comments, line by line.

/// The same lines twice; what is not of the one kind is blank there.
pub struct Source {
    /// Without comments, and without what stands in literals (their quotes stay).
    pub code: Vec<String>,
    /// Comments only, with their marks.
    pub comments: Vec<String>,
}

impl Source {
    /// Takes any text: what is not Rust gives something, but no error.
    pub fn new(text: &str) -> Self {
        let mut split = Split { code: String::new(), comments: String::new() };
        let mut rest = text;
        let mut before = ' '; // the last character of code, which tells `r"` from the end of a name and a quote
        while let Some(first) = rest.chars().next() {
            let length = if rest.starts_with("//") {
                let length = rest.find('\n').unwrap_or(rest.len());
                split.comment(&rest[..length]);
                length
            } else if rest.starts_with("/*") {
                let length = block_comment(rest);
                split.comment(&rest[..length]);
                length
            } else if let Some(length) = literal(rest, before) {
                split.literal(&rest[..length]);
                length
            } else {
                split.push(&rest[..first.len_utf8()]);
                first.len_utf8()
            };
            before = rest[..length].chars().next_back().unwrap_or(' ');
            rest = &rest[length..];
        }
        let lines = |text: &str| text.split('\n').map(String::from).collect();
        Self { code: lines(&split.code), comments: lines(&split.comments) }
    }
}

struct Split {
    code: String,
    comments: String,
}

impl Split {
    fn push(&mut self, text: &str) {
        self.code += text;
        blank(&mut self.comments, text);
    }

    fn comment(&mut self, text: &str) {
        self.comments += text;
        blank(&mut self.code, text);
    }

    fn literal(&mut self, text: &str) {
        let inside: String = text.chars().skip(1).take(text.chars().count().saturating_sub(2)).collect();
        self.code.push('"');
        blank(&mut self.code, &inside);
        self.code.push('"');
        blank(&mut self.comments, text);
    }
}

fn blank(to: &mut String, text: &str) {
    to.extend(text.chars().map(|c| if c == '\n' { '\n' } else { ' ' }));
}

/// The length of a comment that may hold others.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0usize, 0);
    let bytes = text.as_bytes();
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            (depth, at) = (depth + 1, at + 2);
        } else if bytes[at..].starts_with(b"*/") {
            (depth, at) = (depth - 1, at + 2);
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// The length of the string or character that `text` begins with, from its quote or its letter on.
fn literal(text: &str, before: char) -> Option<usize> {
    let in_name = before.is_alphanumeric() || before == '_';
    let bytes = text.as_bytes();
    if !in_name {
        let raw = text.trim_start_matches(['b', 'c']);
        let letters = text.len() - raw.len();
        if letters <= 1
            && let Some(raw) = raw.strip_prefix('r')
        {
            let hashes = raw.len() - raw.trim_start_matches('#').len();
            if let Some(inside) = raw[hashes..].strip_prefix('"') {
                let end = format!("\"{}", "#".repeat(hashes));
                let begin = letters + 1 + hashes + 1;
                return Some(inside.find(&end).map_or(text.len(), |at| begin + at + end.len()));
            }
        }
    }
    match bytes[0] {
        b'"' => Some(quoted(bytes, b'"')),
        // A character, not a lifetime: its quote is closed after one character, or it begins with a backslash.
        b'\'' if bytes.get(1) == Some(&b'\\') => Some(quoted(bytes, b'\'')),
        b'\'' => {
            let inside = text[1..].chars().next()?;
            let end = 1 + inside.len_utf8();
            (inside != '\'' && text[end..].starts_with('\'')).then_some(end + 1)
        }
        _ => None,
    }
}

/// The length from the opening quote to the closing one.
fn quoted(bytes: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if at + 1 == bytes.len() => break,
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        let source = Source::new(text);
        assert_eq!(source.code.len(), source.comments.len());
        source.code.join("\n")
    }

    #[test]
    fn comments_and_literals_are_blank() {
        assert_eq!(code("a // b\nc /* d /* e */ f */ g"), "a     \nc                   g");
        assert_eq!(code(r##"f("x\"y", r#"a"b"#, 'c', '\'')"##), r##"f("    ", "      ", " ", "  ")"##);
        assert_eq!(code("fn f<'a>(x: &'a str) -> 'a"), "fn f<'a>(x: &'a str) -> 'a");
        assert_eq!(code("var\"x\" r#type b\"q\" br\"q\""), "var\" \" r#type b\" \" \"   \"");
    }

    #[test]
    fn comments_are_kept_apart() {
        let source = Source::new("let x = \"// no\"; // yes\n/* more\nlines */ y");
        assert_eq!(source.comments[0].trim(), "// yes");
        assert_eq!(source.comments[2].trim(), "lines */");
        assert_eq!(source.code[2].trim(), "y");
    }

    #[test]
    fn unfinished_text_ends_quietly() {
        for text in ["\"", "'\\", "\"\\", "/*", "r#\"", "'", "b", "é'é'é\""] {
            Source::new(text);
        }
    }
}
