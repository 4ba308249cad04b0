//! The SQL function `rulec_route`, with which a DataFusion query decides each of its rows by the
//! rules.

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, StructArray};
use arrow_schema::{DataType, Field, FieldRef, Schema, SchemaRef};
use datafusion::common::config::ConfigOptions;
use datafusion::common::tree_node::Transformed;
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion::logical_expr::expr::ScalarFunction;
use datafusion::logical_expr::expr_rewriter::FunctionRewrite;
use datafusion::logical_expr::{
    ColumnarValue, Expr, ReturnFieldArgs, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use rulec::Rules;
use rulec_arrow::{Decider, Options};
use std::any::Any;
use std::hash::{Hash, Hasher};
use std::sync::{Arc, Mutex, PoisonError};

/// Maximum number of idle deciders that are kept for reuse. A decider evaluates the rules on
/// batches of rows. Threads cannot share one, so each thread needs its own.
const MAX_IDLE_DECIDERS: usize = 64;

/// The SQL function `rulec_route`, as DataFusion's planner and executor use it.
#[derive(Debug)]
pub(crate) struct RouteFunction {
    rules: Rules,
    /// Names of the column arguments in the query; `None` until [`RecordColumnNames`] has recorded
    /// them. They are recorded before optimization, because the optimizer may rename the arguments.
    column_names: Option<Vec<String>>,
    signature: Signature,
    /// Deciders (which evaluate the rules on batches of rows) that no thread uses now. All copies
    /// of the function share them.
    idle_deciders: Arc<Mutex<Vec<IdleDecider>>>,
}

/// An idle decider, kept for the next batch with the same entry (such as a table) and schema.
struct IdleDecider {
    entry_name: String,
    decider: Decider,
}

impl std::fmt::Debug for IdleDecider {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Idle").field("entry", &self.entry_name).finish_non_exhaustive()
    }
}

/// Two functions are equal if they use the same compiled rules and column names. By this
/// comparison, DataFusion merges equal expressions of a query.
impl PartialEq for RouteFunction {
    fn eq(&self, other: &RouteFunction) -> bool {
        std::ptr::eq(self.rules.program(), other.rules.program()) && self.column_names == other.column_names
    }
}

impl Eq for RouteFunction {}

impl Hash for RouteFunction {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self.rules.program()).hash(state);
        self.column_names.hash(state);
    }
}

impl RouteFunction {
    pub fn new(rules: &Rules) -> RouteFunction {
        let signature = Signature::variadic_any(Volatility::Immutable);
        RouteFunction { rules: rules.clone(), column_names: None, signature, idle_deciders: Arc::default() }
    }

    /// Returns a copy of the function that uses these column names, even if the optimizer renames
    /// arguments.
    fn with_column_names(&self, names: Vec<String>) -> RouteFunction {
        let (rules, signature) = (self.rules.clone(), self.signature.clone());
        RouteFunction {
            rules,
            column_names: Some(names),
            signature,
            idle_deciders: Arc::clone(&self.idle_deciders),
        }
    }

    /// Returns the fields of the column arguments: of all arguments but the first, which names the
    /// entry (such as a table). Each field has the recorded column name and is nullable.
    fn column_arguments(&self, fields: &[FieldRef]) -> Vec<FieldRef> {
        // Nullability is ignored, because it may differ between the plan and a batch.
        let nullable_field = |(index, field): (usize, &FieldRef)| {
            let name = self.column_names.as_ref().and_then(|names| names.get(index)).unwrap_or(field.name());
            Arc::new(
                Field::new(name, field.data_type().clone(), true).with_metadata(field.metadata().clone()),
            )
        };
        fields.iter().skip(1).enumerate().map(nullable_field).collect()
    }

