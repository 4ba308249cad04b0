//! Python classes for HTTP calls to hosts that the program allows, and for language models at HTTP
//! endpoints.

use super::error::{RulecError, library_error};
use super::events::json_fields;
use super::message::{mapping_entries, python_to_json};
use super::names::Names;
use super::outcome::Request;
use super::policy::duration_from_seconds;
use super::shutdown::{start_future, with_gil};
use super::worker::NodeFactory;
use pyo3::create_exception;
use pyo3::prelude::*;
use pyo3::types::PyMapping;
use pythonize::pythonize;
use rulec_http::{AllowedHosts, Body, HandlerReply, Limits, Secret, Template};
use serde_json::Value as Json;
use std::sync::Arc;

create_exception!(
    rulec,
    HttpError,
    RulecError,
    "A call that failed, or that the list of hosts does not allow.

>>> try:
...     ChatModel(\"http://localhost:9/v1\", \"small\", client=HttpClient(allow=[\"example.com\"]))
... except HttpError as error:
...     print(\"localhost:9\" in str(error))
True"
);

/// Name of the environment variable that contains the API key of a language model.
const MODEL_KEY_VARIABLE: &str = "RULEC_MODEL_KEY";

pub fn http_error(error: impl ToString) -> PyErr {
    HttpError::new_err(error.to_string())
}

/// A client that calls only the hosts in `allow`, each `host` or `host:port`.
///
/// `attempt` and `overall` are the time limits of one attempt and of a call, in seconds. `retries`
/// is the number of retries after failures that a retry may fix. `pauses` are the pause before the
/// first retry, and the longest one: each pause is twice the previous one. `body` is the maximum
/// size of a response in bytes.
///
/// >>> import asyncio
/// >>> async def main():
/// ...     await HttpClient(allow=["api.example.com"]).get("https://example.com/")
/// >>> try:
/// ...     asyncio.run(main())
/// ... except HttpError as error:
/// ...     print("example.com" in str(error))
/// True
#[pyclass(frozen, module = "rulec")]
pub struct HttpClient(
    pub rulec_http::HttpClient,
    // The allowed hosts, for `repr`.
    Names,
);

#[pymethods]
impl HttpClient {
    #[new]
    #[pyo3(signature = (*, allow, attempt = None, overall = None, retries = None, pauses = None, body = None))]
    fn new(
        allow: Names,
        attempt: Option<f64>,
        overall: Option<f64>,
        retries: Option<u32>,
        pauses: Option<(f64, f64)>,
        body: Option<usize>,
    ) -> PyResult<HttpClient> {
        let hosts = AllowedHosts::new(&allow.0).map_err(http_error)?;
        let default = Limits::default();
        let limits = Limits {
            attempt: attempt.map(duration_from_seconds).transpose()?.unwrap_or(default.attempt),
            overall: overall.map(duration_from_seconds).transpose()?.unwrap_or(default.overall),
            retries: retries.unwrap_or(default.retries),
            body: body.unwrap_or(default.body),
            pauses: match pauses {
                Some((first, longest)) => (duration_from_seconds(first)?, duration_from_seconds(longest)?),
                None => default.pauses,
            },
        };
        Ok(HttpClient(rulec_http::HttpClient::new(hosts, limits).map_err(http_error)?, allow))
    }

    /// Makes a GET request. `key` is sent as a bearer token and never shown. With `as_text`, the
    /// body of the response is text even if it is JSON.
    #[pyo3(signature = (url, *, headers = None, key = None, as_text = false))]
    fn get<'py>(
        &self,
        py: Python<'py>,
        url: &str,
        headers: Option<&Bound<'_, PyMapping>>,
        key: Option<String>,
        as_text: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.send(
            py,
            rulec_http::Request::get(url),
            RequestOptions { headers, key, as_text, repeatable: false },
        )
    }

    /// Makes a POST request with a JSON body. With `repeatable`, it may be sent again although the
    /// server may have processed it. `get` describes the other parameters.
    #[pyo3(signature = (url, body, *, headers = None, key = None, as_text = false, repeatable = false))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn post<'py>(
        &self,
        py: Python<'py>,
        url: &str,
        body: &Bound<'_, PyAny>,
        headers: Option<&Bound<'_, PyMapping>>,
        key: Option<String>,
        as_text: bool,
        repeatable: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let request = rulec_http::Request::post(url, &python_to_json(body, "the body")?);
        self.send(py, request, RequestOptions { headers, key, as_text, repeatable })
    }

    /// Makes a PUT request with a JSON body. The parameters are as in `get`.
    #[pyo3(signature = (url, body, *, headers = None, key = None, as_text = false))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn put<'py>(
        &self,
        py: Python<'py>,
        url: &str,
        body: &Bound<'_, PyAny>,
        headers: Option<&Bound<'_, PyMapping>>,
        key: Option<String>,
        as_text: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let request = rulec_http::Request::put(url, &python_to_json(body, "the body")?);
        self.send(py, request, RequestOptions { headers, key, as_text, repeatable: false })
    }

    /// Makes a PATCH request with a JSON body. The parameters are as in `post`.
    #[pyo3(signature = (url, body, *, headers = None, key = None, as_text = false, repeatable = false))]
    #[expect(clippy::too_many_arguments, reason = "keyword arguments of Python")]
    fn patch<'py>(
        &self,
        py: Python<'py>,
        url: &str,
        body: &Bound<'_, PyAny>,
        headers: Option<&Bound<'_, PyMapping>>,
        key: Option<String>,
        as_text: bool,
        repeatable: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let request = rulec_http::Request::patch(url, &python_to_json(body, "the body")?);
        self.send(py, request, RequestOptions { headers, key, as_text, repeatable })
    }

    /// Makes a DELETE request. The parameters are as in `get`.
    #[pyo3(signature = (url, *, headers = None, key = None, as_text = false))]
    fn delete<'py>(
        &self,
        py: Python<'py>,
        url: &str,
        headers: Option<&Bound<'_, PyMapping>>,
        key: Option<String>,
        as_text: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let options = RequestOptions { headers, key, as_text, repeatable: false };
        self.send(py, rulec_http::Request::delete(url), options)
    }

    /// Returns the worker that runs `HTTP` nodes in plans (workflows that a language model
    /// proposes). The config of such a node has `url`, `method`, `headers` and a body.
    fn node(&self) -> NodeFactory {
        NodeFactory(Arc::new(rulec_http::node(self.0.clone())))
    }

    /// Returns the worker that runs workflow nodes whose config describes an HTTP endpoint to call.
    fn endpoint_node(&self) -> NodeFactory {
        NodeFactory(Arc::new(rulec_http::endpoint_node(self.0.clone())))
    }

    /// Returns the worker that runs workflow nodes which call several endpoints at the same time.
    fn council_node(&self) -> NodeFactory {
        NodeFactory(Arc::new(rulec_http::council_node(self.0.clone())))
    }

    fn __repr__(&self) -> String {
        format!("<HttpClient for {}>", self.1.0.join(", "))
    }
}

