//! The high-level IR (HIR): the checked program with every name resolved and every type known. Its
//! conditions and values are still trees in the author's order. The reference evaluator and the
//! explanations read the HIR; [`super::normal`] lowers it to the normal form that the engines run.

mod codec;
mod condition;
mod history;
mod input_contract;
mod nest;
mod parts;
mod payload;
mod privacy;
mod prompts;
mod size;
mod test;
mod tree;
mod verify;
mod workflow;

pub use condition::Condition;
pub use history::{History, HistoryReach, HistoryReads, KeptFields};
pub use input_contract::InferredField;
pub use nest::QuantifierFacts;
pub use parts::{Part, Parts};
pub use payload::{
    AllowedValues, BindingId, BindingRoot, Correction, DottedPath, EachBlock, Effect, Field as PayloadField,
    FieldShape, ObjectPath, ObjectSchema, ObjectStep, Payload, Requirement, RequirementBlock,
};
pub use privacy::PrivateReads;
pub use prompts::{PromptTemplate, Prompts, TemplatePart, template_parts};
pub use size::{ExprSize, MAX_CONDITION_DEPTH, MAX_CONDITION_NODES};
pub use test::{ExpectedDecision, OutcomeExpectations, Test};
pub use tree::{
    BoundArgument, Cond, CondKind, Const, Expr, ExprKind, Fold, GuardedCondition, Operand, Predicate, Term,
    Var,
};
pub use workflow::{MAX_GRAPH_SIZE, Merge, Node, PARALLEL_KIND, Workflow};

use crate::request::{Analysis, AnalysisFeature};
use rulec_base::span::Span;
use rulec_lang::operators::Op;
use rulec_lang::ty::{Enumeration, KindSet, RecordType, Ty};
use rulec_lang::value::Value;
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::sync::Arc;

macro_rules! define_ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            pub fn index(self) -> usize {
                self.0 as usize
            }
        }
    )*};
}
pub(crate) use define_ids;

define_ids! {
    /// Index into [`Program::slots`]: a field that rules read, with the kinds of value that they
    /// accept.
    SlotId;
    /// Index into [`Program::lets`], the `let` statements.
    LetId;
    /// Index into [`Program::externs`], the host functions and the built-in analysis functions in
    /// use.
    ExternId;
    /// Index into [`Program::tables`], the ordered lists of rules.
    TableId;
    /// Index into [`Program::rules`]: a condition with its outcome, such as a handler call.
    RuleId;
    /// Id of the variable of a quantifier, such as `x` in `any x in L`. Unique in the program.
    VarId;
    /// Index into [`Program::flows`]: a task that an assistant can do.
    FlowId;
    /// Index into [`Program::values`]: a value that a statement computes outside its condition.
    ValueId;
}

/// A whole checked program, from which decisions are made and artifacts are written.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The fields that expressions read: fields of the message, and fields of named values in
    /// payload rules.
    pub slots: Vec<Slot>,
    pub lets: Vec<Let>,
    pub externs: Vec<Extern>,
    /// The tables. The first table is named `routes` and contains the routes outside any `table`.
    /// Every choice, router and requirement block is a table too. One more table contains the
    /// patterns of all keyword flows; see [`TableKind`].
    pub tables: Vec<Table>,
    /// The rules of all tables, in source order. [`Table::evaluation_order`] has their evaluation
    /// order.
    pub rules: Vec<Rule>,
    /// Values computed outside conditions, such as handler arguments and payload corrections.
    pub values: Vec<Expr>,
    /// The flows (tasks that an assistant can do), in source order.
    pub flows: Vec<Flow>,
    /// The tool by which a language model starts flows; `None` if the rules declare none.
    pub flow_tool: Option<FlowTool>,
    /// The questions that a language model answers, one for each choice that the model makes.
    pub questions: Vec<Question>,
    /// The wording of the prompts for a language model.
    pub prompts: Prompts,
    /// The declared handlers; `None` if the rules declare none.
    pub handlers: Option<Vec<Handler>>,
    /// The declared `input` schema; `None` if the rules declare none.
    pub input: Option<RecordType>,
    /// Undeclared fields with their inferred types, to which messages must conform. Contains a
    /// field only if one statement accepts fewer kinds of value for the field than another one. The
    /// other statement then never matches the remaining kinds.
    pub inferred: Vec<InferredField>,
    pub tests: Vec<Test>,
    pub workflows: Vec<Workflow>,
    /// The payload kinds (declared `payload`s), in source order.
    pub payloads: Vec<Payload>,
    /// The requirements of all payloads, sorted by the ids of their rules.
    pub requirements: Vec<Requirement>,
    /// Facts about each regular expression, by its text and whether case is ignored. Empty in a
    /// program that was read from an artifact (a file of compiled rules).
    pub regex_facts: HashMap<(Arc<str>, bool), RegexFacts>,
    /// The main file's unused declarations. Empty in a program from a file of compiled rules.
    pub unused_declarations: Vec<UnusedDeclaration>,
    /// The declared intents, entities and lexicons for `request`, the analysis of the message text.
    pub analysis: Analysis,
    /// Which messages the history keeps, and which of their fields; `None` if the rules have no
    /// `history` statement.
    pub history: Option<History>,
    /// The limits on the work of every decision, from the settings of the main file.
    pub limits: rulec_lang::limits::Limits,
    /// The version of the time zone data; `None` if the rules use no time zone.
    pub time_zone_version: Option<Arc<str>>,
}

