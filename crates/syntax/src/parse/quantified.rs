//! Parses quantifiers, such as `any x in LIST: CONDITION` and `sum VALUE for x in LIST: CONDITION`,
//! and conditionals, `if C then a else b`.

use super::context::{Built, StatementContext, children, expect_part, required_child, unexpected_token};
use super::expr::{ExprElement, ExprElementKind, ExprNode, PrecedenceClimber, build_expr_node};
use super::{Pair, Rule};
use crate::ast::{Expr, ExprKind, QuantifierKind};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;

impl<'cx, 'p> PrecedenceClimber<'_, 'cx, 'p> {
    /// Parses `sum VALUE for x in LIST: CONDITION` after the word `sum`, whose span is `word`.
    /// `None` if no `for` follows, or if the word is called as a function: `sum(list)`.
    pub(super) fn parse_sum(&mut self, word: Span) -> Built<Option<ExprNode>> {
        let is_call = self
            .peek()
            .is_some_and(|next| next.kind == ExprElementKind::Group && next.span.start == word.end);
        if is_call || !self.elements[self.position..].iter().any(|element| self.is_sum_clause(*element)) {
            return Ok(None);
        }
        let value = self.parse_at_precedence(0)?;
        let Some(clause) = self.peek().filter(|element| self.is_sum_clause(*element)) else {
            return Ok(None);
        };
        self.position += 1;
        let sum = self.parse_quantified(clause, Some((word.start, value)))?;
        let span = word.to(sum.expr.span);
        Ok(Some(ExprNode { expr: Expr { span, ..sum.expr }, ..sum }))
    }

    /// True for the clause `for x in LIST: CONDITION` of a `sum`.
    pub(super) fn is_sum_clause(&self, element: ExprElement) -> bool {
        element.kind == ExprElementKind::Quantified && self.element_text(element).starts_with("for")
    }

    /// Parses a quantifier. `sum_start_and_value` is only set for `sum VALUE for …`: the byte
    /// offset at which the `sum` begins, and the expression `VALUE`.
    pub(super) fn parse_quantified(
        &mut self,
        element: ExprElement,
        sum_start_and_value: Option<(u32, ExprNode)>,
    ) -> Built<ExprNode> {
        let pair = self.pairs[element.pair_or_token_index];
        let value_height = sum_start_and_value.as_ref().map_or(0, |(_, value)| value.height);
        let start = sum_start_and_value.as_ref().map_or(element.span.start, |(start, _)| *start);
        let kind = match (self.cx.text(&required_child(&pair, Rule::quantifier)?), sum_start_and_value) {
            (_, Some((_, value))) => QuantifierKind::Sum(Box::new(value.expr)),
            ("all", _) => QuantifierKind::All,
            ("count", _) => QuantifierKind::Count,
            ("first", _) => QuantifierKind::First,
            ("last", _) => QuantifierKind::Last,
            ("for", _) => {
                let message = message!("`for` belongs to a `sum`");
                let text = self.cx.text(&pair);
                let rest = text.strip_prefix("for").unwrap_or_default().trim();
                let help = match rest.contains(['\n', '#']) || rest.is_empty() {
                    true => message!("write `sum VALUE for x in LIST: CONDITION`"),
                    false => {
                        message!("for a condition write `any {rest}`, and for a sum `sum VALUE for {rest}`")
                    }
                };
                return Err(self.report(unexpected_token(element.span, message, help)));
            }
            _ => QuantifierKind::Any,
        };
        let var = self.cx.build_child(&pair, Rule::name, StatementContext::read_declared_name)?;
        let mut operands = children(&pair, Rule::expression);
        let parts = operands.next().zip(operands.next());
        let (list, body) = expect_part(parts, "a quantifier has a list and a body")?;
        let list = build_expr_node(self.cx, list)?;
        let is_number = matches!(kind, QuantifierKind::Count | QuantifierKind::Sum(_));
        let body = self.parse_body(body, is_number.then_some(start))?;
        let height = list.height.max(body.height).max(value_height) + 1;
        let (list, body) = (Box::new(list.expr), Box::new(body.expr));
        self.make_node(ExprKind::Quantifier { kind, var, list, body }, element.span, height)
    }

    /// Parses the condition of a quantifier. For a `count` or `sum`, `number` is the byte offset of
    /// this word; it is `None` for quantifiers whose result is not a number.
    fn parse_body(&mut self, pair: Pair<'p>, number: Option<u32>) -> Built<ExprNode> {
        let mut body = PrecedenceClimber::from_pair(self.cx, pair);
        body.count_or_sum_start = number;
        let node = body.parse_at_precedence(0)?;
        body.expect_end(node)
    }

    /// Returns the diagnostic for a comparison that was meant for the result of a `count` or `sum`,
    /// but belongs to its condition: `count p in L: p.ok == true > 2`. `inner` is the first
    /// comparison of the condition, and `rest` is the second operator with its operand. `None`
    /// without such a mistake.
    pub(super) fn misplaced_result_comparison_error(&self, inner: Span, rest: Span) -> Option<Diagnostic> {
        let start = self.count_or_sum_start?;
        let text = |span: Span| &self.cx.text[span.range()];
        let number = text(Span { start, ..inner });
        let written = format!("({number}) {}", text(rest));
        let message = message!("the condition of a `count` or `sum` ends only at a closing parenthesis");
        let diagnostic = Diagnostic::new(Code::ChainedComparison, rest, message);
        let whole = Span { start, ..rest };
        Some(diagnostic.help(message!("write `{written}`")).likely_fix(whole, written))
    }

    pub(super) fn parse_conditional(&mut self, element: ExprElement) -> Built<ExprNode> {
        let pair = self.pairs[element.pair_or_token_index];
        let parts = self.cx.build_children(&pair, Rule::expression, build_expr_node)?;
        let height = parts.iter().map(|part| part.height).max().unwrap_or(0) + 1;
        let parts: Vec<Expr> = parts.into_iter().map(|part| part.expr).collect();
        let parts = expect_part(<[Expr; 3]>::try_from(parts).ok(), "a conditional has three expressions")?;
        self.make_node(ExprKind::If(Box::new(parts)), element.span, height)
    }
}
