//! Runs conformance cases of payloads and workflows. Such a case contains no rules, unlike a case
//! of routes, choices or flows: the rule files that are bundled with `rulec` decide it.

use super::{CaseVerdict, RunSetting};
use crate::{payload, workflow};
use rulec::bundled;
use rulec::{Message, Rules, Tier};
use rulec_runtime::workflow::{ConditionalRouter, RulesRouter};
use serde_json::Value as Json;
use std::sync::{Arc, LazyLock};

/// The compiled rules of a file that is bundled with `rulec`, or the compile error.
type CompiledRules = Result<Rules, Message>;

fn compile_bundled(text: &str) -> CompiledRules {
    Rules::from_text(text).map_err(|error| error.to_message())
}

fn with_engine(compiled: &CompiledRules, tier: Tier) -> CompiledRules {
    super::with_engine(compiled.as_ref().map_err(Message::clone)?, tier)
}

/// Runs one case about a payload, arbitration or an intent, with each engine of `setting`. A
/// payload is an object that a language model proposes. Arbitration selects which of several
/// payloads is executed. An intent is a label that the rules map to a decision.
pub(super) fn check_payload_case(case: &Json, setting: &RunSetting) -> CaseVerdict {
    static PAYLOAD_RULES: LazyLock<CompiledRules> = LazyLock::new(|| compile_bundled(bundled::DECISIONS));
    let context = setting.context.as_ref().unwrap_or(&Json::Null);
    setting
        .tiers
        .iter()
        .try_for_each(|tier| payload::run_case(&with_engine(&PAYLOAD_RULES, *tier)?, case, context))
}

/// Runs one conformance case about a workflow, or about the decision of a loop node or vote node,
/// with each engine of `setting`.
pub(super) fn check_workflow_case(case: &Json, setting: &RunSetting) -> CaseVerdict {
    static WORKFLOW_RULES: LazyLock<CompiledRules> = LazyLock::new(|| compile_bundled(bundled::WORKFLOW));
    setting.tiers.iter().try_for_each(|tier| {
        let rules = with_engine(&WORKFLOW_RULES, *tier)?;
        let router = |rule: &str, _: &str| {
            let router = RulesRouter::new(&rules, rule).map_err(|error| error.to_message())?;
            Ok(Arc::new(router) as Arc<dyn ConditionalRouter>)
        };
        workflow::check_case(case, &router)
    })
}
