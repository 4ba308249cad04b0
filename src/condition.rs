//! Conditions given as text at run time, such as the conditions on the edges of a workflow. Each
//! text is compiled, type-checked and evaluated like the condition of a route.

use crate::engine::{CompileError, Rules};
use rulec_base::diag::Message;
use rulec_base::message;
use serde_json::Value as Json;
use std::fmt::Write;

/// Maximum length of a condition's text, in bytes.
const MAX_CONDITION_BYTES: usize = 4096;
/// Each condition is compiled as the only route of a generated rule file. This is the name of that
/// route and of its handler.
const CONDITION_ROUTE_NAME: &str = "holds";

/// A condition that was given as text at run time, in compiled form.
///
/// ```
/// use rulec::condition::Condition;
/// use serde_json::json;
///
/// let enough = Condition::compile("rows > 10 and ${fetch.output.status} == \"ok\"")?;
/// assert!(enough.holds(&json!({"rows": 12, "fetch": {"output": {"status": "ok"}}})));
/// // A comparison with a missing field does not hold.
/// assert!(!enough.holds(&json!({"rows": 12})));
/// assert!(Condition::compile("rows > ").is_err());
/// # Ok::<(), rulec::condition::ConditionError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Condition {
    rules: Rules,
}

/// The reason why a text is not a valid condition.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.to_message())]
#[non_exhaustive]
pub struct ConditionError {
    /// Why the text is not a valid condition.
    pub message: Message,
    /// How to correct the text; `None` if no correction is known.
    pub help: Option<Message>,
}

impl ConditionError {
    /// Returns why the text is not a valid condition, without the suggested correction.
    pub fn to_message(&self) -> Message {
        self.message.clone()
    }

    fn new(message: Message, help: Message) -> ConditionError {
        ConditionError { message, help: Some(help) }
    }

    /// Creates the error for a condition from the first error in `error`, with its message and
    /// help.
    fn from_compile_error(error: &CompileError) -> ConditionError {
        let first_error = error.diagnostics().iter().find(|diagnostic| diagnostic.is_error());
        first_error.map_or_else(
            || {
                ConditionError::new(
                    message!("it does not compile"),
                    message!("write a condition such as `rows > 10`"),
                )
            },
            |found| ConditionError { message: found.message.clone(), help: found.help.clone() },
        )
    }
}

impl Condition {
    /// Compiles a condition. A name in the condition refers to a message field. `${a.b}` is the
    /// path `a.b`. Between the braces, names may contain any characters except dots, `}`, quotes,
    /// backquotes and line breaks.
    ///
    /// # Errors
    /// If the text is not a condition, or reads one field as values of incompatible types.
    pub fn compile(text: &str) -> Result<Condition, ConditionError> {
        if text.trim().is_empty() {
            return Err(ConditionError::new(
                message!("the condition is empty"),
                message!("write a condition, or leave it out"),
            ));
        }
        if text.len() > MAX_CONDITION_BYTES {
            let message = message!("the condition has {} bytes, more than {MAX_CONDITION_BYTES}", text.len());
            return Err(ConditionError::new(message, message!("write a shorter one")));
        }
        let text = replace_placeholders(text)?;
        let rules = Rules::from_text(&format!(
            "route {CONDITION_ROUTE_NAME} when (\n{text}\n) -> {CONDITION_ROUTE_NAME}"
        ))
        .map_err(|error| ConditionError::from_compile_error(&error))?;
        let program = rules.program();
        if program.rules.len() != 1 || program.tables.len() != 1 {
            return Err(ConditionError::new(
                message!("it is not just one condition"),
                message!("write only the condition"),
            ));
        }
        Ok(Condition { rules })
    }

    /// True if the condition holds for the message. A comparison with a missing field never holds.
    pub fn holds(&self, message: &Json) -> bool {
        self.rules.decide(message).chosen().is_some()
    }
}

/// Replaces each `${a.b}` by the path `a.b`. Quotes directly around a `${…}` are removed. Returns
/// an error if a `${` has no closing brace, or if the text between the braces is not a path.
fn replace_placeholders(text: &str) -> Result<String, ConditionError> {
    let mut expanded = String::with_capacity(text.len());
    let mut remaining_text = text;
    while let Some((before, after)) = remaining_text.split_once("${") {
        let Some((path, after_brace)) = after.split_once('}') else {
            let help = message!("close it, as in `${{fetch.output.status}}`");
            return Err(ConditionError::new(message!("a `${{` has no closing `}}`"), help));
        };
        let quote = before.chars().next_back().filter(|c| matches!(c, '"' | '\''));
        let surrounding_quote = quote.filter(|quote| after_brace.starts_with(*quote));
        expanded.push_str(&before[..before.len() - surrounding_quote.map_or(0, char::len_utf8)]);
        append_path(path.trim(), &mut expanded)?;
        remaining_text = &after_brace[surrounding_quote.map_or(0, char::len_utf8)..];
    }
    expanded.push_str(remaining_text);
    Ok(expanded)
}

fn append_path(path: &str, expanded: &mut String) -> Result<(), ConditionError> {
    for (at, name) in path.split('.').enumerate() {
        if name.is_empty() || name.contains(['`', '\n', '"', '\'']) {
            let message = message!("`${{{path}}}` is not a path");
            let help = message!("write names joined by dots: `${{fetch.output.status}}`");
            return Err(ConditionError::new(message, help));
        }
        let dot = if at > 0 { "." } else { "" };
        let is_plain_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
            && !name.starts_with(|c: char| c.is_ascii_digit());
        let quote = if is_plain_name && at > 0 { "" } else { "`" };
        let _ = write!(expanded, "{dot}{quote}{name}{quote}");
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn placeholders_are_paths_also_in_quotes() {
        let message = json!({"node-1": {"output": {"status": "ok", "n": 3}}, "when": 1});
        for (text, expected) in [
            ("${node-1.output.status} == \"ok\"", true),
            ("\"${node-1.output.status}\" == \"ok\"", true),
            ("'${node-1.output.status}' == \"ok\"", true),
            ("${ node-1.output.n } > 3", false),
            ("${when} == 1", true),
            ("${gone.output.n} > 3 or true", true),
        ] {
            let condition = Condition::compile(text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(condition.holds(&message), expected, "{text}");
        }
    }

    /// Regression test: the text of a condition must not be able to add statements after the
    /// condition.
    #[test]
    fn invalid_conditions_are_refused_with_a_reason() {
        for text in [
            "",
            "x >",
            "x > 3 and x starts_with \"a\"",
            "x > 1) -> a route b when (true",
            "x > 1) -> a import \"y\" route b when (true",
            "${x",
            "${}",
            "${a`b}",
            "x == ${a.b",
            "x matches \"(\"",
            &"x".repeat(MAX_CONDITION_BYTES + 1),
        ] {
            let error = Condition::compile(text).expect_err(text);
            assert!(!error.message.is_empty(), "{text}");
        }
    }
}
