//! The command fusebox
