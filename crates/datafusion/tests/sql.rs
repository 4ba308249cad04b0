//! SQL over Parquet files, compared with the same messages as JSON.

use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray, StructArray};
use datafusion::prelude::{SessionConfig, SessionContext};
use rulec::Rules;
use rulec_arrow::formats::{Format, create_sink};
use rulec_arrow::write_lines;
use serde_json::{Value as Json, json};
use std::fs::File;
use std::path::Path;
use std::sync::Arc;

const RULES: &str = r#"
input { text: string, n?: int }
route files priority 2 when text contains "file" and n > 2 -> files(n: n) { kind: "file" }
route few when n < 2 -> few(text: text)
table other { default -> nothing }
default -> chat
"#;

fn messages() -> Vec<Json> {
    let text = |n: i64| if n % 3 == 0 { "my files" } else { "hello" };
    let message = |n: i64| match n % 11 {
        0 => json!({"n": n % 5}),
        7 => json!({"text": text(n)}),
        _ => json!({"text": text(n), "n": n % 5}),
    };
    (0..20_000).map(message).collect()
}

fn batch(messages: &[Json]) -> RecordBatch {
    let texts: StringArray = messages.iter().map(|message| message["text"].as_str()).collect();
    let numbers: Int64Array = messages.iter().map(|message| message["n"].as_i64()).collect();
    let ids: Int64Array = (0..messages.len() as i64).collect();
    let columns: [(&str, ArrayRef); 3] =
        [("id", Arc::new(ids)), ("text", Arc::new(texts)), ("n", Arc::new(numbers))];
    RecordBatch::try_from_iter(columns).expect("a batch")
}

fn write(path: &Path, batch: &RecordBatch) {
    let out = File::create(path).expect("it can be written");
    let mut sink = create_sink(Format::Parquet, &batch.schema(), out).expect("Parquet");
    sink.write(batch).expect("written");
    sink.finish().expect("written");
}

fn context(rules: &str) -> SessionContext {
    let rules = Rules::from_text(rules).expect("the rules compile");
    let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(4));
    rulec_datafusion::register(&context, &rules);
    context
}

async fn rows(context: &SessionContext, query: &str) -> Vec<RecordBatch> {
    context.sql(query).await.expect("it is planned").collect().await.expect("it runs")
}

async fn error(context: &SessionContext, query: &str) -> String {
    match context.sql(query).await {
        Err(error) => error.to_string(),
        Ok(frame) => frame.collect().await.expect_err("it fails").to_string(),
    }
}

/// Returns a struct column of answers as the lines that `rulec run` prints.
fn lines(batches: &[RecordBatch]) -> String {
    let (mut out, mut first) = (Vec::new(), 1);
    for batch in batches {
        let answers = batch.column(0).as_any().downcast_ref::<StructArray>().expect("answers");
        write_lines(&RecordBatch::from(answers.clone()), first, &mut out).expect("memory");
        first += answers.len() as u64;
    }
    String::from_utf8(out).expect("JSON is UTF-8")
}

#[tokio::test]
async fn both_functions_answer_as_json_lines_do() {
    let (context, folder, messages) = (context(RULES), tempfile::tempdir().expect("a folder"), messages());
    let all = batch(&messages);
    for part in 0..4 {
        write(&folder.path().join(format!("{part}.parquet")), &all.slice(part * 5_000, 5_000));
    }
    let folder = folder.path().display();
    context
        .sql(&format!("create external table messages stored as parquet location '{folder}/'"))
        .await
        .expect("a table");
    let rules = Rules::from_text(RULES).expect("the rules compile");
    let expected = |entry: &str| -> String {
        let line = |(at, message): (usize, &Json)| {
            let decision = rules.entry(entry).expect("an entry").decide(message);
            format!("{{\"line\":{},{}\n", at + 1, &serde_json::to_string(&decision).expect("JSON")[1..])
        };
        messages.iter().enumerate().map(line).collect()
    };
    for (entry, query) in [
        (
            "routes",
            "select answer from (select id, rulec_route('routes', text, n) as answer from messages) order by id",
        ),
        (
            "other",
            "select answer from (select id, rulec_route('other', text, n) as answer from messages) order by id",
        ),
        ("routes", &format!("select answer from rulec_decide('routes', '{folder}') order by id")),
    ] {
        assert_eq!(lines(&rows(&context, query).await), expected(entry), "{query}");
    }
    let query = "select count(*) from messages where rulec_route('routes', text, n)['target'] = 'files'";
    let counted = rows(&context, query).await;
    let counted = counted[0].column(0).as_any().downcast_ref::<Int64Array>().expect("a count").value(0);
    assert_eq!(counted, expected("routes").matches("\"target\":\"files\"").count() as i64);
    assert!(counted > 1_000);
}

