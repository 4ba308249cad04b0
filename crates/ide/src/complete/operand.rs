//! Finds the operand before a position: its path and type. Then selects the operators that accept
//! it.

use super::scope::is_after_dot;
use super::{CompletionContext, CompletionItem, CompletionKind, keyword_item, operator_item, unquote_name};
use crate::DeclarationKind;
use crate::facts::{ELEMENT_SEGMENT, type_inside};
use rulec_lang::builtins::Function;
use rulec_lang::operators::{Fixity, Negation, Op, OpInfo, OperatorResult, TABLE};
use rulec_lang::ty::{KindSet, Ty};
use rulec_syntax::lex::TokenKind;

/// Maximum number of local names that are replaced in one path by the paths that they refer to.
/// Such a path can begin with a local name again, as in `any o in orders: any i in o.items`.
const MAX_FOLLOWED_NAMES: usize = 8;
/// The precedence of comparison operators. Operators with a higher precedence compute values.
const COMPARISON_PRECEDENCE: u8 = 40;
/// The words before a quantifier's variable: the quantifier itself, or `for` after a `sum`.
const QUANTIFIER_WORDS: [&str; 7] = ["any", "all", "none", "count", "for", "first", "last"];

/// The operand that ends directly before the position to complete.
pub(super) struct Operand {
    /// The index of the operand's first token.
    start: usize,
    /// The kinds that the operand's value may have.
    pub(super) kinds: KindSet,
}

impl<'a> CompletionContext<'a> {
    /// Returns the operators that accept the operand before the cursor, and the words that can
    /// follow the operand.
    pub(super) fn operator_items(&self) -> Vec<CompletionItem> {
        let end = self.tokens_before.len();
        match (self.token_text(end - 1), self.token_text_before(end - 1)) {
            ("is", _) => return ["missing", "present"].map(keyword_item).to_vec(),
            ("ignoring" | "matching", _) => return vec![keyword_item("case")],
            _ => {}
        }
        let operand = self.operand_before(end);
        if self.is_quantified_list(operand.start) {
            return vec![keyword_item(":")];
        }
        let comparison = self.comparison_operator_before(operand.start);
        let accepts = |row: &&OpInfo| {
            let takes = |kinds: KindSet| row.forms.iter().any(|form| form.left.overlaps(kinds));
            row.fixity != Fixity::Prefix
                && match comparison {
                    Some(_) if row.precedence == COMPARISON_PRECEDENCE => false,
                    Some(_) if row.precedence < COMPARISON_PRECEDENCE => takes(KindSet::BOOL),
                    _ => takes(operand.kinds),
                }
        };
        let mut items: Vec<CompletionItem> = TABLE.iter().filter(accepts).map(operator_item).collect();
        if comparison.is_some_and(|op| op.info().accepted_modifiers.accepts_case) {
            items.extend(["ignoring case", "matching case"].map(keyword_item));
        }
        items
    }

    /// Returns the operators that can follow `not` after an operand, such as `contains` in `text
    /// not contains`. `None` if no operand precedes the `not`.
    pub(super) fn negated_operator_items(&self) -> Option<Vec<CompletionItem>> {
        let not = self.tokens_before.len().checked_sub(1).filter(|index| self.token_text(*index) == "not")?;
        let previous = not.checked_sub(1)?;
        if is_after_dot(self.tokens_before, not) || !self.ends_operand(previous) {
            return None;
        }
        let kinds = self.operand_before(not).kinds;
        let accepts = |row: &&OpInfo| {
            row.negation == Negation::NotBefore && row.forms.iter().any(|form| form.left.overlaps(kinds))
        };
        Some(TABLE.iter().filter(accepts).map(operator_item).collect())
    }

    /// True if the token at `index` can be the last token of an operand.
    pub(super) fn ends_operand(&self, index: usize) -> bool {
        let token = self.tokens_before[index];
        token.kind.ends_operand()
            && (token.kind != TokenKind::Word
                || is_after_dot(self.tokens_before, index)
                || !super::expects_value(token.text(self.text)))
    }

