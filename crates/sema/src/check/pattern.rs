//! Checks constant right operands of text operators: regular expressions must be valid, and
//! keywords must be able to match.

use super::{Checked, Checker, reason};
use crate::hir::{Const, Expr, ExprKind, Part, RegexFacts};
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::span::Span;
use rulec_base::text;
use rulec_base::{broken_invariant, message};
use rulec_lang::operators::{Op, RightOperand, Search, TestMode};
use rulec_lang::ty::KindSet;
use rulec_lang::value::Value;
use std::cmp::Reverse;
use std::sync::Arc;

impl<'a> Checker<'a> {
    /// Checks the constant right operand of a text operator: regular expressions must be valid, and
    /// keywords must be able to match. Operands with parameters of a `def` are checked when a call
    /// substitutes the arguments.
    pub(super) fn check_text_operand(&mut self, op: Op, mode: TestMode, right: &Expr) -> Checked<()> {
        let Some(constant) = right.as_const() else {
            return self.check_pattern_is_constant(op, right);
        };
        let value = constant.value();
        let keywords: Vec<&str> = match (mode.quantity, value) {
            (None, Value::Str(keyword)) => vec![keyword],
            (Some(_), list) => list.elements().into_iter().flatten().filter_map(Value::as_str).collect(),
            (None, list) if op == Op::In && list.list_len() == Some(0) => Vec::new(),
            _ => return Ok(()),
        };
        if value.list_len() == Some(0) {
            let help = message!("add an element, or remove the condition");
            self.emit(Code::EmptyList, right.span, message!("an empty list contains nothing"), help);
        }
        for keyword in keywords {
            if mode.whole_word && keyword.is_empty() {
                let message = message!("an empty keyword is not a word and never matches");
                let help = message!("write the word to look for, or leave `word` out");
                return self.fail(Code::KeywordNeverMatches, right.span, message, help);
            }
            if op == Op::InNetwork {
                self.check_network(keyword, right.span)?;
            }
            if op.info().search == Some(Search::Regex) {
                self.check_regex(keyword, mode.text.folds_case, right.span)?;
            }
        }
        Ok(())
    }

    /// Reports an error for a regular expression that is not constant, except in a choice. In a
    /// choice, the expression may come from the message and is compiled at run time. If it is
    /// invalid, the condition is unknown.
    fn check_pattern_is_constant(&mut self, op: Op, right: &Expr) -> Checked<()> {
        if op.info().search != Some(Search::Regex) || self.is_in_choice || has_parameter(Part::Expr(right)) {
            return Ok(());
        }
        let message = message!("the regular expression of `matches` must be constant outside a `choice`");
        let help = message!(
            "write the regular expression here, or in a `list` or `let`; for several write `matches any \
            [r\"…\", …]`; to search for a text of the message write `contains` or `like`"
        );
        self.fail(Code::RegexNotConstant, right.span, message, help)
    }

    /// Warns about a constant right operand that is surely a mistake. Examples are an empty text,
    /// which every text contains; SQL wildcards; and null, which never equals anything.
    pub(super) fn warn_useless_constant(&mut self, op: Op, mode: TestMode, left: &Expr, right: &Expr) {
        self.warn_number_in_quotes(op, left, right);
        let Some(value) = right.as_const().map(Const::value) else { return };
        let elements = || value.elements().into_iter().flatten();
        if op == Op::In && elements().any(Value::is_missing) {
            let help = message!("to match missing and null values as well, write `x in […] or x is missing`");
            self.emit(Code::NullInList, right.span, message!("a null in a list never matches"), help);
        }
        let (Some(search), KindSet::STRING) = (op.info().search, left.ty.kinds) else { return };
        let keywords: Vec<&str> = match mode.quantity {
            None => value.as_str().into_iter().collect(),
            Some(_) => elements().filter_map(Value::as_str).collect(),
        };
        if search != Search::Glob && keywords.iter().any(|keyword| mode.text.prepare(keyword).is_empty()) {
            let message = message!("every text contains the empty text, so this excludes no text");
            self.emit(
                Code::EmptyText,
                right.span,
                message,
                message!("write the text to look for; for an empty text write `x == \"\"`"),
            );
        }
        let has_sql_wildcard = |pattern: &&str| {
            search == Search::Glob
                && !pattern.contains(['*', '?'])
                && (pattern.starts_with('%') || pattern.ends_with('%'))
        };
        if let Some(pattern) = keywords.into_iter().find(has_sql_wildcard) {
            let message = message!("in a pattern of `like`, `%` matches only itself; `*` matches any text");
            let written = Value::Str(&pattern.replace('%', "*")).to_json();
            let diagnostic =
                Diagnostic::new(Code::SqlPattern, right.span, message).help(message!("write `{written}`"));
            self.diagnostics.push(match mode.quantity {
                None => diagnostic.likely_fix(right.span, written.to_string()),
                Some(_) => diagnostic,
            });
        }
    }

