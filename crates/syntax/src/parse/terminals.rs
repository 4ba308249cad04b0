//! The one table of the language's terminals: the words with a meaning, the symbols, and the kinds of token. The
//! lexer's keyword map, the words that start statements, the characters that pest reads and what people call a
//! terminal follow from it; so does `grammar/tokens.pest`, which a test writes and compares.
//!
//! pest reads a statement as a string of *codes*, one ASCII character for each token that is neither white space nor
//! comment. So the grammar works on some thirty characters where a route has two hundred, and skips nothing. Codes
//! are given out by class, in the order of [`Class`], so that "any name" or "any key" is a range of them.

use crate::lex::{Token, TokenKind};
use foldhash::fast::FixedState;
use hashbrown::HashMap;
use rulec_base::diag::Message;
use rulec_base::message;
use std::sync::LazyLock;

/// The classes of terminals, in the order of their codes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// A mark that neither ends an expression nor is a piece of one by itself.
    Mark,
    /// A token that ends most expressions.
    Closing,
    /// A word that starts statements, and must be quoted as a name.
    Statement,
    /// A word that starts a clause, and must be quoted as a name.
    Clause,
    /// A word that starts statements, and is a name within expressions.
    InnerStatement,
    /// `as`, which no expression takes for a name.
    Cast,
    /// A word that may begin a quantifier, and is a name elsewhere.
    Quantity,
    /// A word with a meaning at some places, and a name elsewhere.
    Contextual,
    /// Any other name.
    Name,
    /// A string or number.
    Literal,
    /// A symbol that is, or looks like, an operator.
    Operator,
    /// A dot with a name behind it that is no reserved word; what it begins is a piece of an expression.
    MemberDot,
}

/// A terminal of the grammar.
pub(super) struct Terminal {
    /// The rule of the grammar that reads it.
    pub(super) rule: &'static str,
    /// Its spelling; empty where it has many.
    pub(super) text: &'static str,
    pub(super) class: Class,
    /// The phrase that people call it by.
    pub(super) phrase: Message,
    traits: u8,
}

/// A statement that may stand in a table.
const IN_TABLE: u8 = 1;
/// A statement that declares the name behind its word.
const DECLARES: u8 = 2;
/// A word that wants a name behind it.
const WANTS_NAME: u8 = 4;
/// A word that, at the start of a line, goes on with the statement before.
const CONTINUES: u8 = 8;
/// A terminal that the grammar also reads without a node, which nobody is told to be expected.
const BARE: u8 = 16;
/// A word that starts a statement where a name and a brace stand behind it, and is a name everywhere else.
const STARTS: u8 = 32;
/// A word that begins an item of a payload, at the start of a line.
const ITEM: u8 = 64;

/// The part that a word with a meaning of its own plays in a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// A statement begins with it.
    Statement,
    /// A clause begins with it; as a name it must be quoted.
    Clause,
    /// It has a meaning in its place, and is a name elsewhere.
    Word,
}

impl Terminal {
    pub(super) fn role(&self) -> Role {
        match self.class {
            _ if self.starts_statement() => Role::Statement,
            Class::Clause => Role::Clause,
            _ => Role::Word,
        }
    }

    const fn has(&self, traits: u8) -> bool {
        self.traits & traits != 0
    }

    /// The statement it starts may stand in a table.
    pub(super) fn is_in_table(&self) -> bool {
        self.has(IN_TABLE)
    }

    /// The statement it starts declares the name behind it.
    pub(super) fn declares(&self) -> bool {
        self.has(DECLARES)
    }

    /// A name belongs behind it.
    pub(super) fn wants_name(&self) -> bool {
        self.has(DECLARES | WANTS_NAME)
    }

    /// A line that begins with it goes on with the statement before.
    pub(super) fn continues(&self) -> bool {
        self.has(CONTINUES) || self.class == Class::Clause
    }

    /// An item of a payload begins with it.
    pub(super) fn begins_item(&self) -> bool {
        self.has(ITEM)
    }

