//! Fuzzes the message parser with any bytes. The parser accepts whatever serde_json accepts, unless
//! a limit rejects the message. The decision must equal the decision on serde_json's value.

use crate::{READING, fuzz_compiler};
use rulec::{JsonErrorKind, Rules};
use serde_json::{Deserializer, Value as Json};
use std::sync::OnceLock;

/// Parses the bytes with serde_json, without serde_json's depth limit. That limit is one level
/// below the limit of rulec.
fn read(bytes: &[u8]) -> Option<Json> {
    let mut reader = Deserializer::from_slice(bytes);
    reader.disable_recursion_limit();
    let mut values = reader.into_iter();
    values.next()?.ok().filter(|_| values.next().is_none())
}

/// Runs the target on one input.
pub fn run(bytes: &[u8]) {
    static RULES: OnceLock<Rules> = OnceLock::new();
    let rules = RULES.get_or_init(|| fuzz_compiler().compile_text(READING).expect("it compiles"));
    match (rules.main().decide_line(bytes), read(bytes)) {
        (Ok(decision), Some(message)) => {
            assert!(message.is_object(), "what is no object was taken for a message");
            let (one, other) =
                (serde_json::to_value(&decision), serde_json::to_value(rules.decide(&message)));
            assert_eq!(one.expect("JSON"), other.expect("JSON"));
        }
        (Ok(_), None) => panic!("what is no JSON was taken for it"),
        (Err(error), read) => {
            assert!(!error.to_string().is_empty());
            let refused = |message: Json| match error.kind() {
                JsonErrorKind::Depth | JsonErrorKind::DuplicateKey | JsonErrorKind::NumberRange => true,
                JsonErrorKind::NotAnObject => !message.is_object(),
                _ => false,
            };
            assert!(read.is_none_or(refused), "serde_json reads what is refused: {error}");
        }
    }
}
