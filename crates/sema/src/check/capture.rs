//! Checks calls of `capture`, which returns the text that a group of a regular expression matched.
//! The expression must be constant and contain the group.

use super::pattern::regex_too_large;
use super::{Checked, Checker};
use crate::hir::{Const, Expr, ExprKind, Term};
use regex_syntax::hir::{Hir, HirKind};
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::span::Span;
use rulec_base::{broken_invariant, message, text};
use rulec_lang::builtins::Function;
use rulec_lang::operators::{Op, TestMode};
use rulec_lang::value::Value;
use rulec_syntax::write::quote_string;
use std::sync::Arc;

/// The inline flag that makes a regular expression ignore case.
const CASE_INSENSITIVE_PREFIX: &str = "(?i)";

/// Returns the regular expression that a call of `capture` runs. `written` is the expression in the
/// source text. If `ignore_case`, adds a prefix that makes the expression ignore case.
pub(super) fn regex_with_case_flag(written: &str, ignore_case: bool) -> String {
    format!("{}{written}", if ignore_case { CASE_INSENSITIVE_PREFIX } else { "" })
}

/// True if every match of the regular expression includes the group, so that `capture` returns a
/// text. `group` is the argument of `capture`; `None` means the first group, or the whole match if
/// the expression has no groups.
pub(super) fn always_captures(pattern: &str, group: Option<Value<'_>>) -> bool {
    let Ok(hir) = text::parse_cached(pattern, false) else {
        broken_invariant!("the pattern of `capture` was checked");
        return false;
    };
    let groups = text::capture_groups(&hir);
    match group {
        None => groups.first().is_none_or(|group| group.always_matches),
        Some(Value::Int(0)) => true,
        Some(wanted) => groups.iter().any(|group| group.always_matches && is_wanted_group(group, wanted)),
    }
}

/// Returns the regular expression and the group of a call of `capture`. `None` for other values.
fn regex_and_group_of_capture(value: &Expr) -> Option<(&str, Option<Value<'_>>)> {
    match &value.kind {
        ExprKind::Read(inner, _) => regex_and_group_of_capture(inner),
        ExprKind::Call(Function::Capture, args) => {
            let [_, pattern, group @ ..] = args.as_slice() else {
                broken_invariant!("`capture` has at least two arguments");
                return None;
            };
            let group = group.first().map(|group| group.as_const().map(Const::value));
            Some((pattern.as_const()?.value().as_str()?, group.unwrap_or_default()))
        }
        _ => None,
    }
}

/// True unless it is proven that the group never captures this text. `mode` says how the texts are
/// compared.
fn may_capture(pattern: &str, group: Option<Value<'_>>, text: &str, mode: TestMode) -> bool {
    let Ok(hir) = text::parse_cached(pattern, false) else {
        broken_invariant!("the pattern of `capture` was checked");
        return true;
    };
    let wanted = match group {
        None => text::capture_groups(&hir).first().map_or(0, |group| group.number),
        Some(wanted) => {
            match text::capture_groups(&hir).iter().find(|group| is_wanted_group(group, wanted)) {
                Some(group) => group.number,
                None => 0,
            }
        }
    };
    let Some(part) = find_group(&hir, wanted) else {
        broken_invariant!("a listed group of an expression is found in the expression");
        return true;
    };
    let properties = part.properties();
    if text.is_empty() {
        return properties.minimum_len().is_none_or(|least| least == 0);
    }
    if mode != TestMode::default() || !properties.look_set().is_empty() {
        return true;
    }
    text::compile_regex(&format!("^(?:{part})$"), false).map_or(true, |regex| regex.is_match(text))
}

/// Returns the part of a regular expression that is inside the group with the number `wanted`.
/// Group 0 is the whole expression. `None` if there is no such group.
fn find_group(hir: &Hir, wanted: u32) -> Option<&Hir> {
    match hir.kind() {
        _ if wanted == 0 => Some(hir),
        HirKind::Capture(capture) if capture.index == wanted => Some(&capture.sub),
        kind => kind.subs().iter().find_map(|part| find_group(part, wanted)),
    }
}

