//! Tests of the formatting style. Most tests format a text and compare the result with an expected
//! text.

use rulec_syntax::format::{MeaningChanged, format};

#[track_caller]
fn check(text: &str, expected: &str) {
    let formatted = format(text).map(|formatted| formatted.text);
    assert_eq!(formatted.as_deref(), Ok(expected), "from:\n{text}");
    assert_eq!(format(expected).map(|formatted| formatted.text).as_deref(), Ok(expected), "not for good");
}

/// Checks that a text is already formatted.
#[track_caller]
fn check_unchanged(text: &str) {
    check(text, text);
}

#[test]
fn spaces_stand_where_they_help() {
    check("let  a=1+2*-3", "let a = 1 + 2 * -3\n");
    check("let a = x . y[ 0 ] ??-1", "let a = x.y[0] ?? -1\n");
    check("let a = f ( x , size : 2 )", "let a = f(x, size: 2)\n");
    check("route a when not( x in 1 .. 5 ) -> h", "route a when not (x in 1..5) -> h\n");
    check(
        "route a priority -5 when x==-1->h( n:1 ){t:\"x\"}",
        "route a priority -5 when x == -1 -> h(n: 1) { t: \"x\" }\n",
    );
    check(
        "type t={a?:list< dict<int> >,b :string @private}",
        "type t = { a?: list<dict<int>>, b: string @private }\n",
    );
    check("let a = any x in y[0]: x<3", "let a = any x in y[0]: x < 3\n");
    // Angle brackets of types have no spaces around them. The comparison operators `<` and `>`
    // always have spaces, whatever the operands are.
    check("let a=x<3 and y>2", "let a = x < 3 and y > 2\n");
    check("let a = b.list<3 and dict>2", "let a = b.list < 3 and dict > 2\n");
    check("flow a \"d\" keyword exact[\"x\"]->\"id\"", "flow a \"d\" keyword exact [\"x\"] -> \"id\"\n");
    check("input {text:string ctx:{n:int}}", "input { text: string ctx: { n: int } }\n");
    check("let a = ( x as list<any> )[ 0 ]", "let a = (x as list<any>)[0]\n");
    check("let a = { }", "let a = {}\n");
    check("let `when`=ctx.when", "let `when` = ctx.when\n");
}

#[test]
fn one_statement_begins_a_line_and_blank_lines_are_kept_at_most_once() {
    check("let a = 1 let b = 2\n\n\n\nlet c = 3\n\n", "let a = 1\nlet b = 2\n\nlet c = 3\n");
    check("\n\n  let a = 1", "let a = 1\n");
    check("", "");
    check("\n\n# only this  \n\n", "# only this\n");
    check("\u{feff}let a=1", "\u{feff}let a = 1\n");
    check("let a=1\r\nlet b=2\r\n", "let a = 1\r\nlet b = 2\r\n");
    // This also applies to statements with errors, and to a file that begins with a line break.
    check("\nroutea when [\r\n] -> h\n", "routea when [\n] -> h\n");
    check(
        "table t{route a when x==\"y\"->h default->h}",
        "table t {\n  route a when x == \"y\" -> h\n  default -> h\n}\n",
    );
    check("table t{\n\n}", "table t {}\n");
}

#[test]
fn a_route_stands_on_one_line_or_breaks_before_each_part() {
    check_unchanged("route a when x == \"y\" -> h\n");
    check("route a when x == \"y\"\n-> h", "route a\n  when x == \"y\"\n  -> h\n");
    let long = "x".repeat(60);
    check(
        &format!("route a when text contains \"{long}\" and n > 3 where n = 1, m = 2 -> h"),
        &format!("route a\n  when text contains \"{long}\" and n > 3\n  where n = 1, m = 2\n  -> h\n"),
    );
}

