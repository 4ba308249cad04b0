//! Registers host functions (functions of the embedding program), and compares their types with
//! their declarations in the rules.

use rulec_base::diag::{Code, Diagnostic, Message, nearest};
use rulec_base::message;
use rulec_eval::host::{HostFn, RegisteredFunction};
use rulec_eval::text_analysis;
use rulec_lang::ty::{Kind, KindSet};
use rulec_lang::value::{Value, format_datetime};
use rulec_sema::hir::{Extern, Program};
use serde_json::Value as Json;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::Arc;
use time::OffsetDateTime;

/// A Rust type that a host function can take as an argument: `bool`, an integer of any width,
/// `f32`, `f64`, `String`, `&str`, `time::OffsetDateTime`, `serde_json::Value`, or a `Vec` of
/// these. An integer outside the range of its type makes the call fail.
#[diagnostic::on_unimplemented(
    message = "a host function cannot take `{Self}` as an argument",
    label = "not a type that a rule value converts to",
    note = "it takes `bool`, integers, floats, `String`, `&str`, `OffsetDateTime`, `serde_json::Value`, or a `Vec` of these"
)]
pub trait HostArgument {
    /// The type of the argument after conversion. It may borrow from the rule value, which lives
    /// for `'v`: for `&str`, this type is `&'v str`.
    #[doc(hidden)]
    type Given<'v>;
    /// The kinds of rule values that convert to this type. The compiler compares them with the type
    /// that the rules declare for the argument.
    #[doc(hidden)]
    const KINDS: KindSet;
    /// Converts a rule value to this type. The error says why the value does not fit.
    #[doc(hidden)]
    fn from_value(value: Value<'_>) -> Result<Self::Given<'_>, Unfit>;
}

/// The reason why a rule value does not convert to a Rust type.
#[doc(hidden)]
#[derive(Debug)]
pub enum Unfit {
    /// The value is of another kind, such as a list element that is not of the declared element
    /// type. The result of the call then counts as missing.
    Kind,
    /// The number is outside the range of the Rust type with this name.
    Range(&'static str),
}

/// A Rust type that a host function can return: `bool`, an integer of any width, `f32`, `f64`,
/// `String`, `&'static str`, `time::OffsetDateTime`, `serde_json::Value`, a `Vec` or an `Option` of
/// these, or a `Result` with any error. `None` is a missing value. An `Err` counts as a missing
/// value and is reported with the decision. A `serde_json::Value` that is not of the declared type
/// counts as missing.
#[diagnostic::on_unimplemented(
    message = "a host function cannot return `{Self}`",
    label = "not a type that converts to a rule value",
    note = "it returns `bool`, an integer, a float, `String`, `&'static str`, `OffsetDateTime`, `serde_json::Value`, or a `Vec`, `Option` or `Result` of these",
    note = "an async function is registered with `Compiler::async_function`"
)]
pub trait HostResult {
    /// The kinds of rule values to which this type converts. Empty if the kind depends on the
    /// returned value.
    #[doc(hidden)]
    const KINDS: KindSet;
    /// Converts the result to JSON; the error is the function's own error as text.
    #[doc(hidden)]
    fn into_json(self) -> Result<Json, String>;
}

