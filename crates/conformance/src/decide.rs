//! Routes, choices and flows: imported, compiled, decided.

use super::{Setting, Verdict, by, member};
use rulec::{Decision, Rules};
use rulec_base::message;
use rulec_import::{Imported, System};
use serde_json::{Value as Json, json};

/// `routes`, `message`, `context`; `expected` is the chosen route's name, or null for the default.
pub(super) fn route(case: &Json, setting: &Setting) -> Verdict {
    let message =
        json!({ "text": member(case, "message")?, "ctx": case.get("context").unwrap_or(&json!({})) });
    decided(case, setting, System::Routes, "routes", |imported, rules| {
        let decision = rules.main().decide(&message);
        let chosen = decision.chosen().filter(|_| !decision.is_default());
        json!(chosen.map(|name| imported.original(name)))
    })
}

/// `branches`, `variables`; `expected` is the branch's id, "" when none holds.
pub(super) fn choice(case: &Json, setting: &Setting) -> Verdict {
    let message = json!({ "steps": member(case, "variables")? });
    decided(case, setting, System::Choice, "branches", |imported, rules| {
        // The entry beside the routes outside any table.
        let entry = rules.entries().nth(1).and_then(|name| rules.entry(name).ok());
        let decision = entry.map(|entry| entry.decide(&message));
        let branch = decision.as_ref().and_then(Decision::branch);
        json!(branch.map_or("", |id| imported.original(id)))
    })
}

/// `flows`, `message`; `expected` is `{"flow", "pattern"}`, both null when none is found.
pub(super) fn flow(case: &Json, setting: &Setting) -> Verdict {
    let message = json!({ "text": member(case, "message")? });
    decided(case, setting, System::Flows, "flows", |imported, rules| {
        let decision = rules.entry("flows").ok().map(|entry| entry.decide(&message));
        let hit = decision.as_ref().and_then(Decision::flow);
        json!({
            "flow": hit.map(|hit| hit.id),
            "pattern": hit.map(|hit| imported.original_pattern(hit.name, hit.pattern)),
        })
    })
}

/// Imports the member `key` and holds what each engine decides against what is expected.
fn decided(
    case: &Json,
    setting: &Setting,
    system: System,
    key: &str,
    decide: impl Fn(&Imported, &Rules) -> Json,
) -> Verdict {
    let expected = member(case, "expected")?;
    let imported = match (system.import_value(member(case, key)?), expected["load_error"] == true) {
        (Err(_), true) => return Ok(()),
        (Ok(_), true) => return Err(message!("expected an error on loading, and there is none")),
        (Err(error), false) => return Err(error.in_words()),
        (Ok(imported), false) => imported,
    };
    for tier in &setting.tiers {
        let found = decide(&imported, &by(&imported.rules, *tier)?);
        if found != *expected {
            return Err(message!("expected {expected}, found {found} by the engine {}", tier.name()));
        }
    }
    Ok(())
}
