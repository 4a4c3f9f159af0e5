//! `--print-after-all`: the program after each pass, on standard error, for who wants to see where something goes wrong.

use fusebox::Stage;
use fusebox_ir::{Made, Pass, Program};

/// The option of commands that run passes.
#[derive(clap::Args)]
pub(crate) struct AfterAll {
    /// Print the program after each pass on standard error, also those before one that fails
    #[arg(long)]
    pub(crate) print_after_all: bool,
}

impl AfterAll {
    /// Runs passes, and prints what each makes if that is wanted.
    ///
    /// # Errors
    /// As [`fusebox::run_passes`].
    pub(crate) fn run(
        &self,
        program: &Program,
        passes: &[&'static dyn Pass],
        verify: bool,
    ) -> Result<Vec<Stage>, fusebox::Error> {
        let mut before = if self.print_after_all { program.to_string() } else { String::new() };
        fusebox::run_passes_seen(program, passes, verify, |stage| {
            if self.print_after_all {
                let now = match &stage.made {
                    Made::Program(program) => program.to_string(),
                    Made::Plan(plan) => plan.to_string(),
                };
                if now == before {
                    eprintln!("# after {}: unchanged\n", stage.pass);
                } else {
                    eprintln!("# after {}\n{now}\n", stage.pass);
                }
                before = now;
            }
        })
    }
}
