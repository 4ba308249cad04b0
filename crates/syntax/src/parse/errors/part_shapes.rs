//! The table of shapes: how each statement and each part of a statement is written. A message that
//! can only name what the parser expected shows the shape of the part in which parsing failed.

use super::super::Rule;
use super::ParseFailure;
use crate::lex::TokenKind;
use rulec_base::diag::Message;
use rulec_base::message;

/// A statement, or a part of a statement that has a shape of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in super::super) enum Part {
    /// The statement, or the item of a payload, that this grammar rule matches.
    Whole(Rule),
    FlowTool,
    Quantifier,
    HistoryQuantifier,
    Sum,
    Conditional,
    Call,
    Index,
    List,
    Record,
    Block,
    Locals,
    Priority,
    Arguments,
    Metadata,
    Parameters,
    Field,
    Setting,
    Given,
    Expect,
    Branch,
    Case,
    Node,
    Patterns,
    Weight,
}

/// A row of the table of shapes: a part of a statement, and the pattern by which help texts show
/// how it is written.
pub(in super::super) struct PartShape {
    pub(in super::super) part: Part,
    /// The phrase that names the part in messages, such as "a quantifier".
    name: Message,
    /// How the part is written, with a word in capitals for each thing that the author chooses.
    shape: &'static str,
    pub(in super::super) example: &'static str,
}

macro_rules! shapes {
    ($($part:expr, $name:expr, $shape:literal, $example:literal;)*) => {
        pub(in super::super) static SHAPES: &[PartShape] =
            &[$(PartShape { part: $part, name: $name, shape: $shape, example: $example }),*];
    };
}

use Part::Whole;

