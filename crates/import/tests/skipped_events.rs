//! A skipped condition emits a `tracing` warning, both on import and on decision. This test needs
//! its own binary, because callsites are registered once per process.

use rulec_import::{Options, System};
use serde_json::json;
use std::fmt::Debug;
use std::sync::{Arc, Mutex};
use tracing::field::{Field, Visit};
use tracing::{Event, Id, Level, Metadata, Subscriber, span};

/// Records each warning with its target and fields.
#[derive(Clone, Default)]
struct Warnings(Arc<Mutex<Vec<String>>>);

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn Debug) {
        self.0.push_str(&format!(" {field}={value:?}"));
    }
}

impl Subscriber for Warnings {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target().starts_with("rulec::") && *metadata.level() == Level::WARN
    }
    fn new_span(&self, _: &span::Attributes<'_>) -> Id {
        Id::from_u64(1)
    }
    fn record(&self, _: &Id, _: &span::Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        let mut text = Text(event.metadata().target().to_owned());
        event.record(&mut text);
        self.0.lock().expect("no panic").push(text.0);
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

#[test]
fn skipped_conditions_are_warnings() {
    let warnings = Warnings::default();
    tracing::subscriber::with_default(warnings.clone(), || {
        let condition = |operate: &str, at: &str| {
            let right = json!({"type": "number", "value": 3});
            json!({"left": {"step_id": "s", "type": "number", "value": at}, "operate": operate, "right": right})
        };
        let conditions = json!([condition("number_equal", "n"), condition("number_like", "m")]);
        let branches = json!([{"branch_id": "b", "is_default": false, "conditions": conditions}]);
        let imported =
            System::Choice.import_value(&branches, Options::default().strict()).expect("it can be imported");
        let entry = imported.rules.entry("next_step").expect("the choice");
        assert!(entry.skipped(&json!({"steps": {"s": {"n": 3}}})).is_empty());
        assert_eq!(entry.skipped(&json!({"steps": {"s": {"n": "3"}}})).len(), 1);
    });
    let found = warnings.0.lock().expect("no panic").clone();
    let [imported, decided] = found.as_slice() else { panic!("{found:#?}") };
    assert!(imported.starts_with("rulec::import") && imported.contains("number_like"), "{imported}");
    for part in ["rulec::choice", "choice=\"next_step\"", "branch=\"b\"", "a string, but a number is needed"]
    {
        assert!(decided.contains(part), "{part}: {decided}");
    }
}
