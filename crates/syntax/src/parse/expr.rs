//! Builds the trees of expressions. The grammar produces a flat list of tokens and bracketed
//! groups, and precedence climbing builds the tree. Only the operator table defines what a word
//! between operands means.

use super::context::{BuildFailed, Built, StatementContext, required_child, unexpected_token};
use super::foreign::{self, foreign_operator, is_condition_operator};
use super::terminals::{self, TerminalClass};
use super::{Pair, Pairs, Rule, types};
use crate::ast::{Binary, Expr, ExprKind};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::{Span, Spanned};
use rulec_lang::operators::{self, Case, Modifiers, Op, Quantity};
use smallvec::SmallVec;
use std::ops::Range;

/// An expression under construction, with the height of its tree. The height is limited, see
/// [`MAX_EXPR_HEIGHT`].
pub(super) struct ExprNode {
    pub(super) expr: Expr,
    pub(super) height: usize,
    /// Whether the expression is in parentheses. Its operands then do not merge with the
    /// surrounding operators.
    pub(super) in_parentheses: bool,
}

/// Maximum height of an expression tree, because later compiler passes recurse over it. Up to
/// [`MAX_BRACKET_DEPTH`](super::splitter::MAX_BRACKET_DEPTH) levels are brackets; the rest is for
/// chains such as `a + b + c`. Chains of `and` and `or` are flat and do not count.
pub(super) const MAX_EXPR_HEIGHT: usize = 500;