    /// The grammar also has a rule `bare_…` for it.
    #[cfg(test)]
    pub(super) fn is_bare(&self) -> bool {
        self.has(BARE)
    }

    pub(super) fn starts_statement(&self) -> bool {
        matches!(self.class, Class::Statement | Class::InnerStatement) || self.is_name_elsewhere()
    }

    /// It starts a statement, and needs no quotes where it is a name.
    pub(super) fn is_name_elsewhere(&self) -> bool {
        self.has(STARTS)
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

macro_rules! terminals {
    ($($rule:ident $text:literal $class:ident $($flag:ident)* $(=> $phrase:expr)?;)*) => {
        /// Every terminal. What would have fitted is listed in this order.
        pub(super) static TERMINALS: &[Terminal] = &[$(Terminal {
            rule: stringify!($rule),
            text: $text,
            class: Class::$class,
            phrase: phrase!($text $($phrase)?),
            traits: 0 $(| $flag)*,
        }),*];
    };
}

terminals! {
    kw_import "import" Statement;
    kw_input "input" Statement;
    kw_handler "handler" Statement DECLARES;
    kw_list "list" Statement DECLARES;
    kw_dict "dict" Contextual;
    kw_let "let" Statement DECLARES ITEM;
    kw_def "def" Statement DECLARES;
    kw_extern "extern" Statement DECLARES;
    kw_fn "fn" Contextual WANTS_NAME CONTINUES;
    kw_settings "settings" Statement;
    kw_type "type" Statement DECLARES;
    kw_route "route" Statement DECLARES IN_TABLE BARE;
    kw_default "default" Statement IN_TABLE;
    kw_table "table" Statement DECLARES;
    kw_test "test" Statement;
    kw_when "when" Clause WANTS_NAME BARE => message!("`when` and a condition");
    kw_requires "requires" Contextual CONTINUES => message!("`requires permission`");
    kw_permission "permission" Contextual CONTINUES;
    kw_priority "priority" Contextual WANTS_NAME CONTINUES;
    kw_disabled "disabled" Contextual CONTINUES;
    kw_goto "goto" Contextual WANTS_NAME CONTINUES BARE;
    kw_given "given" Clause;
    kw_expect "expect" Clause;
    kw_from "from" Contextual CONTINUES;
    kw_in "in" Contextual;
    kw_as "as" Cast;
    kw_choice "choice" Statement DECLARES;
    kw_ask "ask" Contextual CONTINUES;
    kw_to_user "to_user" Contextual CONTINUES;
    kw_branch "branch" Clause WANTS_NAME;
    kw_all "all" Quantity;
    kw_any "any" Quantity;
    kw_flow "flow" Statement DECLARES;
    kw_tool "tool" Contextual BARE;
    kw_keyword "keyword" Contextual CONTINUES;
    kw_intent "intent" InnerStatement DECLARES;
    kw_examples "examples" Contextual;
    kw_keywords "keywords" Contextual;
    kw_router "router" Statement DECLARES;
    kw_otherwise "otherwise" Clause;
    kw_loopback "loopback" Clause;
    kw_entity "entity" Statement DECLARES;
    kw_matches "matches" Contextual;
    kw_lexicon "lexicon" Statement DECLARES;
    kw_ignoring "ignoring" Contextual => message!("`ignoring case`");
    kw_case "case" Contextual CONTINUES => message!("`ignoring case`");
    open_paren "(" Mark;
    close_paren ")" Closing;
    open_bracket "[" Mark;
    close_bracket "]" Closing;
    open_brace "{" Mark;
    close_brace "}" Closing;
    comma "," Closing;
    semicolon ";" Mark;
    colon ":" Mark BARE;
    less "<" Operator;
    greater ">" Operator;
    optional_mark "?" Operator;
    minus "-" Operator;
    dot "." Mark BARE;
    member_dot "" MemberDot BARE => message!("a field");
    at_sign "@" Mark;
    // Behind `@` only.
    kw_private "" Name => message!("`@private`");
    // `=>` and `→` are reported and read as the arrow; likewise `:=`, `==` and `===` as `=`.
    arrow "->" Closing;
    equals "=" Operator;
    string "" Literal => message!("a string");
    number "" Literal => message!("a number");
    kw_payload "payload" InnerStatement DECLARES;
    kw_group "group" InnerStatement DECLARES;
    kw_rank "rank" Contextual;
    kw_interrupts "interrupts" Contextual;
    kw_suspends "suspends" Contextual;
    kw_internal "internal" Contextual;
    kw_fallback "fallback" Contextual;
    kw_require "require" Contextual ITEM;
    kw_forbid "forbid" Contextual ITEM;
    kw_at "at" Contextual;
    kw_dotted "dotted" Contextual;
    kw_each "each" Contextual ITEM;
    kw_include "include" Contextual ITEM;
    kw_closed "closed" Contextual ITEM;
    kw_clamp "clamp" Contextual;
    kw_remove "remove" Contextual;
    kw_else "else" Clause;
    kw_if "if" Clause BARE => message!("a value");
    kw_then "then" Clause;
    kw_where "where" Clause;
    kw_repair "repair" Contextual;
    kw_warning "warning" Contextual;
    kw_compiles "compiles" Contextual ITEM;
    kw_const "const" Contextual;
    kw_null "null" Contextual => message!("`| null`");
    kw_not "not" Contextual;
    kw_blank "blank" Contextual;
    kw_count "count" Quantity CONTINUES;
    kw_workflow "workflow" Contextual DECLARES STARTS;
    kw_node "node" Contextual;
    kw_within "within" Contextual;
    kw_by "by" Contextual;
    kw_passthrough "passthrough" Contextual;
    kw_for "for" Contextual;
    kw_score "score" Contextual;
    bar "|" Operator;
    // Every other symbol, of this language or not; those that are none are told so by their place.
    symbol "" Operator => message!("a value");
    quoted_name "" Name => message!("a name");
    plain_name "" Name => message!("a name");
    // A stray character or an unclosed string, which has been reported.
    unreadable "" Mark => message!("something else");
}

/// The first code: a control character beyond the line breaks, which pest would count.
const FIRST: u8 = 0x10;

/// The code of each row of [`TERMINALS`].
static CODES: [u8; TERMINALS.len()] = codes();

const fn codes() -> [u8; TERMINALS.len()] {
    assert!(FIRST as usize + TERMINALS.len() <= 128, "a code is an ASCII character");
    let mut codes = [FIRST; TERMINALS.len()];
    let mut row = 0;
    while row < TERMINALS.len() {
        let mut other = 0;
        while other < TERMINALS.len() {
            let (this, that) = (TERMINALS[row].class as u8, TERMINALS[other].class as u8);
            codes[row] += (that < this || that == this && other < row) as u8;
            other += 1;
        }
        row += 1;
    }
    codes
}

/// The code of the terminal with that rule.
const fn code(rule: &str) -> u8 {
    let mut row = 0;
    while !same(TERMINALS[row].rule.as_bytes(), rule.as_bytes()) {
        row += 1;
    }
    CODES[row]
}

const fn same(a: &[u8], b: &[u8]) -> bool {
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// The code of a word without a meaning of its own.
pub(super) const PLAIN_NAME: u8 = code("plain_name");
/// The code of what the grammar cannot read and has been reported.
pub(super) const UNREADABLE: u8 = code("unreadable");
pub(super) const DOT: u8 = code("dot");
pub(super) const MEMBER_DOT: u8 = code("member_dot");
pub(super) const STRING: u8 = code("string");
pub(super) const NUMBER: u8 = code("number");
const QUOTED_NAME: u8 = code("quoted_name");
const PRIVATE: u8 = code("kw_private");
const ARROW: u8 = code("arrow");
const EQUALS: u8 = code("equals");
const SYMBOL: u8 = code("symbol");

/// The row of each code.
static ROWS: [u8; 128] = {
    let mut rows = [u8::MAX; 128];
    let mut row = 0;
    while row < TERMINALS.len() {
        rows[CODES[row] as usize] = row as u8;
        row += 1;
    }
    rows
};

pub(super) fn terminal(code: u8) -> &'static Terminal {
    let row = ROWS.get(usize::from(code)).copied().unwrap_or(u8::MAX);
    TERMINALS.get(usize::from(row)).unwrap_or(&TERMINALS[ROWS[UNREADABLE as usize] as usize])
}

/// The code of each symbol of one byte.
static SYMBOLS: [u8; 128] = {
    let mut symbols = [SYMBOL; 128];
    let mut row = 0;
    while row < TERMINALS.len() {
        if let [byte] = TERMINALS[row].text.as_bytes() {
            symbols[*byte as usize] = CODES[row];
        }
        row += 1;
    }
    symbols
};

/// The row of every word with a meaning of its own.
static WORDS: LazyLock<HashMap<&str, usize, FixedState>> = LazyLock::new(|| {
    let rows = TERMINALS.iter().enumerate().map(|(row, terminal)| (terminal.text, row));
    rows.filter(|(text, _)| text.starts_with(|c: char| c.is_ascii_alphabetic())).collect()
});

/// The terminals of all words with a meaning of their own.
pub(super) fn words() -> impl Iterator<Item = &'static Terminal> {
    TERMINALS.iter().filter(|terminal| terminal.text.starts_with(|c: char| c.is_ascii_alphabetic()))
}

/// The terminal of a word with a meaning of its own.
pub(super) fn word(text: &str) -> Option<&'static Terminal> {
    WORDS.get(text).map(|row| &TERMINALS[*row])
}