/// The name of the table that contains the routes outside any `table`.
pub const ROUTES_TABLE: &str = "routes";
/// The longest allowed chain of `goto`s. It is limited because engines recurse, or store a frame,
/// for each `goto` of a chain.
pub const MAX_JUMPS: usize = 64;
/// The name of the table that contains the patterns of all keyword flows.
pub const FLOWS_TABLE: &str = "flows";
/// The name of the message field from which choices read the outputs of workflow steps.
pub const STEPS_FIELD: &str = "steps";
/// The name of the message field with a language model's answers, keyed by the name of the choice.
pub const ANSWERS_FIELD: &str = "answers";
/// The name of the message field from which a router reads the output of a node.
pub const OUTPUT_FIELD: &str = "output";
/// The name of the message field from which a router reads the ids of the next nodes.
pub const NEXT_FIELD: &str = "next";

/// A declaration in the main file that no rule uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum UnusedDeclaration {
    /// The path and the span of an `input` field that no rule reads.
    Field(Arc<str>, Span),
    /// The path and the span of an import. No rule uses a definition of the imported files.
    Import(Arc<str>, Span),
    /// An import of a file with routes, of which the rules use nothing. Routes are not imported, so
    /// the import has no effect. Contains the path and the span of the import, and the name of a
    /// route of the file.
    RoutesOfImport(Arc<str>, Span, Arc<str>),
}

/// A field that the program reads, with the kinds of value that it accepts. The field belongs to
/// the message, or to a binding (a named value in payload rules).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// The named value that contains the field; `None` for a field of the message.
    pub root: Option<BindingRoot>,
    /// The keys that lead from the message, or from the named value, to the field.
    pub path: Vec<Arc<str>>,
    /// The accepted kinds of value; a value of another kind counts as missing.
    pub kinds: KindSet,
    /// The texts that the field may have, others count as missing; `None` allows every text.
    pub values: Option<Enumeration>,
    pub is_private: bool,
}

impl Slot {
    /// Reads the field from a message. Missing for a field of a named value (`root` is set).
    pub fn load<'a>(&self, message: &'a Json) -> Value<'a> {
        if self.root.is_some() { Value::Missing } else { self.load_from(Value::from_json(message)) }
    }

    /// Reads the field from `root`, the value of the binding (named value) that contains the field.
    pub fn load_from<'a>(&self, root: Value<'a>) -> Value<'a> {
        self.convert_value(self.path.iter().fold(root, |value, key| value.field(key)))
    }

    /// Converts a value of the field to the accepted kinds. Returns [`Value::Missing`] if the value
    /// has another kind.
    pub fn convert_value<'a>(&self, value: Value<'a>) -> Value<'a> {
        value.read_as(self.kinds).read_one_of(self.values.as_ref())
    }

    /// Returns the path of the field as an author writes it, such as `ctx.user.role`.
    pub fn name(&self) -> String {
        match &self.root {
            None => self.path.join("."),
            Some(root) => self.path.iter().fold(root.name.to_string(), |name, key| name + "." + key),
        }
    }
}

/// A `let` statement, which names a condition or a value so that rules can share it.
#[derive(Clone, Debug)]
pub struct Let {
    pub name: Arc<str>,
    pub body: Term,
    pub span: Span,
}

/// A declared host function (of the embedding program), or a built-in analysis function in use.
#[derive(Clone, Debug, PartialEq)]
pub struct Extern {
    pub name: Arc<str>,
    pub params: Vec<(Arc<str>, Ty)>,
    pub result: Ty,
    /// The built-in analysis function that this entry calls; `None` for a host function.
    pub feature: Option<AnalysisFeature>,
    pub span: Span,
}

