//! Quotes the body of a `def` with the arguments of its call in place of the parameters. The body
//! alone has the same text for every call, so it does not show which call failed.

use super::quote::{quote_on_one_line, substitute_names};
use super::record::TracedEvaluator;
use rulec_base::span::Span;
use rulec_sema::hir::{Cond, CondKind};

impl TracedEvaluator<'_, '_> {
    /// Returns the source text of a span, on one line, as the trace quotes it. If the span is in
    /// the body of a `def` that is evaluated, the call's arguments replace the parameters.
    pub(super) fn source_text(&self, span: Span) -> String {
        self.text_inside_calls(span, &self.observer.def_calls_in_progress())
    }

    /// Returns the source text of a span. If the span is in the body of a `def` that one of `calls`
    /// calls, the parameters are replaced by the arguments of this call. The last element of
    /// `calls` is the innermost call.
    fn text_inside_calls(&self, span: Span, calls: &[&Cond]) -> String {
        let text = self.observer.source.text(span);
        for (depth, call) in calls.iter().enumerate().rev() {
            let CondKind::Call(_, arguments, body) = &call.kind else { continue };
            // The body may be nothing but an argument, whose text is a part of the call.
            if !body.span.contains(span) || call.span.contains(span) {
                continue;
            }
            // Without the source text, the text is a location.
            if self.observer.source.place(span).is_some_and(|place| place.to_string() == text) {
                break;
            }
            let argument = |name: &str| {
                let bound = arguments.iter().find(|argument| *argument.parameter == *name)?;
                Some(self.text_inside_calls(bound.span, &calls[..depth]))
            };
            return quote_on_one_line(&substitute_names(&text, &argument));
        }
        quote_on_one_line(&text)
    }
}
