//! Tests that Python regular expressions are translated as expected.

use super::translate;

#[test]
fn common_syntax_is_unchanged() {
    for pattern in [
        r"^(show|list)\s+(files|directories)",
        r"\d{3}",
        r"(?i)help",
        r"(?-i:HELLO)",
        r"\bhi\b",
        "请.*假",
        r"a{2,3}?",
        r"(?P<n>x)+",
        r"[a-z_][^0-9\s]*",
        r"order-42",
        r"a{2,}",
        "",
        "a|",
        "(?ms:^a$)",
        r"a\.b\*",
        r"(?s-i:.)",
    ] {
        assert_eq!(translate(pattern, false).unwrap().text, pattern);
    }
}

#[test]
fn different_syntax_is_translated() {
    for (python, here) in [
        ("files$", r"files\n?$"),
        (r"a\Z", r"a\z"),
        ("a{,3}", "a{0,3}"),
        ("a{,}", "a{0,}"),
        ("{a}", r"\{a}"),
        ("a{}", r"a\{}"),
        ("a{1,b}", r"a\{1,b}"),
        ("[[a]", r"[\[a]"),
        ("[]a]", r"[\]a]"),
        ("[a&&b]", r"[a\&\&b]"),
        ("[a-]", r"[a\-]"),
        (r"[\b]", r"[\x{8}]"),
        (r"\<b\>", "<b>"),
        (r"\-\/\订", "-/订"),
        ("(?#note)a", "a"),
        ("a(?#note)*", "a*"),
        ("(?x) a b # c\n [ #]", "ab[ #]"),
        ("(?xi)a b", "(?i)ab"),
        ("(?u)a", "a"),
        (r"(?a)\w\b", r"[0-9A-Za-z_](?-u:\b)"),
        (r"\x41\u6587\0", r"A文\x{0}"),
        (r"\101", "A"),
        ("a\nb", r"a\nb"),
        (r"\b{2}x", r"\b\{2}x"),
    ] {
        let translated = translate(python, false);
        if python == r"\b{2}x" {
            assert!(translated.is_err(), "a position cannot be repeated");
        } else {
            assert_eq!(translated.unwrap().text, here, "{python}");
        }
    }
}

#[test]
fn unsupported_syntax_is_an_error() {
    for (pattern, says) in [
        ("(?=a)", "look-around"),
        ("(?<!a)b", "look-around"),
        (r"(a)\1", "back-reference"),
        ("(?P<n>a)(?P=n)", "back-reference"),
        ("a++", "possessive"),
        ("(?>a)", "atomic"),
        ("(a)(?(1)b)", "conditional"),
        ("a**", "repeats"),
        ("*a", "nothing to repeat"),
        ("^*", "nothing to repeat"),
        ("(", "not closed"),
        ("[a", "not closed"),
        (")", "without a `(`"),
        ("a\\", "ends with"),
        (r"\p{L}", "not an escape"),
        (r"\z", "not an escape"),
        ("a(?i)b", "at its start"),
        ("(?L)a", "unknown flag"),
        ("[z-a]", "range"),
        (r"[a-\d]", "range"),
        ("a{3,2}", "wrong order"),
        ("(?<n>a)", "unknown"),
        (r"\N{DASH}", "names"),
        (r"\w{1000}{1000}", "repeats"),
        (r"(\w{1000}){1000}", "too large"),
    ] {
        let error = translate(pattern, false).unwrap_err().to_string();
        assert!(error.contains(says), "{pattern}: {error}");
    }
    assert!(translate(&"(".repeat(10_000), false).is_err());
}

#[test]
fn a_match_begins_where_the_text_does() {
    for (python, here) in [
        ("ab", "^ab"),
        ("^ab", "^ab"),
        ("a|b", "^(?:a|b)"),
        ("^a|b", "^(?:^a|b)"),
        ("(?i)ab", "^(?i)ab"),
        ("(?m)^b", "^(?m)^b"),
        (r"\Aa", r"\Aa"),
        ("", "^"),
        ("(a|b)c", "^(a|b)c"),
        ("(^a)b", "^(^a)b"),
    ] {
        assert_eq!(translate(python, false).unwrap().anchored_at_start(), here, "{python}");
    }
}
