//! Parses the lines of a decision log. `doctor`, `diff --replay` and the studio use the lines to
//! repeat the decisions. `doctor` also reads the lines that `rulec run` prints, which have no
//! messages.

use serde_json::{Map, Value as Json};

/// A parsed line of an input file that may contain both messages and logged decisions.
#[derive(Clone, Debug, PartialEq)]
pub enum ParsedLine {
    /// The line is a message without a decision.
    Message(Json),
    /// The line is a logged decision, which may contain its message.
    LoggedDecision(LoggedDecision),
    /// The line of a decision log is a message that was recorded in the history, but not decided.
    /// The contained message has the additional field `observe`; see [`without_observed_mark`].
    Observed(Json),
    /// The line was written by `rulec serve`, and is not about a message ([`is_service_line`]).
    ServiceLine,
}

/// A decision from the decision log, which the library's `Router` and `rulec run --log` write.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LoggedDecision {
    /// Name of the table with which the decision started (its entry).
    pub entry_name: String,
    /// Name of the chosen statement; `None` if no statement was chosen.
    pub route: Option<String>,
    /// The matching pattern of the chosen flow; `None` if the line has none.
    pub pattern: Option<String>,
    /// Names of the tables that the decision searched, in order. If the log line has no such list,
    /// only the name of the first table.
    pub searched_tables: Vec<String>,
    /// Time of the decision, as written in the log; `None` if the line has no time.
    pub time: Option<String>,
    /// Duration of the decision in microseconds, including the handler if one was called; `None` if
    /// the line has no duration.
    pub elapsed_us: Option<u64>,
    /// The decided message; `None` if messages were not logged.
    pub message: Option<Json>,
}

/// Parses a line of any kind that [`ParsedLine`] lists. A line is a logged decision if it has a
/// text field `entry` and the fields `route` and `generation`. A line that is of no other kind is a
/// message.
pub fn parse_line(mut line: Map<String, Json>) -> ParsedLine {
    if is_observed_line(&line)
        && let Some(Json::Object(mut message)) = line.remove("message")
    {
        message.insert(OBSERVE_FIELD.to_owned(), Json::Bool(true));
        return ParsedLine::Observed(Json::Object(message));
    }
    if is_service_line(&line) {
        return ParsedLine::ServiceLine;
    }
    if line.contains_key("generation") && is_decision_line(&line) {
        return ParsedLine::LoggedDecision(read_logged_decision(&mut line));
    }
    ParsedLine::Message(Json::Object(line))
}

/// Parses a line of a file that is known to be a decision log or the output of `rulec run`. Returns
/// `None` if the line lacks the text field `entry` or the name of the chosen statement.
pub fn parse_decision_line(mut line: Map<String, Json>) -> Option<LoggedDecision> {
    if is_decision_line(&line) {
        return Some(read_logged_decision(&mut line));
    }
    let has_entry = line.get("entry").is_some_and(Json::is_string);
    let chosen = PRINTED_NAME_FIELDS.iter().find_map(|key| line.remove(*key)).filter(|_| has_entry)?;
    // `run` prints an empty branch if no branch holds.
    line.insert("route".to_owned(), if chosen == "" { Json::Null } else { chosen });
    Some(read_logged_decision(&mut line))
}

/// True for a line of a decision log about a message that was recorded, but not decided.
pub fn is_observed_line(line: &Map<String, Json>) -> bool {
    line.get("observed") == Some(&Json::Bool(true))
        && line.contains_key("generation")
        && line.get("message").is_some_and(Json::is_object)
        && !is_decision_line(line)
}

/// The keys of lines that `rulec serve` writes into a decision log in addition to decisions. Such
/// lines are file headers, signed checkpoints, and counts of dropped lines. Other lines report
/// edits of the rules, versions of rules that became active or were refused, and rule sets that
/// were added or removed.
const SERVICE_LINE_FIELDS: [&str; 8] =
    ["log", "checkpoint", "dropped", "change", "in_force", "refused", "added", "removed"];

