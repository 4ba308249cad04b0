//! Diagnostics for calls of methods, which values of this language do not have.

use super::super::expr::{ExprElement, ExprElementKind, PrecedenceClimber};
use super::super::{foreign, lambdas};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::builtins;

impl PrecedenceClimber<'_, '_, '_> {
    /// Returns the diagnostic for a method call in the syntax of other languages, such as
    /// `text.lower()`. The parser is at the parentheses of the call. `None` without such a mistake.
    pub(in super::super) fn method_call_error(&self) -> Option<Diagnostic> {
        let (elements_before, rest) = self.elements.split_at(self.position);
        let (member, base) = elements_before.split_last()?;
        let group = rest.first().filter(|element| element.kind == ExprElementKind::Group)?;
        if member.kind != ExprElementKind::Member {
            return None;
        }
        let is_suffix = |element: &ExprElement| {
            matches!(element.kind, ExprElementKind::Member | ExprElementKind::Brackets)
        };
        let first = base.iter().rposition(|element| !is_suffix(element))?;
        let is_call = first > 0
            && base[first].kind == ExprElementKind::Group
            && base[first - 1].kind == ExprElementKind::Word;
        let start = base[first - usize::from(is_call)].span;
        let call_span = start.to(group.span);
        let text = |from: u32, to: u32| self.cx.text[from as usize..to as usize].trim();
        let name = text(member.span.start, member.span.end).trim_start_matches('.').trim_start();
        let args = text(group.span.start + 1, group.span.end - 1);
        // In `items.iter().any(…)`, only the second method means something.
        let next = |ahead: usize| rest.get(ahead).copied();
        let chained = next(1).zip(next(2)).filter(|(member, group)| {
            member.kind == ExprElementKind::Member
                && group.kind == ExprElementKind::Group
                && lambdas::is_conversion(name, args)
        });
        let (name, args, call_span, length) = match chained {
            Some((member, group)) => (
                text(member.span.start, member.span.end).trim_start_matches('.').trim_start(),
                text(group.span.start + 1, group.span.end - 1),
                start.to(group.span),
                next(3),
            ),
            None => (name, args, call_span, next(1)),
        };
        let diagnostic =
            Diagnostic::new(Code::Unexpected, call_span, message!("`.{name}(…)`: values have no methods"));
        let base_text = text(start.start, member.span.start);
        let is_length = |element: &ExprElement| {
            matches!(self.element_text(*element), ".length" | ".size" | ".count" | ".len")
        };
        if let Some((length, written)) =
            length.filter(is_length).zip(lambdas::translate_counting_method(base_text, name, args))
        {
            let whole = call_span.to(length.span);
            let help = message!("write `{written}`", written = written.clone());
            return Some(
                Diagnostic { fixes: Vec::new(), ..diagnostic }.help(help).likely_fix(whole, written),
            );
        }
        if lambdas::is_conversion(name, args) {
            let help = message!("write `{base}` without `.{name}()`", base = base_text.to_owned());
            return Some(diagnostic.help(help).likely_fix(call_span, base_text));
        }
        if let Some(diagnostic) = self.duration_method_error(diagnostic.clone(), (base_text, name), call_span)
        {
            return Some(diagnostic);
        }
        if builtins::is_clock_function(name) {
            return Some(diagnostic.help(builtins::NO_CLOCK_HELP));
        }
        let replacement = lambdas::translate_quantifier_method(base_text, name, args)
            .or_else(|| foreign::translate_method_call(base_text, name, args));
        Some(match replacement {
            Some(written) if written.contains('…') => diagnostic.help(message!("write `{written}`")),
            Some(written) => {
                // The value of a call of a module is its first argument.
                let first = written.split_once(' ').map_or(base_text, |(first, _)| first).to_owned();
                let value = if written.contains(base_text) { base_text } else { &first };
                self.suggest_call_replacement(diagnostic, (value, args), (call_span, written))
            }
            None if foreign::is_time_parser(name, base_text) => diagnostic.help(message!(
                "a text becomes a time by the type of its field: declare `{field}: datetime` in `input`, \
                    and compare `{field}` itself",
                field = args.rsplit('.').next().unwrap_or(args).to_owned()
            )),
            None => diagnostic.help(message!(
                "there is no function for `{name}`; functions are called as in `lower(x)`, `len(x)` and \
                `round(x, 2)`, and operators are written between their operands, as in `x contains \"a\"`",
                name = name.to_owned()
            )),
        })
    }

    /// Returns the span and the replacement of a chain of calls, as in `text.trim().lower()`.
    /// `first` is the span of the first call, and `written` its replacement. `None` if no call
    /// follows, or if a call has no equivalent.
    pub(super) fn translate_chained_calls(&self, first: Span, written: &str) -> Option<(Span, String)> {
        let (mut span, mut written) = (first, written.to_owned());
        let mut index = self.elements.iter().position(|element| element.span.start >= first.end)?;
        while self.kind_at(index) == Some(ExprElementKind::Member)
            && self.kind_at(index + 1) == Some(ExprElementKind::Group)
        {
            let name = self.text_at(index).trim_start_matches('.').trim();
            let args = self.text_at(index + 1).strip_prefix('(')?.strip_suffix(')')?.trim();
            written =
                foreign::translate_method_call(&written, name, args).filter(|next| !next.contains('…'))?;
            span = span.to(self.element_span(index + 1));
            index += 2;
        }
        (span != first).then_some((span, written))
    }

    /// Returns the diagnostic for a condition on elements in braces, as in `items.any { it.cost > 3
    /// }`. The braces are the current element, and `left` is the span of the value before them.
    /// `None` for other braces.
    pub(in super::super) fn block_after_method_error(&self, left: Span) -> Option<Diagnostic> {
        let braces = self.peek().filter(|element| element.kind == ExprElementKind::Braces)?;
        let (list, method) = self.cx.text[left.range()].rsplit_once('.')?;
        let inner = self.element_text(braces).strip_prefix('{')?.strip_suffix('}')?.trim();
        // `{ x -> x.cost > 3 }` names the element, and `it` is its name otherwise.
        let lambda = match inner.split_once("->").or_else(|| inner.split_once("=>")) {
            Some((name, condition)) => format!("{} => {}", name.trim(), condition.trim()),
            None => format!("it => {inner}"),
        };
        let written = lambdas::translate_quantifier_method(list, method, &lambda)?;
        let message = message!("a condition on elements follows the name of the element and `:`");
        let whole = left.to(braces.span);
        let help = message!("write `{written}`", written = written.clone());
        Some(Diagnostic::new(Code::Unexpected, whole, message).help(help).likely_fix(whole, written))
    }

    /// Returns the diagnostic for a method that reads a duration in a unit, as in `(now -
    /// sent).getHours() > 2`. `diagnostic` reports the method. `None` for other methods.
    fn duration_method_error(
        &self,
        diagnostic: Diagnostic,
        (base, name): (&str, &str),
        call: Span,
    ) -> Option<Diagnostic> {
        let lower = name.to_lowercase().replace('_', "");
        let unit = ["get", "total", "in", "to", "as", "num"].into_iter().find_map(|verb| {
            let unit = lower.strip_prefix(verb)?;
            Some(match unit {
                "millis" | "milliseconds" => "1ms",
                "seconds" => "1s",
                "minutes" => "1min",
                "hours" => "1h",
                "days" => "1d",
                "weeks" => "1w",
                _ => return None,
            })
        })?;
        let inner = base.strip_prefix('(').and_then(|base| base.strip_suffix(')')).unwrap_or(base);
        let is_difference = inner.contains(" - ") && !inner.contains(['(', ')']);
        if !is_difference {
            return None;
        }
        let sign = self.position + 1;
        let is_comparison = matches!(self.text_at(sign), "<" | ">" | "<=" | ">=");
        let number = Some(sign + 1).filter(|number| self.kind_at(*number) == Some(ExprElementKind::Number));
        let Some(number) = number.filter(|_| is_comparison) else {
            let written = format!("({inner}) / {unit}");
            let help = message!(
                "a difference of two times is a number of seconds: write `{written}`",
                written = written.clone()
            );
            return Some(diagnostic.help(help).likely_fix(call, written));
        };
        let duration = format!("{}{}", self.text_at(number), &unit[1..]);
        let written = format!("{inner} {} {duration}", self.text_at(sign));
        let whole = call.to(self.element_span(number));
        let help = message!(
            "a difference of two times is a number of seconds: write `{written}`",
            written = written.clone()
        );
        Some(diagnostic.help(help).likely_fix(whole, written))
    }
}
