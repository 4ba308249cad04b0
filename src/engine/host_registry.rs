//! Registration of host functions, and type checks against their declarations in the rules.

use rulec_base::diag::{Code, Diagnostic, Message, nearest};
use rulec_base::message;
use rulec_eval::host::{Host, HostFn};
use rulec_eval::text_analysis;
use rulec_lang::ty::{Kind, KindSet};
use rulec_lang::value::{Value, format_datetime};
use rulec_sema::hir::{Extern, Program};
use serde_json::Value as Json;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use time::OffsetDateTime;

/// A Rust type that a host function can take as an argument.
pub trait HostArgument: Sized {
    /// The kinds of rule values that convert to this Rust type.
    const KINDS: KindSet;
    /// Converts a rule value to this Rust type; `None` if the value is of another kind.
    fn from_value(value: Value<'_>) -> Option<Self>;
}

/// A Rust type that a host function can return. An `Err` counts as a missing value and is reported
/// with the decision. `None` is a missing value.
pub trait HostResult {
    /// The kinds of rule values to which this Rust type converts.
    const KINDS: KindSet;
    /// Converts the result to JSON.
    ///
    /// # Errors
    /// If the function failed; the error is the function's own error as text.
    fn into_json(self) -> Result<Json, String>;
}

macro_rules! scalars {
    ($($ty:ty, $kinds:expr, $pattern:pat => $value:expr, |$result:ident| $json:expr;)*) => {$(
        impl HostArgument for $ty {
            const KINDS: KindSet = $kinds;
            fn from_value(value: Value<'_>) -> Option<Self> {
                match value {
                    $pattern => Some($value),
                    _ => None,
                }
            }
        }

        impl HostResult for $ty {
            const KINDS: KindSet = $kinds;
            fn into_json(self) -> Result<Json, String> {
                let $result = self;
                Ok($json)
            }
        }
    )*};
}

scalars! {
    bool, KindSet::BOOL, Value::Bool(value) => value, |result| result.into();
    i64, KindSet::INT, Value::Int(value) => value, |result| result.into();
    String, KindSet::STRING, Value::Str(value) => value.to_owned(), |result| result.into();
    OffsetDateTime, KindSet::DATETIME, Value::DateTime(value) => value, |result| format_datetime(result).into();
}

impl HostArgument for f64 {
    const KINDS: KindSet = KindSet::NUMBER;
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Float(float) => Some(float),
            Value::Int(int) => Some(int as f64),
            Value::Wide(int) => Some(int as f64),
            _ => None,
        }
    }
}

impl HostResult for f64 {
    const KINDS: KindSet = KindSet::FLOAT;
    fn into_json(self) -> Result<Json, String> {
        Ok(self.into())
    }
}

impl HostArgument for Json {
    const KINDS: KindSet = KindSet::ALL;
    fn from_value(value: Value<'_>) -> Option<Self> {
        Some(value.to_json())
    }
}

impl<T: HostArgument> HostArgument for Vec<T> {
    const KINDS: KindSet = KindSet::LIST;
    fn from_value(value: Value<'_>) -> Option<Self> {
        value.elements()?.map(T::from_value).collect()
    }
}

impl<T: HostResult> HostResult for Vec<T> {
    const KINDS: KindSet = KindSet::LIST;
    fn into_json(self) -> Result<Json, String> {
        self.into_iter().map(T::into_json).collect()
    }
}

impl<T: HostResult> HostResult for Option<T> {
    const KINDS: KindSet = T::KINDS;
    fn into_json(self) -> Result<Json, String> {
        self.map_or(Ok(Json::Null), T::into_json)
    }
}

impl<T: HostResult, E: std::fmt::Display> HostResult for Result<T, E> {
    const KINDS: KindSet = T::KINDS;
    fn into_json(self) -> Result<Json, String> {
        self.map_err(|error| error.to_string()).and_then(T::into_json)
    }
}

/// A Rust function or closure that rules can call. It takes up to four [`HostArgument`]s and
/// returns a [`HostResult`].
pub trait HostFunction<Args>: Send + Sync + 'static {
    /// The kinds of rule values that each argument accepts.
    const ARGS: &'static [KindSet];
    /// The kinds of rule values that the function returns.
    const RESULT: KindSet;
    /// Converts the function to the untyped form that the engines call.
    fn erased(self) -> HostFn;
}

macro_rules! host_functions {
    ($(($($arg:ident $at:literal),*);)*) => {$(
        impl<F, R, $($arg),*> HostFunction<($($arg,)*)> for F
        where
            F: Fn($($arg),*) -> R + Send + Sync + 'static,
            R: HostResult,
            $($arg: HostArgument,)*
        {
            const ARGS: &'static [KindSet] = &[$($arg::KINDS),*];
            const RESULT: KindSet = R::KINDS;

            fn erased(self) -> HostFn {
                Arc::new(move |_args: &[Value<'_>]| {
                    (self)($(
                        match _args.get($at).and_then(|value| $arg::from_value(*value)) {
                            Some(arg) => arg,
                            // The argument has the wrong type. For example, it is a list element
                            // that is not of the declared element type.
                            None => return Ok(Json::Null),
                        }
                    ),*).into_json()
                })
            }
        }
    )*};
}