shapes! {
    Whole(Rule::import_statement), message!("an import"), r#"import "FILE""#, r#"import "shared/words.rules""#;
    Whole(Rule::input_statement), message!("the input"), "input { FIELD: TYPE, … }", "input { text: string, user?: { role: string } }";
    Whole(Rule::handler_statement), message!("a handler"), "handler NAME(PARAMETER: TYPE, …)", "handler refund_handler(order: string, limit?: int)";
    Whole(Rule::list_statement), message!("a list"), "list NAME = [VALUE, …]", r#"list words = ["file", "folder"]"#;
    Whole(Rule::let_statement), message!("a definition"), "let NAME = VALUE", r#"let urgent = text contains "now""#;
    Whole(Rule::def_statement), message!("a definition with parameters"), "def NAME(PARAMETER: TYPE, …) = VALUE", "def asks(words: list<string>) = text contains any words";
    Whole(Rule::extern_statement), message!("a function of the program"), "extern fn NAME(PARAMETER: TYPE, …) -> TYPE", "extern fn score(text: string) -> float";
    Whole(Rule::settings_statement), message!("a settings block"), "settings { NAME: VALUE, … }", "settings { case: insensitive }";
    Whole(Rule::type_statement), message!("a type"), "type NAME = TYPE", "type order = { total: number }";
    Whole(Rule::route_statement), message!("a route"), "route NAME priority NUMBER when CONDITION -> HANDLER", r#"route refunds priority 10 when text contains "refund" -> refund_handler"#;
    Whole(Rule::default_statement), message!("a default"), "default -> HANDLER", "default -> default_handler";
    Whole(Rule::table_statement), message!("a table"), "table NAME { ROUTES }", "table billing { default -> billing_handler }";
    Whole(Rule::choice_statement), message!("a choice"), "choice NAME { default branch ID  branch ID { CONDITION; … } }", "choice size { default branch small  branch large any { ctx.total >= 100; ctx.items > 20 } }";
    Whole(Rule::flow_statement), message!("a flow"), r#"flow NAME "DESCRIPTION" keyword contains [TEXT, …] -> "ID""#, r#"flow orders "looks up orders" keyword contains ["my order"] -> "orders""#;
    Part::FlowTool, message!("the tool of the flows"), r#"flow tool NAME "DESCRIPTION" { endpoint: { url: URL } }"#, r#"flow tool flow_executor "Starts a flow." { endpoint: { url: "https://flows.example.com/run" } }"#;
    Whole(Rule::router_statement), message!("a router"), "router NAME(OUTPUT) { when CONDITION -> NODE  otherwise -> NODE }", "router check(output) { when output.ok -> next[1]  otherwise -> next[0] loopback }";
    Whole(Rule::workflow_statement), message!("a workflow"), "workflow NAME { node ID KIND -> ID, …  node ID KIND }", "workflow review { node draft echo -> ballot  node ballot vote { threshold: 0.6 } -> draft, done by verdict  node done echo }";
    Whole(Rule::history_statement), message!("a history"), "history by FIELD keep DURATION at most NUMBER", "history by ctx.session keep 24h at most 10_000";
    Whole(Rule::intent_statement), message!("an intent"), "intent NAME { keywords [TEXT, …] examples [TEXT, …] }", r#"intent refund { keywords ["refund"] examples ["I want my money back"] }"#;
    Whole(Rule::entity_statement), message!("an entity"), r#"entity NAME matches r"PATTERN""#, r#"entity order matches r"order (?<id>[0-9]+)""#;
    Whole(Rule::lexicon_statement), message!("a lexicon"), "lexicon NAME { TEXT: WEIGHT, … }", r#"lexicon anger { "furious": 0.8, "annoyed": 0.4 }"#;
    Whole(Rule::test_statement), message!("a test"), r#"test "NAME" { given FIELD = VALUE  expect ROUTE }"#, r#"test "a refund" { given text = "refund"  expect refunds }"#;
    Whole(Rule::payload_statement), message!("a payload"), "payload NAME rank NUMBER { RULES }", "payload respond rank 9 { response: string not blank }";
    Whole(Rule::group_statement), message!("a group"), "group NAME { RULES }", "group general { action_type: string }";
    Whole(Rule::each_item), message!("an `each` block"), "each NAME in LIST { RULES }", r#"each node in nodes { require "node.cost": node.cost <= 10 }"#;
    Whole(Rule::field_item), message!("a field of a payload"), "FIELD: TYPE in LIST default VALUE", r#"level: string in ["low", "high"] default "low""#;
    Whole(Rule::require_item), message!("a rule of a payload"), r#"require "ID" at FIELD: CONDITION else "MESSAGE""#, r#"require "amount.small" at amount: amount <= 100 else "at most 100""#;
    Whole(Rule::forbid_item), message!("a prohibition of a payload"), r#"forbid "ID" at FIELD when CONDITION else "MESSAGE""#, r#"forbid "amount.large" at amount when amount > 100 else "at most 100""#;
    Whole(Rule::compiles_item), message!("a rule about a condition"), r#"compiles "ID" at FIELD"#, r#"compiles "edge.condition" at condition"#;
    Whole(Rule::closed_item), message!("the rule against other fields"), r#"closed "ID" remove"#, r#"closed "field.unknown" remove"#;
    Whole(Rule::let_item), message!("a definition"), "let NAME = VALUE", "let total = price * count";
    Whole(Rule::include_item), message!("an `include`"), "include GROUP(PARAMETER: VALUE, …)", "include node_config(kind: kind)";
    Part::Quantifier, message!("a quantifier"), "any NAME in LIST: CONDITION", "any item in items: item.price > 100";
    Part::HistoryQuantifier, message!("a condition on earlier messages"), "any NAME in history within DURATION: CONDITION", r#"any p in history within 1h: p.tool == "delete""#;
    Part::Sum, message!("a sum"), "sum VALUE for NAME in LIST: CONDITION", "sum item.price for item in items: item.count > 0";
    Part::Conditional, message!("a choice between two values"), "if CONDITION then VALUE else VALUE", r#"if total > 100 then "large" else "small""#;
    Part::Call, message!("a call"), "FUNCTION(VALUE, …)", "round(price, 2)";
    Part::Index, message!("an element of a list"), "LIST[NUMBER]", "items[0]";
    Part::List, message!("a list"), "[VALUE, …]", r#"["file", "folder"]"#;
    Part::Record, message!("a record"), "{ NAME: VALUE, … }", r#"{ team: "billing", level: 2 }"#;
    Part::Block, message!("a block of conditions"), "any { CONDITION; CONDITION }", r#"any { total > 100; name == "x" }"#;
    Part::Locals, message!("a list of local names"), "where NAME = VALUE, NAME = VALUE", "where age = now - sent, late = age > 2h";
    Part::Priority, message!("a priority"), "priority NUMBER", "priority 10";
    Part::Arguments, message!("a target with arguments"), "-> HANDLER(PARAMETER: VALUE, …)", r#"-> file_handler(kind: "list", limit: 10)"#;
    Part::Metadata, message!("a target with metadata"), "-> HANDLER { NAME: VALUE, … }", r#"-> refund_handler { team: "billing" }"#;
    Part::Parameters, message!("a list of parameters"), "(PARAMETER: TYPE, …)", "(order: string, limit?: int)";
    Part::Field, message!("a field"), "FIELD: TYPE", "phone?: string @private";
    Part::Setting, message!("a setting"), "NAME: VALUE", r#"zone: "Europe/Berlin""#;
    Part::Given, message!("a field of a test"), "given FIELD = VALUE", r#"given text = "refund""#;
    Part::Expect, message!("the result of a test"), "expect ROUTE", "expect refunds";
    Part::Branch, message!("a branch"), "branch ID { CONDITION; … }", "branch large { total > 100; count > 3 }";
    Part::Case, message!("a case of a router"), "when CONDITION -> NODE, …", "when output.ok -> next[1]";
    Part::Node, message!("a node"), "node ID KIND { SETTINGS } within DURATION -> ID, … by ROUTER", "node ballot vote { threshold: 0.6 } within 5s -> draft, done by verdict";
    Part::Patterns, message!("a list of patterns"), "keyword contains [TEXT, …]", r#"keyword contains ["my order"]"#;
    Part::Weight, message!("a word of a lexicon"), "TEXT: WEIGHT", r#""furious": 0.8"#;
}

