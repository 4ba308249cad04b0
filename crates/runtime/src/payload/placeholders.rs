//! Fills the placeholders of a plan. `${fetch.output.rows}` is the field `rows` of the output of
//! the earlier node `fetch`. `${city}` is a named value. Named values come from the node's input,
//! the run's input, the plan's `global_config.env`, or the program.

use serde_json::{Map, Value as Json};
use std::fmt::Write;

/// The values with which the placeholders in a node's config are filled.
pub(super) struct PlaceholderScope<'s> {
    /// Function that returns the output of an earlier node, given the node's id; `None` if that
    /// node has no output or is not an earlier node.
    pub output_of_node: &'s dyn Fn(&str) -> Option<&'s Json>,
    /// Ids of all nodes of the workflow that contains the placeholders. A path such as
    /// `fetch.output` refers to an output only if its first part is one of these ids.
    pub node_ids: Vec<&'s str>,
    /// The named values, as maps from name to value. If several maps contain a name, the first one
    /// applies.
    pub value_maps: Vec<&'s Map<String, Json>>,
}

/// Name of the field that contains source code. Placeholders in this field are not filled, because
/// filled values would be executed.
const CODE_FIELD: &str = "code";
/// Name of the field that contains a URL. Values that are filled into this field are
/// percent-encoded.
const URL_FIELD: &str = "url";

impl<'s> PlaceholderScope<'s> {
    /// Returns a copy of an object with filled placeholders. `path` is the path of the object, for
    /// errors. The error names the first placeholder that has no value, and the path of its field.
    pub fn fill_object(&self, fields: &Map<String, Json>, path: &str) -> Result<Map<String, Json>, String> {
        let fill = |(key, value): (&String, &Json)| {
            let path = format!("{path}.{key}");
            let filled = match (key.as_str(), value) {
                (CODE_FIELD, code) => Ok(code.clone()),
                (URL_FIELD, Json::String(text)) => self.fill_text(text, &path, percent_encode),
                _ => self.fill_value(value, &path),
            };
            filled.map(|filled| (key.clone(), filled))
        };
        fields.iter().map(fill).collect()
    }

    fn fill_value(&self, value: &Json, path: &str) -> Result<Json, String> {
        match value {
            Json::String(text) => self.fill_text(text, path, str::to_owned),
            Json::Array(items) => {
                let items = items.iter().enumerate();
                items.map(|(index, item)| self.fill_value(item, &format!("{path}[{index}]"))).collect()
            }
            Json::Object(fields) => self.fill_object(fields, path).map(Json::Object),
            other => Ok(other.clone()),
        }
    }

    /// Fills the placeholders in a text. If the text is exactly one placeholder, returns the
    /// placeholder's value, which may have any type. Otherwise each value is inserted as text;
    /// `escape` escapes the inserted text. The error names a placeholder that has no value, and
    /// `path`, the path of the text in the node.
    fn fill_text(&self, text: &str, path: &str, escape: fn(&str) -> String) -> Result<Json, String> {
        let single_placeholder = text.strip_prefix("${").and_then(|rest| rest.strip_suffix('}'));
        if let Some(name) = single_placeholder.filter(|name| !name.contains('}')) {
            return self.find_value(name.trim()).cloned().ok_or_else(|| unfilled_error(name, path));
        }
        let mut filled = String::new();
        let mut rest = text;
        while let Some((literal_text, after_opening)) = rest.split_once("${") {
            let Some((name, after_placeholder)) = after_opening.split_once('}') else { break };
            filled.push_str(literal_text);
            let value = self.find_value(name.trim()).ok_or_else(|| unfilled_error(name, path))?;
            filled += &value.as_str().map_or_else(|| escape(&value.to_string()), escape);
            rest = after_placeholder;
        }
        Ok(Json::from(filled + rest))
    }

    fn find_value(&self, path: &str) -> Option<&'s Json> {
        let mut ids = self.node_ids.iter().filter_map(|id| {
            let rest = path.strip_prefix(id)?.strip_prefix(".output")?;
            (rest.is_empty() || rest.starts_with('.')).then(|| ((self.output_of_node)(id), rest))
        });
        if let Some((output, rest)) = ids.next() {
            return value_at_path(output?, rest.strip_prefix('.'));
        }
        let (name, rest) = path.split_once('.').map_or((path, None), |(name, rest)| (name, Some(rest)));
        let value = self.value_maps.iter().find_map(|values| values.get(name))?;
        value_at_path(value, rest)
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

fn unfilled_error(name: &str, path: &str) -> String {
    format!("`${{{}}}` in `{path}` has no value", name.trim())
}

/// Percent-encodes a text that is inserted into a URL, so that it cannot start another component of
/// the URL.
fn percent_encode(text: &str) -> String {
    text.bytes().fold(String::with_capacity(text.len()), |mut encoded, byte| {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'~' => encoded.push(char::from(byte)),
            // A dot is safe inside a longer text. A text that consists only of dots would change
            // the path.
            b'.' if text.bytes().any(|byte| byte != b'.') => encoded.push('.'),
            _ => {
                let _ = write!(encoded, "%{byte:02X}");
            }
        }
        encoded
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn fill_fields(fields: Json) -> Result<Json, String> {
        let (a, values) = (json!({"rows": [{"n": 1}], "text": "x/../y?z"}), json!({"city": "Paris", "a": 3}));
        let scope = PlaceholderScope {
            output_of_node: &|id| (id == "a.b").then_some(&a),
            node_ids: vec!["later", "a.b"],
            value_maps: values.as_object().into_iter().collect(),
        };
        scope.fill_object(fields.as_object().unwrap(), "config").map(Json::Object)
    }

    #[test]
    fn placeholders_are_filled_with_values() {
        for (template, expected) in [
            (json!({"x": "${a.b.output.rows}"}), json!({"x": [{"n": 1}]})),
            (
                json!({"x": ["${a.b.output.rows.0.n}", "n=${ a.b.output.rows.0.n }!"]}),
                json!({"x": [1, "n=1!"]}),
            ),
            (json!({"x": {"y": "in ${city}, ${a}"}}), json!({"x": {"y": "in Paris, 3"}})),
            (json!({"x": "no $placeholder} ${open"}), json!({"x": "no $placeholder} ${open"})),
        ] {
            assert_eq!(fill_fields(template), Ok(expected));
        }
    }

    /// Regression test: a value that is filled into code would be executed, and a value in a URL
    /// could redirect the request.
    #[test]
    fn code_is_unfilled_and_urls_encoded() {
        let code = json!({"code": "`${city}`"});
        assert_eq!(fill_fields(code.clone()), Ok(code));
        let url = json!({"url": "http://h/${a.b.output.text}/z"});
        assert_eq!(fill_fields(url), Ok(json!({"url": "http://h/x%2F..%2Fy%3Fz/z"})));
    }

    #[test]
    fn missing_value_error_names_path() {
        for name in ["gone", "later.output.x", "a.b.output.gone", "a.b.output.rows.7"] {
            let error = fill_fields(json!({"deep": [{"x": format!("see ${{{name}}}")}]})).unwrap_err();
            assert_eq!(error, format!("`${{{name}}}` in `config.deep[0].x` has no value"));
        }
    }
}
