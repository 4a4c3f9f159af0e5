//! The code blocks of a page.

/// A block between two fences.
pub struct Block {
    /// The first word behind the fence.
    pub kind: String,
    /// The other words.
    pub words: Vec<String>,
    /// The line of the opening fence, counted from 1.
    pub line: usize,
    /// What stands between the fences.
    pub lines: Vec<String>,
}

/// Text between blocks, or a block.
pub enum Part {
    /// A line outside of blocks.
    Line(String),
    /// A block.
    Block(Block),
}

/// A page as its parts; a block that is never closed ends with the page.
pub fn parts(text: &str) -> Vec<Part> {
    let mut parts = Vec::new();
    let mut lines = (1..).zip(text.lines());
    while let Some((line, content)) = lines.next() {
        let Some(info) = content.strip_prefix("```") else {
            parts.push(Part::Line(content.to_owned()));
            continue;
        };
        let mut words = info.split([',', ' ']).filter(|word| !word.is_empty()).map(str::to_owned);
        let kind = words.next().unwrap_or_default();
        let words = words.collect();
        let lines = lines.by_ref().map(|(_, line)| line).take_while(|line| *line != "```").map(str::to_owned).collect();
        parts.push(Part::Block(Block { kind, words, line, lines }));
    }
    parts
}

/// The page that these parts are.
pub fn join(parts: &[Part]) -> String {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Line(line) => text += line,
            Part::Block(block) => {
                text += "```";
                text += &block.kind;
                block.words.iter().for_each(|word| text += &format!(",{word}"));
                block.lines.iter().for_each(|line| text += &format!("\n{line}"));
                text += "\n```";
            }
        }
        text.push('\n');
    }
    text
}

#[test]
fn pages_are_cut_and_joined() {
    let text = "# A\n\n```fbx,fails\nfn f\n```\nend\n```console\n```\n";
    let parts = parts(text);
    let Part::Block(block) = &parts[2] else { panic!("the third part is a block") };
    assert_eq!((block.kind.as_str(), block.line, block.lines.as_slice()), ("fbx", 3, &["fn f".to_owned()][..]));
    assert_eq!(block.words, ["fails"]);
    assert_eq!(join(&parts), text);
}
