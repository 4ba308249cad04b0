//! Diagnostics for conditions that are written as a record, as query languages on JSON do: `{
//! "endsWith": [email, "@example.com"] }` or `{ n: { gt: 3 } }`.

use super::super::context::{children, unexpected_token};
use super::super::expr::{ExprElement, ExprElementKind, PrecedenceClimber};
use super::super::foreign;
use super::super::{Pair, Rule};
use rulec_base::diag::Diagnostic;
use rulec_base::message;
use rulec_base::span::Span;

/// Maximum length in bytes of a condition that a help text proposes.
const MAX_CONDITION_BYTES: usize = 160;

impl<'cx, 'p> PrecedenceClimber<'_, 'cx, 'p> {
    /// Returns the diagnostic for a record in place of a condition, as in `when { n: 3 }`. The
    /// parser is at the record. `None` if the record is no condition but a value.
    pub(in super::super) fn record_as_condition_error(&self, record: ExprElement) -> Option<Diagnostic> {
        let before = match self.position.checked_sub(1) {
            Some(before) => self.text_at(before),
            None => self.cx.token_before(record.span.start).unwrap_or_default(),
        };
        let is_logic = |word: &str| matches!(word, "and" | "or" | "unless" | "not" | "&&" | "||" | "!");
        let next = self.text_at(self.position + 1);
        let is_alone = next.is_empty() || is_logic(next);
        let is_part = before == "when" || is_logic(before) || self.position == 0 && !next.is_empty();
        let is_condition = is_alone && is_part;
        let entries = self.record_entries(self.pairs[record.pair_or_token_index]).filter(|_| is_condition)?;
        let message = message!("a condition is not written as a record");
        Some(match self.join_conditions_of_entries(&entries, None) {
            Some(written) if written.len() <= MAX_CONDITION_BYTES => {
                let is_joined = written.contains(" and ") || written.contains(" or ");
                let written =
                    if is_joined && self.elements.len() > 1 { format!("({written})") } else { written };
                let help = message!("write `{written}`");
                unexpected_token(record.span, message, help).likely_fix(record.span, written)
            }
            _ => {
                let help = message!(
                    "write the operator between its operands, as in `x ends_with \"a\"`, and join conditions with \
                    `and` or `or`"
                );
                unexpected_token(record.span, message, help)
            }
        })
    }

    /// Returns the diagnostic for a comparison that is written as a record after its left operand,
    /// as in `n { gt: 3 }`. The parser is at the record. `None` without such a mistake.
    pub(in super::super) fn record_as_comparison_error(&self, left: Span) -> Option<Diagnostic> {
        let record = self.peek().filter(|element| element.kind == ExprElementKind::Braces)?;
        let entries = self.record_entries(self.pairs[record.pair_or_token_index])?;
        let left_text = &self.cx.text[left.range()];
        let written = self.join_conditions_of_entries(&entries, Some(left_text))?;
        let message = message!("a comparison is not written as a record");
        let help = message!("write `{written}`");
        Some(unexpected_token(record.span, message, help).likely_fix(left.to(record.span), written))
    }

    /// Returns the keys and values of a record. `None` for other braces.
    fn record_entries(&self, record: Pair<'p>) -> Option<Vec<(&'cx str, Pair<'p>)>> {
        let inner = children(&record, Rule::entries).next()?;
        let entry = |entry: Pair<'p>| {
            let key = entry.into_inner().next()?;
            let value = children(&entry, Rule::expression).next()?;
            Some((self.cx.text(&key).trim_matches('"'), value))
        };
        children(&inner, Rule::entry).map(entry).collect()
    }

    /// Returns the only child of an expression's tree node, if the grammar rule `rule` matched this
    /// child. `None` otherwise.
    fn only_child(value: &Pair<'p>, rule: Rule) -> Option<Pair<'p>> {
        let mut parts = value.into_inner();
        parts.next().filter(|part| part.as_rule() == rule && parts.next().is_none())
    }

    /// Returns the conditions that the entries of a record mean, joined by `and`. If the entries
    /// are comparisons of one value, `left` is this value. `None` if an entry is no condition.
    fn join_conditions_of_entries(&self, entries: &[(&str, Pair<'p>)], left: Option<&str>) -> Option<String> {
        let conditions: Option<Vec<String>> =
            entries.iter().map(|(key, value)| self.condition_of_entry(key, value, left)).collect();
        conditions.filter(|conditions| !conditions.is_empty()).map(|conditions| conditions.join(" and "))
    }

    fn condition_of_entry(&self, key: &str, value: &Pair<'p>, left: Option<&str>) -> Option<String> {
        let list = Self::only_child(value, Rule::brackets);
        let record = Self::only_child(value, Rule::braces);
        let name = key.trim_start_matches(['$', '_']).to_lowercase();
        let operator = foreign::operator_for_query_name(key);
        if let Some(left) = left {
            let operator = operator.filter(|_| record.is_none())?;
            return Some(format!("{left} {operator} {}", self.cx.text(value)));
        }
        let elements =
            || -> Option<Vec<Pair<'p>>> { Some(children(list.as_ref()?, Rule::expression).collect()) };
        match name.as_str() {
            "and" | "all" | "or" | "any" | "&&" | "||" => {
                let joint = if matches!(name.as_str(), "and" | "all" | "&&") { " and " } else { " or " };
                let parts: Option<Vec<String>> =
                    elements()?.iter().map(|element| self.write_nested_condition(element)).collect();
                return parts.map(|parts| parts.join(joint));
            }
            "not" | "!" => return Some(format!("not ({})", self.write_nested_condition(value)?)),
            _ => {}
        }
        if let (Some(operator), Some(operands)) = (&operator, elements()) {
            let [left, right] = operands.as_slice() else { return None };
            return Some(format!("{} {operator} {}", self.operand_text(left), self.operand_text(right)));
        }
        let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.');
        if !key.chars().all(is_path) || key.starts_with(|c: char| c.is_ascii_digit()) {
            return None;
        }
        match (record, list) {
            (Some(record), _) => self.join_conditions_of_entries(&self.record_entries(record)?, Some(key)),
            (None, Some(_)) => Some(format!("{key} in {}", self.cx.text(value))),
            (None, None) if self.cx.text(value) == "null" => Some(format!("{key} is missing")),
            (None, None) => Some(format!("{key} == {}", self.cx.text(value))),
        }
    }

    /// Returns the source text of one condition in a list of conditions, in parentheses if it has
    /// several parts. `None` if it is a record that means no condition.
    fn write_nested_condition(&self, value: &Pair<'p>) -> Option<String> {
        let Some(record) = Self::only_child(value, Rule::braces) else {
            return Some(self.cx.text(value).to_owned());
        };
        let written = self.join_conditions_of_entries(&self.record_entries(record)?, None)?;
        let is_joined = written.contains(" and ") || written.contains(" or ");
        Some(if is_joined { format!("({written})") } else { written })
    }

    /// Returns the source text of one operand in a list of operands. The operand `{ "var": "a.b" }`
    /// of JsonLogic becomes `a.b`.
    fn operand_text(&self, value: &Pair<'p>) -> &'cx str {
        let entries = Self::only_child(value, Rule::braces).and_then(|record| self.record_entries(record));
        match entries.as_deref() {
            Some([("var", field)]) => self.cx.text(field).trim_matches('"'),
            _ => self.cx.text(value),
        }
    }

    /// Returns the diagnostic for parentheses that contain no expression, or several. `count` is
    /// the number of expressions. A field and its value with `:` between them are no expression;
    /// the help then suggests `==`.
    pub(in super::super) fn group_error(&self, group: ExprElement, count: usize) -> Diagnostic {
        let message = message!("parentheses must contain exactly one expression");
        let mut arguments = self.inner_pairs(group).filter(|part| part.as_rule() == Rule::argument);
        if let (Some(argument), 0) = (arguments.next(), count)
            && arguments.next().is_none()
            && let Some(name) = argument.into_inner().next()
            && let Some(value) = children(&argument, Rule::expression).next()
        {
            let written = format!("{} == {}", self.cx.text(&name), self.cx.text(&value));
            let message = message!("a field is compared with `==`, not with `:`");
            let span = self.cx.span(&argument);
            return unexpected_token(span, message, message!("write `{written}`")).likely_fix(span, written);
        }
        let elements = self.element_text(group).trim_matches(['(', ')']).trim();
        if count > 1 && !elements.contains(['(', '\n', ':']) {
            return foreign::foreign_syntax_error(group.span, message, &format!("[{elements}]"));
        }
        unexpected_token(group.span, message, message!("a list is written `[a, b]`"))
    }
}