/// The arguments that all methods of a client share.
struct RequestOptions<'a, 'py> {
    headers: Option<&'a Bound<'py, PyMapping>>,
    key: Option<String>,
    as_text: bool,
    repeatable: bool,
}

impl HttpClient {
    fn send<'py>(
        &self,
        py: Python<'py>,
        mut request: rulec_http::Request,
        options: RequestOptions<'_, '_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        for (name, value) in mapping_entries(options.headers)? {
            request = request.header(&name, value.extract()?).map_err(http_error)?;
        }
        if let Some(key) = options.key {
            request = request.bearer(&Secret::new(key)).map_err(http_error)?;
        }
        if options.as_text {
            request = request.as_text();
        }
        if options.repeatable {
            request = request.repeatable();
        }
        let client = self.0.clone();
        start_future(py, async move {
            let response = client.send(&request).await.map_err(http_error)?;
            Ok(Response(response))
        })
    }
}

/// A successful response; `body` is a value if it is JSON, otherwise text.
///
/// >>> async def main(client):
/// ...     return (await client.get("https://api.example.com/v1/orders")).body["orders"]
#[pyclass(frozen, module = "rulec")]
pub struct Response(pub rulec_http::Response);

#[pymethods]
impl Response {
    /// The HTTP status code, from 200 to 299.
    #[getter]
    fn status(&self) -> u16 {
        self.0.status
    }

