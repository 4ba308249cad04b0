//! Suggests `bucket` in place of a call that returns a random number in other languages, such as
//! `RANDBETWEEN(0, 99) < 10`. A decision is never random.

use super::super::Checker;
use rulec_base::diag::{Code, Diagnostic};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_syntax::ast::Ident;

/// The number of values of `bucket`, from 0 on.
const BUCKET_COUNT: f64 = 100.0;

impl Checker<'_> {
    /// Returns the diagnostic for a call that returns a random number in other languages. `args`
    /// are the source texts of the arguments. `None` for other functions.
    pub(super) fn random_call_diagnostic(
        &self,
        name: &Ident,
        args: &[&str],
        span: Span,
    ) -> Option<Diagnostic> {
        if !is_random_function(&name.node) {
            return None;
        }
        let message = message!("there is no function `{}`", name.node);
        let diagnostic = Diagnostic::new(Code::UnknownFunction, name.span, message);
        let key = self.find_session_field();
        let comparison = self
            .source_text_after(span)
            .and_then(|after| Some((translate_random_comparison(args, after)?, after)))
            .map(|((comparison, rest), after)| (comparison, span.end + (after.len() - rest.len()) as u32));
        Some(match (comparison, key) {
            (Some((comparison, end)), Some(key)) => {
                let written = format!("bucket({key}) {comparison}");
                let help = message!(
                    "a decision is never random: write `{written}`, which always holds for the same values of `{key}`"
                );
                diagnostic.help(help).likely_fix(Span { end, ..span }, written)
            }
            (Some((comparison, _)), None) => diagnostic.help(message!(
                "a decision is never random: write `bucket(FIELD) {comparison}`, with the field that identifies \
                the user"
            )),
            (None, key) => {
                let key = key.unwrap_or_else(|| "FIELD".to_owned());
                diagnostic.help(message!(
                    "a decision is never random: `bucket({key}) < 10` holds for a tenth of all values of `{key}`, \
                    always for the same ones"
                ))
            }
        })
    }

    fn source_text_after(&self, span: Span) -> Option<&str> {
        self.loaded.sources.get(span.file)?.text.get(span.end as usize..)
    }
}

/// True for the name of a function that returns a random number in another language.
fn is_random_function(name: &str) -> bool {
    let lower = name.to_lowercase().replace('_', "");
    matches!(
        lower.as_str(),
        "rand"
            | "random"
            | "randbetween"
            | "randint"
            | "randrange"
            | "randomint"
            | "randominteger"
            | "randomfloat"
            | "randomnumber"
            | "randomuniform"
            | "uniform"
            | "mathrandom"
            | "nextint"
            | "randn"
            | "intn"
            | "float64"
            | "sample"
            | "percentage"
            | "chance"
            | "dice"
            | "随机"
            | "随机数"
    )
}

/// Returns the comparison with a bucket in place of one with a random number, and the text after
/// it: `< 10` for `RAND() < 0.1`. `after` is the source text after the call. `None` if
/// the share is no whole number of percents.
fn translate_random_comparison<'t>(args: &[&str], after: &'t str) -> Option<(String, &'t str)> {
    let rest = after.trim_start_matches(' ');
    let sign = ["<=", ">=", "<", ">"].into_iter().find(|sign| rest.starts_with(sign))?;
    let rest = rest[sign.len()..].trim_start_matches(' ');
    let length = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
    let (number, rest) = rest.split_at(length);
    let bound: f64 = number.parse().ok()?;
    let numbers: Option<Vec<f64>> = args.iter().map(|arg| arg.parse().ok()).collect();
    let (low, count) = match numbers?.as_slice() {
        [] | [_, 1.0] => (0.0, 1.0),
        [count] => (0.0, *count),
        [low, high] => (*low, high - low + 1.0),
        _ => return None,
    };
    // A random whole number is compared; `<= 9` holds for as many numbers as `< 10`.
    let is_inclusive = matches!(sign, "<=" | ">") && count > 1.0;
    let share = (bound - low + if is_inclusive { 1.0 } else { 0.0 }) / count * BUCKET_COUNT;
    let percent = share.round();
    let is_whole = (share - percent).abs() < 1e-6 && percent > 0.0 && percent < BUCKET_COUNT;
    let goes_on = rest.starts_with(|c: char| c.is_alphanumeric() || c == '%' || c == '_');
    let sign = if sign.starts_with('<') { "<" } else { ">=" };
    (is_whole && !goes_on).then(|| (format!("{sign} {percent}"), rest))
}

#[cfg(test)]
mod tests {
    use super::translate_random_comparison;

    #[test]
    fn shares_of_random_numbers_become_percents() {
        let check = |args: &[&str], after: &str, expected: Option<&str>| {
            let found = translate_random_comparison(args, after).map(|(comparison, _)| comparison);
            assert_eq!(found.as_deref(), expected, "{args:?} {after}");
        };
        check(&[], " < 0.1 -> a", Some("< 10"));
        check(&[], ">= 0.25", Some(">= 25"));
        check(&["0", "99"], " < 10 -> a", Some("< 10"));
        check(&["1", "100"], " <= 10", Some("< 10"));
        check(&["10"], " < 1", Some("< 10"));
        check(&["0", "1"], " < 0.5", Some("< 50"));
        check(&["1", "6"], " < 2", None);
        check(&[], " < 0.123", None);
        check(&[], " == 1", None);
        check(&[], " < limit", None);
        check(&["n"], " < 5", None);
    }
}