    /// Warns about a number in quotes that is compared with a text by an ordering operator such as
    /// `<`.
    fn warn_number_in_quotes(&mut self, op: Op, left: &Expr, right: &Expr) {
        if !op.info().forms.iter().any(|form| form.right == RightOperand::SomeText) {
            return;
        }
        for (side, other) in [(left, right), (right, left)] {
            let text = side.as_const().and_then(|constant| constant.value().as_str().map(str::to_owned));
            let Some(number) = text.as_deref().map(str::trim) else { continue };
            let is_number = number.parse().is_ok_and(f64::is_finite);
            let is_version = number.contains('.')
                && number.split('.').all(|part| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit()));
            let value = || self.loaded.sources.slice(other.span);
            if text::network::is_address(number) {
                let message = message!("addresses are compared here character by character, as texts");
                let help = message!("for a range of addresses write `{} in_network \"10.0.0.0/8\"`", value());
                self.emit(Code::NumberInQuotes, side.span, message, help);
                continue;
            }
            if !is_number && !is_version {
                continue;
            }
            let message = message!(
                "texts are compared character by character, not as numbers: \"10\" is less than \"9\""
            );
            let value =
                self.loaded.sources.get(other.span.file).and_then(|file| file.text.get(other.span.range()));
            let value = value.unwrap_or("x");
            let sign = op.info().spelling;
            let written = |value: &str, constant: &str| match std::ptr::eq(side, right) {
                true => format!("{value} {sign} {constant}"),
                false => format!("{constant} {sign} {value}"),
            };
            let version = written(&format!("version({value})"), &format!("\"{number}\""));
            let to_version = message!("to compare versions, write `{version}`");
            let to_number =
                message!("to compare numbers, write `{}`", written(&format!("number({value})"), number));
            let help = match (is_number, is_version) {
                (true, true) => message!("{to_version}; {to_number}"),
                (true, false) => to_number,
                _ => to_version,
            };
            self.emit(Code::NumberInQuotes, side.span, message, help);
        }
    }

    /// Warns about a text with a placeholder of another language, such as `${…}` or `{{…}}`. The
    /// text looks like a template, but nothing in it is replaced.
    pub(super) fn warn_template(&mut self, text: &str, span: Span) {
        let openings = ["${", "{{", "#{", "%{", "<%=", "{"];
        let Some(opening) = openings.into_iter().find(|opening| text.contains(opening)) else { return };
        // A route that is compiled alone has no source text.
        let Some(file) = self.loaded.sources.get(span.file) else { return };
        let literal = file.text.get(span.range()).unwrap_or_default();
        let looks_like_placeholder = |inside: &str| {
            let end = if opening == "<%=" { "%>" } else { "}" };
            let name = inside.trim_start_matches('{').split_once(end).map_or("", |(name, _)| name.trim());
            // Plain braces are a placeholder only around a name that the rules know.
            if opening == "{" && !self.is_known_path(name, span) {
                return false;
            }
            name.starts_with(|c: char| c.is_alphabetic() || c == '_')
                && name.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.' | '[' | ']'))
        };
        // A raw string is meant literally.
        if !literal.starts_with('r') && text.split(opening).skip(1).any(looks_like_placeholder) {
            let closing = match opening {
                "{{" => "}}",
                "<%=" => "%>",
                _ => "}",
            };
            let message =
                message!("`{opening}…{closing}` is not replaced by a value: the text is used literally");
            let help = match rulec_syntax::parse::template_to_join_call(text) {
                Some(joined) => {
                    message!("write `{joined}`; for a literal text write a raw string, as in r\"…\"")
                }
                None => message!(
                    "to join texts, write `join([\"a\", b], \"\")`; for a literal text write a raw string, \
                    as in r\"…\""
                ),
            };
            self.emit(Code::TemplateText, span, message, help);
        }
    }

    /// True if a path such as `user.name` leads to a declared field, or if its first name is a
    /// definition. Always false without a declared `input`.
    pub(super) fn is_known_path(&self, path: &str, span: Span) -> bool {
        let mut names = path.split('.');
        let Some(first) = names.next() else { return false };
        let Some(mut record) = self.fields.declared_root_fields() else { return false };
        let mut name = first;
        loop {
            let Some(field) = record.get(name) else {
                return name == first && self.symbols.definition(span.file, first).is_some();
            };
            let Some(next) = names.next() else { return true };
            let Some(inner) = field.ty.fields() else { return false };
            (record, name) = (inner, next);
        }
    }

    /// Reports an error if all regular expressions together would need more memory than the limit.
    /// Runs before any of them is compiled.
    pub(super) fn check_regex_memory(&mut self) {
        let patterns = &self.program.regex_facts;
        let (total_size, max_size) = (
            patterns.values().map(|pattern| pattern.estimated_bytes).sum::<usize>(),
            self.analysis_state.regex_memory_limit,
        );
        if total_size <= max_size {
            return self.check_entities_compile();
        }
        let mut largest: Vec<_> = patterns.iter().map(|((text, _), pattern)| (text, *pattern)).collect();
        largest.sort_by_key(|(_, pattern)| {
            (Reverse(pattern.estimated_bytes), pattern.place.file, pattern.place.start)
        });
        let Some(((text, first), others_by_size)) = largest.split_first() else {
            return broken_invariant!("patterns above the limit are not empty");
        };
        let message = message!(
            "the {} regular expressions of these rules would need about {} when compiled, more than the \
            limit of {}",
            patterns.len(),
            format_size(total_size),
            format_size(max_size)
        );
        let size_label =
            |text: &str, size| message!("`{}` needs about {}", shorten_pattern(text), format_size(size));
        let finding = Diagnostic::new(Code::RegexTooLarge, first.place, message)
            .here(size_label(text, first.estimated_bytes));
        let next_largest = others_by_size.iter().take(2);
        let finding = next_largest.fold(finding, |finding, (text, pattern)| {
            finding.label(pattern.place, size_label(text, pattern.estimated_bytes))
        });
        self.diagnostics.push(finding.help(message!(
            "limit the repetitions of the largest expressions, use ASCII classes such as `[0-9]` \
                instead of `\\d`, or raise the limit: `settings {{ regex_memory: 512MiB }}`"
        )));
    }

    /// Compiles the regular expressions of `entity` statements, to report an expression that does
    /// not compile. Skips an expression if its syntax proves that it compiles. The expressions in
    /// conditions are compiled with their conditions.
    fn check_entities_compile(&mut self) {
        let mut failed = Vec::new();
        for entity in &self.program.analysis.entities {
            for pattern in &entity.patterns {
                let checked_pattern = self.program.regex_facts.get(&(pattern.clone(), entity.ignores_case));
                if let Some(checked_pattern) =
                    checked_pattern.filter(|checked_pattern| !checked_pattern.surely_compiles)
                    && text::compile_regex(pattern, entity.ignores_case).is_err()
                {
                    failed.push(checked_pattern.place);
                }
            }
        }
        self.diagnostics.extend(failed.into_iter().map(regex_too_large));
    }

    pub(super) fn check_regex(&mut self, pattern: &str, fold: bool, span: Span) -> Checked<()> {
        let key = (Arc::<str>::from(pattern), fold);
        if self.program.regex_facts.contains_key(&key) {
            return Ok(());
        }
        let error = match text::parse_cached(pattern, fold) {
            Ok(hir) => {
                let size = text::max_compiled_bytes(&hir);
                let checked_pattern = RegexFacts {
                    place: span,
                    surely_compiles: text::surely_compiles(&hir),
                    estimated_bytes: size,
                };
                self.program.regex_facts.insert(key, checked_pattern);
                return Ok(());
            }
            Err(error) => error,
        };
        use regex_syntax::Error::{Parse, Translate};
        use regex_syntax::ast::ErrorKind;
        let (kind, at, unsupported) = match &*error {
            Parse(error) => {
                let unsupported = match error.kind() {
                    ErrorKind::UnsupportedLookAround => Some(message!("look-around")),
                    ErrorKind::UnsupportedBackreference => Some(message!("a back-reference")),
                    _ => None,
                };
                (
                    reason::library_error_message(&error.kind().to_string()),
                    error.span().start.column,
                    unsupported,
                )
            }
            Translate(error) => {
                (reason::library_error_message(&error.kind().to_string()), error.span().start.column, None)
            }
            _ => (Message::verbatim(error.to_string()), 1, None),
        };
        let meant = super::regex_help::suggest_regex(pattern, &error).filter(|_| pattern.len() <= 80);
        let pattern = shorten_pattern(pattern);
        let diagnostic = match unsupported {
            Some(what) => {
                let message = message!("`{pattern}` uses {what}, which is not supported");
                Diagnostic::new(Code::RegexLookAround, span, message).help(message!(
                    "a search with it could take unbounded time; two conditions can often \
                        replace it, as in `x matches r\"a\" and x not matches r\"b\"`"
                ))
            }
            None => Diagnostic::new(
                Code::BadRegex,
                span,
                message!(
                    "`{pattern}` is not a regular \
                expression: {kind}"
                ),
            )
            .help(match (pattern.starts_with('*'), meant) {
                (false, Some(meant)) => message!("write `r\"{meant}\"`"),
                (false, None) if is_duplicate_group_error(&error) => message!(
                    "a name belongs to one group: join the alternatives around the group, as in \
                    `r\"(?:a|b)(?<name>[0-9]+)\"`, or give the second group another name"
                ),
                (true, _) => message!(
                    "in `like`, `*` matches any text: write `x like \"*a*\"`; in a regular \
                        expression, write `.*`"
                ),
                (false, None) => message!(
                    "to look for a literal text, write `contains`; in a regular \
                        expression, `\\` before a character makes it literal, as in `r\"\\(\"`"
                ),
            }),
        };
        self.report(diagnostic.here(message!("at character {at} of the expression")))
    }
}