    /// True if a condition can end at the cursor: an operand ends there, and it is not the list
    /// of a quantifier.
    pub(super) fn ends_condition(&self) -> bool {
        let end = self.tokens_before.len();
        self.ends_operand(end - 1) && !self.is_quantified_list(self.operand_before(end).start)
    }

    /// Returns the operand that ends directly before the token with the index `end`.
    pub(super) fn operand_before(&self, end: usize) -> Operand {
        let unknown = |start: usize| Operand { start, kinds: KindSet::EVERY_KIND };
        let Some(last) = end.checked_sub(1) else { return unknown(end) };
        let token = self.tokens_before[last];
        let of_kinds = |kinds: KindSet| Operand { start: last, kinds };
        let before = self.token_text_before(last);
        match token.kind {
            TokenKind::Number => of_kinds(KindSet::NUMBER),
            TokenKind::String | TokenKind::RawString => of_kinds(KindSet::STRING),
            TokenKind::CloseParen => match self.opening_bracket(last) {
                Some(open) => self.call_or_group(open, last),
                None => unknown(last),
            },
            TokenKind::CloseBracket => match self.opening_bracket(last) {
                Some(open) if open > 0 && self.ends_operand(open - 1) => self.path_operand_before(end),
                Some(open) => Operand { start: open, kinds: KindSet::LIST },
                None => unknown(last),
            },
            TokenKind::CloseBrace => unknown(self.opening_bracket(last).unwrap_or(last)),
            _ if before == "." => self.path_operand_before(end),
            _ if before == "as" => {
                let ty = Ty::from_builtin_name(token.text(self.text));
                let start = self.operand_before(last - 1).start;
                Operand { start, kinds: ty.map_or(KindSet::EVERY_KIND, |ty| ty.kinds) }
            }
            _ => match token.text(self.text) {
                "true" | "false" => of_kinds(KindSet::BOOL),
                "missing" | "present" if before == "is" => of_kinds(KindSet::BOOL),
                "case" if matches!(before, "ignoring" | "matching") => of_kinds(KindSet::BOOL),
                _ => self.path_operand_before(end),
            },
        }
    }

    /// Returns the operand that ends with the parenthesis `close`: a function call, or an
    /// expression in parentheses. `open` is the index of the opening parenthesis.
    fn call_or_group(&self, open: usize, close: usize) -> Operand {
        let Some(name) = open.checked_sub(1).filter(|index| self.ends_operand(*index)) else {
            return Operand { start: open, kinds: KindSet::EVERY_KIND };
        };
        let Some(function) = Function::from_name(self.token_text(name)) else {
            return Operand { start: name, kinds: KindSet::EVERY_KIND };
        };
        let argument = if open + 1 < close { self.operand_before(close).kinds } else { KindSet::EVERY_KIND };
        let result = function.info().result_ty(&[Ty::from_kinds(argument)]);
        Operand { start: name, kinds: result.kinds }
    }

    fn path_operand_before(&self, end: usize) -> Operand {
        let (path, start) = self.path_before(end);
        Operand { start, kinds: self.kinds_of_path(&path, start).unwrap_or(KindSet::EVERY_KIND) }
    }

    /// Returns the operator of the comparison whose right operand contains the operand that starts
    /// at `start`. `None` if there is no such comparison.
    fn comparison_operator_before(&self, mut start: usize) -> Option<Op> {
        loop {
            let mut end = start;
            while end > 1 && matches!(self.token_text(end - 1), "any" | "all" | "none" | "word") {
                end -= 1;
            }
            let op = Op::from_spelling(self.token_text_before(end))?;
            let info = op.info();
            let is_comparison =
                info.forms.iter().any(|form| matches!(form.result, OperatorResult::Condition));
            match (info.precedence, is_comparison) {
                (COMPARISON_PRECEDENCE, true) => return Some(op),
                (precedence, false) if precedence > COMPARISON_PRECEDENCE => {
                    start = self.operand_before(end - 1).start;
                }
                _ => return None,
            }
        }
    }