/// True for a line of the service's decision log that is not about a message. Such a line has a
/// number and a hash (see [`chain`](crate::chain)), and exactly one of the service's own keys.
pub fn is_service_line(line: &Map<String, Json>) -> bool {
    let is_chained =
        line.get("seq").is_some_and(Json::is_u64) && line.get("chain").is_some_and(Json::is_string);
    let is_own = |key: &String| SERVICE_LINE_FIELDS.contains(&key.as_str());
    let is_expected =
        |key: &String| is_own(key) || matches!(key.as_str(), "seq" | "chain" | "time" | "continues");
    is_chained && line.keys().filter(|key| is_own(key)).count() == 1 && line.keys().all(is_expected)
}

/// The keys under which `rulec run` prints the chosen route, branch or flow.
const PRINTED_NAME_FIELDS: [&str; 3] = ["chosen", "branch", "name"];

/// True for a line in which `rulec run` prints the next nodes of a router. Such a line does not
/// name the chosen case.
pub fn is_router_output(line: &Map<String, Json>) -> bool {
    line.contains_key("entry") && line.contains_key("next") && line.contains_key("loopback")
}

impl ParsedLine {
    /// Returns the message of the line. `None` for a decision that was logged without its message,
    /// and for a line that is not about a message.
    pub fn into_message(self) -> Option<Json> {
        match self {
            ParsedLine::Message(message) | ParsedLine::Observed(message) => Some(message),
            ParsedLine::LoggedDecision(logged) => logged.message,
            ParsedLine::ServiceLine => None,
        }
    }
}

/// The field that marks a message as observed. Such a message is recorded in the history, but not
/// decided.
const OBSERVE_FIELD: &str = "observe";

/// If the field `observe` of a message is true, returns the message without this field. `None` for
/// other messages.
pub fn without_observed_mark(message: &Json) -> Option<Json> {
    if message.get(OBSERVE_FIELD) != Some(&Json::Bool(true)) {
        return None;
    }
    let mut observed = message.clone();
    observed.as_object_mut()?.remove(OBSERVE_FIELD);
    Some(observed)
}

/// The field that contains the payload, in a line that also contains values of other inputs.
const PAYLOAD_FIELD: &str = "payload";

/// Splits a line into its payload and its other fields, which a history records as a message.
/// `None` if the line has no field `payload` with an object.
pub fn split_payload(line: &Json) -> Option<(Json, Map<String, Json>)> {
    let mut message = line.as_object()?.clone();
    let payload = message.remove(PAYLOAD_FIELD).filter(Json::is_object)?;
    Some((payload, message))
}

fn is_decision_line(line: &Map<String, Json>) -> bool {
    line.get("entry").is_some_and(Json::is_string) && line.contains_key("route")
}

