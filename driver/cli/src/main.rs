//! The command `fusebox`.

use std::process::ExitCode;

fn main() -> ExitCode {
    fusebox_cli::main(std::env::args_os())
}
