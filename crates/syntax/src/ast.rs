//! The syntax tree that the parser creates. Its nodes have spans in the source text. Names are not
//! yet resolved, and types are not yet checked.

#![allow(missing_docs, reason = "most names say what they mean")]

mod history;
mod payload;
mod request;

pub use history::{History, HistoryPart};
pub use payload::{
    AllowedValues, Correction, EachItem, FieldItem, Group, IncludeArg, IncludeItem, PathExpr, Payload,
    PayloadItem, PayloadItemKind, RuleItem, RuleTest, ViolationNotice,
};
pub use request::{Entity, Intent, Lexicon, WeightedWord};

use rulec_base::diag::Code;
use rulec_base::span::{Span, Spanned};
use rulec_lang::operators::{Case, Modifiers, Op};

/// An identifier with its span, without the backquotes that may surround it.
pub type Ident = Spanned<String>;

/// One statement with the doc comments and `allow` comments before it.
#[derive(Clone, Debug, PartialEq)]
pub struct Statement {
    pub kind: StatementKind,
    /// The span from the first word of the statement to its end.
    pub span: Span,
    /// The documentation of the statement: the text of the `##` lines before it, without the `##`,
    /// joined by line feeds.
    pub docs: String,
    /// The `# rulec: allow CODE reason` comments before the statement. Each suppresses a warning.
    pub allows: Vec<AllowComment>,
}

/// A comment `# rulec: allow W0123 reason`, which suppresses a warning for one statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AllowComment {
    /// The warning that the comment suppresses. `None` if the code is unknown or is not a warning.
    pub code: Option<Code>,
    /// The first warning code anywhere in the comment. It differs from `code` if other words follow
    /// `allow` first; a diagnostic then suggests where to write the code.
    pub first_code_in_comment: Option<Code>,
    /// The span of the whole `allow` comment.
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum StatementKind {
    /// Uses the declarations of another file, but not its routes: `import "shared/words.rules"`.
    Import { path: Spanned<String> },
    /// The fields of a message, with their types: `input { text: string }`.
    Input { fields: Vec<Field> },
    /// A target of routes: `handler find(kind: string, limit?: int) requires permission "files"`.
    Handler { name: Ident, params: Vec<Field>, requires: Vec<Spanned<String>> },
    /// A named list: `list file_words = ["file", "files"]` or `list big = from "words.txt"`.
    List { name: Ident, source: ListSource },
    /// A named value or condition: `let trusted = ctx.user.role == "admin"`.
    Let { name: Ident, value: Expr },
    /// A `let` with parameters: `def asks_to(verbs: list<string>) = text contains word any verbs`.
    Def { name: Ident, params: Vec<Field>, body: Expr },
    /// A function of the host program: `extern fn score(text: string) -> float`.
    Extern { name: Ident, params: Vec<Field>, result: TypeExpr },
    /// Settings of a file: `settings { case: insensitive, normalize: nfkc }`.
    Settings {
        /// The settings as pairs of a name and a value. A value is an identifier or a literal
        /// expression.
        entries: Vec<(Ident, Expr)>,
    },
    /// A named type: `type Order = { total: number }`.
    Type { name: Ident, ty: TypeExpr },
    /// A target and its condition: `route NAME priority 10 when COND -> TARGET`.
    Route(Route),
    /// The target of messages that no route takes: `default -> TARGET`.
    Default { target: Target },
    /// Routes that a message reaches only by `goto NAME`: `table NAME { route … default … }`.
    Table { name: Ident, statements: Vec<Statement> },
    /// A message with its expected result: `test "name" { given text = "x"  expect route }`.
    Test(Test),
    /// Chooses a branch: `choice NAME { branch ID all { COND; COND }  default branch ID }`.
    Choice(Choice),
    /// A conversation and its trigger: `flow NAME "what it does" keyword exact ["hi"] -> "id"`.
    Flow(Flow),
    /// The tool by which a language model starts flows: `flow tool NAME "what it does" { endpoint:
    /// { url: "…" } }`.
    FlowTool(FlowTool),
    /// Selects the workflow nodes that run next: `router NAME(output) { when COND -> next[1]
    /// otherwise -> next[0] }`.
    Router(Router),
    /// A graph of nodes, run step by step: `workflow council { node draft echo -> review  node
    /// review vote { threshold: 0.6 } -> draft, done by verdict }`
    Workflow(Workflow),
    /// The earlier messages that rules can read: `history by ctx.session keep 24h at most 10_000`.
    History(History),
    /// A topic of texts: `intent refund { keywords ["refund"] examples ["I want my money back"] }`.
    Intent(Intent),
    /// A pattern to find in a text: `entity order matches r"order (?<id>[0-9]+)"`.
    Entity(Entity),
    /// Words with weights, for a score: `lexicon anger { "furious": 0.8, "annoyed": 0.4 }`.
    Lexicon(Lexicon),
    /// Requirements for JSON objects: `payload respond rank 9 { response: string not blank }`.
    Payload(Payload),
    /// A named set of rules that payloads can include: `group node(kind: string) { … }`.
    Group(Group),
}

