//! Functions without a name, as other languages write them. Methods such as `tags.some(t => t ==
//! "vip")` apply them to the elements of a list; a quantifier means the same.

use super::foreign::{foreign_operator, split_arguments, translate_method_call};
use super::remedy::is_valid_expression;
use crate::lex::{TokenKind, is_name, tokenize};

/// Methods that return a list as another kind of list or iterator, so that they can be left out.
const CONVERSIONS: [&str; 14] = [
    "iter",
    "into_iter",
    "iter_mut",
    "stream",
    "iterator",
    "tolist",
    "to_list",
    "toarray",
    "to_vec",
    "values",
    "asiterable",
    "assequence",
    "cloned",
    "collect",
];

/// True for a method without arguments that only returns the same elements, such as `iter`.
pub(super) fn is_conversion(name: &str, args: &str) -> bool {
    args.is_empty() && CONVERSIONS.contains(&name.to_lowercase().as_str())
}

/// Returns the quantifier that means the same as a method with a function for each element:
/// `any t in tags: t == "vip"` for `tags.some(t => t == "vip")`. `None` for other methods, and if
/// the condition has no equivalent.
pub(super) fn translate_quantifier_method(base: &str, method: &str, args: &str) -> Option<String> {
    let quantifier = match method.to_lowercase().replace('_', "").as_str() {
        "some" | "any" | "exists" | "filter" | "find" | "anymatch" | "where" | "findlast" => "any",
        "every" | "all" | "allmatch" | "forall" => "all",
        "none" | "nonematch" => "not any",
        "count" | "countif" => "count",
        _ => return None,
    };
    let (name, condition) = read_function_of_element(args)?;
    let written = format!("{quantifier} {name} in {base}: {condition}");
    is_valid_expression(&written)
        .then(|| if quantifier == "count" { format!("({written})") } else { written })
}

/// Returns the count that means the same as the length of a filtered list: `(count t in tags: t ==
/// "vip")` for `tags.filter(t => t == "vip").length`. `None` for other methods.
pub(super) fn translate_counting_method(base: &str, method: &str, args: &str) -> Option<String> {
    matches!(method.to_lowercase().as_str(), "filter" | "where" | "findall" | "select")
        .then(|| translate_quantifier_method(base, "count", args))
        .flatten()
}

/// Reads a function without a name, or the name and the condition of a macro: `t => t == "vip"`,
/// `|t| t == "vip"`, `lambda t: t == "vip"`, or `t, t == "vip"`. Returns the name of the element
/// and the condition in this language.
fn read_function_of_element(args: &str) -> Option<(String, String)> {
    let args = args.trim();
    let kotlin = args.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).map(str::trim);
    let args = kotlin.unwrap_or(args);
    let function = ["function", "func", "fn"].into_iter().find_map(|word| args.strip_prefix(word));
    let (name, body) = if let Some(rest) = function {
        rest.trim_start().strip_prefix('(')?.split_once(')')?
    } else if let Some(rest) = args.strip_prefix("lambda ") {
        rest.split_once(':')?
    } else if let Some(rest) = args.strip_prefix('|') {
        rest.split_once('|')?
    } else if let Some((name, body)) = args.split_once("=>").or_else(|| args.split_once("->")) {
        (name, body)
    } else if kotlin.is_some() {
        ("it", args)
    } else {
        let parts = split_arguments(args)?;
        let [name, condition] = parts.as_slice() else { return None };
        (*name, *condition)
    };
    let name = name.trim().trim_start_matches(['(', '&', '*']).trim_end_matches(')');
    let name = name.split(':').next().unwrap_or(name).trim();
    let body = body.trim();
    let inner = body.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')).unwrap_or(body).trim();
    let inner = inner.strip_prefix("return ").unwrap_or(inner).trim_end_matches(';').trim();
    let condition = translate_condition(inner);
    (is_name(name) && !condition.is_empty()).then(|| (name.to_owned(), condition))
}

/// Translates a condition of another programming language: replaces its operators, quotes and
/// methods by the operators, quotes and functions of rules.
fn translate_condition(condition: &str) -> String {
    let mut written = String::new();
    for token in tokenize(condition, 0) {
        let text = token.text(condition);
        match token.kind {
            TokenKind::SingleQuoted => written.push_str(&format!("\"{}\"", text.trim_matches('\''))),
            TokenKind::Operator if matches!(text, "===" | "!==" | "&&" | "||") => {
                written.push_str(foreign_operator(text).map_or(text, |(op, _)| op.info().spelling));
            }
            TokenKind::Operator if text == "!" => written.push_str("not "),
            _ => written.push_str(text),
        }
    }
    translate_method_to_condition(&written).unwrap_or(written)
}

/// Returns the condition that means the same as a call of one method, such as `text contains w` for
/// `text.contains(w)`. `None` for other conditions.
fn translate_method_to_condition(condition: &str) -> Option<String> {
    let (callee, args) = condition.split_once('(')?;
    let args = args.strip_suffix(')').filter(|args| !args.contains(['(', ')']))?;
    let (base, method) = callee.rsplit_once('.')?;
    let is_path = base.chars().all(|c| c.is_alphanumeric() || matches!(c, '_' | '.'));
    translate_method_call(base, method, args).filter(|written| is_path && is_valid_expression(written))
}

#[cfg(test)]
mod tests {
    use super::{translate_counting_method, translate_quantifier_method};

    #[test]
    fn methods_with_functions_become_quantifiers() {
        let check = |method: &str, args: &str, expected: Option<&str>| {
            assert_eq!(
                translate_quantifier_method("l", method, args).as_deref(),
                expected,
                "{method}({args})"
            );
        };
        check("some", "t => t === 'vip'", Some("any t in l: t == \"vip\""));
        check("every", "(t) => t.n > 3 && t.ok", Some("all t in l: t.n > 3 and t.ok"));
        check("any", "|i| i.price > 100", Some("any i in l: i.price > 100"));
        check("exists", "t, t == \"vip\"", Some("any t in l: t == \"vip\""));
        check("exists", "w, text.contains(w)", Some("any w in l: text contains w"));
        check("filter", "lambda x: x > 3", Some("any x in l: x > 3"));
        check("some", "function(x) { return x > 3; }", Some("any x in l: x > 3"));
        check("any", "{ it.price > 3 }", Some("any it in l: it.price > 3"));
        check("noneMatch", "x -> x > 3", Some("not any x in l: x > 3"));
        check("some", "isVip", None);
        check("some", "x => ", None);
        check("map", "x => x + 1", None);
        assert_eq!(
            translate_counting_method("l", "filter", "x => x > 3").as_deref(),
            Some("(count x in l: x > 3)")
        );
    }
}
