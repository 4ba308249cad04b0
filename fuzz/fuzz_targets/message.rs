//! Any bytes as a message: read as serde_json reads them, or refused for what the limits say; and decided as the tree of
//! serde_json is.

#![no_main]

use libfuzzer_sys::fuzz_target;
use rulec::Rules;
use rulec_fuzz::{READING, compiler};
use serde_json::Value as Json;
use std::sync::OnceLock;

fuzz_target!(|bytes: &[u8]| {
    static RULES: OnceLock<Rules> = OnceLock::new();
    let rules = RULES.get_or_init(|| compiler().compile_text(READING).expect("it compiles"));
    let (ours, theirs) = (rules.main().decide_line(bytes), serde_json::from_slice::<Json>(bytes));
    match (ours, theirs) {
        (Ok(decision), Ok(message)) => {
            assert!(message.is_object(), "what is no object was taken for a message");
            let (one, other) =
                (serde_json::to_value(&decision), serde_json::to_value(rules.decide(&message)));
            assert_eq!(one.expect("JSON"), other.expect("JSON"));
        }
        (Ok(_), Err(error)) => panic!("what is no JSON was taken for it: {error}"),
        // Doubled keys, too deep a nesting, numbers out of range.
        (Err(error), _) => assert!(!error.to_string().is_empty()),
    }
});