#[test]
fn conditions_break_before_the_words_that_join_them() {
    let (one, two) = ("a".repeat(50), "b".repeat(50));
    check(
        &format!("let c = x == \"{one}\" or y == \"{two}\" and z"),
        &format!("let c = x == \"{one}\"\n  or y == \"{two}\" and z\n"),
    );
    check(
        &format!("let c = not (x == \"{one}\" or y == \"{two}\")"),
        &format!("let c = not (\n  x == \"{one}\"\n  or y == \"{two}\"\n)\n"),
    );
    check(
        &format!("let c = any v in list_of: v == \"{one}\" and w == \"{two}\""),
        &format!("let c = any v in list_of:\n  v == \"{one}\"\n  and w == \"{two}\"\n"),
    );
    check(&format!("let c = x.{one} ?? y.{two}"), &format!("let c = x.{one}\n  ?? y.{two}\n"));
    check("let c = a\n  and b or c", "let c = a\n    and b\n  or c\n");
    check("let c = if a then b\nelse d", "let c = if a\n  then b\n  else d\n");
    check_unchanged("let c = if a then b else if d then e else f\n");
}

#[test]
fn the_conditions_of_a_block_stand_one_a_line() {
    check("let a = x and any{y;z}", "let a = x and any {\n  y;\n  z\n}\n");
    check("let a = x\nand any{y;z}", "let a = x\n  and any {\n    y;\n    z\n  }\n");
    check("let a = any{x;y}", "let a = any {\n  x;\n  y\n}\n");
    check("let a = none { x == 1 }", "let a = none { x == 1 }\n");
    check(
        "choice c { branch a any { x == 1, y == 2 } default branch b }",
        "choice c {\n  branch a any {\n    x == 1,\n    y == 2\n  }\n  default branch b\n}\n",
    );
    check(
        "router r(out) { when x == \"a\" -> next_a otherwise -> next_b }",
        "router r(out) {\n  when x == \"a\" -> next_a\n  otherwise -> next_b\n}\n",
    );
    check(
        "test \"t\" { given text=\"x\" given ctx={a:1} expect a }",
        "test \"t\" {\n  given text = \"x\"\n  given ctx = { a: 1 }\n  expect a\n}\n",
    );
}

#[test]
fn plain_lists_fill_their_lines_and_others_stand_one_element_a_line() {
    let words: Vec<String> = (0..30).map(|number| format!("\"word{number:02}\"")).collect();
    let (first, second, third) = (words[..10].join(", "), words[10..20].join(", "), words[20..].join(", "));
    let aligned = words.join(",\n            ").replace(",\n            \"word01\"", ", \"word01\"");
    let expected = format!("list l = [\n  {first},\n  {second},\n  {third}\n]\n");
    // Each line takes as many elements as fit. An element takes ten columns, including its comma
    // and the space after it. The last space of a line is removed; the indentation takes two
    // columns.
    assert!(expected.lines().all(|line| line.len() <= 102));
    let formatted = format(&format!("list l = [{}]", words.join(", "))).expect("it is right").text;
    assert!(
        formatted.starts_with("list l = [\n  \"word00\", ") && formatted.ends_with("\n]\n"),
        "{formatted}"
    );
    assert_eq!(format(&format!("list l = [{aligned}]")).expect("it is right").text, formatted);
    check("list l = [\"a\",\n\"b\",\n]", "list l = [\n  \"a\",\n  \"b\",\n]\n");
    check("list l = [\n  \"a\", \"b\"\n]", "list l = [\"a\", \"b\"]\n");
    check("let l = {\na: 1, b: 2}", "let l = {\n  a: 1,\n  b: 2\n}\n");
}

