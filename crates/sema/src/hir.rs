//! The typed program: every name resolved, every type known, still in the author's shape. The
//! reference evaluator and the explanations walk it; [`super::normal`] turns it into what the
//! engines run.

mod codec;
mod condition;
mod measure;
mod nest;
mod parts;
mod payload;
mod promised;
mod tree;
mod verify;
mod workflow;

pub use condition::Condition;
pub use measure::{MAX_DEPTH, MAX_NODES, Measure};
pub use nest::Nests;
pub use parts::{Part, Parts};
pub use payload::{
    BindingId, Block, Correction, Dotted, Each, Field as PayloadField, Limits, Object, Payload, Place,
    Requirement, Root, Shape, Step,
};
pub use promised::Inferred;
pub use tree::{Cond, CondKind, Const, Expr, ExprKind, Guarded, Operand, Predicate, Term, Var};
pub use workflow::{MAX_GRAPH, Node, PARALLEL, Workflow};

use crate::request::{Analysis, Feature};
use rulec_base::span::Span;
use rulec_lang::operators::Op;
use rulec_lang::ty::{KindSet, Record, Ty};
use rulec_lang::value::Value;
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::sync::Arc;

macro_rules! ids {
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
pub(crate) use ids;

ids! {
    /// A field of the message that some condition reads, in [`Program::slots`].
    SlotId;
    /// A `let`, in [`Program::lets`].
    LetId;
    /// A host function, in [`Program::externs`].
    ExternId;
    /// A table, in [`Program::tables`].
    TableId;
    /// A rule, in [`Program::rules`].
    RuleId;
    /// The element variable of a quantifier, unique in the program text.
    VarId;
    /// A flow, in [`Program::flows`].
    FlowId;
    /// A value that a statement computes beside its conditions, in [`Program::values`].
    ValueId;
}

/// A whole checked program.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The fields of the message that conditions and arguments read.
    pub slots: Vec<Slot>,
    pub lets: Vec<Let>,
    pub externs: Vec<Extern>,
    /// The tables; the first holds the routes outside any table and is named `routes`. Each of the
    /// other statements that decide is a table of its own kind.
    pub tables: Vec<Table>,
    /// The rules of all tables, in source order.
    pub rules: Vec<Rule>,
    /// The values that statements compute beside their conditions: arguments of handlers, where routers
    /// send on to, and what payloads define, walk over and are corrected with.
    pub values: Vec<Expr>,
    /// The flows, in source order.
    pub flows: Vec<Flow>,
    /// The tool by which flows are executed, when the rules name one.
    pub flow_tool: Option<FlowTool>,
    /// The questions behind the choices that a language model makes.
    pub questions: Vec<Question>,
    /// The declared handlers, when there are any.
    pub handlers: Option<Vec<Handler>>,
    /// The declared input, when there is one.
    pub input: Option<Record>,
    /// The undeclared fields that one statement reads at fewer kinds than another one could.
    pub inferred: Vec<Inferred>,
    pub tests: Vec<Test>,
    pub workflows: Vec<Workflow>,
    /// The payload kinds, in source order.
    pub payloads: Vec<Payload>,
    /// Their requirements, in the order of their rules.
    pub requirements: Vec<Requirement>,
    /// The regular expressions, with whether they ignore case.
    pub patterns: HashMap<(Arc<str>, bool), Pattern>,
    /// The parts of the main file that nothing uses; an artifact has none.
    pub idle: Vec<Idle>,
    /// The declarations behind `request`.
    pub analysis: Analysis,
    /// The limits of its decisions.
    pub limits: rulec_lang::limits::Limits,
    /// The version of the time zones' data, where a zone is asked for.
    pub zones: Option<Arc<str>>,
}

/// The name of the entry that holds the routes outside any table.
pub const ROUTES: &str = "routes";
/// The deepest chain of jumps: engines run a jump's table inside the one it came from.
pub const MAX_JUMPS: usize = 64;
/// The name of the entry that holds the patterns of all keyword flows.
pub const FLOWS: &str = "flows";
/// The field of the message that choices read the outputs of a workflow's steps from.
pub const STEPS: &str = "steps";
/// The field of the message that holds a language model's answers, by the names of the choices that ask.
pub const ANSWERS: &str = "answers";
/// The field of the message that a router reads a node's output from.
pub const OUTPUT: &str = "output";
/// The field of the message that a router reads the ids of the next nodes from.
pub const NEXT: &str = "next";

/// A part of the main file that nothing uses.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Idle {
    /// A field of `input`, by its path.
    Field(Arc<str>, Span),
    /// An import, by its path.
    Import(Arc<str>, Span),
}

/// A field of the message or of a binding, read at a type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// The value it is a field of; `None` is the message.
    pub root: Option<Root>,
    /// The keys from the message's top to the field.
    pub path: Vec<Arc<str>>,
    /// The kinds it is read at; another kind counts as missing.
    pub kinds: KindSet,
    pub private: bool,
}

