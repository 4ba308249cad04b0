//! Tests of the parser, the formatter and the loader through the public interface, from text to
//! syntax trees and diagnostics. The unit tests in `src` test private parts only: a unit test that
//! parses a file would compile the whole crate a second time.

mod errors;
mod format;
mod loader;
mod other_forms;
mod other_words;
mod random;
mod repairs;
mod soup;
mod words;

use rulec_base::diag::{Code, Diagnostic};
use rulec_base::parallel::ThreadLimit;
use rulec_base::span::FileId;
use rulec_syntax::ast::{Expr, ExprKind, Ident, Literal, QuantifierKind, Statement, StatementKind, Target};
use rulec_syntax::lex;
use rulec_syntax::parse::{self, parse};

const FILE: FileId = FileId(0);

/// The rules of the language reference page, as one file.
const REFERENCE_RULES: &str = include_str!("support.rules");

/// Returns the diagnostics of a text as pairs of code and underlined text.
fn findings(text: &str) -> Vec<(&'static str, String)> {
    let describe = |diagnostic: &Diagnostic| {
        let span = diagnostic.span().expect("a finding about a text has a place");
        (diagnostic.code.as_str(), text[span.range()].to_owned())
    };
    parse(ThreadLimit::All, FILE, text).diagnostics.iter().map(describe).collect()
}

/// Parses a text that must have no diagnostics.
fn parse_clean(text: &str) -> Vec<Statement> {
    let parsed = parse(ThreadLimit::All, FILE, text);
    assert!(parsed.diagnostics.is_empty(), "{text}\n{:#?}", parsed.diagnostics);
    parsed.statements
}

/// Parses `let x = TEXT`, and returns the syntax tree of the value.
fn parse_value(text: &str) -> Expr {
    match parse_clean(&format!("let x = {text}")).remove(0).kind {
        StatementKind::Let { value, .. } => value,
        other => panic!("{other:?}"),
    }
}

/// Returns an expression with explicit brackets, to show how it was parsed.
fn expression_shape(text: &str) -> String {
    fn show(expr: &Expr) -> String {
        let list = |list: &[Expr]| list.iter().map(show).collect::<Vec<_>>().join(" ");
        match &expr.kind {
            ExprKind::Literal(Literal::String(text)) => format!("{text:?}"),
            ExprKind::Literal(Literal::Int(value)) => value.to_string(),
            ExprKind::Literal(Literal::Wide(value)) => value.to_string(),
            ExprKind::Literal(Literal::Float(value)) => format!("{value:?}"),
            ExprKind::Literal(Literal::Bool(value)) => value.to_string(),
            ExprKind::Literal(Literal::Null) => "null".to_owned(),
            ExprKind::Name(name) => name.clone(),
            ExprKind::Field(base, name) => format!("{}.{}", show(base), name.node),
            ExprKind::Index(base, index) => format!("{}[{}]", show(base), show(index)),
            ExprKind::List(elements) => format!("[{}]", list(elements)),
            ExprKind::Record(entries) => {
                let entries: Vec<_> =
                    entries.iter().map(|(key, v)| format!("{}:{}", key.node, show(v))).collect();
                format!("{{{}}}", entries.join(" "))
            }
            ExprKind::Call(name, args) => {
                let named = |name: &Option<Ident>| {
                    name.as_ref().map_or(String::new(), |name| format!("{}:", name.node))
                };
                let args: Vec<_> = args.iter().map(|arg| named(&arg.name) + &show(&arg.value)).collect();
                format!("{}({})", name.node, args.join(" "))
            }
            ExprKind::Unary(op, operand) => format!("({} {})", op.node.info().spelling, show(operand)),
            ExprKind::Logic(op, operands) => format!("({} {})", op.info().spelling, list(operands)),
            ExprKind::If(parts) => format!("(if {})", list(&**parts)),
            ExprKind::Binary(binary) => {
                let m = binary.modifiers;
                let not = if binary.negated { "not " } else { "" };
                let word = if m.whole_word { " word" } else { "" };
                let quantity = m.quantity.map_or(String::new(), |q| format!(" {}", q.spelling()));
                let case = m.case.map_or(String::new(), |case| format!(" {case:?}"));
                let op = binary.op.node.info().spelling;
                format!("({not}{op}{word}{quantity}{case} {} {})", show(&binary.left), show(&binary.right))
            }
            ExprKind::Presence { operand, op } => format!("({} {})", op.node.info().spelling, show(operand)),
            ExprKind::As(operand, ty) => format!("(as {} {:?})", show(operand), ty.kind),
            ExprKind::Range { start, end, inclusive } => {
                format!("{}..{}{}", show(start), if *inclusive { "=" } else { "" }, show(end))
            }
            ExprKind::Block(kind, conditions) => format!("{kind:?}{{{}}}", list(conditions)),
            ExprKind::Quantifier { kind, var, list, body } => {
                let kind = match kind {
                    QuantifierKind::Sum(value) => format!("Sum {}", show(value)),
                    other => format!("{other:?}"),
                };
                format!("({kind} {} {}: {})", var.node, show(list), show(body))
            }
            ExprKind::HistoryPart(part) => {
                let bounds = [
                    ("within", &part.max_age),
                    ("after", &part.after_message),
                    ("before", &part.before_message),
                ];
                let bounds = bounds.iter().filter_map(|(word, bound)| {
                    bound.as_ref().map(|bound| format!(" {word} {}", show(bound)))
                });
                format!("(history{})", bounds.collect::<String>())
            }
        }
    }
    show(&parse_value(text))
}

