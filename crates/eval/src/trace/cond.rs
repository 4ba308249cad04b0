//! Builds the trace nodes of conditions. An operand that was not evaluated, because an earlier
//! operand decided the result, is shown as skipped. An unknown operand never decides the result.

use super::record::{StepFrame, TracedEvaluator};
use super::{Elements, Mark, NodeKind, Note, TraceNode, private};
use crate::evaluator;
use rulec_base::span::Span;
use rulec_base::text;
use rulec_base::{broken_invariant, message};
use rulec_lang::arena::Arena;
use rulec_lang::operators::{Implementation, Op, Quantity, Search};
use rulec_lang::ty::KindSet;
use rulec_lang::value::{Tri, Value};
use rulec_sema::hir::{Cond, CondKind, GuardedCondition, Predicate, Term};
use std::collections::HashMap;

/// Maximum length in bytes of a text that is compared again without stray white space. The second
/// comparison shows whether white space made the first one false.
const MAX_CLEANED_BYTES: usize = 10_000;

impl<'a> TracedEvaluator<'a, '_> {
    /// Builds the node of an evaluated condition. `truth` is the result of the condition, and
    /// `frame` has the recorded results of the conditions and values inside it.
    pub(super) fn build_cond_node(&mut self, cond: &'a Cond, truth: Tri, frame: StepFrame<'a>) -> TraceNode {
        let StepFrame { shows_let, conds, operands, operand_values: values, elements, .. } = frame;
        let value = values.first().copied().unwrap_or(Value::Missing);
        let mut node = TraceNode { result: truth.into(), operands, ..self.build_skipped_node(cond) };
        match &cond.kind {
            CondKind::And(_) | CondKind::Or(_) => {
                let mut evaluated = index_nodes_by_address(conds);
                let parts = evaluator::flatten_operands(cond).into_iter();
                node.children = parts
                    .map(|part| {
                        evaluated
                            .remove(&std::ptr::from_ref(part))
                            .unwrap_or_else(|| self.build_short_circuited_node(part))
                    })
                    .collect();
                return node;
            }
            CondKind::Branch { conditions, .. } => {
                let mut evaluated = index_nodes_by_address(conds);
                for condition in conditions {
                    let node_of_part = evaluated.remove(&std::ptr::from_ref(&condition.cond));
                    let child =
                        node_of_part.unwrap_or_else(|| match self.reads_only_present_values(condition) {
                            true => self.build_short_circuited_node(&condition.cond),
                            false => self.build_left_out_node(condition),
                        });
                    node.children.push(child);
                }
                return node;
            }
            CondKind::Predicate(predicate) => {
                self.add_predicate_details(predicate, cond.span, &values, &mut node);
                let recorded = node.operands.iter().flat_map(|operand| &operand.recorded).copied();
                let recorded: Vec<usize> = recorded.collect();
                node.past = self.build_past_trace(None, &recorded).filter(|past| past.count > 0);
            }
            CondKind::Quantifier { list, is_all: all, .. } => match value.elements() {
                Some(all_elements) => {
                    let count = all_elements.count();
                    let skipped = count - elements.evaluated_count();
                    if self.is_history(list) {
                        let deciding = if *all { Mark::False } else { Mark::True };
                        let deciding = elements.shown.iter().filter(|item| item.when.result == deciding);
                        let recorded: Vec<usize> =
                            deciding.flat_map(|item| &item.element.recorded).copied().collect();
                        node.past = self.build_past_trace(Some(count), &recorded);
                    }
                    node.elements = Some(Elements { skipped, ..elements });
                }
                None => node.because.push(self.explain_wrong_kind(list, value, KindSet::LIST)),
            },
            CondKind::Let(_) if !shows_let => node.note = Some(Note::ShownAbove),
            CondKind::Let(id) => {
                if let (Term::Expr(body), Tri::Unknown) = (self.program().let_body(*id), truth) {
                    node.because.push(self.explain_wrong_kind(body, value, KindSet::BOOL));
                }
            }
            CondKind::Const(_) | CondKind::Not(_) | CondKind::NotTrue(_) | CondKind::Call(..) => {}
        }
        node.children = conds.into_iter().map(|(_, child)| child).collect();
        node
    }

    /// Builds the trace node of a condition, with the result `Skipped` and no details.
    pub(super) fn build_skipped_node(&self, cond: &Cond) -> TraceNode {
        let (kind, name) = match &cond.kind {
            CondKind::Const(_) => (NodeKind::Constant, None),
            CondKind::Not(_) => (NodeKind::Not, None),
            CondKind::NotTrue(_) => (NodeKind::Unless, None),
            CondKind::And(_) => (NodeKind::And, None),
            CondKind::Or(_) => (NodeKind::Or, None),
            CondKind::Predicate(_) => (NodeKind::Test, None),
            CondKind::Quantifier { is_all: true, .. } => (NodeKind::All, None),
            CondKind::Quantifier { is_all: false, .. } => (NodeKind::Any, None),
            CondKind::Let(id) => (NodeKind::Let, Some(self.program().lets[id.index()].name.to_string())),
            CondKind::Call(name, ..) => (NodeKind::Call, Some(name.to_string())),
            CondKind::Branch { requires_all: true, .. } => (NodeKind::AllUsable, None),
            CondKind::Branch { requires_all: false, .. } => (NodeKind::AnyUsable, None),
        };
        TraceNode {
            kind,
            text: self.source_text(cond.span),
            result: Mark::Skipped,
            name,
            place: self.observer.source.place(cond.span),
            operands: Vec::new(),
            found: None,
            because: Vec::new(),
            note: None,
            children: Vec::new(),
            elements: None,
            past: None,
        }
    }

    /// Builds the node of an operand that was not evaluated, because an earlier operand decided the
    /// result.
    fn build_short_circuited_node(&self, part: &Cond) -> TraceNode {
        TraceNode { note: Some(Note::Decided), ..self.build_skipped_node(part) }
    }

    /// True if a condition of a choice's branch is usable: all values that the condition reads are
    /// present.
    pub(super) fn reads_only_present_values(&mut self, condition: &'a GuardedCondition) -> bool {
        self.run_unrecorded(|eval| eval.eval_cond(&condition.presence_condition)).holds()
    }

    /// Builds the node of a condition of a choice's branch that is ignored because a value that it
    /// reads is missing. The node shows these values, and why some of them are missing.
    pub(super) fn build_left_out_node(&mut self, condition: &'a GuardedCondition) -> TraceNode {
        let mut node = TraceNode { note: Some(Note::LeftOut), ..self.build_skipped_node(&condition.cond) };
        let CondKind::And(tests) = &condition.presence_condition.kind else {
            broken_invariant!("a condition of a branch is usable by an `and` of presence tests");
            return node;
        };
        for test in tests {
            let CondKind::Predicate(predicate) = &test.kind else {
                broken_invariant!("a condition of a branch is usable by presence tests");
                continue;
            };
            let read_expr = &predicate.left;
            let value = self.eval_unrecorded(read_expr);
            self.add_shown_operands(read_expr, value, None, &mut node.operands);
            if value.is_missing() {
                node.because.push(self.explain_wrong_kind(read_expr, value, read_expr.ty.kinds));
            }
        }
        node
    }

    /// Adds details of a predicate to `node`: the reasons why it is unknown, the text that its
    /// operator found, or a hint that it would be true without stray white space. `values` are the
    /// values of the predicate's operands, in the same order. A text that may be private is not
    /// added.
    fn add_predicate_details(
        &mut self,
        predicate: &'a Predicate,
        span: Span,
        values: &[Value<'a>],
        node: &mut TraceNode,
    ) {
        if node.result == Mark::Unknown {
            return self.explain_unknown(predicate, values, span, &mut node.because);
        }
        if !predicate.operands().any(|operand| self.observer.privacy.reads_private(operand)) {
            let value = |index: usize| values.get(index).copied().unwrap_or(Value::Missing);
            node.found = found_text(predicate, value(0), value(1));
            if node.result == Mark::False && holds_without_blanks(predicate, value(0), value(1)) {
                node.because.push(message!("it holds if white space is ignored"));
            }
        }
    }
}

