//! The `rulec` program. Everything it does is in `cli`; everything it knows is in the library.

mod cli;

use std::process::ExitCode;

fn main() -> ExitCode {
    cli::main()
}
