//! Text with braces that stand on one line where they are short, and over several where they are not.

/// Lines are broken at braces that would reach further.
const WIDTH: usize = 110;

/// A piece of text.
#[derive(Debug, Default)]
pub(in crate::text) struct Out {
    parts: Vec<Part>,
    /// On one line.
    width: usize,
}

#[derive(Debug)]
enum Part {
    Text(String),
    Braces { items: Vec<Out>, width: usize },
}

impl Out {
    pub fn new(text: impl Into<String>) -> Self {
        let text = text.into();
        Self { width: text.chars().count(), parts: vec![Part::Text(text)] }
    }

    pub fn text(&mut self, text: &str) {
        self.width += text.chars().count();
        match self.parts.last_mut() {
            Some(Part::Text(last)) => last.push_str(text),
            _ => self.parts.push(Part::Text(text.to_owned())),
        }
    }

    pub fn append(&mut self, other: Self) {
        self.width = self.width.saturating_add(other.width).min(usize::MAX / 4);
        for part in other.parts {
            match (self.parts.last_mut(), part) {
                (Some(Part::Text(last)), Part::Text(text)) => last.push_str(&text),
                (_, part) => self.parts.push(part),
            }
        }
    }

    /// `{ a; b }`, on one line where that is short.
    pub fn braces(&mut self, items: Vec<Self>) {
        let width = items.iter().fold(2, |sum, item| item.width.saturating_add(sum + 2)).min(usize::MAX / 4);
        self.width = self.width.saturating_add(width).min(usize::MAX / 4);
        self.parts.push(Part::Braces { items, width });
    }

    /// `{ a; b }`, one statement a line if there are several.
    pub fn block(&mut self, items: Vec<Self>) {
        let width =
            if items.len() > 1 { usize::MAX / 4 } else { items.iter().map(|item| item.width).sum::<usize>() + 4 };
        self.width = self.width.saturating_add(width).min(usize::MAX / 4);
        self.parts.push(Part::Braces { items, width });
    }

    /// `{ a }`, always one statement a line.
    pub fn lined(&mut self, items: Vec<Self>) {
        self.width = usize::MAX / 4;
        self.parts.push(Part::Braces { items, width: usize::MAX / 4 });
    }

    /// The text, over as many lines as needed.
    pub fn lines(&self) -> String {
        let mut text = String::new();
        let mut column = 0;
        self.write(0, &mut column, &mut text);
        text
    }

    fn write(&self, indent: usize, column: &mut usize, text: &mut String) {
        for part in &self.parts {
            match part {
                Part::Text(piece) => {
                    *column += piece.chars().count();
                    text.push_str(piece);
                }
                Part::Braces { items, width }
                    if (items.len() == 1 && *width < usize::MAX / 4) || *column + width <= WIDTH =>
                {
                    text.push_str("{ ");
                    for (position, item) in items.iter().enumerate() {
                        text.push_str(if position == 0 { "" } else { "; " });
                        item.write(indent, column, text);
                    }
                    text.push_str(" }");
                    *column += 4;
                }
                Part::Braces { items, .. } => {
                    text.push('{');
                    for item in items {
                        text.push('\n');
                        text.extend(std::iter::repeat_n(' ', indent + 2));
                        *column = indent + 2;
                        item.write(indent + 2, column, text);
                    }
                    text.push_str(" }");
                    *column += 2;
                }
            }
        }
    }
}