/// Returns a map from the address of each condition to its trace node.
fn index_nodes_by_address(conds: Vec<(&Cond, TraceNode)>) -> HashMap<*const Cond, TraceNode> {
    conds.into_iter().map(|(cond, node)| (std::ptr::from_ref(cond), node)).collect()
}

/// True if a comparison of two texts holds after stray white space is removed from both. Stray
/// white space is white space at either end or next to a Chinese or Japanese character, and all but
/// one space between two words. Always false if neither text has white space, or if the left text
/// is longer than [`MAX_CLEANED_BYTES`].
fn holds_without_blanks(predicate: &Predicate, left: Value<'_>, right: Value<'_>) -> bool {
    let compares = |op: Op| matches!(op, Op::Eq | Op::Contains | Op::StartsWith | Op::EndsWith);
    let is_plain = !predicate.is_negated && !predicate.mode.whole_word && predicate.mode.quantity.is_none();
    let Some(op) = predicate.op.filter(|op| is_plain && compares(*op)) else { return false };
    let Implementation::Predicate(evaluate) = op.info().implementation else {
        broken_invariant!("the operator of a predicate is a predicate");
        return false;
    };
    let (Some(text), Some(part)) = (left.as_str(), right.as_str()) else { return false };
    // A long text would make the trace much slower than the decision.
    if !text.contains(char::is_whitespace) && !part.contains(char::is_whitespace)
        || text.len() > MAX_CLEANED_BYTES
    {
        return false;
    }
    let (text, part) = (without_stray_blanks(text), without_stray_blanks(part));
    !part.is_empty()
        && evaluate(Value::Str(&text), Value::Str(&part), predicate.mode, &Arena::default()).holds()
}

