//! The parameters of a function in the syntax of another language, for help texts with a `def`.
//! The types of the parameters are guessed from their uses.

use crate::lex::{TokenKind, tokenize};
use rulec_lang::builtins::Function;
use rulec_lang::operators::Op;

/// Returns the parameters of a `def` from the names of a function's parameters, and from the
/// function's value. A parameter with a type keeps its text: `a: number, b: string`.
pub(in super::super) fn write_typed_parameters(params: &[&str], value: &str) -> String {
    let typed = params.iter().map(|param| match param.contains(':') {
        true => (*param).to_owned(),
        false => format!("{param}: {}", type_shown_by_uses(param, value)),
    });
    typed.collect::<Vec<_>>().join(", ")
}

/// Returns the type that the uses of a name in an expression show; `string` if no use shows
/// another type.
fn type_shown_by_uses(name: &str, value: &str) -> &'static str {
    let tokens: Vec<_> = tokenize(value, 0).filter(|token| !token.kind.is_trivia()).collect();
    let text = |index: usize| tokens.get(index).map_or("", |token| token.text(value));
    let kind = |index: usize| tokens.get(index).map(|token| token.kind);
    let is_arithmetic = |text: &str| matches!(text, "<" | ">" | "<=" | ">=" | "+" | "-" | "*" | "/" | "%");
    for index in (0..tokens.len()).filter(|index| text(*index) == name) {
        let before = index.checked_sub(1).map_or("", text);
        let (next, after) = (text(index + 1), kind(index + 2));
        let call = index.checked_sub(2).filter(|_| before == "(").map_or("", text);
        let is_list =
            matches!(before, "in" | "any" | "all" | "none") && text(index.saturating_sub(2)) != "not";
        match () {
            () if next == "." => return "any",
            () if is_list && Op::from_spelling(next).is_none() => return "list<string>",
            () if matches!(call, "round" | "abs" | "floor" | "ceil") => return "number",
            () if matches!(call, "sum" | "first" | "last") => return "list<any>",
            () if Function::from_name(call).is_some() => return "string",
            () if is_arithmetic(next) && after == Some(TokenKind::String) => return "string",
            () if is_arithmetic(next) || is_arithmetic(before) => return "number",
            () if after == Some(TokenKind::Number) || next == "in" && text(index + 3).starts_with("..") => {
                return "number";
            }
            () if matches!(next, "and" | "or" | "unless") || before == "not" => return "bool",
            () if matches!(before, "and" | "or" | "unless") && next.is_empty() => return "bool",
            () => {}
        }
    }
    "string"
}

#[cfg(test)]
mod tests {
    use super::write_typed_parameters;

    #[test]
    fn the_types_of_parameters_follow_from_their_uses() {
        let check = |params: &[&str], value: &str, expected: &str| {
            assert_eq!(write_typed_parameters(params, value), expected, "{value}");
        };
        check(&["x"], "x > 100", "x: number");
        check(&["a", "b"], "a * b > 3", "a: number, b: number");
        check(&["words"], "text contains any words", "words: list<string>");
        check(&["who"], "who == \"admin\"", "who: string");
        check(&["n: int"], "n > 3", "n: int");
        check(&["user"], "user.role == \"admin\"", "user: any");
        check(&["t"], "lower(t) == \"a\"", "t: string");
        check(&["late"], "late and total > 3", "late: bool");
        check(&["a", "b"], "a and b", "a: bool, b: bool");
    }
}
