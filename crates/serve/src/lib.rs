//! The decision service: over HTTP, it lets programs in any language decide messages by the rules.
//!
//! [`Service`] is the core: methods that take a request and return an answer, without any protocol.
//! A *door* is a protocol adapter: it converts the requests of one protocol to calls of the core.
//! [`Server`] accepts connections and applies the limits.
//!
//! | module | contents |
//! |---|---|
//! | `service` | the core: decisions, payloads, flows, workflows, analyses, tests |
//! | `rules` | the rules in force: where they come from, their versions, edits |
//! | `log`, `receipt` | the decision log, and receipts by which a request waits for its line |
//! | `doors` | one file for each protocol |
//! | `server` | listeners, TLS, start and stop of the service |
//! | `openapi` | the description of the service |
//! | `otlp` | metrics and traces for an OpenTelemetry collector |
//! | `limits`, `auth`, `web` | limits and deadlines, tokens, checks of requests from web pages |
//! | `metrics`, `traffic`, `events` | metrics, live traffic, events for the operator |
//! | `problem`, `trace` | errors in responses, trace ids |

#![forbid(unsafe_code)]

mod auth;
mod doors;
mod events;
mod limits;
mod log;
mod metrics;
mod openapi;
#[cfg(feature = "remote")]
mod otlp;
mod problem;
mod receipt;
mod rules;
mod server;
mod service;
mod trace;
mod traffic;
mod web;

pub use auth::{Scope, Tokens};
pub use events::EventSink;
pub use limits::{LimitRow, Limits, LogLimits};
pub use log::{LogMode, LogOptions, LogSampling, LogShare, LogTarget};
#[cfg(feature = "remote")]
pub use log::{LogProtocol, RemoteLog};
#[cfg(feature = "remote")]
pub use otlp::OtlpOptions;
pub use problem::Problem;
#[cfg(feature = "remote")]
pub use rules::RemoteSource;
pub use rules::{
    ListRules, OpenHistory, RuleFolders, RuleListing, RuleSet, RuleSource, RulesLocation, StartError,
};
pub use server::{Address, Options, Server, ServerSignal};
pub use service::{DecideRequest, DecisionWithAnswer, Service};
