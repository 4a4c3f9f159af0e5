//! From the comments of a program to its tests.
//!
//! A test begins with a comment `# ==` and goes on up to the first line that is no comment, or to the next test. Every line of it says something;
//! lists go on over lines until their brackets are closed.

use super::{Case, Count, Named, Wrong};

/// The tests in a program's text, in order.
pub(crate) fn read(source: &str) -> Result<Vec<Case>, Wrong> {
    let mut cases: Vec<Case> = Vec::new();
    let mut lines = source.lines().zip(1..).peekable();
    let mut inside = false;
    while let Some((line, number)) = lines.next() {
        let Some(comment) = line.trim_start().strip_prefix('#') else {
            inside = false;
            continue;
        };
        let comment = comment.trim();
        if let Some(name) = comment.strip_prefix("==") {
            inside = true;
            cases.push(Case {
                line: number,
                name: name.trim().to_owned(),
                inputs: Vec::new(),
                outputs: Vec::new(),
                error: None,
                within: None,
                counts: Vec::new(),
            });
            continue;
        }
        if !inside && said_of_a_test(comment) && !cases.is_empty() {
            let message =
                format!("`# {comment}` belongs to no test: the test before it ended with a line that is no comment");
            return Err(Wrong { line: number, message });
        }
        let Some(case) = cases.last_mut().filter(|_| inside && !comment.is_empty()) else { continue };
        let mut said = comment.to_owned();
        while open(&said) {
            let Some((more, _)) = lines.next_if(|(line, _)| line.trim_start().starts_with('#')) else {
                return Err(Wrong { line: number, message: "a list has a `[` without its `]`".into() });
            };
            said.push(' ');
            said.push_str(more.trim_start().trim_start_matches('#').trim());
        }
        case.say(&said, number)?;
    }
    match cases.iter().find(|case| case.error.is_some() && !case.outputs.is_empty()) {
        Some(case) => Err(Wrong {
            line: case.line,
            message: "a test has `error`, if the program is to fail, or `output`, and not both".into(),
        }),
        None => Ok(cases),
    }
}

/// Whether a comment says something of a test, and is no prose.
fn said_of_a_test(comment: &str) -> bool {
    let (word, rest) = comment.split_once(char::is_whitespace).unwrap_or((comment, ""));
    matches!(word, "input" | "output") && rest.contains('=') || word == "within" && rest.trim().parse::<f64>().is_ok()
}

/// Whether brackets of a value are open at its end. An error's text is no value.
fn open(said: &str) -> bool {
    let count = |bracket| said.matches(bracket).count();
    !said.starts_with("error") && count('[') > count(']')
}

impl Case {
    /// Takes one line.
    fn say(&mut self, said: &str, line: usize) -> Result<(), Wrong> {
        let wrong = |message: String| Err(Wrong { line, message });
        let (word, rest) = said.split_once(char::is_whitespace).unwrap_or((said, ""));
        let rest = rest.trim();
        if let Some((_, count)) = Count::ALL.into_iter().find(|(name, _)| *name == word) {
            self.counts.push((count, rest.to_owned()));
            return Ok(());
        }
        match word {
            "input" | "output" => {
                let Some((name, text)) = rest.split_once('=').map(|(name, text)| (name.trim(), text.trim())) else {
                    return wrong(format!("expected `{word} NAME = VALUE`"));
                };
                if text.contains(" #") {
                    return wrong("a comment ends with its line: nothing may follow the value".into());
                }
                let list = if word == "input" { &mut self.inputs } else { &mut self.outputs };
                if list.iter().any(|before| before.name == name) {
                    return wrong(format!("{word} `{name}` has a value already"));
                }
                list.push(Named { name: name.to_owned(), text: text.to_owned(), line });
            }
            "error" if !rest.is_empty() => self.error = Some(rest.to_owned()),
            "error" => return wrong("expected `error TEXT`, a part of the message".into()),
            "within" => match rest.parse::<f64>() {
                Ok(bound) if bound >= 0.0 && bound.is_finite() => self.within = Some(bound),
                _ => return wrong(format!("expected `within` and a number that is not negative, found `{rest}`")),
            },
            _ => {
                return wrong(format!(
                    "expected input, output, error, within, kernels, loops, reads or writes, found `{word}`; a test ends with the \
                     first line that is no comment"
                ));
            }
        }
        Ok(())
    }
}
