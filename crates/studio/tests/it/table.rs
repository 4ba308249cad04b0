//! Tests of the decision table: its rows, and changes of rows in the text of the rules.

use crate::support::{DESK, Open};
use serde_json::{Value as Json, json};

const RULES: &str = "\
input { text: string, n: int, vip: bool }

# Large amounts.
route big priority 2 when n > 100 and text contains \"a\" -> big_handler(n: n)

route small when (n < 5 or vip == true) and text contains \"b\" -> small_handler

default -> other
";

fn change(open: &Open, key: &str, change: Json) -> String {
    let edited = open.post("/api/rows", json!({"rules": 0, "key": key, "change": change}));
    edited["text"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_cell_is_replaced_removed_and_added() {
    let open = Open::new(&[("t.rules", RULES)]);
    let cell = |key: &str, field: &str, text: &str| {
        change(&open, key, json!({"kind": "cell", "field": field, "text": text}))
    };
    assert!(
        cell("routes/big", "n", "> 50").contains("when n > 50 and text contains \"a\" -> big_handler(n: n)")
    );
    // The cell may name its field, and may be more than one condition.
    assert!(
        cell("routes/big", "n", "n > 50 and n < 90").contains("when n > 50 and n < 90 and text contains")
    );
    assert!(cell("routes/big", "n", "").contains("when text contains \"a\" -> big_handler(n: n)"));
    assert!(cell("routes/big", "vip", "== true").contains("when text contains \"a\" and vip == true ->"));
    let text = cell("routes/small", "text", "");
    assert!(text.contains("n < 5 or vip == true") && !text.contains("\"b\""), "{text}");
}

/// Regression test: of two changes at the same time, one was lost.
#[test]
fn changes_at_the_same_time_are_all_kept() {
    let open = Open::new(&[("t.rules", RULES)]);
    for number in 0..20 {
        let cell = |key: &str, field: &str, text: String| {
            change(&open, key, json!({"kind": "cell", "field": field, "text": text}));
        };
        std::thread::scope(|scope| {
            scope.spawn(|| cell("routes/big", "n", format!("> {number}")));
            scope.spawn(|| cell("routes/big", "text", format!("contains \"w{number}\"")));
            scope.spawn(|| cell("routes/small", "text", format!("contains \"v{number}\"")));
        });
        let text = change(&open, "routes/small", json!({"kind": "disable", "disabled": false}));
        let big = format!("when n > {number} and text contains \"w{number}\" ->");
        assert!(text.contains(&big) && text.contains(&format!("contains \"v{number}\" ->")), "{text}");
    }
}

#[test]
fn what_does_not_compile_changes_nothing() {
    let open = Open::new(&[("t.rules", RULES)]);
    let cell = json!({"kind": "cell", "field": "n", "text": "contains \"x\""});
    let (status, refusal) =
        open.refused("POST", "/api/rows", json!({"rules": 0, "key": "routes/big", "change": cell}));
    assert_eq!((status, &refusal["kind"]), (422, &json!("invalid")));
    let none = json!({"kind": "cell", "field": "text", "text": ""});
    open.post("/api/rows", json!({"rules": 0, "key": "routes/small", "change": none}));
    let rest = open.get("/api/table?rules=0&draft=true&table=routes");
    let others = rest["rows"][1]["others"].as_array().map_or(&[][..], Vec::as_slice);
    assert!(
        matches!(others, [one] if one.as_str().is_some_and(|one| one.contains("n < 5 or vip"))),
        "{rest}"
    );
    assert_eq!(
        open.refused("POST", "/api/rows", json!({"rules": 0, "key": "routes/no", "change": {"kind": "add"}}))
            .0,
        404
    );
}

#[test]
fn rows_are_added_moved_disabled_and_led_elsewhere() {
    let open = Open::new(&[("t.rules", RULES)]);
    let text = change(&open, "routes/small", json!({"kind": "target", "text": "tiny"}));
    assert!(text.contains("-> tiny\n"), "{text}");
    let text = change(&open, "routes/big", json!({"kind": "target", "text": "huge"}));
    assert!(text.contains("-> huge(n: n)"), "{text}");
    let text = change(&open, "routes/small", json!({"kind": "add"}));
    assert!(
        text.contains("\n\nroute small_2 disabled\n  when")
            || text.contains("\n\nroute small_2 disabled when"),
        "{text}"
    );
    let text = change(&open, "routes/small", json!({"kind": "move", "before": "routes/big"}));
    assert!(text.find("route small priority 2") < text.find("# Large amounts."), "{text}");
    let text = change(&open, "routes/big", json!({"kind": "disable", "disabled": true}));
    assert!(text.contains("route big disabled priority 2"), "{text}");
    let table = open.get("/api/table?rules=0&draft=true&table=routes");
    let rows = table["rows"].as_array().map_or(&[][..], Vec::as_slice);
    let disabled: Vec<&str> =
        rows.iter().filter(|row| row["disabled"] == true).filter_map(|row| row["name"].as_str()).collect();
    assert_eq!(disabled, ["big", "small_2"]);
    assert_eq!(
        change(&open, "routes/big", json!({"kind": "disable", "disabled": false}))
            .matches("disabled")
            .count(),
        1
    );
}

#[test]
fn rows_come_before_the_analysis() {
    let open = Open::new(&[("desk.rules", DESK)]);
    let quick = open.get("/api/table?rules=0&table=routes");
    let whole = open.get("/api/table?rules=0&table=routes&analysed=true");
    assert_eq!((&quick["analysed"], &whole["analysed"]), (&json!(false), &json!(true)));
    assert_eq!(quick["rows"].as_array().map(Vec::len), whole["rows"].as_array().map(Vec::len));
    assert!(whole["overlaps"].as_array().is_some_and(|overlaps| !overlaps.is_empty()), "{whole}");
    // Only routes can be changed in the table.
    let choice = open.get("/api/table?rules=0&table=tone");
    assert_eq!(choice["rows"][0]["editable"], false);
}

#[test]
fn a_row_without_conditions_is_added_also_to_a_table_without_rows() {
    const TABLES: &str = "\
route first when goes == true -> goto empty  # the only one

default -> other

table empty {
  # Nothing else.
  default -> rest
}

table line { default -> rest }
";
    let open = Open::new(&[("t.rules", TABLES)]);
    let text = change(&open, "line/own", json!({"kind": "new"}));
    assert!(text.contains("table line { route own disabled when true -> rest default -> rest }"), "{text}");
    let text = change(&open, "line/next", json!({"kind": "new"}));
    assert!(text.contains("-> rest route next disabled when true -> rest default"), "{text}");
    let text = change(&open, "line/own", json!({"kind": "add"}));
    assert!(text.contains("-> rest route own_2 disabled when true -> rest route next"), "{text}");
    let text = change(&open, "routes/second", json!({"kind": "new"}));
    let expected = "-> goto empty  # the only one\n\nroute second disabled when true -> other\n\ndefault";
    assert!(text.contains(expected), "{text}");
    let text = change(&open, "empty/own row", json!({"kind": "new"}));
    let expected =
        "table empty {\n  route `own row` disabled when true -> rest\n\n  # Nothing else.\n  default";
    assert!(text.contains(expected), "{text}");
    let table = open.get("/api/table?rules=0&draft=true&table=empty");
    assert_eq!(table["rows"][0]["name"], "own row", "{table}");
    // There are columns for the first condition.
    assert_eq!(table["columns"], json!([{"field": "goes", "rows": 0}, {"field": "text", "rows": 0}]));
    // The condition of a new row is a cell like any other.
    let cell = json!({"kind": "cell", "field": "text", "text": "contains \"a\""});
    let text = change(&open, "routes/second", cell);
    assert!(text.contains("route second disabled when text contains \"a\" -> other"), "{text}");
    for key in ["routes/first", "empty/", "no/row"] {
        let new = json!({"rules": 0, "key": key, "change": {"kind": "new"}});
        assert_eq!(open.refused("POST", "/api/rows", new).0, 422, "{key}");
    }
}

#[test]
fn a_condition_on_several_fields_of_a_record_is_in_the_column_of_the_record() {
    const TRUSTED: &str = "\
let trusted = ctx.user.role == \"admin\" or ctx.user.level > 3

route run when text contains \"run\" and trusted -> run_handler
route mixed when ctx.user.role == text or ctx.count > 3 -> mixed_handler
default -> other
";
    let open = Open::new(&[("t.rules", TRUSTED)]);
    let table = open.get("/api/table?rules=0&table=routes");
    let columns: Vec<&str> = table["columns"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|column| column["field"].as_str())
        .collect();
    assert_eq!(columns, ["text", "ctx.user"]);
    assert_eq!(table["rows"][0]["cells"][1], "trusted");
    assert_eq!(table["rows"][0]["others"], json!([]));
    assert_eq!(table["rows"][1]["others"], json!(["ctx.user.role == text or ctx.count > 3"]));
    // The cell is edited in place.
    let cell = json!({"kind": "cell", "field": "ctx.user", "text": "not trusted"});
    let text = change(&open, "routes/run", cell);
    assert!(text.contains("when text contains \"run\" and not trusted -> run_handler"), "{text}");
}
