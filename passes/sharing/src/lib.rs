//! Sharing recovery: from a term graph to a program
