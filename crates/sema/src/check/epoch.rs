//! Warns about a number that is read as a time in the wrong unit, as in
//! `from_epoch_seconds(created_ms)`.

use super::Checker;
use super::units::{Dimension, unit_implied_by_name};
use crate::hir::Expr;
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::span::Span;
use rulec_base::{broken_invariant, message};
use rulec_lang::builtins::Function;

/// The first number of seconds that is outside the years 0 to 9999.
const END_OF_YEAR_9999: f64 = 253_402_300_800.0;

/// The number of milliseconds from 1970 to the start of 1972. A smaller number is probably a number
/// of seconds: until the year 3968, every number of seconds since 1970 is below this bound.
const MIN_USUAL_MILLIS: f64 = 63_072_000_000.0;

impl Checker<'_> {
    /// Warns about a call of `from_epoch_seconds` or `from_epoch_millis` with an argument in
    /// another unit. The name of a field says its unit; a constant lies outside the usual times.
    pub(super) fn warn_unit_of_epoch(&mut self, function: Function, args: &[Expr], span: Span) {
        let read_per_second = match function {
            Function::FromEpochSeconds => 1.0,
            Function::FromEpochMillis => 1e3,
            _ => return,
        };
        let [value] = args else {
            return broken_invariant!("a call has as many arguments as its function takes");
        };
        let name = function.info().name;
        let written = self.loaded.sources.slice(value.span).to_owned();
        if let Some(number) = value.as_const().and_then(|constant| constant.value().to_json().as_f64()) {
            let other = match function {
                Function::FromEpochSeconds if number >= END_OF_YEAR_9999 => Function::FromEpochMillis,
                // Small numbers occur in tests of the start of the epoch.
                Function::FromEpochMillis if (1e8..MIN_USUAL_MILLIS).contains(&number) => {
                    Function::FromEpochSeconds
                }
                _ => return,
            };
            let message = match function {
                Function::FromEpochSeconds => message!("`{written}` seconds are after the year 9999"),
                _ => message!("`{written}` milliseconds are before the year 1972"),
            };
            self.warn_and_suggest_call(
                value.span,
                message,
                span,
                format!("{}({written})", other.info().name),
            );
            return;
        }
        let Some(field) = self.name_of_value(value) else { return };
        let named = unit_implied_by_name(&field).filter(|(_, measured, _)| *measured == Dimension::Time);
        let Some((unit, per_second)) = named
            .map(|(unit, _, length)| (unit, (1.0 / length).round()))
            .filter(|(_, count)| *count >= 1.0 && (count - read_per_second).abs() > 0.5)
        else {
            return;
        };
        let call = match per_second {
            1.0 => format!("from_epoch_seconds({written})"),
            1e3 => format!("from_epoch_millis({written})"),
            1e6 => format!("from_epoch_millis({written} / 1000)"),
            _ => format!("from_epoch_millis({written} / 1_000_000)"),
        };
        let message = match function {
            Function::FromEpochSeconds => message!("`{name}` reads seconds, but `{field}` says `{unit}`"),
            _ => message!("`{name}` reads milliseconds, but `{field}` says `{unit}`"),
        };
        self.warn_and_suggest_call(value.span, message, span, call);
    }

    /// Warns about a number, and suggests `written` in place of the call that reads it.
    fn warn_and_suggest_call(&mut self, number: Span, message: Message, call: Span, written: String) {
        let help = message!("write `{replacement}`", replacement = written.clone());
        let diagnostic = Diagnostic::new(Code::UnitOfName, number, message).help(help);
        self.diagnostics.push(diagnostic.likely_fix(call, written));
    }
}
