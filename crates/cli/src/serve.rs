//! Implements `rulec serve`, which decides messages over HTTP. The crate `rulec-serve` contains the
//! service. The subcommand is an optional feature, because it adds a web server to the program.

#[cfg(feature = "serve")]
mod service;

#[cfg(feature = "serve")]
pub use service::run;

use super::document::DocumentArgs;
use super::keys::KeyLocation;
use super::term::{Out, Term};
use super::{CliError, ExitStatus};
use std::path::PathBuf;

/// Serve decisions over HTTP to programs in any language
#[derive(Clone, clap::Args)]
#[command(after_help = "Examples:
  rulec serve support.rules
  curl -H 'Content-Type: application/json' -d '{\"message\": {\"text\": \"a refund\"}}' http://127.0.0.1:8181/v1/decide
  rulec serve rules/ --listen 0.0.0.0:8181 --tokens tokens --tls-cert chain.pem --tls-key key.pem
  rulec serve billing=b.rules support=s.rulec --trust release.pub
  rulec serve https://rules.example/support.rulec --trust release.pub --fetch-token RULES_TOKEN
  rulec serve bot.json                  another system's JSON; a bad item is skipped, and `GET /v1/rules` says so
  rulec serve bots/ --as flows          each `.json` file of the folder, too
  rulec serve support.rules --listen unix:/run/rulec/socket
  rulec serve guard.rules --history redis://127.0.0.1:6379   share the histories of several services
  rulec serve support.rules --mcp
  rulec serve support.rules --log decisions.jsonl --log-mode sync --log-key log.pem
  rulec serve support.rules --log https://logs.example/lines --log-mode spill --log-spill /var/lib/rulec/log

The service reads changed rules at once. Rules with errors change nothing: the last good rules stay in force, and \
`GET /v1/rules` says why. It answers `/v1/decide`, `/v1/batch`, `/v1/observe`, `/v1/why`, `/v1/judge/KIND`, `/v1/flows`, `/v1/workflows/NAME`, \
`/v1/analyze`, `/v1/test`, `/v1/rules` and the paths below it, `/v1/traffic`, `/v1/reload`, `/metrics`, `/healthz`, `/readyz` and \
`/openapi.json`. It also answers OPA \
(`/v1/data/PATH`), AuthZEN (`/access/v1/evaluation`), Envoy's ext_authz (`/ext_authz`) and MCP (`/mcp`). With the \
feature `grpc`, it answers gRPC at the same address: `rulec.v1.Rules`, health, reflection, Envoy's ext_authz.

These limits have no option. `/metrics` has all limits as `rulec_limit`, and as `rulec_limits_hit_total` how often \
each was met:
  `head`       32 KiB for the request line and headers of a request
  `streams`    128 open requests on an HTTP/2 connection
  `depth`      128 levels of nested lists and objects in a message
  `questions`  1,000 questions in one request of AuthZEN
  `steps`      10,000 calls of nodes in one run of a workflow; an incomplete run can be resumed
  `bodies`     `--max-requests` times (`--max-body` and 16 KiB) for all bodies being received
  `log_lines`  10,000 lines that wait for the log
  `log_bytes`  64 MiB for the lines that wait for the log

Events, such as changes of rules, are JSON lines on standard error. SIGHUP looks for changed files. SIGTERM and \
SIGINT answer the open requests, and end the service.

