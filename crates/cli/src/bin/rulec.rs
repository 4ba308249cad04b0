//! The `rulec` program. All code is in the library crate, which the Python package also runs.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(rulec_cli::main(std::env::args_os().collect()))
}