pub(super) fn build_expression(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Expr> {
    Ok(build_expr_node(cx, pair)?.expr)
}

pub(super) fn build_expr_node(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<ExprNode> {
    let mut climber = PrecedenceClimber::from_pair(cx, pair);
    let node = climber.parse_at_precedence(0)?;
    climber.expect_end(node)
}

/// Builds an expression or a range, as allowed to the right of `in`.
pub(super) fn build_range_or_expression(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Expr> {
    let mut climber = PrecedenceClimber::from_pair(cx, pair);
    let node = climber.parse_right_of_in()?;
    climber.expect_end(node).map(|node| node.expr)
}

/// The kinds of elements in the flat list into which the grammar splits an expression. The token
/// code determines the kind of a single token, or of a dot with a name. Any other element is a node
/// of the parse tree.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum ExprElementKind {
    Word,
    String,
    Number,
    Operator,
    Member,
    Group,
    Brackets,
    Braces,
    Cast,
    Quantified,
    Conditional,
}

/// An element of an expression in source order: a literal, name, operator or bracketed group.
/// Precedence climbing combines these elements into a tree.
#[derive(Clone, Copy)]
pub(super) struct ExprElement {
    pub(super) kind: ExprElementKind,
    /// The index into `pairs` if the element is a node of the parse tree. Otherwise the index of
    /// its first token.
    pub(super) pair_or_token_index: usize,
    pub(super) span: Span,
}

pub(super) struct PrecedenceClimber<'c, 'cx, 'p> {
    pub(super) cx: &'c mut StatementContext<'cx>,
    pub(super) elements: SmallVec<[ExprElement; 8]>,
    /// The parse tree nodes among `elements`. For such an element,
    /// `ExprElement::pair_or_token_index` is an index into this vector.
    pub(super) pairs: Vec<Pair<'p>>,
    /// The index in `elements` of the next element to parse.
    pub(super) position: usize,
    /// The byte offset at which the whole expression ends, for errors about a missing operand.
    pub(super) end_offset: u32,
    /// The left operand of the last comparison, `None` before the first one. If a later comparison
    /// has no left operand, its diagnostic suggests repeating this one.
    pub(super) last_left_operand: Option<Span>,
    /// Whether the value after `within`, `after` or `before` of a history is being parsed. The
    /// value ends where the next of these words begins.
    pub(super) in_history_bound: bool,
    /// If this expression is the condition of a `count` or `sum`, the byte offset of that word;
    /// otherwise `None`.
    pub(super) count_or_sum_start: Option<u32>,
}

impl<'c, 'cx, 'p> PrecedenceClimber<'c, 'cx, 'p> {
    pub(super) fn from_pair(cx: &'c mut StatementContext<'cx>, pair: Pair<'p>) -> Self {
        let end = cx.span(&pair).end;
        let elements = SmallVec::with_capacity(pair.tokens().len());
        let mut climber = PrecedenceClimber {
            cx,
            elements,
            pairs: Vec::new(),
            position: 0,
            end_offset: end,
            last_left_operand: None,
            in_history_bound: false,
            count_or_sum_start: None,
        };
        for pair in pair.into_inner() {
            let kind = match pair.as_rule() {
                Rule::group => ExprElementKind::Group,
                Rule::brackets => ExprElementKind::Brackets,
                Rule::braces => ExprElementKind::Braces,
                Rule::cast => ExprElementKind::Cast,
                Rule::quantified => ExprElementKind::Quantified,
                Rule::conditional => ExprElementKind::Conditional,
                _ => {
                    climber.push_token_elements(pair.tokens());
                    continue;
                }
            };
            climber.elements.push(ExprElement {
                kind,
                pair_or_token_index: climber.pairs.len(),
                span: climber.cx.span(&pair),
            });
            climber.pairs.push(pair);
        }
        climber
    }

    fn push_token_elements(&mut self, tokens: Range<usize>) {
        let mut token = tokens.start;
        while token < tokens.end {
            let (kind, next) = match self.cx.token_codes[token] {
                terminals::DOT | terminals::MEMBER_DOT => (ExprElementKind::Member, token + 2),
                terminals::STRING => (ExprElementKind::String, token + 1),
                terminals::NUMBER => (ExprElementKind::Number, token + 1),
                code if terminals::terminal(code).class == TerminalClass::Operator => {
                    (ExprElementKind::Operator, token + 1)
                }
                _ => (ExprElementKind::Word, token + 1),
            };
            self.elements.push(ExprElement {
                kind,
                pair_or_token_index: token,
                span: self.cx.span_of(token..next),
            });
            token = next;
        }
    }

    pub(super) fn peek(&self) -> Option<ExprElement> {
        self.elements.get(self.position).copied()
    }

    pub(super) fn element_text(&self, element: ExprElement) -> &'cx str {
        &self.cx.text[element.span.range()]
    }

    /// Returns the child nodes of an element that is a node of the parse tree, such as a list.
    pub(super) fn inner_pairs(&self, element: ExprElement) -> Pairs<'p> {
        self.pairs[element.pair_or_token_index].into_inner()
    }

    /// Returns the word or symbol that is `ahead` elements after the next element to parse. `None`
    /// if that element is of another kind, or is a name in backquotes.
    pub(super) fn word_ahead(&self, ahead: usize) -> Option<&'cx str> {
        let element = *self.elements.get(self.position + ahead)?;
        match element.kind {
            ExprElementKind::Word | ExprElementKind::Operator => {
                Some(self.element_text(element)).filter(|text| !text.starts_with('`'))
            }
            _ => None,
        }
    }

    pub(super) fn element_span(&self, index: usize) -> Span {
        self.elements[index].span
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) -> BuildFailed {
        self.cx.report(diagnostic)
    }

    pub(super) fn make_node(&mut self, kind: ExprKind, span: Span, height: usize) -> Built<ExprNode> {
        if height > MAX_EXPR_HEIGHT {
            let message = message!("more than {MAX_EXPR_HEIGHT} operators are chained or nested here");
            let diagnostic = Diagnostic::new(Code::TooDeep, span, message);
            return Err(self.report(diagnostic.help(message!("give parts of it a name with `let`"))));
        }
        Ok(ExprNode { expr: Expr { kind, span }, height, in_parentheses: false })
    }

    /// Parses operands and the binary operators between them by precedence climbing. Stops before
    /// an operator whose precedence is lower than `min_precedence`, and before a word that belongs
    /// to the surrounding expression, such as `ignoring` or `..`.
    pub(super) fn parse_at_precedence(&mut self, min_precedence: u8) -> Built<ExprNode> {
        let mut left = self.parse_prefixed()?;
        loop {
            let Some(element) = self.peek().filter(|element| !self.is_sum_clause(*element)) else {
                return Ok(left);
            };
            if element.kind == ExprElementKind::Cast {
                if Op::As.info().precedence < min_precedence {
                    return Ok(left);
                }
                left = self.parse_cast(left)?;
                continue;
            }
            let Some(word) = self.word_ahead(0) else {
                return Err(self.report_missing_operator(Some(left.expr.span)));
            };
            match word {
                "ignoring" | "matching" | ".." | "..=" | "..." => return Ok(left),
                "within" | "after" | "before" if self.in_history_bound => return Ok(left),
                "is" => {
                    if Op::IsMissing.info().precedence < min_precedence {
                        return Ok(left);
                    }
                    left = self.parse_presence(left)?;
                    continue;
                }
                _ => {}
            }
            let (op, negated) = self.peek_infix(word, left.expr.span)?;
            if op.info().precedence < min_precedence {
                return Ok(left);
            }
            // A literal after `||` cannot be a condition. The checker later reports the whole
            // expression, so nothing is reported here.
            let is_reported_later = matches!(op, Op::And | Op::Or) && self.is_literal_at(self.position + 1);
            if let Some((_, message)) = foreign_operator(word).filter(|_| !is_reported_later) {
                let span = self.element_span(self.position);
                let _: BuildFailed =
                    self.report(foreign::foreign_syntax_error(span, message, op.info().spelling));
            }
            left = match op {
                Op::And | Op::Or | Op::Unless => self.parse_logic(left, op)?,
                _ => self.parse_binary(left, op, negated)?,
            };
        }
    }

    /// True if the expression's element at `index` is a text or number, and no operator follows it
    /// except `and` and `or`.
    fn is_literal_at(&self, index: usize) -> bool {
        let is_literal =
            |element: &ExprElement| matches!(element.kind, ExprElementKind::String | ExprElementKind::Number);
        self.elements.get(index).is_some_and(is_literal)
            && self.elements.get(index + 1).is_none_or(|next| {
                let next = self.element_text(*next);
                matches!(next, "and" | "or")
                    || foreign_operator(next).is_some_and(|(op, _)| matches!(op, Op::And | Op::Or))
            })
    }

    /// Returns `node` if the whole expression is parsed. Otherwise reports the first remaining
    /// token or group, and fails.
    pub(super) fn expect_end(&mut self, node: ExprNode) -> Built<ExprNode> {
        if self.peek().is_none() {
            return Ok(node);
        }
        let span = self.element_span(self.position);
        Err(match self.word_ahead(0) {
            Some(word @ ("ignoring" | "matching")) => {
                let message = message!("`{word} case` is allowed only after a comparison of texts");
                let help = message!("write it at the end: `text contains \"a\" {word} case`");
                self.report(Diagnostic::new(Code::ModifierMisplaced, span, message).help(help))
            }
            Some(dots) if dots.starts_with("..") => {
                let message = message!("a range is allowed only on the right of `in`");
                self.report(unexpected_token(span, message, message!("write `x in 3..=10`")))
            }
            _ => self.report_missing_operator(Some(node.expr.span)),
        })
    }

    fn parse_logic(&mut self, left: ExprNode, op: Op) -> Built<ExprNode> {
        self.position += 1;
        let right = self.parse_at_precedence(op.info().precedence + 1)?;
        let span = left.expr.span.to(right.expr.span);
        let height = left.height.max(right.height + 1);
        match left.expr.kind {
            ExprKind::Logic(inner_op, mut operands) if inner_op == op && !left.in_parentheses => {
                operands.push(right.expr);
                self.make_node(ExprKind::Logic(op, operands), span, height)
            }
            _ => {
                let height = left.height.max(right.height) + 1;
                self.make_node(ExprKind::Logic(op, vec![left.expr, right.expr]), span, height)
            }
        }
    }

    fn parse_binary(&mut self, left: ExprNode, op: Op, negated: bool) -> Built<ExprNode> {
        let info = op.info();
        if negated {
            self.position += 1;
        }
        let mut op_span =
            self.element_span(self.position - usize::from(negated)).to(self.element_span(self.position));
        self.position += 1;
        let mut modifiers = Modifiers::default();
        if is_condition_operator(op) {
            self.last_left_operand = Some(left.expr.span);
            if self.word_ahead(0) == Some("word") && self.position + 1 < self.elements.len() {
                modifiers.whole_word = true;
                op_span = op_span.to(self.element_span(self.position));
                self.position += 1;
            }
            if let Some(diagnostic) =
                self.negation_after_operator_error(op, left.expr.span).filter(|_| !negated)
            {
                return Err(self.report(diagnostic));
            }
            if let Some(quantity) = self.peek_quantity() {
                modifiers.quantity = Some(quantity);
                op_span = op_span.to(self.element_span(self.position));
                self.position += 1;
            }
        }
        if let Some(failed) = self.report_foreign_list(op, modifiers.quantity.is_some()) {
            return Err(failed);
        }
        let right = if op == Op::In {
            self.parse_right_of_in()?
        } else {
            self.parse_at_precedence(info.precedence + 1)?
        };
        let mut span = left.expr.span.to(right.expr.span);
        if is_condition_operator(op) && matches!(self.word_ahead(0), Some("ignoring" | "matching")) {
            span = span.to(self.read_case_modifier(&mut modifiers)?);
        }
        let may_be_chained = info.precedence == Op::Eq.info().precedence && !left.in_parentheses;
        if let (true, ExprKind::Binary(inner)) = (may_be_chained, &left.expr.kind)
            && inner.op.node.info().precedence == info.precedence
        {
            if let Some(diagnostic) =
                self.misplaced_result_comparison_error(left.expr.span, op_span.to(right.expr.span))
            {
                return Err(self.report(diagnostic));
            }
            let text = |span: Span| &self.cx.text[span.range()];
            let first = text(left.expr.span);
            let second = text(Span { start: inner.right.span.start, ..span });
            let fixed = match &inner.right.kind {
                // `age >= 18 <= 65`: the first value is compared with both constants.
                ExprKind::Literal(_) if !matches!(inner.left.kind, ExprKind::Literal(_)) => {
                    let value = text(inner.left.span);
                    format!("{first} and {value} {}", text(Span { start: op_span.start, ..span }))
                }
                _ => format!("{first} and {second}"),
            };
            // `not` binds more tightly than `and`.
            let is_negated = matches!(self.cx.token_before(span.start), Some("not" | "!"));
            let fixed = if is_negated { format!("({fixed})") } else { fixed };
            return Err(self.report(
                Diagnostic::new(Code::ChainedComparison, op_span, message!("comparisons cannot be chained"))
                    .label(inner.op.span, message!("the first comparison"))
                    .help(message!("write `{fixed}`"))
                    .likely_fix(span, fixed),
            ));
        }
        let height = left.height.max(right.height) + 1;
        let binary =
            Binary { op: Spanned::new(op, op_span), negated, modifiers, left: left.expr, right: right.expr };
        self.make_node(ExprKind::Binary(Box::new(binary)), span, height)
    }

    /// Returns the modifier `any`, `all` or `none` at the parser's position. `None` for any other
    /// word. Also `None` if no operand follows, or if the word begins a block or a quantifier.
    fn peek_quantity(&self) -> Option<Quantity> {
        let quantity = match self.word_ahead(0)? {
            "any" => Quantity::Any,
            "all" => Quantity::All,
            "none" => Quantity::None,
            _ => return None,
        };
        let next = self.elements.get(self.position + 1)?;
        let has_operand = match next.kind {
            ExprElementKind::Braces
            | ExprElementKind::Operator
            | ExprElementKind::Cast
            | ExprElementKind::Member => false,
            ExprElementKind::Word => {
                let word = self.element_text(*next);
                word.starts_with('`') || !operators::is_reserved_word(word)
            }
            _ => true,
        };
        has_operand.then_some(quantity)
    }

    fn parse_right_of_in(&mut self) -> Built<ExprNode> {
        let start = self.parse_at_precedence(Op::In.info().precedence + 1)?;
        if !self.word_ahead(0).is_some_and(|word| word.starts_with("..")) {
            return Ok(start);
        }
        let inclusive = match self.word_ahead(0) {
            Some("..=") => true,
            Some("...") => {
                let span = self.element_span(self.position);
                let _: BuildFailed = self.report(foreign::foreign_syntax_error(
                    span,
                    message!("a range is written with `..` or `..=`"),
                    "..=",
                ));
                true
            }
            _ => false,
        };
        self.position += 1;
        let end = self.parse_at_precedence(Op::In.info().precedence + 1)?;
        let span = start.expr.span.to(end.expr.span);
        let height = start.height.max(end.height) + 1;
        let kind = ExprKind::Range { start: Box::new(start.expr), end: Box::new(end.expr), inclusive };
        self.make_node(kind, span, height)
    }

    /// Parses `ignoring case` or `matching case` after an operator, and stores the mode in
    /// `modifiers`. Returns the span of the two words.
    fn read_case_modifier(&mut self, modifiers: &mut Modifiers) -> Built<Span> {
        let word_span = self.element_span(self.position);
        modifiers.case =
            Some(if self.word_ahead(0) == Some("ignoring") { Case::Ignore } else { Case::Match });
        if self.word_ahead(1) != Some("case") {
            let (span, found) = self.cx.describe_token_at(word_span.end);
            let message = message!("expected `case`, found {found}");
            let help = message!("write `ignoring case` or `matching case`");
            return Err(self.report(unexpected_token(span, message, help)));
        }
        self.position += 2;
        Ok(word_span.to(self.element_span(self.position - 1)))
    }

    fn parse_cast(&mut self, operand: ExprNode) -> Built<ExprNode> {
        let element = self.elements[self.position];
        self.position += 1;
        let span = operand.expr.span.to(element.span);
        let ty = types::build_type_expr(
            self.cx,
            required_child(&self.pairs[element.pair_or_token_index], Rule::type_expr)?,
        )?;
        self.make_node(ExprKind::As(Box::new(operand.expr), ty), span, operand.height + 1)
    }

    /// Parses `is missing` or `is present` after an operand.
    fn parse_presence(&mut self, operand: ExprNode) -> Built<ExprNode> {
        let is_span = self.element_span(self.position);
        let (op, words, is_correct) = match (self.word_ahead(1), self.word_ahead(2)) {
            (Some("missing"), _) => (Op::IsMissing, 2, true),
            (Some("present"), _) => (Op::IsPresent, 2, true),
            (Some("not"), Some("missing" | "null" | "none" | "nil" | "None")) => (Op::IsPresent, 3, false),
            (Some("defined" | "set" | "there" | "given"), _) => (Op::IsPresent, 2, false),
            (Some("not"), Some("defined" | "set" | "given")) => (Op::IsMissing, 3, false),
            (Some("not"), Some("present")) | (Some("null" | "none" | "nil" | "absent" | "None"), _) => {
                (Op::IsMissing, if self.word_ahead(1) == Some("not") { 3 } else { 2 }, false)
            }
            _ => {
                if let Some(failed) = self.report_slip(Some(operand.expr.span)) {
                    return Err(failed);
                }
                if let Some(diagnostic) = self.equality_with_is_error() {
                    return Err(self.report(diagnostic));
                }
                let (span, found) = self.cx.describe_token_at(is_span.end);
                let message = message!("expected `missing` or `present` after `is`, found {found}");
                let help = foreign::help_after_is(
                    self.word_ahead(1).unwrap_or(""),
                    self.word_ahead(2).unwrap_or(""),
                );
                return Err(self.report(unexpected_token(span, message, help)));
            }
        };
        let span = is_span.to(self.element_span(self.position + words - 1));
        if !is_correct {
            let written = &self.cx.text[span.range()];
            let message = message!("`{written}` is not an operator");
            let _: BuildFailed =
                self.report(foreign::foreign_syntax_error(span, message, op.info().spelling));
        }
        self.position += words;
        let node_span = operand.expr.span.to(span);
        let height = operand.height + 1;
        let kind = ExprKind::Presence { operand: Box::new(operand.expr), op: Spanned::new(op, span) };
        self.make_node(kind, node_span, height)
    }
}
