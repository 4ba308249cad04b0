//! Decides the rows of Parquet files in SQL and prints the answers as `rulec run` does. The line
//! number is the row's `id`. `python/bench/equality.py` compares the output with the other
//! integrations.
//!
//! `cargo run -p rulec-datafusion --example answer_lines -- RULES FOLDER ENTRY`

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use datafusion::prelude::{SessionConfig, SessionContext};
use futures_util::StreamExt;
use rulec::Rules;
use std::error::Error;
use std::io::{BufWriter, Write, stdout};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [rules, folder, entry] = arguments.as_slice() else {
        return Err("usage: answer_lines RULES FOLDER ENTRY".into());
    };
    let context = SessionContext::new_with_config(SessionConfig::new().with_target_partitions(4));
    rulec_datafusion::register(&context, &Rules::from_path(rules)?);
    let query = format!("select id, answer from rulec_decide('{entry}', '{folder}')");
    let mut batches = context.sql(&query).await?.execute_stream().await?;
    let mut out = BufWriter::new(stdout().lock());
    while let Some(batch) = batches.next().await {
        let batch = batch?;
        let ids = batch.column(0).as_primitive::<Int64Type>();
        let answers = RecordBatch::from(batch.column(1).as_struct().clone());
        for row in 0..batch.num_rows() {
            rulec_arrow::write_lines(&answers.slice(row, 1), ids.value(row).unsigned_abs() + 1, &mut out)?;
        }
    }
    Ok(out.flush()?)
}
