//! Checks dates and times of day, which the functions `date(x)` and `time(x)` return as texts. If
//! one operand of a comparison is such a call, the other operand is converted too: by the same
//! function and in the same time zone.

use super::constant::{build_constant, build_list_value};
use super::known::may_be_invalid;
use super::{Checked, Checker};
use crate::hir::{Const, Expr, ExprKind, Term};
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_base::text;
use rulec_lang::builtins::{Function, canonical_clock_text};
use rulec_lang::operators::Op;
use rulec_lang::ty::{KindSet, Ty};
use rulec_lang::value::{Value, parse_datetime};
use serde_json::Value as Json;

/// How an operand was converted: by `date` or by `time`, and in which time zone.
pub(super) struct ClockConversion {
    pub function: Function,
    zone: Option<Expr>,
}

impl Checker<'_> {
    /// Returns how the value of an expression was converted if it comes from a call of `date` or
    /// `time`: directly, or through a `let`, `??`, `if` or typed read. `None` for any other
    /// expression.
    pub(super) fn clock_conversion(&self, expr: &Expr) -> Option<ClockConversion> {
        match &expr.kind {
            ExprKind::Call(function @ (Function::Date | Function::Time), args) => {
                Some(ClockConversion { function: *function, zone: args.get(1).cloned() })
            }
            ExprKind::Let(id) => match self.program.let_body(*id) {
                Term::Expr(body) => self.clock_conversion(body),
                Term::Cond(_) => None,
            },
            ExprKind::Read(inner, _)
            | ExprKind::Op(Op::Coalesce, inner, _)
            | ExprKind::If { then_value: inner, .. } => self.clock_conversion(inner),
            _ => None,
        }
    }

    /// If one operand of a comparison is a call of `date` or `time`, converts the other operand by
    /// the same function and time zone. Returns both operands.
    pub(super) fn fit_clock_operands(&mut self, op: Op, left: Expr, right: Expr) -> Checked<(Expr, Expr)> {
        if !matches!(op, Op::Eq | Op::Ne | Op::Lt | Op::Le | Op::Gt | Op::Ge | Op::In) {
            return Ok((left, right));
        }
        // Elements of a list can be converted only if the list is constant. A list from the message
        // is compared unchanged.
        let is_other_list = op == Op::In && right.as_const().is_none() && !is_list(&right);
        match (self.clock_conversion(&left), self.clock_conversion(&right)) {
            _ if is_other_list => Ok((left, right)),
            (Some(read), None) => {
                let right = self.apply_clock_conversion(&read, right)?;
                Ok((left, right))
            }
            (None, Some(read)) => {
                let left = self.apply_clock_conversion(&read, left)?;
                Ok((left, right))
            }
            (None, None) => {
                self.reject_clock_text(&left, &right)?;
                self.reject_clock_text(&right, &left)?;
                Ok((left, right))
            }
            (Some(_), Some(_)) => Ok((left, right)),
        }
    }

    /// Converts `value` to a date or a time of day, by the function and the time zone of the
    /// conversion `read`. A constant is converted at compile time; for any other value, a call is
    /// built.
    pub(super) fn apply_clock_conversion(&mut self, read: &ClockConversion, value: Expr) -> Checked<Expr> {
        let (function, span) = (read.function, value.span);
        if self.clock_conversion(&value).is_some() {
            return Ok(value);
        }
        if let Some(constant) = value.as_const() {
            let json = match (constant.value(), constant.value().elements()) {
                (Value::Str(text), _) => self.check_clock_text(function, text, span)?.into(),
                (_, Some(elements)) => {
                    let elements = elements.map(|element| match element {
                        Value::Str(text) => self.check_clock_text(function, text, span).map(Json::from),
                        other => Ok(other.to_json()),
                    });
                    elements.collect::<Checked<Vec<Json>>>()?.into()
                }
                (other, None) => other.to_json(),
            };
            return Ok(build_constant(json, span));
        }
        if let ExprKind::List(items) = value.kind {
            let items: Checked<Vec<Expr>> =
                items.into_iter().map(|item| self.apply_clock_conversion(read, item)).collect();
            return Ok(build_list_value(items?, span));
        }
        let (param, kinds) = function.info().params[0];
        if !value.ty.kinds.overlaps(kinds) {
            return Ok(value);
        }
        let arg = self.check_argument(function.info().name, param, value, &Ty::from_kinds(kinds), None)?;
        let zone_may_fail = |zone: &Expr| zone.may_be_missing || may_be_invalid(function, "zone", zone);
        let optional = arg.may_be_missing
            || may_be_invalid(function, param, &arg)
            || read.zone.as_ref().is_some_and(zone_may_fail);
        if read.zone.is_none() {
            self.warn_no_zone(function, &arg, span);
        }
        let args = [arg].into_iter().chain(read.zone.clone()).collect();
        Ok(Expr { may_be_missing: optional, ..Expr::call(function, args, Ty::STRING, span) })
    }

    fn source_text_of(&self, span: Span) -> &str {
        let file = self.loaded.sources.get(span.file);
        file.and_then(|file| file.text.get(span.range())).unwrap_or("x")
    }

    /// Checks a constant date or time of day. Returns it in the notation in which `function`
    /// (`date` or `time`) writes its results.
    pub(super) fn check_clock_text(&mut self, function: Function, text: &str, span: Span) -> Checked<String> {
        if let Some(canonical) = canonical_clock_text(function, text) {
            return Ok(canonical);
        }
        let shown = text::to_one_line(text);
        let (message, meant, help) = match function {
            Function::Date => (message!("\"{shown}\" is not a date"), guess_date(text), date_help(text)),
            _ => (message!("\"{shown}\" is not a time of day"), guess_time(text), time_help(text)),
        };
        let diagnostic = Diagnostic::new(Code::BadClockText, span, message);
        let is_literal = self.source_text_of(span).starts_with('"');
        self.report(match meant {
            Some(meant) if is_literal => diagnostic
                .help(message!("write `{}`", format!("\"{meant}\"")))
                .likely_fix(span, format!("\"{meant}\"")),
            Some(meant) => diagnostic.help(message!("write `{}`", format!("\"{meant}\""))),
            None => diagnostic.help(help),
        })
    }

    /// Reports a constant date or time of day that is compared with a value that has both date and
    /// time.
    pub(super) fn reject_clock_text(&mut self, time: &Expr, constant: &Expr) -> Checked<()> {
        let Some(Value::Str(text)) = constant.as_const().map(Const::value) else { return Ok(()) };
        if time.ty.kinds != KindSet::DATETIME {
            return Ok(());
        }
        let is_clock_text = |function: &Function| canonical_clock_text(*function, text).is_some();
        let Some(function) = [Function::Date, Function::Time].into_iter().find(is_clock_text) else {
            return Ok(());
        };
        let call = format!("{}({})", function.info().name, self.source_text_of(time.span));
        let message = message!("\"{}\" is not a date and time", text.trim());
        let help = match function {
            Function::Date => message!(
                "to compare the date, write `{call}`; for a moment, write the time and the offset, as in \
                \"{}T00:00:00Z\"",
                text.trim()
            ),
            _ => message!("to compare the time of day, write `{call}`"),
        };
        let diagnostic = Diagnostic::new(Code::BadDatetime, constant.span, message).help(help);
        self.report(diagnostic.likely_fix(time.span, call))
    }

    /// Warns if neither the call nor the file names the time zone in which a time is converted.
    /// Each file gets one warning.
    pub(super) fn warn_no_zone(&mut self, function: Function, arg: &Expr, span: Span) {
        let is_time = arg.as_const().is_none() && arg.ty.kinds.overlaps(KindSet::DATETIME);
        // The settings with an error may give the zone.
        let is_unknown = self.symbols.is_name_broken("settings");
        if !is_time || is_unknown || !self.setting_uses.files_without_zone.insert(span.file) {
            return;
        }
        let name = function.info().name;
        let message = message!("`{name}` reads the time at the offset that each message writes, often UTC");
        let help = message!(
            "write the time zone for the whole file, as in `settings {{ zone: \"Asia/Shanghai\" }}`, or in the \
            call, as in `{name}(x, \"Asia/Shanghai\")`; \"UTC\" is a time zone too"
        );
        self.emit(Code::NoZone, span, message, help);
    }
}

