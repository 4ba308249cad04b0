//! Foreign syntax: spellings from other programming languages, and their replacements in this
//! language.

mod modules;
mod parameters;
mod patterns;
mod values;

pub(super) use modules::split_arguments;
pub(super) use parameters::write_typed_parameters;
pub(super) use patterns::{regex_between_slashes_error, slashes_to_raw_string};
pub use values::template_to_join_call;
pub(super) use values::{bare_literal_error, dashed_lines_to_list, string_without_prefix, translate_between};

use rulec_base::diag::{Code, Diagnostic, Message, nearest};
use rulec_base::message;
use rulec_base::span::Span;
use rulec_lang::builtins::{self, Function};
use rulec_lang::operators::{Fixity, Negation, Op, OperatorResult, TABLE};

/// Creates the diagnostic for syntax of another language. `write` is the correct text, which the
/// diagnostic suggests as a fix.
pub(super) fn foreign_syntax_error(span: Span, message: impl Into<Message>, write: &str) -> Diagnostic {
    Diagnostic::new(Code::Unexpected, span, message).help(message!("write `{write}`")).fix(span, write)
}

/// True for an operator whose result is a condition, such as `contains` or `<`, but not for `and`,
/// `or` and `unless`. Modifiers, such as `ignoring case`, may follow such an operator.
pub(super) fn is_condition_operator(op: Op) -> bool {
    !matches!(op, Op::And | Op::Or | Op::Unless)
        && op.info().forms.iter().any(|form| form.result == OperatorResult::Condition)
}

/// Returns the operator that a symbol of another language clearly means, and the message that
/// reports the symbol. The parser then treats the symbol as that operator. `None` for other
/// symbols.
pub(super) fn foreign_operator(spelling: &str) -> Option<(Op, Message)> {
    Some(match spelling {
        "=" | "===" | ":=" => (Op::Eq, message!("equality is written `==`")),
        "!==" | "<>" => (Op::Ne, message!("inequality is written `!=`")),
        "&&" | "&" => (Op::And, message!("conditions are joined with `and`")),
        "||" | "|" => (Op::Or, message!("alternatives are joined with `or`")),
        "=~" | "~" => (Op::Matches, message!("a regular expression is matched with `matches`")),
        "AND" | "And" => (Op::And, message!("conditions are joined with `and`")),
        "OR" | "Or" => (Op::Or, message!("alternatives are joined with `or`")),
        _ => return None,
    })
}

/// Returns the comparison that two adjacent operators mean: `=` and `<` mean `<=`. `None` for other
/// pairs.
pub(super) fn split_comparison(first: &str, second: &str) -> Option<&'static str> {
    Some(match (first, second) {
        ("=" | "<", "<" | "=") if first != second => "<=",
        ("=" | ">", ">" | "=") if first != second => ">=",
        ("!", "=" | "==") | ("=", "!" | "!=") | ("<", ">") | (">", "<") => "!=",
        ("=", "=") => "==",
        _ => return None,
    })
}

/// Returns the operator of this language that an unknown word probably means. The word may be an
/// operator of another language or a misspelling. `None` if no operator is near enough.
pub(super) fn meant_operator(word: &str) -> Option<&'static str> {
    let lower = word.to_lowercase();
    let foreign_row = TABLE.iter().find(|row| row.foreign_spellings.contains(&lower.as_str()));
    let words = || {
        TABLE
            .iter()
            .filter(|row| row.fixity == Fixity::Infix && row.op.is_spelled_as_word())
            .map(|row| row.spelling)
    };
    foreign_row
        .map(|row| row.spelling)
        .or_else(|| words().find(|spelling| *spelling == lower))
        .or_else(|| nearest(&lower, words().filter(|spelling| spelling.len() > 2 || lower.len() <= 2)))
        .filter(|spelling| *spelling != word)
}

