//! Diagnostics for calls of unknown functions, and for calls with too few or too many arguments.
//! Each shows a call or an expression that the author probably means.

mod meant_random;
mod meant_time;

use super::{AlreadyReported, Checked, Checker, meant_call};
use rulec_base::diag::{Code, Diagnostic, Message};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::builtins::{self, Function};
use rulec_lang::operators::{self, Fixity};
use rulec_lang::ty::{Field, Kind, KindSet};
use rulec_syntax::ast::{self, Ident};
use rulec_syntax::write::quote_name;

impl Checker<'_> {
    pub(super) fn report_unknown_function<T>(
        &mut self,
        name: &Ident,
        args: &[ast::Arg],
        span: Span,
    ) -> Checked<T> {
        let message = message!("there is no function `{}`", name.node);
        if self.symbols.is_name_broken(&name.node) {
            return Err(AlreadyReported);
        }
        let is_defined = self.symbols.definitions.names().any(|defined_name| defined_name == name.node);
        let args: Vec<&str> = args.iter().map(|arg| self.loaded.sources.slice(arg.value.span)).collect();
        if let Some(diagnostic) =
            self.type_test_diagnostic(&name.node, &args, name.span, span).filter(|_| !is_defined)
        {
            return self.report(diagnostic);
        }
        let is_word = matches!(name.node.as_str(), "function" | "func" | "fn" | "lambda" | "fun");
        if is_word && !is_defined {
            let message = message!("functions without a name are not supported");
            let params: Vec<String> = args.iter().map(|arg| format!("{arg}: TYPE")).collect();
            let written = format!("def NAME({}) = VALUE", params.join(", "));
            let help = message!("define the function as a statement, `{written}`, and call it by its name");
            return self.fail(Code::UnknownFunction, name.span, message, help);
        }
        if let Some((help, fix)) = self.foreign_duration_remedy(name.span).filter(|_| !is_defined) {
            let diagnostic = Diagnostic::new(Code::UnknownFunction, name.span, message).help(help);
            return self.report(
                fix.into_iter().fold(diagnostic, |all, (place, written)| all.likely_fix(place, written)),
            );
        }
        if let Some(written) = meant_call::list_for_constructor(&name.node, &args).filter(|_| !is_defined) {
            let help =
                message!("a list is written in brackets: write `{written}`", written = written.clone());
            let diagnostic = Diagnostic::new(Code::UnknownFunction, name.span, message).help(help);
            return self.report(diagnostic.likely_fix(span, written));
        }
        let meant = || {
            self.count_call_diagnostic(name, &args, span)
                .or_else(|| self.time_call_diagnostic(name, &args, span))
                .or_else(|| self.random_call_diagnostic(name, &args, span))
        };
        if let Some(diagnostic) = (!is_defined).then(meant).flatten() {
            return self.report(diagnostic);
        }
        if let Some(range) = meant_call::range_for_call(&name.node, &args).filter(|_| !is_defined) {
            let diagnostic = Diagnostic::new(Code::UnknownFunction, name.span, message);
            let before = &self.loaded.sources.file(span.file).text[..span.start as usize];
            return self.report(match before.trim_end().ends_with(" in") {
                true => diagnostic.help(message!("write `{range}`")).likely_fix(span, range),
                // No other operator has a range on its right.
                false => diagnostic.help(message!("a range follows `in`: write `VALUE in {range}`")),
            });
        }
        let has_now = self.fields.declared_root_fields().is_none_or(|input| input.get("now").is_some());
        if let Some(written) = meant_call::translate_call(&name.node, &args, has_now).filter(|_| !is_defined)
        {
            let help = match builtins::is_clock_function(&name.node) {
                true => message!("rules never read the clock: write `{written}`, the time of the message"),
                false => message!("write `{written}`"),
            };
            let diagnostic = Diagnostic::new(Code::UnknownFunction, name.span, message).help(help);
            return self.report(diagnostic.likely_fix(span, written));
        }
        if let Some(help) = operator_help(&name.node).filter(|_| !is_defined) {
            return self.fail(Code::UnknownFunction, name.span, message, help);
        }
        let names: Vec<&str> = builtins::TABLE.iter().map(|row| row.name).collect();
        let nearest_name =
            || self.nearest(&name.node, names.iter().copied().chain(self.symbols.definitions.names()));
        let intended_name = builtins::builtin_for_foreign_name(&name.node)
            .or_else(nearest_name)
            .or_else(|| builtin_after_prefix(&name.node));
        let help = message!("the functions are {}; `def` and `extern fn` declare others", names.join(", "));
        let diagnostic = Diagnostic::new(Code::UnknownFunction, name.span, message);
        self.report_unknown(&name.node, diagnostic.help(help).did_you_mean(name.span, intended_name))
    }

    /// Returns the diagnostic for a call by which other languages test a type or read a file, such
    /// as `is_number(x)`. `args` are the source texts of the arguments. `None` for other calls.
    fn type_test_diagnostic(
        &self,
        name: &str,
        args: &[&str],
        name_span: Span,
        span: Span,
    ) -> Option<Diagnostic> {
        let message = message!("there is no function `{}`", name);
        let diagnostic = Diagnostic::new(Code::UnknownFunction, name_span, message);
        if let Some(written) = meant_call::translate_type_test(name, args) {
            let help = message!("write `{written}`: a value of another type counts as missing");
            return Some(diagnostic.help(help).likely_fix(span, written));
        }
        match args {
            [value] if meant_call::returns_type_name(name) => Some(diagnostic.help(message!(
                "to test the type, write `({value} as number) is present`, with the type that is meant"
            ))),
            [file] if meant_call::reads_file(name) && file.starts_with('"') => Some(
                diagnostic
                    .help(message!("a list of the lines of a file is written `list NAME = from {file}`")),
            ),
            _ => None,
        }
    }

    /// Adds a suggestion to the diagnostic for a call with a wrong number of arguments: a call that
    /// the author probably means. If there is none, the help shows the parameters.
    pub(super) fn with_suggested_call(
        &self,
        diagnostic: Diagnostic,
        function: Function,
        written_args: &[ast::Arg],
        span: Span,
    ) -> Diagnostic {
        if let Some(help) = self.date_from_numbers_help(function, written_args) {
            return diagnostic.help(help);
        }
        match self.suggest_call_with_fields(function, written_args) {
            Some(written) => {
                let help = message!("write `{replacement}`", replacement = written.clone());
                diagnostic.help(help).likely_fix(span, written)
            }
            None => diagnostic.help(message!("its parameters are `{}`", function.info().signature())),
        }
    }

    /// Returns the call with the missing arguments, if only one field of the message fits each of
    /// them: `hour(now)` for `hour()`. `None` for other calls.
    fn suggest_call_with_fields(&self, function: Function, written_args: &[ast::Arg]) -> Option<String> {
        let row = function.info();
        let required = row.params.len() - row.optional_count;
        let missing = row.params.get(written_args.len()..required)?;
        if missing.is_empty() || !written_args.is_empty() {
            return None;
        }
        let roots = self.fields.declared_root_fields()?;
        let mut args: Vec<String> = Vec::new();
        for (_, kinds) in missing {
            // The usual argument, if several fields fit.
            let usual = if kinds.has(Kind::DateTime) { "now" } else { "text" };
            let fits = |name: &&str| {
                let is_subset =
                    |field: &Field| field.ty.kinds.is_subset_of(*kinds) && *kinds != KindSet::MESSAGE_KINDS;
                roots.get(name).is_some_and(|field| !field.ty.kinds.is_empty() && is_subset(field))
            };
            let mut fields = roots.names().filter(fits);
            let first = fields.next()?;
            let name = match (fields.next(), fits(&usual)) {
                (None, _) => first,
                (Some(_), true) => usual,
                (Some(_), false) => return None,
            };
            let name = quote_name(name);
            if args.contains(&name) {
                return None;
            }
            args.push(name);
        }
        Some(format!("{}({})", row.name, args.join(", ")))
    }

    /// Returns the help text for a date or time of day that is given as several numbers, as in
    /// `date(2026, 1, 31)`. `None` for other calls.
    fn date_from_numbers_help(&self, function: Function, written_args: &[ast::Arg]) -> Option<Message> {
        let number = |arg: &ast::Arg| self.loaded.sources.slice(arg.value.span).parse::<u32>().ok();
        let numbers: Vec<u32> = written_args.iter().map(number).collect::<Option<_>>()?;
        let text = match (function, numbers.as_slice()) {
            (Function::Date, [year, month, day, ..]) => format!("{year:04}-{month:02}-{day:02}"),
            (Function::Time, [hour, minute, ..]) => format!("{hour:02}:{minute:02}"),
            _ => return None,
        };
        Some(message!("write `{}(\"{text}\")`", function.info().name))
    }
}