/// A declared handler: the target of a route, which the embedding program runs.
#[derive(Clone, Debug)]
pub struct Handler {
    pub name: Arc<str>,
    pub params: Arc<RecordType>,
    /// The permissions that the sender of the message must have; all of them are required. The
    /// program that runs the handler must check them.
    pub required_permissions: Vec<Arc<str>>,
    pub span: Span,
    pub docs: Arc<str>,
}

/// A table: an ordered list of rules, of which the first matching rule decides.
#[derive(Clone, Debug)]
pub struct Table {
    pub name: Arc<str>,
    pub kind: TableKind,
    /// The rules of the table that are not `disabled`: highest priority first, then in source
    /// order.
    pub evaluation_order: Vec<RuleId>,
    pub default: Option<Outcome>,
    /// Whether the table is a `choice` marked `to_user`, whose outcome is shown to the user.
    pub is_shown_to_user: bool,
    /// Span of the declared name; `None` for the table of routes outside any `table`.
    pub span: Option<Span>,
    pub docs: Arc<str>,
}

/// The kind of statement that a table comes from. The kind determines which [`Outcome`]s its rules
/// may have.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum TableKind {
    /// A table of routes: a `table` statement, or the routes outside any `table`.
    #[default]
    Routes,
    /// A `choice` with its branches in evaluation order: the last branch first.
    Choice,
    /// The patterns of all `flow`s that are triggered by keywords.
    Flows,
    /// The cases of a `router`.
    Router,
    /// The requirements of a `payload`. The condition of a requirement is true when the requirement
    /// is violated. All requirements are evaluated, not only the first match.
    Requirements,
}

/// Facts about a regular expression of the rules. The compiler uses them to limit the memory of all
/// regular expressions together.
#[derive(Clone, Copy, Debug)]
pub struct RegexFacts {
    pub place: Span,
    /// Whether the syntax alone proves that the expression compiles.
    pub surely_compiles: bool,
    /// Estimated memory of the compiled expression, in bytes.
    pub estimated_bytes: usize,
}

/// A rule: a condition and its outcome. Routes, branches of a choice, patterns of flows, cases of a
/// router and requirements are rules.
#[derive(Clone, Debug)]
pub struct Rule {
    pub name: Arc<str>,
    pub table: TableId,
    /// The priority within the table. Rules with a greater priority are evaluated first.
    pub priority: i64,
    pub is_disabled: bool,
    pub condition: Condition,
    pub outcome: Outcome,
    /// The source span of the whole statement that this rule comes from.
    pub span: Span,
    pub docs: Arc<str>,
}

/// The outcome of a decision that selects a rule, such as a handler call.
#[derive(Clone, Debug)]
pub enum Outcome {
    Handler {
        name: Arc<str>,
        /// Arguments of the handler call; evaluated only after the rule was selected.
        args: Vec<Argument>,
        /// Constants of the handler call that are passed on to the embedding program.
        metadata: Arc<Map<String, Json>>,
    },
    /// Continues with another table. If that table selects nothing, the search resumes after this
    /// rule.
    Goto(TableId),
    /// A branch of a choice. The name of the rule is the id of the branch. `default` marks the
    /// default branch.
    Branch { default: bool },
    /// A flow that was selected by one of its keyword patterns.
    Flow {
        flow: FlowId,
        /// The keyword pattern of this rule, as the author wrote it.
        pattern: Arc<str>,
    },
    /// The nodes of a workflow that run next, selected by a router.
    Next {
        destinations: Vec<Destination>,
        /// The expression that reads the ids of all next nodes from the message.
        next: ValueId,
        /// Whether the edge to the selected nodes leads back to an earlier node and so forms a
        /// loop.
        leads_back: bool,
    },
}

/// A destination to which a router sends the output of a workflow node.
#[derive(Clone, Debug)]
pub enum Destination {
    All,
    /// The node with this index, from 0, in the list of next nodes; all next nodes if the index is
    /// out of range.
    At(u32),
    Node(Arc<str>),
    /// The nodes whose ids this value reads from the output; no node if the value is missing.
    Named(ValueId),
}

/// The match modes of a flow's pattern: the word that selects each mode, and the operator that the
/// pattern compiles to.
pub const MATCH_MODES: [(&str, Op); 3] =
    [("exact", Op::Eq), ("contains", Op::Contains), ("regex", Op::Matches)];

/// A flow: a task that an assistant can do for a user.
#[derive(Clone, Debug)]
pub struct Flow {
    pub name: Arc<str>,
    /// The id by which a decision names the flow.
    pub id: Arc<str>,
    pub description: Arc<str>,
    pub trigger: Trigger,
    pub span: Span,
    pub docs: Arc<str>,
}

