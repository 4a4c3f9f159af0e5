//! The embedded language: typed handles that build a term graph, and the prelude
