//! Bugs of ours, as told from mistakes in what is given.

/// Panics because of a bug of ours: says what is not as it has to be, and shows the program, plan or kernel in which that was found.
///
/// For what no valid input brings about. What an input can bring about is an error, and no panic; and nothing goes on with a value that
/// stands for one that is missing.
///
/// ```should_panic
/// let program = fusebox_ir::text::parse("fn same(a: [n]i32) -> [n]i32 { return a }").unwrap();
/// fusebox_ir::bug!(program, "{} has no value", program.body.results[0]);
/// ```
#[macro_export]
macro_rules! bug {
    ($shown:expr, $($message:tt)+) => {
        ::std::panic!("{}, in\n{}", ::std::format_args!($($message)+), $shown)
    };
}
