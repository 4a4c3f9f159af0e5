//! The facade: compile once, run many times, on any backend