macro_rules! scalars {
    ($($ty:ty, $kinds:expr, $pattern:pat => $value:expr, |$result:ident| $json:expr;)*) => {$(
        impl HostArgument for $ty {
            type Given<'v> = $ty;
            const KINDS: KindSet = $kinds;
            fn from_value(value: Value<'_>) -> Result<$ty, Unfit> {
                match value {
                    $pattern => Ok($value),
                    _ => Err(Unfit::Kind),
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
    String, KindSet::STRING, Value::Str(value) => value.to_owned(), |result| result.into();
    OffsetDateTime, KindSet::DATETIME, Value::DateTime(value) => value, |result| format_datetime(result).into();
}

macro_rules! integers {
    ($($ty:ident)*) => {$(
        impl HostArgument for $ty {
            type Given<'v> = $ty;
            const KINDS: KindSet = KindSet::INT;
            fn from_value(value: Value<'_>) -> Result<$ty, Unfit> {
                let fitting = match value {
                    Value::Int(int) => $ty::try_from(int).ok(),
                    Value::Wide(int) => $ty::try_from(int).ok(),
                    _ => return Err(Unfit::Kind),
                };
                fitting.ok_or(Unfit::Range(stringify!($ty)))
            }
        }

        impl HostResult for $ty {
            const KINDS: KindSet = KindSet::INT;
            fn into_json(self) -> Result<Json, String> {
                Ok(self.into())
            }
        }
    )*};
}

integers! { i8 i16 i32 i64 isize u8 u16 u32 u64 usize }

macro_rules! floats {
    ($($ty:ident)*) => {$(
        impl HostArgument for $ty {
            type Given<'v> = $ty;
            const KINDS: KindSet = KindSet::NUMBER;
            fn from_value(value: Value<'_>) -> Result<$ty, Unfit> {
                match value {
                    Value::Float(float) => Ok(float as $ty),
                    Value::Int(int) => Ok(int as $ty),
                    Value::Wide(int) => Ok(int as $ty),
                    _ => Err(Unfit::Kind),
                }
            }
        }

        impl HostResult for $ty {
            const KINDS: KindSet = KindSet::FLOAT;
            fn into_json(self) -> Result<Json, String> {
                Ok(self.into())
            }
        }
    )*};
}

floats! { f32 f64 }

impl HostArgument for &str {
    type Given<'v> = &'v str;
    const KINDS: KindSet = KindSet::STRING;
    fn from_value(value: Value<'_>) -> Result<&str, Unfit> {
        match value {
            Value::Str(text) => Ok(text),
            _ => Err(Unfit::Kind),
        }
    }
}

impl HostResult for &'static str {
    const KINDS: KindSet = KindSet::STRING;
    fn into_json(self) -> Result<Json, String> {
        Ok(self.into())
    }
}

impl HostArgument for Json {
    type Given<'v> = Json;
    const KINDS: KindSet = KindSet::MESSAGE_KINDS;
    fn from_value(value: Value<'_>) -> Result<Json, Unfit> {
        Ok(value.to_json())
    }
}

impl HostResult for Json {
    const KINDS: KindSet = KindSet::EMPTY;
    fn into_json(self) -> Result<Json, String> {
        Ok(self)
    }
}

impl<T: HostArgument> HostArgument for Vec<T> {
    type Given<'v> = Vec<T::Given<'v>>;
    const KINDS: KindSet = KindSet::LIST;
    fn from_value(value: Value<'_>) -> Result<Vec<T::Given<'_>>, Unfit> {
        value.elements().ok_or(Unfit::Kind)?.map(T::from_value).collect()
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

/// A Rust function or closure that rules can call. It takes up to twelve [`HostArgument`]s and
/// returns a [`HostResult`], or a future of one for
/// [`Compiler::async_function`](super::Compiler::async_function).
#[diagnostic::on_unimplemented(
    message = "rules cannot call `{Self}`",
    label = "not a host function",
    note = "a host function takes up to twelve arguments: `bool`, integers, floats, `String`, `&str`, `OffsetDateTime`, `serde_json::Value`, or a `Vec` of these",
    note = "it returns `bool`, an integer, a float, `String`, `&'static str`, `OffsetDateTime`, `serde_json::Value`, or a `Vec`, `Option` or `Result` of these",
    note = "the types of a closure's arguments must be written: `|text: &str| text.len()`; an async function takes no `&str`"
)]
pub trait HostFunction<Args>: Send + Sync + 'static {
    /// The type that the function returns.
    type Output;
    /// The kinds of rule values that each argument accepts, in the order of the arguments.
    #[doc(hidden)]
    const ARGS: &'static [KindSet];
    /// Calls the function. If an argument does not fit, the error is the index of the first such
    /// argument, and the reason.
    #[doc(hidden)]
    fn call(&self, args: &[Value<'_>]) -> Result<Self::Output, (usize, Unfit)>;
}

macro_rules! host_functions {
    ($(($($arg:ident $at:literal),*);)*) => {$(
        // The first bound lets the compiler infer the argument types. The second bound accepts a
        // `&str` of any lifetime.
        impl<Func, R, $($arg),*> HostFunction<($($arg,)*)> for Func
        where
            Func: Fn($($arg),*) -> R + for<'v> Fn($($arg::Given<'v>),*) -> R + Send + Sync + 'static,
            $($arg: HostArgument,)*
        {
            type Output = R;
            const ARGS: &'static [KindSet] = &[$($arg::KINDS),*];

            fn call(&self, _args: &[Value<'_>]) -> Result<R, (usize, Unfit)> {
                Ok((self)($(
                    _args.get($at).map_or(Err(Unfit::Kind), |value| $arg::from_value(*value))
                        .map_err(|unfit| ($at, unfit))?
                ),*))
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
    (A 0, B 1, C 2, D 3, E 4);
    (A 0, B 1, C 2, D 3, E 4, F 5);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10);
    (A 0, B 1, C 2, D 3, E 4, F 5, G 6, H 7, I 8, J 9, K 10, L 11);
}

/// Returns the result of a host function that was not called, because the argument with the index
/// `at` does not fit. A value of another kind gives null, and a number out of range gives an error.
pub(super) fn result_of_unfit_argument((at, unfit): (usize, Unfit)) -> Result<Json, String> {
    match unfit {
        Unfit::Kind => Ok(Json::Null),
        Unfit::Range(ty) => Err(format!("argument {} is outside the range of {ty}", at + 1)),
    }
}

/// The host functions that the embedding program registered, by name.
#[derive(Clone, Default)]
pub(super) struct HostRegistry {
    functions: BTreeMap<String, TypedFunction>,
}

#[derive(Clone)]
struct TypedFunction {
    /// The kinds of rule values that each argument accepts; `None` for a function that takes any
    /// values.
    argument_kinds: Option<Cow<'static, [KindSet]>>,
    result_kinds: KindSet,
    function: HostFn,
}

impl HostRegistry {
    pub(super) fn add_function<Args, F>(&mut self, name: &str, function: F)
    where
        F: HostFunction<Args, Output: HostResult>,
    {
        let host_fn: HostFn = Arc::new(move |args| {
            function.call(args).map_or_else(result_of_unfit_argument, HostResult::into_json)
        });
        let args = Some(Cow::Borrowed(F::ARGS));
        let registered =
            TypedFunction { argument_kinds: args, result_kinds: F::Output::KINDS, function: host_fn };
        self.functions.insert(name.to_owned(), registered);
    }

    /// Adds an async function of the type `F`, which defines the types of its arguments. The
    /// engines call `function`, a sync wrapper of the async function.
    pub(super) fn add_async_function<Args, F: HostFunction<Args>, R: HostResult>(
        &mut self,
        name: &str,
        function: HostFn,
    ) {
        let args = Some(Cow::Borrowed(F::ARGS));
        self.functions.insert(
            name.to_owned(),
            TypedFunction { argument_kinds: args, result_kinds: R::KINDS, function },
        );
    }

    /// Adds a function without static types, such as a function of a scripting language. `arity` is
    /// the number of arguments; `None` accepts any number.
    pub(super) fn add_untyped_function(&mut self, name: &str, arity: Option<usize>, function: HostFn) {
        let args = arity.map(|arity| Cow::Owned(vec![KindSet::MESSAGE_KINDS; arity]));
        // An empty set of result kinds passes every type check. The result of each call is checked
        // instead.
        let registered = TypedFunction { argument_kinds: args, result_kinds: KindSet::EMPTY, function };
        self.functions.insert(name.to_owned(), registered);
    }

    /// Returns the functions that the rules declare, in the order of their declarations. These
    /// include the functions of this library that analyse the text of a message (`request.…` in the
    /// rules). Reports missing functions and type mismatches. If `allow_missing` is true, every
    /// function of the embedding program is replaced by a function that returns null.
    pub(super) fn link_host_functions(
        &self,
        program: &Program,
        allow_missing: bool,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Vec<RegisteredFunction> {
        let mut link = |declared: &Extern| {
            let (name, result) = (declared.name.clone(), declared.result.kinds);
            match declared.feature {
                Some(feature) => match text_analysis::build_feature_function(&program.analysis, feature) {
                    Ok(function) => Some(RegisteredFunction {
                        name,
                        result_kinds: result,
                        function,
                        max_work_per_byte: Some(text_analysis::max_work_per_byte(&program.analysis, feature)),
                    }),
                    Err(diagnostic) => {
                        diagnostics.push(diagnostic);
                        None
                    }
                },
                None if allow_missing => Some(RegisteredFunction {
                    name,
                    result_kinds: result,
                    function: Arc::new(|_| Ok(Json::Null)),
                    max_work_per_byte: None,
                }),
                None => self.link_function(declared, diagnostics),
            }
        };
        program.externs.iter().filter_map(&mut link).collect()
    }

    fn link_function(
        &self,
        declared: &Extern,
        diagnostics: &mut Vec<Diagnostic>,
    ) -> Option<RegisteredFunction> {
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
        let args = found.argument_kinds.as_deref();
        let mut params = declared.params.iter().zip(args.unwrap_or_default());
        let declared_kinds = declared.result.kinds;
        let accepted_kinds =
            if declared_kinds.has(Kind::Float) { declared_kinds.union(KindSet::INT) } else { declared_kinds };
        let message = if let Some(args) = args.filter(|args| args.len() != declared.params.len()) {
            let (declared, registered) = (declared.params.len(), args.len());
            message!("`{name}` is declared with {declared} arguments, but registered with {registered}")
        } else if let Some(((param, ty), kinds)) =
            params.find(|((_, ty), kinds)| !ty.kinds.is_subset_of(**kinds))
        {
            message!(
                "`{name}` is declared to take {ty} for `{param}`, but the registered function takes {kinds}"
            )
        } else if !found.result_kinds.is_subset_of(accepted_kinds) {
            let (result, returned) = (&declared.result, found.result_kinds);
            message!(
                "`{name}` is declared to return {result}, but the registered function returns {returned}"
            )
        } else {
            let function = found.function.clone();
            return Some(RegisteredFunction {
                name: name.clone(),
                result_kinds: declared_kinds,
                function,
                max_work_per_byte: None,
            });
        };
        diagnostics.push(
            new_error(message)
                .help(message!("make the `extern fn` declaration and the registered function agree")),
        );
        None
    }
}
