//! Replacements for calls of a function in a module of another language, such as
//! `strings.HasPrefix(url, "https")`, whose first argument is the value.

use super::{is_condition_operator, operator_for_query_name};
use rulec_lang::builtins::{self, Function};
use rulec_lang::operators::Op;

/// Modules and classes of other languages that hold functions on values.
const FOREIGN_MODULES: [&str; 19] = [
    "strings",
    "string",
    "str",
    "stringutils",
    "stringutil",
    "strutil",
    "lodash",
    "_",
    "slices",
    "lists",
    "arrays",
    "collections",
    "sets",
    "math",
    "re",
    "regex",
    "regexp",
    "objects",
    "np",
];

/// Returns the operator or call of this language that means the same as a call of a module's
/// function. `base` is the text before the dot, `name` the function, and `args` the text in the
/// parentheses. `None` for other calls.
pub(in super::super) fn translate_module_call(base: &str, name: &str, args: &str) -> Option<String> {
    let module = base.to_lowercase();
    if !FOREIGN_MODULES.contains(&module.as_str()) {
        return None;
    }
    let args = split_arguments(args)?;
    // A value with this name has methods without a value among their arguments: `str.slice(2, 5)`.
    let is_value =
        |arg: &str| arg.starts_with(|c: char| c.is_alphabetic() || c == '_') && !is_quoted_text(arg);
    if !args.iter().any(|arg| is_value(arg)) {
        return None;
    }
    let lower = name.to_lowercase().replace('_', "");
    let is_list_module = matches!(module.as_str(), "slices" | "lists" | "arrays" | "collections" | "sets");
    let [first, second] = args.as_slice() else {
        let function = Function::from_name(&lower).map(|function| function.info().name);
        let function = function.or_else(|| builtins::builtin_for_foreign_name(&lower))?;
        return (!args.is_empty()).then(|| format!("{function}({})", args.join(", ")));
    };
    if matches!(module.as_str(), "re" | "regex" | "regexp") {
        // Some languages write the pattern first, others the text.
        let (pattern, value) = if is_quoted_text(first) { (first, second) } else { (second, first) };
        let is_match = matches!(
            lower.as_str(),
            "match"
                | "matchstring"
                | "matches"
                | "ismatch"
                | "search"
                | "test"
                | "fullmatch"
                | "find"
                | "findstring"
        );
        let pattern = to_raw_string(pattern).filter(|_| is_match)?;
        return Some(format!("{value} matches {pattern}"));
    }
    Some(match lower.as_str() {
        "hasprefix" | "startswith" | "beginswith" => format!("{first} starts_with {second}"),
        "hassuffix" | "endswith" => format!("{first} ends_with {second}"),
        "contains" | "includes" | "has" | "some" if is_list_module => format!("{second} in {first}"),
        "equalfold" | "equalsignorecase" | "equalsfold" => format!("{first} == {second} ignoring case"),
        "containsignorecase" | "containsfold" => format!("{first} contains {second} ignoring case"),
        _ => {
            let function = Function::from_name(&lower).map(|function| function.info().name);
            match function.or_else(|| builtins::builtin_for_foreign_name(&lower)) {
                Some(function) => format!("{function}({first}, {second})"),
                None => {
                    let operator = operator_for_query_name(name)?;
                    let op = Op::from_spelling(operator.trim_start_matches("not "))?;
                    is_condition_operator(op).then(|| format!("{first} {operator} {second}"))?
                }
            }
        }
    })
}

/// Returns the number with a unit that a call reads from a text: `10MB` for
/// `units.parse_bytes("10MB")`. `None` for other calls.
pub(super) fn translate_parsed_quantity(base: &str, name: &str, args: &str) -> Option<String> {
    let words = format!("{base}_{name}").to_lowercase();
    let reads = words.contains("parse") || words.contains("from") || words.ends_with("_of");
    let is_quantity = ["unit", "byte", "size", "duration", "time", "period"];
    let text = args.strip_prefix('"')?.strip_suffix('"')?;
    let is_number =
        text.starts_with(|c: char| c.is_ascii_digit()) && text.ends_with(|c: char| c.is_ascii_alphabetic());
    (reads && is_quantity.into_iter().any(|word| words.contains(word)) && is_number).then(|| text.to_owned())
}