#[test]
fn the_language_page_parses() {
    let statements = parse_clean(REFERENCE_RULES);
    assert_eq!(statements.len(), 20);
    let documented =
        statements.iter().find(|statement| !statement.docs.is_empty()).expect("one has documentation");
    assert_eq!(documented.docs, "Lists files for the user.");
    assert!(matches!(&documented.kind, StatementKind::Route(route) if route.name.node == "show_files"));
}

#[test]
fn the_verbatim_lines_parse() {
    let line =
        "route show_files priority 100 when text contains \"show\" and ctx.message_count > 3 -> file_handler";
    assert_eq!(parse_clean(line).len(), 1);
    let lines: String = (0..3).map(|n| line.replace("show_files", &format!("r{n}")) + "\n").collect();
    assert_eq!(parse_clean(&lines).len(), 3);
    assert_eq!(parse_clean(&lines.replace('\n', " ")).len(), 3);
    assert_eq!(parse_clean(&lines.replace('\n', "\r\n")).len(), 3);
    assert_eq!(parse_clean(&format!("\u{FEFF}{line}")).len(), 1);
}

#[test]
fn precedence_and_modifiers() {
    let check = |text: &str, expected: &str| assert_eq!(expression_shape(text), expected, "{text}");
    check("a or b and not c == 1", "(or a (and b (not (== c 1))))");
    check("a and b and c", "(and a b c)");
    check("(a and b) and c", "(and (and a b) c)");
    check("a + b * -c - 1 < 2", "(< (- (+ a (* b (- c))) 1) 2)");
    check("-9223372036854775808", "-9223372036854775808");
    check("a ?? 1 + 2 == 3", "(== (?? a (+ 1 2)) 3)");
    check(
        "text not contains word any [\"a\", \"b\",] ignoring case and d",
        "(and (not contains word any Ignore text [\"a\" \"b\"]) d)",
    );
    check("text contains none words", "(contains none text words)");
    check("text matches any rs matching case", "(matches any Match text rs)");
    check("a in 1..=3 and b not in [1]", "(and (in a 1..=3) (not in b [1]))");
    check("a in b + 1..2 * c", "(in a (+ b 1)..(* 2 c))");
    check("a is missing or b.c is present", "(or (is missing a) (is present b.c))");
    check("a.b[0].c[\"k\"] == f(1, x)", "(== a.b[0].c[\"k\"] f(1 x))");
    check("not not a", "(not (not a))");
    check("all { a; b, c == 1; }", "All{a b (== c 1)}");
    check("x and none { a }", "(and x None{a})");
    check("any x in l: x > 1 and y", "(Any x l: (and (> x 1) y))");
    check("(any x in l: all y in x: y) and z", "(and (Any x l: (All y x: y)) z)");
}

