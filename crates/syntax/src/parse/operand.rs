//! Parses the operands of expressions, with their prefix operators: literals, names with fields,
//! indices and arguments, lists, records and blocks.

use super::case_when::case_when_error;
use super::context::{
    BuildFailed, Built, StatementContext, children, first_child, reserved_value_error, unexpected_token,
    unquote,
};
use super::expr::{ExprElement, ExprElementKind, ExprNode, PrecedenceClimber, build_expr_node};
use super::foreign::{self, foreign_operator};
use super::{Pair, Pairs, Rule};
use crate::ast::{Arg, BlockKind, Expr, ExprKind, Ident, Literal};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::{Span, Spanned};
use rulec_lang::operators::{self, Op};

impl<'cx, 'p> PrecedenceClimber<'_, 'cx, 'p> {
    /// Parses an operand and the prefix operators before it, such as `not` and `-`.
    pub(super) fn parse_prefixed(&mut self) -> Built<ExprNode> {
        let Some(word) = self.word_ahead(0) else { return self.parse_operand() };
        let span = self.element_span(self.position);
        let op = match word {
            "not" => Op::Not,
            "-" => Op::Neg,
            "!" => {
                let _: BuildFailed = self.report(foreign::foreign_syntax_error(
                    span,
                    message!("negation is written `not`"),
                    "not ",
                ));
                Op::Not
            }
            _ => return self.parse_operand(),
        };
        if op == Op::Neg
            && let Some(diagnostic) = self.dashed_list_error()
        {
            return Err(self.report(diagnostic));
        }
        self.position += 1;
        if op == Op::Neg && self.peek().is_some_and(|element| element.kind == ExprElementKind::Number) {
            let number = self.element_span(self.position);
            self.position += 1;
            let literal = self.cx.read_number(number, true)?;
            return self.make_node(ExprKind::Literal(literal), span.to(number), 1);
        }
        // `!a == b` negates `a`, as in languages that use `!`.
        let is_tight = word == "!" && !self.is_before_word_operator();
        let precedence = if is_tight { Op::Neg.info().precedence } else { op.info().precedence };
        let operand = self.parse_at_precedence(precedence + 1)?;
        let node_span = span.to(operand.expr.span);
        self.make_node(
            ExprKind::Unary(Spanned::new(op, span), Box::new(operand.expr)),
            node_span,
            operand.height + 1,
        )
    }

    /// Parses an operand and the fields, indices and arguments after it: `a.b[0]`, `f(x)`.
    fn parse_operand(&mut self) -> Built<ExprNode> {
        let mut node = self.parse_primary()?;
        while let Some(element) = self.peek() {
            let span = node.expr.span.to(element.span);
            let can_have_members = node.in_parentheses || !matches!(node.expr.kind, ExprKind::Literal(_));
            match element.kind {
                ExprElementKind::Member if can_have_members => {
                    let key_token = element.pair_or_token_index + 1;
                    let key = self.cx.span_of(key_token..key_token + 1);
                    let name = Spanned::new(unquote(&self.cx.text[key.range()]).to_owned(), key);
                    let height = node.height + 1;
                    node = self.make_node(ExprKind::Field(Box::new(node.expr), name), span, height)?;
                }
                ExprElementKind::Brackets if can_have_members => {
                    let brackets_span = element.span;
                    let base = &self.cx.text[node.expr.span.range()];
                    if let Some(diagnostic) = self.history_bound_in_brackets_error(base, node.expr.span) {
                        return Err(self.report(diagnostic));
                    }
                    // A bracket after a space begins a list. Otherwise `contains any of ["a"]`
                    // would index a field `of`, which no author means.
                    if node.expr.span.end != brackets_span.start {
                        if let Some(diagnostic) = self.in_network_as_two_words_error() {
                            return Err(self.report(diagnostic));
                        }
                        let help = message!(
                            "write an index directly after its value, as in `tags[0]`; to look for one of \
                            several values, write `contains any [\"a\", \"b\"]`"
                        );
                        return Err(self.report(unexpected_token(
                            brackets_span,
                            message!("a list cannot follow a value"),
                            help,
                        )));
                    }
                    if let Some(failed) = self.report_wildcard_index(node.expr.span) {
                        return Err(failed);
                    }
                    let (mut inner, inner_height) = self.parse_elements(element)?;
                    if inner.len() != 1 {
                        let message = message!("an index must be one value in brackets");
                        let help = message!("write `list[0]` or `dict[\"key\"]`");
                        return Err(self.report(unexpected_token(brackets_span, message, help)));
                    }
                    let index = inner.remove(0);
                    let height = node.height.max(inner_height) + 1;
                    let kind = ExprKind::Index(Box::new(node.expr), Box::new(index));
                    node = self.make_node(kind, span, height)?;
                }
                _ => break,
            }
            self.position += 1;
        }
        Ok(node)
    }

    fn parse_primary(&mut self) -> Built<ExprNode> {
        let Some(element) = self.peek() else { return Err(self.report_missing_operand()) };
        let span = element.span;
        match element.kind {
            ExprElementKind::String => {
                self.position += 1;
                let text = self.cx.read_string(span)?;
                self.make_node(ExprKind::Literal(Literal::String(text)), span, 1)
            }
            ExprElementKind::Number => {
                if let Some(diagnostic) = self.unquoted_date_error() {
                    return Err(self.report(diagnostic));
                }
                self.position += 1;
                let literal = self.cx.read_number(span, false)?;
                self.make_node(ExprKind::Literal(literal), span, 1)
            }
            ExprElementKind::Word => self.parse_word(self.element_text(element), span),
            ExprElementKind::Brackets => {
                self.position += 1;
                let (list, height) = self.parse_elements(element)?;
                self.make_node(ExprKind::List(list), span, height + 1)
            }
            ExprElementKind::Group => {
                self.position += 1;
                let (mut inner, height) = self.parse_elements(element)?;
                if inner.len() != 1 || self.inner_pairs(element).any(|part| part.as_rule() == Rule::argument)
                {
                    return Err(self.report(self.group_error(element, inner.len())));
                }
                Ok(ExprNode {
                    expr: Expr { span, ..inner.remove(0) },
                    height: height + 1,
                    in_parentheses: true,
                })
            }
            ExprElementKind::Braces => {
                if let Some(diagnostic) = self.record_as_condition_error(element) {
                    return Err(self.report(diagnostic));
                }
                self.position += 1;
                let (entries, height) = self.parse_record(element)?;
                self.make_node(ExprKind::Record(entries), span, height)
            }
            ExprElementKind::Quantified => {
                self.position += 1;
                self.parse_quantified(element, None)
            }
            ExprElementKind::Conditional => {
                self.position += 1;
                self.parse_conditional(element)
            }
            _ => Err(self.report_missing_operand()),
        }
    }

    fn parse_word(&mut self, text: &'cx str, span: Span) -> Built<ExprNode> {
        if !text.starts_with('`') {
            let next = self.elements.get(self.position + 1).copied();
            let block = next.filter(|next| next.kind == ExprElementKind::Braces);
            let kind = match text {
                "any" => Some(BlockKind::Any),
                "all" => Some(BlockKind::All),
                "none" => Some(BlockKind::None),
                _ => None,
            };
            if let (Some(kind), Some(block)) = (kind, block) {
                self.position += 2;
                return self.parse_block(kind, block, span);
            }
            let literal = match text {
                "true" => Some(Literal::Bool(true)),
                "false" => Some(Literal::Bool(false)),
                "null" | "nil" | "none" => Some(Literal::Null),
                _ => None,
            };
            if let Some(literal) = literal {
                self.position += 1;
                return self.make_node(ExprKind::Literal(literal), span, 1);
            }
            if operators::is_reserved_word(text) {
                return Err(self.report_operator_word(text, span));
            }
        }
        self.position += 1;
        if text == "history"
            && let Some(part) = self.parse_history_part(span)?
        {
            return Ok(part);
        }
        if text == "sum"
            && let Some(sum) = self.parse_sum(span)?
        {
            return Ok(sum);
        }
        let name = unquote(text).to_owned();
        if let Some(group) = self.peek().filter(|element| element.kind == ExprElementKind::Group) {
            if let Some(diagnostic) = self.history_bound_in_brackets_error(text, span) {
                return Err(self.report(diagnostic));
            }
            self.position += 1;
            let call_span = span.to(group.span);
            let (args, height) = self.parse_arguments(group)?;
            return self.make_node(ExprKind::Call(Spanned::new(name, span), args), call_span, height + 1);
        }
        self.make_node(ExprKind::Name(name), span, 1)
    }

    /// Reports an operator word, such as `contains`, where a value is expected.
    fn report_operator_word(&mut self, text: &str, span: Span) -> BuildFailed {
        let is_operator = Op::from_spelling(text).is_some() || matches!(text, "is" | "as");
        let next_is_operator = match self.word_ahead(1) {
            Some(next) => {
                Op::from_spelling(next).is_some() || next == "is" || foreign_operator(next).is_some()
            }
            None => self.position + 1 == self.elements.len(),
        };
        if is_operator && !next_is_operator {
            return self.report_missing_operand();
        }
        if matches!(text, "any" | "all") {
            if let Some(diagnostic) =
                self.quantifier_without_element_name_error().or_else(|| self.quantity_before_list_error())
            {
                return self.report(diagnostic);
            }
            let (next_span, found) = self.cx.describe_token_at(span.end);
            let message = message!("expected `{{` or `x in LIST:` after `{text}`, found {found}");
            let help = match self.word_ahead(1) {
                Some("word") => message!("`word` comes before `{text}`: `contains word {text} […]`"),
                _ => message!("write `{text} {{ condition; condition }}` or `{text} x in list: condition`"),
            };
            return self.report(unexpected_token(next_span, message, help));
        }
        self.report(reserved_value_error(text, span))
    }

    /// Reports that an operand is missing at the parser's position.
    fn report_missing_operand(&mut self) -> BuildFailed {
        let slip = self
            .symbol_for_missing_value_error()
            .or_else(|| self.regex_between_slashes_error())
            .or_else(|| self.missing_left_operand_error())
            .or_else(|| self.percent_sign_error())
            .or_else(|| self.range_with_one_end_error())
            .or_else(|| self.leading_equals_error());
        if let Some(diagnostic) = slip {
            return self.report(diagnostic);
        }
        let previous_span = self.position.checked_sub(1).map(|index| self.element_span(index));
        let (span, found) =
            self.cx.describe_token_at(self.peek().map_or(self.end_offset, |element| element.span.start));
        let message = match previous_span.map(|span| self.cx.shorten_source(span)) {
            Some(before) => message!("expected a value after `{before}`, found {found}"),
            None => message!("expected a value, found {found}"),
        };
        let diagnostic = Diagnostic::new(Code::Unexpected, span, message);
        let next = self.elements.get(self.position + 1);
        let is_call = next.is_some_and(|next| next.kind == ExprElementKind::Group);
        let previous_text = previous_span.map(|span| &self.cx.text[span.range()]);
        let help = match self.word_ahead(0) {
            Some(word) if is_call && Op::from_spelling(word).is_some() => {
                message!("`{word}` is written between its operands: `x {word} y`")
            }
            Some(word) if word.starts_with('/') => {
                message!("write a regular expression as a text: `x matches r\"…\"`")
            }
            _ if matches!(previous_text, Some("and" | "or" | "unless")) => {
                message!("each side of `and`, `or` and `unless` must be a whole condition: `x > 3 and x < 5`")
            }
            word => match previous_text.or(word).and_then(Op::from_spelling) {
                Some(op) => message!("for example: `{}`", op.info().example.0),
                None => return self.report(diagnostic),
            },
        };
        self.report(diagnostic.help(help))
    }

    /// Reports a word that precedes an operand but is no prefix operator, as in `exists x` or `len
    /// x`. Returns `None`, and reports nothing, for other words.
    pub(super) fn report_foreign_prefix(&mut self) -> Option<BuildFailed> {
        let offset = self.peek().map_or(self.end_offset, |element| element.span.start);
        let index = self.cx.significant.partition_point(|item| item.token.end <= offset);
        if let Some(diagnostic) = case_when_error(self.cx, index) {
            return Some(self.report(diagnostic));
        }
        let word =
            self.elements[..self.position].last().filter(|element| element.kind == ExprElementKind::Word)?;
        let (span, word) = (word.span, self.element_text(*word));
        if let Some(diagnostic) = self.element_pattern_error(word, span) {
            return Some(self.report(diagnostic));
        }
        if let Some(diagnostic) = self.word_after_case_error() {
            return Some(self.report(diagnostic));
        }
        let next_is_number = self.peek().is_some_and(|element| element.kind == ExprElementKind::Number);
        let help = match word {
            "first" | "last" | "latest" if next_is_number => message!(
                "a part of the history is bounded by time, as in `history within 1m`, and `len` counts it"
            ),
            "count" => match self.counted_list_path() {
                Some(list) => message!(
                    "write `len({list})` for the number of all elements, or `(count x in {list}: CONDITION)` for some"
                ),
                None => foreign::prefix_help(word)?,
            },
            _ => foreign::prefix_help(word)?,
        };
        let message = message!("`{word}` cannot be written before a value");
        Some(self.report(unexpected_token(span, message, help)))
    }

    /// Returns the path after `count`, such as `user.tags` in `count of user.tags`. `None` without
    /// a path. Also `None` for `count distinct tags`, because the number of distinct elements is
    /// not the length of the list.
    fn counted_list_path(&self) -> Option<&str> {
        let rest = &self.elements[self.position..];
        let is_filler = |element: &&ExprElement| {
            element.kind == ExprElementKind::Word
                && matches!(self.element_text(**element), "of" | "all" | "the")
        };
        let first = rest.iter().take_while(is_filler).count();
        let is_suffix = |element: &&ExprElement| {
            matches!(element.kind, ExprElementKind::Member | ExprElementKind::Brackets)
        };
        let name = rest.get(first).filter(|element| {
            let text = self.element_text(**element);
            element.kind == ExprElementKind::Word
                && !matches!(text, "distinct" | "unique")
                && !operators::is_reserved_word(text)
        })?;
        let last = first + rest[first + 1..].iter().take_while(is_suffix).count();
        Some(self.cx.text[name.span.to(rest[last].span).range()].trim())
    }

    fn parse_block(&mut self, kind: BlockKind, block: ExprElement, word_span: Span) -> Built<ExprNode> {
        let span = word_span.to(block.span);
        let inner = self.inner_pairs(block).nth(1);
        let help = message!("conditions in braces are separated by `;` or `,`");
        match inner {
            Some(part) if part.as_rule() == Rule::conditions => {
                let (conditions, height) = self.parse_expressions(part.into_inner())?;
                self.make_node(ExprKind::Block(kind, conditions), span, height + 1)
            }
            Some(part) if part.as_rule() == Rule::entries => {
                let entries_span = self.cx.span(&part);
                Err(self.report(unexpected_token(
                    entries_span,
                    message!("expected conditions, found `key: value`"),
                    help,
                )))
            }
            _ => Err(self.report(unexpected_token(
                span,
                message!("expected a condition between the braces"),
                help,
            ))),
        }
    }

    /// Parses the expressions of a list, index, group or call. Returns the expressions and the
    /// maximum height of their trees.
    fn parse_elements(&mut self, element: ExprElement) -> Built<(Vec<Expr>, usize)> {
        self.parse_expressions(self.inner_pairs(element))
    }

    fn parse_expressions(&mut self, inner_pairs: Pairs<'p>) -> Built<(Vec<Expr>, usize)> {
        // The pairs include the brackets, and commas between the expressions.
        let (mut elements, mut height) = (Vec::with_capacity(inner_pairs.clone().count() / 2), 0);
        for pair in inner_pairs.filter(|pair| pair.as_rule() == Rule::expression) {
            let element = build_expr_node(self.cx, pair)?;
            height = height.max(element.height);
            elements.push(element.expr);
        }
        Ok((elements, height))
    }

    /// Parses the arguments of a call. Returns the arguments and the maximum height of their trees.
    fn parse_arguments(&mut self, group: ExprElement) -> Built<(Vec<Arg>, usize)> {
        let (mut args, mut max_height) = (Vec::new(), 0);
        for pair in self.inner_pairs(group) {
            let (name, ExprNode { expr: value, height, .. }) = match pair.as_rule() {
                Rule::expression => (None, build_expr_node(self.cx, pair)?),
                Rule::argument => {
                    let (name, value) = build_entry_node(self.cx, pair)?;
                    (Some(name), value)
                }
                _ => continue,
            };
            max_height = max_height.max(height);
            args.push(Arg { name, value });
        }
        Ok((args, max_height))
    }

    /// Parses a record, `{ key: value }`. Returns the entries and the height of the record's tree.
    fn parse_record(&mut self, element: ExprElement) -> Built<(Vec<(Ident, Expr)>, usize)> {
        let (mut entries, mut height) = (Vec::new(), 0);
        match self.inner_pairs(element).nth(1) {
            Some(part) if part.as_rule() == Rule::entries => {
                for entry in children(&part, Rule::entry) {
                    let (key, value) = build_entry_node(self.cx, entry)?;
                    height = height.max(value.height);
                    entries.push((key, value.expr));
                }
            }
            Some(part) if part.as_rule() == Rule::conditions => {
                let slip =
                    self.list_in_braces_error(element).or_else(|| self.equals_in_record_error(element));
                if let Some(diagnostic) = slip {
                    return Err(self.report(diagnostic));
                }
                let span = self.cx.span(&part);
                let inner = self.element_text(element).trim_matches(['{', '}', ' ']);
                let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
                if inner.chars().all(is_path) {
                    let message = message!("a field is read by its name, without braces");
                    return Err(self.report(foreign::foreign_syntax_error(element.span, message, inner)));
                }
                if let Some(diagnostic) = self.condition_in_braces_error(element) {
                    return Err(self.report(diagnostic));
                }
                let help = message!("conditions in braces come after `all`, `any` or `none`");
                return Err(self.report(unexpected_token(
                    span,
                    message!("expected `key: value`, found a condition"),
                    help,
                )));
            }
            _ => {}
        }
        Ok((entries, height + 1))
    }
}

fn build_entry_node(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<(Ident, ExprNode)> {
    let key = first_child(&pair)?;
    let key = if key.as_rule() == Rule::string { cx.read_spanned_string(key)? } else { cx.read_ident(&key) };
    Ok((key, cx.build_child(&pair, Rule::expression, build_expr_node)?))
}

/// Builds an entry of metadata or of a record, or a named argument.
pub(super) fn build_entry(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<(Ident, Expr)> {
    build_entry_node(cx, pair).map(|(key, value)| (key, value.expr))
}
