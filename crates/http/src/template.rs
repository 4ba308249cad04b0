//! Request templates. A template is an endpoint with placeholders. It is parsed and checked once,
//! and the placeholders are filled for every call.
//!
//! `{name}` is filled from the arguments of the call, and `#name#` from the context of the
//! conversation. A name starts with a letter or `_`, followed by letters, digits and `_`. Any other
//! brace or `#` is literal. `{{name}}` and `##name##` are escapes for the literal texts `{name}`
//! and `#name#`.
//!
//! - If a whole string of the body is one placeholder, the value keeps its type. Inside a longer
//!   text, in a header and in the URL, the value is written as text. Strings are unchanged, numbers
//!   and bools are as in JSON, and lists and dicts are compact JSON. In these positions null is an
//!   error.
//! - In the URL the text is percent-encoded. A value cannot add a path segment or a query
//!   parameter. It cannot make a segment empty, `.` or `..`, and it cannot choose the host.
//! - Values are not scanned for placeholders. Keys and header names are not filled.
//! - A body is sent as JSON.

mod error;
mod text;
mod url;

pub use error::{FillError, FillReason, TemplateError};
pub use text::{Placeholder, Source, Values};

use super::request::{Request, parse_header_name, to_header_value};
use reqwest::Method;
use reqwest::header::{HeaderName, HeaderValue};
use rulec_base::message;
use serde_json::Value;
use std::borrow::Cow;
use std::fmt;
use text::{TemplatePiece, TemplateText, value_to_text};
use url::UrlTemplate;

const URL_FIELD: &str = "url";

/// An HTTP request with placeholders, which are filled with the values of each call.
#[derive(Clone, PartialEq)]
pub struct Template {
    method: Method,
    url: UrlTemplate,
    headers: Vec<(HeaderName, TemplateText)>,
    body: Option<BodyTemplate>,
}

/// Shows no header values, because a header may contain a secret as literal text.
impl fmt::Debug for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let placeholders: Vec<_> = self.placeholders().iter().map(ToString::to_string).collect();
        f.debug_struct("Template")
            .field("request", &self.sample_request())
            .field("placeholders", &placeholders)
            .finish_non_exhaustive()
    }
}

#[derive(Clone, Debug, PartialEq)]
enum BodyTemplate {
    Plain(Value),
    Text(TemplateText),
    List(Vec<BodyTemplate>),
    Dict(Vec<(String, BodyTemplate)>),
}

impl Template {
    /// Parses an endpoint: `url`, and optionally `method`, `headers` (an object of strings) and
    /// `body` (any JSON). The default method is `POST` if there is a body, else `GET`.
    ///
    /// # Errors
    /// If the endpoint is invalid, whatever the values of its placeholders are.
    pub fn parse(endpoint: &Value) -> Result<Template, TemplateError> {
        let type_error =
            |field_path: &str, wanted| TemplateError::Type { place: field_path.to_owned(), wanted };
        let fields = endpoint.as_object().ok_or_else(|| type_error("endpoint", message!("a JSON object")))?;
        if let Some(name) =
            fields.keys().find(|name| !matches!(&name[..], "url" | "method" | "headers" | "body"))
        {
            return Err(TemplateError::UnknownField { name: name.clone() });
        }
        let string_field = |field_path| match fields.get(field_path) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(_) => Err(type_error(field_path, message!("a string"))),
        };
        let url = UrlTemplate::parse(
            string_field(URL_FIELD)?.ok_or_else(|| type_error(URL_FIELD, message!("there, a string")))?,
        )?;
        let body = fields.get("body").filter(|body| !body.is_null()).map(BodyTemplate::parse);
        let method = match string_field("method")? {
            Some(method) => parse_method(method)?,
            None if body.is_some() => Method::POST,
            None => Method::GET,
        };
        let headers = match fields.get("headers") {
            None => Vec::new(),
            Some(Value::Object(headers)) => {
                headers.iter().map(parse_header_template).collect::<Result<_, _>>()?
            }
            Some(_) => return Err(type_error("headers", message!("an object of strings"))),
        };
        Ok(Template { method, url, headers, body })
    }

    /// Returns the placeholders in the order of `url`, `headers`, `body`, including repetitions.
    pub fn placeholders(&self) -> Vec<&Placeholder> {
        let mut placeholders: Vec<_> = self.url.text.placeholders().collect();
        placeholders.extend(self.headers.iter().flat_map(|(_, value)| value.placeholders()));
        if let Some(body) = &self.body {
            body.collect_placeholders(&mut placeholders);
        }
        placeholders
    }

    /// Fills the placeholders with `values` and returns the request to send.
    ///
    /// # Errors
    /// For the first placeholder that has no value, or whose value is not allowed in its position.
    pub fn fill(&self, values: Values<'_>) -> Result<Request, FillError> {
        let url = self.url.fill_url(values)?;
        let body = self.body.as_ref().map(|body| body.fill_body(values, "body")).transpose()?;
        let mut request = Request::new(self.method.clone(), url, body.as_ref());
        for (name, value) in &self.headers {
            if let Some(value) = fill_header(name, value, values)? {
                request.headers.insert(name, value);
            }
        }
        Ok(request)
    }

    /// Returns the request with `x` in place of each placeholder. Before any call, the host of this
    /// request is checked against the allowed hosts.
    pub(super) fn sample_request(&self) -> Request {
        Request::new(self.method.clone(), self.url.sample_url(), None)
    }
}

