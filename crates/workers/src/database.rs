//! Plan nodes of the type `DATABASE`, which query SQLite files. A plan is a workflow that a
//! language model writes.

use rulec_runtime::workflow::{Node, ProcessError, Processor, from_fn};
use rusqlite::config::DbConfig;
use rusqlite::limits::Limit;
use rusqlite::types::{Value as Cell, ValueRef};
use rusqlite::{Connection, InterruptHandle, OpenFlags, Statement};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The config fields that a `DATABASE` node may have. Code in this file does not read `timeout`:
/// the engine that runs the plan enforces it.
const DATABASE_CONFIG_FIELDS: [&str; 5] = ["query", "connection", "params", "parameters", "timeout"];
/// The config fields that may contain the parameter values of the query: two names for the same
/// field.
const PARAMETER_CONFIG_FIELDS: [&str; 2] = ["params", "parameters"];
/// Maximum size of all rows that one query returns, in bytes. Column names and texts count with
/// their length, all other values with 8 bytes.
const MAX_RESULT_BYTES: usize = 16 << 20;

/// What the queries of `DATABASE` nodes may do with a database.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Queries may only read.
    Read,
    /// Queries may also change rows and tables.
    Write,
}

/// A SQLite file that `DATABASE` nodes may query.
#[derive(Clone, Debug)]
pub struct Database {
    path: PathBuf,
    access: Access,
}

impl Database {
    /// Creates a database from the path of an existing file, for queries that may do what `access`
    /// allows. Opens the file once to check it.
    ///
    /// # Errors
    /// If the file cannot be opened, or is not an SQLite database.
    pub fn new(path: impl AsRef<Path>, access: Access) -> Result<Database, ProcessError> {
        let database = Database { path: path.as_ref().to_owned(), access };
        let count_tables = "SELECT count(*) FROM sqlite_schema";
        database.open()?.query_row(count_tables, [], |row| row.get::<_, i64>(0))?;
        Ok(database)
    }

    fn open(&self) -> rusqlite::Result<Connection> {
        let access = match self.access {
            Access::Read => OpenFlags::SQLITE_OPEN_READ_ONLY,
            Access::Write => OpenFlags::SQLITE_OPEN_READ_WRITE,
        };
        let connection = Connection::open_with_flags(&self.path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
        // A query cannot open or create another file: neither by ATTACH nor by VACUUM INTO.
        connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_DEFENSIVE, true)?;
        connection.set_db_config(DbConfig::SQLITE_DBCONFIG_TRUSTED_SCHEMA, false)?;
        Ok(connection)
    }
}

/// Returns the factory of `DATABASE` nodes, for `CoordinatorBuilder::node_kind`. `databases` maps
/// the names that plans write as `config.connection` to files. If there is only one file, a plan
/// may omit the name.
///
/// `config.query` is one SQL statement. `config.params` gives the values of its parameters: a list
/// for `?`, or an object for `:name`. The output has the rows as `data`, each an object, and their
/// number as `row_count`. `changes` is the number of rows that the statement has changed.
pub fn database_node(
    databases: BTreeMap<String, Database>,
) -> impl Fn(&Node) -> Result<Arc<dyn Processor>, ProcessError> + Clone + Send + Sync + 'static {
    let databases = Arc::new(databases);
    move |node| {
        let query = Arc::new(DatabaseQuery::from_config(&node.config, &databases)?);
        Ok(from_fn(move |_| {
            let query = query.clone();
            async move {
                let connection = query.database.open()?;
                // If this future is dropped, for example at the time limit, the query ends.
                let _guard = InterruptOnDrop(connection.get_interrupt_handle());
                let asked = tokio::task::spawn_blocking(move || query.run_query(&connection));
                asked.await?
            }
        }))
    }
}

struct InterruptOnDrop(InterruptHandle);

impl Drop for InterruptOnDrop {
    fn drop(&mut self) {
        self.0.interrupt();
    }
}

struct DatabaseQuery {
    database: Database,
    sql: String,
    parameters: Value,
}

