//! The syntax tree: what the author wrote, with places, before any name or type is known.

#![allow(missing_docs, reason = "most names say what they stand for")]

mod payload;
mod request;

pub use payload::{
    Correction, EachItem, FieldItem, Group, IncludeArg, IncludeItem, Item, ItemKind, Limits, Notice, Payload,
    Place, RuleItem, RuleTest,
};
pub use request::{Entity, Intent, Lexicon, Weight};

use rulec_base::diag::Code;
use rulec_base::span::{Span, Spanned};
use rulec_lang::operators::{Modifiers, Op};

/// A name as written, without backquotes.
pub type Ident = Spanned<String>;

/// One statement with what stands before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub kind: StatementKind,
    /// From its first word to its end.
    pub span: Span,
    /// The text of the `##` lines before it, without the marks, joined by line feeds.
    pub docs: String,
    /// The `# rulec: allow CODE reason` lines before it.
    pub allows: Vec<Allow>,
}

/// A `# rulec: allow W0123 reason` comment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Allow {
    /// The silenced warning; `None` when the code is unknown or no warning.
    pub code: Option<Code>,
    /// The whole comment.
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// `import "shared/words.rules"`
    Import { path: Spanned<String> },
    /// `input { text: string }`
    Input { fields: Vec<Field> },
    /// `handler file_handler(kind: string, limit?: int) requires permission "files"`
    Handler { name: Ident, params: Vec<Field>, requires: Vec<Spanned<String>> },
    /// `list file_words = ["file", "files"]` or `list big = from "words.txt"`
    List { name: Ident, source: ListSource },
    /// `let trusted = ctx.user.role == "admin"`
    Let { name: Ident, value: Expr },
    /// `def asks_to(verbs: list<string>) = text contains word any verbs`
    Def { name: Ident, params: Vec<Field>, body: Expr },
    /// `extern fn score(text: string) -> float`
    Extern { name: Ident, params: Vec<Field>, result: TypeExpr },
    /// `settings { case: insensitive, normalize: nfkc }`
    Settings {
        /// Each setting and its value, a word or a literal.
        entries: Vec<(Ident, Expr)>,
    },
    /// `type Order = { total: number }`
    Type { name: Ident, ty: TypeExpr },
    /// `route NAME priority 10 when COND -> TARGET`
    Route(Route),
    /// `default -> TARGET`
    Default { target: Target },
    /// `table NAME { route … default … }`
    Table { name: Ident, statements: Vec<Statement> },
    /// `test "name" { given text = "x"  expect route }`
    Test(Test),
    /// `choice NAME { branch ID all { COND; COND }  default branch ID }`
    Choice(Choice),
    /// `flow NAME "what it does" keyword exact ["hi"] -> "flow id"`
    Flow(Flow),
    /// `flow tool NAME "what it does" { endpoint: { url: "https://…" } }`
    FlowTool(FlowTool),
    /// `router NAME(output) { when COND -> next[1]  otherwise -> next[0] loopback }`
    Router(Router),
    /// `workflow council { node draft echo -> review  node review vote { threshold: 0.6 } -> draft, done by verdict }`
    Workflow(Workflow),
    /// `intent refund { keywords ["refund"] examples ["I want my money back"] }`
    Intent(Intent),
    /// `entity order matches r"order (?<id>[0-9]+)"`
    Entity(Entity),
    /// `lexicon anger { "furious": 0.8, "annoyed": 0.4 }`
    Lexicon(Lexicon),
    /// `payload respond rank 9 { response: string not blank }`
    Payload(Payload),
    /// `group node(kind: string) { … }`: rules that payloads include.
    Group(Group),
}

impl StatementKind {
    /// The words a statement begins with, and its name: what edits call it by. An import is called by its path, and of
    /// the kinds without a name, for which it is empty, a file or table has one.
    pub fn head(&self) -> (&'static str, &str) {
        match self {
            StatementKind::Import { path } => ("import", &path.node),
            StatementKind::Input { .. } => ("input", ""),
            StatementKind::Handler { name, .. } => ("handler", &name.node),
            StatementKind::List { name, .. } => ("list", &name.node),
            StatementKind::Let { name, .. } => ("let", &name.node),
            StatementKind::Def { name, .. } => ("def", &name.node),
            StatementKind::Extern { name, .. } => ("extern fn", &name.node),
            StatementKind::Settings { .. } => ("settings", ""),
            StatementKind::Type { name, .. } => ("type", &name.node),
            StatementKind::Route(route) => ("route", &route.name.node),
            StatementKind::Default { .. } => ("default", ""),
            StatementKind::Table { name, .. } => ("table", &name.node),
            StatementKind::Test(test) => ("test", &test.name.node),
            StatementKind::Choice(choice) => ("choice", &choice.name.node),
            StatementKind::Flow(flow) => ("flow", &flow.name.node),
            StatementKind::FlowTool(tool) => ("flow tool", &tool.name.node),
            StatementKind::Router(router) => ("router", &router.name.node),
            StatementKind::Workflow(workflow) => ("workflow", &workflow.name.node),
            StatementKind::Intent(intent) => ("intent", &intent.name.node),
            StatementKind::Entity(entity) => ("entity", &entity.name.node),
            StatementKind::Lexicon(lexicon) => ("lexicon", &lexicon.name.node),
            StatementKind::Payload(payload) => ("payload", &payload.name.node),
            StatementKind::Group(group) => ("group", &group.name.node),
        }
    }
}