impl BodyTemplate {
    fn parse(value: &Value) -> BodyTemplate {
        match value {
            Value::String(text) => BodyTemplate::Text(TemplateText::parse(text)),
            Value::Array(items) => BodyTemplate::List(items.iter().map(BodyTemplate::parse).collect()),
            Value::Object(fields) => BodyTemplate::Dict(
                fields.iter().map(|(key, value)| (key.clone(), BodyTemplate::parse(value))).collect(),
            ),
            plain => BodyTemplate::Plain(plain.clone()),
        }
    }

    fn collect_placeholders<'a>(&'a self, placeholders: &mut Vec<&'a Placeholder>) {
        match self {
            BodyTemplate::Plain(_) => {}
            BodyTemplate::Text(text) => placeholders.extend(text.placeholders()),
            BodyTemplate::List(items) => {
                items.iter().for_each(|item| item.collect_placeholders(placeholders))
            }
            BodyTemplate::Dict(fields) => {
                fields.iter().for_each(|(_, field)| field.collect_placeholders(placeholders))
            }
        }
    }

    fn fill_body(&self, values: Values<'_>, field_path: &str) -> Result<Value, FillError> {
        Ok(match self {
            BodyTemplate::Plain(value) => value.clone(),
            BodyTemplate::Text(text) => match text.as_single_placeholder() {
                Some(placeholder) => find_placeholder_value(placeholder, values, field_path)?.clone(),
                None => Value::String(fill_text(text, values, field_path)?),
            },
            BodyTemplate::List(items) => {
                let filled = items.iter().enumerate();
                filled
                    .map(|(i, item)| item.fill_body(values, &format!("{field_path}[{i}]")))
                    .collect::<Result<_, _>>()?
            }
            BodyTemplate::Dict(fields) => {
                let filled = fields.iter().map(|(key, field)| {
                    Ok((key.clone(), field.fill_body(values, &format!("{field_path}.{key}"))?))
                });
                Value::Object(filled.collect::<Result<_, _>>()?)
            }
        })
    }
}

pub(super) fn parse_method(text: &str) -> Result<Method, TemplateError> {
    let method = text.to_ascii_uppercase();
    [Method::GET, Method::POST, Method::PUT, Method::PATCH, Method::DELETE]
        .into_iter()
        .find(|supported| supported.as_str() == method)
        .ok_or_else(|| TemplateError::Method { method: text.to_owned() })
}

fn parse_header_template(
    (name, value): (&String, &Value),
) -> Result<(HeaderName, TemplateText), TemplateError> {
    let field_path = format!("headers.{name}");
    let Value::String(value) = value else {
        return Err(TemplateError::Type { place: field_path, wanted: message!("a string") });
    };
    match (parse_header_name(name), to_header_value(name, value)) {
        (Ok(name), Ok(_)) => Ok((name, TemplateText::parse(value))),
        (Err(error), _) | (_, Err(error)) => {
            Err(TemplateError::Header { place: field_path, why: error.why().clone() })
        }
    }
}

fn find_placeholder_value<'a>(
    placeholder: &Placeholder,
    values: Values<'a>,
    field_path: &str,
) -> Result<&'a Value, FillError> {
    let wanted_from = placeholder.source;
    let available_values = values.values_of(wanted_from);
    available_values.get(&placeholder.name).ok_or_else(|| {
        fill_error(
            placeholder,
            field_path,
            FillReason::Unfilled { wanted_from, known: available_values.keys().cloned().collect() },
        )
    })
}

fn find_placeholder_text<'a>(
    placeholder: &Placeholder,
    values: Values<'a>,
    field_path: &str,
) -> Result<Cow<'a, str>, FillError> {
    value_to_text(find_placeholder_value(placeholder, values, field_path)?)
        .ok_or_else(|| fill_error(placeholder, field_path, FillReason::Null))
}

fn fill_text(text: &TemplateText, values: Values<'_>, field_path: &str) -> Result<String, FillError> {
    let mut filled = String::new();
    for piece in &text.pieces {
        match piece {
            TemplatePiece::Literal(literal) => filled.push_str(literal),
            TemplatePiece::Placeholder(placeholder) => {
                filled.push_str(&find_placeholder_text(placeholder, values, field_path)?)
            }
        }
    }
    Ok(filled)
}

/// Fills the placeholders in a header's value. Returns an error for a placeholder without a value,
/// or with a value that a header must not contain. `Ok(None)` would mean invalid literal text,
/// which `Template::parse` has excluded.
fn fill_header(
    name: &HeaderName,
    text: &TemplateText,
    values: Values<'_>,
) -> Result<Option<HeaderValue>, FillError> {
    let field_path = format!("headers.{name}");
    for placeholder in text.placeholders() {
        let value = find_placeholder_text(placeholder, values, &field_path)?;
        if to_header_value(name.as_str(), &value).is_err() {
            return Err(fill_error(placeholder, &field_path, FillReason::HeaderValue));
        }
    }
    Ok(to_header_value(name.as_str(), &fill_text(text, values, &field_path)?).ok())
}

fn fill_error(placeholder: &Placeholder, field_path: &str, reason: FillReason) -> FillError {
    FillError { place: field_path.to_owned(), placeholder: placeholder.clone(), reason }
}

#[cfg(test)]
mod tests;