/// True if the error is that two groups of the expression have the same name.
fn is_duplicate_group_error(error: &regex_syntax::Error) -> bool {
    use regex_syntax::ast::ErrorKind;
    matches!(error, regex_syntax::Error::Parse(error) if matches!(error.kind(), ErrorKind::GroupNameDuplicate { .. }))
}

/// Builds the diagnostic for a regular expression that needs too much memory.
pub fn regex_too_large(span: Span) -> Diagnostic {
    Diagnostic::new(Code::RegexTooLarge, span, message!("this regular expression is too large when compiled"))
        .help(message!(
            "limit its repetitions, as in `{{1,20}}`, or use ASCII classes such as `[0-9]` instead of `\\d`"
        ))
}

/// True if a condition or value contains a parameter of a `def`. Whether it is constant is then
/// known only when a call replaces the parameter by its argument.
fn has_parameter(part: Part<'_>) -> bool {
    matches!(part, Part::Expr(Expr { kind: ExprKind::Param(_), .. }))
        || part.parts().into_iter().any(has_parameter)
}

/// Formats a size in KiB or MiB for a message.
fn format_size(bytes: usize) -> String {
    match bytes >> 20 {
        0 => format!("{} KiB", bytes >> 10),
        mebibytes => format!("{mebibytes} MiB"),
    }
}

/// Truncates a long regular expression so that it fits into an error message.
fn shorten_pattern(pattern: &str) -> String {
    let mut short: String = pattern.chars().take(40).collect();
    if short.len() < pattern.len() {
        short.push('…');
    }
    short
}