Exit status: 0 all open requests were answered, 1 some were not, or the rules have errors, 2 wrong usage.")]
pub struct Args {
    /// Rule files, compiled `.rulec` files, JSON documents of other systems, folders with such
    /// files, or URLs of rules at an HTTP server. `NAME=FILE` sets the name by which requests
    /// select the rules [default NAME: the file name without its extension]
    #[arg(value_name = "RULES", required = true)]
    pub rules: Vec<String>,
    /// Where to listen: an address with a port, or `unix:PATH` for a Unix socket
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:8181")]
    pub listen: String,
    /// Serve one agent over standard input and output by the Model Context Protocol (MCP), instead
    /// of listening
    #[arg(long, conflicts_with = "tokens")]
    pub mcp: bool,
    /// Imported files must be in this folder or below it; others are an error [default: the folder
    /// of each file]
    #[arg(long, value_name = "DIR")]
    pub root: Option<PathBuf>,
    /// Load only compiled `.rulec` files that this Ed25519 key signed: a PEM file with the public
    /// key, or `env:NAME` for an environment variable that holds it; may be repeated
    #[arg(long, value_name = "KEY")]
    pub trust: Vec<KeyLocation>,
    /// The time between two requests for rules at a URL, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 30_000, value_parser = clap::value_parser!(u64).range(100..))]
    pub fetch_interval: u64,
    /// The name of the environment variable that holds the bearer token for rules at a URL
    #[arg(long, value_name = "NAME")]
    pub fetch_token: Option<String>,
    /// Require a bearer token. Each line of this file has a name, scopes (decide, explain, admin)
    /// and a token's SHA-256 hash in hexadecimal, such as `ci decide,explain 9f86…`
    #[arg(long, value_name = "FILE")]
    pub tokens: Option<PathBuf>,
    /// Allow `--listen` to name an address that other machines reach, without `--tokens`. Something
    /// else, such as a proxy, must then guard the service
    #[arg(long, conflicts_with = "tokens")]
    pub no_auth: bool,
    /// The certificate chain for TLS, a PEM file; read again when it changes
    #[arg(long, value_name = "FILE", requires = "tls_key")]
    pub tls_cert: Option<PathBuf>,
    /// The private key for TLS, a PEM file
    #[arg(long, value_name = "FILE", requires = "tls_cert")]
    pub tls_key: Option<PathBuf>,
    /// A website whose pages may send requests from a browser (CORS), such as
    /// `https://example.com`; may be repeated [default: none]
    #[arg(long, value_name = "ORIGIN")]
    pub cors_origin: Vec<String>,
    /// Without `--tokens`: a host name in requests that the service accepts, in addition to
    /// `localhost` and IP addresses; may be repeated
    #[arg(long, value_name = "NAME", conflicts_with = "tokens")]
    pub host: Vec<String>,
    /// Show the studio under `/studio`, with the rules in force and the live traffic; needs a token
    /// with the scope `admin`
    #[arg(long, requires = "tokens", conflicts_with = "mcp")]
    pub studio: bool,
    /// Send metrics and traces to the OpenTelemetry collector at this address, by OTLP over HTTP
    /// with JSON, such as `http://127.0.0.1:4318`
    #[arg(long, value_name = "URL")]
    pub otlp: Option<String>,
    /// The name of the environment variable that holds the bearer token for the collector
    #[arg(long, value_name = "NAME", requires = "otlp")]
    pub otlp_token: Option<String>,
    /// The time after which metrics are sent to the collector again, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 15_000, requires = "otlp", value_parser = clap::value_parser!(u64).range(100..))]
    pub otlp_interval: u64,
    /// Where to keep the messages that requests record: a folder, with a history for each rule set,
    /// or `redis://HOST:PORT/DATABASE` for a Redis server, which several services can share
    /// [default: in memory]
    #[arg(long, value_name = "DIR", conflicts_with = "mcp")]
    pub history: Option<PathBuf>,
    /// Append each decision with its message to this file, a decision log; `-` writes to standard
    /// output. A URL sends the lines to an HTTP server, and `otlp` to the collector of `--otlp`
    #[arg(long, value_name = "FILE")]
    pub log: Option<PathBuf>,
    /// What to do with lines of the log that arrive faster than the disk or the server takes them
    #[arg(long, value_name = "MODE", value_enum, default_value_t, requires = "log")]
    pub log_mode: LogModeArg,
    /// Sign checkpoints of the log with this Ed25519 key, for `rulec log verify --verify`: a PEM
    /// file with the private key, or `env:NAME` for an environment variable that holds it
    #[arg(long, value_name = "KEY", requires = "log")]
    pub log_key: Option<KeyLocation>,
    /// The name of the environment variable that holds the bearer token for a log at a URL
    #[arg(long, value_name = "NAME", requires = "log")]
    pub log_token: Option<String>,
    /// With `--log-mode spill`, keep the lines for a server in `FILE.spill` until the server has
    /// accepted them
    #[arg(long, value_name = "FILE", requires = "log")]
    pub log_spill: Option<PathBuf>,
    /// With `--log-mode spill`, the maximum size of the file, in bytes; further lines are dropped
    /// and counted
    #[arg(long, value_name = "BYTES", default_value_t = 4 << 30, requires = "log")]
    pub log_spill_max: u64,
    /// Log only this share of decisions, chosen by a hash: `0.1` for all, or
    /// `[RULES:]ENTRY[/ROUTE]=SHARE`, where `*` is any name; may be repeated. Decisions without a
    /// route, with an input violation, with an error, or that are recorded are always logged
    #[arg(long, value_name = "SHARE", requires = "log")]
    pub log_sample: Vec<String>,
    /// Apply `--log-sample` also to decisions without a route, with an input violation, or with an
    /// error
    #[arg(long, requires = "log_sample")]
    pub log_sample_all: bool,
    /// After this number of bytes, rename the log to `FILE.NUMBER` and begin a new file
    #[arg(long, value_name = "BYTES", default_value_t = 256 << 20, requires = "log")]
    pub log_rotate: u64,
    /// The maximum size of a request's body, and of a line in a stream, in bytes; a larger body
    /// gets the status 413
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 20)]
    pub max_body: usize,
    /// The maximum number of open connections; a further one takes the place of one that has no
    /// open request
    #[arg(long, value_name = "N", default_value_t = 1024, value_parser = parse_positive)]
    pub max_connections: usize,
    /// The maximum number of requests that are answered at the same time; further ones get the
    /// status 503
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = parse_positive)]
    pub max_requests: usize,
    /// The maximum time for an answer, in milliseconds; later, the request gets the status 504
    #[arg(long, value_name = "MS", default_value_t = 10_000)]
    pub deadline: u64,
    /// The maximum time until the request line and headers are complete, in milliseconds; later,
    /// the connection is closed
    #[arg(long, value_name = "MS", default_value_t = 10_000)]
    pub head_time: u64,
    /// The maximum time that an HTTP/2 connection may have no open request, in milliseconds; later,
    /// it is closed
    #[arg(long, value_name = "MS", default_value_t = 60_000)]
    pub idle_time: u64,
    /// The maximum time in which a client receives no part of its answer, in milliseconds; later,
    /// the connection is closed
    #[arg(long, value_name = "MS", default_value_t = 30_000)]
    pub write_time: u64,
    #[command(flatten)]
    pub document: DocumentArgs,
    /// For JSON of another system: refuse a document with an item that cannot be translated,
    /// instead of skipping the item
    #[arg(long, display_order = 904)]
    pub strict: bool,
    /// The maximum time for open requests to end after SIGTERM or SIGINT, in milliseconds; later,
    /// they are cut off
    #[arg(long, value_name = "MS", default_value_t = 30_000)]
    pub drain: u64,
}

/// How the service handles lines of the decision log that arrive faster than they can be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
pub enum LogModeArg {
    /// Drop them and count them
    #[default]
    Drop,
    /// Keep them in a file until they are written
    Spill,
    /// Send each answer only after its line is on the disk, or the server has accepted it
    Sync,
}

fn parse_positive(text: &str) -> Result<usize, String> {
    text.parse().ok().filter(|count| *count > 0).ok_or_else(|| "a number of at least 1 is wanted".to_owned())
}

#[cfg(not(feature = "serve"))]
pub fn run(_: &Args, _: &Term, _: &mut Out) -> Result<ExitStatus, CliError> {
    Err(CliError::usage_error(rulec_base::message!(
        "this program was built without the service; the Python package never has it: `cargo build -p rulec-cli --features serve` builds a program that has it"
    )))
}
