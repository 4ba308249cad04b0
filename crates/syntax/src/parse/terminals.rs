//! The table of all terminals of the language: keywords, symbols and kinds of tokens. Everything
//! about terminals is derived from this table: the keyword map, the statement keywords, the codes
//! that pest reads, and the phrases in messages. A test generates the text of `grammar/tokens.pest`
//! from the table and compares it with the file.
//!
//! pest reads a statement as a string of *codes*: one ASCII character per token, without white
//! space and comments. A route with two hundred characters thus has about thirty codes, and the
//! grammar needs no rules for white space. Codes are assigned by class, in the order of
//! [`TerminalClass`], so that "any name" and "any key" are ranges of codes.

use super::Rule;
use crate::lex::{Token, TokenKind};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use rulec_base::diag::Message;
use rulec_base::message;
use std::sync::LazyLock;

/// The classes of terminals (keywords, symbols and kinds of tokens), in the order of their codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum TerminalClass {
    /// A symbol such as `(` or `:`, which neither ends an expression nor is an operand or operator
    /// of one.
    Mark,
    /// A symbol at which an expression usually ends: a closing bracket, a comma or an arrow.
    Closing,
    /// A word that begins statements, and must be in backquotes to be a name.
    Statement,
    /// A word that begins a clause, and must be in backquotes to be a name.
    Clause,
    /// A word that begins statements, and is a plain name within expressions.
    InnerStatement,
    /// `as`, which is never a name in an expression.
    Cast,
    /// A word that may begin a quantifier, and is a plain name in all other positions.
    Quantity,
    /// A word with a special meaning in some positions, and a plain name in all others.
    Contextual,
    /// A name without a special meaning.
    Name,
    /// A string or number.
    Literal,
    /// A symbol that is an operator, or an operator of another language, such as `&&`.
    Operator,
    /// A dot that reads a field, as in `ctx.user`. The name after the dot is not a reserved word.
    MemberDot,
}

/// A terminal of the grammar: a keyword, a symbol or a kind of token.
pub(super) struct Terminal {
    /// The grammar rule that matches the terminal.
    pub(super) rule: Rule,
    /// The spelling in rules, such as `route`. Empty if the terminal has several spellings.
    pub(super) text: &'static str,
    pub(super) class: TerminalClass,
    /// The grammar rule of the statements that begin with this word; `None` if the word begins no
    /// statement.
    pub(super) statement_rule: Option<Rule>,
    /// The phrase that names the terminal in messages.
    pub(super) phrase: Message,
    flags: u8,
}

/// Flag of a word whose statement is allowed inside a `table` statement.
const ALLOWED_IN_TABLE: u8 = 1;
/// Flag of a word whose statement declares the name after the word.
const DECLARES_NAME: u8 = 2;
/// Flag of a word that requires a name after it.
const WANTS_NAME: u8 = 4;
/// Flag of a word that, at the start of a line, continues the previous statement.
const CONTINUES_STATEMENT: u8 = 8;
/// Flag of a terminal that has a second grammar rule, `bare_…`, which matches the same token
/// without creating a tree node. Messages never list the second rule as expected.
const HAS_BARE_RULE: u8 = 16;
/// Flag of a word that, at the start of a line, begins an item of a payload.
const BEGINS_ITEM: u8 = 32;

/// The role of a word with a special meaning, by which editors colour it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WordRole {
    /// The word begins a statement.
    Statement,
    /// The word begins a clause, and must be in backquotes to be a name.
    Clause,
    /// The word has a special meaning in some positions, and is a plain name in all others.
    Word,
}

impl Terminal {
    pub(super) fn role(&self) -> WordRole {
        match self.class {
            _ if self.starts_statement() => WordRole::Statement,
            TerminalClass::Clause => WordRole::Clause,
            _ => WordRole::Word,
        }
    }

    const fn has_any_flag(&self, flags: u8) -> bool {
        self.flags & flags != 0
    }

    /// True if the statement that begins with this word is allowed inside a `table` statement.
    pub(super) fn is_allowed_in_table(&self) -> bool {
        self.has_any_flag(ALLOWED_IN_TABLE)
    }

    /// True if the statement that begins with this word declares the name after the word.
    pub(super) fn declares_name(&self) -> bool {
        self.has_any_flag(DECLARES_NAME)
    }

