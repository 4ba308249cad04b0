//! Builds the pages of `docs/` as a web site: `cargo run -p rulec-book` writes the site to
//! `target/book`. The program uses mdBook as a library. `docs/book.toml` names the preprocessor
//! that highlights rules: an example of `rulec-ide`.

use mdbook_driver::MDBook;
use mdbook_driver::errors::Result;
use std::path::Path;

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    MDBook::load(root)?.build()?;
    println!("the site is in target/book; open target/book/index.html");
    Ok(())
}