#[test]
fn more_shapes() {
    let check = |text: &str, expected: &str| assert_eq!(expression_shape(text), expected, "{text}");
    check("(count x in l: x > 1) >= 2", "(>= (Count x l: (> x 1)) 2)");
    check("x == null and y == none", "(and (== x null) (== y null))");
    check("x as number > 1", "(> (as x Name(\"number\")) 1)");
    check("count > 3", "(> count 3)");
    check("`when` == `a b`", "(== when a b)");
    check("bucket(ctx.id) in 0..10", "(in bucket(ctx.id) 0..10)");
    check("f(a, any: b + 1, c: (d),)", "f(a any:(+ b 1) c:d)");
    check("f(any x in l: c)", "f((Any x l: c))");
    check("first x in l: x > 1", "(First x l: (> x 1))");
    check("(last x in l: x.a == first).b > 1", "(> (Last x l: (== x.a first)).b 1)");
    check("sum x.a + 1 for x in l: c > 2", "(Sum (+ x.a 1) x l: (> c 2))");
    check("(sum (x.a) * 2 for x in l: c) + n > 5", "(> (+ (Sum (* x.a 2) x l: c) n) 5)");
    check("sum(l) + (sum x for x in l: c) > sum", "(> (+ sum(l) (Sum x x l: c)) sum)");
    check("any p in history within 1h: p.a == a", "(Any p (history within 3600): (== p.a a))");
    check(
        "all q in history within 2 * 1h after p before r.q: c",
        "(All q (history within (* 2 3600) after p before r.q): c)",
    );
    check("history contains within and after", "(and (contains history within) after)");
    check("{a: 1, \"b c\": [true], when: {}}", "{a:1 b c:[true] when:{}}");
    check("a == -1", "(== a -1)");
    check("a-1", "(- a 1)");
    check("r\"a\" == r", "(== \"a\" r)");
    check("x starts_with all [\"a\"]", "(starts_with all x [\"a\"])");
}

/// Returns all words with a special meaning in the language.
fn keywords() -> Vec<&'static str> {
    let reserved = parse::keywords().map(|(word, _)| word).filter(|word| parse::is_reserved(word));
    let others = [
        "priority", "disabled", "goto", "from", "fn", "case", "count", "given", "expect", "private", "null",
        "nil", "then", "if", "dict", "string", "len", "now", "r", "case",
    ];
    reserved.chain(rulec_lang::operators::reserved_words()).chain(others).collect()
}

/// `workflow` became a keyword when rules already used it as a name. Such rules still work without
/// backquotes.
#[test]
fn workflow_is_a_name_where_it_begins_no_graph() {
    let graph = "workflow w { node a echo }\n";
    for text in [
        "type workflow = { status: string }\n",
        "input { x?: dict<workflow> }\n",
        "let workflow = ctx.workflows[text]\n",
        "let x = a and\nworkflow contains \"b\"\n",
        "route workflow when workflow == \"a\" -> workflow { workflow: 1 }\n",
        "route x when\n  workflow in [\"a\"] -> goto workflow\n",
        "handler workflow(workflow: int)\n",
        "handler workflow\n",
        "default -> workflow\n",
        "route x when any workflow in l: workflow == 1 -> h\n",
        "choice workflow to_user { branch workflow { workflow == 1 } default branch b }\n",
        "router workflow(workflow) { when workflow.x -> workflow }\n",
        "lexicon workflow { \"a\": 1 }\n",
        "payload workflow internal { workflow: string\n let workflow = 1 }\n",
        "workflow workflow { passthrough workflow node workflow workflow -> workflow by workflow }\n",
    ] {
        // Each text is also tested next to a workflow and next to a block of another kind.
        for text in
            [text.to_owned(), format!("{text}{graph}"), format!("{graph}{text}settings {{ }}\n{graph}")]
        {
            let statements = parse_clean(&text).len();
            let wanted = 1 + text.matches(graph).count() + text.matches("settings").count();
            assert_eq!(statements, wanted, "{text}");
        }
    }
}

/// Regression test: the target of a `flow` statement was parsed as a description if an `intent`
/// statement followed.
#[test]
fn an_intent_begins_behind_a_flow_of_keywords_and_goes_on_with_one_of_examples() {
    let keywords = "flow hi \"greets\" keyword exact [\"hi\"] -> \"hello\"\n";
    let intent = "intent refund { keywords [\"refund\"] }\n";
    let described = "intent refund \"money\" {\n  keywords [\"refund\"]\n}\n";
    let examples = "flow mood \"moods\"\n  intent [\"I am sad\"] -> \"mood\"\n";
    for (text, wanted) in [
        (format!("{keywords}{intent}"), 2),
        (format!("{keywords}{described}{keywords}"), 3),
        (format!("{examples}{intent}{examples}"), 3),
        (format!("{keywords}{examples}{keywords}{intent}"), 4),
    ] {
        assert_eq!(parse_clean(&text).len(), wanted, "{text}");
    }
}

