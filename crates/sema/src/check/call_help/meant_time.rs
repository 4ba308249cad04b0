//! Suggests an expression in place of a call by which another language computes with times, such as
//! `DATEDIFF(day, created, now)` or `strftime(now, "%H")`.

use super::super::Checker;
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_syntax::ast::Ident;
use rulec_syntax::parse::meant_number;

impl Checker<'_> {
    /// Returns the diagnostic for a call by which another language computes with times. `args` are
    /// the source texts of the arguments. `None` for other functions.
    pub(super) fn time_call_diagnostic(&self, name: &Ident, args: &[&str], span: Span) -> Option<Diagnostic> {
        let message = message!("there is no function `{}`", name.node);
        let diagnostic = Diagnostic::new(Code::UnknownFunction, name.span, message);
        if let Some((earlier, later, unit)) = split_time_difference(&name.node, args) {
            let (difference, one) = (format!("{later} - {earlier}"), meant_number(&format!("1 {unit}"))?);
            let (span, written) = match self.find_comparison_after(span) {
                Some((end, "==", "0")) if unit == "day" => {
                    (Span { end, ..span }, format!("date({later}) == date({earlier})"))
                }
                Some((end, sign, number)) if sign != "==" => {
                    let number = meant_number(&format!("{number} {unit}"))?;
                    (Span { end, ..span }, format!("{difference} {sign} {number}"))
                }
                _ => (span, format!("floor(({difference}) / {one})")),
            };
            let help = message!("times are subtracted, which gives seconds: write `{written}`");
            return Some(diagnostic.help(help).likely_fix(span, written));
        }
        let written =
            translate_time_sum(&name.node, args).or_else(|| translate_time_part(&name.node, args))?;
        let help = message!("write `{replacement}`", replacement = written.clone());
        Some(diagnostic.help(help).likely_fix(span, written))
    }

    /// Returns the comparison with a whole number that follows a span in the source text, as in
    /// `> 5`: the byte offset of its end, its operator, and the number.
    fn find_comparison_after(&self, span: Span) -> Option<(u32, &str, &str)> {
        let text = self.loaded.sources.get(span.file)?.text.get(span.end as usize..)?;
        let rest = text.trim_start_matches(' ');
        let sign = [">=", "<=", "==", ">", "<"].into_iter().find(|sign| rest.starts_with(sign))?;
        let number = rest[sign.len()..].trim_start_matches(' ');
        let length = number.find(|c: char| !c.is_ascii_digit()).unwrap_or(number.len());
        let (number, after) = number.split_at(length);
        let goes_on = after.starts_with(|c: char| c.is_alphanumeric() || matches!(c, '.' | '_'))
            || after.trim_start().starts_with(['+', '*', '/', '%']);
        let end = text.len() - after.len();
        (!number.is_empty() && !goes_on).then_some((span.end + end as u32, sign, number))
    }
}

/// Converts the name of a unit of time in another language to the name in rules: `"dd"` and `DAY`
/// to `day`. `None` for other words.
fn unit_of_time(word: &str) -> Option<&'static str> {
    Some(match word.trim_matches(['"', '\'']).to_lowercase().as_str() {
        "s" | "ss" | "sec" | "second" | "seconds" => "second",
        "mi" | "min" | "minute" | "minutes" => "minute",
        "h" | "hh" | "hour" | "hours" => "hour",
        "d" | "dd" | "day" | "days" => "day",
        "w" | "wk" | "ww" | "week" | "weeks" => "week",
        "m" | "mm" | "month" | "months" => "month",
        "y" | "yy" | "yyyy" | "year" | "years" => "year",
        _ => return None,
    })
}

/// Returns the unit in a name such as `daysBetween` or `differenceInHours`.
fn time_unit_in_name(name: &str) -> Option<&'static str> {
    let unit = name.strip_suffix("between").or_else(|| name.strip_prefix("differencein"));
    unit_of_time(unit?.trim_start_matches("calendar"))
}

/// Writes an operand of a subtraction, in parentheses if it is no path or call.
fn parenthesize_operand(text: &str) -> String {
    let is_path = |c: char| c.is_alphanumeric() || matches!(c, '_' | '.' | '`');
    let is_call = text.ends_with(')') && text.starts_with(is_path) && !text.contains([' ', ',']);
    if text.chars().all(is_path) || is_call { text.to_owned() } else { format!("({text})") }
}

/// Returns the earlier time, the later time and the unit of a call that subtracts two times. `None`
/// for other calls.
fn split_time_difference(name: &str, args: &[&str]) -> Option<(String, String, &'static str)> {
    let lower = name.to_lowercase();
    let has_unit_last = args.last().is_some_and(|unit| unit_of_time(unit).is_some());
    let (earlier, later, unit) = match (lower.replace('_', "").as_str(), args) {
        // BigQuery subtracts the second time, and the spreadsheets the first.
        ("datediff" | "datetimediff" | "timestampdiff", [later, earlier, unit])
            if has_unit_last && lower.contains('_') =>
        {
            (earlier, later, unit_of_time(unit)?)
        }
        ("datedif" | "datediff", [earlier, later, unit]) if has_unit_last => {
            (earlier, later, unit_of_time(unit)?)
        }
        ("datediff" | "datedif" | "timestampdiff" | "timediff" | "datetimediff", [unit, earlier, later]) => {
            (earlier, later, unit_of_time(unit)?)
        }
        ("datediff" | "days", [later, earlier]) => (earlier, later, "day"),
        (name, [later, earlier]) if name.starts_with("differencein") => {
            (earlier, later, time_unit_in_name(name)?)
        }
        (name, [earlier, later]) => (earlier, later, time_unit_in_name(name)?),
        _ => return None,
    };
    Some((parenthesize_operand(earlier), parenthesize_operand(later), unit))
}

