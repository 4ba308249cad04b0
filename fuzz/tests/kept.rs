//! Runs every fuzz target on the inputs in `fuzz/corpus`, without searching for new ones.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Creates an array of all fuzz targets: the name of each target with the path of its executable.
macro_rules! targets {
    ($($name:literal)*) => { [$(($name, env!(concat!("CARGO_BIN_EXE_", $name)))),*] };
}

const FUZZ_TARGETS: [(&str, &str); 12] = targets! {
    "analysis"
    "artifact"
    "check"
    "columns"
    "differential"
    "edits"
    "format"
    "import"
    "language_server"
    "message"
    "parse"
    "studio"
};

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
    let artifacts = tempfile::tempdir().expect("a folder");
    for (name, program) in FUZZ_TARGETS {
        let corpus = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(name);
        let inputs = fs::read_dir(&corpus).expect("the kept inputs").count();
        assert!(inputs > 0, "{name} has no kept input");
        let output = Command::new(program)
            .arg(&corpus)
            .args(["-runs=0", "-timeout=60"])
            .arg(format!("-artifact_prefix={}/", artifacts.path().display()))
            .output()
            .expect("the target starts");
        assert!(output.status.success(), "{name}:\n{}", String::from_utf8_lossy(&output.stderr));
    }
}
