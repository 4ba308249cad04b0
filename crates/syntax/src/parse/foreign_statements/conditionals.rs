//! Recognizes conditional statements of other languages: `if C: return h`, `if (C) { h(); } else {
//! g(); }`, `when C then h` and `return h if C`.

use super::super::foreign;
use super::routes::{MeantRoute, general_routes_help, routes_help};
use super::{ForeignStatement, StatementReader};
use crate::lex::TokenKind;
use rulec_lang::operators::Op;

/// Words with which other languages end a block.
const BLOCK_END_WORDS: [&str; 4] = ["end", "fi", "endif", "end_if"];

/// A branch of a conditional statement: its route, if the meaning of the branch is certain, and the
/// index after its last token.
struct ConditionalBranch {
    route: Option<MeantRoute>,
    end_token: usize,
}

impl StatementReader<'_> {
    /// Returns the conditional statement at the token `start`. `None` for other statements, and for
    /// a condition around routes, which has a diagnostic of its own.
    pub(super) fn read_conditional_statement(&self, start: usize) -> Option<ForeignStatement> {
        let margin = self.significant[start].indent()?;
        let mut routes = Vec::new();
        let mut is_clear = true;
        let mut next = start;
        // `CASE WHEN a THEN b`
        next += usize::from(self.lowercase_text(next) == "case" && self.lowercase_text(next + 1) == "when");
        let end = loop {
            let branch = self.read_conditional_branch(next, margin)?;
            is_clear &= branch.route.is_some();
            routes.extend(branch.route);
            let end = branch.end_token;
            match self.next_branch(end) {
                Some(at) if at > next => next = at,
                _ => break end,
            }
            if self.significant.get(next).is_none() {
                break end;
            }
        };
        let end = end + usize::from(BLOCK_END_WORDS.contains(&self.lowercase_text(end).as_str()));
        let help = routes_help(&routes).filter(|_| is_clear).unwrap_or_else(general_routes_help);
        Some(ForeignStatement { end_token: end, help, declared_names: Vec::new() })
    }

    /// Returns the token at which the next branch begins after the token `end`: `elif`, `else` or
    /// another `when`. `None` if the statement is complete.
    fn next_branch(&self, end: usize) -> Option<usize> {
        let at = end + usize::from(matches!(self.text(end), "}" | ";"));
        let is_next =
            matches!(self.lowercase_text(at).as_str(), "elif" | "elsif" | "elseif" | "else" | "otherwise")
                || self.lowercase_text(at) == "when" && !self.begins_line(at);
        (is_next && self.lowercase_text(at + 1) != "->").then_some(at)
    }

    /// Returns the branch at the token `start`, which is `if`, `else` or a similar word. The line
    /// of the whole statement is indented by `margin` bytes. `None` if this is no such branch, or
    /// if it contains statements of this language.
    fn read_conditional_branch(&self, start: usize, margin: u32) -> Option<ConditionalBranch> {
        let mut first = start + 1;
        let word = self.lowercase_text(start);
        let is_else = matches!(word.as_str(), "else" | "otherwise");
        let is_negated = word == "unless";
        let has_condition = !is_else || self.lowercase_text(first) == "if";
        first += usize::from(is_else && has_condition);
        let mark = self.result_separator(first, has_condition)?;
        let condition = match has_condition {
            true if mark == first => return None,
            true => Some(self.translate_without_parentheses(first..mark)),
            false => None,
        };
        let condition = condition.map(|text| if is_negated { format!("not ({text})") } else { text });
        let sign = self.text(mark);
        let body = mark
            + usize::from(matches!(sign, ":" | "{" | "->" | "=>") || self.lowercase_text(mark) == "then");
        // `if c { route a -> h }` and `if c { when … }` contain statements of this language.
        if matches!(self.text(body), "route" | "when" | "default") {
            return None;
        }
        let block_end = match sign {
            "{" => self.closing_bracket(mark)?,
            ":" if self.begins_line(body) => self.index_after_block(mark, margin),
            _ if self.lowercase_text(mark) == "then" && self.begins_line(body) => {
                self.block_end_word(body)?
            }
            _ => 0,
        };
        let target = self.read_target(body);
        let (target, end) = match (target, block_end) {
            (Some((target, after)), 0) => (Some(target), after),
            (Some((target, after)), end) => {
                let after = after + usize::from(self.text(after) == ";");
                (Some(target).filter(|_| after == end), end)
            }
            (None, 0) => (None, self.next_line_start(mark)),
            (None, end) => (None, end),
        };
        let end = end + usize::from(sign == "{" || self.text(end) == ";");
        let has_rest = block_end == 0
            && !self.begins_line(end)
            && self.next_branch(end).is_none()
            && !BLOCK_END_WORDS.contains(&self.lowercase_text(end).as_str());
        let (target, end) = if has_rest { (None, self.next_line_start(end)) } else { (target, end) };
        let route = target.map(|target| MeantRoute::new(condition, target));
        Some(ConditionalBranch { route, end_token: end })
    }

    /// Returns the token that separates the condition of a branch from its result, or the first
    /// token of the result after a condition in parentheses. `first` is the token after `if` or
    /// `else`. It is returned if the branch has no condition. `None` if there is no separator on
    /// this line, and no `then` on the next line.
    fn result_separator(&self, first: usize, has_condition: bool) -> Option<usize> {
        if !has_condition {
            return Some(first);
        }
        let line_end = self.next_line_start(first.checked_sub(1)?);
        let is_mark = |index: usize| {
            matches!(self.text(index), ":" | "{" | "->" | "=>")
                || matches!(self.lowercase_text(index).as_str(), "then" | "return" | "goto" | "call")
        };
        let mark = self.find_outside_brackets(first..line_end, is_mark).or_else(|| {
            let close = self.closing_bracket(first).filter(|_| self.text(first) == "(")?;
            let follows =
                matches!(self.kind(close + 1), Some(TokenKind::Word)) && !self.begins_line(close + 1);
            let word = self.text(close + 1);
            (follows && !rulec_lang::operators::is_reserved_word(word) && word != "is").then_some(close + 1)
        });
        // `if c` with `then` on the next line.
        mark.or_else(|| (self.lowercase_text(line_end) == "then").then_some(line_end))
    }

    /// Returns the index of the word, such as `end` or `else`, that ends the block whose first
    /// token is `body`. If there is none among the next 60 tokens, the block ends with its first
    /// line.
    fn block_end_word(&self, body: usize) -> Option<usize> {
        let is_end = |index: usize| {
            let word = self.lowercase_text(index);
            BLOCK_END_WORDS.contains(&word.as_str())
                || matches!(word.as_str(), "else" | "elif" | "elsif" | "elseif")
        };
        let end = (body..self.significant.len().min(body + 60)).find(|index| is_end(*index));
        Some(end.unwrap_or_else(|| self.next_line_start(body)))
    }

    /// Returns the statement that gives its result before the condition: `return h if C`, `h unless
    /// C`. `None` for any other line.
    pub(super) fn read_target_before_condition(&self, start: usize) -> Option<ForeignStatement> {
        let (target, after) = self.read_target(start).filter(|_| self.is_word(start))?;
        let is_result =
            self.lowercase_text(start) == "return" || self.declared().declares("handler", self.text(start));
        let is_negated = self.lowercase_text(after) == "unless";
        let is_condition = is_negated || matches!(self.lowercase_text(after).as_str(), "if" | "when");
        let end = self.next_line_start(after.checked_sub(1)?);
        if !is_result || !is_condition || self.begins_line(after) || after + 1 >= end {
            return None;
        }
        let last = end - usize::from(self.text(end - 1) == ";");
        let condition = self.translate_without_parentheses(after + 1..last);
        let condition = if is_negated { format!("not ({condition})") } else { condition };
        let routes = [MeantRoute::new(Some(condition), target)];
        let help = routes_help(&routes).unwrap_or_else(general_routes_help);
        Some(ForeignStatement { end_token: end, help, declared_names: Vec::new() })
    }

    /// Returns a condition that is a line of its own: `age >= 18 && vip`, `age >= 18 ? a : b` or
    /// `=IF(age >= 18, a, b)`. `None` for any other line.
    pub(super) fn read_bare_condition(&self, start: usize) -> Option<ForeignStatement> {
        let end = self.next_line_start(start);
        let is_sign = |index: usize| matches!(self.text(index), "=" | ":=" | ":");
        if is_sign(start + 1) || self.text(start) == "=" && !self.is_word(start + 1) {
            return None;
        }
        let last = end - usize::from(self.text(end - 1) == ";");
        let open = start + 1 + usize::from(self.text(start) == "=");
        let mark = self.find_outside_brackets(start..last, |index| self.text(index) == "?");
        let colon = self.find_outside_brackets(start..last, |index| self.text(index) == ":");
        let routes = if self.lowercase_text(open - 1) == "if" && self.text(open) == "(" {
            self.translate_if_call_to_routes(open, last)?
        } else if matches!(self.lowercase_text(start).as_str(), "if" | "unless" | "when" | "case") {
            return None;
        } else if let (Some(mark), Some(colon)) = (mark, colon) {
            let (target, target_end) = self.read_target(mark + 1)?;
            let (other, other_end) = self.read_target(colon + 1)?;
            if mark == start || target_end != colon || other_end != last {
                return None;
            }
            let condition = self.translate_without_parentheses(start..mark);
            vec![MeantRoute::new(Some(condition), target), MeantRoute::new(None, other)]
        } else {
            let is_operator = |index: usize| {
                let text = self.text(index);
                Op::from_spelling(text).is_some_and(foreign::is_condition_operator)
                    || matches!(text, "===" | "&&" | "||" | "and" | "or")
            };
            self.find_outside_brackets(start..last, is_operator).filter(|operator| *operator > start)?;
            vec![MeantRoute::new(Some(self.translate_without_parentheses(start..last)), "HANDLER".to_owned())]
        };
        let help = routes_help(&routes)?;
        Some(ForeignStatement { end_token: end, help, declared_names: Vec::new() })
    }

    /// Returns the routes that the call `IF(C, a, b)` means. `open` is its opening bracket. `None`
    /// if its closing bracket is not the token before `last`, or if `a` or `b` is no target.
    fn translate_if_call_to_routes(&self, open: usize, last: usize) -> Option<Vec<MeantRoute>> {
        let close = self.closing_bracket(open).filter(|close| *close + 1 == last)?;
        let is_comma = |index: usize| self.text(index) == ",";
        let first =
            self.find_outside_brackets(open + 1..close, is_comma).filter(|first| *first > open + 1)?;
        let second = self.find_outside_brackets(first + 1..close, is_comma);
        let (target, target_end) = self.read_target(first + 1)?;
        let mut routes = vec![MeantRoute::new(Some(self.translate_expression(open + 1..first)), target)];
        if let Some(second) = second {
            let (other, other_end) = self.read_target(second + 1)?;
            routes.push(MeantRoute::new(None, other));
            return (target_end == second && other_end == close).then_some(routes);
        }
        (target_end == close).then_some(routes)
    }
}
