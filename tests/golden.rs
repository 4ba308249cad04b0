//! Golden prints: the bytecode of small programs beside their source in `tests/golden/`, so that a
//! change of lowering is seen in review. `RULEC_BLESS=1 cargo test --test golden` writes them anew.

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
        let golden = path.with_extension("bytecode");
        if std::env::var_os("RULEC_BLESS").is_some() {
            std::fs::write(&golden, &printed).unwrap();
        }
        let written = std::fs::read_to_string(&golden).unwrap_or_default();
        assert_eq!(written, printed, "{} differs; RULEC_BLESS=1 writes it anew", golden.display());
    }
}
