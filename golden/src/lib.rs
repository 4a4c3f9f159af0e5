//! Golden programs with inputs, expected results and counts; the conformance suite
