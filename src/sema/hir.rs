//! The typed program: every name resolved, every type known, still in the author's shape. The
//! reference evaluator and the explanations walk it; [`super::normal`] turns it into what the
//! engines run.

mod codec;
mod condition;
mod parts;
mod payload;
mod tree;

pub use condition::Condition;
pub use parts::{Part, Parts};
pub use payload::{
    BindingId, Block, Correction, Dotted, Each, Field as PayloadField, Limits, Object, Payload, Place,
    Requirement, Root, Shape, Step,
};
pub use tree::{Cond, CondKind, Const, Expr, ExprKind, Guarded, Operand, Predicate, Term, Var};

use crate::sema::request::{Analysis, Feature};
use crate::span::Span;
use crate::ty::{KindSet, Record, Ty};
use crate::value::Value;
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::sync::Arc;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub struct $name(pub u32);

        impl $name {
            /// The number as an index.
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
    /// The `let`s.
    pub lets: Vec<Let>,
    /// The host functions.
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
    /// The choices that a language model makes.
    pub questions: Vec<Question>,
    /// The handlers of the manifest, when there is one.
    pub handlers: Option<Vec<Handler>>,
    /// The declared input, when there is one.
    pub input: Option<Record>,
    /// The tests.
    pub tests: Vec<Test>,
    /// The payload kinds, in source order.
    pub payloads: Vec<Payload>,
    /// Their requirements, in the order of their rules.
    pub requirements: Vec<Requirement>,
    /// The regular expressions, with whether they ignore case.
    pub patterns: HashMap<(Arc<str>, bool), Pattern>,
    /// The declarations behind `request`.
    pub analysis: Analysis,
}

/// The name of the entry that holds the routes outside any table.
pub const ROUTES: &str = "routes";
/// The deepest chain of jumps: engines run a jump's table inside the one it came from.
pub const MAX_JUMPS: usize = 64;
/// The name of the entry that holds the patterns of all keyword flows.
pub const FLOWS: &str = "flows";
/// The field of the message that choices read the outputs of a workflow's steps from.
pub const STEPS: &str = "steps";
/// The field of the message that a router reads a node's output from.
pub const OUTPUT: &str = "output";
/// The field of the message that a router reads the ids of the next nodes from.
pub const NEXT: &str = "next";

/// A field of the message or of a binding, read at a type.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Slot {
    /// The value it is a field of; `None` is the message.
    pub root: Option<Root>,
    /// The keys from the message's top to the field.
    pub path: Vec<Arc<str>>,
    /// The kinds it is read at; another kind counts as missing.
    pub kinds: KindSet,
    /// True when its value is masked in logs.
    pub private: bool,
}

impl Slot {
    /// Reads the field from a message. A field of a binding is not there.
    pub fn load<'a>(&self, message: &'a Json) -> Value<'a> {
        if self.root.is_some() {
            return Value::Missing;
        }
        let mut json = message;
        for key in &self.path {
            match json {
                Json::Object(map) => match map.get(&**key) {
                    Some(next) => json = next,
                    None => return Value::Missing,
                },
                _ => return Value::Missing,
            }
        }
        Value::from_json(json).read(self.kinds)
    }

    /// Reads the field from the value of its binding.
    pub fn load_from<'a>(&self, root: Value<'a>) -> Value<'a> {
        let mut value = root;
        for key in &self.path {
            value = value.field(key);
        }
        value.read(self.kinds)
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
    /// Its name.
    pub name: Arc<str>,
    /// Its meaning.
    pub body: Term,
    /// The place of the name's declaration.
    pub span: Span,
}

/// A host function's declaration, or a use of one that the engine itself offers.
#[derive(Clone, Debug, PartialEq)]
pub struct Extern {
    /// Its name.
    pub name: Arc<str>,
    /// Its parameters' names and types.
    pub params: Vec<(Arc<str>, Ty)>,
    /// Its result's type.
    pub result: Ty,
    /// The engine's own function that it names; `None` for one of the embedding program.
    pub feature: Option<Feature>,
    /// The place of the name's declaration.
    pub span: Span,
}

/// A handler of the manifest.
#[derive(Clone, Debug)]
pub struct Handler {
    /// Its name.
    pub name: Arc<str>,
    /// Its parameters.
    pub params: Record,
    /// The place of the name's declaration.
    pub span: Span,
    /// Its doc comment.
    pub docs: Arc<str>,
}

/// A table: rules in the order they are tried, the first that holds deciding.
#[derive(Clone, Debug)]
pub struct Table {
    /// Its name.
    pub name: Arc<str>,
    /// The statement it comes from.
    pub kind: TableKind,
    /// Its rules in the order they are tried: routes by priority descending, then source order.
    /// Disabled ones are left out.
    pub order: Vec<RuleId>,
    /// The outcome when no route holds.
    pub default: Option<Outcome>,
    /// The place of the name's declaration; `None` for the routes outside any table.
    pub span: Option<Span>,
    /// Its doc comment.
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
    /// The place it was first written at.
    pub place: Span,
    /// True when its syntax alone shows that it compiles.
    pub surely_compiles: bool,
}

