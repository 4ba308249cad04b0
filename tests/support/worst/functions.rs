//! Worst-case messages of functions.

use super::Table::Function;
use super::{Case, Size, Task, ask, each, indexed, list, pairs, text};
use rulec_lang::limits::{Limit, QUANTIFIER_VALUE_BYTES_FACTOR};
use serde_json::{Map, Value as Json, json};

/// Builds a task whose message is as large as possible and has one field, the text `text`.
fn long(size: &Size, condition: &str, letters: &str) -> Task {
    ask(condition, json!({ "text": letters.repeat(size.bytes / letters.len()) }))
}

/// Builds a task whose condition computes a value that is as long as the limit allows. The value is
/// `grown` times as long as the text from which it is computed.
fn built(size: &Size, condition: &str, letters: &str, grown: usize) -> Task {
    let bytes = size.get(Limit::ValueBytes) / grown;
    ask(condition, json!({ "text": letters.repeat(bytes / letters.len()) }))
}

/// Returns the maximum number of elements of a list that a function may build within the limits.
fn elements(size: &Size) -> usize {
    size.get(Limit::ValueBytes) / 8
}

/// Returns the maximum size in bytes of a value that may be built for each pair of elements in two
/// nested quantifiers.
fn bytes_of_pair(size: &Size) -> usize {
    (size.get(Limit::ValueBytes) * QUANTIFIER_VALUE_BYTES_FACTOR as usize / size.nest(2).pow(2))
        .min(size.work_of_pair())
}

fn dict(count: usize) -> Json {
    (0..count).map(|at| (format!("k{at:07}"), json!(at))).collect::<Map<_, _>>().into()
}

/// Builds a graph of nodes, each with an edge to the next node. If `is_circle`, an edge from the
/// last to the first node closes a circle, so that every node has a predecessor.
fn graph(count: usize, is_circle: bool) -> Json {
    let nodes: Vec<Json> = (0..count).map(|at| json!({ "i": format!("{at:06}") })).collect();
    let to = |at: usize| if is_circle { (at + 1) % count } else { (at + 1).min(count - 1) };
    let edges: Vec<Json> =
        (0..count).map(|at| json!({ "f": format!("{at:06}"), "t": format!("{:06}", to(at)) })).collect();
    json!({ "ctx": { "n": nodes, "e": edges } })
}

