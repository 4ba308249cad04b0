//! Runs cases of routes, choices and flows. A case contains routes, branches or flows in the JSON
//! format of another system. They are imported as rules and compiled. The compiled rules then
//! decide the message of the case.

use super::{CaseVerdict, RunSetting, required_member, with_engine};
use rulec::{Decision, Rules};
use rulec_base::message;
use rulec_import::{Imported, Options, System};
use serde_json::{Value as Json, json};

/// Runs a case that has the members `routes`, `message` and `context`, with each engine of
/// `setting`. The case's `expected` is the name of the chosen route, or null for the default.
pub(super) fn check_route_case(case: &Json, setting: &RunSetting) -> CaseVerdict {
    let message = json!({ "text": required_member(case, "message")?, "ctx": case.get("context").unwrap_or(&json!({})) });
    check_decision(case, setting, System::Routes, "routes", |imported, rules| {
        let decision = rules.main().decide(&message);
        let chosen_route = decision.chosen().filter(|_| !decision.is_default());
        json!(chosen_route.map(|name| imported.original(name)))
    })
}

/// Runs a case that has the members `branches` and `variables`, with each engine of `setting`. The
/// case's `expected` is the id of the chosen branch, or "" if no branch is chosen.
pub(super) fn check_choice_case(case: &Json, setting: &RunSetting) -> CaseVerdict {
    let message = json!({ "steps": required_member(case, "variables")? });
    check_decision(case, setting, System::Choice, "branches", |imported, rules| {
        // The first entry point of the compiled rules is the top-level routes, which are empty
        // here. The second is the choice.
        let entry = rules.entries().nth(1).and_then(|name| rules.entry(name).ok());
        let decision = entry.map(|entry| entry.decide(&message));
        let branch = decision.as_ref().and_then(Decision::branch);
        json!(branch.map_or("", |id| imported.original(id)))
    })
}

/// Runs a case that has the members `flows` and `message`, with each engine of `setting`. The
/// case's `expected` is `{"flow", "pattern"}`; both members are null if no flow is found.
pub(super) fn check_flow_case(case: &Json, setting: &RunSetting) -> CaseVerdict {
    let message = json!({ "text": required_member(case, "message")? });
    check_decision(case, setting, System::Flows, "flows", |imported, rules| {
        let decision = rules.entry("flows").ok().map(|entry| entry.decide(&message));
        let flow_hit = decision.as_ref().and_then(Decision::flow);
        json!({
            "flow": flow_hit.map(|flow_hit| flow_hit.id),
            "pattern": flow_hit.map(|flow_hit| imported.original_pattern(flow_hit.name, flow_hit.pattern)),
        })
    })
}

/// Imports the routes, branches or flows in the member `member_name` of a case and compiles them.
/// If the case's `expected` is a load error, the import must fail. Otherwise decides with each
/// engine, and compares the result with `expected`. `decide` makes the decision with the given
/// rules and returns it in the format of `expected`.
fn check_decision(
    case: &Json,
    setting: &RunSetting,
    system: System,
    member_name: &str,
    decide: impl Fn(&Imported, &Rules) -> Json,
) -> CaseVerdict {
    let expected = required_member(case, "expected")?;
    let strict = Options::default().strict();
    let imported = match (
        system.import_value(required_member(case, member_name)?, strict),
        expected["load_error"] == true,
    ) {
        (Err(_), true) => return Ok(()),
        (Ok(_), true) => return Err(message!("expected an error while loading, but loading succeeded")),
        (Err(error), false) => return Err(error.to_message()),
        (Ok(imported), false) => imported,
    };
    for tier in &setting.tiers {
        let found = decide(&imported, &with_engine(&imported.rules, *tier)?);
        if found != *expected {
            return Err(message!("expected {expected}, found {found} with the engine {}", tier.name()));
        }
    }
    Ok(())
}
