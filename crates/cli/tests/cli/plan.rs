//! Tests of `rulec plan` and of `--index`.

use super::{Folder, SMALL};

const RULES: &str = "\
route refunds when text contains \"refund\" -> refund_handler
route invoices when text contains any [\"invoice\", \"bill\"] and ctx.n > 3 -> invoice_handler
route large when ctx.n > 100 and ctx.role == \"admin\" -> large_handler
route quiet when not (text contains \"loud\") -> quiet_handler
table inner { route deep when text == \"x\" -> h }
";

#[test]
fn each_route_stands_with_how_it_is_found() {
    let ran = Folder::with(RULES).rulec(&["plan", "a.rules"]).expect(0);
    insta::assert_snapshot!(ran.out);
}

/// The advice is printed for a table of which the index finds most rules. It names the other rules,
/// which are evaluated for every message.
#[test]
fn advice_names_the_routes_that_are_always_tried() {
    let found: String =
        (0..300).map(|at| format!("route r{at} when text contains \"word{at}\" -> h\n")).collect();
    let advice = |rest: &str| {
        let ran = Folder::with(format!("{found}{rest}")).rulec(&["plan", "a.rules"]).expect(0);
        let line =
            ran.out.lines().find(|line| line.contains("evaluated for every message")).map(str::to_owned);
        (line.map(|line| line.trim().to_owned()), ran.out)
    };
    let quiet = |at: usize| format!("route quiet{at} when len(text) > {at} -> h\n");
    let told = "the index finds 300 of 301 rules; `quiet0` is evaluated for every message: \
                add an equality test, or a test for a text that the message must contain";
    assert_eq!(advice(&quiet(0)).0.as_deref(), Some(told));
    let told = "the index finds 300 of 305 rules; `quiet0`, `quiet1`, `quiet2` and 2 more are \
                evaluated for every message: add to each an equality test, or a test for a text that the message must \
                contain";
    assert_eq!(advice(&(0..5).map(quiet).collect::<String>()).0.as_deref(), Some(told));
    let (none, shown) = advice("");
    assert_eq!(none, None, "{}", &shown[..shown.len().min(300)]);
    // If all rules are evaluated one by one anyway, there is no advice.
    let ran = Folder::with(quiet(0)).rulec(&["plan", "a.rules"]).expect(0);
    assert!(
        ran.out.contains("1 always tried") && !ran.out.contains("evaluated for every message"),
        "{}",
        ran.out
    );
}

#[test]
fn one_entry_as_data() {
    let folder = Folder::with(RULES);
    let ran = folder.rulec(&["plan", "a.rules", "--entry", "inner", "--format", "json"]).expect(0);
    let json: serde_json::Value = serde_json::from_str(&ran.out).expect("JSON");
    assert_eq!((&json[0]["name"], &json[0]["indexed"]), (&"inner".into(), &false.into()));
    assert_eq!(json[0]["routes"][0]["name"], "deep");
    assert_eq!(json.as_array().map(Vec::len), Some(1));
    let ran = folder.rulec(&["plan", "a.rules", "--entry", "iner"]).expect(2);
    assert!(ran.err.contains("did you mean `inner`?"), "{}", ran.err);
    let ran = Folder::with("route a when x -> \n").rulec(&["plan", "a.rules"]).expect(1);
    assert!(ran.err.contains("E0"), "{}", ran.err);
}

#[test]
fn with_and_without_the_index_the_answers_are_the_same() {
    let folder = Folder::with(SMALL);
    let messages =
        "{\"text\": \"show\", \"ctx\": {\"message_count\": 4}}\n{\"text\": \"hi!\"}\n{\"text\": \"\"}\n";
    let usual = folder.fed(&["run", "a.rules", "--all"], messages).expect(0);
    for when in ["auto", "always", "never"] {
        let asked = folder.fed(&["run", "a.rules", "--all", "--index", when], messages).expect(0);
        assert_eq!(asked.out, usual.out, "{when}");
    }
    assert_eq!(usual.json().len(), 3);
    let ran = folder.fed(&["run", "a.rules", "--index", "alway"], messages).expect(2);
    assert!(ran.err.contains("always"), "{}", ran.err);
}

/// Regression test: a payload kind was listed several times, because its rules are in several
/// internal tables.
#[test]
fn a_payload_kind_is_listed_once() {
    let rules =
        "group g { id: string; closed }\npayload p { list: list<g>; name: string; closed \"p.more\" }\n";
    let folder = Folder::with(rules);
    let ran = folder.rulec(&["plan", "a.rules"]).expect(0);
    assert_eq!(ran.out.matches(" rules, tried").count(), 1, "{}", ran.out);
    for rule in ["p.name.required", "p.more", "g.id.required", "g.unsupported"] {
        assert_eq!(ran.out.matches(&format!("  {rule} ")).count(), 1, "{rule}: {}", ran.out);
    }
    assert_eq!(folder.rulec(&["plan", "a.rules", "--entry", "p"]).expect(0).out, ran.out);
}
