//! Forged artifacts, and a check of the rules that are loaded from them: all engines must agree.
//! The fuzz targets use this module too.

use rulec::{Indexing, Rules, Tier, payload};
use serde_json::Value as Json;
use sha2::{Digest, Sha256};

/// Rules that read fields of every type.
pub const READING: &str = r#"
input { text: string, n?: int, f?: float, ok?: bool, at?: datetime, now?: datetime, tags?: list<string>, user?: { name?: string, age?: int }, more?: any }
route number when n > 3 or f < 0.5 -> number(n: n, f: f)
route says when text contains any ["show", "文件"] or tags contains "a" -> says(text: text, tags: tags)
route person when user.name starts_with "A" and user.age in 1..=9 -> person(user: user)
route other when more.x == 1 or (more as string) == "y" or at > now -> other(more: more)
default -> rest(ok: ok)
"#;

/// Corrects the content hash of a changed artifact, so that the artifact is accepted. A forger
/// could do the same.
pub fn rehash(mut bytes: Vec<u8>) -> Vec<u8> {
    let at = hash_offset(&bytes);
    if bytes.len() >= at + 32 {
        let hash = Sha256::digest(&bytes[at + 32..]);
        bytes[at..at + 32].copy_from_slice(&hash);
    }
    bytes
}

/// Returns the offset of the content hash in an unsigned artifact. The hash follows the magic
/// bytes, the format, the vocabulary hash, the version, and the byte that is 0 if there is no
/// signature.
pub fn hash_offset(bytes: &[u8]) -> usize {
    22 + usize::from(bytes[20])
}

/// Returns the decision as JSON, without the parts that may differ between engines.
pub fn decide_to_json(rules: &Rules, entry: &str, message: &Json) -> Json {
    let mut decision =
        serde_json::to_value(rules.entry(entry).ok().map(|entry| entry.decide(message))).expect("JSON");
    if let Some(decision) = decision.as_object_mut() {
        decision.remove("failures");
        // The values that a decision evaluates depend on the engine, and so do the exceeded limits.
        decision.remove("exceeded");
    }
    decision
}

/// Checks that every engine decides and validates the messages like the reference evaluator. If
/// `thorough`, also checks the JIT, and that the explanation matches the decision.
pub fn assert_agree(rules: &Rules, messages: &[Json], thorough: bool) {
    let by = |tier: Tier, indexing: Indexing| rules.with_tier(tier).with_index(indexing);
    let reference = by(Tier::Reference, Indexing::Never);
    let engines =
        [by(Tier::Vm, Indexing::Never), by(Tier::Vm, Indexing::Always), by(Tier::Jit, Indexing::Never)];
    let engines = &engines[..if thorough { 3 } else { 2 }];
    for entry in rules.entries() {
        for message in messages {
            let expected = decide_to_json(&reference, entry, message);
            for engine in engines {
                assert_eq!(
                    decide_to_json(engine, entry, message),
                    expected,
                    "{:?} {entry} {message}",
                    engine.main().backend(false)
                );
            }
            if thorough {
                let explanation = rules.entry(entry).expect("an entry").explain(message, true);
                let decision = reference.entry(entry).expect("an entry").decide(message);
                assert_eq!(explanation.chosen.as_deref(), decision.chosen(), "{entry} {message}");
                let _ = explanation.to_string();
            }
        }
    }
    for kind in payload::kinds(rules) {
        for message in messages {
            // Which of several oversized values exceeds a limit first depends on the engine, so
            // this is left out.
            let judged = |rules: &Rules| {
                let judgement = rules.judge(kind).ok()?.judge(message);
                let mut json = serde_json::to_value(&judgement).expect("a judgement is JSON");
                json.as_object_mut().expect("it is an object").remove("exceeded");
                Some(json)
            };
            let expected = judged(&reference);
            for engine in engines {
                assert_eq!(judged(engine), expected, "{kind} {message}");
            }
        }
    }
}
