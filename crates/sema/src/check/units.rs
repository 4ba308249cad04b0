//! Warns about a duration or a size that is compared with a value whose name implies another unit,
//! as in `wait_ms > 30s`. A duration is a number of seconds, and a size a number of bytes. Also
//! warns about a duration without a unit, such as `history within 10`, or one that is probably a
//! number of milliseconds.

use super::Checker;
use crate::hir::{Expr, ExprKind, Term};
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::operators::Op;
use rulec_lang::ty::KindSet;
use rulec_syntax::ast;
use rulec_syntax::parse::UNITS_WITH_FACTORS;

/// The quantity that a unit measures: time or size.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dimension {
    Time,
    Size,
}

/// The units that names of fields end with: the words for the unit, whether it measures time or
/// size, and the length of one unit in seconds or bytes.
const NAMED_UNITS: &[(&[&str], Dimension, f64)] = &[
    (&["ns", "nanos", "nanosecond", "nanoseconds"], Dimension::Time, 1e-9),
    (&["us", "micros", "microsecond", "microseconds"], Dimension::Time, 1e-6),
    (
        &["ms", "msec", "msecs", "milli", "millis", "millisecond", "milliseconds", "毫秒"],
        Dimension::Time,
        1e-3,
    ),
    (&["s", "sec", "secs", "second", "seconds", "秒"], Dimension::Time, 1.0),
    (&["mins", "minute", "minutes"], Dimension::Time, 60.0),
    (&["hr", "hrs", "hours"], Dimension::Time, 3600.0),
    (&["days"], Dimension::Time, 86_400.0),
    (&["weeks"], Dimension::Time, 604_800.0),
    (&["byte", "bytes"], Dimension::Size, 1.0),
    (&["kb", "kilobytes"], Dimension::Size, 1e3),
    (&["mb", "megabytes"], Dimension::Size, 1e6),
    (&["gb", "gigabytes"], Dimension::Size, 1e9),
    (&["tb", "terabytes"], Dimension::Size, 1e12),
    (&["kib"], Dimension::Size, 1024.0),
    (&["mib"], Dimension::Size, 1_048_576.0),
    (&["gib"], Dimension::Size, 1_073_741_824.0),
];

/// A duration without a unit gets a warning only if it is below this number of seconds, because its
/// author may have meant another unit. A greater number is probably meant in seconds.
const MIN_SECONDS_WITHOUT_WARNING: u64 = 300;