/// Returns the help text that shows how a part of a statement is written. `None` for a part that
/// the table of shapes lacks.
pub(in super::super) fn shape_help(part: Part) -> Option<Message> {
    let row = SHAPES.iter().find(|row| row.part == part)?;
    let (shape, example) = (row.shape.to_owned(), row.example.to_owned());
    Some(message!("{} is written `{shape}`, for example `{example}`", row.name.clone()))
}

impl ParseFailure<'_, '_> {
    /// Returns the help text with the shape of the part in which parsing failed.
    pub(super) fn shape_help(&self) -> Option<Message> {
        if super::is_payload_item(self.rule) && self.expects_rule(Rule::EOI) {
            return Some(message!(
                "each rule of a payload begins a line, or follows `;`, as in `name: string not blank; closed`"
            ));
        }
        shape_help(self.innermost_failed_part())
    }

    /// Returns the innermost part of the statement that contains the unexpected token.
    fn innermost_failed_part(&self) -> Part {
        let mut open_brackets = vec![];
        for index in self.cx.tokens.start..self.token_index.min(self.cx.tokens.end) {
            let kind = self.cx.significant[index].token.kind;
            if kind.opens_bracket() {
                open_brackets.push(index);
            } else if kind.closes_bracket() {
                open_brackets.pop();
            }
        }
        loop {
            let open = open_brackets.pop();
            let start = open.map_or(self.cx.tokens.start, |open| open + 1);
            let part = self.find_clause_containing_error(start).or_else(|| self.part_in_brackets(open?));
            match (part, open) {
                (Some(part), _) => return part,
                (None, Some(_)) => {}
                (None, None) if self.is_flow_tool() => return Part::FlowTool,
                (None, None) => return Part::Whole(self.rule),
            }
        }
    }

    /// Returns the clause that contains the unexpected token and begins with a word. `start` is the
    /// first token of the innermost brackets, or of the statement. `None` without such a clause.
    fn find_clause_containing_error(&self, start: usize) -> Option<Part> {
        let (mut part, mut depth) = (None, 0_usize);
        for index in start..self.token_index.min(self.cx.tokens.end) {
            let kind = self.cx.significant[index].token.kind;
            depth += usize::from(kind.opens_bracket());
            if depth == 0 {
                part = self.clause_at_token(index, part);
            }
            depth = depth.saturating_sub(usize::from(kind.closes_bracket()));
        }
        part
    }

