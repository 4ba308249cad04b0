//! Plan nodes that call an HTTP service. A plan is a workflow that a language model proposes as a
//! payload. The config of a node has `url`, optionally `method`, `headers` and `params`, and at
//! most one of `body`, `json` and `data`.

use super::client::HttpClient;
use super::request::Request;
use super::template::parse_method;
use reqwest::Method;
use rulec_runtime::workflow::{Node, ProcessError, Processor, from_fn};
use serde_json::{Map, Value, json};
use std::sync::Arc;
use url::Url;

/// The fields of an `HTTP` node's config that may contain the request body; at most one may be set.
const BODY_CONFIG_FIELDS: [&str; 3] = ["body", "json", "data"];
/// The config fields of an `HTTP` node other than [`BODY_CONFIG_FIELDS`]. `timeout` is accepted
/// here, but the engine that runs the node enforces it.
const NON_BODY_CONFIG_FIELDS: [&str; 5] = ["url", "method", "headers", "params", "timeout"];

/// Returns the factory of `HTTP` nodes, for `CoordinatorBuilder::node_kind`. A node's output
/// contains the response: its `status`, and its body as `data`. The body is JSON if it is valid
/// JSON, otherwise a string. The client's hosts and limits apply, so a plan cannot call any other
/// host.
///
/// ```no_run
/// use rulec_http::{AllowedHosts, HttpClient, Limits};
/// use rulec_runtime::payload::{Coordinator, Judges};
///
/// # let rules = rulec::Rules::from_text("payload p { a: int }")?;
/// let client = HttpClient::new(AllowedHosts::new(["api.example.com"])?, Limits::default())?;
/// let coordinator = Coordinator::builder(Judges::new(&rules)).node_kind("HTTP", rulec_http::node(client)).build();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn node(
    client: HttpClient,
) -> impl Fn(&Node) -> Result<Arc<dyn Processor>, ProcessError> + Clone + Send + Sync + 'static {
    move |node| {
        let request = read_request(&node.config)?;
        client.check(&request)?;
        let client = client.clone();
        Ok(from_fn(move |_| {
            let (client, request) = (client.clone(), request.clone());
            async move {
                let response = client.send(&request).await?;
                Ok(json!({"status": response.status, "data": response.body.into_value()}))
            }
        }))
    }
}

/// Builds the request from the config of an `HTTP` node. Returns an error if the config has an
/// unknown field, an invalid value, no `url`, or more than one body.
fn read_request(config: &Value) -> Result<Request, ProcessError> {
    let no_fields = Map::new();
    let fields = config.as_object().unwrap_or(&no_fields);
    if let Some(name) = fields
        .keys()
        .find(|name| !NON_BODY_CONFIG_FIELDS.contains(&&***name) && !BODY_CONFIG_FIELDS.contains(&&***name))
    {
        return Err(format!("`config.{name}` is nothing that an HTTP node sends; leave it out").into());
    }
    let text_pairs = |key: &str| -> Result<Vec<(String, String)>, ProcessError> {
        let type_error = || format!("`config.{key}` must be an object of texts and numbers");
        let to_text_pair = |(name, value): (&String, &Value)| match value {
            Value::String(text) => Ok((name.clone(), text.clone())),
            Value::Number(_) | Value::Bool(_) => Ok((name.clone(), value.to_string())),
            _ => Err(type_error().into()),
        };
        match &config[key] {
            Value::Null => Ok(Vec::new()),
            Value::Object(fields) => fields.iter().map(to_text_pair).collect(),
            _ => Err(type_error().into()),
        }
    };
    let text = |key: &str| config[key].as_str().filter(|text| !text.trim().is_empty());
    let url = text("url").ok_or("`config.url` must be a text")?;
    let bodies: Vec<&Value> = BODY_CONFIG_FIELDS
        .iter()
        .filter_map(|name| fields.get(*name))
        .filter(|body| !body.is_null())
        .collect();
    if bodies.len() > 1 {
        return Err("give one of `config.body`, `config.json` and `config.data`".into());
    }
    let method = text("method").map_or(Ok(Method::GET), parse_method)?;
    let params = text_pairs("params")?;
    let url = match params.is_empty() {
        true => url.to_owned(),
        false => {
            let mut url = Url::parse(url).map_err(|error| format!("`config.url` is no address: {error}"))?;
            url.query_pairs_mut().extend_pairs(params);
            url.into()
        }
    };
    let request = Request::new(method, url, bodies.first().copied());
    text_pairs("headers")?
        .into_iter()
        .try_fold(request, |request, (name, value)| Ok(request.header(&name, &value)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configs_are_read_or_refused_with_a_reason() {
        let request_url = |config: Value| {
            read_request(&config).map(|request| request.url).map_err(|error| error.to_string())
        };
        let url = "http://h/a";
        let params = json!({"url": url, "method": "GET", "params": {"q": "a b&c", "n": 3}});
        assert_eq!(request_url(params), Ok("http://h/a?n=3&q=a+b%26c".to_owned()));
        assert_eq!(request_url(json!({"url": url, "timeout": 3, "json": [1]})), Ok(url.to_owned()));
        for (config, reason) in [
            (json!({}), "`config.url` must be a text"),
            (json!({"url": url, "auth": "x"}), "`config.auth` is nothing"),
            (json!({"url": url, "body": 1, "json": 2}), "give one of"),
            (json!({"url": url, "headers": {"Host": "x"}}), "`Host` cannot be sent"),
            (json!({"url": url, "headers": {"X": [1]}}), "`config.headers` must be"),
            (json!({"url": "no address", "params": {"a": "b"}}), "`config.url` is no address"),
            (json!({"url": url, "method": "G T"}), "method"),
        ] {
            let error = request_url(config.clone()).expect_err(&config.to_string());
            assert!(error.contains(reason), "{config}: {error}");
        }
    }
}