impl Checker<'_> {
    /// Warns about a number with a unit that is compared with a value whose name implies another
    /// unit. Also warns about a number of milliseconds that is compared with a difference of two
    /// times.
    pub(super) fn warn_other_unit(&mut self, binary: &ast::Binary, left: &Expr, right: &Expr) {
        self.warn_unit_unlike_name(left, &binary.right);
        self.warn_unit_unlike_name(right, &binary.left);
        self.warn_milliseconds_for_seconds(left, &binary.right);
        self.warn_milliseconds_for_seconds(right, &binary.left);
    }

    /// Warns about a difference of two times, in seconds, that is compared with a number of
    /// milliseconds: `now - created > 86_400_000`.
    fn warn_milliseconds_for_seconds(&mut self, value: &Expr, written: &ast::Expr) {
        if !self.is_difference_of_times(value) {
            return;
        }
        let numbers = find_literals(written).unwrap_or_else(|| vec![written]);
        numbers.into_iter().for_each(|number| self.warn_milliseconds(number.span));
    }

    fn is_difference_of_times(&self, value: &Expr) -> bool {
        match &value.kind {
            ExprKind::Op(Op::Sub, left, Some(right)) => {
                [left, right].iter().all(|time| time.ty.kinds == KindSet::DATETIME)
            }
            ExprKind::Read(inner, _) => self.is_difference_of_times(inner),
            ExprKind::Let(id) => match self.program.let_body(*id) {
                Term::Expr(body) => self.is_difference_of_times(body),
                Term::Cond(_) => false,
            },
            _ => false,
        }
    }

    /// Warns about a number that counts as seconds but is probably meant in milliseconds, as in
    /// `created + 3_600_000`. `span` is the span of the number.
    pub(super) fn warn_milliseconds(&mut self, span: Span) {
        let written = self.loaded.sources.slice(span);
        let Some(number) = multiply_literals(written) else { return };
        let Some(meant) = milliseconds_to_usual_duration(number) else { return };
        let days = format_grouped_number((number as f64 / 86_400.0 * 10.0).round() / 10.0);
        let message = message!("a duration is a number of seconds, and `{written}` seconds are {days} days");
        let help = message!("for milliseconds, write `{meant}`; if seconds are meant, write `{number}s`");
        let diagnostic = Diagnostic::new(Code::DurationWithoutUnit, span, message).help(help);
        self.diagnostics.push(diagnostic.likely_fix(span, meant));
    }

    fn warn_unit_unlike_name(&mut self, value: &Expr, written: &ast::Expr) {
        let Some(literals) = find_literals(written) else { return };
        let Some(name) = self.name_of_value(value) else { return };
        let Some((word, measured, length)) = unit_implied_by_name(&name) else { return };
        for literal in literals {
            let Some((amount, other)) = parse_amount(self.loaded.sources.slice(literal.span)) else {
                continue;
            };
            if other == measured && (length - 1.0).abs() < f64::EPSILON {
                continue;
            }
            let span = literal.span;
            let shown = format_grouped_number(amount);
            let message = match other {
                Dimension::Time => {
                    message!("a duration is a number of seconds, here {shown}, but `{name}` says `{word}`")
                }
                Dimension::Size => {
                    message!("a size is a number of bytes, here {shown}, but `{name}` says `{word}`")
                }
            };
            let diagnostic = Diagnostic::new(Code::UnitOfName, span, message);
            let meant = format_grouped_number(amount / length);
            self.diagnostics.push(match other == measured {
                // The definition may compute seconds, so that its name is wrong.
                _ if matches!(value.kind, ExprKind::Let(_)) => {
                    diagnostic.help(message!("rename `{name}`, or write the number of `{word}`"))
                }
                true => diagnostic
                    .help(message!("write `{meant}`, the number of `{word}`"))
                    .likely_fix(span, meant),
                false => diagnostic.help(message!(
                    "durations have the units `ms` `s` `m` `h` `d` `w`, sizes the units `kB` `MB` `GB` `TB`"
                )),
            });
        }
    }

    /// Returns the name of the message field, record field or `let` that a value reads.
    pub(super) fn name_of_value(&self, value: &Expr) -> Option<String> {
        match &value.kind {
            ExprKind::Slot(id) => self.fields.slot(*id).path.last().map(|name| name.to_string()),
            ExprKind::Field(_, name) => Some(name.to_string()),
            ExprKind::Read(inner, _) => self.name_of_value(inner),
            ExprKind::Let(id) => Some(self.program.lets[id.index()].name.to_string()),
            _ => None,
        }
    }

    /// Warns about a duration without a unit, which is a number of seconds: `history within 10`.
    /// Also warns if the number is probably meant in milliseconds.
    pub(super) fn warn_no_unit(&mut self, span: Span) {
        self.warn_milliseconds(span);
        let written = self.loaded.sources.slice(span);
        let Ok(seconds) = written.parse::<u64>() else { return };
        if seconds >= MIN_SECONDS_WITHOUT_WARNING || seconds == 0 {
            return;
        }
        let message = message!("a duration without a unit is a number of seconds, here {written}");
        let help = message!(
            "write `{written}s` for seconds, `{written}m` for minutes, `{written}h` for hours, `{written}d` for days"
        );
        let diagnostic = Diagnostic::new(Code::DurationWithoutUnit, span, message).help(help);
        self.diagnostics.push(diagnostic.likely_fix(span, format!("{written}s")));
    }
}

/// Returns the two operands of a difference of two times. `None` for other expressions.
pub(super) fn difference_of_times(value: &Expr) -> Option<(&Expr, &Expr)> {
    match &value.kind {
        ExprKind::Op(Op::Sub, left, Some(right)) => {
            let are_times = [left, right].iter().all(|time| time.ty.kinds == KindSet::DATETIME);
            are_times.then_some((&**left, &**right))
        }
        ExprKind::Read(inner, _) => difference_of_times(inner),
        _ => None,
    }
}

/// Returns the parts of an expression that may be literals: a literal itself, the elements of a
/// list, or both ends of a range. `None` for another expression.
fn find_literals(written: &ast::Expr) -> Option<Vec<&ast::Expr>> {
    Some(match &written.kind {
        ast::ExprKind::Literal(_) => vec![written],
        ast::ExprKind::List(items) => items.iter().collect(),
        ast::ExprKind::Range { start, end, .. } => vec![&**start, &**end],
        _ => return None,
    })
}

/// Returns the value of a number without a unit, or of a product of such numbers, as in
/// `24 * 60 * 60 * 1000`. One factor of the product must be a multiple of 1000: `50 * 3600`, for
/// example, is plainly meant in seconds. `None` for other expressions.
fn multiply_literals(written: &str) -> Option<u64> {
    let factors: Option<Vec<u64>> =
        written.split('*').map(|factor| factor.trim().replace('_', "").parse().ok()).collect();
    let factors =
        factors.filter(|all| all.len() == 1 || all.iter().any(|factor| factor.is_multiple_of(1000)))?;
    factors.into_iter().try_fold(1_u64, u64::checked_mul)
}

/// Converts a number of milliseconds to a duration that authors often write, such as `5m`: 1 to 4
/// minutes, multiples of 5 minutes up to an hour. Also whole hours up to a day, and whole days up
/// to a year. `None` for other numbers.
fn milliseconds_to_usual_duration(number: u64) -> Option<String> {
    let minutes = Some(number / 60_000).filter(|_| number.is_multiple_of(60_000))?;
    Some(match (minutes / 60, minutes % 60) {
        (0, 1..=4) => format!("{minutes}m"),
        (0, 5..) if minutes % 5 == 0 => format!("{minutes}m"),
        (hours @ 1..24, 0) => format!("{hours}h"),
        (hours @ 24..=8784, 0) if hours % 24 == 0 => format!("{}d", hours / 24),
        _ => return None,
    })
}

