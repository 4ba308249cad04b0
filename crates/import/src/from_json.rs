//! Loads rules from JSON by one call, for programs that need no options.

use super::{ImportError, Imported, Options, System};
use rulec::Rules;

/// Loads [`Rules`] from the JSON documents of other systems, with the default [`Options`].
///
/// ```
/// use rulec::Rules;
/// use rulec_import::RulesFromJson;
///
/// let json = r#"[{"flow_id": "greeting", "type": "keyword", "trigger_patterns": ["hi", " "]}]"#;
/// let loaded = Rules::from_flows(json)?;
/// assert_eq!(loaded.report.skipped().count(), 1); // the blank pattern
/// let decision = loaded.rules.entry("flows")?.decide(&serde_json::json!({"text": "hi"}));
/// assert_eq!(decision.flow().map(|flow| flow.id), Some("greeting"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub trait RulesFromJson {
    /// Loads keyword flows (found by patterns) and intent flows (found by meaning); see
    /// [`System::Flows`].
    ///
    /// # Errors
    /// If the text is not JSON, or has no list of flows.
    fn from_flows(json: &str) -> Result<Imported, ImportError> {
        System::Flows.import(json, Options::default())
    }

    /// Loads message routes; see [`System::Routes`].
    ///
    /// # Errors
    /// If the text is not JSON, or has no list of routes.
    fn from_routes(json: &str) -> Result<Imported, ImportError> {
        System::Routes.import(json, Options::default())
    }

    /// Loads the branches of one choice or of several choices; see [`System::Choice`].
    ///
    /// # Errors
    /// If the text is not JSON, or has no choice.
    fn from_choices(json: &str) -> Result<Imported, ImportError> {
        System::Choice.import(json, Options::default())
    }

    /// Loads the bundled rules that validate decisions of an agent. The JSON text is the value of
    /// the rules' input `context`; see [`System::Context`].
    ///
    /// # Errors
    /// If the text is not JSON, or not an object.
    fn from_payload_context(json: &str) -> Result<Imported, ImportError> {
        System::Context.import(json, Options::default())
    }

    /// Loads a payload context for `rules`, such as a changed copy of the bundled rules. The items
    /// of the context are checked as for the bundled rules, so a bad item is skipped and reported.
    ///
    /// ```
    /// use rulec::Rules;
    /// use rulec_import::RulesFromJson;
    ///
    /// let own = Rules::from_text(rulec::bundled::DECISIONS)?; // or your own copy
    /// let json = r#"{"workflows": {"good": {"status": "READY"}, "bad": {"status": 7}}}"#;
    /// let loaded = Rules::from_payload_context_with(&own, json)?;
    /// assert_eq!(loaded.report.skipped().count(), 1);
    /// let judge = loaded.judge("execute_workflow")?;
    /// assert!(judge.judge(&serde_json::json!({"workflow_id": "good"})).is_accepted());
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// If the text is not JSON, or not an object. A context that does not have the type that
    /// `rules` declare is an error of [`Imported::judge`].
    fn from_payload_context_with(rules: &Rules, json: &str) -> Result<Imported, ImportError> {
        Ok(Rules::from_payload_context(json)?.with_rules(rules))
    }
}

impl RulesFromJson for Rules {}
