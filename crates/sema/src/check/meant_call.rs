//! Suggests an expression in place of a call of another language's function. Handles functions of
//! spreadsheets and SQL, operators called as functions, and functions that read the clock.

use rulec_lang::builtins;
use rulec_lang::operators::{Fixity, TABLE};
use rulec_lang::ty::Ty;

/// Returns the expression that corresponds to a call, such as `a ?? b` for `COALESCE(a, b)`. `args`
/// are the source texts of the arguments. `has_now` is true if messages can have the field `now`.
/// `None` if no expression corresponds.
pub(super) fn translate_call(name: &str, args: &[&str], has_now: bool) -> Option<String> {
    if args.iter().any(|arg| arg.is_empty() || arg.len() > 80 || arg.contains('\n')) {
        return None;
    }
    let lower = name.to_lowercase().replace('_', "");
    if builtins::is_clock_function(name) {
        let is_date = lower.contains("date") || lower == "today";
        return (has_now && args.is_empty()).then(|| (if is_date { "date(now)" } else { "now" }).to_owned());
    }
    Some(match (lower.as_str(), args) {
        ("sumproduct", [first, second]) => {
            let (list, one) = first.rsplit_once('.')?;
            let (other_list, two) = second.rsplit_once('.')?;
            if list != other_list {
                return None;
            }
            format!("(sum x.{one} * x.{two} for x in {list}: true)")
        }
        ("countif" | "countifs", [list, criterion]) => {
            format!("(count x in {list}: x {})", convert_criterion(criterion))
        }
        ("sumif" | "sumifs", [list, criterion]) => {
            format!("(sum x for x in {list}: x {})", convert_criterion(criterion))
        }
        ("average" | "avg" | "mean", [list]) => format!("sum({list}) / len({list})"),
        ("and", [_, _, ..]) => format!("({})", args.join(" and ")),
        ("or", [_, _, ..]) => format!("({})", args.join(" or ")),
        ("not", [condition]) => format!("not ({condition})"),
        ("if" | "iif" | "ifelse", [condition, yes, no]) => format!("(if {condition} then {yes} else {no})"),
        ("coalesce" | "nvl" | "ifnull" | "ifna" | "iferror", [_, _, ..]) => {
            format!("({})", args.join(" ?? "))
        }
        ("isnull" | "isnone" | "isna" | "isnan", [value]) => format!("{value} is missing"),
        ("exists" | "defined" | "isset" | "isdefined" | "notnull" | "isnotnull", [value]) => {
            format!("{value} is present")
        }
        ("has" | "have" | "exist" | "present" | "ispresent" | "given" | "hasvalue" | "hasfield", [path])
            if !path.contains(['"', '(']) =>
        {
            format!("{path} is present")
        }
        (
            "missing" | "ismissing" | "absent" | "isabsent" | "notset" | "undefined" | "isundefined",
            [path],
        ) if !path.contains(['"', '(']) => {
            format!("{path} is missing")
        }
        ("mod", [left, right]) => format!("({left} % {right})"),
        ("left", [text, count]) => format!("substring({text}, 0, {count})"),
        ("right", [text, count]) => format!("substring({text}, -{count})"),
        ("exact" | "equals" | "eq", [left, right]) => format!("{left} == {right}"),
        ("between", [value, low, high]) => format!("{value} in {low}..={high}"),
        ("int" | "trunc" | "floordiv", [value]) => format!("floor({value})"),
        (_, [left, right]) => {
            let mut infix =
                TABLE.iter().filter(|row| row.fixity == Fixity::Infix && row.op.is_spelled_as_word());
            let row = infix.find(|row| {
                row.spelling.replace('_', "") == lower
                    || row.foreign_spellings.contains(&name.to_lowercase().as_str())
            })?;
            format!("{left} {} {right}", row.spelling)
        }
        _ => return None,
    })
}

/// Returns the range that a call of another language means: `1..10` for `range(1, 10)`. `None` for
/// other calls.
pub(super) fn range_for_call(name: &str, args: &[&str]) -> Option<String> {
    match (name.to_lowercase().replace('_', "").as_str(), args) {
        ("range" | "arange" | "rangeof" | "seq" | "generateseries", [low, high]) => {
            Some(format!("{low}..{high}"))
        }
        ("range", [count]) => Some(format!("0..{count}")),
        _ => None,
    }
}