/// Removes white space at both ends and next to Chinese and Japanese characters. Writes one space
/// for any other white space.
fn without_stray_blanks(text: &str) -> String {
    let is_unspaced =
        |c: char| matches!(c, '\u{3000}'..='\u{9FFF}' | '\u{F900}'..='\u{FAFF}' | '\u{FF00}'..='\u{FFEF}');
    text.split_whitespace().fold(String::new(), |cleaned, word| {
        let is_joined = cleaned.chars().next_back().is_none_or(is_unspaced)
            || word.chars().next().is_some_and(is_unspaced);
        if is_joined { cleaned + word } else { cleaned + " " + word }
    })
}

/// Returns the text that a text operator found: the first matching keyword of a list, or the text
/// that a regular expression matched. `None` if nothing matched, and for other predicates.
fn found_text(predicate: &Predicate, left: Value<'_>, right: Value<'_>) -> Option<String> {
    let op_info = predicate.op?.info();
    let Implementation::Predicate(evaluate) = op_info.implementation else {
        broken_invariant!("the operator of a predicate is a predicate");
        return None;
    };
    let is_regex = op_info.search == Some(Search::Regex);
    let text = left.as_str()?;
    let matched_text = |pattern: &str| match is_regex {
        true => {
            let regex_match =
                text::compile_regex(pattern, predicate.mode.text.folds_case).ok()?.find(text)?;
            Some(text::truncate_chars(regex_match.as_str(), private::MAX_KEPT_TEXT_CHARS))
        }
        false => Some(pattern.to_owned()),
    };
    match predicate.mode.quantity {
        Some(Quantity::Any | Quantity::None) => {
            let arena = &Arena::default();
            let mut keywords = right.elements()?.filter_map(Value::as_str);
            keywords
                .find(|keyword| evaluate(left, Value::Str(keyword), predicate.mode, arena).holds())
                .and_then(matched_text)
        }
        Some(Quantity::All) => None,
        None if is_regex => matched_text(right.as_str()?),
        None => None,
    }
}
