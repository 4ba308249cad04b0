//! Checks, with the feature `assets`, that the studio's page was built, because this feature embeds
//! the page in the program. If the page is missing, the build fails with a message that says how to
//! build it.

use std::path::Path;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    if std::env::var_os("CARGO_FEATURE_ASSETS").is_none() {
        return;
    }
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("dist");
    println!("cargo::rerun-if-changed={}", folder.display());
    for file in ["index.html", "report.html"] {
        if !folder.join(file).is_file() {
            println!(
                "cargo::error=the studio's page is not built: run `studio/build`, which needs Node, and build again"
            );
            return;
        }
    }
}