fn is_list(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::List(_))
}

/// Converts a date in another common notation, such as `31.1.2026`, to the notation of rules,
/// `2026-01-31`. `None` if the meaning is not certain.
fn guess_date(text: &str) -> Option<String> {
    if let Some(time) = parse_datetime(text) {
        return Some(time.date().to_string());
    }
    let parts: Vec<&str> = text.trim().split(['-', '/', '.']).collect();
    let [year, month, day] = parts.as_slice() else { return None };
    let (year, day) = if day.len() == 4 && !text.contains('/') { (day, year) } else { (year, day) };
    canonical_clock_text(Function::Date, &format!("{year}-{month:0>2}-{day:0>2}"))
}

fn date_help(text: &str) -> Message {
    let days_of_month = |text: &str| {
        let month = text.trim().get(..8)?;
        (28..=31).rev().find(|day| canonical_clock_text(Function::Date, &format!("{month}{day}")).is_some())
    };
    match days_of_month(text) {
        Some(days) => message!("this month has {} days", days),
        None => message!("write the year, the month and the day, as in \"2026-01-31\""),
    }
}

/// Converts a time of day in another common notation, such as `9.30 pm`, to the notation of rules,
/// `21:30`. `None` if the meaning is not certain.
fn guess_time(text: &str) -> Option<String> {
    let lower = text.trim().to_lowercase().replace('.', ":");
    let digits = lower.trim_end_matches(|c: char| c.is_ascii_alphabetic() || c == ' ');
    let suffix = lower[digits.len()..].trim();
    let (hour, rest) = digits.split_once(':').unwrap_or((digits, "00"));
    let hour: u8 = hour.parse().ok()?;
    let hour = match suffix {
        "" | "h" if !digits.contains(':') && hour > 23 => return None,
        "" | "h" => hour,
        "am" if hour <= 12 => hour % 12,
        "pm" if hour <= 12 => hour % 12 + 12,
        _ => return None,
    };
    let time = format!("{hour:02}:{rest}");
    canonical_clock_text(Function::Time, &time).map(|_| time)
}

fn time_help(text: &str) -> Message {
    let has_offset = text.contains(['+', 'Z', 'z']) || text.matches('-').count() == 1;
    match has_offset {
        true => {
            message!("leave the offset out, and name the time zone in the call: `time(x, \"Asia/Shanghai\")`")
        }
        false => message!(
            "write hours from 00 to 23 and minutes, as in \"22:30\" or \"22:30:15\"; \"24:00\" is the end of the day"
        ),
    }
}