fn is_wanted_group(group: &text::RegexGroup<'_>, wanted: Value<'_>) -> bool {
    match wanted {
        Value::Int(number) => i64::from(group.number) == number,
        Value::Str(name) => group.name == Some(name),
        _ => false,
    }
}

impl Checker<'_> {
    /// Checks the regular expression and the group of a call of `capture`. `ignore_case` is true if
    /// the settings of the file make `matches` ignore case. The expression then gets a prefix that
    /// makes it ignore case too.
    pub(super) fn check_capture(&mut self, args: &mut [Expr], ignore_case: bool) -> Checked<()> {
        let [_, pattern, group @ ..] = args else {
            broken_invariant!("`capture` has at least two arguments");
            return Ok(());
        };
        let span = pattern.span;
        let Some(Value::Str(written)) = pattern.as_const().map(Const::value) else {
            let message = message!("the regular expression of `capture` must be constant");
            let help =
                message!("write the regular expression in the call, as in `capture(text, r\"#(\\d+)\")`");
            return self.fail(Code::RegexNotConstant, span, message, help);
        };
        self.check_regex(written, ignore_case, span)?;
        let effective = regex_with_case_flag(written, ignore_case);
        if let Ok(hir) = text::parse_cached(written, ignore_case) {
            if !text::surely_compiles(&hir) && text::compile_regex(&effective, false).is_err() {
                return self.report(regex_too_large(span));
            }
            if let Some(group) = group.first() {
                self.check_group_exists(&text::capture_groups(&hir), group)?;
            }
        }
        pattern.kind = ExprKind::Const(Const::Json(Arc::new(effective.into())));
        Ok(())
    }

    /// Warns about a comparison of `capture(…)` with a constant text that its group never captures,
    /// such as an empty text for a group of digits.
    pub(super) fn warn_text_never_captured(
        &mut self,
        (op, mode): (Op, TestMode),
        left: &Expr,
        right: &Expr,
        span: Span,
    ) {
        let (call, constant) = match (left.as_const(), right.as_const()) {
            (None, Some(constant)) => (left, constant.value()),
            (Some(constant), None) if op != Op::In => (right, constant.value()),
            _ => return,
        };
        if !matches!(op, Op::Eq | Op::Ne | Op::In) {
            return;
        }
        let elements = constant.elements().into_iter().flatten().filter_map(Value::as_str);
        let texts: Vec<&str> = constant.as_str().into_iter().chain(elements).collect();
        self.warn_never_empty_result((op, &texts), call, span);
        let Some((pattern, group)) = regex_and_group_of_capture(call) else { return };
        let Some(shown) = texts.first().copied().filter(|_| {
            let can_capture = |text: &&str| may_capture(pattern, group, text, mode);
            !texts.iter().any(can_capture)
        }) else {
            return;
        };
        let written = self.loaded.sources.slice(call.span);
        let is_empty = shown.is_empty() && texts.len() == 1;
        let message = match is_empty {
            true => message!("`{written}` is never an empty text: a group without a match is missing"),
            false => message!("`{written}` is never {}: its group matches other texts", quote_string(shown)),
        };
        let code = if op == Op::Ne { Code::HoldsForEveryValue } else { Code::OutOfRange };
        let test = if op == Op::Ne { "is present" } else { "is missing" };
        let diagnostic = Diagnostic::new(code, span, message);
        self.diagnostics.push(match is_empty {
            true => {
                let replacement = format!("{written} {test}");
                diagnostic.help(message!("write `{replacement}`")).likely_fix(span, replacement)
            }
            false => diagnostic.help(message!("compare with a text that the group can match")),
        });
    }

    /// Warns about the comparison of a call such as `url_host(…)` with an empty text. Such a
    /// function never returns an empty text: if there is no result, the value of the call is
    /// missing. `texts` are the constant texts.
    fn warn_never_empty_result(&mut self, (op, texts): (Op, &[&str]), call: &Expr, span: Span) {
        let Some(reason) = self.reason_for_no_text(call).filter(|_| texts == [""]) else { return };
        let code = if op == Op::Ne { Code::HoldsForEveryValue } else { Code::OutOfRange };
        let test = if op == Op::Ne { "is present" } else { "is missing" };
        let written = self.loaded.sources.slice(call.span);
        let replacement = format!("{written} {test}");
        let message = message!("`{written}` is never an empty text: it is missing if {reason}");
        let help = message!("write `{replacement}`");
        self.diagnostics.push(Diagnostic::new(code, span, message).help(help).likely_fix(span, replacement));
    }

    /// Returns why a call has no result, if its function never returns an empty text. `None` for
    /// other values.
    fn reason_for_no_text(&self, value: &Expr) -> Option<Message> {
        match &value.kind {
            ExprKind::Call(function @ (Function::UrlHost | Function::UrlScheme | Function::Nonblank), _) => {
                function.info().missing_result_reason().cloned()
            }
            ExprKind::Read(inner, _) => self.reason_for_no_text(inner),
            ExprKind::Let(id) => match self.program.let_body(*id) {
                Term::Expr(body) => self.reason_for_no_text(body),
                Term::Cond(_) => None,
            },
            _ => None,
        }
    }

    fn check_group_exists(&mut self, groups: &[text::RegexGroup<'_>], group: &Expr) -> Checked<()> {
        let Some(wanted) = group.as_const().map(Const::value) else {
            let message = message!("the group of `capture` must be constant");
            let help = message!("write the number or the name of the group");
            return self.fail(Code::ConstantWanted, group.span, message, help);
        };
        if matches!(wanted, Value::Int(0)) || groups.iter().any(|group| is_wanted_group(group, wanted)) {
            return Ok(());
        }
        let message = message!("the regular expression has no group {}", wanted.to_json());
        let diagnostic = Diagnostic::new(Code::UnknownCapture, group.span, message);
        let near =
            wanted.as_str().and_then(|name| self.nearest(name, groups.iter().filter_map(|group| group.name)));
        // `"1"` and `"$1"` name a group in other languages; here a text is the name of a group.
        let number = wanted.as_str().map(|text| text.trim().trim_start_matches(['$', '\\']));
        let number = number.and_then(|text| text.parse::<u32>().ok());
        let is_number = |number: &u32| *number == 0 || groups.iter().any(|group| group.number == *number);
        if let Some(number) = number.filter(is_number) {
            let help =
                message!("a text is the name of a group, and a number counts the groups: write `{number}`");
            return self.report(diagnostic.help(help).likely_fix(group.span, number.to_string()));
        }
        self.report(match near {
            Some(near) => diagnostic
                .help(message!("did you mean \"{near}\"?"))
                .likely_fix(group.span, format!("\"{near}\"")),
            None => diagnostic.help(capture_groups_help(groups, wanted)),
        })
    }

    /// True if regular expressions ignore case in the file of this span.
    pub(super) fn ignores_case(&self, span: Span) -> bool {
        self.settings_of(span.file).ignores_case()
    }
}

fn capture_groups_help(groups: &[text::RegexGroup<'_>], wanted: Value<'_>) -> Message {
    let name = |group: &text::RegexGroup<'_>| match group.name {
        Some(name) => format!("{} (\"{name}\")", group.number),
        None => group.number.to_string(),
    };
    let has_names = groups.iter().any(|group| group.name.is_some());
    match (groups, wanted.as_str()) {
        ([], _) => {
            message!("write parentheses around the part to capture, as in r\"#(\\d+)\" or r\"#(?<id>\\d+)\"")
        }
        ([one], Some(wanted)) if !has_names && is_group_name(wanted) => message!(
            "its group has no name: write `{}`, or name the group in the expression: `(?<{wanted}>…)`",
            one.number
        ),
        ([_, ..], Some(_)) if !has_names => {
            let numbers: Vec<String> = groups.iter().map(name).collect();
            message!("its groups have no names, only numbers: {}", numbers.join(", "))
        }
        ([one], None) => message!("it has only the group {}", name(one)),
        _ => {
            let names: Vec<String> = groups.iter().map(name).collect();
            message!("its groups are {}", names.join(", "))
        }
    }
}

fn is_group_name(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}
