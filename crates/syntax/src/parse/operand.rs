//! The operands of expressions, with their prefix operators: literals, names with fields, indices
//! and arguments, lists, records, blocks and quantifiers.

use super::context::{
    Built, Failed, StatementContext, child, children, first, must, reserved_value, unexpected, unquote,
};
use super::expr::{Climb, ExprNode, Piece, PieceKind, node};
use super::foreign::{self, foreign_operator};
use super::{Pair, Pairs, Rule};
use crate::ast::{Arg, BlockKind, Expr, ExprKind, Ident, Literal, QuantifierKind};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::{Span, Spanned};
use rulec_lang::builtins;
use rulec_lang::operators::{self, Op};

impl<'cx, 'p> Climb<'_, 'cx, 'p> {
    /// Parses an operand with its prefix operators.
    pub(super) fn prefix(&mut self) -> Built<ExprNode> {
        let Some(word) = self.spelling(0) else { return self.operand() };
        let span = self.place(self.at);
        let op = match word {
            "not" => Op::Not,
            "-" => Op::Neg,
            "!" => {
                let _: Failed =
                    self.report(foreign::syntax(span, message!("negation is written `not`"), "not "));
                Op::Not
            }
            _ => return self.operand(),
        };
        self.at += 1;
        if op == Op::Neg && self.peek().is_some_and(|piece| piece.kind == PieceKind::Number) {
            let number = self.place(self.at);
            self.at += 1;
            let literal = self.cx.number(number, true)?;
            return self.node(ExprKind::Literal(literal), span.to(number), 1);
        }
        // `!a == b` negates `a`, as in languages that use `!`.
        let tight = if word == "!" { Op::Neg.info().precedence } else { op.info().precedence };
        let operand = self.climb(tight + 1)?;
        let whole = span.to(operand.expr.span);
        self.node(ExprKind::Unary(Spanned::new(op, span), Box::new(operand.expr)), whole, operand.height + 1)
    }

    /// Parses an operand with its fields, indices and arguments.
    fn operand(&mut self) -> Built<ExprNode> {
        let mut node = self.primary()?;
        while let Some(piece) = self.peek() {
            let span = node.expr.span.to(piece.span);
            let place = node.wrapped || !matches!(node.expr.kind, ExprKind::Literal(_));
            match piece.kind {
                PieceKind::Member if place => {
                    let key = self.cx.span_of(piece.at + 1..piece.at + 2);
                    let name = Spanned::new(unquote(&self.cx.text[key.range()]).to_owned(), key);
                    let height = node.height + 1;
                    node = self.node(ExprKind::Field(Box::new(node.expr), name), span, height)?;
                }
                PieceKind::Brackets if place => {
                    let here = piece.span;
                    // Without this check, `contains any of ["a"]` would index a field `of`, which
                    // no author means.
                    if node.expr.span.end != here.start {
                        let help = message!(
                            "write an index directly after its value, as in `tags[0]`; to look for one of \
                            several values, write `contains any [\"a\", \"b\"]`"
                        );
                        return Err(self.report(unexpected(
                            here,
                            message!("a list cannot follow a value"),
                            help,
                        )));
                    }
                    let (mut inner, inner_height) = self.elements(piece)?;
                    if inner.len() != 1 {
                        let message = message!("an index must be one value in brackets");
                        let help = message!("write `list[0]` or `dict[\"key\"]`");
                        return Err(self.report(unexpected(here, message, help)));
                    }
                    let index = inner.remove(0);
                    let height = node.height.max(inner_height) + 1;
                    let kind = ExprKind::Index(Box::new(node.expr), Box::new(index));
                    node = self.node(kind, span, height)?;
                }
                _ => break,
            }
            self.at += 1;
        }
        Ok(node)
    }

    fn primary(&mut self) -> Built<ExprNode> {
        let Some(piece) = self.peek() else { return Err(self.value_wanted()) };
        let span = piece.span;
        match piece.kind {
            PieceKind::String => {
                self.at += 1;
                let text = self.cx.string(span)?;
                self.node(ExprKind::Literal(Literal::String(text)), span, 1)
            }
            PieceKind::Number => {
                self.at += 1;
                let literal = self.cx.number(span, false)?;
                self.node(ExprKind::Literal(literal), span, 1)
            }
            PieceKind::Word => self.word(self.text(piece), span),
            PieceKind::Brackets => {
                self.at += 1;
                let (list, height) = self.elements(piece)?;
                self.node(ExprKind::List(list), span, height + 1)
            }
            PieceKind::Group => {
                self.at += 1;
                let (mut inner, height) = self.elements(piece)?;
                if inner.len() != 1 || self.inside(piece).any(|part| part.as_rule() == Rule::argument) {
                    let message = message!("parentheses must contain exactly one expression");
                    return Err(self.report(unexpected(
                        span,
                        message,
                        message!("a list is written `[a, b]`"),
                    )));
                }
                Ok(ExprNode { expr: Expr { span, ..inner.remove(0) }, height: height + 1, wrapped: true })
            }
            PieceKind::Braces => {
                self.at += 1;
                let (entries, height) = self.record(piece)?;
                self.node(ExprKind::Record(entries), span, height)
            }
            PieceKind::Quantified => {
                self.at += 1;
                self.quantified(piece)
            }
            PieceKind::Conditional => {
                self.at += 1;
                self.conditional(piece)
            }
            _ => Err(self.value_wanted()),
        }
    }

    fn word(&mut self, text: &'cx str, span: Span) -> Built<ExprNode> {
        if !text.starts_with('`') {
            let block = self.pieces.get(self.at + 1).filter(|piece| piece.kind == PieceKind::Braces).copied();
            let kind = match text {
                "any" => Some(BlockKind::Any),
                "all" => Some(BlockKind::All),
                "none" => Some(BlockKind::None),
                _ => None,
            };
            if let (Some(kind), Some(block)) = (kind, block) {
                self.at += 2;
                return self.block(kind, block, span);
            }
            let literal = match text {
                "true" => Some(Literal::Bool(true)),
                "false" => Some(Literal::Bool(false)),
                "null" | "nil" | "none" => Some(Literal::Null),
                _ => None,
            };
            if let Some(literal) = literal {
                self.at += 1;
                return self.node(ExprKind::Literal(literal), span, 1);
            }
            if operators::is_reserved_word(text) {
                return Err(self.reserved(text, span));
            }
        }
        self.at += 1;
        let name = unquote(text).to_owned();
        if let Some(group) = self.peek().filter(|piece| piece.kind == PieceKind::Group) {
            self.at += 1;
            let whole = span.to(group.span);
            let (args, height) = self.arguments(group)?;
            return self.node(ExprKind::Call(Spanned::new(name, span), args), whole, height + 1);
        }
        self.node(ExprKind::Name(name), span, 1)
    }

    /// Reports an operator word where a value is expected.
    fn reserved(&mut self, text: &str, span: Span) -> Failed {
        let operator = Op::infix(text).is_some() || matches!(text, "is" | "as");
        let next_is_operator = match self.spelling(1) {
            Some(next) => Op::infix(next).is_some() || next == "is" || foreign_operator(next).is_some(),
            None => self.at + 1 == self.pieces.len(),
        };
        if operator && !next_is_operator {
            return self.value_wanted();
        }
        if matches!(text, "any" | "all") {
            let (place, found) = self.cx.found_at(span.end);
            let message = message!("expected `{{` or `x in LIST:` after `{text}`, found {found}");
            let help = match self.spelling(1) {
                Some("word") => message!("`word` comes before `{text}`: `contains word {text} […]`"),
                _ => message!("write `{text} {{ condition; condition }}` or `{text} x in list: condition`"),
            };
            return self.report(unexpected(place, message, help));
        }
        self.report(reserved_value(text, span))
    }

    /// Reports a missing operand.
    fn value_wanted(&mut self) -> Failed {
        let before = self.at.checked_sub(1).map(|index| self.place(index));
        let (span, found) = self.cx.found_at(self.peek().map_or(self.end, |piece| piece.span.start));
        let message = match before.map(|before| self.cx.short(before)) {
            Some(before) => message!("expected a value after `{before}`, found {found}"),
            None => message!("expected a value, found {found}"),
        };
        let diagnostic = Diagnostic::new(Code::Unexpected, span, message);
        let called = self.pieces.get(self.at + 1).is_some_and(|piece| piece.kind == PieceKind::Group);
        let logic = before.map(|before| &self.cx.text[before.range()]);
        let help = match self.spelling(0) {
            Some(word) if called && Op::infix(word).is_some() => {
                message!("`{word}` is written between its operands: `x {word} y`")
            }
            Some(word) if word.starts_with('/') => {
                message!("write a regular expression as a text: `x matches r\"…\"`")
            }
            _ if matches!(logic, Some("and" | "or" | "unless")) => {
                message!("each side of `and`, `or` and `unless` must be a whole condition: `x > 3 and x < 5`")
            }
            word => match logic.or(word).and_then(Op::infix) {
                Some(op) => message!("for example: `{}`", op.info().example.0),
                None => return self.report(diagnostic),
            },
        };
        self.report(diagnostic.help(help))
    }

    /// Reports a word before an operand that is not a prefix operator, as in `exists x` or `len x`.
    pub(super) fn foreign_prefix(&mut self) -> Option<Failed> {
        let word = self.pieces[..self.at].last().filter(|piece| piece.kind == PieceKind::Word)?;
        let (span, word) = (word.span, self.text(*word));
        let help = foreign::prefix_help(word)?;
        let message = message!("`{word}` cannot be written before a value");
        Some(self.report(unexpected(span, message, help)))
    }

    /// Returns the diagnostic for a method call, as other languages write it, whose parentheses are
    /// the current piece.
    pub(super) fn method_call(&self) -> Option<Diagnostic> {
        let (before, rest) = self.pieces.split_at(self.at);
        let (member, base) = before.split_last()?;
        let group = rest.first().filter(|piece| piece.kind == PieceKind::Group)?;
        if member.kind != PieceKind::Member {
            return None;
        }
        let inner = |piece: &Piece| matches!(piece.kind, PieceKind::Member | PieceKind::Brackets);
        let first = base.iter().rposition(|piece| !inner(piece))?;
        let called =
            first > 0 && base[first].kind == PieceKind::Group && base[first - 1].kind == PieceKind::Word;
        let start = base[first - usize::from(called)].span;
        let whole = start.to(group.span);
        let text = |from: u32, to: u32| self.cx.text[from as usize..to as usize].trim();
        let name = text(member.span.start, member.span.end).trim_start_matches('.').trim_start();
        let args = text(group.span.start + 1, group.span.end - 1);
        let diagnostic =
            Diagnostic::new(Code::Unexpected, whole, message!("`.{name}(…)`: values have no methods"));
        if builtins::reads_clock(name) {
            return Some(diagnostic.help(builtins::NO_CLOCK));
        }
        Some(match foreign::method(text(start.start, member.span.start), name, args) {
            Some(written) if written.contains('…') => diagnostic.help(message!("write `{written}`")),
            Some(written) => diagnostic.help(message!("write `{written}`")).likely_fix(whole, written),
            None => diagnostic.help(message!(
                "a function is called as `name(x)`, and an operator is written between its \
                    operands, as in `x contains \"a\"`"
            )),
        })
    }

    fn block(&mut self, kind: BlockKind, block: Piece, word: Span) -> Built<ExprNode> {
        let span = word.to(block.span);
        let inner = self.inside(block).nth(1);
        let help = message!("conditions in braces are separated by `;` or `,`");
        match inner {
            Some(part) if part.as_rule() == Rule::conditions => {
                let (conditions, height) = self.expressions(part.into_inner())?;
                self.node(ExprKind::Block(kind, conditions), span, height + 1)
            }
            Some(part) if part.as_rule() == Rule::entries => {
                let place = self.cx.span(&part);
                Err(self.report(unexpected(place, message!("expected conditions, found `key: value`"), help)))
            }
            _ => {
                Err(self.report(unexpected(span, message!("expected a condition between the braces"), help)))
            }
        }
    }

    fn quantified(&mut self, piece: Piece) -> Built<ExprNode> {
        let pair = self.pairs[piece.at];
        let kind = match self.cx.text(&child(&pair, Rule::quantifier)?) {
            "all" => QuantifierKind::All,
            "count" => QuantifierKind::Count,
            _ => QuantifierKind::Any,
        };
        let var = self.cx.one(&pair, Rule::name, StatementContext::declared)?;
        let mut operands = self.cx.all(&pair, Rule::expression, node)?;
        let (body, list) = must(operands.pop().zip(operands.pop()), "a quantifier has a list and a body")?;
        let height = list.height.max(body.height) + 1;
        let (list, body) = (Box::new(list.expr), Box::new(body.expr));
        self.node(ExprKind::Quantifier { kind, var, list, body }, piece.span, height)
    }

    fn conditional(&mut self, piece: Piece) -> Built<ExprNode> {
        let pair = self.pairs[piece.at];
        let parts = self.cx.all(&pair, Rule::expression, node)?;
        let height = parts.iter().map(|part| part.height).max().unwrap_or(0) + 1;
        let parts: Vec<Expr> = parts.into_iter().map(|part| part.expr).collect();
        let parts = must(<[Expr; 3]>::try_from(parts).ok(), "a conditional has three expressions")?;
        self.node(ExprKind::If(Box::new(parts)), piece.span, height)
    }

    /// Reads the expressions of a list, index, group or call, and returns them with their maximum
    /// height.
    fn elements(&mut self, piece: Piece) -> Built<(Vec<Expr>, usize)> {
        self.expressions(self.inside(piece))
    }

    fn expressions(&mut self, inside: Pairs<'p>) -> Built<(Vec<Expr>, usize)> {
        // The pairs include the brackets, and commas between the expressions.
        let (mut elements, mut height) = (Vec::with_capacity(inside.clone().count() / 2), 0);
        for pair in inside.filter(|pair| pair.as_rule() == Rule::expression) {
            let element = node(self.cx, pair)?;
            height = height.max(element.height);
            elements.push(element.expr);
        }
        Ok((elements, height))
    }

    /// Reads the arguments of a call, and returns them with their maximum height.
    fn arguments(&mut self, group: Piece) -> Built<(Vec<Arg>, usize)> {
        let (mut args, mut most) = (Vec::new(), 0);
        for pair in self.inside(group) {
            let (name, ExprNode { expr: value, height, .. }) = match pair.as_rule() {
                Rule::expression => (None, node(self.cx, pair)?),
                Rule::argument => {
                    let (name, value) = entry_node(self.cx, pair)?;
                    (Some(name), value)
                }
                _ => continue,
            };
            most = most.max(height);
            args.push(Arg { name, value });
        }
        Ok((args, most))
    }

    /// Reads `{ key: value }`, and returns the entries with the height of the record.
    fn record(&mut self, piece: Piece) -> Built<(Vec<(Ident, Expr)>, usize)> {
        let (mut entries, mut height) = (Vec::new(), 0);
        match self.inside(piece).nth(1) {
            Some(part) if part.as_rule() == Rule::entries => {
                for entry in children(&part, Rule::entry) {
                    let (key, value) = entry_node(self.cx, entry)?;
                    height = height.max(value.height);
                    entries.push((key, value.expr));
                }
            }
            Some(part) if part.as_rule() == Rule::conditions => {
                let help = message!("conditions in braces come after `all`, `any` or `none`");
                let span = self.cx.span(&part);
                return Err(self.report(unexpected(
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

fn entry_node(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<(Ident, ExprNode)> {
    let key = first(&pair)?;
    let key = if key.as_rule() == Rule::string { cx.spanned_string(key)? } else { cx.ident(&key) };
    Ok((key, cx.one(&pair, Rule::expression, node)?))
}

/// Reads an entry of metadata or of a record, or a named argument.
pub(super) fn entry(cx: &mut StatementContext<'_>, pair: Pair<'_>) -> Built<(Ident, Expr)> {
    entry_node(cx, pair).map(|(key, value)| (key, value.expr))
}