#[test]
fn comments_stay_where_they_stand() {
    check(
        "# a\n\n\n# b\nlet a = 1 # c\n      # d\nlet b = 2",
        "# a\n\n# b\nlet a = 1  # c\n# d\nlet b = 2\n",
    );
    check("## doc\n  let a = 1", "## doc\nlet a = 1\n");
    check(
        "list l = [ # first\n\"a\", # second\n# third\n\"b\" # fourth\n# fifth\n]",
        "list l = [  # first\n  \"a\",  # second\n  # third\n  \"b\"  # fourth\n  # fifth\n]\n",
    );
    check(
        "route a # one\nwhen x == 1 # two\n# three\n-> h # four",
        "route a  # one\n  when x == 1  # two\n  # three\n  -> h  # four\n",
    );
    check("let a = x # why\n== 1", "let a = x  # why\n  == 1\n");
    check(
        "table t { # one\n# two\ndefault -> h\n# three\n}",
        "table t {  # one\n  # two\n  default -> h\n  # three\n}\n",
    );
    check("let a = [ # empty\n]", "let a = [  # empty\n]\n");
    check_unchanged("# rulec: allow W0101 it is for later\nlet a = 1\n");
}

#[test]
fn payloads_have_an_item_a_line_and_say_below_what_follows() {
    check(
        "payload p rank 1 { a: string not blank; require \"r\": len(a) > 3\nelse \"short\" repair \"more\" clamp 3 }",
        "payload p rank 1 {\n  a: string not blank;\n  require \"r\": len(a) > 3\n    else \"short\" repair \"more\"\n    clamp 3\n}\n",
    );
    check(
        "group g(n: int) {\n## doc\na?: list<string> | null default []\neach x in a { forbid \"f\" at x when x == \"y\" else \"no\" } }",
        "group g(n: int) {\n  ## doc\n  a?: list<string> | null default []\n  each x in a { forbid \"f\" at x when x == \"y\" else \"no\" }\n}\n",
    );
}

#[test]
fn a_requirement_breaks_behind_its_colon_first() {
    let long = "x".repeat(50);
    check(
        &format!(
            "payload p rank 1 {{\nrequire \"{long}\" at a[b] when len(a) > 1 and b == \"c\": len(a[b]) > 3 remove\n}}"
        ),
        &format!(
            "payload p rank 1 {{\n  require \"{long}\" at a[b] when len(a) > 1 and b == \"c\":\n    len(a[b]) > 3 remove\n}}\n"
        ),
    );
    check_unchanged("flow a \"d\"\n  intent examples [\"x\"]\n  -> \"id\"\n");
}

#[test]
fn what_cannot_be_read_stays_as_it_is() {
    check("let a  = 1 entity  x", "let a = 1 entity  x\n");
    check("let  a=1\nrout  b when   x ->h\nlet  c=3", "let a = 1\nrout  b when   x ->h\nlet c = 3\n");
    check("let a =  (1\nroute  b when x==1 -> h", "let a =  (1\nroute b when x == 1 -> h\n");
    check("let a = 1 ;\n let b  = 2", "let a = 1 ;\nlet b = 2\n");
    let formatted = format("let  a=1\n\n\nrout b").map(|formatted| formatted.unformatted_lines);
    assert_eq!(formatted, Ok(vec![4]));
    assert_eq!(MeaningChanged { line: 3 }.to_string(), "formatting would change the meaning at line 3");
}

/// A line must not begin with the name `group` or `closed`: there, `group` would begin a statement
/// and `closed` an item.
#[test]
fn a_name_that_would_begin_a_statement_does_not_begin_a_line() {
    let long = "y".repeat(90);
    check_unchanged(&format!("route a\n  when b\n  where c = d, group = \"{long}\"\n  -> h\n"));
    check_unchanged(&format!(
        "payload p rank 1 {{\n  closed: string\n  require \"r\": closed == \"{long}\"\n}}\n"
    ));
}

/// Regression test: all nodes of a workflow were written on one line.
#[test]
fn each_node_of_a_workflow_begins_a_line() {
    check(
        "workflow w { passthrough a, node node node node {x:1} within 5s merge by node->node, b by node node b echo merge append }",
        "workflow w {\n  passthrough a, node\n  node node node { x: 1 } within 5s merge by node -> node, b by node\n  node b echo merge append\n}\n",
    );
}

