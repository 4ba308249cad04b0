//! The client of a running service (`rulec serve`). Subcommands with the option `--server` ask the
//! service instead of reading a rules file.

use super::CliError;
use rulec_base::message;
#[cfg(any(feature = "history", feature = "http", test))]
use std::{borrow::Cow, path::Path};

/// Options that name a service.
#[derive(Clone, Debug, clap::Args)]
pub struct ServerArgs {
    /// Use the rules of a running `rulec serve` at this address, such as http://127.0.0.1:8181.
    /// Give the name of the rules there instead of a file. Needs a program with the feature `http`
    #[arg(long, value_name = "URL")]
    pub server: Option<String>,
    /// The name of the environment variable that holds the bearer token for the service [default:
    /// RULEC_TOKEN]
    #[arg(long, value_name = "NAME", requires = "server")]
    pub server_token: Option<String>,
}

/// Option that requires a certain generation (version number) of the rules at a service.
#[derive(Clone, Debug, clap::Args)]
pub struct GenerationArgs {
    /// Fail unless the service uses this version of the rules: the number `generation` in its
    /// decision log and in `GET /v1/rules`
    #[arg(long, value_name = "N", requires = "server")]
    pub generation: Option<u64>,
}

/// Returns the name of the rules at a service, and of their history at a server. If `rules` is the
/// path of a file, this is the file's name without `.rules` or `.rulec`. Another ending belongs to
/// the name.
#[cfg(any(feature = "history", feature = "http", test))]
pub fn rules_name(rules: &Path) -> Cow<'_, str> {
    let is_file = rules.extension().is_some_and(|end| end == "rules" || end == "rulec");
    let name = if is_file { rules.file_stem() } else { rules.file_name() };
    name.unwrap_or(rules.as_os_str()).to_string_lossy()
}

#[cfg(not(feature = "http"))]
impl ServerArgs {
    /// Returns an error if `--server` is given, because this program was built without HTTP calls.
    pub fn reject(&self) -> Result<(), CliError> {
        match &self.server {
            None => Ok(()),
            Some(_) => Err(CliError::usage_error(message!(
                "`--server` has no effect: {}",
                crate::model::no_http_message()
            ))),
        }
    }
}

#[cfg(feature = "http")]
pub use with::{ServiceClient, language_name};

#[cfg(feature = "http")]
mod with {
    use super::{CliError, ServerArgs, message};
    use crate::language::language;
    use crate::variables::read_secret;
    use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
    use rulec::Message;
    use rulec_base::json::parse_deep;
    use rulec_http::{AllowedHosts, Body, HttpClient, HttpError, HttpFailure, Limits, Request, Secret};
    use serde::{Deserialize, Serialize};
    use serde_json::Value as Json;
    use tokio::runtime::Runtime;

    /// The environment variable that contains the token, if `--server-token` names no other
    /// variable.
    const SERVER_TOKEN_VARIABLE: &str = "RULEC_TOKEN";
    /// Maximum number of bytes of a service's answer. An explanation can be much longer than its
    /// message.
    const MAX_ANSWER_BYTES: usize = 64 << 20;
    /// Maximum nesting depth of lists and objects in an answer. An explanation is nested deeper
    /// than its message: a condition may have 256 levels, and each adds two levels of JSON.
    const MAX_ANSWER_DEPTH: usize = 640;

    /// The client of a running service, and the tokio runtime that runs the calls to it.
    pub struct ServiceClient {
        client: HttpClient,
        url: String,
        token: Option<Secret>,
        runtime: Runtime,
    }

    /// The reason why a service gave no answer.
    pub struct RequestFailure {
        /// The error as a sentence with a remedy.
        pub message: Message,
        /// The text and the diagnostic code of the error, if the service refused the message in the
        /// request. `None` for other failures.
        pub message_error: Option<(String, String)>,
    }

    impl RequestFailure {
        fn new(message: Message) -> RequestFailure {
            RequestFailure { message, message_error: None }
        }

        /// Converts this failure to an error of the program, which names the option `--server`.
        pub fn into_error(self) -> CliError {
            CliError::usage_error(message!("`--server`: {error}", error = self.message))
        }
    }

    /// The error that a service sends as `application/problem+json`.
    #[derive(Deserialize)]
    struct ServiceProblem {
        #[serde(rename = "type")]
        kind: String,
        detail: String,
        #[serde(default)]
        code: Option<String>,
    }

    impl ServiceClient {
        /// Creates the client of the service that `--server` names. `None` without the option.
        ///
        /// # Errors
        /// If the address is no URL, or `--server-token` names no variable.
        pub fn open(args: &ServerArgs) -> Result<Option<ServiceClient>, CliError> {
            let Some(address) = args.server.as_deref() else { return Ok(None) };
            let to_error = |error: Message| CliError::usage_error(message!("`--server`: {error}"));
            let hosts = AllowedHosts::of_url(address).map_err(|error| to_error(error.to_message()))?;
            let client = HttpClient::new(hosts, Limits { body: MAX_ANSWER_BYTES, ..Limits::default() });
            let client = client.map_err(|error| to_error(error.to_message()))?;
            let token =
                read_secret("--server-token", args.server_token.as_deref(), Some(SERVER_TOKEN_VARIABLE))?;
            // One thread is enough: it keeps the connections open, and the calling threads run the
            // calls.
            let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build();
            let runtime = runtime.map_err(CliError::from_io_error)?;
            let url = address.trim_end_matches('/').to_owned();
            Ok(Some(ServiceClient { client, url, token, runtime }))
        }

