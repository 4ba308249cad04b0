//! The table function `rulec_decide`: the rows of Parquet files, each with its answer. The table is
//! a view that calls `rulec_route` directly above the scan. So a column that neither the query nor
//! the rules use is not read from the files.

use arrow_schema::SchemaRef;
use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider, view::ViewTable};
use datafusion::common::{DataFusionError, Result, ScalarValue};
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl};
use datafusion::datasource::provider_as_source;
use datafusion::logical_expr::{Expr, LogicalPlanBuilder, ScalarUDF, ident, lit};
use rulec::Rules;
use rulec_arrow::formats::{Format, open_source};
use rulec_arrow::{Decider, Options};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The table function `rulec_decide(ENTRY, PATH)`. It returns the rows of the Parquet files at
/// PATH, and each row's decision in the column `answer`.
#[derive(Debug)]
pub(crate) struct DecideFunction {
    rules: Rules,
    route_function: Arc<ScalarUDF>,
}

impl DecideFunction {
    pub fn new(rules: &Rules, function: Arc<ScalarUDF>) -> DecideFunction {
        DecideFunction { rules: rules.clone(), route_function: function }
    }
}

fn plan_error(message: impl std::fmt::Display) -> DataFusionError {
    DataFusionError::Plan(format!("rulec_decide: {message}"))
}

fn literal_text(argument: &Expr) -> Option<&str> {
    match argument {
        Expr::Literal(value, _) => ScalarValue::try_as_str(value).flatten(),
        _ => None,
    }
}

/// Returns the file from which the schema of the table is read: `path` itself if it is a file. For
/// a folder, returns its first Parquet file by name. Fails if there is none.
fn first_parquet_file(path: &Path) -> Result<PathBuf> {
    if !path.is_dir() {
        return Ok(path.to_path_buf());
    }
    let files = path.read_dir()?.collect::<std::io::Result<Vec<_>>>()?;
    let files = files.into_iter().map(|file| file.path());
    let file = files.filter(|file| Format::from_path(file) == Some(Format::Parquet)).min();
    file.ok_or_else(|| plan_error(format!("there is no Parquet file in `{}`", path.display())))
}

fn read_schema(path: &Path) -> Result<SchemaRef> {
    let path = first_parquet_file(path)?;
    let unreadable =
        |error: &dyn std::fmt::Display| plan_error(format!("`{}` cannot be read: {error}", path.display()));
    let file = File::open(&path).map_err(|error| unreadable(&error))?;
    Ok(open_source(Format::Parquet, file).map_err(|error| unreadable(&error))?.schema())
}

impl TableFunctionImpl for DecideFunction {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let [Some(entry), Some(path)] = args.exprs().iter().map(literal_text).collect::<Vec<_>>()[..] else {
            return Err(plan_error(
                "it takes the name of an entry and the path of a Parquet file or folder, as literals",
            ));
        };
        let schema = read_schema(Path::new(path))?;
        let decider = Decider::new(&self.rules, Some(entry), Arc::clone(&schema), &Options::default());
        let read_columns = decider.map_err(plan_error)?.read_columns();
        let format = ListingOptions::new(Arc::new(ParquetFormat::default()))
            .with_file_extension("")
            .with_session_config_options(args.session().config());
        let path = if Path::new(path).is_dir() { format!("{path}/") } else { path.to_owned() };
        let config = ListingTableConfig::new(ListingTableUrl::parse(path)?)
            .with_listing_options(format)
            .with_schema(Arc::clone(&schema));
        let table = provider_as_source(Arc::new(ListingTable::try_new(config)?));
        let column = |index: usize| ident(schema.field(index).name());
        let arguments = std::iter::once(lit(entry)).chain(read_columns.into_iter().map(column)).collect();
        let answer = self.route_function.call(arguments).alias("answer");
        let columns = (0..schema.fields().len()).map(column).chain([answer]);
        let plan = LogicalPlanBuilder::scan("messages", table, None)?.project(columns)?.build()?;
        Ok(Arc::new(ViewTable::new(plan, None)))
    }
}
