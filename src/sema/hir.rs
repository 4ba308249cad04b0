//! The typed program: every name resolved, every type known, still in the author's shape. The
//! reference evaluator and the explanations walk it; [`super::normal`] turns it into what the
//! engines run.

mod condition;
mod parts;
mod payload;
mod stored;

pub use condition::Condition;
pub use parts::{Part, Parts};
pub use payload::{
    BindingId, Block, Correction, Dotted, Each, Field as PayloadField, Limits, Object, Payload, Place,
    Requirement, Root, Shape, Step,
};

use crate::builtins::Function;
use crate::ops::{Op, TestMode};
use crate::sema::request::{Analysis, Feature};
use crate::span::Span;
use crate::ty::{KindSet, Record, Ty};
use crate::value::Value;
use serde_json::{Map, Value as Json};
use std::collections::HashMap;
use std::sync::Arc;
use time::OffsetDateTime;

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident;)*) => {$(
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
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
    /// What `request` gives.
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
    /// What it is a field of; `None` is the message.
    pub root: Option<Root>,
    /// The keys from the message's top to the field.
    pub path: Vec<Arc<str>>,
    /// The kinds it is read at; another kind counts as missing.
    pub kinds: KindSet,
    /// Whether its value is masked in logs.
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
    /// What it stands for.
    pub body: Term,
    /// Where the name is declared.
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
    /// Which of the engine's own functions it is; `None` for one of the embedding program.
    pub feature: Option<Feature>,
    /// Where the name is declared.
    pub span: Span,
}

/// A handler of the manifest.
#[derive(Clone, Debug)]
pub struct Handler {
    /// Its name.
    pub name: Arc<str>,
    /// Its parameters.
    pub params: Record,
    /// Where the name is declared.
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
    /// What answers when no route does.
    pub default: Option<Outcome>,
    /// Where the name is declared; `None` for the routes outside any table.
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

/// What the checker knows of a regular expression.
#[derive(Clone, Copy, Debug)]
pub struct Pattern {
    /// Where it was first written.
    pub place: Span,
    /// Whether its syntax alone shows that it compiles.
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
    /// Whether it is left out.
    pub disabled: bool,
    /// When it holds.
    pub condition: Condition,
    /// Where it leads.
    pub outcome: Outcome,
    /// The whole statement.
    pub span: Span,
    /// Its doc comment.
    pub docs: Arc<str>,
}

/// Where a decision leads.
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
        /// Whether it is the default.
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
        /// Which.
        destinations: Vec<Destination>,
        /// The message's list of the ids of the next nodes.
        next: ValueId,
        /// Whether the way there leads back.
        loopback: bool,
    },
}

/// Where a node's output goes.
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
    /// What the decision answers with.
    pub id: Arc<str>,
    /// What it does, for a language model; may be empty.
    pub description: Arc<str>,
    /// How messages find it.
    pub trigger: Trigger,
    /// Where its name stands.
    pub span: Span,
    /// Its doc comment.
    pub docs: Arc<str>,
}

/// How messages find a flow.
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
    /// What is asked.
    pub text: Arc<str>,
    /// Each branch's id and what it means.
    pub branches: Vec<(Arc<str>, Arc<str>)>,
    /// The branch taken when no answer is of use.
    pub default: Arc<str>,
    /// Where its name stands.
    pub span: Span,
}

impl Outcome {
    /// Whether there is anything to evaluate after choosing.
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
    /// Whether it is left out when missing; otherwise it is null and reported.
    pub optional: bool,
}

/// A test.
#[derive(Clone, Debug)]
pub struct Test {
    /// What it shows.
    pub name: Arc<str>,
    /// The message.
    pub message: Json,
    /// The table the decision is made by.
    pub entry: TableId,
    /// What is expected.
    pub expect: Expect,
    /// Where its name stands.
    pub span: Span,
}

/// What a test expects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expect {
    /// This rule.
    Rule(RuleId),
    /// The default of this table.
    Default(TableId),
    /// No route and no default.
    Nothing,
    /// That a payload of this kind is judged so.
    Judgement {
        /// The kind.
        kind: Arc<str>,
        /// `accept`, `accept_corrected` or `reject`.
        outcome: Arc<str>,
        /// All rules it breaks, sorted; not compared when none is named.
        breaks: Vec<Arc<str>>,
    },
}

/// A condition or a value: what a `let` or an expression may turn out to be.
#[derive(Clone, Debug)]
pub enum Term {
    /// True, false or unknown.
    Cond(Cond),
    /// A value.
    Expr(Expr),
}

/// A condition.
#[derive(Clone, Debug)]
pub struct Cond {
    /// What it is.
    pub kind: CondKind,
    /// Where it stands.
    pub span: Span,
}