/// Returns the operator of this language for an operator name or symbol of a query language:
/// `_gte`, `$nin`, `startsWith` or `===`. A negated operator begins with `not`. `None` for other
/// names.
pub(super) fn operator_for_query_name(name: &str) -> Option<String> {
    let name = name.trim_start_matches(['_', '$']).to_lowercase();
    let spelling = |name: &str| {
        let (symbol, _) = foreign_operator(name).unzip();
        let joined = name.replace('_', "");
        let is_comparison = |op: &Op| op.info().fixity == Fixity::Infix && is_condition_operator(*op);
        Op::from_spelling(name)
            .or(symbol)
            .filter(is_comparison)
            .map(|op| op.info().spelling)
            .or_else(|| {
                let row = TABLE
                    .iter()
                    .find(|row| row.foreign_spellings.iter().any(|word| *word == name || *word == joined))?;
                is_comparison(&row.op).then_some(row.spelling)
            })
            .or_else(|| english_comparison(&joined))
    };
    if let Some(found) = spelling(&name) {
        return Some(found.to_owned());
    }
    let negated = ["not_", "not", "n", "doesnt_", "doesnt", "!"].into_iter().find_map(|prefix| {
        let row = Op::from_spelling(spelling(name.strip_prefix(prefix)?)?)?.info();
        (row.negation == Negation::NotBefore).then_some(row.spelling)
    })?;
    Some(format!("not {negated}"))
}

/// Returns the comparison that English words without spaces mean: `>` for `greaterthan`. `None`
/// for other words.
fn english_comparison(word: &str) -> Option<&'static str> {
    let word = word.strip_prefix("is").unwrap_or(word);
    let (word, or_equal) = ["orequalto", "orequals", "orequal", "equals", "equal", "eq"]
        .into_iter()
        .find_map(|suffix| Some((word.strip_suffix(suffix)?, true)))
        .unwrap_or((word, false));
    Some(match (word, or_equal) {
        ("greater" | "greaterthan" | "morethan" | "larger" | "largerthan" | "above", false) => ">",
        ("greater" | "greaterthan" | "morethan" | "larger" | "largerthan", true) | ("atleast", false) => ">=",
        ("less" | "lessthan" | "fewerthan" | "smaller" | "smallerthan" | "below", false) => "<",
        ("less" | "lessthan" | "fewerthan" | "smaller" | "smallerthan", true) | ("atmost", false) => "<=",
        ("not", true) => "!=",
        _ => return None,
    })
}

/// Returns the comparison operator that English words mean, and the number of these words: `greater
/// than` means `>` and has two words. `None` for other words.
pub(super) fn worded_comparison(first: &str, second: &str, third: &str) -> Option<(&'static str, usize)> {
    Some(match (first, second, third) {
        ("is", "greater" | "more" | "larger" | "above", "than") => (">", 3),
        ("is", "less" | "smaller" | "fewer" | "below", "than") => ("<", 3),
        ("is", "at", "least") => (">=", 3),
        ("is", "at", "most") => ("<=", 3),
        ("greater" | "more" | "larger", "than", _) => (">", 2),
        ("less" | "smaller" | "fewer", "than", _) => ("<", 2),
        ("at", "least", _) => (">=", 2),
        ("at", "most", _) => ("<=", 2),
        _ => return None,
    })
}

/// True if a word can mean only one operator, so that a fix is safe. The word is an operator in
/// other letter case, or a known spelling of an operator in other languages.
pub(super) fn means_one_operator(word: &str) -> bool {
    let lower = word.to_lowercase();
    TABLE.iter().any(|row| row.spelling == lower || row.foreign_spellings.contains(&lower.as_str()))
}

/// Returns the name that the author of a route probably meant by several words before `when`: the
/// words joined by `_`. The second word begins at the byte offset `offset` of `text`. `None` if no
/// `when` follows the words.
pub(super) fn join_words_to_name(text: &str, offset: usize) -> Option<String> {
    let (text_before, text_after) = text.split_at_checked(offset)?;
    let is_word = |word: &&str| word.chars().all(|c| c.is_alphanumeric() || c == '_');
    let first = text_before.split_whitespace().next_back().filter(is_word)?;
    let more_words: Vec<&str> =
        text_after.split_whitespace().take_while(|word| is_word(word) && *word != "when").take(4).collect();
    let ends_at_when = text_after.split_whitespace().nth(more_words.len()) == Some("when");
    (ends_at_when && !more_words.is_empty()).then(|| [&[first], &more_words[..]].concat().join("_"))
}