#[test]
fn every_keyword_is_a_field_and_a_key() {
    for word in keywords() {
        let check = |text: String, expected: String| assert_eq!(expression_shape(&text), expected);
        check(format!("ctx.{word} == 1"), format!("(== ctx.{word} 1)"));
        check(format!("1 == ctx.{word}"), format!("(== 1 ctx.{word})"));
        check(format!("ctx.{word}.{word} is missing"), format!("(is missing ctx.{word}.{word})"));
        check(format!("`{word}` == 1"), format!("(== {word} 1)"));
        check(format!("{{{word}: 1}}"), format!("{{{word}:1}}"));
        parse_clean(&format!("input {{ {word}: int {word}?: {{ {word}: int }} }}"));
        parse_clean(&format!("route `{word}` when true -> h({word}: 1) {{ {word}: \"x\" }}"));
        parse_clean(&format!(
            "test \"t\" {{ given {word} = 1 given ctx.{word} = {{ {word}: 1 }} expect {word} }}"
        ));
        parse_clean(
            &format!("route a when ctx.{word}\nroute b when x -> h").replace("\nroute", " -> h\nroute"),
        );
    }
}

#[test]
fn raw_strings_reach_the_documented_number_of_marks() {
    let hashes = "#".repeat(lex::MAX_RAW_STRING_HASHES);
    assert_eq!(expression_shape(&format!("r{hashes}\"a\"#\"{hashes}")), "\"a\\\"#\"");
    assert_eq!(findings(&format!("let x = r{hashes}#\"a\"#{hashes}"))[0].0, "E0103");
}

#[test]
fn statements_need_no_terminator() {
    let statements = parse_clean(
        "let a = 1 let b = text contains \"x\" def f(l: list<string>) = text contains any l \
         type n = list type m = dict<list<int>> extern fn g(a: string) -> list<int> \
         list w = [\"a\"] list v = from \"v.txt\" handler h handler k(a?: int) settings { case: insensitive } \
         route r priority -1 disabled when a as list<int> is present -> goto t table t { default -> h } default -> h",
    );
    assert_eq!(statements.len(), 14);
    let StatementKind::Table { statements: inner, .. } = &statements[12].kind else {
        panic!("{:?}", statements[12])
    };
    assert_eq!(inner.len(), 1);
    let StatementKind::Route(route) = &statements[11].kind else { panic!("{:?}", statements[11]) };
    assert_eq!(route.priority.as_ref().map(|priority| priority.node), Some(-1));
    assert!(route.disabled_span.is_some() && matches!(route.target, Target::Goto { .. }));
}

#[test]
fn documentation_and_allows_stand_before_their_statement() {
    let text = "let a = 1 ## of a\n## one\n##two \r\n# rulec: allow W0102 needed later\n# note\nlet b = 2\n\
                ####\ntable t {\n  ## inner\n  # rulec: allow E0101\n  default -> h\n}";
    let statements = parse_clean(text);
    assert_eq!((statements[0].docs.as_str(), statements[1].docs.as_str()), ("", "one\ntwo"));
    let allow = &statements[1].allows[0];
    assert_eq!(
        (allow.code, &text[allow.span.range()]),
        (Some(Code::Unused), "# rulec: allow W0102 needed later")
    );
    let StatementKind::Table { statements: inner, .. } = &statements[2].kind else {
        panic!("{:?}", statements[2])
    };
    assert_eq!((inner[0].docs.as_str(), inner[0].allows[0].code), ("inner", None));
}

#[test]
fn spans_are_those_of_the_file() {
    let text = "let a = 1\nroute r when text not contains \"x\" -> h { k: 1 }  # end\n";
    let StatementKind::Route(route) = parse_clean(text).remove(1).kind else { panic!("a route") };
    assert_eq!(&text[route.condition.span.range()], "text not contains \"x\"");
    let ExprKind::Binary(binary) = &route.condition.kind else { panic!("{:?}", route.condition) };
    assert_eq!(&text[binary.op.span.range()], "not contains");
    let Target::Handler { span, .. } = route.target else { panic!("a handler") };
    assert_eq!(&text[span.range()], "h { k: 1 }");
}

#[test]
fn a_wrong_statement_among_many_harms_no_other() {
    let line =
        |n: usize| format!("route r{n} when ctx.a.b == {n} and text contains \"x\" -> h{n} {{ k: {n} }}\n");
    let text: String = (0..1500).map(line).collect();
    let whole = parse(ThreadLimit::All, FileId(0), &text);
    assert_eq!((whole.statements.len(), whole.diagnostics.len()), (1500, 0));
    for n in [0, 1, 170, 700, 1499] {
        let wrong = text.replace(&format!("r{n} when"), &format!("r{n} whn"));
        let parsed = parse(ThreadLimit::All, FileId(0), &wrong);
        let place = parsed.diagnostics[0].span().expect("it has a place");
        assert_eq!((parsed.statements.len(), parsed.diagnostics.len()), (1499, 1));
        assert_eq!(&wrong[place.range()], "whn");
    }
}
