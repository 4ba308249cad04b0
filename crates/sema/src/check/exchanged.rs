//! Reports two swapped arguments: neither has the type of its parameter, and each has the type of
//! the other parameter.

use super::Checker;
use crate::hir::Expr;
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::ty::KindSet;

impl Checker<'_> {
    /// Returns the diagnostic for two swapped arguments. `args` are the checked arguments, each
    /// with the name and the kinds of its parameter. `None` if no two arguments are swapped.
    pub(super) fn swapped_arguments_error(
        &self,
        function: &str,
        args: &[(&Expr, &str, KindSet)],
        declared: Option<Span>,
    ) -> Option<Diagnostic> {
        let fits = |arg: &Expr, kinds: KindSet| arg.ty.kinds.overlaps(kinds.with_accepted_kinds());
        let wrong: Vec<_> = args.iter().filter(|(arg, _, kinds)| !fits(arg, *kinds)).collect();
        let [(first, first_name, first_kinds), (second, second_name, second_kinds)] = wrong.as_slice() else {
            return None;
        };
        if !fits(first, *second_kinds) || !fits(second, *first_kinds) {
            return None;
        }
        let slice = |arg: &Expr| self.loaded.sources.slice(arg.span).to_owned();
        let message =
            message!("the arguments for `{first_name}` and `{second_name}` of `{function}` are exchanged");
        let (one, other) = (slice(first), slice(second));
        let diagnostic = Diagnostic::new(Code::ArgumentType, first.span, message)
            .here(first.ty.to_message())
            .label(second.span, second.ty.to_message())
            .label_declaration(declared)
            .help(message!("write `{other}` for `{first_name}`, and `{one}` for `{second_name}`"));
        let both = first.span.to(second.span);
        let between = Span { start: first.span.end, end: second.span.start, ..both };
        if between.start > between.end {
            return Some(diagnostic);
        }
        let swapped = format!("{other}{}{one}", self.loaded.sources.slice(between));
        Some(diagnostic.likely_fix(both, swapped))
    }
}
