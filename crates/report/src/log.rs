//! Parses the lines of a decision log, so that `doctor`, `diff --replay` and the studio can repeat
//! the decisions.

use serde_json::{Map, Value as Json};

/// A line of a file of messages or logged decisions.
#[derive(Clone, Debug, PartialEq)]
pub enum Line {
    /// A message.
    Message(Json),
    /// A logged decision.
    Logged(Logged),
}

/// A decision as the router logs it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Logged {
    /// The entry table of the decision.
    pub entry: String,
    /// The chosen statement, if any.
    pub route: Option<String>,
    /// The tables that were searched; only the entry if the log lists none.
    pub path: Vec<String>,
    /// The time, as written in the log.
    pub time: Option<String>,
    /// The duration of the handler in microseconds.
    pub elapsed_us: Option<u64>,
    /// The message, unless message logging was disabled.
    pub message: Option<Json>,
}

/// Parses a line. A line with all fields that every logged decision has is a decision; any other
/// line is a message.
pub fn line(mut line: Map<String, Json>) -> Line {
    if line.contains_key("generation") && is_decision(&line) {
        return Line::Logged(read(&mut line));
    }
    Line::Message(Json::Object(line))
}

/// Parses a line of a file that is known to be a decision log. Returns `None` if the line is not a
/// decision.
pub fn decision(mut line: Map<String, Json>) -> Option<Logged> {
    is_decision(&line).then(|| read(&mut line))
}

impl Line {
    /// Returns the message to decide; `None` for a decision logged without its message.
    pub fn message(self) -> Option<Json> {
        match self {
            Line::Message(message) => Some(message),
            Line::Logged(logged) => logged.message,
        }
    }
}

fn is_decision(line: &Map<String, Json>) -> bool {
    line.get("entry").is_some_and(Json::is_string) && line.contains_key("route")
}

fn read(line: &mut Map<String, Json>) -> Logged {
    let text = |key: &str| line.get(key).and_then(Json::as_str).map(str::to_owned);
    let entry = text("entry").unwrap_or_default();
    let path = line.get("path").and_then(Json::as_array).into_iter().flatten();
    let path: Vec<String> = path.filter_map(Json::as_str).map(str::to_owned).collect();
    Logged {
        route: text("route"),
        path: if path.is_empty() { vec![entry.clone()] } else { path },
        time: text("time"),
        elapsed_us: line.get("elapsed_us").and_then(Json::as_u64),
        message: line.remove("message").filter(Json::is_object),
        entry,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(value: Json) -> Line {
        line(value.as_object().cloned().unwrap_or_default())
    }

    #[test]
    fn a_decision_has_a_generation_an_entry_and_a_route() {
        let logged = json!({
            "time": "2026-01-01T00:00:00Z", "generation": 3, "entry": "routes", "route": "refund", "path": ["routes", "billing"],
            "elapsed_us": 12, "message": {"text": "money"}
        });
        let Line::Logged(found) = read(logged) else { panic!("it is a decision") };
        assert_eq!((&*found.entry, found.route.as_deref()), ("routes", Some("refund")));
        assert_eq!(
            (found.path, found.elapsed_us),
            (vec!["routes".to_owned(), "billing".to_owned()], Some(12))
        );
        assert_eq!(found.message, Some(json!({"text": "money"})));
        // A message may have fields of the same names.
        let message = json!({"entry": "north", "route": "A4"});
        assert_eq!(read(message.clone()), Line::Message(message.clone()));
        let known =
            decision(message.as_object().cloned().unwrap_or_default()).expect("a log is known to be one");
        assert_eq!(known.path, ["north"]);
        assert_eq!(decision(Map::new()), None);
    }
}