/// Converts a call by which another language tests a type to the type test of rules:
/// `(x as number) is present` for `is_number(x)` and `isinstance(x, int)`. `args` are the source
/// texts of the arguments. `None` for other functions.
pub(super) fn translate_type_test(name: &str, args: &[&str]) -> Option<String> {
    let lower = name.to_lowercase().replace('_', "");
    let (value, ty) = match (lower.as_str(), args) {
        ("isinstance" | "istype" | "instanceof" | "is" | "isa", [value, ty]) => (value, ty.trim_matches('"')),
        (name, [value]) => (value, name.strip_prefix("is")?),
        _ => return None,
    };
    let ty = match ty {
        "numeric" | "num" => "number",
        "text" => "string",
        "date" | "time" | "timestamp" => "datetime",
        ty => Ty::builtin_for_type_name(ty)?,
    };
    Some(format!("({value} as {ty}) is present"))
}

/// True for a function of another language that reads a file.
pub(super) fn reads_file(name: &str) -> bool {
    let lower = name.to_lowercase().replace('_', "");
    matches!(lower.as_str(), "open" | "file" | "load" | "lines" | "include" | "csv" | "import" | "from")
        || lower.starts_with("read")
        || lower.starts_with("load")
}

/// True for a function of another language that returns the name of a value's type.
pub(super) fn returns_type_name(name: &str) -> bool {
    matches!(
        name.to_lowercase().replace('_', "").as_str(),
        "typeof" | "type" | "gettype" | "typename" | "kind" | "kindof" | "class"
    )
}

/// Converts a criterion of a spreadsheet function to a comparison: `">3"` to `> 3`.
pub(super) fn convert_criterion(criterion: &str) -> String {
    let inner = criterion.trim_matches('"');
    let signs = inner.len() - inner.trim_start_matches(['<', '>', '=']).len();
    match (&inner[..signs], inner[signs..].trim()) {
        ("", _) => format!("== {criterion}"),
        ("=", value) => format!("== {value}"),
        ("<>", value) => format!("!= {value}"),
        (sign, value) => format!("{sign} {value}"),
    }
}

/// Returns the list `["a", "b"]` for a call by which other languages build a list or a set, such as
/// `listOf("a", "b")`. `None` for other calls.
pub(super) fn list_for_constructor(name: &str, args: &[&str]) -> Option<String> {
    let is_constructor = matches!(
        name,
        "listOf"
            | "setOf"
            | "arrayOf"
            | "mutableListOf"
            | "mutableSetOf"
            | "arrayListOf"
            | "list"
            | "List"
            | "set"
            | "Set"
            | "tuple"
            | "array"
            | "Array"
            | "ARRAY"
            | "vector"
            | "c"
            | "asList"
            | "hashSetOf"
            | "frozenset"
            | "列表"
    );
    let written = match args {
        // `set(["a", "b"])`
        [only] if only.starts_with('[') => (*only).to_owned(),
        args => format!("[{}]", args.join(", ")),
    };
    (is_constructor && !args.is_empty()).then_some(written)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_calls_become_expressions() {
        let check = |name: &str, args: &[&str], expected: Option<&str>| {
            assert_eq!(translate_call(name, args, true).as_deref(), expected, "{name}");
        };
        check("SUMPRODUCT", &["l.a", "l.b"], Some("(sum x.a * x.b for x in l: true)"));
        check("COUNTIF", &["l", "\">3\""], Some("(count x in l: x > 3)"));
        check("SUMIF", &["l", "\"a\""], Some("(sum x for x in l: x == \"a\")"));
        check("has", &["ctx.a"], Some("ctx.a is present"));
        check("has", &["\"a\""], None);
        check("isMissing", &["a"], Some("a is missing"));
        check("AVERAGE", &["l"], Some("sum(l) / len(l)"));
        check("IF", &["a", "1", "2"], Some("(if a then 1 else 2)"));
        check("COALESCE", &["a", "b"], Some("(a ?? b)"));
        assert_eq!(range_for_call("range", &["1", "10"]).as_deref(), Some("1..10"));
        assert_eq!(range_for_call("range", &["10"]).as_deref(), Some("0..10"));
        check("now", &[], Some("now"));
        check("TODAY", &[], Some("date(now)"));
        check("startsWith", &["a", "\"b\""], Some("a starts_with \"b\""));
        check("frobnicate", &["a", "b"], None);
        for (name, args, expected) in [
            ("is_number", &["x"][..], Some("(x as number) is present")),
            ("isString", &["x"], Some("(x as string) is present")),
            ("is_str", &["x"], Some("(x as string) is present")),
            ("isinstance", &["x", "int"], Some("(x as int) is present")),
            ("is_array", &["x"], Some("(x as list<any>) is present")),
            ("is_admin", &["x"], None),
            ("isnan", &["x"], None),
        ] {
            assert_eq!(translate_type_test(name, args).as_deref(), expected, "{name}");
        }
        assert_eq!(translate_call("now", &[], false), None);
    }
}
