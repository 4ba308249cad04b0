//! Fuzzes the loader of compiled rules (artifacts) with changed bytes and a matching hash. Either
//! the loader refuses the artifact, or all engines make the same decisions with it. The first byte
//! selects the rules. The next bytes are edits: an offset, an operation and a value.

use crate::forge::{hash_offset, rehash};
use crate::{assert_engines_agree, fuzz_compiler, sample_messages, sample_rules};
use std::sync::OnceLock;

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    static ARTIFACTS: OnceLock<Vec<Vec<u8>>> = OnceLock::new();
    let artifacts = ARTIFACTS.get_or_init(|| {
        sample_rules()
            .iter()
            .map(|text| fuzz_compiler().compile_text(text).expect("it compiles").to_artifact(true))
            .collect()
    });
    let Some((which, changes)) = bytes.split_first() else { return };
    let mut artifact = artifacts[usize::from(*which) % artifacts.len()].clone();
    let start = hash_offset(&artifact) + 32;
    for change in changes.chunks_exact(4) {
        let [low, high, operation, byte] = change else { continue };
        let at = start + usize::from(u16::from_le_bytes([*low, *high])) % (artifact.len() - start);
        match operation % 4 {
            0 => artifact[at] = *byte,
            1 => artifact[at] ^= 1 << (byte % 8),
            2 => artifact.insert(at, *byte),
            _ => drop(artifact.remove(at)),
        }
        if artifact.len() <= start {
            return;
        }
    }
    match fuzz_compiler().load_artifact(&rehash(artifact)) {
        Ok(rules) => sample_messages().iter().for_each(|message| assert_engines_agree(&rules, message)),
        Err(error) => assert!(!error.diagnostics().is_empty()),
    }
}