/// Returns the help text for a word or symbol of another language where an operator is expected.
/// `None` for other words and symbols.
pub(super) fn operator_help(word: &str) -> Option<Message> {
    Some(match word.to_lowercase().as_str() {
        "between" => {
            message!(
                "write a range on the right of `in`: `x in 1..=3` includes both ends, `x in 1..3` excludes \
                the last"
            )
        }
        "not" => message!("write operators in lower case, as in `x not like \"a*\"`"),
        "is" => message!("write `x is missing` or `x is present`; to compare two values, write `==`"),
        "exists" | "defined" | "isdefined" | "notnull" => message!("write `x is present`"),
        "isnull" | "absent" | "undefined" => message!("write `x is missing`"),
        "does" | "do" | "doesnt" | "dont" => {
            message!("`not` comes before the operator: `x not contains \"a\"`")
        }
        "at" | "greater" | "less" | "more" | "larger" | "smaller" => {
            message!("compare numbers and times with `<`, `<=`, `>` or `>=`")
        }
        "per" => message!(
            "a number has no unit such as `per minute`: write the number alone; a window is written \
            `count x in history within 1min: CONDITION`"
        ),
        "idiv" | "intdiv" | "quo" => message!("to round a quotient down, write `floor(x / y)`"),
        "xor" => message!("write `(a and not b) or (b and not a)`"),
        "of" => {
            message!(
                "to test for one of several values, write `contains any [\"a\", \"b\"]` or `in [\"a\", \
                \"b\"]`"
            )
        }
        "any" | "all" => message!("write it before the list: `{word} x in LIST: CONDITION`"),
        "then" => message!("the handler must follow `->`"),
        "where" => message!("write the condition on each element after `:`, as in `any x in list: x > 3`"),
        "?" => {
            message!(
                "a missing field never matches, so write `a.b.c` without `?`; to choose between two values, \
                write `if C then a else b`"
            )
        }
        "!" | "!~" => message!("negation is `not` before a condition or an operator: `x not matches r\"a\"`"),
        "+=" | "-=" | "++" | "--" => {
            message!("rules cannot change a value: use `let` to give a new value a name")
        }
        "**" | "^" => message!("there is no power operator: write `x * x`"),
        _ => return None,
    })
}

/// Returns the help text for a word that other languages write before an operand, such as `exists`.
/// `None` for other words.
pub(super) fn prefix_help(word: &str) -> Option<Message> {
    let lower = word.to_lowercase();
    Some(match lower.as_str() {
        "case" => return Some(NO_IF_HELP),
        "exists" | "defined" | "isset" | "has" => message!("write `x is present`"),
        "typeof" => {
            message!(
                "to test for a type, write `x as number is present`; a value of another type counts as \
                missing"
            )
        }
        "interval" => message!("a duration is a number with a unit: write `now - 7d`"),
        "some" | "exist" | "each" | "every" | "forall" | "for" | "foreach" | "select" => {
            message!("write `any x in list: condition` or `all x in list: condition`")
        }
        _ => message!(
            "a function is called with parentheses: `{}(…)`",
            Function::from_name(&lower).map_or_else(
                || builtins::builtin_for_foreign_name(&lower),
                |function| Some(function.info().name)
            )?
        ),
    })
}

/// The help text for `if`, `switch` or other conditional syntax of another language.
pub(super) const NO_IF_HELP: Message = message!(
    "to choose between two values, write `if C then a else b`; to choose between handlers, write a route \
    for each and `default -> HANDLER` for the rest"
);

/// True for a word by which another language means "ignoring case".
pub(super) fn is_ignore_case(word: &str) -> bool {
    let word = word.to_lowercase().replace('_', "");
    matches!(
        word.as_str(),
        "ignore"
            | "ignorecase"
            | "ignoringcase"
            | "ignorescase"
            | "nocase"
            | "anycase"
            | "case"
            | "insensitive"
            | "insensitively"
            | "caseless"
            | "caseinsensitive"
            | "caseinsensitively"
    )
}

