//! The pages of `docs/` as a site: `cargo run -p rulec-book` writes it to `target/book`. The program is mdBook as a library;
//! `mdbook build docs` does the same.

use mdbook_driver::MDBook;
use mdbook_driver::errors::Result;
use std::path::Path;

fn main() -> Result<()> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let book = MDBook::load(root)?;
    book.build()?;
    println!("the site is in target/book; open target/book/index.html");
    Ok(())
}
