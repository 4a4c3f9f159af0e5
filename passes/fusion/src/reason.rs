//! Why a law does not apply: what reports say of producers that stay apart from a user.

use std::fmt;

use crate::{functions::MOST_NESTING, language::Shape};

/// Why a law does not apply.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Reason {
    /// Extents do not show that all that the user reads exists.
    Short,
    /// A check of extents would be lost.
    Forgotten,
    /// A check of an index would be lost.
    Unread,
    /// A check of an index says the index and the extents, which scalar code cannot: it stays a read, or a cluster's.
    Unproved,
    /// A reshape's check of how many elements there are would be lost.
    Count,
    /// A map of no sources has no extents.
    NoSourceLeft,
    /// A map does not know its index.
    WantsIndex,
    /// A traversal would become a read by index.
    TraversedBeside,
    /// Sources are read at several indices.
    OtherIndex,
    /// A reshape of what is stored costs nothing.
    StoredAnyway,
    /// Taps of what reads elsewhere would be gathered one by one.
    Scattered,
    /// Sources whose extents may differ cannot be read by one operation.
    OtherExtents,
    /// A consumer of several sources, of which the producer makes one.
    OtherSources,
    /// Clustering does better.
    OnceARow,
    /// Elements stand elsewhere in longer sources.
    ElsewhereInSources,
    /// Edges are elsewhere in longer sources.
    EdgesElsewhere,
    /// What stands outside of a tapped array is not made by the producer.
    OutsideIsOther,
    /// An array has one boundary.
    TwoBoundaries,
    /// A stencil that taps another array stays a stencil.
    TappedBeside,
    /// A source is traversed by the same user.
    TraversedToo,
    /// A source is not stored.
    WouldBeStored(String),
    ByPosition,
    InLoop,
    AsWhole,
    /// How often elements are read is unknown.
    DataDecides,
    /// What it costs to compute it where it is read, and to store it.
    Expensive {
        taken_in: u64,
        kept: u64,
    },
    ExpensiveTwice,
    NothingChanges,
    Nested,
    Large(usize),
    NoLaw {
        consumer: Shape,
        producer: Shape,
        read: bool,
    },
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Short => {
                write!(f, "it may run over less than its sources, and its user was not proved to stay inside")
            }
            Self::Forgotten => {
                write!(f, "what it checks of extents was not proved, and its user alone would not check it")
            }
            Self::Unread => write!(
                f,
                "its function may not look at what it reads, and the check of the index is that of reading it"
            ),
            Self::Unproved => {
                write!(f, "that its user stays inside was not proved, and the check is that of reading it")
            }
            Self::Count => {
                write!(f, "that both have as many elements was not proved: it is checked when it runs")
            }
            Self::NoSourceLeft => write!(f, "no other source would be left"),
            Self::WantsIndex => {
                write!(f, "it depends on the index, which a map does not know: clustering fuses the two")
            }
            Self::TraversedBeside => write!(
                f,
                "beside it an array is traversed, which would have to be read by index: clustering fuses the two"
            ),
            Self::OtherIndex => write!(f, "the other sources are not read at the same index: clustering fuses them"),
            Self::StoredAnyway => {
                write!(f, "what it reads is stored anyway, and costs nothing in other extents")
            }
            Self::Scattered => {
                write!(f, "its user taps along rows that it does not read as rows: each tap would be gathered")
            }
            Self::OtherExtents => write!(f, "its sources were not proved to have the same extents"),
            Self::OtherSources => write!(f, "its user has other sources too, which are not made in the same way"),
            Self::OnceARow => {
                write!(f, "it is repeated along inner dimensions alone: clustering computes it once a row")
            }
            Self::ElsewhereInSources => {
                write!(f, "it may run over less than its sources, whose elements stand elsewhere")
            }
            Self::EdgesElsewhere => {
                write!(f, "it may run over less than its sources, so that their edges are elsewhere")
            }
            Self::OutsideIsOther => {
                write!(f, "outside of it stands a constant or a function, which are no results of the map")
            }
            Self::TwoBoundaries => write!(f, "a source of it would be tapped under two boundaries"),
            Self::TappedBeside => write!(f, "its user taps another array too, which would have to be read by index"),
            Self::TraversedToo => write!(f, "its user traverses it too"),
            Self::WouldBeStored(name) => write!(f, "its source `{name}` would have to be stored to be read by index"),
            Self::ByPosition => write!(f, "it is read by its position in memory"),
            Self::InLoop => write!(f, "it is read in a loop, as often as that turns"),
            Self::AsWhole => write!(f, "its user needs it otherwise than by elements"),
            Self::DataDecides => {
                write!(f, "data decides the index that it is read at, so how often its work would be done is unknown")
            }
            Self::Expensive { taken_in, kept } => {
                write!(f, "computing it where it is read costs {taken_in} an element of its user, storing it {kept}")
            }
            Self::ExpensiveTwice => write!(f, "others use it too, and it is too expensive to be computed twice"),
            Self::NothingChanges => write!(f, "nothing would change"),
            Self::Nested => write!(f, "its user would have bodies nested more than {MOST_NESTING} deep"),
            Self::Large(most) => write!(f, "its user would have more than {most} instructions"),
            Self::NoLaw { consumer, producer, read } => {
                let by_index = if *read { " that reads it by index" } else { "" };
                write!(f, "no law takes a {} into a {}{by_index}", producer.name(), consumer.name())
            }
        }
    }
}