    /// The body of the response: a Python value if the body is JSON, otherwise text.
    #[getter]
    fn body<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(match &self.0.body {
            Body::Json(value) => pythonize(py, value)?,
            Body::Text(text) => pythonize(py, text)?,
        })
    }

    /// The number of attempts until the response arrived, at least 1.
    #[getter]
    fn attempts(&self) -> u32 {
        self.0.attempts
    }

    /// The duration of the call in seconds, with all attempts.
    #[getter]
    fn elapsed(&self) -> f64 {
        self.0.elapsed.as_secs_f64()
    }

    fn __repr__(&self) -> String {
        format!("<Response {}>", self.0.status)
    }
}

/// A handler that calls an endpoint; see `http_handler`.
///
/// >>> client = HttpClient(allow=["api.example.com"])
/// >>> handlers = {"orders": http_handler(client, {"url": "https://api.example.com/orders/{id}", "method": "GET"})}
#[pyclass(frozen, module = "rulec")]
pub struct HttpHandler(Arc<dyn Fn(rulec_runtime::route::Request) -> HandlerReply + Send + Sync>);

/// Returns a handler for a `Router`. The handler sends the request that `endpoint` describes, and
/// replies with the body of the response. In `endpoint`, `{name}` is replaced by an argument of the
/// route, and `#name#` by a field of the message's `ctx`.
#[pyfunction]
pub fn http_handler(client: &Bound<'_, HttpClient>, endpoint: &Bound<'_, PyAny>) -> PyResult<HttpHandler> {
    let template = Template::parse(&python_to_json(endpoint, "the endpoint")?).map_err(http_error)?;
    let handler = rulec_http::handler(client.get().0.clone(), template).map_err(http_error)?;
    Ok(HttpHandler(Arc::new(handler)))
}

#[pymethods]
impl HttpHandler {
    /// Sends the request for a message, and returns an awaitable of the response's body.
    fn __call__<'py>(&self, request: &Bound<'py, Request>) -> PyResult<Bound<'py, PyAny>> {
        let reply = (self.0)(request.get().request.clone());
        start_future(request.py(), async move {
            let reply = reply.await.map_err(http_error)?;
            with_gil(|py| Ok(pythonize(py, &reply)?.unbind()))
        })
    }
}

/// A language model at an OpenAI-compatible endpoint for chat completions.
///
/// `base` is a URL such as `https://api.example.com/v1`. By default, the key is the value of the
/// environment variable `RULEC_MODEL_KEY`, and only the host of `base` is called.
///
/// >>> model = ChatModel("https://api.example.com/v1", "small", temperature=0)
#[pyclass(frozen, module = "rulec")]
pub struct ChatModel(
    pub rulec_http::ChatModel,
    // The text for `repr`.
    String,
);

#[pymethods]
impl ChatModel {
    #[new]
    #[pyo3(signature = (base, model, *, client = None, key = None, path = None, temperature = None))]
    fn new(
        base: &str,
        model: &str,
        client: Option<&Bound<'_, HttpClient>>,
        key: Option<String>,
        path: Option<&str>,
        temperature: Option<f64>,
    ) -> PyResult<ChatModel> {
        let client = match client {
            Some(client) => client.get().0.clone(),
            None => {
                let hosts = AllowedHosts::of_url(base).map_err(http_error)?;
                rulec_http::HttpClient::new(hosts, Limits::default()).map_err(http_error)?
            }
        };
        let mut chat_model = rulec_http::ChatModel::new(client, base, model).map_err(http_error)?;
        if let Some(path) = path {
            chat_model = chat_model.path(path);
        }
        if let Some(temperature) = temperature {
            chat_model = chat_model.temperature(temperature);
        }
        if let Some(key) = key.or_else(|| std::env::var(MODEL_KEY_VARIABLE).ok()) {
            chat_model = chat_model.key(Secret::new(key)).map_err(http_error)?;
        }
        Ok(ChatModel(chat_model, format!("<ChatModel {model} at {base}>")))
    }

