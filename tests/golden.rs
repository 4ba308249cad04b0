//! Golden prints: the bytecode of small programs beside their source in `tests/golden/`, so that a
//! change of lowering is seen in review. `INSTA_UPDATE=always cargo test --test golden` writes them anew.

#[path = "support/golden.rs"]
mod support;

use rulec::Rules;
use rulec::internals::bytecode::disasm::disassemble;
use std::path::Path;

#[test]
fn programs_lower_as_written_down() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut programs: Vec<_> = std::fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "rules"))
        .collect();
    programs.sort();
    assert!(programs.len() >= 5, "the golden programs are gone");
    for path in programs {
        let rules = Rules::from_path(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let printed = disassemble(rules.bytecode().chunk(), Some(rules.program()));
        support::assert_file(&path.with_extension("bytecode"), &printed);
    }
}