/// Returns the built-in function that follows a prefix in the name of a function of another
/// language: `len` for `str_len` and `arrayLength`. `None` for other names.
fn builtin_after_prefix(name: &str) -> Option<&'static str> {
    let lower = name.to_lowercase().replace('_', "");
    let prefixes = ["str", "string", "text", "list", "array", "math", "get", "date", "datetime", "num", "to"];
    let rests = prefixes.iter().filter_map(|prefix| lower.strip_prefix(prefix));
    rests.filter(|rest| rest.len() > 2).find_map(|rest| {
        let known = builtins::TABLE.iter().map(|row| row.name).find(|known| known.replace('_', "") == rest);
        known.or_else(|| builtins::builtin_for_foreign_name(rest))
    })
}

/// Returns a help text if an author called an operator of this or another language as a function.
/// `None` for other names.
fn operator_help(name: &str) -> Option<Message> {
    let lowercase = name.to_lowercase();
    let help = match lowercase.as_str() {
        "not" => message!("`not` comes before a condition: `not (x > 3)`"),
        "if" | "iif" | "ifelse" | "case" | "switch" => {
            message!("to choose between two values, write `if C then a else b`")
        }
        "isnull" | "is_null" | "isblank" | "is_none" | "isna" | "isempty" | "is_empty" => {
            message!("write `x is missing`; for an empty text write `x == \"\"`")
        }
        "exists" | "defined" | "isset" | "is_defined" | "notnull" => message!("write `x is present`"),
        "coalesce" | "nvl" | "ifnull" | "ifna" | "iferror" | "default" => {
            message!("write `x ?? y`, which is y if x is missing")
        }
        "count" | "countif" => {
            message!(
                "write `len(list)` for the length of a list, or `count x in list: x > 3` for the number of \
                elements for which a condition holds"
            )
        }
        "some" | "every" | "filter" | "exist" => {
            message!("write `any x in list: condition` or `all x in list: condition`")
        }
        "re_match" | "regexmatch" | "regexp_like" | "regex_match" => message!("write `x matches r\"…\"`"),
        "get" => message!("read a field with `a.b`, and the value of a key with `d[\"k\"]`"),
        "datetime" | "timestamp" | "todatetime" => {
            message!("write the text alone next to a time, or `\"…\" as datetime`")
        }
        _ if builtins::is_clock_function(&lowercase) => builtins::NO_CLOCK_HELP,
        _ => {
            let row = operators::TABLE.iter().filter(|row| row.fixity == Fixity::Infix);
            let mut row = row.filter(|row| {
                row.spelling == lowercase || row.foreign_spellings.contains(&lowercase.as_str())
            });
            let spelling = row.next()?.spelling;
            return Some(message!("`{spelling}` is written between its operands: `x {spelling} y`"));
        }
    };
    Some(help.to_owned())
}
