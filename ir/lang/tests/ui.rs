//! Mixing shapes and element types does not compile, with messages worth reading.

#[test]
fn messages() {
    trybuild::TestCases::new().compile_fail("tests/ui/*.rs");
}
