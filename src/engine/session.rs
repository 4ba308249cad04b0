//! Sessions: everything that does not depend on the message is resolved once.

use super::backend::{Backend, Backends};
use super::decision::{Decision, Extras};
use super::input::{Input, Record};
use super::set::{Handle, RuleSet};
use super::strategy::Tier;
use super::workspace::Workspace;
use rulec_base::json::{self, JsonError};
use rulec_eval::decision::Choice;
#[cfg(feature = "jit")]
use rulec_jit::EntryCode;
use rulec_lang::value::Value;
use rulec_sema::hir::RuleId;
use rulec_vm::input::{Fill, Filled, Plan};
use rulec_vm::vm::Scratch;
use serde::Serialize;
use serde_json::Value as Json;
use std::sync::Arc;

/// An entry with a resolved engine, its machine code, and its own working memory. A session gives
/// the same results as [`Entry`](super::Entry) and is the fastest way to decide. A service keeps
/// one session per thread.
///
/// The session keeps its rules alive. Other rules need another session.
///
/// ```
/// use rulec::Rules;
/// use serde_json::json;
///
/// let rules = Rules::from_text("route small when n < 10 -> few\ndefault -> many")?;
/// let mut session = rules.session();
/// assert_eq!(session.decide(&json!({"n": 3})).target(), Some("few"));
/// assert_eq!(session.decide_line(br#"{"n": 30}"#)?.target(), Some("many"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Session {
    rules: Arc<Handle>,
    backends: Backends,
    workspace: Workspace,
    /// The machine code for prepared messages; `None` until a decision selects machine code.
    #[cfg(feature = "jit")]
    code: Option<EntryCode>,
    /// The generation of `rules`.
    generation: u64,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let table = &self.rules.program.tables[self.backends.table.index()];
        write!(f, "Session({}, generation {})", table.name, self.rules.generation)
    }
}

impl Session {
    /// Creates a session with its own reference count on the rules.
    pub(super) fn new(rules: Arc<Handle>, backends: Backends) -> Session {
        Session {
            generation: rules.generation,
            rules,
            backends,
            workspace: Workspace::default(),
            #[cfg(feature = "jit")]
            code: None,
        }
    }