impl Slot {
    /// Reads the field from a message. A field of a binding is not there.
    pub fn load<'a>(&self, message: &'a Json) -> Value<'a> {
        if self.root.is_some() {
            return Value::Missing;
        }
        let found = self.path.iter().try_fold(message, |json, key| json.get(&**key));
        found.map_or(Value::Missing, |json| Value::from_json(json).read(self.kinds))
    }

    /// Reads the field from the value of its binding.
    pub fn load_from<'a>(&self, root: Value<'a>) -> Value<'a> {
        self.path.iter().fold(root, |value, key| value.field(key)).read(self.kinds)
    }

    /// The path as an author writes it.
    pub fn name(&self) -> String {
        match &self.root {
            None => self.path.join("."),
            Some(root) => self.path.iter().fold(root.name.to_string(), |name, key| name + "." + key),
        }
    }
}

/// A `let`: a name for a condition or a value.
#[derive(Clone, Debug)]
pub struct Let {
    pub name: Arc<str>,
    pub body: Term,
    pub span: Span,
}

/// A host function's declaration, or a use of one that the engine itself offers.
#[derive(Clone, Debug, PartialEq)]
pub struct Extern {
    pub name: Arc<str>,
    pub params: Vec<(Arc<str>, Ty)>,
    pub result: Ty,
    /// The engine's own function that it names; `None` for one of the embedding program.
    pub feature: Option<Feature>,
    pub span: Span,
}

/// A declared handler.
#[derive(Clone, Debug)]
pub struct Handler {
    pub name: Arc<str>,
    pub params: Arc<Record>,
    /// The permissions that whoever sends the message must have, every one; the program that runs the handler
    /// sees to it.
    pub requires: Vec<Arc<str>>,
    pub span: Span,
    pub docs: Arc<str>,
}

/// A table: rules in the order they are tried, the first that holds deciding.
#[derive(Clone, Debug)]
pub struct Table {
    pub name: Arc<str>,
    pub kind: TableKind,
    /// Its rules in the order they are tried: routes by priority descending, then source order.
    /// Disabled ones are left out.
    pub order: Vec<RuleId>,
    pub default: Option<Outcome>,
    /// True for a choice whose outcome the user is to see.
    pub to_user: bool,
    /// The place of the name's declaration; `None` for the routes outside any table.
    pub span: Option<Span>,
    pub docs: Arc<str>,
}

/// The statement that a table comes from; what its rules lead to follows from it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TableKind {
    /// Routes outside any table, or in a `table`.
    #[default]
    Routes,
    /// The branches of a `choice`, last one first.
    Choice,
    /// The patterns of all keyword `flow`s.
    Flows,
    /// The cases of a `router`.
    Router,
    /// Requirements of a `payload`: their conditions say when each is violated, and all are asked.
    Requirements,
}

/// The facts the checker has found out about a regular expression.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    pub place: Span,
    /// True when its syntax alone shows that it compiles.
    pub surely_compiles: bool,
    /// The memory it takes once compiled, in bytes, by estimate.
    pub size: usize,
}

/// A rule: a condition and where it leads. Routes, the branches of a choice, the patterns of flows
/// and the cases of a router are rules.
#[derive(Clone, Debug)]
pub struct Rule {
    pub name: Arc<str>,
    pub table: TableId,
    /// Greater is tried earlier.
    pub priority: i64,
    pub disabled: bool,
    pub condition: Condition,
    pub outcome: Outcome,
    /// The whole statement.
    pub span: Span,
    pub docs: Arc<str>,
}

/// The outcome of a decision.
#[derive(Clone, Debug)]
pub enum Outcome {
    Handler {
        name: Arc<str>,
        /// Its arguments, evaluated after choosing.
        args: Vec<Argument>,
        /// Constants for the embedding program.
        metadata: Arc<Map<String, Json>>,
    },
    /// Another table; when it chooses nothing, the search goes on behind the jump.
    Goto(TableId),
    /// A branch of a choice; its id is the rule's name.
    Branch { default: bool },
    /// A flow, found by one of its patterns.
    Flow {
        flow: FlowId,
        /// The pattern, as the author wrote it.
        pattern: Arc<str>,
    },
    /// The next nodes of a workflow.
    Next {
        destinations: Vec<Destination>,
        /// The message's list of the ids of the next nodes.
        next: ValueId,
        /// True when the way there leads back.
        loopback: bool,
    },
}

/// The destination of a node's output.
#[derive(Clone, Debug)]
pub enum Destination {
    All,
    /// To the next node of that number, from 0; to every one when there are not so many.
    At(u32),
    Node(Arc<str>),
    /// To the node or nodes whose ids stand in a value of the output; to none without one.
    Named(ValueId),
}