/// A rule: a condition and where it leads. Routes, the branches of a choice, the patterns of flows
/// and the cases of a router are rules.
#[derive(Clone, Debug)]
pub struct Rule {
    /// Its name.
    pub name: Arc<str>,
    /// The table it stands in.
    pub table: TableId,
    /// Greater is tried earlier.
    pub priority: i64,
    /// True when it is left out.
    pub disabled: bool,
    /// The condition under which it holds.
    pub condition: Condition,
    /// The outcome when it holds.
    pub outcome: Outcome,
    /// The whole statement.
    pub span: Span,
    /// Its doc comment.
    pub docs: Arc<str>,
}

/// The outcome of a decision.
#[derive(Clone, Debug)]
pub enum Outcome {
    /// A handler with its arguments.
    Handler {
        /// Its name.
        name: Arc<str>,
        /// Its arguments, evaluated after choosing.
        args: Vec<Argument>,
        /// Constants for the embedding program.
        metadata: Arc<Map<String, Json>>,
    },
    /// Another table; when it chooses nothing, the search goes on behind the jump.
    Goto(TableId),
    /// A branch of a choice; its id is the rule's name.
    Branch {
        /// True when it is the default.
        default: bool,
    },
    /// A flow, found by one of its patterns.
    Flow {
        /// The flow.
        flow: FlowId,
        /// The pattern, as the author wrote it.
        pattern: Arc<str>,
    },
    /// The next nodes of a workflow.
    Next {
        /// The nodes.
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
    /// To every next node.
    All,
    /// To the next node of that number, from 0; to every one when there are not so many.
    At(u32),
    /// To the node of that id.
    Node(Arc<str>),
    /// To the node or nodes whose ids stand in a value of the output; to none without one.
    Named(ValueId),
}

/// A flow: something an assistant can do for a user.
#[derive(Clone, Debug)]
pub struct Flow {
    /// Its name.
    pub name: Arc<str>,
    /// The id that the decision answers with.
    pub id: Arc<str>,
    /// Its description, for a language model; may be empty.
    pub description: Arc<str>,
    /// The way messages find it.
    pub trigger: Trigger,
    /// The place of its name.
    pub span: Span,
    /// Its doc comment.
    pub docs: Arc<str>,
}

/// The way messages find a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trigger {
    /// By patterns, which are rules of the table [`FLOWS`].
    Keyword,
    /// By what they mean.
    Intent {
        /// Sentences that mean it.
        examples: Vec<Arc<str>>,
        /// Words that point to it.
        keywords: Vec<Arc<str>>,
    },
}

/// A choice that a language model makes.
#[derive(Clone, Debug)]
pub struct Question {
    /// The choice's name.
    pub name: Arc<str>,
    /// The question.
    pub text: Arc<str>,
    /// Each branch's id and what it means.
    pub branches: Vec<(Arc<str>, Arc<str>)>,
    /// The branch taken when no answer is of use.
    pub default: Arc<str>,
    /// The place of its name.
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

/// An argument of a handler.
#[derive(Clone, Debug)]
pub struct Argument {
    /// Its name.
    pub name: Arc<str>,
    /// Its value.
    pub value: ValueId,
    /// True when it is left out when missing; otherwise it is null and reported.
    pub optional: bool,
}

/// A test.
#[derive(Clone, Debug)]
pub struct Test {
    /// Its title.
    pub name: Arc<str>,
    /// The message.
    pub message: Json,
    /// The table the decision is made by.
    pub entry: TableId,
    /// The expected result.
    pub expect: Expect,
    /// The place of its name.
    pub span: Span,
}

/// The expected result of a test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// This rule.
    Rule(RuleId),
    /// The default of this table.
    Default(TableId),
    /// No route and no default.
    Nothing,
    /// The judgement of a payload of this kind.
    Judgement {
        /// The kind.
        kind: Arc<str>,
        /// `accept`, `accept_corrected` or `reject`.
        outcome: Arc<str>,
        /// All rules it breaks, sorted; not compared when none is named.
        breaks: Vec<Arc<str>>,
    },
}

impl Program {
    /// The table of that name. Requirements are no entry: they are asked for each object.
    pub fn table_named(&self, name: &str) -> Option<TableId> {
        let named = |table: &Table| &*table.name == name && table.kind != TableKind::Requirements;
        self.tables.iter().position(named).map(|index| TableId(index as u32))
    }

    /// The payload kind of that name.
    pub fn payload_named(&self, name: &str) -> Option<&Payload> {
        self.payloads.iter().find(|payload| &*payload.name == name)
    }

    /// The value of that number.
    pub fn value(&self, id: ValueId) -> &Expr {
        &self.values[id.index()]
    }

    /// The body of a `let`.
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