/// Returns the replacement for a method call as other languages write it: `text.lower()` becomes
/// `lower(text)`. `base` is the text before the dot, `name` the method, and `args` the text in the
/// parentheses. `None` if no function corresponds to the method.
pub(super) fn translate_method_call(base: &str, name: &str, args: &str) -> Option<String> {
    let lower = name.to_lowercase();
    // CEL writes `lowerAscii`, Go `ToLower`, Ruby `downcase!`.
    let lower = lower.strip_suffix("ascii").unwrap_or(&lower).trim_end_matches(['!', '?']).to_owned();
    let function_name = || {
        Function::from_name(&lower)
            .map(|function| function.info().name)
            .or_else(|| builtins::builtin_for_foreign_name(&lower))
    };
    if let Some(written) = modules::translate_module_call(base, name, args)
        .or_else(|| modules::translate_parsed_quantity(base, name, args))
    {
        return Some(written);
    }
    // In another language, the value before the dot may be a module, such as `re` or `math`. A
    // module is not an argument of the function.
    match base.to_lowercase().as_str() {
        "re" | "regex" | "regexp" => return Some("x matches r\"…\"".to_owned()),
        "math" | "string" | "strings" | "str" | "lists" | "array" | "object" | "np" | "_"
            if !args.is_empty() && function_name().is_some() =>
        {
            return function_name().map(|function| format!("{function}({args})"));
        }
        _ => {}
    }
    Some(match (lower.as_str(), args) {
        ("isempty" | "empty" | "is_empty", "") => format!("len({base}) == 0"),
        ("tostring" | "to_s" | "str" | "valueof", "") => base.to_owned(),
        ("isnull" | "isnone" | "is_null" | "isundefined" | "isabsent", "") => format!("{base} is missing"),
        ("ispresent" | "isset" | "isdefined" | "hasvalue" | "exists", "") => format!("{base} is present"),
        ("isblank" | "is_blank", "") => format!("trim({base}) == \"\""),
        ("orelse" | "orvalue" | "unwrap_or" | "getordefault" | "or_else" | "default" | "ordefault", _)
            if !args.is_empty() && !args.contains(',') =>
        {
            format!("({base} ?? {args})")
        }
        // The text before the dot is the regular expression.
        ("test" | "fullmatch", _) => format!("{} matches r\"…\"", if args.is_empty() { "x" } else { args }),
        ("search" | "findall" | "matchall", _) if args.starts_with('/') => {
            format!("{base} matches {}", slashes_to_raw_string_or_placeholder(args))
        }
        ("search" | "findall" | "matchall", _) => format!("{base} matches {args}"),
        ("substr", _) if !args.is_empty() => format!("substring({base}, {args})"),
        // The second number is an end in some languages, and a length in others.
        ("slice" | "mid" | "subseq", _) => format!("substring({base}, …)"),
        ("charat" | "char_at", _) if !args.is_empty() => format!("substring({base}, {args}, 1)"),
        _ if is_time_parser(name, base) => return None,
        ("equalsignorecase", _) => format!("{base} == {args} ignoring case"),
        ("get", _) if args.matches(',').count() == 1 => {
            let (key, default) = args.split_once(',')?;
            format!("({base}[{}] ?? {})", key.trim(), default.trim())
        }
        ("get" | "getitem" | "at" | "nth", _) if !args.is_empty() => format!("{base}[{args}]"),
        ("containskey" | "haskey" | "has_key" | "hasownproperty", _) => format!("{base} has_key {args}"),
        ("find" | "search_for" | "position", _) if is_single_string(args) => {
            format!("index_of({base}, {args})")
        }
        ("of" | "aslist" | "listof", _)
            if matches!(base.to_lowercase().as_str(), "list" | "set" | "array" | "arrays" | "sequence") =>
        {
            format!("[{args}]")
        }
        ("some" | "any" | "exists" | "filter" | "find" | "anymatch", _) => format!("any x in {base}: …"),
        ("every" | "all" | "allmatch", _) => format!("all x in {base}: …"),
        (_, "") => format!("{}({base})", function_name()?),
        _ if operator_and_quantity_of_method(&lower).is_some() => {
            let (operator, quantity) = operator_and_quantity_of_method(&lower)?;
            let elements = args.trim();
            let list = if elements.contains(',') && !elements.starts_with('[') {
                format!("[{elements}]")
            } else {
                elements.to_owned()
            };
            format!("{base} {operator} {quantity} {list}")
        }
        _ => match meant_infix_operator(&lower) {
            Some("matches") if args.starts_with('/') => {
                format!("{base} matches {}", slashes_to_raw_string_or_placeholder(args))
            }
            Some(op) => format!("{base} {op} {args}"),
            None => match function_name() {
                Some(function) => format!("{function}({base}, {args})"),
                None => modules::translate_comparison_method(base, name, args)?,
            },
        },
    })
}

