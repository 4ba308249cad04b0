//! Finds days and months that are written as constants of another language, such as
//! `DayOfWeek.SATURDAY`. Here a day or month is a number, which `weekday` and `month` return.

use super::Checker;
use super::path::ConstantPath;
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::Span;

/// Modules and classes of other languages that define days or months, such as `calendar`.
const CALENDAR_MODULE_NAMES: [&str; 8] =
    ["time", "calendar", "datetime", "date", "dayofweek", "weekday", "weekdays", "month"];

impl<'a> Checker<'a> {
    /// Returns the remedy for a day or month of another language, such as `time.Saturday`: its
    /// number, and the place that the number replaces. `None` for other paths.
    pub(super) fn foreign_day_or_month_remedy(
        &self,
        path: &ConstantPath<'a>,
    ) -> Option<(Message, Option<(Span, String)>)> {
        let names = path.names.as_slice();
        let span = path.segment_spans[0].0.to(path.segment_spans[names.len() - 1].0);
        let (function, number) = function_and_number_of_day(names)?;
        let is_constant = names[names.len() - 1].starts_with(char::is_uppercase)
            || names.len() == 1
            || CALENDAR_MODULE_NAMES.contains(&names[0].to_lowercase().as_str());
        let statement = self.statements().find(|statement| {
            let place = statement.span;
            place.file == span.file && (place.start..place.end).contains(&span.start)
        })?;
        let source = self.loaded.sources.slice(statement.span);
        let before = source.get(..(span.start - statement.span.start) as usize)?.trim_end();
        let after = source.get((span.end - statement.span.start) as usize..)?.trim_start();
        let call = format!("{function}(");
        let follows = before.ends_with(['=', '<', '>', '[', ',', '.']) || before.ends_with(" in");
        let precedes = after.trim_start_matches(['=', '!', '<', '>']).trim_start().starts_with(&call);
        if !is_constant || !(precedes || follows && before.contains(&call)) {
            return None;
        }
        let help = match function {
            "month" => message!("`month` gives 1 for January to 12 for December: write `{number}`"),
            _ => message!("`weekday` gives 1 for Monday to 7 for Sunday: write `{number}`"),
        };
        Some((help, Some((span, number.to_string()))))
    }

    /// Warns about a path such as `DayOfWeek.SATURDAY` that is read as a field of the message.
    /// Returns whether it warns.
    pub(super) fn warn_foreign_day(&mut self, path: &ConstantPath<'a>) -> bool {
        let Some((help, fix)) = self.foreign_day_or_month_remedy(path) else { return false };
        let span = path.segment_spans[0].0.to(path.segment_spans[path.names.len() - 1].0);
        let message = message!("`{}` is read as a field of the message", path.names.join("."));
        let diagnostic = Diagnostic::new(Code::LooksLikeName, span, message).help(help);
        let diagnostic = fix.into_iter().fold(diagnostic, |all, (span, text)| all.likely_fix(span, text));
        self.diagnostics.push(diagnostic);
        true
    }
}

/// Returns the function and the number for a day or month of another language, such as `weekday`
/// and 6 for `time.Saturday`. `None` for other paths.
fn function_and_number_of_day(names: &[&str]) -> Option<(&'static str, usize)> {
    const DAYS: [&str; 7] = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    const MONTHS: [&str; 12] = [
        "january",
        "february",
        "march",
        "april",
        "may",
        "june",
        "july",
        "august",
        "september",
        "october",
        "november",
        "december",
    ];
    let last = names.last()?.to_lowercase();
    let number = |words: &[&str]| {
        let fits = |word: &str| word == last || last.len() == 3 && word.starts_with(&last);
        words.iter().position(|word| fits(word)).map(|index| index + 1)
    };
    match (names.len() <= 3, number(&DAYS), number(&MONTHS)) {
        (true, Some(day), _) => Some(("weekday", day)),
        (true, _, Some(month)) => Some(("month", month)),
        _ => None,
    }
}