/// The words that start statements.
pub(super) fn statements() -> impl Iterator<Item = &'static str> {
    TERMINALS.iter().filter(|terminal| terminal.starts_statement()).map(|terminal| terminal.text)
}

/// Returns true for a word that ends an expression and, as a name, must be quoted.
pub(super) fn is_reserved(text: &str) -> bool {
    let quoted =
        |word: &Terminal| matches!(word.class, Class::Statement | Class::InnerStatement | Class::Clause);
    word(text).is_some_and(quoted)
}

/// Returns true for a word that, behind a dot, is a field within a run of pieces.
pub(super) fn is_member(code: u8) -> bool {
    (Class::Contextual..=Class::Name).contains(&terminal(code).class)
}

/// The code of a token with its text. `before` is the token before it, whatever it is.
pub(super) fn code_of(token: Token, text: &str, before: Option<Token>) -> u8 {
    match token.kind {
        TokenKind::Word => {
            let marked = before.is_some_and(|at| at.kind == TokenKind::At && at.end == token.start);
            if marked && text == "private" {
                PRIVATE
            } else {
                WORDS.get(text).map_or(PLAIN_NAME, |row| CODES[*row])
            }
        }
        TokenKind::Quoted => QUOTED_NAME,
        TokenKind::Number => NUMBER,
        TokenKind::String | TokenKind::RawString => STRING,
        TokenKind::Arrow => ARROW,
        TokenKind::Operator if matches!(text, "==" | ":=" | "===") => EQUALS,
        TokenKind::Operator if text.len() > 1 => SYMBOL,
        kind if kind.is_unreadable() => UNREADABLE,
        _ => SYMBOLS[usize::from(text.as_bytes()[0])],
    }
}

/// The codes of some classes: the first and the last.
#[cfg(test)]
pub(super) fn range(from: Class, to: Class) -> (u8, u8) {
    let codes = || {
        let in_range = |(row, _): &(usize, &u8)| (from..=to).contains(&TERMINALS[*row].class);
        CODES.iter().enumerate().filter(in_range).map(|(_, code)| *code)
    };
    (codes().min().unwrap_or_default(), codes().max().unwrap_or_default())
}

/// The code of each terminal.
#[cfg(test)]
pub(super) fn all() -> impl Iterator<Item = (&'static Terminal, u8)> {
    TERMINALS.iter().zip(CODES)
}