/// The forms of a condition.
#[derive(Clone, Debug)]
pub enum CondKind {
    /// `true`, `false`.
    Const(bool),
    /// `not C`
    Not(Box<Cond>),
    /// Every one holds.
    And(Vec<Cond>),
    /// One holds.
    Or(Vec<Cond>),
    /// A predicate over values.
    Test(Box<Predicate>),
    /// `any x in L: C` and `all x in L: C`
    Quantifier {
        /// Whether every element must do.
        all: bool,
        /// The list.
        list: Box<Expr>,
        /// The element's name.
        var: Var,
        /// The condition on an element.
        body: Box<Cond>,
    },
    /// A `let`.
    Let(LetId),
    /// A call of a `def` with the arguments put in.
    Call(Arc<str>, Box<Cond>),
    /// The conditions of a choice's branch: those that can be used are joined, and one at least
    /// must be.
    Branch {
        /// Whether every one must hold, or one.
        all: bool,
        /// The conditions.
        conditions: Vec<Guarded>,
    },
}

/// A condition of a branch.
#[derive(Clone, Debug)]
pub struct Guarded {
    /// That every value it reads is present: a [`CondKind::And`] of presence tests.
    pub usable: Cond,
    /// The condition.
    pub cond: Cond,
}

/// A predicate over one or two values.
#[derive(Clone, Debug)]
pub struct Predicate {
    /// A comparison, text or presence operator; `None` for a bool as a condition.
    pub op: Option<Op>,
    /// Whether `not` was written before the operator.
    pub negated: bool,
    /// Its modifiers, the file's settings applied.
    pub mode: TestMode,
    /// The left operand.
    pub left: Expr,
    /// The right operand; for a range its two ends.
    pub right: Operand,
}

/// The right side of a predicate.
#[derive(Clone, Debug)]
pub enum Operand {
    /// There is none.
    Nothing,
    /// A value.
    Value(Expr),
    /// `start..end` or `start..=end`
    Range {
        /// The first value.
        start: Expr,
        /// The last, or the first past it.
        end: Expr,
        /// Whether `end` is the last.
        inclusive: bool,
    },
}

/// A quantifier's element variable.
#[derive(Clone, Debug)]
pub struct Var {
    /// Which it is.
    pub id: VarId,
    /// Its name.
    pub name: Arc<str>,
    /// The kinds its elements are read at.
    pub kinds: KindSet,
}

/// A value.
#[derive(Clone, Debug)]
pub struct Expr {
    /// What it is.
    pub kind: ExprKind,
    /// Its type.
    pub ty: Ty,
    /// Whether it may be missing even when the message keeps every promise of `input`.
    pub optional: bool,
    /// Where it stands.
    pub span: Span,
}

/// The forms of a value.
#[derive(Clone, Debug)]
pub enum ExprKind {
    /// A constant.
    Const(Const),
    /// A field of the message.
    Slot(SlotId),
    /// A quantifier's element.
    Var(VarId),
    /// A parameter, inside a `def` only; calls put the argument in its place.
    Param(u32),
    /// A field of a value that is no slot.
    Field(Box<Expr>, Arc<str>),
    /// `list[i]`, `dict[key]`
    Index(Box<Expr>, Box<Expr>),
    /// `[a, b]` with an element that is no constant.
    List(Vec<Expr>),
    /// Arithmetic, `??` or a sign.
    Op(Op, Box<Expr>, Option<Box<Expr>>),
    /// A typed read: `x as number`, or a parameter's or field's declared type.
    Read(Box<Expr>, KindSet),
    /// A call of a built-in function.
    Call(Function, Vec<Expr>),
    /// A call of a host function.
    Extern(ExternId, Vec<Expr>),
    /// `count x in L: C`
    Count {
        /// The list.
        list: Box<Expr>,
        /// The element's name.
        var: Var,
        /// The condition on an element.
        body: Box<Cond>,
    },
    /// A condition as a value: true, false or missing.
    Cond(Box<Cond>),
    /// A `let`.
    Let(LetId),
}

/// A constant.
#[derive(Clone, Debug, PartialEq)]
pub enum Const {
    /// Anything JSON can say.
    Json(Arc<Json>),
    /// A point in time.
    DateTime(OffsetDateTime),
}

impl Const {
    /// The constant as a value.
    pub fn value(&self) -> Value<'_> {
        match self {
            Const::Json(json) => Value::from_json(json),
            Const::DateTime(at) => Value::DateTime(*at),
        }
    }
}

impl Expr {
    /// The constant, when it is one.
    pub fn as_const(&self) -> Option<&Const> {
        match &self.kind {
            ExprKind::Const(constant) => Some(constant),
            _ => None,
        }
    }
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

    /// What a `let` stands for.
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
