//! Sorts: how a processor sorts by digits, and short rows by a network.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::tokens::{ParseError, Tokens};

/// How the sorts of a plan run on a processor. Threads spread elements by the highest bits in which keys differ, each thread a piece of them; then what has
/// these bits in common is sorted by one thread, by one digit after another, the lowest first. Sorts are stable either way: results do not depend on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Sorts {
    /// Bits of a digit at most: 1 to [`Self::MOST_DIGIT`].
    #[schemars(range(min = 1, max = 11))]
    pub digit: u32,
    /// Bits by which threads spread elements at most: 1 to [`Self::MOST_SPREAD`].
    #[schemars(range(min = 1, max = 9))]
    pub spread: u32,
    /// How many elements have these bits in common, about, at least: with fewer elements there are fewer such bits.
    #[schemars(range(min = 1))]
    pub bucket: u32,
    /// Up to so many elements are compared with each other.
    pub compare: u32,
    /// Where there are several rows of up to so many elements, a network of comparators sorts some of them at once.
    #[serde(default = "Sorts::usual_network")]
    pub network: u32,
}

impl Sorts {
    /// Bits of a digit at most: counts of longer ones do not fit the innermost cache beside what is moved.
    pub const MOST_DIGIT: u32 = 11;
    /// Bits by which threads spread at most: with more, places to write would be too many for the innermost cache.
    pub const MOST_SPREAD: u32 = 9;

    /// What a processor does, if nothing else is said.
    pub const USUAL: Self =
        Self { digit: Self::MOST_DIGIT, spread: Self::MOST_SPREAD, bucket: 4_096, compare: 192, network: 2_048 };

    const fn usual_network() -> u32 {
        Self::USUAL.network
    }

    /// What else may be faster: shorter digits, fewer and more buckets, and where comparing and networks end.
    pub fn alternatives() -> Vec<Self> {
        let usual = Self::USUAL;
        vec![
            Self { digit: 8, ..usual },
            Self { spread: 6, ..usual },
            Self { bucket: 1 << 10, ..usual },
            Self { bucket: 1 << 16, ..usual },
            Self { compare: 48, ..usual },
            Self { compare: 1_000, ..usual },
            Self { network: 0, ..usual },
            Self { network: 256, ..usual },
            Self { network: 16_384, ..usual },
        ]
    }

    /// As text, which [`crate::Book::parse`] reads.
    pub fn to_text(self) -> String {
        let Self { digit, spread, bucket, compare, network } = self;
        format!("sorts by {digit} bits spread by {spread} bits into {bucket} compare {compare} network {network}\n")
    }

    /// What is wrong with it, if something is.
    pub(crate) fn fault(self) -> Option<String> {
        let within = |what: &str, bits: u32, most: u32| {
            (!(1..=most).contains(&bits)).then(|| format!("{what} have 1 to {most} bits, and not {bits}"))
        };
        within("digits", self.digit, Self::MOST_DIGIT)
            .or_else(|| within("spread elements", self.spread, Self::MOST_SPREAD))
            .or_else(|| (self.bucket == 0).then(|| "a bucket has one element at least".to_owned()))
    }

    /// Reads what stands behind the word `sorts`.
    pub(crate) fn parse(tokens: &mut Tokens<'_>) -> Result<Self, ParseError> {
        let bits = |tokens: &mut Tokens<'_>| {
            tokens.word("by")?;
            let bits = tokens.small()?;
            tokens.word("bits").map(|()| bits)
        };
        let digit = bits(tokens)?;
        tokens.word("spread")?;
        let spread = bits(tokens)?;
        tokens.word("into")?;
        let bucket = tokens.small()?;
        tokens.word("compare")?;
        let compare = tokens.count()?;
        let network = if tokens.takes_word("network") { tokens.count()? } else { Self::USUAL.network };
        let sorts = Self { digit, spread, bucket, compare, network };
        sorts.fault().map_or(Ok(sorts), |fault| Err(tokens.before(fault)))
    }
}

#[cfg(test)]
mod tests {
    use super::Sorts;
    use crate::Book;

    fn read(text: &str) -> Result<Option<Sorts>, String> {
        Book::parse(text, &[]).map(|book| book.sorts()).map_err(|error| error.to_string())
    }

    #[test]
    fn text_and_json_are_read_again() {
        for sorts in Sorts::alternatives().into_iter().chain([Sorts::USUAL, Sorts { compare: 0, ..Sorts::USUAL }]) {
            assert_eq!(read(&sorts.to_text()), Ok(Some(sorts)));
            let mut book = Book::default();
            book.set_sorts(Some(sorts));
            assert!(!book.is_empty());
            assert_eq!(Book::from_json(&book.to_json()).unwrap(), book);
        }
        assert_eq!(read("strips never"), Ok(None));
        let without = Sorts::USUAL.to_text().replace(" network 2048", "");
        assert_eq!(read(&without), Ok(Some(Sorts::USUAL)));
        // Nothing is tried that is usual.
        assert!(!Sorts::alternatives().contains(&Sorts::USUAL));
    }

    #[test]
    fn what_is_wrong_is_said_with_its_place() {
        let text = Sorts::USUAL.to_text();
        for (from, to, expected) in [
            ("by 11", "by 12", "digits have 1 to 11 bits, and not 12"),
            ("by 11", "by 0", "line 1, column 10"),
            ("by 9", "by 10", "spread elements have 1 to 9 bits, and not 10"),
            ("into 4096", "into 0", "line 1, column 40"),
            ("compare 192", "", "expected `compare`"),
            ("bits", "bytes", "expected `bits`"),
            ("compare 192", "compare -1", "line 1"),
            ("network 2048", "network -1", "line 1"),
            ("\n", " sorts by 1", "line 1, column 70: sorts stand here a second time"),
        ] {
            let found = read(&text.replace(from, to)).unwrap_err();
            assert!(found.contains(expected), "{from} to {to}: {found}");
        }
        for sorts in [r#"{"digit": 12, "spread": 9, "bucket": 1, "compare": 0}"#, r#"{"digit": 1}"#] {
            assert!(Book::from_json(&format!(r#"{{"entries": [], "sorts": {sorts}}}"#)).is_err(), "{sorts}");
        }
    }
}
