//! Rules in SQL, by Apache DataFusion: `rulec_route('routes', text, ctx)` is a function of rows, and
//! `rulec_decide('routes', 'messages.parquet')` a table of the answers beside the columns of Parquet files. Rules are decided
//! where rows are scanned: in each partition, batch by batch, over the columns that the query and the rules read.
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
use function::{KeepNames, Route};
use rulec::Rules;
use std::sync::Arc;
use table::Decide;

/// Registers `rulec_route` and `rulec_decide`, which decide by these rules.
///
/// `rulec_route(ENTRY, COLUMN, …)` takes the name of an entry, a literal (`'routes'` for the routes outside any table), and
/// the columns that the rules read, by their own names; it gives the answer, a struct. `rulec_decide(ENTRY, PATH)` is the
/// table of Parquet files, a file or a folder, with the answer of each row in the column `answer`.
pub fn register(context: &SessionContext, rules: &Rules) {
    let function = Arc::new(ScalarUDF::from(Route::new(rules)));
    context.register_udf((*function).clone());
    // The state of a session takes every rewrite; the trait allows other registries to refuse.
    let _ = context.state_ref().write().register_function_rewrite(Arc::new(KeepNames));
    context.register_udtf("rulec_decide", Arc::new(Decide::new(rules, function)));
}
