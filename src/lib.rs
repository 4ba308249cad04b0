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
//! [`Compiler`] compiles with host functions, imports and options; [`Rules`] is a compiled rule set,
//! `Send + Sync` and cheap to clone; a [`Session`] decides again and again; [`Decision`] is the answer and owns
//! what it names; [`LiveRules`] change while they serve. Diagnostics are plain data ([`Diagnostic`]), and so is an
//! [`Explanation`].
//!
//! [`payload`] judges what a language model proposes, [`flow`] finds the conversation that a message starts, and
//! [`classifier`] tells intents apart. Routers that run async handlers, events and workflows are in the package
//! `rulec-runtime`, calls to the outside in `rulec-http`, other systems' rules in `rulec-import`.

#[cfg(all(feature = "jit", not(target_pointer_width = "64")))]
compile_error!("the feature `jit` needs a 64-bit target; build without it");

mod analysis;
mod arena;
mod artifact;
mod builtins;
mod bytecode;
pub mod classifier;
mod codec;
mod decision;
mod diag;
mod engine;
mod eval;
mod explain;
mod graph;
mod host;
mod ide;
mod index;
mod input;
#[cfg(feature = "jit")]
mod jit;
mod json;
mod limits;
mod loader;
mod meaning;
mod modifiers;
mod ops;
mod predicate;
mod request;
mod schema;
mod sema;
mod source;
mod span;
mod syntax;
mod systems;
mod text;
mod threads;
mod trace;
mod ty;
mod value;
mod vm;
mod walk;

pub use analysis::{AnalysisOptions, Finding, cost, diff, overlaps, why_not};
#[cfg(feature = "signatures")]
pub use artifact::signature::{KeyError, SigningKey, VerifyingKey};
pub use diag::{Applicability, Code, Diagnostic, Fix, Label, Language, Renderer, Severity};
pub use engine::{
    Backend, CompileError, Compiler, Decision, DiskLoader, Edit, EditError, Entry, FlowHit, Guard,
    HostArgument, HostFunction, HostResult, Indexing, LiveRules, NextNodes, Record, Rules, Session,
    TestOutcome, Tier, TierUnavailable, UnknownEntry, UnknownStatement,
};
pub use explain::{Explanation, RenderOptions};
pub use host::HostFailure;
pub use json::{JsonError, JsonErrorKind};
pub use limits::Exceeded;
pub use loader::{LoadError, Loader, MemoryLoader};
pub use schema::Breach;
pub use sema::hir::TableKind;
pub use source::{Position, SourceFile, SourceMap};
pub use span::{FileId, Span};
pub use systems::{choice, condition, flow, payload, prompt, run_tests, shipped};
pub use trace::SkippedCondition;

/// The compiler's own modules, for the tools, tests and benchmarks of this repository. Everything in here may
/// change in any release.
#[doc(hidden)]
pub mod internals {
    macro_rules! inside {
        ($($module:ident)*) => { $(pub mod $module { pub use crate::$module::*; })* };
    }

    inside! {
        arena artifact builtins bytecode codec decision diag engine eval explain graph host ide index input json limits loader meaning
        modifiers ops request schema sema source span syntax text threads trace ty value vm
    }
    #[cfg(feature = "jit")]
    inside! { jit }
}

/// The examples of the pages, which are run as well.
#[cfg(doctest)]
#[doc = include_str!("../docs/live.md")]
mod live_page {}
