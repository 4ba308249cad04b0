//! Rules in SQL, with Apache DataFusion. `rulec_route('routes', text, ctx)` is a scalar function.
//! `rulec_decide('routes', 'messages.parquet')` is a table function: it returns the columns of
//! Parquet files and a column with each row's answer. Rules are evaluated where rows are scanned:
//! per partition and batch, over only the columns that the query and the rules read.
//!
//! ```
//! use datafusion::prelude::SessionContext;
//! use rulec::Rules;
//!
//! # tokio::runtime::Runtime::new()?.block_on(async {
//! let rules = Rules::from_text("route files when text contains \"file\" -> files\ndefault -> chat")?;
//! let context = SessionContext::new();
//! rulec_datafusion::register(&context, &rules);
//! let query = "select text, rulec_route('routes', text)['target'] as target
//!              from (values ('my files'), ('hello')) as messages(text) order by text";
//! let answers = context.sql(query).await?.collect().await?;
//! assert_eq!(answers.iter().map(|batch| batch.num_rows()).sum::<usize>(), 2);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod function;
mod table;

use datafusion::execution::FunctionRegistry;
use datafusion::logical_expr::ScalarUDF;
use datafusion::prelude::SessionContext;
use function::{RecordColumnNames, RouteFunction};
use rulec::Rules;
use std::sync::Arc;
use table::DecideFunction;

/// Registers `rulec_route` and `rulec_decide`, which decide by these rules.
///
/// `rulec_route(ENTRY, COLUMN, …)` returns the answer as a struct. ENTRY is a string literal with
/// the entry's name (`'routes'` for the routes outside any table). The COLUMN arguments are the
/// columns that the rules read; their names must be the field names. `rulec_decide(ENTRY, PATH)` is
/// a table of the rows of Parquet files, with each row's answer in the column `answer`. PATH is a
/// file or a folder.
pub fn register(context: &SessionContext, rules: &Rules) {
    let function = Arc::new(ScalarUDF::from(RouteFunction::new(rules)));
    context.register_udf((*function).clone());
    // A session state accepts every rewrite; only other registries may return an error.
    let _ = context.state_ref().write().register_function_rewrite(Arc::new(RecordColumnNames));
    context.register_udtf("rulec_decide", Arc::new(DecideFunction::new(rules, function)));
}
