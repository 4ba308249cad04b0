//! `rulec plan`, and `rulec run --no-index`.

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
fn without_the_index_the_answers_are_the_same() {
    let folder = Folder::with(SMALL);
    let messages =
        "{\"text\": \"show\", \"ctx\": {\"message_count\": 4}}\n{\"text\": \"hi!\"}\n{\"text\": \"\"}\n";
    let with = folder.fed(&["run", "a.rules", "--all"], messages).expect(0);
    let without = folder.fed(&["run", "a.rules", "--all", "--no-index"], messages).expect(0);
    assert_eq!(with.out, without.out);
    assert_eq!(with.json().len(), 3);
}

/// The rules of a payload kind's fields and of its elements lie in tables of their own, and were listed as such.
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