/// Returns the expression for a call that adds a duration to a time, or that only gives a duration:
/// `created + 3d` for `DATEADD(day, 3, created)`, and `3d` for `days(3)`. `None` for other calls.
fn translate_time_sum(name: &str, args: &[&str]) -> Option<String> {
    let lower = name.to_lowercase().replace('_', "");
    let duration = |count: &str, unit: &str| {
        let count = count.trim();
        let digits = count.strip_prefix('-').unwrap_or(count);
        let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
        let written = meant_number(&format!("{digits} {unit}")).filter(|_| is_number)?;
        Some((if count.starts_with('-') { "-" } else { "+" }, written))
    };
    let (time, (sign, duration)) = match (lower.as_str(), args) {
        ("dateadd" | "timestampadd", [unit, count, time]) if unit_of_time(unit).is_some() => {
            (time, duration(count, unit_of_time(unit)?)?)
        }
        ("dateadd" | "datesub", [time, count, unit]) => (time, duration(count, unit_of_time(unit)?)?),
        ("interval" | "duration" | "timedelta" | "parseduration", [text]) => {
            let text = text.strip_prefix('"')?.strip_suffix('"')?;
            return meant_number(text);
        }
        (unit, [count]) if unit.len() > 2 => return Some(duration(count, unit_of_time(unit)?)?.1),
        (name, [time, count]) => {
            let unit = name.strip_prefix("add").or_else(|| name.strip_prefix("sub"))?;
            (time, duration(count, unit_of_time(unit)?)?)
        }
        _ => return None,
    };
    let sign = if !lower.contains("sub") {
        sign
    } else if sign == "+" {
        "-"
    } else {
        "+"
    };
    Some(format!("({} {sign} {duration})", parenthesize_operand(time)))
}

/// Returns the call that reads a part of a time: `hour(now)` for `strftime(now, "%H")`. `None` for
/// other calls.
fn translate_time_part(name: &str, args: &[&str]) -> Option<String> {
    let lower = name.to_lowercase().replace('_', "");
    let unquoted = |text: &str| text.trim_matches(['"', '\'']).to_owned();
    let (function, time) = match (lower.as_str(), args) {
        ("datepart" | "extract" | "datetrunc" | "datename", [part, time]) => {
            let function = match unquoted(part).to_lowercase().as_str() {
                "dow" | "isodow" | "weekday" | "dw" | "dayofweek" => "weekday",
                part => match unit_of_time(part)? {
                    "day" if lower == "datetrunc" => "date",
                    "minute" => "minute",
                    "hour" => "hour",
                    "day" => "day",
                    "month" => "month",
                    "year" => "year",
                    _ => return None,
                },
            };
            (function, time)
        }
        ("strftime" | "formatdate" | "dateformat" | "tochar" | "formatdatetime" | "text", [one, other]) => {
            let (time, format) = if one.contains('%') { (other, one) } else { (one, other) };
            let function = match unquoted(format).as_str() {
                "%H" | "HH24" | "HH" | "H" | "hh" => "hour",
                "%M" | "MI" => "minute",
                "%u" | "ID" => "weekday",
                "%d" | "DD" | "dd" => "day",
                "%m" | "MM" => "month",
                "%Y" | "YYYY" | "yyyy" => "year",
                "%Y-%m-%d" | "%F" | "YYYY-MM-DD" | "yyyy-MM-dd" | "yyyy-mm-dd" => "date",
                "%H:%M" | "%H:%M:%S" | "%T" | "HH:mm" | "HH24:MI" | "HH:mm:ss" | "hh:mm" => "time",
                _ => return None,
            };
            (function, time)
        }
        ("dayname" | "weekdayname", [time]) => ("weekday", time),
        ("monthname", [time]) => ("month", time),
        _ => return None,
    };
    Some(format!("{function}({time})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_with_times_are_translated() {
        let between = |name: &str, args: &[&str], earlier: &str, later: &str, unit: &str| {
            let expected = Some((earlier.to_owned(), later.to_owned(), unit));
            let found = split_time_difference(name, args);
            assert_eq!(found.as_ref().map(|(a, b, c)| (a.clone(), b.clone(), *c)), expected, "{name}");
        };
        between("DATEDIFF", &["day", "a", "b"], "a", "b", "day");
        between("DATE_DIFF", &["b", "a", "HOUR"], "a", "b", "hour");
        between("DATEDIF", &["a", "b", "\"d\""], "a", "b", "day");
        between("datediff", &["b", "a"], "a", "b", "day");
        between("daysBetween", &["x.a", "b ?? c"], "x.a", "(b ?? c)", "day");
        between("differenceInHours", &["b", "a"], "a", "b", "hour");
        assert_eq!(split_time_difference("min", &["a", "b"]), None);
        let check = |name: &str, args: &[&str], expected: Option<&str>| {
            let found = translate_time_sum(name, args).or_else(|| translate_time_part(name, args));
            assert_eq!(found.as_deref(), expected, "{name}");
        };
        check("DATEADD", &["day", "3", "a"], Some("(a + 3d)"));
        check("DATEADD", &["day", "-3", "a"], Some("(a - 3d)"));
        check("addHours", &["a", "2"], Some("(a + 2h)"));
        check("subDays", &["a", "2"], Some("(a - 2d)"));
        check("days", &["3"], Some("3d"));
        check("days", &["a"], None);
        check("timedelta", &["\"5 minutes\""], Some("5min"));
        check("strftime", &["now", "\"%H\""], Some("hour(now)"));
        check("date_part", &["\"dow\"", "now"], Some("weekday(now)"));
        check("DATE_TRUNC", &["\"day\"", "now"], Some("date(now)"));
        check("score", &["a"], None);
    }
}