    /// True if a name must follow this word.
    pub(super) fn wants_name(&self) -> bool {
        self.has_any_flag(DECLARES_NAME | WANTS_NAME)
    }

    /// True if a line that begins with this word continues the previous statement.
    pub(super) fn continues_statement(&self) -> bool {
        self.has_any_flag(CONTINUES_STATEMENT) || self.class == TerminalClass::Clause
    }

    /// True if this word begins an item of a payload.
    pub(super) fn begins_item(&self) -> bool {
        self.has_any_flag(BEGINS_ITEM)
    }

    /// True if the terminal has a second grammar rule `bare_…`, which matches the same token but
    /// creates no tree node.
    #[cfg(test)]
    pub(super) fn has_bare_rule(&self) -> bool {
        self.has_any_flag(HAS_BARE_RULE)
    }

    pub(super) fn starts_statement(&self) -> bool {
        self.statement_rule.is_some()
    }

    /// True for `workflow` and `history`. Such a word begins a statement in some positions, and is
    /// a plain name in all others.
    pub(super) fn is_name_elsewhere(&self) -> bool {
        self.starts_statement() && !self.is_statement_class()
    }

    const fn is_statement_class(&self) -> bool {
        matches!(self.class, TerminalClass::Statement | TerminalClass::InnerStatement)
    }
}

macro_rules! phrase {
    ($text:literal) => {
        Message::fixed(concat!("`", $text, "`"))
    };
    ($text:literal $phrase:expr) => {
        $phrase
    };
}

macro_rules! statement {
    () => {
        None
    };
    ($rule:ident) => {
        Some(Rule::$rule)
    };
}

// In each row, the grammar rule in parentheses is the rule of the statements that the word begins.
macro_rules! terminals {
    ($($rule:ident $text:literal $class:ident $(($statement:ident))? $($flag:ident)* $(=> $phrase:expr)?;)*) => {
        /// All terminals (keywords, symbols and kinds of tokens), in the order in which messages
        /// list expected ones.
        pub(super) static TERMINALS: &[Terminal] = &[$(Terminal {
            rule: Rule::$rule,
            text: $text,
            class: TerminalClass::$class,
            statement_rule: statement!($($statement)?),
            phrase: phrase!($text $($phrase)?),
            flags: 0 $(| $flag)*,
        }),*];
    };
}