    #[inline(always)]
    fn call(&mut self) -> Call<'_> {
        Call { rules: &self.rules, backends: &mut self.backends, workspace: &mut self.workspace }
    }

    /// Evaluates the entry for a message and returns the decision.
    pub fn decide(&mut self, message: &Json) -> Decision {
        self.call().decide(Input::Tree(message))
    }

    /// Decides for a message given as JSON text; see
    /// [`Entry::decide_line`](super::Entry::decide_line).
    pub fn decide_line(&mut self, text: &[u8]) -> Result<Decision, JsonError> {
        self.call().decide_line(text)
    }

    /// Decides for any value that serializes to a JSON object; see
    /// [`Entry::decide_value`](super::Entry::decide_value).
    ///
    /// # Errors
    /// If the value cannot be represented as JSON.
    pub fn decide_value<T: Serialize>(&mut self, message: &T) -> Result<Decision, serde_json::Error> {
        self.call().decide_value(message, |decide| decide())
    }

    /// Decides for a message that the same rules prepared. A record of other rules is prepared
    /// again.
    pub fn decide_record(&mut self, record: &Record<'_>) -> Decision {
        self.call().decide_record(record)
    }

    /// Returns only the choice that [`Session::decide_record`] makes. Arguments are not evaluated,
    /// and failures of host functions are not reported.
    // Inlined into callers: for a single route, call overhead is a fifth of the work.
    #[inline]
    pub fn choose(&mut self, record: &Record<'_>) -> Choice {
        // Machine code first: no other engine needs to be selected or set up then.
        #[cfg(feature = "jit")]
        if let Some(code) = &self.code
            && record.generation == self.generation
        {
            return code.choose(&self.rules.hosts, &record.slots, &mut self.workspace.machine);
        }
        self.choose_by_any(record)
    }

    #[inline(never)]
    fn choose_by_any(&mut self, record: &Record<'_>) -> Choice {
        if record.generation != self.generation {
            return self.choose_anew(record.message);
        }
        let Session { rules, backends, workspace, .. } = self;
        let (backend, how, table) = (backends.resolve(rules, false), backends.how, backends.table);
        #[cfg(feature = "jit")]
        if backend == Backend::Jit {
            self.code = rules.code().and_then(|code| EntryCode::new(code, table));
        }
        rules.run(how, backend, Input::Record(record), &mut workspace.machine, |engine| engine.decide(table))
    }

    /// Chooses for a message that other rules prepared.
    #[cold]
    fn choose_anew(&mut self, message: &Json) -> Choice {
        let rules = Arc::clone(&self.rules);
        self.choose(&rules.prepare(message))
    }

    /// Decides for a message that `source` reads into slots, such as a row of columns. `None` if
    /// the source gives up or the message must be read as a JSON tree; the caller then decides on
    /// the tree. Unstable.
    #[doc(hidden)]
    pub fn decide_from<'a>(
        &'a mut self,
        source: impl FnOnce(&mut Fill<'a>) -> Option<()>,
    ) -> Option<Decision> {
        let Session { rules, backends, workspace: Workspace { machine, input, .. }, .. } = self;
        let plan = plan(rules, backends)?;
        input.fill(plan, source, |filled| decide_filled(rules, backends, machine, &filled)).flatten()
    }

    /// Decides for slot values of a message without violations of the `input` declaration. `None`
    /// if the message must be read as a JSON tree. Unstable.
    #[doc(hidden)]
    pub fn decide_slots(&mut self, slots: &[Value<'_>]) -> Option<Decision> {
        let Session { rules, backends, workspace, .. } = self;
        plan(rules, backends)?;
        Some(decide(rules, backends, &mut workspace.machine, Input::Slots(slots)))
    }

    /// Returns every route of the entry that holds for the message of `source`, in evaluation
    /// order. `None` in the same cases as [`Session::decide_from`]. Unstable.
    #[doc(hidden)]
    pub fn matched_from<'a>(
        &'a mut self,
        source: impl FnOnce(&mut Fill<'a>) -> Option<()>,
    ) -> Option<Vec<RuleId>> {
        let Session { rules, backends, workspace: Workspace { machine, input, .. }, .. } = self;
        let plan = plan(rules, backends)?;
        let backend = backends.resolve(rules, false);
        let (how, table) = (backends.how, backends.table);
        input.fill(plan, source, |filled| {
            rules.run(how, backend, Input::Slots(filled.values), machine, |engine| engine.matched(table))
        })
    }

    /// Returns the plan that maps message fields to slots; `None` if messages must be read as JSON
    /// trees. Unstable.
    #[doc(hidden)]
    pub fn plan(&self) -> Option<&Plan> {
        plan(&self.rules, &self.backends)
    }

    /// Returns the names of all routes of the entry whose conditions hold, in evaluation order.
    /// Only the condition of a jump itself is evaluated.
    pub fn matched(&mut self, message: &Json) -> Vec<&str> {
        let ids = self.call().matched(message);
        ids.into_iter().map(|id| &*self.rules.program.rules[id.index()].name).collect()
    }

    /// Returns the engine for the next message that is a JSON tree. With an automatic tier, the
    /// engine for messages already read into slots may differ.
    pub fn backend(&mut self) -> Backend {
        self.backends.resolve(&self.rules, true)
    }
}

#[cfg(all(test, feature = "jit"))]
impl Session {
    /// Returns the engine for the next prepared message.
    pub(super) fn slots_backend(&mut self) -> Backend {
        self.backends.resolve(&self.rules, false)
    }
}

/// The parts of a decision: from a session, or from an entry with the thread's workspace.
pub(super) struct Call<'c> {
    pub rules: &'c Arc<Handle>,
    pub backends: &'c mut Backends,
    pub workspace: &'c mut Workspace,
}