        /// Sends messages, one per line, to the path `path` of the service. Returns the answers as
        /// text.
        pub fn ask_lines(&self, path: &str, lines: &[u8]) -> Result<String, RequestFailure> {
            let url = format!("{}{path}", self.url);
            let request = Request::post_bytes(url, "application/x-ndjson", lines.to_vec());
            self.send(request)
        }

        /// Sends a request as JSON to the path `path` of the service. Returns the answer.
        pub fn ask(&self, path: &str, request: &impl Serialize) -> Result<Json, RequestFailure> {
            let body = serde_json::to_string(request)
                .map_err(|error| RequestFailure::new(message!("this cannot be written as JSON: {error}")))?;
            let url = format!("{}{path}", self.url);
            let request = Request::post_bytes(url, "application/json", body.into_bytes());
            let answer = self.send(request)?;
            self.parse_answer(&answer)
        }

        /// Sends a `GET` request to the path `path` of the service. Returns the JSON answer.
        pub fn get(&self, path: &str) -> Result<Json, RequestFailure> {
            let answer = self.send(Request::get(format!("{}{path}", self.url)))?;
            self.parse_answer(&answer)
        }

        /// Returns the service's description of the rules `rules_name` that are in force.
        pub fn describe_rules(&self, rules_name: &str) -> Result<Json, RequestFailure> {
            self.get(&format!("/v1/rules/{}", utf8_percent_encode(rules_name, NON_ALPHANUMERIC)))
        }

        /// Converts a JSON answer to the type `T`. Fails if the answer lacks a field, as from a
        /// service of another version.
        pub fn deserialize_answer<T: for<'de> Deserialize<'de>>(&self, answer: Json) -> Result<T, CliError> {
            T::deserialize(answer).map_err(|error| {
                let (url, error) = (&self.url, error.to_string());
                RequestFailure::new(message!(
                    "the service at `{url}` has answered something else ({error}); is its version another one?"
                ))
                .into_error()
            })
        }

        fn parse_answer(&self, answer: &str) -> Result<Json, RequestFailure> {
            parse_deep(answer, MAX_ANSWER_DEPTH).map_err(|_| {
                RequestFailure::new(message!(
                    "at `{url}` is no service of rulec; give the address that `rulec serve` prints",
                    url = self.url
                ))
            })
        }

        /// Sends an HTTP request to the service. Returns the body of the response.
        fn send(&self, request: Request) -> Result<String, RequestFailure> {
            // The response is requested as text, because the client parses JSON only to a depth of
            // 128.
            let mut request = request.repeatable().as_text();
            if let Some(token) = &self.token {
                request = request.bearer(token).map_err(|error| RequestFailure::new(error.to_message()))?;
            }
            let response = self.runtime.block_on(self.client.send(&request));
            match response.map(|response| response.body) {
                Ok(Body::Text(text)) => Ok(text),
                Ok(Body::Json(json)) => Ok(json.to_string()),
                Err(error) => Err(self.to_failure(&error)),
            }
        }

        /// Converts the error of a call to a failure that names the remedy.
        fn to_failure(&self, error: &HttpError) -> RequestFailure {
            let url = &self.url;
            let (status, text) = match error.failure() {
                HttpFailure::Status { status, text } => (*status, text),
                HttpFailure::Connection { why } => {
                    return RequestFailure::new(message!(
                        "no service answers at `{url}` ({why}); start one with `rulec serve RULES`, or correct the address"
                    ));
                }
                _ => return RequestFailure::new(error.to_message()),
            };
            let problem = serde_json::from_str::<ServiceProblem>(text).ok();
            let Some(ServiceProblem { kind, detail, code }) = problem else {
                return match status {
                    404 | 405 => RequestFailure::new(message!(
                        "at `{url}` is no service of rulec; give the address that `rulec serve` prints"
                    )),
                    _ => RequestFailure::new(error.to_message()),
                };
            };
            let message = match (status, kind.rsplit(':').next().unwrap_or_default()) {
                (401, _) => message!(
                    "the service at `{url}` wants a token: set the variable `RULEC_TOKEN`, or name another one with \
                    `--server-token` ({detail})"
                ),
                (403, _) => message!("the service at `{url}` refuses this: {detail}"),
                (404, "not-found") => message!(
                    "the service at `{url}` is older than this program and cannot do this ({detail}); update the service"
                ),
                (412, _) => message!(
                    "{detail}; leave `--generation` out to ask the rules that are in force, or roll them back"
                ),
                (400, "invalid-request") if code.is_none() && detail.starts_with("unknown field") => {
                    message!(
                        "the service at `{url}` is older than this program and cannot do this ({detail}); update the service"
                    )
                }
                _ => message!("the service at `{url}` answered {status}: {detail}"),
            };
            let refused_message = code.filter(|_| status == 400).map(|code| (detail, code));
            RequestFailure { message, message_error: refused_message }
        }
    }

    /// Returns the name of the language in which the service should write. `None` for English, the
    /// default of the service.
    pub fn language_name() -> Option<&'static str> {
        Some(language()).filter(|language| *language != rulec::Language::default()).map(rulec::Language::code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_ending_of_a_file_is_removed_from_a_name() {
        for (rules, name) in [
            ("support", "support"),
            ("support.v2", "support.v2"),
            ("folder/support.rules", "support"),
            ("a.b.rulec", "a.b"),
        ] {
            assert_eq!(rules_name(Path::new(rules)), name);
        }
    }
}