/// Returns the comparison that a method means: `a > 10.50` for
/// `a.greaterThan(decimal("10.50"))`. `None` for other methods.
pub(super) fn translate_comparison_method(base: &str, name: &str, args: &str) -> Option<String> {
    let operator = operator_for_query_name(name)?;
    let lower = args.to_lowercase();
    let wrapped = ["decimal(", "bigdecimal(", "number(", "int(", "long(", "float("];
    let inner = wrapped.into_iter().find_map(|word| lower.strip_prefix(word)?.strip_suffix(')'));
    let inner = inner.map(|inner| inner.trim().trim_matches('"'));
    let is_number = |text: &&str| text.parse::<f64>().is_ok();
    let value = inner.filter(is_number).unwrap_or(args);
    Some(format!("{base} {operator} {value}"))
}

/// True if an argument begins like a text literal of some programming language: with a single
/// quote, a double quote or a backquote, also after a prefix such as `r` or `@`.
fn is_quoted_text(arg: &str) -> bool {
    arg.trim_start_matches(['r', '@']).starts_with(['"', '\'', '`'])
}

/// Converts a text literal of some programming language, which contains a regular expression, to a
/// raw text literal of the rule language. `None` if `arg` is no such literal, or its text contains
/// a double quote, or an escape other than a doubled backslash.
fn to_raw_string(arg: &str) -> Option<String> {
    let is_raw = arg.starts_with(['r', '@', '`']);
    let inner = arg.trim_start_matches(['r', '@']);
    let inner =
        ['"', '\'', '`'].into_iter().find_map(|quote| inner.strip_prefix(quote)?.strip_suffix(quote))?;
    let plain = if is_raw { inner.to_owned() } else { inner.replace("\\\\", "\0") };
    let has_escape = !is_raw && plain.contains('\\');
    (!inner.contains('"') && !has_escape).then(|| format!("r\"{}\"", plain.replace('\0', "\\")))
}

/// Splits the arguments of a call at its commas outside brackets and quotes. `None` if a bracket or
/// quote is unclosed.
pub(in super::super) fn split_arguments(args: &str) -> Option<Vec<&str>> {
    let (mut parts, mut start, mut depth, mut quote) = (Vec::new(), 0, 0_i32, None);
    let mut is_escaped = false;
    for (at, c) in args.char_indices() {
        match (quote, c) {
            _ if std::mem::take(&mut is_escaped) => {}
            (Some(_), '\\') => is_escaped = true,
            (Some(open), _) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, ',') if depth == 0 => {
                parts.push(args[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    let last = args[start..].trim();
    parts.extend((!last.is_empty()).then_some(last));
    (depth == 0 && quote.is_none() && parts.iter().all(|part| !part.is_empty())).then_some(parts)
}

#[cfg(test)]
mod tests {
    use super::translate_module_call;

    #[test]
    fn calls_of_modules_become_operators_and_functions() {
        let call = |base, name, args| translate_module_call(base, name, args);
        assert_eq!(call("strings", "HasPrefix", "url, \"a,b\"").as_deref(), Some("url starts_with \"a,b\""));
        assert_eq!(call("slices", "Contains", "tags, \"a\"").as_deref(), Some("\"a\" in tags"));
        assert_eq!(call("re", "match", "r\"a\", text").as_deref(), Some("text matches r\"a\""));
        assert_eq!(call("Regex", "IsMatch", "text, \"a\"").as_deref(), Some("text matches r\"a\""));
        assert_eq!(call("strings", "EqualFold", "a, b").as_deref(), Some("a == b ignoring case"));
        assert_eq!(call("str", "lower", "text").as_deref(), Some("lower(text)"));
        assert_eq!(
            call("regexp", "MatchString", "\"a\\\\d\", text").as_deref(),
            Some("text matches r\"a\\d\"")
        );
        assert_eq!(call("regexp", "MatchString", "\"a\\td\", text"), None);
        assert_eq!(call("str", "slice", "2, 5"), None);
        assert_eq!(call("text", "slice", "a, b"), None);
        assert_eq!(call("user", "startsWith", "a, b"), None);
        assert_eq!(call("strings", "Frobnicate", "a, b"), None);
    }
}