impl DatabaseQuery {
    fn from_config(
        config: &Value,
        databases: &BTreeMap<String, Database>,
    ) -> Result<DatabaseQuery, ProcessError> {
        let no_fields = Map::new();
        let fields = config.as_object().unwrap_or(&no_fields);
        if let Some(name) = fields.keys().find(|name| !DATABASE_CONFIG_FIELDS.contains(&&***name)) {
            return Err(format!("`config.{name}` is nothing that a DATABASE node reads; leave it out").into());
        }
        let text = config["query"].as_str().ok_or("`config.query` must be a text")?.to_owned();
        let known = || databases.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        let database = match (&config["connection"], databases.len()) {
            (Value::Null, 1) => databases.values().next(),
            (Value::String(name), _) => databases.get(name),
            _ => None,
        };
        let unknown = || format!("`config.connection` must name a database that is allowed: {}", known());
        let database = database.cloned().ok_or_else(unknown)?;
        let parameters = PARAMETER_CONFIG_FIELDS.iter().find_map(|name| fields.get(*name)).cloned();
        Ok(DatabaseQuery { database, sql: text, parameters: parameters.unwrap_or_default() })
    }

    fn run_query(&self, connection: &Connection) -> Result<Value, ProcessError> {
        let mut statement = connection.prepare(&self.sql)?;
        self.bind_parameters(&mut statement)?;
        let columns: Vec<String> = statement.column_names().into_iter().map(str::to_owned).collect();
        if let Some(name) = columns.iter().enumerate().find(|(at, name)| columns[..*at].contains(name)) {
            return Err(format!("two columns are called `{}`; name one of them with AS", name.1).into());
        }
        let changed_before = connection.total_changes();
        let (mut data, mut bytes) = (Vec::new(), 0);
        let mut rows = statement.raw_query();
        while let Some(row) = rows.next()? {
            let mut fields = Map::new();
            for (at, name) in columns.iter().enumerate() {
                let value = sql_value_to_json(row.get_ref(at)?);
                bytes += name.len() + value.as_str().map_or(8, str::len);
                fields.insert(name.clone(), value);
            }
            if bytes > MAX_RESULT_BYTES {
                return Err(format!("the rows have more than {MAX_RESULT_BYTES} bytes; ask for fewer").into());
            }
            data.push(Value::Object(fields));
        }
        let changes = connection.total_changes() - changed_before;
        Ok(json!({"row_count": data.len(), "data": data, "changes": changes}))
    }

    fn bind_parameters(&self, statement: &mut Statement<'_>) -> Result<(), ProcessError> {
        let wanted = statement.parameter_count();
        match &self.parameters {
            Value::Null if wanted == 0 => {}
            Value::Array(values) if values.len() == wanted => {
                for (at, value) in values.iter().enumerate() {
                    statement.raw_bind_parameter(at + 1, json_to_sql_value(value)?)?;
                }
            }
            Value::Object(values) => {
                for at in 1..=wanted {
                    let name = statement.parameter_name(at).unwrap_or("?").to_owned();
                    let value = values.get(name.get(1..).unwrap_or_default());
                    let value = value.ok_or_else(|| format!("`config.params` has no value for `{name}`"))?;
                    statement.raw_bind_parameter(at, json_to_sql_value(value)?)?;
                }
            }
            _ => {
                return Err(
                    format!("the query has {wanted} parameters; give as many in `config.params`").into()
                );
            }
        }
        Ok(())
    }
}

fn json_to_sql_value(value: &Value) -> Result<Cell, ProcessError> {
    Ok(match value {
        Value::Null => Cell::Null,
        Value::Bool(truth) => Cell::Integer((*truth).into()),
        Value::String(text) => Cell::Text(text.clone()),
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(whole), _) => Cell::Integer(whole),
            (None, Some(real)) => Cell::Real(real),
            (None, None) => return Err(format!("{number} is no number of SQLite").into()),
        },
        other => return Err(format!("a parameter is a text or a number, and not {other}").into()),
    })
}

/// Converts a value of a result row to JSON. Bytes become hexadecimal text.
fn sql_value_to_json(cell: ValueRef<'_>) -> Value {
    match cell {
        ValueRef::Null => Value::Null,
        ValueRef::Integer(whole) => whole.into(),
        ValueRef::Real(real) => real.into(),
        ValueRef::Text(text) => String::from_utf8_lossy(text).into(),
        ValueRef::Blob(bytes) => bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>().into(),
    }
}