#[tokio::test]
async fn only_the_columns_that_are_read_are_scanned() {
    let (context, folder) = (context(RULES), tempfile::tempdir().expect("a folder"));
    let path = folder.path().join("messages.parquet");
    write(&path, &batch(&messages()));
    let query = format!("explain select answer['target'] from rulec_decide('routes', '{}')", path.display());
    let plan = rows(&context, &query).await;
    let texts = plan[0].column(1).as_any().downcast_ref::<StringArray>().expect("text");
    let plan = texts.value(1);
    assert!(plan.contains("projection=[text, n]"), "{plan}");
}

/// Each partition decides its own rows, and a filter on an answer is evaluated by the scan.
#[tokio::test]
async fn rules_are_decided_where_rows_are_scanned() {
    let (context, folder) = (context(RULES), tempfile::tempdir().expect("a folder"));
    let (all, folder) = (batch(&messages()), folder.path());
    for part in 0..4 {
        write(&folder.join(format!("{part}.parquet")), &all.slice(part * 5_000, 5_000));
    }
    let plan = async |query: &str| {
        let plan = rows(&context, &format!("explain format indent {query}")).await;
        plan[0].column(1).as_any().downcast_ref::<StringArray>().expect("text").value(1).to_owned()
    };
    let decide = format!("rulec_decide('routes', '{}')", folder.display());
    let counts = plan(&format!("select answer['target'], count(*) from {decide} group by 1")).await;
    let lines: Vec<&str> = counts.lines().collect();
    let decided = lines.iter().rposition(|line| line.contains("rulec_route")).expect("rules are decided");
    let below = &lines[decided..];
    assert!(!below.iter().any(|line| line.contains("RepartitionExec: partitioning=Hash")), "{counts}");
    assert!(below.last().is_some_and(|scan| scan.contains("file_groups={4 groups")), "{counts}");
    context.sql("set datafusion.execution.parquet.pushdown_filters = true").await.expect("it can be set");
    let filtered = plan(&format!("select id from {decide} where answer['target'] = 'files'")).await;
    let scan = filtered.lines().last().expect("a scan");
    assert!(
        scan.contains("DataSourceExec") && scan.contains("predicate=get_field(rulec_route("),
        "{filtered}"
    );
    let counted =
        rows(&context, &format!("select count(*) from {decide} where answer['target'] = 'files'")).await;
    let counted = counted[0].column(0).as_any().downcast_ref::<Int64Array>().expect("a count").value(0);
    let rules = Rules::from_text(RULES).expect("the rules compile");
    let files = messages().iter().filter(|message| rules.decide(message).target() == Some("files")).count();
    assert_eq!(counted, files as i64);
}

/// The optimizer may read a column under its name in a subquery. The rules use the name that the
/// outer query gives to the column.
#[tokio::test]
async fn a_column_is_known_by_the_name_that_the_query_gives_it() {
    let context = context("route files when text contains \"file\" -> files\ndefault -> chat");
    let inner = "(select concat(a, b) as text, c as other from (values ('my', ' files', 1), ('he', 'llo', 2)) as t(a, b, c))";
    for query in [
        format!("select rulec_route('routes', text)['target'] as target from {inner} order by other"),
        "select rulec_route('routes', text)['target'] from (values ('my files'), ('hello')) as t(text)"
            .to_owned(),
    ] {
        let found = rows(&context, &query).await;
        let targets: Vec<String> = found
            .iter()
            .flat_map(|batch| {
                let column = datafusion::arrow::compute::cast(batch.column(0), &arrow_schema::DataType::Utf8)
                    .expect("text");
                let texts = column.as_any().downcast_ref::<StringArray>().expect("text").clone();
                (0..texts.len()).map(move |row| texts.value(row).to_owned()).collect::<Vec<_>>()
            })
            .collect();
        assert_eq!(targets, ["files", "chat"], "{query}");
    }
}

#[tokio::test]
async fn mistakes_are_told_when_the_query_is_planned() {
    let (context, folder) = (context(RULES), tempfile::tempdir().expect("a folder"));
    let path = folder.path().join("messages.parquet");
    write(&path, &batch(&messages()[..10]));
    let messages = "(values ('a', 1)) as messages(text, n)";
    for (query, wanted) in [
        (
            format!("select rulec_route('rutes', text, n) from {messages}"),
            "there is no entry `rutes`; did you mean `routes`?",
        ),
        (
            format!("select rulec_route('routes', n) from {messages}"),
            "the rules read `text`, but there is no such column",
        ),
        (format!("select rulec_route('routes', n, n) from {messages}"), "the column `n` exists twice"),
        (format!("select rulec_route(text) from {messages}"), "the first argument names the entry"),
        ("select * from rulec_decide('routes')".to_owned(), "it takes the name of an entry and the path"),
        ("select * from rulec_decide('routes', '/nowhere')".to_owned(), "`/nowhere` cannot be read"),
    ] {
        let found = error(&context, &query).await;
        assert!(found.contains(wanted), "{query}: {found}");
    }
}