impl StatementKind {
    /// Returns the keyword and the name of the statement. Editing tools find a statement by this
    /// pair. The name of an import is its path.
    ///
    /// `input`, `settings`, `history` and `default` have no name, so their name here is empty. The
    /// keyword alone identifies them, because a file or table contains each of them at most once.
    pub fn keyword_and_name(&self) -> (&'static str, &str) {
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
            StatementKind::History(_) => ("history", ""),
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
    /// A question that a language model answers to choose a branch. If present, the branches have
    /// no conditions.
    pub question: Option<Spanned<String>>,
    /// Whether the choice is marked `to_user`: the application should show the user the chosen
    /// branch, and the reason why this branch was chosen.
    pub is_shown_to_user: bool,
    pub branches: Vec<Branch>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Branch {
    /// The id that the decision returns if this branch is chosen.
    pub id: Ident,
    pub default_span: Option<Span>,
    /// The description of the branch for a language model. `None` if the author wrote none.
    pub meaning: Option<Spanned<String>>,
    /// Whether one true condition is enough to choose the branch. Otherwise all of its conditions
    /// must be true.
    pub requires_any: bool,
    /// The conditions in the braces of the branch. `None` if the branch has no braces.
    pub conditions: Option<Vec<Expr>>,
    pub locals: Locals,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub struct Flow {
    pub name: Ident,
    /// The description of the flow for a language model, if the author wrote one.
    pub description: Option<Spanned<String>>,
    pub trigger: Trigger,
    /// The id that the decision returns if this flow is chosen.
    pub id: Ident,
}

/// A `flow tool` statement. It describes the tool through which a language model starts any of the
/// flows.
#[derive(Clone, Debug, PartialEq)]
pub struct FlowTool {
    pub name: Ident,
    /// The description of the tool for a language model, if the author wrote one.
    pub description: Option<Spanned<String>>,
    /// The settings of the tool in braces, as constants: for example its endpoint, and the
    /// description of its parameter.
    pub entries: Vec<(Ident, Expr)>,
}

/// The trigger of a flow: how a message is recognized as a request for the flow.
#[derive(Clone, Debug, PartialEq)]
pub enum Trigger {
    /// A trigger by keyword patterns: `keyword exact [ … ]`.
    Keyword {
        /// How a message is compared with the patterns: `exact`, `contains` or `regex`.
        match_mode: Ident,
        patterns: Expr,
        /// `ignoring case` or `matching case`. Without either, the settings of the file decide.
        case: Option<Case>,
    },
    /// A trigger by meaning, `intent [ examples ] keywords [ … ]`: the intent classifier compares
    /// the message with the example sentences and the keywords. Either list may be left out.
    Intent { examples: Option<Expr>, keywords: Option<Expr> },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Router {
    pub name: Ident,
    /// The name by which the cases of the router refer to the output of the workflow node.
    pub output_param: Ident,
    /// The cases of the router. The case without a condition is the `otherwise` case.
    pub cases: Vec<RouterCase>,
}

#[derive(Clone, Debug, PartialEq)]
pub struct RouterCase {
    /// The condition after `when`. `None` for the `otherwise` case.
    pub condition: Option<Expr>,
    pub locals: Locals,
    /// The nodes that run next. `next` means all nodes that the workflow declares as the next nodes
    /// of the current one, and `next[0]` the first of them. Node names, node ids, and fields of the
    /// output that contain node names are also allowed.
    pub destinations: Vec<Expr>,
    pub loopback_span: Option<Span>,
    pub span: Span,
}

/// A `workflow` statement: a graph of nodes. Execution starts at the first node.
#[derive(Clone, Debug, PartialEq)]
pub struct Workflow {
    pub name: Ident,
    /// `passthrough session, user_id`: fields that every node copies to its output.
    pub passthrough_fields: Vec<Ident>,
    pub nodes: Vec<Node>,
}

/// A node of a workflow: `node NAME KIND { config } within 2s merge latest -> next by ROUTER`.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    pub id: Ident,
    /// The kind of the node: the name under which its processor is registered, or `parallel`.
    pub kind: Ident,
    pub config: Vec<(Ident, Expr)>,
    /// The time limit of the node in seconds; `None` means no limit.
    pub time_limit: Option<Spanned<Literal>>,
    /// How the inputs are merged if several edges lead to the node: the word after `merge`, such as
    /// `latest`, or `by node` for `merge by node`. `None` without this clause.
    pub merge_mode: Option<Ident>,
    pub next_nodes: Vec<Ident>,
    pub router: Option<Ident>,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ListSource {
    /// A list whose elements are written in the `list` statement itself.
    Elements(Expr),
    /// The path of a file with one list element per line: `from "words.txt"`.
    File(Spanned<String>),
}

#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    pub name: Ident,
    pub priority: Option<Spanned<i64>>,
    pub disabled_span: Option<Span>,
    /// The condition of the route, after `when`.
    pub condition: Expr,
    pub locals: Locals,
    /// The target of the route, after `->`.
    pub target: Target,
}

/// The names that a route, branch or case defines after `where`, with their values. They are
/// visible only there. Syntax: `where a = x > 3, b = y`.
pub type Locals = Vec<(Ident, Expr)>;

/// The target of a route: a handler or another table.
#[derive(Clone, Debug, PartialEq)]
pub enum Target {
    /// A call of a handler: `handler(name: expr) { metadata }`.
    Handler {
        name: Ident,
        /// The arguments of the handler. Empty if there are no parentheses.
        args: Vec<(Ident, Expr)>,
        /// The metadata of the target: constants in braces after the handler.
        metadata: Vec<(Ident, Expr)>,
        span: Span,
    },
    /// A jump to another table: `goto TABLE`.
    Goto { table: Ident, span: Span },
}

#[derive(Clone, Debug, PartialEq)]
pub struct Test {
    /// The name of the test, which describes what the test checks.
    pub name: Spanned<String>,
    /// Constant values for fields of the message, as pairs of path and value:
    /// `given ctx.count = 3`.
    pub given_values: Vec<(Vec<Ident>, Expr)>,
    /// The paths of the fields to which each case of the test gives its own value:
    /// `given text, ctx.count`.
    pub case_field_paths: Vec<Vec<Ident>>,
    /// The expected results: one per case, or a single one if `case_field_paths` is empty.
    pub expectations: Vec<Expectation>,
}

/// An expected result: `expect refunds -> refund_handler(amount: 5) for "refund please", 5`.
#[derive(Clone, Debug, PartialEq)]
pub struct Expectation {
    /// The expected outcome. `ROUTE`, `TABLE.ROUTE` or `default` is the statement that must be
    /// chosen; `none` means that none may be. `ROUTER` is the router whose next nodes are in
    /// `target`. `KIND.reject` means that a payload must be rejected. Empty if the test expects
    /// only a `target` or a score.
    pub outcome_path: Vec<Ident>,
    /// The payload rules that must be violated: `expect KIND.reject "KIND.field.type" at "field"`.
    /// Each element has the id of a rule and, if given, the path at which the violation must be
    /// reported.
    pub expected_violations: Vec<(Spanned<String>, Option<Spanned<String>>)>,
    /// The expected handler, or the expected next nodes, after `->`; `None` if no target is
    /// expected.
    pub target: Option<ExpectedTarget>,
    /// The expected score as an operator and a number, such as `score >= 0.6`; `None` if no score
    /// is expected.
    pub score: Option<(Spanned<String>, Spanned<Literal>)>,
    /// The values after `for`: one for each path in the `case_field_paths` of the test.
    pub case_values: Vec<Expr>,
    pub span: Span,
}

/// An expected target: `-> refund_handler(amount: 5) { queue: "fast" }` or
/// `-> debate, ballot loopback`.
#[derive(Clone, Debug, PartialEq)]
pub struct ExpectedTarget {
    /// The name of the expected handler, or the names of the expected next nodes.
    pub target_names: Vec<Ident>,
    pub args: Vec<(Ident, Expr)>,
    pub metadata: Vec<(Ident, Expr)>,
    /// The span of the word `loopback`, if present. The test then expects that the router sends the
    /// output back in a loop.
    pub loopback_span: Option<Span>,
}

/// A field of an `input` type or record type, or a parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    pub name: Ident,
    /// Whether the field is optional: `?` follows its name.
    pub optional: bool,
    pub ty: TypeExpr,
    /// Whether the field is private: `@private` follows its type.
    pub private: bool,
}

#[derive(Clone, Debug, PartialEq)]
pub struct TypeExpr {
    pub kind: TypeKind,
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum TypeKind {
    /// A type name, such as `string` or `Order`.
    Name(String),
    /// A list type, `list<T>`. `None` is `list` without an element type, which means `list<any>`.
    List(Option<Box<TypeExpr>>),
    /// A dict type, `dict<T>`. `None` is `dict` without a value type, which means `dict<any>`.
    Dict(Option<Box<TypeExpr>>),
    /// A record type: `{ field: T, field?: T }`.
    Record(Vec<Field>),
    /// An enumeration: `"free" | "gold"`.
    Values(Vec<Spanned<String>>),
}

/// An expression before name resolution. Values and conditions share one syntax.
#[derive(Clone, Debug, PartialEq)]
pub struct Expr {
    pub kind: ExprKind,
    /// The span of the expression, parentheses included.
    pub span: Span,
}

#[derive(Clone, Debug, PartialEq)]
pub enum ExprKind {
    /// A literal: `"text"`, `3`, `0.5` or `true`. A unit is already applied to its number: `2m` is
    /// 120.
    Literal(Literal),
    Name(String),
    /// A field of a value: `base.name`.
    Field(Box<Expr>, Ident),
    /// An element or entry of a value: `base[index]`.
    Index(Box<Expr>, Box<Expr>),
    /// A list: `[a, b]`.
    List(Vec<Expr>),
    /// A record `{ key: value }`, allowed in tests and metadata.
    Record(Vec<(Ident, Expr)>),
    /// A call of a function or `def`: `name(a, size: b)`.
    Call(Ident, Vec<Arg>),
    /// A prefix operator with its operand: `not x` or `-x`.
    Unary(Spanned<Op>, Box<Expr>),
    /// `a and b and c`, `a or b or c`, `a unless b unless c`: one operator with two or more
    /// operands. The operands are a flat list, so that a long chain does not become a deep tree.
    Logic(Op, Vec<Expr>),
    /// `if C then a else b`: the condition `C`, the value `a` if it is true, and otherwise `b`.
    If(Box<[Expr; 3]>),
    /// `a OP b`, where `OP` is not `and`, `or` or `unless`.
    Binary(Box<Binary>),
    /// A test for presence: `x is missing` or `x is present`.
    Presence {
        operand: Box<Expr>,
        /// [`Op::IsMissing`] or [`Op::IsPresent`] with its span.
        op: Spanned<Op>,
    },
    /// An expression whose value must have a type: `x as number`. A value of another type counts as
    /// missing.
    As(Box<Expr>, TypeExpr),
    /// A range, `3..10` or `3..=10`; allowed only to the right of `in`.
    Range {
        start: Box<Expr>,
        /// The upper bound of the range.
        end: Box<Expr>,
        /// Whether the upper bound belongs to the range.
        inclusive: bool,
    },
    /// A block of conditions: `all { c; c }`, `any { c; c }` or `none { c; c }`.
    Block(BlockKind, Vec<Expr>),
    /// A selection of the recorded messages: `history within 1h`.
    HistoryPart(Box<HistoryPart>),
    /// A quantifier over a list, such as `any x in L: C` or `sum E for x in L: C`.
    Quantifier {
        kind: QuantifierKind,
        var: Ident,
        list: Box<Expr>,
        body: Box<Expr>,
    },
}

/// An argument of a call, positional or with the name of its parameter.
#[derive(Clone, Debug, PartialEq)]
pub struct Arg {
    /// The name of the parameter, for a named argument. `None` for a positional argument.
    pub name: Option<Ident>,
    pub value: Expr,
}

/// A binary operator with its two operands.
#[derive(Clone, Debug, PartialEq)]
pub struct Binary {
    /// The operator. Its span also covers a `not` before it and the modifiers after it, up to the
    /// right operand.
    pub op: Spanned<Op>,
    /// Whether `not` precedes the operator, as in `not contains` and `not in`.
    pub negated: bool,
    /// The modifiers of the operator, such as `word`, `any` or `ignoring case`, with their spans.
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

/// The kind of a quantifier over the elements of a list.
#[derive(Clone, Debug, PartialEq)]
pub enum QuantifierKind {
    Any,
    All,
    /// `count`: the number of elements for which the condition is true.
    Count,
    /// The sum of this expression over the elements for which the condition is true.
    Sum(Box<Expr>),
    /// `first`: the first element for which the condition is true.
    First,
    /// `last`: the last element for which the condition is true.
    Last,
}

/// A literal, with its escapes and units already applied.
#[derive(Clone, Debug, PartialEq)]
pub enum Literal {
    /// A string with its escapes resolved.
    String(String),
    Int(i64),
    /// A whole number from 2^63 to 2^64-1.
    Wide(u64),
    /// A number with a fraction or an exponent.
    Float(f64),
    Bool(bool),
    /// `null`, `none` or `nil` where a value is expected. The checker suggests `is missing`
    /// instead.
    Null,
}