    /// Returns the clause that contains the token after `index`, if `part` contains the token at
    /// `index`.
    fn clause_at_token(&self, index: usize, part: Option<Part>) -> Option<Part> {
        let word = self.text_of_token(index);
        if index > self.cx.tokens.start && self.text_of_token(index - 1) == "." {
            return part;
        }
        let is_value = matches!(part, None | Some(Part::Locals | Part::Given | Part::Branch | Part::Case));
        let names_element = self.kind_of_token(index + 1) == Some(TokenKind::Word)
            && (self.text_of_token(index + 2) == "in" || index + 2 >= self.token_index);
        match (word, self.rule) {
            ("any" | "all" | "count" | "first" | "last", _) if names_element && is_value => {
                let is_history = self.text_of_token(index + 3) == "history";
                Some(if is_history { Part::HistoryQuantifier } else { Part::Quantifier })
            }
            ("sum", _) if is_value && self.kind_of_token(index + 1) == Some(TokenKind::Word) => {
                Some(Part::Sum)
            }
            ("if", _) if is_value => Some(Part::Conditional),
            ("else", _) if part == Some(Part::Conditional) => None,
            // The condition of a quantifier can be any expression.
            (":", _) if matches!(part, Some(Part::Quantifier | Part::HistoryQuantifier | Part::Sum)) => None,
            ("where", Rule::route_statement | Rule::router_statement | Rule::choice_statement) => {
                Some(Part::Locals)
            }
            ("priority", Rule::route_statement) => Some(Part::Priority),
            ("when", Rule::route_statement) => None,
            ("->", Rule::route_statement | Rule::default_statement) => None,
            ("given", Rule::test_statement) => Some(Part::Given),
            ("expect", Rule::test_statement) => Some(Part::Expect),
            ("branch", Rule::choice_statement) => Some(Part::Branch),
            ("when" | "otherwise", Rule::router_statement) => Some(Part::Case),
            ("node", Rule::workflow_statement) => Some(Part::Node),
            ("keyword", Rule::flow_statement) => Some(Part::Patterns),
            ("->", Rule::flow_statement) => None,
            _ => part,
        }
    }

    /// Returns the part that lies between the bracket at the token `open` and the unexpected token.
    /// `None` for parentheses around a value, and for the braces of a whole statement.
    fn part_in_brackets(&self, open: usize) -> Option<Part> {
        let before = open.checked_sub(1).filter(|before| *before >= self.cx.tokens.start)?;
        let word = self.text_of_token(before);
        let is_name = matches!(self.kind_of_token(before), Some(TokenKind::Word | TokenKind::Quoted));
        let follows_target = before > 0 && matches!(self.text_of_token(before - 1), "->" | "=>");
        let is_route = matches!(self.rule, Rule::route_statement | Rule::default_statement);
        let is_first = (self.cx.tokens.start..open)
            .all(|index| !self.kind_of_token(index).is_some_and(TokenKind::opens_bracket));
        Some(match (self.text_of_token(open), self.rule) {
            ("(", Rule::handler_statement | Rule::def_statement | Rule::extern_statement) if is_first => {
                Part::Parameters
            }
            ("(", Rule::router_statement) if is_first => return None,
            ("(", _) if follows_target => Part::Arguments,
            ("(", _) if is_name && !super::is_reserved(word) && !is_operator(word) => Part::Call,
            ("[", _) if is_name && !is_operator(word) && !matches!(word, "any" | "all" | "none" | "word") => {
                Part::Index
            }
            ("[", _) if matches!(word, ")" | "]") => Part::Index,
            ("[", _) => Part::List,
            ("{", _) if matches!(word, "all" | "any" | "none") => Part::Block,
            ("{", Rule::settings_statement) => Part::Setting,
            ("{", Rule::lexicon_statement) => Part::Weight,
            ("{", _) if self.statement_declares_fields() => Part::Field,
            ("{", _) if is_route && (follows_target || word == ")") => Part::Metadata,
            ("{", _) if matches!(word, ":" | "=" | "," | "[" | "(" | "??" | "==" | "!=") => Part::Record,
            _ => return None,
        })
    }
}

/// True for an operator that is written as a word, after which a list is a value and no index.
fn is_operator(word: &str) -> bool {
    rulec_lang::operators::is_reserved_word(word)
}