    /// True if the operand that starts at `start` is the list of a quantifier, as in `any o in
    /// orders`.
    pub(super) fn is_quantified_list(&self, start: usize) -> bool {
        start.checked_sub(3).is_some_and(|quantifier| {
            self.token_text(start - 1) == "in"
                && QUANTIFIER_WORDS.contains(&self.token_text(quantifier))
                && !is_after_dot(self.tokens_before, quantifier)
        })
    }

    /// Returns the path that ends directly before the token with the index `end`, and the index of
    /// its first token. For `ctx.orders[0].` and the index of the last dot, the path is `ctx`,
    /// `orders`, `[]`. The path is empty if there is none.
    pub(super) fn path_before(&self, end: usize) -> (Vec<&'a str>, usize) {
        let (mut names, mut index) = (Vec::new(), end);
        while let Some(last) = index.checked_sub(1) {
            match self.tokens_before[last].kind {
                TokenKind::Word | TokenKind::Quoted => {
                    names.push(unquote_name(self.token_text(last)));
                    index = last;
                    if !is_after_dot(self.tokens_before, last) {
                        names.reverse();
                        return (names, index);
                    }
                    index -= 1;
                }
                TokenKind::CloseBracket => {
                    let Some(open) = self.opening_bracket(last) else { break };
                    let is_key = open + 2 == last && self.tokens_before[open + 1].kind == TokenKind::String;
                    names.push(if is_key {
                        self.token_text(open + 1).trim_matches('"')
                    } else {
                        ELEMENT_SEGMENT
                    });
                    index = open;
                }
                _ => break,
            }
        }
        (Vec::new(), end)
    }

    /// Returns the index of the opening bracket for the closing bracket at `close`. `None` if there
    /// is none.
    fn opening_bracket(&self, close: usize) -> Option<usize> {
        let mut depth = 0usize;
        (0..=close).rev().find(|index| {
            let kind = self.tokens_before[*index].kind;
            depth += usize::from(kind.closes_bracket());
            if kind.opens_bracket() {
                depth = depth.saturating_sub(1);
            }
            depth == 0
        })
    }

