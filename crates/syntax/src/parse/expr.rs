//! Expressions. The grammar produces a flat list of pieces, and precedence climbing over the
//! operator table builds the tree. Only the operator table defines what a word between operands
//! means.

use super::context::{Built, Cx, Failed, child, unexpected};
use super::foreign::{self, foreign_operator, is_test, meant_operator};
use super::terminals::{self, Class};
use super::{Pair, Pairs, Rule, literal, splitter, types};
use crate::ast::{Binary, Expr, ExprKind};
use crate::lex::TokenKind;
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::{Span, Spanned};
use rulec_lang::operators::{self, Case, Fixity, Modifiers, Negation, Op, Quantity};
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

/// Maximum height of an expression tree, because later passes recurse over it. Brackets use at most
/// [`splitter::MAX_DEPTH`] levels; chains such as `a + b + c` can use the rest. Chains of `and` and
/// `or` are flat and do not count.
pub(super) const MAX_HEIGHT: usize = 500;

pub(super) fn expression(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Expr> {
    Ok(node(cx, pair)?.expr)
}

pub(super) fn node(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<ExprNode> {
    let mut climb = Climb::over(cx, pair);
    let node = climb.climb(0)?;
    climb.end(node)
}

/// Reads an expression or a range, as allowed to the right of `in`.
pub(super) fn range_or_expression(cx: &mut Cx<'_>, pair: Pair<'_>) -> Built<Expr> {
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

/// A piece of an expression, with data that precedence climbing uses often.
#[derive(Clone, Copy)]
pub(super) struct Piece {
    pub(super) kind: PieceKind,
    /// The index into `pairs` if the piece is a pair. Otherwise the index of its first token.
    pub(super) at: usize,
    pub(super) span: Span,
}

pub(super) struct Climb<'c, 'cx, 'p> {
    pub(super) cx: &'c mut Cx<'cx>,
    pub(super) pieces: SmallVec<[Piece; 8]>,
    /// The pairs of those pieces that have inner nodes.
    pub(super) pairs: Vec<Pair<'p>>,
    pub(super) at: usize,
    pub(super) end: u32,
}

impl<'c, 'cx, 'p> Climb<'c, 'cx, 'p> {
    fn over(cx: &'c mut Cx<'cx>, pair: Pair<'p>) -> Self {
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

    /// Returns the pairs inside a piece that is a pair.
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

    /// Returns the operator at the current position, and whether `not` precedes it. Consumes no
    /// pieces.
    fn infix(&mut self, word: &str) -> Built<(Op, bool)> {
        if word == "not" {
            let next = self.spelling(1);
            let op = next.and_then(Op::infix);
            return match op.map(|op| (op, op.info().negation)) {
                Some((op, Negation::NotBefore)) => Ok((op, true)),
                Some((op, Negation::Op(opposite))) => {
                    let span = self.place(self.at).to(self.place(self.at + 1));
                    let message = message!("`not {}` is not an operator", op.info().spelling);
                    Err(self.report(foreign::syntax(span, message, opposite.info().spelling)))
                }
                _ if next.is_some_and(|next| {
                    self.pieces[self.at + 1].kind == PieceKind::Word && !terminals::is_reserved(next)
                }) =>
                {
                    let next = next.unwrap_or_default().to_owned();
                    let span = self.place(self.at + 1);
                    Err(self.unknown_operator(&next, span))
                }
                _ => Err(self.operator_wanted()),
            };
        }
        if let Some(op) = Op::infix(word).filter(|op| op.info().fixity == Fixity::Infix) {
            return Ok((op, false));
        }
        let span = self.place(self.at);
        if let Some((op, _)) = foreign_operator(word) {
            return Ok((op, false));
        }
        if let Some(failed) = self.foreign_prefix() {
            return Err(failed);
        }
        let symbol = self.peek().is_some_and(|piece| piece.kind == PieceKind::Operator);
        let foreign = foreign::is_ignore_case(word) || foreign::operator_help(word).is_some();
        if symbol || foreign || self.is_operator_position() {
            return Err(self.unknown_operator(word, span));
        }
        Err(self.operator_wanted())
    }

    /// True if the word at the current position is used like an operator: an operand follows.
    fn is_operator_position(&self) -> bool {
        let next_is_operand = self.pieces.get(self.at + 1).is_some_and(|piece| match piece.kind {
            PieceKind::Operator | PieceKind::Cast | PieceKind::Member => false,
            PieceKind::Word => !matches!(self.text(*piece), "and" | "or" | "is"),
            _ => true,
        });
        next_is_operand || self.spelling(0).is_some_and(|word| meant_operator(word).is_some())
    }

    fn unknown_operator(&mut self, word: &str, span: Span) -> Failed {
        let diagnostic = Diagnostic::new(Code::UnknownOperator, span, message!("unknown operator `{word}`"));
        if matches!(word, "priority" | "disabled") {
            let help = message!("move `{word}` before the condition: `route NAME {word} … when …`");
            return self.report(unexpected(span, message!("`{word}` must be written before `when`"), help));
        }
        if foreign::is_ignore_case(word) {
            let more = self.spelling(1).filter(|next| foreign::is_ignore_case(next));
            let span = more.map_or(span, |_| span.to(self.place(self.at + 1)));
            let message = message!("`{}` is not the right spelling", &self.cx.text[span.range()]);
            return self.report(foreign::syntax(span, message, "ignoring case"));
        }
        if let Some(help) = foreign::operator_help(word) {
            return self.report(diagnostic.help(help));
        }
        let candidate = meant_operator(word);
        let statement = terminals::statements();
        if candidate.is_none() && rulec_base::diag::nearest(word, statement).is_some() {
            let token = self.cx.token_at(span.start);
            return self.report(splitter::unknown_statement(self.cx.file, self.cx.text, token));
        }
        let names = operators::TABLE
            .iter()
            .filter(|row| row.fixity == Fixity::Infix && row.op.is_word() && is_test(row.op));
        let diagnostic = match candidate {
            Some(candidate) => diagnostic.did_you_mean(span, Some(candidate)),
            None if word.starts_with(|c: char| c.is_alphabetic()) => {
                let names: Vec<String> = names.map(|row| format!("`{}`", row.spelling)).collect();
                diagnostic.help(message!("the operators written as words are {}", names.join(" ")))
            }
            None => diagnostic,
        };
        self.report(diagnostic)
    }

    /// Reports a piece after a complete operand, where an operator is expected.
    fn operator_wanted(&mut self) -> Failed {
        let span = self.place(self.at);
        if let Some(diagnostic) = self.method_call() {
            return self.report(diagnostic);
        }
        if let Some(failed) = self.foreign_prefix() {
            return failed;
        }
        let (_, found) = self.cx.found_at(span.start);
        let behind_number = self.at > 0 && self.pieces[self.at - 1].kind == PieceKind::Number;
        let has_field = self.pieces.get(self.at + 1).is_some_and(|piece| piece.kind == PieceKind::Member);
        let unit = self.spelling(0).filter(|_| behind_number && !has_field);
        let help = match (self.pieces[self.at].kind, self.cx.innermost_open(span.start)) {
            (PieceKind::Group, _) => message!("only a name can be called: `name(argument)`"),
            (PieceKind::Member, _) => {
                message!(
                    "only a name or a field has fields; write an operator between its operands, as in `x contains \"a\"`"
                )
            }
            (PieceKind::Braces, _) => message!("conditions in braces come after `all`, `any` or `none`"),
            _ if unit.is_some_and(|unit| literal::unit_meant(unit).is_some()) => {
                message!("write a unit directly after its number, as in `30s`, `7d` or `64KB`")
            }
            // Here the separator is missing, not an operator.
            (_, Some(TokenKind::OpenBrace)) => message!("separate the conditions of a block with `;`"),
            (_, Some(TokenKind::OpenBracket)) => message!("separate the elements of a list with `,`"),
            _ => message!("write `and`, `or` or a comparison between two operands"),
        };
        self.report(unexpected(span, message!("expected an operator, found {found}"), help))
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