host_functions! {
    ();
    (A 0);
    (A 0, B 1);
    (A 0, B 1, C 2);
    (A 0, B 1, C 2, D 3);
}

/// The host functions that the embedding program registered, by name.
#[derive(Clone, Default)]
pub(super) struct HostRegistry {
    functions: BTreeMap<String, RegisteredHost>,
}

#[derive(Clone)]
struct RegisteredHost {
    /// The kinds that each argument accepts; `None` for a function that takes any values.
    args: Option<Cow<'static, [KindSet]>>,
    result: KindSet,
    function: HostFn,
}

impl HostRegistry {
    pub(super) fn add<Args, F: HostFunction<Args>>(&mut self, name: &str, function: F) {
        let args = Some(Cow::Borrowed(F::ARGS));
        let registered = RegisteredHost { args, result: F::RESULT, function: function.erased() };
        self.functions.insert(name.to_owned(), registered);
    }

    /// Adds a function without static types. `arity` is the number of arguments; `None` accepts any
    /// number.
    pub(super) fn add_untyped(&mut self, name: &str, arity: Option<usize>, function: HostFn) {
        let args = arity.map(|arity| Cow::Owned(vec![KindSet::ALL; arity]));
        // An empty set of result kinds passes every check; results are converted when called.
        let registered = RegisteredHost { args, result: KindSet::EMPTY, function };
        self.functions.insert(name.to_owned(), registered);
    }

    /// Returns the declared functions in the order of their declarations, including the built-in
    /// request analysis. Reports missing functions and type mismatches. If `unlinked`, every
    /// function of the embedding program is replaced by one that returns null.
    pub(super) fn link_hosts(
        &self,
        program: &Program,
        unlinked: bool,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Vec<Host> {
        let mut link = |declared: &Extern| {
            let (name, result) = (declared.name.clone(), declared.result.kinds);
            match declared.feature {
                Some(feature) => match text_analysis::build_function(&program.analysis, feature) {
                    Ok(function) => Some(Host {
                        name,
                        result,
                        function,
                        work: Some(text_analysis::max_work_per_byte(&program.analysis, feature)),
                    }),
                    Err(diagnostic) => {
                        diagnostics.push(diagnostic);
                        None
                    }
                },
                None if unlinked => {
                    Some(Host { name, result, function: Arc::new(|_| Ok(Json::Null)), work: None })
                }
                None => self.link_one(declared, diagnostics),
            }
        };
        program.externs.iter().filter_map(&mut link).collect()
    }

    fn link_one(&self, declared: &Extern, diagnostics: &mut Vec<Diagnostic>) -> Option<Host> {
        let name = &declared.name;
        let new_error = |message: Message| Diagnostic::new(Code::HostFunction, declared.span, message);
        let Some(found) = self.functions.get(&**name) else {
            let near = nearest(name, self.functions.keys().map(String::as_str));
            let help = match near {
                Some(near) => message!("the program registered `{near}`; did you mean that?"),
                None => message!("register it before compiling: `Compiler::new().function(\"{name}\", …)`"),
            };
            diagnostics
                .push(new_error(message!("the embedding program registers no function `{name}`")).help(help));
            return None;
        };
        let args = found.args.as_deref();
        let mut params = declared.params.iter().zip(args.unwrap_or_default());
        let declared_kinds = declared.result.kinds;
        let accepted_kinds =
            if declared_kinds.has(Kind::Float) { declared_kinds.union(KindSet::INT) } else { declared_kinds };
        let message = if let Some(args) = args.filter(|args| args.len() != declared.params.len()) {
            let (declared, registered) = (declared.params.len(), args.len());
            message!("`{name}` is declared with {declared} arguments, but registered with {registered}")
        } else if let Some(((param, ty), kinds)) =
            params.find(|((_, ty), kinds)| !ty.kinds.is_subset(**kinds))
        {
            message!(
                "`{name}` is declared to take {ty} for `{param}`, but the registered function takes {kinds}"
            )
        } else if !found.result.is_subset(accepted_kinds) {
            let (result, returned) = (&declared.result, found.result);
            message!(
                "`{name}` is declared to return {result}, but the registered function returns {returned}"
            )
        } else {
            let function = found.function.clone();
            return Some(Host { name: name.clone(), result: declared_kinds, function, work: None });
        };
        diagnostics.push(
            new_error(message)
                .help(message!("make the `extern fn` declaration and the registered function agree")),
        );
        None
    }
}
