//! Tests the defaults of fields, and the order in which corrections and defaults apply.

use crate::payload::check;
use rulec::payload::Outcome;
use serde_json::json;

/// A missing field gets its default. For an optional field, this is no violation; for a required
/// field, it is one.
#[test]
fn the_default_of_an_optional_field_is_no_violation() {
    use Outcome::{Accept, AcceptCorrected, Reject};
    let rules = r#"payload p {
      a?: number default 1.0
      b?: number | null default 2.0
      require "p.a.small" at a: a < 5
    }"#;
    let judgement = check(rules, json!({}), &[], Accept);
    assert_eq!(judgement.corrected(), Some(&json!({"a": 1.0, "b": 2.0})));
    let judgement = check(rules, json!({"a": 3, "b": null}), &[], Accept);
    assert_eq!(judgement.corrected(), None);
    check(rules, json!({"a": null, "b": 1}), &["p.a.type $.a"], Reject);
    check(rules, json!({"a": 7}), &["p.a.small $.a"], Reject);
    let required =
        check("payload p { a: number default 1.0 }", json!({}), &["p.a.required $.a"], AcceptCorrected);
    assert_eq!(required.corrected(), Some(&json!({"a": 1.0})));
    // A default that violates another rule rejects the payload.
    let wrong = "payload p { a?: number default 9.0; require \"p.a.small\" at a: a < 5 }";
    check(wrong, json!({}), &["p.a.small $.a"], Reject);
}

/// Regression test: a correction removed an optional field with a default, and the default did not
/// complete the corrected payload. So a payload was accepted that is rejected if it is checked
/// alone.
#[test]
fn a_removed_field_is_completed_by_its_default() {
    use Outcome::{AcceptCorrected, Reject};
    let rules = r#"payload p { a?: string default "none"; forbid "p.a.x" at a when a == "x" remove }"#;
    let judgement = check(rules, json!({"a": "x"}), &["p.a.x $.a"], AcceptCorrected);
    assert_eq!(judgement.corrected(), Some(&json!({"a": "none"})));
    let kinds: Vec<_> = judgement.corrections().iter().map(|one| (one.kind, &*one.path)).collect();
    assert_eq!(kinds, [("remove", "$.a"), ("default", "$.a")]);
    let rules = r#"payload p { a?: string default "x"; forbid "p.a.x" at a when a == "x" remove }"#;
    check(rules, json!({"a": "x"}), &["p.a.x $.a"], Reject);
}