impl Call<'_> {
    /// Evaluates the entry for a message in any form.
    pub fn decide(self, input: Input<'_>) -> Decision {
        decide(self.rules, self.backends, &mut self.workspace.machine, input)
    }

    /// Evaluates the entry for a prepared message.
    pub fn decide_record(self, record: &Record<'_>) -> Decision {
        if record.generation == self.rules.generation {
            self.decide(Input::Record(record))
        } else {
            self.decide(Input::Tree(record.message))
        }
    }

    /// Decides for a message given as JSON text.
    pub fn decide_line(self, text: &[u8]) -> Result<Decision, JsonError> {
        let Call { rules, backends, workspace: Workspace { machine, input, .. } } = self;
        if let Some(plan) = plan(rules, backends)
            && let Some(Some(decision)) =
                input.read(plan, text, |filled| decide_filled(rules, backends, machine, &filled))
        {
            return Ok(decision);
        }
        let message = Json::Object(json::parse_object_bytes(text)?);
        Ok(decide(rules, backends, machine, Input::Tree(&message)))
    }

    /// Decides for any value that serializes to a JSON object. After the value is read, `apart`
    /// must run the closure that decides.
    pub fn decide_value<T: Serialize>(
        self,
        message: &T,
        apart: impl Fn(&mut (dyn FnMut() + Send)),
    ) -> Result<Decision, serde_json::Error> {
        let Call { rules, backends, workspace: Workspace { machine, input, .. } } = self;
        if let Some(plan) = plan(rules, backends)
            && let Some(Some(decision)) = input.take(plan, message, |filled| {
                let mut decision = None;
                apart(&mut || decision = decide_filled(rules, backends, machine, &filled));
                decision
            })
        {
            return Ok(decision);
        }
        let message = serde_json::to_value(message)?;
        let mut decision = None;
        apart(&mut || decision = Some(decide(rules, backends, machine, Input::Tree(&message))));
        Ok(decision.unwrap_or_else(|| decide(rules, backends, machine, Input::Tree(&message))))
    }

    /// Returns every route that holds, in evaluation order.
    pub fn matched(self, message: &Json) -> Vec<RuleId> {
        let Call { rules, backends, workspace } = self;
        let backend = backends.resolve(rules, true);
        let (how, table, machine) = (backends.how, backends.table, &mut workspace.machine);
        rules.run(how, backend, Input::Tree(message), machine, |engine| engine.matched(table))
    }
}

/// Evaluates the entry for a message in any form.
fn decide(rules: &Arc<Handle>, backends: &mut Backends, machine: &mut Scratch, input: Input<'_>) -> Decision {
    let (backend, entry) = (backends.resolve(rules, input.is_tree()), backends.table);
    let breaches = rules.breaches(input);
    let (choice, computed, calls) =
        rules.run(backends.how, backend, input, machine, |engine| engine.conclude(entry, &rules.program));
    let extras = Extras::of(computed, calls, breaches);
    let tables = choice.tables(&rules.program, entry);
    let (chosen, generation) = (choice.chosen, rules.generation);
    Decision { rules: Arc::clone(rules), entry, segment: None, chosen, tables, generation, extras }
}

/// Decides by slots; `None` if the message violates the `input` declaration, because violations are
/// computed from the whole JSON tree.
fn decide_filled(
    rules: &Arc<Handle>,
    backends: &mut Backends,
    machine: &mut Scratch,
    filled: &Filled<'_, '_>,
) -> Option<Decision> {
    filled.kept.then(|| decide(rules, backends, machine, Input::Slots(filled.values)))
}

/// Returns the plan that reads messages into slots; `None` for the reference evaluator, which needs
/// a JSON tree.
fn plan<'r>(rules: &'r RuleSet, backends: &Backends) -> Option<&'r Plan> {
    if backends.how.tier == Tier::Reference { None } else { rules.plan() }
}