terminals! {
    kw_import "import" Statement(import_statement);
    kw_input "input" Statement(input_statement);
    kw_handler "handler" Statement(handler_statement) DECLARES_NAME;
    kw_list "list" Statement(list_statement) DECLARES_NAME;
    kw_dict "dict" Contextual;
    kw_let "let" Statement(let_statement) DECLARES_NAME BEGINS_ITEM;
    kw_def "def" Statement(def_statement) DECLARES_NAME;
    kw_extern "extern" Statement(extern_statement) DECLARES_NAME;
    kw_fn "fn" Contextual WANTS_NAME CONTINUES_STATEMENT;
    kw_settings "settings" Statement(settings_statement);
    kw_type "type" Statement(type_statement) DECLARES_NAME;
    kw_route "route" Statement(route_statement) DECLARES_NAME ALLOWED_IN_TABLE HAS_BARE_RULE;
    kw_default "default" Statement(default_statement) ALLOWED_IN_TABLE;
    kw_table "table" Statement(table_statement) DECLARES_NAME;
    kw_test "test" Statement(test_statement);
    kw_when "when" Clause WANTS_NAME HAS_BARE_RULE => message!("`when` and a condition");
    kw_requires "requires" Contextual CONTINUES_STATEMENT => message!("`requires permission`");
    kw_permission "permission" Contextual CONTINUES_STATEMENT;
    kw_priority "priority" Contextual WANTS_NAME CONTINUES_STATEMENT;
    kw_disabled "disabled" Contextual CONTINUES_STATEMENT;
    kw_goto "goto" Contextual WANTS_NAME CONTINUES_STATEMENT HAS_BARE_RULE;
    kw_given "given" Clause;
    kw_expect "expect" Clause;
    kw_from "from" Contextual CONTINUES_STATEMENT;
    kw_in "in" Contextual;
    kw_as "as" Cast;
    kw_choice "choice" Statement(choice_statement) DECLARES_NAME;
    kw_ask "ask" Contextual CONTINUES_STATEMENT;
    kw_to_user "to_user" Contextual CONTINUES_STATEMENT;
    kw_branch "branch" Clause WANTS_NAME;
    kw_all "all" Quantity;
    kw_any "any" Quantity;
    kw_flow "flow" Statement(flow_statement) DECLARES_NAME;
    kw_tool "tool" Contextual HAS_BARE_RULE;
    kw_keyword "keyword" Contextual CONTINUES_STATEMENT;
    kw_intent "intent" InnerStatement(intent_statement) DECLARES_NAME;
    kw_examples "examples" Contextual;
    kw_keywords "keywords" Contextual;
    kw_router "router" Statement(router_statement) DECLARES_NAME;
    kw_otherwise "otherwise" Clause;
    kw_loopback "loopback" Clause;
    kw_entity "entity" Statement(entity_statement) DECLARES_NAME;
    kw_matches "matches" Contextual;
    kw_lexicon "lexicon" Statement(lexicon_statement) DECLARES_NAME;
    kw_case "case" Contextual CONTINUES_STATEMENT => message!("`ignoring case`");
    open_paren "(" Mark;
    close_paren ")" Closing;
    open_bracket "[" Mark;
    close_bracket "]" Closing;
    open_brace "{" Mark;
    close_brace "}" Closing;
    comma "," Closing;
    semicolon ";" Mark;
    colon ":" Mark HAS_BARE_RULE;
    less "<" Operator;
    greater ">" Operator;
    optional_mark "?" Operator;
    minus "-" Operator;
    dot "." Mark HAS_BARE_RULE;
    member_dot "" MemberDot HAS_BARE_RULE => message!("a field");
    at_sign "@" Mark;
    // Allowed only after `@`, so it has no spelling as a word of its own.
    kw_private "" Name => message!("`@private`");
    // `=>` and `→` are reported, then treated as `->`. `:=`, `==` and `===` are treated as `=`.
    arrow "->" Closing;
    equals "=" Operator;
    string "" Literal => message!("a string");
    number "" Literal => message!("a number");
    kw_payload "payload" InnerStatement(payload_statement) DECLARES_NAME;
    kw_group "group" InnerStatement(group_statement) DECLARES_NAME;
    kw_rank "rank" Contextual;
    kw_interrupts "interrupts" Contextual;
    kw_suspends "suspends" Contextual;
    kw_internal "internal" Contextual;
    kw_strict "strict" Contextual;
    kw_fallback "fallback" Contextual;
    kw_require "require" Contextual BEGINS_ITEM;
    kw_forbid "forbid" Contextual BEGINS_ITEM;
    kw_at "at" Contextual;
    kw_dotted "dotted" Contextual;
    kw_each "each" Contextual BEGINS_ITEM;
    kw_include "include" Contextual BEGINS_ITEM;
    kw_closed "closed" Contextual BEGINS_ITEM;
    kw_clamp "clamp" Contextual;
    kw_remove "remove" Contextual;
    kw_else "else" Clause;
    kw_if "if" Clause HAS_BARE_RULE => message!("a value");
    kw_then "then" Clause;
    kw_where "where" Clause;
    kw_repair "repair" Contextual;
    kw_warning "warning" Contextual;
    kw_compiles "compiles" Contextual BEGINS_ITEM;
    kw_const "const" Contextual;
    kw_null "null" Contextual => message!("`| null`");
    kw_not "not" Contextual;
    kw_blank "blank" Contextual;
    kw_count "count" Quantity CONTINUES_STATEMENT;
    kw_workflow "workflow" Contextual(workflow_statement) DECLARES_NAME;
    kw_node "node" Contextual;
    kw_within "within" Contextual;
    kw_by "by" Contextual;
    kw_passthrough "passthrough" Contextual;
    kw_merge "merge" Contextual;
    kw_for "for" Quantity;
    kw_first "first" Quantity;
    kw_last "last" Quantity;
    kw_history "history" Contextual(history_statement);
    kw_score "score" Contextual;
    bar "|" Operator;
    // Every other symbol. A symbol that is not valid in this language is reported by the parser.
    symbol "" Operator => message!("a value");
    quoted_name "" Name => message!("a name");
    plain_name "" Name => message!("a name");
    // A stray character or an unclosed string, which was already reported.
    unreadable "" Mark => message!("something else");
}

