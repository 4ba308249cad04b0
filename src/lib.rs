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
//! // What is missing never matches, and neither does its negation; the explanation says so.
//! let decision = rules.decide(&json!({"text": "show my files"}));
//! assert!(decision.is_default());
//! let why = rules.explain(&json!({"text": "show my files"})).to_string();
//! assert!(why.contains("ctx.message_count is missing"));
//! # Ok::<(), rulec::CompileError>(())
//! ```
//!
//! [`Compiler`] compiles with host functions, imports and options; [`Rules`] is a compiled rule set,
//! `Send + Sync` and cheap to clone; [`Decision`] is the answer. Diagnostics are plain data
//! ([`Diagnostic`]), and so is an [`Explanation`].
//!
//! With the feature `runtime`, which is on unless turned off, the module `systems` holds a router that
//! runs async handlers for decisions and a typed event bus; both need tokio.
//!
//! The other modules are the compiler's own rooms, public for tools built on it; `ARCHITECTURE.md`
//! is their map.

#[cfg(all(feature = "jit", not(target_pointer_width = "64")))]
compile_error!("the feature `jit` needs a 64-bit target; build without it");

pub mod artifact;
pub mod builtins;
pub mod bytecode;
pub mod classifier;
pub mod codec;
pub mod decision;
pub mod diag;
pub mod engine;
pub mod eval;
pub mod explain;
pub mod host;
pub mod index;
pub mod input;
#[cfg(feature = "jit")]
pub mod jit;
pub mod json;
pub mod loader;
pub mod meaning;
pub mod modifiers;
pub mod ops;
pub mod request;
pub mod schema;
pub mod sema;
pub mod source;
pub mod span;
pub mod syntax;
pub mod systems;
pub mod text;
pub mod threads;
pub mod trace;
pub mod ty;
pub mod value;
pub mod vm;
mod walk;

pub use diag::{Code, Diagnostic, Severity};
pub use engine::{
    CompileError, Compiler, Decision, EditError, Entry, FlowHit, Indexing, LiveDecision, LiveRules,
    NextNodes, Record, Rules, TestOutcome, Tier, TierUnavailable, UnknownEntry, UnknownRoute,
};
pub use explain::Explanation;
pub use host::HostFailure;
pub use loader::{LoadError, Loader, MemoryLoader};
pub use schema::Breach;
pub use trace::SkippedCondition;