/// The ways of matching a keyword pattern: the word of each, and the operator behind it.
pub const MATCHINGS: [(&str, Op); 3] =
    [("exact", Op::Eq), ("contains", Op::Contains), ("regex", Op::Matches)];

/// A flow: something an assistant can do for a user.
#[derive(Clone, Debug)]
pub struct Flow {
    pub name: Arc<str>,
    /// The id that the decision answers with.
    pub id: Arc<str>,
    pub description: Arc<str>,
    pub trigger: Trigger,
    pub span: Span,
    pub docs: Arc<str>,
}

/// The way messages find a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// By patterns, which are rules of the table [`FLOWS`].
    Keyword,
    /// By what they mean.
    Intent { examples: Vec<Arc<str>>, keywords: Vec<Arc<str>> },
}

/// The tool by which all flows are executed.
#[derive(Clone, Debug)]
pub struct FlowTool {
    /// The name that a language model calls it by.
    pub name: Arc<str>,
    /// Its description, for a language model; empty when the rules have none.
    pub description: Arc<str>,
    /// The meaning of its parameter, the flow's id; empty when the rules have none.
    pub parameter: Arc<str>,
    /// The request that it sends, as JSON; null when the rules have none.
    pub endpoint: Json,
    pub span: Span,
}

/// The question behind a choice that a language model makes. The choice is a table like any other, whose rules
/// compare the answer: [`ANSWERS`]`.NAME` of the message.
#[derive(Clone, Debug)]
pub struct Question {
    /// The name of the choice.
    pub name: Arc<str>,
    pub text: Arc<str>,
    /// Each branch's id and what it means.
    pub branches: Vec<(Arc<str>, Arc<str>)>,
    /// The branch taken when no answer is of use.
    pub default: Arc<str>,
    pub span: Span,
}

impl Outcome {
    /// True when there is anything to evaluate after choosing.
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
    /// True when it is left out when missing; otherwise it is null and reported.
    pub optional: bool,
}

#[derive(Clone, Debug)]
pub struct Test {
    pub name: Arc<str>,
    pub message: Json,
    /// The table the decision is made by.
    pub entry: TableId,
    pub expect: Expect,
    /// The rest of its expectation.
    pub then: Then,
    pub span: Span,
}

/// The outcome of a decision, as far as a test says it: the parts that it leaves open are `None` or empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Then {
    /// The handler.
    pub handler: Option<Arc<str>>,
    /// Some of its arguments; one that is left out is null.
    pub args: Map<String, Json>,
    /// Some of its metadata; a key that is not there is null.
    pub metadata: Map<String, Json>,
    /// The next nodes, and true where the way leads back.
    pub next: Option<(Vec<Arc<str>>, bool)>,
    /// The bound of an intent flow's score: `>=`, `>`, `<=` or `<`, and a number.
    pub score: Option<(Arc<str>, f64)>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    Rule(RuleId),
    Default(TableId),
    /// No route and no default.
    Nothing,
    /// Whatever the entry chooses.
    Any,
    /// An intent flow, by the built-in classifier.
    Flow(FlowId),
    Judgement {
        kind: Arc<str>,
        /// `accept`, `accept_corrected` or `reject`.
        outcome: Arc<str>,
        /// All rules it breaks, sorted, and the places where that counts; not compared when none is named.
        breaks: Vec<(Arc<str>, Option<Arc<str>>)>,
    },
}

impl Program {
    /// Puts the rules of each table in the order they are tried.
    pub fn order_rules(&mut self) {
        let Program { rules, tables, .. } = self;
        for (at, rule) in rules.iter().enumerate().filter(|(_, rule)| !rule.disabled) {
            tables[rule.table.index()].order.push(RuleId(at as u32));
        }
        for table in tables {
            table.order.sort_by_key(|id| std::cmp::Reverse(rules[id.index()].priority));
        }
    }

    /// The table of that name. Requirements are no entry: they are asked for each object.
    pub fn table_named(&self, name: &str) -> Option<TableId> {
        let named = |table: &Table| &*table.name == name && table.kind != TableKind::Requirements;
        self.tables.iter().position(named).map(|index| TableId(index as u32))
    }

    pub fn payload_named(&self, name: &str) -> Option<&Payload> {
        self.payloads.iter().find(|payload| &*payload.name == name)
    }

    /// The permissions that a handler requires; none where it is not declared.
    pub fn required(&self, handler: &str) -> &[Arc<str>] {
        let mut requiring = self.handlers.iter().flatten().filter(|one| !one.requires.is_empty());
        requiring.find(|one| &*one.name == handler).map_or(&[], |one| &one.requires)
    }

    /// True when the rules hold an intent flow.
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
            Destination::All => f.write_str(NEXT),
            Destination::At(index) => write!(f, "{NEXT}[{index}]"),
            Destination::Node(id) => f.write_str(id),
            Destination::Named(_) => f.write_str("what the output names"),
        }
    }
}