#[derive(Clone, Debug, PartialEq)]
pub struct Choice {
    pub name: Ident,
    /// The question to a language model, in place of conditions.
    pub question: Option<Spanned<String>>,
    /// True when the user is to see what is chosen, and why.
    pub to_user: bool,
    pub branches: Vec<Branch>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// The id that the decision answers with.
    pub id: Ident,
    pub default: Option<Span>,
    /// Its meaning, for a language model.
    pub meaning: Option<Spanned<String>>,
    /// True if one condition is enough.
    pub any: bool,
    /// Its conditions; `None` without braces.
    pub conditions: Option<Vec<Expr>>,
    pub locals: Locals,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    pub name: Ident,
    /// Its description, for a language model.
    pub description: Option<Spanned<String>>,
    pub trigger: Trigger,
    /// The id that the decision answers with.
    pub id: Ident,
}

/// The tool by which all flows are executed.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowTool {
    pub name: Ident,
    /// Its description, for a language model.
    pub description: Option<Spanned<String>>,
    /// Constants: where it calls, and what its parameter means.
    pub entries: Vec<(Ident, Expr)>,
}

/// The way messages find a flow.
#[derive(Clone, Debug, PartialEq)]
pub enum Trigger {
    /// `keyword exact [ … ]`
    Keyword {
        /// `exact`, `contains` or `regex`.
        matching: Ident,
        patterns: Expr,
    },
    /// `intent [ examples ] keywords [ … ]`
    Intent { examples: Option<Expr>, keywords: Option<Expr> },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Router {
    pub name: Ident,
    /// The name of the node's output.
    pub param: Ident,
    /// Its cases; the one without condition is `otherwise`.
    pub cases: Vec<RouterCase>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RouterCase {
    /// After `when`; `None` for `otherwise`.
    pub condition: Option<Expr>,
    pub locals: Locals,
    /// `next`, `next[0]`, node names and ids, fields of the output that hold them.
    pub destinations: Vec<Expr>,
    pub loopback: Option<Span>,
    pub span: Span,
}

/// A graph of nodes; it begins at the first.
#[derive(Clone, Debug, PartialEq)]
pub struct Workflow {
    pub name: Ident,
    /// `passthrough session, user_id`: fields that every node hands on.
    pub passthrough: Vec<Ident>,
    pub nodes: Vec<Node>,
}

/// `node NAME KIND { config } within 2s -> next, next by ROUTER`
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub id: Ident,
    /// The name under which its processor is registered, or `parallel`.
    pub kind: Ident,
    pub config: Vec<(Ident, Expr)>,
    /// The longest it may take, in seconds.
    pub within: Option<Spanned<Literal>>,
    pub next: Vec<Ident>,
    pub router: Option<Ident>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ListSource {
    /// Written in place.
    Elements(Expr),
    /// `from "words.txt"`: one a line.
    File(Spanned<String>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    pub name: Ident,
    pub priority: Option<Spanned<i64>>,
    pub disabled: Option<Span>,
    /// After `when`.
    pub condition: Expr,
    pub locals: Locals,
    /// After `->`.
    pub target: Target,
}

/// The names that one rule gives to conditions and values: `where a = x > 3, b = y`.
pub type Locals = Vec<(Ident, Expr)>;

/// The end that a decision leads to.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// `handler(name: expr) { metadata }`
    Handler {
        name: Ident,
        /// Its arguments; `None` without parentheses.
        args: Vec<(Ident, Expr)>,
        /// The constants in braces.
        metadata: Vec<(Ident, Expr)>,
        span: Span,
    },
    /// `goto TABLE`
    Goto { table: Ident, span: Span },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// The name, which says what the test shows.
    pub name: Spanned<String>,
    /// `given ctx.count = 3`: a path and a constant.
    pub given: Vec<(Vec<Ident>, Expr)>,
    /// `given text, ctx.count`: the fields that each case gives a value.
    pub columns: Vec<Vec<Ident>>,
    /// One, or one for each case.
    pub expects: Vec<Expectation>,
}

/// `expect refunds -> refund_handler(amount: 5) for "refund please", 5`
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// `ROUTE`, `TABLE.ROUTE`, `ROUTER`, `KIND.reject`, `default` or `none`; empty where only what follows is expected.
    pub path: Vec<Ident>,
    /// The rules a payload breaks: `expect KIND.reject "KIND.field.type" at "field"`.
    pub breaks: Vec<(Spanned<String>, Option<Spanned<String>>)>,
    /// Behind the arrow: a handler, or next nodes.
    pub then: Option<ExpectedThen>,
    /// `score >= 0.6`
    pub score: Option<(Spanned<String>, Spanned<Literal>)>,
    /// The values of the columns, behind `for`.
    pub values: Vec<Expr>,
    pub span: Span,
}

/// `-> refund_handler(amount: 5) { queue: "fast" }`, `-> debate, ballot loopback`
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedThen {
    /// A handler, or the next nodes.
    pub names: Vec<Ident>,
    pub args: Vec<(Ident, Expr)>,
    pub metadata: Vec<(Ident, Expr)>,
    /// The word, where the way leads back.
    pub loopback: Option<Span>,
}

/// A field of an `input` or record type, or a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub name: Ident,
    /// `?` after the name.
    pub optional: bool,
    pub ty: TypeExpr,
    /// `@private` after the type.
    pub private: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TypeExpr {
    pub kind: TypeKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// `string`, `Order`.
    Name(String),
    /// `list<T>`; `list` alone is `list<any>`.
    List(Option<Box<TypeExpr>>),
    /// `dict<T>`; `dict` alone is `dict<any>`.
    Dict(Option<Box<TypeExpr>>),
    /// `{ field: T, field?: T }`
    Record(Vec<Field>),
}

/// An expression as written: values and conditions share one syntax.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    /// Its place in the file, parentheses included.
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// `"text"`, `3`, `0.5`, `true`; units are already applied.
    Literal(Literal),
    Name(String),
    /// `base.name`
    Field(Box<Expr>, Ident),
    /// `base[index]`
    Index(Box<Expr>, Box<Expr>),
    /// `[a, b]`
    List(Vec<Expr>),
    /// `{ key: value }`, in tests and metadata.
    Record(Vec<(Ident, Expr)>),
    /// `name(a, size: b)`
    Call(Ident, Vec<Arg>),
    /// `not x` or `-x`
    Unary(Spanned<Op>, Box<Expr>),
    /// `a and b and c`, `a or b or c`, `a unless b unless c`: the operator over two or more operands, flat,
    /// so that a long chain is no deep tree.
    Logic(Op, Vec<Expr>),
    /// `if C then a else b`: the condition, then the two values.
    If(Box<[Expr; 3]>),
    /// `a OP b`, where the operator is none of logic
    Binary(Box<Binary>),
    /// `x is missing`, `x is present`
    Presence {
        operand: Box<Expr>,
        /// [`Op::IsMissing`] or [`Op::IsPresent`] and where it stands.
        op: Spanned<Op>,
    },
    /// `x as number`
    As(Box<Expr>, TypeExpr),
    /// `3..10` or `3..=10`, right of `in` only.
    Range {
        start: Box<Expr>,
        /// The last value, or the first past it.
        end: Box<Expr>,
        /// True if `end` is the last value.
        inclusive: bool,
    },
    /// `all { c; c }`, `any { c; c }`, `none { c; c }`
    Block(BlockKind, Vec<Expr>),
    /// `any x in L: C`, `all x in L: C`, `count x in L: C`
    Quantifier {
        kind: QuantifierKind,
        var: Ident,
        list: Box<Expr>,
        body: Box<Expr>,
    },
}

/// An argument of a call.
#[derive(Clone, Debug, PartialEq)]
pub struct Arg {
    /// The parameter it is for, where that is said; else the place says it.
    pub name: Option<Ident>,
    pub value: Expr,
}

/// An operator between two operands.
#[derive(Clone, Debug, PartialEq)]
pub struct Binary {
    /// The operator and where it stands, `not` and modifiers before the right operand included.
    pub op: Spanned<Op>,
    /// True if `not` stands before it (`not contains`, `not in`).
    pub negated: bool,
    /// `word`, `any`, `ignoring case` and where they stand.
    pub modifiers: Modifiers,
    pub left: Expr,
    pub right: Expr,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BlockKind {
    All,
    Any,
    None,
}

/// The quantifiers over a list's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QuantifierKind {
    Any,
    All,
    /// For how many elements the condition holds.
    Count,
}

/// A constant as written.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// Text with escapes resolved.
    String(String),
    Int(i64),
    /// A number with a fraction or exponent.
    Float(f64),
    Bool(bool),
    /// `null`, `none`, `nil` where a value is wanted; the checker says to write `is missing`.
    Null,
}
