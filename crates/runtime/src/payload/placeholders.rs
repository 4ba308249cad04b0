//! Fills the placeholders of a plan. `${fetch.output.rows}` is the field `rows` of the output of
//! the earlier node `fetch`. `${city}` is a named value. Named values come from the node's input,
//! the run's input, the plan's `global_config.env`, or the program.

use serde_json::{Map, Value as Json};
use std::fmt::Write;

/// The values that placeholders can refer to.
pub(super) struct PlaceholderScope<'s> {
    /// Function that returns the output of an earlier node by the node's id.
    pub outputs: &'s dyn Fn(&str) -> Option<&'s Json>,
    /// Ids of all nodes of the plan.
    pub ids: Vec<&'s str>,
    /// Maps of named values; earlier maps take precedence.
    pub values: Vec<&'s Map<String, Json>>,
}

/// Name of the field with source code. Placeholders in it are not filled, because filled values
/// would be executed.
const CODE_FIELD: &str = "code";
/// Name of the field with a URL. Values filled into its text are percent-encoded.
const URL_FIELD: &str = "url";

impl<'s> PlaceholderScope<'s> {
    /// Fills the placeholders in an object. The error names the first placeholder that has no
    /// value, and the path of its field; `place` is the path of the object.
    pub fn fill_object(&self, fields: &Map<String, Json>, place: &str) -> Result<Map<String, Json>, String> {
        let fill = |(key, value): (&String, &Json)| {
            let place = format!("{place}.{key}");
            let filled = match (key.as_str(), value) {
                (CODE_FIELD, code) => Ok(code.clone()),
                (URL_FIELD, Json::String(text)) => self.fill_text(text, &place, percent_encode),
                _ => self.fill_value(value, &place),
            };
            filled.map(|filled| (key.clone(), filled))
        };
        fields.iter().map(fill).collect()
    }

    fn fill_value(&self, value: &Json, place: &str) -> Result<Json, String> {
        match value {
            Json::String(text) => self.fill_text(text, place, str::to_owned),
            Json::Array(items) => {
                let items = items.iter().enumerate();
                items.map(|(at, item)| self.fill_value(item, &format!("{place}[{at}]"))).collect()
            }
            Json::Object(fields) => self.fill_object(fields, place).map(Json::Object),
            other => Ok(other.clone()),
        }
    }

    /// Fills the placeholders in a text. If the text is exactly one placeholder, returns the
    /// placeholder's value, which may have any type. Otherwise each value is inserted as text;
    /// `write` escapes this text.
    fn fill_text(&self, text: &str, place: &str, write: fn(&str) -> String) -> Result<Json, String> {
        let whole = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        if let Some(name) = whole.filter(|name| !name.contains('}')) {
            return self.find_value(name.trim()).cloned().ok_or_else(|| unfilled_error(name, place));
        }
        let mut made = String::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once("${") {
            let Some((name, behind)) = after.split_once('}') else { break };
            made.push_str(before);
            let value = self.find_value(name.trim()).ok_or_else(|| unfilled_error(name, place))?;
            made += &value.as_str().map_or_else(|| write(&value.to_string()), write);
            rest = behind;
        }
        Ok(Json::from(made + rest))
    }

    fn find_value(&self, path: &str) -> Option<&'s Json> {
        let mut ids = self.ids.iter().filter_map(|id| {
            let rest = path.strip_prefix(id)?.strip_prefix(".output")?;
            (rest.is_empty() || rest.starts_with('.')).then(|| ((self.outputs)(id), rest))
        });
        if let Some((output, rest)) = ids.next() {
            return value_at_path(output?, rest.strip_prefix('.'));
        }
        let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
        let found = self.values.iter().find_map(|values| values.get(name))?;
        value_at_path(found, rest)
    }
}

fn value_at_path<'v>(value: &'v Json, path: Option<&str>) -> Option<&'v Json> {
    path.map_or(Some(value), |path| {
        path.split('.').try_fold(value, |value, step| match value {
            Json::Array(items) => items.get(step.parse::<usize>().ok()?),
            other => other.get(step),
        })
    })
}

fn unfilled_error(name: &str, place: &str) -> String {
    format!("`${{{}}}` in `{place}` has no value", name.trim())
}

/// Percent-encodes a text so that it cannot start another component of the URL.
fn percent_encode(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut made, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' => made.push(char::from(byte)),
            // A dot is safe inside a longer text. A text of only dots would be a path step.
            b'.' if text.bytes().any(|byte| byte != b'.') => made.push('.'),
            _ => {
                let _ = write!(made, "%{byte:02X}");
            }
        }
        made
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fill_fields(fields: Json) -> Result<Json, String> {
        let (a, values) = (json!({"rows": [{"n": 1}], "text": "x/../y?z"}), json!({"city": "Paris", "a": 3}));
        let scope = PlaceholderScope {
            outputs: &|id| (id == "a.b").then_some(&a),
            ids: vec!["later", "a.b"],
            values: values.as_object().into_iter().collect(),
        };
        scope.fill_object(fields.as_object().unwrap(), "config").map(Json::Object)
    }

    #[test]
    fn placeholders_are_filled_with_what_they_name() {
        for (given, expected) in [
            (json!({"x": "${a.b.output.rows}"}), json!({"x": [{"n": 1}]})),
            (
                json!({"x": ["${a.b.output.rows.0.n}", "n=${ a.b.output.rows.0.n }!"]}),
                json!({"x": [1, "n=1!"]}),
            ),
            (json!({"x": {"y": "in ${city}, ${a}"}}), json!({"x": {"y": "in Paris, 3"}})),
            (json!({"x": "no $placeholder} ${open"}), json!({"x": "no $placeholder} ${open"})),
        ] {
            assert_eq!(fill_fields(given), Ok(expected));
        }
    }

    /// A value filled into code would be executed; a value in a URL could redirect the request.
    #[test]
    fn code_is_left_alone_and_addresses_are_encoded() {
        let code = json!({"code": "`${city}`"});
        assert_eq!(fill_fields(code.clone()), Ok(code));
        let url = json!({"url": "http://h/${a.b.output.text}/z"});
        assert_eq!(fill_fields(url), Ok(json!({"url": "http://h/x%2F..%2Fy%3Fz/z"})));
    }

    #[test]
    fn what_has_no_value_is_named_with_its_place() {
        for name in ["gone", "later.output.x", "a.b.output.gone", "a.b.output.rows.7"] {
            let told = fill_fields(json!({"deep": [{"x": format!("see ${{{name}}}")}]})).unwrap_err();
            assert_eq!(told, format!("`${{{name}}}` in `config.deep[0].x` has no value"));
        }
    }
}