/// Returns a regular expression between slashes as a raw text, or `r"…"` if it has no equivalent.
fn slashes_to_raw_string_or_placeholder(args: &str) -> String {
    slashes_to_raw_string(args).map_or_else(|| "r\"…\"".to_owned(), |(literal, _)| literal)
}

/// True if the arguments of a call are one string literal.
fn is_single_string(args: &str) -> bool {
    let inner = args.strip_prefix('"').and_then(|args| args.strip_suffix('"'));
    inner.is_some_and(|inner| !inner.contains('"'))
}

/// Reads the comparison after a call that searches a text and returns a position, such as `>= 0`.
/// `after` is the source text after the call. Returns whether the comparison is true for a text
/// that was found, and the length of the comparison in bytes. `None` for a comparison with other
/// numbers than `-1` and `0`.
pub(super) fn read_comparison_of_search_position(after: &str) -> Option<(bool, usize)> {
    let sign_start = after.len() - after.trim_start().len();
    let rest = &after[sign_start..];
    let sign = &rest[..rest.len() - rest.trim_start_matches(['=', '!', '<', '>']).len()];
    let number = rest[sign.len()..].trim_start();
    let digits = number.strip_prefix('-').map_or(number, str::trim_start);
    let count = digits.bytes().take_while(u8::is_ascii_digit).count();
    let is_whole = !digits[count..].starts_with(|c: char| c.is_alphanumeric() || c == '.');
    let is_found = match (sign, &digits[..count], number.starts_with('-')) {
        ("==" | "===", "1", true) | ("<", "0", false) => false,
        ("!=" | "!==" | ">", "1", true) | (">=", "0", false) => true,
        _ => return None,
    };
    is_whole.then_some((is_found, after.len() - digits.len() + count))
}

/// True if other languages parse a time with the method `name`, as in `time.parse(at)`. `base` is
/// the text before the dot.
pub(super) fn is_time_parser(name: &str, base: &str) -> bool {
    let (name, base) = (name.to_lowercase(), base.to_lowercase());
    let is_reader = name.starts_with("parse") || name.starts_with("from") || name == "strptime";
    is_reader && ["time", "date", "moment", "dayjs"].into_iter().any(|word| base.contains(word))
}

/// Returns the operator and the quantity that a method name means: `contains` and `any` for
/// `containsany`. `lower` is the name in lower case. `None` for other names.
fn operator_and_quantity_of_method(lower: &str) -> Option<(&'static str, &'static str)> {
    let (verb, quantity) = match lower {
        "intersects" | "intersect" | "hasany" | "overlaps" | "anyof" => ("contains", "any"),
        "hasall" | "issuperset" | "supersetof" => ("contains", "all"),
        "isdisjoint" | "disjoint" => ("contains", "none"),
        _ => ["any", "all", "none"].into_iter().find_map(|quantity| {
            let verb =
                lower.strip_suffix(quantity).or_else(|| lower.strip_suffix(&format!("{quantity}of")))?;
            Some((verb.trim_end_matches('_'), quantity))
        })?,
    };
    let spelling = meant_infix_operator(verb).or_else(|| meant_infix_operator(&verb.replace('_', "")))?;
    let accepts = |row: &&rulec_lang::operators::OpInfo| {
        row.spelling == spelling && row.accepted_modifiers.accepts_quantity
    };
    TABLE.iter().any(|row| accepts(&row)).then_some((spelling, quantity))
}

