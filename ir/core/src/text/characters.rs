//! Characters of names.

/// Whether a name may start with it.
pub(super) fn starts_name(c: char) -> bool {
    c == '_' || c.is_alphabetic()
}

/// Whether a name may go on with it.
pub(super) fn continues_name(c: char) -> bool {
    starts_name(c) || c.is_ascii_digit()
}