#[test]
fn the_fields_of_a_type_stand_one_a_line_wherever_it_is_written() {
    let (one, two) = ("b".repeat(40), "c".repeat(60));
    for (before, after) in [("let d = x as ", ""), ("let e = x as list<", ">"), ("type t = ", "")] {
        check(
            &format!("{before}{{{one}:string {two}?:int}}{after}"),
            &format!("{before}{{\n  {one}: string\n  {two}?: int\n}}{after}\n"),
        );
    }
    for name in ["a", "a?"] {
        check(
            &format!("payload p rank 1 {{\n{name}:{{{one}:string {two}:int}}\n}}"),
            &format!("payload p rank 1 {{\n  {name}: {{\n    {one}: string\n    {two}: int\n  }}\n}}\n"),
        );
    }
}

#[test]
fn fields_that_are_spelled_like_words_join_nothing() {
    let long = "a".repeat(50);
    check(
        &format!("let c = ctx.and == \"{long}\" or ctx.or == \"{long}\" and ctx.unless is present"),
        &format!("let c = ctx.and == \"{long}\"\n  or ctx.or == \"{long}\" and ctx.unless is present\n"),
    );
}

/// Regression test: an unclosed string also ends before a `\r`. The `\r` was treated as part of a
/// line ending and removed, so that two quotes touched.
#[test]
fn a_carriage_return_that_ends_no_line_stays() {
    check_unchanged("let a = \"x\rstring\"\n");
    check("let a = \"x\rstring\"\r\nlet b=1", "let a = \"x\rstring\"\r\nlet b = 1\r\n");
}

/// A file with an unclosed bracket stays unchanged. Only columns decide where its statements begin.
/// In the formatted text, `route` would begin a statement outside the table.
#[test]
fn a_file_stays_where_laying_it_out_would_change_its_statements() {
    for text in [" table{\n h\nroute", " table{\n h\nroute\n\n\n\ndefault  ->  h\n"] {
        check_unchanged(text);
        assert!(format(text).is_ok_and(|formatted| !formatted.unformatted_lines.is_empty()));
    }
}

/// Regression test: the formatter kept one of two carriage returns before a line feed. Formatting
/// the result again treated the carriage return as part of the line ending.
#[test]
fn carriage_returns_at_a_line_s_end_go() {
    check("n\n\r\r\n\"", "n\n\n\"\n");
    check("n\r\n \r\r\n\"", "n\r\n \r\n\"\r\n");
}

/// Regression test: a comment became part of the unclosed string before it. Such a string ends
/// before a `\r`.
#[test]
fn a_comment_stays_apart_from_what_is_not_closed() {
    for open in ["'x", "“x", "\"x", "r\"x", "let a = 'x"] {
        check_unchanged(&format!("{open}\r# a comment\n"));
        check_unchanged(&format!("{open} \r \r# a comment\n"));
    }
}

/// Regression test: blanks were inserted into an address that its author did not quote, as if `//`
/// began a comment.
#[test]
fn an_address_without_quotes_stays_in_one_piece() {
    check_unchanged("route a when x == 1 -> https://example.com/hook\n");
    check_unchanged("route a when link == https://example.com/x -> h\n");
}

/// Regression test: the first line of a statement with errors was moved to the right without its
/// other lines. The other lines then began statements.
#[test]
fn what_cannot_be_read_moves_as_a_whole() {
    check("table s{\ns\n h}", "table s {\n  s\n   h\n}\n");
    check("table s{\n   s\n     h}", "table s {\n  s\n    h\n}\n");
    // A line that began no statement must not move to a column where it would begin one.
    check("table r{\n   {\n  route}}", "table r {\n  {\n   route}\n}\n");
    check("table r{\n  a\n    {\n    route}}", "table r {\n  a\n    {\n    route}\n}\n");
    check("   a(\n   route b", "a(\n route b\n");
    // All lines move by the same distance, limited by the least indented line. So lines that began
    // at different columns still do.
    check(" table{\nh\n e", "table{\nh\n e\n");
    check("   table{\n  h\n    e", "table{\nh\n  e\n");
    // The `or` line begins at the column of its statement, so it keeps its column.
    check_unchanged("let a = x ==\nor y (\n");
}