pub const CASES: &[Case] = &[
    (Function, "Len", "a long text", |size| long(size, "len(text) == 1", "é")),
    (Function, "Len", "texts in a nest", |size| indexed(size, "len($) == 1", text(size.work_of_pair()))),
    (Function, "Lower", "a long text", |size| built(size, "lower(text) == \"b\"", "É", 1)),
    (Function, "Lower", "a long text that grows", |size| built(size, "lower(text) == \"b\"", "İ", 2)),
    (Function, "Lower", "every element", |size| {
        let count = size.nest(1) / 8;
        let bytes = size.get(Limit::ValueBytes) * QUANTIFIER_VALUE_BYTES_FACTOR as usize / count;
        ask(
            "any x in l: lower(x) == \"b\"",
            json!({ "l": list(count, "É".repeat((size.bytes / count / 2).min(bytes / 2))) }),
        )
    }),
    (Function, "Lower", "texts in a nest", |size| {
        indexed(size, "lower($) == \"b\"", "É".repeat(bytes_of_pair(size) / 2))
    }),
    (Function, "Upper", "a long text that grows", |size| built(size, "upper(text) == \"b\"", "ΐ", 3)),
    (Function, "Upper", "texts in a nest", |size| {
        indexed(size, "upper($) == \"b\"", "ΐ".repeat(bytes_of_pair(size) / 6))
    }),
    (Function, "Trim", "a long text", |size| long(size, "trim(text) == \"b\"", "\u{3000}")),
    (Function, "Trim", "texts in a nest", |size| {
        indexed(size, "trim($) == \"b\"", "\u{3000}".repeat(size.work_of_pair() / 3))
    }),
    (Function, "Abs", "in a nest", |size| pairs(size, "abs(x - y) == 5", 1, 3)),
    (Function, "Min", "in a nest", |size| pairs(size, "min(x, y, 5.5, x, y) == 5", 1, 3)),
    (Function, "Max", "in a nest", |size| pairs(size, "max(x, y, 5.5, x, y) == 5", 1, 3)),
    (Function, "Floor", "in a nest", |size| pairs(size, "floor(x + y) == 5", 1.5, 3)),
    (Function, "Ceil", "in a nest", |size| pairs(size, "ceil(x + y) == 6", 1.5, 3)),
    (Function, "Round", "in a nest", |size| pairs(size, "round(x + y) == 6", 1.5, 3)),
    (Function, "Split", "between letters", |size| {
        ask("len(split(text, \"\")) == 1", json!({ "text": text(size.get(Limit::ValueBytes) / 9) }))
    }),
    (Function, "Split", "a long text by a text of the message", |size| {
        ask(
            "len(split(text, u)) == 1000",
            json!({
                "text": text(size.get(Limit::ValueBytes) - 8),
                "u": text(size.get(Limit::ValueBytes) / 2) + "b",
            }),
        )
    }),
    (Function, "Split", "texts in a nest", |size| {
        indexed(size, "len(split($, \"\")) == 1000", text(bytes_of_pair(size) / 9))
    }),
    (Function, "Join", "many short texts", |size| {
        ask("join(ctx.l, \"\") == \"b\"", json!({ "ctx": { "l": list(size.bytes / 4, "") } }))
    }),
    (Function, "Join", "every letter with a separator", |size| {
        let bytes = size.get(Limit::ValueBytes);
        ask("join(split(text, \"\"), u) == \"b\"", json!({ "text": text(bytes / 20), "u": text(18) }))
    }),
    (Function, "Join", "texts in a nest", |size| {
        indexed(size, "join($, \"\") == \"b\"", list(size.work_of_pair() / 8 - 1, ""))
    }),
    (Function, "Similarity", "two long texts", |size| {
        let letters = "éè".repeat(size.get(Limit::SimilarityCharacters).max(4) / 2);
        ask("similarity(text, u) > 0.99", json!({ "text": letters, "u": letters.replace('è', "ê") }))
    }),
    (Function, "Similarity", "to a text of the rules, of every element", |size| {
        let count = 1_000.min(size.nest(1));
        let letters = size
            .get(Limit::SimilarityCharacters)
            .min(size.get(Limit::SearchWork) / count / 500)
            .min(size.bytes / count);
        ask(
            &format!("any x in l: similarity(x, {:?}) > 0.99", text(letters.min(500))),
            json!({ "l": list(count, "b".repeat(letters)) }),
        )
    }),
    (Function, "Similarity", "long texts in a nest", |size| {
        let letters = (size.work_of_pair() as f64).sqrt() as usize;
        pairs(size, "similarity(x, y) > 0.99", text(letters), "b".repeat(letters))
    }),
    (Function, "Hour", "in a nest", |size| indexed(size, "hour($ as datetime) == 1", "2026-01-05T09:30:00Z")),
    (Function, "Weekday", "in a nest", |size| {
        indexed(size, "weekday($ as datetime) == 7", "2026-01-05T09:30:00Z")
    }),
    (Function, "Date", "in a nest", |size| {
        indexed(size, "date($ as datetime) == \"2026-01-01\"", "2026-01-05T09:30:00Z")
    }),
    (Function, "Date", "a long text", |size| long(size, "date(text) == \"2026-01-01\"", " ")),
    (Function, "Time", "in a nest, in a zone", |size| {
        indexed(
            size,
            "time($ as datetime, \"America/New_York\") in \"22:00\"..\"6:00\"",
            "2026-01-05T19:30:00Z",
        )
    }),
    (Function, "Time", "a long text", |size| long(size, "time(text) == \"9:00\"", " ")),
    (Function, "FromEpochSeconds", "in a nest", |size| {
        indexed(size, "from_epoch_seconds($) < \"1970-01-01T00:00:00Z\"", json!(1_767_576_600))
    }),
    (Function, "FromEpochMillis", "in a nest", |size| {
        indexed(size, "from_epoch_millis($) < \"1970-01-01T00:00:00Z\"", json!(1.5e12))
    }),
    (Function, "Capture", "repeated classes", |size| {
        let bytes = size.get(Limit::RegexBytes).min(size.bytes);
        ask(r#"capture(text, r"(\p{L}{20})b") == "b""#, json!({ "text": "é".repeat(bytes / 2) }))
    }),
    (Function, "Capture", "texts in a nest", |size| {
        indexed(size, r#"capture($, r"\b(é?é?é?)é?@") == "b""#, "é".repeat(size.work_of_pair() / 120))
    }),
    (Function, "Minute", "in a nest, in a zone", |size| {
        indexed(size, "minute($ as datetime, \"America/New_York\") == -1", "2026-01-05T09:30:00Z")
    }),
    (Function, "Day", "in a nest, in a zone", |size| {
        indexed(size, "day($ as datetime, \"America/New_York\") == -1", "2026-01-05T09:30:00Z")
    }),
    (Function, "Month", "in a nest, in a zone", |size| {
        indexed(size, "month($ as datetime, \"America/New_York\") == -1", "2026-01-05T09:30:00Z")
    }),
    (Function, "Year", "in a nest, in a zone", |size| {
        indexed(size, "year($ as datetime, \"America/New_York\") == -1", "2026-01-05T09:30:00Z")
    }),
    (Function, "Replace", "a long text that grows", |size| {
        built(size, "replace(text, \"a\", \"bb\") == \"b\"", "a", 2)
    }),
    (Function, "Replace", "texts in a nest", |size| {
        indexed(size, "replace($, \"a\", \"bb\") == \"b\"", text(bytes_of_pair(size) / 2))
    }),
    (Function, "Substring", "the end of a long text", |size| {
        long(size, "substring(text, -9, 2) == \"b\"", "é")
    }),
    (Function, "Substring", "texts in a nest", |size| {
        indexed(size, "substring($, 1) == \"b\"", text(size.work_of_pair()))
    }),
    (Function, "IndexOf", "a long text", |size| long(size, "index_of(text, \"b\") == 1", "a")),
    (Function, "IndexOf", "texts in a nest", |size| {
        indexed(size, "index_of($, \"b\") == 1", text(size.work_of_pair() - 1))
    }),
    (Function, "Number", "in a nest", |size| indexed(size, "number($) == 1", "1234567.89e3")),
    (Function, "Number", "a long text", |size| long(size, "number(text) == 1", "1")),
    (Function, "Decimal", "in a nest", |size| indexed(size, "decimal($) == 1", "1234567.89e3")),
    (Function, "Decimal", "a long text", |size| long(size, "decimal(text) == 1", "1")),
    (Function, "Decimals", "many numbers", |size| {
        ask("sum(decimals(ctx.l)) == -1", json!({ "ctx": { "l": list(size.bytes / 4, 0.5) } }))
    }),
    (Function, "Version", "in a nest", |size| indexed(size, "version($) > \"2\"", "v1.2.3-alpha.10")),
    (Function, "Sum", "many numbers", |size| {
        ask("sum(ctx.l) == -1", json!({ "ctx": { "l": list(size.bytes / 4, 0.5) } }))
    }),
    (Function, "First", "in a nest", |size| indexed(size, "first($) == 2", json!([1]))),
    (Function, "Last", "of many", |size| {
        ask("last(ctx.l) == -1", json!({ "ctx": { "l": list(size.bytes / 4, 0.5) } }))
    }),
    (Function, "Ancestors", "a row of many", |size| {
        ask(
            "len(ancestors(ctx.n, \"i\", ctx.e, \"f\", \"t\", \"000000\")) == -1",
            graph(size.records(48, 2).min(size.get(Limit::ValueBytes) / 16), true),
        )
    }),
    (Function, "Placeholders", "of many texts", |size| {
        let count = size.get(Limit::ValueBytes) / 32;
        let texts: Vec<String> = (0..count).map(|at| format!("${{{at}}}")).collect();
        ask("len(placeholders(ctx.l)) == -1", json!({ "ctx": { "l": texts } }))
    }),
    (Function, "Bucket", "a long text", |size| long(size, "bucket(text) > 99", "a")),
    (Function, "Bucket", "texts in a nest", |size| {
        indexed(size, "bucket($) > 99", text(size.work_of_pair()))
    }),
    (Function, "Keys", "many keys", |size| {
        ask("len(keys(ctx.d)) == 1", json!({ "ctx": { "d": dict(size.get(Limit::ValueBytes) / 16) } }))
    }),
    (Function, "Keys", "dicts in a nest", |size| {
        indexed(size, "len(keys($)) == 100", dict(bytes_of_pair(size) / 16))
    }),
    (Function, "Values", "many keys", |size| {
        ask("len(values(ctx.d)) == 1", json!({ "ctx": { "d": dict(elements(size)) } }))
    }),
    (Function, "Values", "dicts in a nest", |size| {
        indexed(size, "len(values($)) == 100", dict(bytes_of_pair(size) / 8))
    }),
    (Function, "Without", "two long lists", |size| {
        let count = size.bytes / 32;
        let texts = |from: usize| (from..from + count).map(|at| format!("{at:010}")).collect::<Vec<_>>();
        ask(
            "len(without(ctx.l, ctx.m)) == 1",
            json!({ "ctx": { "l": texts(count)[..count.min(elements(size) / 3)], "m": texts(0) } }),
        )
    }),
    (Function, "Without", "lists in a nest", |size| {
        let half = size.work_of_pair() / 16 - 1;
        indexed(size, "len(without($, $)) == 1000", list(half, "a"))
    }),
    (Function, "Pluck", "many records", |size| {
        ask(
            "len(pluck(ctx.l, \"a\", \"b\")) == 1",
            json!({ "ctx": { "l": list(size.records(16, 2), json!({"a": {"c": 1}})) } }),
        )
    }),
    (Function, "Pluck", "lists in a nest", |size| {
        indexed(size, "len(pluck($, \"a\")) == 1000", list(size.work_of_pair() / 8 - 1, json!({"b": 1})))
    }),
    (Function, "JsonSize", "a large value", |size| {
        ask("json_size(ctx.l) == 1", json!({ "ctx": { "l": list(size.bytes / 4, 0.5) } }))
    }),
    (Function, "JsonSize", "values in a nest", |size| {
        let one = json!([vec![0.5; size.work_of_pair() / 32 - 2]]);
        indexed(size, "json_size($) == 1", one)
    }),
    (Function, "Updated", "many keys", |size| {
        let count = size.get(Limit::ValueBytes) / 17;
        ask("len(updated(ctx.d, ctx.u)) == 1", json!({ "ctx": { "d": dict(count), "u": dict(count) } }))
    }),
    (Function, "Updated", "deep keys", |size| {
        let deep = |at: usize| format!("{at:07}{}", ".a".repeat(60));
        let count = size.get(Limit::ValueBytes) / 8 / 61;
        let updates: Map<String, Json> = (0..count).map(|at| (deep(at), json!(1))).collect();
        ask("len(updated(ctx.d, ctx.u)) == 1", json!({ "ctx": { "d": {}, "u": updates } }))
    }),
    (Function, "Updated", "dicts in a nest", |size| {
        indexed(size, "len(updated($, $)) == 1000", dict(bytes_of_pair(size) / 17))
    }),
    (Function, "StripPrefix", "half a text from the other", |size| {
        ask(
            "strip_prefix(text, u) == \"b\"",
            json!({ "text": text(size.bytes / 2), "u": text(size.bytes / 2) }),
        )
    }),
    (Function, "StripPrefix", "texts in a nest", |size| {
        let half = size.work_of_pair() / 2;
        pairs(size, "strip_prefix(x, y) == \"b\"", text(half), text(half - 1))
    }),
    (Function, "Nonblank", "a long text", |size| long(size, "nonblank(text) == \"b\"", "\u{3000}")),
    (Function, "Nonblank", "texts in a nest", |size| {
        indexed(size, "nonblank($) == \"b\"", "\u{3000}".repeat(size.work_of_pair() / 3))
    }),
    (Function, "UrlHost", "a long text", |size| {
        ask(
            "url_host(text) == \"b\"",
            json!({ "text": format!("https://{}", "A\t".repeat(size.get(Limit::ValueBytes) - 8)) }),
        )
    }),
    (Function, "UrlHost", "texts in a nest", |size| {
        indexed(size, "url_host($) == \"b\"", format!("\t\thttps://{}", "A".repeat(bytes_of_pair(size))))
    }),
    (Function, "UrlHost", "a long international name", |size| {
        let name = "你".repeat((size.get(Limit::ValueBytes) - 8) / 3);
        ask("url_host(text) == \"b\"", json!({ "text": format!("https://{name}") }))
    }),
    (Function, "UrlPath", "a long path", |size| {
        let path = "/%61/..".repeat((size.get(Limit::ValueBytes) - 16) / 7);
        ask("url_path(text) == \"b\"", json!({ "text": format!("https://a.b{path}") }))
    }),
    (Function, "UrlScheme", "a long text", |size| long(size, "url_scheme(text) == \"b\"", "a")),
    (Function, "UrlQuery", "many keys", |size| {
        let query = "&a%62".repeat((size.get(Limit::ValueBytes) - 16) / 5);
        ask("url_query(text, \"b\") == \"b\"", json!({ "text": format!("https://a.b?{query}") }))
    }),
    (Function, "Duplicates", "many records", |size| {
        ask("len(duplicates(ctx.n, \"i\")) == 1", graph(size.records(48, 2), true))
    }),
    (Function, "Duplicates", "lists in a nest", |size| {
        let records = list((size.work_of_pair() / 4 - 1) / 8, json!({"i": "a"}));
        indexed(size, "len(duplicates($, \"i\")) == 1000", records)
    }),
    (Function, "Unmatched", "many records", |size| {
        ask("len(unmatched(ctx.e, \"t\", ctx.n, \"i\")) == 1", graph(size.records(48, 2), true))
    }),
    (Function, "Unmatched", "lists in a nest", |size| {
        let records = list((size.work_of_pair() / 4 - 3) / 16, json!({"i": "a"}));
        indexed(size, "len(unmatched($, \"i\", $, \"i\")) == 1000", records)
    }),
    (Function, "Isolated", "many records", |size| {
        ask("len(isolated(ctx.n, \"i\", ctx.e, \"f\", \"t\")) == 1", graph(size.records(48, 2), true))
    }),
    (Function, "Isolated", "lists in a nest", |size| {
        let records = list((size.work_of_pair() / 4 - 3) / 16, json!({"i": "a"}));
        indexed(size, "len(isolated($, \"i\", $, \"i\", \"i\")) == 1000", records)
    }),
    (Function, "Acyclic", "a circle of many", |size| {
        ask("acyclic(ctx.n, \"i\", ctx.e, \"f\", \"t\")", graph(size.records(48, 2), true))
    }),
    (Function, "Acyclic", "a row of many", |size| {
        ask("not acyclic(ctx.n, \"i\", ctx.e, \"f\", \"t\")", graph(size.records(48, 2), false))
    }),
    (Function, "Acyclic", "lists in a nest", |size| {
        let records = list((size.work_of_pair() / 4 - 3) / 16, json!({"i": "a"}));
        indexed(size, "acyclic($, \"i\", $, \"i\", \"i\")", records)
    }),
    (Function, "Abs", "every element", |size| each(size, "abs(x) == 5", -3)),
];
