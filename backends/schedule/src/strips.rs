//! Strips of rows: over one after another a processor runs turns of a loop, or kernels that follow each other.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::{
    target::Cpu,
    tokens::{ParseError, Tokens},
};

/// How turns of loops of rows run ([`fusebox_ir::analysis::RowLoop`]), and kernels of rows that follow each other
/// ([`fusebox_ir::analysis::RowSequence`]). Results do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
pub enum Strips {
    /// One after the other, over all rows.
    Never,
    /// Over strips.
    Of {
        /// Bytes of the rows of a strip, of all arrays.
        #[schemars(range(min = 1))]
        bytes: u64,
        /// From how many bytes of all arrays on.
        from: u64,
    },
}

impl Strips {
    /// From how many bytes of arrays on strips are taken, if nothing else is said: about what the third cache has for a core.
    pub const FROM: u64 = 4 << 20;

    /// Bytes of a strip for a second cache of so many bytes: three quarters, as the rest holds what all rows need.
    pub fn bytes_for(second_cache: u64) -> u64 {
        second_cache / 4 * 3
    }

    /// What a processor takes, if nothing else is said.
    pub fn usual(cpu: &Cpu) -> Self {
        Self::Of { bytes: Self::bytes_for(cpu.second_cache), from: Self::FROM }
    }

    /// What else may be faster: smaller and larger strips, for fewer and more bytes, and none.
    pub fn alternatives(cpu: &Cpu) -> Vec<Self> {
        let bytes = Self::bytes_for(cpu.second_cache);
        let of = |bytes, from| Self::Of { bytes, from };
        vec![
            Self::Never,
            of(bytes / 2, Self::FROM),
            of(bytes / 4, Self::FROM),
            of(2 * bytes, Self::FROM),
            of(bytes, Self::FROM / 8),
            of(bytes / 4, Self::FROM / 8),
        ]
    }

    /// As text, which [`crate::Book::parse`] reads.
    pub fn to_text(self) -> String {
        match self {
            Self::Never => "strips never\n".to_owned(),
            Self::Of { bytes, from } => format!("strips of {bytes} from {from}\n"),
        }
    }

    /// Reads what stands behind the word `strips`.
    pub(crate) fn parse(tokens: &mut Tokens<'_>) -> Result<Self, ParseError> {
        if tokens.takes_word("never") {
            return Ok(Self::Never);
        }
        tokens.word("of")?;
        let bytes = tokens.bytes()?;
        if bytes == 0 {
            return Err(tokens.before("a strip has one byte at least".to_owned()));
        }
        tokens.word("from")?;
        Ok(Self::Of { bytes, from: tokens.bytes()? })
    }
}

#[cfg(test)]
mod tests {
    use super::Strips;
    use crate::{Book, Target};

    fn read(text: &str) -> Result<Option<Strips>, String> {
        Book::parse(text, &[]).map(|book| book.strips()).map_err(|error| error.to_string())
    }

    #[test]
    fn text_and_json_are_read_again() {
        for name in Target::NAMES {
            let Some(cpu) = Target::named(name).unwrap().cpu().cloned() else { continue };
            for strips in Strips::alternatives(&cpu).into_iter().chain([Strips::usual(&cpu)]) {
                assert_eq!(read(&strips.to_text()), Ok(Some(strips)));
                let mut book = Book::default();
                assert!(book.is_empty());
                book.set_strips(Some(strips));
                assert!(!book.is_empty());
                assert_eq!(Book::from_json(&book.to_json()).unwrap(), book);
            }
            // Nothing is tried that is usual.
            assert!(!Strips::alternatives(&cpu).contains(&Strips::usual(&cpu)));
        }
        assert_eq!(read(""), Ok(None));
        let commented = "# nothing\nstrips of 4096 # bytes\nfrom 0";
        assert_eq!(read(commented), Ok(Some(Strips::Of { bytes: 4096, from: 0 })));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        for (text, expected) in [
            ("strips", "line 1, column 7"),
            ("strips always", "line 1, column 8"),
            ("strips of 0 from 1", "line 1, column 11: a strip has one byte at least"),
            ("strips of 5", "line 1, column 12"),
            ("strips of -5 from 0", "line 1, column 11"),
            ("strips of 99999999999999999999 from 0", "line 1, column 11"),
            ("strips never\nstrips of 5 from 0", "line 2, column 1: strips stand here a second time"),
        ] {
            let found = read(text).unwrap_err();
            assert!(found.starts_with(expected), "{text}: {found}");
        }
        for strips in [r#"{"of": {"bytes": 0, "from": 1}}"#, r#""always""#] {
            assert!(Book::from_json(&format!(r#"{{"entries": [], "strips": {strips}}}"#)).is_err(), "{strips}");
        }
        assert!(Book::schema().contains("\"never\""), "{}", Book::schema());
    }
}