    /// Replaces the first name of a path by the path that the name refers to, if it is a
    /// quantifier's variable or a local name. `before` is the index of the path's first token.
    pub(super) fn expand_path<'p>(&self, path: &[&'p str], before: usize) -> Vec<&'p str>
    where
        'a: 'p,
    {
        let (mut path, mut before) = (path.to_vec(), before);
        for _ in 0..MAX_FOLLOWED_NAMES {
            let Some((value, at)) = path.first().and_then(|name| self.path_of_local(name, before)) else {
                break;
            };
            path.splice(..1, value);
            before = at;
        }
        path
    }

    /// Returns the path that a local name refers to, and the index of the token that declares the
    /// name. `None` if no `name` is declared before the token `before`, or it refers to no path.
    fn path_of_local(&self, name: &str, before: usize) -> Option<(Vec<&'a str>, usize)> {
        (self.scope.first_token..before).rev().find_map(|index| {
            if unquote_name(self.token_text(index)) != name || is_after_dot(self.tokens_before, index) {
                return None;
            }
            let is_variable = self.token_text(index + 1) == "in"
                && QUANTIFIER_WORDS.contains(&self.token_text_before(index));
            let is_local =
                self.token_text(index + 1) == "=" && matches!(self.token_text_before(index), "where" | ",");
            if !is_variable && !is_local {
                return None;
            }
            let mut path = self.path_after(index + 2)?;
            path.extend(is_variable.then_some(ELEMENT_SEGMENT));
            Some((path, index))
        })
    }

    /// Returns the names of the path that starts at the token with the index `start`. `None` if
    /// there is no path, or if one of its brackets is not closed.
    fn path_after(&self, start: usize) -> Option<Vec<&'a str>> {
        let mut end = start;
        while let Some(token) = self.tokens_before.get(end) {
            let is_part = match token.kind {
                TokenKind::Word | TokenKind::Quoted => end == start || is_after_dot(self.tokens_before, end),
                TokenKind::Dot => true,
                TokenKind::OpenBracket => {
                    let close = (end..self.tokens_before.len())
                        .find(|index| self.tokens_before[*index].kind == TokenKind::CloseBracket)?;
                    end = close;
                    true
                }
                _ => false,
            };
            if !is_part {
                break;
            }
            end += 1;
        }
        Some(self.path_before(end).0).filter(|path| !path.is_empty())
    }

    /// Returns the kinds that the value of a path may have; `None` if they are unknown. `start` is
    /// the index of the path's first token.
    fn kinds_of_path(&self, path: &[&'a str], start: usize) -> Option<KindSet> {
        let path = self.expand_path(path, start);
        self.type_from_let(&path).map(|ty| ty.kinds).or_else(|| self.analysis.facts.kinds_at_path(&path))
    }

    /// Returns the type of a path that begins with the name of a `let`. `None` for any other path,
    /// or if the type is not known.
    pub(super) fn type_from_let(&self, path: &[&str]) -> Option<Ty> {
        let (first, rest) = path.split_first()?;
        let kinds = [DeclarationKind::Let, DeclarationKind::Local];
        let symbol = self.analysis.index.symbols_of_kinds(&kinds).find(|symbol| symbol.name == *first)?;
        let ty = self.analysis.facts.type_of_let(symbol.declaration.as_ref()?.name_span)?;
        rest.iter().try_fold(ty.clone(), |ty, name| type_inside(&ty, name))
    }

    /// Returns the values of an enumeration, if the text at the position is compared with a field
    /// whose type is this enumeration. For example in `tier == ` and `tier in ["free", `. Also
    /// returns them for an argument whose parameter has this type, as in `billing(tier: `.
    pub(super) fn enumeration_items(&self) -> Vec<CompletionItem> {
        let is_string = |index: usize| super::is_string(self.tokens_before[index]);
        let mut end = self.tokens_before.len();
        while end > 0 && (is_string(end - 1) || self.token_text(end - 1) == ",") {
            end -= 1;
        }
        match self.token_text_before(end) {
            "[" => end -= 1,
            _ => end = self.tokens_before.len(),
        }
        end -= usize::from(matches!(self.token_text_before(end), "any" | "all" | "none"));
        let compares = matches!(self.token_text_before(end), "==" | "!=" | "in" | "contains" | "??");
        if !compares {
            let name = self.token_text_before(self.tokens_before.len().saturating_sub(1));
            return self.argument_ty().map_or(Vec::new(), |ty| value_items_of(&ty, name));
        }
        end -= 1;
        end -= usize::from(self.token_text_before(end) == "not");
        let (path, start) = self.path_before(end);
        let expanded = self.expand_path(&path, start);
        self.enumeration_value_items(&expanded, &path.join("."))
    }

    /// If the message field at `path` has an enumeration as its type, returns completion items for
    /// the values of the enumeration. Otherwise returns none.
    pub(super) fn enumeration_items_of(&self, path: &[&str]) -> Vec<CompletionItem> {
        self.enumeration_value_items(path, &path.join("."))
    }

    fn enumeration_value_items(&self, path: &[&str], detail: &str) -> Vec<CompletionItem> {
        let ty = self.type_from_let(path).or_else(|| self.analysis.facts.declared_type(path));
        ty.map_or(Vec::new(), |ty| value_items_of(&ty, detail))
    }
}

/// Returns the values of an enumeration, or of the enumeration of a list's elements. Empty for any
/// other type.
fn value_items_of(ty: &Ty, detail: &str) -> Vec<CompletionItem> {
    let Some(values) = ty.values_or_element_values() else { return Vec::new() };
    let item = |value: &std::sync::Arc<str>| {
        let label = rulec_syntax::write::quote_string(value);
        super::new_item(CompletionKind::Value, &label, detail.to_owned())
    };
    values.values().iter().map(item).collect()
}