fn read_logged_decision(line: &mut Map<String, Json>) -> LoggedDecision {
    let text_field = |key: &str| line.get(key).and_then(Json::as_str).map(str::to_owned);
    let entry = text_field("entry").unwrap_or_default();
    let path = line.get("path").and_then(Json::as_array).into_iter().flatten();
    let path: Vec<String> = path.filter_map(Json::as_str).map(str::to_owned).collect();
    LoggedDecision {
        route: text_field("route"),
        pattern: text_field("pattern"),
        searched_tables: if path.is_empty() { vec![entry.clone()] } else { path },
        time: text_field("time"),
        elapsed_us: line.get("elapsed_us").and_then(Json::as_u64),
        message: line.remove("message").filter(Json::is_object),
        entry_name: entry,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse_log_line(value: Json) -> ParsedLine {
        parse_line(value.as_object().cloned().unwrap_or_default())
    }

    #[test]
    fn a_decision_has_a_generation_an_entry_and_a_route() {
        let logged = json!({
            "time": "2026-01-01T00:00:00Z", "generation": 3, "entry": "routes", "route": "refund", "path": ["routes", "billing"],
            "elapsed_us": 12, "message": {"text": "money"}
        });
        let ParsedLine::LoggedDecision(parsed) = parse_log_line(logged) else { panic!("it is a decision") };
        assert_eq!((&*parsed.entry_name, parsed.route.as_deref()), ("routes", Some("refund")));
        assert_eq!(
            (parsed.searched_tables, parsed.elapsed_us),
            (vec!["routes".to_owned(), "billing".to_owned()], Some(12))
        );
        assert_eq!(parsed.message, Some(json!({"text": "money"})));
        // A message may have fields of the same names.
        let message = json!({"entry": "north", "route": "A4"});
        assert_eq!(parse_log_line(message.clone()), ParsedLine::Message(message.clone()));
        let parsed_as_log = parse_decision_line(message.as_object().cloned().unwrap_or_default())
            .expect("a log is known to be one");
        assert_eq!(parsed_as_log.searched_tables, ["north"]);
        assert_eq!(parse_decision_line(Map::new()), None);
    }

    #[test]
    fn an_observed_message_is_no_decision() {
        let line =
            json!({"time": "2026-01-01T00:00:00Z", "generation": 3, "observed": true, "message": {"n": 1}});
        let ParsedLine::Observed(message) = parse_log_line(line.clone()) else { panic!("it is observed") };
        assert_eq!(without_observed_mark(&message), Some(json!({"n": 1})));
        assert_eq!(parse_decision_line(line.as_object().cloned().unwrap_or_default()), None);
        // A message may have fields of the same names.
        let message = json!({"observed": true, "message": "hi"});
        assert_eq!(parse_log_line(message.clone()), ParsedLine::Message(message));
    }

    #[test]
    fn lines_of_the_service_are_not_messages() {
        let mut chain = crate::chain::HashChain::default();
        let key = rulec::SigningKey::from_pem(include_str!("../../../tests/keys/only-for-tests.pem"))
            .expect("a key");
        let service_lines = [
            chain.file_header_line(),
            chain.checkpoint_line(&key),
            br#"{"dropped": 3}"#.to_vec(),
            br#"{"time": "2026-01-01T00:00:00Z", "change": {"action": "edit"}}"#.to_vec(),
            br#"{"in_force": {"generation": 1}}"#.to_vec(),
            br#"{"refused": {"rules": "a"}}"#.to_vec(),
        ];
        for mut line in service_lines {
            // Without its number and its hash, any program may have written the line.
            assert!(matches!(
                parse_log_line(serde_json::from_slice(&line).expect("JSON")),
                ParsedLine::Message(_)
            ));
            chain.append_line(&mut line);
            let line: Json = serde_json::from_slice(&line).expect("JSON");
            assert_eq!(parse_log_line(line.clone()), ParsedLine::ServiceLine, "{line}");
        }
        let mut message = br#"{"change": 5, "text": "refund"}"#.to_vec();
        chain.append_line(&mut message);
        let message: Json = serde_json::from_slice(&message).expect("JSON");
        assert!(matches!(parse_log_line(message), ParsedLine::Message(_)));
    }

    #[test]
    fn the_output_of_run_names_what_was_chosen() {
        let check = |line: Json, entry: &str, route: Option<&str>| {
            let parsed =
                parse_decision_line(line.as_object().cloned().unwrap_or_default()).expect("a decision");
            assert_eq!((&*parsed.entry_name, parsed.route.as_deref()), (entry, route), "{line}");
            assert_eq!(parsed.message, None);
        };
        check(json!({"line": 1, "entry": "routes", "chosen": "a", "target": "h"}), "routes", Some("a"));
        check(json!({"line": 1, "entry": "routes", "chosen": null}), "routes", None);
        check(json!({"line": 1, "entry": "mood", "branch": "calm", "default": true}), "mood", Some("calm"));
        check(json!({"line": 1, "entry": "mood", "branch": "", "default": false}), "mood", None);
        check(json!({"line": 1, "entry": "flows", "flow": "id", "name": "f"}), "flows", Some("f"));
        let flow = json!({"line": 1, "entry": "flows", "flow": "id", "name": "f", "pattern": "hi"});
        let parsed = parse_decision_line(flow.as_object().cloned().unwrap_or_default()).expect("a decision");
        assert_eq!(parsed.pattern.as_deref(), Some("hi"));
        let router = json!({"line": 1, "entry": "r", "next": ["a"], "loopback": false});
        let router = router.as_object().cloned().unwrap_or_default();
        assert!(is_router_output(&router) && parse_decision_line(router).is_none());
    }
}