// Checks at compile time that each word of a statement class names the grammar rule of its
// statements.
const _: () = {
    let mut row = 0;
    while row < TERMINALS.len() {
        let terminal = &TERMINALS[row];
        assert!(
            terminal.statement_rule.is_some() || !terminal.is_statement_class(),
            "a word that begins statements names their grammar rule"
        );
        row += 1;
    }
};

/// The lowest token code. The codes of the line break characters are lower: pest counts line
/// breaks, so no token may have such a code.
const FIRST_TOKEN_CODE: u8 = 0x10;

/// The code of each terminal, in the order of [`TERMINALS`].
static TERMINAL_CODES: [u8; TERMINALS.len()] = assign_codes();

const fn assign_codes() -> [u8; TERMINALS.len()] {
    assert!(FIRST_TOKEN_CODE as usize + TERMINALS.len() <= 128, "a code is an ASCII character");
    let mut codes = [FIRST_TOKEN_CODE; TERMINALS.len()];
    let mut row = 0;
    while row < TERMINALS.len() {
        let mut other = 0;
        while other < TERMINALS.len() {
            let (class, other_class) = (TERMINALS[row].class as u8, TERMINALS[other].class as u8);
            codes[row] += (other_class < class || other_class == class && other < row) as u8;
            other += 1;
        }
        row += 1;
    }
    codes
}

/// Returns the token code of the terminal that a grammar rule matches.
const fn rule_code(rule: Rule) -> u8 {
    let mut row = 0;
    while TERMINALS[row].rule as usize != rule as usize {
        row += 1;
    }
    TERMINAL_CODES[row]
}

/// The token code of a name without a special meaning.
pub(super) const PLAIN_NAME: u8 = rule_code(Rule::plain_name);
/// The token code of a token that the lexer could not read and already reported.
pub(super) const UNREADABLE: u8 = rule_code(Rule::unreadable);
pub(super) const DOT: u8 = rule_code(Rule::dot);
pub(super) const MEMBER_DOT: u8 = rule_code(Rule::member_dot);
pub(super) const STRING: u8 = rule_code(Rule::string);
pub(super) const NUMBER: u8 = rule_code(Rule::number);
const QUOTED_NAME: u8 = rule_code(Rule::quoted_name);
const PRIVATE: u8 = rule_code(Rule::kw_private);
pub(super) const ARROW: u8 = rule_code(Rule::arrow);
pub(super) const EQUALS: u8 = rule_code(Rule::equals);
pub(super) const LESS: u8 = rule_code(Rule::less);
pub(super) const GREATER: u8 = rule_code(Rule::greater);
pub(super) const LIST: u8 = rule_code(Rule::kw_list);
pub(super) const INTENT: u8 = rule_code(Rule::kw_intent);
pub(super) const IMPORT: u8 = rule_code(Rule::kw_import);
pub(super) const HISTORY: u8 = rule_code(Rule::kw_history);
pub(super) const AS: u8 = rule_code(Rule::kw_as);
pub(super) const NOT: u8 = rule_code(Rule::kw_not);
const SYMBOL: u8 = rule_code(Rule::symbol);

/// Maps each token code to the index of its terminal (keyword, symbol or kind of token) in
/// [`TERMINALS`].
static TERMINAL_INDEX_BY_CODE: [u8; 128] = {
    let mut rows = [u8::MAX; 128];
    let mut row = 0;
    while row < TERMINALS.len() {
        rows[TERMINAL_CODES[row] as usize] = row as u8;
        row += 1;
    }
    rows
};

pub(super) fn terminal(code: u8) -> &'static Terminal {
    let row = TERMINAL_INDEX_BY_CODE.get(usize::from(code)).copied().unwrap_or(u8::MAX);
    TERMINALS
        .get(usize::from(row))
        .unwrap_or(&TERMINALS[TERMINAL_INDEX_BY_CODE[UNREADABLE as usize] as usize])
}

/// Maps each one-byte symbol to its code.
static CODE_OF_SYMBOL: [u8; 128] = {
    let mut symbols = [SYMBOL; 128];
    let mut row = 0;
    while row < TERMINALS.len() {
        if let [byte] = TERMINALS[row].text.as_bytes() {
            symbols[*byte as usize] = TERMINAL_CODES[row];
        }
        row += 1;
    }
    symbols
};

