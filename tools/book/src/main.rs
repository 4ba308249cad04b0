//! Builds the pages of `docs/` as a web site: `cargo run -p rulec-book` writes the site to
//! `target/book`. The program uses mdBook as a library. `docs/book.toml` names the preprocessor
//! that highlights rules: an example of `rulec-ide`. mdBook leaves out a preprocessor that does not
//! start, so this program builds the example first and fails if the example does not compile.

use mdbook_driver::MDBook;
use mdbook_driver::errors::{Error, Result};
use std::path::Path;
use std::process::Command;

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let preprocessor = ["build", "--locked", "--quiet", "-p", "rulec-ide", "--example", "mdbook_rules"];
    if !Command::new(env!("CARGO")).args(preprocessor).current_dir(&root).status()?.success() {
        return Err(Error::msg("the preprocessor that highlights rules cannot be built"));
    }
    MDBook::load(root)?.build()?;
    println!("the site is in target/book; open target/book/index.html");
    Ok(())
}
