//! Runs every fuzz target on the inputs in `fuzz/corpus`, without libFuzzer.

use arbitrary::{Arbitrary, Unstructured};
use rulec_fuzz::targets::{
    analysis, artifact, check, columns, differential, edits, format, import, language_server, message, parse,
    studio,
};
use std::fs;
use std::path::Path;

/// The name of a fuzz target, and the function that runs the target on the bytes of an input.
type Target = (&'static str, fn(&[u8]));

const FUZZ_TARGETS: [Target; 12] = [
    ("analysis", analysis::run),
    ("artifact", artifact::run),
    ("check", |bytes| run_decoded(bytes, check::run)),
    ("columns", columns::run),
    ("differential", differential::run),
    ("edits", edits::run),
    ("format", |bytes| run_decoded(bytes, format::run)),
    ("import", |bytes| run_decoded(bytes, import::run)),
    ("language_server", |bytes| run_decoded(bytes, language_server::run)),
    ("message", message::run),
    ("parse", |bytes| run_decoded(bytes, parse::run)),
    ("studio", |bytes| run_decoded(bytes, studio::run)),
];

/// Decodes the bytes as `fuzz_target!` does, and runs the target on the value. Like libFuzzer,
/// ignores bytes that are no value.
fn run_decoded<'a, T: Arbitrary<'a>>(bytes: &'a [u8], run: impl FnOnce(T)) {
    if let Ok(value) = T::arbitrary_take_rest(Unstructured::new(bytes)) {
        run(value);
    }
}

#[test]
fn the_list_has_every_target() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz_targets");
    let entries = fs::read_dir(folder).expect("the folder of targets");
    let mut files: Vec<String> = entries
        .map(|entry| {
            entry.expect("an entry").path().file_stem().expect("a name").to_string_lossy().into_owned()
        })
        .collect();
    files.sort();
    assert_eq!(files, FUZZ_TARGETS.map(|(name, _)| name));
}

#[test]
fn no_kept_input_fails() {
    for (name, run) in FUZZ_TARGETS {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
        let mut inputs = 0;
        for entry in fs::read_dir(&folder).expect("the kept inputs") {
            let path = entry.expect("an entry").path();
            let bytes = fs::read(&path).expect("an input");
            assert!(std::panic::catch_unwind(|| run(&bytes)).is_ok(), "{name} failed on {}", path.display());
            inputs += 1;
        }
        assert!(inputs > 0, "{name} has no kept input");
    }
}
