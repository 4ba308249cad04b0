//! Expressions. The grammar produces a flat list of pieces, and precedence climbing over the
//! operator table builds the tree. Only the operator table defines what a word between operands
//! means.

use super::context::{Built, Failed, StatementContext, child, unexpected};
use super::foreign::{self, foreign_operator, is_test};
use super::terminals::{self, Class};
use super::{Pair, Pairs, Rule, types};
use crate::ast::{Binary, Expr, ExprKind};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::{Span, Spanned};
use rulec_lang::operators::{self, Case, Modifiers, Op, Quantity};
use smallvec::SmallVec;
use std::ops::Range;

/// An expression with the height of its tree.
pub(super) struct ExprNode {
    pub(super) expr: Expr,
    pub(super) height: usize,
    /// Whether the expression is in parentheses. Its operands then do not merge with the
    /// surrounding operators.
    pub(super) wrapped: bool,
}

/// Maximum height of an expression tree, because later compiler passes recurse over it. Brackets
/// use at most [`splitter::MAX_DEPTH`] levels; chains such as `a + b + c` can use the rest. Chains
/// of `and` and `or` are flat and do not count.
pub(super) const MAX_HEIGHT: usize = 500;

pub(super) fn expression(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Expr> {
    Ok(node(cx, pair)?.expr)
}

pub(super) fn node(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<ExprNode> {
    let mut climb = Climb::over(cx, pair);
    let node = climb.climb(0)?;
    climb.end(node)
}

/// Reads an expression or a range, as allowed to the right of `in`.
pub(super) fn range_or_expression(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<Expr> {
    let mut climb = Climb::over(cx, pair);
    let node = climb.right_of_in()?;
    climb.end(node).map(|node| node.expr)
}

/// The kinds of pieces of an expression. Pieces of one token, and `.name`, are recognized by their
/// codes. All other kinds are pairs of the grammar.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum PieceKind {
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

/// A piece of an expression, with the data that precedence climbing uses often.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) kind: PieceKind,
    /// The index into `pairs` if the piece is a tree node. Otherwise the index of the first token
    /// of the piece.
    pub(super) at: usize,
    pub(super) span: Span,
}

pub(super) struct Climb<'c, 'cx, 'p> {
    pub(super) cx: &'c mut StatementContext<'cx>,
    pub(super) pieces: SmallVec<[Piece; 8]>,
    /// The tree nodes of those pieces that have inner nodes.
    pub(super) pairs: Vec<Pair<'p>>,
    pub(super) at: usize,
    pub(super) end: u32,
}

impl<'c, 'cx, 'p> Climb<'c, 'cx, 'p> {
    fn over(cx: &'c mut StatementContext<'cx>, pair: Pair<'p>) -> Self {
        let end = cx.span(&pair).end;
        let pieces = SmallVec::with_capacity(pair.tokens().len());
        let mut climb = Climb { cx, pieces, pairs: Vec::new(), at: 0, end };
        for pair in pair.into_inner() {
            let kind = match pair.as_rule() {
                Rule::group => PieceKind::Group,
                Rule::brackets => PieceKind::Brackets,
                Rule::braces => PieceKind::Braces,
                Rule::cast => PieceKind::Cast,
                Rule::quantified => PieceKind::Quantified,
                Rule::conditional => PieceKind::Conditional,
                _ => {
                    climb.run(pair.tokens());
                    continue;
                }
            };
            climb.pieces.push(Piece { kind, at: climb.pairs.len(), span: climb.cx.span(&pair) });
            climb.pairs.push(pair);
        }
        climb
    }

    fn run(&mut self, tokens: Range<usize>) {
        let mut at = tokens.start;
        while at < tokens.end {
            let (kind, next) = match self.cx.codes[at] {
                terminals::DOT | terminals::MEMBER_DOT => (PieceKind::Member, at + 2),
                terminals::STRING => (PieceKind::String, at + 1),
                terminals::NUMBER => (PieceKind::Number, at + 1),
                code if terminals::terminal(code).class == Class::Operator => (PieceKind::Operator, at + 1),
                _ => (PieceKind::Word, at + 1),
            };
            self.pieces.push(Piece { kind, at, span: self.cx.span_of(at..next) });
            at = next;
        }
    }

    pub(super) fn peek(&self) -> Option<Piece> {
        self.pieces.get(self.at).copied()
    }

    pub(super) fn text(&self, piece: Piece) -> &'cx str {
        &self.cx.text[piece.span.range()]
    }

    /// Returns the inner tree nodes of a piece that is itself a tree node.
    pub(super) fn inside(&self, piece: Piece) -> Pairs<'p> {
        self.pairs[piece.at].into_inner()
    }

    /// Returns the unquoted word or symbol `ahead` pieces after the current one. `None` for other
    /// pieces.
    pub(super) fn spelling(&self, ahead: usize) -> Option<&'cx str> {
        let piece = *self.pieces.get(self.at + ahead)?;
        match piece.kind {
            PieceKind::Word | PieceKind::Operator => {
                Some(self.text(piece)).filter(|text| !text.starts_with('`'))
            }
            _ => None,
        }
    }

    pub(super) fn place(&self, index: usize) -> Span {
        self.pieces[index].span
    }

    pub(super) fn report(&mut self, diagnostic: Diagnostic) -> Failed {
        self.cx.report(diagnostic)
    }

    pub(super) fn node(&mut self, kind: ExprKind, span: Span, height: usize) -> Built<ExprNode> {
        if height > MAX_HEIGHT {
            let message = message!("more than {MAX_HEIGHT} operators are chained or nested here");
            let diagnostic = Diagnostic::new(Code::TooDeep, span, message);
            return Err(self.report(diagnostic.help(message!("give parts of it a name with `let`"))));
        }
        Ok(ExprNode { expr: Expr { kind, span }, height, wrapped: false })
    }

    /// Parses an expression whose operators have at least the precedence `min`.
    pub(super) fn climb(&mut self, min: u8) -> Built<ExprNode> {
        let mut left = self.prefix()?;
        loop {
            let Some(piece) = self.peek() else { return Ok(left) };
            if piece.kind == PieceKind::Cast {
                if Op::As.info().precedence < min {
                    return Ok(left);
                }
                left = self.cast(left)?;
                continue;
            }
            let Some(word) = self.spelling(0) else { return Err(self.operator_wanted()) };
            match word {
                "ignoring" | "matching" | ".." | "..=" | "..." => return Ok(left),
                "is" => {
                    if Op::IsMissing.info().precedence < min {
                        return Ok(left);
                    }
                    left = self.presence(left)?;
                    continue;
                }
                _ => {}
            }
            let (op, negated) = self.infix(word)?;
            if op.info().precedence < min {
                return Ok(left);
            }
            if let Some((_, message)) = foreign_operator(word) {
                let span = self.place(self.at);
                let _: Failed = self.report(foreign::syntax(span, message, op.info().spelling));
            }
            left = match op {
                Op::And | Op::Or | Op::Unless => self.logic(left, op)?,
                _ => self.binary(left, op, negated)?,
            };
        }
    }

    /// Returns the node if all pieces are consumed. Otherwise reports the first remaining piece.
    fn end(&mut self, node: ExprNode) -> Built<ExprNode> {
        if self.peek().is_none() {
            return Ok(node);
        }
        let span = self.place(self.at);
        Err(match self.spelling(0) {
            Some(word @ ("ignoring" | "matching")) => {
                let message = message!("`{word} case` is allowed only after a comparison of texts");
                let help = message!("write it at the end: `text contains \"a\" {word} case`");
                self.report(Diagnostic::new(Code::ModifierMisplaced, span, message).help(help))
            }
            Some(dots) if dots.starts_with("..") => {
                let message = message!("a range is allowed only on the right of `in`");
                self.report(unexpected(span, message, message!("write `x in 3..=10`")))
            }
            _ => self.operator_wanted(),
        })
    }

    fn logic(&mut self, left: ExprNode, op: Op) -> Built<ExprNode> {
        self.at += 1;
        let right = self.climb(op.info().precedence + 1)?;
        let span = left.expr.span.to(right.expr.span);
        let height = left.height.max(right.height + 1);
        match left.expr.kind {
            ExprKind::Logic(same, mut operands) if same == op && !left.wrapped => {
                operands.push(right.expr);
                self.node(ExprKind::Logic(op, operands), span, height)
            }
            _ => {
                let height = left.height.max(right.height) + 1;
                self.node(ExprKind::Logic(op, vec![left.expr, right.expr]), span, height)
            }
        }
    }

    fn binary(&mut self, left: ExprNode, op: Op, negated: bool) -> Built<ExprNode> {
        let info = op.info();
        if negated {
            self.at += 1;
        }
        let mut op_span = self.place(self.at - usize::from(negated)).to(self.place(self.at));
        self.at += 1;
        let mut modifiers = Modifiers::default();
        if is_test(op) {
            if self.spelling(0) == Some("word") && self.at + 1 < self.pieces.len() {
                modifiers.word = true;
                op_span = op_span.to(self.place(self.at));
                self.at += 1;
            }
            if let Some(quantity) = self.quantity() {
                modifiers.quantity = Some(quantity);
                op_span = op_span.to(self.place(self.at));
                self.at += 1;
            }
        }
        let right = if op == Op::In { self.right_of_in()? } else { self.climb(info.precedence + 1)? };
        let mut span = left.expr.span.to(right.expr.span);
        if is_test(op) && matches!(self.spelling(0), Some("ignoring" | "matching")) {
            span = span.to(self.case(&mut modifiers)?);
        }
        let chained = info.precedence == Op::Eq.info().precedence && !left.wrapped;
        if let (true, ExprKind::Binary(inner)) = (chained, &left.expr.kind)
            && inner.op.node.info().precedence == info.precedence
        {
            let text = |span: Span| &self.cx.text[span.range()];
            let first = text(left.expr.span);
            let second = text(Span { start: inner.right.span.start, ..span });
            let fixed = format!("{first} and {second}");
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
        self.node(ExprKind::Binary(Box::new(binary)), span, height)
    }

    /// Returns the modifier `any`, `all` or `none`, if the word precedes an operand and begins no
    /// block or quantifier.
    fn quantity(&self) -> Option<Quantity> {
        let quantity = match self.spelling(0)? {
            "any" => Quantity::Any,
            "all" => Quantity::All,
            "none" => Quantity::None,
            _ => return None,
        };
        let next = self.pieces.get(self.at + 1)?;
        let operand = match next.kind {
            PieceKind::Braces | PieceKind::Operator | PieceKind::Cast | PieceKind::Member => false,
            PieceKind::Word => {
                let word = self.text(*next);
                word.starts_with('`') || !operators::is_reserved_word(word)
            }
            _ => true,
        };
        operand.then_some(quantity)
    }

    fn right_of_in(&mut self) -> Built<ExprNode> {
        let start = self.climb(Op::In.info().precedence + 1)?;
        if !self.spelling(0).is_some_and(|word| word.starts_with("..")) {
            return Ok(start);
        }
        let inclusive = match self.spelling(0) {
            Some("..=") => true,
            Some("...") => {
                let span = self.place(self.at);
                let _: Failed = self.report(foreign::syntax(
                    span,
                    message!("a range is written with `..` or `..=`"),
                    "..=",
                ));
                true
            }
            _ => false,
        };
        self.at += 1;
        let end = self.climb(Op::In.info().precedence + 1)?;
        let span = start.expr.span.to(end.expr.span);
        let height = start.height.max(end.height) + 1;
        let kind = ExprKind::Range { start: Box::new(start.expr), end: Box::new(end.expr), inclusive };
        self.node(kind, span, height)
    }

    /// Reads `ignoring case` or `matching case`.
    fn case(&mut self, modifiers: &mut Modifiers) -> Built<Span> {
        let word = self.place(self.at);
        modifiers.case = Some(if self.spelling(0) == Some("ignoring") { Case::Ignore } else { Case::Match });
        if self.spelling(1) != Some("case") {
            let (span, found) = self.cx.found_at(word.end);
            let message = message!("expected `case`, found {found}");
            let help = message!("write `ignoring case` or `matching case`");
            return Err(self.report(unexpected(span, message, help)));
        }
        self.at += 2;
        Ok(word.to(self.place(self.at - 1)))
    }

    fn cast(&mut self, operand: ExprNode) -> Built<ExprNode> {
        let piece = self.pieces[self.at];
        self.at += 1;
        let span = operand.expr.span.to(piece.span);
        let ty = types::type_expr(self.cx, child(&self.pairs[piece.at], Rule::type_expr)?)?;
        self.node(ExprKind::As(Box::new(operand.expr), ty), span, operand.height + 1)
    }

    /// Reads `is missing` or `is present`.
    fn presence(&mut self, operand: ExprNode) -> Built<ExprNode> {
        let is = self.place(self.at);
        let (op, words, exact) = match (self.spelling(1), self.spelling(2)) {
            (Some("missing"), _) => (Op::IsMissing, 2, true),
            (Some("present"), _) => (Op::IsPresent, 2, true),
            (Some("not"), Some("missing" | "null" | "none" | "nil" | "empty" | "None")) => {
                (Op::IsPresent, 3, false)
            }
            (Some("defined" | "set" | "there" | "given"), _) => (Op::IsPresent, 2, false),
            (Some("not"), Some("defined" | "set" | "given")) => (Op::IsMissing, 3, false),
            (Some("not"), Some("present")) | (Some("null" | "none" | "nil" | "absent" | "None"), _) => {
                (Op::IsMissing, if self.spelling(1) == Some("not") { 3 } else { 2 }, false)
            }
            _ => {
                let (span, found) = self.cx.found_at(is.end);
                let message = message!("expected `missing` or `present` after `is`, found {found}");
                let help = foreign::is_help(self.spelling(1).unwrap_or(""), self.spelling(2).unwrap_or(""));
                return Err(self.report(unexpected(span, message, help)));
            }
        };
        let span = is.to(self.place(self.at + words - 1));
        if !exact {
            let written = &self.cx.text[span.range()];
            let message = message!("`{written}` is not an operator");
            let _: Failed = self.report(foreign::syntax(span, message, op.info().spelling));
        }
        self.at += words;
        let whole = operand.expr.span.to(span);
        let height = operand.height + 1;
        let kind = ExprKind::Presence { operand: Box::new(operand.expr), op: Spanned::new(op, span) };
        self.node(kind, whole, height)
    }
}
