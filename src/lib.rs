//! `rulec` compiles `.rules` files, a small typed language of routing decisions, and decides with
//! them from Rust: which handler takes a message, and why.
//!
//! ```
//! use rulec::Rules;
//! use serde_json::json;
//!
//! let rules = Rules::from_text(
//!     r#"
//!     route show_files priority 100
//!       when text contains any ["show", "list"] and ctx.message_count > 3
//!       -> file_handler(limit: ctx.limit ?? 20) { type: "file_operation" }
//!     default -> chat
//!     "#,
//! )?;
//!
//! let message = json!({"text": "show my files", "ctx": {"message_count": 4}});
//! let decision = rules.decide(&message);
//! assert_eq!(decision.chosen(), Some("show_files"));
//! assert_eq!(decision.target(), Some("file_handler"));
//! assert_eq!(decision.args()["limit"], json!(20));
//!
//! // If a field is missing, the condition does not hold, and neither does its negation; the explanation says so.
//! let decision = rules.decide(&json!({"text": "show my files"}));
//! assert!(decision.is_default());
//! let why = rules.explain(&json!({"text": "show my files"})).to_string();
//! assert!(why.contains("ctx.message_count is missing"));
//! # Ok::<(), rulec::CompileError>(())
//! ```
//!
//! [`Compiler`] compiles rules with host functions, imports and options. [`Rules`] is a compiled
//! rule set; it is `Send + Sync` and cheap to clone. A [`Session`] is the fastest way to make many
//! decisions on one thread. A [`Decision`] is the result and owns its data. [`LiveRules`] is a rule
//! set that can be edited while other threads decide with it. Each [`Diagnostic`] and each
//! [`Explanation`] is plain data.
//!
//! [`payload`] validates the actions that a language model proposes. [`flow`] selects the
//! conversation flow that a message starts. [`classifier`] classifies texts by intent. The package
//! `rulec-runtime` runs routers with async handlers, events and workflows. `rulec-http` makes HTTP
//! calls; `rulec-import` converts the rules of other systems.

#![forbid(unsafe_code)]

#[cfg(all(feature = "jit", not(target_pointer_width = "64")))]
compile_error!("the feature `jit` needs a 64-bit target; build without it");

pub mod artifact;
pub mod bundled;
pub mod choice;
pub mod condition;
mod engine;
pub mod explanation;
pub mod files;
pub mod flow;
pub mod history;
pub mod payload;
pub mod prompt;
mod schema;

#[cfg(feature = "signatures")]
pub use artifact::signature::{KeyError, SigningKey, VerifyingKey};
#[doc(hidden)]
pub use engine::CheckedRules;
pub use engine::{
    AnalysisError, ArgsError, Backend, CompileError, Compiler, Decision, Edit, EditError, Entry, FlowHit,
    Guard, HostArgument, HostFunction, HostResult, Indexing, LiveRules, NextNodes, PreparedMessage, Rules,
    Session, TestOutcome, Tier, TierUnavailable, UnknownEntry, UnknownStatement, decide_async,
};
pub use files::DiskLoader;
pub use rulec_analysis::{AnalysisOptions, Finding, cost, diff, overlaps, why_not};
pub use rulec_base::diag::{
    Applicability, Code, Diagnostic, Fix, Label, Language, Message, Renderer, Severity,
};
pub use rulec_base::json::{JsonError, JsonErrorKind};
pub use rulec_base::source::{Position, SourceFile, SourceMap};
pub use rulec_base::span::{FileId, Span};
pub use rulec_eval::decision::{Choice, Chosen};
pub use rulec_eval::explain::{Explanation, RenderOptions};
pub use rulec_eval::host::HostFailure;
pub use rulec_eval::text_analysis::record::{FoundEntity, RequestAnalysis};
pub use rulec_eval::trace::SkippedCondition;
pub use rulec_lang::limits::{Exceeded, Limit};
pub use rulec_lang::schema::InputViolation;
pub use rulec_nlu as classifier;
pub use rulec_sema::hir::{RuleId, TableId, TableKind};
pub use rulec_syntax::loader::{LoadError, Loader, MemoryLoader};

/// Runs every `test` block: tests of decisions by tables, of the validation of payloads, and of the
/// selection of flows. If there are intent flows, the tests of flows also use the built-in
/// classifier. Values of `@private` fields are masked in the outcomes.
pub fn run_tests(rules: &Rules) -> Vec<TestOutcome> {
    run_tests_with(rules, false)
}

/// Like [`run_tests`](fn@run_tests), but with `show_private` the outcomes show private values.
pub fn run_tests_with(rules: &Rules, show_private: bool) -> Vec<TestOutcome> {
    let mut outcomes = rules.run_tests_with(show_private);
    outcomes.extend(payload::run_tests(rules));
    outcomes.extend(flow::run_tests_with(rules, show_private));
    outcomes.sort_by_key(|outcome| outcome.span);
    outcomes
}

/// Runs the code examples of `docs/live.md` as doc tests.
#[cfg(doctest)]
#[doc = include_str!("../docs/live.md")]
mod live_page {}
