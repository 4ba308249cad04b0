//! Checked `test` blocks: a message and the decision that the test expects. The test runner
//! compares the actual decision with the expected one.

use super::{FlowId, RuleId, TableId};
use rulec_base::span::Span;
use serde_json::{Map, Value as Json};
use std::sync::Arc;

#[derive(Clone, Debug)]
pub struct Test {
    pub name: Arc<str>,
    pub message: Json,
    /// The earlier messages that the rules read as `history`, oldest first.
    pub history: Vec<Json>,
    /// The table with which the decision of the test's message starts.
    pub entry_table: TableId,
    pub expect: ExpectedDecision,
    /// Further expectations about the outcome of the chosen rule, such as the handler.
    pub outcome: OutcomeExpectations,
    pub span: Span,
}

/// The further expectations of a test about the outcome, such as the handler. An expectation that
/// the test does not mention is `None` or empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct OutcomeExpectations {
    /// The name of the handler that the decision should have as its target.
    pub handler: Option<Arc<str>>,
    /// Expected arguments of the handler; other arguments are not checked. Null expects that the
    /// argument is absent or null.
    pub args: Map<String, Json>,
    /// Expected metadata; other keys are not checked. Null expects that the key is absent or null.
    pub metadata: Map<String, Json>,
    /// The next nodes that a router should select, and true if the edge to these nodes should lead
    /// back to an earlier node (a loop).
    pub next_nodes: Option<(Vec<Arc<str>>, bool)>,
    /// The expected bound on the score of a flow that is selected by meaning: an operator (`>=`,
    /// `>`, `<=`, `<`) and a number.
    pub score_bound: Option<(Arc<str>, f64)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ExpectedDecision {
    Rule(RuleId),
    Default(TableId),
    /// The decision selects no rule and no default.
    Nothing,
    /// Any rule of the table may be chosen; only [`OutcomeExpectations`] restricts the outcome.
    Any,
    /// A flow that the built-in classifier should select by meaning.
    Flow(FlowId),
    Judgement {
        payload_kind: Arc<str>,
        /// The expected outcome of validation: `accept`, `accept_corrected` or `reject`.
        validation_outcome: Arc<str>,
        /// The expected violations, sorted. Each has a rule id and the path of the reported field;
        /// `None` accepts every path. If the list is empty, the test checks only
        /// `validation_outcome`, not the violations.
        violations: Vec<(Arc<str>, Option<Arc<str>>)>,
    },
}