/// Returns the infix operator that a lower-case word names, in this language or in another one;
/// `None` for other words.
pub(super) fn meant_infix_operator(lower: &str) -> Option<&'static str> {
    let is_infix = |row: &&rulec_lang::operators::OpInfo| {
        row.fixity == Fixity::Infix && (row.op.is_spelled_as_word() || row.op == Op::Eq)
    };
    TABLE
        .iter()
        .filter(is_infix)
        .find(|row| row.spelling == lower || row.foreign_spellings.contains(&lower))
        .map(|row| row.spelling)
}

/// Returns the help text for a word or symbol by which other schema languages restrict a field,
/// such as `required` or `minLength`; `None` for other words. `name` is the name of the field.
pub(super) fn schema_help(word: &str, name: &str) -> Option<Message> {
    Some(match word.to_lowercase().replace('_', "").as_str() {
        "required" | "mandatory" => {
            message!("a field is required unless `?` follows its name: remove this word")
        }
        "optional" => message!("write `?` after the name to make a field optional: `{name}?: type`"),
        "nullable" | "null" => message!("write `{name}: type | null`"),
        "max" | "min" | "maximum" | "minimum" | "between" | "range" | "gt" | "gte" | "lt" | "lte" | ">"
        | ">=" | "<" | "<=" => message!("write the allowed values of a number as a range: `in 1..=30`"),
        "minlength" | "maxlength" | "length" | "len" | "size" | "minitems" | "maxitems" => {
            message!("write a separate rule: `require \"{name}.length\" at {name}: len({name}) <= 30`")
        }
        "matches" | "match" | "pattern" | "regex" | "format" | "like" => {
            message!("write a separate rule: `require \"{name}.format\" at {name}: {name} matches r\"…\"`")
        }
        "enum" | "oneof" | "values" | "[" => {
            message!("write the allowed values of a field as a list: `{name}: string in [\"a\", \"b\"]`")
        }
        "notempty" | "nonempty" | "notblank" | "notnull" => {
            message!("write `{name}: string not blank` for a text that must not be blank")
        }
        "=" | ":=" => {
            message!("to give a value for a missing field, write `{name}: type default value`")
        }
        "must" | "should" | "assert" | "ensure" | "check" | "constraint" | "invariant" => {
            message!("write a separate rule: `require \"{name}.rule\" at {name}: {name} > 0`")
        }
        "if" | "when" => {
            message!("write a separate rule: `require \"{name}.rule\" when CONDITION: CONDITION`")
        }
        "," => message!("items are separated by line breaks or `;`"),
        _ => return None,
    })
}

/// Returns the help text for a word that other languages allow after `is`, as in `x is not empty`.
/// `word` is the word after `is`, and `next` is the word after it. Both may be empty.
pub(super) fn help_after_is(word: &str, next: &str) -> Message {
    match (word, next) {
        ("not", "in") => message!("remove `is`: write `x not in [\"a\", \"b\"]`"),
        ("in", _) => message!("remove `is`: write `x in [\"a\", \"b\"]`"),
        ("not", _) => message!("compare two values with `!=`"),
        ("empty" | "blank", _) => {
            message!(
                "write `x == \"\"` for an empty text, `len(x) == 0` for an empty list, and `x is missing` \
                for a missing field"
            )
        }
        ("greater" | "less" | "more" | "at" | "above" | "below", _) => {
            message!("compare numbers and times with `<`, `<=`, `>` or `>=`")
        }
        ("true" | "True", _) => message!("a bool is a condition itself: write `x`"),
        ("false" | "False", _) => message!("a bool is a condition itself: write `not x`"),
        _ => message!("compare two values with `==`"),
    }
}