/// How a message selects a flow: by keyword patterns, or by its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// Messages are matched by patterns, which are rules of the table [`FLOWS_TABLE`].
    Keyword,
    /// Messages are matched by their meaning, which the intent classifier scores.
    Intent { examples: Vec<Arc<str>>, keywords: Vec<Arc<str>> },
}

/// The tool by which a language model starts flows. The model calls the tool like a function, with
/// the id of a flow.
#[derive(Clone, Debug)]
pub struct FlowTool {
    /// The name by which a language model calls the tool.
    pub name: Arc<str>,
    /// The tool description for a language model; empty if the rules give none.
    pub description: Arc<str>,
    /// The description of the tool's only parameter, the flow id; empty if the rules give none.
    pub parameter_description: Arc<str>,
    /// The HTTP request that the tool sends, as JSON; null if the rules give none.
    pub endpoint: Json,
    pub span: Span,
}

/// The question for a choice that a language model makes. The choice itself is an ordinary table.
/// The rules of this table read the model's answer from the message field [`ANSWERS_FIELD`]`.NAME`.
#[derive(Clone, Debug)]
pub struct Question {
    /// The name of the choice. It is also the key of the answer in the message field
    /// [`ANSWERS_FIELD`].
    pub name: Arc<str>,
    pub text: Arc<str>,
    /// The id and the description of each branch, which a prompt shows to the language model.
    pub branch_descriptions: Vec<(Arc<str>, Arc<str>)>,
    /// The id of the branch that is taken if the model gives no usable answer.
    pub default: Arc<str>,
    pub span: Span,
}

impl Outcome {
    /// True if the outcome has values, such as arguments, that must be computed after the rule is
    /// selected.
    pub fn has_values(&self) -> bool {
        match self {
            Outcome::Handler { args, .. } => !args.is_empty(),
            Outcome::Next { .. } => true,
            _ => false,
        }
    }
}

#[derive(Clone, Debug)]
pub struct Argument {
    pub name: Arc<str>,
    pub value: ValueId,
    /// Whether the argument is omitted when its value is missing. Otherwise a missing argument
    /// becomes null and is reported.
    pub is_optional: bool,
    /// The enumeration of the parameter, if it is declared with one. Another text counts as
    /// missing.
    pub allowed_texts: Option<Enumeration>,
}

impl Program {
    /// Fills [`Table::evaluation_order`] of every table with its rules that are not `disabled`, and
    /// sorts them.
    pub fn sort_rules(&mut self) {
        let Program { rules, tables, .. } = self;
        for (index, rule) in rules.iter().enumerate().filter(|(_, rule)| !rule.is_disabled) {
            tables[rule.table.index()].evaluation_order.push(RuleId(index as u32));
        }
        for table in tables {
            table.evaluation_order.sort_by_key(|id| std::cmp::Reverse(rules[id.index()].priority));
        }
    }

    /// Returns the table with this name. Tables of requirements are not found, because no decision
    /// starts with them.
    pub fn table_named(&self, name: &str) -> Option<TableId> {
        let has_name = |table: &Table| &*table.name == name && table.kind != TableKind::Requirements;
        self.tables.iter().position(has_name).map(|index| TableId(index as u32))
    }

    pub fn payload_named(&self, name: &str) -> Option<&Payload> {
        self.payloads.iter().find(|payload| &*payload.name == name)
    }

    /// Returns the permissions that a handler requires; empty if the handler is not declared.
    pub fn required_permissions(&self, handler: &str) -> &[Arc<str>] {
        let mut requiring =
            self.handlers.iter().flatten().filter(|declared| !declared.required_permissions.is_empty());
        requiring
            .find(|declared| &*declared.name == handler)
            .map_or(&[], |declared| &declared.required_permissions)
    }

    /// True if at least one flow is triggered by intent.
    pub fn has_intents(&self) -> bool {
        self.flows.iter().any(|flow| matches!(flow.trigger, Trigger::Intent { .. }))
    }

    pub fn value(&self, id: ValueId) -> &Expr {
        &self.values[id.index()]
    }

    pub fn let_body(&self, id: LetId) -> &Term {
        &self.lets[id.index()].body
    }
}

impl std::fmt::Display for Destination {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Destination::All => f.write_str(NEXT_FIELD),
            Destination::At(index) => write!(f, "{NEXT_FIELD}[{index}]"),
            Destination::Node(id) => f.write_str(id),
            Destination::Named(_) => f.write_str("what the output names"),
        }
    }
}
