//! Tests of `DATABASE` nodes on files that the tests create.
#![cfg(feature = "database")]

use rulec::Rules;
use rulec_runtime::payload::{Coordinator, Judges, Proposal, RunReport, RunStatus};
use rulec_workers::{Access, Database, database_node};
use serde_json::{Value, json};
use std::collections::BTreeMap;
use tempfile::TempDir;

/// Creates a temporary folder with the SQLite file `sales.db`, which has one table with two rows.
fn sales() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let connection = rusqlite::Connection::open(folder.path().join("sales.db")).unwrap();
    let rows = "CREATE TABLE sales (month TEXT, amount REAL, n INTEGER, raw BLOB);
        INSERT INTO sales VALUES ('May', 2.5, 1, x'00ff'), ('June', NULL, 2, NULL);";
    connection.execute_batch(rows).unwrap();
    folder
}

async fn run(folder: &TempDir, access: Access, config: Value) -> RunReport {
    let rules =
        Rules::from_text("payload create_node { node_type: string; node_name: string; config: dict }");
    let database = Database::new(folder.path().join("sales.db"), access).unwrap();
    let databases = BTreeMap::from([("sales_db".to_owned(), database)]);
    let coordinator = Coordinator::builder(Judges::new(&rules.unwrap()))
        .node_kind("DATABASE", database_node(databases))
        .build();
    let payload = json!({"node_type": "DATABASE", "node_name": "a", "config": config});
    let mut turn = coordinator.session().offer([Proposal::new("create_node", payload)]).await;
    let done = turn.done.pop().unwrap_or_else(|| panic!("{:?}", turn.rejected));
    done.report.unwrap_or_else(|| panic!("{:?}", done.result))
}

#[tokio::test]
async fn rows_are_objects_and_parameters_are_bound() {
    let folder = sales();
    let all = json!({"query": "SELECT * FROM sales ORDER BY n", "connection": "sales_db"});
    let rows = json!([
        {"month": "May", "amount": 2.5, "n": 1, "raw": "00ff"},
        {"month": "June", "amount": null, "n": 2, "raw": null}
    ]);
    let report = run(&folder, Access::Read, all).await;
    assert_eq!(report.outputs["a"], json!({"data": rows, "row_count": 2, "changes": 0}), "{report:?}");
    for params in [json!(["May' OR 1 = 1"]), json!({"m": "May' OR 1 = 1"})] {
        let query = if params.is_array() { "?" } else { ":m" };
        let config = json!({"query": format!("SELECT n FROM sales WHERE month = {query}"), "params": params});
        assert_eq!(run(&folder, Access::Read, config).await.outputs["a"]["row_count"], 0);
    }
}

#[tokio::test]
async fn files_are_changed_only_if_that_is_allowed() {
    let folder = sales();
    let change = json!({"query": "UPDATE sales SET n = n + 1"});
    let report = run(&folder, Access::Read, change.clone()).await;
    assert!(report.reason.as_ref().is_some_and(|why| why.contains("readonly database")), "{report:?}");
    let report = run(&folder, Access::Write, change).await;
    assert_eq!(report.outputs["a"]["changes"], 2, "{report:?}");
}

#[tokio::test]
async fn queries_reach_no_other_file() {
    let folder = sales();
    let other = folder.path().join("other.db");
    for query in [format!("ATTACH '{}' AS o", other.display()), format!("VACUUM INTO '{}'", other.display())]
    {
        for access in [Access::Read, Access::Write] {
            let report = run(&folder, access, json!({"query": query})).await;
            assert_eq!(report.status, RunStatus::Failed, "{query}");
            assert!(!other.exists(), "{query}");
        }
    }
}

#[tokio::test]
async fn what_cannot_be_asked_is_refused_with_the_reason() {
    let folder = sales();
    for (config, said) in [
        (json!({}), "`config.query` must be a text"),
        (
            json!({"query": "SELECT 1", "connection": "other"}),
            "must name a database that is allowed: `sales_db`",
        ),
        (json!({"query": "SELECT 1", "user": "x"}), "`config.user` is nothing"),
        (json!({"query": "SELECT x FROM gone"}), "no such table: gone"),
        (json!({"query": "SELECT ?"}), "the query has 1 parameters"),
        (json!({"query": "SELECT :a", "params": {"b": 1}}), "no value for `:a`"),
        (json!({"query": "SELECT ?", "params": [[1]]}), "a parameter is a text or a number"),
        (json!({"query": "SELECT 1 AS x, 2 AS x"}), "two columns are called `x`"),
        (json!({"query": "SELECT 1; SELECT 2"}), "Multiple statements"),
        (json!({"query": "SELECT zeroblob(20000000)"}), "the rows have more than"),
    ] {
        let report = run(&folder, Access::Read, config).await;
        let reason = report.reason.unwrap_or_default();
        assert!(reason.contains(said), "{said}: {reason}");
    }
    assert!(Database::new(folder.path().join("gone.db"), Access::Write).is_err());
    std::fs::write(folder.path().join("text.db"), "no database, but a text that is long enough").unwrap();
    assert!(Database::new(folder.path().join("text.db"), Access::Read).is_err());
}

#[tokio::test]
async fn an_endless_query_ends_at_the_time_limit() {
    // Without the limit, the query does not end, and neither does this test.
    let endless = "WITH RECURSIVE c(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM c) SELECT max(x) FROM c";
    let report = run(&sales(), Access::Read, json!({"query": endless, "timeout": 1})).await;
    assert!(report.reason.as_ref().is_some_and(|why| why.contains("longer than 1s")), "{report:?}");
}