    /// Returns a decider for an entry of the rules (such as a table) and a schema of columns. Takes
    /// an idle decider if there is one, else creates a decider.
    fn take_decider(&self, entry: &str, schema: &SchemaRef) -> Result<Decider> {
        let mut idle = self.idle_deciders.lock().unwrap_or_else(PoisonError::into_inner);
        let is_match = |idle_decider: &IdleDecider| {
            idle_decider.entry_name == entry && idle_decider.decider.input_schema() == schema
        };
        if let Some(index) = idle.iter().position(is_match) {
            return Ok(idle.swap_remove(index).decider);
        }
        drop(idle);
        Decider::new(&self.rules, Some(entry), Arc::clone(schema), &Options::default())
            .map_err(|error| DataFusionError::Plan(format!("rulec_route: {error}")))
    }

    fn store_idle_decider(&self, entry: &str, decider: Decider) {
        let mut idle = self.idle_deciders.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MAX_IDLE_DECIDERS {
            idle.push(IdleDecider { entry_name: entry.to_owned(), decider });
        }
    }
}

fn entry_name(argument: Option<&ScalarValue>) -> Result<String> {
    let text = argument.and_then(ScalarValue::try_as_str).flatten();
    let error_text = "rulec_route: the first argument names the entry, as a literal such as 'routes'";
    text.map(str::to_owned).ok_or_else(|| DataFusionError::Plan(error_text.to_owned()))
}

impl ScalarUDFImpl for RouteFunction {
    fn name(&self) -> &'static str {
        "rulec_route"
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Err(DataFusionError::Internal("the type of rulec_route depends on its first argument".to_owned()))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        let entry = entry_name(args.scalar_arguments.first().copied().flatten())?;
        let schema: SchemaRef = Arc::new(Schema::new(self.column_arguments(args.arg_fields)));
        let decider = self.take_decider(&entry, &schema)?;
        let answer_type = DataType::Struct(decider.schema().fields().clone());
        self.store_idle_decider(&entry, decider);
        Ok(Arc::new(Field::new(self.name(), answer_type, false)))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let entry = match args.args.first() {
            Some(ColumnarValue::Scalar(name)) => entry_name(Some(name))?,
            _ => entry_name(None)?,
        };
        let schema: SchemaRef = Arc::new(Schema::new(self.column_arguments(&args.arg_fields)));
        let argument_columns = args.args.iter().skip(1).map(|argument| argument.to_array(args.number_rows));
        let argument_columns = argument_columns.collect::<Result<Vec<ArrayRef>>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(args.number_rows));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), argument_columns, &options)?;
        let mut decider = self.take_decider(&entry, &schema)?;
        let answers =
            decider.decide(&batch).map_err(|error| DataFusionError::Execution(error.to_string()))?;
        self.store_idle_decider(&entry, decider);
        let (schema, columns, rows) = answers.into_parts();
        let answers = StructArray::try_new_with_length(schema.fields().clone(), columns, None, rows)?;
        Ok(ColumnarValue::Array(Arc::new(answers)))
    }
}

/// Rewrites each call of `rulec_route`, before the query is optimized, to record the call's column
/// names.
#[derive(Debug)]
pub(crate) struct RecordColumnNames;

impl FunctionRewrite for RecordColumnNames {
    fn name(&self) -> &'static str {
        "rulec_route keeps the names of its columns"
    }

    fn rewrite(&self, expr: Expr, _: &DFSchema, _: &ConfigOptions) -> Result<Transformed<Expr>> {
        let Expr::ScalarFunction(call) = &expr else { return Ok(Transformed::no(expr)) };
        let function: &dyn Any = call.func.inner().as_ref();
        let Some(route) =
            function.downcast_ref::<RouteFunction>().filter(|route| route.column_names.is_none())
        else {
            return Ok(Transformed::no(expr));
        };
        let name = |argument: &Expr| match argument {
            Expr::Column(column) => column.name.clone(),
            other => other.schema_name().to_string(),
        };
        let names = call.args.iter().skip(1).map(name).collect();
        let function = Arc::new(ScalarUDF::from(route.with_column_names(names)));
        let call = ScalarFunction::new_udf(function, call.args.clone());
        Ok(Transformed::yes(Expr::ScalarFunction(call)))
    }
}