/// Maps each word with a special meaning to the index of its terminal in [`TERMINALS`].
static TERMINAL_INDEX_BY_WORD: LazyLock<HashMap<&str, usize, FixedState>> = LazyLock::new(|| {
    let rows = TERMINALS.iter().enumerate().map(|(row, terminal)| (terminal.text, row));
    rows.filter(|(text, _)| text.starts_with(|c: char| c.is_ascii_alphabetic())).collect()
});

/// Returns the terminals of all words with a special meaning.
pub(super) fn word_terminals() -> impl Iterator<Item = &'static Terminal> {
    TERMINALS.iter().filter(|terminal| terminal.text.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// Returns the terminal of a word with a special meaning; `None` for a plain name.
pub(super) fn find_word(text: &str) -> Option<&'static Terminal> {
    TERMINAL_INDEX_BY_WORD.get(text).map(|row| &TERMINALS[*row])
}

/// Returns the first word of the statements that a grammar rule matches. `None` if the rule matches
/// no statement.
pub(super) fn statement_word(rule: Rule) -> Option<&'static str> {
    TERMINALS.iter().find(|terminal| terminal.statement_rule == Some(rule)).map(|terminal| terminal.text)
}

/// Returns the words that begin statements.
pub(super) fn statement_words() -> impl Iterator<Item = &'static str> {
    TERMINALS.iter().filter(|terminal| terminal.starts_statement()).map(|terminal| terminal.text)
}

/// True for a word of the statement or clause classes, such as `route` or `then`. It must be in
/// backquotes to be declared as a name.
pub(super) fn is_reserved(text: &str) -> bool {
    let needs_backquotes = |word: &Terminal| {
        matches!(word.class, TerminalClass::Statement | TerminalClass::InnerStatement | TerminalClass::Clause)
    };
    find_word(text).is_some_and(needs_backquotes)
}

/// True if this is the code of a word that can be a field name after a dot.
pub(super) fn can_be_field_name(code: u8) -> bool {
    (TerminalClass::Contextual..=TerminalClass::Name).contains(&terminal(code).class)
}

/// Returns the code of a token: the character by which the grammar reads it. `previous` is the
/// token before it, which may be white space or a comment. Only `private` needs it, because the
/// word has a code of its own directly after `@`.
pub(super) fn token_code(token: Token, text: &str, previous: Option<Token>) -> u8 {
    match token.kind {
        TokenKind::Word => {
            let follows_at_sign =
                previous.is_some_and(|sign| sign.kind == TokenKind::At && sign.end == token.start);
            if follows_at_sign && text == "private" {
                PRIVATE
            } else {
                TERMINAL_INDEX_BY_WORD.get(text).map_or(PLAIN_NAME, |row| TERMINAL_CODES[*row])
            }
        }
        TokenKind::Quoted => QUOTED_NAME,
        TokenKind::Number => NUMBER,
        TokenKind::String | TokenKind::RawString => STRING,
        TokenKind::Arrow => ARROW,
        TokenKind::Operator if matches!(text, "==" | ":=" | "===") => EQUALS,
        TokenKind::Operator if text.len() > 1 => SYMBOL,
        kind if kind.is_unreadable() => UNREADABLE,
        _ => CODE_OF_SYMBOL[usize::from(text.as_bytes()[0])],
    }
}

/// Returns the lowest and the highest code of the terminals in the classes `from` to `to`.
#[cfg(test)]
pub(super) fn code_range(from: TerminalClass, to: TerminalClass) -> (u8, u8) {
    let codes = || {
        let in_range = |(row, _): &(usize, &u8)| (from..=to).contains(&TERMINALS[*row].class);
        TERMINAL_CODES.iter().enumerate().filter(in_range).map(|(_, code)| *code)
    };
    (codes().min().unwrap_or_default(), codes().max().unwrap_or_default())
}

/// Returns all terminals, each with its code.
#[cfg(test)]
pub(super) fn terminals_with_codes() -> impl Iterator<Item = (&'static Terminal, u8)> {
    TERMINALS.iter().zip(TERMINAL_CODES)
}
