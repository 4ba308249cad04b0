//! The program. All of it lies in the library beside it, which the Python package runs as well.

use std::process::ExitCode;

fn main() -> ExitCode {
    ExitCode::from(rulec_cli::main(std::env::args_os().collect()))
}