/// Returns the unit that the last word of a name implies: the word, whether the unit measures time
/// or size, and the length of one unit in seconds or bytes. `None` if the word is no unit, or if a
/// short name such as `min` consists only of this word.
pub(super) fn unit_implied_by_name(name: &str) -> Option<(&'static str, Dimension, f64)> {
    let word = last_word(name);
    // A name that is only an abbreviation may mean something else.
    let is_abbreviation = word.len() == name.len() && word.len() <= 3 && word.is_ascii();
    // Chinese names have no mark between their words.
    let is_meant = |unit: &&&str| word == **unit || !unit.is_ascii() && word.ends_with(**unit);
    let (unit, measured, length) = NAMED_UNITS
        .iter()
        .find_map(|(words, measured, length)| Some((*words.iter().find(is_meant)?, *measured, *length)))?;
    (!is_abbreviation).then_some((unit, measured, length))
}

/// Returns the last word of a name, in lower case: `ms` for `wait_ms` and for `waitMs`.
pub(super) fn last_word(name: &str) -> String {
    let start = name
        .char_indices()
        .zip(name.chars().skip(1))
        .filter(|((_, before), c)| *before == '_' || before.is_lowercase() && c.is_uppercase())
        .map(|((index, before), _)| index + before.len_utf8())
        .last()
        .unwrap_or(0);
    name[start..].to_lowercase()
}

/// Returns the number of seconds or bytes of a literal with a unit. `None` for a literal without a
/// unit.
fn parse_amount(written: &str) -> Option<(f64, Dimension)> {
    let end = written.find(|c: char| c.is_alphabetic())?;
    let (digits, unit) = written.split_at(end);
    let (name, factor, divisor) = UNITS_WITH_FACTORS.iter().find(|(name, ..)| *name == unit)?;
    let number: f64 = digits.replace('_', "").trim().parse().ok()?;
    let measured = if name.ends_with('B') { Dimension::Size } else { Dimension::Time };
    Some((number * *factor as f64 / *divisor as f64, measured))
}

/// Returns a number as an author writes it, with `_` between groups of digits.
fn format_grouped_number(value: f64) -> String {
    // Division by a power of ten leaves rounding errors in the last digits.
    let rounded = (value * 1e6).round() / 1e6;
    let plain = rounded.to_string();
    let (whole, fraction) = plain.split_once('.').unwrap_or((&plain, ""));
    if whole.len() < 5 || !whole.bytes().all(|byte| byte.is_ascii_digit()) {
        return plain;
    }
    let groups: Vec<_> = whole.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    let whole = groups.join("_");
    if fraction.is_empty() { whole } else { format!("{whole}.{fraction}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_word_of_a_name_says_the_unit() {
        let check = |name: &str, expected: Option<&str>| {
            assert_eq!(unit_implied_by_name(name).map(|(word, ..)| word), expected, "{name}");
        };
        check("wait_ms", Some("ms"));
        check("latencyMs", Some("ms"));
        check("age_days", Some("days"));
        check("size_mb", Some("mb"));
        check("minutes", Some("minutes"));
        check("created_s", Some("s"));
        check("等待毫秒", Some("毫秒"));
        check("等待秒", Some("秒"));
        check("ms", None);
        check("items", None);
        check("price_min", None);
        check("terms", None);
    }

    #[test]
    fn usual_durations_are_recognized_in_milliseconds() {
        let check = |written: &str, expected: Option<&str>| {
            let number = multiply_literals(written);
            assert_eq!(number.and_then(milliseconds_to_usual_duration).as_deref(), expected, "{written}");
        };
        check("60_000", Some("1m"));
        check("900000", Some("15m"));
        check("3_600_000", Some("1h"));
        check("24 * 60 * 60 * 1000", Some("1d"));
        check("31_536_000_000", Some("365d"));
        check("0", None);
        check("10 * 3_600_000", Some("10h"));
        // A product without thousands is plainly in seconds.
        for seconds in ["50 * 3600", "50 * 60 * 60", "125 * 86_400"] {
            check(seconds, None);
        }
        // A usual number of seconds: 14, 25, 30, 100 and 365 days.
        for seconds in ["1_209_600", "2_160_000", "2_592_000", "8_640_000", "31_536_000"] {
            check(seconds, None);
        }
        check("100_000", None);
        check("86_400_000s", None);
        check("x", None);
    }

    #[test]
    fn literals_with_units_are_amounts() {
        let check = |written: &str, expected: Option<&str>| {
            assert_eq!(
                parse_amount(written).map(|(value, _)| format_grouped_number(value)).as_deref(),
                expected
            );
        };
        check("30s", Some("30"));
        check("1_500ms", Some("1.5"));
        check("5MB", Some("5_000_000"));
        check("2h", Some("7200"));
        check("30", None);
        check("x", None);
    }
}