    /// Returns the worker that runs `LLM` nodes in plans (workflows that a language model
    /// proposes).
    fn node(&self) -> NodeFactory {
        NodeFactory(Arc::new(rulec_http::llm_node(self.0.clone())))
    }

    fn __repr__(&self) -> &str {
        &self.1
    }
}

/// A request that lets a model choose one of several ids: a flow, or a branch of a choice.
///
/// >>> rules = Rules.from_text(
/// ...     'choice mood ask "how does the customer feel?" { branch angry "furious"  default branch calm }'
/// ... )
/// >>> request = rules.question("mood").request({"text": "Where is it?"})
/// >>> request.ids, request.messages[-1]["content"], request.picked({"branch": "angry"})
/// (['angry', 'calm'], 'Where is it?', ('angry', None))
#[pyclass(frozen, module = "rulec")]
pub struct ModelRequest(pub rulec::prompt::ModelRequest);

#[pymethods]
impl ModelRequest {
    /// The name of the choice; `flows` if the model chooses a flow.
    #[getter]
    fn name(&self) -> &str {
        &self.0.name
    }

    /// The system message, which describes the task to the model.
    #[getter]
    fn system(&self) -> &str {
        &self.0.system
    }

    /// The fields of the message other than its text, as JSON text for the model. None if there are
    /// none, or if the model chooses a flow.
    #[getter]
    fn known(&self) -> Option<&str> {
        self.0.known.as_deref()
    }

    /// The user's message.
    #[getter]
    fn text(&self) -> &str {
        &self.0.text
    }

    /// The ids from which the model chooses.
    #[getter]
    fn ids(&self) -> Vec<&str> {
        self.0.tool.ids().iter().map(String::as_str).collect()
    }

    /// The definition of the tool that the model calls.
    #[getter]
    fn tool<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        Ok(pythonize(py, &self.0.tool.to_json())?)
    }

    /// The messages to send to a chat API, as dicts with `role` and `content`.
    #[getter]
    fn messages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let message = |role: &str, text: &str| serde_json::json!({"role": role, "content": text});
        let system = (!self.0.system.is_empty()).then(|| message("system", &self.0.system));
        let known = self.0.known.as_deref().map(|known| message("user", known));
        let messages: Vec<Json> =
            system.into_iter().chain(known).chain([message("user", &self.0.text)]).collect();
        Ok(pythonize(py, &messages)?)
    }

    /// Reads the answer of a model: an id, or the arguments of its tool call as a dict or JSON
    /// text. Returns the chosen id and the reason, if the answer has one. None if the answer
    /// contains no id. Fails for an id that the model was not offered.
    fn picked(&self, answer: &Bound<'_, PyAny>) -> PyResult<Option<(String, Option<String>)>> {
        let tool = &self.0.tool;
        let answer = match python_to_json(answer, "the answer")? {
            Json::String(text) if tool.ids().contains(&text) => return Ok(Some((text, None))),
            Json::String(text) => match serde_json::from_str(&text) {
                Ok(arguments) => arguments,
                Err(_) => return Ok(None),
            },
            other => other,
        };
        let Some(id) = answer[tool.parameter()].as_str() else { return Ok(None) };
        if !tool.ids().iter().any(|known| known == id) {
            return Err(library_error(format!("the model answered `{id}`, which is none of the ids")));
        }
        Ok(Some((id.to_owned(), answer["reason"].as_str().map(str::to_owned))))
    }

    fn __repr__(&self) -> String {
        format!("<ModelRequest {}: {:?}>", self.0.name, self.0.text)
    }
}

/// Converts the keyword arguments `arguments` and `context` of a call to JSON objects, which are
/// empty for None.
pub fn call_values_to_json(
    arguments: Option<&Bound<'_, PyAny>>,
    context: Option<&Bound<'_, PyAny>>,
) -> PyResult<(serde_json::Map<String, Json>, serde_json::Map<String, Json>)> {
    Ok((json_fields(arguments, "arguments")?, json_fields(context, "context")?))
}
